"""States in which chains continue: kept in memory between rounds, or saved at the end of a run."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pyrjsel._errors import NotAvailableError
from pyrjsel.runtime.resources import RunTime
from pyrjsel.storage import Content, Plain


@dataclass(frozen=True)
class ChainEnd:
    """The final state of a chain.

    Attributes
    ----------
    done : int
        Iterations done, including burn-in.
    seconds : float
        Wall-clock seconds, over all calls.
    state : plain data
        As ``plain_state`` of a chain gives it.
    recorded : mapping of str to ndarray
        Recorded values that the results of the run do not hold: after an interrupted run, whose results may
        end earlier than the chain, all of them.
    cpu : float
        CPU seconds.
    """

    done: int
    seconds: float
    state: Plain
    recorded: Mapping[str, np.ndarray] = field(default_factory=dict)
    cpu: float = 0.0

    def to_plain(self) -> Plain:
        """Return the final state as plain data."""
        return {**vars(self), "seconds": float(self.seconds), "cpu": float(self.cpu)}

    @classmethod
    def from_plain(cls, content: Content) -> "ChainEnd":
        """Return the final state that :meth:`to_plain` wrote; the chain's state is checked on resuming.

        Raises
        ------
        StoreError
            If the content is invalid.
        """
        content.part("state")
        recorded = dict(content.part("recorded").items())
        if not all(isinstance(value, np.ndarray) for value in recorded.values()):
            raise content.wrong("recorded", "arrays")
        done, seconds = content.integer("done"), content.number("seconds", 0.0)
        cpu = content.number("cpu", 0.0)
        return cls(done, seconds, content.plain("state"), recorded, cpu)


@dataclass(frozen=True)
class Ends:
    """The final states of the chains of a run.

    Attributes
    ----------
    chains : sequence of ChainEnd
        By chain, including chains without draws.
    complete : bool
        Whether the results of the run hold everything that was recorded; if not, the final states do.
    before : int
        Number of recorded draws at the beginning that were taken from earlier results.
    entropy : bytes
        Seed of the draws made outside the chains.
    """

    chains: Sequence[ChainEnd]
    complete: bool
    before: int = 0
    entropy: bytes = b""

    def to_plain(self) -> Plain:
        """Return the final states as plain data."""
        return {
            "chains": [end.to_plain() for end in self.chains],
            "complete": self.complete,
            "before": self.before,
        }

    @classmethod
    def from_plain(cls, content: Content, count: int, iterations: int) -> "Ends":
        """Return the final states of a run of `count` chains, each of at most `iterations` iterations.

        Raises
        ------
        StoreError
            If the content is invalid.
        """
        chains = [ChainEnd.from_plain(part) for part in content.parts("chains")]
        if len(chains) != count:
            raise content.wrong("chains", f"the final states of {count} chains")
        if any(end.done > iterations for end in chains):
            raise content.wrong("chains", f"final states after at most {iterations} iterations")
        return cls(chains, content.flag("complete"), content.integer("before", high=iterations))

    def length(self, burn_in: int, thin: int) -> int:
        """Return the number of draws of the longest chain, including an unfinished one."""
        return max(-(-max(0, end.done - burn_in) // thin) for end in self.chains)

    def with_recorded(self, recorded: Sequence[Mapping[str, np.ndarray]], before: int) -> "Ends":
        """Return final states that hold the recorded values of results, by chain."""
        chains = [
            replace(end, recorded={**held, **end.recorded})
            for end, held in zip(self.chains, recorded, strict=True)
        ]
        return replace(self, chains=chains, before=before)

    def thinned(self, step: int, names: Collection[str]) -> "Ends":
        """Return final states that keep every `step`-th of the values recorded under some names."""
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
    """Split arrays along their first axis, the chains."""
    count = len(next(iter(draws.values())))
    return [{name: array[chain] for name, array in draws.items()} for chain in range(count)]


def known_ends(ends: Ends | None) -> Ends:
    """Return the final states of results.

    Raises
    ------
    NotAvailableError
        If there are none.
    """
    if ends is None:
        raise NotAvailableError(
            "These results cannot be extended or pooled: a chain was lost with its worker. Fit again with "
            "more draws."
        )
    return ends


class LiveChains:
    """The chains of this process that continue in the next round, with their iterations and run times.

    A worker process gets an empty collection: its chains resume from their saved states.
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[Any, int, RunTime]] = {}

    def keep(self, chain: int, runner: Any, done: int, spent: RunTime) -> None:
        """Keep a chain, without what it can make again."""
        if hasattr(runner, "rest"):
            runner.rest()
        self._held[chain] = runner, done, spent

    def take(self, chain: int, job: Any) -> tuple[Any, int, RunTime] | None:
        """Return a chain that continues with `job`, if it is here."""
        held = self._held.pop(chain, None)
        if held is not None:
            held[0].job = job
        return held

    def __reduce__(self) -> tuple[Callable[[], "LiveChains"], tuple[()]]:
        return LiveChains, ()
