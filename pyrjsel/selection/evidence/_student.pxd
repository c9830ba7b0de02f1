# Interpolated Student's distribution function for fixed degrees of freedom.

cdef class StudentCdf:
    cdef readonly double df
    cdef double root, step
    cdef int count
    cdef object arrays
    cdef const double* value     # (count)
    cdef const double* slope     # (count), times the step

    cdef double at(self, double t) noexcept nogil
