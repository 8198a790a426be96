/* Copies between any two strided layouts of the same elements. Strides in bytes and of any sign; those of the source may be
 * zero. The axes are brought into the destination's order and merged; then the elements of the axes that are fastest in the
 * source and of those that are fastest in the destination make up tiles, which are moved in an order that reads and writes
 * neighbouring lines soon after each other. */
#ifndef TENFERRO_PERMUTE_H
#define TENFERRO_PERMUTE_H

#include "tile.h"

enum {
    TF_AXES = 64,
    TF_STREAM_TILES = 4 << 20,  /* bytes from which transposed writes go past the caches */
    TF_STREAM_ROWS = 64 << 20,  /* bytes from which rows do */
    TF_SHORT_ROW = 32,          /* elements below which a row is not worth a loop of its own */
};

typedef struct {
    int rank, item;
    const char *src;
    char *dst;
    ptrdiff_t n[TF_AXES], s[TF_AXES], d[TF_AXES];
} tf_layout;

static inline ptrdiff_t tf_abs(ptrdiff_t x) { return x < 0 ? -x : x; }

/* Axes of more than one element, by descending stride of the destination, which becomes positive; neighbours are merged. */
static void tf_normalise(tf_layout *c, int item, int rank, const ptrdiff_t *n, const char *src, const ptrdiff_t *s, char *dst,
                         const ptrdiff_t *d) {
    int r = 0, k = 0;
    for (int i = 0; i < rank; i++) {
        ptrdiff_t si = s[i], di = d[i];
        if (n[i] == 1)
            continue;
        if (di < 0) {
            src += (n[i] - 1) * si;
            dst += (n[i] - 1) * di;
            si = -si;
            di = -di;
        }
        int j = r++;
        for (; j > 0 && c->d[j - 1] < di; j--) {
            c->n[j] = c->n[j - 1];
            c->s[j] = c->s[j - 1];
            c->d[j] = c->d[j - 1];
        }
        c->n[j] = n[i];
        c->s[j] = si;
        c->d[j] = di;
    }
    for (int i = 1; i < r; i++) {
        if (c->s[k] == c->s[i] * c->n[i] && c->d[k] == c->d[i] * c->n[i])
            c->n[k] *= c->n[i];
        else
            c->n[++k] = c->n[i];
        c->s[k] = c->s[i];
        c->d[k] = c->d[i];
    }
    c->rank = r ? k + 1 : 0;
    c->src = src;
    c->dst = dst;
    /* what stays adjacent is one element of up to 16 bytes */
    while (c->rank && item < 16 && c->s[k] == item && c->d[k] == item && c->n[k] % 2 == 0) {
        item *= 2;
        c->s[k] = c->d[k] = item;
        if ((c->n[k] /= 2) == 1) {
            c->rank--;
            k--;
        }
    }
    c->item = item;
}

/* The axes that make up one side of a tile, the fastest first; the last of them may be taken in pieces. */
typedef struct {
    int count, axes[8];
    ptrdiff_t elements;     /* of a whole side */
    ptrdiff_t piece;        /* of the last axis */
    int whole;              /* the last axis is not cut */
} tf_side;

static void tf_add(tf_side *side, const tf_layout *c, int axis, int want, char *taken) {
    ptrdiff_t room = TF_TILE_MAX / side->elements, piece = c->n[axis];
    if (piece > room || piece * side->elements > 2 * want)
        piece = want / side->elements > 0 ? (want + side->elements - 1) / side->elements : 1;
    if (piece > room)
        piece = room;
    side->axes[side->count++] = axis;
    side->piece = piece;
    side->elements *= piece;
    side->whole = piece == c->n[axis];
    taken[axis] = 1;
}

static inline int tf_can_add(const tf_side *side, int want) {
    return side->count < 8 && side->elements < want && (side->count == 0 || side->whole);
}

/* Untaken axis with the smallest stride that is not zero, among v. */
static int tf_fastest(const tf_layout *c, const ptrdiff_t *v, const char *taken) {
    int best = -1;
    for (int i = c->rank - 1; i >= 0; i--)
        if (!taken[i] && v[i] != 0 && (best < 0 || tf_abs(v[i]) < tf_abs(v[best])))
            best = i;
    return best;
}

static void tf_offsets(const tf_side *side, const ptrdiff_t *n, const ptrdiff_t *v, ptrdiff_t *table) {
    ptrdiff_t size = 1;
    table[0] = 0;
    for (int a = 0; a < side->count; a++) {
        const int axis = side->axes[a];
        const ptrdiff_t m = a == side->count - 1 ? side->piece : n[axis];
        for (ptrdiff_t k = 1; k < m; k++)
            for (ptrdiff_t i = 0; i < size; i++)
                table[k * size + i] = table[i] + k * v[axis];
        size *= m;
    }
}

static int tf_adjacent(const ptrdiff_t *table, ptrdiff_t n, int item) {
    for (ptrdiff_t i = 0; i < n; i++)
        if (table[i] != i * item)
            return 0;
    return 1;
}

/* Odometer over the axes that are left, the first of them fastest. */
typedef struct {
    int rank;
    int axis[TF_AXES];      /* of the layout */
    ptrdiff_t n[TF_AXES], s[TF_AXES], d[TF_AXES], at[TF_AXES];
} tf_outer;

static void tf_push(tf_outer *o, const tf_layout *c, int axis, ptrdiff_t piece) {
    const int k = o->rank++;
    o->axis[k] = axis;
    o->n[k] = (c->n[axis] + piece - 1) / piece;
    o->s[k] = c->s[axis] * piece;
    o->d[k] = c->d[axis] * piece;
    o->at[k] = 0;
}

static inline int tf_next(tf_outer *o, const char **src, char **dst) {
    for (int i = 0; i < o->rank; i++) {
        *src += o->s[i];
        *dst += o->d[i];
        if (++o->at[i] < o->n[i])
            return 1;
        *src -= o->n[i] * o->s[i];
        *dst -= o->n[i] * o->d[i];
        o->at[i] = 0;
    }
    return 0;
}

static inline ptrdiff_t tf_bytes(const tf_layout *c) {
    ptrdiff_t size = c->item;
    for (int i = 0; i < c->rank; i++)
        size *= c->n[i];
    return size;
}

/* Puts element i of o before those from place on. */
static void tf_move_up(tf_outer *o, int i, int place) {
    const int axis = o->axis[i];
    const ptrdiff_t n = o->n[i], s = o->s[i], d = o->d[i];
    for (; i > place; i--) {
        o->axis[i] = o->axis[i - 1];
        o->n[i] = o->n[i - 1];
        o->s[i] = o->s[i - 1];
        o->d[i] = o->d[i - 1];
    }
    o->axis[place] = axis;
    o->n[place] = n;
    o->s[place] = s;
    o->d[place] = d;
}

/* In turn the axis with the smallest stride in the source and in the destination, from the inside out. */
static void tf_order(tf_outer *o) {
    for (int place = 0; place < o->rank; place++) {
        int best = place;
        for (int k = place + 1; k < o->rank; k++)
            if (place % 2 ? o->d[k] < o->d[best] : tf_abs(o->s[k]) < tf_abs(o->s[best]))
                best = k;
        tf_move_up(o, best, place);
    }
}

/* Elements of a side that is cut, at the odometer's place. */
static inline int tf_extent(const tf_side *side, const tf_layout *c, const tf_outer *o, int place) {
    if (place < 0 || o->at[place] < o->n[place] - 1)
        return (int)side->elements;
    return (int)(side->elements / side->piece * (c->n[o->axis[place]] - o->at[place] * side->piece));
}

static void tf_tiles(const tf_layout *c, tf_side *i, tf_side *j, const char *taken) {
    tf_tile t;
    tf_outer o;
    const tf_tile_t move = tf_tile_of(c->item);
    const int last_i = i->axes[i->count - 1], last_j = j->count ? j->axes[j->count - 1] : -1;
    const char *src = c->src;
    char *dst = c->dst;
    ptrdiff_t lines = (ptrdiff_t)(uintptr_t)dst;
    int cut_i = -1, cut_j = -1;
    tf_offsets(i, c->n, c->s, t.src_i);
    tf_offsets(i, c->n, c->d, t.dst_i);
    tf_offsets(j, c->n, c->s, t.src_j);
    tf_offsets(j, c->n, c->d, t.dst_j);
    t.src_rows = tf_adjacent(t.src_j, j->elements, c->item);
    t.dst_lines = tf_adjacent(t.dst_i, i->elements, c->item);
    o.rank = 0;
    for (int k = c->rank - 1; k >= 0; k--) {    /* by ascending stride of the destination */
        if (!taken[k])
            tf_push(&o, c, k, 1);
        else if (k == last_i && !i->whole)
            tf_push(&o, c, k, i->piece);
        else if (k == last_j && !j->whole)
            tf_push(&o, c, k, j->piece);
    }
    tf_order(&o);
    for (int k = 0; k < o.rank; k++) {
        lines |= o.d[k];
        if (o.axis[k] == last_i)
            cut_i = k;
        else if (o.axis[k] == last_j)
            cut_j = k;
    }
    for (int k = 0; k < j->elements; k++)
        lines |= t.dst_j[k];
    t.stream = t.dst_lines && lines % TF_LINE == 0 && tf_bytes(c) >= (j->count ? TF_STREAM_TILES : TF_STREAM_ROWS);
    do {
        move(&t, tf_extent(i, c, &o, cut_i), tf_extent(j, c, &o, cut_j), src, dst);
    } while (tf_next(&o, &src, &dst));
    if (t.stream)
        tf_fence();
}

static void tf_rows(const tf_layout *c) {
    tf_outer o;
    const tf_strided_t move = tf_strided_of(c->item);
    const int last = c->rank - 1;
    const ptrdiff_t n = c->n[last], s = c->s[last], d = c->d[last];
    const int run = s == c->item && d == c->item, stream = run && tf_bytes(c) >= TF_STREAM_ROWS;
    const char *src = c->src;
    char *dst = c->dst;
    o.rank = 0;
    for (int k = last - 1; k >= 0; k--)
        tf_push(&o, c, k, 1);
    do {
        if (run)
            tf_run(dst, src, n * c->item, stream);
        else
            move(n, src, s, dst, d);
    } while (tf_next(&o, &src, &dst));
    if (stream)
        tf_fence();
}

/* Copy all elements; no size is zero, and source and destination do not overlap. */
static void tf_permute(int item, int rank, const ptrdiff_t *n, const char *src, const ptrdiff_t *s, char *dst,
                       const ptrdiff_t *d) {
    tf_layout c;
    char taken[TF_AXES] = {0};
    tf_side i = {0, {0}, 1, 1, 1}, j = {0, {0}, 1, 1, 1};
    tf_normalise(&c, item, rank, n, src, s, dst, d);
    if (c.rank == 0) {
        memcpy(c.dst, c.src, c.item);
        return;
    }
    const int last = c.rank - 1, line = TF_LINE / c.item, lines = c.item == 1 ? line : 2 * line;
    int fast = tf_fastest(&c, c.s, taken);
    const int crossed = fast >= 0 && fast != last && !(c.s[last] == 0 && c.n[last] >= TF_SHORT_ROW);
    if (!crossed && (c.n[last] >= TF_SHORT_ROW || c.rank == 1)) {
        tf_rows(&c);
        return;
    }
    /* rows that are read side by side: whole lines of the destination, but no more streams than are fetched ahead */
    const int want = !crossed ? TF_TILE_MAX : line < 16 ? lines : line;
    if (crossed)
        tf_add(&j, &c, fast, lines, taken);
    tf_add(&i, &c, last, want, taken);
    for (int k = last - 1; k >= 0 && tf_can_add(&i, want); k--)
        if (!taken[k])
            tf_add(&i, &c, k, want, taken);
    while (crossed && tf_can_add(&j, lines) && (fast = tf_fastest(&c, c.s, taken)) >= 0)
        tf_add(&j, &c, fast, lines, taken);
    tf_tiles(&c, &i, &j, taken);
}

#endif
