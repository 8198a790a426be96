/* A tensor that is a background except in a window, written in one pass: part by part, each part being made up where it is
 * near and then, if the whole is large, streamed out. */
#ifndef TENFERRO_WINDOW_H
#define TENFERRO_WINDOW_H

#include <stdlib.h>

#include "permute.h"

enum { TF_PART_BYTES = 256 << 10 };

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

/* One part: elements [from, to) of an axis and all of the later ones, at src + (first element inside) * s. */
static void tf_fill_part(const tf_window *w, int axis, ptrdiff_t first, ptrdiff_t inside, ptrdiff_t from, const char *src,
                         char *part) {
    ptrdiff_t n[TF_AXES], d[TF_AXES];
    const int rank = w->rank - axis;
    for (int k = axis; k < w->rank; k++) {
        n[k - axis] = k == axis ? inside : w->count[k];
        d[k - axis] = w->d[k] * w->step[k];
        part += k == axis ? (w->start[k] + first * w->step[k] - from) * w->d[k] : w->start[k] * w->d[k];
    }
    tf_permute(w->item, rank, n, src + first * w->s[axis], w->s + axis, part, d);
}

/* Write the whole of a window of at least one element; dst is compact in some order of its axes. */
static void tf_embed(tf_window *w, char *dst) {
    ptrdiff_t at[TF_AXES] = {0}, bytes = w->item, last_place = -1, last_inside = -1;
    int axis;
    tf_sort_window(w);
    if (w->rank == 0) {
        memcpy(dst, w->src, w->item);
        return;
    }
    for (axis = w->rank - 1; axis > 0 && bytes * w->n[axis] <= TF_PART_BYTES / 8; axis--)
        bytes *= w->n[axis];
    ptrdiff_t chunk = TF_PART_BYTES / bytes, total = bytes, outer = 1;
    if (chunk < 1)
        chunk = 1;
    if (chunk > w->n[axis])
        chunk = w->n[axis];
    for (int k = 0; k <= axis; k++)
        total *= w->n[k];
    for (int k = 0; k < axis; k++)
        outer *= w->n[k];
    char *const memory = total >= TF_STREAM_ROWS ? (char *)malloc(chunk * bytes + TF_LINE) : NULL;
    char *const near_part = memory ? memory + (-(uintptr_t)memory) % TF_LINE : NULL;
    for (; outer > 0; outer--) {
        const char *src = w->src;
        int in = 1;
        for (int k = 0; k < axis; k++) {
            const ptrdiff_t place = at[k] - w->start[k], i = place / w->step[k];
            in &= place >= 0 && place % w->step[k] == 0 && i < w->count[k];
            src += i * w->s[k];
        }
        for (ptrdiff_t from = 0; from < w->n[axis]; from += chunk) {
            const ptrdiff_t to = from + chunk < w->n[axis] ? from + chunk : w->n[axis];
            ptrdiff_t first, inside = in ? tf_within(w, axis, from, to, &first) : 0;
            char *const part = near_part ? near_part : dst;
            const ptrdiff_t place = inside ? w->start[axis] + first * w->step[axis] - from : -1;
            if (!near_part || place != last_place || inside != last_inside)
                tf_paint(w, part, near_part ? chunk * bytes : (to - from) * bytes);
            last_place = place;
            last_inside = inside;
            if (inside)
                tf_fill_part(w, axis, first, inside, from, src, part);
            if (near_part)
                tf_run(dst, part, (to - from) * bytes, 1);
            dst += (to - from) * bytes;
        }
        for (int k = axis - 1; k >= 0 && ++at[k] == w->n[k]; k--)
            at[k] = 0;
    }
    if (memory)
        tf_fence();
    free(memory);
}

#endif
