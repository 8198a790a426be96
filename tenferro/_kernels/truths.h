/* Inner loops out = fold(out, x != 0) of numbers of every type; the output stands still where its stride is 0. */
#ifndef TENFERRO_TRUTHS_H
#define TENFERRO_TRUTHS_H

#include <stddef.h>
#include <stdint.h>

typedef void (*tf_truth)(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused);
typedef struct { float re, im; } tf_truth_c64;
typedef struct { double re, im; } tf_truth_c128;

#define TF_PART 128                             /* elements after which "any" and "all" may have been decided */
#define TF_PLAIN(v) ((v) != 0)
#define TF_PAIR(v) (((v).re != 0) | ((v).im != 0))

/* U is an unsigned type as wide as T: counting in it needs no change of width within vectors. */
#define TF_TRUTH(NAME, T, U, TRUE)                                                                      \
    static ptrdiff_t NAME##_count(const char *x, ptrdiff_t n, ptrdiff_t s) {                            \
        U t = 0;                                                                                        \
        if (s == (ptrdiff_t)sizeof(T))                                                                  \
            for (ptrdiff_t i = 0; i < n; i++)                                                           \
                t += (U)TRUE(((const T *)x)[i]);                                                        \
        else                                                                                            \
            for (ptrdiff_t i = 0; i < n; i++)                                                           \
                t += (U)TRUE(*(const T *)(x + i * s));                                                  \
        return (ptrdiff_t)t;                                                                            \
    }                                                                                                   \
    static void NAME##_sum(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {        \
        const char *x = args[1];                                                                        \
        (void)unused;                                                                                   \
        if (st[0] == 0) {                                                                               \
            ptrdiff_t t = 0;                                                                            \
            for (ptrdiff_t i = 0; i < *n; i += TF_PART)                                                 \
                t += NAME##_count(x + i * st[1], *n - i < TF_PART ? *n - i : TF_PART, st[1]);           \
            *(int64_t *)args[0] += t;                                                                   \
        } else {                                                                                        \
            for (ptrdiff_t i = 0; i < *n; i++)                                                          \
                *(int64_t *)(args[0] + i * st[0]) += TRUE(*(const T *)(x + i * st[1]));                 \
        }                                                                                               \
    }                                                                                                   \
    static void NAME##_any(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {        \
        const char *x = args[1];                                                                        \
        (void)unused;                                                                                   \
        if (st[0] == 0) {                                                                               \
            for (ptrdiff_t i = 0; i < *n && !*args[0]; i += TF_PART)                                    \
                *args[0] = NAME##_count(x + i * st[1], *n - i < TF_PART ? *n - i : TF_PART, st[1]) > 0; \
        } else if (st[0] == 1 && st[1] == (ptrdiff_t)sizeof(T)) {                                       \
            char *restrict r = args[0];                                                                 \
            for (ptrdiff_t i = 0; i < *n; i++)                                                          \
                r[i] |= TRUE(((const T *)x)[i]);                                                        \
        } else {                                                                                        \
            for (ptrdiff_t i = 0; i < *n; i++)                                                          \
                args[0][i * st[0]] |= TRUE(*(const T *)(x + i * st[1]));                                \
        }                                                                                               \
    }                                                                                                   \
    static void NAME##_all(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {        \
        const char *x = args[1];                                                                        \
        (void)unused;                                                                                   \
        if (st[0] == 0) {                                                                               \
            for (ptrdiff_t i = 0, k; i < *n && *args[0]; i += TF_PART) {                                \
                k = *n - i < TF_PART ? *n - i : TF_PART;                                                \
                *args[0] = NAME##_count(x + i * st[1], k, st[1]) == k;                                  \
            }                                                                                           \
        } else if (st[0] == 1 && st[1] == (ptrdiff_t)sizeof(T)) {                                       \
            char *restrict r = args[0];                                                                 \
            for (ptrdiff_t i = 0; i < *n; i++)                                                          \
                r[i] &= TRUE(((const T *)x)[i]);                                                        \
        } else {                                                                                        \
            for (ptrdiff_t i = 0; i < *n; i++)                                                          \
                args[0][i * st[0]] &= TRUE(*(const T *)(x + i * st[1]));                                \
        }                                                                                               \
    }

TF_TRUTH(tf_true_8, uint8_t, uint8_t, TF_PLAIN)
TF_TRUTH(tf_true_16, uint16_t, uint16_t, TF_PLAIN)
TF_TRUTH(tf_true_32, uint32_t, uint32_t, TF_PLAIN)
TF_TRUTH(tf_true_64, uint64_t, uint64_t, TF_PLAIN)
TF_TRUTH(tf_true_f32, float, uint32_t, TF_PLAIN)
TF_TRUTH(tf_true_f64, double, uint64_t, TF_PLAIN)
TF_TRUTH(tf_true_c64, tf_truth_c64, uint32_t, TF_PAIR)
TF_TRUTH(tf_true_c128, tf_truth_c128, uint64_t, TF_PAIR)

#define TF_TRUTHS(F)                                                                                    \
    {tf_true_8_##F, tf_true_8_##F, tf_true_16_##F, tf_true_32_##F, tf_true_64_##F, tf_true_8_##F, tf_true_16_##F, \
     tf_true_32_##F, tf_true_64_##F, tf_true_f32_##F, tf_true_f64_##F, tf_true_c64_##F, tf_true_c128_##F}

static const tf_truth tf_any_loops[13] = TF_TRUTHS(any);
static const tf_truth tf_all_loops[13] = TF_TRUTHS(all);
static const tf_truth tf_count_loops[13] = TF_TRUTHS(sum);

#endif
