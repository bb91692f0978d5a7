/* SPDX-License-Identifier: Apache-2.0 */
/* The names of rungs: see pyfront/call/ladder.h. */
#include "config.h"

#include "pyfront/call/ladder.h"

#include <stdlib.h>
#include <string.h>

/* ---- which rungs -------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    jpy_ladder rung;
} rungs[] = {{"graph", JPY_RUNG_GRAPH},
             {"coexecution", JPY_RUNG_COEXECUTION},
             {"imperative", JPY_RUNG_IMPERATIVE}};
enum { N_RUNGS = sizeof rungs / sizeof *rungs };

#define NAMES "\"graph\", \"coexecution\" and \"imperative\""

/* One more rung, `n` bytes of `name`; `who` says it.  -1: raised. */
static int add(const char *who, const char *name, size_t n, jpy_ladder *ladder) {
    for (int i = 0; i < N_RUNGS; i++) {
        if (strlen(rungs[i].name) != n || strncmp(rungs[i].name, name, n) != 0)
            continue;
        if (*ladder >= rungs[i].rung) { /* this one or a lower one is there */
            PyErr_Format(PyExc_ValueError,
                         "%s: each rung comes once, in the order " NAMES "; \"%s\" comes too late",
                         who, rungs[i].name);
            return -1;
        }
        *ladder |= rungs[i].rung;
        return 0;
    }
    PyObject *got = PyUnicode_DecodeUTF8(name, (Py_ssize_t)(n < 100 ? n : 100), "replace");
    if (got)
        PyErr_Format(PyExc_ValueError, "%s: rungs are " NAMES ", got \"%U\"", who, got);
    Py_XDECREF(got);
    return -1;
}

static int by_environment(jpy_ladder *out) {
    const char *env = getenv("JANUS_LADDER");
    *out = env && *env ? 0 : JPY_LADDER_DEFAULT;
    while (env && *env) {
        size_t n = strcspn(env, ",");
        if (add("JANUS_LADDER", env, n, out) < 0)
            return -1;
        env += n + (env[n] == ',');
    }
    return 0;
}

int jpy_ladder_of(PyObject *wanted, jpy_ladder *out) {
    static const char who[] = "janus.function: ladder";
    if (!wanted || wanted == Py_None)
        return by_environment(out);
    *out = 0;
    if (!PyTuple_Check(wanted) && !PyList_Check(wanted)) {
        PyErr_Format(PyExc_TypeError, "%s is a tuple of " NAMES ", got %s", who,
                     Py_TYPE(wanted)->tp_name);
        return -1;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(wanted); i++) {
        PyObject *one = PySequence_Fast_GET_ITEM(wanted, i);
        Py_ssize_t n;
        const char *name = PyUnicode_Check(one) ? PyUnicode_AsUTF8AndSize(one, &n) : NULL;
        if (!name && !PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%s: rungs are " NAMES ", got %s", who,
                         Py_TYPE(one)->tp_name);
        if (!name || add(who, name, (size_t)n, out) < 0)
            return -1;
    }
    if (*out)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s has no rung: there are " NAMES, who);
    return -1;
}
