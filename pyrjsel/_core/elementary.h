/* Elementary functions for loops over observations, inlined so that the loops are vectorised.
 *
 * Every sum runs in LANES independent partial sums that are stored in a small array, so that each
 * inner loop is elementwise: the compiler vectorises it without leave to reassociate, and the result
 * is the same, bit for bit, on every instruction set (the build has no fused multiply-add). That is
 * why none of the -ffast-math family is needed here.
 */
#ifndef PYRJSEL_ELEMENTARY_H
#define PYRJSEL_ELEMENTARY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANES 64

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__gnu_linux__)
#define WIDEST "arch=x86-64-v4"
#define CLONES __attribute__((target_clones(WIDEST, "avx2", "default")))
#else
#define CLONES
#endif

/* exp(x) for |x| <= 709: x = k log 2 + r, |r| <= log(2)/2, and a polynomial of degree 11 in r that is as good
 * as that interval allows (1.1 ulp with its rounding), in a tree so that no long chain of operations waits
 * for itself. */
static inline double exp_core(double x)
{
    const double log2e = 0x1.71547652b82fep+0;
    const double ln2_high = 0x1.62e42fefa3800p-1; /* 42 bits: k * ln2_high is exact */
    const double ln2_low = 0x1.ef35793c76730p-45;
    const double shift = 0x1.8p52; /* adding it rounds to an integer in the low bits */
    double t, k, r, r2, r4, low, high, p, scale;
    int64_t bits;

    t = x * log2e + shift;
    k = t - shift;
    r = (x - k * ln2_high) - k * ln2_low;
    r2 = r * r;
    r4 = r2 * r2;
    low = (0x1.0000000000001p-1 + r * 0x1.5555555555556p-3) +
          r2 * (0x1.5555555553d68p-5 + r * 0x1.11111111109b5p-7);
    high = (0x1.6c16c17889ef1p-10 + r * 0x1.a01a01a7c2efep-13) +
           r2 * (0x1.a019b9149a3cep-16 + r * 0x1.71de0db2f6ae9p-19);
    p = (low + r4 * high) + (r4 * r4) * (0x1.28917c89aa05dp-22 + r * 0x1.af389ecfcbdafp-26);
    p = 1.0 + (r + r2 * p);
    memcpy(&bits, &t, sizeof bits);
    bits = (int64_t)((uint64_t)bits + 1023u) << 52;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* exp(x) for x <= 0. Below -708 the result is that of -708 (3e-308), never subnormal. */
static inline double exp_nonpositive(double x)
{
    return exp_core(x < -708.0 ? -708.0 : x);
}

/* exp(x) for any x: the same below -708, and infinite above 709 (8e307). */
static inline double exp_any(double x)
{
    const double value = exp_core(x > 709.0 ? 709.0 : x < -708.0 ? -708.0 : x);
    return x > 709.0 ? INFINITY : value;
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

/* The mantissa of a positive normal double, in [1, 2); its biased exponent is added to *exponent. */
static inline double split_off(double x, uint64_t *exponent)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    *exponent += bits >> 52;
    bits = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* log(x) of a positive normal double, with the relative accuracy of log1p_unit from 1 on. */
static inline double log_positive(double x)
{
    uint64_t exponent = 0;
    const double mantissa = split_off(x, &exponent);
    return (double)((int64_t)exponent - 1023) * 0x1.62e42fefa39efp-1 + log1p_unit(mantissa - 1.0);
}

/* The polynomial of a constant degree, at most 16, with these coefficients. */
static inline __attribute__((always_inline)) double horner(double x, int degree, const double *c)
{
    double value = c[degree];
#pragma GCC unroll 16
    for (int k = degree - 1; k >= 0; k--)
        value = value * x + c[k];
    return value;
}

/* The sum of LANES partial sums. */
static inline double sum_lanes(const double *lane)
{
    double part[8];
    for (int j = 0; j < 8; j++)
        part[j] = lane[j];
    for (int i = 8; i < LANES; i += 8)
        for (int j = 0; j < 8; j++)
            part[j] += lane[i + j];
    return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
}

#endif
