# The law of one part of a sum of two Cauchy variables, and of two normal ones.

from pyrjsel._core.random cimport bitgen_t

cdef struct law_t:
    double c, d, s          # Z ~ Cauchy(0, c) given that Z and a Cauchy(0, d) variable sum to s
    double gap              # d - c
    double far              # beyond it the tail is integrated in 1 / z
    double tail             # P(Z > z) is tail / (3 z^3) at infinity
    double on_c, on_d, on_log
    bint close              # Z and the rest have nearly the same poles
    bint same               # and the very same

cdef law_t law_of(double c, double d, double s) noexcept nogil
cdef double upper(double z, const law_t* law) noexcept nogil
cdef double lower_part(double x, double s, double a, double b) noexcept nogil
cdef double quantile(double u, double q, double s, double a, double b, double* rest) noexcept nogil
cdef double draw_standard(bitgen_t* rng) noexcept nogil
cdef double draw_cauchy(double s, double a, double b, bitgen_t* rng, double* rest) noexcept nogil
