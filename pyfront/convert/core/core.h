/* SPDX-License-Identifier: Apache-2.0 */
/* The ground of the converter: refusals, nodes of the staged graph, abstract values. */
#ifndef JPY_CONVERT_CORE_CORE_H
#define JPY_CONVERT_CORE_CORE_H

#include "pyfront/convert/core/above.h"
#include "pyfront/convert/core/state.h"

/* stage.c: values and nodes, refusals */

/* Leaves with a reason; the position of the current statement is added. */
__attribute__((noreturn, format(printf, 2, 3))) void jcv_refuse(jcv *c, const char *fmt, ...);
__attribute__((noreturn)) void jcv_throw_now(jcv *c, jcv_throw what);
/* After a Python call failed: refuses with the exception's text. */
__attribute__((noreturn)) void jcv_refuse_py(jcv *c);
/* Where the current statement is.  What janus's own Python code does is the work of the user's line
 * that led there: the innermost one on the stack.  Of janus's own functions that are called by none
 * it is their own.  file NULL: not known. */
jn_loc jcv_place_of(const jcv *c);
void *jcv_alloc(jcv *c, size_t size); /* zeroed, of this attempt */
/* Takes a new reference; refuses when NULL, or when elements of a proxy were asked for on the way.
 */
PyObject *jcv_own(jcv *c, PyObject *o);
/* Whether that very object is in a list, NULL: it has none; one more in it, which is made with the
 * first. */
bool jcv_list_has(const PyObject *list, const PyObject *o);
/* A container is gone through, and what is in it: it may contain itself.  c->inside is taken back
 * at the end. */
void jcv_go_inside(jcv *c);
void jcv_list_add(jcv *c, PyObject **io_list, PyObject *o);
jcv_ctx *jcv_ctx_new(jcv *c, jcv_ctx_kind kind, const char *name, jcv_ctx *parent);
/* x is `outer` or lies in it: what outer has made is there to be used. */
bool jcv_encloses(const jcv_ctx *outer, const jcv_ctx *x);
jcv_val *jcv_param(jcv *c, jcv_ctx *ctx, const jn_type *type);
jcv_val *jcv_scalar_const(jcv *c, janus_kind kind, janus_scalar v);
static inline jcv_val *jcv_int_const(jcv *c, int64_t v) {
    return jcv_scalar_const(c, JANUS_KIND_INT, (janus_scalar){.i = v});
}
/* Appends a node to c->ctx with inferred types; results are returned in the node. */
jcv_node *jcv_op(jcv *c, const jn_op *op, jcv_val *const *in, unsigned n_in, const void *attrs);
jcv_node *jcv_op_try(jcv *c, const jn_op *op, jcv_val *const *in, unsigned n_in, const void *attrs);
/* `v` as what carries no gradient, of this SubGraph; NULL: jn_error is set. */
jcv_val *jcv_unrecorded(jcv *c, jcv_val *v);
jcv_node *jcv_call_node(jcv *c, const char *op, jcv_ctx *a, jcv_ctx *b, jcv_val *const *in,
                        unsigned n_in, const jn_type *const *types, unsigned n_out);
/* What the SubGraph of a call keeps, and those that it calls, is not used up: this call has it. */
void jcv_history_of_call(jcv *c, const jcv_node *call, uint32_t walk);
jcv_node *jcv_backward_node(jcv *c, jcv_val *const *y, jcv_val *const *dy, unsigned n_y,
                            jcv_val *const *x, unsigned n_x, bool optional);
void jcv_assert(jcv *c, jcv_val *cond, const char *message);
/* With the place in the source that it is about. */
void jcv_assert_at(jcv *c, jcv_val *cond, const char *message, const jn_loc *loc);
/* The first round of a loop is not like the others: starts again with this round made outside of
 * the loop, if that is possible. */
void jcv_peel_loop(jcv *c, const jpy_tree *loop);
bool jcv_peeled(const jcv *c, const jpy_tree *loop);
const jn_type *jcv_type(jcv *c, jn_type t);
bool jcv_same_type(const jn_type *a, const jn_type *b);

/* value.c: abstract values */

jcv_av *jcv_new(jcv *c, jcv_kind kind);
jcv_av *jcv_py(jcv *c, PyObject *o /* kept */, jpy_src *src);
jcv_av *jcv_take(jcv *c, PyObject *o /* new reference, constant */);
/* The same of what CPython made of constants: a text that is one of them is that object. */
jcv_av *jcv_take_of(jcv *c, PyObject *o, jcv_av *const *of, unsigned n);
jcv_av *jcv_none(jcv *c);
/* An AV_UNDEF; why: static text. */
jcv_av *jcv_lacking(jcv *c, jcv_lack lack, const char *why);
static inline bool jcv_lacks(const jcv_av *a, jcv_lack lack) {
    return a && a->kind == AV_UNDEF && a->lack == lack;
}
static inline bool jcv_is_none(const jcv_av *a) { return a->kind == AV_PY && a->py == Py_None; }
jcv_av *jcv_bool(jcv *c, bool v);
jcv_av *jcv_scalar(jcv *c, jcv_val *v);
jcv_av *jcv_tuple(jcv *c, jcv_av *const *items, unsigned n);
/* A tuple of the same type as `like`, with its items. */
jcv_av *jcv_tuple_like(jcv *c, const jcv_av *like);
/* Something that a recursion may read was written. */
static inline void jcv_wrote(jcv *c) { c->epoch = ++c->last_epoch; }
static inline void jcv_wrote_if(jcv *c, bool yes) {
    if (yes)
        jcv_wrote(c);
}
uint32_t jcv_slot(jcv *c, jcv_av *first);
/* Slots are written by this alone: both the place and the value may make slots while they are
 * computed, which moves the table. */
static inline void jcv_put(jcv *c, size_t slot, jcv_av *v) { c->slots.data[slot] = v; }
/* Graph value of a number: constant or computed; NULL: not a number. */
jcv_val *jcv_number(jcv *c, jcv_av *a);
/* Of an AV_PY; refuses an int that 64 bits do not hold.  -1 of what is no int. */
long jcv_long(jcv *c, const jcv_av *a);
const char *jcv_describe(jcv_av *a);
extern const char jcv_slice_text[]; /* text of an AV_SEQ: a slice of a list or tuple of the graph */
bool jcv_is_slice(const jcv_av *a);
/* Where the function makes it, a list or dict; NULL: it is something else, or made at no place. */
const jpy_tree *jcv_made_at(const jcv_av *a);
extern const char jcv_stacked[]; /* text of a list whose items are rows */
bool jcv_is_stacked(const jcv_av *a);
/* Rows of a list of unknown length. */
jcv_av *jcv_stack(jcv *c, jcv_val *v, bool tracked);

/* dims.c: dims that vary */

enum { JCV_GAP = 1031 }; /* what lies between the rows of a part of a tensor */

bool jcv_dim_varies(const jcv *c, int64_t size);
bool jcv_any_dim_varies(const jcv *c, const jn_type *t);
/* The type of a bound tensor in this image, with these dims, and its strides, if there are dims
 * that vary and it is not contiguous; guards of dims are made to fit. */
void jcv_image_of(jcv *c, const janus_tensor *t, jpy_src *src, jn_type *type, int64_t *dims,
                  int64_t *strides);
/* The type that a value has in the module: in `dims` where some vary. */
jn_type jcv_wide_type(const jcv *c, const jcv_val *v, int64_t *dims);
void jcv_image_number(jcv *c, jcv_node *n);
jcv_av *jcv_size(jcv *c, jcv_val *t, int axis);
/* Asserts that a number is what another one is. */
void jcv_must_be(jcv *c, jcv_val *v, jcv_val *other);
void jcv_at_least(jcv *c, jcv_val *v, jcv_val *least);
/* The size of an axis as a number of the graph, and an int as one. */
jcv_val *jcv_size_of(jcv *c, jcv_val *t, int axis);
jcv_val *jcv_int(jcv *c, int64_t i);
/* The size of an axis, which is a constant where it does not vary. */
jcv_val *jcv_dim_of(jcv *c, jcv_val *t, int axis);
/* A symbol that no dim of an argument has.  Both images come here in the same order. */
jcv_symbol *jcv_fresh_symbol(jcv *c);
/* A number as the eager layer gets it; NULL: it cannot. */
PyObject *jcv_pass(jcv *c, jcv_val *v);
/* Gives the next op the sizes of symbols that a tensor has, for where nothing else is wrong but
 * refused when the graph runs. */
void jcv_pass_symbols(jcv *c, const jn_type *t);
/* Whether each number that was given to the eager function has come back: an op of it has got it,
 * or a tensor among its arguments v or in what it gives has such a dim.  What has not can only have
 * been compared, and in both images it is greater than any number that is known. */
bool jcv_passed_are_used(jcv *c, PyObject *const *v, unsigned n, PyObject *r);
/* Refuses sizes of the image among results of the eager layer. */
void jcv_no_sizes(jcv *c, PyObject *o);
/* The number that an int of the eager layer is; NULL: a constant. */
jcv_val *jcv_explained(jcv *c, jcv_val *const *in, unsigned n_in, int64_t value);
void jcv_bounds_hold(jcv *c, jcv_val *const *in, unsigned n_in, int axis);
/* Attributes and operands of an op without sizes of the image in its shape. */
const void *jcv_sizes_out(jcv *c, const jn_op *op, jcv_val ***in, unsigned *n_in,
                          const void *attrs);

/* by_sizes.c: ops that have a size that varies in an attribute, by others */

/* What the op gives, made of ops that have sizes as operands; NULL: it has no such size. */
jcv_val *jcv_by_sizes(jcv *c, const jn_op *op, jcv_val *const *in, const void *attrs);
/* Attributes and operands of a draw of a shape that varies: it is one like a tensor. */
const void *jcv_draws_like(jcv *c, const jn_op *op, jcv_val ***in, unsigned n_in,
                           const void *attrs);

/* equal.c: sizes that are assumed to be equal */

/* A size that only the run knows is made here. */
typedef struct jcv_new_size {
    int64_t image;         /* in this image */
    size_t symbol;         /* of c->symbols; SIZE_MAX: it is assumed to be that of `same` */
    const jcv_equal *same; /* NULL: it is assumed to be nothing */
} jcv_new_size;
jcv_new_size jcv_fresh_size(jcv *c);
/* ... and this is its number; where it is assumed to be another one, that is asserted. */
void jcv_size_is(jcv *c, const jcv_new_size *size, jcv_val *number);
/* New sizes of a tensor's axes. */
typedef struct jcv_new_sizes {
    unsigned n;
    int axis[JN_MAX_RANK];
    jcv_new_size size[JN_MAX_RANK];
} jcv_new_sizes;
/* The type with a new size for each dim that is not known; then its value. */
const jn_type *jcv_sized_type(jcv *c, const jn_type *t, jcv_new_sizes *out);
void jcv_sizes_are(jcv *c, const jcv_new_sizes *sizes, jcv_val *v);
/* The type of what two arms leave, whose dims may differ; the values become ones of that type. */
const jn_type *jcv_join_sizes(jcv *c, jcv_val **a, jcv_val **b, jcv_new_sizes *out);
/* Whether a size was made of one that an argument has. */
bool jcv_of_argument(const jcv *c, int64_t size);
/* Whether it is one that only the run knows. */
bool jcv_of_run(const jcv *c, int64_t size);
/* What a symbol of these dims is assumed to be; NULL: nothing else. */
const jcv_equal *jcv_dim_is(const jcv *c, Py_hash_t history, int64_t size);
/* The number of a symbol, here; NULL: it is of another SubGraph. */
jcv_val *jcv_symbol_number(jcv *c, const jcv_symbol *s);
/* An op refuses operands whose dims do not fit.  Starts again with sizes that only the run knows
 * assumed to be others, if it takes them then; comes back if not. */
void jcv_make_fit(jcv *c, jn_infer *failed);

/* fit.c: the same where an op needs it and nowhere else */

/* Takes operands of an op that refuses them for ones that fit, which is asserted: they and their
 * types are other ones then. */
bool jcv_fit_here(jcv *c, jn_infer *failed, const jn_type **types, jcv_val **in);

/* parts.c: sizes that data decides */

/* Makes a number whose value only the run knows a size, which has a value in each image: it is
 * asserted not to be negative. */
void jcv_becomes_size(jcv *c, jcv_val *v);
/* x[start:stop] along an axis, NULL: without that bound; a node. */
jcv_node *jcv_part_of(jcv *c, jcv_val *x, int axis, jcv_val *start, jcv_val *stop);
/* The program has looked at what 0 and 1 change: the dims of this type that vary are neither. */
void jcv_keep_large(jcv *c, const jn_type *t);
/* Whether everything goes as it does where this size of the image is 0 or 1. */
bool jcv_may_be_small(const jcv *c, int64_t size);

#endif
