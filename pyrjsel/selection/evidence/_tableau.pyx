"""Swept Gram matrices: the gain of a model by each term, at constant cost per term.

For a matrix A, a vector c and the active columns g, with V = A_gg^-1, the tableau holds

    V and T = V A_g.                                (the rows)
    b = V c_g at active columns, s_j = c_j - A_jg b at others
    Q_j = A_jj - A_jg V A_gj                        (a block for each excluded group of columns)
    log det A_gg and the fit c_g' b.

A group that enters adds log det Q_j and s_j' Q_j^-1 s_j to the last two; one that leaves subtracts -log det
V_jj and b_j' V_jj^-1 b_j. A column enters or leaves by one step of the sweep operator, a product with and a
rank-one update of k rows of D numbers (Goodnight 1979, "A tutorial on the SWEEP operator").
"""

cimport cython
from libc.math cimport INFINITY, log
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

import numpy as np

from pyrjsel._core._linalg cimport cholesky, solve_lower
from pyrjsel._core._vecmath cimport axpy


cdef gain_t sweep_part(double* m, int d, int k) noexcept nogil:
    """Sweep column k of a part of a tableau (d, d + 1) in or out; return its pivot, and s^2 / pivot.

    A column that enters adds them, the first as a logarithm, to log det and fit; one that leaves adds the log
    of the pivot to the former, and subtracts the latter.
    """
    cdef gain_t out
    cdef int width = d + 1, a, b
    cdef double* own = m + k * width
    cdef double pivot = own[k], factor
    out.log_det = pivot
    out.fit = own[d] * own[d] / pivot
    own[k] = 1.0
    for b in range(width):
        own[b] /= pivot
    for a in range(d):
        if a != k:
            factor = m[a * width + k]
            m[a * width + k] = 0.0
            for b in range(width):
                m[a * width + b] -= factor * own[b]
    return out


@cython.final
cdef class Tableau:
    """A matrix A and a vector c, swept on a set of columns.

    Parameters
    ----------
    gram : FullGram or ColumnGram
        The matrix.
    cross : float64 array (D,)
        The vector.
    start : int32 array (groups + 1,)
        Group j has the columns ``start[j]:start[j + 1]``; every column is in a group.
    """

    def __init__(self, Gram gram not None, const double[::1] cross not None,
                 const int[::1] start not None):
        cdef int size = gram.size
        if cross.shape[0] != size or start[0] != 0 or start[start.shape[0] - 1] != size:
            raise ValueError("gram, cross and start do not fit together")
        widths = np.diff(start)
        cdef int widest = max(widths, default=0)
        # If every group is one column, the three are the same numbers.
        cdef bint plain = np.all(widths == 1)
        cdef const int[::1] block = start, group = start
        if not plain:
            block = np.concatenate([[0], np.cumsum(widths**2)]).astype(np.intc)
            group = np.append(np.repeat(np.arange(widths.size), widths), 0).astype(np.intc)
        cdef double[::1] blocks0 = np.append(gram.blocks(start), 0.0)
        cdef double[::1] numbers = np.zeros(2 * size + blocks0.shape[0] + 2 * widest * (widest + 1))
        cdef int[::1] places = np.zeros(2 * size + 1, dtype=np.intc)
        self.release()
        self.rows = <double**> calloc(max(size, 1), sizeof(double*))
        if self.rows == NULL:
            raise MemoryError("no memory for a swept Gram matrix")
        self.gram = gram
        self.arrays = (cross, start, block, group, blocks0, numbers, places)
        self.n_columns = size
        self.n_groups = start.shape[0] - 1
        self.start = &start[0]
        self.block = &block[0]
        self.cross0 = &cross[0] if size else NULL
        self.blocks0 = &blocks0[0]
        self.single = widest <= 1
        self.widest = widest
        self.active = &places[0]
        self.place = self.active + size
        self.group = &group[0]
        self.blocks = &numbers[0]
        self.s = self.blocks + blocks0.shape[0]
        self.r = self.s + size
        self.small = self.r + size
        self.clear()

    def __dealloc__(self):
        self.release()

    cdef void release(self) noexcept:
        cdef int k
        if self.rows != NULL:
            for k in range(self.n_columns):
                free(self.rows[k])
            free(self.rows)
        self.rows = NULL

    cdef void renew(self) noexcept nogil:
        """Update the diagonal blocks after a change of the matrix, and possibly of the vector."""
        cdef int j, a, b, first, d
        cdef double* block
        for j in range(self.n_groups):
            first = self.start[j]
            d = self.start[j + 1] - first
            block = <double*> self.blocks0 + self.block[j]
            for a in range(d):
                for b in range(d):
                    block[a * d + b] = self.gram.entry(first + a, first + b)
        self.clear()

    cdef void clear(self) noexcept nogil:
        """Reset to no active column."""
        cdef int k
        memcpy(self.blocks, self.blocks0, (self.block[self.n_groups] + 1) * sizeof(double))
        memcpy(self.s, self.cross0, self.n_columns * sizeof(double))
        for k in range(self.n_columns):
            self.place[k] = -1
        self.n_active = 0
        self.log_det = 0.0
        self.fit = 0.0

    cdef void update_blocks(self, double factor) noexcept nogil:
        """Add factor r r' to the residual blocks; those of active columns are undefined."""
        cdef int j, a, b, d
        cdef double* block
        cdef const double* r = self.r
        if self.single:
            for a in range(self.n_columns):
                self.blocks[a] += factor * r[a] * r[a]
            return
        for j in range(self.n_groups):
            d = self.start[j + 1] - self.start[j]
            r = self.r + self.start[j]
            block = self.blocks + self.block[j]
            for a in range(d):
                for b in range(d):
                    block[a * d + b] += factor * r[a] * r[b]

    cdef double enter(self, int column) noexcept nogil:
        """Sweep a column in unless the proportion that the others leave of it is <= 0; return this."""
        cdef int n = self.n_columns, k = self.n_active, i
        cdef const double* a = self.gram.row(column)
        cdef double* r = self.r
        cdef double own = a[column], pivot, b
        memcpy(r, a, n * sizeof(double))
        for i in range(k):
            axpy(n, -a[self.active[i]], self.rows[i], r)
        pivot = r[column]
        if not pivot > 0.0:
            return 0.0
        if self.rows[k] == NULL:
            self.rows[k] = <double*> malloc(n * sizeof(double))
            if self.rows[k] == NULL:
                self.failed = True
                return 0.0
        b = self.s[column] / pivot
        self.fit += b * self.s[column]
        self.log_det += log(pivot)
        for i in range(k):
            r[self.active[i]] = self.rows[i][column]
        axpy(n, -b, r, self.s)
        self.s[column] = b
        for i in range(k):
            r[self.active[i]] = -r[self.active[i]]
        self.update_blocks(-1.0 / pivot)
        for i in range(k):
            b = self.rows[i][column] / pivot
            axpy(n, -b, r, self.rows[i])
            self.rows[i][column] = -b
        for i in range(n):
            self.rows[k][i] = r[i] / pivot
        self.rows[k][column] = 1.0 / pivot
        self.active[k] = column
        self.place[column] = k
        self.n_active += 1
        return pivot / own

    cdef double leave(self, int column) noexcept nogil:
        """Sweep an active column out; return the proportion that the others leave of it."""
        cdef int n = self.n_columns, k = self.place[column], last = self.n_active - 1, i, a, d, j
        cdef double* own = self.rows[k]
        cdef double pivot = 1.0 / own[column], b = self.s[column], f
        cdef double* block
        memcpy(self.r, own, n * sizeof(double))
        self.fit -= b * b * pivot
        self.log_det -= log(pivot)
        self.r[column] = 1.0
        axpy(n, b * pivot, self.r, self.s)
        for i in range(self.n_active):
            # Coefficients of the remaining columns change with the opposite sign of cross-products.
            a = self.active[i]
            self.s[a] -= 2.0 * b * pivot * self.r[a]
        self.s[column] = b * pivot
        self.update_blocks(pivot)
        j = self.group[column]
        d = self.start[j + 1] - self.start[j]
        block = self.blocks + self.block[j]
        i = column - self.start[j]
        for a in range(d):
            f = own[self.start[j] + a] * pivot
            block[i * d + a] = f
            block[a * d + i] = f
        block[i * d + i] = pivot
        for i in range(self.n_active):
            if i != k:
                f = self.rows[i][column] * pivot
                axpy(n, -f, own, self.rows[i])
                self.rows[i][column] = -f
        self.rows[k] = self.rows[last]
        self.rows[last] = own
        # One unused row is kept for the next column.
        if last + 1 < self.n_columns:
            free(self.rows[last + 1])
            self.rows[last + 1] = NULL
        self.active[k] = self.active[last]
        self.place[self.active[k]] = k
        self.place[column] = -1
        self.n_active = last
        return pivot / self.blocks0[self.block[j] + (column - self.start[j]) * (d + 1)]

    cdef int gather(self, int group) noexcept nogil:
        """Copy a group's block (Q or V) to `small`, column-major, followed by its s, and factor it."""
        cdef int first = self.start[group], d = self.start[group + 1] - first, a, b
        cdef double* q = self.small
        if self.place[first] < 0:
            memcpy(q, self.blocks + self.block[group], d * d * sizeof(double))
        else:
            for a in range(d):
                for b in range(d):
                    q[a * d + b] = self.rows[self.place[first + a]][first + b]
        memcpy(q + d * d, self.s + first, d * sizeof(double))
        return cholesky(d, q, d)

    cdef gain_t gain(self, int group) noexcept nogil:
        """Changes by the flip of a group; a fit of -inf if its block is not positive definite."""
        cdef gain_t out
        cdef int first = self.start[group], d = self.start[group + 1] - first, a
        cdef bint inside = d > 0 and self.place[first] >= 0
        cdef double value
        cdef double* q = self.small
        out.log_det = 0.0
        out.fit = 0.0
        if d == 1:
            value = self.rows[self.place[first]][first] if inside else self.blocks[self.block[group]]
            if value > 0.0:
                out.log_det = log(value)
                out.fit = self.s[first] * self.s[first] / value
            else:
                out.fit = -INFINITY
                return out
        elif d > 1:
            if self.gather(group) != 0:
                out.fit = -INFINITY
                return out
            solve_lower(d, q, d, q + d * d)
            for a in range(d):
                out.log_det += 2.0 * log(q[a * (d + 1)])
                out.fit += q[d * d + a] * q[d * d + a]
        if inside:
            out.fit = -out.fit
        return out

    cdef void part(self, const int* columns, int d, double* out) noexcept nogil:
        """Copy the swept matrix of d columns, and behind each row its b or s, into `out` (d, d + 1).

        V, T, -T' and Q, on which :func:`sweep_part` works.
        """
        cdef int a, b, i
        cdef double* row
        cdef const double* products
        for a in range(d):
            row = out + a * (d + 1)
            row[d] = self.s[columns[a]]
            if self.place[columns[a]] >= 0:
                for b in range(d):
                    row[b] = self.rows[self.place[columns[a]]][columns[b]]
                continue
            products = self.gram.row(columns[a])
            for b in range(d):
                if self.place[columns[b]] >= 0:
                    row[b] = -self.rows[self.place[columns[b]]][columns[a]]
                    continue
                row[b] = products[columns[b]]
                for i in range(self.n_active):
                    row[b] -= products[self.active[i]] * self.rows[i][columns[b]]

    cdef double least_share(self) noexcept nogil:
        """Smallest proportion of the diagonal entry of an active column that the others leave."""
        cdef int i, j, column, d
        cdef double least = 1.0
        for i in range(self.n_active):
            column = self.active[i]
            j = self.group[column]
            d = self.start[j + 1] - self.start[j]
            least = min(least, 1.0 / (
                self.rows[i][column] * self.blocks0[self.block[j] + (column - self.start[j]) * (d + 1)]))
        return least

    cdef double share_with(self, int group, double least, double worry) noexcept nogil:
        """The same after adding an excluded group; `least` is the present value.

        least * det(correlations of the residuals of the group) is a lower bound, which is returned if it is
        above `worry`.
        """
        cdef int first = self.start[group], d = self.start[group + 1] - first, a, b, i, column, j
        cdef double bound = least, own, grown, total
        cdef const double* block0 = self.blocks0 + self.block[group]
        cdef double* q = self.small
        cdef double* v = q + d * (d + 1)
        if d == 0:
            return least
        if d == 1:
            # By far the most common case, for which this is nearly always enough.
            bound = least * (self.blocks[self.block[group]] / block0[0])
            if bound > worry:
                return bound
            bound = least
        if self.gather(group) != 0:
            return 0.0
        for a in range(d):
            own = block0[a * (d + 1)]
            if not own > 0.0:
                return 0.0
            bound *= q[a * (d + 1)] * q[a * (d + 1)] / own
        if bound > worry:
            return bound
        # Exactly: 1 / (A_ll V_ll) with V grown by T_l Q^-1 T_l'; for the group itself V is Q^-1.
        for a in range(d):
            for b in range(d):
                v[b] = 1.0 if a == b else 0.0
            solve_lower(d, q, d, v)
            total = 0.0
            for b in range(d):
                total += v[b] * v[b]
            least = min(least, 1.0 / (total * block0[a * (d + 1)]))
        for i in range(self.n_active):
            column = self.active[i]
            j = self.group[column]
            memcpy(v, self.rows[i] + first, d * sizeof(double))
            solve_lower(d, q, d, v)
            grown = self.rows[i][column]
            for b in range(d):
                grown += v[b] * v[b]
            b = self.start[j + 1] - self.start[j]
            own = self.blocks0[self.block[j] + (column - self.start[j]) * (b + 1)]
            least = min(least, 1.0 / (grown * own))
        return least

    def sweep(self, int column):
        """Sweep a column in or out and return the proportion that the others leave of it, for tests."""
        return self.enter(column) if self.place[column] < 0 else self.leave(column)

    def state(self):
        """Return columns, rows (k, D), s (D,) and residual blocks, for tests."""
        rows = np.empty((self.n_active, self.n_columns))
        cdef double[:, ::1] view = rows
        cdef int i
        for i in range(self.n_active):
            memcpy(&view[i, 0], self.rows[i], self.n_columns * sizeof(double))
        columns = np.array([self.active[i] for i in range(self.n_active)], dtype=np.intp)
        s = np.array([self.s[i] for i in range(self.n_columns)])
        blocks = np.array([self.blocks[i] for i in range(self.block[self.n_groups])])
        return columns, rows, s, blocks
