/* The commonest functions of float32 in arithmetic of float32, twice as many elements at a time as in single.h; the same
 * formulas as in double.h. Included by variant.h. */

#define MAGIC_F 0x1.8p23f
#define ONE_F 0x3f800000u
#define SQRT_HALF_F 0x3f3504f3u
#define LN2_HI_F 0x1.62e4p-1f       /* 15 bits: products with exponents are exact */
#define LN2_LO_F 0x1.7f7d1cp-20f

static inline uint32_t F(bits_f)(float x) {
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static inline float F(from_bits_f)(uint32_t b) {
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

static inline float F(pow2_f)(float k_plus_magic) {
    return F(from_bits_f)((F(bits_f)(k_plus_magic) << 23) + ONE_F);
}

static inline float F(clamp_f)(float x, float low, float high) {
    x = high < x ? high : x;
    return low > x ? low : x;
}

/* exp(r) - 1 where x = k log(2) + r; 2**-25 of r */
static inline float F(exp_reduced_f)(float x, float *k) {
    *k = MF(x, 1.442695041f, MAGIC_F);
    const float n = *k - MAGIC_F;
    const float r = MF(-n, LN2_LO_F, MF(-n, LN2_HI_F, x)), q = r * r;
    const float even = MF(q, MF(q, 0.0013926183587713494f, 0.041666554617204574f), 0.5f);
    return MF(q, MF(r, MF(q, 0.008363179052722578f, 0.16666576989698775f), even), r);
}

#define EXP_FAR_BITS_F 0x42ae0000u      /* of 87: the result is a normal number */

static inline float F(exp_single)(float x) {
    float k;
    const float p = F(exp_reduced_f)(x, &k);
    return F(from_bits_f)(F(bits_f)(1 + p) + (F(bits_f)(k) << 23));
}

static inline float F(exp_single_whole)(float x) {
    float k;
    x = F(clamp_f)(x, -120, 100);
    const float p = F(exp_reduced_f)(x, &k), n = k - MAGIC_F, half = MF(0.5f, n, MAGIC_F);
    return (1 + p) * F(pow2_f)(half) * F(pow2_f)((n - (half - MAGIC_F)) + MAGIC_F);
}

static inline float F(expm1_single)(float x) {
    float k;
    const float a = F(clamp_f)(x, -30, 89);
    const float p = F(exp_reduced_f)(a, &k), s = F(pow2_f)(k - 1), y = 2 * MF(s, p, s - 0.5f);
    return fabsf(x) < 0x1p-25f ? x : y;
}

static inline float F(tanh_single)(float x) {
    float k;
    const float a = 10 < fabsf(x) ? 10 : fabsf(x);
    const float p = F(exp_reduced_f)(2 * a, &k), s = F(pow2_f)(k);
    const float t = MF(s, p, s - 1);
    return copysignf(t / (t + 2), x);
}

static inline uint32_t F(shift_f)(uint32_t b) {
    return ((b - SQRT_HALF_F + ONE_F) & 0xff800000u) - ONE_F;
}

/* e log(2) + log(1 + f) + c for small c, where shift is e as it stands in the bits of a number; 2**-28 */
static inline float F(log_sum_f)(uint32_t shift, float off, float f, float c) {
    const float e = (float)((int32_t)shift >> 23) - off;
    const float s = f / (2 + f), z = s * s, half = 0.5f * f * f;
    const float r = z * MF(z, MF(z, 0.2958005304318844f, 0.39988778282162807f), 0.6666668504515603f);
    return MF(e, LN2_HI_F, f - (half - MF(s, half + r, MF(e, LN2_LO_F, c))));
}

static inline float F(log_edges_f)(float x, float y) {
    y = x > FLT_MAX ? x : y;
    return x > 0 ? y : x == 0 ? -HUGE_VALF : F(from_bits_f)(0x7fc00000u);
}

static inline float F(log_single)(float x) {
    const float scale = x < FLT_MIN ? 0x1p24f : 1.0f, off = x < FLT_MIN ? 24.0f : 0.0f;
    const uint32_t b = F(bits_f)(x * scale), shift = F(shift_f)(b);
    return F(log_edges_f)(x, F(log_sum_f)(shift, off, F(from_bits_f)(b - shift) - 1, 0));
}

static inline float F(log1p_single)(float x) {
    const float u = 1 + x, v = u - 1, c = (1 - (u - v)) + (x - v);
    const uint32_t b = F(bits_f)(u), shift = F(shift_f)(b);
    const float f = F(from_bits_f)(b - shift) - 1, d = u < 0x1p60f ? c * F(from_bits_f)(ONE_F - shift) : 0;
    return copysignf(F(log_edges_f)(u, F(log_sum_f)(shift, 0, f, d - d * f)), x);
}

#undef MAGIC_F
#undef ONE_F
#undef SQRT_HALF_F
#undef LN2_HI_F
#undef LN2_LO_F
