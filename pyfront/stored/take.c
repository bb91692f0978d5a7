/* SPDX-License-Identifier: Apache-2.0 */
/* When entries are looked for on disk and when they are kept; files are janus/_stored.py's. */
#include "pyfront/stored/stored.h"

#include <stdlib.h>

#include "graph/base/log.h"
#include "pyfront/base/names.h"
#include "pyfront/run/run.h"

bool jpy_stored_on;

/* What a function has on disk (borrowed), made when it is asked for first. */
static PyObject *shelf(jpy_function *f) {
    if (!f->shelf) {
        PyObject *m = PyImport_ImportModule("janus._stored");
        f->shelf = m ? PyObject_CallMethod(m, "Shelf", NULL) : NULL;
        Py_XDECREF(m);
    }
    return f->shelf;
}

static PyObject *options(const jpy_function *f) {
    return Py_BuildValue("(OO)", f->exact ? Py_True : Py_False, f->checkpoint ? Py_True : Py_False);
}

/* What went wrong in files is of no interest to the program; that somebody wants it to end is. */
static void forget_error(void) {
    bool interrupted = PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    PyErr_Clear();
    if (interrupted)
        PyErr_SetInterrupt();
}

static PyObject *tuple_of(PyObject *const *v, Py_ssize_t n) {
    PyObject *t = PyTuple_New(n);
    for (Py_ssize_t i = 0; t && i < n; i++)
        PyTuple_SET_ITEM(t, i, Py_NewRef(v[i] ? v[i] : Py_None));
    return t;
}

static bool add(jpy_function *f, jpy_entry *e, PyObject *name) {
    if (!jn_vec_push(&f->entries, e))
        return false;
    jpy_entry_hold(e);
    memmove(f->entries.data + 1, f->entries.data, (f->entries.n - 1) * sizeof *f->entries.data);
    f->entries.data[0] = e;
    e->kept_as = Py_NewRef(name);
    jpy_entry_verify(e, f->verify != JPY_VERIFY_NEVER);
    f->cache_hits++;
    if (f->payer)
        f->payer->cache_hits++;
    jpy_note(f, "taken from JANUS_CACHE: %zu guards, %zu inputs, %u results, %zu effects",
             e->guards.srcs.n, e->inputs.n, e->n_results, e->steps.n);
    return true;
}

bool jpy_stored_take(jpy_function *f, const jpy_call *call) {
    if (f->plain || !(f->ladder & JPY_RUNG_GRAPH) || f->entries.n >= JPY_MAX_ENTRIES)
        return false;
    f->plain++; /* what files are read with may call anything */
    f->thread = PyThread_get_thread_ident();
    Py_ssize_t n_kw = call->kwnames ? PyTuple_GET_SIZE(call->kwnames) : 0;
    PyObject *with = options(f), *args = tuple_of(call->args, call->n_pos + n_kw);
    PyObject *got =
        with && args && shelf(f)
            ? PyObject_CallMethod(f->shelf, "take", "OOnOO", f->callable, args, call->n_pos,
                                  call->kwnames ? call->kwnames : Py_None, with)
            : NULL;
    f->plain--;
    f->kept_others = got == Py_True;
    bool taken = got && PyTuple_Check(got) && PyTuple_GET_SIZE(got) == 2 &&
                 Py_TYPE(PyTuple_GET_ITEM(got, 0)) == jpy_entry_type &&
                 PyUnicode_Check(PyTuple_GET_ITEM(got, 1)) &&
                 add(f, (jpy_entry *)PyTuple_GET_ITEM(got, 0), PyTuple_GET_ITEM(got, 1));
    Py_XDECREF(with);
    Py_XDECREF(args);
    Py_XDECREF(got);
    forget_error();
    return taken;
}

void jpy_stored_keep(jpy_function *f, jpy_entry *e, PyObject *const *slots) {
    e->to_keep = false;
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb); /* the call's own */
    f->plain++;
    f->thread = PyThread_get_thread_ident();
    PyObject *with = options(f), *values = tuple_of(slots, (Py_ssize_t)e->guards.srcs.n);
    PyObject *name = with && values && shelf(f)
                         ? PyObject_CallMethod(f->shelf, "keep", "OOOO", (PyObject *)e, f->callable,
                                               values, with)
                         : NULL;
    f->plain--;
    if (name && PyUnicode_Check(name))
        Py_XSETREF(e->kept_as, Py_NewRef(name));
    Py_XDECREF(with);
    Py_XDECREF(values);
    Py_XDECREF(name);
    forget_error();
    PyErr_Restore(type, value, tb);
}

/* A method of the shelf, about a refusal.  It gets `what`, unless that is NULL. */
static PyObject *ask(jpy_function *f, const char *method, PyObject *what) {
    f->plain++;
    f->thread = PyThread_get_thread_ident();
    PyObject *with = options(f), *got = NULL;
    if (with && shelf(f))
        got = PyObject_CallMethod(f->shelf, method, what ? "OOO" : "OO", f->callable, with, what);
    f->plain--;
    Py_XDECREF(with);
    forget_error();
    return got;
}

PyObject *jpy_stored_refusal(jpy_function *f) {
    PyObject *got = ask(f, "recall", NULL);
    if (got && PyTuple_Check(got) && PyTuple_GET_SIZE(got) == 2 &&
        PyUnicode_Check(PyTuple_GET_ITEM(got, 0)))
        return got;
    Py_XDECREF(got);
    return NULL;
}

void jpy_stored_keep_refusal(jpy_function *f) {
    PyObject *what = PyTuple_Pack(2, f->reason ? f->reason : Py_None, f->plan ? f->plan : Py_None);
    Py_XDECREF(what ? ask(f, "remember", what) : NULL);
    Py_XDECREF(what);
    forget_error();
}

void jpy_stored_forget(jpy_function *f, jpy_entry *e) {
    PyObject *type, *value, *tb;
    if (!e->kept_as || !f->shelf)
        return;
    PyErr_Fetch(&type, &value, &tb);
    PyObject *r = PyObject_CallMethod(f->shelf, "forget", "O", e->kept_as);
    Py_XDECREF(r);
    Py_CLEAR(e->kept_as);
    forget_error();
    PyErr_Restore(type, value, tb);
}

/* ---- what janus/_stored.py asks for ------------------------------------------------------------
 */

/* _stored_read(kind, index, obj, key, how, offset, parent, args): (what is there,), or None. */
static PyObject *stored_read(PyObject *module, PyObject *arguments) {
    (void)module;
    int kind, how;
    long long index;
    Py_ssize_t offset;
    PyObject *obj, *key, *parent, *args;
    if (!PyArg_ParseTuple(arguments, "iLOOinOO!:_stored_read", &kind, &index, &obj, &key, &how,
                          &offset, &parent, &PyTuple_Type, &args))
        return NULL;
    bool boxed = (obj == Py_None || (PyTuple_CheckExact(obj) && PyTuple_GET_SIZE(obj) == 1)) &&
                 (key == Py_None || (PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) == 1));
    if (!boxed || kind < 0 || kind > JPY_SRC_GRAD || how < 0 || how > JPY_ATTR_MODULE)
        return PyErr_Format(PyExc_ValueError, "_stored_read: not a source");
    jpy_src up = {.kind = JPY_SRC_CONST};
    bool by = kind == JPY_SRC_KEY && index > 0; /* the key is what a source was */
    jpy_src s = {.kind = (jpy_src_kind)kind,
                 .parent = parent == Py_None ? NULL : &up,
                 .by = by ? &up : NULL,
                 .index = index,
                 .obj = obj == Py_None ? NULL : PyTuple_GET_ITEM(obj, 0),
                 .key = key == Py_None ? NULL : PyTuple_GET_ITEM(key, 0),
                 .how = (jpy_attr_how)how,
                 .offset = offset};
    jpy_call call = {((PyTupleObject *)args)->ob_item, PyTuple_GET_SIZE(args), NULL};
    if (!jpy_src_readable(&s, &call) || !jpy_src_same_way(&s, s.parent ? parent : NULL))
        return PyErr_Format(PyExc_ValueError, "_stored_read: not to be read in this way");
    PyObject *v = jpy_src_read(&s, s.parent ? parent : NULL, by ? s.key : NULL, &call);
    return v ? PyTuple_Pack(1, v) : Py_NewRef(Py_None);
}

/* _type_lookup(type, name): (what it or a base has,), or None. */
static PyObject *type_lookup(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *t, *name;
    if (!PyArg_ParseTuple(args, "O!U:_type_lookup", &PyType_Type, &t, &name))
        return NULL;
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    PyObject *v = _PyType_Lookup((PyTypeObject *)t, name);
    Py_DECREF(name);
    return v ? PyTuple_Pack(1, v) : Py_NewRef(Py_None);
}

/* _type_version(type): a number that it gets anew when it or a base is written to; 0: it has none.
 */
static PyObject *type_version(PyObject *module, PyObject *t) {
    (void)module;
    if (!PyType_Check(t))
        return PyErr_Format(PyExc_TypeError, "_type_version: a type is needed");
    _PyType_Lookup((PyTypeObject *)t, jpy_names.name); /* which gives it one */
    bool valid = PyType_HasFeature((PyTypeObject *)t, Py_TPFLAGS_VALID_VERSION_TAG);
    return PyLong_FromUnsignedLong(valid ? ((PyTypeObject *)t)->tp_version_tag : 0);
}

static PyObject *type_is_fixed(PyObject *module, PyObject *t) {
    (void)module;
    return PyBool_FromLong(PyType_Check(t) && jpy_type_fixed((PyTypeObject *)t));
}

static PyObject *callable_of(PyObject *module, PyObject *f) {
    (void)module;
    if (Py_TYPE(f) != jpy.function_type)
        return PyErr_Format(PyExc_TypeError, "_callable_of: a Function is needed");
    return Py_NewRef(((jpy_function *)f)->callable);
}

static PyObject *log_conversion(PyObject *module, PyObject *text) {
    (void)module;
    const char *s = PyUnicode_AsUTF8(text);
    if (!s)
        return NULL;
    if (jn_log_on(JN_LOG_CONVERSIONS))
        jn_log(JN_LOG_CONVERSIONS, "%s", s);
    Py_RETURN_NONE;
}

static PyObject *special_names(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return jpy_special_names();
}

static PyMethodDef functions[] = {
    {"_stored_dump", jpy_stored_dump, METH_O, "_stored_dump(entry): its parts, a dict."},
    {"_stored_build", jpy_stored_build, METH_VARARGS,
     "_stored_build(parts, args, n_pos, kwnames): an entry whose guards hold for these arguments."},
    {"_stored_read", stored_read, METH_VARARGS, "What a source leads to: (value,), or None."},
    {"_special_names", special_names, METH_NOARGS, "Names of methods that guards of types check."},
    {"_type_lookup", type_lookup, METH_VARARGS, "What a type has under a name: (value,), or None."},
    {"_type_version", type_version, METH_O, "A number that changes when a type does, or 0."},
    {"_type_is_fixed", type_is_fixed, METH_O, "Whether nothing of a type can be assigned."},
    {"_callable_of", callable_of, METH_O, "What a Function stands for."},
    {"_log_conversion", log_conversion, METH_O, "A line of JANUS_LOG=conversions."},
    {NULL, NULL, 0, NULL}};

int jpy_init_stored(PyObject *module) {
    const char *folder = getenv("JANUS_CACHE");
    jpy_stored_on = folder && *folder;
    return PyModule_AddFunctions(module, functions);
}
