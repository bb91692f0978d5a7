/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a frozen module, step by step: what janus_run does in one go and what the Python front
 * does around its commit.
 *
 *     jn_run_new -> jn_run_execute -> jn_run_prepare -> jn_run_apply -> jn_run_results -> free
 *                         |                 |
 *                         +-- fails: jn_run_free; nothing outside has changed
 *
 * execute runs the host strand to its end; tensor work may still be pending.  prepare finishes it:
 * after it, no step can fail but the host's own callbacks, and what the run made exists (the host's
 * `make` and `wrap`).  apply performs the log in program order.
 */
#ifndef JN_EXEC_RUN_H
#define JN_EXEC_RUN_H

#include "exec/state/state.h"

janus_status jn_run_new(const jn_subgraph *sub, const janus_run_options *options, jn_run **out);
/* Before execute: arguments i with known[i], a jn_known other than 0, ready or not, are dense
 * tensors that look as those of any other run of the SubGraph with this number (not 0), and are on
 * one device with them. */
void jn_run_knows(jn_run *r, uint64_t number, const uint8_t *known);
/* Before execute: the caller holds the tensors among the arguments until results were given, and
 * the run writes nothing. */
void jn_run_borrows(jn_run *r);
janus_status jn_run_execute(jn_run *r, const jn_arg *args, unsigned n_args);
janus_status jn_run_prepare(jn_run *r);
/* Before prepare: the caller is going to store result `result` to `target` (borrowed) right after
 * apply, if result `when` - 1, a bool, is true; 0: in any case.  `only`: nothing else is done with
 * it, and it is asked for as lent; where that can be, apply computes it in its place, and the
 * result is `target` itself. */
janus_status jn_run_stores(jn_run *r, unsigned result, unsigned when, janus_tensor *target,
                           bool only);
/* Before prepare: nothing is computed in its place by apply, which need not be called. */
void jn_run_aside(jn_run *r);
/* Runs of this module, which is frozen and has not run yet, know whether they enter an arm, a loop
 * or a callee, or go round a loop once or several times, for the first time. */
void jn_module_watch(janus_module *m);
/* Memory that is kept for its next run is given up, if it is much: something else needs it. */
void jn_module_rest(const janus_module *m);
/* The schedule that a frozen module has without a run, as JSON (exec/plan/plan_draw.c). */
janus_status jn_module_schedule(const janus_module *m, jn_str *s);
/* After execute: whether this run has, and was not confirmed; what it has entered counts as entered
 * from then on. */
bool jn_run_met(const jn_run *r);
void jn_run_confirm(jn_run *r);
/* The log in program order; valid after prepare. */
const jn_effect *jn_run_log(const jn_run *r, size_t *out_n);
/* Computes late results (exec/schedule/late.h) in their places, once; for a caller that performs
 * the log by itself. */
janus_status jn_run_late(jn_run *r);
/* Writes late results, then performs the log through options.host; STORE entries
 * copy into their targets. */
janus_status jn_run_apply(jn_run *r);
/* Results: tensors and frames are new references; tensors may be rows (exec/store/tensor_rows.h).
 */
/* `lent` (NULL: none): results that need not outlive the run; they may lie in its memory. */
janus_status jn_run_results(jn_run *r, jn_arg *results, unsigned n, const bool *lent);
/*
 * Tensors that a run has stored and that outlive it have numbers (docs/adr/0015-wires.md): after
 * prepare, the objects that they became, in the order of the log.  A run of the gradient begins
 * with cotangents that wait at numbers (before execute; `t` is borrowed until it is freed) and says
 * what it has come to: for each number below *out_n the `what` of its marks, 0: not there.
 */
janus_status jn_run_wired(const jn_run *r, jn_wired **out /* jn_free() */, size_t *out_n);
int64_t jn_run_wires(const jn_run *r); /* the last number given */
janus_status jn_run_wire_begins(jn_run *r, int64_t number, janus_tensor *t);
/*
 * Tensors that the run has read and that take gradients (janus_host_ops.leaf) have numbers, too:
 * borrowed, after execute.  A run of the gradient leaves the gradient there: a new reference, NULL
 * where none has come; after prepare.
 */
const jn_wired *jn_run_found(const jn_run *r, size_t *out_n);
janus_status jn_run_wire_left(jn_run *r, int64_t number, janus_tensor **out);
const uint8_t *jn_run_wire_marks(const jn_run *r, size_t *out_n);
/*
 * What frames keep of a result, or of an argument that the run has copied, lies there, as long as
 * the frame lives: of who writes to the tensor, frames know nothing.  After prepare; NULL: there is
 * no such memory, or it is the tensor's own.
 */
char *jn_run_result_place(const jn_run *r, unsigned result);
char *jn_run_argument_place(const jn_run *r, unsigned argument);
/* A tensor over what the frame of a call has at a member of its SubGraph's `saved`, in host memory;
 * while the frame lives.  NULL: none. */
janus_status jn_frame_value_member(const jn_frame_value *f, uint32_t member, janus_tensor **out);
/* What is kept at such a place becomes what `t`, of the same type, holds now. */
janus_status jn_frame_value_renew(const jn_frame_value *f, char *place, janus_tensor *t);
/* Whether the frame, or one of those of the calls in it, keeps something that lies in [from, to).
 */
janus_status jn_frame_value_keeps(const jn_frame_value *f, const char *from, const char *to,
                                  bool *out);
void jn_run_stats_get(const jn_run *r, janus_run_stats *out);
/* What it has computed is not asked for any more, but what its figures are and jn_run_confirm: its
 * memory, and whatever else nobody uses, goes back to the system. */
void jn_run_rest(jn_run *r);
void jn_run_free(jn_run *r);

void jn_frame_value_retain(jn_frame_value *f);
void jn_frame_value_release(jn_frame_value *f);

#endif
