/* Inner loops that NumPy lacks, with the signature of its own. Arrays of loops are indexed by dtype code. */
#ifndef TENFERRO_LOOPS_H
#define TENFERRO_LOOPS_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*tf_loop)(char **, const ptrdiff_t *, const ptrdiff_t *, void *);
typedef struct { float re, im; } tf_c64;
typedef struct { double re, im; } tf_c128;

/* An output is fresh memory or lies exactly over an operand: no iteration reads what another one wrote. */
#if defined(__GNUC__) && !defined(__clang__)
#define TF_INDEPENDENT _Pragma("GCC ivdep")
#else
#define TF_INDEPENDENT
#endif

#define TF_SIZE(T) (ptrdiff_t)sizeof(T)
#define TF_SIGNATURE(NAME) static void NAME(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused)

/* ---- one input x, output *y; STORE uses both ---- */

#define TF_PASS1(S, D, A, B, STORE)                         \
    TF_INDEPENDENT                                          \
    for (ptrdiff_t i = 0; i < count; i++) {                 \
        const S x = *(const S *)(args[0] + i * (A));        \
        D *const y = (D *)(args[1] + i * (B));              \
        (void)x;                                            \
        STORE;                                              \
    }

#define TF_UNARY(NAME, S, D, STORE)                                                 \
    TF_SIGNATURE(NAME) {                                                            \
        const ptrdiff_t count = *n, a = st[0], b = st[1];                           \
        (void)unused;                                                               \
        if (a == sizeof(S) && b == sizeof(D)) {                                     \
            TF_PASS1(S, D, TF_SIZE(S), TF_SIZE(D), STORE)                           \
        } else {                                                                    \
            TF_PASS1(S, D, a, b, STORE)                                             \
        }                                                                           \
    }

/* ---- two inputs u and v of one type, output *y; usual strides are constants, so that compilers vectorise them ---- */

#define TF_PASS2(S, D, A, B, C, STORE)                      \
    TF_INDEPENDENT                                          \
    for (ptrdiff_t i = 0; i < count; i++) {                 \
        const S u = *(const S *)(args[0] + i * (A));        \
        const S v = *(const S *)(args[1] + i * (B));        \
        D *const y = (D *)(args[2] + i * (C));              \
        STORE;                                              \
    }

#define TF_BINARY(NAME, S, D, STORE)                                                                                \
    TF_SIGNATURE(NAME) {                                                                                            \
        const ptrdiff_t count = *n, a = st[0], b = st[1], c = st[2], s = sizeof(S);                                 \
        (void)unused;                                                                                               \
        if (a == s && b == s && c == sizeof(D)) {                                                                   \
            TF_PASS2(S, D, TF_SIZE(S), TF_SIZE(S), TF_SIZE(D), STORE)                                              \
        } else if (a == s && b == 0 && c == sizeof(D)) {                                                            \
            TF_PASS2(S, D, TF_SIZE(S), 0, TF_SIZE(D), STORE)                                                       \
        } else if (a == 0 && b == s && c == sizeof(D)) {                                                            \
            TF_PASS2(S, D, 0, TF_SIZE(S), TF_SIZE(D), STORE)                                                       \
        } else {                                                                                                    \
            TF_PASS2(S, D, a, b, c, STORE)                                                                          \
        }                                                                                                           \
    }

/* ---- products and quotients that an exact zero absorbs ---- */

#define TF_ABSORB_REAL(T, s)                                                                                        \
    TF_BINARY(tf_absorb_mul_##s, T, T, *y = u == 0 ? (T)0 : u * v)                                                  \
    TF_BINARY(tf_absorb_both_##s, T, T, *y = ((u == 0) | (v == 0)) ? (T)0 : u * v)                                  \
    TF_BINARY(tf_absorb_div_##s, T, T, *y = u == 0 ? (T)0 : u / v)

#define TF_COMPLEX_OPS(T, C, s, FABS)                                                                               \
    static inline int tf_zero_##s(C a) { return (a.re == 0) & (a.im == 0); }                                        \
    static inline C tf_mul_##s(C a, C b, int zero) {                                                                \
        C p = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};                                               \
        p.re = zero ? 0 : p.re;                                                                                     \
        p.im = zero ? 0 : p.im;                                                                                     \
        return p;                                                                                                   \
    }                                                                                                               \
    /* Smith's method: scaled by the larger part of the divisor */                                                  \
    static inline C tf_div_##s(C a, C b) {                                                                          \
        C q = {0, 0};                                                                                               \
        if (tf_zero_##s(a)) return q;                                                                               \
        if (FABS(b.re) >= FABS(b.im)) {                                                                             \
            const T r = b.re == 0 ? 0 : b.im / b.re, d = b.re + b.im * r;                                           \
            q.re = (a.re + a.im * r) / d;                                                                           \
            q.im = (a.im - a.re * r) / d;                                                                           \
        } else {                                                                                                    \
            const T r = b.re / b.im, d = b.im + b.re * r;                                                           \
            q.re = (a.re * r + a.im) / d;                                                                           \
            q.im = (a.im * r - a.re) / d;                                                                           \
        }                                                                                                           \
        return q;                                                                                                   \
    }                                                                                                               \
    TF_BINARY(tf_absorb_mul_##s, C, C, *y = tf_mul_##s(u, v, tf_zero_##s(u)))                                       \
    TF_BINARY(tf_absorb_both_##s, C, C, *y = tf_mul_##s(u, v, tf_zero_##s(u) | tf_zero_##s(v)))                     \
    TF_BINARY(tf_absorb_div_##s, C, C, *y = tf_div_##s(u, v))

TF_ABSORB_REAL(float, f4)
TF_ABSORB_REAL(double, f8)
TF_COMPLEX_OPS(float, tf_c64, c8, fabsf)
TF_COMPLEX_OPS(double, tf_c128, c16, fabs)

#define TF_INEXACT(f) {[9] = f##_f4, [10] = f##_f8, [11] = f##_c8, [12] = f##_c16}
static const tf_loop tf_absorb_mul[13] = TF_INEXACT(tf_absorb_mul);
static const tf_loop tf_absorb_both[13] = TF_INEXACT(tf_absorb_both);
static const tf_loop tf_absorb_div[13] = TF_INEXACT(tf_absorb_div);

/* ---- real and imaginary parts, angle ---- */

#define TF_ALL(F)                                                                                                   \
    {F##_1, F##_1, F##_2, F##_4, F##_8, F##_1, F##_2, F##_4, F##_8, F##_f4, F##_f8, F##_c8, F##_c16}

#define TF_COPY_ZERO(T, s) TF_UNARY(tf_real_##s, T, T, *y = x) TF_UNARY(tf_imag_##s, T, T, *y = 0)
TF_COPY_ZERO(uint8_t, 1)
TF_COPY_ZERO(uint16_t, 2)
TF_COPY_ZERO(uint32_t, 4)
TF_COPY_ZERO(uint64_t, 8)
TF_COPY_ZERO(float, f4)
TF_COPY_ZERO(double, f8)

#define TF_PARTS(T, C, s, ATAN2)                            \
    TF_UNARY(tf_real_##s, C, T, *y = x.re)                  \
    TF_UNARY(tf_imag_##s, C, T, *y = x.im)                  \
    TF_UNARY(tf_angle_##s, C, T, *y = ATAN2(x.im, x.re))
TF_PARTS(float, tf_c64, c8, atan2f)
TF_PARTS(double, tf_c128, c16, atan2)
TF_UNARY(tf_angle_f4, float, float, *y = atan2f(0.0f, x))
TF_UNARY(tf_angle_f8, double, double, *y = atan2(0.0, x))

TF_BINARY(tf_complex_f4, float, tf_c64, (y->re = u, y->im = v))
TF_BINARY(tf_complex_f8, double, tf_c128, (y->re = u, y->im = v))

static const tf_loop tf_real[13] = TF_ALL(tf_real);
static const tf_loop tf_imag[13] = TF_ALL(tf_imag);
static const tf_loop tf_angle[13] = TF_INEXACT(tf_angle);
static const tf_loop tf_complex[13] = {[9] = tf_complex_f4, [10] = tf_complex_f8};

/* ---- classification: NumPy's loops give wrong values where the result's stride is not 1 (seen in NumPy 2.4) ---- */

#define TF_CLASSIFY(T, s, FABS, MAX)                                \
    TF_UNARY(tf_isnan_##s, T, uint8_t, *y = x != x)                 \
    TF_UNARY(tf_isinf_##s, T, uint8_t, *y = FABS(x) > MAX)          \
    TF_UNARY(tf_isfinite_##s, T, uint8_t, *y = FABS(x) <= MAX)
TF_CLASSIFY(float, f4, fabsf, FLT_MAX)
TF_CLASSIFY(double, f8, fabs, DBL_MAX)

static const tf_loop tf_isnan[13] = {[9] = tf_isnan_f4, [10] = tf_isnan_f8};
static const tf_loop tf_isinf[13] = {[9] = tf_isinf_f4, [10] = tf_isinf_f8};
static const tf_loop tf_isfinite[13] = {[9] = tf_isfinite_f4, [10] = tf_isfinite_f8};

/* ---- three inputs ---- */

#define TF_PASS3(W, S, A, B, C, D, STORE)                   \
    TF_INDEPENDENT                                          \
    for (ptrdiff_t i = 0; i < count; i++) {                 \
        const W w = *(const W *)(args[0] + i * (A));        \
        const S u = *(const S *)(args[1] + i * (B));        \
        const S v = *(const S *)(args[2] + i * (C));        \
        S *const y = (S *)(args[3] + i * (D));              \
        STORE;                                              \
    }

#define TF_TERNARY(NAME, W, S, STORE)                                                                               \
    TF_SIGNATURE(NAME) {                                                                                            \
        const ptrdiff_t count = *n, a = st[0], b = st[1], c = st[2], d = st[3], s = sizeof(S);                      \
        (void)unused;                                                                                               \
        if (a == sizeof(W) && b == s && c == s && d == s) {                                                         \
            TF_PASS3(W, S, TF_SIZE(W), TF_SIZE(S), TF_SIZE(S), TF_SIZE(S), STORE)                                   \
        } else if (a == sizeof(W) && b == s && c == 0 && d == s) {                                                  \
            TF_PASS3(W, S, TF_SIZE(W), TF_SIZE(S), 0, TF_SIZE(S), STORE)                                            \
        } else if (a == sizeof(W) && b == 0 && c == 0 && d == s) {                                                  \
            TF_PASS3(W, S, TF_SIZE(W), 0, 0, TF_SIZE(S), STORE)                                                     \
        } else {                                                                                                    \
            TF_PASS3(W, S, a, b, c, d, STORE)                                                                       \
        }                                                                                                           \
    }

#define TF_WHERE(T, s) TF_TERNARY(tf_where_##s, uint8_t, T, *y = w ? u : v)
TF_WHERE(uint8_t, 1)
TF_WHERE(uint16_t, 2)
TF_WHERE(uint32_t, 4)
TF_WHERE(uint64_t, 8)
TF_WHERE(float, f4)
TF_WHERE(double, f8)
TF_WHERE(tf_c64, c8)
TF_WHERE(tf_c128, c16)
static const tf_loop tf_where[13] = TF_ALL(tf_where);

/* min(max(w, u), v); NaN wins, as in NumPy. Complex numbers are ordered by their real, then their imaginary part. */
#define TF_CLAMP_INT(T, s) TF_TERNARY(tf_clamp_##s, T, T, (*y = w > u ? w : u, *y = *y < v ? *y : v))
#define TF_CLAMP_FLOAT(T, s)                                                                                        \
    static inline T tf_clamped_##s(T w, T u, T v) {                                                                 \
        const T a = w > u ? w : u, m = w != w ? w : a, b = m < v ? m : v;                                           \
        return m != m ? m : b;                                                                                      \
    }                                                                                                               \
    TF_TERNARY(tf_clamp_##s, T, T, *y = tf_clamped_##s(w, u, v))
#define TF_CLAMP_COMPLEX(C, s)                                                                                      \
    static inline int tf_less_##s(C a, C b) { return a.re < b.re || (a.re == b.re && a.im < b.im); }                \
    static inline int tf_nan_##s(C a) { return a.re != a.re || a.im != a.im; }                                      \
    static inline C tf_clamped_##s(C w, C u, C v) {                                                                 \
        const C m = tf_less_##s(u, w) || tf_nan_##s(w) ? w : u;                                                     \
        return tf_less_##s(m, v) || tf_nan_##s(m) ? m : v;                                                          \
    }                                                                                                               \
    TF_TERNARY(tf_clamp_##s, C, C, *y = tf_clamped_##s(w, u, v))

TF_CLAMP_INT(int8_t, i1)
TF_CLAMP_INT(int16_t, i2)
TF_CLAMP_INT(int32_t, i4)
TF_CLAMP_INT(int64_t, i8)
TF_CLAMP_INT(uint8_t, u1)
TF_CLAMP_INT(uint16_t, u2)
TF_CLAMP_INT(uint32_t, u4)
TF_CLAMP_INT(uint64_t, u8)
TF_CLAMP_FLOAT(float, f4)
TF_CLAMP_FLOAT(double, f8)
TF_CLAMP_COMPLEX(tf_c64, c8)
TF_CLAMP_COMPLEX(tf_c128, c16)
static const tf_loop tf_clamp[13] = {tf_clamp_u1, tf_clamp_i1, tf_clamp_i2, tf_clamp_i4, tf_clamp_i8, tf_clamp_u1,
                                     tf_clamp_u2, tf_clamp_u4, tf_clamp_u8, tf_clamp_f4, tf_clamp_f8, tf_clamp_c8,
                                     tf_clamp_c16};

#endif
