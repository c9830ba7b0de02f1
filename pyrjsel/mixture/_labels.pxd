# One chain of a mixture classifier whose target is the posterior given the inputs: labels alone are data.

from pyrjsel._core.random cimport bitgen_t
from pyrjsel.mixture._chain cimport Chain


cdef class LabelChain(Chain):
    cdef object arrays
    cdef bint conditional
    cdef double alpha, g, concentration
    cdef double value               # C at the state
    cdef const double* z            # (p, N), rows by class; 0 where missing
    cdef const double* seen         # (p, N) 0 where missing, else 1
    cdef const double* rate         # (p) h of beta_i
    cdef int* start                 # (K + 1) rows of class k: start[k] to start[k + 1]
    cdef double* log_kernel         # (D, N) log densities of kernels, up to a constant of the row
    cdef double* new_log_kernel
    cdef double* density            # (D, N) of kernels, relative to exp(top)
    cdef double* new_density
    cdef double* part               # (D, N) shares of kernels in rows, without an input that leaves
    cdef double* part_now           # (D, N) and with all
    cdef double* share              # (D) sum_k P_k w_kd
    cdef double* top                # (N)
    cdef double* new_top
    cdef double* own                # (N) density of the row in its class
    cdef double* every              # (N) in all classes together
    cdef double* other_own          # (N) the same of all kernels but one
    cdef double* other_every
    cdef double* old                # (N) one row of log_kernel, as it was
    cdef double* log_row            # (N) and without a change
    cdef double* new_row            # (N) and with it
    cdef double* row                # (N) one row of density
    cdef double* ones               # (N)
    cdef double* count              # (D) rows that an input's kernels answer for, their mean and squares
    cdef double* centre
    cdef double* square
    cdef double* new_precision      # (D)
    cdef double* new_mean
    cdef double* trial              # (max(D, K)) weights
    cdef double new_beta
    cdef bint answered              # whether `part_now` is that of the state
    cdef double* places             # (p) means of one kernel
    cdef double* to_places          # (p) and those proposed
    cdef double* to_precision       # (p)

    cdef double* pivot              # (p) means of inputs
    cdef double* unit               # (p) one over their variances; 0 where some are missing
    cdef double* factor             # (D) logarithms of what weights of kernels are multiplied by
    cdef double* kept               # (K D + K) weights and class probabilities before a move

    cdef double reweigh(self) noexcept nogil
    cdef void slide(self, int i, bint linear, bitgen_t* rng) noexcept nogil
    cdef void set_share(self) noexcept nogil
    cdef void add_kernel(self, int d, const double* density, double* own, double* every) noexcept nogil
    cdef void sums(self, const double* density, int without, double* own, double* every) noexcept nogil
    cdef double log_classes(self) noexcept nogil
    cdef double conditional_of(self, const double* log_kernel, double* top, double* density) noexcept nogil
    cdef void add_one(self, int i, double precision, double mean, double sign, double* out) noexcept nogil
    cdef void add_input(self, int i, const double* precision, const double* mean, double sign,
                        double* out) noexcept nogil
    cdef void refresh(self) noexcept nogil
    cdef void adapt(self, int step, bint accepted) noexcept nogil
    cdef bint walk(self, int i, int d, double precision, double mean, double log_prior,
                   bitgen_t* rng) noexcept nogil
    cdef bint judge(self, int d, int i, const double* change, const double* log_row, double log_ratio,
                    bitgen_t* rng) noexcept nogil
    cdef double log_place_share(self, int d, const double* mean) noexcept nogil
    cdef int row_for(self, int d, bitgen_t* rng) noexcept nogil
    cdef void relocate(self, int d, bitgen_t* rng) noexcept nogil
    cdef void others(self, int d) noexcept nogil
    cdef void turn(self) noexcept nogil
    cdef void kernel(self, int d, bitgen_t* rng) noexcept nogil
    cdef double total(self, int i) noexcept nogil
    cdef void rescale(self, int first, int stop, bitgen_t* rng) noexcept nogil
    cdef void take(self, double value) noexcept nogil
    cdef void walk_weights(self, double* weight, int n, double concentration, int step,
                           bitgen_t* rng) noexcept nogil
    cdef void answer(self, const double* density, double* part) noexcept nogil
    cdef void fit(self, int i, const double* part) noexcept nogil
    cdef bint draw(self, int i, bitgen_t* rng) noexcept nogil
    cdef double log_prior_share(self, double beta, const double* precision, const double* mean) noexcept nogil
    cdef double ratio(self, int out, int into, bitgen_t* rng, double* value) noexcept nogil
    cdef void move(self, bitgen_t* rng) noexcept nogil
