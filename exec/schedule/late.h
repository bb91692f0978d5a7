/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Late tasks: the last writes of a run, made where they belong.
 *
 * What a run writes to a tensor of the caller is computed into memory of the run and copied when
 * the run commits.  Where a task does nothing but compute such values, element by element from what
 * they replace, it is kept back instead: all else is computed and made, and the commit begins by
 * running it with the targets' memory for its results (docs/adr/0019-writes-in-place.md).
 *
 * That must not be seen.  So a task is late only if nobody but a store has its results, and no task
 * or store that comes after it reads what it overwrites; within the task, no node does but, at the
 * same index, the one that writes.  And it must not fail: its nodes can neither raise nor allocate,
 * and what running it takes is had before.
 */
#ifndef JN_EXEC_LATE_H
#define JN_EXEC_LATE_H

#include "exec/state/state.h"

/* Before the last flush: takes late tasks out of the pending ones.  All that can fail. */
janus_status jn_late_find(jn_run *r, const jn_pending_effect *effect, size_t n);
/* A result that the commit stores. */
janus_status jn_late_stores(jn_run *r, jn_result_store store);
/* The tensor that a promise will be computed in by jn_late_run; NULL: it is no result of a late
 * task. */
janus_tensor *jn_late_target(const jn_tval *v);
/* Runs them. */
janus_status jn_late_run(jn_run *r);
/* Whether a bound value lies in memory that the commit writes: storing it needs a copy. */
bool jn_late_overwritten(const jn_run *r, const jn_tval *v);

#endif
