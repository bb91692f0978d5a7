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
/* Whether the calling thread is inside a range of jn_parallel_for. */
bool jn_par_inside(void);

#endif
