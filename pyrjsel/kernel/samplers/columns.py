"""The columns of kernel values that particles share, with their inner products."""

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray
from pyrjsel.kernel._kernels import add_products
from pyrjsel.kernel.kernels import fixed_columns
from pyrjsel.kernel.state import KernelSettings

# Until so many rows have been seen, columns of all of them are kept.
KEPT = 256
# Columns that there is room for at first, beside those that are there.
SPARE = 64


class Columns:
    """Columns of centres in use, over the rows seen so far; the first are the intercept's and a trend's.

    A column that is not there yet costs O(t m), one that is there nothing; a row costs O(m^2). Where inner
    products with few columns are asked for (`among`), m is their number, and others are not valid.

    Parameters
    ----------
    settings : KernelSettings
    x : ndarray (T, d)
    y : ndarray (T,)
        All rows, those to come included.

    Attributes
    ----------
    t : int
        Rows seen.
    m : int
        Columns.
    slot : ndarray (T,), int32
        Where the column of the centre at each row is, -1 where it is not.
    """

    def __init__(self, settings: KernelSettings, x: FloatArray, y: FloatArray, capacity: int = 16) -> None:
        self.kernel, self.x, self.y = settings.kernel, x, y
        self.fixed = settings.fixed
        self.t, self.m, self.yy = 0, self.fixed, 0.0
        capacity = max(capacity, self.fixed)
        self.slot = np.full(len(y), -1, dtype=np.int32)
        self.owners = np.full(capacity, -1, dtype=np.int32)
        self.columns = np.zeros((capacity, len(y)))
        self.columns[: self.fixed] = fixed_columns(x, settings.trend).T
        self.gram = np.zeros((capacity, capacity))
        self.moments = np.zeros(capacity)

    @classmethod
    def restore(
        cls,
        settings: KernelSettings,
        x: FloatArray,
        y: FloatArray,
        t: int,
        parts: tuple[NDArray[np.int32], FloatArray, FloatArray, FloatArray],
    ) -> "Columns":
        """Return those that `parts` had been made of, by :meth:`parts` after `t` rows."""
        made = cls(settings, x, y, capacity=SPARE + len(parts[0]))
        made.t = t
        made.hold(parts)
        if t:
            made.yy = float(np.cumsum(y[:t] * y[:t])[-1])  # one after another, to the last bit
        return made

    def hold(self, parts: tuple[NDArray[np.int32], FloatArray, FloatArray, FloatArray]) -> None:
        """Have the columns that `parts` had been made of, over as many rows; there must be none yet."""
        owners, columns, gram, moments = parts
        t, m = self.t, len(owners)
        self._reserve(m)
        self.m = m
        self.owners[:m] = owners
        self.slot[owners[self.fixed :]] = np.arange(self.fixed, m)
        self.columns[:m, :t] = columns
        self.gram[:m, :m] = gram
        self.moments[:m] = moments

    def parts(self) -> tuple[NDArray[np.int32], FloatArray, FloatArray, FloatArray]:
        """Return copies of owners, columns, inner products, and those with y."""
        m, t = self.m, self.t
        return (
            self.owners[:m].copy(),
            self.columns[:m, :t].copy(),
            self.gram[:m, :m].copy(),
            self.moments[:m].copy(),
        )

    def made(self, owners: NDArray[np.int32]) -> FloatArray:
        """Return the columns (m, t) of given owners, the fixed ones first, made of the rows."""
        values = self.kernel(self.x[: self.t], self.x[owners[self.fixed :]])
        return np.vstack([self.columns[: self.fixed, : self.t], np.asarray(values).T])

    def see_row(self) -> None:
        """Take the next row in."""
        t, m, first = self.t, self.m, self.fixed
        values = np.empty(m)
        values[:first] = self.columns[:first, t]
        if m > first:
            values[first:] = self.kernel(self.x[t : t + 1], self.x[self.owners[first:m]])[0]
        self.columns[:m, t] = values
        add_products(self.gram, values)
        self.moments[:m] += values * self.y[t]
        self.yy += float(self.y[t] * self.y[t])
        self.t = t + 1

    def see_all(self) -> None:
        """Take all rows in at once; there must be no column of a centre."""
        self.t = len(self.y)
        first = self.columns[: self.fixed]
        self.gram[: self.fixed, : self.fixed] = first @ first.T
        self.moments[: self.fixed] = first @ self.y
        self.moments[0] = self.y.sum()
        self.yy = float(self.y @ self.y)

    def ensure(self, rows: NDArray[np.int32], among: NDArray[np.int32] | None = None) -> None:
        """Have the columns of the centres at `rows`, which may repeat.

        Their inner products with each other and with the columns at `among`, which are there, are made, also
        of those that were there; by default all are valid, and those of new columns are made.
        """
        rows = np.unique(rows if among is not None else rows[self.slot[rows] < 0])
        if not rows.size:
            return
        self._make(rows[self.slot[rows] < 0])
        t, m = self.t, self.m
        mine = self.slot[rows]
        if among is None:
            fresh, others, their = self.columns[mine[0] : m, :t], np.arange(m), self.columns[:m, :t]
        else:
            fresh = self.columns[mine, :t]
            others = np.unique(np.concatenate([np.arange(self.fixed), mine, self.slot[among]]))
            their = self.columns[others, :t]
        products = fresh @ their.T
        self.gram[np.ix_(others, mine)] = products.T
        self.gram[np.ix_(mine, others)] = products

    def _make(self, rows: NDArray[np.int32]) -> None:
        """Make the columns of the centres at `rows`, which are not there, and their products with y."""
        t, old, new = self.t, self.m, self.m + len(rows)
        self._reserve(new)
        self.owners[old:new] = rows
        self.slot[rows] = np.arange(old, new)
        self.columns[old:new, :t] = self.kernel(self.x[:t], self.x[rows]).T
        self.gram[old:new, :new] = self.gram[:old, old:new] = 0.0
        self.moments[old:new] = self.columns[old:new, :t] @ self.y[:t]
        self.m = new

    def retain(self, rows: NDArray[np.int32]) -> None:
        """Drop the columns of centres that are not at `rows`; the last ones take their places."""
        used = np.zeros(self.m, dtype=bool)
        used[: self.fixed] = True
        used[self.slot[rows]] = True
        m = int(used.sum())
        if m == self.m:
            return
        holes = np.flatnonzero(~used[:m])
        movers = m + np.flatnonzero(used[m:])
        self.slot[self.owners[: self.m][~used]] = -1
        self.owners[holes] = self.owners[movers]
        self.slot[self.owners[holes]] = holes
        self.columns[holes, : self.t] = self.columns[movers, : self.t]
        self.gram[holes, : self.m] = self.gram[movers, : self.m]
        self.gram[:m, holes] = self.gram[:m, movers]
        self.moments[holes] = self.moments[movers]
        self.m = m

    def _reserve(self, m: int) -> None:
        """Have room for `m` columns."""
        capacity = len(self.owners)
        if m <= capacity:
            return
        capacity = max(m, capacity + capacity // 2)

        def grown(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
            larger = np.zeros(shape, dtype=array.dtype)
            larger[tuple(slice(size) for size in array.shape)] = array
            return larger

        self.owners = grown(self.owners, (capacity,))
        self.columns = grown(self.columns, (capacity, len(self.y)))
        self.gram = grown(self.gram, (capacity, capacity))
        self.moments = grown(self.moments, (capacity,))
