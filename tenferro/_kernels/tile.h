/* Copies of a matrix whose rows are adjacent in one place and whose columns are adjacent in the other, tile by tile: every
 * cache line is then read and written once. Strides in bytes, of any sign. */
#ifndef TENFERRO_TILE_H
#define TENFERRO_TILE_H

#include <stddef.h>
#include <stdint.h>

typedef void (*tf_tile_t)(ptrdiff_t ni, ptrdiff_t nj, const char *src, ptrdiff_t si, ptrdiff_t sj, char *dst, ptrdiff_t di,
                          ptrdiff_t dj);

typedef struct {
    uint64_t part[2];
} tf_pair;

/* W x W elements; SI and DJ are constants where elements are adjacent. */
#define TF_MOVE(T, W, SI, DJ)                                                                            \
    for (int i = 0; i < W; i++) {                                                                        \
        const char *x = s + i * (SI);                                                                    \
        char *y = d + i * di;                                                                            \
        for (int j = 0; j < W; j++, x += sj)                                                             \
            *(T *)(y + j * (DJ)) = *(const T *)x;                                                        \
    }

#define TF_TILE(NAME, T, W)                                                                              \
    static void NAME(ptrdiff_t ni, ptrdiff_t nj, const char *src, ptrdiff_t si, ptrdiff_t sj, char *dst, \
                     ptrdiff_t di, ptrdiff_t dj) {                                                       \
        const int adjacent = si == (ptrdiff_t)sizeof(T) && dj == (ptrdiff_t)sizeof(T);                   \
        for (ptrdiff_t i0 = 0; i0 < ni; i0 += W)                                                         \
            for (ptrdiff_t j0 = 0; j0 < nj; j0 += W) {                                                   \
                const char *s = src + i0 * si + j0 * sj;                                                 \
                char *d = dst + i0 * di + j0 * dj;                                                       \
                if (i0 + W > ni || j0 + W > nj) {                                                        \
                    for (ptrdiff_t i = 0; i < W && i0 + i < ni; i++)                                     \
                        for (ptrdiff_t j = 0; j < W && j0 + j < nj; j++)                                 \
                            *(T *)(d + i * di + j * dj) = *(const T *)(s + i * si + j * sj);             \
                } else if (adjacent) {                                                                   \
                    TF_MOVE(T, W, (ptrdiff_t)sizeof(T), (ptrdiff_t)sizeof(T))                            \
                } else {                                                                                 \
                    TF_MOVE(T, W, si, dj)                                                                \
                }                                                                                        \
            }                                                                                            \
    }

TF_TILE(tf_tile_1, uint8_t, 16)
TF_TILE(tf_tile_2, uint16_t, 16)
TF_TILE(tf_tile_4, uint32_t, 16)
TF_TILE(tf_tile_8, uint64_t, 8)
TF_TILE(tf_tile_16, tf_pair, 4)

static inline tf_tile_t tf_tile(int itemsize) {
    switch (itemsize) {
    case 1: return tf_tile_1;
    case 2: return tf_tile_2;
    case 4: return tf_tile_4;
    case 8: return tf_tile_8;
    default: return tf_tile_16;
    }
}

#endif
