# Interpolated Student's distribution function for fixed degrees of freedom.

cdef class StudentCdf:
    cdef int n_df
    cdef double step
    cdef const double[::1] df, root         # (m,)
    cdef const int[::1] first               # (m + 1,), starts in the tables
    cdef const double[::1] value, slope     # tables; slopes times the step

    cdef double at(self, int k, double t) noexcept nogil
