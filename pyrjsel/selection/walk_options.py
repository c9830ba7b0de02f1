"""Options of ``fit(sampler="collapsed")``, and the rates of the moves of walks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_real
from pyrjsel.runtime.ladder import Temperatures, check_temperatures
from pyrjsel.space import ModelSpace
from pyrjsel.space.starts import checked_start

OWNER = "sampler='collapsed'"
# Dispersed starts have at most so many free terms: a walk leaves wider ones slowly, a column at a time.
WIDEST_START = 50
# Slot moves a unit of time: free spaces, and those with a budget or a largest size, where at the limit
# flips alone can only take terms out.
SLOTS_FREE, SLOTS_BOUNDED = 1.0, 5.0
# Trades a unit of time: spaces with heredity alone, and those with bounds. Measured on problems with two
# modes: under bounds, three move three times as often as one at 1.6 times the cost of a fit. On free spaces
# FREE over the number of free terms, MOST_FREE at most: flips and slots do there, but for columns that nearly
# depend on a few others, and a trade looks at all terms several times. Of 500 and 5,000 terms these take 1 %
# of the time.
TRADES_HEREDITY, TRADES_BOUNDED = 1.0, 3.0
MOST_FREE, FREE = 0.5, 10.0
# Sweeps, slot moves, families and trades at most: a period must end.
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
    slots : float, optional
        Slot moves a unit of time, in which a random term leaves and one drawn from its full conditional
        comes; None is 1, and 5 under a budget or a largest size.
    families : float, optional
        Under heredity, families drawn in a unit of time: of a random interaction and all that it needs it is
        decided together which terms are in, since an interaction whose main effects are weak is found by no
        other way. None is 1; in burn-in they are at least so many that the turn of each comes five times.
        Interactions of four variables and more have no family of their own.
    trades : float, optional
        Trades proposed in a unit of time, in which some terms leave, one after the other, and others come in
        their place, which may be more or fewer: between a term at a high price and several at low prices
        nothing else moves. None is 3 under a budget or a largest size, 1 under heredity alone, elsewhere 10
        over the number of free terms and 0.5 at most; and a third of that where `sweeps` is 10.
    temperatures : "auto", int or sequence of float
        Number of temperatures, whose distances are adapted in burn-in so that 30 % of the exchanges between
        neighbours are accepted, or the powers of the posterior themselves, from 1 downwards. Among thousands
        of terms hot replicas without a largest size may walk over models of hundreds of them: of 1,200 five
        temperatures took over 100 times as long as one.
    start : None, "empty" or sequence of str
        Terms of the model to start from. None starts the first chain at the smallest model and the
        others at draws from the prior over models (of at most 50 free terms).
    """

    sweeps: float | None = None
    slots: float | None = None
    families: float | None = None
    trades: float | None = None
    temperatures: Temperatures = "auto"
    start: Any = None

    default_sweeps: ClassVar[float] = 1.0
    # Of the default rate of trades: walks on surrogates have ten times as long from one draw to the next.
    trades_of_default: ClassVar[float] = 1.0
    # What fits were before this could be chosen.
    before: ClassVar[Mapping[str, Any]] = {"trades": 0.0}

    def __post_init__(self) -> None:
        if self.sweeps is not None:
            check_real(self.sweeps, "sweeps", OWNER, low=0, high=MOST, open_low=True)
        if self.slots is not None:
            check_real(self.slots, "slots", OWNER, low=0, high=MOST)
        if self.families is not None:
            check_real(self.families, "families", OWNER, low=0, high=MOST)
        if self.trades is not None:
            check_real(self.trades, "trades", OWNER, low=0, high=MOST)
        check_temperatures(self.temperatures, OWNER, AUTO_TEMPERATURES)
        object.__setattr__(self, "start", checked_start(self.start, OWNER))

    @property
    def time(self) -> float:
        """Time of a period."""
        return self.default_sweeps if self.sweeps is None else float(self.sweeps)

    def slot_rate(self, space: ModelSpace) -> float:
        """Return the slot moves a unit of time."""
        if self.slots is not None:
            return float(self.slots)
        return SLOTS_BOUNDED if space.bounded else SLOTS_FREE

    def trade_rate(self, space: ModelSpace) -> float:
        """Return the trades a unit of time."""
        if self.trades is not None:
            return float(self.trades)
        return default_trades(space) * self.trades_of_default

    def powers(self) -> tuple[FloatArray, bool]:
        """Return the first powers of the replicas, and whether they are adapted."""
        return check_temperatures(self.temperatures, OWNER, AUTO_TEMPERATURES)


def default_trades(space: ModelSpace) -> float:
    """Return the trades a unit of time where their number is left to us."""
    if space.bounded:
        return TRADES_BOUNDED
    if space.heredity is not None and len(space.parent):
        return TRADES_HEREDITY
    return min(MOST_FREE, FREE / max(1, int(space.free.sum())))


def counted_moves(families: float, trades: float) -> list[int]:
    """Return the numbers of the moves that a walk makes, by the rates of those that it may lack."""
    return [0, 1, *([2] if families else []), *([3] if trades else [])]
