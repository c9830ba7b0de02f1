"""Validation of the columns of a regression."""

from collections.abc import Mapping

import numpy as np

from pyrjsel._called import called, warn
from pyrjsel._errors import DataError, DataWarning, FormulaError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import listed
from pyrjsel.design import Design
from pyrjsel.families import Family

# Limits of numbers whose squares, and sums of these, are within the range of a float64.
SMALLEST, LARGEST = 1e-145, 1e145
INTERCEPT = "Intercept"
# Largest ordinary range of offsets on a log scale: exposures do not differ by a factor of exp(30) = 1e13.
WIDEST_OFFSET = 30.0


def check_right_side(design: Design) -> None:
    """Raise :class:`FormulaError` if a term uses the response.

    A variable of a computed response, as in ``I(after > before) ~ before``, may be a term; the labels of a
    response with an event may not.
    """
    response = design.response
    own = {
        name
        for name, variable in design.left.variables.items()
        if name == response or variable.kind == "text" or variable.categorical
    }
    for term in design.terms:
        if response in term.factors or not own.isdisjoint(term.variables):
            raise FormulaError(
                f"The formula {design.formula!r} of {called()} has its response {response!r} on the "
                f"right-hand side, in the term {term.name!r}. Leave that term out."
            )


def check_columns(design: Design, largest: FloatArray, extras: Mapping[str, FloatArray]) -> None:
    """Raise :class:`DataError` if a column has the intercept's name or numbers that cannot be squared.

    `largest` (D + 1,) are the largest absolute values of the columns and of the response; for `extras` the
    smallest and largest values are enough.
    """
    if INTERCEPT in design.column_names:
        raise DataError(
            f"The data of {called()} have a column {INTERCEPT!r}, which is the name of the constant that is "
            "always included. Leave it out, or give it another name."
        )
    odd = (largest > LARGEST) | ((largest < SMALLEST) & (largest > 0))
    every = (*design.column_names, design.response)
    names = [name for name, bad in zip(every, odd, strict=True) if bad]
    sizes = {key: float(np.max(np.abs(values))) for key, values in extras.items()}
    names += [key for key, size in sizes.items() if size > LARGEST]
    # Some small weights and offsets are harmless, but not weights that are all tiny.
    names += ["weights"] if 0 < sizes.get("weights", 1.0) < SMALLEST else []
    if names:
        raise DataError(
            f"The data of {called()} must have absolute values between {SMALLEST:g} and {LARGEST:g} (or 0), "
            f"whose squares are numbers; rescale {listed(names)}."
        )


def check_offset(family: Family, extras: Mapping[str, FloatArray]) -> None:
    """Warn of an offset, or its smallest and largest value, that cannot be on the scale of the link."""
    offset = extras.get("offset")
    if offset is None or family.link == "identity" or not np.size(offset):
        return
    low, high = float(np.min(offset)), float(np.max(offset))
    if high - low > WIDEST_OFFSET:
        warn(
            f"The 'offset' of {called()} goes from {low:g} to {high:g}: it is added to the linear predictor "
            f"(link: {family.link}), so that rows differ by a factor of exp({high - low:.0f}). Is it an "
            "exposure? Then give its logarithm: log(exposure).",
            DataWarning,
        )
