/* Passes over columns of a matrix held in a type of its own; see _typed.pyx. */
#ifndef PYRJSEL_TYPED_H
#define PYRJSEL_TYPED_H

#include <stddef.h>
#include <stdint.h>

enum typed_kind { TYPED_I8, TYPED_U8, TYPED_I16, TYPED_I32, TYPED_F32, TYPED_F64 };

/* Element i of column l is x[i * row + l * column], with one of the strides 1; or, if `rows` is not NULL, column l
 * has the values x[first[l] .. first[l + 1]) in those rows, and zeros elsewhere. */
typedef struct {
    enum typed_kind kind;
    ptrdiff_t n, size, row, column;
    const void *x;
    const int32_t *rows;
    const int64_t *first;
} typed_t;

/* out[l] = sum over i of v[i] (x[i, l] - mean[l]), for all columns. */
void typed_products(const typed_t *m, const double *mean, const double *v, double *out);

/* out[i] = x[i, l]. */
void typed_column(const typed_t *m, ptrdiff_t l, double *out);

#endif
