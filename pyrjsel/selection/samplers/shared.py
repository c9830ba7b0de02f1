"""Limits, defaults and distinctions that samplers and their options share."""

from typing import Any

from pyrjsel._validate import bad_value, check_choice, check_int
from pyrjsel.families import Gaussian
from pyrjsel.model_space import ModelSpace

# Largest number of models: the marginal likelihoods of more would take hours.
MOST_MODELS = 2**20
# Largest number of terms for which Laplace's approximation is a surrogate that soon pays.
FEW_TERMS = 24
# Largest number of free terms of dispersed starts: chains leave larger ones slowly, a column at a time.
WIDEST_START = 50
# Swaps per unit of time: for unbounded spaces, and for those with a budget or a largest size, where at the
# limit single flips can only remove terms.
SWAPS_FREE, SWAPS_BOUNDED = 1.0, 5.0
# Trades per unit of time: for spaces with heredity alone, and for those with bounds. Measured on problems
# with two modes: under bounds, three trades move three times as often as one at 1.6 times the run time. On
# unconstrained spaces FREE divided by the number of free terms, at most MOST_FREE: flips and swaps are enough
# there, except for columns that nearly depend on a few others, and a trade evaluates all terms several times.
# With 500 and 5,000 terms these take 1 % of the time.
TRADES_HEREDITY, TRADES_BOUNDED = 1.0, 3.0
MOST_FREE, FREE = 0.5, 10.0


class Integrated:
    """Base of options of samplers that integrate the coefficients of each model."""

    integration: str
    pairs: int | None

    def check_integration(self) -> None:
        """Raise :class:`ParameterError` unless `integration` and `pairs` are valid."""
        check_choice(self.integration, "integration", ("importance", "laplace"))
        if self.pairs is type(self).pairs is None:  # the default of samplers that choose the number
            return
        pairs = check_int(self.pairs, "pairs", low=2)
        if pairs % 2:
            raise bad_value("pairs", "an even int", pairs)

    @property
    def exact(self) -> bool:
        """Whether Laplace values are corrected by importance sampling."""
        return self.integration == "importance"


def is_gaussian(regression: Any) -> bool:
    """Whether a regression is that of a linear model."""
    return isinstance(regression.family, Gaussian)


def default_swaps(space: ModelSpace) -> float:
    """Return the default number of swaps per unit of time."""
    return SWAPS_BOUNDED if space.bounded else SWAPS_FREE


def default_trades(space: ModelSpace) -> float:
    """Return the default number of trades per unit of time."""
    if space.bounded:
        return TRADES_BOUNDED
    if space.heredity is not None and len(space.parent):
        return TRADES_HEREDITY
    return min(MOST_FREE, FREE / max(1, int(space.free.sum())))
