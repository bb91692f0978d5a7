/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: proxies, what they hold, their histories. */
#ifndef JPY_CONVERT_TENSORS_TENSORS_H
#define JPY_CONVERT_TENSORS_TENSORS_H

#include "pyfront/convert/core/core.h"

/* proxy.c: tensors */

janus_status jcv_hook(const jn_op *op, const jn_eager_arg *in, unsigned n_in, const void *attrs,
                      janus_tensor **out, unsigned n_out, janus_tensor *into);
jcv_rec *jcv_rec_of(jcv *c, const janus_tensor *t);
jcv_val *jcv_tensor_val(jcv *c, PyObject *proxy);
/* The number that a tensor of one element holds. */
jcv_val *jcv_item(jcv *c, jcv_val *v);
/* New proxy for a value; tracked: it requires grad (as a result).  It lies in memory as `like`
 * does, a tensor of these dims, or is contiguous (NULL). */
jcv_av *jcv_proxy_like(jcv *c, jcv_val *val, bool tracked, const jcv_av *like);
jcv_av *jcv_proxy(jcv *c, jcv_val *val, bool tracked);
/* The same where there may be gaps along these axes, or none. */
jcv_av *jcv_proxy_with_gaps(jcv *c, jcv_val *val, bool tracked, uint32_t gaps);
/* Whether two values, tensors of the same dims if both are tensors, lie in memory alike. */
bool jcv_same_layout(const jcv_av *a, const jcv_av *b);
/* Whether it is no tensor, or lies in memory as a new one does. */
bool jcv_plain_layout(const jcv_av *a);
/* The proxy of a real tensor read from a source. */
jcv_av *jcv_bind_tensor(jcv *c, PyObject *tensor, jpy_src *src);
jcv_av *jcv_real_tensor_const(jcv *c, PyObject *tensor);
bool jcv_is_proxy(jcv *c, PyObject *o);
/* A Python float that stands for a number of the graph in a call of an eager function. */
double jcv_tag(jcv *c, jcv_val *v);
/* The program looks at the layout of a tensor, which must not depend on sizes that vary. */
void jcv_layout_matters(jcv *c, PyObject *proxy);
/* The view of a proxy that a node takes. */
jcv_av *jcv_view(jcv *c, PyObject *of, jcv_node *n);
/* The proxy of a record. */
jcv_av *jcv_proxy_of(jcv *c, jcv_rec *r);
/* x.detach(), x.data: the same storage without history. */
jcv_av *jcv_detach(jcv *c, PyObject *proxy);
/* The source of a proxy that stands for a real tensor, else NULL. */
jpy_src *jcv_bound_src(jcv *c, jcv_av *a);
/* A proxy on the tape. */
PyObject *jcv_track(PyObject *proxy, bool tracked);

/* leak.c */

/* Notes that a tensor leaves its SubGraph: of several views of one the graph forgets that they
 * share memory. */
void jcv_leak(jcv *c, jcv_rec *r);
/* Refuses where one of these is stored by the graph; to be called when all have left. */
void jcv_check_stored(jcv *c);

/* layout.c */

/* In exact numerics: refuses a product whose operands lie otherwise in the graph, so that it would
 * be rounded otherwise.  `v`: the values of the operands `in`. */
void jcv_check_layouts(jcv *c, const jn_op *op, const jn_eager_arg *in, jcv_val *const *v,
                       unsigned n);

/* place.c: what tensors hold */

/* The value now; NULL: error record filled. */
jcv_val *jcv_held(jcv *c, jcv_rec *r);
/* Whether a value may be a view of a tensor that the graph has not made. */
bool jcv_views_others(const jcv *c, jcv_val *v);
/* Whether the graph has made it, whichever path is taken. */
bool jcv_has_own(const jcv *c, jcv_val *v);
/* Asserts that a loop has gone a round; not of one that is not main's, or that nobody counts. */
bool jcv_goes_round(jcv *c, const jcv_node *loop);

/* Whether it is none if the loop of main that hands it on has gone a round, which is asserted. */
bool jcv_own_after_rounds(jcv *c, jcv_val *v);
void jcv_keep_view(jcv *c, jcv_rec *r, jcv_rec *parent, const jn_op *op, jcv_node *n);
/* Writes v to the tensor; recorded: by an op on the tape, which keeps v for its gradient (kept);
 * ends: v is no function of what it was. */
janus_status jcv_write(jcv *c, jcv_rec *r, jcv_val *v, bool recorded, bool kept, bool ends);
/* Whether a root may be one of several tensors: which object it is, is not known. */
static inline bool jcv_of_several(const jcv_rec *r) { return r->shared || r->stored || r->n_from; }
/* A slot for what a root holds, from its first change on. */
janus_status jcv_need_slot(jcv *c, jcv_rec *root);
/* Sets what a root holds. */
void jcv_put_held(jcv *c, jcv_rec *root, jcv_val *v);
/* Whether an abstract value that is in reach leads to x, otherwise than by `me`. */
bool jcv_reachable(jcv *c, const jcv_rec *x, const jcv_rec *me);
/* Whether a view of a root is in a variable or container. */
bool jcv_view_reachable(jcv *c, const jcv_rec *root);
/* The state learns from the proxies which of them require grad; the other direction. */
void jcv_settle_places(jcv *c);
void jcv_sync_places(jcv *c);
/* Whether a slot holds state of a tensor; of one that was made in x or outside of it? */
bool jcv_is_place(jcv *c, size_t slot, const jcv_ctx *x, bool *out_outer);
/* Says which tensors the proxy of a leaf may be. */
void jcv_made_of(jcv *c, jcv_av *leaf, jcv_av *const *of, unsigned n);
/* Whether a tensor was made in x, or is `or` (NULL: none), and has no other name outside. */
bool jcv_only_in(jcv *c, jcv_av *a, const jcv_ctx *x, jcv_av * or);
bool jcv_same_root(jcv *c, jcv_av *a, jcv_av *b);
/* Whether two roots are, or on some paths may be, one tensor. */
bool jcv_may_be_one(const jcv_rec *a, const jcv_rec *b);
/* Guards that the tensors of the caller that r may be are none of the others that were guarded so.
 */
void jcv_stay_apart(jcv *c, const jcv_rec *r);
/* Whether it may be a tensor of the caller that was written: not known which object it is. */
bool jcv_may_be_written(const jcv *c, const jcv_rec *root);
/* What a loop carries: the proxies of its body's parameters and what a round leaves; refuses when
 * the next round would write to what has another name. */
void jcv_check_rounds(jcv *c, const jcv_ctx *body, jcv_av *const *first, jcv_av *const *last,
                      unsigned n);

/* leaf.c: leaves that the function makes or changes */

/* x.requires_grad = on; x.detach_(); x.data = y. */
void jcv_set_requires_grad(jcv *c, jcv_av *x, bool on);
void jcv_detach_in_place(jcv *c, jcv_av *x);
void jcv_set_data(jcv *c, jcv_av *x, jcv_av *y);
/* Whether `x.data = y` changes nothing, as y has the memory of x. */
bool jcv_has_data(jcv *c, const jcv_av *x, const jcv_av *y);
/* What an op has made is a leaf where the op was told so. */
void jcv_made_leaf(jcv *c, PyObject *proxy);

/* reach.c: histories: what gradients reach */

/* Marks all values that gradients of `y` flow to, in their `reach`; the mark. */
uint32_t jcv_mark_reach(jcv *c, jcv_val *const *y, unsigned n_y);
/* Refuses where some of the history of what was marked was used up; the history is used up from
 * now on. */
void jcv_check_history(jcv *c, uint32_t mark);
void jcv_use_up_history(jcv *c, uint32_t mark);
/* Whether something older than `now` that a leaf was is marked. */
bool jcv_reaches_older(const jcv_rec *r, const jcv_val *now, uint32_t mark);
/* Whether gradients of `y` flow to an argument that has a history, other than that of `but`. */
bool jcv_reaches_history(jcv *c, jcv_val *const *y, unsigned n_y, const jcv_val *but);
/* Whether gradients of `y` flow to `x`. */
bool jcv_reaches(jcv *c, jcv_val *y, jcv_val *x);
/* Whether some of the history of `y` may have been used up; the same where a run's arms do not
 * decide it, which else refuses; and whether, if it is there, it was in every run. */
bool jcv_history_may_be_used(jcv *c, jcv_val *y);
bool jcv_history_used(jcv *c, jcv_val *y);
bool jcv_history_surely_used(jcv *c, jcv_val *y);
/* Whether values of main say whether it keeps something, so that a second backward() raises. */
bool jcv_history_certain(jcv *c, jcv_val *y);
/* What lies between y and x is used up. */
void jcv_use_history(jcv *c, jcv_val *const *y, unsigned n_y, jcv_av *const *x, unsigned n);
/* way.c: nodes that were marked and from which gradients do not flow to x are so no more. */
void jcv_keep_way(jcv *c, uint32_t mark, jcv_av *const *x, unsigned n);
/* Whether gradients of `y` need what was written since by way of .data, which no version tells. */
bool jcv_history_rewritten(jcv *c, jcv_val *y);
/* Whether gradients of `y` flow to a leaf as it is since a write in the graph. */
bool jcv_reaches_written_leaf(jcv *c, jcv_val *y);
/* A gradient through `by` needs what the tensor holds now; whether one that may be asked for does:
 * anything that it has held, or (written) what the graph has written to it. */
void jcv_save_for(jcv *c, jcv_rec *root, const jcv_node *by);
bool jcv_saved(const jcv_rec *root, bool written);
/* Whether a gradient needs what an arm, a loop or a call leaves, on some path through it. */
bool jcv_result_saved(const jcv_val *v);
/* The same of what the graph has written, and of gradients that flow by this mark. */
bool jcv_saved_for(const jcv_rec *root, uint32_t mark);
/* The value that a write without recording gives a leaf; NULL: error record filled. */
jcv_val *jcv_leaf_again(jcv *c, jcv_rec *root, jcv_val *v);
/* Whether gradients of what was marked go through a function or a hook of the program. */
bool jcv_tape_alone(jcv *c, uint32_t mark);
bool jcv_history_by_tape(jcv *c, jcv_val *y); /* the same of a value */
/* Whether a backward() of y, whose history is used up, comes to a gradient or hook of the program
 * before it raises. */
bool jcv_own_comes_first(jcv *c, jcv_val *y);
/* Tells the functions of the program that their history is used up. */
void jcv_release_functions(jcv *c, uint32_t mark);

/* reach.c: which operands of an op require grad, for JPY_SAVES_READ of them (tape/tape.h), and
 * whether the tape keeps something for its gradient then. */
void jcv_operands_tracked(const jcv_node *n, bool *tracked);
bool jcv_op_keeps(const jcv_node *n);

/* ---- trait.c: traits of values ------------------------------------------------------------------
 * What may be so of a tensor on some paths of the graph only, as that it requires grad. */

typedef struct jcv_trait {
    unsigned which; /* JCV_TRACKED, ... */
    /* Whether a value has it for what its node, or parameter of main, is; what an op computes else
     * has it if one of its operands has. */
    bool (*by_itself)(const jcv *c, const jcv_val *v);
    const struct jcv_trait *where; /* NULL, or what it must have, too, to have it by itself */
    bool by_number;                /* what is read back has it if its number is not 0 */
    bool branches; /* a flag is made for what a branch of the function alone decides, too */
    bool by_node;  /* what an op computes has it by itself or not, whatever its operands have */
} jcv_trait;

/* Whether it may have a history. */
static inline bool jcv_is_float(const jcv_val *v) {
    return v && v->type->kind == JANUS_KIND_TENSOR && jn_dtype_is_float(v->type->dtype);
}

/* That it requires grad, whatever decides it. */
extern const jcv_trait jcv_requires_grad;

/* Finds what all calls of recursions have in common.  To be called before the others, and again
 * when the graph has grown. */
void jcv_trait_survey(jcv *c, const jcv_trait *t);
/* Whether v has the trait whichever path is taken. */
bool jcv_trait_certain(jcv *c, const jcv_trait *t, jcv_val *v);
/* It was asserted. */
void jcv_trait_is(const jcv_trait *t, jcv_val *v);
/* A bool of the graph: whether v has it; NULL: *out_always says so. */
jcv_val *jcv_trait_flag(jcv *c, const jcv_trait *t, jcv_val *v, bool *out_always);

/* viewed.c: whether a float result is no view of a tensor that the graph has not made, on whichever
 * path; where what ran decides it, it is asserted.  False: it may be one. */
bool jcv_no_view(jcv *c, jcv_val *v);

/* tracked.c: what requires grad */

/* Whether what may require grad does so whichever path is taken; where what ran decides
 * it, it is asserted.  False: only a branch decides. */
bool jcv_tracked_always(jcv *c, jcv_val *v);
/* A bool of the graph: whether v requires grad in this run; NULL: *out_always says so of each. */
jcv_val *jcv_tracked_flag(jcv *c, jcv_val *v, bool *out_always);
/* Whoever looks whether a tensor requires grad sees what its proxy says: refuses where that is not
 * so on all paths. */
void jcv_ask_tracked(jcv *c, jcv_av *x);
/* The same, where nothing can be asserted any more: false also where what ran decides. */
bool jcv_tracked_certain(jcv *c, jcv_val *v);

#endif
