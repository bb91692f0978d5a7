/* SPDX-License-Identifier: Apache-2.0 */
/* Rungs of the ladder, and the one of co-execution: see pyfront/ladder.h. */
#include "config.h"

#include "pyfront/ladder.h"

#include <stdlib.h>
#include <string.h>

#include "pyfront/deferred/deferred.h"

/* ---- which rungs -------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    jpy_ladder rung;
} rungs[] = {{"graph", JPY_RUNG_GRAPH},
             {"coexecution", JPY_RUNG_COEXECUTION},
             {"imperative", JPY_RUNG_IMPERATIVE}};
enum { N_RUNGS = sizeof rungs / sizeof *rungs, DEFAULT = JPY_RUNG_GRAPH | JPY_RUNG_IMPERATIVE };

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
    *out = env && *env ? 0 : DEFAULT;
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

/* ---- co-execution ------------------------------------------------------------------------------
 */

/* Graphs come first, and so do conversions that may give one. */
bool jpy_coexecutes(const jpy_function *f) {
    return f->ladder & JPY_RUNG_COEXECUTION &&
           (!(f->ladder & JPY_RUNG_GRAPH) || f->refused || f->next_try || f->rest);
}

/* JANUS_FLUSH_EVERY=n, for tests: what is recorded runs after every n-th op. */
static unsigned flush_every(void) {
    const char *env = getenv("JANUS_FLUSH_EVERY");
    long n = env ? strtol(env, NULL, 10) : 0;
    return n > 0 && n < 1 << 30 ? (unsigned)n : 0;
}

/* That of f, or one for this call where another thread records with it. */
static jn_deferral *deferral_of(jpy_function *f, bool *own) {
    jn_deferral_options o = {.exact = f->exact, .calls = flush_every()};
    *own = !f->recording;
    if (!*own)
        return jn_deferral_new(&o);
    if (!f->deferral)
        f->deferral = jn_deferral_new(&o);
    if (f->deferral)
        jn_deferral_retain(f->deferral);
    return f->deferral;
}

/* Runs what is left.  If that fails it stays recorded, and whoever asks for a value tries again;
 * a call that has returned says so. */
static PyObject *flushed(jn_deferral *d, PyObject *result) {
    if (!result) { /* its exception stands */
        PyObject *type, *value, *tb;
        PyErr_Fetch(&type, &value, &tb);
        if (jpy_check(jn_deferral_flush(d)) < 0)
            PyErr_Clear();
        PyErr_Restore(type, value, tb);
    } else if (jpy_check(jn_deferral_flush(d)) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

PyObject *jpy_coexecute(jpy_function *f, jpy_run_plain run, PyObject *const *args, size_t nargsf,
                        PyObject *kwnames) {
    f->coexecuted++;
    if (jn_deferring && jn_deferral_exact(jn_deferring) == f->exact)
        return run(f, args, nargsf, kwnames); /* who records already decides when that runs */
    bool own;
    jn_deferral *d = deferral_of(f, &own);
    jpy_recording *r = d ? jpy_recording_begin(d) : NULL;
    if (!r) { /* out of memory: the call may do without */
        jn_deferral_release(d);
        return run(f, args, nargsf, kwnames);
    }
    f->recording = f->recording || own;
    PyObject *result = run(f, args, nargsf, kwnames);
    jpy_recording_end(r);
    result = flushed(d, result);
    if (own)
        f->recording = false;
    jn_deferral_release(d);
    return result;
}

int jpy_ladder_stats(const jpy_function *f, PyObject *stats) {
    jn_deferral_stats s = {0};
    if (f->deferral)
        jn_deferral_stats_get(f->deferral, &s);
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"coexecution", f->coexecuted},
                  {"recorded", s.recorded},
                  {"flushes", s.flushes},
                  {"grouped", s.grouped + s.back_grouped},
                  {"groups", s.groups + s.back_groups}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        PyObject *n = PyLong_FromUnsignedLongLong(counts[i].value);
        int bad = n ? PyDict_SetItemString(stats, counts[i].name, n) : -1;
        Py_XDECREF(n);
        if (bad < 0)
            return -1;
    }
    return 0;
}

void jpy_ladder_free(jpy_function *f) {
    jn_deferral_release(f->deferral);
    f->deferral = NULL;
}
