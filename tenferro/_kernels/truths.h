/* Folds of x != 0 for numbers of every type: inner loops for any and all, whose output stands still where its stride is 0,
 * and sums. */
#ifndef TENFERRO_TRUTHS_H
#define TENFERRO_TRUTHS_H

#include "sums.h"

typedef void (*tf_truth)(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused);
typedef struct { float re, im; } tf_truth_c64;
typedef struct { double re, im; } tf_truth_c128;

#define TF_WIDE 1024
#define TF_PART 128                             /* elements after which "any" and "all" may have been decided */
#define TF_PLAIN(v) ((v) != 0)
#define TF_AS_IT_IS(v) (v)
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
    static void NAME##_rows(void *acc, tf_int plane, const char *x, tf_int sj, tf_int m, tf_int sn, tf_int n, \
                            const void *c) {                                                            \
        (void)plane, (void)c;                                                                           \
        for (tf_int j = 0; j < m; j++, x += sj) {                                                       \
            int64_t t = 0;                                                                              \
            for (tf_int i = 0; i < n; i += TF_PART)                                                     \
                t += NAME##_count(x + i * sn, n - i < TF_PART ? n - i : TF_PART, sn);                   \
            ((int64_t *)acc)[j] = t;                                                                    \
        }                                                                                               \
    }                                                                                                   \
    static void NAME##_cols(void *acc, tf_int plane, const char *x, tf_int sj, tf_int m, tf_int sn, tf_int n, \
                            const void *c) {                                                            \
        U t[TF_WIDE];                                                                                   \
        (void)plane, (void)c;                                                                           \
        for (tf_int j = 0, k; j < m; j += k, x += k * sj) {                                             \
            k = m - j < TF_WIDE ? m - j : TF_WIDE;                                                      \
            memset(t, 0, k * sizeof *t);                                                                \
            for (tf_int i = 0; i < n; i++) {                                                            \
                const char *y = x + i * sn;                                                             \
                if (sj == (tf_int)sizeof(T))                                                            \
                    for (tf_int q = 0; q < k; q++)                                                      \
                        t[q] += (U)TRUE(((const T *)y)[q]);                                             \
                else                                                                                    \
                    for (tf_int q = 0; q < k; q++)                                                      \
                        t[q] += (U)TRUE(*(const T *)(y + q * sj));                                      \
            }                                                                                           \
            for (tf_int q = 0; q < k; q++)                                                              \
                ((int64_t *)acc)[j + q] = (int64_t)t[q];                                                \
        }                                                                                               \
    }                                                                                                   \
    static const tf_folder NAME##_sum = {NAME##_rows, NAME##_cols, tf_sum_int_add, tf_sum_int_clear, tf_sum_int_finish, \
                                         NULL, sizeof(int64_t), 1, 0};                                     \
    static void NAME##_any(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {        \
        const char *x = args[1];                                                                        \
        const ptrdiff_t count = *n;                                                                     \
        (void)unused;                                                                                   \
        if (st[0] == 0) {                                                                               \
            for (ptrdiff_t i = 0; i < count && !*args[0]; i += TF_PART)                                 \
                *args[0] = NAME##_count(x + i * st[1], count - i < TF_PART ? count - i : TF_PART, st[1]) > 0; \
        } else if (st[0] == 1 && st[1] == (ptrdiff_t)sizeof(T)) {                                       \
            char *restrict r = args[0];                                                                 \
            for (ptrdiff_t i = 0; i < count; i++)                                                       \
                r[i] |= TRUE(((const T *)x)[i]);                                                        \
        } else {                                                                                        \
            for (ptrdiff_t i = 0; i < count; i++)                                                       \
                args[0][i * st[0]] |= TRUE(*(const T *)(x + i * st[1]));                                \
        }                                                                                               \
    }                                                                                                   \
    static void NAME##_all(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {        \
        const char *x = args[1];                                                                        \
        const ptrdiff_t count = *n;                                                                     \
        (void)unused;                                                                                   \
        if (st[0] == 0) {                                                                               \
            for (ptrdiff_t i = 0, k; i < count && *args[0]; i += TF_PART) {                             \
                k = count - i < TF_PART ? count - i : TF_PART;                                          \
                *args[0] = NAME##_count(x + i * st[1], k, st[1]) == k;                                  \
            }                                                                                           \
        } else if (st[0] == 1 && st[1] == (ptrdiff_t)sizeof(T)) {                                       \
            char *restrict r = args[0];                                                                 \
            for (ptrdiff_t i = 0; i < count; i++)                                                       \
                r[i] &= TRUE(((const T *)x)[i]);                                                        \
        } else {                                                                                        \
            for (ptrdiff_t i = 0; i < count; i++)                                                       \
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

/* bool is 0 or 1 already */
TF_TRUTH(tf_true_b, uint8_t, uint8_t, TF_AS_IT_IS)

#define TF_TRUTHS(F)                                                                                    \
    {tf_true_b_##F, tf_true_8_##F, tf_true_16_##F, tf_true_32_##F, tf_true_64_##F, tf_true_8_##F, tf_true_16_##F, \
     tf_true_32_##F, tf_true_64_##F, tf_true_f32_##F, tf_true_f64_##F, tf_true_c64_##F, tf_true_c128_##F}

static const tf_truth tf_any_loops[13] = TF_TRUTHS(any);
static const tf_truth tf_all_loops[13] = TF_TRUTHS(all);
static const tf_folder *const tf_counts[13] = {
    &tf_true_b_sum, &tf_true_8_sum, &tf_true_16_sum, &tf_true_32_sum, &tf_true_64_sum, &tf_true_8_sum, &tf_true_16_sum,
    &tf_true_32_sum, &tf_true_64_sum, &tf_true_f32_sum, &tf_true_f64_sum, &tf_true_c64_sum, &tf_true_c128_sum};

#endif
