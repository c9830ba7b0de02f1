/* Passes over the components of a mixture of normal distributions; see mixtures.c. */
#ifndef PYRJSEL_MIXTURES_H
#define PYRJSEL_MIXTURES_H

#include <stddef.h>

/* Sum of weight * P((x - mean) * rate - centre) over n components, with the polynomial P of `degree` and these
   coefficients, and its derivative in x. */
double mixture_near(ptrdiff_t n, const double *mean, const double *rate, const double *weight, double x,
                    double centre, int degree, const double *coefficients, double *slope);

#endif
