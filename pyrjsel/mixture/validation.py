"""Checks of what a mixture classifier is made of."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyrjsel._called import called, warn
from pyrjsel._errors import DataError, MissingDataWarning, ParameterError, PyrjselWarning
from pyrjsel._validate import bad_value, check_choice, check_int, listed
from pyrjsel.design import InputDesign, InputRows
from pyrjsel.mixture.priors import KernelPrior, MixturePrior
from pyrjsel.mixture.problem import BACKGROUNDS, constant

# Default number of components, unless there are more classes: with fewer, some classes can only be told apart
# by the tails of components.
LEAST_KERNELS = 3


def observed(design: InputDesign, rows: InputRows) -> tuple[InputDesign, InputRows, tuple[str, ...]]:
    """Return design and rows without constant inputs and rows that have no input, and the former.

    Raises
    ------
    DataError
        If all inputs are constant, or a class has no row left.

    Warns
    -----
    PyrjselWarning
        If inputs are left out.
    MissingDataWarning
        If rows are.
    """
    gone = constant(rows.X)
    left_out = tuple(name for name, bad in zip(design.names, gone, strict=True) if bad)
    if gone.all():
        raise DataError(f"All inputs of {called()} are constant or missing: {listed(left_out)}.")
    if left_out:
        warn(
            f"{len(left_out)} of {gone.size} inputs of {called()} have fewer than two different values, and "
            f"were left out: {listed(left_out)}.",
            PyrjselWarning,
        )
        keep = np.flatnonzero(~gone).tolist()
        design, rows = design.restrict(keep), rows.restrict(keep)
    empty = np.isnan(rows.X).all(axis=1)
    if empty.any():
        warn(
            f"In the data of {called()} {int(empty.sum())} of {rows.n_rows} rows have no observed input, "
            "and were left out.",
            MissingDataWarning,
        )
        lost = np.setdiff1d(rows.y[empty], np.append(rows.y[~empty], -1)).tolist()
        rows = rows.take(np.flatnonzero(~empty))
        if lost:
            names = [repr(design.classes[k]) for k in lost]
            raise DataError(f"No row of {called()} in class {listed(names)} has an observed input.")
    return design, rows, left_out


def labelled(rows: InputRows) -> InputRows:
    """Return the rows that have a label.

    Raises
    ------
    DataError
        If there is none.

    Warns
    -----
    MissingDataWarning
        If there are others.
    """
    unlabelled = rows.n_unlabelled
    if unlabelled == rows.n:
        raise DataError(
            f"No row in the data of {called()} has a label, which target='labels' needs; target='joint' also "
            "uses rows without."
        )
    if unlabelled:
        warn(
            f"{unlabelled} of {rows.n} rows in the data of {called()} have no label and were left out: they "
            "say nothing about labels given inputs. With target='joint' they are used.",
            MissingDataWarning,
        )
        rows = rows.take(rows.y >= 0)
    return rows


def check_background(value: str | None, target: str) -> str | None:
    """Return `value` if it is a background, or raise :class:`ParameterError`; None without densities."""
    check_choice(value, "background", BACKGROUNDS)
    if target == "labels" and value != BACKGROUNDS[0]:
        raise bad_value("background", "left out for target='labels', which has no densities of inputs", value)
    return value if target == "joint" else None


def check_prior(value: Any, target: str) -> KernelPrior | MixturePrior:
    """Return `value` or the default, or raise :class:`ParameterError`."""
    kind = MixturePrior if target == "joint" else KernelPrior
    if value is not None and not isinstance(value, kind):
        raise bad_value("prior", f"a {kind.__name__} or None for target={target!r}", value)
    return kind() if value is None else value


def check_components(value: int | Sequence[int] | None, rows: int, classes: int) -> tuple[int, ...]:
    """Return numbers of components, each at most that of rows, or raise :class:`ParameterError`."""
    if value is None:
        value = max(LEAST_KERNELS, classes)
    several = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim > 0)
    if isinstance(value, str) or not several:
        counts = [check_int(value, "components", low=1)]
    else:
        counts = [check_int(each, "components", low=1) for each in value]  # type: ignore[union-attr]
        if not counts or len(set(counts)) < len(counts):
            raise bad_value("components", "a number of components, or several different ones", value)
    if max(counts) > rows:
        raise ParameterError(
            f"The 'components' parameter of {called()} must be at most the number of rows, {rows}. "
            f"Got {max(counts)} instead."
        )
    return tuple(counts)
