# One chain of a mixture classifier whose target is the posterior given the inputs: labels alone are data.

from pyrjsel._core.random cimport bitgen_t
from pyrjsel.mixture._chain cimport Chain


cdef class LabelChain(Chain):
    cdef object arrays
    cdef bint conditional
    cdef double alpha, g, concentration
    cdef double value               # C at the state
    cdef const double* z            # (p, N), rows by class
    cdef const double* rate         # (p) h of beta_i
    cdef int* start                 # (K + 1) rows of class k: start[k] to start[k + 1]
    cdef unsigned char* partial     # (p) inputs with missing values
    cdef double* log_kernel         # (D, N) log densities of kernels, up to a constant of the row
    cdef double* new_log_kernel
    cdef double* density            # (D, N) of kernels, relative to the largest of the row; then their shares
    cdef double* part               # (D, N) of one input
    cdef double* share              # (D) sum_k P_k w_kd
    cdef double* own                # (N) density of the row in its class
    cdef double* every              # (N) in all classes together
    cdef double* old                # (N) one row of log_kernel
    cdef double* top                # (N)
    cdef double* count              # (D) rows that an input's kernels answer for, their mean and squares
    cdef double* centre
    cdef double* square
    cdef double* new_precision      # (D)
    cdef double* new_mean
    cdef double* trial              # (max(D, K)) weights
    cdef double new_beta

    cdef void set_share(self) noexcept nogil
    cdef double conditional_of(self, const double* log_kernel) noexcept nogil
    cdef void one_kernel(self, int i, double precision, double mean, double* out) noexcept nogil
    cdef void add_input(self, int i, const double* precision, const double* mean, double sign,
                        double* out) noexcept nogil
    cdef void refresh(self) noexcept nogil
    cdef void adapt(self, int step, bint accepted) noexcept nogil
    cdef bint walk(self, int i, int d, double precision, double mean, double log_prior,
                   bitgen_t* rng) noexcept nogil
    cdef void kernels(self, int i, bitgen_t* rng) noexcept nogil
    cdef void walk_weights(self, double* weight, int n, double concentration, int step,
                           bitgen_t* rng) noexcept nogil
    cdef void answer(self) noexcept nogil
    cdef void fit(self, int i) noexcept nogil
    cdef bint draw(self, int i, bitgen_t* rng) noexcept nogil
    cdef double log_prior_share(self, double beta, const double* precision, const double* mean) noexcept nogil
    cdef double ratio(self, int out, int into, bitgen_t* rng, double* value) noexcept nogil
    cdef void move(self, bitgen_t* rng) noexcept nogil
