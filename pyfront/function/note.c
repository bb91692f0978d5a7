/* SPDX-License-Identifier: Apache-2.0 */
/* Notes on a function, for explain, with the text of source lines. */
#include "pyfront/function/note.h"

#include <string.h>

#include "graph/base/log.h"
#include "pyfront/base/lines.h"

void jpy_note(jpy_function *f, const char *fmt, ...) {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    va_list ap;
    va_start(ap, fmt);
    char text[1024];
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (jn_log_on(JN_LOG_CONVERSIONS))
        jn_log(JN_LOG_CONVERSIONS, "%s", text);
    if (PyList_GET_SIZE(f->notes) < 1000) {
        PyObject *s = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
        if (!s || PyList_Append(f->notes, s) < 0)
            PyErr_Clear();
        Py_XDECREF(s);
    }
    PyErr_Restore(type, value, tb);
}

PyObject *jpy_source_line(const char *file, unsigned line) {
    PyObject *name = file && line ? PyUnicode_DecodeFSDefault(file) : NULL;
    PyObject *lines = name ? jpy_lines(name, Py_None) : NULL;
    PyObject *text = lines && line <= (size_t)PyList_GET_SIZE(lines)
                         ? PyList_GET_ITEM(lines, (Py_ssize_t)line - 1)
                         : NULL;
    PyObject *bare = text ? PyObject_CallMethod(text, "strip", NULL) : NULL;
    Py_XDECREF(lines);
    Py_XDECREF(name);
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

bool jpy_in_library(const char *file) {
    static char folder[4096];
    static size_t n;
    if (!n) {
        PyObject *modules = PyImport_GetModuleDict();
        PyObject *janus = modules ? PyDict_GetItemString(modules, "janus") : NULL;
        PyObject *name = janus ? PyObject_GetAttrString(janus, "__file__") : NULL;
        const char *s = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
        const char *slash = s ? strrchr(s, '/') : NULL;
        if (slash && (size_t)(slash - s) + 2 < sizeof folder) {
            n = (size_t)(slash - s) + 1;
            memcpy(folder, s, n);
        }
        Py_XDECREF(name);
        PyErr_Clear();
    }
    return n && !strncmp(file, folder, n);
}
