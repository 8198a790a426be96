/* Elementary functions of float64 without branches, tables or calls, so that compilers vectorise loops over them.
 *
 * Included once per instruction set by variant.h, which names the functions (F) and says whether products and sums are fused
 * (MA). Every operation is one of IEEE 754 with a defined rounding, so an element's value is the same in a vector, in a
 * loop's remainder and at any position.
 *
 * Polynomials: interpolation at Chebyshev nodes of the reduced interval in 300-bit arithmetic (mpmath), coefficients then
 * rounded once; the relative error is stated as a power of two. Reductions: Cody & Waite, "Software Manual for the
 * Elementary Functions" (1980), with constants split into pieces of few bits; sums with their error: Knuth, TAOCP 2, 4.2.2;
 * logarithm from s = f / (2 + f) and atanh: Tang, ACM TOMS 16 (1990); asin by halving its angle: Cody & Waite;
 * cube root: Halley's iteration. */

#define MAGIC 0x1.8p52                  /* added and subtracted: rounds to an integer, which the low bits then hold */
#define LOG2E 1.4426950408889634
#define LN2_HI 0x1.62e42fefa3000p-1     /* 41 bits: products with exponents are exact */
#define LN2_LO 0x1.3de6af278ece6p-42
#define LN2 0.6931471805599453
#define PIO2_HI 1.5707963267948966
#define PIO2_LO 6.123233995736766e-17
#define SQRT_HALF_BITS 0x3fe6a09e667f3bcdULL
#define ONE_BITS 0x3ff0000000000000ULL

static inline uint64_t F(bits)(double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static inline double F(from_bits)(uint64_t b) {
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}

/* 2**k of an integer that was rounded by MAGIC; k is in -1022 .. 1023 */
static inline double F(pow2)(double k_plus_magic) {
    return F(from_bits)((F(bits)(k_plus_magic) << 52) + ONE_BITS);
}

static inline double F(pick)(uint64_t mask, double a, double b) {
    return F(from_bits)((F(bits)(a) & mask) | (F(bits)(b) & ~mask));
}

/* In the form of the processors' minimum and maximum, which let NaN pass here */
static inline double F(clamp)(double x, double low, double high) {
    x = high < x ? high : x;
    return low > x ? low : x;
}

/* ---- exponentials ---- */

/* (exp(r) - 1 - r) / r**2 for |r| <= log(2) / 2; 2**-60 of r */
static inline double F(exp_poly)(double r) {
    const double q = r * r;
    const double even = MA(q, MA(q, MA(q, MA(q, MA(q, 2.0914686968086876e-09, 2.75572736431103e-07),
        2.4801587325547743e-05), 0.0013888888888883748), 0.04166666666666667), 0.5);
    const double odd = MA(q, MA(q, MA(q, MA(q, 2.5105217004720745e-08, 2.7557255400206422e-06), 0.00019841269874820627),
        0.008333333333326136), 0.1666666666666667);
    return MA(r, odd, even);
}

/* exp(r) - 1 where x = k log(2) + r; k comes back with MAGIC in it */
static inline double F(exp_reduced)(double x, double *k) {
    *k = MA(x, LOG2E, MAGIC);
    const double n = *k - MAGIC;
    const double r = MA(-n, LN2_LO, MA(-n, LN2_HI, x));
    return MA(r * r, F(exp_poly)(r), r);
}

/* (1 + p) 2**k with one rounding where the result is subnormal */
static inline double F(scaled)(double p, double k) {
    const double n = k - MAGIC, half = MA(0.5, n, MAGIC);
    return (1 + p) * F(pow2)(half) * F(pow2)((n - (half - MAGIC)) + MAGIC);
}

#define EXP_FAR_BITS 0x4086200000000000ULL      /* of 708: the result is a normal number */

static inline double F(exp)(double x) {
    double k;
    const double p = F(exp_reduced)(x, &k);
    return F(from_bits)(F(bits)(1 + p) + (F(bits)(k) << 52));
}

static inline double F(exp_whole)(double x) {
    double k;
    x = F(clamp)(x, -1000, 1000);
    const double p = F(exp_reduced)(x, &k);
    return F(scaled)(p, k);
}

static inline double F(exp2)(double x) {
    x = F(clamp)(x, -2000, 2000);
    const double k = x + MAGIC, r = (x - (k - MAGIC)) * LN2;
    return F(scaled)(MA(r * r, F(exp_poly)(r), r), k);
}

static inline double F(expm1)(double x) {
    double k;
    const double a = F(clamp)(x, -60, 710);
    const double p = F(exp_reduced)(a, &k), s = F(pow2)(k - 1);
    const double y = 2 * MA(s, p, s - 0.5);
    return fabs(x) < 0x1p-54 ? x : y;
}

static inline double F(cosh)(double x) {
    double k;
    const double a = 710.7 < fabs(x) ? 710.7 : fabs(x);
    const double p = F(exp_reduced)(a, &k), quarter = F(pow2)(k - 2) * (1 + p);
    return 2 * quarter + 0.125 / quarter;
}

static inline double F(sinh)(double x) {
    double k;
    const double a = 710.7 < fabs(x) ? 710.7 : fabs(x);
    const double p = F(exp_reduced)(a, &k), s = F(pow2)(k - 2);
    const double t = 4 * MA(s, p, s - 0.25), y = 0.5 * (t + t / (t + 1));
    return a < 0x1p-27 ? x : copysign(a > 40 ? 2 * (s * (1 + p)) : y, x);
}

static inline double F(tanh)(double x) {
    double k;
    const double a = 22 < fabs(x) ? 22 : fabs(x);
    const double p = F(exp_reduced)(2 * a, &k), s = F(pow2)(k);
    const double t = MA(s, p, s - 1);
    return copysign(t / (t + 2), x);
}

/* ---- logarithms ---- */

/* The exponent e of x = m 2**e with m in [sqrt(1/2), sqrt(2)); x is normal and positive */
static inline double F(exponent)(uint64_t b) {
    const uint64_t t = b - SQRT_HALF_BITS + ONE_BITS;
    return F(from_bits)((t >> 52) | 0x4330000000000000ULL) - (0x1p52 + 1023);
}

/* That exponent's place in the bits of a number */
static inline uint64_t F(shift)(uint64_t b) {
    return ((b - SQRT_HALF_BITS + ONE_BITS) & 0xfff0000000000000ULL) - ONE_BITS;
}

/* e log(2) + log(1 + f) + c for small c; 2**-58 */
static inline double F(log_sum)(double e, double f, double c) {
    const double s = f / (2 + f), z = s * s, q = z * z, half = 0.5 * f * f;
    const double even = MA(q, MA(q, MA(q, 0.14616585424888623, 0.18182889455674947), 0.2857142862600327), 0.666666666666667);
    const double odd = MA(q, MA(q, 0.15331710618210773, 0.22222211130259878), 0.39999999999899444);
    const double r = z * MA(z, odd, even);
    return MA(e, LN2_HI, f - (half - MA(s, half + r, MA(e, LN2_LO, c))));
}

/* Splits x, which may be subnormal, into m - 1 and the exponent of x = m 2**e */
static inline double F(split)(double x, double *e) {
    const double scale = x < 0x1p-1022 ? 0x1p54 : 1.0, off = x < 0x1p-1022 ? 54.0 : 0.0;
    const uint64_t b = F(bits)(x * scale);
    *e = F(exponent)(b) - off;
    return F(from_bits)(b - F(shift)(b)) - 1;
}

/* What logarithms are outside the positive finite numbers */
static inline double F(log_edges)(double x, double y) {
    y = x > DBL_MAX ? x : y;
    return x > 0 ? y : x == 0 ? -HUGE_VAL : F(from_bits)(0x7ff8000000000000ULL);
}

static inline double F(log)(double x) {
    double e;
    const double f = F(split)(x, &e);
    return F(log_edges)(x, F(log_sum)(e, f, 0));
}

static inline double F(log2)(double x) {
    double e;
    const double f = F(split)(x, &e), y = F(log_sum)(0, f, 0);
    return F(log_edges)(x, e + MA(y, 1.4426950407214463, y * 1.6751713164886512e-10));
}

static inline double F(log10)(double x) {
    double e;
    const double f = F(split)(x, &e), y = F(log_sum)(0, f, 0);
    const double low = MA(e, 1.42050232272661e-13, y * 2.5082946711645275e-11);
    return F(log_edges)(x, MA(e, 0.30102999566383914, MA(y, 0.4342944818781689, low)));
}

/* The error of u = 1 + x is a correction of first order. */
static inline double F(log1p)(double x) {
    const double u = 1 + x, v = u - 1, c = (1 - (u - v)) + (x - v);
    const uint64_t b = F(bits)(u), shift = F(shift)(b);
    const double f = F(from_bits)(b - shift) - 1, d = u < 0x1p99 ? c * F(from_bits)(ONE_BITS - shift) : 0.0;
    const double y = F(log_sum)(F(exponent)(b), f, d - d * f);
    return copysign(F(log_edges)(u, y), x);
}

static inline double F(asinh)(double x) {
    const double a = fabs(x), q = a * a;
    const double t = a > 0x1p28 ? a - 1 : a + q / (1 + sqrt(1 + q));
    return copysign(F(log1p)(t) + (a > 0x1p28 ? LN2 : 0.0), x);
}

static inline double F(acosh)(double x) {
    const double t = x - 1;
    const double y = F(log1p)(x > 0x1p28 ? t : t + sqrt(2 * t + t * t)) + (x > 0x1p28 ? LN2 : 0.0);
    return x < 1 ? F(from_bits)(0x7ff8000000000000ULL) : y;
}

static inline double F(atanh)(double x) {
    const double a = fabs(x);
    return copysign(0.5 * F(log1p)(2 * a / (1 - a)), x);
}

/* ---- circular functions ---- */

#define FAR 1e6         /* beyond it the pieces of pi/2 are too few: see far.h */
#define FAR_BITS 0x412e848000000000ULL
#define FAR_BITS_F 0x49742400u

typedef struct { double hi, lo; uint64_t k; } F(angle);

/* x - k pi/2 as hi - lo, which keeps the sign of zero, for |x| <= FAR: pi/2 in 33 + 33 + 53 bits, of which k times the first
 * two are exact. Among all such doubles the nearest to multiples of pi/2 (found by search) are 29 pi/2 times a power of two,
 * 6e-19 for the first; the error of lo, k 2**-122, is below 2**-55 of every one. */
static inline F(angle) F(reduced)(double x) {
    F(angle) r;
    const double n = MA(x, 0.6366197723675814, MAGIC), k = n - MAGIC;
    const double a = MA(-k, 0x1.921fb54400000p+0, x), b = MA(-k, 0x1.0b4611a600000p-34, a);
    const double off = MA(k, 0x1.3198a2e037073p-69, MA(k, 0x1.0b4611a600000p-34, b - a));
    r.k = F(bits)(n);
    r.hi = b - off;
    r.lo = off - (b - r.hi);
    return r;
}

/* for |hi| <= pi/4; 2**-56 */
static inline double F(sin_near)(F(angle) r) {
    const double z = r.hi * r.hi, q = z * z;
    const double even = MA(q, MA(q, 2.5051131455447428e-08, 0.0001984126983675497), 0.16666666666666666);
    const double odd = MA(q, MA(q, -1.591810123167728e-10, -2.755731610068312e-06), -0.008333333333330946);
    return r.hi - MA(r.hi * z, MA(z, odd, even), r.lo);
}

/* for |hi| <= pi/4; 2**-60 */
static inline double F(cos_near)(F(angle) r) {
    const double z = r.hi * r.hi, q = z * z, half = 0.5 * z, w = 1 - half;
    const double even = MA(q, MA(q, 2.087614602470193e-09, 2.4801587298763433e-05), 0.041666666666666664);
    const double odd = MA(q, MA(q, -1.1382614869434128e-11, -2.7557317270560385e-07), -0.0013888888888887395);
    return w + (((1 - w) - half) + MA(q, MA(z, odd, even), r.hi * r.lo));
}

static inline double F(sine)(F(angle) r) {
    const double y = F(pick)(-(r.k & 1), F(cos_near)(r), F(sin_near)(r));
    return F(from_bits)(F(bits)(y) ^ ((r.k & 2) << 62));
}

static inline double F(sin)(double x) {
    return F(sine)(F(reduced)(x));
}

static inline double F(cos)(double x) {
    F(angle) r = F(reduced)(x);
    r.k += 1;
    return F(sine)(r);
}

static inline double F(tangent)(F(angle) r) {
    const double s = F(sin_near)(r), c = F(cos_near)(r);
    const uint64_t odd = -(r.k & 1);
    return F(pick)(odd, -c, s) / F(pick)(odd, s, c);
}

static inline double F(tan)(double x) {
    return F(tangent)(F(reduced)(x));
}

/* ---- their inverses ---- */

/* (atan(t) - t) / t**3 for t**2 = z <= tan(pi/8)**2; 2**-58 */
static inline double F(atan_poly)(double z) {
    const double q = z * z;
    const double even = MA(q, MA(q, MA(q, MA(q, MA(q, -0.03456931506332609, -0.05230443640686948), -0.0666642476020052),
        -0.09090908753259112), -0.14285714285659779), -0.3333333333333333);
    const double odd = MA(q, MA(q, MA(q, MA(q, MA(q, 0.016284375050043393, 0.045515447340221615), 0.05878927554473807),
        0.07692296368042296), 0.11111111105150588), 0.19999999999999804);
    return MA(z, odd, even);
}

static inline double F(atan)(double x) {
    const double a = fabs(x);
    const int far = a > 2.414213562373095, near = a < 0.41421356237309503;
    const double num = near ? a : far ? -1 : a - 1, den = near ? 1 : far ? a : a + 1;
    const double hi = near ? 0 : far ? PIO2_HI : 0.5 * PIO2_HI, lo = near ? 0 : far ? PIO2_LO : 0.5 * PIO2_LO;
    const double t = num / den, z = t * t;
    return copysign(hi + (t + MA(t * z, F(atan_poly)(z), lo)), x);
}

/* (asin(t) - t) / t**3 for t**2 = z <= 1/4; 2**-57 */
static inline double F(asin_poly)(double z) {
    const double q = z * z;
    const double even = MA(q, MA(q, MA(q, MA(q, MA(q, MA(q, 0.02875990974247162, 0.017402725959689853), 0.010322964581482783),
        0.013971215203097548), 0.022372172948124706), 0.04464285714635722), 0.16666666666666669);
    const double odd = MA(q, MA(q, MA(q, MA(q, MA(q, -0.014854837699421992, 0.005456844463293151), 0.011479154971005417),
        0.017352392575609256), 0.030381944138386928), 0.07499999999998432);
    return MA(z, odd, even);
}

static inline double F(asin)(double x) {
    const double a = fabs(x), z = a < 0.5 ? a * a : 0.5 * (1 - a), t = a < 0.5 ? a : sqrt(z);
    const double tail = t * z * F(asin_poly)(z);
    return copysign(a < 0.5 ? t + tail : PIO2_HI - (2 * t + (2 * tail - PIO2_LO)), x);
}

static inline double F(acos)(double x) {
    const double a = fabs(x), z = a < 0.5 ? a * a : 0.5 * (1 - a), t = a < 0.5 ? x : sqrt(z);
    const double tail = t * z * F(asin_poly)(z), twice = 2 * (t + tail);
    const double outer = x < 0 ? 2 * PIO2_HI - (twice - 2 * PIO2_LO) : twice;
    return a < 0.5 ? PIO2_HI - (t + (tail - PIO2_LO)) : outer;
}

/* ---- cube root ---- */

static inline double F(cbrt)(double x) {
    const double a = fabs(x), scale = a < 0x1p-1022 ? 0x1p54 : 1.0, off = a < 0x1p-1022 ? 18.0 : 0.0;
    const uint64_t b = F(bits)(a * scale);
    const double e = F(from_bits)((b >> 52) | 0x4330000000000000ULL) - (0x1p52 + 1023);
    const double k = (e - 1) * (1.0 / 3) + MAGIC, third = k - MAGIC;
    /* a = y 8**third with y in [1, 8) */
    const double y = F(from_bits)((b & 0x000fffffffffffffULL) | ONE_BITS) * F(pow2)(e - 3 * third + MAGIC);
    double t = MA(y, MA(y, MA(y, 0.00231287, -0.04330039), 0.36447136), 0.6817604), c = t * t * t;
    t = t * (c + 2 * y) / (2 * c + y);
    c = t * t * t;
    t = t + t * ((y - c) / (2 * c + y));
    const double root = t * F(pow2)(third - off + MAGIC);
    return ((a > 0) & (a <= DBL_MAX)) ? copysign(root, x) : x;
}
