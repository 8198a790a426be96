/* Sums of squared deviations from the mean. */
#ifndef TENFERRO_DEVIATIONS_H
#define TENFERRO_DEVIATIONS_H

#include <math.h>

#include "sums.h"

/* Sums of d = x - c and of d * d, where c lies near the mean. */

#define TF_DEVIATE(T, q, v)                                                                             \
    do {                                                                                                \
        const T d = (v);                                                                                \
        r[q] += d;                                                                                      \
        s[q] += d * d;                                                                                  \
    } while (0)

#define TF_MOMENT_COLS(T, S)                                                                            \
    for (; n >= 4; n -= 4, x += 4 * sn)                                                                 \
        for (tf_int j = 0; j < m; j++) {                                                                \
            const T u = c[j], d0 = TF_AT(T, x, j, S) - u, d1 = TF_AT(T, x + sn, j, S) - u,              \
                    d2 = TF_AT(T, x + 2 * sn, j, S) - u, d3 = TF_AT(T, x + 3 * sn, j, S) - u;           \
            r[j] += (d0 + d1) + (d2 + d3);                                                              \
            s[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);                                          \
        }                                                                                               \
    for (; n > 0; n--, x += sn)                                                                         \
        for (tf_int j = 0; j < m; j++)                                                                  \
            TF_DEVIATE(T, j, TF_AT(T, x, j, S) - c[j]);

#define TF_MOMENT(NAME, SUM, T)                                                                         \
    enum { NAME##_L = 64 / sizeof(T) };                                                                 \
    static void NAME##_dense(const T *x, tf_int n, T u, T *one, T *two) {                               \
        SUM##_v a[4] = {{0}}, b[4] = {{0}}, c = {0};                                                    \
        T r[NAME##_L], s[NAME##_L];                                                                     \
        tf_int i = 0;                                                                                   \
        c += u;                                                                                         \
        for (; i + NAME##_L <= n; i += NAME##_L)                                                        \
            for (int q = 0; q < 4; q++) {                                                               \
                const SUM##_v d = *(const SUM##_v *)(x + i + q * SUM##_W) - c;                          \
                a[q] += d;                                                                              \
                b[q] += d * d;                                                                          \
            }                                                                                           \
        memcpy(r, a, sizeof r);                                                                         \
        memcpy(s, b, sizeof s);                                                                         \
        for (int q = 0; i < n; q++, i++)                                                                \
            TF_DEVIATE(T, q, x[i] - u);                                                                 \
        *one = SUM##_fold(r, NAME##_L);                                                                 \
        *two = SUM##_fold(s, NAME##_L);                                                                 \
    }                                                                                                   \
    static inline void NAME##_leaf(const char *x, tf_int sn, tf_int n, T u, T *one, T *two) {           \
        T r[8] = {0}, s[8] = {0};                                                                       \
        tf_int i = 0;                                                                                   \
        if (n < 8) {                                                                                    \
            for (; i < n; i++)                                                                          \
                TF_DEVIATE(T, 0, TF_AT(T, x, i, sn) - u);                                               \
            *one = r[0];                                                                                \
            *two = s[0];                                                                                \
            return;                                                                                     \
        }                                                                                               \
        if (sn == sizeof(T)) {                                                                          \
            NAME##_dense((const T *)x, n, u, one, two);                                                 \
            return;                                                                                     \
        }                                                                                               \
        for (; i + 8 <= n; i += 8)                                                                      \
            for (int q = 0; q < 8; q++)                                                                 \
                TF_DEVIATE(T, q, TF_AT(T, x, i + q, sn) - u);                                           \
        for (int q = 0; i < n; q++, i++)                                                                \
            TF_DEVIATE(T, q, TF_AT(T, x, i, sn) - u);                                                   \
        *one = SUM##_fold(r, 8);                                                                        \
        *two = SUM##_fold(s, 8);                                                                        \
    }                                                                                                   \
    static void NAME##_run(const char *x, tf_int sn, tf_int n, T u, T *one, T *two) {                   \
        const tf_int size = sn == sizeof(T) ? 16 * NAME##_L : TF_RUN;                                   \
        T r[64], s[64], t, v;                                                                           \
        size_t count = 0, k;                                                                            \
        for (tf_int i = 0; i < n; i += size) {                                                          \
            NAME##_leaf(x + i * sn, sn, n - i < size ? n - i : size, u, &t, &v);                        \
            for (k = 0; count >> k & 1; k++) {                                                          \
                t += r[k];                                                                              \
                v += s[k];                                                                              \
            }                                                                                           \
            r[k] = t;                                                                                   \
            s[k] = v;                                                                                   \
            count++;                                                                                    \
        }                                                                                               \
        t = v = 0;                                                                                      \
        for (k = 0; count >> k; k++)                                                                    \
            if (count >> k & 1) {                                                                       \
                t += r[k];                                                                              \
                v += s[k];                                                                              \
            }                                                                                           \
        *one = t;                                                                                       \
        *two = v;                                                                                       \
    }                                                                                                   \
    static void NAME##_rows(void *acc, tf_int plane, const char *x, tf_int sj, tf_int m, tf_int sn, tf_int n, \
                            const void *c) {                                                            \
        T *r = (T *)acc, *s = r + plane;                                                                \
        for (tf_int j = 0; j < m; j++)                                                                  \
            NAME##_run(x + j * sj, sn, n, ((const T *)c)[j], r + j, s + j);                             \
    }                                                                                                   \
    static void NAME##_apart(T *restrict r, T *restrict s, const char *restrict x, tf_int sj, tf_int m, tf_int sn, \
                             tf_int n, const T *restrict c) {                                           \
        memset(r, 0, m * sizeof(T));                                                                    \
        memset(s, 0, m * sizeof(T));                                                                    \
        if (sj == sizeof(T)) {                                                                          \
            TF_MOMENT_COLS(T, (tf_int)sizeof(T))                                                        \
        } else {                                                                                        \
            TF_MOMENT_COLS(T, sj)                                                                       \
        }                                                                                               \
    }                                                                                                   \
    static void NAME##_cols(void *acc, tf_int plane, const char *x, tf_int sj, tf_int m, tf_int sn, tf_int n, \
                            const void *c) {                                                            \
        NAME##_apart((T *)acc, (T *)acc + plane, x, sj, m, sn, n, (const T *)c);                        \
    }                                                                                                   \
    /* Cancellation between the two sums calls for a second pass with a better c. */                    \
    static int NAME##_finish(void *acc, tf_int plane, tf_int m, char *out, tf_int so, double n, double mul, \
                             double div, void *vc, int again) {                                         \
        T *c = (T *)vc;                                                                                 \
        int bad = 0;                                                                                    \
        for (tf_int j = 0; j < m; j++) {                                                                \
            const double t = ((T *)acc)[j], v = ((T *)acc)[plane + j], w = t * (t / n);                 \
            const double left = isinf(v) && isfinite(t) ? v : (w > v ? 0 : v - w);                      \
            if (!again && w > 0.75 * v && isfinite(v)) {                                                \
                c[j] += (T)(t / n);                                                                     \
                bad = 1;                                                                                \
            }                                                                                           \
            *(T *)(out + j * so) = (T)(left * mul / div);                                               \
        }                                                                                               \
        return bad;                                                                                     \
    }                                                                                                   \
    /* Means of few elements each, exact where these are equal. */                                      \
    static void NAME##_sample(void *vc, tf_int m, const char *x, tf_int sj, const tf_int *at, tf_int k) { \
        T *c = (T *)vc;                                                                                 \
        for (tf_int j = 0; j < m; j++, x += sj) {                                                       \
            const T first = *(const T *)x, share = 1 / (T)k, part = first * share;                      \
            T t = 0;                                                                                    \
            for (tf_int i = 1; i < k; i++)                                                              \
                t += *(const T *)(x + at[i]) * share - part;                                            \
            c[j] = first + t;                                                                           \
        }                                                                                               \
    }                                                                                                   \
    static const tf_folder NAME = {NAME##_rows, NAME##_cols, SUM##_add, SUM##_clear, NAME##_finish, NAME##_sample, \
                                   sizeof(T), 2, 0};

TF_MOMENT(tf_moment_f32, tf_sum_f32, float)
TF_MOMENT(tf_moment_f64, tf_sum_f64, double)

static const tf_folder *const tf_moments[13] = {
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &tf_moment_f32, &tf_moment_f64, &tf_moment_f32, &tf_moment_f64};

#endif
