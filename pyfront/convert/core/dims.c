/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dims that differ between calls: conversion in two images (docs/adr/0028-unknown-dims.md).
 *
 * Dims that guards found to vary are *symbols*; those that were always equal are one.  A function
 * with symbols is converted twice, and in each image every symbol has a size of its own, a prime
 * that no program has met: proxies have no memory, so the eager layer works with any size.  What
 * the program reads of such dims are numbers of the graph that know their value in the image.  A
 * size that comes back from the eager layer, in an attribute or as an operand, is replaced by the
 * number that has this value.  Then both graphs must be the same text: whatever a size got into
 * without being replaced, by whatever way, differs, and the dims are constants again.
 */
#include "pyfront/convert/core/core.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/run/run.h"

enum {
    SYMBOLS = 24,
    VARYING = 1024, /* from here on a dim of an image may come from a symbol's size */
    NEAR = 1000     /* how far from a number a size may be that was computed of it */
};
/* Halves and quarters of them are varying, products of four fit 64 bits.  In one image the first
 * symbol is the smallest, in the other the greatest: what depends on the order differs. */
static const int64_t sizes[2][SYMBOLS] = {
    {18839, 20477, 22367, 24061, 25919, 27799, 29633, 31469, 32983, 34721, 36629, 38261,
     40111, 41893, 43691, 45481, 47269, 49057, 50839, 52627, 54409, 56197, 57977, 59771},
    {61091, 59441, 57637, 56081, 54277, 52579, 50951, 49207, 47513, 45953, 44371, 42839,
     41081, 39251, 37447, 35617, 33827, 32029, 30223, 28433, 26641, 24851, 23059, 21269}};

bool jcv_dim_varies(const jcv *c, int64_t size) {
    if (!c->image || size < VARYING)
        return false;
    for (size_t i = 0; i < c->still.n; i++)
        if (c->still.data[i] == size)
            return false;
    return true;
}

bool jcv_any_dim_varies(const jcv *c, const jn_type *t) {
    for (int i = 0; t->kind == JANUS_KIND_TENSOR && i < t->rank; i++)
        if (jcv_dim_varies(c, t->dims[i]))
            return true;
    return false;
}

/* ---- symbols ------------------------------------------------------------------------------------
 */

/* The symbol of an axis whose size was `history` at the calls that taught something, and is `size`
 * now; false: it is to be a constant, or there are too many. */
static bool symbol_of(jcv *c, Py_hash_t history, int64_t size, jpy_src *src, int axis,
                      jcv_symbol *out) {
    const jcv_equal *e = jcv_dim_is(c, history, size);
    for (int i = 0; e && i < SYMBOLS; i++) {
        if (e->constant)
            return false;
        history = e->other.history;
        e = jcv_dim_is(c, history, size);
    }
    for (size_t i = 0; i < c->symbols.n; i++) {
        *out = c->symbols.data[i];
        if (out->history == history && out->size == size)
            return true;
    }
    if (c->symbols.n == SYMBOLS)
        return false;
    *out = (jcv_symbol){.history = history,
                        .size = size,
                        .image = sizes[c->image - 1][c->symbols.n],
                        .slot = src->slot,
                        .axis = axis};
    if (!jn_vec_push(&c->symbols, *out))
        jcv_refuse(c, "out of memory");
    return true;
}

/* Strides of that layout with the dims of the image. */
static void strides_of(const jpy_layout *l, int rank, const int64_t *dims, int64_t *strides) {
    int64_t least = 1;
    for (int i = rank; i-- > 0;) {
        int axis = l->order[i];
        if (l->spread >> axis & 1) {
            strides[axis] = 0;
            continue;
        }
        strides[axis] = least + (l->gaps >> i & 1 ? JCV_GAP : 0);
        least = strides[axis] * dims[axis];
    }
}

void jcv_image_of(jcv *c, const janus_tensor *t, jpy_src *src, jn_type *type, int64_t *dims,
                  int64_t *strides) {
    jpy_layout layout;
    bool regular = t->contiguous || jpy_layout_of(t->rank, t->dims, t->strides, &layout);
    jpy_any_dim any[JN_MAX_RANK];
    unsigned n = 0;
    for (int i = 0; i < t->rank; i++) {
        dims[i] = t->dims[i];
        Py_hash_t history = regular && t->dims[i] > 1 ? jpy_hint_dim(c->f, src, i, t->dims[i]) : 0;
        jcv_symbol s;
        if (history && symbol_of(c, history, t->dims[i], src, i, &s)) {
            dims[i] = s.image;
            any[n++] = (jpy_any_dim){(int16_t)i, (int16_t)s.axis, s.slot};
        } else if (t->dims[i] >= VARYING && !jn_vec_push(&c->still, t->dims[i])) {
            jcv_refuse(c, "out of memory");
        }
    }
    type->dims = dims;
    if (n && !t->contiguous)
        strides_of(&layout, t->rank, dims, strides);
    src->tensor.n_any = n;
    src->tensor.any = n ? jn_arena_dup(&c->guards->arena, any, n * sizeof *any) : NULL;
    if (n && !src->tensor.any)
        jcv_refuse(c, "out of memory");
}

/* The dims of a parameter of main: symbols have names there. */
static void name_symbols(const jcv *c, const jpy_src *src, int64_t *dims) {
    const jpy_tensor_want *w = &src->tensor;
    for (unsigned i = 0; i < w->n_any; i++)
        for (size_t k = 0; k < c->symbols.n; k++)
            if (c->symbols.data[k].slot == w->any[i].slot &&
                c->symbols.data[k].axis == w->any[i].of)
                dims[w->any[i].axis] = -2 - (int64_t)k;
}

jn_type jcv_wide_type(const jcv *c, const jcv_val *v, int64_t *dims) {
    jn_type t = *v->type;
    if (!c->image || t.kind != JANUS_KIND_TENSOR || t.rank < 0)
        return t;
    const jpy_src *src = v->ctx == c->main && !v->node ? c->inputs.data[v->index] : NULL;
    for (int i = 0; i < t.rank; i++)
        dims[i] = !src && jcv_dim_varies(c, t.dims[i]) ? JN_DIM_UNKNOWN : t.dims[i];
    if (src)
        name_symbols(c, src, dims);
    t.dims = dims;
    return t;
}

/* ---- numbers ------------------------------------------------------------------------------------
 */

/* What a number is in this image, if its operands are known there. */
void jcv_image_number(jcv *c, jcv_node *n) {
    janus_scalar in[4];
    uint8_t kinds[4], kind;
    bool sized = false;
    if (!c->image || n->op->role != JN_ROLE_SCALAR || !n->op->fold || n->n_in > 4 || n->n_out != 1)
        return;
    for (unsigned i = 0; i < n->n_in; i++) {
        const jcv_val *v = n->in[i];
        bool constant = v && v->node && v->node->kind == JCV_SCALAR_CONST;
        if (!v || (!constant && !v->sized))
            return;
        in[i] = constant ? v->node->scalar : v->image;
        kinds[i] = v->type->kind;
        sized = sized || !constant;
    }
    janus_scalar out;
    if (!sized || !n->op->fold(n->op, n->attrs, in, kinds, n->n_in, &out, &kind) ||
        kind != n->out[0].type->kind)
        return;
    n->out[0].sized = true;
    n->out[0].image = out;
}

jcv_val *jcv_size_of(jcv *c, jcv_val *t, int axis) {
    janus_size_attrs attrs = {sizeof attrs, axis};
    jcv_val *v = &jcv_op(c, JN_OP(size), &t, 1, &attrs)->out[0];
    v->sized = true;
    v->image.i = t->type->dims[axis];
    return v;
}

jcv_val *jcv_int(jcv *c, int64_t i) { return jcv_int_const(c, i); }

jcv_val *jcv_dim_of(jcv *c, jcv_val *t, int axis) {
    int64_t size = t->type->dims[axis];
    return jcv_dim_varies(c, size) ? jcv_size_of(c, t, axis) : jcv_int(c, size);
}

jcv_av *jcv_size(jcv *c, jcv_val *t, int axis) {
    if (!jcv_dim_varies(c, t->type->dims[axis]))
        return jcv_take(c, PyLong_FromLongLong(t->type->dims[axis]));
    return jcv_scalar(c, jcv_size_of(c, t, axis));
}

void jcv_must_be(jcv *c, jcv_val *v, jcv_val *other) {
    jcv_val *in[2] = {v, other};
    jcv_assert(c, &jcv_op(c, JN_OP(s_eq), in, 2, NULL)->out[0], JPY_SIZE_WAS);
}

void jcv_at_least(jcv *c, jcv_val *v, jcv_val *least) {
    jcv_val *in[2] = {v, least};
    jcv_assert(c, &jcv_op(c, JN_OP(s_ge), in, 2, NULL)->out[0], "a size is as large as it was");
}

jcv_symbol *jcv_fresh_symbol(jcv *c) {
    if (!c->image) {
        c->asks_images = true;
        jcv_refuse(c, "a size that depends on data");
    }
    if (c->symbols.n == SYMBOLS)
        jcv_refuse(c, "more than %d sizes that vary", SYMBOLS);
    jcv_symbol s = {.image = sizes[c->image - 1][c->symbols.n], .slot = UINT32_MAX, .axis = -1};
    if (!jn_vec_push(&c->symbols, s))
        jcv_refuse(c, "out of memory");
    return &c->symbols.data[c->symbols.n - 1];
}

/* A small number could be taken for another one that the program gives: it stays as it is, which
 * is asserted.  So is that two numbers of one value in the image have one value. */
PyObject *jcv_pass(jcv *c, jcv_val *v) {
    if (!c->passing || v->type->kind != JANUS_KIND_INT)
        return NULL;
    if (!c->image) {
        c->asks_images = true;
        return NULL;
    }
    jcv_becomes_size(c, v);
    int64_t i = v->image.i;
    bool known = false;
    for (size_t k = 0; k < c->passed.n && !known; k++)
        if (c->passed.data[k]->image.i == i) {
            if (c->passed.data[k] != v)
                jcv_must_be(c, v, c->passed.data[k]);
            known = true;
        }
    if (!jcv_dim_varies(c, i < 0 ? -i : i))
        jcv_must_be(c, v, jcv_int(c, i));
    else if (!known && !jn_vec_push(&c->passed, v))
        jcv_refuse(c, "out of memory");
    return jcv_own(c, PyLong_FromLongLong(i));
}

void jcv_no_sizes(jcv *c, PyObject *o) {
    if (!c->image || !o)
        return;
    if (PyLong_CheckExact(o)) {
        int overflow;
        int64_t i = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (overflow || jcv_dim_varies(c, i) || jcv_dim_varies(c, -i))
            jcv_refuse(c, "a number that depends on a size that varies");
    }
    for (Py_ssize_t i = 0; PyTuple_Check(o) && i < PyTuple_GET_SIZE(o); i++)
        jcv_no_sizes(c, PyTuple_GET_ITEM(o, i));
    for (Py_ssize_t i = 0; PyList_CheckExact(o) && i < PyList_GET_SIZE(o); i++)
        jcv_no_sizes(c, PyList_GET_ITEM(o, i));
}

/* Whether one of the tensors in it has such a dim. */
static bool has_dim(PyObject *o, int64_t size) {
    bool has = false;
    if (o && jpy_tensor_check(o)) {
        const janus_tensor *t = ((jpy_tensor *)o)->t;
        for (int d = 0; d < t->rank; d++)
            has = has || t->dims[d] == size;
    }
    for (Py_ssize_t i = 0; o && PyTuple_Check(o) && i < PyTuple_GET_SIZE(o) && !has; i++)
        has = has_dim(PyTuple_GET_ITEM(o, i), size);
    return has;
}

bool jcv_passed_are_used(jcv *c, PyObject *const *v, unsigned n, PyObject *r) {
    for (size_t i = 0; i < c->passed.n && i < 64; i++) {
        int64_t size = c->passed.data[i]->image.i;
        bool used = c->came_back >> i & 1 || has_dim(r, size);
        for (unsigned k = 0; k < n && !used; k++)
            used = has_dim(v[k], size);
        if (!used)
            return false;
    }
    return true;
}

void jcv_pass_symbols(jcv *c, const jn_type *t) {
    c->passed.n = 0;
    for (size_t k = 0; k < c->symbols.n; k++) {
        jcv_symbol s = c->symbols.data[k];
        bool asked = false;
        for (int i = 0; i < t->rank; i++)
            asked = asked || t->dims[i] == s.image;
        jcv_val *v = asked ? jcv_symbol_number(c, &s) : NULL;
        if (v && !jn_vec_push(&c->passed, v))
            jcv_refuse(c, "out of memory");
    }
}

/* ---- sizes that come back -----------------------------------------------------------------------
 */

/* The number with this value among those given to the eager function, a dim of an operand, or a
 * size of the call that it had from a dim of a tensor that is none; NULL: none. */
static jcv_val *number_with(jcv *c, jcv_val *const *in, unsigned n_in, int64_t value) {
    for (size_t i = 0; i < c->passed.n; i++)
        if (c->passed.data[i]->image.i == value) {
            c->came_back |= i < 64 ? (uint64_t)1 << i : 0;
            return c->passed.data[i];
        }
    for (unsigned i = 0; i < n_in && jcv_dim_varies(c, value); i++)
        for (int k = 0; in[i] && in[i]->type->kind == JANUS_KIND_TENSOR && k < in[i]->type->rank;
             k++)
            if (in[i]->type->dims[k] == value)
                return jcv_size_of(c, in[i], k);
    for (size_t k = 0; k < c->symbols.n && jcv_dim_varies(c, value); k++) {
        jcv_symbol s = c->symbols.data[k];
        jcv_val *v = s.image == value ? jcv_symbol_number(c, &s) : NULL;
        if (v)
            return v;
    }
    return NULL;
}

/* A number close to `value`, and the difference. */
static jcv_val *near(jcv *c, jcv_val *const *in, unsigned n_in, int64_t value, int64_t *by) {
    jcv_val *best = NULL;
    int axis = -1;
    *by = NEAR + 1;
    for (size_t i = 0; i < c->passed.n; i++) {
        int64_t d = value - c->passed.data[i]->image.i;
        if (d > -NEAR && d < NEAR && (d < 0 ? -d : d) < (*by < 0 ? -*by : *by)) {
            *by = d;
            best = c->passed.data[i];
            c->came_back |= i < 64 ? (uint64_t)1 << i : 0;
        }
    }
    for (unsigned i = 0; i < n_in; i++)
        for (int k = 0; in[i] && in[i]->type->kind == JANUS_KIND_TENSOR && k < in[i]->type->rank;
             k++) {
            int64_t d = value - in[i]->type->dims[k];
            if (!jcv_dim_varies(c, in[i]->type->dims[k]) || d <= -NEAR || d >= NEAR ||
                (d < 0 ? -d : d) >= (*by < 0 ? -*by : *by))
                continue;
            *by = d;
            best = in[i];
            axis = k;
        }
    return best && axis >= 0 && best->type->kind == JANUS_KIND_TENSOR ? jcv_size_of(c, best, axis)
                                                                      : best;
}

jcv_val *jcv_explained(jcv *c, jcv_val *const *in, unsigned n_in, int64_t value) {
    if (!c->image)
        return NULL;
    jcv_val *v = number_with(c, in, n_in, value);
    if (v || !jcv_dim_varies(c, value < 0 ? -value : value))
        return v;
    int64_t by;
    v = near(c, in, n_in, value, &by);
    if (!v)
        return NULL;
    jcv_val *sum[2] = {v, jcv_int(c, by)};
    v = &jcv_op(c, JN_OP(s_add), sum, 2, NULL)->out[0];
    jcv_at_least(c, v, jcv_int(c, 0)); /* a negative one means something else */
    return v;
}

/* Bounds that the eager layer has made fit the size: the size is still beyond them. */
void jcv_bounds_hold(jcv *c, jcv_val *const *in, unsigned n_in, int axis) {
    jcv_val *size = NULL;
    for (unsigned i = n_in - 2; i < n_in; i++) {
        if (!in[i] || !in[i]->sized || (in[i]->node && in[i]->node->op == JN_OP(size)))
            continue;
        size = size ? size : jcv_size_of(c, in[0], axis);
        jcv_at_least(c, size, in[i]);
    }
}

/* Replaces sizes in the attribute `shape`: entries -2 stand for operands. */
const void *jcv_sizes_out(jcv *c, const jn_op *op, jcv_val ***in, unsigned *n_in,
                          const void *attrs) {
    bool reshape = op == JN_OP(reshape);
    if (!c->image || !(reshape || op == JN_OP(expand) || op == JN_OP(full)))
        return attrs;
    const janus_reshape_attrs *a = attrs; /* all begin alike */
    bool any = false, inferred = false;
    for (size_t i = 0; i < a->shape.n; i++) {
        if (a->shape.data[i] == -2)
            return attrs;
        any = any || a->shape.data[i] > 1;
        inferred = inferred || a->shape.data[i] == -1;
    }
    if (!any || !c->symbols.n)
        return attrs;
    int64_t *d = jcv_alloc(c, (a->shape.n + 1) * sizeof *d);
    jcv_val **v = jcv_alloc(c, (*n_in + a->shape.n + 1) * sizeof *v);
    unsigned n = *n_in;
    if (n)
        memcpy(v, *in, n * sizeof *v);
    for (size_t i = 0; i < a->shape.n; i++) {
        jcv_val *x = a->shape.data[i] > 1 ? number_with(c, *in, *n_in, a->shape.data[i]) : NULL;
        bool infer = !x && reshape && !inferred && jcv_dim_varies(c, a->shape.data[i]);
        d[i] = x ? -2 : infer ? -1 : a->shape.data[i];
        inferred = inferred || infer;
        if (x)
            v[n++] = x;
    }
    janus_full_attrs *out = jcv_alloc(c, sizeof *out + op->attr_size);
    memcpy(out, attrs, op->attr_size);
    ((janus_reshape_attrs *)(void *)out)->shape = (janus_ints){d, a->shape.n};
    *in = v;
    *n_in = n;
    return out;
}

/* ---- both images --------------------------------------------------------------------------------
 */
