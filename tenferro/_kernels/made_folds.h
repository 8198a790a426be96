/* Sums of what a pass makes: a tile of all operands is made, folded while it is in the cache, and overwritten by the next one.
 * The order of summation is that of `tf_fold` over the same elements in memory, which are dense. */
#ifndef TENFERRO_MADE_FOLDS_H
#define TENFERRO_MADE_FOLDS_H

#include "folds.h"
#include "made.h"

enum { TF_RUNS_TILE = 128 << 10, TF_COLUMNS_TILE = 256 << 10, TF_LEAF = 16 * TF_RUN };     /* bytes */

enum { TF_EIGHTH = 8 };                         /* rows */

typedef struct {
    _Alignas(16) char level[64][16];
    size_t count;
} tf_counter;

typedef struct {
    const tf_made *s;
    tf_walk *w;                                 /* one for each sum, of the same walk */
    tf_counter *runs;
    char *tiles[TF_MADE], *scratch, *some;
    tf_int room;                                /* bytes of a tile */
} tf_making;

/* Make `rows` rows, `step` bytes apart, side by side. */
static inline void tf_tile(tf_making *a, tf_int x, tf_int rows, tf_int step, tf_int bytes) {
    const tf_made *s = a->s;
    if (step == bytes) {
        bytes *= rows;
        rows = 1;
    }
    for (tf_int r = 0; r < rows; r++)
        s->make(s->work, (x + r * step) / s->item, bytes / s->item, r * bytes / s->item, a->tiles, a->scratch);
}

static inline const char *tf_operand(const tf_making *a, int k, tf_int x) {
    return a->s->whole[k] ? a->s->whole[k] + x : a->tiles[a->s->tile[k]];
}

/* A row that is longer than a tile, by the leaves of which its sum is made anyway; m results, the j-th ones. */
static inline void tf_long_row(tf_making *a, tf_int x, tf_int j, tf_int m) {
    const tf_walk *w = a->w;
    const tf_folder *f = w->f;
    const tf_int bytes = w->n * w->sn;
    _Alignas(16) char t[16];
    size_t q;
    for (int k = 0; k < a->s->sums; k++)
        a->runs[k].count = 0;
    for (tf_int i = 0; i < bytes; i += a->room) {
        const tf_int b = bytes - i < a->room ? bytes - i : a->room;
        tf_tile(a, x + i, 1, b, b);
        for (int k = 0; k < a->s->sums; k++) {
            tf_counter *c = a->runs + k;
            for (tf_int l = 0; l < b; l += TF_LEAF) {
                const tf_int n = (b - l < TF_LEAF ? b - l : TF_LEAF) / w->sn;
                f->rows(t, 0, tf_operand(a, k, x + i) + l, f->item, m, w->sn, n, NULL);
                for (q = 0; c->count >> q & 1; q++)
                    f->add(t, c->level[q], m);
                memcpy(c->level[q], t, sizeof t);
                c->count++;
            }
        }
    }
    for (int k = 0; k < a->s->sums; k++) {
        const tf_counter *c = a->runs + k;
        for (q = 0; !(c->count >> q & 1); q++)
            ;
        memcpy(t, c->level[q], sizeof t);
        for (q++; c->count >> q; q++)
            if (c->count >> q & 1)
                f->add(t, c->level[q], m);
        memcpy(a->w[k].acc + j * f->item, t, m * f->item);
    }
}

/* As tf_part: whole runs. */
static inline void tf_made_runs(tf_making *a, tf_int x, tf_int m) {
    const tf_walk *w = a->w;
    const tf_folder *f = w->f;
    const int one = m == 1 || (w->n > 1 && w->sn > w->sj);          /* one run holds all results */
    const tf_int rows = one ? 1 : m, bytes = w->n * w->sn, most = one ? 1 : a->room / bytes;
    if (bytes > a->room) {
        for (tf_int j = 0; j < rows; j++)
            tf_long_row(a, x + j * w->sj, j, one ? m : 1);
        return;
    }
    for (tf_int j = 0; j < rows; j += most) {
        const tf_int c = rows - j < most ? rows - j : most;
        tf_tile(a, x + j * w->sj, c, one ? bytes : w->sj, bytes);
        for (int k = 0; k < a->s->sums; k++)
            f->rows(a->w[k].acc + j * f->item, w->width, tf_operand(a, k, x + j * w->sj), one || a->s->whole[k] ? w->sj : bytes,
                    one ? m : c, w->sn, w->n, NULL);
    }
}

/* Rows of a leaf, from the i-th one on, added as `cols` does: eight at a time, then four, then one. */
static inline void tf_some_rows(tf_making *a, tf_walk *w, const char *x, tf_int step, tf_int i, tf_int rows, tf_int wide) {
    const tf_folder *f = w->f;
    const tf_int all = w->n / w->group;
    for (tf_int r = 0, c; r < rows; r += c) {
        const tf_int before = (i + r) % TF_ROWS, left = rows - r;
        c = before == 0 && left >= TF_ROWS ? TF_ROWS : left >= TF_EIGHTH ? TF_EIGHTH : left >= 4 ? 4 : 1;
        f->cols(before ? a->some : w->acc, w->width, x + r * step, w->sj, wide, step, c, NULL);
        if (before)
            f->add(w->acc, a->some, wide);
        if (before + c == TF_ROWS || i + r + c == all)
            tf_push(w);
    }
}

/* As tf_part: rows of m neighbouring elements, `group` of which count as one. */
static inline void tf_made_columns(tf_making *a, tf_int x, tf_int m) {
    const tf_walk *w = a->w;
    const tf_folder *f = w->f;
    const tf_int wide = m * w->group, bytes = wide * w->sj, sn = w->group * w->sn;
    const tf_int rows = w->n / w->group, rest = w->n % w->group;
    const tf_int most = a->room / bytes / TF_EIGHTH * TF_EIGHTH;
    for (tf_int i = 0; i < rows; i += most) {
        const tf_int c = rows - i < most ? rows - i : most;
        tf_tile(a, x + i * sn, c, sn, bytes);
        for (int k = 0; k < a->s->sums; k++)
            tf_some_rows(a, a->w + k, tf_operand(a, k, x + i * sn), a->s->whole[k] ? sn : bytes, i, c, wide);
    }
    if (rest) {
        x += rows * sn;
        tf_tile(a, x, 1, 0, rest * m * w->sj);
        for (int k = 0; k < a->s->sums; k++) {
            f->clear(a->w[k].acc, w->width);
            f->cols(a->w[k].acc, w->width, tf_operand(a, k, x), w->sj, rest * m, w->sn, 1, NULL);
            tf_push(a->w + k);
        }
    }
}

/* As tf_part: parts of runs for all m results at once. */
static inline void tf_made_chunks(tf_making *a, tf_int x, tf_int m) {
    const tf_walk *w = a->w;
    const tf_int bytes = m * w->sj, size = TF_LEAF / w->f->item;
    for (tf_int i = 0; i < w->n; i += size) {
        const tf_int c = w->n - i < size ? w->n - i : size;
        tf_tile(a, x + i * w->sn, c, w->sn, bytes);
        for (int k = 0; k < a->s->sums; k++) {
            w->f->rows(a->w[k].acc, w->width, tf_operand(a, k, x + i * w->sn), w->sj, m, a->s->whole[k] ? w->sn : bytes, c,
                       NULL);
            tf_push(a->w + k);
        }
    }
}

static inline void tf_made_part(tf_making *a, tf_int x, tf_int m) {
    const tf_walk *w = a->w;
    if (w->mode != TF_WHOLE) {
        (w->mode == TF_COLUMNS ? tf_made_columns : tf_made_chunks)(a, x, m);
        return;
    }
    if (w->n == 1 && m > 1) {
        tf_tile(a, x, 1, m * w->sj, m * w->sj);
        for (int k = 0; k < a->s->sums; k++)
            w->f->rows(a->w[k].acc, w->width, tf_operand(a, k, x), w->sj, m, w->sn, 1, NULL);
    } else {
        tf_made_runs(a, x, m);
    }
    for (int k = 0; k < a->s->sums; k++)
        tf_push(a->w + k);
}

/* Results of a block that are computed at a time; sets the size of a tile, of which all `bytes` need no more than one. */
static inline tf_int tf_made_block(tf_making *a, tf_int bytes) {
    const tf_walk *w = a->w;
    const tf_int item = w->f->item, eight = TF_EIGHTH * w->group * item, tiles = a->s->tiles ? a->s->tiles : 1;
    const tf_int most = (w->mode == TF_WHOLE ? TF_RUNS_TILE : TF_COLUMNS_TILE) / tiles;
    tf_int block = TF_BLOCK_BYTES / item < w->m ? TF_BLOCK_BYTES / item : w->m, least = block * item;
    if (w->mode == TF_CHUNKS) {
        least = TF_LEAF * w->m;
    } else if (w->mode == TF_COLUMNS) {
        block = eight * w->m > most ? most / eight / 16 * 16 : w->m;
        least = eight * block;
    }
    a->room = ((bytes < most ? bytes : most) + TF_LEAF - 1) / TF_LEAF * TF_LEAF;
    a->room = a->room < least ? (least + TF_LEAF - 1) / TF_LEAF * TF_LEAF : a->room;
    return block;
}

/* For each sum k: out[k] + to = fold(x_k) * mul / div[k], where x_k are the elements from the x-th byte on, if all were in
 * memory; the other arguments are those of tf_fold. -1: no memory. */
static __attribute__((noinline)) int tf_fold_made(const tf_made *s, const tf_folder *f, int rank, const tf_int *shape,
                                                  const tf_int *xs, const tf_int *os, tf_int x, char *const *out, tf_int to,
                                                  tf_int parts, tf_int part, double mul, const double *div) {
    tf_walk plan;
    const double total = tf_plan(&plan, f, rank, shape, xs, os, parts, part);
    const size_t levels = tf_levels(&plan);
    tf_making a = {.s = s, .w = &plan};
    tf_int bytes = s->item;
    for (int i = 0; i < rank; i++)
        bytes *= shape[i];
    const tf_int block = tf_made_block(&a, bytes), need = (block * plan.group * f->item + 63) / 64 * 64;
    tf_int at[66] = {0}, in[66], offset, xo = 0, oo;
    const size_t tiles = s->tiles * a.room, walks = s->sums * sizeof(tf_walk), runs = s->sums * sizeof(tf_counter);
    char *memory = (char *)malloc(s->scratch + tiles + (s->sums * (levels + 1) + 1) * need + walks + runs + 128), *p;
    if (!memory)
        return -1;
    p = a.scratch = memory + (-(uintptr_t)memory & 63);
    a.some = p += s->scratch;
    p += need;
    for (int k = 0; k < s->tiles; k++, p += a.room)
        a.tiles[k] = p;
    a.w = (tf_walk *)(p + s->sums * (levels + 1) * need);
    a.runs = (tf_counter *)((char *)a.w + (walks + 15) / 16 * 16);
    for (int k = 0; k < s->sums; k++) {
        tf_walk *w = a.w + k;
        *w = plan;
        w->c = NULL;
        w->acc = p;
        p += need;
        for (size_t i = 0; i < levels; i++, p += need)
            w->level[i] = p;
    }
    do {
        oo = to;
        for (int i = 0; i < plan.kept; i++)
            oo += at[i] * plan.ko[i];
        for (tf_int b = 0; b < plan.m; b += block) {
            const tf_int m = plan.m - b < block ? plan.m - b : block;
            memset(in, 0, sizeof in);
            offset = 0;
            for (int k = 0; k < s->sums; k++) {
                a.w[k].width = m * plan.group;
                a.w[k].count = 0;
            }
            do
                tf_made_part(&a, x + xo + b * plan.sj + offset, m);
            while (tf_next(plan.folded, plan.fn, in, plan.fx, &offset));
            for (int k = 0; k < s->sums; k++) {
                tf_total(a.w + k, m);
                f->finish(a.w[k].acc, a.w[k].width, m, out[k] + oo + b * plan.so, plan.so, total, mul, div[k], NULL, 0);
            }
        }
    } while (tf_next(plan.kept, plan.kn, at, plan.kx, &xo));
    free(memory);
    return 0;
}

#endif
