"""Chains that are kept from one round of a run to the next."""

from collections.abc import Callable
from typing import Any

from pyrjsel.runtime.stopwatch import RunTime


class LiveChains:
    """The chains of this process that go on in the next round, with their iterations and run times.

    A worker process gets an empty one: its chains go on from what they have written down.
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[Any, int, RunTime]] = {}

    def keep(self, chain: int, runner: Any, done: int, spent: RunTime) -> None:
        """Keep a chain."""
        self._held[chain] = runner, done, spent

    def take(self, chain: int, job: Any) -> tuple[Any, int, RunTime] | None:
        """Return a chain that goes on with `job`, if it is here."""
        held = self._held.pop(chain, None)
        if held is not None:
            held[0].job = job
        return held

    def __reduce__(self) -> tuple[Callable[[], "LiveChains"], tuple[()]]:
        return LiveChains, ()
