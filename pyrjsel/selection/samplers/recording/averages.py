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
    the planned one. Full segments are stored as differences from the first draw. Of two rows of many terms
    these are in single precision: errors of averages are right to six digits, and averages to six digits of
    their errors.

    Parameters
    ----------
    rows : int
        Number of rows that are summed. Of two of many terms, the second is not known by segment.
    n_terms : int

    Attributes
    ----------
    sums : ndarray (rows, J)
        Sums over the draws of the present segment; of a row not known by segment, over all draws.
    known : int
        Number of rows that are known by segment.
    first : ndarray (known * J,)
        These rows of the first draw.
    differences : ndarray (full, known * J)
        Sums over the draws of full segments of these rows minus `first`.
    length, full : int64 array ()
        Draws of a segment, and number of full segments that are stored.
    """

    def __init__(self, rows: int, n_terms: int) -> None:
        many = n_terms > MANY
        self.known = 1 if many and rows == WALK_ROWS else rows
        self.segments = FEW_SEGMENTS if many else SEGMENTS
        # Weights of corrected chains, which have more rows, may differ by more than single precision holds.
        kind = np.float32 if self.known < rows else np.float64
        self.sums = np.zeros((rows, n_terms))
        self.first = np.zeros(self.known * n_terms, dtype=kind)
        # Not filled: memory is taken as segments are stored.
        self._room = np.empty((self.segments, self.first.size), dtype=kind)
        self.length, self.full = np.array(1, dtype=np.int64), np.array(0, dtype=np.int64)

    def at(self, draw: int) -> tuple[FloatArray, int]:
        """Return the sums (rows, J) of the segment with draw number `draw`, and its end.

        Draws are given in order, each first draw of a segment among them.
        """
        self._store(draw)
        while draw >= self.segments * self.length:
            pairs, self._room = self._room, np.empty_like(self._room)
            np.add(pairs[0::2], pairs[1::2], out=self._room[: self.segments // 2])
            self.length *= 2
            self.full //= 2
        return self.sums, (draw // int(self.length) + 1) * int(self.length)

    @property
    def differences(self) -> np.ndarray:
        """The stored segments."""
        return self._room[: int(self.full)]

    def _store(self, draws: int) -> None:
        """Store the present segment if it is full after a number of draws."""
        if draws // self.length <= self.full:
            return
        own = self.sums[: self.known].reshape(-1)  # a view
        if not self.full:
            self.first[:] = own / float(self.length)
        self._room[self.full] = own - float(self.length) * self.first.astype(np.float64)
        own[:] = 0.0
        self.full += 1

    def arrays(self, draws: int) -> dict[str, np.ndarray]:
        """Return the arrays after a number of draws by name, without copies."""
        self._store(draws)
        return {
            "averages": self.sums,
            "segment": self.length,
            "full": self.full,
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
        if not 0 <= self.full <= self.segments:
            raise StoreError(f"{int(self.full)} segments are full, of {self.segments}")
        for name, into in self.arrays(int(self.full)).items():
            into[...] = known.array(name, into.dtype, into.shape)
        check_length(int(self.length))

    def of(self, iterations: int, thin: int, time: float) -> "Segments":
        """Return the segments of a chain after a number of iterations, each of which has added `time`."""
        self._store(iterations // thin)
        return Segments(self, int(self.length), iterations / thin, time * thin)


def check_length(length: int) -> None:
    """Raise :class:`StoreError` if segments cannot have this many draws."""
    if not 1 <= length <= LONGEST or length & (length - 1):
        raise StoreError(f"segments have {length} draws, which is no power of 2")


@dataclass(frozen=True)
class Segments:
    """Sums over segments of a chain.

    Attributes
    ----------
    kept : Averages
        Shared with the state of the chain, not a copy.
    length : int
        Draws of a segment.
    draws : float
        Number of draws; not whole if a chain was interrupted between two draws.
    unit : float
        Increase of the sum of a constant 1 with each draw.
    """

    kept: Averages
    length: int
    draws: float
    unit: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and of terms."""
        return self.kept.sums.shape

    def batch_means(self, length: int, count: int, terms: slice = slice(None)) -> FloatArray:
        """Return averages (count, rows, J) over batches of `length` draws, a multiple of segments.

        Those of a row that is not known by segment are all its average over the whole chain.
        """
        kept, each, shape = self.kept, length // self.length, (self.kept.known, self.shape[1])
        own = kept.differences[: count * each].reshape(count, each, *shape)[..., terms]
        sums = own.sum(axis=1, dtype=np.float64)
        sums += length * kept.first.reshape(shape)[:, terms].astype(np.float64)
        rest = kept.sums[kept.known :, terms] * (length / self.draws)
        rest = np.broadcast_to(rest, (count, *rest.shape))
        return np.concatenate([sums, rest], axis=1) / (length * self.unit)

    def means(self, draws: int) -> FloatArray:
        """Return averages (rows, J) over all `draws` draws."""
        kept, found = self.kept, self.kept.sums.copy()
        own = found[: kept.known].reshape(-1)  # a view
        own += kept.differences.sum(axis=0, dtype=np.float64)
        own += float(kept.full * kept.length) * kept.first.astype(np.float64)
        return found / (draws * self.unit)
