/* Passes over columns of a matrix held in a type of its own.
 *
 * The order of all sums is fixed, so that they are the same on every instruction set. */
#include "typed.h"

#include <string.h>

#include "elementary.h"

/* Columns of a tile, whose sums and means fit in the cache; rows converted at a time, and partial sums. */
#define TILE 2048
#define ROWS 256
#define PARTS 8

#define PASSES(T, NAME)                                                                                      \
    /* Rows are contiguous: sums of a tile, four rows at a time. */                                          \
    CLONES static void NAME##_tile(ptrdiff_t n, ptrdiff_t width, ptrdiff_t stride, const T *restrict x,      \
                                   const double *restrict mean, const double *restrict v,                    \
                                   double *restrict out)                                                     \
    {                                                                                                        \
        ptrdiff_t i = 0;                                                                                     \
        for (ptrdiff_t l = 0; l < width; l++)                                                                \
            out[l] = 0.0;                                                                                    \
        for (; i + 4 <= n; i += 4) {                                                                         \
            const T *restrict a = x + i * stride;                                                            \
            const T *restrict b = a + stride;                                                                \
            const T *restrict c = b + stride;                                                                \
            const T *restrict d = c + stride;                                                                \
            const double p = v[i], q = v[i + 1], r = v[i + 2], s = v[i + 3];                                 \
            for (ptrdiff_t l = 0; l < width; l++)                                                            \
                out[l] += (p * ((double)a[l] - mean[l]) + q * ((double)b[l] - mean[l]))                      \
                          + (r * ((double)c[l] - mean[l]) + s * ((double)d[l] - mean[l]));                   \
        }                                                                                                    \
        for (; i < n; i++)                                                                                   \
            for (ptrdiff_t l = 0; l < width; l++)                                                            \
                out[l] += v[i] * ((double)x[i * stride + l] - mean[l]);                                      \
    }                                                                                                        \
                                                                                                             \
    /* Columns are contiguous: one after the other. */                                                       \
    CLONES static void NAME##_columns(ptrdiff_t n, ptrdiff_t size, ptrdiff_t stride, const T *restrict x,    \
                                      const double *restrict mean, const double *restrict v,                 \
                                      double *restrict out)                                                  \
    {                                                                                                        \
        for (ptrdiff_t l = 0; l < size; l++) {                                                               \
            const T *restrict a = x + l * stride;                                                            \
            const double centre = mean[l];                                                                   \
            double sums[PARTS] = {0.0}, part[ROWS];                                                          \
            for (ptrdiff_t i = 0; i < n; i += ROWS) {                                                        \
                const ptrdiff_t rows = n - i < ROWS ? n - i : ROWS;                                          \
                ptrdiff_t j = 0;                                                                             \
                for (ptrdiff_t k = 0; k < rows; k++)                                                         \
                    part[k] = (double)a[i + k] - centre;                                                     \
                for (; j + PARTS <= rows; j += PARTS)                                                        \
                    for (int k = 0; k < PARTS; k++)                                                          \
                        sums[k] += v[i + j + k] * part[j + k];                                               \
                for (int k = 0; j < rows; j++, k++)                                                          \
                    sums[k] += v[i + j] * part[j];                                                           \
            }                                                                                                \
            out[l] = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])); \
        }                                                                                                    \
    }                                                                                                        \
                                                                                                             \
    /* Sparse columns, with the sum of v. */                                                                 \
    static void NAME##_sparse(const typed_t *m, const double *restrict mean, const double *restrict v,       \
                              double total, double *restrict out)                                            \
    {                                                                                                        \
        const T *restrict x = m->x;                                                                          \
        for (ptrdiff_t l = 0; l < m->size; l++) {                                                            \
            double sum = 0.0;                                                                                \
            for (int64_t k = m->first[l]; k < m->first[l + 1]; k++)                                          \
                sum += v[m->rows[k]] * (double)x[k];                                                         \
            out[l] = sum - mean[l] * total;                                                                  \
        }                                                                                                    \
    }                                                                                                        \
                                                                                                             \
    static void NAME##_products(const typed_t *m, const double *mean, const double *v, double *out)          \
    {                                                                                                        \
        const T *x = m->x;                                                                                   \
        if (m->rows != NULL) {                                                                               \
            double total = 0.0;                                                                              \
            for (ptrdiff_t i = 0; i < m->n; i++)                                                             \
                total += v[i];                                                                               \
            NAME##_sparse(m, mean, v, total, out);                                                           \
        } else if (m->row == 1) {                                                                            \
            NAME##_columns(m->n, m->size, m->column, x, mean, v, out);                                       \
        } else {                                                                                             \
            for (ptrdiff_t l = 0; l < m->size; l += TILE) {                                                  \
                const ptrdiff_t width = m->size - l < TILE ? m->size - l : TILE;                             \
                NAME##_tile(m->n, width, m->row, x + l, mean + l, v, out + l);                               \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
                                                                                                             \
    static void NAME##_column(const typed_t *m, ptrdiff_t l, double *out)                                    \
    {                                                                                                        \
        const T *x = m->x;                                                                                   \
        if (m->rows == NULL) {                                                                               \
            for (ptrdiff_t i = 0; i < m->n; i++)                                                             \
                out[i] = (double)x[i * m->row + l * m->column];                                              \
            return;                                                                                          \
        }                                                                                                    \
        memset(out, 0, m->n * sizeof(double));                                                               \
        for (int64_t k = m->first[l]; k < m->first[l + 1]; k++)                                              \
            out[m->rows[k]] = (double)x[k];                                                                  \
    }

PASSES(int8_t, i8)
PASSES(uint8_t, u8)
PASSES(int16_t, i16)
PASSES(int32_t, i32)
PASSES(float, f32)
PASSES(double, f64)

void typed_products(const typed_t *m, const double *mean, const double *v, double *out)
{
    switch (m->kind) {
    case TYPED_I8: i8_products(m, mean, v, out); return;
    case TYPED_U8: u8_products(m, mean, v, out); return;
    case TYPED_I16: i16_products(m, mean, v, out); return;
    case TYPED_I32: i32_products(m, mean, v, out); return;
    case TYPED_F32: f32_products(m, mean, v, out); return;
    case TYPED_F64: f64_products(m, mean, v, out); return;
    }
}

void typed_column(const typed_t *m, ptrdiff_t l, double *out)
{
    switch (m->kind) {
    case TYPED_I8: i8_column(m, l, out); return;
    case TYPED_U8: u8_column(m, l, out); return;
    case TYPED_I16: i16_column(m, l, out); return;
    case TYPED_I32: i32_column(m, l, out); return;
    case TYPED_F32: f32_column(m, l, out); return;
    case TYPED_F64: f64_column(m, l, out); return;
    }
}
