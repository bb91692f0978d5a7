/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients through what the run stores in objects and reads back (docs/adr/0015-wires.md). */
#ifndef JN_EXEC_WIRE_H
#define JN_EXEC_WIRE_H

#include "exec/state/state.h"

/* The number of a tensor that is stored, given when it has none. */
janus_status jn_wire_put(jn_run *r, const jn_tval *v, int64_t what, int64_t *out_k);
/* The promise with a number that is this host object, or NULL: what is stored of it is the object.
 */
jn_tval *jn_wire_object(const jn_run *r, const void *o);
/* A number for a tensor that host object `o` is and that takes gradients. */
janus_status jn_wire_found(jn_run *r, janus_object o, const jn_tval *v);
const jn_wired *jn_wires_found(const jn_run *r, size_t *out_n);
/* The number of one that was read; JANUS_ASSUMPTION_FAILED: it has none, unless `what` has
 * JN_WIRE_NONE and it is a host object's: 0. */
janus_status jn_wire_of(const jn_run *r, const jn_tval *v, int64_t what, int64_t *out_k);
/* What waits at a number. */
bool jn_wire_has(const jn_run *r, int64_t k);
janus_status jn_wire_take(jn_run *r, int64_t k, jn_tval **out);
/* New reference: what is left at a number, *out NULL: nothing.  After all is computed. */
janus_status jn_wire_left(jn_run *r, int64_t k, janus_tensor **out);
janus_status jn_wire_set(jn_run *r, int64_t k, jn_tval *x);
/* The gradient has come to the tensor of number k. */
janus_status jn_wire_mark(jn_run *r, int64_t k, int64_t what);
/* The number of a promise; 0: it has none. */
int64_t jn_wire_number(const jn_run *r, const jn_tval *v);
/* The last number given; and by number what wire.mark said. */
int64_t jn_wires_last(const jn_run *r);
const uint8_t *jn_wires_marked(const jn_run *r, size_t *out_n);
void jn_wires_free(jn_run *r);

#endif
