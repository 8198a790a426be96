/* Loops over one operand that look for a value which a dtype cannot hold. The data of a loop is a tf_search. */
#ifndef TENFERRO_CHECKS_H
#define TENFERRO_CHECKS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum { TF_INTEGER, TF_SINGLE, TF_DOUBLE };

typedef struct {
    int kind;           /* what the components of the target are */
    int with_imag;      /* whether it has an imaginary part */
    int64_t lo;         /* range of an integer target */
    uint64_t hi;
    double end;         /* hi + 1, exactly */
    const char *bad;    /* the first value found that does not fit */
} tf_search;

static inline int tf_exact_signed(int64_t x, int kind) {
    if (kind == TF_SINGLE) {
        const float f = (float)x;
        return f < 9223372036854775808.0f && (int64_t)f == x;
    }
    const double d = (double)x;
    return d < 9223372036854775808.0 && (int64_t)d == x;
}

static inline int tf_exact_unsigned(uint64_t x, int kind) {
    if (kind == TF_SINGLE) {
        const float f = (float)x;
        return f < 18446744073709551616.0f && (uint64_t)f == x;
    }
    const double d = (double)x;
    return d < 18446744073709551616.0 && (uint64_t)d == x;
}

static inline int tf_fits_signed(int64_t x, const tf_search *s) {
    return s->kind == TF_INTEGER ? x >= s->lo && (x < 0 || (uint64_t)x <= s->hi) : tf_exact_signed(x, s->kind);
}

static inline int tf_fits_unsigned(uint64_t x, const tf_search *s) {
    return s->kind == TF_INTEGER ? x <= s->hi : tf_exact_unsigned(x, s->kind);
}

/* Rounding to single precision is allowed, overflow is not. */
static inline int tf_fits_double(double x, const tf_search *s) {
    if (s->kind == TF_INTEGER) return x >= (double)s->lo && x < s->end && x == trunc(x);
    return s->kind == TF_DOUBLE || !isinf((float)x) || isinf(x);
}

static inline int tf_fits_complex(double re, double im, const tf_search *s) {
    return tf_fits_double(re, s) && (s->with_imag ? tf_fits_double(im, s) : im == 0);
}

#define TF_CHECK(s, T, FITS)                                                                        \
    static void tf_check_##s(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *data) {    \
        tf_search *const search = (tf_search *)data;                                                \
        const char *p = args[0];                                                                    \
        for (ptrdiff_t i = 0; i < *n && search->bad == NULL; i++, p += st[0]) {                     \
            const T *const x = (const T *)p;                                                        \
            if (!(FITS)) search->bad = p;                                                           \
        }                                                                                           \
    }

TF_CHECK(i1, int8_t, tf_fits_signed(*x, search))
TF_CHECK(i2, int16_t, tf_fits_signed(*x, search))
TF_CHECK(i4, int32_t, tf_fits_signed(*x, search))
TF_CHECK(i8, int64_t, tf_fits_signed(*x, search))
TF_CHECK(u1, uint8_t, tf_fits_unsigned(*x, search))
TF_CHECK(u2, uint16_t, tf_fits_unsigned(*x, search))
TF_CHECK(u4, uint32_t, tf_fits_unsigned(*x, search))
TF_CHECK(u8, uint64_t, tf_fits_unsigned(*x, search))
TF_CHECK(f4, float, tf_fits_double(*x, search))
TF_CHECK(f8, double, tf_fits_double(*x, search))
TF_CHECK(c8, float, tf_fits_complex(x[0], x[1], search))
TF_CHECK(c16, double, tf_fits_complex(x[0], x[1], search))

static void (*const tf_checks[13])(char **, const ptrdiff_t *, const ptrdiff_t *, void *) = {
    tf_check_u1, tf_check_i1, tf_check_i2, tf_check_i4, tf_check_i8, tf_check_u1, tf_check_u2,
    tf_check_u4, tf_check_u8, tf_check_f4, tf_check_f8, tf_check_c8, tf_check_c16};

/* The range of integers by dtype code, bool included. */
static const int64_t tf_lo[9] = {0, INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN, 0, 0, 0, 0};
static const uint64_t tf_hi[9] = {1, INT8_MAX, INT16_MAX, INT32_MAX, INT64_MAX,
                                 UINT8_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX};
static const double tf_end[9] = {2, 128, 32768, 2147483648.0, 9223372036854775808.0,
                                 256, 65536, 4294967296.0, 18446744073709551616.0};

#endif
