/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suspension of frames.
 *
 * A step of the host strand that needs a value which is not there yet (a tensor's element, a result
 * of a suspended call) suspends its frame only.  What is not there is a *future*: it stands in the
 * slots that will hold the value, and a bit says so.  Instructions without effects whose operands
 * are futures are put off one by one; anything else *parks* its frame: its caller goes on with
 * futures in place of the call's results, a loop with its next iteration.  When nothing can go on,
 * one flush serves all that wait, and the parked frames go on in program order.
 *
 * Program order is kept by *places*: an ordered list, one place per parked frame and one for what
 * runs now.  An effect (exec/strand/effects.h) waits while a frame parked at an earlier place may
 * still have one that it does not commute with; entries of the log are sorted by place.  What is
 * parked when depends on the inputs alone.
 *
 * All of this costs nothing until the first frame is parked: the host strand has a slow mode
 * (exec/strand/host_slow.c), which is on while anything is put off or parked.
 */
#ifndef JN_EXEC_SUSPEND_H
#define JN_EXEC_SUSPEND_H

#include "exec/state/state.h"
#include "exec/strand/effects.h"

/* Makes the record beside the slots. */
janus_status jn_async_of(jn_run *r, jn_cells c);
/* Puts a new future into a slot; with a reference for the caller. */
janus_status jn_promise(jn_run *r, jn_cells c, uint32_t i, jn_future **out);
/* A future that stands nowhere; NULL: out of memory. */
jn_future *jn_future_new(jn_run *r);
/* Slot i becomes what slot k of `from` is, value or future; JN_NO_SLOT: nothing. */
janus_status jn_cell_copy(jn_run *r, jn_cells from, uint32_t k, jn_cells to, uint32_t i);
/* Slots are about to be reused. */
void jn_cells_forget(jn_run *r, jn_cells c);
/* The value of a future becomes that of slot i, or of the future that stands there; drops the
 * caller's reference. */
void jn_fulfil(jn_run *r, jn_future *f, jn_cells c, uint32_t i);
/* A future done when the tensor is computed; the reference is the list's. */
janus_status jn_value_future(jn_run *r, jn_tval *v, uint8_t kind, jn_future **out);
/* Makes a promised result the element of a tensor. */
janus_status jn_value_of(jn_run *r, jn_future *f, jn_tval *v, uint8_t kind);
/* Parks a frame before instruction `in`, waiting for `on`, NULL: ready.  It keeps the current
 * place; `alone`: its callers wait with it. */
janus_status jn_park(jn_run *r, jn_frame *f, const jn_instr *in, jn_future *on, bool alone);
/* What ran here has ended or is parked: the place is used no more, or by that. */
void jn_place_leave(jn_run *r);
/* A new place behind the current one. */
janus_status jn_place_next(jn_run *r);
/* Puts an instruction off until `on` is done. */
janus_status jn_put_off(jn_run *r, jn_frame *f, const jn_instr *in, jn_future *on,
                        const uint32_t *dst, uint32_t n_dst);
/* Waits for another future. */
void jn_wait_for(jn_wait *w, jn_future *on);
void jn_wait_drop(jn_run *r, jn_wait *w);
/* The parked frame to go on with; NULL: none is ready. */
jn_wait *jn_next_ready(jn_run *r);
/* Flushes and fulfils the futures of tensors. */
janus_status jn_serve_values(jn_run *r);
/* Whether an effect must wait for a frame parked earlier. */
bool jn_must_wait(const jn_run *r, jn_effects e);
/* Every slot has its value: slow mode ends. */
void jn_settle(jn_run *r);
/* The part of a new run. */
void jn_strand_begin(jn_run *r);
/* Whether JANUS_FAIL_ASSERT says that the next assertion fails; while asserts_to_failure is not 0.
 */
bool jn_assert_fails(jn_run *r);
void jn_strand_free(jn_run *r);

#endif
