/* Sums, and sums of squared deviations, over any axes of a strided array.
 *
 * The elements that go into one result are summed in leaves of a fixed size, and leaves are added pairwise by a binary
 * counter: the error grows with the logarithm of their number whichever axes are folded, and nothing depends on how the
 * loops were compiled. A vector of neighbouring results is computed at a time. */
#ifndef TENFERRO_FOLDS_H
#define TENFERRO_FOLDS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef ptrdiff_t tf_int;

enum { TF_BLOCK_BYTES = 8192, TF_ROWS = 32, TF_RUN = 128, TF_SAMPLES = 8 };

/* `acc` holds `planes` vectors that are `plane` accumulators apart. `rows` folds n elements, sn bytes apart, for each of m
 * results, sj bytes apart; `cols` does the same for few n, all results at once. c are the values that deviations are from.
 * `finish` stores acc * mul / div, or returns 1 after it has improved c. */
typedef struct {
    void (*rows)(void *acc, tf_int plane, const char *x, tf_int sj, tf_int m, tf_int sn, tf_int n, const void *c);
    void (*cols)(void *acc, tf_int plane, const char *x, tf_int sj, tf_int m, tf_int sn, tf_int n, const void *c);
    void (*add)(void *a, const void *b, tf_int n);
    void (*clear)(void *a, tf_int n);
    int (*finish)(void *acc, tf_int plane, tf_int m, char *out, tf_int so, double n, double mul, double div, void *c,
                  int again);
    void (*sample)(void *c, tf_int m, const char *x, tf_int sj, const tf_int *offsets, tf_int k);
    int item, planes;
} tf_folder;

/* ---- sums of floating-point numbers ---- */

#define TF_AT(T, p, i, s) (*(const T *)((p) + (i) * (s)))

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
    static T NAME##_dense(const T *x, tf_int n) {                                                       \
        NAME##_v a[8];                                                                                  \
        T r[NAME##_L];                                                                                  \
        tf_int i = NAME##_L;                                                                            \
        for (int q = 0; q < 8; q++)                                                                     \
            a[q] = *(const NAME##_v *)(x + q * NAME##_W);                                               \
        for (; i + NAME##_L <= n; i += NAME##_L)                                                        \
            for (int q = 0; q < 8; q++)                                                                 \
                a[q] += *(const NAME##_v *)(x + i + q * NAME##_W);                                      \
        memcpy(r, a, sizeof r);                                                                         \
        for (int q = 0; i < n; q++, i++)                                                                \
            r[q] += x[i];                                                                               \
        return NAME##_fold(r, NAME##_L);                                                                \
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
        if (n < 8)                                                                                      \
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
    static const tf_folder NAME = {NAME##_rows, NAME##_cols, NAME##_add, NAME##_clear, NAME##_finish, NULL, sizeof(T), 1};

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
                                   sizeof(uint64_t), 1};

TF_INT_SUM(tf_sum_i8, int8_t)
TF_INT_SUM(tf_sum_i16, int16_t)
TF_INT_SUM(tf_sum_i32, int32_t)
TF_INT_SUM(tf_sum_i64, int64_t)
TF_INT_SUM(tf_sum_u8, uint8_t)
TF_INT_SUM(tf_sum_u16, uint16_t)
TF_INT_SUM(tf_sum_u32, uint32_t)

/* ---- squared deviations: sums of d = x - c and of d * d, where c lies near the mean ---- */

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
                                   sizeof(T), 2};

TF_MOMENT(tf_moment_f32, tf_sum_f32, float)
TF_MOMENT(tf_moment_f64, tf_sum_f64, double)

/* ---- which way through the array ---- */

enum { TF_WHOLE, TF_CHUNKS, TF_COLUMNS };       /* runs; parts of runs for all results at once; whole rows of results */

typedef struct {
    const tf_folder *f;
    int mode, kept, folded;                     /* the innermost axes are m and n, the others are listed */
    tf_int kn[66], kx[66], ko[66], fn[66], fx[66];
    tf_int m, sj, so, n, sn, group, width;      /* `group` neighbouring rows count as one wide row */
    char *level[66], *acc, *c;
    size_t count;
} tf_walk;

static inline tf_int tf_abs(tf_int x) {
    return x < 0 ? -x : x;
}

static inline void tf_push(tf_walk *w) {
    size_t k;
    char *t;
    for (k = 0; w->count >> k & 1; k++)
        w->f->add(w->acc, w->level[k], w->width * w->f->planes);
    t = w->level[k];
    w->level[k] = w->acc;
    w->acc = t;
    w->count++;
}

/* The sum of everything pushed, in acc. */
static inline void tf_collapse(tf_walk *w) {
    size_t k = 0;
    char *t;
    while (!(w->count >> k & 1))
        k++;
    t = w->acc;
    w->acc = w->level[k];
    w->level[k] = t;
    for (k++; w->count >> k; k++)
        if (w->count >> k & 1)
            w->f->add(w->acc, w->level[k], w->width * w->f->planes);
}

static inline void tf_part(tf_walk *w, const char *x, tf_int m) {
    const tf_folder *f = w->f;
    const tf_int wide = m * w->group, rest = w->n % w->group, rows = w->n / w->group, size = 16 * TF_RUN / f->item;
    tf_int i;
    if (w->mode == TF_WHOLE) {
        f->rows(w->acc, w->width, x, w->sj, m, w->sn, w->n, w->c);
        tf_push(w);
    } else if (w->mode == TF_CHUNKS) {
        for (i = 0; i < w->n; i += size) {
            f->rows(w->acc, w->width, x + i * w->sn, w->sj, m, w->sn, w->n - i < size ? w->n - i : size, w->c);
            tf_push(w);
        }
    } else {
        for (i = 0; i < rows; i += TF_ROWS) {
            f->cols(w->acc, w->width, x + i * w->group * w->sn, w->sj, wide, w->group * w->sn,
                    rows - i < TF_ROWS ? rows - i : TF_ROWS, w->c);
            tf_push(w);
        }
        if (rest) {
            for (i = 0; i < f->planes; i++)
                f->clear(w->acc + i * w->width * f->item, w->width);
            f->cols(w->acc, w->width, x + rows * w->group * w->sn, w->sj, rest * m, w->sn, 1, w->c);
            tf_push(w);
        }
    }
}

static inline int tf_next(int rank, const tf_int *n, tf_int *at, const tf_int *s, tf_int *offset) {
    for (int i = rank - 1; i >= 0; i--) {
        *offset += s[i];
        if (++at[i] < n[i])
            return 1;
        *offset -= n[i] * s[i];
        at[i] = 0;
    }
    return 0;
}

static inline void tf_block(tf_walk *w, const char *x, char *out, tf_int m, double total, double mul, double div) {
    const tf_folder *f = w->f;
    tf_int at[66], offset, samples[TF_SAMPLES], k = 0, g, h, i;
    int again = 0;
    w->width = m * w->group;
    if (f->sample) {                            /* on the diagonal of the folded axes */
        k = w->n;
        for (i = 0; i < w->folded; i++)
            k = w->fn[i] > k ? w->fn[i] : k;
        k = k < TF_SAMPLES ? k : TF_SAMPLES;
        for (g = 0; g < k; g++) {
            samples[g] = g * (w->n - 1) / (k > 1 ? k - 1 : 1) * w->sn;
            for (i = 0; i < w->folded; i++)
                samples[g] += g * (w->fn[i] - 1) / (k > 1 ? k - 1 : 1) * w->fx[i];
        }
        f->sample(w->c, m, x, w->sj, samples, k);
    }
    do {
        if (f->sample)
            for (g = 1; g < w->group; g++)
                memcpy(w->c + g * m * f->item, w->c, m * f->item);
        memset(at, 0, w->folded * sizeof *at);
        w->count = 0;
        offset = 0;
        do
            tf_part(w, x + offset, m);
        while (tf_next(w->folded, w->fn, at, w->fx, &offset));
        tf_collapse(w);
        for (g = w->group; g > 1; g = h) {
            h = (g + 1) / 2;
            for (i = 0; i < f->planes; i++)
                f->add(w->acc + i * w->width * f->item, w->acc + (i * w->width + h * m) * f->item, (g - h) * m);
        }
    } while (f->finish(w->acc, w->width, m, out, w->so, total, mul, div, w->c, again++));
}

/* out = fold(x) * mul / div. Axes are sorted by descending stride of x; folded ones have stride 0 in out. An element has
 * `parts` numbers, `part` bytes apart, which are folded separately. -1: no memory. */
static int tf_fold(const tf_folder *f, int rank, const tf_int *shape, const tf_int *xs, const tf_int *os, const char *x,
                   char *out, tf_int parts, tf_int part, double mul, double div) {
    tf_walk w;
    tf_int at[66] = {0}, xo = 0, oo, block, leaves = 1, b, i;
    char small[4096], *memory = small;
    double total = 1;
    size_t need, levels = 1;
    w.f = f;
    w.kept = w.folded = 0;
    for (i = 0; i < rank; i++) {
        if (os[i]) {
            w.kn[w.kept] = shape[i];
            w.kx[w.kept] = xs[i];
            w.ko[w.kept++] = os[i];
        } else {
            w.fn[w.folded] = shape[i];
            w.fx[w.folded++] = xs[i];
            total *= (double)shape[i];
        }
    }
    if (parts > 1) {
        i = w.kept - 1;
        if (w.kept && w.kx[i] == parts * part && w.ko[i] == parts * part) {
            w.kn[i] *= parts;
        } else {
            i = w.kept++;
            w.kn[i] = parts;
        }
        w.kx[i] = w.ko[i] = part;
    }
    w.m = w.n = w.group = 1;
    w.sj = w.so = w.sn = 0;
    if (w.kept) {
        i = --w.kept;
        w.m = w.kn[i], w.sj = w.kx[i], w.so = w.ko[i];
    }
    if (w.folded) {
        i = --w.folded;
        w.n = w.fn[i], w.sn = w.fx[i];
    }
    block = TF_BLOCK_BYTES / f->item;
    if (w.m == 1 || w.n == 1 || tf_abs(w.sn) <= tf_abs(w.sj)) {
        w.mode = TF_WHOLE;
    } else if (w.m >= 16) {
        w.mode = TF_COLUMNS;
    } else if (w.sn == w.sj * w.m && w.n * w.m >= 32) {
        w.mode = TF_COLUMNS;
        w.group = 256 / f->item / w.m;
        if (w.group > w.n)
            w.group = w.n;
        if (w.group < 1)
            w.group = 1;
    } else {
        w.mode = TF_CHUNKS;
    }
    if (block > w.m)
        block = w.m;
    w.width = block * w.group;
    for (i = 0; i < w.folded; i++)
        leaves *= w.fn[i];
    if (w.mode == TF_CHUNKS)
        leaves *= w.n / (16 * TF_RUN / f->item) + 1;
    else if (w.mode == TF_COLUMNS)
        leaves *= w.n / w.group / TF_ROWS + 2;
    while (leaves >> levels)
        levels++;
    need = w.width * f->item;
    if (need * (f->planes * (levels + 1) + 1) > sizeof small) {
        memory = (char *)malloc(need * (f->planes * (levels + 1) + 1));
        if (!memory)
            return -1;
    }
    w.c = memory;
    w.acc = memory + need;
    for (i = 0; i < (tf_int)levels; i++)
        w.level[i] = w.acc + need * f->planes * (i + 1);
    do {
        for (i = 0, oo = 0; i < w.kept; i++)
            oo += at[i] * w.ko[i];
        for (b = 0; b < w.m; b += block)
            tf_block(&w, x + xo + b * w.sj, out + oo + b * w.so, w.m - b < block ? w.m - b : block, total, mul, div);
    } while (tf_next(w.kept, w.kn, at, w.kx, &xo));
    if (memory != small)
        free(memory);
    return 0;
}

static const tf_folder *const tf_sums[13] = {
    &tf_sum_u8, &tf_sum_i8, &tf_sum_i16, &tf_sum_i32, &tf_sum_i64, &tf_sum_u8, &tf_sum_u16, &tf_sum_u32, &tf_sum_i64,
    &tf_sum_f32, &tf_sum_f64, &tf_sum_f32, &tf_sum_f64};
static const tf_folder *const tf_moments[13] = {
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &tf_moment_f32, &tf_moment_f64, &tf_moment_f32, &tf_moment_f64};

#endif
