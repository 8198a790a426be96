/* Elementary functions of float32, computed in float64 with short polynomials and rounded once; included by variant.h.
 * Errors of the approximations are stated as powers of two; float32 rounds at 2**-24. Nothing overflows on the way. */

/* (exp(r) - 1 - r) / r**2 for |r| <= log(2) / 2; 2**-31 of r */
static inline double F(short_exp_poly)(double r) {
    const double q = r * r;
    const double even = MA(q, MA(q, 0.0013933649996309251, 0.041666464925285904), 0.500000001346581);
    const double odd = MA(q, MA(q, 0.00019890990824673654, 0.0083333109254809), 0.16666666681623232);
    return MA(r, odd, even);
}

static inline double F(short_exp)(double x) {
    x = F(clamp)(x, -700, 700);
    const double n = MA(x, LOG2E, MAGIC), r = MA(-(n - MAGIC), LN2, x);
    return MA(r * r, F(short_exp_poly)(r), r + 1) * F(pow2)(n);
}

static inline double F(short_expm1)(double x) {
    x = F(clamp)(x, -700, 700);
    const double n = MA(x, LOG2E, MAGIC), r = MA(-(n - MAGIC), LN2, x), s = F(pow2)(n);
    return MA(s, MA(r * r, F(short_exp_poly)(r), r), s - 1);
}

/* log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)); 2**-28 */
static inline double F(short_log_near)(double f) {
    const double s = f / (2 + f), z = s * s;
    return MA(s * z, MA(z, MA(z, 0.2958005304318844, 0.39988778282162807), 0.6666668504515603), 2 * s);
}

static inline double F(short_log)(double x) {
    const uint64_t b = F(bits)(x);
    return MA(F(exponent)(b), LN2, F(short_log_near)(F(from_bits)(b - F(shift)(b)) - 1));
}

static inline double F(short_log1p)(double x) {
    const double u = 1 + x;
    const uint64_t b = F(bits)(u);
    const double e = F(exponent)(b), f = e == 0 ? x : F(from_bits)(b - F(shift)(b)) - 1;
    return F(log_edges)(u, MA(e, LN2, F(short_log_near)(f)));
}

static inline float F(exp2_single)(float v) {
    const double x = F(clamp)(v, -1000, 1000);
    const double n = x + MAGIC, r = (x - (n - MAGIC)) * LN2;
    return (float)(MA(r * r, F(short_exp_poly)(r), r + 1) * F(pow2)(n));
}

static inline float F(cosh_single)(float x) {
    const double e = F(short_exp)(fabsf(x));
    return (float)(0.5 * (e + 1 / e));
}

static inline float F(sinh_single)(float x) {
    const double t = F(short_expm1)(fabsf(x));
    return copysignf((float)(0.5 * (t + t / (t + 1))), x);
}

static inline float F(log2_single)(float x) {
    const uint64_t b = F(bits)(x);
    const double near = F(short_log_near)(F(from_bits)(b - F(shift)(b)) - 1);
    return (float)F(log_edges)(x, MA(near, LOG2E, F(exponent)(b)));
}

static inline float F(log10_single)(float x) {
    const uint64_t b = F(bits)(x);
    const double near = F(short_log_near)(F(from_bits)(b - F(shift)(b)) - 1);
    return (float)F(log_edges)(x, MA(F(exponent)(b), 0.3010299956639812, near * 0.4342944819032518));
}

static inline float F(asinh_single)(float x) {
    const double a = fabsf(x), q = a * a;
    return copysignf((float)F(short_log1p)(a > FLT_MAX ? a : a + q / (1 + sqrt(1 + q))), x);
}

static inline float F(acosh_single)(float v) {
    const double x = v, t = x - 1, y = F(short_log1p)(t + sqrt(t * (x + 1)));
    return (float)(x < 1 ? F(from_bits)(0x7ff8000000000000ULL) : y);
}

static inline float F(atanh_single)(float x) {
    const double a = fabsf(x);
    return copysignf((float)(0.5 * F(short_log1p)(2 * a / (1 - a))), x);
}

/* x - k pi/2 and k, for |x| <= FAR; a float32 is never within 2**-30 of a multiple of pi/2 */
static inline double F(short_reduced)(double x, uint64_t *k) {
    const double n = MA(x, 0.6366197723675814, MAGIC);
    *k = F(bits)(n);
    return MA(-(n - MAGIC), 6.077100506506192e-11, MA(-(n - MAGIC), 0x1.921fb54400000p+0, x));
}

/* 2**-36 */
static inline double F(short_sin)(double r) {
    const double z = r * r, q = z * z;
    const double odd = MA(z, 2.7249864658196823e-06, -0.00019840086263779024);
    return r * MA(z, MA(q, odd, MA(z, 0.008333331873837132, -0.16666666663853044)), 1);
}

/* 2**-30 */
static inline double F(short_cos)(double r) {
    const double z = r * r;
    return MA(z * z, MA(z, MA(z, 2.45478916223369905e-05, -0.001388830280232084), 0.04166666465830048), MA(z, -0.5, 1));
}

static inline double F(short_sine)(double r, uint64_t k) {
    const double y = F(pick)(-(k & 1), F(short_cos)(r), F(short_sin)(r));
    return F(from_bits)(F(bits)(y) ^ ((k & 2) << 62));
}

static inline float F(sin_single)(float x) {
    uint64_t k;
    const double r = F(short_reduced)(x, &k);
    return (float)F(short_sine)(r, k);
}

static inline float F(cos_single)(float x) {
    uint64_t k;
    const double r = F(short_reduced)(x, &k);
    return (float)F(short_sine)(r, k + 1);
}

static inline float F(tan_single)(float x) {
    uint64_t k;
    const double r = F(short_reduced)(x, &k), s = F(short_sin)(r), c = F(short_cos)(r);
    const uint64_t odd = -(k & 1);
    return (float)(F(pick)(odd, -c, s) / F(pick)(odd, s, c));
}

/* 2**-28 */
static inline float F(atan_single)(float x) {
    const double a = fabsf(x);
    const int far = a > 2.414213562373095, near = a < 0.41421356237309503;
    const double num = near ? a : far ? -1 : a - 1, den = near ? 1 : far ? a : a + 1;
    const double t = num / den, z = t * t, q = z * z;
    const double even = MA(q, MA(q, -0.06451718869358958, -0.14263949753605723), -0.33333331760434554);
    const double y = MA(t * z, MA(z, MA(q, 0.10743668324830098, 0.1999954031495797), even), t);
    return copysignf((float)(y + (near ? 0 : far ? PIO2_HI : 0.5 * PIO2_HI)), x);
}

/* (asin(t) - t) / t**3 for t**2 = z <= 1/4; 2**-30 */
static inline double F(short_asin_poly)(double z) {
    const double q = z * z;
    const double even = MA(q, MA(q, 0.01714868639721377, 0.04459939329776519), 0.1666666633734196);
    const double odd = MA(q, MA(q, 0.0336918349451055, 0.031100769188565216), 0.07500094565245742);
    return MA(z, odd, even);
}

static inline float F(asin_single)(float v) {
    const double a = fabs((double)v);
    const uint64_t near = -(uint64_t)(a < 0.5);
    const double z = F(pick)(near, a * a, 0.5 * (1 - a)), t = F(pick)(near, a, sqrt(z));
    const double y = MA(t * z, F(short_asin_poly)(z), t);
    return copysignf((float)F(pick)(near, y, PIO2_HI - 2 * y), v);
}

static inline float F(acos_single)(float v) {
    const double x = v, a = fabs(x), z = a < 0.5 ? a * a : 0.5 * (1 - a), t = a < 0.5 ? x : sqrt(z);
    const double y = MA(t * z, F(short_asin_poly)(z), t), outer = x < 0 ? 2 * PIO2_HI - 2 * y : 2 * y;
    return (float)(a < 0.5 ? PIO2_HI - y : outer);
}

static inline float F(cbrt_single)(float x) { return (float)F(cbrt)(x); }
