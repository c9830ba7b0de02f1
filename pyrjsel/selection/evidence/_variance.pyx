"""Evidence if sigma^2 is in the state of a sampler, or its prior depends on the size of the model.

With sigma^2 ~ IG(a_k, b_k) for models of k terms, two kinds of values, including constants, come from the
tableaux of ``_conjugate.pyx``:

    integrated      log p(y | model)
    given sigma^2   log p(y, sigma^2 | model)

The same tableau gives draws of the coefficients: mean and covariance are s and V at the columns of the
model, up to a factor.
"""

cimport cython
from libc.math cimport INFINITY, lgamma, log, sqrt
from libc.stdlib cimport free, realloc
from libc.string cimport memset

import numpy as np

from pyrjsel._core._linalg cimport cholesky
from pyrjsel._core._vecmath cimport dot
from pyrjsel._core.random cimport (
    bitgen_of,
    bitgen_t,
    random_standard_gamma,
    random_standard_normal,
)
from pyrjsel.selection.regression._gram cimport Gram
from pyrjsel.selection.regression._weighted cimport ShiftedGram


from pyrjsel._core import special
from pyrjsel.selection.priors._score import GaussianScore

cdef double LOG_2PI = 1.8378770664093453


cdef double log_inverse_gamma(double variance, double a, double b, double norm) noexcept nogil:
    """Log density of sigma^2; 1 / sigma^2 for a = b = 0."""
    return norm - (a + 1.0) * log(variance) - b / variance


cdef class VarianceEvidence(ConjugateEvidence):
    """Base class for the two kinds of priors.

    Parameters
    ----------
    gram : Gram
    cross : float64 array (D,)
    term_start : int32 array (J + 1,)
    by_size : float64 array (2, J + 1)
        a and b of the prior of sigma^2, by number of terms; zeros for 1 / sigma^2.
    rows : float
        N.
    volume : float
        Part of log p(y | model) that is common to all models: (sum of log w - log of the sum of w) / 2.
    integrated : bool
        Whether sigma^2 is integrated out.
    log_weights, penalty : float64 arrays (D,)
        As for :class:`ConjugateEvidence`.
    """

    def __init__(self, Gram gram not None, cross, term_start, by_size, double rows, double volume,
                 bint integrated, log_weights, penalty):
        terms, size = len(term_start) - 1, len(cross)
        super().__init__(
            GaussianScore.known(), gram, cross, term_start, log_weights=log_weights,
            penalty=penalty)
        if np.shape(by_size) != (2, terms + 1):
            raise ValueError("by_size must have two rows, and one entry for each number of terms")
        tables = np.zeros((6, terms + 1))
        tables[:2] = by_size
        proper = tables[0] > 0
        tables[2, proper] = tables[0, proper] * np.log(tables[1, proper]) - special.gammaln(tables[0, proper])
        tables[4] = tables[0] + 0.5 * rows
        cdef double[:, ::1] view = tables
        cdef int[::1] order = np.zeros(size + 1, dtype=np.intc)
        self.tables = (tables, order)
        self.a, self.b, self.norm = &view[0, 0], &view[1, 0], &view[2, 0]
        self.constant, self.half_nu, self.total = &view[3, 0], &view[4, 0], &view[5, 0]
        self.order = &order[0]
        self.rows, self.volume = rows, volume
        self.integrated = integrated
        self.unit = 1.0

    def __dealloc__(self):
        free(self.small)

    # ------------------------------------------------------------------ values

    cdef double worth(self, int inside, int d, double log_precision, double log_det,
                      double fit) noexcept nogil:
        """The value for given sums; -inf if lost to rounding."""
        cdef double value = 0.5 * (log_precision + d * log(self.unit) - log_det) + self.constant[inside]
        if self.integrated:
            value -= self.half_nu[inside] * log(self.total[inside] - fit)
        else:
            value += 0.5 * fit / self.unit
        if value == value and fit > -INFINITY:
            return value
        self.lost = True
        return -INFINITY

    cdef void changes(self, double* out) noexcept nogil:
        """One by one, since these values are not those of a score."""
        cdef int j
        for j in range(self.n_terms):
            out[j] = self.change(j)

    cdef void at(self, double variance) noexcept nogil:
        """Condition values on sigma^2; the current model is invalid until it is loaded."""

    cdef void set_density(self, double log_density, double variance) noexcept nogil:
        """Compute the part of the values that depends on the size, and a constant log density of y."""
        cdef int k
        for k in range(self.n_terms + 1):
            self.constant[k] = log_density
            if self.integrated:
                self.constant[k] += self.norm[k] + lgamma(self.half_nu[k]) + self.half_nu[k] * log(2.0)
            else:
                self.constant[k] += log_inverse_gamma(variance, self.a[k], self.b[k], self.norm[k])

    # ------------------------------------------------------------------ full conditionals

    cdef int factor(self) noexcept nogil:
        """Set `order` to the columns of the model, `small` to L of V = L L'; return their number or -1."""
        cdef int k = 0, column, i, j
        cdef double* grown
        cdef const double* row
        for column in range(self.tableau.n_columns):
            if self.tableau.place[column] >= 0:
                self.order[k] = column
                k += 1
        if k > self.room:
            grown = <double*> realloc(self.small, (<size_t> k + 1) * k * sizeof(double))
            if grown == NULL:
                return -1
            self.small = grown
            self.room = k
        for i in range(k):
            row = self.tableau.rows[self.tableau.place[self.order[i]]]
            for j in range(k):
                self.small[i * k + j] = row[self.order[j]]
        return k if cholesky(k, self.small, k) == 0 else -1

    cdef void draw_active(self, double spread, bitgen_t* rng, double* b) noexcept nogil:
        """b := normal draw with mean s and covariance spread^2 V at the columns of the model, 0 elsewhere."""
        cdef int k = self.factor(), i, j
        cdef double value
        cdef double* z
        memset(b, 0, self.tableau.n_columns * sizeof(double))
        if k < 0:
            self.broken = True
            return
        z = self.small + k * k
        for i in range(k):
            z[i] = random_standard_normal(rng)
            value = 0.0
            for j in range(i + 1):
                value += self.small[j * k + i] * z[j]
            b[self.order[i]] = self.tableau.s[self.order[i]] + spread * value

    cdef void draw(self, double variance, bitgen_t* rng, double* b) noexcept nogil:
        """b := draw of the coefficients given the current model and sigma^2; sets `residual`."""

    cdef double log_prior(self, double variance, const double* b) noexcept nogil:
        """Log density of coefficients given the current model and sigma^2."""
        return 0.0

    cdef double log_likelihood(self, double variance) noexcept nogil:
        """Log density of y given the last drawn coefficients."""
        return self.volume - 0.5 * (self.rows * (LOG_2PI + log(variance)) + self.residual / variance)

    cdef double variance_given_model(self, bitgen_t* rng) noexcept nogil:
        """Draw sigma^2 given the current model, with coefficients integrated out."""
        cdef double left = self.total[self.inside] - (self.tableau.fit - self.penalty)
        return 0.5 * left / random_standard_gamma(rng, self.half_nu[self.inside])

    cdef double variance_given_all(self, const double* b, bitgen_t* rng) noexcept nogil:
        """Draw sigma^2 given the current model and the last drawn coefficients."""
        cdef double scale = self.b[self.inside] + 0.5 * self.residual
        return scale / random_standard_gamma(rng, self.half_nu[self.inside])

    # ------------------------------------------------------------------ Python interface

    def condition(self, double variance):
        """Condition values, including that of the current model, on sigma^2 = `variance`."""
        self.at(variance)
        self.reload()
        self.check_state()

    def draws(self, double variance, rng):
        """Draw coefficients (D,) given the current model and sigma^2; return them and their residual sum."""
        b = np.zeros(self.tableau.n_columns + 1)
        cdef double[::1] view = b
        cdef bitgen_t* bits = bitgen_of(rng)
        with rng.bit_generator.lock:
            self.draw(variance, bits, &view[0])
        self.check_state()
        return b[: self.tableau.n_columns], self.residual

    def draw_variance(self, rng, const double[::1] b=None):
        """Draw sigma^2 given the current model, and given the last drawn coefficients if there are any."""
        cdef bitgen_t* bits = bitgen_of(rng)
        with rng.bit_generator.lock:
            if b is None:
                return self.variance_given_model(bits)
            return self.variance_given_all(&b[0], bits)

    def log_density(self, double variance, const double[::1] b not None):
        """Return log p(y, b, sigma^2 | model) for the last drawn coefficients."""
        cdef int k = self.inside
        cdef double value = log_inverse_gamma(variance, self.a[k], self.b[k], self.norm[k])
        return value + self.log_likelihood(variance) + self.log_prior(variance, &b[0])

    def check_state(self):
        """Raise if a loop has left an invalid state."""
        if self.broken:
            raise MemoryError("no memory, or no digits, for a draw of the coefficients of a model")
        super().check_state()


@cython.final
cdef class NormalEvidence(VarianceEvidence):
    """Evidence given sigma^2, under normal priors that do not scale with it.

    The tableau is that of sigma^2 P + X'WX, which differs from X'WX only on the diagonal; log det A and
    c'A^-1 c for A = P + X'WX / sigma^2 follow from it.

    Parameters
    ----------
    base : Gram
        X'WX.
    data : float64 array (D,)
        X'Wy.
    term_start : int32 array (J + 1,)
    square : float
        y'Wy.
    precision, mean : float64 arrays (D,)
        Prior precisions and means of the coefficients.
    by_size, rows, volume
        As for :class:`VarianceEvidence`.
    """

    def __init__(self, Gram base not None, const double[::1] data not None, term_start, double square,
                 const double[::1] precision not None, const double[::1] mean not None, by_size,
                 double rows, double volume):
        cdef int size = base.size
        pulls = np.asarray(precision) * np.asarray(mean) ** 2
        ends = np.concatenate([[0.0], np.cumsum(pulls)])
        cdef double[::1] sums = np.append(np.diff(ends[term_start]), 0.0)
        cdef double[::1] shift = np.array(precision), cross = np.array(data)
        self.shifted = ShiftedGram(base, shift)
        super().__init__(
            self.shifted, cross, term_start, by_size, rows, volume, False, np.log(precision), pulls)
        self.tables = (*self.tables, data, precision, mean, shift, cross, sums)
        self.square = square
        if size:
            self.precision, self.mean, self.data = &precision[0], &mean[0], &data[0]
            self.shift, self.cross = &shift[0], &cross[0]
        self.pulls = &sums[0]
        self.at(1.0)

    cdef void at(self, double variance) noexcept nogil:
        cdef int k
        cdef double* penalties = <double*> self.penalties
        self.unit = variance
        for k in range(self.tableau.n_columns):
            self.shift[k] = variance * self.precision[k]
            self.cross[k] = self.data[k] + self.shift[k] * self.mean[k]
        for k in range(self.n_terms):
            penalties[k] = variance * self.pulls[k]
        self.tableau.renew()
        self.set_density(
            self.volume - 0.5 * (self.rows * (LOG_2PI + log(variance)) + self.square / variance), variance)

    cdef void draw(self, double variance, bitgen_t* rng, double* b) noexcept nogil:
        cdef int k, i, column
        cdef const double* row
        self.draw_active(sqrt(variance), rng, b)
        self.residual = self.square
        k = self.tableau.n_active
        for i in range(k):
            column = self.order[i]
            row = self.shifted.base.row(column)
            self.residual += b[column] * (dot(self.tableau.n_columns, row, b) - 2.0 * self.data[column])
        if self.residual < 0.0:
            self.residual = 0.0     # rounding of a perfect fit

    cdef double log_prior(self, double variance, const double* b) noexcept nogil:
        cdef int i, column
        cdef double value = 0.0, away
        for i in range(self.tableau.n_active):
            column = self.order[i]
            away = b[column] - self.mean[column]
            value += log(self.precision[column]) - LOG_2PI - self.precision[column] * away * away
        return 0.5 * value
