/* SPDX-License-Identifier: Apache-2.0 */
/* The text of source lines, in notes. */
#include "pyfront/explain.h"

PyObject *jpy_source_line(const char *file, unsigned line) {
    PyObject *linecache = file && line ? PyImport_ImportModule("linecache") : NULL;
    PyObject *text = linecache ? PyObject_CallMethod(linecache, "getline", "sI", file, line) : NULL;
    PyObject *bare = text ? PyObject_CallMethod(text, "strip", NULL) : NULL;
    Py_XDECREF(linecache);
    Py_XDECREF(text);
    PyErr_Clear();
    if (bare && PyUnicode_GET_LENGTH(bare) == 0)
        Py_CLEAR(bare);
    return bare;
}

void jpy_note_at(jpy_function *f, const char *text, const char *file, unsigned line) {
    PyObject *source = jpy_source_line(file, line);
    const char *s = source ? PyUnicode_AsUTF8(source) : NULL;
    PyErr_Clear();
    if (s)
        jpy_note(f, "%s\n      %u | %.200s", text, line, s);
    else
        jpy_note(f, "%s", text);
    Py_XDECREF(source);
}
