/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes of Python objects by a running graph, by known layout and without running Python
 * code.
 *
 * What a read finds is held until the run is over: where it was found it may be replaced, by what
 * the garbage collector runs or by another thread.  Nothing is written here: commit.c performs the
 * log.
 */
#include "pyfront/entry/host.h"

#include "pyfront/base/signals.h"
#include "pyfront/entry/away.h"
#include "pyfront/entry/print.h"
#include "pyfront/tensor/tensor.h"

void jpy_host_free(jpy_host *h) {
    for (size_t i = 0; i < h->held.n; i++)
        Py_XDECREF(h->held.data[i]);
    jn_vec_free(&h->held);
    jpy_away_free(h);
    jpy_streams_free(h->streams);
    h->streams = NULL;
    jn_free(h->wired);
    Py_CLEAR(h->text);
}

/* Keeps a new reference until the run is over. */
static janus_status hold(jpy_host *h, PyObject *o) {
    if (o && jn_vec_push(&h->held, o))
        return JANUS_OK;
    Py_XDECREF(o);
    PyErr_Clear();
    return JN_NO_MEMORY();
}

static PyObject *attr_name(const jpy_host *h, int64_t key) {
    return PyList_GET_ITEM(h->e->attr_names, (Py_ssize_t)key);
}

PyObject *jpy_host_object(const janus_host_value *v) {
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

/* ---- reads --------------------------------------------------------------------------------------
 */

static janus_status missing(const char *what) {
    return jn_error(JANUS_NOT_FOUND, "an object has no such %s", what);
}

/* Gives out a new reference, NULL: nothing is there. */
static janus_status found(jpy_host *h, PyObject *v, janus_host_value *out, const char *what) {
    if (!v)
        return missing(what);
    out->kind = JANUS_KIND_OBJECT;
    out->o = v;
    return hold(h, v);
}

static janus_status get_attr(void *ctx, janus_object o, int64_t key, janus_host_value *out) {
    PyObject *v = jpy_plain_attr(o, attr_name(ctx, key));
    if (v && Py_REFCNT(v) == 1) { /* made for this read: nobody would keep it */
        Py_DECREF(v);
        return jn_error(JANUS_ASSUMPTION_FAILED, "an attribute is made at every read");
    }
    return found(ctx, v, out, "attribute");
}

static janus_status get_item(void *ctx, janus_object o, int64_t index, janus_host_value *out) {
    PyObject *p = o;
    if (PyUnicode_CheckExact(p) && index >= 0 && index < PyUnicode_GET_LENGTH(p))
        return found(ctx, PyUnicode_Substring(p, (Py_ssize_t)index, (Py_ssize_t)index + 1), out,
                     "item");
    if (jpy_is_deque(p) && index >= 0 && index < PySequence_Size(p))
        return found(ctx, PySequence_GetItem(p, (Py_ssize_t)index), out, "item");
    if (!(PyList_CheckExact(p) || PyTuple_Check(p)) || index < 0 || index >= Py_SIZE(p))
        return missing("item");
    PyObject *v = PyList_CheckExact(p) ? PyList_GET_ITEM(p, (Py_ssize_t)index)
                                       : PyTuple_GET_ITEM(p, (Py_ssize_t)index);
    return found(ctx, Py_NewRef(v), out, "item");
}

static janus_status get_key(void *ctx, janus_object o, const janus_host_value *key,
                            janus_host_value *out) {
    bool set = PyAnySet_CheckExact((PyObject *)o); /* its items are its keys */
    if (!set && !PyDict_Check((PyObject *)o))
        return jn_error(JANUS_ASSUMPTION_FAILED, "an object that is no dict");
    PyObject *k = jpy_host_object(key), *v = NULL;
    bool looked = k && (set ? !jpy_key_asks(o, k) : jpy_key_look(o, k, &v));
    if (looked && set && PySet_Contains(o, k) > 0)
        v = Py_None;
    Py_XDECREF(k);
    if (looked)
        return found(ctx, Py_XNewRef(v), out, "key");
    PyErr_Clear();
    return jn_error(JANUS_ASSUMPTION_FAILED, "a key that is looked up by code of the program");
}

/* A key as the graph has it: of others than these, equality is not that of objects. */
static janus_status as_key(jpy_host *h, PyObject *k, janus_host_value *out) {
    int overflow = 0;
    if (PyLong_CheckExact(k)) {
        *out = (janus_host_value){.kind = JANUS_KIND_INT};
        out->s.i = PyLong_AsLongLongAndOverflow(k, &overflow);
    } else if (!PyUnicode_CheckExact(k) && !jpy_by_identity(Py_TYPE(k))) {
        overflow = 1;
    } else {
        return found(h, Py_NewRef(k), out, "key");
    }
    return overflow ? jn_error(JANUS_ASSUMPTION_FAILED, "a key of a dict that is copied: %s",
                               Py_TYPE(k)->tp_name)
                    : JANUS_OK;
}

static janus_status next_pair(void *ctx, janus_object o, int64_t *io_place, janus_host_value *key,
                              janus_host_value *v) {
    Py_ssize_t place = (Py_ssize_t)*io_place;
    PyObject *k, *of;
    if (!PyDict_CheckExact((PyObject *)o))
        return jn_error(JANUS_ASSUMPTION_FAILED, "an object that is no dict");
    if (!PyDict_Next(o, &place, &k, &of))
        return JANUS_NOT_FOUND;
    *io_place = place;
    JN_TRY(as_key(ctx, k, key));
    return found(ctx, Py_NewRef(of), v, "pair");
}

static janus_status key_of(void *ctx, janus_object o, janus_object *out) {
    *out = o;
    if (!PyUnicode_CheckExact((PyObject *)o))
        return JANUS_OK;
    PyObject *s = Py_NewRef((PyObject *)o);
    PyUnicode_InternInPlace(&s);
    *out = s;
    return hold(ctx, s);
}

static janus_status length(void *ctx, janus_object o, int64_t *out) {
    (void)ctx;
    PyObject *p = o;
    if (PyDict_Check(p))
        *out = PyDict_GET_SIZE(p);
    else if (PyUnicode_CheckExact(p))
        *out = PyUnicode_GET_LENGTH(p);
    else if (PyList_CheckExact(p) || PyTuple_Check(p))
        *out = Py_SIZE(p);
    else if (jpy_is_deque(p))
        *out = PySequence_Size(p);
    else
        return jn_error(JANUS_ASSUMPTION_FAILED, "an object without a length");
    return JANUS_OK;
}

/* The object has something of its own where the graph takes what its type has. */
static bool hides(PyObject *o, PyObject *methods) {
    bool hidden = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(methods) && !hidden; i += 3) {
        if (PyList_GET_ITEM(methods, i) != (PyObject *)Py_TYPE(o))
            continue;
        PyObject *v = PyObject_GenericGetAttr(o, PyList_GET_ITEM(methods, i + 1));
        PyObject *of = PyList_GET_ITEM(methods, i + 2);
        if (Py_TYPE(of) == &PyMethodDescr_Type)
            hidden = !v || !PyCFunction_Check(v) || PyCFunction_GET_SELF(v) != o ||
                     ((PyCFunctionObject *)v)->m_ml != ((PyMethodDescrObject *)of)->d_method;
        else if (PyTuple_Check(of))
            hidden = v != PyTuple_GET_ITEM(of, 0);
        else
            hidden = !v || !PyMethod_Check(v) || PyMethod_GET_FUNCTION(v) != of ||
                     PyMethod_GET_SELF(v) != o;
        Py_XDECREF(v);
    }
    PyErr_Clear();
    return hidden;
}

/* 0, the type of nothing, where the methods that were found on the type are not the object's. */
static janus_status type_of(void *ctx, janus_object o, int64_t *out) {
    const jpy_host *h = ctx;
    *out = (int64_t)(intptr_t)Py_TYPE((PyObject *)o);
    if (h->e->methods && PyList_GET_SIZE(h->e->methods) && hides(o, h->e->methods))
        *out = 0;
    return JANUS_OK;
}

static janus_status kind_type(void *ctx, janus_kind kind, janus_birth what, int64_t *out) {
    (void)ctx;
    static PyTypeObject *const born[] = {&PyList_Type, &PyTuple_Type, &PyDict_Type};
    PyTypeObject *t = kind == JANUS_KIND_INT      ? &PyLong_Type
                      : kind == JANUS_KIND_FLOAT  ? &PyFloat_Type
                      : kind == JANUS_KIND_BOOL   ? &PyBool_Type
                      : kind == JANUS_KIND_TENSOR ? jpy.tensor_type
                                                  : born[what];
    *out = (int64_t)(intptr_t)t;
    return JANUS_OK;
}

/* Whether the commit writes to the memory of a tensor that is not bound: what it holds then is the
 * graph's to know. */
static bool is_written(const jpy_host *h, const janus_tensor *t) {
    for (size_t i = 0; h->slots && i < h->e->guards.written.n; i++)
        if (((jpy_tensor *)h->slots[h->e->guards.written.data[i]])->t->storage == t->storage)
            return true;
    return false;
}

static janus_status unbox(void *ctx, janus_object o, janus_kind want, janus_host_value *out) {
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
    if (want == JANUS_KIND_TENSOR && jpy_tensor_check_exact(p) &&
        !jpy_tensor_tracked((jpy_tensor *)p)) {
        out->t = ((jpy_tensor *)p)->t;
        return is_written(ctx, out->t)
                   ? jn_error(JANUS_ASSUMPTION_FAILED, "a tensor that is written is read elsewhere")
                   : JANUS_OK;
    }
    return jn_error(JANUS_ASSUMPTION_FAILED, "an object is of another kind");
}

static bool has_type(PyObject *list, const PyTypeObject *type) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++)
        if (PyList_GET_ITEM(list, i) == (const PyObject *)type)
            return true;
    return false;
}

/* What has a history has ops that may be used up, of which nobody here would know; of other types
 * than the samples' nobody has looked what they make of operators. */
static janus_status leaf(void *ctx, janus_object o, janus_tensor **out) {
    jpy_host *h = ctx;
    jpy_tensor *t = o;
    if (!h->e->finds || !jpy_tensor_check((PyObject *)t) || !t->requires_grad || t->node ||
        !has_type(h->e->finds, Py_TYPE(t)) || is_written(h, t->t) || !t->t->contiguous)
        return JANUS_NOT_FOUND;
    if (h->n_leaves++ == JPY_MAX_FOUND)
        return JANUS_NOT_FOUND;
    *out = t->t;
    return JANUS_OK;
}

static janus_status draw(void *ctx, janus_object o, janus_draw what, int64_t at, int64_t n,
                         int64_t *out) {
    return jpy_stream_draw(&((jpy_host *)ctx)->streams, o, what, at, n, out);
}

static janus_status poll_signals(void *ctx) {
    (void)ctx;
    return jpy_signals_pending() ? jn_error(JANUS_CANCELLED, "a signal has arrived") : JANUS_OK;
}

/* ---- preparing ----------------------------------------------------------------------------------
 */

static janus_status make(void *ctx, janus_birth what, const janus_host_value *items, unsigned n,
                         janus_object *out) {
    PyObject *o = what == JANUS_BIRTH_DICT   ? PyDict_New()
                  : what == JANUS_BIRTH_LIST ? PyList_New((Py_ssize_t)n)
                                             : PyTuple_New((Py_ssize_t)n);
    JN_TRY(hold(ctx, o));
    for (unsigned i = 0; i < n && what != JANUS_BIRTH_DICT; i++) {
        PyObject *x = jpy_host_object(&items[i]);
        if (!x) {
            PyErr_Clear();
            return JN_NO_MEMORY();
        }
        if (what == JANUS_BIRTH_LIST)
            PyList_SET_ITEM(o, (Py_ssize_t)i, x);
        else
            PyTuple_SET_ITEM(o, (Py_ssize_t)i, x);
    }
    *out = o;
    return JANUS_OK;
}

static janus_status wrap(void *ctx, janus_tensor *t, int64_t tag, janus_object *out) {
    if (tag == JPY_TAG_VIEW)
        return jn_error(JANUS_ASSUMPTION_FAILED,
                        "a view of a tensor of the caller is stored and remains");
    if (tag == JPY_TAG_FREED && ((jpy_host *)ctx)->e->local)
        return jn_error(JANUS_ASSUMPTION_FAILED, "a tensor stored that requires grad remains");
    janus_tensor_retain(t);
    const jpy_host *h = ctx;
    bool waits = h->e->remains; /* for its node: jpy_region_nodes() */
    PyObject *o =
        tag == JPY_TAG_FREED && !waits ? jpy_freed_tensor(t, h->e, h->slots) : jpy_tensor_take(t);
    *out = o;
    return hold(ctx, o);
}

bool jpy_host_says_floats(const janus_host_value *items, unsigned n) {
    bool exact = true;
    for (unsigned i = 0; i < n && exact; i++) {
        PyObject *o = items[i].kind == JANUS_KIND_OBJECT ? items[i].o : NULL;
        exact = o ? PyLong_CheckExact(o) || PyBool_Check(o) || PyUnicode_CheckExact(o)
                  : items[i].kind == JANUS_KIND_INT || items[i].kind == JANUS_KIND_BOOL;
    }
    return !exact;
}

enum { FEW = 16 };

static void let_go(PyObject **v, unsigned n, PyObject *const *few) {
    while (n)
        Py_DECREF(v[--n]);
    if (v != few)
        jn_free(v);
}

/* The values as objects, in `few` where it has room; NULL: an exception may be set. */
static PyObject **objects_of(const janus_host_value *items, unsigned n, PyObject **few) {
    PyObject **v = n <= FEW ? few : jn_alloc(n * sizeof *v);
    for (unsigned i = 0; v && i < n; i++)
        if (!(v[i] = jpy_host_object(&items[i]))) {
            let_go(v, i, few);
            return NULL;
        }
    return v;
}

static janus_status emit(void *ctx, int64_t key, const janus_host_value *items, unsigned n) {
    jpy_host *h = ctx;
    const jpy_print *p = h->e->prints.data[key];
    PyObject *few[FEW], **v = objects_of(items, n, few), *text = NULL;
    unsigned first = p->to_file ? 1 : 0;
    if (!h->text)
        h->text = PyList_New(0);
    h->says_floats |= jpy_host_says_floats(items + first, n - first);
    PyObject *file = v && first ? v[0] : Py_None;
    if (h->text && v && jpy_print_can(first ? file : NULL))
        text = jpy_print_text(p, v + first, n - first);
    bool ok = text && PyList_Append(h->text, file) == 0 && PyList_Append(h->text, text) == 0 &&
              PyList_Append(h->text, p->flush ? Py_True : Py_False) == 0;
    if (v)
        let_go(v, n, few);
    Py_XDECREF(text);
    PyErr_Clear();
    return ok ? JANUS_OK : jn_error(JANUS_ASSUMPTION_FAILED, "a text that cannot be printed later");
}

static janus_status text(void *ctx, int64_t key, const janus_host_value *items, unsigned n,
                         janus_object *out) {
    jpy_host *h = ctx;
    PyObject *few[FEW], **v = objects_of(items, n, few);
    PyObject *o = v ? jpy_print_text(h->e->prints.data[key], v, n) : NULL;
    if (v)
        let_go(v, n, few);
    *out = o;
    return hold(h, o);
}

const janus_host_ops jpy_host_ops = {.struct_size = sizeof(janus_host_ops),
                                     .get_attr = get_attr,
                                     .get_item = get_item,
                                     .get_key = get_key,
                                     .key_of = key_of,
                                     .next_pair = next_pair,
                                     .length = length,
                                     .type_of = type_of,
                                     .unbox = unbox,
                                     .leaf = leaf,
                                     .draw = draw,
                                     .poll = poll_signals,
                                     .kind_type = kind_type,
                                     .make = make,
                                     .text = text,
                                     .wrap = wrap,
                                     .emit = emit,
                                     .leave = jpy_leave,
                                     .enter = jpy_enter};
