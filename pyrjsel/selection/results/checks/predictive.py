"""Simulated responses, and comparison of their statistics with those of the data."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, show, unknown_name
from pyrjsel.families import Statistic
from pyrjsel.runtime import one_blas_thread
from pyrjsel.selection.results.prediction import Prediction

COLUMNS = ["observed", "mean", "sd", "ci_lower", "ci_upper", "p_value"]


@dataclass(frozen=True)
class Compared:
    """A statistic of the data and of simulated responses, by posterior draw.

    Attributes
    ----------
    observed : ndarray (m,)
        Values for the data, all equal for a statistic of the responses alone.
    replicated : ndarray (m,)
    """

    observed: FloatArray
    replicated: FloatArray

    def row(self) -> list[float]:
        """Return its row in the table of checks."""
        low, high = np.quantile(self.replicated, [0.025, 0.975])
        # Ties count half: counts and proportions of simulated responses are often equal to those of the data.
        above = float(
            np.mean(self.replicated > self.observed) + 0.5 * np.mean(self.replicated == self.observed)
        )
        return [
            float(self.observed.mean()),
            float(self.replicated.mean()),
            float(self.replicated.std(ddof=1)),
            float(low),
            float(high),
            2.0 * min(above, 1.0 - above),
        ]


@one_blas_thread
def simulated_responses(
    prediction: Prediction, weights: FloatArray, draws: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return simulated responses, rows by draws; NaN for incomplete rows and for a weight of 0 or NaN."""
    out = np.full((len(prediction.index), draws), np.nan)
    rows = np.flatnonzero(prediction.complete & (weights > 0))
    for part, _, response in prediction.simulate(rows, weights[rows], draws, rng):
        out[rows, part] = response
    return pd.DataFrame(out, index=prediction.index.copy(), columns=pd.RangeIndex(draws, name="draw"))


def chosen_statistics(given: Any, known: Mapping[str, Statistic]) -> dict[str, Statistic]:
    """Return the statistics of a call: those `given`, or all of the family.

    Raises
    ------
    ParameterError
        If `given` is not a mapping of names to functions of responses, or of responses and means.
    """
    if given is None:
        return dict(known)
    must = "a mapping of names to functions of the responses, or of the responses and their means, or None"
    if not isinstance(given, Mapping) or not given or not all(isinstance(name, str) for name in given):
        raise bad_value("statistics", must, given)
    return {name: _own(function, f"statistics[{name!r}]") for name, function in given.items()}


def named_statistic(given: Any, known: Mapping[str, Statistic]) -> tuple[str, Statistic]:
    """Return name and function of a statistic, given by its name in the family or as a function.

    Raises
    ------
    UnknownNameError
        If the family has no statistic of that name.
    ParameterError
        If `given` is neither a name nor a function of responses, or of responses and means.
    """
    if isinstance(given, str):
        if given not in known:
            raise unknown_name(given, "statistic", known)
        return given, known[given]
    return getattr(given, "__name__", "statistic"), _own(given, "statistic")


def _own(function: Any, name: str) -> Statistic:
    count = _needed(function) if callable(function) else 0
    if count == 1:
        return Statistic(lambda y, mean, weights: function(y))
    if count == 2:
        return Statistic(lambda y, mean, weights: function(y, mean), discrepancy=True)
    raise bad_value(name, "a function of the responses, or of the responses and their means", function)


def _needed(function: Callable[..., Any]) -> int:
    """Return the number of positional parameters without defaults; 1 if unknown."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # unknown for some compiled functions
        return 1
    free = [p for p in parameters if p.default is p.empty]
    if any(p.kind is p.KEYWORD_ONLY for p in free):
        return 0
    count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in free)
    return count or int(any(p.kind is p.VAR_POSITIONAL for p in free))


@one_blas_thread
def compare(
    prediction: Prediction,
    y: FloatArray,
    weights: FloatArray,
    statistics: Mapping[str, Statistic],
    draws: int,
    rng: np.random.Generator,
) -> dict[str, Compared]:
    """Compute statistics for the data and for `draws` simulated data sets, over rows of positive weight.

    Raises
    ------
    ParameterError
        If a statistic is not a finite number.
    """
    rows = np.flatnonzero(weights > 0)
    weights, seen = weights[rows], _fixed(y[rows])
    values = {name: np.empty((2, draws)) for name in statistics}
    for part, means, responses in prediction.simulate(rows, weights, draws, rng):
        columns = list(zip(_fixed(means.swapaxes(0, 1)), _fixed(responses.swapaxes(0, 1)), strict=True))
        for name, statistic in statistics.items():
            observed, replicated = values[name][:, part]
            for k, (mean, response) in enumerate(columns):
                function = statistic.given(mean, weights)
                replicated[k] = _value(function(response), name)
                if statistic.discrepancy:
                    observed[k] = _value(function(seen), name)
            if not statistic.discrepancy:
                observed[:] = _value(function(seen), name)
    return {name: Compared(*value) for name, value in values.items()}


def _fixed(values: FloatArray) -> FloatArray:
    """Return `values` as a read-only array, for a user's function."""
    values.flags.writeable = False
    return values


def _value(value: Any, name: str) -> float:
    number: Any = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    real = isinstance(number, (Real, np.bool_)) and not isinstance(number, np.timedelta64)
    if not real or not abs(number) <= sys.float_info.max:
        raise ParameterError(
            f"The statistic {name!r} of {called()} must be a finite number for every response, "
            f"simulated ones among them. Got {show(value)} instead."
        )
    return float(number)
