"""Linear predictors of new observations, given draws of the sums of groups.

A group that matches fully contributes its sum; a group that matches in part contributes a draw of this part
given the sum; patterns that do not occur in the training data contribute a draw from their prior. Scales are
computed from the same draw: sums over orders of sigma (Cauchy) or of its square (normal).
"""

from libc.math cimport sqrt

from pyrjsel._core.random cimport bitgen_of, bitgen_t, random_standard_normal
from pyrjsel.patterns._split cimport draw_cauchy, draw_standard


cdef inline double scale_of(const double* patterns, const double* sigma, Py_ssize_t orders,
                            bint cauchy) noexcept nogil:
    """Return the scale of a sum over patterns by order; under the normal prior its variance."""
    # mathematics: patterns-sum
    cdef Py_ssize_t o
    cdef double total = 0.0
    for o in range(orders):
        if patterns[o] > 0.0:
            total += patterns[o] * sigma[o] if cauchy else patterns[o] * sigma[o] * sigma[o]
    return total


def predictors(object rng, const double[:, :, ::1] sums, const double[:, ::1] sigma, bint cauchy,
               Py_ssize_t first, const long long[::1] indptr, const int[::1] group, const int[::1] part,
               const double[:, ::1] inside, const double[:, ::1] outside, const double[:, ::1] unseen,
               double[:, :, ::1] out):
    """Fill `out` with linear predictors of the observations from position `first` on.

    Parameters
    ----------
    rng : Generator
        Random number generator; its lock is acquired.
    sums : float64 array (D, C, G)
        Draws of the sum of each group, by class.
    sigma : float64 array (D, O + 1)
        Draws of the scales by order.
    cauchy : bool
        Whether the prior is Cauchy; otherwise normal.
    first : int
        Position of the first observation.
    indptr, group, part, inside, outside, unseen
        As in :class:`pyrjsel.patterns.matching.Matches`.
    out : float64 array (observations, D, C)
        Linear predictors.
    """
    cdef bitgen_t* bits = bitgen_of(rng)
    cdef Py_ssize_t orders = sigma.shape[1], i, d, c, k, row
    cdef double value, spread, one, other, rest
    with rng.bit_generator.lock, nogil:
        for i in range(out.shape[0]):
            for d in range(out.shape[1]):
                for c in range(out.shape[2]):
                    value = 0.0
                    spread = scale_of(&unseen[first + i, 0], &sigma[d, 0], orders, cauchy)
                    for k in range(indptr[first + i], indptr[first + i + 1]):
                        row = part[k]
                        if row < 0:
                            value += sums[d, c, group[k]]
                            continue
                        one = scale_of(&inside[row, 0], &sigma[d, 0], orders, cauchy)
                        other = scale_of(&outside[row, 0], &sigma[d, 0], orders, cauchy)
                        if cauchy:
                            value += draw_cauchy(sums[d, c, group[k]], one, other, bits, &rest)
                        else:
                            # The sum of normal parts is drawn at once.
                            value += sums[d, c, group[k]] * (one / (one + other))
                            spread += one * (other / (one + other))
                    if cauchy and spread > 0.0:
                        value += spread * draw_standard(bits)
                    elif spread > 0.0:
                        value += sqrt(spread) * random_standard_normal(bits)
                    out[i, d, c] = value
