/* Vectorised passes over n observations: exponentials, log-likelihoods, weighted sums.
 *
 * Every sum runs in LANES independent partial sums that are stored in a small array, so that each
 * inner loop is elementwise: the compiler vectorises it without leave to reassociate, and the result
 * is the same, bit for bit, on every instruction set (the build has no fused multiply-add). That is
 * why none of the -ffast-math family is needed here.
 */
#include "vecmath.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANES 64
/* Products of LANES factors in [1, 2] are taken this many times before a logarithm: 2^960 is finite. */
#define FLUSH 960

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__gnu_linux__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define CLONES
#endif

/* exp(x) for x <= 0: x = k log 2 + r, |r| <= log(2)/2, Taylor polynomial of degree 13 in r (its
 * remainder is 4e-18 relative). Below -708 the result is that of -708 (3e-308), never subnormal. */
static inline double exp_nonpositive(double x)
{
    const double log2e = 0x1.71547652b82fep+0;
    const double ln2_high = 0x1.62e42fefa3800p-1; /* 42 bits: k * ln2_high is exact */
    const double ln2_low = 0x1.ef35793c76730p-45;
    const double shift = 0x1.8p52; /* adding it rounds to an integer in the low bits */
    double t, k, r, p, scale;
    int64_t bits;

    x = x < -708.0 ? -708.0 : x;
    t = x * log2e + shift;
    k = t - shift;
    r = (x - k * ln2_high) - k * ln2_low;
    p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    memcpy(&bits, &t, sizeof bits);
    bits = (int64_t)((uint64_t)bits + 1023u) << 52;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* log(1 + z) for z in [0, 1]: 2 atanh(s), s = z / (2 + z) <= 1/3, after one halving of 1 + z where it
 * is above sqrt 2, which leaves |s| <= 0.1716 and eleven odd terms (remainder 2e-19 relative). */
static inline double log1p_unit(double z)
{
    const double ln2 = 0x1.62e42fefa39efp-1;
    const int high = z > 0.41421356237309503;
    /* (1 + z)/2 = 1 + (z - 1)/2, so that s = (z - 1)/(z + 3). */
    const double s = (high ? z - 1.0 : z) / (high ? z + 3.0 : z + 2.0);
    const double q = s * s;
    double p = 1.0 / 21.0;

    p = p * q + 1.0 / 19.0;
    p = p * q + 1.0 / 17.0;
    p = p * q + 1.0 / 15.0;
    p = p * q + 1.0 / 13.0;
    p = p * q + 1.0 / 11.0;
    p = p * q + 1.0 / 9.0;
    p = p * q + 1.0 / 7.0;
    p = p * q + 1.0 / 5.0;
    p = p * q + 1.0 / 3.0;
    p = 2.0 * s + 2.0 * s * (q * p);
    return high ? ln2 + p : p;
}

static double sum_lanes(const double *lane)
{
    double part[8];
    for (int j = 0; j < 8; j++)
        part[j] = lane[j];
    for (int i = 8; i < LANES; i += 8)
        for (int j = 0; j < 8; j++)
            part[j] += lane[i + j];
    return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
}

/* Sum of the logarithms of LANES products, each at most 2^bits; the products are set to 1 again. */
static double flush_products(double *product, int bits)
{
    double total = 0.0;
    int width = LANES;
    while (width > 1 && 2 * bits <= FLUSH) {
        width /= 2;
        bits *= 2;
        for (int j = 0; j < width; j++)
            product[j] *= product[j + width];
    }
    for (int j = 0; j < width; j++)
        total += log(product[j]);
    for (int j = 0; j < LANES; j++)
        product[j] = 1.0;
    return total;
}

CLONES void vm_exp_neg(ptrdiff_t n, const double *restrict x, double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = exp_nonpositive(-fabs(x[i]));
}

CLONES void vm_log1p_unit(ptrdiff_t n, const double *restrict z, double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = log1p_unit(z[i]);
}

CLONES static double shift_plain(ptrdiff_t n, const double *restrict eta, const double *restrict x,
                                 double delta, const double *restrict wy, double *restrict out)
{
    double linear[LANES], product[LANES], total = 0.0;
    int used = 0;
    for (int j = 0; j < LANES; j++) {
        linear[j] = 0.0;
        product[j] = 1.0;
    }
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        if (m == LANES) {
            for (int j = 0; j < LANES; j++) {
                const double e = eta[i + j] + delta * x[i + j];
                out[i + j] = e;
                linear[j] += wy[i + j] * e - (e > 0.0 ? e : 0.0);
                product[j] *= 1.0 + exp_nonpositive(-fabs(e));
            }
        } else {
            for (int j = 0; j < m; j++) {
                const double e = eta[i + j] + delta * x[i + j];
                out[i + j] = e;
                linear[j] += wy[i + j] * e - (e > 0.0 ? e : 0.0);
                product[j] *= 1.0 + exp_nonpositive(-fabs(e));
            }
        }
        if (++used == FLUSH) {
            total += flush_products(product, used);
            used = 0;
        }
    }
    if (used)
        total += flush_products(product, used);
    return sum_lanes(linear) - total;
}

CLONES static double shift_weighted(ptrdiff_t n, const double *restrict eta, const double *restrict x,
                                    double delta, const double *restrict wy,
                                    const double *restrict w, double *restrict out)
{
    double linear[LANES];
    for (int j = 0; j < LANES; j++)
        linear[j] = 0.0;
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < m; j++) {
            const double e = eta[i + j] + delta * x[i + j];
            const double z = exp_nonpositive(-fabs(e));
            out[i + j] = e;
            linear[j] += wy[i + j] * e - w[i + j] * ((e > 0.0 ? e : 0.0) + log1p_unit(z));
        }
    }
    return sum_lanes(linear);
}

double vm_logit_shift(ptrdiff_t n, const double *eta, const double *x, double delta, const double *wy,
                      const double *w, double *out)
{
    return w ? shift_weighted(n, eta, x, delta, wy, w, out) : shift_plain(n, eta, x, delta, wy, out);
}

CLONES static double working_plain(ptrdiff_t n, const double *restrict eta, const double *restrict wy,
                                   double *restrict residual, double *restrict weight)
{
    double linear[LANES], product[LANES], total = 0.0;
    int used = 0;
    for (int j = 0; j < LANES; j++) {
        linear[j] = 0.0;
        product[j] = 1.0;
    }
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < m; j++) {
            const double e = eta[i + j];
            const double z = exp_nonpositive(-fabs(e));
            const double one = 1.0 + z;
            const double tail = z / one; /* the smaller of mu and 1 - mu, without cancellation */
            residual[i + j] = wy[i + j] - (e > 0.0 ? 1.0 - tail : tail);
            weight[i + j] = tail * (1.0 - tail);
            linear[j] += wy[i + j] * e - (e > 0.0 ? e : 0.0);
            product[j] *= one;
        }
        if (++used == FLUSH) {
            total += flush_products(product, used);
            used = 0;
        }
    }
    if (used)
        total += flush_products(product, used);
    return sum_lanes(linear) - total;
}

CLONES static double working_weighted(ptrdiff_t n, const double *restrict eta,
                                      const double *restrict wy, const double *restrict w,
                                      double *restrict residual, double *restrict weight)
{
    double linear[LANES];
    for (int j = 0; j < LANES; j++)
        linear[j] = 0.0;
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < m; j++) {
            const double e = eta[i + j];
            const double z = exp_nonpositive(-fabs(e));
            const double tail = z / (1.0 + z);
            residual[i + j] = wy[i + j] - w[i + j] * (e > 0.0 ? 1.0 - tail : tail);
            weight[i + j] = w[i + j] * (tail * (1.0 - tail));
            linear[j] += wy[i + j] * e - w[i + j] * ((e > 0.0 ? e : 0.0) + log1p_unit(z));
        }
    }
    return sum_lanes(linear);
}

double vm_logit_working(ptrdiff_t n, const double *eta, const double *wy, const double *w,
                        double *residual, double *weight)
{
    return w ? working_weighted(n, eta, wy, w, residual, weight)
             : working_plain(n, eta, wy, residual, weight);
}

CLONES void vm_axpy(ptrdiff_t n, double a, const double *restrict x, double *restrict y)
{
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

CLONES double vm_dot(ptrdiff_t n, const double *restrict x, const double *restrict r)
{
    double sum[LANES];
    for (int j = 0; j < LANES; j++)
        sum[j] = 0.0;
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < m; j++)
            sum[j] += x[i + j] * r[i + j];
    }
    return sum_lanes(sum);
}

CLONES double vm_dot3(ptrdiff_t n, const double *x, const double *z, const double *weight)
{
    double sum[LANES];
    for (int j = 0; j < LANES; j++)
        sum[j] = 0.0;
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < m; j++)
            sum[j] += x[i + j] * z[i + j] * weight[i + j];
    }
    return sum_lanes(sum);
}

CLONES void vm_mul(ptrdiff_t n, const double *restrict x, const double *restrict y,
                   double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = x[i] * y[i];
}

CLONES void vm_sqrt(ptrdiff_t n, const double *restrict x, double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = sqrt(x[i]);
}
