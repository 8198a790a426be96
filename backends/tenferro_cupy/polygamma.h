/* Derivatives of the digamma function in kernels; follows functions.h.
 *
 * On the right half-plane psi_n(z) = (-1)**(n+1) n! zeta(n+1, z), the Hurwitz zeta function by the Euler-Maclaurin sum
 * (DLMF 5.15.1, 25.11.5); on the left one the reflection formula (DLMF 5.15.6), whose cotangent is differentiated exactly.
 * TF_ORDER is n, TF_SCALE is (-1)**(n+1) n!, TF_REFLECT the coefficients of the polynomial of the cotangent. */

#define TF_PI 3.14159265358979323846
#define TF_TERMS 12

typedef complex<double> tf_complex;

__device__ const double tf_bernoulli[TF_TERMS] = {      /* B(2j) / (2j)! */
    0.0833333333333333333, -0.00138888888888888889, 0.0000330687830687830688, -8.2671957671957672e-7,
    2.0876756987868099e-8, -5.28419013868749318e-10, 1.33825365306846788e-11, -3.38968029632258287e-13,
    8.58606205627784456e-15, -2.17486869855806187e-16, 5.50900282836022952e-18, -1.39544646858125233e-19};
__device__ const double tf_reflect[] = {TF_REFLECT};

/* zeta(s, a) for a > 0 */
__device__ inline double tf_zeta(int s, double a) {
    double sum = 0;
    while (a < 10 + s) {
        const double t = pow(a, double(-s));
        sum += t;
        if (t * a < 1e-17 * sum) return sum;
        a += 1;
    }
    double r = s / a, tail = 1.0 / (s - 1) + 0.5 / a;
    for (int j = 1; j <= TF_TERMS; j++) {
        tail += tf_bernoulli[j - 1] * (r / a);
        r *= (s + 2 * j - 1) / a * ((s + 2 * j) / a);
    }
    return sum + pow(a, double(1 - s)) * tail;
}

/* cos(pi t) for |t| <= 1/2, accurate near its zeros */
__device__ inline double tf_cos_of_pi(double t) { return sin(TF_PI * (0.5 - fabs(t))); }

__device__ inline double tf_polygamma_f(double x) {
    if (!(x <= 0)) return TF_SCALE * tf_zeta(TF_ORDER + 1, x);
    if (isinf(x)) return x - x;
    const double t = x - rint(x);
    if (t == 0) return (TF_ORDER & 1 ? 1.0 : -1.0) / fabs(t);
    const double c = tf_cos_of_pi(t) / sin(TF_PI * t);
    double q = 0;
    for (int k = TF_ORDER - 1; k >= 0; k--) q = q * c + tf_reflect[k];
    return (1 + c * c) * q - fabs(TF_SCALE) * tf_zeta(TF_ORDER + 1, 1 - x);
}

__device__ inline tf_complex tf_integer_power(tf_complex z, int n) {
    tf_complex p(1, 0);
    for (; n; n >>= 1, z = tf_mul_c(z, z))
        if (n & 1) p = tf_mul_c(p, z);
    return p;
}

/* zeta(s, a) for a in the right half-plane */
__device__ inline tf_complex tf_czeta(int s, tf_complex a) {
    tf_complex sum(0, 0);
    while (hypot(a.real(), a.imag()) < 14 + s) {
        sum = sum + tf_integer_power(tf_reciprocal_c(a), s);
        a = tf_complex(a.real() + 1, a.imag());
    }
    const tf_complex b = tf_reciprocal_c(a);
    tf_complex r = tf_scaled_c(b, double(s)), tail(1.0 / (s - 1) + 0.5 * b.real(), 0.5 * b.imag());
    for (int j = 1; j <= TF_TERMS; j++) {
        tail = tail + tf_scaled_c(tf_mul_c(r, b), tf_bernoulli[j - 1]);
        r = tf_mul_c(r, tf_mul_c(tf_scaled_c(b, double(s + 2 * j - 1)), tf_scaled_c(b, double(s + 2 * j))));
    }
    return sum + tf_mul_c(tf_integer_power(b, s - 1), tail);
}

/* cot and csc**2 of pi (t + iy) for y >= 0 */
__device__ inline void tf_cot(double t, double y, tf_complex *cot, tf_complex *csc2) {
    if (y > 6) {
        const double m = exp(-2 * TF_PI * y);
        const tf_complex w(m * cos(2 * TF_PI * t), m * sin(2 * TF_PI * t)), d(1 - w.real(), -w.imag());
        *cot = tf_mul_c(tf_complex(0, -1), tf_div_c(tf_complex(1 + w.real(), w.imag()), d));
        *csc2 = tf_div_c(tf_scaled_c(w, -4.0), tf_mul_c(d, d));
        return;
    }
    const double s = sin(TF_PI * t), c = tf_cos_of_pi(t), sh = sinh(TF_PI * y), ch = cosh(TF_PI * y);
    const tf_complex csc = tf_reciprocal_c(tf_complex(s * ch, c * sh));
    *cot = tf_mul_c(tf_complex(c * ch, -s * sh), csc);
    *csc2 = tf_mul_c(csc, csc);
}

__device__ inline tf_complex tf_polygamma_c(tf_complex z) {
    const double x = z.real(), y = z.imag();
    if (y == 0) return tf_complex(tf_polygamma_f(x), 0);
    if (!(isfinite(x) && isfinite(y)))
        return x != x || y != y || (isinf(x) && x < 0) ? tf_complex(tf_nan(x), tf_nan(y)) : tf_complex(0, 0);
    if (!(x < 0)) return tf_scaled_c(tf_czeta(TF_ORDER + 1, z), TF_SCALE);
    tf_complex cot, csc2, q(0, 0);
    tf_cot(x - rint(x), fabs(y), &cot, &csc2);
    for (int k = TF_ORDER - 1; k >= 0; k--) {
        q = tf_mul_c(q, cot);
        q = tf_complex(q.real() + tf_reflect[k], q.imag());
    }
    q = tf_mul_c(csc2, q);
    const tf_complex far = tf_scaled_c(tf_czeta(TF_ORDER + 1, tf_complex(1 - x, -y)), fabs(TF_SCALE));
    return tf_complex(q.real(), y < 0 ? -q.imag() : q.imag()) - far;
}
