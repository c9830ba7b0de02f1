# Draws from distributions that numpy does not have.

from libc.math cimport exp, log, sqrt

from pyrjsel._core.random cimport bitgen_t, random_standard_gamma, random_standard_uniform


cdef inline double cut_gamma(double shape, double rate, double most, bitgen_t* rng) noexcept nogil:
    """A gamma draw that is at most `most`.

    With x the draw over that, and c the rate times it, the density x^(a - 1) e^(-c x) is under a power of x,
    times e^-c, wherever c < a: log x is at most x - 1. About one draw in two is taken at worst.
    """
    cdef double c = rate * most, x
    if c >= shape - 0.5 * sqrt(shape):
        while True:
            x = random_standard_gamma(rng, shape) / rate
            if 0.0 < x <= most:
                return x
    while True:
        x = log(random_standard_uniform(rng)) / (shape - c)
        if log(random_standard_uniform(rng)) < c * (x + 1.0 - exp(x)):
            return most * exp(x)


cdef inline void dirichlet(int n, double* counts, double concentration, bitgen_t* rng) noexcept nogil:
    """Counts become a draw of the probabilities that they ask for under a symmetric Dirichlet prior."""
    cdef int k
    cdef double total = 0.0
    for k in range(n):
        counts[k] = random_standard_gamma(rng, concentration + counts[k])
        total += counts[k]
    for k in range(n):
        counts[k] /= total


cdef inline int chosen(int n, const double* share, double total, bitgen_t* rng) noexcept nogil:
    """A position with probability in proportion to its share of the total."""
    cdef int k
    cdef double x = random_standard_uniform(rng) * total
    for k in range(n - 1):
        x -= share[k]
        if x < 0.0:
            return k
    return n - 1


cdef inline int below(int n, bitgen_t* rng) noexcept nogil:
    """A whole number from 0 to n - 1."""
    return <int> (random_standard_uniform(rng) * n)
