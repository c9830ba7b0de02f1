"""Features of a pattern model: labels as positions among their levels, of rows or histories of a sequence."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyrjsel._called import called
from pyrjsel._errors import DataError, ParameterError
from pyrjsel._typing import IntArray
from pyrjsel._validate import check_choice, check_int, show
from pyrjsel.design import LabelDesign, LabelRows
from pyrjsel.design.build import report_missing
from pyrjsel.design.frame import Level, array_series, as_array, as_pandas
from pyrjsel.design.labels import MISSING, read_labels
from pyrjsel.design.levels import MOST_WHOLE

Kind = Literal["interactions", "sequence"]
CodeArray = NDArray[np.int32]
CaseArray = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Features:
    """Features of n observations.

    Attributes
    ----------
    codes : ndarray of int32, shape (n, p)
        Position of each value among the levels of its feature, C-contiguous.
    names : tuple of str
        Names of the p features. For a sequence the last is the most recent.
    levels : tuple of tuple
        Levels of each feature, in order: strings, ints, floats or bools; None is the level of missing values.
    kind : {"interactions", "sequence"}
        Kind of patterns: every subset of the features, or every suffix of the history.
    order : int
        Largest number of features that a pattern fixes, from 1 to p.
    design : LabelDesign, optional
        Maps columns of the data to features; None if the features are columns.

    Raises
    ------
    ParameterError
        If the kind is unknown, or the order is not in [1, p].
    DataError
        If there are no observations or features, codes are not positions of levels, or a feature is constant.
    """

    codes: CodeArray
    names: tuple[str, ...]
    levels: tuple[tuple[Level | None, ...], ...]
    kind: Kind
    order: int
    design: LabelDesign | None = None

    def __post_init__(self) -> None:
        check_choice(self.kind, "kind", ("interactions", "sequence"))
        codes = np.ascontiguousarray(self.codes, dtype=np.int32)
        if codes.ndim != 2 or 0 in codes.shape or codes.shape[1] != len(self.names):
            raise DataError(
                f"The codes of {called()} must be a matrix with at least one row, and one column for each of "
                f"the {len(self.names)} features. Got shape {codes.shape} instead."
            )
        if len(self.levels) != len(self.names):
            raise DataError(
                f"{called()} got {len(self.names)} features, but {len(self.levels)} sets of levels."
            )
        sizes = np.array([len(values) for values in self.levels])
        if (codes < 0).any() or (codes >= sizes).any():
            raise DataError(f"The codes of {called()} must be positions of levels, from 0.")
        constant = [
            name for name, column in zip(self.names, codes.T, strict=True) if (column == column[0]).all()
        ]
        if constant:
            raise DataError(
                f"The features {', '.join(map(repr, constant))} have one level in the observations used, and "
                "must have at least two. Remove them."
            )
        check_int(self.order, "order", low=1)
        if self.order > self.n_features:
            raise ParameterError(
                f"The 'order' parameter of {called()} must be at most the number of features, "
                f"{self.n_features}. Got {self.order} instead."
            )
        object.__setattr__(self, "codes", codes)

    @property
    def n_cases(self) -> int:
        """Number of observations."""
        return int(self.codes.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Features {self.kind} of order {self.order}: {self.n_cases} cases, {show(self.names)}>"

    def encode(
        self, new: Any, unseen: str = "raise", missing: str = "raise", invalid: str | None = None
    ) -> CodeArray:
        """Return the codes (m, p) of new observations.

        Parameters
        ----------
        new : DataFrame or mapping of columns
            m observations with the columns that the features are computed from; also a matrix of the same
            columns, if there is no formula.
        unseen : {"raise", "mark"}, default "raise"
            Whether an unseen level is an error or coded as -1. If missing values are levels, this includes
            missing values of a feature without them in the training data.
        missing : {"raise", "mark"}
            Whether a missing value is an error, or all codes of its observation are -2, if missing values are
            not levels.
        invalid : {"raise", "nan"}, optional
            As for :meth:`pyrjsel.design.LabelDesign.encode`.

        Returns
        -------
        ndarray of int32, shape (m, p)
            Positions among the levels.

        Raises
        ------
        DataError
            If a value is missing, of another type than in the fit, or an unseen level, and this is an error.
        UnknownNameError
            If a column does not exist.
        """
        design = (
            LabelDesign.of_columns("", (), self.names, self.levels) if self.design is None else self.design
        )
        return design.encode(new, unseen=unseen, missing=missing, invalid=invalid).astype(np.int32)


NEXT = "next"  # name of the response, the symbol that follows a history


def histories(sequence: Any, order: int, *, missing: str = "raise") -> pd.DataFrame:
    """Return the histories of a sequence, each with the symbol that follows it.

    Parameters
    ----------
    sequence : str or array-like, shape (n + order,)
        Symbols in temporal order: the characters of a text, or labels of any kind (text, categories,
        booleans, whole numbers).
    order : int
        Length of a history.
    missing : {"raise", "level"}
        Whether missing symbols are an error, or are kept in the histories, for models with
        ``missing="level"``.

    Returns
    -------
    DataFrame, n rows
        Columns `x1` to `x<order>`, the last the most recent, and `next`. If the symbols are more than 20
        whole numbers, the histories are categorical, since models take that many only as categories.

    Raises
    ------
    ParameterError
        If the order is below 1, or `missing` is invalid.
    DataError
        If the sequence is not longer than the order, is not one-dimensional, has missing values and
        ``missing="raise"``, has values that are not labels, or has only one distinct symbol.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.histories("abcab", order=2)
      x1 x2 next
    0  a  b    c
    1  b  c    a
    2  c  a    b
    """
    check_choice(missing, "missing", ("raise", "level"))
    names, levels, codes = cut(sequence, order, missing)
    table = np.full(len(levels) + 1, None, dtype=object)
    table[:-1] = levels
    frame = pd.DataFrame(table[codes], columns=[*names, NEXT]).infer_objects()
    if len(levels) > MOST_WHOLE and not isinstance(levels[0], (str, bool)):
        frame[names] = frame[names].astype(pd.CategoricalDtype(list(levels)))
    return frame


def read_histories(sequence: Any, order: int, missing: str) -> tuple[LabelDesign, LabelRows]:
    """Return design and observations of the histories of a sequence, each with the symbol that follows it.

    See :meth:`pyrjsel.PatternLogit.from_sequence`.
    """
    check_choice(missing, "missing", MISSING)
    names, levels, codes = cut(sequence, order, missing)
    gaps = pd.DataFrame(codes == len(levels), columns=[*names, NEXT])
    counted = gaps if missing == "drop" else gaps[[NEXT]]
    gone = counted.any(axis=1).to_numpy()
    counts = counted.sum().loc[lambda count: count > 0].rename("missing")
    report_missing(counts, int(gone.sum()), len(gaps), "drop")
    codes = codes[~gone] if gone.any() else codes
    known = (*levels, None) if (codes == len(levels)).any() else levels
    design = LabelDesign.of_columns(NEXT, levels, names, [known] * order, missing_levels=missing == "level")
    kept = np.flatnonzero(~gone)
    rows = LabelRows(codes[:, -1].copy(), codes[:, :-1], gaps.index[kept], len(gaps), counts, kept)
    return design, rows


def cut(sequence: Any, order: int, missing: str) -> tuple[list[str], tuple[Level, ...], IntArray]:
    """Return column names, symbols, and histories (n, order + 1) as positions of symbols.

    The last column is the symbol that follows. A missing symbol is an error if `missing` is ``"raise"``,
    else it is coded by the number of symbols.
    """
    order = check_int(order, "order", low=1)
    values = list(sequence) if isinstance(sequence, str) else as_pandas(sequence)
    if not isinstance(values, pd.Series):
        try:
            array = values if isinstance(values, pd.Categorical) else as_array(values)
        except ValueError as error:
            raise DataError(f"The 'sequence' of {called()} must be one-dimensional: {error}.") from error
        if array.ndim != 1:
            raise DataError(f"The 'sequence' of {called()} must be one-dimensional. Got shape {array.shape}.")
        values = array_series(array) if isinstance(array, np.ndarray) else pd.Series(array)
    if len(values) <= order:
        raise DataError(
            f"The 'sequence' of {called()} must be longer than the order, {order}. Got {len(values)} symbols."
        )
    known = values.notna().to_numpy()
    if missing == "raise" and not known.all():
        raise DataError(
            f"The 'sequence' of {called()} must have no missing values. Got {int((~known).sum())}."
        )
    levels, found = read_labels(values[known], "sequence")
    codes = np.full(len(values), len(levels), dtype=np.int64)
    codes[known] = found
    names = [f"x{j}" for j in range(1, order + 1)]
    return names, levels, np.lib.stride_tricks.sliding_window_view(codes, order + 1)
