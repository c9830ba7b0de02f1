/* Log-likelihoods of successes and failures under the probit and the complementary log-log link. */
#ifndef PYRJSEL_BINARY_H
#define PYRJSEL_BINARY_H

#include <stddef.h>

/* out = eta + delta * x, which may be eta itself; the sum over i of wy[i] * log(p) + (w[i] - wy[i]) *
 * log(1 - p) at out, all w[i] = 1 where w is NULL. */
double probit_shift(ptrdiff_t n, const double *eta, const double *x, double delta, const double *wy,
                    const double *w, double *out);
double cloglog_shift(ptrdiff_t n, const double *eta, const double *x, double delta, const double *wy,
                     const double *w, double *out);

/* The same sum at eta, its gradient in eta, and minus its second derivative. */
double probit_working(ptrdiff_t n, const double *eta, const double *wy, const double *w,
                      double *residual, double *weight);
double cloglog_working(ptrdiff_t n, const double *eta, const double *wy, const double *w,
                       double *residual, double *weight);

#endif
