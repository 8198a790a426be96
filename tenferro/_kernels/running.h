/* Inner loops of running sums and products, out[i] = out[i - 1] op x[i]: the last result stays in a register. Where the
 * operands are something else, the loop that is handed over as data runs. The results are those of that loop. */
#ifndef TENFERRO_RUNNING_H
#define TENFERRO_RUNNING_H

#include <stddef.h>
#include <stdint.h>

typedef void (*tf_running)(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *data);
typedef struct { tf_running fn; void *data; } tf_other_loop;

#define TF_RUNNING(NAME, T, N, STEP)                                                                    \
    static void NAME(char **args, const ptrdiff_t *n, const ptrdiff_t *st, void *data) {                \
        const ptrdiff_t count = *n, s = st[1], o = st[2];                                               \
        const char *x = args[1];                                                                        \
        char *y = args[2];                                                                              \
        T t[N];                                                                                         \
        if (y - args[0] != o || st[0] != o) {                                                           \
            const tf_other_loop *other = (const tf_other_loop *)data;                                   \
            other->fn(args, n, st, other->data);                                                        \
            return;                                                                                     \
        }                                                                                               \
        for (int q = 0; q < N; q++)                                                                     \
            t[q] = ((const T *)args[0])[q];                                                             \
        for (ptrdiff_t i = 0; i < count; i++, x += s, y += o) {                                         \
            const T *const v = (const T *)x;                                                            \
            STEP;                                                                                       \
            for (int q = 0; q < N; q++)                                                                 \
                ((T *)y)[q] = t[q];                                                                     \
        }                                                                                               \
    }

#define TF_PLUS t[0] += v[0]
#define TF_PLUS2 t[0] += v[0], t[1] += v[1]
#define TF_MULTIPLY t[0] *= v[0]
#define TF_MULTIPLY2(T)                                     \
    do {                                                    \
        const T a = t[0], b = t[1];                         \
        t[0] = a * v[0] - b * v[1];                         \
        t[1] = a * v[1] + b * v[0];                         \
    } while (0)

TF_RUNNING(tf_cumsum_64, uint64_t, 1, TF_PLUS)
TF_RUNNING(tf_cumsum_f32, float, 1, TF_PLUS)
TF_RUNNING(tf_cumsum_f64, double, 1, TF_PLUS)
TF_RUNNING(tf_cumsum_c64, float, 2, TF_PLUS2)
TF_RUNNING(tf_cumsum_c128, double, 2, TF_PLUS2)
TF_RUNNING(tf_cumprod_64, uint64_t, 1, TF_MULTIPLY)
TF_RUNNING(tf_cumprod_f32, float, 1, TF_MULTIPLY)
TF_RUNNING(tf_cumprod_f64, double, 1, TF_MULTIPLY)
TF_RUNNING(tf_cumprod_c64, float, 2, TF_MULTIPLY2(float))
TF_RUNNING(tf_cumprod_c128, double, 2, TF_MULTIPLY2(double))

static const tf_running tf_cumsums[13] = {NULL, NULL, NULL, NULL, tf_cumsum_64, NULL, NULL, NULL, tf_cumsum_64,
                                          tf_cumsum_f32, tf_cumsum_f64, tf_cumsum_c64, tf_cumsum_c128};
static const tf_running tf_cumprods[13] = {NULL, NULL, NULL, NULL, tf_cumprod_64, NULL, NULL, NULL, tf_cumprod_64,
                                           tf_cumprod_f32, tf_cumprod_f64, tf_cumprod_c64, tf_cumprod_c128};

#endif
