"""Where chains end, so that they can go on from there."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pyrjsel._errors import NotAvailableError
from pyrjsel.storage import Content, Plain


@dataclass(frozen=True)
class ChainEnd:
    """Where a chain ended.

    Attributes
    ----------
    done : int
        Iterations behind it, burn-in included.
    seconds : float
        By the clock, of all calls that it took.
    state : plain data
        As ``plain_state`` of a chain gives it.
    recorded : mapping of str to ndarray
        What it had recorded and the results of the run do not hold: with those of a run that was
        interrupted, which may end earlier than the chain, everything.
    cpu : float
        CPU seconds.
    """

    done: int
    seconds: float
    state: Plain
    recorded: Mapping[str, np.ndarray] = field(default_factory=dict)
    cpu: float = 0.0

    def to_plain(self) -> Plain:
        """Return it as plain data."""
        return {**vars(self), "seconds": float(self.seconds), "cpu": float(self.cpu)}

    @classmethod
    def from_plain(cls, content: Content) -> "ChainEnd":
        """Return what was written; the state is looked at when a chain goes on from it.

        Raises
        ------
        StoreError
            If it is something else.
        """
        content.part("state")
        recorded = dict(content.part("recorded").items())
        if not all(isinstance(value, np.ndarray) for value in recorded.values()):
            raise content.wrong("recorded", "arrays")
        done, seconds = content.integer("done"), content.number("seconds", 0.0)
        cpu = content.number("cpu", 0.0) if "cpu" in content else 0.0  # files did not always have it
        return cls(done, seconds, content.plain("state"), recorded, cpu)


@dataclass(frozen=True)
class Ends:
    """Where the chains of a run ended.

    Attributes
    ----------
    chains : sequence of ChainEnd
        By chain, those that had no draw yet among them.
    complete : bool
        Whether the results of the run hold all that was recorded; if not, the ends do.
    before : int
        How many of the recorded draws, the first ones, were taken from results.
    entropy : bytes
        Seed of what is drawn beside the chains.
    """

    chains: Sequence[ChainEnd]
    complete: bool
    before: int = 0
    entropy: bytes = b""

    def to_plain(self) -> Plain:
        """Return them as plain data."""
        return {
            "chains": [end.to_plain() for end in self.chains],
            "complete": self.complete,
            "before": self.before,
        }

    @classmethod
    def from_plain(cls, content: Content, count: int, iterations: int) -> "Ends":
        """Return what was written of a run of `count` chains, each of at most so many iterations.

        Raises
        ------
        StoreError
            If it is something else.
        """
        chains = [ChainEnd.from_plain(part) for part in content.parts("chains")]
        if len(chains) != count:
            raise content.wrong("chains", f"the ends of {count} chains")
        if any(end.done > iterations for end in chains):
            raise content.wrong("chains", f"ends after at most {iterations} iterations")
        return cls(chains, content.flag("complete"), content.integer("before", high=iterations))

    def length(self, burn_in: int, thin: int) -> int:
        """Return the draws of the longest chain, one that it has begun among them."""
        return max(-(-max(0, end.done - burn_in) // thin) for end in self.chains)

    def with_recorded(self, recorded: Sequence[Mapping[str, np.ndarray]], before: int) -> "Ends":
        """Return ends that hold what results have recorded, by chain."""
        chains = [
            replace(end, recorded={**held, **end.recorded})
            for end, held in zip(self.chains, recorded, strict=True)
        ]
        return replace(self, chains=chains, before=before)

    def thinned(self, step: int, names: Collection[str]) -> "Ends":
        """Return ends that hold every `step`-th of what was recorded under some names."""
        chains = [
            replace(
                end,
                recorded={
                    name: array[::step] if name in names else array for name, array in end.recorded.items()
                },
            )
            for end in self.chains
        ]
        return replace(self, chains=chains)


def by_chain(draws: Mapping[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Return arrays with an axis of chains in front by chain."""
    count = len(next(iter(draws.values())))
    return [{name: array[chain] for name, array in draws.items()} for chain in range(count)]


def known_ends(ends: Ends | None) -> Ends:
    """Return the ends of results.

    Raises
    ------
    NotAvailableError
        If there are none.
    """
    if ends is None:
        raise NotAvailableError(
            "These results cannot be extended: a chain was lost with its worker, or the file that they come "
            "from was written before states of chains were saved. Fit again with more draws."
        )
    return ends
