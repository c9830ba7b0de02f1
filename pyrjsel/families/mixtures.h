/* Passes over the components of a mixture of normal distributions; see mixtures.c. */
#ifndef PYRJSEL_MIXTURES_H
#define PYRJSEL_MIXTURES_H

#include <stddef.h>

/* Sum of weight * P((x - mean) * rate - centre) over n components, with the polynomial P of `degree`, at most 16, and
   17 coefficients, those behind it 0. In *slope that of weight * rate * Q, with the polynomial Q of half the degree
   and the coefficients `rise` (9), those behind it 0; Q may use more of them. */
double mixture_near(ptrdiff_t n, const double *mean, const double *rate, const double *weight, double x,
                    double centre, int degree, const double *coefficients, const double *rise, double *slope);

/* Third central moment of the mixture with means around `middle`: sum of d * (weight * d * d + 3 * square), where
   d = mean - middle and square = weight / rate**2. */
double mixture_third(ptrdiff_t n, const double *mean, const double *weight, const double *square, double middle);

#endif
