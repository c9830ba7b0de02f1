"""How accurate a run is to be that stops by itself, and how accurate it is."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyrjsel._validate import bad_value, check_int, check_real, counted
from pyrjsel.storage import Content, Plain

# What stands for a number of draws where accuracy decides it.
AUTO = "auto"
# Monte Carlo error that is asked for, and draws of a chain at most, where nothing is said.
MCSE, MOST = 0.005, 100_000
# Draws of a chain in the first round. Chains are cut into batches of about its square root: four of them have
# 56 batches then, and their errors are known to a tenth. A run that could stop before that would stop where
# its errors happen to look small.
FIRST = 200
# Iterations of burn-in.
WARM = 100


@dataclass(frozen=True)
class Accuracy:
    """The accuracy and the limits asked of a run with ``draws="auto"``.

    Attributes
    ----------
    mcse : float
        Largest Monte Carlo error of the figures that results show.
    max_draws : int
        Draws of a chain at most.
    max_seconds : float or None
        Seconds after which no further round begins; rounds are cut to end about then.
    first : int
        Draws of a chain in the first round.
    """

    mcse: float = MCSE
    max_draws: int = MOST
    max_seconds: float | None = None
    first: int = FIRST

    @classmethod
    def check(
        cls,
        owner: str,
        mcse: float,
        max_draws: int,
        max_seconds: float | None,
        most: int,
        first: int = FIRST,
    ) -> "Accuracy":
        """Return what is asked.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        """
        return cls(
            check_real(mcse, "mcse", owner, low=0.0, open_low=True),
            check_int(max_draws, "max_draws", owner, low=1, high=most),
            None
            if max_seconds is None
            else check_real(max_seconds, "max_seconds", owner, low=0.0, open_low=True),
            first,
        )

    def to_plain(self) -> Plain:
        """Return it as plain data."""
        return dict(vars(self))

    @classmethod
    def from_plain(cls, content: Content, owner: str, most: int) -> "Accuracy":
        """Return what was written.

        Raises
        ------
        StoreError
            If something is missing or no number.
        ParameterError
            If something is out of range.
        """
        seconds = content.number("max_seconds") if "max_seconds" in content else None
        most_draws, first = content.integer("max_draws"), content.integer("first", 1, most)
        return cls.check(owner, content.number("mcse"), most_draws, seconds, most, first)

    def check_unused(self, owner: str, draws: object, usual: "Accuracy") -> None:
        """Raise :class:`ParameterError` if other than what is `usual` is asked of a run of so many draws."""
        for name in ("mcse", "max_draws", "max_seconds"):
            given = getattr(self, name)
            if given != getattr(usual, name):
                must = f"left out where 'draws' is a number ({draws}): the run then has just so many"
                raise bad_value(name, owner, must, given)


# What is asked where nothing is said.
USUAL = Accuracy()


@dataclass(frozen=True)
class Figure:
    """A figure that results show and that is not accurate enough.

    Attributes
    ----------
    text : str
        What it is and should be: "the MCSE of the inclusion of x3 is 0.0071, above 0.005".
    needed : float
        Times as many draws as there are that would do, by its law; above 1.
    """

    text: str
    needed: float

    @classmethod
    def of_error(cls, name: str, value: float, target: float) -> "Figure":
        """Return a figure that falls as 1 / sqrt(draws)."""
        return cls(f"{name} is {above(value, target)}", (value / target) ** 2)


def above(value: float, target: float) -> str:
    """Return a value above a target in words, with as many digits as tell the two apart."""
    known = f"{target:.15g}"
    digits = next((d for d in range(2, 17) if float(f"{value:.{d}g}") > target), 17)
    return f"{value:.{digits}g}, above {known}"


# From what chains have drawn, and how many draws each: the figures that are not accurate enough, in an order
# that never changes.
Rule = Callable[[Sequence[Any], int], Sequence[Figure]]


def worst(figures: Sequence[Figure]) -> Figure | None:
    """Return the figure that needs most draws, if there is one."""
    return max(figures, key=lambda each: each.needed, default=None)


def missed(figures: Sequence[Figure], draws: int, limit: str) -> list[str]:
    """Return what is to be said of a run of `draws` draws a chain that ended at a limit."""
    first = worst(figures)
    if first is None:
        return []
    others = len(figures) - 1
    more = f", and {counted(others, 'more figure')} {'is' if others == 1 else 'are'} not accurate yet"
    what = f"{first.text}{more if others else ''}"
    enough = f"It would take about {_rounded(first.needed * draws)} draws a chain."
    return [f"The run ended at {limit} before its figures were accurate: {what}. {enough}"]


def _rounded(draws: float) -> str:
    """Return a number of draws to two digits."""
    return f"{int(float(f'{min(draws, 1e18):.2g}')):,}"


@dataclass(frozen=True)
class Clock:
    """When rounds end."""

    accuracy: Accuracy
    begun: float

    @classmethod
    def of(cls, accuracy: Accuracy, begun: float | None = None) -> "Clock":
        """Return one that begins now, or that has begun."""
        return cls(accuracy, time.perf_counter() if begun is None else begun)

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self.begun

    def at_least(self, draws: int) -> int:
        """Return the draws of the first round that has so many: rounds double, whatever a run began with."""
        size = self.accuracy.first
        while size < draws:
            size *= 2
        return max(draws, min(size, self.accuracy.max_draws))

    def after(self, draws: int, rate: float) -> int:
        """Return the draws of the round after one of `draws`; as many if there is none.

        `rate` are draws a second: where seconds are limited, a round ends about there.
        """
        size = max(draws, self.at_least(draws + 1)) if draws < self.accuracy.max_draws else draws
        limit = self.accuracy.max_seconds
        if limit is not None:
            size = min(size, draws + int(max(0.0, limit - self.seconds) * rate))
        return size

    def limit(self, draws: int) -> str:
        """Return what ended a run after `draws` draws, in words."""
        if draws >= self.accuracy.max_draws:
            return f"{draws:,} draws a chain ('max_draws')"
        return f"{draws:,} draws a chain, after {self.seconds:.3g} seconds ('max_seconds')"
