/* Derivatives of the digamma function, of real and complex arguments.
 *
 * On the right half-plane psi_n(z) = (-1)**(n+1) n! zeta(n+1, z), the Hurwitz zeta function by the Euler-Maclaurin sum
 * (DLMF 5.15.1, 25.11.5); on the left one the reflection formula (DLMF 5.15.6), whose cotangent is differentiated
 * exactly: its n-th derivative is csc**2 times a polynomial of the cotangent. */
#ifndef TENFERRO_POLYGAMMA_H
#define TENFERRO_POLYGAMMA_H

#include <math.h>
#include <stddef.h>

#define TF_PI 3.14159265358979323846
#define TF_MAX_POLYGAMMA 170        /* the last n with a finite n! */
#define TF_TERMS 12

typedef double _Complex tf_complex;

typedef struct {
    int n;
    double scale;                               /* (-1)**(n+1) n! */
    double reflect[TF_MAX_POLYGAMMA + 2];       /* coefficients of the polynomial, times -pi**(n+1) */
} tf_polygamma_order;

static const double tf_bernoulli[TF_TERMS] = {  /* B(2j) / (2j)! */
    0.0833333333333333333, -0.00138888888888888889, 0.0000330687830687830688, -8.2671957671957672e-7,
    2.0876756987868099e-8, -5.28419013868749318e-10, 1.33825365306846788e-11, -3.38968029632258287e-13,
    8.58606205627784456e-15, -2.17486869855806187e-16, 5.50900282836022952e-18, -1.39544646858125233e-19};

/* (1 + c**2) Q(c) is the n-th derivative of c = cot; that of the next order has -(2 c Q + (1 + c**2) dQ/dc). */
static void tf_polygamma_set(tf_polygamma_order *o, int n) {
    double *q = o->reflect, next[TF_MAX_POLYGAMMA + 2];
    o->n = n;
    o->scale = (n & 1 ? 1 : -1) * tgamma(n + 1.0);
    for (int k = 0; k <= n; k++)
        q[k] = 0;
    q[0] = -1;
    for (int m = 1; m < n; m++) {
        for (int k = 0; k <= m; k++)
            next[k] = -((k ? (k + 1) * q[k - 1] : 0) + (k < m ? (k + 1) * q[k + 1] : 0));
        for (int k = 0; k <= m; k++)
            q[k] = next[k];
    }
    for (int k = 0; k < n; k++)
        q[k] *= -pow(TF_PI, n + 1.0);
}

/* zeta(s, a) for a > 0 */
static double tf_zeta(int s, double a) {
    double sum = 0, t, tail, r;
    while (a < 10 + s) {
        t = pow(a, -s);
        sum += t;
        if (t * a < 1e-17 * sum)
            return sum;
        a += 1;
    }
    r = s / a;
    tail = 1.0 / (s - 1) + 0.5 / a;
    for (int j = 1; j <= TF_TERMS; j++) {
        tail += tf_bernoulli[j - 1] * (r / a);
        r *= (s + 2 * j - 1) / a * ((s + 2 * j) / a);
    }
    return sum + pow(a, 1 - s) * tail;
}

/* cos(pi t) for |t| <= 1/2, accurate near its zeros */
static double tf_cospi(double t) { return sin(TF_PI * (0.5 - fabs(t))); }

static double tf_polygamma(const tf_polygamma_order *o, double x) {
    double t, c, q = 0;
    if (!(x <= 0))
        return o->scale * tf_zeta(o->n + 1, x);
    if (isinf(x))
        return NAN;
    t = x - rint(x);
    if (t == 0)
        return o->n & 1 ? INFINITY : -INFINITY;
    c = tf_cospi(t) / sin(TF_PI * t);
    for (int k = o->n - 1; k >= 0; k--)
        q = q * c + o->reflect[k];
    return (1 + c * c) * q - fabs(o->scale) * tf_zeta(o->n + 1, 1 - x);
}

static tf_complex tf_make(double re, double im) {
    tf_complex z;
    __real__ z = re;
    __imag__ z = im;
    return z;
}

static tf_complex tf_power(tf_complex z, int n) {
    tf_complex p = 1;
    for (; n; n >>= 1, z *= z)
        if (n & 1)
            p *= z;
    return p;
}

/* zeta(s, a) for a in the right half-plane */
static tf_complex tf_czeta(int s, tf_complex a) {
    tf_complex sum = 0, b, r, tail;
    while (hypot(__real__ a, __imag__ a) < 14 + s) {
        sum += tf_power(1 / a, s);
        a += 1;
    }
    b = 1 / a;
    r = s * b;
    tail = 1.0 / (s - 1) + 0.5 * b;
    for (int j = 1; j <= TF_TERMS; j++) {
        tail += tf_bernoulli[j - 1] * (r * b);
        r *= (s + 2 * j - 1) * b * ((s + 2 * j) * b);
    }
    return sum + tf_power(b, s - 1) * tail;
}

/* cot and csc**2 of pi (t + iy) for y >= 0 */
static void tf_cot(double t, double y, tf_complex *cot, tf_complex *csc2) {
    if (y > 6) {
        const tf_complex w = exp(-2 * TF_PI * y) * tf_make(cos(2 * TF_PI * t), sin(2 * TF_PI * t));
        *cot = tf_make(0, -1) * ((1 + w) / (1 - w));
        *csc2 = -4 * w / ((1 - w) * (1 - w));
        return;
    }
    const double s = sin(TF_PI * t), c = tf_cospi(t), sh = sinh(TF_PI * y), ch = cosh(TF_PI * y);
    const tf_complex csc = 1 / tf_make(s * ch, c * sh);
    *cot = tf_make(c * ch, -s * sh) * csc;
    *csc2 = csc * csc;
}

static tf_complex tf_cpolygamma(const tf_polygamma_order *o, double x, double y) {
    tf_complex cot, csc2, q = 0;
    if (y == 0)
        return tf_make(tf_polygamma(o, x), 0);
    if (!(isfinite(x) && isfinite(y)))
        return isnan(x) || isnan(y) || (isinf(x) && x < 0) ? tf_make(NAN, NAN) : 0;
    if (!(x < 0))
        return o->scale * tf_czeta(o->n + 1, tf_make(x, y));
    tf_cot(x - rint(x), fabs(y), &cot, &csc2);
    for (int k = o->n - 1; k >= 0; k--)
        q = q * cot + o->reflect[k];
    q = csc2 * q;
    if (y < 0)
        __imag__ q = -__imag__ q;
    return q - fabs(o->scale) * tf_czeta(o->n + 1, tf_make(1 - x, -y));
}

#define TF_POLYGAMMA(NAME, T)                                                               \
    static void NAME(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *data) {    \
        for (ptrdiff_t i = 0; i < *n; i++)                                                  \
            *(T *)(args[1] + i * st[1]) =                                                   \
                (T)tf_polygamma((const tf_polygamma_order *)data, *(const T *)(args[0] + i * st[0])); \
    }
TF_POLYGAMMA(tf_polygamma_f, float)
TF_POLYGAMMA(tf_polygamma_d, double)

#define TF_POLYGAMMA_COMPLEX(NAME, T)                                                       \
    static void NAME(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *data) {    \
        for (ptrdiff_t i = 0; i < *n; i++) {                                                \
            const T *z = (const T *)(args[0] + i * st[0]);                                  \
            const tf_complex w = tf_cpolygamma((const tf_polygamma_order *)data, z[0], z[1]); \
            T *out = (T *)(args[1] + i * st[1]);                                            \
            out[0] = (T)__real__ w;                                                         \
            out[1] = (T)__imag__ w;                                                         \
        }                                                                                   \
    }
TF_POLYGAMMA_COMPLEX(tf_polygamma_c, float)
TF_POLYGAMMA_COMPLEX(tf_polygamma_z, double)

#endif
