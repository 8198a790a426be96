/* Inner loops with NumPy's signature around functions of one element; included once per instruction set by variant.h. */

#define BLOCK 256

typedef void (*F(pass_d))(const double *, double *, ptrdiff_t);
typedef void (*F(pass_f))(const float *, float *, ptrdiff_t);

#define DEFINE_PASS(NAME, T, CALL)                                              \
    static void F(NAME)(const T *x, T *y, ptrdiff_t n) {                        \
        TF_VECTORISE                                                            \
        for (ptrdiff_t i = 0; i < n; i++) y[i] = CALL(x[i]);                    \
    }

/* Strided operands go through a block that is compact. */
#define DEFINE_RUN(NAME, T, PASS)                                               \
    static void F(NAME)(PASS pass, char **args, ptrdiff_t n, const ptrdiff_t *st) {         \
        const char *p = args[0];                                                \
        char *q = args[1];                                                      \
        T block[BLOCK];                                                         \
        if ((st[0] == sizeof(T) && st[1] == sizeof(T)) || n == 1) {             \
            pass((const T *)p, (T *)q, n);                                      \
            return;                                                             \
        }                                                                       \
        for (; n > 0; n -= BLOCK) {                                             \
            const ptrdiff_t m = n < BLOCK ? n : BLOCK;                          \
            for (ptrdiff_t i = 0; i < m; i++, p += st[0]) block[i] = *(const T *)p;         \
            pass(block, block, m);                                              \
            for (ptrdiff_t i = 0; i < m; i++, q += st[1]) *(T *)q = block[i];   \
        }                                                                       \
    }

DEFINE_RUN(run_d, double, F(pass_d))
DEFINE_RUN(run_f, float, F(pass_f))

#define DEFINE_PASSES(f) DEFINE_PASS(f##_pass_d, double, F(f)) DEFINE_PASS(f##_pass_f, float, F(f##_single))

#define DEFINE_LOOPS(f)                                                                                             \
    static void F(f##_d)(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {                      \
        (void)unused;                                                                                               \
        F(run_d)(F(f##_pass_d), args, *n, st);                                                                      \
    }                                                                                                               \
    static void F(f##_f)(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {                      \
        (void)unused;                                                                                               \
        F(run_f)(F(f##_pass_f), args, *n, st);                                                                      \
    }

/* u * v, and exactly 0 where u is; a is 1 or 0 elements from one u to the next, b so for v. */
#define ABSORB_PASS(A, B)                                                                                           \
    TF_VECTORISE                                                                                                    \
    for (ptrdiff_t i = 0; i < count; i++) y[i] = u[i * (A)] == 0 ? 0 : u[i * (A)] * v[i * (B)];

#define DEFINE_ABSORB_MUL(NAME, T)                                                                                  \
    static void F(NAME)(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {                       \
        const ptrdiff_t count = *n, size = (ptrdiff_t)sizeof(T);                                                    \
        const T *u = (const T *)args[0], *v = (const T *)args[1];                                                   \
        T *y = (T *)args[2];                                                                                        \
        (void)unused;                                                                                               \
        if (st[2] == size && st[0] == size && st[1] == size) {                                                      \
            ABSORB_PASS(1, 1)                                                                                       \
        } else if (st[2] == size && st[0] == size && st[1] == 0) {                                                  \
            ABSORB_PASS(1, 0)                                                                                       \
        } else if (st[2] == size && st[0] == 0 && st[1] == size) {                                                  \
            ABSORB_PASS(0, 1)                                                                                       \
        } else {                                                                                                    \
            for (ptrdiff_t i = 0; i < count; i++) {                                                                 \
                const T a = *(const T *)(args[0] + i * st[0]), b = *(const T *)(args[1] + i * st[1]);               \
                *(T *)(args[2] + i * st[2]) = a == 0 ? 0 : a * b;                                                   \
            }                                                                                                       \
        }                                                                                                           \
    }

DEFINE_ABSORB_MUL(absorb_mul_f, float)
DEFINE_ABSORB_MUL(absorb_mul_d, double)

/* Whether a number lies beyond a limit, which is given by its bits; NaN does. */
#define DEFINE_ANY_BEYOND(NAME, T, WORD)                                                                            \
    static inline int F(NAME)(const T *x, ptrdiff_t n, WORD limit) {                                                \
        const WORD sign = (WORD)1 << (8 * sizeof(WORD) - 1);                                                        \
        WORD beyond = 0;                                                                                            \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                         \
            WORD b;                                                                                                 \
            memcpy(&b, &x[i], sizeof b);                                                                            \
            beyond |= limit - (b & ~sign);                                                                          \
        }                                                                                                           \
        return (beyond & sign) != 0;                                                                                \
    }

DEFINE_ANY_BEYOND(any_beyond_d, double, uint64_t)
DEFINE_ANY_BEYOND(any_beyond_f, float, uint32_t)

/* Two loops with the same results for arguments up to the limit; the first is the faster one. */
#define DEFINE_EXP_PASS(S, T, LIMIT_BITS, CALL, WHOLE)                                                              \
    DEFINE_PASS(exp_pass_##S##_near, T, CALL)                                                                       \
    DEFINE_PASS(exp_pass_##S##_whole, T, WHOLE)                                                                     \
    static void F(exp_pass_##S)(const T *x, T *y, ptrdiff_t n) {                                                    \
        for (; n > 0; n -= BLOCK, x += BLOCK, y += BLOCK) {                                                         \
            const ptrdiff_t m = n < BLOCK ? n : BLOCK;                                                              \
            (F(any_beyond_##S)(x, m, LIMIT_BITS) ? F(exp_pass_##S##_whole) : F(exp_pass_##S##_near))(x, y, m);      \
        }                                                                                                           \
    }

DEFINE_EXP_PASS(d, double, EXP_FAR_BITS, F(exp), F(exp_whole))
DEFINE_EXP_PASS(f, float, EXP_FAR_BITS_F, F(exp_single), F(exp_single_whole))

/* A loop for arguments up to FAR; others are replaced one by one, wherever they stand. */
#define DEFINE_CIRCULAR_PASS(NAME, S, T, LIMIT_BITS, CALL, BEYOND)                                                  \
    DEFINE_PASS(NAME##_near, T, CALL)                                                                               \
    static void F(NAME##_patch)(const T *x, T *y, ptrdiff_t n) {                                                    \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                         \
            if (fabs((double)x[i]) > FAR) y[i] = (T)BEYOND(x[i]);                                                   \
        }                                                                                                           \
    }                                                                                                               \
    static void F(NAME)(const T *x, T *y, ptrdiff_t n) {                                                            \
        T copy[BLOCK];                                                                                              \
        for (; n > 0; n -= BLOCK, x += BLOCK, y += BLOCK) {                                                         \
            const ptrdiff_t m = n < BLOCK ? n : BLOCK;                                                              \
            const int beyond = F(any_beyond_##S)(x, m, LIMIT_BITS);                                                 \
            if (beyond) memcpy(copy, x, (size_t)m * sizeof(T));                                                     \
            F(NAME##_near)(x, y, m);                                                                                \
            if (beyond) F(NAME##_patch)(copy, y, m);                                                                \
        }                                                                                                           \
    }

#define DEFINE_CIRCULAR_PASSES(NAME)                                                                                \
    DEFINE_CIRCULAR_PASS(NAME##_pass_d, d, double, FAR_BITS, F(NAME), F(NAME##_far))                                \
    DEFINE_CIRCULAR_PASS(NAME##_pass_f, f, float, FAR_BITS_F, F(NAME##_single), F(NAME##_far))

DEFINE_CIRCULAR_PASSES(sin)
DEFINE_CIRCULAR_PASSES(cos)
DEFINE_CIRCULAR_PASSES(tan)
