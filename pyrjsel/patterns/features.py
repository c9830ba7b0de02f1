"""The features of a pattern model: labels as positions among their levels."""

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
    """The features of n cases.

    Attributes
    ----------
    codes : ndarray of int32, shape (n, p)
        Position of each value among the levels of its feature, C-contiguous.
    names : tuple of str
        The p features. Of a sequence the last is the most recent.
    levels : tuple of tuple
        The levels of each feature, in order: strings, ints, floats or bools; None is that of missing values.
    kind : {"interactions", "sequence"}
        Which patterns there are: every subset of the features, or every end of the history.
    order : int
        The largest number of features that a pattern fixes, from 1 to p.
    design : LabelDesign, optional
        How the features are made of the columns of the data; None where they are columns themselves.

    Raises
    ------
    ParameterError
        If the kind is not known, or the order is not in [1, p].
    DataError
        If there are no cases or features, codes are no positions of levels, or a feature is constant.
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
                f"The codes of {called()} must be a matrix of one or more cases and one column for each "
                f"of the {len(self.names)} features. Got shape {codes.shape} instead."
            )
        if len(self.levels) != len(self.names):
            raise DataError(
                f"{called()} has {len(self.names)} features and {len(self.levels)} sets of levels."
            )
        sizes = np.array([len(values) for values in self.levels])
        if (codes < 0).any() or (codes >= sizes).any():
            raise DataError(f"The codes of {called()} must be positions of levels, from 0.")
        constant = [
            name for name, column in zip(self.names, codes.T, strict=True) if (column == column[0]).all()
        ]
        if constant:
            raise DataError(
                f"The features {', '.join(map(repr, constant))} have one level in the cases used, and must "
                "have two at least. Leave them out."
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
        """Number of cases."""
        return int(self.codes.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Features {self.kind} of order {self.order}: {self.n_cases} cases, {show(self.names)}>"

    def encode(self, new: Any, unseen: str = "raise", missing: str = "raise") -> CodeArray:
        """Return the codes (m, p) of new cases.

        Parameters
        ----------
        new : DataFrame or mapping of columns
            m rows, with the columns that the features are made of. Of features that no formula made also
            a matrix of the same columns.
        unseen : {"raise", "mark"}, default "raise"
            Whether a level that no case has is an error, or -1: no case expresses a pattern that fixes it.
            A missing value is such a level where missing values are levels.
        missing : {"raise", "mark"}
            Whether a missing value is an error, or its row is -2 throughout, where they are no levels.

        Returns
        -------
        ndarray of int32, shape (m, p)
            Positions among the levels.

        Raises
        ------
        DataError
            If a value is missing, of another kind than in the fit, or of an unseen level that is an error.
        UnknownNameError
            If a column is not there.
        """
        design = (
            LabelDesign.of_columns("", (), self.names, self.levels) if self.design is None else self.design
        )
        return design.encode(new, unseen=unseen, missing=missing).astype(np.int32)
