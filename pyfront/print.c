/* SPDX-License-Identifier: Apache-2.0 */
/* Text that graphs print: see print.h. */
#include "pyfront/print.h"

#include <string.h>

/* sys.stdout, borrowed; NULL: there is none, or an exception is set.  PySys_GetObject makes a
 * string for every lookup and says nothing when it cannot. */
static PyObject *standard_output(void) {
    static PyObject *sys, *name;
    if (!name && !(name = PyUnicode_InternFromString("stdout")))
        return NULL;
    if (!sys && !(sys = PyImport_ImportModule("sys")))
        return NULL;
    return PyDict_GetItemWithError(PyModule_GetDict(sys), name);
}

bool jpy_print_can(PyObject *file) {
    static PyObject *name;
    if (!name && !(name = PyUnicode_InternFromString("write")))
        return false;
    if (!file)
        file = standard_output();
    if (!file || file == Py_None)
        return !PyErr_Occurred();
    PyObject *d = _PyType_Lookup(Py_TYPE(file), name);
    if (!d || Py_TYPE(d) != &PyMethodDescr_Type)
        return false;
    const char *t = PyDescr_TYPE(d)->tp_name;
    return !strcmp(t, "_io.TextIOWrapper") || !strcmp(t, "_io.StringIO");
}

PyObject *jpy_print_text(const jpy_print *p, PyObject *const *items, unsigned n) {
    PyObject *words = PyList_New(0), *text = NULL;
    for (unsigned i = 0; words && i < n; i++) {
        PyObject *s = PyObject_Str(items[i]);
        if (!s || PyList_Append(words, s) < 0)
            Py_CLEAR(words);
        Py_XDECREF(s);
    }
    PyObject *line = words ? PyUnicode_Join(p->sep, words) : NULL;
    if (line)
        text = PyUnicode_Concat(line, p->end);
    Py_XDECREF(words);
    Py_XDECREF(line);
    return text;
}

static int write_text(PyObject *file, PyObject *text, bool flush) {
    if (file == Py_None)
        file = standard_output();
    if (!file || file == Py_None)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *r = PyObject_CallMethod(file, "write", "O", text);
    if (r && flush)
        Py_SETREF(r, PyObject_CallMethod(file, "flush", NULL));
    Py_XDECREF(r);
    return r ? 0 : -1;
}

int jpy_print_write(PyObject *pieces, bool *out_wrote) {
    Py_ssize_t n = PyList_GET_SIZE(pieces);
    *out_wrote = false;
    for (Py_ssize_t i = 0; i + 2 < n;) {
        PyObject *file = PyList_GET_ITEM(pieces, i);
        PyObject *text = Py_NewRef(PyList_GET_ITEM(pieces, i + 1));
        bool flush = PyList_GET_ITEM(pieces, i + 2) == Py_True;
        for (i += 3; text && i + 2 < n && PyList_GET_ITEM(pieces, i) == file; i += 3) {
            flush = flush || PyList_GET_ITEM(pieces, i + 2) == Py_True;
            Py_SETREF(text, PyUnicode_Concat(text, PyList_GET_ITEM(pieces, i + 1)));
        }
        int rc = text ? write_text(file, text, flush) : -1;
        Py_XDECREF(text);
        if (rc)
            return -1;
        *out_wrote = true;
    }
    return 0;
}
