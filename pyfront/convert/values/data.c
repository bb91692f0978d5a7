/* SPDX-License-Identifier: Apache-2.0 */
/*
 * janus.tensor(...) of numbers, nested in lists and tuples.
 *
 * Of constants it is a constant; numbers that only the graph knows are put together by it.  The
 * type is the eager layer's choice: bool, then i64, then f32, whichever all numbers fit in.  Where
 * the graph knows how many they are they are the rows that such lists are stacked to.
 */
#include "pyfront/convert/values/values.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/native.h"
#include "pyfront/tensor/tensor.h"

enum { MAX_NUMBERS = 256 };

typedef struct numbers {
    jcv_val *v[MAX_NUMBERS];
    unsigned n;
    int64_t dims[JN_MAX_RANK];
    int rank;
    janus_kind kind;
} numbers;

static int width(janus_kind k) { return k == JANUS_KIND_FLOAT ? 2 : k == JANUS_KIND_INT; }

/* Adds what `a` holds; false: it is no nested sequence of numbers of one form. */
static bool add(jcv *c, numbers *x, jcv_av *a, int depth) {
    jcv_av **items;
    unsigned n;
    bool seq = a->kind == AV_TUPLE || a->kind == AV_LIST ||
               (a->kind == AV_PY && (PyList_CheckExact(a->py) || PyTuple_CheckExact(a->py)));
    if (!seq) {
        jcv_val *v = jcv_number(c, jcv_as_number(c, a));
        if (!v || x->n == MAX_NUMBERS || (x->rank >= 0 && x->rank != depth))
            return false;
        x->rank = depth;
        if (width(v->type->kind) > width(x->kind))
            x->kind = v->type->kind;
        x->v[x->n++] = v;
        return true;
    }
    if (depth >= JN_MAX_RANK || !jcv_items(c, a, &items, &n) || !n ||
        (x->dims[depth] && x->dims[depth] != n))
        return false;
    x->dims[depth] = n;
    for (unsigned i = 0; i < n; i++)
        if (!add(c, x, items[i], depth + 1))
            return false;
    return true;
}

static janus_dtype of_kind(janus_kind k) {
    return k == JANUS_KIND_FLOAT ? JANUS_F32 : k == JANUS_KIND_INT ? JANUS_I64 : JANUS_BOOL;
}

static jcv_av *constant(jcv *c, PyObject *callable, const jcv_args *args) {
    PyObject **v = jcv_alloc(c, (args->n_kw + 1) * sizeof *v),
             *kw = jcv_own(c, PyTuple_New(args->n_kw));
    for (unsigned i = 0; i <= args->n_kw; i++) {
        v[i] = jcv_const_object(c, i ? args->kw[i - 1] : args->pos[0]);
        if (!v[i])
            jcv_refuse(c, "a call of tensor");
        if (i)
            PyTuple_SET_ITEM(kw, i - 1, Py_NewRef(args->names[i - 1]));
    }
    jn_eager_hook_fn hook = jn_eager_hook;
    jn_eager_hook = NULL; /* it is data, no part of the graph yet */
    PyObject *r = PyObject_Vectorcall(callable, v, 1, kw);
    jn_eager_hook = hook;
    jpy_tensor *t = (jpy_tensor *)r; /* one number goes with tensors of any device */
    if (r && jpy_tensor_check(r) && t->t->rank && !jpy_graph_meets(t->t->storage->device))
        jcv_refuse_py(c);
    return jcv_wrap(c, jcv_own(c, r), NULL);
}

/* Whether all that is said besides the type is that nothing is special. */
static bool plain_options(const jcv_args *args) {
    for (unsigned i = 0; i < args->n_kw; i++) {
        const char *name = PyUnicode_AsUTF8(args->names[i]);
        const jcv_av *v = args->kw[i];
        bool nothing = v->kind == AV_PY && (v->py == Py_None || v->py == Py_False);
        jn_device *on = jpy_default_device;
        bool host =
            jcv_is_const(v) && !strcmp(name, "device") && jpy_device_parse(v->py, &on) == 0 && !on;
        PyErr_Clear();
        if (!jcv_is_const(v) || (strcmp(name, "dtype") != 0 && !nothing && !host))
            return false;
    }
    return true;
}

/* tensor(data=x, ...) as tensor(x, ...). */
static const jcv_args *by_position(jcv *c, const jcv_args *args) {
    jcv_args *a = jcv_alloc(c, sizeof *a);
    *a = (jcv_args){.names = jcv_alloc(c, (args->n_kw + 1) * sizeof *a->names),
                    .kw = jcv_alloc(c, (args->n_kw + 1) * sizeof *a->kw)};
    for (unsigned i = 0; i < args->n_kw; i++)
        if (PyUnicode_CompareWithASCIIString(args->names[i], "data") == 0) {
            a->pos = &args->kw[i];
            a->n_pos = 1;
        } else {
            a->names[a->n_kw] = args->names[i];
            a->kw[a->n_kw++] = args->kw[i];
        }
    return a;
}

/* ---- lists of unknown length ---------------------------------------------------------------- */

static bool of_unknown_length(jcv *c, const jcv_av *a) {
    if (jcv_is_stacked(a) || jcv_is_slice(a))
        return true;
    PyTypeObject *t = a->kind == AV_HOST ? jcv_host_type(c, (jcv_av *)a) : NULL;
    return t == &PyList_Type || t == &PyTuple_Type;
}

/* A column of boxed numbers as the tensor has them, in memory of its own. */
static jcv_val *column(jcv *c, jcv_val *v, janus_kind kind, janus_dtype d, bool one_of_several) {
    bool fits = kind == JANUS_KIND_FLOAT ? d == JANUS_F32 || d == JANUS_F64
                : kind == JANUS_KIND_INT ? d == JANUS_I64 || d == JANUS_F32 || d == JANUS_F64
                                         : d == JANUS_BOOL || d == JANUS_I64 || d == JANUS_F32;
    if (!fits)
        jcv_refuse(c, "a call of tensor with this dtype of %s", jcv_stacked);
    janus_cast_attrs cast = {sizeof cast, d};
    janus_unsqueeze_attrs row = {sizeof row, 1};
    bool same = (janus_dtype)v->type->dtype == d;
    v = &jcv_op(c, same ? JN_OP(clone) : JN_OP(cast), &v, 1, same ? NULL : &cast)->out[0];
    return one_of_several ? &jcv_op(c, JN_OP(unsqueeze), &v, 1, &row)->out[0] : v;
}

static jcv_av *of_rows(jcv *c, jcv_av *list, janus_dtype d, bool has_dtype) {
    c->asks_images = true; /* its length is a dim */
    if (!c->image)
        jcv_refuse(c, "a call of tensor of %s", jcv_stacked);
    jcv_av *rows = jcv_is_stacked(list) ? list : jcv_collect(c, jcv_feed, list, false);
    if (rows->kind != AV_SEQ)
        jcv_throw_now(c, THROW_DEAD); /* nothing was seen in it */
    bool flat = rows->n == 1 && rows->self->kind == AV_ITER;
    janus_kind kind = JANUS_KIND_BOOL;
    for (unsigned i = 0; i < rows->n; i++) {
        if (rows->types[i]->kind == JANUS_KIND_TENSOR)
            jcv_refuse(c, "a call of tensor of a list of tensors");
        if (width(rows->types[i]->kind) > width(kind))
            kind = rows->types[i]->kind;
    }
    bool table = rows->self->kind == AV_TUPLE && rows->self->n == rows->n && rows->n;
    for (unsigned i = 0; table && i < rows->n; i++)
        table = rows->self->items[i]->kind == AV_ITER;
    if (!flat && !table)
        jcv_refuse(c, "a call of tensor of %s that holds such items", jcv_stacked);
    if (!has_dtype)
        d = of_kind(kind);
    jcv_val *some = &jcv_op(c, JN_OP(s_bool), &rows->val, 1, NULL)->out[0];
    jcv_assert(c, some, "a list has items");
    jcv_val **in = jcv_alloc(c, rows->n * sizeof *in);
    c->any_dims = true;
    for (unsigned i = 0; i < rows->n; i++)
        in[i] = column(c, rows->items[i]->val, rows->types[i]->kind, d, !flat);
    janus_concat_attrs attrs = {sizeof attrs, 1};
    jcv_val *v = rows->n > 1 ? &jcv_op(c, JN_OP(concat), in, rows->n, &attrs)->out[0] : in[0];
    c->any_dims = false;
    return jcv_rows_tensor(c, jcv_stack(c, v, false), rows->val, NULL, false);
}

/* A table whose rows are lists of unknown length, all of one: NULL: it is something else. */
static jcv_av *of_lists(jcv *c, jcv_av *list, janus_dtype d, bool has_dtype) {
    jcv_av **items;
    unsigned n;
    bool rows = jcv_is_sequence(list) && jcv_items(c, list, &items, &n) && n;
    for (unsigned i = 0; rows && i < n; i++)
        rows = of_unknown_length(c, items[i]);
    if (!rows)
        return NULL;
    jcv_val **in = jcv_alloc(c, n * sizeof *in);
    for (unsigned i = 0; i < n; i++) {
        janus_unsqueeze_attrs row = {sizeof row, 0};
        jcv_val *v = jcv_tensor_val(c, of_rows(c, items[i], d, has_dtype)->py);
        if (v->type->rank != 1)
            jcv_refuse(c, "a call of tensor of lists of pairs");
        in[i] = &jcv_op(c, JN_OP(unsqueeze), &v, 1, &row)->out[0];
        if (in[i]->type->dtype != in[0]->type->dtype)
            jcv_refuse(c, "a call of tensor of lists of ints and lists of floats");
        if (i)
            jcv_must_be(c, jcv_size_of(c, in[i], 1), jcv_size_of(c, in[0], 1));
    }
    janus_concat_attrs attrs = {sizeof attrs, 0};
    return jcv_proxy(c, &jcv_op(c, JN_OP(concat), in, n, &attrs)->out[0], false);
}

jcv_av *jcv_tensor_of_data(jcv *c, PyObject *callable, const jcv_args *args) {
    if (!args->n_pos)
        args = by_position(c, args);
    jcv_av *dtype = jcv_kw_of(args, "dtype");
    numbers *x = jcv_alloc(c, sizeof *x);
    x->rank = -1;
    x->kind = JANUS_KIND_BOOL;
    if (args->n_pos != 1 || !plain_options(args) || args->pos[0]->kind == AV_TENSOR)
        jcv_refuse(c, "a call of tensor with options, or of a tensor");
    if (jcv_const_object(c, args->pos[0]))
        return constant(c, callable, args);
    bool has_dtype = dtype && dtype->py != Py_None;
    janus_dtype d = JANUS_BOOL;
    if (has_dtype && jpy_dtype_parse(dtype->py, &d) < 0)
        jcv_refuse_py(c);
    if (of_unknown_length(c, args->pos[0]))
        return of_rows(c, args->pos[0], d, has_dtype);
    jcv_av *table = of_lists(c, args->pos[0], d, has_dtype);
    if (table)
        return table;
    if (!add(c, x, args->pos[0], 0))
        jcv_refuse(c, "a call of tensor of %s", jcv_describe(args->pos[0]));
    if (!has_dtype)
        d = of_kind(x->kind);
    jcv_val **rows = jcv_alloc(c, x->n * sizeof *rows);
    for (unsigned i = 0; i < x->n; i++) {
        janus_scalar_tensor_attrs attrs = {sizeof attrs, d};
        janus_unsqueeze_attrs row = {sizeof row, 0};
        rows[i] = &jcv_op(c, JN_OP(scalar_tensor), &x->v[i], 1, &attrs)->out[0];
        if (x->rank)
            rows[i] = &jcv_op(c, JN_OP(unsqueeze), &rows[i], 1, &row)->out[0];
    }
    jcv_val *v = rows[0];
    if (x->n > 1) {
        janus_concat_attrs attrs = {sizeof attrs, 0};
        v = &jcv_op(c, JN_OP(concat), rows, x->n, &attrs)->out[0];
    }
    if (x->rank > 1) {
        janus_reshape_attrs attrs = {sizeof attrs, {x->dims, (size_t)x->rank}};
        v = &jcv_op(c, JN_OP(reshape), &v, 1, &attrs)->out[0];
    }
    return jcv_proxy(c, v, false);
}
