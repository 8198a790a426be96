/* The number of threads of the BLAS libraries in use: one number for the whole process. */
#ifndef TENFERRO_BLAS_THREADS_H
#define TENFERRO_BLAS_THREADS_H

#include "pool.h"

#if defined(_WIN32)
typedef int tf_blas_lock;
#define TF_BLAS_LOCK(DO) (void)0
#define TF_BLAS_UNLOCKED 0
#else
typedef pthread_mutex_t tf_blas_lock;
#define TF_BLAS_LOCK(DO) (void)pthread_mutex_##DO(&tf_blas.lock)
#define TF_BLAS_UNLOCKED PTHREAD_MUTEX_INITIALIZER
#endif

enum { TF_BLAS_LIBRARIES = 4 };
typedef void (*tf_set_t)(int);
typedef int (*tf_get_t)(void);

static struct {
    int count;
    struct {
        tf_set_t set;
        tf_get_t get;
        int before;             /* what the library had by itself */
    } library[TF_BLAS_LIBRARIES];
    int usual;                  /* outside of batched regions; 0: what the libraries had */
    int depth;                  /* batched regions under way */
    int due;                    /* a fork has interrupted a batched region */
    tf_blas_lock lock;
} tf_blas = {.lock = TF_BLAS_UNLOCKED};

/* With the lock held. */
static void tf_blas_set(int n) {
    for (int i = 0; i < tf_blas.count; i++)
        tf_blas.library[i].set(n ? n : tf_blas.library[i].before);
}

static void tf_blas_found(tf_set_t set, tf_get_t get) {
    int i = 0;
    TF_BLAS_LOCK(lock);
    while (i < tf_blas.count && tf_blas.library[i].set != set)
        i++;
    if (i == tf_blas.count && i < TF_BLAS_LIBRARIES) {
        tf_blas.library[i].set = set;
        tf_blas.library[i].get = get;
        tf_blas.library[i].before = get();
        tf_blas.count++;
        if (tf_blas.usual && !tf_blas.depth)
            set(tf_blas.usual);
    }
    TF_BLAS_LOCK(unlock);
}

/* n = 0: what the libraries had. */
static void tf_blas_usual(int n) {
    TF_BLAS_LOCK(lock);
    tf_blas.usual = n;
    if (tf_blas.depth == 0)
        tf_blas_set(n);
    tf_blas.due = 0;
    TF_BLAS_LOCK(unlock);
}

static void tf_blas_enter(void) {
    TF_BLAS_LOCK(lock);
    if (tf_blas.depth++ == 0)
        tf_blas_set(1);
    TF_BLAS_LOCK(unlock);
}

static void tf_blas_leave(void) {
    TF_BLAS_LOCK(lock);
    if (--tf_blas.depth == 0)
        tf_blas_set(tf_blas.usual);
    TF_BLAS_LOCK(unlock);
}

static void tf_blas_forked(void) {
#if !defined(_WIN32)
    pthread_mutex_init(&tf_blas.lock, NULL);
#endif
    tf_blas.due |= tf_blas.depth > 0;
    tf_blas.depth = 0;
}

#endif
