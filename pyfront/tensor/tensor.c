/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of the type janus.Tensor: how they are made and freed (methods/type.c: what they offer).
 *
 * Objects of exactly this type are kept on a free list when they die.  `grad`, `base`, the hooks
 * and the objects that the history holds are visited by the collector.
 */
#include "config.h"

#include "exec/store/store.h"
#include "pyfront/tensor/object.h"

#include <string.h>

enum { FREE_MAX = 256 };
uint64_t jpy_tensor_epoch;

static jpy_tensor *free_list[FREE_MAX];
static int n_free;

/* Of an object that nobody else has seen yet, or one that has been given another number. */
#define SET(o, member, value)                                                                      \
    do {                                                                                           \
        __typeof__((value) + 0) set_value = (value);                                               \
        memcpy((char *)(o) + offsetof(jpy_tensor, member), &set_value, sizeof set_value);          \
    } while (0)

void jpy_tensor_put_memory(jpy_tensor *o, janus_tensor *t) {
    janus_tensor *was = o->t;
    jpy_tensor_epoch++;
    SET(o, t, t);
    janus_tensor_release(was);
}

void jpy_tensor_put_base(jpy_tensor *o, jpy_tensor *base) {
    jpy_tensor *was = o->base;
    jpy_tensor_epoch++;
    SET(o, base, base);
    Py_XDECREF((PyObject *)was);
}

void jpy_tensor_put_hooks(jpy_tensor *o, PyObject *hooks) {
    PyObject *was = o->hooks;
    if (!was && !hooks)
        return;
    jpy_tensor_epoch++;
    SET(o, hooks, hooks);
    Py_XDECREF(was);
}

static jpy_tensor *blank(PyTypeObject *type) {
    jpy_tensor *o;
    if (type == jpy.tensor_type && n_free) {
        o = free_list[--n_free]; /* which kept its reference to the type */
        _Py_NewReference((PyObject *)o);
    } else {
        o = PyObject_GC_New(jpy_tensor, type);
        if (!o)
            return NULL;
        /* What `__slots__` of a class of the program's adds. */
        memset((char *)o + sizeof *o, 0, (size_t)type->tp_basicsize - sizeof *o);
    }
    memset((char *)o + sizeof(PyObject), 0, sizeof *o - sizeof(PyObject));
    return o;
}

PyObject *jpy_tensor_make(PyTypeObject *type, janus_tensor *t) {
    jpy_tensor *o = blank(type);
    if (!o) {
        janus_tensor_release(t);
        return NULL;
    }
    SET(o, t, t);
    PyObject_GC_Track(o);
    return (PyObject *)o;
}

PyObject *jpy_tensor_take(janus_tensor *t) { return jpy_tensor_make(jpy.tensor_type, t); }

PyObject *jpy_tensor_take_node(janus_tensor *t, jpy_node *node, uint32_t out) {
    jpy_tensor *o = (jpy_tensor *)jpy_tensor_make(jpy.tensor_type, t);
    if (o && node) {
        jpy_node_retain(node);
        o->node = node;
        o->node_out = out;
    }
    return (PyObject *)o;
}

PyObject *jpy_tensor_take_view(janus_tensor *t, jpy_node *node, uint32_t out, jpy_tensor *of) {
    jpy_tensor *o = (jpy_tensor *)jpy_tensor_take_node(t, node, out);
    if (o) {
        jpy_tensor *root = of->base ? of->base : of;
        Py_INCREF((PyObject *)root);
        SET(o, base, root);
        o->epoch = root->epoch;
        o->no_version = of->no_version;
    }
    return (PyObject *)o;
}

PyObject *jpy_tensor_take_val(jpy_val *v) {
    jpy_edge edge = v->edge;
    PyObject *o;
    if (edge.leaf && !edge.node) {
        if (edge.leaf->t == v->t) {
            janus_tensor_release(v->t);
            *v = JPY_VAL_NONE;
            return (PyObject *)edge.leaf; /* the edge's own reference */
        }
        Py_DECREF((PyObject *)edge.leaf);
        edge.leaf = NULL;
    }
    o = jpy_tensor_take_node(v->t, edge.node, edge.index);
    jpy_node_release(edge.node);
    *v = JPY_VAL_NONE;
    return o;
}

int jpy_tensor_traverse(PyObject *self, visitproc visit, void *arg) {
    jpy_tensor *o = (jpy_tensor *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(o->grad);
    Py_VISIT(o->hooks);
    Py_VISIT(o->dict);
    Py_VISIT((PyObject *)o->base);
    return jpy_node_visit(o->node, visit, arg);
}

int jpy_tensor_clear(PyObject *self) {
    jpy_tensor *o = (jpy_tensor *)self;
    Py_CLEAR(o->grad);
    jpy_tensor_put_hooks(o, NULL);
    Py_CLEAR(o->dict);
    return 0;
}

void jpy_tensor_dealloc(PyObject *self) {
    jpy_tensor *o = (jpy_tensor *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (JN_UNLIKELY(o->weakrefs != NULL))
        PyObject_ClearWeakRefs(self);
    if (o->grad || o->hooks || o->dict)
        (void)jpy_tensor_clear(self);
    jpy_node *node = o->node;
    PyObject *base = (PyObject *)o->base;
    janus_tensor_release(o->t);
    if (JN_LIKELY(type == jpy.tensor_type && n_free < FREE_MAX)) {
        free_list[n_free++] = o;
    } else {
        PyObject_GC_Del(self);
        Py_DECREF(type);
    }
    if (node)
        jpy_node_release(node);
    Py_XDECREF(base);
}

int jpy_tensor_grad(jpy_tensor *t, PyObject **out) {
    *out = t->grad;
    return t->grad ? jpy_check(jn_tensor_fill(((jpy_tensor *)t->grad)->t)) : 0;
}
