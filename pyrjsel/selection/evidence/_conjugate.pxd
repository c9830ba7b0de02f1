# Marginal likelihoods of gaussian models, and of quadratic log-likelihoods with known variance.

from pyrjsel.selection.evidence._evidence cimport Evidence
from pyrjsel.selection.priors._score cimport GaussianScore
from pyrjsel.selection.evidence._tableau cimport Tableau

cdef class ConjugateEvidence(Evidence):
    cdef readonly GaussianScore score
    cdef readonly Tableau tableau
    cdef readonly Tableau prior       # of the prior precision; None if it is diagonal or a multiple of A
    cdef object arrays
    cdef int n_base                   # number of leading columns in every model
    cdef int prior_base               # number of these with a flat prior
    cdef int most                     # largest number of columns of a model; INT_MAX for no limit
    cdef int d                        # number of other columns of the model
    cdef int inside                   # number of terms of the model
    cdef bint lost                    # a value was lost to rounding
    cdef double rank_tol, least, log_precision, penalty, doubt
    cdef double most_fit              # largest fit of which sums of squares leave enough digits
    cdef const double* log_weights    # (J): log det of the prior precision by term
    cdef const double* penalties      # (J)
    cdef unsigned char* gamma         # (J)
    cdef int n_lone                   # number of terms of a single column
    cdef const int* which             # (J): these terms first
    cdef double* gathered             # (6, n_lone): workspace of `changes`, as the next three
    cdef double* dets                 # (PART)
    cdef double* fits                 # (PART)
    cdef double* found                # (J), NULL if all terms have a single column

    cdef double now(self) noexcept nogil
    cdef double worth(self, int inside, int d, double log_precision, double log_det,
                      double fit) noexcept nogil
    cdef bint dependent(self, int group) noexcept nogil
    cdef void lone_columns(self, const double** numbers) noexcept nogil
    cdef int enter(self, int column) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef int reload(self) noexcept nogil
