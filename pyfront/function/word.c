/* SPDX-License-Identifier: Apache-2.0 */
/* When a word is due; its text is made by janus/_words.py. */
#include "pyfront/function/word.h"

#include <string.h>

#include "pyfront/call/explain.h"
#include "pyfront/entry/entry.h"
#include "pyfront/function/function.h"

enum {
    REFUSALS = 3,    /* conversions that are refused before it is said: eight calls */
    CONVERSIONS = 17 /* with few hits: as long as they are tried at every miss (call/call.c) */
};

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

/* What of the call an earlier graph than the newest does not take. */
static PyObject *earlier_miss(const jpy_function *f, const jpy_call *call) {
    PyObject *what = NULL;
    for (size_t i = 1; i < f->entries.n && !what; i++)
        what = jpy_miss(f->entries.data[i], call);
    return what;
}

/* The text of the last note that begins with "discarded: ". */
static PyObject *last_discard(const jpy_function *f) {
    for (Py_ssize_t i = PyList_GET_SIZE(f->notes); i-- > 0;) {
        const char *s = PyUnicode_AsUTF8(PyList_GET_ITEM(f->notes, i));
        if (s && !strncmp(s, "discarded: ", 11))
            return PyUnicode_FromString(s + 11);
    }
    PyErr_Clear();
    return NULL;
}

void jpy_word_look(jpy_function *f, const jpy_call *call, bool made) {
    jpy_word *w = &f->word;
    if (!made)
        w->refusals++;
    if (w->said || !w->tensors)
        return;
    if (!made && w->refusals >= REFUSALS && f->imperative > f->graph) {
        const char *why = f->reason ? PyUnicode_AsUTF8(f->reason) : NULL;
        bool no_source = why && strstr(why, ": its source text ");
        w->due = no_source ? JPY_WORD_NO_SOURCE : JPY_WORD_IMPERATIVE;
    } else if (made && f->conversions >= CONVERSIONS && f->graph < f->conversions * 4) {
        bool discards = f->fallbacks * 2 > f->conversions;
        w->due = discards ? JPY_WORD_DISCARDS : JPY_WORD_STORM;
        Py_XSETREF(w->cause, discards ? last_discard(f) : earlier_miss(f, call));
    }
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
