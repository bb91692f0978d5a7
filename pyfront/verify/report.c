/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a graph that was disproved. */
#include "pyfront/run/run.h"
#include "pyfront/verify/verify.h"

#include <stdarg.h>

static PyObject *warning; /* janus.SpeculationWarning */

/* _verification(): what comparing graphs has cost this process. */
static PyObject *verification(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    const jpy_later_sum *s = &jpy_later_all;
    return Py_BuildValue("{sKsKsKsK}", "first", s->first, "later", s->later, "first_ns",
                         s->first_ns, "later_ns", s->later_ns);
}

static PyMethodDef methods[] = {
    {"_verification", verification, METH_NOARGS,
     "_verification(): dict of how many calls were compared with CPython for the first time and "
     "later, and the nanoseconds that these took."},
    {NULL, NULL, 0, NULL}};

#ifdef JANUS_MUTATIONS
static PyMethodDef mutation_methods[] = {
    {"_mutations", jpy_mutations, METH_NOARGS, "(names of the mistakes, how many were made)"},
    {NULL, NULL, 0, NULL}};
#endif

int jpy_init_verify(PyObject *module) {
    if (PyModule_AddFunctions(module, methods) < 0)
        return -1;
#ifdef JANUS_MUTATIONS
    if (PyModule_AddFunctions(module, mutation_methods) < 0)
        return -1;
#endif
    warning = PyErr_NewExceptionWithDoc(
        "janus.SpeculationWarning",
        "A graph of janus.function would not have done what CPython did. It was compared before "
        "anything of it was used and is not used: the program's outcome is CPython's.",
        PyExc_RuntimeWarning, NULL);
    return jpy_module_take(module, "SpeculationWarning", Py_XNewRef(warning));
}

PyObject *jpy_where_text(const jpy_shadow *s, const jpy_where *w) {
    if (!w)
        return PyUnicode_FromString("an object that the graph has read");
    if (!w->of) {
        const jpy_guards *g = &s->e->guards;
        return w->slot < g->srcs.n ? jpy_src_path(g->srcs.data[w->slot], false)
                                   : PyUnicode_FromString(w->name ? w->name : "?");
    }
    PyObject *up = jpy_where_text(s, w->of), *text = NULL;
    if (up)
        text = w->name  ? PyUnicode_FromFormat("%U.%s", up, w->name)
               : w->key ? PyUnicode_FromFormat("%U[%R]", up, w->key)
                        : PyUnicode_FromFormat("%U[%zd]", up, w->index);
    Py_XDECREF(up);
    return text;
}

bool jpy_shadow_differs(jpy_shadow *s, jpy_verdict v, const jpy_where *where, const char *fmt,
                        ...) {
    if (s->difference && v <= s->verdict)
        return false;
    va_list ap;
    va_start(ap, fmt);
    PyObject *what = PyUnicode_FromFormatV(fmt, ap), *at = jpy_where_text(s, where);
    va_end(ap);
    Py_XSETREF(s->difference, what && at ? PyUnicode_FromFormat("%U: %U", at, what) : NULL);
    Py_XDECREF(what);
    Py_XDECREF(at);
    PyErr_Clear();
    s->verdict = v;
    return false;
}

/* The code object of what is decorated, borrowed, or NULL. */
static PyCodeObject *code_of(const jpy_function *f) {
    PyObject *o = f->callable;
    if (PyMethod_Check(o))
        o = PyMethod_GET_FUNCTION(o);
    return PyFunction_Check(o) ? (PyCodeObject *)PyFunction_GET_CODE(o) : NULL;
}

int jpy_shadow_report(jpy_function *f, jpy_shadow *s) {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    const char *what = s->difference ? PyUnicode_AsUTF8(s->difference) : "?";
    jpy_note(f, "disproved, not used: %s", what ? what : "?");
    PyCodeObject *code = code_of(f);
    PyObject *name = PyObject_GetAttrString((PyObject *)f, "__qualname__");
    PyErr_Clear();
    PyObject *text = PyUnicode_FromFormat(
        "janus.function: a graph of %S was not used, since it differs from what CPython did: %s",
        name ? name : Py_None, what ? what : "?");
    int rc = 0;
    if (text && code)
        rc = PyErr_WarnExplicitObject(warning, text, code->co_filename, code->co_firstlineno, NULL,
                                      NULL);
    else if (text)
        rc = PyErr_WarnFormat(warning, 1, "%U", text);
    Py_XDECREF(text);
    Py_XDECREF(name);
    if (type) { /* CPython's exception is the call's */
        PyErr_Clear();
        PyErr_Restore(type, value, tb);
        return 0;
    }
    return rc;
}
