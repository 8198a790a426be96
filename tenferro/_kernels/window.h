/* A tensor that is a background except in a window, written in one pass: part by part, each part being made up where it is
 * near and then, if the whole is large, streamed out. */
#ifndef TENFERRO_WINDOW_H
#define TENFERRO_WINDOW_H

#include <stdlib.h>

#include "permute.h"

enum {
    TF_PART_BYTES = 256 << 10,  /* what is made up at a time */
    TF_CUT_BYTES = 4 << 10,     /* of the last axis, where the window is faster along the one before */
};

/* The window starts at element start[k] of axis k and takes every step[k]-th, count[k] of them; steps are not zero. */
typedef struct {
    int rank, item;
    ptrdiff_t n[TF_AXES], d[TF_AXES], start[TF_AXES], step[TF_AXES], count[TF_AXES], s[TF_AXES];
    const char *src;
    const char *background;     /* one element, or NULL for zero bytes */
} tf_window;

/* Axes by descending stride of the whole, steps positive, axes of one element and neighbours inside the window merged. */
static void tf_sort_window(tf_window *w) {
    int r = 0;
    tf_window in = *w;
    for (int i = 0; i < in.rank; i++) {
        if (in.n[i] == 1)
            continue;
        if (in.step[i] < 0 || in.count[i] == 1) {
            in.start[i] += in.step[i] * (in.count[i] - 1);
            w->src += in.s[i] * (in.count[i] - 1);
            in.step[i] = in.count[i] == 1 ? 1 : -in.step[i];
            in.s[i] = -in.s[i];
        }
        int j = r++;
        for (; j > 0 && w->d[j - 1] < in.d[i]; j--) {
            w->n[j] = w->n[j - 1];
            w->d[j] = w->d[j - 1];
            w->start[j] = w->start[j - 1];
            w->step[j] = w->step[j - 1];
            w->count[j] = w->count[j - 1];
            w->s[j] = w->s[j - 1];
        }
        w->n[j] = in.n[i];
        w->d[j] = in.d[i];
        w->start[j] = in.start[i];
        w->step[j] = in.step[i];
        w->count[j] = in.count[i];
        w->s[j] = in.s[i];
    }
    w->rank = r;
    for (r = w->rank - 1; r > 0; r--) {     /* an axis that is all in the window joins the one around it */
        const ptrdiff_t n = w->n[r];
        if (w->count[r] != n || w->step[r - 1] != 1 || w->d[r - 1] != n * w->d[r]
            || (w->count[r - 1] > 1 && w->s[r - 1] != n * w->s[r]))
            continue;
        w->n[r - 1] *= n;
        w->start[r - 1] *= n;
        w->count[r - 1] *= n;
        w->d[r - 1] = w->d[r];
        w->s[r - 1] = w->s[r];
        for (int i = r; i < w->rank - 1; i++) {
            w->n[i] = w->n[i + 1];
            w->d[i] = w->d[i + 1];
            w->start[i] = w->start[i + 1];
            w->step[i] = w->step[i + 1];
            w->count[i] = w->count[i + 1];
            w->s[i] = w->s[i + 1];
        }
        w->rank--;
    }
}

static void tf_paint(const tf_window *w, char *dst, size_t bytes) {
    if (w->background == NULL)
        memset(dst, 0, bytes);
    else
        tf_strided_of(w->item)(bytes / w->item, w->background, 0, dst, w->item);
}

/* The window's elements whose place along the axis is in [from, to): the first of them, and how many. */
static ptrdiff_t tf_within(const tf_window *w, int axis, ptrdiff_t from, ptrdiff_t to, ptrdiff_t *first) {
    const ptrdiff_t step = w->step[axis], start = w->start[axis];
    ptrdiff_t lo = from <= start ? 0 : (from - start + step - 1) / step;
    ptrdiff_t hi = to <= start ? 0 : (to - start + step - 1) / step;
    if (hi > w->count[axis])
        hi = w->count[axis];
    *first = lo;
    return hi > lo ? hi - lo : 0;
}

/* A piece of the whole: elements [from, to) of an axis, and of the last axis where that is cut too. */
typedef struct {
    ptrdiff_t from, to, first, inside;  /* first: of the window's elements in the piece; inside: how many there are */
} tf_piece;

static tf_piece tf_piece_of(const tf_window *w, int axis, ptrdiff_t from, ptrdiff_t length) {
    tf_piece p = {from, from + length < w->n[axis] ? from + length : w->n[axis], 0, 0};
    p.inside = tf_within(w, axis, p.from, p.to, &p.first);
    return p;
}

static inline ptrdiff_t tf_offset(const tf_window *w, int axis, const tf_piece *p) {
    return w->start[axis] + p->first * w->step[axis] - p->from;
}

/* Copy what is inside of the pieces; row is the distance of neighbours along the axis. */
static void tf_fill_part(const tf_window *w, int axis, const tf_piece *p, const tf_piece *q, ptrdiff_t row, const char *src,
                         char *part) {
    ptrdiff_t n[TF_AXES], d[TF_AXES];
    const int last = w->rank - 1;
    for (int k = axis; k <= last; k++) {
        const tf_piece *piece = k == axis ? p : k == last ? q : NULL;
        const ptrdiff_t dk = k == axis ? row : w->d[k];
        n[k - axis] = piece ? piece->inside : w->count[k];
        d[k - axis] = dk * w->step[k];
        part += (piece ? tf_offset(w, k, piece) : w->start[k]) * dk;
        src += piece ? piece->first * w->s[k] : 0;
    }
    tf_permute(w->item, w->rank - axis, n, src, w->s + axis, part, d);
}

/* How the whole is divided. */
typedef struct {
    int axis;                   /* outer axes are gone through one by one */
    ptrdiff_t chunk, cut;       /* extents of a part along this axis and along the last one */
    ptrdiff_t bytes;            /* of one element of the axis */
    ptrdiff_t units;            /* parts in all, along the axis and the outer ones */
} tf_division;

static inline ptrdiff_t tf_parts(ptrdiff_t n, ptrdiff_t chunk) {
    return (n + chunk - 1) / chunk;
}

static tf_division tf_divide(const tf_window *w) {
    const int last = w->rank - 1;
    tf_division v = {last, 1, w->n[last], w->item, 1};
    int fast = last;
    for (int k = 0; k < last; k++)
        if (w->count[k] > 1 && w->s[k] != 0 && tf_abs(w->s[k]) < tf_abs(w->s[fast]))
            fast = k;
    if (fast != last && fast == last - 1 && w->n[last] * w->item > 2 * TF_CUT_BYTES) {
        v.axis = fast;
        v.cut = TF_CUT_BYTES / w->item;
        v.bytes = w->d[fast];
        v.chunk = TF_PART_BYTES / TF_CUT_BYTES;
    } else {
        for (; v.axis > 0 && v.bytes * w->n[v.axis] <= TF_PART_BYTES / 8; v.axis--)
            v.bytes *= w->n[v.axis];
        v.chunk = TF_PART_BYTES / v.bytes;
    }
    if (v.chunk < 1)
        v.chunk = 1;
    if (v.chunk > w->n[v.axis])
        v.chunk = w->n[v.axis];
    v.units = tf_parts(w->n[v.axis], v.chunk);
    for (int k = 0; k < v.axis; k++)
        v.units *= w->n[k];
    return v;
}

/* Elements [from, to) of the axis, all or none of which may meet the window. */
static void tf_embed_chunk(const tf_window *w, const tf_division *v, int in, ptrdiff_t from, const char *src, char *dst,
                           char *near_part, ptrdiff_t *held) {
    const int last = w->rank - 1, cut = v->cut < w->n[last];
    tf_piece p = tf_piece_of(w, v->axis, from, v->chunk);
    for (ptrdiff_t c = 0; c < w->n[last]; c += v->cut) {
        const tf_piece q = tf_piece_of(w, last, c, v->cut);
        const ptrdiff_t rows = cut ? p.to - p.from : 1;
        const ptrdiff_t length = cut ? (q.to - q.from) * w->item : (p.to - p.from) * v->bytes;
        const ptrdiff_t row = !cut ? v->bytes : near_part ? v->cut * w->item + TF_LINE : v->bytes, pitch = cut ? row : 0;
        char *const to = dst + (cut ? c * w->item : 0), *const part = near_part ? near_part : to;
        const int inside = in && p.inside && (!cut || q.inside);
        const ptrdiff_t place[4] = {inside ? tf_offset(w, v->axis, &p) : -1, inside ? p.inside : 0,
                                    inside && cut ? tf_offset(w, last, &q) : 0, inside && cut ? q.inside : 0};
        if (!near_part)
            for (ptrdiff_t i = 0; i < rows; i++)
                tf_paint(w, part + i * pitch, length);
        else if (memcmp(held, place, sizeof place) != 0)
            tf_paint(w, part, v->chunk * row);
        memcpy(held, place, sizeof place);
        if (inside)
            tf_fill_part(w, v->axis, &p, &q, row, src, part);
        if (near_part)
            for (ptrdiff_t i = 0; i < rows; i++)
                tf_run(to + i * v->bytes, part + i * pitch, length, 1);
        if (!cut)
            return;
    }
}

/* Prepare to write a window of at least one element into a whole that is compact in some order of its axes; 0 if the whole
 * is a single element, which is then written. */
static int tf_begin_embed(tf_window *w, char *dst, tf_division *v) {
    tf_sort_window(w);
    if (w->rank == 0) {
        memcpy(dst, w->src, w->item);
        return 0;
    }
    *v = tf_divide(w);
    return 1;
}

/* Write parts first to last - 1 of the whole. */
static void tf_embed(const tf_window *w, const tf_division *v, char *dst, ptrdiff_t first, ptrdiff_t last) {
    const ptrdiff_t n = w->n[v->axis], inner = tf_parts(n, v->chunk), total = v->units / inner * n * v->bytes;
    const ptrdiff_t row = v->cut < w->n[w->rank - 1] ? v->cut * w->item + TF_LINE : v->bytes;
    char *const memory = total >= TF_STREAM_ROWS ? (char *)malloc(v->chunk * row + TF_LINE) : NULL;
    char *const near_part = memory ? memory + (-(uintptr_t)memory) % TF_LINE : NULL;
    ptrdiff_t at[TF_AXES], held[4] = {-1, -1, -1, -1}, outer = first / inner, i = first % inner;
    dst += outer * n * v->bytes;
    for (int k = v->axis - 1; k >= 0; k--) {
        at[k] = outer % w->n[k];
        outer /= w->n[k];
    }
    while (first < last) {
        const char *src = w->src;
        int in = 1;
        for (int k = 0; k < v->axis; k++) {
            const ptrdiff_t place = at[k] - w->start[k], j = place / w->step[k];
            in &= place >= 0 && place % w->step[k] == 0 && j < w->count[k];
            src += j * w->s[k];
        }
        for (; i < inner && first < last; i++, first++)
            tf_embed_chunk(w, v, in, i * v->chunk, src, dst + i * v->chunk * v->bytes, near_part, held);
        i = 0;
        dst += n * v->bytes;
        for (int k = v->axis - 1; k >= 0 && ++at[k] == w->n[k]; k--)
            at[k] = 0;
    }
    if (memory)
        tf_fence();
    free(memory);
}

#endif
