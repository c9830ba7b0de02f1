"""Features of a pattern model: labels as positions among their levels."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pyrjsel._called import called
from pyrjsel._errors import DataError, ParameterError
from pyrjsel._validate import check_choice, check_int, show
from pyrjsel.design import LabelDesign
from pyrjsel.design.frame import Level

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
