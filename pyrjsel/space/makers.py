"""What makes priors over models of what they are called and hold, for those that are read from files."""

from collections.abc import Callable, Mapping
from typing import Any

from pyrjsel.space.priors import Bernoulli, BetaBinomial, CostAdjusted, TruncatedPoisson, Uniform


def _bernoulli(p: Any, expected_size: Any) -> Bernoulli:
    named = isinstance(p, tuple) and bool(p) and isinstance(p[0], tuple)
    return Bernoulli(dict(p) if named else p, expected_size=expected_size)


def _cost_adjusted(costs: Any, baseline: Any) -> CostAdjusted:
    return CostAdjusted(dict(costs), baseline)


PRIOR_MAKERS: Mapping[str, Callable[..., Any]] = {
    "Bernoulli": _bernoulli,
    "BetaBinomial": BetaBinomial,
    "CostAdjusted": _cost_adjusted,
    "TruncatedPoisson": TruncatedPoisson,
    "Uniform": Uniform,
}
