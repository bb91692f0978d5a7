/* SPDX-License-Identifier: Apache-2.0 */
/*
 * janus.Tensor as other C files see it.
 *
 * A Python tensor owns a janus_tensor (replaced by `.data =` and `set_`), and its place on the
 * tape: either a node and the number of its result, or, for a leaf, requires_grad.  A view
 * remembers the tensor it was taken from (`base`, always the root) so that writing through either
 * is seen by the history of both; see py_inplace.c.
 */
#ifndef JPY_TENSOR_OBJECT_H
#define JPY_TENSOR_OBJECT_H

#include "pyfront/tape/tape.h"

/* What is `const` here is set by jpy_tensor_put_*() alone. */
typedef struct jpy_tensor {
    PyObject_HEAD janus_tensor *const t;
    jpy_node *node; /* owned; NULL: a leaf */
    uint32_t node_out;
    bool requires_grad; /* of a leaf */
    bool no_version;    /* made by .data: writes through it are not counted */
    bool retains_grad;
    uint32_t epoch; /* of a root: rebased so often; of a view: root's epoch when `node` held */
    struct jpy_tensor *const base; /* owned root of a view, NULL: none */
    PyObject *grad;        /* a jpy_tensor, maybe of rows: read by jpy_tensor_grad; or NULL */
    PyObject *const hooks; /* dict id -> callable, or NULL */
    PyObject *dict, *weakrefs;
} jpy_tensor;

/* Another number since an object that there was has got other memory (`.data =`, and what is made
 * of it: `unsqueeze_`, `Module.to`), another base, or hooks where it had none.  All else that
 * guards know of a leaf is in its type, `node` and `requires_grad`: what a janus_tensor looks like
 * never changes. So these three are set here alone, and take the caller's reference. */
extern uint64_t jpy_tensor_epoch;
void jpy_tensor_put_memory(jpy_tensor *o, janus_tensor *t);
void jpy_tensor_put_base(jpy_tensor *o, jpy_tensor *base);
void jpy_tensor_put_hooks(jpy_tensor *o, PyObject *hooks);

static inline bool jpy_tensor_check_exact(PyObject *o) { return Py_TYPE(o) == jpy.tensor_type; }
static inline bool jpy_tensor_check(PyObject *o) {
    return Py_TYPE(o) == jpy.tensor_type || PyType_IsSubtype(Py_TYPE(o), jpy.tensor_type);
}

/* New object of a class over `t`.  Takes the caller's reference to `t`, also when it fails. */
PyObject *jpy_tensor_make(PyTypeObject *type, janus_tensor *t);
/* The slots of the class. */
int jpy_tensor_traverse(PyObject *self, visitproc visit, void *arg);
int jpy_tensor_clear(PyObject *self);
void jpy_tensor_dealloc(PyObject *self);
/* New Python tensor over `t`.  Takes the caller's reference to `t`, also when it fails. */
PyObject *jpy_tensor_take(janus_tensor *t);
/* The same as result `out` of `node` (retained; NULL: untracked). */
PyObject *jpy_tensor_take_node(janus_tensor *t, jpy_node *node, uint32_t out);
/* From a value: consumes v->t and its edge. */
PyObject *jpy_tensor_take_val(jpy_val *v);
/* A view of `of` (which may be a view itself). */
PyObject *jpy_tensor_take_view(janus_tensor *t, jpy_node *node, uint32_t out, jpy_tensor *of);

/* Results of a call (consumed) as `result` says, of `node` (consumed; NULL: untracked); those that
 * share memory with `of` (may be NULL) become views of it. */
typedef enum jpy_result {
    JPY_RESULT_ALL,   /* the op's results: one, or a tuple */
    JPY_RESULT_FIRST, /* result 0 alone */
    JPY_RESULT_PAIR   /* named (values, indices) */
} jpy_result;
PyObject *jpy_wrap_results(jpy_result result, janus_tensor **out, unsigned n, jpy_node *node,
                           jpy_tensor *of);

/* Its gradient, borrowed, NULL for none; one that is rows is filled first. */
int jpy_tensor_grad(jpy_tensor *t, PyObject **out);
/* Whether gradients flow to it (a leaf with requires_grad, or a result that needs grad). */
bool jpy_tensor_tracked(const jpy_tensor *t);
/* Whether no op has computed it; of a view whose root was written, `node` does not yet say so. */
bool jpy_tensor_is_leaf(const jpy_tensor *t);
/* False: they do not. */
static inline bool jpy_maybe_tracked(const jpy_tensor *t) {
    return t->node || t->requires_grad || t->base;
}
/* Whether something is done when its gradient is known: a hook of it, retain_grad. */
static inline bool jpy_tensor_hooked(const jpy_tensor *t) {
    if (!t->node)
        return t->hooks != NULL;
    return jpy_edge_now((jpy_edge){t->node, NULL, t->node_out}).node->extra != NULL;
}
/* Its place on the tape, borrowed from the tensor; a view whose root was written is brought up to
 * date first (which can fail: -1). */
int jpy_tensor_edge(jpy_tensor *t, jpy_edge *out);
/* Value for jpy_apply: borrows from the tensor. */
static inline int jpy_tensor_val(jpy_tensor *t, jpy_val *out) {
    *out = jpy_val_tensor(t->t, (jpy_edge){0});
    if (JN_UNLIKELY(t->base != NULL))
        return jpy_tensor_edge(t, &out->edge);
    if (t->node)
        out->edge = jpy_edge_now((jpy_edge){t->node, NULL, t->node_out});
    else if (t->requires_grad)
        out->edge.leaf = t;
    return 0;
}

/*
 * An in-place write.  `begin` comes before it (and raises for leaves that require grad and for
 * overlapping memory), `wrote` after it counts the version, then the op is recorded, then `end`
 * gives the tensor its new history: `node` (borrowed, its result 0 is the new value; NULL: the new
 * value is no function of tracked ones).
 */
int jpy_inplace_begin(jpy_tensor *t);
void jpy_inplace_wrote(jpy_tensor *t);
int jpy_inplace_end(jpy_tensor *t, jpy_node *node);
/* The same where what `node` computed was copied over all of it: what it was gets zeros. */
int jpy_inplace_copied(jpy_tensor *t, jpy_node *node);
/* The part of `begin` that asks for leaves. */
int jpy_inplace_may(const jpy_tensor *t);
/* From now on `t` is what `view` is, a view of it that was taken with gradients recorded: counts
 * as a write. */
int jpy_inplace_reshape(jpy_tensor *t, jpy_tensor *view);

/* Python scalar (int, float, bool; not tensors): kind and value.  0: not one, 1: one, -1: error. */
int jpy_scalar_of(PyObject *o, janus_kind *kind, janus_scalar *out);
/* Whether `dtype` holds the number (an integer dtype: its whole part); no f32 above the largest. */
bool jpy_scalar_fits(janus_dtype dtype, janus_kind kind, janus_scalar v);
/* RuntimeError where it does not: for what stores a number as it is. */
int jpy_scalar_check(janus_dtype dtype, janus_kind kind, janus_scalar v);
/* Writes it as an element of `dtype`; false: an f16 or bf16, which it had to be rounded to, or an
 * integer that does not hold it. */
bool jpy_scalar_store(janus_dtype dtype, janus_kind kind, janus_scalar v, void *to);
/* New 0-d tensor of `dtype` with that value. */
int jpy_scalar_tensor(janus_dtype dtype, janus_kind kind, janus_scalar v, janus_tensor **out);
/* Element of a one-element tensor as Python number. */
PyObject *jpy_tensor_item(janus_tensor *t);
/* All of them, as nested lists. */
PyObject *jpy_tensor_list(janus_tensor *t);
/* Nested sequences, numbers, tensors, buffers -> a new tensor with copied data; has_dtype false:
 * the data's own (floats give f32). */
int jpy_tensor_from_object(PyObject *o, bool has_dtype, janus_dtype dtype, janus_tensor **out);

#endif
