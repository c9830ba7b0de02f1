"""Terms, layouts and rows of designs with one term for each column of a wide matrix."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
import pandas as pd
import scipy

from pyrjsel._called import called, warn
from pyrjsel._errors import DataError, PyrjselWarning, RankWarning
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel._validate import check_choice, counted, listed
from pyrjsel.design.arrays import checked_sparse, new_table, response_of
from pyrjsel.design.build import (
    DesignData,
    Learner,
    Response,
    check_finite,
    complete_rows,
    learn_response,
)
from pyrjsel.design.categories import listed_levels
from pyrjsel.design.extras import extra_names
from pyrjsel.design.frame import Column, Table, array_series, as_array, as_pandas, read_array
from pyrjsel.design.layout import Variable
from pyrjsel.design.new_rows import SHOWN, check_columns, conform, refusal
from pyrjsel.design.safety import column_expression
from pyrjsel.design.terms import Term
from pyrjsel.design.wide.matrix import WideMatrix, as_wide, is_narrow

# Columns vary by rounding alone if their range is below this proportion of their largest value, times the
# square root of twice the number of rows: their standard deviation may then be below this proportion.
ROUNDING = 1e-13
# Names of columns, and how many are made at a time.
NUMBERED, TOGETHER = re.compile("x[1-9][0-9]{0,17}"), 2**12


class ColumnNames(Sequence[str]):
    """Names x1, x2, ... of many columns by their numbers, made when they are used.

    Parameters
    ----------
    kept : int64 array (D,)
        Numbers of the columns from 0, increasing.
    """

    def __init__(self, kept: IntArray) -> None:
        self.kept = kept

    def __len__(self) -> int:
        return self.kept.size

    def __iter__(self) -> Iterator[str]:
        for at in range(0, len(self), TOGETHER):
            for number in self.kept[at : at + TOGETHER].tolist():
                yield f"x{number + 1}"

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> "ColumnNames": ...
    def __getitem__(self, place: int | slice) -> "str | ColumnNames":
        if isinstance(place, slice):
            return ColumnNames(self.kept[place])
        return f"x{int(self.kept[place]) + 1}"

    def __contains__(self, name: object) -> bool:
        return self._place(name) is not None

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        """Return the position of a name."""
        place = self._place(name)
        if place is None or place not in range(*slice(start, stop).indices(len(self))):
            raise ValueError(f"{name!r} is not a column")
        return place

    def _place(self, name: object) -> int | None:
        """Return the position of a name, None if there is no such column."""
        if not isinstance(name, str) or not NUMBERED.fullmatch(name):
            return None
        number = int(name[1:]) - 1
        place = int(np.searchsorted(self.kept, number))
        return place if place < len(self) and self.kept[place] == number else None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ColumnNames):
            return np.array_equal(self.kept, other.kept)
        return isinstance(other, tuple) and len(self) == len(other) and tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"ColumnNames({self.kept!r})"


class WideTerms(Sequence[Term]):
    """One term for each of many columns, made when it is used."""

    def __init__(self, names: ColumnNames) -> None:
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Term]:
        for at, name in enumerate(self.names):
            yield Term(name, (name,), at, at + 1, (name,), (name,), (), (), 1)

    @overload
    def __getitem__(self, place: int) -> Term: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Term]: ...
    def __getitem__(self, place: int | slice) -> Term | Sequence[Term]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        own = (self.names[place],)
        at = range(len(self))[place]
        return Term(own[0], own, at, at + 1, own, own, (), (), 1)


@dataclass(frozen=True, eq=False)
class WideLayout:
    """The columns of a matrix that are terms.

    Attributes
    ----------
    size : int
        Number p of columns of the matrix.
    kept : int64 array (D,)
        Numbers of the columns that are terms, increasing.
    """

    size: int
    kept: IntArray
    factors: tuple[Any, ...] = ()

    @property
    def column_names(self) -> ColumnNames:
        """Names of the columns, x1, x2, ... by number."""
        return ColumnNames(self.kept)

    @property
    def terms(self) -> WideTerms:
        """The terms, one for each column."""
        return WideTerms(self.column_names)

    def restrict(self, keep: Sequence[int]) -> "WideLayout":
        """Return the layout of some of the terms, by position."""
        return WideLayout(self.size, self.kept[list(keep)])

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as plain data."""
        return {"wide": {"size": self.size, "kept": self.kept}}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "WideLayout | None":
        """Return the layout from plain data; None if these are not the data of one."""
        known = state.get("wide")
        if not isinstance(known, Mapping):
            return None
        size, kept = known.get("size"), known.get("kept")
        if (
            type(size) is not int
            or not isinstance(kept, np.ndarray)
            or kept.dtype != np.int64
            or kept.ndim != 1
        ):
            raise DataError(
                f"The saved design given to {called()} cannot be read: its columns are not listed."
            )
        if kept.size and (kept[0] < 0 or kept[-1] >= size or (np.diff(kept) <= 0).any()):
            raise DataError(f"The saved design given to {called()} cannot be read: its columns do not rise.")
        return cls(size, kept)

    def rows_of(
        self,
        new: Any,
        terms: BoolArray | None = None,
        required: BoolArray | None = None,
        invalid: str | None = None,
    ) -> tuple[WideMatrix | FloatArray, pd.Index, BoolArray | None]:
        """Return the columns of new rows, their labels, and which of the terms each row has.

        Parameters
        ----------
        new : object
            The user's data.
        terms : bool array (D,), optional
            The columns that are used; others are 0, or as they are where the matrix stays as it is given.
        required : bool array (D,), optional
            The columns without which a row is nothing, if others may be missing: these are then 0, and the
            last of the three tells where. Only `terms` are looked at.

        Rows with infinite values are an error, or NaN with ``invalid="nan"``, as in :func:`valid_rows`.

        Raises
        ------
        UnknownNameError
            If a data frame lacks a column that is needed.
        DataError
            If they are no matrix with as many columns as that of the fit, or values are infinite.
        """
        if invalid is not None:
            check_choice(invalid, "invalid", ("raise", "nan"))
        new = as_pandas(new)
        if scipy.sparse.issparse(new) and new.format != "csc":
            new = checked_sparse(new, "new").tocsc()
        made = as_wide(new, "new")
        used = np.ones(self.kept.size, bool) if terms is None else terms
        if made is None:
            made, index = self._converted(new, used, required)
        else:
            index = pd.RangeIndex(made.n)
        if made.n_columns != self.size:
            raise self._other_shape((made.n, made.n_columns))
        matrix = replace(made, kept=self.kept)
        if np.isinf(made.values).any():
            rows = np.flatnonzero(np.isinf(matrix.dense(used)).any(axis=1))
            if len(rows):
                labels = listed_levels(index[rows].tolist(), SHOWN)
                text = (
                    f"The 'new' of {called()} has infinite values in {len(rows)} of {made.n} rows: {labels}."
                )
                if invalid != "nan":
                    raise refusal(text, invalid)
                warn(f"{text} Their predictions are NaN.", PyrjselWarning)
            values = np.where(np.isinf(made.values), np.nan, made.values).astype(made.values.dtype)
            matrix = replace(matrix, values=values)
        observed = None
        if required is not None:
            observed = np.zeros((matrix.n, used.size), bool)
            observed[:, used] = ~np.isnan(matrix.dense(used))
        if not is_narrow(matrix.kept.size, matrix.n):
            return matrix, index, observed
        X = matrix.dense()
        X[:, ~used] = 0.0
        if observed is not None:
            X[~observed] = 0.0
        return X, index, observed

    def _converted(
        self, new: Any, used: BoolArray, required: BoolArray | None
    ) -> tuple[WideMatrix, pd.Index]:
        """Return new rows of any other type as a matrix of float64, NaN where missing, and their labels."""
        if isinstance(new, (pd.DataFrame, pd.Series, Mapping)):
            table, names = new_table(new, None), self.column_names
            needed = used if required is None else required
            check_columns([names[int(j)] for j in np.flatnonzero(needed)], table, names)
            values = np.full((len(table), self.size), np.nan)
            for j in np.flatnonzero(used):
                if names[int(j)] in table:
                    values[:, self.kept[j]] = _numbers(table.column(names[int(j)]))
            return WideMatrix(values, len(table), np.arange(self.size)), table.index
        if scipy.sparse.issparse(new):
            new = checked_sparse(new, "new").toarray()
        try:
            array = as_array(new)
        except ValueError as error:
            raise DataError(
                f"The 'new' of {called()} must be a matrix of {self.size} columns: {error}."
            ) from error
        if array.ndim != 2:
            raise self._other_shape(array.shape)
        numbers = _numbers(read_array(array.ravel(), "new")).reshape(array.shape)
        return WideMatrix(numbers, len(array), np.arange(array.shape[1])), pd.RangeIndex(len(array))

    def _other_shape(self, shape: tuple[int, ...]) -> DataError:
        return DataError(
            f"The 'new' of {called()} must be a matrix of {self.size} columns, as in the fit. Got shape "
            f"{shape} instead."
        )


def _numbers(column: Column) -> FloatArray:
    """Return the numbers of new rows, NaN where missing."""
    values = conform(column, Variable(column.name, "real", False)).values
    return np.where(column.missing, np.nan, values)


@dataclass(frozen=True, eq=False)
class WideRows:
    """The rows of a design of many columns; attributes as of :class:`DesignData`, with all rows complete."""

    y: FloatArray
    X: WideMatrix
    extras: dict[str, FloatArray]
    index: pd.Index
    positions: IntArray
    n_rows: int
    missing: pd.Series
    n_dropped: int = 0
    # Digest of the matrix when the model was made; none of a matrix of a file, which nobody else has.
    known: str | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.y.size)

    def digest(self) -> str:
        """Return the digest of the matrix.

        Raises
        ------
        DataError
            If the matrix has changed since the model was made.
        """
        found = self.X.digest()
        if self.known not in (None, found):
            raise DataError(
                f"The 'exog' of the model has changed since the model was made, so that {called()} would mix "
                "two matrices: a matrix of this size is used as it is given. Make a new model, or give the "
                "model a copy."
            )
        return found

    def restrict(self, inside: BoolArray) -> "WideRows | DesignData":
        """Return the same rows with the columns `inside` (D,)."""
        self.digest()
        X, rest = (
            self.X.restrict(inside),
            (self.extras, self.index, self.positions, self.n_rows, self.missing, 0),
        )
        if isinstance(X, WideMatrix):
            return WideRows(self.y, X, *rest, known=X.digest())
        return DesignData(self.y, X, *rest)


def build_wide(
    endog: object, matrix: WideMatrix, extras: object, missing: str, learn: Learner = learn_response
) -> tuple[Response, WideLayout, WideRows]:
    """Make the layout of a design with one term for each column of a matrix that varies.

    Raises
    ------
    DataError
        If shapes do not match, or values are missing or infinite.

    Warns
    -----
    RankWarning
        If columns are constant; it counts them.
    """
    check_choice(missing, "missing", ("drop", "raise"))
    name, values = response_of(endog, pd.DataFrame(index=pd.RangeIndex(matrix.n)), False)
    frame = pd.DataFrame({name: values if isinstance(values, pd.Series) else array_series(values)})
    given = extra_names(extras)
    rows = complete_rows(Table(frame), {name: name}, given)
    if len(rows.missing):
        lacking = ", ".join(f"{key}: {count}" for key, count in rows.missing.items())
        raise DataError(
            f"The data of {called()} have missing values ({lacking}), and a matrix of this size is used as "
            "it is given: leave these rows out of all parameters, or fill them in."
        )
    check_finite((*rows.columns.values(), *rows.extras.values()))
    response, y = learn(column_expression(name), rows.columns, matrix.n, {})
    matrix, size = _varying(matrix), matrix.n_columns
    layout = WideLayout(size, matrix.kept)
    if name in layout.column_names:
        raise DataError(
            f"The 'exog' of {called()} has a column {name!r}, which is also the name of the response. "
            "Rename endog."
        )
    made = WideRows(
        y,
        matrix,
        {key: column.values.astype(np.float64) for key, column in rows.extras.items()},
        frame.index,
        rows.positions,
        matrix.n,
        rows.missing,
        known=matrix.digest(),
    )
    return response, layout, made


def _varying(matrix: WideMatrix) -> WideMatrix:
    """Return the columns that vary, with a warning if there are others."""
    low, high = matrix.ends()
    odd = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
    if odd.size:
        names = [f"x{number + 1}" for number in odd[:9].tolist()] + [""] * max(0, odd.size - 9)
        raise DataError(
            f"The 'exog' of {called()} has missing or infinite values in {counted(odd.size, 'column')}: "
            f"{listed(names)}. A matrix of this size is used as it is given: fill them in, or leave "
            "columns out."
        )
    largest = np.maximum(np.abs(low), np.abs(high))
    constant = high - low <= ROUNDING * np.sqrt(2.0 * matrix.n) * largest
    if not constant.any():
        return matrix
    text = f"{counted(int(constant.sum()), 'constant column')} of the 'exog' of {called()} cannot be terms."
    if constant.all():
        raise DataError(f"All {text}")
    warn(f"{text[:-1]} and were left out.", RankWarning)
    return replace(matrix, kept=matrix.kept[~constant])
