/* Moves of one tile between strided layouts: rows that are adjacent in the source become columns that are adjacent in the
 * destination. A tile of W x W elements, where W elements fill a cache line, reads and writes whole lines, in registers. */
#ifndef TENFERRO_TILE_H
#define TENFERRO_TILE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { TF_LINE = 64, TF_TILE_MAX = 64 };

#define TF_LOOSE __attribute__((aligned(1), may_alias))
typedef uint8_t tf_u1 TF_LOOSE;
typedef uint16_t tf_u2 TF_LOOSE;
typedef uint32_t tf_u4 TF_LOOSE;
typedef uint64_t tf_u8 TF_LOOSE;
typedef struct {
    uint64_t part[2];
} TF_LOOSE tf_u16;
typedef uint8_t tf_v1 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint16_t tf_v2 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint32_t tf_v4 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t tf_v8 __attribute__((vector_size(16), aligned(1), may_alias));

/* Byte offsets of a tile's elements: element (i, j) is at src_i[i] + src_j[j] and goes to dst_i[i] + dst_j[j]. */
typedef struct {
    ptrdiff_t src_i[TF_TILE_MAX], dst_i[TF_TILE_MAX], src_j[TF_TILE_MAX], dst_j[TF_TILE_MAX];
    int src_rows;   /* elements are adjacent in the source along j */
    int dst_lines;  /* elements are adjacent in the destination along i */
    int stream;     /* the destination's lines are aligned and not wanted in the cache */
} tf_tile;

typedef void (*tf_tile_t)(const tf_tile *t, int ni, int nj, const char *src, char *dst);

static inline void tf_put(char *to, const void *from, int stream) {
#if defined(__SSE2__)
    if (stream) {
        _mm_stream_si128((__m128i *)to, _mm_loadu_si128((const __m128i *)from));
        return;
    }
#endif
    memcpy(to, from, 16);
}

/* Makes streamed lines visible before anything that is stored later. */
static inline void tf_fence(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

static inline void tf_put_line(char *to, const void *from, int stream) {
    for (int k = 0; k < TF_LINE; k += 16)
        tf_put(to + k, (const char *)from + k, stream);
}

#if defined(__clang__) || __GNUC__ >= 12
#define TF_SHUFFLE(V, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define TF_SHUFFLE(V, a, b, ...) __builtin_shuffle(a, b, (V){__VA_ARGS__})
#endif
#define TF_LO1(a, b) TF_SHUFFLE(tf_v1, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define TF_HI1(a, b) TF_SHUFFLE(tf_v1, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define TF_LO2(a, b) TF_SHUFFLE(tf_v2, a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define TF_HI2(a, b) TF_SHUFFLE(tf_v2, a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define TF_LO4(a, b) TF_SHUFFLE(tf_v4, a, b, 0, 4, 1, 5)
#define TF_HI4(a, b) TF_SHUFFLE(tf_v4, a, b, 2, 6, 3, 7)
#define TF_LO8(a, b) TF_SHUFFLE(tf_v8, a, b, 0, 2)
#define TF_HI8(a, b) TF_SHUFFLE(tf_v8, a, b, 1, 3)

/* N vectors of N elements are transposed by interleaving the two halves of the list log2(N) times. */
#define TF_MICRO(B)                                                                                        \
    static inline __attribute__((always_inline)) void tf_micro_##B(const char *const *rows, ptrdiff_t at,  \
                                                                   tf_v##B *out) {                         \
        enum { N = 16 / B };                                                                               \
        tf_v##B x[N];                                                                                      \
        for (int i = 0; i < N; i++)                                                                        \
            x[i] = *(const tf_v##B *)(rows[i] + at);                                                       \
        for (int step = 1; step < N; step *= 2) {                                                          \
            for (int i = 0; i < N / 2; i++) {                                                              \
                out[2 * i] = TF_LO##B(x[i], x[i + N / 2]);                                                 \
                out[2 * i + 1] = TF_HI##B(x[i], x[i + N / 2]);                                             \
            }                                                                                              \
            for (int i = 0; i < N; i++)                                                                    \
                x[i] = out[i];                                                                             \
        }                                                                                                  \
    }

/* Rows of one line each into lines of one element of each row. Small elements go through a copy of the rows: there are more
 * of them than a cache has ways, and their distance is often a power of two. */
#define TF_BLOCK(B)                                                                                        \
    static void tf_block_##B(const tf_tile *t, int i0, int j0, const char *src, char *dst) {               \
        enum { N = 16 / B, W = TF_LINE / B };                                                              \
        const char *rows[W];                                                                               \
        tf_v##B near_rows[B < 4 ? W : 1][4];                                                               \
        src += t->src_j[j0];                                                                               \
        dst += t->dst_i[i0];                                                                               \
        for (int i = 0; i < W; i++) {                                                                      \
            rows[i] = src + t->src_i[i0 + i];                                                              \
            if (B < 4) {                                                                                   \
                memcpy(near_rows[i], rows[i], TF_LINE);                                                    \
                rows[i] = (const char *)near_rows[i];                                                      \
            }                                                                                              \
        }                                                                                                  \
        for (int j = 0; j < W; j += N) {                                                                   \
            tf_v##B part[4][N];                                                                            \
            for (int q = 0; q < 4; q++)                                                                    \
                tf_micro_##B(rows + q * N, j * B, part[q]);                                                \
            for (int k = 0; k < N; k++) {                                                                  \
                char *line = dst + t->dst_j[j0 + j + k];                                                   \
                for (int q = 0; q < 4; q++)                                                                \
                    tf_put(line + 16 * q, &part[q][k], t->stream);                                         \
            }                                                                                              \
        }                                                                                                  \
    }

/* 16 bytes are a vector already. */
static void tf_block_16(const tf_tile *t, int i0, int j0, const char *src, char *dst) {
    for (int j = j0; j < j0 + 4; j++)
        for (int i = i0; i < i0 + 4; i++)
            tf_put(dst + t->dst_j[j] + t->dst_i[i], src + t->src_j[j] + t->src_i[i], t->stream);
}

TF_MICRO(1)
TF_MICRO(2)
TF_MICRO(4)
TF_MICRO(8)
TF_BLOCK(1)
TF_BLOCK(2)
TF_BLOCK(4)
TF_BLOCK(8)

/* Part of a tile of any size and any strides, in the order of the destination. */
#define TF_PART(B)                                                                                         \
    static void tf_part_##B(const tf_tile *t, int i0, int i1, int j0, int j1, const char *src, char *dst) { \
        for (int j = j0; j < j1; j++) {                                                                    \
            const char *s = src + t->src_j[j];                                                             \
            char *d = dst + t->dst_j[j];                                                                   \
            if (t->stream && i1 - i0 == TF_LINE / B) {                                                     \
                tf_u##B line[TF_LINE / B];                                                                 \
                for (int i = 0; i < TF_LINE / B; i++)                                                      \
                    line[i] = *(const tf_u##B *)(s + t->src_i[i0 + i]);                                    \
                tf_put_line(d + t->dst_i[i0], line, 1);                                                    \
            } else if (t->dst_lines) {                                                                     \
                tf_u##B *line = (tf_u##B *)(d + t->dst_i[i0]);                                             \
                for (int i = i0; i < i1; i++)                                                              \
                    *line++ = *(const tf_u##B *)(s + t->src_i[i]);                                         \
            } else {                                                                                       \
                for (int i = i0; i < i1; i++)                                                              \
                    *(tf_u##B *)(d + t->dst_i[i]) = *(const tf_u##B *)(s + t->src_i[i]);                   \
            }                                                                                              \
        }                                                                                                  \
    }

#define TF_TILE(B)                                                                                         \
    static void tf_tile_##B(const tf_tile *t, int ni, int nj, const char *src, char *dst) {                \
        enum { W = TF_LINE / B };                                                                          \
        for (int i0 = 0; i0 < ni; i0 += W) {                                                               \
            const int i1 = i0 + W < ni ? i0 + W : ni;                                                      \
            for (int j0 = 0; j0 < nj; j0 += W) {                                                           \
                const int j1 = j0 + W < nj ? j0 + W : nj;                                                  \
                if (t->src_rows && t->dst_lines && i1 - i0 == W && j1 - j0 == W)                           \
                    tf_block_##B(t, i0, j0, src, dst);                                                     \
                else                                                                                       \
                    tf_part_##B(t, i0, i1, j0, j1, src, dst);                                              \
            }                                                                                              \
        }                                                                                                  \
    }

#define TF_MOVES(B) TF_PART(B) TF_TILE(B)
TF_MOVES(1)
TF_MOVES(2)
TF_MOVES(4)
TF_MOVES(8)
TF_MOVES(16)

/* n elements, whose distances in the source and in the destination are constant. */
#define TF_STRIDED(B)                                                                                          \
    static void tf_strided_##B(ptrdiff_t n, const char *src, ptrdiff_t s, char *dst, ptrdiff_t d) {            \
        if (d == B && s == 2 * B)                                                                          \
            for (ptrdiff_t i = 0; i < n; i++)                                                              \
                ((tf_u##B *)dst)[i] = ((const tf_u##B *)src)[2 * i];                                       \
        else if (d == B && s == -B)                                                                        \
            for (ptrdiff_t i = 0; i < n; i++)                                                              \
                ((tf_u##B *)dst)[i] = *((const tf_u##B *)src - i);                                         \
        else if (d == B && s == 0) {                                                                       \
            const tf_u##B x = *(const tf_u##B *)src;                                                       \
            for (ptrdiff_t i = 0; i < n; i++)                                                              \
                ((tf_u##B *)dst)[i] = x;                                                                   \
        } else                                                                                             \
            for (ptrdiff_t i = 0; i < n; i++, src += s, dst += d)                                          \
                *(tf_u##B *)dst = *(const tf_u##B *)src;                                                   \
    }

TF_STRIDED(1)
TF_STRIDED(2)
TF_STRIDED(4)
TF_STRIDED(8)
TF_STRIDED(16)

typedef void (*tf_strided_t)(ptrdiff_t n, const char *src, ptrdiff_t s, char *dst, ptrdiff_t d);

static inline tf_tile_t tf_tile_of(int item) {
    switch (item) {
    case 1: return tf_tile_1;
    case 2: return tf_tile_2;
    case 4: return tf_tile_4;
    case 8: return tf_tile_8;
    default: return tf_tile_16;
    }
}

static inline tf_strided_t tf_strided_of(int item) {
    switch (item) {
    case 1: return tf_strided_1;
    case 2: return tf_strided_2;
    case 4: return tf_strided_4;
    case 8: return tf_strided_8;
    default: return tf_strided_16;
    }
}

/* A contiguous run, past the caches where that pays: whole aligned lines. */
static void tf_run(char *dst, const char *src, size_t n, int stream) {
    if (stream && n >= 4 * TF_LINE) {
        size_t head = (size_t)(-(uintptr_t)dst) % TF_LINE;
        memcpy(dst, src, head);
        dst += head;
        src += head;
        n -= head;
        for (; n >= TF_LINE; n -= TF_LINE, dst += TF_LINE, src += TF_LINE)
            tf_put_line(dst, src, 1);
    }
    memcpy(dst, src, n);
}

#endif
