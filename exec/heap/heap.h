/* SPDX-License-Identifier: Apache-2.0 */
/* Host objects as a run sees them: what it reads, what it logs, what its results are. */
#ifndef JN_EXEC_HEAP_H
#define JN_EXEC_HEAP_H

#include "exec/heap/list_rows.h"
#include "exec/heap/overlay.h"
#include "exec/heap/wire.h"
#include "exec/state/state.h"

/* exec/heap/host_ops.c */
janus_status jn_host_exec(jn_run *r, const jn_host_call *c, jn_slot *slots, uint32_t dst);
/* The same for an element or a length of an object of the embedding program while nothing is
 * suspended and nothing has been written (attributes, types, numbers: JN_QUICK_ATTR and so on);
 * false: it is something else or fails, and is to be executed as any other. */
bool jn_host_read(jn_run *r, const jn_host_call *c, jn_slot *slots, uint32_t dst);
janus_status jn_log_store(jn_run *r, jn_tval *target, jn_tval *value);
/* exec/heap/log.c: results in the form they have after prepare. */
janus_status jn_log_result(jn_run *r, jn_tval *v, bool lent, jn_arg *out);
janus_status jn_log_object(jn_run *r, janus_object o, jn_arg *out);
/* Finishes the tensor work and makes what the log needs; the log, in program order; late results,
 * once; the log performed: what run.h says of a run. */
janus_status jn_log_prepare(jn_run *r);
const jn_effect *jn_log_entries(const jn_run *r, size_t *out_n);
janus_status jn_log_late(jn_run *r);
janus_status jn_log_apply(jn_run *r);
janus_status jn_log_wired(const jn_run *r, jn_wired **out, size_t *out_n);
/* Calls fn on every effect that was logged. */
janus_status jn_log_each(jn_run *r, janus_status (*fn)(void *arg, jn_pending_effect *e), void *arg);
void jn_log_free(jn_run *r);
/* Whether nothing is known of objects, and nothing logged. */
bool jn_heap_is_new(const jn_run *r);
/* Whether something was written that reads must see. */
static inline bool jn_overlay_any(const jn_run *r) { return r->of_heap.overlay != NULL; }
/* exec/heap/overlay.c */
void jn_overlay_free(jn_run *r);
void jn_tuple_keys_free(jn_run *r);
/* Calls fn on every box of the overlay. */
janus_status jn_overlay_each(jn_run *r, janus_status (*fn)(void *arg, jn_box *b), void *arg);
/* What a host op does (exec/heap/host_ops.c). */
janus_status jn_host_what_of(const jn_op *op, uint8_t *out_what);
jn_quick_read jn_host_quick(const jn_host_call *c);
/* Of a host operation (exec/heap/host_ops.c). */
jn_effects jn_host_effects(const jn_host_call *c);
/* The future that a host operation cannot do without (exec/heap/host_ops.c); NULL: it can be done.
 * What it only stores may be one. */
jn_future *jn_host_waits_for(jn_run *r, const jn_host_call *c, jn_cells cells);
/* Whether the step may be put off: it reads its operands only. */
bool jn_host_pure(const jn_host_call *c);

#endif
