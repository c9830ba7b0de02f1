/* Passes over the components of a mixture of normal distributions. */
#include "mixtures.h"

#include "elementary.h"

static inline __attribute__((always_inline)) void
add(int m, const double *restrict mean, const double *restrict rate, const double *restrict weight, double x,
    double centre, int degree, const double *restrict coefficients, const double *restrict rise,
    double *restrict value, double *restrict slope)
{
    for (int j = 0; j < m; j++) {
        const double at = (x - mean[j]) * rate[j] - centre;
        value[j] += weight[j] * horner(at, degree, coefficients);
        slope[j] += weight[j] * rate[j] * horner(at, degree / 2, rise);
    }
}

/* Inlined with a constant degree, so that loops over components are vectorised with both polynomials inside. */
static inline __attribute__((always_inline)) double
near_of(ptrdiff_t n, const double *restrict mean, const double *restrict rate, const double *restrict weight, double x,
        double centre, int degree, const double *restrict coefficients, const double *restrict rise,
        double *restrict slope)
{
    double value[LANES] = {0.0}, change[LANES] = {0.0};
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES)
        add(LANES, mean + i, rate + i, weight + i, x, centre, degree, coefficients, rise, value, change);
    add((int)(n - i), mean + i, rate + i, weight + i, x, centre, degree, coefficients, rise, value, change);
    *slope = sum_lanes(change);
    return sum_lanes(value);
}

CLONES double mixture_near(ptrdiff_t n, const double *mean, const double *rate, const double *weight, double x,
                           double centre, int degree, const double *coefficients, const double *rise, double *slope)
{
    if (degree <= 4)
        return near_of(n, mean, rate, weight, x, centre, 4, coefficients, rise, slope);
    if (degree <= 6)
        return near_of(n, mean, rate, weight, x, centre, 6, coefficients, rise, slope);
    if (degree <= 8)
        return near_of(n, mean, rate, weight, x, centre, 8, coefficients, rise, slope);
    if (degree <= 10)
        return near_of(n, mean, rate, weight, x, centre, 10, coefficients, rise, slope);
    if (degree <= 12)
        return near_of(n, mean, rate, weight, x, centre, 12, coefficients, rise, slope);
    return near_of(n, mean, rate, weight, x, centre, 16, coefficients, rise, slope);
}

static inline __attribute__((always_inline)) void
cubes(int m, const double *restrict mean, const double *restrict weight, const double *restrict square, double middle,
      double *restrict sum)
{
    for (int j = 0; j < m; j++) {
        const double d = mean[j] - middle;
        sum[j] += d * (weight[j] * d * d + 3.0 * square[j]);
    }
}

CLONES double mixture_third(ptrdiff_t n, const double *mean, const double *weight, const double *square, double middle)
{
    double sum[LANES] = {0.0};
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES)
        cubes(LANES, mean + i, weight + i, square + i, middle, sum);
    cubes((int)(n - i), mean + i, weight + i, square + i, middle, sum);
    return sum_lanes(sum);
}
