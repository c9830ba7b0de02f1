"""Sums of averages over segments of a chain, for estimates and their errors."""

from dataclasses import dataclass

import numpy as np

from pyrjsel._errors import StoreError
from pyrjsel._typing import FloatArray
from pyrjsel.storage import Content

# Largest number of segments of a chain, even; from half as many they are used as batches: few enough to be
# long, as in pyrjsel.report, and enough for a precise error estimate.
SEGMENTS = 40
# The same for more terms than MANY, whose sums take memory.
FEW_SEGMENTS, MANY = 16, 2**14
# Rows of averages of conditional probabilities: of inclusion, with errors, and of exclusion, without.
WALK_ROWS = 2
# Length of the longest segment, for more draws than a chain can have.
LONGEST = 2**32


class Averages:
    """Sums of rows of averages over segments of equal length of a chain.

    When all segments are full, pairs are merged: the segments depend on the present number of draws, not on
    the planned one.

    Parameters
    ----------
    rows : int
        Number of rows that are summed.
    n_terms : int

    Attributes
    ----------
    sums : ndarray (segments, rows, J)
        Sums over draws.
    length : int64 array ()
        Draws of a segment.
    """

    def __init__(self, rows: int, n_terms: int) -> None:
        self.segments = SEGMENTS if n_terms <= MANY else FEW_SEGMENTS
        self.sums = np.zeros((self.segments, rows, n_terms))
        self.length = np.array(1, dtype=np.int64)

    def at(self, draw: int) -> tuple[FloatArray, int]:
        """Return the sums (rows, J) of the segment with draw number `draw`, and its end.

        Draws are given in order.
        """
        while draw >= self.segments * self.length:
            self.sums = merged_pairs(self.sums)
            self.sums[self.segments // 2 :] = 0.0
            self.length *= 2
        segment = draw // int(self.length)
        return self.sums[segment], (segment + 1) * int(self.length)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name, without copies."""
        return {"averages": self.sums, "segment": self.length}

    def restore(self, known: Content) -> None:
        """Restore saved arrays.

        Raises
        ------
        StoreError
            If they do not fit.
        """
        for name, into in self.arrays().items():
            into[...] = known.array(name, into.dtype, into.shape)
        check_length(int(self.length))

    def of(self, iterations: int, thin: int, time: float) -> "Segments":
        """Return the segments of a chain after a number of iterations, each of which has added `time`."""
        return Segments(self.sums, int(self.length), iterations / thin, time * thin)


class ManyAverages:
    """The same for two rows of many terms, of which only the first is known by segment.

    Full segments are kept as differences from the first draw, in single precision: the error of an average is
    right to six digits, and the average itself comes from a total in double precision.

    Parameters
    ----------
    n_terms : int

    Attributes
    ----------
    sums : ndarray (2, J)
        Sums over the draws of the present segment, and of the second row over all draws.
    total : ndarray (J,)
        Sums over the draws of all full segments of the first row.
    first : float32 array (J,)
        The first row of the first draw.
    differences : float32 array (full, J)
        Sums over the draws of full segments of the first row minus `first`.
    length, full : int64 array ()
        Draws of a segment, and number of full segments that are stored.
    """

    def __init__(self, n_terms: int) -> None:
        self.sums, self.total = np.zeros((WALK_ROWS, n_terms)), np.zeros(n_terms)
        self.first = np.zeros(n_terms, dtype=np.float32)
        # Not filled: memory is taken as segments are stored.
        self._room = np.empty((FEW_SEGMENTS, n_terms), dtype=np.float32)
        self.length, self.full = np.array(1, dtype=np.int64), np.array(0, dtype=np.int64)

    def at(self, draw: int) -> tuple[FloatArray, int]:
        """Return the sums (2, J) of the segment with draw number `draw`, and its end.

        Draws are given in order, each first draw of a segment among them.
        """
        self._store(draw)
        while draw >= FEW_SEGMENTS * self.length:
            self._room = merged_pairs(self._room)
            self.length *= 2
            self.full //= 2
        return self.sums, (draw // int(self.length) + 1) * int(self.length)

    @property
    def differences(self) -> np.ndarray:
        """The stored segments."""
        return self._room[: int(self.full)]

    def _store(self, draws: int) -> None:
        """Store the present segment if it is full after a number of draws."""
        if draws // self.length == self.full:
            return
        if not self.full:
            self.first[:] = self.sums[0]
        self._room[self.full] = self.sums[0] - float(self.length) * self.first.astype(np.float64)
        self.total += self.sums[0]
        self.sums[0] = 0.0
        self.full += 1

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name, without copies."""
        return {
            "averages": self.sums,
            "segment": self.length,
            "full": self.full,
            "total": self.total,
            "first": self.first,
            "differences": self.differences,
        }

    def restore(self, known: Content) -> None:
        """Restore saved arrays.

        Raises
        ------
        StoreError
            If they do not fit.
        """
        self.full[...] = known.array("full", np.int64, ())
        if not 0 <= self.full <= FEW_SEGMENTS:
            raise StoreError(f"{int(self.full)} segments are full, of {FEW_SEGMENTS}")
        for name, into in self.arrays().items():
            into[...] = known.array(name, into.dtype, into.shape)
        check_length(int(self.length))

    def of(self, iterations: int, thin: int, time: float) -> "ManySegments":
        """Return the segments of a chain after a number of iterations, each of which has added `time`."""
        self._store(iterations // thin)
        return ManySegments(self, int(self.length), iterations / thin, time * thin)


def averages_of(rows: int, n_terms: int) -> "Averages | ManyAverages":
    """Return empty averages for a number of rows and of terms."""
    return ManyAverages(n_terms) if n_terms > MANY and rows == WALK_ROWS else Averages(rows, n_terms)


def merged_pairs(segments: np.ndarray) -> np.ndarray:
    """Return the sums of pairs of segments in an array of as many, of which the others are not filled."""
    found = np.empty_like(segments)
    np.add(segments[0::2], segments[1::2], out=found[: len(segments) // 2])
    return found


def check_length(length: int) -> None:
    """Raise :class:`StoreError` if segments cannot have this many draws."""
    if not 1 <= length <= LONGEST or length & (length - 1):
        raise StoreError(f"segments have {length} draws, which is no power of 2")


@dataclass(frozen=True)
class Segments:
    """Sums over segments of a chain.

    Attributes
    ----------
    sums : ndarray (segments, rows, J)
        Shared with the state of the chain, not a copy.
    length : int
        Draws of a segment.
    draws : float
        Number of draws; not whole if a chain was interrupted between two draws.
    unit : float
        Increase of the sum of a constant 1 with each draw.
    """

    sums: FloatArray
    length: int
    draws: float
    unit: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and of terms."""
        return self.sums.shape[1:]

    def batch_means(self, length: int, count: int, terms: slice = slice(None)) -> FloatArray:
        """Return averages (count, rows, J) over batches of `length` draws, a multiple of segments."""
        each = length // self.length
        sums = self.sums[: count * each, :, terms]
        return np.asarray(sums.reshape(count, each, *sums.shape[1:]).sum(axis=1) / (length * self.unit))

    def means(self, draws: int) -> FloatArray:
        """Return averages (rows, J) over all `draws` draws."""
        return np.asarray(self.sums.sum(axis=0) / (draws * self.unit))


@dataclass(frozen=True)
class ManySegments:
    """Sums over segments of a chain of many terms; other attributes as of :class:`Segments`.

    Attributes
    ----------
    kept : ManyAverages
        Shared with the state of the chain, not a copy.
    """

    kept: ManyAverages
    length: int
    draws: float
    unit: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and of terms."""
        return self.kept.sums.shape

    def batch_means(self, length: int, count: int, terms: slice = slice(None)) -> FloatArray:
        """Return averages (count, 2, J) over batches of `length` draws, a multiple of segments.

        Those of the second row are all its average over the whole chain.
        """
        kept, each = self.kept, length // self.length
        sums = kept.differences[: count * each, terms].reshape(count, each, -1).sum(axis=1, dtype=np.float64)
        sums += length * kept.first[terms].astype(np.float64)
        other = kept.sums[1, terms] * (length / self.draws)
        return np.stack([sums, np.broadcast_to(other, sums.shape)], axis=1) / (length * self.unit)

    def means(self, draws: int) -> FloatArray:
        """Return averages (2, J) over all `draws` draws."""
        first, second = self.kept.sums
        return np.stack([self.kept.total + first, second]) / (draws * self.unit)
