"""One of two Cauchy variables given their sum: distribution function, quantiles and draws.

With scales a and b and the sum s the density of the part x is proportional to
1 / ((x^2 + a^2) ((x - s)^2 + b^2)). By partial fractions the distribution function is a sum of two arc
tangents and a logarithm. Three forms keep it accurate to rounding, relative to the smaller tail:

- the sum itself, with arc cotangents, which are accurate in the tails;
- if the poles ia and s + ib nearly coincide, differences of the arc tangents and of the logarithms: their
  coefficients are of the order of the inverse distance of the poles, which the differences cancel (at
  distance 0 the part is (a / sqrt(3)) times a t variable with 3 degrees of freedom);
- in the tail, where all terms cancel, Gauss-Legendre quadrature in 1 / x.

Quantiles are interpolated linearly between the nodes of a fixed grid, fine enough for an error below 1e-13
in the distribution function, and coarse enough that it increases from node to node by much more than its
rounding error. The cell does not depend on the method of search, so that quantiles are monotone in the
probability for any search method.
"""

from libc.math cimport (
    INFINITY,
    M_PI,
    atan,
    cbrt,
    fabs,
    floor,
    fmax,
    fmin,
    frexp,
    ldexp,
    log,
    log1p,
    sqrt,
    tan,
)

import numpy as np

from pyrjsel._core.random cimport bitgen_of, bitgen_t, random_standard_uniform

cdef enum:
    NODES = 10                  # relative error below 1e-15 where the tail begins
    FINE = 22                   # cells are between 2^-23 and 2^-22 of the distance from the pole
    NEIGHBOURS = 4              # adjacent cells to try after the search
    MOST = 200                  # largest number of search steps

# Where |x| exceeds this multiple of the moduli of the poles, the tail begins.
cdef double FAR = 2.0
# Poles are close if the square of their distance is below this share of (a + b)^2 ...
cdef double CLOSE = 0.0625
# ... and equal if it is below this one: the difference is below rounding.
cdef double SAME = 1e-34
# For sums up to this multiple of the larger scale both parts are resolved if one is.
cdef double NARROW = 2.0
# The search ends after a step below this share of the distance from the pole: the next step would be of
# the order of its cube.
cdef double SMALL = 0.002
# Smaller probabilities are replaced by this one: products of four magnitudes would overflow.
cdef double LEAST = 1e-200

cdef double[NODES] node, weight


def _set_nodes():
    x, w = np.polynomial.legendre.leggauss(NODES)
    cdef int k
    for k in range(NODES):
        node[k] = 0.5 * (x[k] + 1.0)
        weight[k] = 0.5 * w[k] * node[k] * node[k]


_set_nodes()


# ---------------------------------------------------------------------- distribution function

cdef law_t law_of(double c, double d, double s) noexcept nogil:
    """Distribution of Z ~ Cauchy(0, c) given that Z plus a Cauchy(0, d) variable is s; c, d > 0."""
    cdef law_t law
    cdef double both = c + d, square, near
    law.c, law.d, law.s = c, d, s
    law.gap = d - c
    square = law.gap * law.gap + s * s
    near = s * s + both * both
    law.far = FAR * fmax(c, sqrt(s * s + d * d))
    law.tail = c * (d / both) * near / M_PI
    law.close = square < CLOSE * both * both
    law.same = square <= SAME * both * both
    law.on_c = law.on_d = law.on_log = 0.0
    if law.same:
        return law
    law.on_log = s * c * (d / both) / square / M_PI
    if law.close:
        law.on_c = law.gap / both * (near / square) / (2.0 * M_PI)
    else:
        law.on_c = d / both * ((s * s + law.gap * both) / square) / M_PI
        law.on_d = c / both * ((s * s - law.gap * both) / square) / M_PI
    return law


cdef inline double acot(double x, double scale) noexcept nogil:
    """Arc cotangent of x / scale in (0, pi)."""
    if x > 0.0:
        return atan(scale / x)
    return 0.5 * M_PI - atan(x / scale)


cdef double beyond(double z, double s, const law_t* law) noexcept nogil:
    """P(Z > z) for z > law.far, with the sum s."""
    cdef double c = law.c / z, d = law.d / z, total = 0.0, v, a, b, y
    cdef int k
    s /= z
    c *= c
    d *= d
    for k in range(NODES):
        v = node[k]
        y = 1.0 - s * v
        a = 1.0 + c * v * v
        b = y * y + d * v * v
        total += weight[k] / (a * b)
    return law.tail / z / z / z * total


cdef double upper(double z, const law_t* law) noexcept nogil:
    """P(Z > z), with small relative error."""
    cdef double c = law.c, d = law.d, s = law.s, y = z - s
    cdef double ratio, turn, square
    if z > law.far:
        return beyond(z, s, law)
    if -z > law.far:
        return 1.0 - beyond(-z, -s, law)
    if not law.close:
        # 1e-300 replaces a square of 0 in a logarithm whose coefficient then vanishes.
        ratio = (z * z + c * c + 1e-300) / (y * y + d * d + 1e-300)
        return law.on_c * acot(z, c) + law.on_d * acot(y, d) - law.on_log * log(ratio)
    if law.same:
        return acot(z, c) / M_PI - c * z / (z * z + c * c) / M_PI
    square = y * y + d * d
    turn = atan(-(c * s + z * law.gap) / (z * y + c * d))
    ratio = log1p((s * (2.0 * z - s) - law.gap * (c + d)) / square)
    return (acot(z, c) + acot(y, d)) / (2.0 * M_PI) + law.on_c * turn - law.on_log * ratio


cdef double lower_part(double x, double s, double a, double b) noexcept nogil:
    """P(X <= x) for the part X with scale a of the sum s; the rest has scale b."""
    cdef law_t law
    if a == 0.0 or b == 0.0:
        return 1.0 if x >= (0.0 if a == 0.0 else s) else 0.0
    cdef double unit = unit_of(fmax(a, b))
    law = law_of(a * unit, b * unit, -s * unit)
    return upper(-x * unit, &law)


cdef inline double unit_of(double scale) noexcept nogil:
    """Power of two that scales `scale` into [1/2, 1)."""
    cdef int exponent
    frexp(scale, &exponent)
    return ldexp(1.0, -exponent)


# ---------------------------------------------------------------------- quantiles

cdef inline void cell_of(double z, double c, double* left, double* right) noexcept nogil:
    """Find the cell of z in the grid around the pole ic; the grid is symmetric about 0."""
    cdef int exponent
    cdef double width, size = fabs(z)
    frexp(fmax(size, c), &exponent)
    width = ldexp(1.0, exponent - 1 - FINE)
    size = floor(size / width) * width
    if z >= 0.0:
        left[0], right[0] = size, size + width
    else:
        left[0], right[0] = -size - width, -size


cdef double step_from(double z, double above, double wanted, const law_t* law) noexcept nogil:
    """Distance from z at which a generalised Pareto tail with its density and slope reaches `wanted`."""
    cdef double y = z - law.s, p = z * z + law.c * law.c, r = y * y + law.d * law.d
    cdef double scale = above / (law.tail / p / r), fall = log(above / wanted), bend
    cdef double shape = 2.0 * scale * (z / p + y / r) - 1.0
    bend = shape * fall
    if fabs(bend) < 0.02:
        return scale * fall * (1.0 + bend / 2.0 * (1.0 + bend / 3.0 * (1.0 + bend / 4.0)))
    return scale * ((above / wanted) ** shape - 1.0) / shape


cdef double solve(double q, double low, double high, double at_low, double at_high,
                  const law_t* law) noexcept nogil:
    """Find the z in [low, high] with P(Z > z) = q; it is non-increasing in q.

    `at_low` and `at_high` approximate P(Z > low) and P(Z > high); `high` may be infinite.
    """
    cdef double first = low, last = high, c = law.c
    cdef double turn_low = acot(low, c), turn_high = 0.0 if high == INFINITY else acot(high, c)
    cdef double slope = (at_low - at_high) / (turn_low - turn_high), base = at_high - slope * turn_high
    cdef double z, value, step, left, right, above, under
    cdef int tried, _near
    q = fmax(q, LEAST)
    # Start: a Cauchy variable of scale c with these two probabilities; the tail of Z is lighter.
    z = c / tan(fmin(fmax((q - base) / slope, turn_high + 1e-300), turn_low))
    if high == INFINITY:
        base = 0.0
        z = fmin(z, cbrt(law.tail / (3.0 * q)))
    z = fmin(fmax(z, low), high)
    for tried in range(MOST):
        value = upper(z, law)
        if value > q:
            low = fmax(low, z)
        else:
            high = fmin(high, z)
        step = INFINITY
        if value > base and q > base:
            step = step_from(z, value - base, q - base, law)
        if tried > 20 or not (low <= z + step <= high):
            # Bisect, on the scale on which the grid is uniform.
            if high == INFINITY:
                step = fmax(3.0 * low, c) - z
            elif low > c:
                step = sqrt(low) * sqrt(high) - z
            else:
                step = 0.5 * (low + high) - z
        z += step
        if not fabs(step) <= SMALL * fmax(c, fabs(z)):
            continue
        cell_of(z, c, &left, &right)
        for _near in range(NEIGHBOURS):
            left, right = fmax(left, first), fmin(right, last)
            above, under = upper(left, law), upper(right, law)
            if q > above and left > first:
                cell_of(left - 0.25 * (right - left), c, &left, &right)
            elif q <= under and right < last:
                cell_of(right + 0.25 * (right - left), c, &left, &right)
            elif not above > under:
                return left
            else:
                step = fmin(fmax((above - q) / (above - under), 0.0), 1.0)
                return fmin(left + step * (right - left), right)
    return z


cdef double quantile(double u, double q, double s, double a, double b, double* rest) noexcept nogil:
    """Find the part x with P(X <= x) = u = 1 - q; write s - x into `rest`."""
    cdef double x, y, unit, middle, end
    cdef law_t law
    if a == 0.0 or b == 0.0:
        x = 0.0 if a == 0.0 else s
        rest[0] = s - x
        return x
    if s < 0.0:
        x = -quantile(q, u, -s, a, b, rest)
        rest[0] = -rest[0]
        return x
    if a > b:
        rest[0] = quantile(q, u, s, b, a, &x)
        return x
    if u <= 0.0 or q <= 0.0:
        rest[0] = INFINITY if u <= 0.0 else -INFINITY
        return -rest[0]
    unit = unit_of(b)
    s, a, b = s * unit, a * unit, b * unit
    law = law_of(a, b, s)
    middle = upper(0.0, &law)
    if q >= middle:
        # Away from the rest.
        law = law_of(a, b, -s)
        x = -solve(u, 0.0, INFINITY, 1.0 - middle, 0.0, &law)
        y = s - x
    elif s <= NARROW * b:
        x = solve(q, 0.0, INFINITY, middle, 0.0, &law)
        y = s - x
    else:
        end = upper(0.5 * s, &law)
        if q >= end:
            x = solve(q, 0.0, 0.5 * s, middle, end, &law)
            y = s - x
        else:
            # The rest is smaller; x = s + z.
            law = law_of(b, a, -s)
            y = -solve(q, -0.5 * s, INFINITY, end, 0.0, &law)
            x = s - y
    rest[0] = y / unit
    return x / unit


# ---------------------------------------------------------------------- draws

cdef double draw_standard(bitgen_t* rng) noexcept nogil:
    """Draw a standard Cauchy variable: the slope of a uniform point of the disc."""
    cdef double x, y
    while True:
        x = 2.0 * random_standard_uniform(rng) - 1.0
        y = 2.0 * random_standard_uniform(rng) - 1.0
        if x * x + y * y <= 1.0 and x != 0.0:
            return y / x


cdef double draw_cauchy(double s, double a, double b, bitgen_t* rng, double* rest) noexcept nogil:
    """Draw the part with scale a of the sum s, whose rest has scale b, by rejection sampling.

    With u = x^2 + a^2 and v = (s - x)^2 + b^2, 1 / (u v) = (1 / u + 1 / v) / (u + v), and u + v is at least
    s^2 / 2 + a^2 + b^2: draws from the mixture of the two Cauchy distributions are accepted with probability
    (s^2 / 2 + a^2 + b^2) / (u + v), on average (s^2 / 2 + a^2 + b^2) / (s^2 + (a + b)^2) >= 1 / 2.
    """
    # mathematics: patterns-split-rejection
    cdef double x, y, unit, least
    if a == 0.0 or b == 0.0:
        x = 0.0 if a == 0.0 else s
        rest[0] = s - x
        return x
    unit = unit_of(fmax(a, b))
    s, a, b = s * unit, a * unit, b * unit
    least = 0.5 * s * s + a * a + b * b
    while True:
        if random_standard_uniform(rng) * (a + b) < b:
            x = a * draw_standard(rng)
            y = s - x
        else:
            y = b * draw_standard(rng)
            x = s - y
        if random_standard_uniform(rng) * (x * x + a * a + y * y + b * b) <= least:
            rest[0] = y / unit
            return x / unit


# ---------------------------------------------------------------------- over arrays

def cdf(const double[::1] x, const double[::1] s, const double[::1] a, const double[::1] b,
        double[::1] out):
    """Write P(part <= x) into `out`."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(x.shape[0]):
            out[i] = lower_part(x[i], s[i], a[i], b[i])


def ppf(const double[::1] u, const double[::1] s, const double[::1] a, const double[::1] b,
        double[:, ::1] out):
    """Write the parts and the rests at the probabilities u into the rows of `out`."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(u.shape[0]):
            out[0, i] = quantile(u[i], 1.0 - u[i], s[i], a[i], b[i], &out[1, i])


def draw(object rng, const double[::1] s, const double[::1] a, const double[::1] b, bint invert,
         double[:, ::1] out):
    """Draw parts and rests into the rows of `out`, by inversion or rejection."""
    cdef bitgen_t* bits = bitgen_of(rng)
    cdef Py_ssize_t i
    cdef double u
    with rng.bit_generator.lock, nogil:
        for i in range(s.shape[0]):
            if invert:
                u = random_standard_uniform(bits)
                while u == 0.0:
                    u = random_standard_uniform(bits)
                out[0, i] = quantile(u, 1.0 - u, s[i], a[i], b[i], &out[1, i])
            else:
                out[0, i] = draw_cauchy(s[i], a[i], b[i], bits, &out[1, i])
