# Interpolated Student's distribution function for fixed degrees of freedom.

cdef class StudentCdf:
    cdef int n_df
    cdef double step
    cdef object arrays
    cdef const double* df                   # (m)
    cdef const double* root                 # (m)
    cdef const int* first                   # (m + 1), starts in the table
    cdef const double* table                # values, each with the slope times the step behind it

    cdef double at(self, int k, double t) noexcept nogil
