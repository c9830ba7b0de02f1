"""The features of a pattern model: labels as positions among their levels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyrjsel._errors import DataError, ParameterError
from pyrjsel._validate import check_choice, check_int, show
from pyrjsel.design.frame import Level, Table, as_frame

Kind = Literal["interactions", "sequence"]
CodeArray = NDArray[np.int32]
CaseArray = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Features:
    """The features of n cases.

    Attributes
    ----------
    codes : ndarray of int32, shape (n, p)
        Position of each value among the levels of its feature, C-contiguous.
    names : tuple of str
        The p features. Of a sequence the last is the most recent.
    levels : tuple of tuple
        The levels of each feature, in order: strings, ints, floats or bools.
    kind : {"interactions", "sequence"}
        Which patterns there are: every subset of the features, or every end of the history.
    order : int
        The largest number of features that a pattern fixes, from 1 to p.

    Raises
    ------
    ParameterError
        If the kind is not known, or the order is not in [1, p].
    DataError
        If there are no cases or features, codes are no positions of levels, or a feature is constant.
    """

    codes: CodeArray
    names: tuple[str, ...]
    levels: tuple[tuple[Level, ...], ...]
    kind: Kind
    order: int

    def __post_init__(self) -> None:
        owner = "Features"
        check_choice(self.kind, "kind", owner, ("interactions", "sequence"))
        codes = np.ascontiguousarray(self.codes, dtype=np.int32)
        if codes.ndim != 2 or 0 in codes.shape or codes.shape[1] != len(self.names):
            raise DataError(
                f"The codes of {owner} must be a matrix of one or more cases and one column for each of the "
                f"{len(self.names)} features. Got shape {codes.shape} instead."
            )
        if len(self.levels) != len(self.names):
            raise DataError(f"{owner} has {len(self.names)} features and {len(self.levels)} sets of levels.")
        sizes = np.array([len(values) for values in self.levels])
        if (codes < 0).any() or (codes >= sizes).any():
            raise DataError(f"The codes of {owner} must be positions of levels, from 0.")
        constant = [
            name for name, column in zip(self.names, codes.T, strict=True) if (column == column[0]).all()
        ]
        if constant:
            raise DataError(
                f"The features {', '.join(map(repr, constant))} of {owner} have one level in the cases used; "
                "a feature must have at least two. Leave them out."
            )
        check_int(self.order, "order", owner, low=1)
        if self.order > self.n_features:
            raise ParameterError(
                f"The 'order' parameter of {owner} must be at most the number of features, {self.n_features}."
                f" Got {self.order} instead."
            )
        object.__setattr__(self, "codes", codes)

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return int(self.codes.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Features {self.kind} of order {self.order}: {self.n_cases} cases, {show(self.names)}>"

    def encode(self, new: pd.DataFrame | Mapping[str, Any], unseen: str = "raise") -> CodeArray:
        """Return the codes (m, p) of new cases.

        Parameters
        ----------
        new : DataFrame or mapping of columns
            m rows.
        unseen : {"raise", "prior"}, default "raise"
            Whether a level that no case has is an error, or -1: no pattern that fixes it was seen.

        Returns
        -------
        ndarray of int32, shape (m, p)
            Positions among the levels.

        Raises
        ------
        DataError
            If a value is missing, or a level unseen and ``unseen="raise"``.
        UnknownNameError
            If a column is not there.
        """
        owner = "Features.encode"
        check_choice(unseen, "unseen", owner, ("raise", "prior"))
        table = Table(as_frame(new, owner, "new"), owner)
        codes = np.empty((len(table), self.n_features), dtype=np.int32)
        for j, (name, levels) in enumerate(zip(self.names, self.levels, strict=True)):
            column = table.column(name)
            if column.missing.any():
                raise DataError(f"The column {name!r} of {owner} has missing values.")
            known = pd.Index(levels, dtype=object)
            codes[:, j] = known.get_indexer(pd.Index(column.values, dtype=object))
        if unseen == "raise" and (codes < 0).any():
            names = [name for name, column in zip(self.names, codes.T, strict=True) if (column < 0).any()]
            raise DataError(
                f"{owner} got levels that no case of the fit has, in {', '.join(map(repr, names))}. "
                "unseen='prior' predicts from the patterns that avoid them."
            )
        return codes
