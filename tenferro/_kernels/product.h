/* Products of small or integer matrices with any strides (in elements): c[i, j] = sum over p of a[i, p] * b[p, j].
 * Integers wrap around; for bool the product is "and" and the sum is "or". A single dot product keeps eight partial sums. */
#ifndef TENFERRO_PRODUCT_H
#define TENFERRO_PRODUCT_H

#include <stddef.h>
#include <stdint.h>

typedef void (*tf_product)(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const void *a, ptrdiff_t am, ptrdiff_t ak,
                           const void *b, ptrdiff_t bk, ptrdiff_t bn, void *c, ptrdiff_t cm, ptrdiff_t cn);

#define TF_ARITH(s, x, y) (s) += (x) * (y)
#define TF_LOGIC(s, x, y) (s) |= (x) & (y)

/* W columns of one row; SB is the constant 1 where columns are adjacent, so that the compiler can use vectors. */
#define TF_COLUMNS(T, S, W, SB, MADD)                                                       \
    for (; j + W <= n; j += W) {                                                            \
        S acc[W] = {0};                                                                     \
        const T *y = b + j * bn;                                                            \
        for (ptrdiff_t p = 0; p < k; p++, y += bk) {                                        \
            const S u = (S)x[p * ak];                                                       \
            for (int q = 0; q < W; q++)                                                     \
                MADD(acc[q], u, (S)y[q * (SB)]);                                            \
        }                                                                                   \
        for (int q = 0; q < W; q++)                                                         \
            z[(j + q) * cn] = (T)acc[q];                                                    \
    }

#define TF_DOT(NAME, T, S, MADD)                                                            \
    static S NAME##_dot(ptrdiff_t k, const T *x, ptrdiff_t ak, const T *y, ptrdiff_t bk) {  \
        S acc[8] = {0};                                                                     \
        ptrdiff_t p = 0;                                                                    \
        if (ak == 1 && bk == 1) {                                                           \
            for (; p + 8 <= k; p += 8)                                                      \
                for (int q = 0; q < 8; q++)                                                 \
                    MADD(acc[q], (S)x[p + q], (S)y[p + q]);                                 \
        } else {                                                                            \
            for (; p + 8 <= k; p += 8)                                                      \
                for (int q = 0; q < 8; q++)                                                 \
                    MADD(acc[q], (S)x[(p + q) * ak], (S)y[(p + q) * bk]);                   \
        }                                                                                   \
        for (int q = 0; p < k; p++, q++)                                                    \
            MADD(acc[q], (S)x[p * ak], (S)y[p * bk]);                                       \
        for (int w = 4; w; w >>= 1)                                                         \
            for (int q = 0; q < w; q++)                                                     \
                MADD(acc[q], acc[q + w], (S)1);                                             \
        return acc[0];                                                                      \
    }

#define TF_PRODUCT(NAME, T, S, MADD)                                                        \
    TF_DOT(NAME, T, S, MADD)                                                                \
    static void NAME(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const void *va, ptrdiff_t am, ptrdiff_t ak, \
                     const void *vb, ptrdiff_t bk, ptrdiff_t bn, void *vc, ptrdiff_t cm, ptrdiff_t cn) { \
        const T *a = (const T *)va, *b = (const T *)vb;                                     \
        T *c = (T *)vc;                                                                     \
        if (m == 1 && n == 1) {                                                             \
            c[0] = (T)NAME##_dot(k, a, ak, b, bk);                                          \
            return;                                                                         \
        }                                                                                   \
        for (ptrdiff_t i = 0; i < m; i++) {                                                 \
            const T *x = a + i * am;                                                        \
            T *z = c + i * cm;                                                              \
            ptrdiff_t j = 0;                                                                \
            if (bn == 1) {                                                                  \
                TF_COLUMNS(T, S, 8, 1, MADD)                                                \
                TF_COLUMNS(T, S, 4, 1, MADD)                                                \
            } else {                                                                        \
                TF_COLUMNS(T, S, 4, bn, MADD)                                               \
            }                                                                               \
            TF_COLUMNS(T, S, 1, bn, MADD)                                                   \
        }                                                                                   \
    }

TF_PRODUCT(tf_product_b, uint8_t, uint8_t, TF_LOGIC)
TF_PRODUCT(tf_product_8, uint8_t, uint32_t, TF_ARITH)
TF_PRODUCT(tf_product_16, uint16_t, uint32_t, TF_ARITH)
TF_PRODUCT(tf_product_32, uint32_t, uint32_t, TF_ARITH)
TF_PRODUCT(tf_product_64, uint64_t, uint64_t, TF_ARITH)
TF_PRODUCT(tf_product_f32, float, float, TF_ARITH)
TF_PRODUCT(tf_product_f64, double, double, TF_ARITH)

/* Complex numbers: real and imaginary parts of W columns side by side. */
#define TF_COMPLEX_COLUMNS(F, W)                                                            \
    for (; j + W <= n; j += W) {                                                            \
        F re[W] = {0}, im[W] = {0};                                                         \
        const F *y = b + 2 * j * bn;                                                        \
        for (ptrdiff_t p = 0; p < k; p++, y += 2 * bk) {                                    \
            const F u = x[2 * p * ak], v = x[2 * p * ak + 1];                               \
            for (int q = 0; q < W; q++) {                                                   \
                const F s = y[2 * q * bn], t = y[2 * q * bn + 1];                           \
                re[q] += u * s - v * t;                                                     \
                im[q] += u * t + v * s;                                                     \
            }                                                                               \
        }                                                                                   \
        for (int q = 0; q < W; q++) {                                                       \
            z[2 * (j + q) * cn] = re[q];                                                    \
            z[2 * (j + q) * cn + 1] = im[q];                                                \
        }                                                                                   \
    }

#define TF_COMPLEX_PRODUCT(NAME, F)                                                         \
    static void NAME##_dot(ptrdiff_t k, const F *x, ptrdiff_t ak, const F *y, ptrdiff_t bk, F *z) { \
        F re[4] = {0}, im[4] = {0};                                                         \
        for (ptrdiff_t p = 0; p < k; p += 4)                                                \
            for (int q = 0; q < 4 && p + q < k; q++) {                                      \
                const F *s = x + 2 * (p + q) * ak, *t = y + 2 * (p + q) * bk;               \
                re[q] += s[0] * t[0] - s[1] * t[1];                                         \
                im[q] += s[0] * t[1] + s[1] * t[0];                                         \
            }                                                                               \
        z[0] = (re[0] + re[2]) + (re[1] + re[3]);                                           \
        z[1] = (im[0] + im[2]) + (im[1] + im[3]);                                           \
    }                                                                                       \
    static void NAME(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const void *va, ptrdiff_t am, ptrdiff_t ak, \
                     const void *vb, ptrdiff_t bk, ptrdiff_t bn, void *vc, ptrdiff_t cm, ptrdiff_t cn) { \
        const F *a = (const F *)va, *b = (const F *)vb;                                     \
        F *c = (F *)vc;                                                                     \
        if (m == 1 && n == 1) {                                                             \
            NAME##_dot(k, a, ak, b, bk, c);                                                 \
            return;                                                                         \
        }                                                                                   \
        for (ptrdiff_t i = 0; i < m; i++) {                                                 \
            const F *x = a + 2 * i * am;                                                    \
            F *z = c + 2 * i * cm;                                                          \
            ptrdiff_t j = 0;                                                                \
            TF_COMPLEX_COLUMNS(F, 4)                                                        \
            TF_COMPLEX_COLUMNS(F, 1)                                                        \
        }                                                                                   \
    }

TF_COMPLEX_PRODUCT(tf_product_c64, float)
TF_COMPLEX_PRODUCT(tf_product_c128, double)

static const tf_product tf_products[13] = {
    tf_product_b, tf_product_8, tf_product_16, tf_product_32, tf_product_64, tf_product_8, tf_product_16, tf_product_32,
    tf_product_64, tf_product_f32, tf_product_f64, tf_product_c64, tf_product_c128};

#endif
