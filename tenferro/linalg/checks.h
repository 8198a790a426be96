/* One pass over matrices without temporaries: are all elements finite, is a matrix its own adjoint. */
#ifndef TENFERRO_LINALG_CHECKS_H
#define TENFERRO_LINALG_CHECKS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TF_BLOCK 256
#define TF_LANES 8
#define TF_TILE 16

/* An exponent of ones overflows into the sign bit of (exponent + lowest bit of the exponent). */
#define TF_FINITE(NAME, WORD, EXPONENT, LOWEST)                                                                        \
    static inline WORD NAME##_block(const char *data) {                                                                \
        WORD block[TF_BLOCK], seen[TF_LANES] = {0}, all = 0;                                                           \
        memcpy(block, data, sizeof block);                                                                             \
        for (int i = 0; i < TF_BLOCK; i += TF_LANES)                                                                   \
            for (int j = 0; j < TF_LANES; ++j) seen[j] |= (block[i + j] & EXPONENT) + LOWEST;                          \
        for (int j = 0; j < TF_LANES; ++j) all |= seen[j];                                                             \
        return all;                                                                                                    \
    }                                                                                                                  \
    static int NAME(const char *data, size_t n) {                                                                      \
        WORD last[TF_BLOCK] = {0}, seen = 0;                                                                           \
        for (; n >= TF_BLOCK; n -= TF_BLOCK, data += sizeof last) seen |= NAME##_block(data);                          \
        memcpy(last, data, n * sizeof(WORD));                                                                          \
        return !((seen | NAME##_block((const char *)last)) >> (8 * sizeof(WORD) - 1));                                 \
    }

TF_FINITE(tf_finite_single, uint32_t, 0x7f800000u, 0x00800000u)
TF_FINITE(tf_finite_double, uint64_t, 0x7ff0000000000000u, 0x0010000000000000u)

/* Largest component of a - a^H and of a, for an n x n matrix of finite numbers with `parts` components each. */
#define TF_HERMITIAN(NAME, T)                                                                                          \
    static inline T NAME##_larger(T a, T b) { return a > b ? a : b; }                                                  \
    static inline T NAME##_size(T a) { return a < 0 ? -a : a; }                                                        \
    /* Tiles on both sides of the diagonal, filled up with zeros, the second one as its adjoint. */                     \
    static inline void NAME##_load(const T *x, const T *y, ptrdiff_t n, int rows, int cols, int parts, T *p, T *q) {   \
        const ptrdiff_t line = TF_TILE * parts;                                                                        \
        if (rows < TF_TILE || cols < TF_TILE) {                                                                        \
            memset(p, 0, TF_TILE * line * sizeof(T));                                                                  \
            memset(q, 0, TF_TILE * line * sizeof(T));                                                                  \
        }                                                                                                              \
        for (int i = 0; i < rows; ++i) memcpy(p + i * line, x + i * n * parts, cols * parts * sizeof(T));              \
        for (int j = 0; j < cols; ++j)                                                                                 \
            for (int i = 0; i < rows; ++i) {                                                                           \
                q[i * line + j * parts] = y[(j * n + i) * parts];                                                      \
                if (parts == 2) q[i * line + j * parts + 1] = -y[(j * n + i) * parts + 1];                             \
            }                                                                                                          \
    }                                                                                                                  \
    static inline void NAME##_compare(const T *p, const T *q, int parts, T *gap, T *size) {                            \
        for (int i = 0; i < TF_TILE * TF_TILE * parts; i += TF_TILE)                                                   \
            for (int j = 0; j < TF_TILE; ++j) {                                                                        \
                const T u = p[i + j], v = q[i + j];                                                                    \
                gap[j] = NAME##_larger(NAME##_size(u - v), gap[j]);                                                    \
                size[j] = NAME##_larger(NAME##_larger(NAME##_size(u), NAME##_size(v)), size[j]);                       \
            }                                                                                                          \
    }                                                                                                                  \
    static void NAME(const char *data, ptrdiff_t n, int parts, double *gap, double *size) {                            \
        const T *a = (const T *)data;                                                                                  \
        T gaps[TF_TILE] = {0}, sizes[TF_TILE] = {0}, p[2 * TF_TILE * TF_TILE], q[2 * TF_TILE * TF_TILE];               \
        for (ptrdiff_t top = 0; top < n; top += TF_TILE)                                                               \
            for (ptrdiff_t left = 0; left <= top; left += TF_TILE) {                                                   \
                const T *x = a + (top * n + left) * parts, *y = a + (left * n + top) * parts;                          \
                const int rows = (int)(n - top < TF_TILE ? n - top : TF_TILE);                                         \
                const int cols = (int)(n - left < TF_TILE ? n - left : TF_TILE);                                       \
                if (parts == 1 && rows == TF_TILE) NAME##_load(x, y, n, TF_TILE, TF_TILE, 1, p, q);                    \
                else if (parts == 1) NAME##_load(x, y, n, rows, cols, 1, p, q);                                        \
                else if (rows == TF_TILE) NAME##_load(x, y, n, TF_TILE, TF_TILE, 2, p, q);                             \
                else NAME##_load(x, y, n, rows, cols, 2, p, q);                                                        \
                if (parts == 1) NAME##_compare(p, q, 1, gaps, sizes);                                                  \
                else NAME##_compare(p, q, 2, gaps, sizes);                                                             \
            }                                                                                                          \
        *gap = *size = 0;                                                                                              \
        for (int j = 0; j < TF_TILE; ++j) {                                                                            \
            if (gaps[j] > *gap) *gap = gaps[j];                                                                        \
            if (sizes[j] > *size) *size = sizes[j];                                                                    \
        }                                                                                                              \
    }

TF_HERMITIAN(tf_hermitian_single, float)
TF_HERMITIAN(tf_hermitian_double, double)

#endif
