/* Device functions of generated kernels, with the values of NumPy's loops.
 *
 * CUDA C++ as NVRTC compiles it with CuPy's complex.cuh: complex<T> is thrust's. The ending says for what the arguments are:
 * _i signed integers, _u unsigned ones and bool, _f real numbers, _c complex ones. */

template <class T> __device__ bool tf_not_nan(T x) { return x == x; }
template <class T> __device__ bool tf_true_c(complex<T> z) { return z.real() != 0 || z.imag() != 0; }
template <class T> __device__ bool tf_nan_c(complex<T> z) { return z.real() != z.real() || z.imag() != z.imag(); }
template <class T> __device__ T tf_nan(T x) { return (x - x) / (x - x); }

/* ---- integers ---- */

template <class T> __device__ T tf_floor_div_u(T x, T y) { return y == 0 ? T(0) : T(x / y); }
template <class T> __device__ T tf_rem_u(T x, T y) { return y == 0 ? T(0) : T(x % y); }

template <class T> __device__ T tf_floor_div_i(T x, T y) {
    if (y == 0) return 0;
    if (y == T(-1)) return T(0 - (unsigned long long)x);
    const T q = x / y;
    return T(q - ((x % y != 0) && ((x < 0) != (y < 0))));
}

template <class T> __device__ T tf_fmod_i(T x, T y) { return y == 0 || y == T(-1) ? T(0) : T(x % y); }

template <class T> __device__ T tf_rem_i(T x, T y) {
    const T r = tf_fmod_i(x, y);
    return r != 0 && ((r < 0) != (y < 0)) ? T(r + y) : r;
}

template <class T> __device__ T tf_power_i(T x, T n) {
    T p = 1;
    if (n < 0) return 0;
    for (; n; n >>= 1, x = T((unsigned long long)x * (unsigned long long)x))
        if (n & 1) p = T((unsigned long long)p * (unsigned long long)x);
    return p;
}

/* ---- real numbers ---- */

template <class T> __device__ T tf_sign_f(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x; }
template <class T> __device__ T tf_maximum_f(T x, T y) { return x >= y || x != x ? x : y; }
template <class T> __device__ T tf_minimum_f(T x, T y) { return x <= y || x != x ? x : y; }

template <class T> __device__ T tf_rem_f(T x, T y) {
    T r = fmod(x, y);
    if (y == 0) return r;
    if (r == 0) return copysign(T(0), y);
    return (y < 0) != (r < 0) ? r + y : r;
}

template <class T> __device__ T tf_floor_div_f(T x, T y) {
    if (y == 0 || isinf(x)) return x / y;
    const T r = fmod(x, y);
    T q = (x - r) / y;
    if (r != 0 && (y < 0) != (r < 0)) q -= 1;
    if (q == 0) return copysign(T(0), x / y);
    const T below = floor(q);
    return q - below > T(0.5) ? below + 1 : below;
}

template <class T> __device__ T tf_logaddexp_f(T x, T y) {
    const T d = x - y;
    if (x == y) return x + T(0.693147180559945309417232121458176568);
    return d > 0 ? x + log1p(exp(-d)) : d <= 0 ? y + log1p(exp(d)) : d;
}

template <class T> __device__ T tf_sech2_f(T x) {
    const T e = exp(T(-2) * fabs(x));
    return T(4) * e / ((1 + e) * (1 + e));
}

/* exp(x) / (exp(x) + exp(y)) */
template <class T> __device__ T tf_share_f(T x, T y) {
    const T d = x == y ? T(0) : y - x, e = exp(-fabs(d));
    return (d > 0 ? e : T(1)) / (1 + e);
}

/* x / hypot(x, y), in double precision so that nothing of single precision overflows */
__device__ inline double tf_direction(double x, double y) {
    const double h = hypot(x, y);
    if (h > 1.7976931348623157e308) {
        if (isinf(x)) return y != y ? y : copysign(isinf(y) ? 0.70710678118654752440 : 1.0, x);
        if (isinf(y)) return x * 0.0;
        return 0.25 * x / hypot(0.25 * x, 0.25 * y);
    }
    if (h < 2.2250738585072014e-308) return h == 0 ? x : 1152921504606846976.0 * x / hypot(1152921504606846976.0 * x,
                                                                                         1152921504606846976.0 * y);
    return x / h;
}

template <class T> __device__ T tf_clamp_f(T x, T low, T high) {
    const T a = x > low ? x : low, m = x != x ? x : a;
    return m != m ? m : m < high ? m : high;
}

/* ---- complex numbers: nothing is added to a product before it is rounded, as in NumPy ---- */

template <class T> __device__ complex<T> tf_mul_c(complex<T> x, complex<T> y) {
    return complex<T>(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
}

/* Smith's method: scaled by the larger part of the divisor */
template <class T> __device__ complex<T> tf_div_c(complex<T> x, complex<T> y) {
    const T a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
    if (fabs(c) >= fabs(d)) {
        if (c == 0 && d == 0) return complex<T>(a / fabs(c), b / fabs(c));
        const T r = d / c, s = T(1) / (c + d * r);
        return complex<T>((a + b * r) * s, (b - a * r) * s);
    }
    const T r = c / d, s = T(1) / (d + c * r);
    return complex<T>((a * r + b) * s, (b * r - a) * s);
}

template <class T> __device__ complex<T> tf_reciprocal_c(complex<T> z) {
    const T a = z.real(), b = z.imag();
    if (fabs(b) <= fabs(a)) {
        const T r = b / a, d = a + b * r;
        return complex<T>(T(1) / d, -r / d);
    }
    const T r = a / b, d = a * r + b;
    return complex<T>(r / d, T(-1) / d);
}

template <class T> __device__ complex<T> tf_sign_c(complex<T> z) {
    const T a = z.real(), b = z.imag(), m = hypot(a, b);
    if (m != m || (isinf(a) && isinf(b))) return complex<T>(tf_nan(a), tf_nan(b));
    if (isinf(a)) return complex<T>(copysign(T(1), a), T(0));
    if (isinf(b)) return complex<T>(T(0), copysign(T(1), b));
    return m == 0 ? complex<T>(T(0), T(0)) : complex<T>(a / m, b / m);
}

template <class T> __device__ bool tf_less_c(complex<T> x, complex<T> y) {
    if (x.real() == y.real()) return x.imag() < y.imag();
    return x.real() < y.real() && tf_not_nan(x.imag()) && tf_not_nan(y.imag());
}

template <class T> __device__ bool tf_less_equal_c(complex<T> x, complex<T> y) {
    if (x.real() == y.real()) return x.imag() <= y.imag();
    return x.real() < y.real() && tf_not_nan(x.imag()) && tf_not_nan(y.imag());
}

template <class T> __device__ complex<T> tf_maximum_c(complex<T> x, complex<T> y) {
    return tf_less_equal_c(y, x) || tf_nan_c(x) ? x : y;
}

template <class T> __device__ complex<T> tf_minimum_c(complex<T> x, complex<T> y) {
    return tf_less_equal_c(x, y) || tf_nan_c(x) ? x : y;
}

template <class T> __device__ complex<T> tf_clamp_c(complex<T> x, complex<T> low, complex<T> high) {
    const complex<T> m = tf_less_c(low, x) || tf_nan_c(x) ? x : low;
    return tf_less_c(m, high) || tf_nan_c(m) ? m : high;
}

template <class T> __device__ complex<T> tf_power_c(complex<T> x, complex<T> y) {
    if (!tf_true_c(y)) return complex<T>(T(1), T(0));
    if (!tf_true_c(x)) {
        if (y.real() > 0) return complex<T>(T(0), T(0));
        return complex<T>(tf_nan(x.real()), tf_nan(x.real()));
    }
    if (y.imag() == 0 && y.real() == rint(y.real()) && fabs(y.real()) < 100) {
        int n = int(fabs(y.real()));
        complex<T> p(T(1), T(0)), q = x;
        for (; n; n >>= 1, q = tf_mul_c(q, q))
            if (n & 1) p = tf_mul_c(p, q);
        return y.real() < 0 ? tf_div_c(complex<T>(T(1), T(0)), p) : p;
    }
    return exp(tf_mul_c(y, log(x)));
}

template <class T> __device__ complex<T> tf_scaled_c(complex<T> z, T s) { return complex<T>(z.real() * s, z.imag() * s); }

template <class T> __device__ complex<T> tf_expm1_c(complex<T> z) {
    const T h = sin(z.imag() / 2);
    if (z.imag() == 0) return complex<T>(expm1(z.real()), z.imag());
    return complex<T>(expm1(z.real()) * cos(z.imag()) - 2 * h * h, exp(z.real()) * sin(z.imag()));
}

/* Near the unit circle about -1, |1 + z|**2 - 1 is summed in twice the working precision. */
template <class T> __device__ complex<T> tf_log1p_c(complex<T> z) {
    const double x = z.real(), y = z.imag(), h = hypot(1 + x, y), angle = atan2(y, 1 + x);
    if (!(h > 0.5 && h < 2)) return complex<T>(T(log(h)), T(angle));
    const double a = 2 * x, b = x * x, c = y * y, low = fma(x, x, -b) + fma(y, y, -c);
    const double s = b + c, ds = fabs(b) > fabs(c) ? c - (s - b) : b - (s - c);
    const double t = a + s, dt = fabs(a) > fabs(s) ? s - (t - a) : a - (t - s);
    return complex<T>(T(0.5 * log1p(t + (dt + (ds + low)))), T(angle));
}

template <class T> __device__ complex<T> tf_rsqrt_c(complex<T> z) { return tf_reciprocal_c(complex<T>(sqrt(z))); }

template <class T> __device__ complex<T> tf_sech2_c(complex<T> z) {
    const double x = z.real(), y = z.imag();
    if (fabs(x) > 20) {
        const double m = 4 * exp(-2 * fabs(x));
        return complex<T>(T(m * cos(2 * y)), T(m * -sin(2 * copysign(1.0, x) * y)));
    }
    const double c = cosh(x) * cos(y), d = sinh(x) * sin(y), q = c * c + d * d;
    return complex<T>(T((c - d) / q * ((c + d) / q)), T(-2 * (c / q) * (d / q)));
}

/* 1 / (sqrt(1 - z) sqrt(1 + z)), 1 / (sqrt(z - 1) sqrt(z + 1)) and 1 / ((1 - z) (1 + z)); a zero imaginary part tells the sides
 * of a branch cut apart */
template <class T> __device__ complex<T> tf_asin_slope_c(complex<T> z) {
    const complex<double> a(1.0 - z.real(), -z.imag()), b(1.0 + z.real(), z.imag());
    const complex<double> w = tf_reciprocal_c(tf_mul_c(complex<double>(sqrt(a)), complex<double>(sqrt(b))));
    return complex<T>(T(w.real()), T(w.imag()));
}

template <class T> __device__ complex<T> tf_acosh_slope_c(complex<T> z) {
    const complex<double> a(z.real() - 1.0, z.imag()), b(z.real() + 1.0, z.imag());
    const complex<double> w = tf_reciprocal_c(tf_mul_c(complex<double>(sqrt(a)), complex<double>(sqrt(b))));
    return complex<T>(T(w.real()), T(w.imag()));
}

template <class T> __device__ complex<T> tf_atanh_slope_c(complex<T> z) {
    const complex<double> a(1.0 - z.real(), -z.imag()), b(1.0 + z.real(), z.imag());
    const complex<double> w = tf_div_c(tf_reciprocal_c(a), b);
    return complex<T>(T(w.real()), T(w.imag()));
}
