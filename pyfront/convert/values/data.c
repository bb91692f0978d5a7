/* SPDX-License-Identifier: Apache-2.0 */
/*
 * janus.tensor(...) of numbers, nested in lists and tuples.
 *
 * Of constants it is a constant; numbers that only the graph knows are put together by it.  The
 * type is the eager layer's choice: bool, then i64, then f32, whichever all numbers fit in.
 */
#include "pyfront/convert/values/values.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/tensors/tensors.h"
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
        jcv_val *v = jcv_number(c, a);
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
    if (!add(c, x, args->pos[0], 0))
        jcv_refuse(c, "a call of tensor of %s", jcv_describe(args->pos[0]));
    janus_dtype d = x->kind == JANUS_KIND_FLOAT ? JANUS_F32
                    : x->kind == JANUS_KIND_INT ? JANUS_I64
                                                : JANUS_BOOL;
    if (dtype && dtype->py != Py_None && jpy_dtype_parse(dtype->py, &d) < 0)
        jcv_refuse_py(c);
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
