"""Categorical variables: labels, ordered levels, and codes."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._called import called, warn
from pyrjsel._errors import DataError, DataWarning
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import check_unicode, show
from pyrjsel.design.frame import Level, plain_level
from pyrjsel.design.safety import Expression

# Relative difference of numbers that are one level: rounding to single precision changes them by up to 6e-8.
ROUNDING = 1e-7
# Labels that are no numbers look like typing errors up to one in so many.
MOSTLY = 10
# Levels that are never called too many for the rows: tiny examples have no more.
FEW = 5


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
        present = set(level_positions(np.array(found, dtype=object), value.levels).tolist())
        levels = tuple(item for place, item in enumerate(value.levels) if place in present)
    levels = _merged(levels)
    check_unicode(levels, f"levels of the {what} {label!r}")
    if len(levels) < least:
        raise DataError(
            f"The {what} {label!r} of {called()} must have at least two levels in the rows used. "
            f"Got only {listed_levels(levels)}."
        )
    return levels


def no_numbers(levels: Sequence[Level]) -> list[str]:
    """Return the labels of a column of text that are no numbers, if it looks like a column of numbers.

    So it does if nine tenths of its labels are numbers, or all that have a letter or a digit: others, such as
    ``?``, mark missing values.
    """
    labels = [level for level in levels if isinstance(level, str)]
    strange = [label for label in labels if not _is_number(label)]
    marks = all(not any(map(str.isalnum, label)) for label in strange)
    few = len(strange) <= len(levels) // MOSTLY or (marks and len(strange) < len(levels) - 1)
    return strange if few and len(labels) == len(levels) else []


def are_numbers(levels: Sequence[Level]) -> bool:
    """Whether all labels are numbers written as text."""
    return all(isinstance(level, str) and _is_number(level) for level in levels)


def _is_number(label: str) -> bool:
    try:
        return math.isfinite(float(label))
    except ValueError:
        return False


def check_levels(levels: Sequence[Level], expression: Expression, n_rows: int, what: str = "factor") -> None:
    """Warn if the levels of a factor look like numbers with typing errors, or are more than half the rows.

    Parameters
    ----------
    levels : sequence of (str, int, float or bool)
        Its levels.
    expression : Expression
        Its expression; inside ``C()`` labels are meant as labels.
    n_rows : int
        Number of rows used.
    what : str
        Its kind, for the message.
    """
    start = f"The {what} {expression.label!r} of {called()} has {len(levels):,} levels"
    strange = no_numbers(levels) if expression.call != "C" else []
    if strange:
        warn(
            f"{start}, all numbers but {listed_levels(strange)}. If these are typing errors or mark missing "
            f"values, make the column numeric: pandas.to_numeric(data[{expression.variables[0]!r}], "
            "errors='coerce') takes them as missing. If labels are meant, write "
            f"C({expression.code}) in a formula.",
            DataWarning,
        )
    elif len(levels) > max(n_rows / 2, FEW) and what != "response":
        warn(
            f"{start} in {n_rows:,} rows, hence hardly any row for most of them. Is it an identifier, or a "
            "number that was read as text?",
            DataWarning,
        )


def check_known(found: Iterable[object], known: tuple[Level, ...], label: str, what: str = "levels") -> None:
    """Raise :class:`DataError` if values are not among the `known` ones, called `what` in messages."""
    items = list(found)
    places = level_positions(np.array(items, dtype=object), known)
    strange = [item for item, place in zip(items, places, strict=True) if place < 0]
    if strange:
        raise DataError(
            f"{called()} found values of {label!r} that are not among its {what}: {listed_levels(strange)}."
        )


def level_positions(values: np.ndarray, levels: tuple[Level, ...]) -> IntArray:
    """Return the position of each value (n,) among `levels`, -1 if it is none of them.

    Numbers that are not whole are those that they equal up to rounding.
    """
    if values.dtype.kind in "fiu" and not any(isinstance(level, str) for level in levels):
        index, asked = pd.Index(np.asarray(levels, dtype=np.float64)), pd.Index(values.astype(np.float64))
    else:
        index, asked = pd.Index(levels, dtype=object), pd.Index(values, dtype=object)
    codes: IntArray = index.get_indexer(asked).astype(np.int64)
    lost = np.flatnonzero(codes < 0)
    places = [place for place, level in enumerate(levels) if type(level) in (int, float)]
    if len(lost) and places:
        places = sorted(places, key=levels.__getitem__)
        known: FloatArray = np.array([levels[place] for place in places], dtype=np.float64)
        numbers = np.array([x if isinstance(x, float) else np.nan for x in values[lost].tolist()])
        above = np.searchsorted(known, numbers)
        for near in (np.maximum(above - 1, 0), np.minimum(above, len(known) - 1)):
            same = _rounded(numbers, known[near])
            codes[lost[same]] = np.array(places)[near[same]]
    return codes


def _rounded(one: Any, other: Any) -> Any:
    """Whether numbers are equal up to rounding; two whole ones never are."""
    return (np.abs(one - other) <= ROUNDING * np.abs(other)) & ((one % 1 != 0) | (other % 1 != 0))


def _merged(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    """Return levels without those that equal others up to rounding; of equal ones the shortest stays."""
    numbers = sorted(level for level in levels if isinstance(level, float))
    if len(numbers) < 2 or not _rounded(np.array(numbers[1:]), np.array(numbers[:-1])).any():
        return levels
    groups: list[list[Level]] = []
    for level in numbers:
        if groups and _rounded(level, groups[-1][0]):
            groups[-1].append(level)
        else:
            groups.append([level])
    gone = {level for same in groups for level in same}
    gone -= {min(same, key=lambda level: (len(repr(level)), level)) for same in groups}
    return tuple(level for level in levels if level not in gone)


def level_codes(value: Categories, levels: tuple[Level, ...], expression: Expression) -> IntArray:
    """Return the position of each value among `levels`, or raise :class:`DataError` for unseen ones."""
    codes = level_positions(value.values, levels)
    if (codes < 0).any():
        unseen = pd.unique(value.values[codes < 0]).tolist()
        raise DataError.of_rows(
            f"{called()} got unseen levels of the column {', '.join(map(repr, expression.variables))} in the "
            f"term {expression.label!r}: {listed_levels(unseen)}. Levels in the fit: "
            f"{listed_levels(levels)}.",
            codes < 0,
            expression.variables,
        )
    return codes


def listed_levels(items: Iterable[object], limit: int = 8) -> str:
    """Return levels for a message, at most the first `limit`."""
    values = list(items)
    text = ", ".join(show(item, 40) for item in values[:limit])
    return f"{text}, ... ({len(values)} in all)" if len(values) > limit else text
