/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commit of a shadow: what commit.c does and what host_py.c does for the log, to twins.
 *
 * An object without a twin is one that the run has made: it is written itself.
 */
#include "pyfront/verify/verify.h"

#include <string.h>

#include "exec/tensor_rows.h"
#include "pyfront/py_tensor.h"

/* The container that stands for one of the program's. */
static PyObject *items_of(const jpy_shadow *s, PyObject *o) {
    const jpy_twin *t = jpy_shadow_find(s, o);
    return t ? t->items : o;
}

static int set_or_delete(PyObject *dict, PyObject *key, PyObject *v) {
    return v ? PyDict_SetItem(dict, key, v) : PyDict_DelItem(dict, key);
}

static int set_attr(jpy_shadow *s, PyObject *o, PyObject *key, PyObject *v) {
    jpy_twin *t = jpy_shadow_find(s, o);
    if (!t)
        return PyObject_GenericSetAttr(o, key, v);
    if (PyCell_Check(o)) /* its one attribute is what it holds */
        return PyList_SetSlice(t->items, 0, PyList_GET_SIZE(t->items), NULL) < 0 || !v
                   ? 0
                   : PyList_Append(t->items, v);
    PyObject *d = _PyType_Lookup(Py_TYPE(o), key);
    PyObject **into = d && Py_TYPE(d) == &PyMemberDescr_Type ? &t->members : &t->attrs;
    if (!*into && !(*into = PyDict_New()))
        return -1;
    return set_or_delete(*into, key, v);
}

static int set_dict(PyObject *dict, PyObject *pairs) {
    Py_ssize_t pos = 0;
    PyObject *k, *v;
    while (PyDict_Next(pairs, &pos, &k, &v))
        if (PyDict_SetItem(dict, k, v) < 0)
            return -1;
    return 0;
}

/* target[...] = value, in the copy of its memory. */
static int store(jpy_shadow *s, janus_tensor *target, janus_tensor *value) {
    jpy_twin_storage *st = jpy_shadow_storage(s, target->storage);
    if (!st)
        return jn_tensor_copy(target, value) == JANUS_OK ? 0 : -1;
    if (jn_tensor_fill(value) != JANUS_OK || !jpy_shadow_copy_storage(s, st))
        return -1;
    janus_tensor *place;
    if (target->dtype != st->copy->dtype ||
        jn_tensor_view(st->copy, target->rank, target->dims, target->strides,
                       jn_tensor_offset(target), &place) != JANUS_OK)
        return -1;
    janus_status r = jn_tensor_copy(place, value);
    janus_tensor_release(place);
    return r == JANUS_OK ? 0 : -1;
}

static int step(jpy_shadow *s, const jpy_making *m, const jpy_commit_step *c, PyObject *v) {
    PyObject *o = m->slots[c->slot], *items;
    switch (c->kind) {
    case JPY_COMMIT_ATTR:
        return set_attr(s, o, c->key, v);
    case JPY_COMMIT_GRAD: {
        jpy_twin *t = jpy_shadow_find(s, o);
        if (!t || !t->tensor)
            return -1;
        Py_XSETREF(t->tensor->grad, v == Py_None ? NULL : Py_NewRef(v));
        return 0;
    }
    case JPY_COMMIT_STORE:
        return store(s, ((jpy_tensor *)o)->t, m->results[c->value->slot].t);
    case JPY_COMMIT_LIST:
        return (items = items_of(s, o)) ? PyList_SetSlice(items, 0, PyList_GET_SIZE(items), v) : -1;
    case JPY_COMMIT_DICT:
        return (items = items_of(s, o)) ? set_dict(items, v) : -1;
    case JPY_COMMIT_WHOLE:
        if (!(items = items_of(s, o)))
            return -1;
        PyDict_Clear(items);
        return set_dict(items, v);
    case JPY_COMMIT_GLOBAL:
        return (items = items_of(s, o)) ? PyDict_SetItem(items, c->key, v) : -1;
    case JPY_COMMIT_DEL:
        return set_attr(s, o, c->key, NULL);
    }
    return -1;
}

static PyObject *object_of(const janus_host_value *v) {
    switch (v->kind) {
    case JANUS_KIND_INT:
        return PyLong_FromLongLong(v->s.i);
    case JANUS_KIND_FLOAT:
        return PyFloat_FromDouble(v->s.f);
    case JANUS_KIND_BOOL:
        return PyBool_FromLong(v->s.i != 0);
    case JANUS_KIND_OBJECT:
        return Py_NewRef((PyObject *)v->o);
    default:
        return Py_NewRef(Py_None);
    }
}

static int effect(jpy_shadow *s, const jn_effect *x) {
    PyObject *o = x->object, *items = NULL, *v = object_of(&x->value), *key = NULL;
    PyObject *names = s->e->attr_names;
    int rc = -1;
    bool attr = x->kind == JN_EFFECT_SET_ATTR || x->kind == JN_EFFECT_DEL_ATTR;
    if (x->kind == JN_EFFECT_STORE) {
        rc = store(s, x->target, x->value.t);
        goto end;
    }
    if (!v || (!attr && !(items = items_of(s, o))))
        goto end;
    switch (x->kind) {
    case JN_EFFECT_SET_ATTR:
        rc = set_attr(s, o, PyList_GET_ITEM(names, (Py_ssize_t)x->index), v);
        break;
    case JN_EFFECT_DEL_ATTR:
        rc = set_attr(s, o, PyList_GET_ITEM(names, (Py_ssize_t)x->index), NULL);
        break;
    case JN_EFFECT_SET_ITEM:
        rc = PyList_SetItem(items, (Py_ssize_t)x->index, Py_NewRef(v));
        break;
    case JN_EFFECT_APPEND:
        rc = PyList_Append(items, v);
        break;
    case JN_EFFECT_POP: {
        Py_ssize_t n = PyList_GET_SIZE(items);
        rc = n ? PyList_SetSlice(items, n - 1, n, NULL) : -1;
        break;
    }
    case JN_EFFECT_SET_KEY:
    case JN_EFFECT_DEL_KEY:
        key = object_of(&x->key);
        rc = key ? set_or_delete(items, key, x->kind == JN_EFFECT_SET_KEY ? v : NULL) : -1;
        Py_XDECREF(key);
        break;
    default:
        rc = 0;
    }
end:
    Py_XDECREF(v);
    return rc;
}

bool jpy_shadow_add_born(jpy_shadow *s, PyObject *o) {
    jpy_born *b;
    HASH_FIND_PTR(s->born, &o, b);
    if (b)
        return true;
    b = jn_arena_zalloc(&s->arena, sizeof *b);
    if (!b)
        return false;
    b->o = o;
    HASH_ADD_PTR(s->born, o, b);
    return b->hh.tbl != NULL;
}

bool jpy_shadow_write(jpy_shadow *s, const jpy_making *m, const jn_run *run) {
    bool ok = true;
    for (size_t i = 0; ok && i < m->born->n; i++)
        ok = jpy_shadow_add_born(s, m->born->data[i]);
    size_t n;
    const jn_effect *log = jn_run_log(run, &n);
    /* what is written to must be known as it was */
    for (size_t i = 0; ok && i < n; i++) {
        jpy_born *b;
        HASH_FIND_PTR(s->born, &log[i].object, b);
        if (!b && log[i].kind != JN_EFFECT_STORE)
            jpy_shadow_touch(s, log[i].object, NULL);
    }
    for (size_t i = 0; ok && i < n; i++)
        ok = effect(s, &log[i]) == 0;
    const jpy_entry *e = m->e;
    for (size_t i = 0; ok && i < e->steps.n; i++)
        if (jpy_step_done(m, &e->steps.data[i]))
            ok = step(s, m, &e->steps.data[i], m->values[i]) == 0;
    if (PyErr_Occurred())
        PyErr_Clear();
    return ok && !s->failed;
}
