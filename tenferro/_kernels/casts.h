/* Loops that convert between any two dtypes, with the signature of NumPy's inner loops. Values change as in a C cast;
 * a complex number loses its imaginary part, and becomes true when it is not zero. */
#ifndef TENFERRO_CASTS_H
#define TENFERRO_CASTS_H

#include <stddef.h>
#include <stdint.h>

typedef void (*tf_loop)(char **, const ptrdiff_t *, const ptrdiff_t *, void *);
typedef struct { float re, im; } tf_c64;
typedef struct { double re, im; } tf_c128;

#define TF_LOOP(NAME, S, D, STORE)                                                          \
    static void NAME(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {  \
        const char *p = args[0];                                                            \
        char *q = args[1];                                                                  \
        const ptrdiff_t a = st[0], b = st[1];                                               \
        (void)unused;                                                                       \
        if (a == sizeof(S) && b == sizeof(D)) {                                             \
            for (ptrdiff_t i = 0; i < *n; i++) {                                            \
                const S x = ((const S *)p)[i];                                              \
                D *const y = (D *)q + i;                                                    \
                STORE;                                                                      \
            }                                                                               \
            return;                                                                         \
        }                                                                                   \
        for (ptrdiff_t i = 0; i < *n; i++, p += a, q += b) {                                \
            const S x = *(const S *)p;                                                      \
            D *const y = (D *)q;                                                            \
            STORE;                                                                          \
        }                                                                                   \
    }

/* real source to: bool, real, complex; complex source likewise */
#define TF_RR(S, D, s, d) TF_LOOP(tf_cast_##s##_##d, S, D, *y = (D)x)
#define TF_RB(S, s) TF_LOOP(tf_cast_##s##_b, S, uint8_t, *y = x != 0)
#define TF_RC(S, D, s, d, F) TF_LOOP(tf_cast_##s##_##d, S, D, (y->re = (F)x, y->im = 0))
#define TF_CR(S, D, s, d) TF_LOOP(tf_cast_##s##_##d, S, D, *y = (D)x.re)
#define TF_CB(S, s) TF_LOOP(tf_cast_##s##_b, S, uint8_t, *y = x.re != 0 || x.im != 0)
#define TF_CC(S, D, s, d, F) TF_LOOP(tf_cast_##s##_##d, S, D, (y->re = (F)x.re, y->im = (F)x.im))

#define TF_REALS(M, S, s)                                                                             \
    M(S, int8_t, s, i1) M(S, int16_t, s, i2) M(S, int32_t, s, i4) M(S, int64_t, s, i8)                \
    M(S, uint8_t, s, u1) M(S, uint16_t, s, u2) M(S, uint32_t, s, u4) M(S, uint64_t, s, u8)            \
    M(S, float, s, f4) M(S, double, s, f8)
#define TF_FROM_REAL(S, s) TF_RB(S, s) TF_REALS(TF_RR, S, s) TF_RC(S, tf_c64, s, c8, float) TF_RC(S, tf_c128, s, c16, double)
#define TF_FROM_COMPLEX(S, s) TF_CB(S, s) TF_REALS(TF_CR, S, s) TF_CC(S, tf_c64, s, c8, float) TF_CC(S, tf_c128, s, c16, double)

TF_FROM_REAL(uint8_t, b)
TF_FROM_REAL(int8_t, i1)
TF_FROM_REAL(int16_t, i2)
TF_FROM_REAL(int32_t, i4)
TF_FROM_REAL(int64_t, i8)
TF_FROM_REAL(uint8_t, u1)
TF_FROM_REAL(uint16_t, u2)
TF_FROM_REAL(uint32_t, u4)
TF_FROM_REAL(uint64_t, u8)
TF_FROM_REAL(float, f4)
TF_FROM_REAL(double, f8)
TF_FROM_COMPLEX(tf_c64, c8)
TF_FROM_COMPLEX(tf_c128, c16)

#define TF_ROW(s)                                                                                                       \
    {tf_cast_##s##_b,  tf_cast_##s##_i1, tf_cast_##s##_i2, tf_cast_##s##_i4, tf_cast_##s##_i8, tf_cast_##s##_u1,        \
     tf_cast_##s##_u2, tf_cast_##s##_u4, tf_cast_##s##_u8, tf_cast_##s##_f4, tf_cast_##s##_f8, tf_cast_##s##_c8,        \
     tf_cast_##s##_c16}
static const tf_loop tf_casts[13][13] = {TF_ROW(b),  TF_ROW(i1), TF_ROW(i2), TF_ROW(i4), TF_ROW(i8), TF_ROW(u1), TF_ROW(u2),
                                         TF_ROW(u4), TF_ROW(u8), TF_ROW(f4), TF_ROW(f8), TF_ROW(c8), TF_ROW(c16)};

#endif
