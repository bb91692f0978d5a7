/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread pool.
 *
 * One job at a time lives in the pool itself.  A worker announces itself in `active` and only then
 * looks whether the job is `open`; the caller closes the job and only then waits for `active` to
 * become zero.  Both are sequentially consistent, so a late worker either is waited for or sees a
 * closed job and touches nothing.  Workers are detached and never end: the process may exit at any
 * moment without joining them.
 */
#include "config.h"

#include "exec/store/par.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "graph/base/status.h"

enum {
    RANGES_PER_THREAD = 4, /* so that a thread that lost its core does not hold up the rest */
    SPIN_NS = 1500000,     /* a wait shorter than this burns its core: a wake-up takes 50 us */
    LOST_NS = 300000,      /* between two looks at the clock: the core was taken away */
    BUSY_NS = 20000000     /* for so long nothing is burnt then */
};

typedef struct pool {
    pthread_mutex_t run;   /* held by the thread whose job this is */
    pthread_mutex_t sleep; /* for the two conditions */
    pthread_cond_t wake, done;
    atomic_int threads; /* wanted, caller included; 0: not decided yet */
    atomic_int workers; /* started */
    atomic_int sleepers;
    atomic_bool caller_sleeps;
    atomic_uint job; /* number of the newest job */
    atomic_bool open;
    atomic_bool started;     /* by jn_par_start, and not joined */
    atomic_bool crowded;     /* more threads than cores */
    atomic_llong busy_until; /* on the monotonic clock */
    atomic_int caller_cpu;   /* where the caller was when it opened the job */
    atomic_int active;
    atomic_llong next;
    int64_t n, ranges;
    int max_worker;
    jn_range_fn body;
    void *arg;
} pool;

static pool the_pool = {.run = PTHREAD_MUTEX_INITIALIZER,
                        .sleep = PTHREAD_MUTEX_INITIALIZER,
                        .wake = PTHREAD_COND_INITIALIZER,
                        .done = PTHREAD_COND_INITIALIZER};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local bool inside;

static inline void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Pauses once; false when it has waited long enough.  That is at once where threads outnumber
 * cores, and soon for a while after a thread lost its core: others need it more. */
bool jn_spin(jn_spinning *s) {
    enum { PAUSES = 64 }; /* about a microsecond */
    if (s->pauses < 0 || atomic_load_explicit(&the_pool.crowded, memory_order_relaxed))
        return false;
    pause_cpu();
    if (++s->pauses % PAUSES)
        return true;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
    if (s->pauses == PAUSES)
        s->until = now + SPIN_NS;
    else if (now - s->last > LOST_NS)
        atomic_store_explicit(&the_pool.busy_until, now + BUSY_NS, memory_order_relaxed);
    s->last = now;
    if (now >= s->until || now < atomic_load_explicit(&the_pool.busy_until, memory_order_relaxed))
        s->pauses = -1;
    return s->pauses > 0;
}

/* No other thread exists here: everything starts anew. */
static void in_child(void) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    the_pool.run = the_pool.sleep = mutex;
    the_pool.wake = the_pool.done = cond;
    atomic_store(&the_pool.threads, 1);
    atomic_store(&the_pool.workers, 0);
    atomic_store(&the_pool.sleepers, 0);
    atomic_store(&the_pool.caller_sleeps, false);
    atomic_store(&the_pool.open, false);
    atomic_store(&the_pool.started, false);
    atomic_store(&the_pool.active, 0);
}

static int cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

static int clamp_threads(long n) {
    return n < 1 ? 1 : n > JN_PAR_MAX_THREADS ? JN_PAR_MAX_THREADS : (int)n;
}

static void start(void) {
    pthread_atfork(NULL, NULL, in_child);
    const char *env = getenv("JANUS_NUM_THREADS");
    long n = env ? strtol(env, NULL, 10) : 0;
    int unset = 0, wanted = clamp_threads(n > 0 ? n : cores());
    if (atomic_compare_exchange_strong(&the_pool.threads, &unset, wanted))
        atomic_store(&the_pool.crowded, wanted > cores());
}

static int thread_count(void) {
    int n = atomic_load_explicit(&the_pool.threads, memory_order_relaxed);
    if (JN_UNLIKELY(n == 0)) {
        pthread_once(&once, start);
        n = atomic_load(&the_pool.threads);
    }
    return n;
}

static void take_ranges(pool *p) {
    int64_t n = p->n, ranges = p->ranges, step = n / ranges, rest = n % ranges;
    inside = true;
    for (;;) {
        int64_t i = atomic_fetch_add(&p->next, 1);
        if (i >= ranges)
            break;
        int64_t begin = i * step + (i < rest ? i : rest);
        p->body(p->arg, begin, begin + step + (i < rest));
    }
    inside = false;
}

/* A worker that the caller wakes may be put on the caller's core while others keep the rest busy.
 * There the two take turns of a millisecond, and what one of them spins away the other one lacks:
 * it goes to another core.  False: there is none. */
static bool beside_caller(const pool *p) {
    int cpu = atomic_load_explicit(&p->caller_cpu, memory_order_relaxed);
    cpu_set_t all, others;
    if (cpu < 0 || sched_getcpu() != cpu || sched_getaffinity(0, sizeof all, &all) != 0)
        return true;
    others = all;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) == 0)
        return false;
    if (sched_setaffinity(0, sizeof others, &others) == 0)
        (void)sched_setaffinity(0, sizeof all, &all);
    return true;
}

static void *work(void *arg) {
    pool *p = &the_pool;
    int me = (int)(intptr_t)arg;
    unsigned seen = 0;
    bool rests = false; /* it does not spin either */
    for (;;) {
        jn_spinning spin = {.pauses = rests ? -1 : 0};
        while (atomic_load(&p->job) == seen) {
            if (jn_spin(&spin))
                continue;
            pthread_mutex_lock(&p->sleep);
            atomic_fetch_add(&p->sleepers, 1);
            while (atomic_load(&p->job) == seen)
                pthread_cond_wait(&p->wake, &p->sleep);
            atomic_fetch_sub(&p->sleepers, 1);
            pthread_mutex_unlock(&p->sleep);
        }
        seen = atomic_load(&p->job);
        rests = !beside_caller(p);
        atomic_fetch_add(&p->active, 1);
        if (atomic_load(&p->open) && me < p->max_worker && !rests)
            take_ranges(p);
        if (atomic_fetch_sub(&p->active, 1) == 1 && atomic_load(&p->caller_sleeps)) {
            pthread_mutex_lock(&p->sleep);
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->sleep);
        }
    }
    return NULL;
}

/* With `run` held.  Fewer workers than wanted is no error: the caller does the rest. */
static void start_workers(pool *p, int wanted) {
    int have = atomic_load(&p->workers);
    if (JN_LIKELY(have >= wanted))
        return;
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0)
        return;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    /* Signals are for the program's threads. */
    sigset_t all, mask;
    sigfillset(&all);
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&all, own[i]);
    pthread_sigmask(SIG_BLOCK, &all, &mask);
    for (; have < wanted; have++) {
        pthread_t thread;
        if (pthread_create(&thread, &attr, work, (void *)(intptr_t)have) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    pthread_attr_destroy(&attr);
    atomic_store(&p->workers, have);
}

static void wait_for_workers(pool *p) {
    jn_spinning spin = {0};
    do {
        if (atomic_load(&p->active) == 0)
            return;
    } while (jn_spin(&spin));
    pthread_mutex_lock(&p->sleep);
    atomic_store(&p->caller_sleeps, true);
    while (atomic_load(&p->active) != 0)
        pthread_cond_wait(&p->done, &p->sleep);
    atomic_store(&p->caller_sleeps, false);
    pthread_mutex_unlock(&p->sleep);
}

/* With `run` held. */
static void open_job(pool *p, int64_t n, int64_t ranges, int workers, int threads, jn_range_fn body,
                     void *arg) {
    start_workers(p, threads - 1);
    p->n = n;
    p->ranges = ranges;
    p->body = body;
    p->arg = arg;
    p->max_worker = workers;
    atomic_store(&p->next, 0);
    atomic_store_explicit(&p->caller_cpu, sched_getcpu(), memory_order_relaxed);
    atomic_store(&p->open, true);
    atomic_fetch_add(&p->job, 1);
    if (atomic_load(&p->sleepers) > 0) {
        pthread_mutex_lock(&p->sleep);
        pthread_cond_broadcast(&p->wake);
        pthread_mutex_unlock(&p->sleep);
    }
}

/* Takes part in the job, and releases `run`. */
static void close_job(pool *p) {
    take_ranges(p);
    atomic_store(&p->open, false);
    wait_for_workers(p);
    pthread_mutex_unlock(&p->run);
}

void jn_parallel_for(int64_t n, int64_t grain, jn_range_fn body, void *arg) {
    if (n <= 0)
        return;
    if (grain < 1)
        grain = 1;
    int threads = thread_count();
    int64_t ranges = n / grain;
    if (ranges > (int64_t)threads * RANGES_PER_THREAD)
        ranges = (int64_t)threads * RANGES_PER_THREAD;
    pool *p = &the_pool;
    if (threads == 1 || ranges <= 1 || inside || pthread_mutex_trylock(&p->run) != 0) {
        body(arg, 0, n);
        return;
    }
    open_job(p, n, ranges, (int)(ranges < threads ? ranges - 1 : threads - 1), threads, body, arg);
    close_job(p);
}

bool jn_par_claim(void) {
    return thread_count() > 1 && !inside && pthread_mutex_trylock(&the_pool.run) == 0;
}

void jn_par_yield(void) { pthread_mutex_unlock(&the_pool.run); }

void jn_par_start(int64_t n, jn_range_fn body, void *arg) {
    int threads = thread_count();
    open_job(&the_pool, n, n, threads - 1, threads, body, arg);
    atomic_store(&the_pool.started, true);
}

bool jn_par_started(void) { return atomic_load(&the_pool.started); }

void jn_par_join(void) {
    atomic_store(&the_pool.started, false);
    close_job(&the_pool);
}

bool jn_par_inside(void) { return inside; }

static void run_pool(const jn_par *par, int64_t n, int64_t grain, jn_range_fn body, void *arg) {
    (void)par;
    jn_parallel_for(n, grain, body, arg);
}

const jn_par *jn_par_pool(void) {
    /* `threads` of this record only says "maybe more than one": kernels use it to skip set-up. */
    static const jn_par record = {run_pool, JN_PAR_MAX_THREADS};
    return thread_count() == 1 ? &jn_par_serial : &record;
}

JANUS_API janus_status janus_set_num_threads(int n) {
    if (n < 0)
        return jn_error(JANUS_INVALID_ARGUMENT, "set_num_threads: expected n >= 0, got %d", n);
    pthread_once(&once, start);
    int wanted = clamp_threads(n == 0 ? cores() : n);
    atomic_store(&the_pool.crowded, wanted > cores());
    atomic_store(&the_pool.threads, wanted);
    return JANUS_OK;
}

JANUS_API int janus_get_num_threads(void) { return thread_count(); }
