/* Inner loops out *= x. A single result is the product of eight stretches of each part of the operand, whose chains of
 * multiplications run side by side; neighbours stay together, so that large and small factors that alternate cancel. */
#ifndef TENFERRO_CHAINS_H
#define TENFERRO_CHAINS_H

#include <stddef.h>

typedef void (*tf_chain)(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused);

enum { TF_STRETCH = 64 };

#define TF_CHAIN(NAME, T)                                                                               \
    static inline T NAME##_stretch(const char *x, ptrdiff_t n, ptrdiff_t s) {                           \
        T t = 1;                                                                                        \
        for (ptrdiff_t i = 0; i < n; i++)                                                               \
            t *= *(const T *)(x + i * s);                                                               \
        return t;                                                                                       \
    }                                                                                                   \
    static inline T NAME##_eight(const char *x, ptrdiff_t s) {                                          \
        T r[8] = {1, 1, 1, 1, 1, 1, 1, 1};                                                              \
        for (ptrdiff_t i = 0; i < TF_STRETCH; i++)                                                      \
            for (int q = 0; q < 8; q++)                                                                 \
                r[q] *= *(const T *)(x + (q * TF_STRETCH + i) * s);                                     \
        for (int w = 1; w < 8; w *= 2)                                                                  \
            for (int q = 0; q < 8; q += 2 * w)                                                          \
                r[q] *= r[q + w];                                                                       \
        return r[0];                                                                                    \
    }                                                                                                   \
    static void NAME(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {              \
        const char *x = args[1];                                                                        \
        const ptrdiff_t count = *n, s = st[1], o = st[0];                                               \
        ptrdiff_t i = 0;                                                                                \
        (void)unused;                                                                                   \
        if (o == 0) {                                                                                   \
            T t = *(T *)args[0];                                                                        \
            if (s == sizeof(T))                                                                         \
                for (; i + 8 * TF_STRETCH <= count; i += 8 * TF_STRETCH)                                \
                    t *= NAME##_eight(x + i * s, sizeof(T));                                            \
            else                                                                                        \
                for (; i + 8 * TF_STRETCH <= count; i += 8 * TF_STRETCH)                                \
                    t *= NAME##_eight(x + i * s, s);                                                    \
            *(T *)args[0] = t * NAME##_stretch(x + i * s, count - i, s);                                \
        } else if (o == sizeof(T) && s == sizeof(T)) {                                                  \
            T *restrict r = (T *)args[0];                                                               \
            for (; i < count; i++)                                                                      \
                r[i] *= ((const T *)x)[i];                                                              \
        } else {                                                                                        \
            for (; i < count; i++)                                                                      \
                *(T *)(args[0] + i * o) *= *(const T *)(x + i * s);                                     \
        }                                                                                               \
    }

TF_CHAIN(tf_chain_f32, float)
TF_CHAIN(tf_chain_f64, double)

#define TF_TIMES(F, r, y)                                                                               \
    do {                                                                                                \
        const F a = (r)[0], b = (r)[1], c = (y)[0], d = (y)[1];                                         \
        (r)[0] = a * c - b * d;                                                                         \
        (r)[1] = a * d + b * c;                                                                         \
    } while (0)

#define TF_COMPLEX_CHAIN(NAME, F)                                                                       \
    static void NAME(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {              \
        const char *x = args[1];                                                                        \
        const ptrdiff_t count = *n, s = st[1];                                                          \
        ptrdiff_t i = 0;                                                                                \
        (void)unused;                                                                                   \
        if (st[0] == 0)                                                                                 \
            for (; i + 4 * TF_STRETCH <= count; i += 4 * TF_STRETCH) {                                  \
                F r[4][2] = {{1, 0}, {1, 0}, {1, 0}, {1, 0}};                                           \
                for (ptrdiff_t k = 0; k < TF_STRETCH; k++)                                              \
                    for (int q = 0; q < 4; q++)                                                         \
                        TF_TIMES(F, r[q], (const F *)(x + (i + q * TF_STRETCH + k) * s));               \
                for (int q = 0; q < 4; q++)                                                             \
                    TF_TIMES(F, (F *)args[0], r[q]);                                                    \
            }                                                                                           \
        for (; i < count; i++)                                                                          \
            TF_TIMES(F, (F *)(args[0] + i * st[0]), (const F *)(x + i * s));                            \
    }

TF_COMPLEX_CHAIN(tf_chain_c64, float)
TF_COMPLEX_CHAIN(tf_chain_c128, double)

static const tf_chain tf_chains[13] = {
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, tf_chain_f32, tf_chain_f64, tf_chain_c64, tf_chain_c128};

#endif
