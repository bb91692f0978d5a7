/* SPDX-License-Identifier: Apache-2.0 */
/* Text that graphs print: see print.h. */
#include "pyfront/entry/print.h"

#include "pyfront/base/names.h"

#include <string.h>

/* PySys_GetObject makes a string for every lookup and says nothing when it cannot. */
PyObject *jpy_print_out(void) {
    static PyObject *sys;
    if (!sys && !(sys = PyImport_ImportModule("sys")))
        return NULL;
    return PyDict_GetItemWithError(PyModule_GetDict(sys), jpy_names.stdout_);
}

bool jpy_print_can(PyObject *file) {
    if (!file)
        file = jpy_print_out();
    if (!file || file == Py_None)
        return !PyErr_Occurred();
    PyObject *d = _PyType_Lookup(Py_TYPE(file), jpy_names.write);
    if (!d || Py_TYPE(d) != &PyMethodDescr_Type)
        return false;
    const char *t = PyDescr_TYPE(d)->tp_name;
    return !strcmp(t, "_io.TextIOWrapper") || !strcmp(t, "_io.StringIO");
}

PyObject *jpy_piece_text(const jpy_piece *p, PyObject *const *v) {
    PyObject *args, *text, *call;
    switch (p->how) {
    case JPY_SAY_STR:
        return PyObject_Str(v[0]);
    case JPY_SAY_TEXT:
        return Py_NewRef(p->text);
    case JPY_SAY_FORMAT:
        return PyObject_Format(v[0], p->text);
    case JPY_SAY_PERCENT:
        return PyUnicode_Format(p->text, v[0]);
    case JPY_SAY_PERCENT_TUPLE:
    case JPY_SAY_CALL:
        break;
    }
    args = PyTuple_New((Py_ssize_t)p->n);
    for (unsigned i = 0; args && i < p->n; i++)
        PyTuple_SET_ITEM(args, (Py_ssize_t)i, Py_NewRef(v[i]));
    if (!args)
        return NULL;
    if (p->how == JPY_SAY_PERCENT_TUPLE) {
        text = PyUnicode_Format(p->text, args);
    } else {
        call = PyObject_GetAttrString(p->text, "format");
        text = call ? PyObject_CallObject(call, args) : NULL;
        Py_XDECREF(call);
    }
    Py_DECREF(args);
    return text;
}

PyObject *jpy_print_text(const jpy_print *p, PyObject *const *values, unsigned n) {
    PyObject *items = PyList_New(0), *item = NULL, *text = NULL, *none = PyUnicode_New(0, 0);
    unsigned at = 0;
    if (!none)
        Py_CLEAR(items);
    for (unsigned i = 0; items && i < p->n_pieces && at + p->pieces[i].n <= n; i++) {
        PyObject *s = jpy_piece_text(&p->pieces[i], values + at);
        at += p->pieces[i].n;
        if (s && item) { /* several make a new one, even where all but one are empty */
            PyObject *both = PyTuple_Pack(2, item, s);
            Py_SETREF(s, both ? PyUnicode_Join(none, both) : NULL);
            Py_XDECREF(both);
        }
        Py_XSETREF(item, s);
        if (!item || (p->pieces[i].last && PyList_Append(items, item) < 0))
            Py_CLEAR(items);
        if (p->pieces[i].last)
            Py_CLEAR(item);
    }
    Py_XDECREF(item);
    Py_XDECREF(none);
    PyObject *line = items ? PyUnicode_Join(p->sep, items) : NULL;
    if (line)
        text = PyUnicode_Concat(line, p->end);
    Py_XDECREF(items);
    Py_XDECREF(line);
    return text;
}

static int write_text(PyObject *file, PyObject *text, bool flush) {
    if (file == Py_None)
        file = jpy_print_out();
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
