/* Vectorised passes over n observations; see vecmath.c. */
#ifndef PYRJSEL_VECMATH_H
#define PYRJSEL_VECMATH_H

#include <stddef.h>

/* out[i] = exp(-|x[i]|). */
void vm_exp_neg(ptrdiff_t n, const double *x, double *out);

/* out[i] = exp(x[i]), at least 3e-308 and infinite for x[i] > 709. */
void vm_exp_any(ptrdiff_t n, const double *x, double *out);

/* out[i] = 1 / (1 + exp(-x[i])); out may be x. */
void vm_logistic(ptrdiff_t n, const double *x, double *out);

/* out = mean, sum of squared differences from it, minimum and maximum of x, n > 0. */
void vm_moments(ptrdiff_t n, const double *x, double *out);

/* out = minimum and maximum of x, n > 0. */
void vm_extremes(ptrdiff_t n, const double *x, double *out);

/* Writes the values of sign * x below `bound` to kept, in some order, and returns their number; kept has room for
   n + 1. Made for few of them. */
ptrdiff_t vm_beyond(ptrdiff_t n, const double *x, double sign, double bound, double *kept);

/* Sum of P((x[i] - middle) * rate) with the polynomial P of `degree` <= VM_DEGREE, which has VM_DEGREE + 1
   coefficients; those behind `degree` are 0. */
#define VM_DEGREE 16
double vm_polynomial_sum(ptrdiff_t n, const double *x, double middle, double rate, int degree,
                         const double *coefficients);

/* rate[i] = min(1, exp(power * change[i])), 0 below e**-700: Metropolis rates of flips that change a log mass by
   this. */
void vm_rates(ptrdiff_t n, const double *change, double power, double *rate);

/* The same for a power of one, and the probabilities of either state of each term given all others, if it is
   in[i] = 1 or 0 now. */
void vm_conditionals(ptrdiff_t n, const double *change, const unsigned char *in, double *rate,
                     double *inclusion, double *exclusion);

/* out[i] = log(1 + z[i]) for z[i] in [0, 1]. */
void vm_log1p_unit(ptrdiff_t n, const double *z, double *out);

/* out = eta + delta * x; returns sum wy * out - w * log(1 + exp(out)); w may be NULL (all one). */
double vm_logit_shift(ptrdiff_t n, const double *eta, const double *x, double delta,
                      const double *wy, const double *w, double *out);

/* Returns the log-likelihood at eta and writes the score residual wy - w mu and the weight
   w mu (1 - mu). */
double vm_logit_working(ptrdiff_t n, const double *eta, const double *wy, const double *w,
                        double *residual, double *weight);

/* Sum of w * log(1 + exp(x + delta)); w may be NULL (all one). Made for few observations at a time. */
double vm_softplus_sum(ptrdiff_t n, const double *x, double delta, const double *w);

/* Sum of log(1 + exp(x + delta)) over the first n numbers of x, plus that of the m others times w. Both are
   multiples of VM_PART, so that no remainder slows few observations down: fill up with x = -INFINITY, and the others with w = 0. */
#define VM_PART 8
double vm_softplus_parts(ptrdiff_t n, const double *x, double delta, ptrdiff_t m, const double *w);

/* With scales v = rest + count * unit, of normal magnitude: sum of log(v + square / v), which is minus the
   log density of Cauchy variables with scales v and these squares, up to n * log(pi); and sum of
   copies * log(v) + square / v, twice minus that of normal variables with variances v. */
double vm_cauchy_scales(ptrdiff_t n, const double *rest, const double *count, double unit,
                        const double *square);
double vm_normal_scales(ptrdiff_t n, const double *rest, const double *count, double unit,
                        const double *square, double copies);

/* out[i] = log(x[i]) of positive normal numbers, to 2 ulp or 2e-16, whichever is more; out may be x. */
void vm_logs(ptrdiff_t n, const double *x, double *out);

/* out[i] = log of the sum of exp(x[k, i]) over the rows k of x (rows, n) but `without` (-1: over all); the
   shares of the rows in the sums go to share (rows, n), unless it is NULL. */
void vm_log_sum_exp(ptrdiff_t n, int rows, int without, const double *x, double *out, double *share);

/* As vm_logit_shift and vm_logit_working, for counts: the sum is wy * out - w * exp(out), -inf where an
   exponential is infinite and its w is not 0; the weight is w mu. */
double vm_poisson_shift(ptrdiff_t n, const double *eta, const double *x, double delta,
                        const double *wy, const double *w, double *out);
double vm_poisson_working(ptrdiff_t n, const double *eta, const double *wy, const double *w,
                          double *residual, double *weight);

/* The same for normal responses of variance 1 / w, up to what no eta changes: the sum is
   out * (wy - w * out / 2); the weight is w. */
double vm_normal_shift(ptrdiff_t n, const double *eta, const double *x, double delta,
                       const double *wy, const double *w, double *out);
double vm_normal_working(ptrdiff_t n, const double *eta, const double *wy, const double *w,
                         double *residual, double *weight);

/* Rows start[k] to start[k + 1] are of class k. Returns sum log own - log every over the rows, where with the
   (kernels, n) densities own = sum_d weight[k, d] density[d] and every = sum_d share[d] density[d]. Where log densities
   are given, the largest of each row is written to top, and densities over its exponential to density. */
double vm_class_odds(ptrdiff_t n, int kernels, int classes, const int *start, const double *log_kernel, double *top,
                     double *density, const double *weight, const double *share);

/* The same where one kernel changes, with weights weight[k, 0] and what all others contribute to both sums: its log
   densities become new_log_kernel = log_kernel + seen * (c + h (z - mean)^2 - new_h (z - new_mean)^2), change = c, h,
   mean, new_h, new_mean, and its densities exp(new_log_kernel - top). range = least and largest `every`, at
   most 1 and at least 1 if a class's rows are not a multiple of 16. */
double vm_kernel_odds(ptrdiff_t n, int kernels, int classes, const int *start, const double *z, const double *seen,
                      const double *change, const double *log_kernel, const double *top, const double *other_own,
                      const double *other_every, const double *weight, double share, double *new_log_kernel,
                      double *density, double *range);

/* y += a * x. */
void vm_axpy(ptrdiff_t n, double a, const double *x, double *y);

/* sum x[i] * r[i], and sum x[i] * z[i] * weight[i]. */
double vm_dot(ptrdiff_t n, const double *x, const double *r);
double vm_dot3(ptrdiff_t n, const double *x, const double *z, const double *weight);

/* Both at once: sum x[i] * r[i], and *square = sum x[i]**2 * weight[i]. */
double vm_dots(ptrdiff_t n, const double *x, const double *r, const double *weight, double *square);

/* out (d, d), column-major with leading dimension ld, := X' diag(weight) X, lower triangle, for the columns
   cols[0..d) of a table (., n); scratch holds 2 * d * VM_GRAM_ROWS numbers. */
#define VM_GRAM_ROWS 256
void vm_gram(ptrdiff_t n, int d, const double *columns, const int *cols, const double *weight,
             double *scratch, double *out, int ld);

#endif
