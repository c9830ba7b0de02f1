"""Options of samplers as users give them, by sampler: read without the samplers themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_choice, check_int, check_real
from pyrjsel.families import Gaussian
from pyrjsel.model_space import ModelSpace
from pyrjsel.model_space.chains import checked_start
from pyrjsel.runtime.ladder import Temperatures, check_temperatures
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.reversible_jump.temperatures import (
    COLD_BOUNDS,
    HOT_BOUNDS,
    PARAMETER_BOUNDS,
    Law,
)

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


# Rows times pairs of draws by default, with which draws take about as long as the rest of an integral, and
# limits of the pairs.
WORK, FEWEST_PAIRS, MOST_PAIRS = 100_000, 32, 256
# Rows times integrals by default, which take about a second, and their least and largest number. Laplace's
# approximation is off by the more the fewer rows there are.
INTEGRATED, FEWEST, LARGEST = 1_000_000, 10, 200


@dataclass(frozen=True)
class ExactOptions:
    """Options of ``fit(sampler="enumerate")`` for linear models, which has none."""


@dataclass(frozen=True)
class EnumerateOptions(Integrated):
    """Options of ``fit(sampler="enumerate")`` for generalised linear models.

    Attributes
    ----------
    integration : {"importance", "laplace"}
        Importance sampling at each mode, with a reported error, or Laplace approximation, with unknown error.
    pairs : int, optional
        Pairs of importance draws per model. If it is at least 32, a model whose posterior has a long tail
        takes 128 or more; where they are not enough for an error of half a percent, up to 8,192 more follow,
        and further ones if coefficients of the most probable models need them. By default as many as take
        about as long as the rest of an integral: 100,000 divided by the number of rows, between 32 and 256,
        or 512 with unknown `df` of Student-t errors.
    """

    integration: str = "importance"
    pairs: int | None = None

    def __post_init__(self) -> None:
        self.check_integration()

    def pairs_for(self, regression: Regression) -> int:
        """Return the pairs of draws per model."""
        if self.pairs is not None:
            return self.pairs
        # Posteriors of two parameters of the likelihood can have two modes, which 256 pairs can miss.
        most = MOST_PAIRS * max(len(regression.family.expanded), 1)
        return min(max(WORK // regression.y.size // 2 * 2, FEWEST_PAIRS), most)


@dataclass(frozen=True)
class ChunksOptions:
    """Options of ``fit(sampler="chunks")``, for other than linear models of rows in chunks.

    Attributes
    ----------
    models : int
        Largest number of models that passes bring to their modes. Those that can have integrals, and those
        with all but 1e-4 of the posterior under a quadratic expansion of the log-likelihood, are enough;
        further ones keep its values, corrected by a regression on the others.
    integrals : int, optional
        Number of the best models whose Laplace approximations are checked by importance sampling. By default
        1,000,000 divided by the number of rows, between 10 and 200.
    pairs : int
        Pairs of importance draws for each of these.
    steps : int
        Draws of each of four chains over models under the quadratic expansion, if there are more than 2**20
        models; the list is then that of the models visited.
    """

    models: int = 200
    integrals: int | None = None
    pairs: int = 128
    steps: int = 5000

    def __post_init__(self) -> None:
        check_int(self.models, "models", low=1)
        if self.integrals is not None:
            check_int(self.integrals, "integrals", low=1)
        check_int(self.steps, "steps", low=1)
        check_int(self.pairs, "pairs", low=2)
        if self.pairs % 2:
            raise bad_value("pairs", "an even int", self.pairs)

    def integrals_for(self, rows: int) -> int:
        """Return the number of models with integrals."""
        if self.integrals is not None:
            return self.integrals
        return min(max(INTEGRATED // max(rows, 1), FEWEST), LARGEST)


# Limit of sweeps, swaps, block updates and trades, so that a thinning interval ends.
MOST = 1e4
# Number of temperatures for "auto".
AUTO_TEMPERATURES = 1


@dataclass(frozen=True)
class CollapsedOptions:
    """Options of ``fit(sampler="collapsed")``.

    Attributes
    ----------
    sweeps : float, optional
        Time between draws: the average number of proposals of each term. None is 1 for exact marginal
        likelihoods, and 10 otherwise, because integrating a model is then more expensive than the moves that
        lead to it: up to 80 where it is much more so, and 2 where Laplace's approximation is the surrogate.
    swaps : float, optional
        Swaps per unit of time: a random term leaves and one drawn from the full conditional enters. None is
        1, and 5 under a budget or a largest size.
    blocks : float, optional
        Block updates per unit of time, under heredity: the indicators of an interaction and its parents are
        drawn jointly. No other move finds an interaction with weak main effects. None is 1; during burn-in
        each block is updated at least five times. Interactions of four or more variables have no block.
    trades : float, optional
        Trades proposed per unit of time: several terms leave, one after the other, and others enter, possibly
        more or fewer. No other move exchanges one expensive term for several cheap ones. None is 3 under a
        budget or a largest size, 1 under heredity alone, otherwise 10 divided by the number of free terms but
        at most 0.5; and a third of that if `sweeps` is 10.
    temperatures : "auto", int or sequence of float
        Number of temperatures, whose spacing is adapted during burn-in so that 30 % of the exchanges between
        neighbours are accepted, or decreasing inverse temperatures from 1. With thousands of terms and no
        largest size, hot replicas may visit models of hundreds of terms: with 1,200 terms, five temperatures
        took over 100 times as long as one.
    start : None, "empty" or sequence of str
        Terms of the starting model. None starts the first chain at the smallest model and the others at
        random models from the prior, of at most 50 free terms; for more than 1,024 columns and than rows in
        linear models, at random halves of the 20 terms with the largest effects alone.
    """

    sweeps: float | None = None
    swaps: float | None = None
    blocks: float | None = None
    trades: float | None = None
    temperatures: Temperatures = "auto"
    start: Any = None

    default_sweeps: ClassVar[float] = 1.0
    # Factor of the default rate of trades for chains on surrogates, with ten times as long between draws.
    trades_of_default: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if self.sweeps is not None:
            check_real(self.sweeps, "sweeps", low=0, high=MOST, open_low=True)
        for name in ("swaps", "blocks", "trades"):
            if getattr(self, name) is not None:
                check_real(getattr(self, name), name, low=0, high=MOST)
        check_temperatures(self.temperatures, AUTO_TEMPERATURES)
        object.__setattr__(self, "start", checked_start(self.start))

    @property
    def time(self) -> float:
        """Time from one draw to the next."""
        return self.default_sweeps if self.sweeps is None else float(self.sweeps)

    def swap_rate(self, space: ModelSpace) -> float:
        """Return the number of swaps per unit of time."""
        return float(default_swaps(space) if self.swaps is None else self.swaps)

    def trade_rate(self, space: ModelSpace) -> float:
        """Return the number of trades per unit of time."""
        if self.trades is not None:
            return float(self.trades)
        return default_trades(space) * self.trades_of_default

    def powers(self) -> tuple[FloatArray, bool]:
        """Return the initial inverse temperatures of the replicas, and whether they are adapted."""
        return check_temperatures(self.temperatures, AUTO_TEMPERATURES)


@dataclass(frozen=True)
class CorrectedOptions(Integrated, CollapsedOptions):
    """Additional options of ``fit(sampler="collapsed")`` for generalised linear models.

    Attributes
    ----------
    integration : {"importance", "laplace"}
        Importance sampling at each mode, with a reported error, or Laplace approximation, with unknown error.
    pairs : int
        Pairs of importance draws per model. If it is at least 32, a model whose posterior has a long tail
        takes 128 or more; where they are not enough for an error of 2 % (of improbable models, 6 %), or for
        coefficients of the most probable models, more draws follow.
    """

    integration: str = "importance"
    pairs: int = 32

    default_sweeps: ClassVar[float] = 10.0
    trades_of_default: ClassVar[float] = 1.0 / 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_integration()


@dataclass(frozen=True)
class GibbsOptions:
    """Options of ``fit(sampler="gibbs")``.

    Attributes
    ----------
    scheme : {"collapsed", "conditional"}
        ``"collapsed"`` draws indicators with coefficients integrated out (and sigma^2, if priors scale with
        it); ``"conditional"`` draws them given the coefficients, as in the classical sampler for stochastic
        search, only for ``SpikeSlab``.
    swaps : int, optional
        Swaps per iteration: a random term leaves and one drawn from the full conditional enters. None is 1,
        and 5 under a budget or a largest size, where sweeps must delete before they can add.
    blocks : int, optional
        Block updates per iteration, under heredity: the indicators of an interaction and its parents are
        drawn jointly. None is 1; during burn-in each block is updated at least five times. Interactions of
        four or more variables have no block.
    trades : int, optional
        Trades proposed per iteration: several terms leave, one after the other, and others enter, possibly
        more or fewer. None is 3 under a budget or a largest size, 1 under heredity alone, and 0 otherwise.
    start : None, "empty" or sequence of str
        Terms of the starting model. None starts the first chain at the smallest model and the others at
        random models from the prior, of at most 50 free terms; for more than 1,024 columns and than rows, at
        random halves of the 20 terms with the largest effects alone.
    """

    scheme: str = "collapsed"
    swaps: int | None = None
    blocks: int | None = None
    trades: int | None = None
    start: Any = None

    def __post_init__(self) -> None:
        check_choice(self.scheme, "scheme", ("collapsed", "conditional"))
        for name in ("swaps", "blocks", "trades"):
            if getattr(self, name) is not None:
                check_int(getattr(self, name), name, low=0)
        object.__setattr__(self, "start", checked_start(self.start))

    def proposed_swaps(self, space: ModelSpace) -> int:
        """Return the number of swaps per iteration."""
        return int(default_swaps(space) if self.swaps is None else self.swaps)

    def proposed_trades(self, space: ModelSpace) -> int:
        """Return the number of trades per iteration."""
        return int(default_trades(space) if self.trades is None else self.trades)


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
