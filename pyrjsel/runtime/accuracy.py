"""Target accuracy of runs with ``draws="auto"``, and the accuracy reached."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from pyrjsel._validate import bad_value, check_int, check_real, counted
from pyrjsel.storage import Content, Plain

# Value of `draws` that lets the accuracy decide.
AUTO = "auto"
# Default target for the Monte Carlo error, and default limit of draws per chain.
MCSE, MOST = 0.005, 100_000
# Draws per chain in the first round. Batches have about the square root of that length: four chains have
# 56 batches then, and their errors are known to a tenth. A run that could stop earlier would stop when
# its errors happen to look small.
FIRST = 200
# Iterations of burn-in.
WARM = 100
# Rounds grow by what the least accurate figure needs and a tenth more, within limits: errors of short runs
# are known to a tenth at best, and a run that looked again after a few draws would stop when its errors
# happen to look small.
SPARE, LEAST, MOST_GROWTH = 1.1, 1.25, 4.0


@dataclass(frozen=True)
class Accuracy:
    """Target accuracy and limits of a run with ``draws="auto"``.

    Attributes
    ----------
    mcse : float
        Largest Monte Carlo error allowed in the results.
    max_draws : int
        Limit of draws per chain.
    max_seconds : float or None
        Time after which no further round begins; rounds are shortened to end at about that time.
    first : int
        Draws per chain in the first round.
    """

    mcse: float = MCSE
    max_draws: int = MOST
    max_seconds: float | None = None
    first: int = FIRST

    @classmethod
    def check(
        cls,
        mcse: float,
        max_draws: int,
        max_seconds: float | None,
        most: int,
        first: int = FIRST,
    ) -> "Accuracy":
        """Return the checked settings.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        """
        return cls(
            check_real(mcse, "mcse", low=0.0, open_low=True),
            check_int(max_draws, "max_draws", low=1, high=most),
            None if max_seconds is None else check_real(max_seconds, "max_seconds", low=0.0, open_low=True),
            first,
        )

    def to_plain(self) -> Plain:
        """Return the settings as plain data."""
        return dict(vars(self))

    @classmethod
    def from_plain(cls, content: Content, most: int) -> "Accuracy":
        """Return the settings that :meth:`to_plain` wrote.

        Raises
        ------
        StoreError
            If an entry is missing or is not a number.
        ParameterError
            If a value is out of range.
        """
        seconds = content.number("max_seconds") if "max_seconds" in content else None
        most_draws, first = content.integer("max_draws"), content.integer("first", 1, most)
        return cls.check(content.number("mcse"), most_draws, seconds, most, first)

    def check_unused(self, draws: object, usual: "Accuracy") -> None:
        """Raise :class:`ParameterError` if a run with a fixed number of draws was given accuracy settings."""
        for name in ("mcse", "max_draws", "max_seconds"):
            given = getattr(self, name)
            if given != getattr(usual, name):
                must = f"left out unless draws='auto'; this run has a fixed number of draws ({draws})"
                raise bad_value(name, must, given)


# The default settings.
USUAL = Accuracy()


@dataclass(frozen=True)
class Figure:
    """A figure in the results that is not accurate enough.

    Attributes
    ----------
    text : str
        The value and its target: "the MCSE of the inclusion of x3 is 0.0071, above 0.005".
    needed : float
        Factor by which the number of draws must grow to reach the target; above 1.
    """

    text: str
    needed: float

    @classmethod
    def of_error(cls, name: str, value: float, target: float) -> "Figure":
        """Return a shortfall of a figure whose error falls as 1 / sqrt(draws)."""
        return cls(f"{name} is {above(value, target)}", (value / target) ** 2)


def above(value: float, target: float) -> str:
    """Return a value above its target in words, with enough digits to tell the two apart."""
    known = f"{target:.15g}"
    digits = next((d for d in range(2, 17) if float(f"{value:.{d}g}") > target), 17)
    return f"{value:.{digits}g}, above {known}"


class Refused(Exception):
    """Raised by a rule: the proposals of a chain are accepted too rarely for more draws to be of use."""


# Takes the draws of the chains and their number per chain; returns the figures that are not accurate enough,
# always in the same order.
Rule = Callable[[Sequence[Any], int], Sequence[Figure]]


def worst(figures: Sequence[Figure]) -> Figure | None:
    """Return the figure that needs the most draws, if there is one."""
    return max(figures, key=lambda each: each.needed, default=None)


def missed(figures: Sequence[Figure], draws: int, limit: str) -> list[str]:
    """Return the warnings for a run of `draws` draws per chain that ended at a limit."""
    first = worst(figures)
    if first is None:
        return []
    others = len(figures) - 1
    more = f", and {counted(others, 'more figure')} {'is' if others == 1 else 'are'} above the target"
    what = f"{first.text}{more if others else ''}"
    enough = f"This needs about {_rounded(first.needed * draws)} draws per chain: increase the limit."
    return [f"The run stopped at {limit} before reaching the requested accuracy: {what}. {enough}"]


def _rounded(draws: float) -> str:
    """Return a number of draws rounded to two digits."""
    return f"{int(float(f'{min(draws, 1e18):.2g}')):,}"


@dataclass(frozen=True)
class Clock:
    """The schedule of rounds."""

    accuracy: Accuracy
    begun: float

    @classmethod
    def of(cls, accuracy: Accuracy, begun: float | None = None) -> "Clock":
        """Return a schedule that begins now, or at a given time."""
        return cls(accuracy, time.perf_counter() if begun is None else begun)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.begun

    def after(self, draws: int, needed: float, rate: float) -> int:
        """Return the draws of the round after one of `draws`; `draws` if there is none.

        `needed` is the factor by which the least accurate figure says that draws must grow, and `rate` draws
        per second: if time is limited, a round is cut to end at the limit.
        """
        growth = min(max(SPARE * needed, LEAST), MOST_GROWTH)
        size = max(draws, min(ceil(growth * draws - 1e-9 * draws), self.accuracy.max_draws))
        limit = self.accuracy.max_seconds
        if limit is not None:
            size = min(size, draws + int(max(0.0, limit - self.seconds) * rate))
        return size

    def limit(self, draws: int) -> str:
        """Return the limit that stopped a run after `draws` draws, in words."""
        if draws >= self.accuracy.max_draws:
            return f"{draws:,} draws per chain ('max_draws')"
        return f"{draws:,} draws per chain, after {self.seconds:.3g} seconds ('max_seconds')"
