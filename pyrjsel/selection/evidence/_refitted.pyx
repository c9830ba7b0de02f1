"""Marginal likelihoods from sums of squares, and from the rows where these have lost their digits."""

cimport cython
from libc.math cimport INFINITY, sqrt
from libc.string cimport memcpy

import numpy as np

from pyrjsel._core._linalg cimport solve_lower
from pyrjsel._core._vecmath cimport axpy, dot
from pyrjsel.selection.evidence._conjugate cimport ConjugateEvidence
from pyrjsel.selection.evidence._evidence cimport Evidence

# As in gaussian.py: columns longer than this many rounding errors are independent in any order.
cdef double SURE = 10.0
# Proportion of a sum of squares that a step leaves of what is orthogonal up to rounding.
cdef double ENOUGH = 0.5


@cython.final
cdef class _Columns:
    """The QR decomposition of the columns of a model, by the Gram-Schmidt process with steps repeated."""

    cdef const double[:, ::1] rows      # (D + 1, m), the response last
    cdef const double[::1] rounding     # (D,)
    cdef double[:, ::1] q, upper        # (most + 2, m) and (most + 2, most + 2)
    cdef double[::1] image, rest, z     # Q'y, and what the columns leave of y; z is for `without`
    cdef int[::1] place                 # (D,): of each column in the model
    cdef int d
    cdef double share                   # lower bound of the proportion left of a column by all others
    cdef double left

    def __init__(self, rows, rounding):
        cdef int size = rounding.size, width = rows.shape[1], most = min(size, width) + 2
        self.rows, self.rounding = rows, rounding
        # Pages of columns that no model has are never touched.
        self.q, self.upper = np.empty((most, width)), np.empty((most, most))
        self.image, self.rest, self.place = np.empty(most), np.empty(width), np.empty(size, dtype=np.intc)
        self.z = np.empty(most)

    cdef double remove(self, const double* x, double* r, double* along) noexcept nogil:
        """Set `r` to what the columns leave of `x`, a column of numbers to Q'x; return the length of `r`."""
        cdef int width = self.rows.shape[1], k
        cdef double c, before, square = dot(width, x, x)
        memcpy(r, x, width * sizeof(double))
        for k in range(self.d):
            along[k * self.upper.shape[1]] = 0.0
        while True:
            before = square
            for k in range(self.d):
                c = dot(width, &self.q[k, 0], r)
                along[k * self.upper.shape[1]] += c
                axpy(width, -c, &self.q[k, 0], r)
            square = dot(width, r, r)
            # Until a step leaves nearly all: the first one mostly does, and a second one is then enough.
            if square > ENOUGH * before or not square > 0.0:
                return sqrt(square)

    cdef double leaves(self, int column) noexcept nogil:
        """Put what is left of a column behind the others, and its products; return its length, 0 if none."""
        cdef const double* x = &self.rows[column, 0]
        cdef double whole = sqrt(dot(self.rows.shape[1], x, x)), length
        length = self.remove(x, &self.q[self.d, 0], &self.upper[0, self.d])
        return length if length > self.rounding[column] * whole else 0.0

    cdef bint append(self, int column) noexcept nogil:
        """Append a column; whether it is independent of the others."""
        cdef int width = self.rows.shape[1], k
        cdef double length = self.leaves(column)
        if length == 0.0:
            return False
        for k in range(width):
            self.q[self.d, k] /= length
        self.upper[self.d, self.d] = length
        self.share *= length / sqrt(dot(width, &self.rows[column, 0], &self.rows[column, 0]))
        self.place[column] = self.d
        self.d += 1
        return True

    cdef bint load(self, const unsigned char* gamma, const int* start, int n_terms) noexcept nogil:
        """Decompose the columns of a model, in order; whether they are independent."""
        cdef int j, k, size = self.rounding.shape[0]
        self.d, self.share = 0, 1.0
        for j in range(n_terms):
            if gamma[j]:
                for k in range(start[j], start[j + 1]):
                    if not self.append(k):
                        return False
        self.left = self.remove(&self.rows[size, 0], &self.rest[0], &self.upper[0, self.d])
        for k in range(self.d):
            self.image[k] = self.upper[k, self.d]
        self.left *= self.left
        return True

    cdef double without(self, int column) noexcept nogil:
        """The residual sum of squares of the model without one of its columns."""
        cdef int k
        cdef double along
        for k in range(self.d):
            self.z[k] = 1.0 if k == self.place[column] else 0.0
        solve_lower(self.d, &self.upper[0, 0], self.upper.shape[1], &self.z[0])
        along = dot(self.d, &self.z[0], &self.image[0])
        return self.left + along * along / dot(self.d, &self.z[0], &self.z[0])

    cdef double with_one(self, int column, double worst) noexcept nogil:
        """The residual sum of squares with another column; -1 if it is dependent or the order may matter.

        `worst` is the largest proportion that is due to rounding.
        """
        cdef int width = self.rows.shape[1]
        cdef const double* x = &self.rows[column, 0]
        cdef double length = self.leaves(column), along
        if not self.share * length > SURE * worst * sqrt(dot(width, x, x)):
            return -1.0
        along = dot(width, &self.q[self.d, 0], &self.rest[0]) / length
        return max(self.left - along * along, 0.0)


@cython.final
cdef class RefittedEvidence(Evidence):
    """The evidence of sums of squares, and of the rows for models that it refuses.

    Parameters
    ----------
    n_terms : int
        Number J of terms.
    inner : ConjugateEvidence
        Marginal likelihoods of the other models.
    rows : ndarray (D + 1, m)
        The columns and the response.
    rounding : ndarray (D,)
        Proportions of the lengths of columns that are due to rounding.
    start : int32 array (J + 1,)
        Starts of the terms' columns.
    spare : float
        Sum of squares that is left whatever the columns, 2 b.
    most_fit : float
        Models with a larger fit are given by the function.
    find : callable
        Returns the value of a model, given as J bytes; -inf without a
        coefficient prior.
    """

    cdef ConjugateEvidence inner
    cdef object find, failure, model
    cdef _Columns here, there       # of the current model, if `ready`; of a neighbour
    cdef const int[::1] start
    cdef unsigned char* gamma
    cdef double worst, spare        # largest proportion due to rounding; 2 b
    cdef double most_fit            # largest fit that leaves enough digits
    cdef bint refused               # whether the inner evidence refuses the current model
    cdef bint ready, known          # whether `here` is that of the current model; whether this is independent

    def __init__(self, int n_terms, ConjugateEvidence inner not None, rows, rounding,
                 const int[::1] start not None, double spare, double most_fit, find):
        cdef unsigned char[::1] model = np.zeros(n_terms + 1, dtype=np.uint8)
        self.n_terms, self.inner, self.find, self.model, self.start = n_terms, inner, find, model, start
        self.here, self.there = _Columns(rows, rounding), _Columns(rows, rounding)
        self.worst, self.spare, self.most_fit = np.max(rounding, initial=0.0), spare, most_fit
        self.gamma, self.value, self.refused = &model[0], -INFINITY, True

    cdef double refit(self, int j) noexcept nogil:
        """The value of the current model with term j flipped; of itself for j = J.

        An error of the function is raised by `check_memory`.
        """
        cdef int first = 0, width = 0, d
        cdef double left = -1.0
        if not self.ready:
            self.known = self.here.load(self.gamma, &self.start[0], self.n_terms)
            self.ready = True
        if j < self.n_terms:
            first = self.start[j]
            width = self.start[j + 1] - first
        d = self.here.d
        if self.known and width == 0:
            left = self.here.left
        elif self.known and self.gamma[j]:
            left = self.here.without(first) if width == 1 else -1.0
            d -= width
        elif self.known:
            d += width
            if d > self.inner.most or d > self.here.rows.shape[1]:
                return -INFINITY
            if width == 1:
                left = self.here.with_one(first, self.worst)
        if left < 0.0:
            self.gamma[j] ^= 1
            if self.there.load(self.gamma, &self.start[0], self.n_terms):
                left, d = self.there.left, self.there.d
            self.gamma[j] ^= 1
            if left < 0.0 or d > self.inner.most:
                return -INFINITY
        left = self.inner.score.total - left - self.spare
        return self.look_up(j) if left > self.most_fit else self.inner.score.of(d, 0.0, left)

    cdef double look_up(self, int j) noexcept nogil:
        """The same by the function."""
        cdef double value = -INFINITY
        self.gamma[j] ^= 1
        with gil:
            try:
                value = self.find(np.asarray(self.model)[: self.n_terms].tobytes())
            except BaseException as error:
                self.failure = error
        self.gamma[j] ^= 1
        return value

    cdef int load(self, const unsigned char* gamma) noexcept nogil:
        memcpy(self.gamma, gamma, self.n_terms)
        self.ready = False
        self.refused = self.inner.load(gamma) != 0
        self.value = self.refit(self.n_terms) if self.refused else self.inner.value
        return self.value == -INFINITY

    cdef double change(self, int j) noexcept nogil:
        cdef double change = -INFINITY if self.refused else self.inner.change(j)
        return self.refit(j) - self.value if change == -INFINITY else change

    cdef void changes(self, double* out) noexcept nogil:
        cdef int j
        if not self.refused:
            self.inner.changes(out)
        for j in range(self.n_terms):
            if self.refused or out[j] == -INFINITY:
                out[j] = self.refit(j) - self.value

    cdef int flip(self, int j) noexcept nogil:
        cdef double value
        if not self.refused and self.inner.flip(j) == 0:
            self.gamma[j] ^= 1
            self.ready = False
            self.value = self.inner.value
            return 0
        value = self.refit(j)
        if value == -INFINITY:
            return 1
        self.gamma[j] ^= 1
        self.ready = False
        self.refused = self.inner.load(self.gamma) != 0
        self.value = value if self.refused else self.inner.value
        return 0

    cdef int patterns(self, const int* terms, int n, const unsigned char* wanted,
                      double* values) noexcept nogil:
        return 1 if self.refused else self.inner.patterns(terms, n, wanted, values)

    def check_memory(self):
        """Raise an error of the function or of the evidence, if there was one."""
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        self.inner.check_state()
