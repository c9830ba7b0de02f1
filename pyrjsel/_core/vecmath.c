/* Vectorised passes over n observations: exponentials, log-likelihoods, weighted sums.
 *
 * Sums are those of elementary.h, in LANES parts.
 */
#include "vecmath.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "elementary.h"

/* Products of LANES factors in [1, 2] are taken this many times before a logarithm: 2^960 is finite. */
#define FLUSH 960

/* The limit of exp_nonpositive, rounded: ratios of probabilities below e**-700 count as 0. */
#define DEEPEST -700.0

/* Lanes of passes that are called on few observations at a time. */
#define FEW 16

/* Lanes of sums over parts that end with whole ones. */
#define PART VM_PART

static double sum_few(const double *lane)
{
    double part[4];
    for (int j = 0; j < 4; j++)
        part[j] = (lane[j] + lane[j + 8]) + (lane[j + 4] + lane[j + 12]);
    return (part[0] + part[2]) + (part[1] + part[3]);
}

/* Sum of the logarithms of `lanes` products, each at most 2^bits; the products are set to 1 again. */
static double flush_products(double *product, int lanes, int bits)
{
    double total = 0.0;
    int width = lanes;
    while (width > 1 && 2 * bits <= FLUSH) {
        width /= 2;
        bits *= 2;
        for (int j = 0; j < width; j++)
            product[j] *= product[j + width];
    }
    for (int j = 0; j < width; j++)
        total += log(product[j]);
    for (int j = 0; j < lanes; j++)
        product[j] = 1.0;
    return total;
}

CLONES void vm_exp_neg(ptrdiff_t n, const double *restrict x, double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = exp_nonpositive(-fabs(x[i]));
}

CLONES void vm_exp_any(ptrdiff_t n, const double *restrict x, double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = exp_any(x[i]);
}

CLONES void vm_logistic(ptrdiff_t n, const double *x, double *out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = 1.0 / (1.0 + exp_any(-x[i]));
}

/* Inlined with m = LANES, for which the lanes stay in registers, and with the number of the last ones. */
static inline __attribute__((always_inline)) void
extremes(int m, const double *restrict x, double *restrict sum, double *restrict least, double *restrict most)
{
    for (int j = 0; j < m; j++) {
        sum[j] += x[j];
        least[j] = x[j] < least[j] ? x[j] : least[j];
        most[j] = x[j] > most[j] ? x[j] : most[j];
    }
}

static inline __attribute__((always_inline)) void
squares(int m, const double *restrict x, double mean, double *restrict square)
{
    for (int j = 0; j < m; j++)
        square[j] += (x[j] - mean) * (x[j] - mean);
}

CLONES void vm_moments(ptrdiff_t n, const double *restrict x, double *restrict out)
{
    double sum[LANES], square[LANES], least[LANES], most[LANES];
    ptrdiff_t i;
    for (int j = 0; j < LANES; j++) {
        sum[j] = square[j] = 0.0;
        least[j] = most[j] = x[0];
    }
    for (i = 0; i + LANES <= n; i += LANES)
        extremes(LANES, x + i, sum, least, most);
    extremes((int)(n - i), x + i, sum, least, most);
    const double mean = sum_lanes(sum) / (double)n;
    for (i = 0; i + LANES <= n; i += LANES)
        squares(LANES, x + i, mean, square);
    squares((int)(n - i), x + i, mean, square);
    out[0] = mean;
    out[1] = sum_lanes(square);
    out[2] = least[0];
    out[3] = most[0];
    for (int j = 1; j < LANES; j++) {
        out[2] = least[j] < out[2] ? least[j] : out[2];
        out[3] = most[j] > out[3] ? most[j] : out[3];
    }
}

CLONES void vm_extremes(ptrdiff_t n, const double *restrict x, double *restrict out)
{
    double sum[LANES], least[LANES], most[LANES];
    ptrdiff_t i;
    for (int j = 0; j < LANES; j++) {
        sum[j] = 0.0;
        least[j] = most[j] = x[0];
    }
    for (i = 0; i + LANES <= n; i += LANES)
        extremes(LANES, x + i, sum, least, most);
    extremes((int)(n - i), x + i, sum, least, most);
    out[0] = least[0];
    out[1] = most[0];
    for (int j = 1; j < LANES; j++) {
        out[0] = least[j] < out[0] ? least[j] : out[0];
        out[1] = most[j] > out[1] ? most[j] : out[1];
    }
}

/* In blocks of STRIDES * LANES numbers: the least of each LANES-th, and only where that is below the bound those
 * numbers one by one, without branches. */
#define STRIDES 8

CLONES ptrdiff_t vm_beyond(ptrdiff_t n, const double *restrict x, double sign, double bound, double *restrict kept)
{
    ptrdiff_t i, count = 0;
    for (i = 0; i + STRIDES * LANES <= n; i += STRIDES * LANES) {
        double least[LANES];
        int place[LANES + 1], places = 0;
        for (int j = 0; j < LANES; j++)
            least[j] = sign * x[i + j];
        for (int k = 1; k < STRIDES; k++)
            for (int j = 0; j < LANES; j++) {
                const double value = sign * x[i + k * LANES + j];
                least[j] = value < least[j] ? value : least[j];
            }
        for (int j = 0; j < LANES; j++) {
            place[places] = j;
            places += least[j] < bound;
        }
        for (int m = 0; m < places; m++)
            for (int k = 0; k < STRIDES; k++) {
                kept[count] = sign * x[i + k * LANES + place[m]];
                count += kept[count] < bound;
            }
    }
    for (; i < n; i++) {
        kept[count] = sign * x[i];
        count += kept[count] < bound;
    }
    return count;
}

/* Inlined with a constant degree, so that loops over x are vectorised with the whole polynomial inside. */
static inline __attribute__((always_inline)) double
polynomial_sum(ptrdiff_t n, const double *restrict x, double middle, double rate, int degree, const double *restrict c)
{
    double sum[LANES] = {0.0}, total = 0.0;
    ptrdiff_t i;
    for (i = 0; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++)
            sum[j] += horner((x[i + j] - middle) * rate, degree, c);
    for (; i < n; i++)
        total += horner((x[i] - middle) * rate, degree, c);
    return total + sum_lanes(sum);
}

CLONES double vm_polynomial_sum(ptrdiff_t n, const double *restrict x, double middle, double rate, int degree,
                                const double *restrict coefficients)
{
    if (degree <= 4)
        return polynomial_sum(n, x, middle, rate, 4, coefficients);
    if (degree <= 6)
        return polynomial_sum(n, x, middle, rate, 6, coefficients);
    if (degree <= 8)
        return polynomial_sum(n, x, middle, rate, 8, coefficients);
    if (degree <= 10)
        return polynomial_sum(n, x, middle, rate, 10, coefficients);
    if (degree <= 12)
        return polynomial_sum(n, x, middle, rate, 12, coefficients);
    if (degree <= 14)
        return polynomial_sum(n, x, middle, rate, 14, coefficients);
    return polynomial_sum(n, x, middle, rate, VM_DEGREE, coefficients);
}

CLONES void vm_rates(ptrdiff_t n, const double *restrict change, double power, double *restrict rate)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const double x = power * change[i], e = exp_nonpositive(-fabs(x));
        rate[i] = x >= 0.0 ? 1.0 : x < DEEPEST ? 0.0 : e;
    }
}

CLONES void vm_conditionals(ptrdiff_t n, const double *restrict change, const unsigned char *restrict in,
                            double *restrict rate, double *restrict inclusion, double *restrict exclusion)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const double x = change[i], e = x < DEEPEST ? 0.0 : exp_nonpositive(-fabs(x));
        const double likely = 1.0 / (1.0 + e), other = likely * e;
        const int include = (x >= 0.0) != in[i];
        rate[i] = x >= 0.0 ? 1.0 : e;
        inclusion[i] = include ? likely : other;
        exclusion[i] = include ? other : likely;
    }
}

CLONES void vm_log1p_unit(ptrdiff_t n, const double *restrict z, double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = log1p_unit(z[i]);
}

/* out may be eta itself: neither is restrict. */
CLONES static double shift_plain(ptrdiff_t n, const double *eta, const double *restrict x,
                                 double delta, const double *restrict wy, double *out)
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
            total += flush_products(product, LANES, used);
            used = 0;
        }
    }
    if (used)
        total += flush_products(product, LANES, used);
    return sum_lanes(linear) - total;
}

CLONES static double shift_weighted(ptrdiff_t n, const double *eta, const double *restrict x,
                                    double delta, const double *restrict wy,
                                    const double *restrict w, double *out)
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
            total += flush_products(product, LANES, used);
            used = 0;
        }
    }
    if (used)
        total += flush_products(product, LANES, used);
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

CLONES static double softplus_plain(ptrdiff_t n, const double *restrict x, double delta)
{
    double linear[FEW], product[FEW], total = 0.0;
    int used = 0;
    for (int j = 0; j < FEW; j++) {
        linear[j] = 0.0;
        product[j] = 1.0;
    }
    for (ptrdiff_t i = 0; i < n; i += FEW) {
        const int m = n - i < FEW ? (int)(n - i) : FEW;
        for (int j = 0; j < m; j++) {
            const double e = x[i + j] + delta;
            linear[j] += e > 0.0 ? e : 0.0;
            product[j] *= 1.0 + exp_nonpositive(-fabs(e));
        }
        if (++used == FLUSH) {
            total += flush_products(product, FEW, used);
            used = 0;
        }
    }
    if (used)
        total += flush_products(product, FEW, used);
    return sum_few(linear) + total;
}

CLONES static double softplus_weighted(ptrdiff_t n, const double *restrict x, double delta,
                                       const double *restrict w)
{
    double linear[FEW];
    for (int j = 0; j < FEW; j++)
        linear[j] = 0.0;
    for (ptrdiff_t i = 0; i < n; i += FEW) {
        const int m = n - i < FEW ? (int)(n - i) : FEW;
        for (int j = 0; j < m; j++) {
            const double e = x[i + j] + delta;
            linear[j] += w[i + j] * ((e > 0.0 ? e : 0.0) + log1p_unit(exp_nonpositive(-fabs(e))));
        }
    }
    return sum_few(linear);
}

double vm_softplus_sum(ptrdiff_t n, const double *x, double delta, const double *w)
{
    return w ? softplus_weighted(n, x, delta, w) : softplus_plain(n, x, delta);
}

CLONES double vm_softplus_parts(ptrdiff_t n, const double *restrict x, double delta, ptrdiff_t m,
                                const double *restrict w)
{
    double linear[PART], product[PART], total = 0.0;
    int used = 0;
    for (int j = 0; j < PART; j++) {
        linear[j] = 0.0;
        product[j] = 1.0;
    }
    for (ptrdiff_t i = 0; i < n; i += PART) {
        for (int j = 0; j < PART; j++) {
            const double e = x[i + j] + delta;
            linear[j] += e > 0.0 ? e : 0.0;
            product[j] *= 1.0 + exp_nonpositive(-fabs(e));
        }
        if (++used == FLUSH) {
            total += flush_products(product, PART, used);
            used = 0;
        }
    }
    if (used)
        total += flush_products(product, PART, used);
    for (ptrdiff_t i = 0; i < m; i += PART)
        for (int j = 0; j < PART; j++) {
            const double e = x[n + i + j] + delta;
            linear[j] += w[i + j] * ((e > 0.0 ? e : 0.0) + log1p_unit(exp_nonpositive(-fabs(e))));
        }
    return ((linear[0] + linear[4]) + (linear[1] + linear[5])) +
           ((linear[2] + linear[6]) + (linear[3] + linear[7])) + total;
}

/* The sum of the logarithms of n doubles whose mantissas are in FEW products of `used` factors, with biased
 * exponents beside them. */
static double log_of_parts(double *product, int used, const uint64_t *exponent, ptrdiff_t n)
{
    uint64_t exponents = 0;
    for (int j = 0; j < FEW; j++)
        exponents += exponent[j];
    return (used ? flush_products(product, FEW, used) : 0.0) +
           0x1.62e42fefa39efp-1 * (double)((int64_t)exponents - 1023 * (int64_t)n);
}

CLONES double vm_cauchy_scales(ptrdiff_t n, const double *restrict rest,
                               const double *restrict count, double unit,
                               const double *restrict square)
{
    double product[FEW], total = 0.0;
    uint64_t exponent[FEW];
    int used = 0;
    for (int j = 0; j < FEW; j++) {
        product[j] = 1.0;
        exponent[j] = 0;
    }
    for (ptrdiff_t i = 0; i < n; i += FEW) {
        const int m = n - i < FEW ? (int)(n - i) : FEW;
        for (int j = 0; j < m; j++) {
            const double v = rest[i + j] + count[i + j] * unit;
            product[j] *= split_off(v + square[i + j] / v, &exponent[j]);
        }
        if (++used == FLUSH) {
            total += flush_products(product, FEW, used);
            used = 0;
        }
    }
    return total + log_of_parts(product, used, exponent, n);
}

CLONES double vm_normal_scales(ptrdiff_t n, const double *restrict rest,
                               const double *restrict count, double unit,
                               const double *restrict square, double copies)
{
    double product[FEW], linear[FEW], total = 0.0;
    uint64_t exponent[FEW];
    int used = 0;
    for (int j = 0; j < FEW; j++) {
        product[j] = 1.0;
        linear[j] = 0.0;
        exponent[j] = 0;
    }
    for (ptrdiff_t i = 0; i < n; i += FEW) {
        const int m = n - i < FEW ? (int)(n - i) : FEW;
        for (int j = 0; j < m; j++) {
            const double v = rest[i + j] + count[i + j] * unit;
            linear[j] += square[i + j] / v;
            product[j] *= split_off(v, &exponent[j]);
        }
        if (++used == FLUSH) {
            total += flush_products(product, FEW, used);
            used = 0;
        }
    }
    return sum_few(linear) + copies * (total + log_of_parts(product, used, exponent, n));
}

CLONES void vm_logs(ptrdiff_t n, const double *x, double *out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = log_positive(x[i]);
}

CLONES void vm_log_sum_exp(ptrdiff_t n, int rows, int without, const double *restrict x,
                           double *restrict out, double *restrict share)
{
    double most[LANES], sum[LANES], term[LANES];
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < LANES; j++) {
            most[j] = -INFINITY;
            sum[j] = 0.0;
        }
        for (int k = 0; k < rows; k++)
            if (k != without)
                for (int j = 0; j < m; j++) {
                    const double value = x[k * n + i + j];
                    most[j] = value > most[j] ? value : most[j];
                }
        for (int k = 0; k < rows; k++)
            if (k != without) {
                for (int j = 0; j < m; j++) {
                    term[j] = exp_nonpositive(x[k * n + i + j] - most[j]);
                    sum[j] += term[j];
                }
                if (share)
                    memcpy(share + k * n + i, term, m * sizeof(double));
            }
        for (int j = 0; j < m; j++)
            out[i + j] = most[j] + log_positive(sum[j]);
        if (!share)
            continue;
        for (int j = 0; j < m; j++)
            sum[j] = 1.0 / sum[j];
        for (int k = 0; k < rows; k++)
            if (k != without)
                for (int j = 0; j < m; j++)
                    share[k * n + i + j] *= sum[j];
    }
}

/* Counts. Rows of weight 0 count nothing, even where their mean is infinite. */
CLONES static double counts_plain(ptrdiff_t n, const double *eta, const double *restrict x, double delta,
                                  const double *restrict wy, double *out)
{
    double sum[LANES];
    for (int j = 0; j < LANES; j++)
        sum[j] = 0.0;
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < m; j++) {
            const double e = eta[i + j] + delta * x[i + j];
            out[i + j] = e;
            sum[j] += wy[i + j] * e - exp_any(e);
        }
    }
    return sum_lanes(sum);
}

CLONES static double counts_weighted(ptrdiff_t n, const double *eta, const double *restrict x,
                                     double delta, const double *restrict wy, const double *restrict w,
                                     double *out)
{
    double sum[LANES];
    for (int j = 0; j < LANES; j++)
        sum[j] = 0.0;
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < m; j++) {
            const double e = eta[i + j] + delta * x[i + j], mu = w[i + j] * exp_any(e);
            out[i + j] = e;
            sum[j] += wy[i + j] * e - (w[i + j] > 0.0 ? mu : 0.0);
        }
    }
    return sum_lanes(sum);
}

double vm_poisson_shift(ptrdiff_t n, const double *eta, const double *x, double delta, const double *wy,
                        const double *w, double *out)
{
    return w ? counts_weighted(n, eta, x, delta, wy, w, out) : counts_plain(n, eta, x, delta, wy, out);
}

CLONES static double means_plain(ptrdiff_t n, const double *restrict eta, const double *restrict wy,
                                 double *restrict residual, double *restrict weight)
{
    double sum[LANES];
    for (int j = 0; j < LANES; j++)
        sum[j] = 0.0;
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < m; j++) {
            const double e = eta[i + j], mu = exp_any(e);
            residual[i + j] = wy[i + j] - mu;
            weight[i + j] = mu;
            sum[j] += wy[i + j] * e - mu;
        }
    }
    return sum_lanes(sum);
}

CLONES static double means_weighted(ptrdiff_t n, const double *restrict eta, const double *restrict wy,
                                    const double *restrict w, double *restrict residual,
                                    double *restrict weight)
{
    double sum[LANES];
    for (int j = 0; j < LANES; j++)
        sum[j] = 0.0;
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < m; j++) {
            const double e = eta[i + j], product = w[i + j] * exp_any(e);
            const double mu = w[i + j] > 0.0 ? product : 0.0;
            residual[i + j] = wy[i + j] - mu;
            weight[i + j] = mu;
            sum[j] += wy[i + j] * e - mu;
        }
    }
    return sum_lanes(sum);
}

double vm_poisson_working(ptrdiff_t n, const double *eta, const double *wy, const double *w,
                          double *residual, double *weight)
{
    return w ? means_weighted(n, eta, wy, w, residual, weight) : means_plain(n, eta, wy, residual, weight);
}

/* Normal responses. The test of w is taken out of the loops. */
CLONES double vm_normal_shift(ptrdiff_t n, const double *eta, const double *x, double delta,
                              const double *restrict wy, const double *restrict w, double *out)
{
    double sum[LANES];
    for (int j = 0; j < LANES; j++)
        sum[j] = 0.0;
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < m; j++) {
            const double e = eta[i + j] + delta * x[i + j], half = w ? 0.5 * w[i + j] : 0.5;
            out[i + j] = e;
            sum[j] += e * (wy[i + j] - half * e);
        }
    }
    return sum_lanes(sum);
}

CLONES double vm_normal_working(ptrdiff_t n, const double *restrict eta, const double *restrict wy,
                                const double *restrict w, double *restrict residual,
                                double *restrict weight)
{
    double sum[LANES];
    for (int j = 0; j < LANES; j++)
        sum[j] = 0.0;
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < m; j++) {
            const double e = eta[i + j], own = w ? w[i + j] : 1.0;
            residual[i + j] = wy[i + j] - own * e;
            weight[i + j] = own;
            sum[j] += e * (wy[i + j] - 0.5 * own * e);
        }
    }
    return sum_lanes(sum);
}

/* Sums of the logarithms of two series of positive doubles, as mantissas in FEW products each, with exponents. */
typedef struct {
    double own[FEW], every[FEW];
    uint64_t own_bits[FEW], every_bits[FEW];
    double least[FEW], most[FEW];
    ptrdiff_t blocks;
} odds_t;

static inline __attribute__((always_inline)) void odds_begin(odds_t *s)
{
    for (int j = 0; j < FEW; j++) {
        s->own[j] = s->every[j] = 1.0;
        s->own_bits[j] = s->every_bits[j] = 0;
        s->least[j] = INFINITY;
        s->most[j] = 0.0;
    }
    s->blocks = 0;
}

static inline __attribute__((always_inline)) void
odds_add(odds_t *s, const double *restrict own, const double *restrict every)
{
    for (int j = 0; j < FEW; j++) {
        s->own[j] *= split_off(own[j], &s->own_bits[j]);
        s->every[j] *= split_off(every[j], &s->every_bits[j]);
        s->least[j] = every[j] < s->least[j] ? every[j] : s->least[j];
        s->most[j] = every[j] > s->most[j] ? every[j] : s->most[j];
    }
    if (++s->blocks % FLUSH == 0) /* biases of both sides are the same, and cancel */
        for (int j = 0; j < FEW; j++) {
            s->own[j] = split_off(s->own[j], &s->own_bits[j]);
            s->every[j] = split_off(s->every[j], &s->every_bits[j]);
        }
}

/* sum log own - log every; range[0] and range[1] are the least and the largest of `every`. */
static inline __attribute__((always_inline)) double odds_end(const odds_t *s, double *range)
{
    double part[FEW];
    int64_t bits = 0;
    range[0] = s->least[0];
    range[1] = s->most[0];
    for (int j = 0; j < FEW; j++) {
        part[j] = log_positive(s->own[j] / s->every[j]);
        bits += (int64_t)(s->own_bits[j] - s->every_bits[j]);
        range[0] = s->least[j] < range[0] ? s->least[j] : range[0];
        range[1] = s->most[j] > range[1] ? s->most[j] : range[1];
    }
    return sum_few(part) + (double)bits * 0x1.62e42fefa39efp-1;
}

/* A copy of m < FEW numbers that is filled up. */
static inline const double *padded(int m, const double *x, double value, double *into)
{
    for (int j = 0; j < FEW; j++)
        into[j] = j < m ? x[j] : value;
    return into;
}

CLONES double vm_class_odds(ptrdiff_t n, int kernels, int classes, const int *start, const double *log_kernel,
                            double *top, double *density, const double *weight, const double *share)
{
    double own[FEW], every[FEW], most[FEW], term[FEW], range[2];
    odds_t sums;
    odds_begin(&sums);
    for (int k = 0; k < classes; k++)
        for (ptrdiff_t i = start[k]; i < start[k + 1]; i += FEW) {
            const int m = start[k + 1] - i < FEW ? (int)(start[k + 1] - i) : FEW;
            for (int j = 0; j < FEW; j++) {
                own[j] = every[j] = 0.0;
                most[j] = -INFINITY;
            }
            for (int d = 0; log_kernel && d < kernels; d++) {
                const double *x = log_kernel + d * n + i;
                if (m < FEW)
                    x = padded(m, x, 0.0, term);
                for (int j = 0; j < FEW; j++)
                    most[j] = x[j] > most[j] ? x[j] : most[j];
            }
            if (log_kernel)
                memcpy(top + i, most, m * sizeof(double));
            for (int d = 0; d < kernels; d++) {
                const double a = weight[k * kernels + d], b = share[d];
                const double *x = (log_kernel ? log_kernel : density) + d * n + i;
                if (m < FEW)
                    x = padded(m, x, 1.0, term);
                if (log_kernel) {
                    for (int j = 0; j < FEW; j++)
                        term[j] = exp_nonpositive(x[j] - most[j]);
                    memcpy(density + d * n + i, term, m * sizeof(double));
                    x = term;
                }
                for (int j = 0; j < FEW; j++) {
                    own[j] += a * x[j];
                    every[j] += b * x[j];
                }
            }
            for (int j = m; j < FEW; j++)
                own[j] = every[j] = 1.0;
            odds_add(&sums, own, every);
        }
    return odds_end(&sums, range);
}

CLONES double vm_kernel_odds(ptrdiff_t n, int kernels, int classes, const int *start, const double *z,
                             const double *seen, const double *change, const double *log_kernel,
                             const double *top, const double *other_own, const double *other_every,
                             const double *weight, double share, double *new_log_kernel, double *density,
                             double *range)
{
    const double c = change[0], h = change[1], mean = change[2], new_h = change[3], new_mean = change[4];
    double pad[6][FEW], own[FEW], every[FEW], term[FEW], value[FEW];
    odds_t sums;
    odds_begin(&sums);
    for (int k = 0; k < classes; k++) {
        const double a = weight[k * kernels];
        for (ptrdiff_t i = start[k]; i < start[k + 1]; i += FEW) {
            const int m = start[k + 1] - i < FEW ? (int)(start[k + 1] - i) : FEW;
            const double *x = z + i, *there = seen + i, *old = log_kernel + i, *under = top + i;
            const double *mine = other_own + i, *all = other_every + i;
            if (m < FEW) {
                x = padded(m, x, 0.0, pad[0]);
                there = padded(m, there, 0.0, pad[1]);
                old = padded(m, old, 0.0, pad[2]);
                under = padded(m, under, 0.0, pad[3]);
                mine = padded(m, mine, 1.0, pad[4]);
                all = padded(m, all, 1.0, pad[5]);
            }
            for (int j = 0; j < FEW; j++) {
                const double gap = x[j] - mean, new_gap = x[j] - new_mean;
                value[j] = old[j] + there[j] * (c + (h * gap * gap - new_h * new_gap * new_gap));
                term[j] = exp_any(value[j] - under[j]);
                own[j] = mine[j] + a * term[j];
                every[j] = all[j] + share * term[j];
            }
            memcpy(new_log_kernel + i, value, m * sizeof(double));
            memcpy(density + i, term, m * sizeof(double));
            for (int j = m; j < FEW; j++)
                own[j] = every[j] = 1.0;
            odds_add(&sums, own, every);
        }
    }
    return odds_end(&sums, range);
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

/* Both sums in one reading of x. Half as many lanes as elsewhere: two sets of them fit the registers. */
CLONES double vm_dots(ptrdiff_t n, const double *restrict x, const double *restrict r,
                      const double *restrict weight, double *square)
{
    enum { HALF = LANES / 2 };
    double first[LANES], second[LANES];
    ptrdiff_t i = 0;
    for (int j = 0; j < LANES; j++)
        first[j] = second[j] = 0.0;
    for (; i + HALF <= n; i += HALF) {
        for (int j = 0; j < HALF; j++) {
            const double value = x[i + j];
            first[j] += value * r[i + j];
            second[j] += value * value * weight[i + j];
        }
    }
    for (int j = 0; i < n; i++, j++) {
        first[j] += x[i] * r[i];
        second[j] += x[i] * x[i] * weight[i];
    }
    *square = sum_lanes(second);
    return sum_lanes(first);
}

/* Eight rows of two columns are multiplied at a time, as PARTS vectors, for TILE x TILE columns at once, so
 * that a value that has been read serves TILE products; CHUNK rows of all columns stay in the nearest cache.
 * Vectors longer than the registers, or more sums than registers, would cost five times as much. */
typedef double rows4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double rows8 __attribute__((vector_size(64), aligned(8), may_alias));
#define CHUNK VM_GRAM_ROWS

#define TOTAL4(S) (((S)[0][0] + (S)[1][0]) + ((S)[0][1] + (S)[1][1])) + \
                      (((S)[0][2] + (S)[1][2]) + ((S)[0][3] + (S)[1][3]))
#define TOTAL8(S) (((S)[0][0] + (S)[0][4]) + ((S)[0][1] + (S)[0][5])) + \
                      (((S)[0][2] + (S)[0][6]) + ((S)[0][3] + (S)[0][7]))

#define MULTIPLY(VECTOR, PARTS, ACROSS, DOWN, TOTAL)                                                    \
    do {                                                                                                \
        VECTOR sum[ACROSS][DOWN][PARTS];                                                                \
        for (int k = 0; k < (ACROSS); k++)                                                              \
            for (int l = 0; l < (DOWN); l++)                                                            \
                for (int p = 0; p < (PARTS); p++)                                                       \
                    sum[k][l][p] = (VECTOR){0};                                                         \
        for (int i = 0; i < rows; i += 8)                                                               \
            for (int p = 0; p < (PARTS); p++) {                                                         \
                const int row = i + p * (8 / (PARTS));                                                  \
                VECTOR left[ACROSS];                                                                    \
                for (int k = 0; k < (ACROSS); k++)                                                      \
                    left[k] = *(const VECTOR *)(weighted + (ptrdiff_t)(first + k) * CHUNK + row);       \
                for (int l = 0; l < (DOWN); l++) {                                                      \
                    const VECTOR right = *(const VECTOR *)(plain + (ptrdiff_t)(second + l) * CHUNK + row); \
                    for (int k = 0; k < (ACROSS); k++)                                                  \
                        sum[k][l][p] += left[k] * right;                                                \
                }                                                                                       \
            }                                                                                           \
        for (int k = 0; k < (ACROSS); k++)                                                              \
            for (int l = 0; l < (DOWN); l++)                                                            \
                out[second + l + (ptrdiff_t)(first + k) * ld] += TOTAL(sum[k][l]);                      \
    } while (0)

#define GRAM(VECTOR, PARTS, TILE, TOTAL)                                                                \
    double *restrict weighted = scratch, *restrict plain = scratch + (ptrdiff_t)d * CHUNK;              \
    for (int k = 0; k < d; k++)                                                                         \
        for (int l = k; l < d; l++)                                                                     \
            out[l + (ptrdiff_t)k * ld] = 0.0;                                                           \
    for (ptrdiff_t at = 0; at < n; at += CHUNK) {                                                       \
        const int filled = n - at < CHUNK ? (int)(n - at) : CHUNK;                                      \
        const int rows = (filled + 7) / 8 * 8; /* zeros fill the last eight */                          \
        for (int k = 0; k < d; k++) {                                                                   \
            const double *x = columns + (ptrdiff_t)cols[k] * n + at;                                    \
            double *left = weighted + (ptrdiff_t)k * CHUNK, *right = plain + (ptrdiff_t)k * CHUNK;      \
            for (int i = 0; i < filled; i++) {                                                          \
                left[i] = x[i] * weight[at + i];                                                        \
                right[i] = x[i];                                                                        \
            }                                                                                           \
            for (int i = filled; i < rows; i++)                                                         \
                left[i] = right[i] = 0.0;                                                               \
        }                                                                                               \
        for (int first = 0; first < d; first += TILE) {                                                 \
            int second = first;                                                                         \
            if (d - first == 1)                                                                         \
                MULTIPLY(VECTOR, PARTS, 1, 1, TOTAL);                                                   \
            else if (TILE == 4 && d - first == 2)                                                       \
                MULTIPLY(VECTOR, PARTS, 2, 2, TOTAL);                                                   \
            else if (TILE == 4 && d - first == 3)                                                       \
                MULTIPLY(VECTOR, PARTS, 3, 3, TOTAL);                                                   \
            else {                                                                                      \
                for (; second + TILE <= d; second += TILE)                                              \
                    MULTIPLY(VECTOR, PARTS, TILE, TILE, TOTAL);                                         \
                for (; second < d; second++)                                                            \
                    MULTIPLY(VECTOR, PARTS, TILE, 1, TOTAL);                                            \
            }                                                                                           \
        }                                                                                               \
    }

#ifdef WIDEST
__attribute__((target(WIDEST))) static void gram_wide(ptrdiff_t n, int d, const double *columns,
                                                      const int *cols, const double *restrict weight,
                                                      double *restrict scratch, double *restrict out,
                                                      int ld)
{
    GRAM(rows8, 1, 4, TOTAL8)
}
#endif

CLONES static void gram_narrow(ptrdiff_t n, int d, const double *columns, const int *cols,
                               const double *restrict weight, double *restrict scratch,
                               double *restrict out, int ld)
{
    GRAM(rows4, 2, 2, TOTAL4)
}

void vm_gram(ptrdiff_t n, int d, const double *columns, const int *cols, const double *weight,
             double *scratch, double *out, int ld)
{
#ifdef WIDEST
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512cd")) {
        gram_wide(n, d, columns, cols, weight, scratch, out, ld);
        return;
    }
#endif
    gram_narrow(n, d, columns, cols, weight, scratch, out, ld);
}
