/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads of Python objects by a running graph, by known layout and without running Python code.
 *
 * The context is the entry: it knows what attribute numbers mean.  Results are borrowed from the
 * objects read; nothing runs that could drop them before the run ends.
 */
#include "pyfront/entry.h"
#include "pyfront/py_tensor.h"

static janus_status missing(const char *what) {
    return jn_error(JANUS_ASSUMPTION_FAILED, "an object has no such %s", what);
}

static janus_status borrow(PyObject *v, janus_host_value *out, const char *what) {
    if (!v)
        return missing(what);
    out->kind = JANUS_KIND_OBJECT;
    out->o = v;
    return JANUS_OK;
}

static janus_status get_attr(void *ctx, janus_object o, int64_t key, janus_host_value *out) {
    jpy_entry *e = ctx;
    PyObject *v = jpy_plain_attr(o, PyList_GET_ITEM(e->attr_names, (Py_ssize_t)key));
    if (v && Py_REFCNT(v) == 1) { /* made for this read: nobody would keep it */
        Py_DECREF(v);
        v = NULL;
    }
    Py_XDECREF(v);
    return borrow(v, out, "attribute");
}

static janus_status get_item(void *ctx, janus_object o, int64_t index, janus_host_value *out) {
    (void)ctx;
    PyObject *p = o;
    if (!(PyList_CheckExact(p) || PyTuple_CheckExact(p)) || index < 0 || index >= Py_SIZE(p))
        return missing("item");
    return borrow(PyList_CheckExact(p) ? PyList_GET_ITEM(p, (Py_ssize_t)index)
                                       : PyTuple_GET_ITEM(p, (Py_ssize_t)index),
                  out, "item");
}

static janus_status length(void *ctx, janus_object o, int64_t *out) {
    (void)ctx;
    PyObject *p = o;
    if (PyDict_CheckExact(p))
        *out = PyDict_GET_SIZE(p);
    else if (PyList_CheckExact(p) || PyTuple_CheckExact(p))
        *out = Py_SIZE(p);
    else
        return missing("length");
    return JANUS_OK;
}

static janus_status type_of(void *ctx, janus_object o, int64_t *out) {
    (void)ctx;
    *out = (int64_t)(intptr_t)Py_TYPE((PyObject *)o);
    return JANUS_OK;
}

static janus_status unbox(void *ctx, janus_object o, janus_kind want, janus_host_value *out) {
    (void)ctx;
    PyObject *p = o;
    out->kind = want;
    if (want == JANUS_KIND_INT && PyLong_CheckExact(p)) {
        int overflow;
        out->s.i = PyLong_AsLongLongAndOverflow(p, &overflow);
        return overflow ? missing("int of 64 bits") : JANUS_OK;
    }
    if (want == JANUS_KIND_FLOAT && PyFloat_CheckExact(p)) {
        out->s.f = PyFloat_AS_DOUBLE(p);
        return JANUS_OK;
    }
    if (want == JANUS_KIND_BOOL && PyBool_Check(p)) {
        out->s.i = p == Py_True;
        return JANUS_OK;
    }
    if (want == JANUS_KIND_TENSOR && jpy_tensor_check(p) && !jpy_tensor_tracked((jpy_tensor *)p)) {
        out->t = ((jpy_tensor *)p)->t;
        return JANUS_OK;
    }
    return missing("value");
}

static janus_status poll_signals(void *ctx) {
    (void)ctx;
    /* handlers are Python code: they must not run inside a region */
    return JANUS_OK;
}

const janus_host_ops jpy_host_ops = {.struct_size = sizeof(janus_host_ops),
                                     .get_attr = get_attr,
                                     .get_item = get_item,
                                     .length = length,
                                     .type_of = type_of,
                                     .unbox = unbox,
                                     .poll = poll_signals};
