/* The smallest of the positions that several threads come across. */
#ifndef TENFERRO_EARLIEST_H
#define TENFERRO_EARLIEST_H

#include <stddef.h>

#if defined(_MSC_VER) && !defined(__clang__)    /* one thread, see pool.h */

static ptrdiff_t tf_earliest(const ptrdiff_t *best) { return *best; }
static void tf_found_at(ptrdiff_t *best, ptrdiff_t at) { *best = at < *best ? at : *best; }

#else

static inline ptrdiff_t tf_earliest(const ptrdiff_t *best) { return __atomic_load_n(best, __ATOMIC_RELAXED); }

static inline void tf_found_at(ptrdiff_t *best, ptrdiff_t at) {
    ptrdiff_t before = tf_earliest(best);
    while (at < before && !__atomic_compare_exchange_n(best, &before, at, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

#endif
#endif
