/* Sums over the columns of a gaussian model that one more column enters. */
#include "entering.h"

#include "elementary.h"

/* Arguments of the logarithm are between this and its inverse. */
#define TINY 1e-300

CLONES void entering_fits(ptrdiff_t n, const double *restrict left, const double *restrict own,
                          const double *restrict whole, double limit, int with_prior,
                          const double *restrict s, double fit, const double *restrict penalty,
                          double *restrict fits)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const double ratio = 1.0 / left[i] * (with_prior ? own[i] : 1.0);
        const int good = (own[i] > 0.0) & (own[i] / whole[i] > limit) & (ratio > TINY) & (ratio < 1.0 / TINY);
        const double value = fit - penalty[i] + s[i] * s[i] / left[i];
        fits[i] = good ? value : NAN;
    }
}

CLONES void entering_dets(ptrdiff_t n, const double *restrict left, const double *restrict own,
                          int with_prior, double known, const double *restrict log_weight,
                          double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const double ratio = 1.0 / left[i] * (with_prior ? own[i] : 1.0);
        const int good = (ratio > TINY) & (ratio < 1.0 / TINY);
        out[i] = 0.5 * (known + log_weight[i] + log_positive(good ? ratio : 1.0));
    }
}
