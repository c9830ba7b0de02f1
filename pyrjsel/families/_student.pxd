cdef double log_at_zero(double df) noexcept nogil
