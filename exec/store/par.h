/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one thread pool of the process.
 *
 * jn_parallel_for splits [0, n) into ranges by n, grain and the thread count alone and runs them on
 * the calling thread and the pool's workers; which thread takes which range varies, the ranges do
 * not.  A call made from inside a range runs serially, and so does one made while another thread
 * uses the pool: nobody ever waits for a worker that is not running yet, so nothing can deadlock.
 * Workers spin for a few microseconds after a job and then sleep.  A forked child has one thread.
 */
#ifndef JN_EXEC_PAR_H
#define JN_EXEC_PAR_H

#include "ops/kernel.h"

enum { JN_PAR_MAX_THREADS = 64 };

/* The pool as kernels see it; its thread count is read at each run. */
const jn_par *jn_par_pool(void);
void jn_parallel_for(int64_t n, int64_t grain, jn_range_fn body, void *arg);
/* A wait for another thread: spins while jn_spin says so, then sleeps. */
typedef struct jn_spinning {
    int32_t pauses;
    int64_t until, last; /* nanoseconds on the monotonic clock */
} jn_spinning;
bool jn_spin(jn_spinning *s);
/* Makes the pool the calling thread's; false: there is no worker to be had. */
bool jn_par_claim(void);
/* Gives it back. */
void jn_par_yield(void);
/* With the pool claimed: ranges [i, i + 1) of 0 to n - 1 for the workers, while the calling thread
 * goes on; until it joins, the pool is its. */
void jn_par_start(int64_t n, jn_range_fn body, void *arg);
/* Whether that is going on; no more in a forked child, where there are no workers. */
bool jn_par_started(void);
/* Runs those that no worker has taken, waits for the others and gives the pool back. */
void jn_par_join(void);
/* Whether the calling thread is inside a range of jn_parallel_for. */
bool jn_par_inside(void);

#endif
