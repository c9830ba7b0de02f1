"""Evidence under spike-and-slab priors (stochastic search variable selection).

Coefficients are N(0, R), R_kk = 1 / P_k for spikes and c_k / P_k for slabs, times sigma^2 or not. A slab is
the sum of a spike and an excess: beta = u + v with u ~ N(0, P^-1) for every column and v_k ~ N(0, (c_k - 1) /
P_k) only for slabs. With u integrated out, y is normal with mean X_g v and covariance sigma^2 / M,

    M = (I + X P^-1 X')^-1        times 1 / sigma^2 and with P^-1 / sigma^2, where P does not scale,

so spike-and-slab selection is selection among models g of v with a point mass at 0 and a normal prior, for
rows whitened by M. The tableaux of ``_conjugate.pyx`` apply with X'MX + diag(P / (c - 1)) in place of X'WX +
P, at O(k D) per flip with k slabs, although all D columns are in every model.

With P^-1/2 X'WX P^-1/2 = Q diag(l) Q' (rank r), F = P^1/2 Q and the image h of y (see :class:`Spectrum`),

    X'MX = F diag(l / (t + l)) F',   X'My = F (l^1/2 h / (t + l)),   y'My = rest / t + sum of h^2 / (t + l),

with t = 1 if priors scale with sigma^2, else t = sigma^2, included in M. A new sigma^2 costs O(r D).
"""

cimport cython
from libc.math cimport log, sqrt
from libc.string cimport memset

import numpy as np

from pyrjsel._core._vecmath cimport axpy, dot
from pyrjsel._core.random cimport bitgen_t, random_standard_gamma, random_standard_normal
from pyrjsel.selection.evidence._variance cimport log_inverse_gamma
from pyrjsel.selection.regression._weighted cimport WeightedGram

from pyrjsel._core import special

cdef double LOG_2PI = 1.8378770664093453


@cython.final
cdef class SpikeEvidence(VarianceEvidence):
    """Marginal likelihoods by slabs, and draws of all coefficients.

    Parameters
    ----------
    columns : float64 array (D, r)
        F.
    value, image : float64 arrays (r,)
        l and h.
    rest : float
        The part of y'Wy that no combination of columns explains.
    precision, ratio : float64 arrays (D,)
        P of spikes, and c.
    term_start : int32 array (J + 1,)
    by_size, rows, volume
        As for :class:`VarianceEvidence`.
    integrated : bool
        Whether the variances are multiples of sigma^2, which is then integrated out.
    capacity : int
        Number of rows of the Gram matrix to keep.
    """

    def __init__(self, const double[:, ::1] columns not None, const double[::1] value not None,
                 const double[::1] image not None, double rest, const double[::1] precision not None,
                 const double[::1] ratio not None, term_start, by_size, double rows, double volume,
                 bint integrated, int capacity):
        cdef int size = columns.shape[0], rank = columns.shape[1]
        if not (value.shape[0] == image.shape[0] == rank > 0
                and precision.shape[0] == ratio.shape[0] == size):
            raise ValueError("columns, value, image, precision and ratio do not fit together")
        numbers, cross = np.zeros(4 * rank + size), np.zeros(size)
        extra = np.asarray(precision) / (np.asarray(ratio) - 1.0)
        cdef double[::1] view = numbers, cross_view = cross
        self.weighted = WeightedGram(columns, numbers[:rank], extra, capacity)
        super().__init__(
            self.weighted, cross, term_start, by_size, rows, volume, integrated, np.log(extra),
            np.zeros(size))
        self.tables = (*self.tables, columns, value, image, precision, ratio, numbers, cross)
        self.rank = rank
        self.rest = rest
        self.columns, self.precision, self.ratio = &columns[0, 0], &precision[0], &ratio[0]
        self.value, self.image = &value[0], &image[0]
        self.weight, self.cross = &view[0], &cross_view[0]
        self.turned = self.weight + rank
        self.inner = self.turned + rank
        self.outer = self.inner + rank
        self.noise = self.outer + rank
        self.at(1.0)

    cdef void at(self, double variance) noexcept nogil:
        cdef double t = 1.0 if self.integrated else variance
        cdef double left, square = self.rest / t, log_det = (self.rows - self.rank) * log(t)
        cdef int i, k
        for i in range(self.rank):
            left = 1.0 / (t + self.value[i])
            self.weight[i] = self.value[i] * left
            self.turned[i] = sqrt(self.value[i]) * self.image[i] * left
            square += self.image[i] * self.image[i] * left
            log_det -= log(left)
        for k in range(self.tableau.n_columns):
            self.cross[k] = dot(self.rank, self.columns + <Py_ssize_t> k * self.rank, self.turned)
        self.weighted.forget()
        self.tableau.renew()
        log_det = self.volume - 0.5 * (log_det + self.rows * LOG_2PI)
        if self.integrated:
            for k in range(self.n_terms + 1):
                self.total[k] = square + 2.0 * self.b[k]
        else:
            log_det -= 0.5 * square
        self.set_density(log_det, variance)

    cdef void draw(self, double variance, bitgen_t* rng, double* b) noexcept nogil:
        """Draw the slabs' excess v given the model, then the spikes' part u given v.

        With e standard normal, u = P^-1/2 (t^1/2 (t + L)^-1/2 e + (t + L)^-1 P^-1/2 X'W (y - X v)), L the
        matrix that Q diag(l) Q' is: a multiple of e but for the r directions of Q.
        """
        cdef double t = 1.0 if self.integrated else variance
        cdef double spread = sqrt(variance) if self.integrated else 1.0
        cdef double root, left
        cdef int rank = self.rank, i, k
        cdef const double* row
        self.draw_active(spread, rng, b)
        memset(self.inner, 0, 2 * rank * sizeof(double))
        for i in range(self.tableau.n_active):
            k = self.order[i]
            axpy(rank, b[k], self.columns + <Py_ssize_t> k * rank, self.inner)
        for k in range(self.tableau.n_columns):
            self.noise[k] = spread * random_standard_normal(rng) / sqrt(self.precision[k])
            axpy(rank, self.noise[k], self.columns + <Py_ssize_t> k * rank, self.outer)
        self.residual = self.rest
        for i in range(rank):
            root = sqrt(self.value[i])
            left = 1.0 / (t + self.value[i])
            self.turned[i] = root * (self.image[i] - root * self.inner[i]) * left
            self.turned[i] += (sqrt(t * left) - 1.0) * self.outer[i]
            # Coefficients along the i-th direction, and the residual of y there.
            left = self.image[i] - root * (self.inner[i] + self.outer[i] + self.turned[i])
            self.residual += left * left
        for k in range(self.tableau.n_columns):
            row = self.columns + <Py_ssize_t> k * rank
            b[k] += self.noise[k] + dot(rank, row, self.turned) / self.precision[k]

    cdef double log_prior(self, double variance, const double* b) noexcept nogil:
        cdef double value = 0.0, precision, spread = variance if self.integrated else 1.0
        cdef int k
        for k in range(self.tableau.n_columns):
            precision = self.precision[k] / spread
            if self.tableau.place[k] >= 0:
                precision /= self.ratio[k]
            value += log(precision) - LOG_2PI - precision * b[k] * b[k]
        return 0.5 * value

    cdef double variance_given_all(self, const double* b, bitgen_t* rng) noexcept nogil:
        cdef double scale = self.b[self.inside] + 0.5 * self.residual, shape = self.half_nu[self.inside]
        cdef int k
        if self.integrated:
            shape += 0.5 * self.tableau.n_columns
            for k in range(self.tableau.n_columns):
                scale += 0.5 * self.precision[k] * b[k] * b[k] / (
                    self.ratio[k] if self.tableau.place[k] >= 0 else 1.0)
        return scale / random_standard_gamma(rng, shape)


@cython.final
cdef class DensityEvidence(Evidence):
    """log p(coefficients, sigma^2 | model) as a function of the model, for the classical sampler.

    Parameters
    ----------
    precision, ratio : float64 arrays (D,)
        P of spikes, and c.
    term_start : int32 array (J + 1,)
    by_size : float64 array (2, J + 1)
        As for :class:`VarianceEvidence`.
    scaled : bool
        Whether the variances are multiples of sigma^2.
    """

    def __init__(self, const double[::1] precision not None, const double[::1] ratio not None,
                 const int[::1] term_start not None, by_size, bint scaled):
        cdef int terms = term_start.shape[0] - 1
        if precision.shape[0] != ratio.shape[0] or term_start[terms] != ratio.shape[0]:
            raise ValueError("precision, ratio and term_start do not fit together")
        tables = np.zeros((5, terms + 1))
        tables[:2] = by_size
        proper = tables[0] > 0
        tables[2, proper] = tables[0, proper] * np.log(tables[1, proper]) - special.gammaln(tables[0, proper])
        cdef double[:, ::1] view = tables
        cdef unsigned char[::1] gamma = np.zeros(terms + 1, dtype=np.uint8)
        self.arrays = (precision, ratio, term_start, tables, gamma)
        self.n_terms = terms
        self.scaled = scaled
        self.start = &term_start[0]
        if ratio.shape[0]:
            self.precision, self.ratio = &precision[0], &ratio[0]
        self.a, self.b, self.norm = &view[0, 0], &view[1, 0], &view[2, 0]
        self.gain, self.by_size = &view[3, 0], &view[4, 0]
        self.gamma = &gamma[0]

    cdef void set(self, double variance, const double* b) noexcept nogil:
        """Set coefficients and sigma^2; the current model is invalid until it is loaded."""
        cdef double precision, spread = variance if self.scaled else 1.0
        cdef int j, k
        self.base = 0.0
        for j in range(self.n_terms):
            self.gain[j] = 0.0
            for k in range(self.start[j], self.start[j + 1]):
                precision = self.precision[k] / spread
                self.base += 0.5 * (log(precision) - LOG_2PI - precision * b[k] * b[k])
                self.gain[j] += 0.5 * precision * b[k] * b[k] * (1.0 - 1.0 / self.ratio[k])
                self.gain[j] -= 0.5 * log(self.ratio[k])
        for k in range(self.n_terms + 1):
            self.by_size[k] = log_inverse_gamma(variance, self.a[k], self.b[k], self.norm[k])

    cdef int load(self, const unsigned char* gamma) noexcept nogil:
        cdef int j
        self.inside = 0
        self.value = self.base
        for j in range(self.n_terms):
            self.gamma[j] = gamma[j]
            if gamma[j]:
                self.inside += 1
                self.value += self.gain[j]
        self.value += self.by_size[self.inside]
        return 0

    cdef double change(self, int j) noexcept nogil:
        if self.gamma[j]:
            return self.by_size[self.inside - 1] - self.by_size[self.inside] - self.gain[j]
        return self.by_size[self.inside + 1] - self.by_size[self.inside] + self.gain[j]

    cdef int flip(self, int j) noexcept nogil:
        self.value += self.change(j)
        self.inside += -1 if self.gamma[j] else 1
        self.gamma[j] ^= 1
        return 0

    def condition(self, double variance, const double[::1] b not None):
        """Set sigma^2 and the coefficients b (D,)."""
        self.set(variance, &b[0])
