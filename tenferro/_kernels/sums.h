/* Sums of floating-point numbers, pairwise, and of integers, in 64 bits. */
#ifndef TENFERRO_SUMS_H
#define TENFERRO_SUMS_H

#include "folds.h"

/* ---- sums of floating-point numbers ---- */

#define TF_FLOAT_COLS(T, S)                                                                             \
    for (; n >= 8; n -= 8, x += 8 * sn, first = 0) {                                                    \
        const char *y = x + 4 * sn;                                                                     \
        if (first)                                                                                      \
            for (tf_int j = 0; j < m; j++)                                                              \
                r[j] = TF_EIGHT(T, j, S);                                                               \
        else                                                                                            \
            for (tf_int j = 0; j < m; j++)                                                              \
                r[j] += TF_EIGHT(T, j, S);                                                              \
    }                                                                                                   \
    if (n >= 4) {                                                                                       \
        if (first)                                                                                      \
            for (tf_int j = 0; j < m; j++)                                                              \
                r[j] = TF_FOUR(T, x, j, S);                                                             \
        else                                                                                            \
            for (tf_int j = 0; j < m; j++)                                                              \
                r[j] += TF_FOUR(T, x, j, S);                                                            \
        n -= 4, x += 4 * sn, first = 0;                                                                 \
    }                                                                                                   \
    for (; n > 0; n--, x += sn, first = 0) {                                                            \
        if (first)                                                                                      \
            for (tf_int j = 0; j < m; j++)                                                              \
                r[j] = TF_AT(T, x, j, S);                                                               \
        else                                                                                            \
            for (tf_int j = 0; j < m; j++)                                                              \
                r[j] += TF_AT(T, x, j, S);                                                              \
    }

#define TF_FOUR(T, p, j, S)                                                                             \
    ((TF_AT(T, p, j, S) + TF_AT(T, p + sn, j, S)) + (TF_AT(T, p + 2 * sn, j, S) + TF_AT(T, p + 3 * sn, j, S)))
#define TF_EIGHT(T, j, S) (TF_FOUR(T, x, j, S) + TF_FOUR(T, y, j, S))

/* Eight vectors of 16 bytes hide the latency of additions. */
#define TF_FLOAT_SUM(NAME, T)                                                                           \
    typedef T NAME##_v __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));                 \
    enum { NAME##_L = 128 / sizeof(T), NAME##_W = 16 / sizeof(T) };                                     \
    static inline T NAME##_fold(T *r, tf_int n) {                                                       \
        for (tf_int w = n / 2; w; w >>= 1)                                                              \
            for (tf_int q = 0; q < w; q++)                                                              \
                r[q] += r[q + w];                                                                       \
        return r[0];                                                                                    \
    }                                                                                                   \
    static inline void NAME##_lanes(const T *x, tf_int n, T *r) {                                       \
        NAME##_v a[8];                                                                                  \
        tf_int i = NAME##_L;                                                                            \
        for (int q = 0; q < 8; q++)                                                                     \
            a[q] = *(const NAME##_v *)(x + q * NAME##_W);                                               \
        for (; i + NAME##_L <= n; i += NAME##_L)                                                        \
            for (int q = 0; q < 8; q++)                                                                 \
                a[q] += *(const NAME##_v *)(x + i + q * NAME##_W);                                      \
        memcpy(r, a, sizeof a);                                                                         \
        for (int q = 0; i < n; q++, i++)                                                                \
            r[q] += x[i];                                                                               \
    }                                                                                                   \
    static T NAME##_dense(const T *x, tf_int n) {                                                       \
        T r[NAME##_L];                                                                                  \
        NAME##_lanes(x, n, r);                                                                          \
        return NAME##_fold(r, NAME##_L);                                                                \
    }                                                                                                   \
    /* Sums of the even and of the odd ones of n numbers: complex numbers that are adjacent. */         \
    static void NAME##_pairs(const T *x, tf_int n, T *out) {                                            \
        T level[64][2], r[NAME##_L];                                                                    \
        size_t count = 0, k;                                                                            \
        for (tf_int i = 0; i < n; i += 16 * NAME##_L) {                                                 \
            const tf_int m = n - i < 16 * NAME##_L ? n - i : 16 * NAME##_L;                             \
            if (m >= NAME##_L) {                                                                        \
                NAME##_lanes(x + i, m, r);                                                              \
                for (int w = NAME##_L / 2; w > 1; w >>= 1)                                              \
                    for (int q = 0; q < w; q++)                                                         \
                        r[q] += r[q + w];                                                               \
            } else {                                                                                    \
                r[0] = x[i], r[1] = x[i + 1];                                                           \
                for (tf_int q = 2; q < m; q += 2)                                                       \
                    r[0] += x[i + q], r[1] += x[i + q + 1];                                             \
            }                                                                                           \
            for (k = 0; count >> k & 1; k++)                                                            \
                r[0] += level[k][0], r[1] += level[k][1];                                               \
            level[k][0] = r[0], level[k][1] = r[1];                                                     \
            count++;                                                                                    \
        }                                                                                               \
        for (k = 0; !(count >> k & 1); k++)                                                             \
            ;                                                                                           \
        out[0] = level[k][0], out[1] = level[k][1];                                                     \
        for (k++; count >> k; k++)                                                                      \
            if (count >> k & 1)                                                                         \
                out[0] += level[k][0], out[1] += level[k][1];                                           \
    }                                                                                                   \
    static inline T NAME##_leaf(const char *x, tf_int s, tf_int n) {                                    \
        T r[8];                                                                                         \
        tf_int i = 8;                                                                                   \
        if (n < 8) {                                                                                    \
            T t = TF_AT(T, x, 0, s);                                                                    \
            for (i = 1; i < n; i++)                                                                     \
                t += TF_AT(T, x, i, s);                                                                 \
            return t;                                                                                   \
        }                                                                                               \
        if (s == sizeof(T) && n >= NAME##_L)                                                            \
            return NAME##_dense((const T *)x, n);                                                       \
        for (int q = 0; q < 8; q++)                                                                     \
            r[q] = TF_AT(T, x, q, s);                                                                   \
        for (; i + 8 <= n; i += 8)                                                                      \
            for (int q = 0; q < 8; q++)                                                                 \
                r[q] += TF_AT(T, x, i + q, s);                                                          \
        for (int q = 0; i < n; q++, i++)                                                                \
            r[q] += TF_AT(T, x, i, s);                                                                  \
        return NAME##_fold(r, 8);                                                                       \
    }                                                                                                   \
    static T NAME##_run(const char *x, tf_int s, tf_int n) {                                            \
        const tf_int size = s == sizeof(T) ? 16 * NAME##_L : TF_RUN;                                    \
        T level[64], t;                                                                                 \
        size_t count = 0, k;                                                                            \
        for (tf_int i = 0; i < n; i += size) {                                                          \
            t = NAME##_leaf(x + i * s, s, n - i < size ? n - i : size);                                 \
            for (k = 0; count >> k & 1; k++)                                                            \
                t += level[k];                                                                          \
            level[k] = t;                                                                               \
            count++;                                                                                    \
        }                                                                                               \
        for (k = 0; !(count >> k & 1); k++)                                                             \
            ;                                                                                           \
        for (t = level[k++]; count >> k; k++)                                                           \
            if (count >> k & 1)                                                                         \
                t += level[k];                                                                          \
        return t;                                                                                       \
    }                                                                                                   \
    static void NAME##_rows(void *acc, tf_int plane, const char *x, tf_int sj, tf_int m, tf_int sn, tf_int n, \
                            const void *c) {                                                            \
        T *r = (T *)acc;                                                                                \
        (void)plane, (void)c;                                                                           \
        if (m == 2 && sj == sizeof(T) && sn == 2 * sj)                                                  \
            NAME##_pairs((const T *)x, 2 * n, r);                                                       \
        else if (n < 8)                                                                                 \
            for (tf_int j = 0; j < m; j++)                                                              \
                r[j] = NAME##_leaf(x + j * sj, sn, n);                                                  \
        else                                                                                            \
            for (tf_int j = 0; j < m; j++)                                                              \
                r[j] = NAME##_run(x + j * sj, sn, n);                                                   \
    }                                                                                                   \
    static void NAME##_cols(void *acc, tf_int plane, const char *x, tf_int sj, tf_int m, tf_int sn, tf_int n, \
                            const void *c) {                                                            \
        T *restrict r = (T *)acc;                                                                       \
        int first = 1;                                                                                  \
        (void)plane, (void)c;                                                                           \
        if (sj == sizeof(T)) {                                                                          \
            TF_FLOAT_COLS(T, (tf_int)sizeof(T))                                                         \
        } else {                                                                                        \
            TF_FLOAT_COLS(T, sj)                                                                        \
        }                                                                                               \
    }                                                                                                   \
    static void NAME##_add(void *va, const void *vb, tf_int n) {                                        \
        T *restrict a = (T *)va;                                                                        \
        const T *restrict b = (const T *)vb;                                                            \
        for (tf_int i = 0; i < n; i++)                                                                  \
            a[i] += b[i];                                                                               \
    }                                                                                                   \
    static void NAME##_clear(void *a, tf_int n) {                                                       \
        for (tf_int i = 0; i < n; i++)                                                                  \
            ((T *)a)[i] = (T)-0.0;                                                                      \
    }                                                                                                   \
    static int NAME##_finish(void *acc, tf_int plane, tf_int m, char *out, tf_int so, double n, double mul, \
                             double div, void *c, int again) {                                          \
        const T *restrict r = (const T *)acc;                                                           \
        (void)plane, (void)n, (void)c, (void)again;                                                     \
        if (mul != 1 || div != 1)                                                                       \
            for (tf_int j = 0; j < m; j++)                                                              \
                *(T *)(out + j * so) = (T)((double)r[j] * mul / div);                                   \
        else if (so == sizeof(T))                                                                       \
            memmove(out, r, m * sizeof(T));                                                             \
        else                                                                                            \
            for (tf_int j = 0; j < m; j++)                                                              \
                *(T *)(out + j * so) = r[j];                                                            \
        return 0;                                                                                       \
    }                                                                                                   \
    static const tf_folder NAME = {NAME##_rows, NAME##_cols, NAME##_add, NAME##_clear, NAME##_finish, NULL, sizeof(T), 1, 1};

TF_FLOAT_SUM(tf_sum_f32, float)
TF_FLOAT_SUM(tf_sum_f64, double)

/* ---- sums of integers S in 64 bits, wrapping around ---- */

static void tf_sum_int_add(void *va, const void *vb, tf_int n) {
    uint64_t *restrict a = (uint64_t *)va;
    const uint64_t *restrict b = (const uint64_t *)vb;
    for (tf_int i = 0; i < n; i++)
        a[i] += b[i];
}

static void tf_sum_int_clear(void *a, tf_int n) {
    memset(a, 0, n * sizeof(uint64_t));
}

static int tf_sum_int_finish(void *acc, tf_int plane, tf_int m, char *out, tf_int so, double n, double mul, double div,
                             void *c, int again) {
    const uint64_t times = (uint64_t)mul;
    (void)plane, (void)n, (void)div, (void)c, (void)again;
    for (tf_int j = 0; j < m; j++)
        *(uint64_t *)(out + j * so) = ((uint64_t *)acc)[j] * times;
    return 0;
}

#define TF_INT_SUM(NAME, S)                                                                             \
    static void NAME##_rows(void *acc, tf_int plane, const char *x, tf_int sj, tf_int m, tf_int sn, tf_int n, \
                            const void *c) {                                                            \
        (void)plane, (void)c;                                                                           \
        for (tf_int j = 0; j < m; j++, x += sj) {                                                       \
            uint64_t t = 0;                                                                             \
            if (sn == sizeof(S))                                                                        \
                for (tf_int i = 0; i < n; i++)                                                          \
                    t += (uint64_t)((const S *)x)[i];                                                   \
            else                                                                                        \
                for (tf_int i = 0; i < n; i++)                                                          \
                    t += (uint64_t)TF_AT(S, x, i, sn);                                                  \
            ((uint64_t *)acc)[j] = t;                                                                   \
        }                                                                                               \
    }                                                                                                   \
    static void NAME##_cols(void *acc, tf_int plane, const char *x, tf_int sj, tf_int m, tf_int sn, tf_int n, \
                            const void *c) {                                                            \
        uint64_t *restrict r = (uint64_t *)acc;                                                         \
        (void)plane, (void)c;                                                                           \
        memset(r, 0, m * sizeof *r);                                                                    \
        for (; n > 0; n--, x += sn)                                                                     \
            if (sj == sizeof(S))                                                                        \
                for (tf_int j = 0; j < m; j++)                                                          \
                    r[j] += (uint64_t)((const S *)x)[j];                                                \
            else                                                                                        \
                for (tf_int j = 0; j < m; j++)                                                          \
                    r[j] += (uint64_t)TF_AT(S, x, j, sj);                                               \
    }                                                                                                   \
    static const tf_folder NAME = {NAME##_rows, NAME##_cols, tf_sum_int_add, tf_sum_int_clear, tf_sum_int_finish, NULL, \
                                   sizeof(uint64_t), 1, 0};

TF_INT_SUM(tf_sum_i8, int8_t)
TF_INT_SUM(tf_sum_i16, int16_t)
TF_INT_SUM(tf_sum_i32, int32_t)
TF_INT_SUM(tf_sum_i64, int64_t)
TF_INT_SUM(tf_sum_u8, uint8_t)
TF_INT_SUM(tf_sum_u16, uint16_t)
TF_INT_SUM(tf_sum_u32, uint32_t)

static const tf_folder *const tf_sums[13] = {
    &tf_sum_u8, &tf_sum_i8, &tf_sum_i16, &tf_sum_i32, &tf_sum_i64, &tf_sum_u8, &tf_sum_u16, &tf_sum_u32, &tf_sum_i64,
    &tf_sum_f32, &tf_sum_f64, &tf_sum_f32, &tf_sum_f64};

#endif
