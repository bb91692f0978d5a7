/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items at places that only the graph knows: of ranges, strings, tuples and lists whose items are
 * known.
 *
 * What comes of it depends on the items alone.  Numbers are selected, and of long rows of ints or
 * strings the graph has the tuple as a constant to look into.  Few tensors are picked by branches,
 * so that the one that was read is known by its names.  Other lists are the graph's from then on
 * (heap/live.c), as those are that are written at such places; of tuples, items are picked.
 */
#include "pyfront/convert/values/values.h"

#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/values/native.h"

static jcv_val *op(jcv *c, const jn_op *o, jcv_val *a, jcv_val *b) {
    jcv_val *in[2] = {a, b};
    return &jcv_op(c, o, in, b ? 2 : 1, NULL)->out[0];
}

jcv_val *jcv_place_among(jcv *c, jcv_av *i, jcv_val *n) {
    jcv_val *at = jcv_number(c, i);
    if (!at || at->type->kind == JANUS_KIND_FLOAT)
        jcv_refuse(c, "%s as an index", jcv_describe(i));
    if (at->type->kind == JANUS_KIND_BOOL)
        at = op(c, JN_OP(s_int), at, NULL);
    jcv_val *zero = jcv_int_const(c, 0);
    jcv_val *in[3] = {op(c, JN_OP(s_lt), at, zero), op(c, JN_OP(s_add), at, n), at};
    at = &jcv_op(c, JN_OP(s_select), in, 3, NULL)->out[0];
    jcv_val *low = op(c, JN_OP(s_ge), at, zero), *high = op(c, JN_OP(s_lt), at, n);
    jcv_assert(c, op(c, JN_OP(s_and), low, high), "an index is in range");
    return at;
}

/* The one tuple with these items, which are all strings or all ints; NULL: they are not. */
static PyObject *constant_tuple(jcv *c, jcv_av *const *items, unsigned n) {
    static PyObject *all; /* tuple -> itself; kept: as many as there are such places */
    PyObject *t = jcv_own(c, PyTuple_New(n));
    for (unsigned i = 0; i < n; i++) {
        PyObject *o = items[i]->kind == AV_PY ? items[i]->py : NULL;
        bool plain = o && (PyUnicode_CheckExact(o) || PyLong_CheckExact(o));
        if (!plain || Py_TYPE(o) != Py_TYPE(items[0]->py))
            return NULL;
        PyTuple_SET_ITEM(t, i, Py_NewRef(o));
    }
    if (!all && !(all = PyDict_New()))
        jcv_refuse_py(c);
    PyObject *one = PyDict_SetDefault(all, t, t);
    if (!one)
        jcv_refuse_py(c);
    return one;
}

static bool all_tensors(jcv_av *const *items, unsigned n) {
    bool all = true;
    for (unsigned i = 0; i < n; i++)
        all = all && items[i]->kind == AV_TENSOR;
    return all;
}

void jcv_leave_to_graph(jcv *c, jcv_av *o) {
    bool made = o->kind == AV_LIST ? o->tree || o->origin : o->kind == AV_SEQ && jcv_made_at(o);
    if (made || (o->kind == AV_PY && PyList_CheckExact(o->py) && o->src))
        jcv_make_live(c, o);
}

static jcv_av *range_item(jcv *c, jcv_av *r, jcv_av *i) {
    jcv_av **items;
    unsigned n;
    jcv_val *count = jcv_items(c, r, &items, &n) ? jcv_int_const(c, n) : jcv_seq_count(c, r);
    return jcv_seq_item(c, r, jcv_place_among(c, i, count));
}

jcv_av *jcv_item_at_place(jcv *c, jcv_av *o, jcv_av *i) {
    jcv_av **items;
    unsigned n;
    if (o->kind == AV_RANGE)
        return range_item(c, o, i);
    if (o->kind == AV_PY && PyUnicode_CheckExact(o->py)) {
        jcv_val *length = jcv_int_const(c, PyUnicode_GET_LENGTH(o->py));
        return jcv_host_item(c, jcv_to_host(c, o), jcv_place_among(c, i, length));
    }
    bool sequence = o->kind == AV_TUPLE || o->kind == AV_LIST ||
                    (o->kind == AV_PY && (PyList_CheckExact(o->py) || PyTuple_Check(o->py)));
    if (!sequence || !jcv_native_items(c, o, &items, &n))
        return NULL;
    if (!n)
        jcv_refuse(c, JCV_RAISES " by an index of nothing");
    jcv_val *place = jcv_place_among(c, i, jcv_int_const(c, n));
    jcv_av *number = jcv_number_at(c, items, n, place);
    PyObject *constant = number ? NULL : constant_tuple(c, items, n);
    if (number || constant)
        return number ? number : jcv_host_item(c, jcv_to_host(c, jcv_py(c, constant, NULL)), place);
    if (!all_tensors(items, n))
        jcv_leave_to_graph(c, o);
    jcv_av *picked = jcv_pick_at(c, items, n, jcv_scalar(c, place));
    if (!picked)
        jcv_leave_to_graph(c, o);
    return picked;
}
