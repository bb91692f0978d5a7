/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of tensors whose dims vary: x.shape, size(), the rows of a loop. */
#include "pyfront/convert/values/values.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/native.h"

jcv_av *jcv_shape(jcv *c, jcv_av *t) {
    jcv_val *v = jcv_tensor_val(c, t->py);
    if (!jcv_any_dim_varies(c, v->type))
        return NULL;
    jcv_av *a = jcv_tuple(c, NULL, 0);
    a->n = (unsigned)v->type->rank;
    a->items = jcv_alloc(c, (a->n + 1) * sizeof *a->items);
    for (unsigned i = 0; i < a->n; i++)
        a->items[i] = jcv_size(c, v, (int)i);
    a->named = (PyObject *)jpy.size_type;
    return a;
}

static jcv_av *numel(jcv *c, jcv_val *v) {
    jcv_av *n = jcv_take(c, PyLong_FromLong(1));
    for (int i = 0; i < v->type->rank; i++)
        n = jcv_binary(c, JPY_MUL, n, jcv_size(c, v, i), false);
    return n;
}

static jcv_av *called(jcv *c, jcv_av *self, const char *method, jcv_av **args, unsigned n) {
    PyObject *name = jcv_own(c, PyUnicode_InternFromString(method));
    return jcv_call(c, jcv_getattr(c, self, name), &(jcv_args){.pos = args, .n_pos = n});
}

static jcv_av *tensor_of_rows(jcv *c, jcv_av *rows, jcv_val *count) {
    jcv_val *v = rows->val;
    jcv_becomes_size(c, count);
    c->any_dims = true;
    v = &jcv_op(c, JN_OP(alias), &v, 1, NULL)->out[0];
    c->any_dims = false;
    v->cut = rows->val->cut;
    v->depends = rows->val->depends;
    int64_t dims[JN_MAX_RANK];
    jn_type t = *v->type;
    memcpy(dims, t.dims, (size_t)t.rank * sizeof *dims);
    dims[0] = count->image.i;
    t.dims = dims;
    v->type = jcv_type(c, t);
    return jcv_proxy(c, v, rows->n && !jpy_no_grad_mode);
}

/* A tensor with one dim somewhere else. */
static jcv_av *moved(jcv *c, jcv_av *t, int from, int to) {
    int rank = jcv_tensor_val(c, t->py)->type->rank, other = 0;
    jcv_av **order = jcv_alloc(c, (size_t)rank * sizeof *order);
    for (int i = 0; i < rank; i++) {
        other += i != to && other == from;
        order[i] = jcv_take(c, PyLong_FromLong(i == to ? from : other++));
    }
    return called(c, t, "permute", order, (unsigned)rank);
}

jcv_av *jcv_rows_tensor(jcv *c, jcv_av *rows, jcv_val *count, jcv_av *dim, bool joined) {
    jcv_av *t = tensor_of_rows(c, rows, count);
    int rank = jcv_tensor_val(c, t->py)->type->rank, n = rank - joined;
    long at = !dim ? 0 : dim->kind == AV_PY && PyLong_CheckExact(dim->py) ? jcv_long(c, dim) : n;
    at += at < 0 ? n : 0;
    if (at < 0 || at >= n)
        jcv_refuse(c, "stack() or cat() along a dim that is not there");
    if (at)
        t = called(c, moved(c, t, 0, (int)at), "contiguous", NULL, 0);
    jcv_av *both[2] = {jcv_take(c, PyLong_FromLong(at)), jcv_take(c, PyLong_FromLong(at + 1))};
    return joined ? called(c, t, "flatten", both, 2) : t;
}

jcv_av *jcv_narrowed(jcv *c, const jcv_args *args) {
    jcv_av *self = args->n_pos ? args->pos[0] : NULL;
    if (args->n_pos != 4 || args->n_kw || self->kind != AV_TENSOR ||
        !(jcv_is_number(args->pos[2]) || jcv_is_number(args->pos[3])) ||
        args->pos[1]->kind != AV_PY || !PyLong_CheckExact(args->pos[1]->py))
        return NULL;
    jcv_val *x = jcv_tensor_val(c, self->py);
    long axis = jcv_long(c, args->pos[1]);
    axis += axis < 0 ? x->type->rank : 0;
    if (axis < 0 || axis >= x->type->rank)
        return NULL;
    jcv_av *start = args->pos[2], *length = args->pos[3], *none = jcv_none(c);
    jcv_val *from = jcv_number(c, start), *n = jcv_number(c, length);
    if (!from || !n || from->type->kind != JANUS_KIND_INT || n->type->kind != JANUS_KIND_INT)
        return NULL;
    bool first = start->kind == AV_PY && jcv_long(c, start) == 0;
    jcv_av *bounds[3] = {start, first ? length : jcv_binary(c, JPY_ADD, start, length, false),
                         none};
    jcv_at_least(c, from, jcv_int(c, 0));
    jcv_at_least(c, n, jcv_int(c, 0));
    jcv_at_least(c, jcv_dim_of(c, x, (int)axis), jcv_number(c, bounds[1])); /* it raises */
    return jcv_tensor_part(c, self, (int)axis, bounds);
}

jcv_av *jcv_size_method(jcv *c, const char *name, const jcv_args *args) {
    jcv_av *self = args->n_pos ? args->pos[0] : NULL;
    if (!c->image || !self || self->kind != AV_TENSOR)
        return NULL;
    jcv_val *v = jcv_tensor_val(c, self->py);
    if (!jcv_any_dim_varies(c, v->type))
        return NULL;
    bool size = !strcmp(name, "size");
    if (size && args->n_pos == 1 && !args->n_kw)
        return jcv_shape(c, self);
    if (size && args->n_pos + args->n_kw == 2) {
        jcv_av *at = args->n_kw ? args->kw[0] : args->pos[1];
        if (args->n_kw && PyUnicode_CompareWithASCIIString(args->names[0], "dim") != 0)
            return NULL;
        if (at->kind != AV_PY || !PyLong_CheckExact(at->py))
            return NULL;
        long axis = jcv_long(c, at);
        if (axis < 0)
            axis += v->type->rank;
        if (axis < 0 || axis >= v->type->rank)
            jcv_refuse(c, "size() of a dim that is not there");
        return jcv_size(c, v, (int)axis);
    }
    if ((!strcmp(name, "numel") || !strcmp(name, "nelement")) && args->n_pos == 1 && !args->n_kw)
        return numel(c, v);
    if (!strcmp(name, "unbind") && args->n_pos <= 2 && !args->n_kw) {
        jcv_av *at = args->n_pos == 2 ? args->pos[1] : NULL;
        long axis = at && at->kind == AV_PY && PyLong_CheckExact(at->py) ? jcv_long(c, at) : 0;
        if ((at && at->kind != AV_PY) || axis < 0 || axis >= v->type->rank ||
            !jcv_dim_varies(c, v->type->dims[axis]))
            return NULL;
        return jcv_parts(c, axis ? moved(c, self, (int)axis, 0) : self);
    }
    if (!strcmp(name, "__len__") && args->n_pos == 1 && !args->n_kw)
        return jcv_size(c, v, 0);
    return NULL;
}

bool jcv_has_parts(jcv *c, jcv_av *a) {
    if (!c->image || a->kind != AV_TENSOR)
        return false;
    const jn_type *t = jcv_tensor_val(c, a->py)->type;
    return t->rank > 0 && jcv_dim_varies(c, t->dims[0]);
}
