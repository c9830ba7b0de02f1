# Marginal likelihoods and full conditionals if sigma^2 is in the state of a sampler, or its prior depends on
# the size of the model.

from pyrjsel._core.random cimport bitgen_t
from pyrjsel.selection.evidence._conjugate cimport ConjugateEvidence
from pyrjsel.selection.regression._weighted cimport ShiftedGram

cdef class VarianceEvidence(ConjugateEvidence):
    cdef readonly bint integrated     # whether sigma^2 is integrated out; else values are given it
    cdef readonly double residual     # residual sum of squares of the last draw of coefficients
    cdef bint broken                  # out of memory, or a draw was lost to rounding
    cdef object tables
    cdef double rows, volume
    cdef double unit                  # fits and log determinants refer to this multiple of A
    cdef const double* a              # (J + 1): sigma^2 ~ IG(a, b) by number of terms
    cdef const double* b
    cdef const double* norm           # (J + 1): a log b - log gamma(a), 0 where improper
    cdef double* constant             # (J + 1): terms that depend on the model only through its size
    cdef double* half_nu              # (J + 1)
    cdef double* total                # (J + 1): y'Wy + 2 b, with residuals of the null model
    cdef int* order                   # (D): columns of the model, in order
    cdef double* small                # a factor for these columns, and draws; their capacity
    cdef int room

    cdef void at(self, double variance) noexcept nogil
    cdef void set_density(self, double log_density, double variance) noexcept nogil
    cdef int factor(self) noexcept nogil
    cdef void draw_active(self, double spread, bitgen_t* rng, double* b) noexcept nogil
    cdef void draw(self, double variance, bitgen_t* rng, double* b) noexcept nogil
    cdef double log_prior(self, double variance, const double* b) noexcept nogil
    cdef double log_likelihood(self, double variance) noexcept nogil
    cdef double variance_given_model(self, bitgen_t* rng) noexcept nogil
    cdef double variance_given_all(self, const double* b, bitgen_t* rng) noexcept nogil

cdef class NormalEvidence(VarianceEvidence):
    cdef ShiftedGram shifted
    cdef double square
    cdef const double* precision      # (D)
    cdef const double* mean           # (D)
    cdef const double* data           # (D): X'Wy
    cdef const double* pulls          # (J): m'P m by term
    cdef double* shift                # (D)
    cdef double* cross                # (D)

cdef double log_inverse_gamma(double variance, double a, double b, double norm) noexcept nogil
