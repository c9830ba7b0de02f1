/* The least that a flip of one term in a logistic regression can cost, to hold timings against.
 *
 * Compiled when the benchmarks run, for this very processor and with fused multiply-add (which the
 * package does without: its results are the same on every instruction set). Passes are timed in
 * processor time of their thread and visit the columns in a given order, as a sampler visits terms at
 * random. The package's own passes are timed in the same way beside them.
 */
#define _POSIX_C_SOURCE 200809L

#include "vecmath.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define LANES 64
#define MAX_ROWS (120 * LANES) /* 8 * 120 factors of at most 2 */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* exp(x) for -700 < x <= 0: x = k log 2 + r, and 1 + r + r^2 q(r) with a Chebyshev fit q of degree 9 to
 * (exp(r) - 1 - r) / r^2 on |r| <= log(2)/2 (1.3e-17 of error), in pairs to keep the chain short. */
static inline double fast_exp(double x)
{
    const double shift = 0x1.8p52;
    const double t = x * 0x1.71547652b82fep+0 + shift;
    const double k = t - shift;
    const double r = (x - k * 0x1.62e42fefa3800p-1) - k * 0x1.ef35793c76730p-45;
    const double r2 = r * r, r4 = r2 * r2;
    const double q0 = (0x1.0000000000001p-1 + r * 0x1.5555555555556p-3) + r2 * (0x1.5555555553d68p-5 + r * 0x1.11111111109b5p-7);
    const double q1 = (0x1.6c16c17889ef1p-10 + r * 0x1.a01a01a7c2efep-13) + r2 * (0x1.a019b9149a3cep-16 + r * 0x1.71de0db2f6ae9p-19);
    const double q2 = 0x1.28917c89aa05dp-22 + r * 0x1.af389ecfcbdafp-26;
    const double p = 1.0 + (r + r2 * ((q0 + r4 * q1) + (r4 * r4) * q2));
    double scale;
    int64_t bits;

    memcpy(&bits, &t, sizeof bits);
    bits = (int64_t)((uint64_t)bits + 1023u) << 52;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* out = eta + delta x; the sum of y out - log(1 + exp(out)). Each lane keeps a product of factors of at
 * most 2 and eight lanes share a logarithm, which is finite for up to MAX_ROWS rows. */
static double floor_pass(ptrdiff_t n, const double *restrict eta, const double *restrict x, double delta,
                         const double *restrict y, double *restrict out)
{
    double linear[LANES], product[LANES], total = 0.0;
    ptrdiff_t i;

    for (int j = 0; j < LANES; j++) {
        linear[j] = 0.0;
        product[j] = 1.0;
    }
    for (i = 0; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) {
            const double e = eta[i + j] + delta * x[i + j];
            out[i + j] = e;
            linear[j] += y[i + j] * e - fmax(e, 0.0);
            product[j] *= 1.0 + fast_exp(-fabs(e));
        }
    for (int j = 0; i < n; i++, j++) {
        const double e = eta[i] + delta * x[i];
        out[i] = e;
        linear[j] += y[i] * e - fmax(e, 0.0);
        product[j] *= 1.0 + fast_exp(-fabs(e));
    }
    for (int width = LANES / 2; width >= LANES / 8; width /= 2)
        for (int j = 0; j < width; j++) {
            linear[j] += linear[j + width];
            product[j] *= product[j + width];
        }
    for (int j = 0; j < LANES / 8; j++)
        total += linear[j] - log(product[j]);
    return total;
}

/* The same as one writes it down. */
static double scalar_pass(ptrdiff_t n, const double *eta, const double *x, double delta,
                          const double *y, double *out)
{
    double total = 0.0;

    for (ptrdiff_t i = 0; i < n; i++) {
        const double e = eta[i] + delta * x[i];
        out[i] = e;
        total += y[i] * e - (e > 0.0 ? e + log1p(exp(-e)) : log1p(exp(e)));
    }
    return total;
}

/* Two sums over one reading of x: x'r and (x * x)'v. */
static double floor_dots(ptrdiff_t n, const double *restrict x, const double *restrict r,
                         const double *restrict v)
{
    double sum[LANES] = {0.0}, total = 0.0;
    ptrdiff_t i;

    for (i = 0; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++)
            sum[j] += x[i + j] * r[i + j] + x[i + j] * x[i + j] * v[i + j];
    for (; i < n; i++)
        total += x[i] * r[i] + x[i] * x[i] * v[i];
    for (int j = 0; j < LANES; j++)
        total += sum[j];
    return total;
}

enum { FLOOR, SCALAR, SHIFT, WORKING, DOT, DOT3, FLOOR_DOTS, AXPY, COPY };

/* What one pass returns: log-likelihoods and sums, which tests hold against numpy. `x` is a column. */
double bench_pass(int which, ptrdiff_t n, const double *x, const double *eta, const double *y,
                  double delta, double *out, double *residual, double *weight)
{
    switch (which) {
    case FLOOR:
        return n > MAX_ROWS ? NAN : floor_pass(n, eta, x, delta, y, out);
    case SCALAR:
        return scalar_pass(n, eta, x, delta, y, out);
    case SHIFT:
        return vm_logit_shift(n, eta, x, delta, y, NULL, out);
    case WORKING:
        return vm_logit_working(n, eta, y, NULL, residual, weight);
    case DOT:
        return vm_dot(n, x, residual);
    case DOT3:
        return vm_dot3(n, x, x, weight);
    case FLOOR_DOTS:
        return floor_dots(n, x, residual, weight);
    case AXPY:
        vm_axpy(n, delta, x, out);
        return 0.0;
    case COPY:
        memcpy(out, eta, (size_t)n * sizeof(double));
        return 0.0;
    default:
        return NAN;
    }
}

/* Seconds of processor time a pass, over `m` columns of `columns` in the order given; the results are
 * summed into *sink so that no pass can be left out. */
double bench_time(int which, ptrdiff_t n, const double *columns, const int *order, int m,
                  const double *eta, const double *y, double *out, double *residual, double *weight,
                  double *sink)
{
    double total = 0.0;
    const double start = now();

    for (int k = 0; k < m; k++)
        total += bench_pass(which, n, columns + order[k] * n, eta, y, k % 2 ? 0.01 : -0.01, out, residual,
                            weight);
    *sink += total;
    return (now() - start) / m;
}
