"""Chains that are kept from one round of a run to the next."""

from collections.abc import Callable
from typing import Any


class Live:
    """The chains of this process that go on in the next round, with their iterations and seconds.

    A worker process gets an empty one: its chains go on from what they have written down.
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[Any, int, float]] = {}

    def keep(self, chain: int, runner: Any, done: int, seconds: float) -> None:
        """Keep a chain."""
        self._held[chain] = runner, done, seconds

    def take(self, chain: int, job: Any) -> tuple[Any, int, float] | None:
        """Return a chain that goes on with `job`, if it is here."""
        held = self._held.pop(chain, None)
        if held is not None:
            held[0].job = job
        return held

    def __reduce__(self) -> tuple[Callable[[], "Live"], tuple[()]]:
        return Live, ()
