/* Products of reflectors for small row-major matrices, and transposition; LAPACK's calls cost more than they compute. */
#ifndef TENFERRO_LINALG_REFLECTORS_H
#define TENFERRO_LINALG_REFLECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* In place of A (m x n), the first n columns of H[0] ... H[k - 1]; w has room for n numbers. */
#define TF_REFLECTORS(NAME, T)                                                                                         \
    static void NAME##_real(T *a, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const T *tau, T *restrict w) {                \
        for (ptrdiff_t i = n - 1; i >= 0; --i) {                                                                       \
            const T t = i < k ? tau[i] : 0;                                                                            \
            if (i < k) {                                                                                               \
                for (ptrdiff_t j = i + 1; j < n; ++j) w[j] = 0;                                                        \
                for (ptrdiff_t r = i + 1; r < m; ++r) {                                                                \
                    const T *q = a + r * n, v = q[i];                                                                  \
                    for (ptrdiff_t j = i + 1; j < n; ++j) w[j] += v * q[j];                                            \
                }                                                                                                      \
                for (ptrdiff_t j = i + 1; j < n; ++j) a[i * n + j] = -(w[j] *= t);                                     \
                for (ptrdiff_t r = i + 1; r < m; ++r) {                                                                \
                    T *q = a + r * n;                                                                                  \
                    const T v = q[i];                                                                                  \
                    for (ptrdiff_t j = i + 1; j < n; ++j) q[j] -= v * w[j];                                            \
                    q[i] = -t * v;                                                                                     \
                }                                                                                                      \
            } else {                                                                                                   \
                for (ptrdiff_t j = i + 1; j < n; ++j) a[i * n + j] = 0;                                                \
                for (ptrdiff_t r = i + 1; r < m; ++r) a[r * n + i] = 0;                                                \
            }                                                                                                          \
            a[i * n + i] = 1 - t;                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME##_complex(T *a, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const T *tau, T *restrict w) {             \
        for (ptrdiff_t i = n - 1; i >= 0; --i) {                                                                       \
            const T tr = i < k ? tau[2 * i] : 0, ti = i < k ? tau[2 * i + 1] : 0;                                      \
            T *own = a + 2 * i * n;                                                                                    \
            if (i < k) {                                                                                               \
                for (ptrdiff_t j = 2 * (i + 1); j < 2 * n; ++j) w[j] = 0;                                              \
                for (ptrdiff_t r = i + 1; r < m; ++r) {                                                                \
                    const T *q = a + 2 * r * n, x = q[2 * i], y = q[2 * i + 1];                                        \
                    for (ptrdiff_t j = i + 1; j < n; ++j) {                                                            \
                        w[2 * j] += x * q[2 * j] + y * q[2 * j + 1];                                                   \
                        w[2 * j + 1] += x * q[2 * j + 1] - y * q[2 * j];                                               \
                    }                                                                                                  \
                }                                                                                                      \
                for (ptrdiff_t j = i + 1; j < n; ++j) {                                                                \
                    const T x = w[2 * j], y = w[2 * j + 1];                                                            \
                    own[2 * j] = -(w[2 * j] = tr * x - ti * y);                                                        \
                    own[2 * j + 1] = -(w[2 * j + 1] = tr * y + ti * x);                                                \
                }                                                                                                      \
                for (ptrdiff_t r = i + 1; r < m; ++r) {                                                                \
                    T *q = a + 2 * r * n;                                                                              \
                    const T x = q[2 * i], y = q[2 * i + 1];                                                            \
                    for (ptrdiff_t j = i + 1; j < n; ++j) {                                                            \
                        q[2 * j] -= x * w[2 * j] - y * w[2 * j + 1];                                                   \
                        q[2 * j + 1] -= x * w[2 * j + 1] + y * w[2 * j];                                               \
                    }                                                                                                  \
                    q[2 * i] = ti * y - tr * x;                                                                        \
                    q[2 * i + 1] = -(tr * y + ti * x);                                                                 \
                }                                                                                                      \
            } else {                                                                                                   \
                for (ptrdiff_t j = 2 * (i + 1); j < 2 * n; ++j) own[j] = 0;                                            \
                for (ptrdiff_t r = i + 1; r < m; ++r) a[2 * (r * n + i)] = a[2 * (r * n + i) + 1] = 0;                 \
            }                                                                                                          \
            own[2 * i] = 1 - tr;                                                                                       \
            own[2 * i + 1] = -ti;                                                                                      \
        }                                                                                                              \
    }

TF_REFLECTORS(tf_reflectors_single, float)
TF_REFLECTORS(tf_reflectors_double, double)

#define TF_TRANSPOSE(NAME, T)                                                                                          \
    static void NAME(const char *source, char *target, ptrdiff_t rows, ptrdiff_t columns) {                            \
        const T *x = (const T *)source;                                                                                \
        T *y = (T *)target;                                                                                            \
        for (ptrdiff_t top = 0; top < rows; top += 8)                                                                  \
            for (ptrdiff_t j = 0; j < columns; ++j) {                                                                  \
                const ptrdiff_t end = rows - top < 8 ? rows - top : 8;                                                 \
                for (ptrdiff_t i = 0; i < end; ++i) y[j * rows + top + i] = x[(top + i) * columns + j];                \
            }                                                                                                          \
    }

typedef struct { uint64_t part[2]; } tf_pair;

TF_TRANSPOSE(tf_transpose4, uint32_t)
TF_TRANSPOSE(tf_transpose8, uint64_t)
TF_TRANSPOSE(tf_transpose16, tf_pair)

/* Row-major matrices of numbers with 4, 8 or 16 bytes to column-major ones. */
static void tf_transposed(const char *source, char *target, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t size) {
    if (size == 4) tf_transpose4(source, target, rows, columns);
    else if (size == 8) tf_transpose8(source, target, rows, columns);
    else tf_transpose16(source, target, rows, columns);
}

#endif
