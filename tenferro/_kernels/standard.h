/* Inner loops whose values at infinities and zeros are those of the array API standard, where NumPy has NaN. */
#include <math.h>

#define TF_FLOOR_DIVIDE(name, type, fmod_, floor_, copysign_)                                                                      \
    static type name##_one(type a, type b) {                                                                                       \
        type mod, quotient, down;                                                                                                  \
        if (b == 0 || (isinf(a) && isfinite(b)))                                                                                   \
            return a / b;                                                                                                          \
        mod = fmod_(a, b);                                                                                                         \
        quotient = (a - mod) / b;                                                                                                  \
        if (mod != 0 && (b < 0) != (mod < 0))                                                                                      \
            quotient -= 1;                                                                                                         \
        if (quotient == 0)                                                                                                         \
            return copysign_(0, a / b);                                                                                            \
        down = floor_(quotient);                                                                                                   \
        return quotient - down > (type) 0.5 ? down + 1 : down;                                                                     \
    }                                                                                                                              \
    static void name(char **args, const Py_ssize_t *n, const Py_ssize_t *steps, void *data) {                                      \
        char *x = args[0], *y = args[1], *out = args[2];                                                                           \
        Py_ssize_t i;                                                                                                              \
        (void) data;                                                                                                               \
        for (i = 0; i < n[0]; i++, x += steps[0], y += steps[1], out += steps[2])                                                  \
            *(type *) out = name##_one(*(type *) x, *(type *) y);                                                                  \
    }

TF_FLOOR_DIVIDE(tf_floor_divide_f32, float, fmodf, floorf, copysignf)
TF_FLOOR_DIVIDE(tf_floor_divide_f64, double, fmod, floor, copysign)

/* exp(a + bi) - 1; the real part without cancellation as expm1(a) cos(b) - 2 sin(b/2)^2. */
static void tf_expm1_one(double a, double b, double *re, double *im) {
    double half;
    if (b == 0) {
        *re = expm1(a) + 0.0;
        *im = b;
    } else if (isinf(a) && !isfinite(b)) {
        *re = a < 0 ? -1 : INFINITY;
        *im = a < 0 ? copysign(0, b) : NAN;
    } else if (a == -INFINITY) {
        *re = -1;
        *im = copysign(0, sin(b));
    } else {
        half = sin(b / 2);
        *re = expm1(a) * cos(b) - 2 * half * half;
        *im = exp(a) * sin(b);
    }
}

#define TF_EXPM1(name, type)                                                                                                       \
    static void name(char **args, const Py_ssize_t *n, const Py_ssize_t *steps, void *data) {                                      \
        char *x = args[0], *out = args[1];                                                                                         \
        double re, im;                                                                                                             \
        Py_ssize_t i;                                                                                                              \
        (void) data;                                                                                                               \
        for (i = 0; i < n[0]; i++, x += steps[0], out += steps[1]) {                                                               \
            tf_expm1_one(((type *) x)[0], ((type *) x)[1], &re, &im);                                                              \
            ((type *) out)[0] = (type) re;                                                                                         \
            ((type *) out)[1] = (type) im;                                                                                         \
        }                                                                                                                          \
    }

TF_EXPM1(tf_expm1_c64, float)
TF_EXPM1(tf_expm1_c128, double)
