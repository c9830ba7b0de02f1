"""Options of ``fit(sampler="gibbs")``."""

from dataclasses import dataclass
from typing import Any

from pyrjsel._validate import check_choice, check_int
from pyrjsel.model_space import ModelSpace
from pyrjsel.model_space.chains import checked_start
from pyrjsel.selection.samplers.shared import default_swaps, default_trades


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
