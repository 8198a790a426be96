/* Folds over any axes of a strided array.
 *
 * The elements that go into one result are summed in leaves of a fixed size, and leaves are added pairwise by a binary
 * counter: the error grows with the logarithm of their number whichever axes are folded, and nothing depends on how the
 * loops were compiled. A vector of neighbouring results is computed at a time. */
#ifndef TENFERRO_FOLDS_H
#define TENFERRO_FOLDS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef ptrdiff_t tf_int;

enum { TF_BLOCK_BYTES = 8192, TF_ROWS = 32, TF_RUN = 128, TF_SAMPLES = 8 };

/* `acc` holds `planes` vectors that are `plane` accumulators apart. `rows` folds n elements, sn bytes apart, for each of m
 * results, sj bytes apart; `cols` does the same for few n, all results at once. c are the values that deviations are from.
 * `finish` stores acc * mul / div, or returns 1 after it has improved c. */
typedef struct {
    void (*rows)(void *acc, tf_int plane, const char *x, tf_int sj, tf_int m, tf_int sn, tf_int n, const void *c);
    void (*cols)(void *acc, tf_int plane, const char *x, tf_int sj, tf_int m, tf_int sn, tf_int n, const void *c);
    void (*add)(void *a, const void *b, tf_int n);
    void (*clear)(void *a, tf_int n);
    int (*finish)(void *acc, tf_int plane, tf_int m, char *out, tf_int so, double n, double mul, double div, void *c,
                  int again);
    void (*sample)(void *c, tf_int m, const char *x, tf_int sj, const tf_int *offsets, tf_int k);
    int item, planes, pairs;                    /* pairs: `rows` is fast for two results whose elements alternate */
} tf_folder;

#define TF_AT(T, p, i, s) (*(const T *)((p) + (i) * (s)))

/* ---- which way through the array ---- */

enum { TF_WHOLE, TF_CHUNKS, TF_COLUMNS };       /* runs; parts of runs for all results at once; whole rows of results */

typedef struct {
    const tf_folder *f;
    int mode, kept, folded;                     /* the innermost axes are m and n, the others are listed */
    tf_int kn[66], kx[66], ko[66], fn[66], fx[66];
    tf_int m, sj, so, n, sn, group, width;      /* `group` neighbouring rows count as one wide row */
    char *level[66], *acc, *c;
    size_t count;
} tf_walk;

static inline tf_int tf_abs(tf_int x) {
    return x < 0 ? -x : x;
}

static inline void tf_push(tf_walk *w) {
    size_t k;
    char *t;
    for (k = 0; w->count >> k & 1; k++)
        w->f->add(w->acc, w->level[k], w->width * w->f->planes);
    t = w->level[k];
    w->level[k] = w->acc;
    w->acc = t;
    w->count++;
}

/* The sum of everything pushed, in acc. */
static inline void tf_collapse(tf_walk *w) {
    size_t k = 0;
    char *t;
    while (!(w->count >> k & 1))
        k++;
    t = w->acc;
    w->acc = w->level[k];
    w->level[k] = t;
    for (k++; w->count >> k; k++)
        if (w->count >> k & 1)
            w->f->add(w->acc, w->level[k], w->width * w->f->planes);
}

static inline void tf_part(tf_walk *w, const char *x, tf_int m) {
    const tf_folder *f = w->f;
    const tf_int wide = m * w->group, rest = w->n % w->group, rows = w->n / w->group, size = 16 * TF_RUN / f->item;
    tf_int i;
    if (w->mode == TF_WHOLE) {
        f->rows(w->acc, w->width, x, w->sj, m, w->sn, w->n, w->c);
        tf_push(w);
    } else if (w->mode == TF_CHUNKS) {
        for (i = 0; i < w->n; i += size) {
            f->rows(w->acc, w->width, x + i * w->sn, w->sj, m, w->sn, w->n - i < size ? w->n - i : size, w->c);
            tf_push(w);
        }
    } else {
        for (i = 0; i < rows; i += TF_ROWS) {
            f->cols(w->acc, w->width, x + i * w->group * w->sn, w->sj, wide, w->group * w->sn,
                    rows - i < TF_ROWS ? rows - i : TF_ROWS, w->c);
            tf_push(w);
        }
        if (rest) {
            for (i = 0; i < f->planes; i++)
                f->clear(w->acc + i * w->width * f->item, w->width);
            f->cols(w->acc, w->width, x + rows * w->group * w->sn, w->sj, rest * m, w->sn, 1, w->c);
            tf_push(w);
        }
    }
}

static inline int tf_next(int rank, const tf_int *n, tf_int *at, const tf_int *s, tf_int *offset) {
    for (int i = rank - 1; i >= 0; i--) {
        *offset += s[i];
        if (++at[i] < n[i])
            return 1;
        *offset -= n[i] * s[i];
        at[i] = 0;
    }
    return 0;
}

/* Everything pushed, the rows of a group added up, in acc. */
static inline void tf_total(tf_walk *w, tf_int m) {
    const tf_folder *f = w->f;
    tf_int g, h, i;
    tf_collapse(w);
    for (g = w->group; g > 1; g = h) {
        h = (g + 1) / 2;
        for (i = 0; i < f->planes; i++)
            f->add(w->acc + i * w->width * f->item, w->acc + (i * w->width + h * m) * f->item, (g - h) * m);
    }
}

static inline void tf_block(tf_walk *w, const char *x, char *out, tf_int m, double total, double mul, double div) {
    const tf_folder *f = w->f;
    tf_int at[66], offset, samples[TF_SAMPLES], k = 0, g, i;
    int again = 0;
    w->width = m * w->group;
    if (f->sample) {                            /* on the diagonal of the folded axes */
        k = w->n;
        for (i = 0; i < w->folded; i++)
            k = w->fn[i] > k ? w->fn[i] : k;
        k = k < TF_SAMPLES ? k : TF_SAMPLES;
        for (g = 0; g < k; g++) {
            samples[g] = g * (w->n - 1) / (k > 1 ? k - 1 : 1) * w->sn;
            for (i = 0; i < w->folded; i++)
                samples[g] += g * (w->fn[i] - 1) / (k > 1 ? k - 1 : 1) * w->fx[i];
        }
        f->sample(w->c, m, x, w->sj, samples, k);
    }
    do {
        if (f->sample)
            for (g = 1; g < w->group; g++)
                memcpy(w->c + g * m * f->item, w->c, m * f->item);
        memset(at, 0, w->folded * sizeof *at);
        w->count = 0;
        offset = 0;
        do
            tf_part(w, x + offset, m);
        while (tf_next(w->folded, w->fn, at, w->fx, &offset));
        tf_total(w, m);
    } while (f->finish(w->acc, w->width, m, out, w->so, total, mul, div, w->c, again++));
}

/* The walk through an array; returns the number of elements in one result. */
static inline double tf_plan(tf_walk *w, const tf_folder *f, int rank, const tf_int *shape, const tf_int *xs,
                             const tf_int *os, tf_int parts, tf_int part) {
    double total = 1;
    int i;
    w->f = f;
    w->kept = w->folded = 0;
    for (i = 0; i < rank; i++) {
        if (os[i]) {
            w->kn[w->kept] = shape[i];
            w->kx[w->kept] = xs[i];
            w->ko[w->kept++] = os[i];
        } else {
            w->fn[w->folded] = shape[i];
            w->fx[w->folded++] = xs[i];
            total *= (double)shape[i];
        }
    }
    if (parts > 1) {
        i = w->kept - 1;
        if (w->kept && w->kx[i] == parts * part && w->ko[i] == parts * part) {
            w->kn[i] *= parts;
        } else {
            i = w->kept++;
            w->kn[i] = parts;
        }
        w->kx[i] = w->ko[i] = part;
    }
    w->m = w->n = w->group = 1;
    w->sj = w->so = w->sn = 0;
    if (w->kept) {
        i = --w->kept;
        w->m = w->kn[i], w->sj = w->kx[i], w->so = w->ko[i];
    }
    if (w->folded) {
        i = --w->folded;
        w->n = w->fn[i], w->sn = w->fx[i];
    }
    if (w->m == 1 || w->n == 1 || tf_abs(w->sn) <= tf_abs(w->sj) ||
        (f->pairs && w->m == 2 && w->sj == f->item && w->sn == 2 * w->sj)) {
        w->mode = TF_WHOLE;
    } else if (w->m >= 16) {
        w->mode = TF_COLUMNS;
    } else if (w->sn == w->sj * w->m && w->n * w->m >= 32) {
        w->mode = TF_COLUMNS;
        w->group = 256 / f->item / w->m;
        if (w->group > w->n)
            w->group = w->n;
        if (w->group < 1)
            w->group = 1;
    } else {
        w->mode = TF_CHUNKS;
    }
    return total;
}

/* Partial results that are kept at a time. */
static inline size_t tf_levels(const tf_walk *w) {
    tf_int leaves = 1;
    size_t levels = 1;
    for (int i = 0; i < w->folded; i++)
        leaves *= w->fn[i];
    if (w->mode == TF_CHUNKS)
        leaves *= w->n / (16 * TF_RUN / w->f->item) + 1;
    else if (w->mode == TF_COLUMNS)
        leaves *= w->n / w->group / TF_ROWS + 2;
    while (leaves >> levels)
        levels++;
    return levels;
}

/* out = fold(x) * mul / div. Axes are sorted by descending stride of x; folded ones have stride 0 in out. An element has
 * `parts` numbers, `part` bytes apart, which are folded separately. -1: no memory. */
static int tf_fold(const tf_folder *f, int rank, const tf_int *shape, const tf_int *xs, const tf_int *os, const char *x,
                   char *out, tf_int parts, tf_int part, double mul, double div) {
    tf_walk w;
    const double total = tf_plan(&w, f, rank, shape, xs, os, parts, part);
    const size_t levels = tf_levels(&w);
    const tf_int block = TF_BLOCK_BYTES / f->item < w.m ? TF_BLOCK_BYTES / f->item : w.m;
    tf_int at[66] = {0}, xo = 0, oo, b, i;
    char small[4096], *memory = small;
    size_t need;
    w.width = block * w.group;
    need = w.width * f->item;
    if (need * (f->planes * (levels + 1) + 1) > sizeof small) {
        memory = (char *)malloc(need * (f->planes * (levels + 1) + 1));
        if (!memory)
            return -1;
    }
    w.c = memory;
    w.acc = memory + need;
    for (i = 0; i < (tf_int)levels; i++)
        w.level[i] = w.acc + need * f->planes * (i + 1);
    do {
        for (i = 0, oo = 0; i < w.kept; i++)
            oo += at[i] * w.ko[i];
        for (b = 0; b < w.m; b += block)
            tf_block(&w, x + xo + b * w.sj, out + oo + b * w.so, w.m - b < block ? w.m - b : block, total, mul, div);
    } while (tf_next(w.kept, w.kn, at, w.kx, &xo));
    if (memory != small)
        free(memory);
    return 0;
}

/* One fold of what `tf_fold` has made of parts of 2^k leaves each, the last of `all` maybe of fewer, in the order of one fold
 * of all leaves. There are m results in a part; parts are overwritten. */
static void tf_join(const tf_folder *f, tf_int m, char *parts, tf_int step, tf_int full, tf_int all, char *out, double mul,
                    double div) {
    char *level[64], *acc = parts + full * step;
    size_t count = 0, k;
    for (tf_int p = 0; p < full; p++) {
        char *t = parts + p * step;
        for (k = 0; count >> k & 1; k++)
            f->add(t, level[k], m);
        level[k] = t;
        count++;
    }
    k = 0;
    if (all == full) {
        while (!(count >> k & 1))
            k++;
        acc = level[k++];
    }
    for (; count >> k; k++)
        if (count >> k & 1)
            f->add(acc, level[k], m);
    f->finish(acc, m, m, out, f->item, 1, mul, div, NULL, 0);
}

#endif
