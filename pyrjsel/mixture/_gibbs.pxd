# The state of one chain of a mixture classifier, and draws of all but the subset.

from pyrjsel._core.random cimport bitgen_t
from pyrjsel.mixture._chain cimport Chain
from pyrjsel.mixture._null cimport Null


cdef class Gibbs(Chain):
    cdef Null null
    cdef object arrays, found
    cdef int n_missing
    cdef bint conditional, imputed
    cdef double alpha, g, h, most, log_mass, concentration
    cdef double* z                  # (p, N)
    cdef const unsigned char* missing
    cdef unsigned char* partial     # (p) inputs with missing values
    cdef const int* missing_row     # rows with missing inputs that are drawn, CSR
    cdef const int* missing_start
    cdef const int* missing_input
    cdef const int* label
    cdef int* kernel
    cdef int* klass
    cdef double* count              # (p, D) t times the rows of a kernel that have the input
    cdef double* centre             # (p, D) their mean
    cdef double* square             # (p, D) t times their squares about it
    cdef double* log_joint          # (D + 1) constant of the marginal prior of so many precisions
    cdef double* rate               # (D) of q_d
    cdef double* new_precision      # (D)
    cdef double* new_mean
    cdef double* lanes              # (2, LANES, D)
    cdef double new_beta
    cdef double* share              # (max(D, K))
    cdef double* log_kernel         # (D, N) log weight of rows in kernels plus t times their log density
    cdef double* log_row            # (N) log of the sum over kernels
    cdef double* part               # (2, D, N) t times the log density of single inputs
    cdef double* new_log_kernel     # (D, N)
    cdef double* new_log_row
    cdef double* chance             # (D, N) probabilities of the kernels of the rows
    cdef double* new_chance

    cdef void refresh(self) noexcept nogil
    cdef void add_up(self, int i) noexcept nogil
    cdef double draw_mean(self, int i, int d, double u, bitgen_t* rng) noexcept nogil
    cdef void kernels(self, int i, bitgen_t* rng) noexcept nogil
    cdef void weights(self, bitgen_t* rng) noexcept nogil
    cdef void inputs(self, bitgen_t* rng) noexcept nogil
    cdef void one_input(self, int i, const double* precision, const double* mean, double* out) noexcept nogil
    cdef void densities(self) noexcept nogil
    cdef void allocate(self, const double* chance, bitgen_t* rng) noexcept nogil
    cdef void rows(self, bitgen_t* rng) noexcept nogil
    cdef double log_rows(self) noexcept nogil
