/* Circular functions of large arguments, one at a time; included by variant.h.
 *
 * Payne & Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter 18 (1983): x 2/pi modulo 4 needs only those
 * bits of 2/pi whose product with x is neither a multiple of 4 nor far below the fraction; 192 of them leave an error of
 * 2**-137, and a double's fraction is never below 2**-62. Without integers of 128 bits, libm's functions. */

#ifdef __SIZEOF_INT128__

static F(angle) F(reduced_far)(double x) {
    F(angle) r = {x - x, 0, 0};
    const uint64_t b = F(bits)(x), m = (b & 0x000fffffffffffffULL) | 0x0010000000000000ULL;
    const int start = (int)(b >> 52 & 0x7ff) - 1075 - 2 + 64, word = start / 64, shift = start % 64;
    uint64_t part[3];
    unsigned __int128 product = 0;
    if (!(fabs(x) <= DBL_MAX)) return r;
    for (int i = 2; i >= 0; i--) {
        const uint64_t *w = tf_two_over_pi + word + i;
        const uint64_t bits = shift ? w[0] << shift | w[1] >> (64 - shift) : w[0];
        product = (unsigned __int128)m * bits + (uint64_t)(product >> 64);
        part[i] = (uint64_t)product;
    }
    const uint64_t top = part[0] << 2 | part[1] >> 62, low = part[1] << 2 | part[2] >> 62;
    const __int128 fraction = (__int128)((unsigned __int128)top << 64 | low);
    const double hi = (double)fraction, lo = (double)(fraction - (__int128)hi);
    const double y = hi * PIO2_HI, error = fma(hi, PIO2_HI, -y) + (hi * PIO2_LO + lo * PIO2_HI);
    const double sign = x < 0 ? -0x1p-128 : 0x1p-128;
    r.hi = (y + error) * sign;
    r.lo = (((y + error) - y) - error) * sign;
    r.k = (part[0] >> 62) + (top >> 63);
    if (x < 0) r.k = -r.k;
    return r;
}

static double F(sin_far)(double x) {
    return F(sine)(F(reduced_far)(x));
}

static double F(cos_far)(double x) {
    F(angle) r = F(reduced_far)(x);
    r.k += 1;
    return F(sine)(r);
}

static double F(tan_far)(double x) {
    return F(tangent)(F(reduced_far)(x));
}

#else

static double F(sin_far)(double x) { return sin(x); }
static double F(cos_far)(double x) { return cos(x); }
static double F(tan_far)(double x) { return tan(x); }

#endif
