/* Log marginal likelihoods of many gaussian models of as many columns. */
#include "score.h"

#include "elementary.h"

/* Lower bound of arguments of logarithms, and 1 - R^2 below which a fit is perfect, as in _score.pyx. */
#define TINY 1e-300
#define PERFECT 1e-13

/* Up to so many panels are evaluated for all models of a block, without fetching coefficients for each. */
#define SIDE_BY_SIDE 6

CLONES static void residual_plain(ptrdiff_t n, double constant, double half_nu, double total, double shrink,
                                  const double *restrict fit, double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const double rest = total - shrink * fit[i];
        const double value = constant - half_nu * log_positive(rest > TINY ? rest : 1.0);
        out[i] = rest > TINY ? value : NAN;
    }
}

CLONES static void residual_with_det(ptrdiff_t n, double half_nu, double total, double shrink,
                                     const double *restrict log_det, const double *restrict fit,
                                     double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const double rest = total - shrink * fit[i];
        const double value = log_det[i] - half_nu * log_positive(rest > TINY ? rest : 1.0);
        out[i] = rest > TINY ? value : NAN;
    }
}

void score_residual(ptrdiff_t n, double constant, double half_nu, double total, double shrink,
                    const double *log_det, const double *fit, double *out)
{
    if (log_det)
        residual_with_det(n, half_nu, total, shrink, log_det, fit, out);
    else
        residual_plain(n, constant, half_nu, total, shrink, fit, out);
}

CLONES void score_best_g(ptrdiff_t n, double d, double nu, double total, double log_total,
                         const double *restrict fit, double *restrict out)
{
    const double half_nu = 0.5 * nu, half_d = 0.5 * d;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double r2 = fit[i] / total, rest = 1.0 - r2;
        const double growth = (nu - d) / d * (r2 > 0.0 ? r2 : 0.0) / (rest > PERFECT ? rest : 1.0);
        const double left = growth > 1.0 ? 1.0 / growth : 1.0; /* 1 - shrinkage */
        const double residual = 1.0 - (1.0 - left) * r2;
        const double value = half_d * log_positive(left) - half_nu * (log_total + log_positive(residual));
        out[i] = rest > PERFECT ? value : NAN;
    }
}

CLONES void score_mixture(ptrdiff_t n, double half_nu, double total, double log_total, double centre,
                          double length, int count, int stride, int powers,
                          const double *restrict coefficients, const double *restrict fit,
                          double *restrict out)
{
    double x[LANES], here[LANES], value[LANES] = {0.0}, rest[LANES];
    int at[LANES], low[LANES], high[LANES];
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        int least = count - 1, most = 0;
        for (int j = 0; j < m; j++) {
            const double share = fit[i + j] / total;
            const double positive = share > 0.0 ? share : 0.0;
            const double r2 = positive < 1.0 - PERFECT ? positive : 1.0 - PERFECT, left = 1.0 - r2;
            const double u = log_positive(1.0 + half_nu * r2 / (left * centre)) / length;
            const int inside = (int)u, k = inside < count ? inside : count - 1;
            const int good = 1.0 - share > PERFECT;
            rest[j] = good ? half_nu * (log_total + log_positive(left)) : NAN;
            x[j] = 2.0 * (u - k) - 1.0;
            at[j] = k;
            low[j] = good ? k : count - 1;
            high[j] = good ? k : 0;
        }
        for (int j = 0; j < m; j++) {
            least = low[j] < least ? low[j] : least;
            most = high[j] > most ? high[j] : most;
        }
        if (most - least < SIDE_BY_SIDE) {
            for (int k = least; k <= most; k++) {
                const double *c = coefficients + (ptrdiff_t)k * stride + powers - 1;
                for (int j = 0; j < m; j++)
                    here[j] = c[0];
                for (int p = 1; p < powers; p++)
                    for (int j = 0; j < m; j++)
                        here[j] = here[j] * x[j] + c[-p];
                for (int j = 0; j < m; j++)
                    value[j] = at[j] == k ? here[j] : value[j];
            }
        } else {
            const double *c = coefficients + powers - 1;
            for (int j = 0; j < m; j++)
                value[j] = c[(ptrdiff_t)at[j] * stride];
            for (int p = 1; p < powers; p++)
                for (int j = 0; j < m; j++)
                    value[j] = value[j] * x[j] + c[(ptrdiff_t)at[j] * stride - p];
        }
        for (int j = 0; j < m; j++)
            out[i + j] = value[j] - rest[j];
    }
}
