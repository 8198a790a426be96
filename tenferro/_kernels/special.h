/* Loops of functions that NumPy lacks, with the signature of NumPy's inner loops. */
#ifndef TENFERRO_SPECIAL_H
#define TENFERRO_SPECIAL_H

#include <math.h>
#include <stddef.h>

/* A loop that another one is built upon: the first fields of ufunc.pxd's Loop. */
typedef struct {
    void (*fn)(char **, const ptrdiff_t *, const ptrdiff_t *, void *);
    void *data;
} tf_inner;

typedef struct { float re, im; } tf_cfloat;
typedef struct { double re, im; } tf_cdouble;

#define TF_BLOCK 256
#define TF_MIN(A, B) ((A) < (B) ? (A) : (B))

/* EXPR of x; the contiguous case is left to the vectoriser. */
#define TF_UNARY(NAME, T, EXPR)                                                             \
    static void NAME(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *data) {    \
        const char *p = args[0];                                                            \
        char *q = args[1];                                                                  \
        (void)data;                                                                         \
        if (st[0] == sizeof(T) && st[1] == sizeof(T)) {                                     \
            for (ptrdiff_t i = 0; i < *n; i++) {                                            \
                const T x = ((const T *)p)[i];                                              \
                ((T *)q)[i] = EXPR;                                                         \
            }                                                                               \
            return;                                                                         \
        }                                                                                   \
        for (ptrdiff_t i = 0; i < *n; i++, p += st[0], q += st[1]) {                        \
            const T x = *(const T *)p;                                                      \
            *(T *)q = EXPR;                                                                 \
        }                                                                                   \
    }

#define TF_BINARY(NAME, T, EXPR)                                                            \
    static void NAME(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *data) {    \
        const char *p = args[0], *r = args[1];                                              \
        char *q = args[2];                                                                  \
        (void)data;                                                                         \
        for (ptrdiff_t i = 0; i < *n; i++, p += st[0], r += st[1], q += st[2]) {            \
            const T x = *(const T *)p, y = *(const T *)r;                                   \
            *(T *)q = EXPR;                                                                 \
        }                                                                                   \
    }

/* EXPR of x and e = exp(ARG), where the exponential is the loop that data points to. */
#define TF_WITH_EXP(NAME, T, LOAD, ARG, EXPR, OUT)                                          \
    static void NAME(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *data) {    \
        const tf_inner *inner = (const tf_inner *)data;                                     \
        const ptrdiff_t unit[2] = {sizeof(T), sizeof(T)};                                   \
        T buf[TF_BLOCK];                                                                    \
        char *both[2] = {(char *)buf, (char *)buf};                                         \
        for (ptrdiff_t from = 0; from < *n; from += TF_BLOCK) {                             \
            const ptrdiff_t m = TF_MIN(*n - from, TF_BLOCK);                                \
            for (ptrdiff_t k = 0; k < m; k++) {                                             \
                const ptrdiff_t i = from + k;                                               \
                LOAD;                                                                       \
                buf[k] = ARG;                                                               \
            }                                                                               \
            inner->fn(both, &m, unit, inner->data);                                         \
            for (ptrdiff_t k = 0; k < m; k++) {                                             \
                const ptrdiff_t i = from + k;                                               \
                const T e = buf[k];                                                         \
                LOAD;                                                                       \
                *(T *)(args[OUT] + i * st[OUT]) = EXPR;                                     \
            }                                                                               \
        }                                                                                   \
    }

#define TF_AT(T, K) (*(const T *)(args[K] + i * st[K]))

/* 1 / cosh(x)**2 */
#define TF_SECH2(NAME, T, ABS)                                                              \
    TF_WITH_EXP(NAME, T, const T x = TF_AT(T, 0); (void)x, (T)-2 * ABS(x), (T)4 * e / ((1 + e) * (1 + e)), 1)
TF_SECH2(tf_sech2_f, float, fabsf)
TF_SECH2(tf_sech2_d, double, fabs)

/* exp(x) / (exp(x) + exp(y)); equal infinities share equally */
#define TF_SHARE(NAME, T, ABS)                                                              \
    TF_WITH_EXP(NAME, T, const T x = TF_AT(T, 0); const T y = TF_AT(T, 1); const T d = x == y ? (T)0 : y - x, \
                -ABS(d), (d > 0 ? e : (T)1) / (1 + e), 2)
TF_SHARE(tf_share_f, float, fabsf)
TF_SHARE(tf_share_d, double, fabs)

TF_UNARY(tf_rsqrt_f, float, 1.0f / sqrtf(x))
TF_UNARY(tf_rsqrt_d, double, 1.0 / sqrt(x))
/* 1 / sqrt(1 - x**2), 1 / sqrt(x**2 - 1) and 1 / (1 - x**2) */
TF_UNARY(tf_asin_slope_f, float, 1.0f / sqrtf((1.0f - x) * (1.0f + x)))
TF_UNARY(tf_asin_slope_d, double, 1.0 / sqrt((1.0 - x) * (1.0 + x)))
TF_UNARY(tf_acosh_slope_f, float, 1.0f / sqrtf(x - 1.0f) / sqrtf(x + 1.0f))
TF_UNARY(tf_acosh_slope_d, double, 1.0 / sqrt(x - 1.0) / sqrt(x + 1.0))
TF_UNARY(tf_atanh_slope_f, float, 1.0f / ((1.0f - x) * (1.0f + x)))
TF_UNARY(tf_atanh_slope_d, double, 1.0 / ((1.0 - x) * (1.0 + x)))

TF_UNARY(tf_erf_f, float, erff(x))
TF_UNARY(tf_erf_d, double, erf(x))
TF_UNARY(tf_erfc_f, float, erfcf(x))
TF_UNARY(tf_erfc_d, double, erfc(x))

/* log|Gamma(x)|; plain lgamma writes the sign to a variable that all threads share. */
#if defined(_WIN32)
TF_UNARY(tf_lgamma_f, float, lgammaf(x))
TF_UNARY(tf_lgamma_d, double, lgamma(x))
#else
static float tf_lgammaf(float x) { int sign; return lgammaf_r(x, &sign); }
static double tf_lgamma(double x) { int sign; return lgamma_r(x, &sign); }
TF_UNARY(tf_lgamma_f, float, tf_lgammaf(x))
TF_UNARY(tf_lgamma_d, double, tf_lgamma(x))
#endif

/* x / hypot(x, y), the cosine of the angle of (x, y); x itself at the origin */
static double tf_direction(double x, double y) {
    const double h = hypot(x, y);
    if (h > 1.7976931348623157e308) {
        if (isinf(x))
            return y != y ? y : copysign(isinf(y) ? 0.70710678118654752440 : 1.0, x);
        if (isinf(y))
            return x * 0.0;
        return 0.25 * x / hypot(0.25 * x, 0.25 * y);
    }
    if (h < 2.2250738585072014e-308)
        return h == 0 ? x : 0x1p60 * x / hypot(0x1p60 * x, 0x1p60 * y);
    return x / h;
}
TF_BINARY(tf_direction_f, float, (float)tf_direction(x, y))
TF_BINARY(tf_direction_d, double, tf_direction(x, y))

/* x / (x**2 + y**2) */
TF_BINARY(tf_inversion_f, float, (float)(tf_direction(x, y) / hypot(x, y)))
TF_BINARY(tf_inversion_d, double, tf_direction(x, y) / hypot(x, y))

/* 1 / cosh(x + iy)**2. Far out cosh would overflow, and is half an exponential. */
static tf_cdouble tf_csech2(double x, double y) {
    tf_cdouble w;
    if (fabs(x) > 20) {
        const double m = 4 * exp(-2 * fabs(x));
        w.re = m * cos(2 * y);
        w.im = m * -sin(2 * copysign(1.0, x) * y);
        return w;
    }
    const double c = cosh(x) * cos(y), d = sinh(x) * sin(y), q = c * c + d * d;
    w.re = (c - d) / q * ((c + d) / q);
    w.im = -2 * (c / q) * (d / q);
    return w;
}

/* The same of x + iy: never a square of it, and a zero imaginary part tells the sides of a branch cut apart. */
static double _Complex tf_join(double re, double im) {
    double _Complex z;
    __real__ z = re;
    __imag__ z = im;
    return z;
}

static tf_cdouble tf_parts(double _Complex z) {
    const tf_cdouble w = {__real__ z, __imag__ z};
    return w;
}

static tf_cdouble tf_casin_slope(double x, double y) {
    return tf_parts(1.0 / (__builtin_csqrt(tf_join(1 - x, -y)) * __builtin_csqrt(tf_join(1 + x, y))));
}

static tf_cdouble tf_cacosh_slope(double x, double y) {
    return tf_parts(1.0 / (__builtin_csqrt(tf_join(x - 1, y)) * __builtin_csqrt(tf_join(x + 1, y))));
}

static tf_cdouble tf_catanh_slope(double x, double y) {
    return tf_parts(1.0 / tf_join(1 - x, -y) / tf_join(1 + x, y));
}

/* log(1 + x + iy). Near the unit circle about -1, |1 + z|**2 - 1 is summed in twice the working precision. */
static tf_cdouble tf_clog1p(double x, double y) {
    const double h = hypot(1 + x, y);
    const tf_cdouble far = {log(h), atan2(y, 1 + x)};
    if (!(h > 0.5 && h < 2))
        return far;
    const double a = 2 * x, b = x * x, c = y * y;
    const double low = fma(x, x, -b) + fma(y, y, -c);
    const double s = b + c, ds = (fabs(b) > fabs(c)) ? c - (s - b) : b - (s - c);
    const double t = a + s, dt = (fabs(a) > fabs(s)) ? s - (t - a) : a - (t - s);
    const tf_cdouble near = {0.5 * log1p(t + (dt + (ds + low))), far.im};
    return near;
}

#define TF_COMPLEX(NAME, C, R, F)                                                           \
    static void NAME(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *data) {    \
        (void)data;                                                                         \
        for (ptrdiff_t i = 0; i < *n; i++) {                                                \
            const C z = *(const C *)(args[0] + i * st[0]);                                  \
            const tf_cdouble w = F(z.re, z.im);                                             \
            const C v = {(R)w.re, (R)w.im};                                                 \
            *(C *)(args[1] + i * st[1]) = v;                                                \
        }                                                                                   \
    }
TF_COMPLEX(tf_sech2_c, tf_cfloat, float, tf_csech2)
TF_COMPLEX(tf_sech2_z, tf_cdouble, double, tf_csech2)
TF_COMPLEX(tf_asin_slope_c, tf_cfloat, float, tf_casin_slope)
TF_COMPLEX(tf_asin_slope_z, tf_cdouble, double, tf_casin_slope)
TF_COMPLEX(tf_acosh_slope_c, tf_cfloat, float, tf_cacosh_slope)
TF_COMPLEX(tf_acosh_slope_z, tf_cdouble, double, tf_cacosh_slope)
TF_COMPLEX(tf_atanh_slope_c, tf_cfloat, float, tf_catanh_slope)
TF_COMPLEX(tf_atanh_slope_z, tf_cdouble, double, tf_catanh_slope)
TF_COMPLEX(tf_log1p_c, tf_cfloat, float, tf_clog1p)
TF_COMPLEX(tf_log1p_z, tf_cdouble, double, tf_clog1p)

/* The reciprocal of the square root, by the two loops that data points to. */
#define TF_RSQRT_COMPLEX(NAME, C)                                                           \
    static void NAME(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *data) {    \
        const tf_inner *const *chain = (const tf_inner *const *)data;                       \
        const ptrdiff_t first[2] = {st[0], sizeof(C)}, second[2] = {sizeof(C), st[1]};      \
        C buf[TF_BLOCK];                                                                    \
        for (ptrdiff_t i = 0; i < *n; i += TF_BLOCK) {                                      \
            const ptrdiff_t m = TF_MIN(*n - i, TF_BLOCK);                                   \
            char *in[2] = {args[0] + i * st[0], (char *)buf};                               \
            char *out[2] = {(char *)buf, args[1] + i * st[1]};                              \
            chain[0]->fn(in, &m, first, chain[0]->data);                                    \
            chain[1]->fn(out, &m, second, chain[1]->data);                                  \
        }                                                                                   \
    }
TF_RSQRT_COMPLEX(tf_rsqrt_c, tf_cfloat)
TF_RSQRT_COMPLEX(tf_rsqrt_z, tf_cdouble)

#endif
