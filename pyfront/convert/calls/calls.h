/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: of functions of Python, of the tensor layer, of builtins, of gradients. */
#ifndef JPY_CONVERT_CALLS_CALLS_H
#define JPY_CONVERT_CALLS_CALLS_H

#include "pyfront/convert/core/core.h"

/* call.c: calls */

/* jcv_call. */
jcv_av *jcv_call_object(jcv *c, jcv_av *f, const jcv_args *args);
jcv_av *jcv_call_function(jcv *c, PyObject *func, jpy_src *src, const jcv_args *args);
/* Whether the text of a function may look at what it is given: at place `at`, or (`at` below 0) by
 * that name, which is interned. */
bool jcv_looks_at(jcv *c, PyObject *func, Py_ssize_t at, const PyObject *name);
jcv_av *jcv_call_tensor(jcv *c, PyObject *callable, const jcv_args *args);
/* The function of the tensor layer, of that name, called for real.  given: seed and offset that it
 * draws with, NULL: those of the run. */
jcv_av *jcv_call_on_proxies(jcv *c, PyObject *callable, const char *name, const jcv_args *args,
                            jcv_val *const *given);
/* Binds the parameters of `fr` to flat arguments. */
void jcv_store_params(jcv *c, jcv_frame *fr, jcv_av **flat);

/* builtins.c: builtins */

jcv_av *jcv_call_builtin(jcv *c, jcv_av *f, const jcv_args *args);

/* instances.c: what is asked of types */

jcv_av *jcv_b_isinstance(jcv *c, const jcv_args *a);
jcv_av *jcv_b_issubclass(jcv *c, const jcv_args *a);
jcv_av *jcv_b_callable(jcv *c, const jcv_args *a);

/* signatures.c: refuses arguments that the builtin `o` of that name does not take */
void jcv_check_arguments(jcv *c, PyObject *o, const char *name, const jcv_args *a);

/* recursion.c: functions that call themselves */

/* Whether its function is known to be recursive. */
bool jcv_recursive(jcv *c, const jcv_frame *fr);
/* Recursion: NULL: the call is not of a recursive function, inline it. */
jcv_av *jcv_call_recursive(jcv *c, jcv_frame *fr, jcv_av **params, unsigned n);

/* apart.c: _apart(f, *tensors), a call that is an invoke */

jcv_av *jcv_call_apart(jcv *c, const jcv_args *args, bool checkpoint);

/* autograd.c: janus.autograd */

/* Gradients of y (seeds: their cotangents, NULL: 1) with respect to x by the tape that the eager
 * layer has of ops on proxies, op by op: which of them there are, and whether they require grad, is
 * as CPython has it.  NULL for one that there is not; NULL altogether where a rule cannot be
 * staged, unless it must. */
jcv_av **jcv_tape_grad(jcv *c, jcv_av *const *y, jcv_av *const *seeds, unsigned n_y,
                       jcv_av *const *x, unsigned n, bool retain, bool create, bool must);
/* Whether the tape knows all of the history of y; `x`: where it ends. */
bool jcv_tape_knows(jcv *c, jcv_av *const *y, unsigned n_y, jcv_av *const *x, unsigned n);
jcv_av *jcv_autograd_grad(jcv *c, const jcv_args *args);
jcv_av *jcv_autograd_backward(jcv *c, const jcv_args *args);

/* print.c: print() */

jcv_av *jcv_print(jcv *c, const jcv_args *args);

/* own_gradient.c: gradients that the program computes itself: calls of _function_node,
 * _register_hook and _remove_hook */

/* Throws again what was thrown in a function that the tape has called; returns where nothing was.
 */
void jcv_thrown_inside(jcv *c);
jcv_av *jcv_function_node(jcv *c, PyObject *function, const jcv_args *args);
jcv_av *jcv_tensor_hook(jcv *c, PyObject *function, const jcv_args *args);
jcv_av *jcv_no_hook(jcv *c, PyObject *function, const jcv_args *args);

/* steps.c: steps of optimizers */

/* A call of optimizer_step_ where some gradients may be None. */
bool jcv_optional_steps(jcv *c, PyObject *callable, const char *name, const jcv_args *args);

/* drawn.c: draws from a generator of the program's own; NULL: it is not such a call */

jcv_av *jcv_call_drawn(jcv *c, PyObject *callable, const char *name, const jcv_args *args);

/* backward.c: backward() */

/* backward() of tensors; seeds: their cotangents, NULL: 1.  Adds to the .grad of the leaves. */
void jcv_tensor_backward(jcv *c, jcv_av *const *roots, jcv_av *const *seeds, unsigned n,
                         bool retain);

/* recursion_sizes.c: recursion on sizes of tensors */

/* Whether a call has taught that dims of a parameter differ between calls, or may have gaps. */
bool jcv_learn_sizes(jcv *c, jcv_rec_fn *f, unsigned i, jcv_av *param, jcv_av *arg);
/* Whether an argument may be bound to parameter i, which is `param` inside. */
bool jcv_fits_param(jcv *c, const jcv_rec_fn *f, unsigned i, jcv_av *param, jcv_av *arg);
/* The type of parameter i where the first call's is t, and the parameter. */
const jn_type *jcv_param_type(jcv *c, const jcv_rec_fn *f, unsigned i, const jn_type *t,
                              jcv_new_sizes *out);
jcv_av *jcv_sized_leaf(jcv *c, const jcv_rec_fn *f, unsigned i, jcv_val *v, jcv_av *arg,
                       bool tracked);
/* A dim of what a call returns, as others see it: JN_DIM_UNKNOWN where the call decides it. */
int64_t jcv_size_of_call(const jcv *c, int64_t size);
/* 1: a result of type t is as known, 0: `known` has more unknown dims now, -1: it does not fit. */
int jcv_fit_sizes(jcv *c, jn_type *known, const jn_type *t);

/* returned.c: what a recursion returns */

/* Memory of the conversion (recursion.c). */
void *jcv_kept(jcv *c, size_t size);
/* The template of a first result `a`; `all`: the whole of what a is part of. */
jcv_av *jcv_returned(jcv *c, jcv_av *a, const jcv_instance *in, jcv_av *all);
/* 1: another result is as the template says, 0: it says more now, -1: it does not fit. */
int jcv_fit_returned(jcv *c, jcv_av *t, jcv_av *a, const jcv_instance *in, jcv_av *all);
/* Leaves of a result as results of the SubGraph; how many there are, and their types. */
void jcv_returned_leaves(jcv *c, const jcv_av *t, jcv_av *a, jcv_ctx *to);
unsigned jcv_count_returned(const jcv_av *t);
void jcv_returned_types(jcv *c, const jcv_av *t, const jn_type **types, unsigned *at);
/* What a call gives, of its node's results from *at on. */
jcv_av *jcv_make_returned(jcv *c, const jcv_av *t, jcv_node *n, unsigned *at);

/* recursion.c: recursions, of functions or generators, whose end the graph alone knows are unrolled
 * in arms: whether so many calls of one may lie in one another so, and whether the one that is made
 * now is one too many of a conversion (it is counted). */
bool jcv_in_arms(const jcv *c, unsigned calls);
bool jcv_too_many_in_arms(jcv *c);

/* flat.c: arguments without containers */

/* The arguments of a call, *n_flat of them, and the shape of its parameters; those again. */
jcv_av *jcv_flat_arguments(jcv *c, const jcv_frame *fr, jcv_av **v, unsigned n, jcv_av **flat,
                           unsigned *n_flat);
jcv_av **jcv_from_flat(jcv *c, const jcv_frame *fr, jcv_av *const *flat);
/* A recursion that was given a dict or instance is given b: starts again where what both hold can
 * be given instead. */
void jcv_other_objects(jcv *c, const jcv_frame *fr, unsigned leaf, const jcv_av *a,
                       const jcv_av *b);

#endif
