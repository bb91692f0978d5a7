/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which parts of a graph a run has entered for the first time.
 *
 * Plans of a watched module begin with a mark at each part that a run may or may not enter: the
 * plan itself (a callee, the body of a loop), each way out of a conditional jump, each loop for
 * being taken 0, 1 or many times.  A mark is a bit of an instruction's opcode, so that the host
 * strand leaves its switch where it would for a suspended instruction; it is taken off when it is
 * met, and there is nothing left of it.  A run that is not confirmed puts its marks back.
 *
 * Marks belong to a plan set: another one, of a second run at the same time, has its own.
 */
#ifndef JN_EXEC_WATCH_H
#define JN_EXEC_WATCH_H

#include "exec/state/state.h"

struct jn_run;
/* Plans of this module, which is frozen and has not run yet, are watched. */
void jn_watch_module(janus_module *m);
/* Whether a run has met marks that it has not confirmed. */
bool jn_watch_has_met(const struct jn_run *r);
void jn_watch_confirm(struct jn_run *r);
/* Puts marks on a plan that has just been compiled. */
janus_status jn_watch_plan(jn_plan *p);
/* A marked instruction is about to run: it is a plain one now. */
janus_status jn_watch_met(struct jn_run *r, jn_plan *p, const jn_instr *in);
/* A loop that is marked has ended after n rounds. */
janus_status jn_watch_loop(struct jn_run *r, jn_loop *l, int64_t n);
/* Puts back what the run has met, unless it was confirmed. */
void jn_watch_end(struct jn_run *r);

#endif
