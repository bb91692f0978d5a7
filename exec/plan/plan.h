/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: taken, compiled, printed. */
#ifndef JN_EXEC_PLAN_ROOM_H
#define JN_EXEC_PLAN_ROOM_H

#include "exec/plan/watch.h"
#include "exec/state/state.h"

/* Takes a plan set of the module out of its pool (or makes one); back with jn_planset_return. */
janus_status jn_planset_take(const janus_module *m, jn_planset **out);
void jn_planset_return(jn_planset *s);
/* What the module's sets keep for their next runs is given up, if it is much. */
void jn_plans_rest(const janus_module *m);
/* The compiled plan of a SubGraph. */
janus_status jn_plan_get(jn_planset *s, const jn_subgraph *sub, bool saved, jn_plan **out);
/* Whether runs that begin in this plan do the same whatever their tensors hold, and nothing but
 * tensor work; of what is compiled by now. */
bool jn_plan_is_fixed(const jn_plan *p);
/* Fills in code and slots (exec/plan/plan_build.c). */
janus_status jn_plan_compile(jn_plan *p);
/* One line per instruction, for JANUS_LOG=plans and tests. */
void jn_plan_print(const jn_plan *p, jn_str *s);
/* The schedule that a frozen module has without a run, as JSON (exec/plan/plan_draw.c says of
 * what): plans of what runs begin in, and of what these call. */
janus_status jn_plans_json(const janus_module *m, jn_str *s);
/* An integer attribute; 0: the op has none of this name. */
int64_t jn_int_attr(const jn_node *n, const char *name);

#endif
