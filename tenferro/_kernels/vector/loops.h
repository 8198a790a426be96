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

#define DEFINE_LOOPS(f)                                                                                             \
    DEFINE_PASS(f##_pass_d, double, F(f))                                                                           \
    DEFINE_PASS(f##_pass_f, float, F(f##_single))                                                                   \
    static void F(f##_d)(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {                      \
        (void)unused;                                                                                               \
        F(run_d)(F(f##_pass_d), args, *n, st);                                                                      \
    }                                                                                                               \
    static void F(f##_f)(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {                      \
        (void)unused;                                                                                               \
        F(run_f)(F(f##_pass_f), args, *n, st);                                                                      \
    }

/* The same for functions whose reduction ends at FAR: elements beyond it are computed one by one, wherever they stand. */
#define DEFINE_FAR_PASS(NAME, T, WORD, FAR_BITS, CALL, BEYOND)                                                      \
    static void F(NAME##_patch)(const T *x, T *y, ptrdiff_t n) {                                                    \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                         \
            if (fabs((double)x[i]) > FAR) y[i] = (T)BEYOND(x[i]);                                                   \
        }                                                                                                           \
    }                                                                                                               \
    static void F(NAME)(const T *x, T *y, ptrdiff_t n) {                                                            \
        T copy[BLOCK];                                                                                              \
        for (; n > 0; n -= BLOCK, x += BLOCK, y += BLOCK) {                                                         \
            const ptrdiff_t m = n < BLOCK ? n : BLOCK;                                                              \
            WORD far = 0;                                                                                           \
            for (ptrdiff_t i = 0; i < m; i++) {                                                                     \
                WORD b;                                                                                             \
                memcpy(&b, &x[i], sizeof b);                                                                        \
                far |= FAR_BITS - (b & ~((WORD)1 << (8 * sizeof(WORD) - 1)));                                       \
            }                                                                                                       \
            const int any = far >> (8 * sizeof(WORD) - 1) != 0;                                                     \
            if (any) memcpy(copy, x, (size_t)m * sizeof(T));                                                        \
            F(NAME##_all)(x, y, m);                                                                                 \
            if (any) F(NAME##_patch)(copy, y, m);                                                                   \
        }                                                                                                           \
    }

#define DEFINE_FAR_LOOPS(f)                                                                                         \
    DEFINE_PASS(f##_pass_d_all, double, F(f))                                                                       \
    DEFINE_PASS(f##_pass_f_all, float, F(f##_single))                                                               \
    DEFINE_FAR_PASS(f##_pass_d, double, uint64_t, 0x412e848000000000ULL, F(f), F(f##_far))                          \
    DEFINE_FAR_PASS(f##_pass_f, float, uint32_t, 0x49742400u, F(f##_single), F(f##_far))                            \
    static void F(f##_d)(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {                      \
        (void)unused;                                                                                               \
        F(run_d)(F(f##_pass_d), args, *n, st);                                                                      \
    }                                                                                                               \
    static void F(f##_f)(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *unused) {                      \
        (void)unused;                                                                                               \
        F(run_f)(F(f##_pass_f), args, *n, st);                                                                      \
    }
