/* Sums over the columns of a gaussian model that one more column enters; see _conjugate.pyx.
 *
 * Each of n excluded columns has `left`, what the model leaves of its diagonal entry of A, and `own`, the same for
 * the matrix of the rank rule: the precision of the prior if `with_prior`, else A again. */
#ifndef PYRJSEL_ENTERING_H
#define PYRJSEL_ENTERING_H

#include <stddef.h>

/* fits[i] = fit - penalty[i] + s[i]^2 / left[i] with residual cross-products s. NaN where rounding or the rank rule
 * may matter: where own[i] is at most `limit` times whole[i], or the determinants change beyond the range of the
 * logarithm. */
void entering_fits(ptrdiff_t n, const double *left, const double *own, const double *whole, double limit,
                   int with_prior, const double *s, double fit, const double *penalty, double *fits);

/* out[i] = (known + log_weight[i] + log(1 / left[i])) / 2, with own[i] / left[i] in the logarithm if `with_prior`;
 * undefined where entering_fits is NaN. */
void entering_dets(ptrdiff_t n, const double *left, const double *own, int with_prior, double known,
                   const double *log_weight, double *out);

#endif
