/* One pass over matrices without temporaries: are all elements finite, is a matrix its own adjoint. */
#ifndef TENFERRO_LINALG_CHECKS_H
#define TENFERRO_LINALG_CHECKS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TF_BLOCK 256
#define TF_TILE 16

/* An exponent of ones overflows into the sign bit of (exponent + lowest bit of the exponent). */
#define TF_FINITE(NAME, WORD, EXPONENT, LOWEST)                                                                        \
    static int NAME(const char *data, size_t n) {                                                                      \
        WORD block[TF_BLOCK], seen = 0;                                                                                \
        while (n) {                                                                                                    \
            const size_t len = n < TF_BLOCK ? n : TF_BLOCK;                                                            \
            if (len < TF_BLOCK) memset(block, 0, sizeof block);                                                        \
            memcpy(block, data, len * sizeof(WORD));                                                                   \
            for (int i = 0; i < TF_BLOCK; ++i) seen |= (block[i] & EXPONENT) + LOWEST;                                 \
            if (seen >> (8 * sizeof(WORD) - 1)) return 0;                                                              \
            data += len * sizeof(WORD);                                                                                \
            n -= len;                                                                                                  \
        }                                                                                                              \
        return 1;                                                                                                      \
    }

TF_FINITE(tf_finite_single, uint32_t, 0x7f800000u, 0x00800000u)
TF_FINITE(tf_finite_double, uint64_t, 0x7ff0000000000000u, 0x0010000000000000u)

/* Largest component of a - a^H and of a, for an n x n matrix of finite numbers with `parts` components each. */
#define TF_HERMITIAN(NAME, T)                                                                                          \
    static inline T NAME##_larger(T a, T b) { return a > b ? a : b; }                                                  \
    static inline T NAME##_size(T a) { return a < 0 ? -a : a; }                                                        \
    static inline void NAME##_pair(const T *x, const T *y, int parts, T *gap, T *size) {                               \
        *gap = NAME##_larger(NAME##_size(x[0] - y[0]), *gap);                                                          \
        *size = NAME##_larger(NAME##_size(x[0]), *size);                                                               \
        *size = NAME##_larger(NAME##_size(y[0]), *size);                                                               \
        if (parts == 2) {                                                                                              \
            *gap = NAME##_larger(NAME##_size(x[1] + y[1]), *gap);                                                      \
            *size = NAME##_larger(NAME##_size(x[1]), *size);                                                           \
            *size = NAME##_larger(NAME##_size(y[1]), *size);                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static inline void NAME##_tile(const T *x, const T *y, ptrdiff_t n, T *gap, T *size) {                             \
        T turned[TF_TILE][TF_TILE];                                                                                    \
        for (int i = 0; i < TF_TILE; ++i)                                                                              \
            for (int j = 0; j < TF_TILE; ++j) turned[j][i] = y[i * n + j];                                             \
        for (int j = 0; j < TF_TILE; ++j)                                                                              \
            for (int i = 0; i < TF_TILE; ++i) {                                                                        \
                const T p = x[j * n + i], q = turned[j][i];                                                            \
                gap[i] = NAME##_larger(NAME##_size(p - q), gap[i]);                                                    \
                size[i] = NAME##_larger(NAME##_size(p), size[i]);                                                      \
                size[i] = NAME##_larger(NAME##_size(q), size[i]);                                                      \
            }                                                                                                          \
    }                                                                                                                  \
    static void NAME(const char *data, ptrdiff_t n, int parts, double *gap, double *size) {                            \
        const T *a = (const T *)data;                                                                                  \
        T gaps[TF_TILE] = {0}, sizes[TF_TILE] = {0};                                                                   \
        for (ptrdiff_t top = 0; top < n; top += TF_TILE)                                                               \
            for (ptrdiff_t left = 0; left <= top; left += TF_TILE) {                                                   \
                if (parts == 1 && top + TF_TILE <= n) {                                                                \
                    NAME##_tile(a + top * n + left, a + left * n + top, n, gaps, sizes);                               \
                    continue;                                                                                          \
                }                                                                                                      \
                for (ptrdiff_t i = top; i < n && i < top + TF_TILE; ++i)                                               \
                    for (ptrdiff_t j = left; j <= i && j < left + TF_TILE; ++j)                                        \
                        NAME##_pair(a + (i * n + j) * parts, a + (j * n + i) * parts, parts, gaps + j - left,          \
                                    sizes + j - left);                                                                 \
            }                                                                                                          \
        *gap = *size = 0;                                                                                              \
        for (int i = 0; i < TF_TILE; ++i) {                                                                            \
            if (gaps[i] > *gap) *gap = gaps[i];                                                                        \
            if (sizes[i] > *size) *size = sizes[i];                                                                    \
        }                                                                                                              \
    }

TF_HERMITIAN(tf_hermitian_single, float)
TF_HERMITIAN(tf_hermitian_double, double)

#endif
