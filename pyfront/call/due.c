/* SPDX-License-Identifier: Apache-2.0 */
/* When a word about a function is due (function/word.h). */
#include "pyfront/call/explain.h"

#include <string.h>

enum {
    REFUSALS = 3, /* conversions that are refused before it is said: eight calls */
    WAITS = 4,    /* as many calls for which one was put off are like a refusal */
    /* as long as they are tried at every miss (call/call.c): */
    CONVERSIONS = 17, /* with few hits, */
    UNHIT = 8         /* with no more than were discarded, where time counts */
};

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

static bool is_storm(const jpy_function *f) {
    uint64_t wanted = f->conversions + f->word.put_off;
    return (wanted >= CONVERSIONS && f->graph < wanted * 4) ||
           (f->measure && wanted >= UNHIT && f->graph <= f->fallbacks);
}

void jpy_word_look(jpy_function *f, const jpy_call *call, jpy_try tried) {
    jpy_word *w = &f->word;
    bool made = tried == JPY_TRY_MADE || (tried == JPY_TRY_PUT_OFF && !f->refused);
    w->refusals += tried == JPY_TRY_REFUSED;
    w->put_off += tried == JPY_TRY_PUT_OFF;
    if (w->said || !w->tensors)
        return;
    if (tried == JPY_TRY_PUT_OFF && f->skeleton && f->ops.graph)
        return; /* a part of it runs as graphs */
    if (!made && w->refusals + w->put_off / WAITS >= REFUSALS && f->imperative > f->graph) {
        const char *why = f->reason ? PyUnicode_AsUTF8(f->reason) : NULL;
        bool no_source = why && strstr(why, ": its source text ");
        w->due = no_source ? JPY_WORD_NO_SOURCE : JPY_WORD_IMPERATIVE;
    } else if (made && is_storm(f)) {
        bool discards = f->fallbacks * 2 > f->conversions;
        w->due = discards ? JPY_WORD_DISCARDS : JPY_WORD_STORM;
        Py_XSETREF(w->cause, discards ? last_discard(f) : earlier_miss(f, call));
    }
}
