# Marginal likelihoods and full conditionals under spike-and-slab priors.

from pyrjsel.selection.evidence._evidence cimport Evidence
from pyrjsel.selection.evidence._variance cimport VarianceEvidence
from pyrjsel.selection.regression._weighted cimport WeightedGram

cdef class SpikeEvidence(VarianceEvidence):
    cdef WeightedGram weighted
    cdef int rank
    cdef double rest
    cdef const double* columns        # (D, r)
    cdef const double* precision      # (D): of the spikes
    cdef const double* ratio          # (D): ratios of the variances of slab and spike
    cdef const double* value          # (r)
    cdef const double* image          # (r)
    cdef double* weight               # (r)
    cdef double* cross                # (D)
    cdef double* noise                # (D)
    cdef double* turned               # (r)
    cdef double* inner                # (r)
    cdef double* outer                # (r)

cdef class DensityEvidence(Evidence):
    cdef object arrays
    cdef bint scaled
    cdef int inside
    cdef double base
    cdef const int* start             # (J + 1)
    cdef const double* precision      # (D)
    cdef const double* ratio          # (D)
    cdef const double* a              # (J + 1)
    cdef const double* b
    cdef const double* norm
    cdef double* gain                 # (J): change of the log density by including a term
    cdef double* by_size              # (J + 1)
    cdef unsigned char* gamma         # (J)

    cdef void set(self, double variance, const double* b) noexcept nogil
