"""Options of ``fit(sampler="collapsed")``."""

from dataclasses import dataclass
from typing import Any, ClassVar

from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_real
from pyrjsel.model_space import ModelSpace
from pyrjsel.model_space.chains import checked_start
from pyrjsel.runtime.ladder import Temperatures, check_temperatures
from pyrjsel.selection.samplers.shared import Integrated, default_swaps, default_trades

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
