/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter: expressions and statements. */
#ifndef JPY_CONVERT_SYNTAX_SYNTAX_H
#define JPY_CONVERT_SYNTAX_SYNTAX_H

#include "pyfront/convert/core/core.h"
#include "pyfront/convert/heap/heap.h"

/* expr.c: expressions */

/* jcv_truth of an expression, `and`, `or` and `not` of different kinds included. */
int jcv_test(jcv *c, jpy_tree *n, jcv_val **out);
jcv_av *jcv_eval(jcv *c, jpy_tree *n);
/* The same, but the result may be an AV_SUM. */
jcv_av *jcv_eval_sum(jcv *c, jpy_tree *n);
/* Defaults of a function made here, positional ones first. */
void jcv_closure_defaults(jcv *c, jcv_av *a, jpy_tree *params);

/* control.c: statements */

/* jcv_run_body. */
jcv_av *jcv_exec_body(jcv *c, jcv_frame *fr);
jcv_out jcv_exec(jcv *c, const jpy_tree_list *list);
jcv_out jcv_exec_from(jcv *c, const jpy_tree_list *list, unsigned first);
void jcv_assign(jcv *c, jpy_tree *target, jcv_av *v);
jcv_out jcv_exec_if(jcv *c, jpy_tree *n);
/* Both arms of a condition, each with what follows up to the end of the function or round. */
jcv_out jcv_branch_with_rest(jcv *c, jcv_val *cond, jcv_arm_fn fn, void *user);
bool jcv_list_leaves(const jpy_tree_list *l);
bool jcv_has_kind(const jpy_tree_list *l, int kind, bool into_loops);

/* loop.c: loops */

/* jcv_visit. */
void jcv_visit_items(jcv *c, jcv_av *over, const jcv_leave *leave, jcv_visit_fn fn, void *user);
/* Whether a loop has been left: 1, 0, or -1: the graph knows. */
int jcv_has_left(jcv *c, const jcv_leave *l);
void jcv_leave_by(jcv *c, jcv_out out);
jcv_out jcv_exec_for(jcv *c, jpy_tree *n);
jcv_out jcv_exec_while(jcv *c, jpy_tree *n);

/* match.c: match */

jcv_out jcv_exec_match(jcv *c, jpy_tree *n);

/* with.c: with */

jcv_out jcv_exec_with(jcv *c, jpy_tree *n);

/* comprehension.c: generators and comprehensions */

void jcv_visit_generator(jcv *c, jcv_av *g, const jcv_leave *leave, jcv_visit_fn fn, void *user);
/* Whether a generator function runs whose consumer may leave it at a yield. */
bool jcv_yield_leaves(const jcv *c);
/* The statement `yield ...`. */
jcv_out jcv_exec_yield(jcv *c, jpy_tree *n);
jcv_av *jcv_comprehension(jcv *c, jpy_tree *n);

/* fork.c: the rest of the block is converted for each type, or length, that was seen */

typedef jcv_out (*jcv_exec_fn)(jcv *c, jpy_tree *statement);
/* Whether a statement inside of `n` takes the rest of the block into its arms. */
bool jcv_forks_rest(const jcv *c, const jpy_tree *n);
/* What an expression of the statement gives that was evaluated ahead of it; NULL: it was not. */
jcv_av *jcv_known_ahead(jcv *c, const jpy_tree *n);
/* Evaluates an expression of a statement that is on trial, which may ask about what it gives. */
jcv_av *jcv_tried(jcv *c, jpy_tree *n, jcv_av *(*eval)(jcv *c, jpy_tree *n));
/* Runs a statement that is known to ask. */
jcv_out jcv_exec_forking(jcv *c, jpy_tree *statement, jcv_exec_fn exec);

#endif
