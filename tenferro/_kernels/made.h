/* Values that a pass makes while they are summed. */
#ifndef TENFERRO_MADE_H
#define TENFERRO_MADE_H

#include <stddef.h>

enum { TF_MADE = 8 };                           /* sums at the end of a pass */

/* `make` computes `count` elements from `first` on, in the order of memory, and puts operands that have no memory of their own
 * into tiles from the element `at` on. */
typedef struct {
    void (*make)(const void *work, ptrdiff_t first, ptrdiff_t count, ptrdiff_t at, char **tiles, char *scratch);
    const void *work;
    ptrdiff_t item, scratch;                    /* bytes of an element; bytes that `make` needs */
    int sums, tiles;
    int tile[TF_MADE];                          /* of each sum's operand, */
    const char *whole[TF_MADE];                 /* or where it lies in memory */
} tf_made;

#endif
