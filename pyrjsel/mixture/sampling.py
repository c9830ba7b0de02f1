"""Sampling of mixture classifiers: options, state, chains. The loop itself is in ``_mixture.pyx``."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyrjsel._validate import check_choice, check_int

PROPOSALS = ("conditional", "prior")


@dataclass(frozen=True)
class MixtureOptions:
    """Options of the sampler.

    Attributes
    ----------
    proposal : {"conditional", "prior"}
        Kernels of an input that enters come from what the rows that are allocated to them say, or from
        their prior as in Sykacek (1999).
    moves : int, optional
        Moves a sweep; None is as many as there are inputs that may be in or out.
    start : None, "empty" or sequence of str
        Inputs to start from. None starts the first chain at the smallest subset and the others at draws from
        the prior over subsets.
    """

    proposal: str = "conditional"
    moves: int | None = None
    start: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        owner = "MixtureOptions"
        check_choice(self.proposal, "proposal", owner, PROPOSALS)
        if self.moves is not None:
            check_int(self.moves, "moves", owner, low=0)
