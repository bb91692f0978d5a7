/* SPDX-License-Identifier: Apache-2.0 */
/* What an attempt found becomes an entry: the module, its gradients, the commit. */
#ifndef JPY_CONVERT_FINISH_FINISH_H
#define JPY_CONVERT_FINISH_FINISH_H

#include "pyfront/convert/core/core.h"

/* emit.c: staged graph -> module */

janus_status jcv_emit(jcv *c, janus_module *m, jn_subgraph **out_main);

/* Marks what main calls, directly or not, as `used`. */
void jcv_find_used(jcv *c);

/* reads.c: reads that CPython could raise at stay, needed or not */

/* After all results are known. */
void jcv_keep_reads(jcv *c);

/* alike.c: calls apart of equal SubGraphs become calls of one */

void jcv_join_alike(jcv *c);

/* share.c: recursions no longer pass on what is the same in all of their calls */

void jcv_share_invariants(jcv *c);
/* Of a value that a SubGraph gets from elsewhere: whether it was made by one that this one calls,
 * so that it is another one in each of its calls.  Known from then on. */
bool jcv_of_its_recursion(const jcv_ctx *x, const jcv_val *v);

/* cut.c: before the graph is emitted */

/* No gradient is computed of, nor a value kept for, inputs that do not require grad. */
void jcv_cut_untracked(jcv *c);
/* What was computed without recording carries no gradient into calls, arms, rounds and objects. */
void jcv_cut_unrecorded(jcv *c);

/* gradient.c: the entry's stages, and @entry, which runs them and keeps their frames */

janus_status jcv_add_gradient(jpy_entry *e, bool exact);

/* remains.c: whether tensors that the graph stores, and that require grad, outlive the call */

/* After all results are known: e->remains, or e->local where they must not. */
void jcv_find_remains(jcv *c, jpy_entry *e);
/* Whether what requires grad and is stored may be there when the run is over. */
bool jcv_may_remain(const jcv *c);

/* identity.c: whether anybody sees which object an item of a stacked list is */

/* After all results are known: such a list is one of objects in the next attempt, or it refuses. */
void jcv_check_identity(jcv *c);

/* finish.c: what an attempt found becomes the entry */

void jcv_finish(jcv *c, jpy_entry *e, jcv_av *result);

/* images.c: both images */

/* Whether two entries, of both images, do the same; else why not. */
bool jcv_same_entry(const jpy_entry *a, const jpy_entry *b, char *reason, size_t size);

#endif
