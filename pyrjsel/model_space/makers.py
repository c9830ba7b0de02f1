"""Constructors of priors over models by name, for those read from files."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pyrjsel.model_space.cost_adjusted import CostAdjusted
from pyrjsel.model_space.priors import Bernoulli, BetaBinomial, TruncatedPoisson, Uniform


def _bernoulli(p: Any, expected_size: Any, by: Any) -> Bernoulli:
    named = isinstance(p, tuple) and bool(p) and isinstance(p[0], tuple)
    return Bernoulli(dict(p) if named else p, expected_size=expected_size, by=by)


def _cost_adjusted(costs: Any, baseline: Any) -> CostAdjusted:
    return CostAdjusted(dict(costs), baseline)


def prior_makers(heredity: str | None) -> Mapping[str, Callable[..., Any]]:
    """Return what makes the priors in a file of results, by name.

    Files did not always say `by`: their priors were by size, which is the default where there is no heredity.
    """
    by = "order" if heredity is None else "size"
    return {
        "Bernoulli": partial(_bernoulli, by=by),
        "BetaBinomial": partial(BetaBinomial, by=by),
        "CostAdjusted": _cost_adjusted,
        "TruncatedPoisson": partial(TruncatedPoisson, by=by),
        "Uniform": Uniform,
    }
