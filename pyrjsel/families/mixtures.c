/* Passes over the components of a mixture of normal distributions. */
#include "mixtures.h"

#include "elementary.h"

/* Components side by side: loops over fewer are unrolled before they could be vectorised. */
#define ABREAST 32

static inline __attribute__((always_inline)) void
add(int m, const double *restrict mean, const double *restrict rate, const double *restrict weight, double x,
    double centre, int degree, const double *restrict coefficients, double *restrict value,
    double *restrict slope)
{
    double at[ABREAST], height[ABREAST], rise[ABREAST];
    for (int j = 0; j < m; j++) {
        at[j] = (x - mean[j]) * rate[j] - centre;
        height[j] = coefficients[degree];
        rise[j] = 0.0;
    }
    for (int k = degree - 1; k >= 0; k--)
        for (int j = 0; j < m; j++) {
            rise[j] = rise[j] * at[j] + height[j];
            height[j] = height[j] * at[j] + coefficients[k];
        }
    for (int j = 0; j < m; j++) {
        value[j] += weight[j] * height[j];
        slope[j] += weight[j] * rate[j] * rise[j];
    }
}

CLONES double mixture_near(ptrdiff_t n, const double *mean, const double *rate, const double *weight, double x,
                           double centre, int degree, const double *coefficients, double *slope)
{
    double value[ABREAST] = {0.0}, rise[ABREAST] = {0.0}, total = 0.0;
    ptrdiff_t i = 0;
    for (; i + ABREAST <= n; i += ABREAST)
        add(ABREAST, mean + i, rate + i, weight + i, x, centre, degree, coefficients, value, rise);
    add((int)(n - i), mean + i, rate + i, weight + i, x, centre, degree, coefficients, value, rise);
    *slope = 0.0;
    for (int j = 0; j < ABREAST; j++) {
        total += value[j];
        *slope += rise[j];
    }
    return total;
}
