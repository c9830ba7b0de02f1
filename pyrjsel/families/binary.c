/* Log-likelihoods of successes and failures under the probit and the complementary log-log link. */
#include "binary.h"

#include "elementary.h"

/* Beyond this a linear predictor of the probit link counts as this: its square is finite. */
#define FARTHEST 1e150
/* Beyond this the Mills ratio is 1 / a, and the smaller of the second derivatives 1, to eight digits. */
#define TAIL 1e4

/* Loops with calls are not vectorised, whatever the length of what is called. */
#ifdef __GNUC__
#define INLINED static inline __attribute__((always_inline))
#else
#define INLINED static inline
#endif

/* A row: the log-likelihood, its derivative, and minus its second derivative. */
typedef struct {
    double value, slope, curve;
} row_t;

/* The polynomial of x with `terms` coefficients, the highest first. Loops over rows are vectorised only if this
 * one is unrolled. */
INLINED double polynomial(double x, const double *coefficients, int terms)
{
    double p = coefficients[0];
#pragma GCC unroll 32
    for (int k = 1; k < terms; k++)
        p = p * x + coefficients[k];
    return p;
}

/* Coefficients of the Mills ratio's product with a + 1, as a function of z = (a - 5) / (a + 5). */
static const double MILLS[24] = {
    -0x1.06ea87375c5b4p-30, -0x1.84e4459756919p-31, 0x1.7b0f1fc3805e3p-27, 0x1.386a441084818p-27,
    -0x1.4d39d50792f0ep-24, -0x1.1afe8a6a10e00p-24, 0x1.082372888b676p-21, 0x1.582e3c1549ea5p-22,
    -0x1.b7debee1da49ep-19, -0x1.7aabc20eeba8dp-23, 0x1.7d010b3c70d15p-16, -0x1.a02c43d08b1aap-16,
    -0x1.19cda437ebfdcp-13, 0x1.df3ecb4614c01p-12, 0x1.47ab73fc90055p-16, -0x1.1355f4909ab39p-8,
    0x1.0bd973acc40a7p-6, -0x1.37838b3a20ea3p-5, 0x1.f7d96e0d85ca6p-5, -0x1.0f103e712ef39p-4,
    0x1.9ac85788f58b1p-6, 0x1.3e97eaf5f2f87p-4, -0x1.d5fd8ffd0f1aap-3, 0x1.28273b50efa76p+0,
};

/* (1 - Phi(a)) / phi(a) for 0 <= a <= TAIL. Its product with a + 1 is a polynomial of degree 23 to 2 ulp, from the
 * Chebyshev series in 40 digits. */
static inline double mills_ratio(double a)
{
    const double z = (a - 5.0) / (a + 5.0);
    return polynomial(z, MILLS, 24) / (a + 1.0);
}

/* s successes and f failures with probability Phi(e). */
INLINED row_t probit_row(double e, double s, double f)
{
    const double half_log_2pi = 0x1.d67f1c864beb5p-1, inverse_root_2pi = 0x1.9884533d43651p-2;
    const double size = fabs(e), a = size < FARTHEST ? size : FARTHEST, b = a < TAIL ? a : TAIL;
    const double near = e > 0.0 ? s : f, far = e > 0.0 ? f : s;
    const double half = 0.5 * a * a, ratio = mills_ratio(b);
    const double density = inverse_root_2pi * exp_nonpositive(-half);
    /* The probabilities of the far and of the near side, and their hazards. */
    const double small = density * ratio, large = 1.0 - small;
    const double rising = density / large, falling = 1.0 / ratio;
    row_t row;

    row.value = far * (log_positive(ratio) - half - half_log_2pi) - near * log1p_unit(small / large);
    row.slope = near * rising - far * falling;
    row.slope = e > 0.0 ? row.slope : -row.slope;
    row.curve = near * rising * (b + rising) + far * falling * (falling - b);
    return row;
}

/* Power series of (1 - exp(-m)) / m for 0 <= m < 1: (-1)^k / (k + 1)!. */
static const double MEAN[18] = {
    -1.5619206968586225e-16, 2.8114572543455206e-15, -4.779477332387385e-14, 7.647163731819816e-13,
    -1.1470745597729725e-11, 1.6059043836821613e-10, -2.08767569878681e-09, 2.505210838544172e-08,
    -2.755731922398589e-07, 2.7557319223985893e-06, -2.48015873015873e-05, 0.0001984126984126984,
    -0.001388888888888889, 0.008333333333333333, -0.041666666666666664, 0.16666666666666666,
    -0.5, 1.0,
};

/* And of its difference from exp(-m), over m: (-1)^(k - 1) k / (k + 1)! from k = 1. */
static const double REST[18] = {
    -1.4797143443923793e-16, 2.6552651846596585e-15, -4.498331606952833e-14, 7.169215998581078e-13,
    -1.0706029224547743e-11, 1.4911969277048643e-10, -1.9270852604185937e-09, 2.296443268665491e-08,
    -2.505210838544172e-07, 2.48015873015873e-06, -2.2045855379188714e-05, 0.00017361111111111112,
    -0.0011904761904761906, 0.006944444444444444, -0.03333333333333333, 0.125,
    -0.3333333333333333, 0.5,
};

/* s successes and f failures with probability 1 - exp(-exp(e)). */
INLINED row_t cloglog_row(double e, double s, double f)
{
    const double mean = exp_any(e), m = mean < 708.0 ? mean : 708.0;
    const int low = m < 1.0;
    const double t = low ? m : 0.0;
    const double none = exp_nonpositive(-m);
    const double q = polynomial(t, MEAN, 18), rest = polynomial(t, REST, 18);
    const double share = low ? q : 1.0 - none;
    /* The derivative of log p is m / (exp(m) - 1). */
    const double up = (low ? none : m * none) / share;
    const double near = m * (1.0 - rest / q), far = m + up - 1.0;
    const double bend = low ? near : far, product = f * mean;
    const double down = f > 0.0 ? product : 0.0;
    row_t row;

    row.value = s * ((low ? e : 0.0) + log_positive(share)) - down;
    row.slope = s * up - down;
    row.curve = s * up * bend + down;
    return row;
}

/* The passes of a link, with the number of trials of a row. Loops with the test of w inside are too long for
 * the compiler to take it out of them. */
#define LOOPS(link, kind, trials)                                                                   \
    CLONES static double link##_shift_##kind(ptrdiff_t n, const double *eta,                        \
                                             const double *restrict x, double delta,                \
                                             const double *restrict wy,                             \
                                             const double *restrict w, double *out)                 \
    {                                                                                               \
        double sum[LANES];                                                                          \
        (void)w;                                                                                    \
        for (int j = 0; j < LANES; j++)                                                             \
            sum[j] = 0.0;                                                                           \
        for (ptrdiff_t i = 0; i < n; i += LANES) {                                                  \
            const int m = n - i < LANES ? (int)(n - i) : LANES;                                     \
            for (int j = 0; j < m; j++) {                                                           \
                const double e = eta[i + j] + delta * x[i + j], s = wy[i + j];                      \
                out[i + j] = e;                                                                     \
                sum[j] += link##_row(e, s, trials - s).value;                                       \
            }                                                                                       \
        }                                                                                           \
        return sum_lanes(sum);                                                                      \
    }                                                                                               \
                                                                                                    \
    CLONES static double link##_working_##kind(ptrdiff_t n, const double *restrict eta,             \
                                               const double *restrict wy, const double *restrict w, \
                                               double *restrict residual, double *restrict weight)  \
    {                                                                                               \
        double sum[LANES];                                                                          \
        (void)w;                                                                                    \
        for (int j = 0; j < LANES; j++)                                                             \
            sum[j] = 0.0;                                                                           \
        for (ptrdiff_t i = 0; i < n; i += LANES) {                                                  \
            const int m = n - i < LANES ? (int)(n - i) : LANES;                                     \
            for (int j = 0; j < m; j++) {                                                           \
                const double s = wy[i + j];                                                         \
                const row_t row = link##_row(eta[i + j], s, trials - s);                            \
                residual[i + j] = row.slope;                                                        \
                weight[i + j] = row.curve;                                                          \
                sum[j] += row.value;                                                                \
            }                                                                                       \
        }                                                                                           \
        return sum_lanes(sum);                                                                      \
    }

#define PASSES(link)                                                                                \
    LOOPS(link, plain, 1.0)                                                                         \
    LOOPS(link, weighted, w[i + j])                                                                 \
    double link##_shift(ptrdiff_t n, const double *eta, const double *x, double delta,              \
                        const double *wy, const double *w, double *out)                             \
    {                                                                                               \
        return w ? link##_shift_weighted(n, eta, x, delta, wy, w, out)                              \
                 : link##_shift_plain(n, eta, x, delta, wy, w, out);                                \
    }                                                                                               \
    double link##_working(ptrdiff_t n, const double *eta, const double *wy, const double *w,        \
                          double *residual, double *weight)                                         \
    {                                                                                               \
        return w ? link##_working_weighted(n, eta, wy, w, residual, weight)                         \
                 : link##_working_plain(n, eta, wy, w, residual, weight);                           \
    }

PASSES(probit)
PASSES(cloglog)
