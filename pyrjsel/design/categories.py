"""Categorical variables: labels, ordered levels, and codes."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import IntArray
from pyrjsel._validate import check_unicode, show
from pyrjsel.design.frame import Level, plain_level
from pyrjsel.design.safety import Expression


@dataclass(frozen=True)
class Contrast:
    """A contrast in a formula: one of patsy's by name, or a matrix given by rows.

    With `merge`, a treatment contrast of which each column is a term of its own.
    """

    name: str | None
    args: tuple[object, ...] = ()
    named: tuple[tuple[str, object], ...] = ()
    merge: bool = False


@dataclass(frozen=True, eq=False)
class Categories:
    """A categorical variable: labels, and optionally the order of its levels and a contrast.

    Attributes
    ----------
    values : ndarray, shape (n,)
        Object array, or float64 if all labels are numbers.
    levels : tuple or None
        The levels in order, if an order is given; otherwise they are sorted.
    contrast : Contrast or None
        The contrast given in C().
    """

    values: np.ndarray
    levels: tuple[Level, ...] | None = None
    contrast: Contrast | None = None


@dataclass(frozen=True, eq=False)
class Asked:
    """A label that is compared with the values of a column."""

    label: Level
    values: np.ndarray

    def known(self) -> dict[Level, None]:
        """Return the distinct values, in order of appearance."""
        return dict.fromkeys(pd.unique(self.values).tolist())


def check_asked(label: Level, known: Iterable[Level], expression: Expression) -> None:
    """Raise :class:`DataError` if a label is not among the known values."""
    values = list(known)
    if label not in values:
        raise DataError(
            f"{called()} compares {expression.label!r} with a label that no row of the data has: "
            f"{label!r} is not one of the values {listed_levels(values)}."
        )


def used_levels(value: Categories, label: str, what: str = "factor", least: int = 2) -> tuple[Level, ...]:
    """Return the levels that occur, in the order of the factor or sorted; `what` is its kind in messages.

    Raises
    ------
    DataError
        If fewer than `least` occur, or if a value is not among the levels given in C().
    """
    found = pd.unique(value.values).tolist()
    if value.levels is None:
        try:
            levels = tuple(sorted(map(plain_level, found)))
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(
                f"The {what} {label!r} of {called()} must have levels that are text, numbers or booleans. "
                f"Got {listed_levels(found)} instead."
            ) from error
    else:
        check_known(found, value.levels, label)
        present = set(found)
        levels = tuple(item for item in value.levels if item in present)
    check_unicode(levels, f"levels of the {what} {label!r}")
    if len(levels) < least:
        raise DataError(
            f"The {what} {label!r} of {called()} must have at least two levels in the rows used. "
            f"Got only {listed_levels(levels)}."
        )
    return levels


def check_known(found: Iterable[object], known: tuple[Level, ...], label: str, what: str = "levels") -> None:
    """Raise :class:`DataError` if values are not among the `known` ones, called `what` in messages."""
    strange = [item for item in found if item not in known]
    if strange:
        raise DataError(
            f"{called()} found values of {label!r} that are not among its {what}: {listed_levels(strange)}."
        )


def level_positions(values: np.ndarray, levels: tuple[Level, ...]) -> IntArray:
    """Return the position of each value (n,) among `levels`, -1 if it is none of them."""
    if values.dtype.kind in "fiu" and not any(isinstance(level, str) for level in levels):
        known = pd.Index(np.asarray(levels, dtype=np.float64))
        codes = known.get_indexer(pd.Index(values.astype(np.float64)))
    else:
        codes = pd.Index(levels, dtype=object).get_indexer(pd.Index(values, dtype=object))
    return codes.astype(np.int64)


def level_codes(value: Categories, levels: tuple[Level, ...], expression: Expression) -> IntArray:
    """Return the position of each value among `levels`, or raise :class:`DataError` for unseen ones."""
    codes = level_positions(value.values, levels)
    if (codes < 0).any():
        unseen = pd.unique(value.values[codes < 0]).tolist()
        raise DataError(
            f"{called()} got unseen levels of the column {', '.join(map(repr, expression.variables))} in the "
            f"term {expression.label!r}: {listed_levels(unseen)}. Levels in the fit: "
            f"{listed_levels(levels)}."
        )
    return codes


def listed_levels(items: Iterable[object], limit: int = 8) -> str:
    """Return levels for a message, at most the first `limit`."""
    values = list(items)
    text = ", ".join(show(item, 40) for item in values[:limit])
    return f"{text}, ... ({len(values)} in all)" if len(values) > limit else text
