/* Log marginal likelihoods of many gaussian models of as many columns; see _score.pyx. */
#ifndef PYRJSEL_SCORE_H
#define PYRJSEL_SCORE_H

#include <stddef.h>

/* out[i] = constant - half_nu * log(total - shrink * fit[i]), with log_det[i] in place of the constant unless it
 * is NULL; NaN where the argument of the logarithm is not above 1e-300. */
void score_residual(ptrdiff_t n, double constant, double half_nu, double total, double shrink,
                    const double *log_det, const double *fit, double *out);

/* The same for models of d columns with the g of the highest marginal likelihood; NaN for a perfect fit. */
void score_best_g(ptrdiff_t n, double d, double nu, double total, double log_total, const double *fit,
                  double *out);

/* The same for a mixture of g-priors, with u = log(1 + half_nu * odds of R^2 / centre) / length, plus the value
 * at u of a piecewise polynomial on panels of length 1 from 0 on: that of panel k, in 2 (u - k) - 1, has `powers`
 * coefficients from k * stride on, that of power 0 first, and the last panel has no end. */
void score_mixture(ptrdiff_t n, double half_nu, double total, double log_total, double centre, double length,
                   int count, int stride, int powers, const double *coefficients, const double *fit,
                   double *out);

#endif
