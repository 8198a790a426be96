/* The threads of this process that work is shared among. A region is a number of chunks and a function for one chunk; the
 * calling thread and the workers that wake in time take chunks until there are none left. One region runs at a time: whoever
 * comes second, and regions inside regions, run on the calling thread alone. Workers sleep between regions; they never touch
 * Python. */
#ifndef TENFERRO_POOL_H
#define TENFERRO_POOL_H

#include <stddef.h>

typedef void (*tf_body)(void *arg, ptrdiff_t chunk, int slot);

#if defined(_WIN32)

static void tf_parallel(int threads, ptrdiff_t chunks, tf_body body, void *arg) {
    (void)threads;
    for (ptrdiff_t i = 0; i < chunks; i++)
        body(arg, i, 0);
}
static int tf_pool_start(void) { return 0; }
static void tf_pool_stop(int for_good) { (void)for_good; }
static int tf_pool_size(void) { return 0; }

#else

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { TF_MAX_THREADS = 1024, TF_SPIN_NS = 30000 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_uint region;         /* number of the region that was opened last */
    atomic_int busy;            /* somebody owns the pool */
    int workers, sleeping;
    int open, joined, limit;
    atomic_int at_work;
    int stop, never;
    _Atomic ptrdiff_t next;
    ptrdiff_t chunks;
    tf_body body;
    void *arg;
    pthread_t threads[TF_MAX_THREADS];
} tf_pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static _Thread_local int tf_inside;

static inline void tf_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline long long tf_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Wait a little for the next region, or for the last chunk: both usually come soon. */
#define TF_SPIN_UNTIL(CONDITION)                                    \
    do {                                                            \
        const long long end_ = tf_now() + TF_SPIN_NS;               \
        do                                                          \
            for (int i_ = 0; i_ < 32 && !(CONDITION); i_++)         \
                tf_pause();                                         \
        while (!(CONDITION) && tf_now() < end_);                    \
    } while (0)

static void tf_take_chunks(tf_body body, void *arg, ptrdiff_t chunks, int slot) {
    ptrdiff_t i;
    while ((i = atomic_fetch_add_explicit(&tf_pool.next, 1, memory_order_relaxed)) < chunks)
        body(arg, i, slot);
}

static void *tf_worker(void *first) {
    unsigned seen = (unsigned)(size_t)first;
    tf_inside = 1;
    pthread_mutex_lock(&tf_pool.lock);
    for (;;) {
        if (atomic_load(&tf_pool.region) == seen && !tf_pool.stop) {
            pthread_mutex_unlock(&tf_pool.lock);
            TF_SPIN_UNTIL(atomic_load(&tf_pool.region) != seen);
            pthread_mutex_lock(&tf_pool.lock);
        }
        while (atomic_load(&tf_pool.region) == seen && !tf_pool.stop) {
            tf_pool.sleeping++;
            pthread_cond_wait(&tf_pool.wake, &tf_pool.lock);
            tf_pool.sleeping--;
        }
        if (tf_pool.stop)
            break;
        seen = atomic_load(&tf_pool.region);
        if (!tf_pool.open || tf_pool.joined >= tf_pool.limit)
            continue;
        const int slot = ++tf_pool.joined;
        const tf_body body = tf_pool.body;
        void *arg = tf_pool.arg;
        const ptrdiff_t chunks = tf_pool.chunks;
        atomic_fetch_add(&tf_pool.at_work, 1);
        pthread_mutex_unlock(&tf_pool.lock);
        tf_take_chunks(body, arg, chunks, slot);
        pthread_mutex_lock(&tf_pool.lock);
        if (atomic_fetch_sub(&tf_pool.at_work, 1) == 1)
            pthread_cond_signal(&tf_pool.done);
    }
    pthread_mutex_unlock(&tf_pool.lock);
    return NULL;
}

/* With the lock held; fewer than asked for where the system refuses. Signals are for Python's own threads. */
static void tf_grow(int wanted) {
    sigset_t all, before;
    if (tf_pool.workers >= wanted || tf_pool.never)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (tf_pool.workers < wanted && pthread_create(&tf_pool.threads[tf_pool.workers], NULL, tf_worker,
                                                      (void *)(size_t)atomic_load(&tf_pool.region)) == 0)
        tf_pool.workers++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static inline int tf_claim(void) {
    int free = 0;
    return atomic_compare_exchange_strong(&tf_pool.busy, &free, 1);
}

static void tf_parallel(int threads, ptrdiff_t chunks, tf_body body, void *arg) {
    if (threads > chunks)
        threads = (int)chunks;
    if (threads > TF_MAX_THREADS)
        threads = TF_MAX_THREADS;
    if (threads < 2 || tf_inside || !tf_claim()) {
        for (ptrdiff_t i = 0; i < chunks; i++)
            body(arg, i, 0);
        return;
    }
    pthread_mutex_lock(&tf_pool.lock);
    tf_grow(threads - 1);
    tf_pool.body = body;
    tf_pool.arg = arg;
    tf_pool.chunks = chunks;
    tf_pool.joined = 0;
    tf_pool.limit = threads - 1;
    tf_pool.open = 1;
    atomic_store(&tf_pool.next, 0);
    atomic_fetch_add(&tf_pool.region, 1);
    for (int i = 1; i < threads && i <= tf_pool.sleeping; i++)
        pthread_cond_signal(&tf_pool.wake);
    pthread_mutex_unlock(&tf_pool.lock);
    tf_inside = 1;
    tf_take_chunks(body, arg, chunks, 0);
    tf_inside = 0;
    pthread_mutex_lock(&tf_pool.lock);
    tf_pool.open = 0;                   /* who has not come yet is not waited for */
    if (atomic_load(&tf_pool.at_work)) {
        pthread_mutex_unlock(&tf_pool.lock);
        TF_SPIN_UNTIL(!atomic_load(&tf_pool.at_work));
        pthread_mutex_lock(&tf_pool.lock);
    }
    while (atomic_load(&tf_pool.at_work))
        pthread_cond_wait(&tf_pool.done, &tf_pool.lock);
    pthread_mutex_unlock(&tf_pool.lock);
    atomic_store(&tf_pool.busy, 0);
}

/* End all workers, once the region that is open has ended; `for_good` at the interpreter's exit. */
static void tf_pool_stop(int for_good) {
    int n;
    const struct timespec moment = {0, 100000};
    while (!tf_claim())
        nanosleep(&moment, NULL);
    pthread_mutex_lock(&tf_pool.lock);
    tf_pool.never |= for_good;
    n = tf_pool.workers;
    tf_pool.stop = 1;
    pthread_cond_broadcast(&tf_pool.wake);
    pthread_mutex_unlock(&tf_pool.lock);
    for (int i = 0; i < n; i++)
        pthread_join(tf_pool.threads[i], NULL);
    tf_pool.stop = tf_pool.workers = 0;
    atomic_store(&tf_pool.busy, 0);
}

static int tf_pool_size(void) {
    int n;
    pthread_mutex_lock(&tf_pool.lock);
    n = tf_pool.workers;
    pthread_mutex_unlock(&tf_pool.lock);
    return n;
}

/* Only the thread that forked lives on in the child: the pool starts afresh. */
static void tf_pool_forked(void) {
    pthread_mutex_init(&tf_pool.lock, NULL);
    pthread_cond_init(&tf_pool.wake, NULL);
    pthread_cond_init(&tf_pool.done, NULL);
    tf_pool.workers = tf_pool.sleeping = tf_pool.open = tf_pool.stop = 0;
    atomic_store(&tf_pool.at_work, 0);
    atomic_store(&tf_pool.busy, 0);
}

static int tf_pool_start(void) { return pthread_atfork(NULL, NULL, tf_pool_forked); }

#endif
#endif
