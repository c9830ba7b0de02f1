"""Chains that are kept in memory from one round of a run to the next."""

from collections.abc import Callable
from typing import Any

from pyrjsel.runtime.stopwatch import RunTime


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
