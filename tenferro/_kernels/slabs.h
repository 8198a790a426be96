/* Elementwise loops over operands that run through memory in different orders, or whose inner axis is short: block by block,
 * each block of such an operand being copied first into the order of the result, where long inner loops are possible. */
#ifndef TENFERRO_SLABS_H
#define TENFERRO_SLABS_H

#include <stdlib.h>

#include "permute.h"

enum {
    TF_SLAB_BYTES = 64 << 10,   /* of one operand's block */
    TF_SLAB_NEAR = 8 << 10,     /* the same, where nothing is gained by wide blocks */
    TF_SLAB_SIZE = 512,         /* elements below which the plan costs more than it saves */
    TF_SLAB_SIDE = 256,         /* bytes of a block along the axis that is fastest in an operand */
    TF_SLAB_SHORT = 16,         /* elements below which an inner axis is short */
    TF_OPERANDS = 8,
};

typedef void (*tf_loop_t)(char **args, const ptrdiff_t *n, const ptrdiff_t *strides, void *data);

typedef struct {
    int n_ops, rank;
    int items[TF_OPERANDS];
    ptrdiff_t n[TF_AXES];
    ptrdiff_t (*v)[TF_AXES];        /* strides by operand; the last operand is the result */
    ptrdiff_t block[TF_AXES];       /* extent of a block */
    char *scratch[TF_OPERANDS];     /* NULL: used where it is */
    const char *held[TF_OPERANDS];  /* what the scratch is a copy of, */
    ptrdiff_t held_n[TF_AXES];      /* and its shape: a repeated operand is copied once */
} tf_slabs;

/* The axis along which an operand is faster than along the inner one, -1 if there is none. */
static int tf_conflict(const tf_slabs *w, int k) {
    const int last = w->rank - 1;
    int best = last;
    if (w->v[k][last] == 0)
        return -1;
    for (int i = 0; i < last; i++)
        if (w->v[k][i] != 0 && w->n[i] >= 4 && tf_abs(w->v[k][i]) < tf_abs(w->v[k][best]))
            best = i;
    return best == last ? -1 : best;
}

/* Whether an operand's elements keep the order of the result's and leave out none, or are all the same one. */
static int tf_parallel(const tf_slabs *w, int k) {
    const int out = w->n_ops - 1;
    int same = 1, single = 1;
    for (int i = 0; i < w->rank; i++) {
        if (w->block[i] == 1)
            continue;
        same &= w->v[k][i] * w->items[out] == w->v[out][i] * w->items[k];
        single &= w->v[k][i] == 0;
    }
    return same || single;
}

static ptrdiff_t tf_size(const tf_slabs *w) {
    ptrdiff_t size = 1;
    for (int i = 0; i < w->rank; i++)
        size *= w->n[i];
    return size;
}

/* Returns the bytes that a copy of a block may take. */
static ptrdiff_t tf_extents(tf_slabs *w, const int *fast, ptrdiff_t most) {
    const int last = w->rank - 1;
    ptrdiff_t room, size = 1;
    int widest = 1;
    for (int k = 0; k < w->n_ops; k++)
        if (w->items[k] > widest)
            widest = w->items[k];
    room = most / widest;
    for (int i = 0; i < w->rank; i++)
        w->block[i] = 1;
    for (int k = 0; k < w->n_ops - 1; k++)
        if (fast[k] >= 0 && w->block[fast[k]] == 1) {
            const ptrdiff_t n = w->n[fast[k]], side = TF_SLAB_SIDE / w->items[k];
            if (size * side * TF_SLAB_SHORT > room)
                continue;
            w->block[fast[k]] = n < side ? n : side;
            size *= w->block[fast[k]];
        }
    for (int i = last; i >= 0; i--) {
        size /= w->block[i];
        w->block[i] = w->n[i] < room / size ? w->n[i] : room / size;
        size *= w->block[i];
        if (w->block[i] < w->n[i])
            break;
    }
    return (size * widest + TF_LINE - 1) / TF_LINE * TF_LINE;
}

/* Run the loop over one block of n elements; args and v say where its operands are. */
static void tf_block_loop(tf_loop_t fn, void *fn_data, int n_ops, int rank, const ptrdiff_t *n, char **at,
                          ptrdiff_t v[][TF_AXES]) {
    ptrdiff_t inner = n[rank - 1], count[TF_AXES], strides[TF_OPERANDS];
    char *args[TF_OPERANDS];
    int outer = rank - 1;
    for (int k = 0; k < n_ops; k++)
        strides[k] = v[k][rank - 1];
    while (outer > 0) {
        int merge = 1;
        for (int k = 0; k < n_ops; k++)
            merge &= n[outer - 1] == 1 || v[k][outer - 1] == strides[k] * inner;
        if (!merge)
            break;
        inner *= n[--outer];
    }
    for (int i = 0; i < outer; i++)
        count[i] = 0;
    for (;;) {
        int i = outer - 1;
        for (int k = 0; k < n_ops; k++)
            args[k] = at[k];
        fn(args, &inner, strides, fn_data);
        for (; i >= 0; i--) {
            for (int k = 0; k < n_ops; k++)
                at[k] += v[k][i];
            if (++count[i] < n[i])
                break;
            for (int k = 0; k < n_ops; k++)
                at[k] -= n[i] * v[k][i];
            count[i] = 0;
        }
        if (i < 0)
            return;
    }
}

static void tf_slab(tf_slabs *w, tf_loop_t fn, void *fn_data, const ptrdiff_t *n, char *const *data) {
    ptrdiff_t v[TF_OPERANDS][TF_AXES];
    char *at[TF_OPERANDS];
    const int same_shape = memcmp(n, w->held_n, w->rank * sizeof *n) == 0;
    memcpy(w->held_n, n, w->rank * sizeof *n);
    for (int k = 0; k < w->n_ops; k++) {
        ptrdiff_t step = w->items[k];
        at[k] = data[k];
        for (int i = w->rank - 1; i >= 0; i--) {
            v[k][i] = w->scratch[k] ? step : w->v[k][i];
            step *= n[i];
        }
        if (w->scratch[k] == NULL)
            continue;
        at[k] = w->scratch[k];
        if (!same_shape || w->held[k] != data[k])
            tf_permute(w->items[k], w->rank, n, data[k], w->v[k], w->scratch[k], v[k]);
        w->held[k] = data[k];
    }
    tf_block_loop(fn, fn_data, w->n_ops, w->rank, n, at, v);
}

/* Run a loop over all elements, if blocks are of use and there is memory for them; axes are sorted by descending stride of
 * the last operand and merged. */
static int tf_run_slabs(tf_loop_t fn, void *fn_data, int n_ops, const int *items, int rank, const ptrdiff_t *shape,
                        char **data, ptrdiff_t (*strides)[TF_AXES]) {
    tf_slabs w;
    int fast[TF_OPERANDS], copied[TF_OPERANDS] = {0}, copies = 0, conflict = 0;
    ptrdiff_t n[TF_AXES], at[TF_AXES];
    ptrdiff_t bytes;
    char *memory, *base[TF_OPERANDS];
    if (rank < 2)
        return 0;
    w.n_ops = n_ops;
    w.rank = rank;
    w.v = strides;
    for (int i = 0; i < rank; i++)
        w.n[i] = shape[i];
    if (tf_size(&w) < TF_SLAB_SIZE)
        return 0;
    for (int k = 0; k < n_ops; k++) {
        w.items[k] = items[k];
        fast[k] = k < n_ops - 1 ? tf_conflict(&w, k) : -1;
        conflict |= fast[k] >= 0;
    }
    const int is_short = shape[rank - 1] < TF_SLAB_SHORT;
    if (!conflict && !is_short)
        return 0;
    bytes = tf_extents(&w, fast, conflict ? TF_SLAB_BYTES : TF_SLAB_NEAR);
    for (int k = 0; k < n_ops - 1; k++)
        copies += copied[k] = fast[k] >= 0 || (is_short && !tf_parallel(&w, k));
    if (copies == 0)
        return 0;
    for (int i = 0; i < rank; i++)
        w.held_n[i] = 0;
    memory = (char *)malloc((size_t)copies * bytes + TF_LINE);
    if (memory == NULL)
        return 0;
    char *place = memory + (-(uintptr_t)memory) % TF_LINE;
    for (int k = 0; k < n_ops; k++) {
        w.scratch[k] = copied[k] ? place : NULL;
        w.held[k] = NULL;
        place += copied[k] ? bytes : 0;
        base[k] = data[k];
    }
    for (int i = 0; i < rank; i++) {
        at[i] = 0;
        if (strides[n_ops - 1][i] >= 0)
            continue;
        for (int k = 0; k < n_ops; k++) {
            base[k] += (shape[i] - 1) * strides[k][i];
            strides[k][i] = -strides[k][i];
        }
    }
    for (;;) {
        int i = rank - 1;
        for (int j = 0; j < rank; j++)
            n[j] = shape[j] - at[j] < w.block[j] ? shape[j] - at[j] : w.block[j];
        tf_slab(&w, fn, fn_data, n, base);
        for (; i >= 0; i--) {
            const ptrdiff_t step = n[i];
            at[i] += step;
            for (int k = 0; k < n_ops; k++)
                base[k] += step * strides[k][i];
            if (at[i] < shape[i])
                break;
            for (int k = 0; k < n_ops; k++)
                base[k] -= at[i] * strides[k][i];
            at[i] = 0;
        }
        if (i < 0)
            break;
    }
    free(memory);
    return 1;
}

#endif
