/* SPDX-License-Identifier: Apache-2.0 */
/* A word that is due, whose text is made by janus/_words.py. */
#include "pyfront/function/word.h"

#include <string.h>

#include "pyfront/function/object.h"

void jpy_word_refused(jpy_function *f, const char *file, unsigned line) {
    PyObject *name = file ? PyUnicode_DecodeUTF8(file, (Py_ssize_t)strlen(file), "replace") : NULL;
    PyErr_Clear();
    Py_XSETREF(f->word.file, name);
    f->word.line = line;
}

void jpy_word_free(jpy_word *w) {
    Py_CLEAR(w->file);
    Py_CLEAR(w->cause);
}

PyObject *jpy_word_say(jpy_function *f, PyObject *result) {
    PyObject *type, *value, *tb;
    jpy_word_code code = (jpy_word_code)f->word.due;
    f->word.due = JPY_WORD_NONE;
    if (f->word.said)
        return result;
    f->word.said = true;
    PyErr_Fetch(&type, &value, &tb);
    PyObject *words = PyImport_ImportModule("janus._words"), *cause = f->word.cause;
    bool refused = code == JPY_WORD_IMPERATIVE || code == JPY_WORD_NO_SOURCE;
    if (refused)
        cause = f->reason;
    bool known = refused && f->word.file;
    PyObject *said = NULL;
    if (words)
        said = PyObject_CallMethod(words, "say", "OiOOI", (PyObject *)f, (int)code,
                                   cause ? cause : Py_None, known ? f->word.file : Py_None,
                                   f->word.line);
    else
        PyErr_Clear(); /* the interpreter ends */
    Py_XDECREF(words);
    Py_XDECREF(said);
    if (!result || !PyErr_Occurred()) { /* the call's own exception comes first */
        PyErr_Clear();
        PyErr_Restore(type, value, tb);
        return result;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(tb);
    Py_DECREF(result);
    return NULL;
}
