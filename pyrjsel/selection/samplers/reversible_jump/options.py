"""Options of ``fit(sampler="rjmcmc")`` and ``fit(sampler="population")``."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

from pyrjsel._validate import bad_value, check_choice, check_int
from pyrjsel.model_space.chains import checked_start
from pyrjsel.selection.samplers.reversible_jump.temperatures import (
    COLD_BOUNDS,
    HOT_BOUNDS,
    PARAMETER_BOUNDS,
    Law,
)

# Updates of the inverse temperatures of a population.
SCHEMES = ("fixed", "exact", "paper")


@dataclass(frozen=True)
class RJMCMCOptions:
    """Options of ``fit(sampler="rjmcmc")``.

    Attributes
    ----------
    proposal : {"conditional", "full"}
        Proposal of a term's new coefficients: from one Newton step given all other coefficients, or from the
        normal approximation to the posterior of the full model.
    swaps : int, optional
        Swaps proposed per iteration; None is the number of free terms under a budget or a largest size, where
        flips must delete before they can add, and a quarter of that otherwise.
    trades : int, optional
        Trades per iteration: a term, with the terms that heredity requires, enters and as many others leave
        as a budget or a largest size requires (at most 20), or the reverse. None is 8 if swaps are not
        enough, because costs differ or because of heredity, and 0 otherwise. Between distant modes, effective
        draws per second increase up to 8 (a third as many with 1); without such modes 1 can be up to half as
        fast again.
    entry : {"score", "uniform"}
        Choice of the entering term in trades: with ``"score"``, half of the time in proportion to its score
        statistic in the null model, which is about 1 for a term without effect, and otherwise uniformly; with
        ``"uniform"``, always uniformly. The posterior does not depend on it.
    blocks : int, optional
        Block updates per iteration, under heredity: the indicators of an interaction and its parents are
        proposed jointly. No other move finds an interaction with weak main effects. None is a quarter of the
        number of interactions. Interactions of four or more variables have no block.
    surrogate : int
        Surrogate jumps per iteration, for generalised linear models without unknown parameters besides
        coefficients: the proposed model is the final state of
        a chain on an approximate posterior, and its coefficients are drawn around their mode. A jump takes as
        long as several iterations of single moves and can change many terms at once. The default is 0;
        ``sampler="auto"`` uses 1 if it chooses this sampler because the data are nearly separated.
    start : None, "empty" or sequence of str
        Terms of the starting model. None starts the first chain at the smallest model and the others at
        random models from the prior.
    """

    proposal: str = "conditional"
    swaps: int | None = None
    trades: int | None = None
    entry: str = "score"
    blocks: int | None = None
    surrogate: int = 0
    start: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Check the options common to all reversible-jump samplers."""
        check_choice(self.proposal, "proposal", ("conditional", "full"))
        check_choice(self.entry, "entry", ("score", "uniform"))
        for name in ("swaps", "trades", "blocks"):
            if getattr(self, name) is not None:
                check_int(getattr(self, name), name, low=0)
        check_int(self.surrogate, "surrogate", low=0)
        object.__setattr__(self, "start", checked_start(self.start))


@dataclass(frozen=True)
class PopulationOptions(RJMCMCOptions):
    """Options of ``fit(sampler="population")``, besides those of ``"rjmcmc"`` except `surrogate`.

    Attributes
    ----------
    scheme : {"exact", "fixed", "paper"}
        Update of the inverse temperatures: ``"exact"`` draws each from its full conditional, ``"fixed"``
        keeps it (ordinary parallel tempering), ``"paper"`` draws it from its distribution regardless of the
        state, as in the slides of a talk by I. Ntzoufras on Fouskakis, Ntzoufras and Draper (2009), which
        biases the posterior: little if chains mix well, and much if they do not.
    cold : tuple (a, b) or sequence of them
        Chains with inverse temperature t > 1: t - 1 ~ Gamma(a, rate b), with a mean from 0.02 to 10. Here and
        in `hot`, a and b must be from 0.1 to 1,000 to suit the grid of 60 temperatures of a chain: smaller
        values put nearly all probability beyond its ends, larger ones between two points.
    hot : tuple (a, b) or sequence of them
        Chains with inverse temperature t < 1: t ~ Beta(a, b), with a mean from 0.05 to 0.98. For linear
        models this is the distribution of (t - t0) / (1 - t0), with t0 = (d + 3) / (n + d + 2 a + 2) for n
        rows, d columns of the largest model besides the intercept (0 if prior variances are not multiples of
        sigma^2) and sigma^2 ~ IG(a, b) (a = 0 for 1 / sigma^2): powers t <= t0 of the posterior are not
        integrable.
    tune : bool
        Whether the distributions (with ``"fixed"``, the values) are tuned during burn-in towards an
        acceptance rate of exchanges of 20 %. The range of the grid limits the mean of t - 1 to ten times its
        initial value (to 5, if that is below 0.5).
    """

    scheme: str = "exact"
    cold: tuple[float, float] | Sequence[tuple[float, float]] = (2.0, 4.0)
    hot: tuple[float, float] | Sequence[tuple[float, float]] = (7.0, 3.0)
    tune: bool = True

    def __post_init__(self) -> None:
        self.check()
        if self.surrogate:
            raise bad_value("surrogate", "0", self.surrogate)
        check_choice(self.scheme, "scheme", SCHEMES)
        if not isinstance(self.tune, bool):
            raise bad_value("tune", "True or False", self.tune)
        if not self.laws():
            raise bad_value("cold", "at least one pair (a, b) where 'hot' has none", self.cold)

    def laws(self) -> list[Law]:
        """Return the temperature distributions of the auxiliary chains, cold ones first."""
        return [*_laws(self.cold, "cold", COLD_BOUNDS), *_laws(self.hot, "hot", HOT_BOUNDS)]


def _laws(value: object, kind: str, bounds: tuple[float, float]) -> list[Law]:
    """Return distributions within the range of the grid, as after tuning."""
    laws = [Law(kind, *pair) for pair in _pairs(value, kind)]
    for law in laws:
        if not bounds[0] <= law.mean <= bounds[1]:
            mean = "a / (a + b)" if kind == "hot" else "a / b"
            must = f"pairs (a, b) whose mean {mean} is between {bounds[0]:g} and {bounds[1]:g}"
            raise bad_value(kind, must, (law.a, law.b))
    return laws


def _pairs(value: object, name: str) -> list[tuple[float, float]]:
    low, high = PARAMETER_BOUNDS
    must = f"a pair (a, b) of numbers from {low:g} to {high:,g}, or a sequence of such pairs"
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise bad_value(name, must, value)
    several = [value] if value and not isinstance(value[0], Sequence) else list(value)
    for pair in several:
        if not isinstance(pair, Sequence) or len(pair) != 2 or not all(_is_parameter(item) for item in pair):
            raise bad_value(name, must, value)
    return [(float(a), float(b)) for a, b in several]


def _is_parameter(item: object) -> bool:
    low, high = PARAMETER_BOUNDS
    return isinstance(item, Real) and not isinstance(item, bool) and bool(low <= item <= high)  # type: ignore[operator]
