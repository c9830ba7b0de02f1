"""Options of ``fit(sampler="collapsed")``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_choice, check_int, check_real
from pyrjsel.model_space import ModelSpace
from pyrjsel.model_space.starts import checked_start
from pyrjsel.runtime.ladder import Temperatures, check_temperatures
from pyrjsel.selection.samplers.moves import default_swaps, default_trades

# Sweeps, swaps, block updates and trades at most: a thinning interval must end.
MOST = 1e4
# Temperatures of "auto".
AUTO_TEMPERATURES = 1


@dataclass(frozen=True)
class CollapsedOptions:
    """Options of ``fit(sampler="collapsed")``.

    Attributes
    ----------
    sweeps : float, optional
        Time from one draw to the next: each term is proposed so many times on average. None is 1 where
        marginal likelihoods are exact, and 10 elsewhere, where those of the models cost more than the way
        to them.
    swaps : float, optional
        Swaps a unit of time: a random term leaves and one drawn from its full conditional enters. None is 1,
        and 5 under a budget or a largest size.
    blocks : float, optional
        Block updates a unit of time, under heredity: the indicators of an interaction and its parents are
        drawn jointly. An interaction with weak main effects is found by no other move. None is 1; in burn-in
        at least so many that each block is drawn five times. Interactions of four and more variables have no
        block of their own.
    trades : float, optional
        Trades proposed a unit of time: some terms leave, one after the other, and others enter, which may be
        more or fewer. Between one term at a high price and several at low prices nothing else moves. None is
        3 under a budget or a largest size, 1 under heredity alone, elsewhere 10 over the number of free terms
        and 0.5 at most; and a third of that where `sweeps` is 10.
    temperatures : "auto", int or sequence of float
        Number of temperatures, whose distances are adapted in burn-in so that 30 % of the exchanges between
        neighbours are accepted, or the inverse temperatures themselves, from 1 downwards. Among thousands of
        terms hot replicas without a largest size may visit models of hundreds of them: of 1,200 terms five
        temperatures took over 100 times as long as one.
    start : None, "empty" or sequence of str
        Terms of the model to start from. None starts the first chain at the smallest model and the
        others at draws from the prior over models (of at most 50 free terms).
    """

    sweeps: float | None = None
    swaps: float | None = None
    blocks: float | None = None
    trades: float | None = None
    temperatures: Temperatures = "auto"
    start: Any = None

    default_sweeps: ClassVar[float] = 1.0
    # Of the default rate of trades: chains on surrogates have ten times as long from one draw to the next.
    trades_of_default: ClassVar[float] = 1.0
    # Values of options in results of versions without them, and earlier names of options.
    before: ClassVar[Mapping[str, Any]] = {"trades": 0.0}
    renamed: ClassVar[Mapping[str, str]] = {"slots": "swaps", "families": "blocks"}

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
        """Return the swaps a unit of time."""
        return float(default_swaps(space) if self.swaps is None else self.swaps)

    def trade_rate(self, space: ModelSpace) -> float:
        """Return the trades a unit of time."""
        if self.trades is not None:
            return float(self.trades)
        return default_trades(space) * self.trades_of_default

    def powers(self) -> tuple[FloatArray, bool]:
        """Return the first powers of the replicas, and whether they are adapted."""
        return check_temperatures(self.temperatures, AUTO_TEMPERATURES)


@dataclass(frozen=True)
class CorrectedOptions(CollapsedOptions):
    """Options of ``fit(sampler="collapsed")`` for models that are not linear, beside those of linear ones.

    Attributes
    ----------
    integration : {"importance", "laplace"}
        Importance sampling at each mode, with its error reported, or Laplace values alone, whose error is
        not known.
    pairs : int
        Pairs of importance draws a model; where 64 and more do not suffice for an error of 3 %, more
        follow, and so they do for coefficients of the models that hold the posterior.
    """

    integration: str = "importance"
    pairs: int = 64

    default_sweeps: ClassVar[float] = 10.0
    trades_of_default: ClassVar[float] = 1.0 / 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.integration, "integration", ("importance", "laplace"))
        check_int(self.pairs, "pairs", low=2)
        if self.pairs % 2:
            raise bad_value("pairs", "an even int", self.pairs)

    @property
    def exact(self) -> bool:
        """Whether Laplace values are corrected by importance sampling."""
        return self.integration == "importance"
