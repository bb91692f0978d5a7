/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that make the calls of an earlier one again: see exec/kernels/replay.h. */
#ifndef JN_EXEC_AGAIN_H
#define JN_EXEC_AGAIN_H

#include "exec/run/run.h"
#include "exec/schedule/schedule.h"

/* A tensor that is of the shape of the one bound last, dense, and where the run is. */
static inline bool jn_is_usual(const jn_run *r, unsigned i, const jn_arg *a) {
    return a->kind == JANUS_KIND_TENSOR && a->t->contiguous && a->t->storage->device == r->dev &&
           jn_is_shape_of(r->entry->bound[i], a->t);
}

/* If the plan has a list and it fits the arguments: makes its calls, and the run is executed.
 * False: nothing was done. */
bool jn_run_again(jn_run *r, const jn_arg *args, unsigned n, janus_status *st);
/* The arguments are bound, so many times now like those of the run before: a list is begun if that
 * pays. */
void jn_run_write(jn_run *r, const jn_arg *args, unsigned n, jn_slot *slots, jn_bound *bound);
/* The run is over, its memory (`alone`: nobody else's) as it was: the list is its plan's from now
 * on, memory included; false: there is none. */
bool jn_run_written(jn_run *r, bool alone);
/* A run that has made the calls of a list and nothing else is as a new one, and stays with the list
 * for the next: most of a small run would go to making it and taking it apart.  Takes it, NULL:
 * there is none; ... */
jn_run *jn_run_idle(jn_planset *set, const jn_subgraph *sub);
/* ... leaves it there, if it is such a run. */
bool jn_run_idles(jn_run *r);

#endif
