# A Gram matrix swept on the columns of a model: its inverse there, and the residuals of the others.

from pyrjsel.selection.regression._gram cimport Gram

cdef struct gain_t:             # changes by the flip of a group
    double log_det               # of log det A
    double fit                   # of c'A^-1 c

cdef class Tableau:
    cdef readonly int n_columns, n_groups, n_active
    cdef readonly double log_det, fit
    cdef readonly bint failed    # out of memory: the state is invalid
    cdef Gram gram
    cdef object arrays
    cdef const int* start        # (n_groups + 1): columns of a group
    cdef const int* block        # (n_groups + 1): its residual block in `blocks`
    cdef const double* cross0    # (n_columns)
    cdef const double* blocks0
    cdef bint single             # every group is one column
    cdef int widest
    cdef int* active             # (n_columns): column of the i-th row
    cdef int* place              # (n_columns): row of an active column, or -1
    cdef const int* group        # (n_columns): group of a column
    cdef double** rows           # V at active columns, V A_g. at others
    cdef double* s               # coefficients at active columns, residual cross-products at others
    cdef double* blocks          # residual A_jj - A_jg V A_gj of excluded groups
    cdef double* r               # (n_columns)
    cdef double* small           # 2 widest^2 + widest

    cdef void release(self) noexcept
    cdef void renew(self) noexcept nogil
    cdef void clear(self) noexcept nogil
    cdef void update_blocks(self, double factor) noexcept nogil
    cdef double enter(self, int column) noexcept nogil
    cdef double leave(self, int column) noexcept nogil
    cdef gain_t gain(self, int group) noexcept nogil
    cdef double least_share(self) noexcept nogil
    cdef double share_with(self, int group, double least, double worry) noexcept nogil
    cdef int gather(self, int group) noexcept nogil
    cdef void part(self, const int* columns, int d, double* out) noexcept nogil

cdef gain_t sweep_part(double* m, int d, int k) noexcept nogil
