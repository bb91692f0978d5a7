/* SPDX-License-Identifier: Apache-2.0 */
/* What int(), float(), hash(), str() and the like make of an instance of a Python class. */
#include "pyfront/convert/model/model.h"

/* An exact int, of Python or of the graph. */
static jcv_av *exact_int(jcv *c, jcv_av *a, const char *name) {
    bool is_int = a->kind == AV_PY ? PyLong_CheckExact(a->py)
                                   : a->kind == AV_SCALAR && a->val->type->kind == JANUS_KIND_INT;
    if (!is_int)
        jcv_refuse(c, "%s returned %s", name, jcv_describe(a));
    return a;
}

jcv_av *jcv_to_int(jcv *c, jcv_av *a) {
    PyObject *method;
    switch (jcv_how_is(c, a, JCV_S_INT, JCV_METHOD, &method)) {
    case JCV_PYTHON:
        return exact_int(c, jcv_call_special(c, a, method, NULL, 0), "__int__");
    case JCV_ABSENT:
        return jcv_to_index(c, a);
    case JCV_NATIVE:
        break;
    }
    return NULL;
}

jcv_av *jcv_to_float(jcv *c, jcv_av *a) {
    PyObject *method;
    jcv_av *r = NULL;
    switch (jcv_how_is(c, a, JCV_S_FLOAT, JCV_METHOD, &method)) {
    case JCV_PYTHON:
        r = jcv_call_special(c, a, method, NULL, 0);
        if (r->kind == AV_PY ? !PyFloat_CheckExact(r->py)
                             : r->kind != AV_SCALAR || r->val->type->kind != JANUS_KIND_FLOAT)
            jcv_refuse(c, "__float__ returned %s", jcv_describe(r));
        return r;
    case JCV_ABSENT:
        return jcv_to_index(c, a);
    case JCV_NATIVE:
        break;
    }
    return NULL;
}

jcv_av *jcv_to_index(jcv *c, jcv_av *a) {
    jcv_av *r = jcv_special(c, a, JCV_S_INDEX, NULL, 0);
    return r ? exact_int(c, r, "__index__") : NULL;
}

jcv_av *jcv_hash(jcv *c, jcv_av *a) {
    c->entry->of_process = true;
    jcv_av *r = jcv_special(c, a, JCV_S_HASH, NULL, 0);
    if (!r)
        return NULL;
    if (r->kind != AV_PY || !PyLong_Check(r->py))
        jcv_refuse(c, "__hash__ returned %s", jcv_describe(r));
    Py_ssize_t h = PyLong_AsSsize_t(r->py);
    if (h == -1 && PyErr_Occurred()) { /* as hash() shortens it */
        PyErr_Clear();
        h = PyLong_Type.tp_hash(r->py);
    }
    return jcv_take(c, PyLong_FromSsize_t(h == -1 ? -2 : h));
}

PyObject *jcv_returned_text(jcv *c, jcv_av *r) {
    if (r->kind != AV_PY || !PyUnicode_CheckExact(r->py))
        jcv_refuse(c, "%s as a text", jcv_describe(r));
    return r->py;
}

PyObject *jcv_text(jcv *c, jcv_av *a, int slot) {
    PyObject *method;
    jcv_how how = jcv_how_is(c, a, slot, JCV_METHOD, &method);
    if (how == JCV_PYTHON)
        return jcv_returned_text(c, jcv_call_special(c, a, method, NULL, 0));
    if (how == JCV_NATIVE && method && a->kind == AV_PY)
        return jcv_exact_text(c, a, method, NULL);
    return how == JCV_ABSENT && slot == JCV_S_STR ? jcv_text(c, a, JCV_S_REPR) : NULL;
}
