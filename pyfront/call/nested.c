/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of regions run by skeletons of their own; when regions of a first call are converted.
 */
#include "pyfront/call/nested.h"

#include <string.h>

#include "pyfront/call/policy.h"
#include "pyfront/call/region.h"
#include "pyfront/entry/entry.h"
#include "pyfront/verify/verify.h"

enum {
    ROUNDS = 3,        /* of a loop before it is looked at ... */
    INNER_ROUNDS = 16, /* ... where a loop around it is looked at, too, and its rounds are long */
    MANY_ROUNDS = 64,  /* for one round of the loop around it: that one is left alone ... */
    SURE_ROUNDS = 10,  /* ... up to so many rounds, if they are short */
    COLD_NS = 20000000 /* that its rounds take till then: about what a conversion does */
};

static _Thread_local uint64_t reached; /* regions that are cold */

/* Whether it is the package's: a module of it, a class, or what is of a class of it. */
static bool of_package(PyObject *o) {
    if (PyModule_Check(o)) {
        const char *name = PyModule_GetName(o);
        PyErr_Clear();
        return name && strncmp(name, "janus", 5) == 0;
    }
    PyTypeObject *t = PyType_Check(o) ? (PyTypeObject *)o : Py_TYPE(o);
    for (Py_ssize_t i = 0; t->tp_mro && i < PyTuple_GET_SIZE(t->tp_mro); i++) {
        const PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(t->tp_mro, i);
        bool heap = base->tp_flags & Py_TPFLAGS_HEAPTYPE;
        PyObject *m = heap ? PyDict_GetItemString(base->tp_dict, "__module__") : NULL;
        const char *name = m && PyUnicode_Check(m) ? PyUnicode_AsUTF8(m) : base->tp_name;
        if (name && strncmp(name, "janus", 5) == 0)
            return true;
    }
    PyErr_Clear();
    return false;
}

/* The same, or one of its items or attributes is. */
static bool has_package(PyObject *o) {
    PyObject *d = NULL, *v;
    Py_ssize_t i = 0;
    bool is = of_package(o);
    for (; !is && PyList_CheckExact(o) && i < PyList_GET_SIZE(o); i++)
        is = of_package(PyList_GET_ITEM(o, i));
    for (; !is && PyTuple_CheckExact(o) && i < PyTuple_GET_SIZE(o); i++)
        is = of_package(PyTuple_GET_ITEM(o, i));
    if (!is)
        d = PyDict_CheckExact(o) ? Py_NewRef(o) : jpy_attrs_of(o);
    while (!is && d && PyDict_Next(d, &i, NULL, &v))
        is = of_package(v);
    jpy_attrs_done(o, d);
    PyErr_Clear();
    return is;
}

bool jpy_reaches_package(PyObject *function, PyObject *const *args, Py_ssize_t n) {
    bool does = false, method = PyMethod_Check(function);
    for (Py_ssize_t i = 0; i < n && !does; i++)
        does = has_package(args[i]);
    if (method) {
        does = does || has_package(PyMethod_GET_SELF(function));
        function = PyMethod_GET_FUNCTION(function);
    }
    if (does || !PyFunction_Check(function))
        return does;
    const PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    PyObject *globals = PyFunction_GET_GLOBALS(function), *cells = PyFunction_GET_CLOSURE(function);
    PyObject *defaults = PyFunction_GET_DEFAULTS(function), *v;
    for (Py_ssize_t i = 0; !does && defaults && i < PyTuple_GET_SIZE(defaults); i++)
        does = has_package(PyTuple_GET_ITEM(defaults, i));
    Py_ssize_t at = 0;
    defaults = PyFunction_GET_KW_DEFAULTS(function);
    while (!does && defaults && PyDict_Next(defaults, &at, NULL, &v))
        does = has_package(v);
    for (Py_ssize_t i = 0; !does && i < PyTuple_GET_SIZE(code->co_names); i++) {
        v = PyDict_GetItem(globals, PyTuple_GET_ITEM(code->co_names, i));
        does = v && has_package(v);
    }
    for (Py_ssize_t i = 0; !does && cells && i < PyTuple_GET_SIZE(cells); i++) {
        v = PyCell_GET(PyTuple_GET_ITEM(cells, i));
        does = v && has_package(v);
    }
    return does;
}

bool jpy_warm(jpy_warmth *w, bool measure, bool inner) {
    int64_t ns = 0;
    if (!w->reached++)
        w->since = measure ? jpy_now() : 0;
    else
        w->longer = w->longer || reached - w->all >= MANY_ROUNDS;
    w->all = ++reached;
    if (w->reached < ROUNDS || (measure && (ns = jpy_now() - w->since) < COLD_NS))
        return false;
    if (w->longer && (w->reached < SURE_ROUNDS || ns / w->reached > 2 * COLD_NS))
        return false;
    return !inner || w->reached >= MANY_ROUNDS ||
           (w->reached >= INNER_ROUNDS && (!measure || ns >= 10 * COLD_NS));
}

bool jpy_warm_callee(jpy_function *f) {
    if (f->measure && !f->warmth.reached++)
        f->warmth.since = jpy_now();
    return !f->measure || jpy_now() - f->warmth.since >= COLD_NS;
}

/* The first entries of tracebacks that came out of functions of regions, a list or NULL: what they
 * go on from is the frame that ran them, which shows the statements' frame already. */
static _Thread_local PyObject *entries;

static void note_traceback(void) {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    if (tb && (entries || (entries = PyList_New(0))))
        (void)PyList_Append(entries, tb);
    PyErr_Clear(); /* else an entry is shown twice */
    PyErr_Restore(type, value, tb);
}

PyObject *jpy_nested_run(jpy_function *in, PyObject *const *args, Py_ssize_t n) {
    PyObject *run = Py_NewRef(in->skeleton);
    PyObject *r = PyObject_Vectorcall(run, args, (size_t)n, NULL);
    if (JN_UNLIKELY(jpy_shadow_open != NULL)) /* statements of it have ended it */
        r = jpy_regions_ended(r);
    Py_DECREF(run);
    if (!r)
        note_traceback();
    return r;
}

static bool noted(PyObject *tb) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(entries); i++)
        if (PyList_GET_ITEM(entries, i) == tb)
            return true;
    return false;
}

void jpy_nested_raised(void) {
    PyObject *type, *value, *tb;
    if (!entries)
        return;
    PyErr_Fetch(&type, &value, &tb);
    for (PyObject **at = &tb; *at;) {
        PyTracebackObject *t = (PyTracebackObject *)*at;
        if (t->tb_next && noted((PyObject *)t->tb_next)) {
            *at = Py_NewRef((PyObject *)t->tb_next);
            Py_DECREF((PyObject *)t);
        } else
            at = (PyObject **)&t->tb_next;
    }
    Py_CLEAR(entries);
    PyErr_Restore(type, value, tb);
}
