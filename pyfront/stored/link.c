/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards linked to this process: each source is read for the call at hand, and what its checks ask
 * for must be there.
 */
#include <string.h>

#include "pyfront/stored/building.h"
#include "pyfront/tensor/tensor.h"

static int take_look(jpy_building *b, PyObject *t) {
    PyObject *name, *box;
    int plain;
    jpy_type_want *w = b->g->types.data[b->g->types.n - 1];
    if (!PyArg_ParseTuple(t, "UOp", &name, &box, &plain))
        return -1;
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name); /* look-ups are found by it */
    PyObject *kept = jpy_guards_own(b->g, name);
    Py_DECREF(name);
    PyObject *found = jpy_guards_lookup(b->g, w->type, kept, plain);
    PyObject *want = jpy_unboxed(b, box);
    return !PyErr_Occurred() && (plain || found == want) ? 0 : -1;
}

static int take_type(jpy_building *b, PyObject *t) {
    PyObject *type, *looks;
    int guarded;
    size_t n = b->g->types.n;
    if (!PyArg_ParseTuple(t, "O!O!p", &PyType_Type, &type, &PyList_Type, &looks, &guarded))
        return -1;
    jpy_type_want *w = jpy_guards_type(b->g, (PyTypeObject *)type);
    if (!w || b->g->types.n != n + 1)
        return jpy_not_stored("a type");
    w->guarded = guarded;
    return jpy_stored_each(b, looks, take_look);
}

static int tensor(jpy_building *b, jpy_src *s, PyObject *t) {
    int dtype, requires_grad, leaf, contiguous, part, alone, hooked, rank;
    PyObject *dims, *strides, *any;
    size_t n, n_strides;
    if (!PyArg_ParseTuple(t, "iiiiiOOO!iii", &dtype, &requires_grad, &leaf, &contiguous, &rank,
                          &dims, &strides, &PyList_Type, &any, &part, &alone, &hooked) ||
        rank < 0 || rank > JN_MAX_RANK || dtype < 0 || dtype >= JANUS_DTYPE_COUNT)
        return -1;
    jpy_tensor_want *w = &s->tensor;
    *w = (jpy_tensor_want){.dtype = (uint8_t)dtype,
                           .requires_grad = requires_grad,
                           .leaf = leaf,
                           .contiguous = contiguous,
                           .part = part,
                           .alone = alone,
                           .hooked = hooked,
                           .rank = (int16_t)rank};
    w->dims = jpy_stored_numbers(b, dims, 0, INT64_MAX, &n);
    w->strides = w->dims ? jpy_stored_numbers(b, strides, INT64_MIN, INT64_MAX, &n_strides) : NULL;
    if (!w->strides || n != (size_t)rank || n_strides != (size_t)rank)
        return -1;
    w->n_any = (unsigned)PyList_GET_SIZE(any);
    jpy_any_dim *a = jn_arena_zalloc(&b->e->arena, (w->n_any + 1) * sizeof *a);
    if (!a)
        return jpy_stored_no_memory();
    w->any = a;
    for (unsigned i = 0; i < w->n_any; i++) {
        int axis, of;
        unsigned slot;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(any, i), "iiI", &axis, &of, &slot) || axis < 0 ||
            axis >= rank || (i && axis <= a[i - 1].axis) || slot > s->slot || of < 0)
            return -1;
        const jpy_src *at = slot == s->slot ? s : b->g->srcs.data[slot];
        if (!(at->checks & JPY_CHECK_TENSOR) || of >= at->tensor.rank)
            return -1;
        a[i] = (jpy_any_dim){(int16_t)axis, (int16_t)of, slot};
    }
    return 0;
}

bool jpy_src_readable(const jpy_src *s, const jpy_call *call) {
    Py_ssize_t n_kw = call->kwnames ? PyTuple_GET_SIZE(call->kwnames) : 0;
    switch (s->kind) {
    case JPY_SRC_ARG:
        return s->index >= 0 && s->index < call->n_pos + n_kw;
    case JPY_SRC_CONST:
        return s->key != NULL;
    case JPY_SRC_GLOBAL:
        return s->obj && PyDict_CheckExact(s->obj) && s->key && PyUnicode_CheckExact(s->key);
    case JPY_SRC_TYPE:
        return s->obj && PyType_Check(s->obj) && s->key && PyUnicode_CheckExact(s->key);
    case JPY_SRC_ATTR:
        return s->parent && s->key && PyUnicode_CheckExact(s->key);
    case JPY_SRC_KEY:
        return s->parent &&
               (s->by || (s->key && (jpy_by_value(s->key) || jpy_tensor_check(s->key))));
    case JPY_SRC_ITEM:
        return s->parent;
    default:
        return s->parent && s->index >= 0;
    }
}

static bool checkable(const jpy_src *s) {
    const uint32_t c = s->checks;
    return !((c & JPY_CHECK_CONST && !s->want) || (c & JPY_CHECK_TENSOR && !s->want) ||
             (c & JPY_CHECK_CODE && (!s->want || !s->want2)) ||
             (c & JPY_CHECK_KEYS && (!s->want2 || !PyTuple_CheckExact(s->want2))) ||
             (c & (JPY_CHECK_TYPE | JPY_CHECK_VERSION) && !s->type) ||
             (c & JPY_CHECK_IDENT && !s->ident));
}

bool jpy_src_same_way(const jpy_src *s, PyObject *parent) {
    jpy_attr_how how;
    Py_ssize_t offset;
    if (s->kind != JPY_SRC_ATTR || !parent)
        return true;
    if (s->how == JPY_ATTR_MODULE)
        return s->offset == 0;
    PyObject *d = _PyType_Lookup(Py_TYPE(parent), s->key);
    if (s->how == JPY_ATTR_PLAIN && d && Py_TYPE(d) == &PyGetSetDescr_Type) /* `__dict__` */
        return s->offset == 0;
    bool some = jpy_attr_way(Py_TYPE(parent), d, &how, &offset); /* else it calls what made it */
    return some && how == s->how && offset == s->offset;
}

static int take_source(jpy_building *b, PyObject *t, const jpy_call *call, PyObject **slots) {
    int kind, parent, type, is_input, how;
    long long index, number, same;
    PyObject *obj, *key, *want, *want2, *ident, *tensors;
    jpy_src *s = jn_arena_zalloc(&b->g->arena, sizeof *s);
    uint32_t slot = (uint32_t)b->g->srcs.n;
    if (!s)
        return jpy_stored_no_memory();
    if (!PyArg_ParseTuple(t, "iiLOOILLOOOiOiin", &kind, &parent, &index, &obj, &key, &s->checks,
                          &number, &same, &want, &want2, &ident, &type, &tensors, &is_input, &how,
                          &s->offset) ||
        kind < 0 || kind > JPY_SRC_GRAD || parent < -1 || parent >= (int)slot || how < 0 ||
        how > JPY_ATTR_MODULE || type < -1 || type >= (int)b->g->types.n)
        return -1;
    s->kind = (jpy_src_kind)kind;
    s->slot = slot;
    s->parent = parent < 0 ? NULL : b->g->srcs.data[parent];
    s->index = index;
    s->number = number;
    s->same = same;
    s->how = (jpy_attr_how)how;
    s->is_tensor_input = is_input;
    s->type = type < 0 ? NULL : b->g->types.data[type];
    s->obj = jpy_unboxed(b, obj);
    s->key = jpy_unboxed(b, key);
    s->want = jpy_unboxed(b, want);
    s->want2 = jpy_unboxed(b, want2);
    s->ident = jpy_unboxed(b, ident);
    if (s->kind == JPY_SRC_KEY && !s->key && index > 0 && index <= slot)
        s->by = b->g->srcs.data[index - 1];
    if (PyErr_Occurred() || !jpy_src_readable(s, call) || !checkable(s) ||
        (s->checks & JPY_CHECK_SAME && (same < 0 || same >= slot)) ||
        (tensors == Py_None) != !(s->checks & JPY_CHECK_TENSOR) ||
        (tensors != Py_None && (!PyTuple_CheckExact(tensors) || tensor(b, s, tensors) < 0)))
        return -1;
    PyObject *up = jpy_src_in(s->parent, slots);
    if (!jpy_src_same_way(s, up))
        return jpy_not_stored("an attribute is read in another way");
    slots[slot] = jpy_src_read(s, up, jpy_src_in(s->by, slots), call);
    if (!jpy_src_holds(s, slots[slot], slots))
        return jpy_not_stored("a guard does not hold");
    return jn_vec_push(&b->g->srcs, s) ? 0 : jpy_stored_no_memory();
}

int jpy_stored_guards(jpy_building *b, const jpy_call *call, PyObject **slots) {
    PyObject *t = PyDict_GetItemString(b->d, "call"), *kwnames, *identity, *written, *bound, *l;
    Py_ssize_t n_pos;
    int grad, device;
    jpy_guards *g = b->g;
    if (!t || !PyTuple_CheckExact(t) ||
        !PyArg_ParseTuple(t, "nOiIiOOO", &n_pos, &kwnames, &grad, &g->autocast, &device, &identity,
                          &written, &bound))
        return jpy_not_stored("call");
    g->grad_mode = grad;
    g->device = (uint8_t)device;
    if (jpy_stored_each(b, jpy_stored_list(b, "types"), take_type) < 0 ||
        !(l = jpy_stored_list(b, "sources")))
        return -1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(l); i++) {
        PyObject *one = PyList_GET_ITEM(l, i);
        if (!PyTuple_CheckExact(one) || take_source(b, one, call, slots) < 0)
            return jpy_not_stored("a source");
    }
    JPY_NUMBERS(b, &g->identity, identity, g->srcs.n);
    JPY_NUMBERS(b, &g->written, written, g->srcs.n);
    JPY_NUMBERS(b, &g->bound, bound, g->srcs.n);
    for (size_t i = 0; i < g->written.n + g->bound.n; i++) {
        uint32_t at = i < g->written.n ? g->written.data[i] : g->bound.data[i - g->written.n];
        if (!(g->srcs.data[at]->checks & JPY_CHECK_TENSOR))
            return jpy_not_stored("what is written is no tensor");
    }
    for (size_t i = 0; i < g->identity.n; i++)
        if (!slots[g->identity.data[i]])
            return jpy_not_stored("nothing is to be one object");
    return n_pos == g->n_pos && jpy_guards_run(g, call, slots) == 0
               ? 0
               : jpy_not_stored("guards do not hold");
}
