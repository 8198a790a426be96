/* Means and sums of squared deviations of the parts of something long, from which the sum of the whole follows. */
#ifndef TENFERRO_PARTIAL_MOMENTS_H
#define TENFERRO_PARTIAL_MOMENTS_H

#include "deviations.h"

/* The folds of `deviations.h`, but every result is two doubles: the mean, and the sum of squared deviations from it. */
#define TF_PART_MOMENT(NAME, MOMENT, SUM, T)                                                            \
    static int NAME##_finish(void *acc, tf_int plane, tf_int m, char *out, tf_int so, double n, double mul, \
                             double div, void *vc, int again) {                                         \
        T *c = (T *)vc;                                                                                 \
        int bad = 0;                                                                                    \
        for (tf_int j = 0; j < m; j++) {                                                                \
            const double t = ((T *)acc)[j], v = ((T *)acc)[plane + j], w = t * (t / n);                 \
            double *const to = (double *)(out + j * so);                                                \
            to[0] = (double)c[j] + t / n;                                                               \
            to[1] = isinf(v) && isfinite(t) ? v : (w > v ? 0 : v - w);                                  \
            if (!again && w > 0.75 * v && isfinite(v)) {                                                \
                c[j] += (T)(t / n);                                                                     \
                bad = 1;                                                                                \
            }                                                                                           \
        }                                                                                               \
        return bad;                                                                                     \
    }                                                                                                   \
    static const tf_folder NAME = {MOMENT##_rows, MOMENT##_cols, SUM##_add, SUM##_clear, NAME##_finish, \
                                   MOMENT##_sample, sizeof(T), 2, 0};

TF_PART_MOMENT(tf_part_f32, tf_moment_f32, tf_sum_f32, float)
TF_PART_MOMENT(tf_part_f64, tf_moment_f64, tf_sum_f64, double)

static inline double tf_pairwise(const double *x, tf_int n) {
    if (n > 2)
        return tf_pairwise(x, n / 2) + tf_pairwise(x + n / 2, n - n / 2);
    return n == 2 ? x[0] + x[1] : x[0];
}

enum { TF_MOST_PARTS = 64 };

/* The parts are `step` bytes apart and have n elements each, the last one `rest`. The difference between the means of the
 * parts and that of the whole goes into the sum (T. F. Chan, G. H. Golub, R. J. LeVeque, 1983). */
static double tf_join_moments(const char *parts, tf_int step, tf_int count, double n, double rest) {
    double mean[TF_MOST_PARTS], square[TF_MOST_PARTS], share[TF_MOST_PARTS];
    const double first = *(const double *)parts, all = n * (double)(count - 1) + rest;
    for (tf_int i = 0; i < count; i++) {
        const double *const p = (const double *)(parts + i * step), size = i < count - 1 ? n : rest;
        mean[i] = p[0] - first;
        square[i] = p[1];
        share[i] = mean[i] * (size / all);
    }
    const double shift = tf_pairwise(share, count);
    for (tf_int i = 0; i < count; i++) {
        const double d = mean[i] - shift;
        square[i] += d * d * (i < count - 1 ? n : rest);
    }
    return tf_pairwise(square, count);
}

#endif
