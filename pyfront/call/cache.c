/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call through a cached entry: guards, run, commit.
 *
 * No Python code runs between the first guard and the last, so what one has read is there for the
 * next.  Then all that they found is held: making an object may start the garbage collector, which
 * runs code of the user.  A graph of tensors and numbers alone makes its first object when it has
 * done with them all (jpy_entry_plain).
 */
#include <stdlib.h>

#include "exec/run/run.h"
#include "exec/store/store.h"
#include "graph/base/log.h"
#include "graph/base/status.h"
#include "pyfront/base/signals.h"
#include "pyfront/call/cache.h"
#include "pyfront/call/policy.h"
#include "pyfront/entry/entry.h"
#include "pyfront/function/function.h"
#include "pyfront/methods/methods.h"
#include "pyfront/run/run.h"
#include "pyfront/stored/stored.h"
#include "pyfront/tensor/tensor.h"
#include "pyfront/verify/verify.h"

enum {
    MAX_UNDECIDED = 8, /* then it is not used */
    DOUBTS = 4, /* hits in a row that have to agree after one that did before gave other floats */
    FIRST_DOUBTS = 16, /* the same of one that never did, and until rounding explains them */
    A_SUSPICION = 4,   /* of a shadow whose floats differ ... */
    EXPLANATION = 2,   /* ... one that rounding explains takes off some, ... */
    SUSPICIONS = 8,    /* ... and so many give up fast numerics */
    STAY = 64 /* calls that keep the lock after one that another thread got in the way of */
};

uint64_t jpy_entry_runs(const jpy_entry *e) { return e->runs; }
const janus_module *jpy_entry_module(jpy_entry *e) { return e->module; }
jpy_trial *jpy_entry_trial(jpy_entry *e) { return &e->trial; }
size_t jpy_entry_guards(const jpy_entry *e) { return e->guards.srcs.n; }

int64_t jpy_entry_guard_time(jpy_entry *e, const jpy_call *call, long repeat) {
    PyObject **slots = jn_alloc((e->guards.srcs.n + 1) * sizeof *slots);
    bool holds = slots != NULL;
    int64_t start = jpy_now();
    for (long i = 0; i < repeat && holds; i++)
        holds = jpy_guards_run(&e->guards, call, slots) == 0;
    int64_t ns = jpy_now() - start;
    jn_free(slots);
    return holds ? ns : -1;
}

int jpy_entry_judged(jpy_function *f, jpy_entry *e, jpy_verdict v, bool raised) {
    bool later = e->later.now;
    e->later.now = false;
    if (v == JPY_AGREED) {
        bool explained = e->later.explained; /* else that others differed says as much as before */
        if (f->doubted && !e->runs) /* what was wrong before it may not show in each call */
            e->later.doubts = FIRST_DOUBTS;
        if (explained)
            f->suspected = f->suspected > EXPLANATION ? f->suspected - EXPLANATION : 1;
        e->later.doubts -= explained ? e->later.doubts : e->later.doubts > 0;
        e->unverified = f->verify == JPY_VERIFY_ALWAYS || e->later.doubts;
        e->undecided = 0;
        e->runs++;
        jpy_later_agreed(e);
        return 4;
    }
    f->suspected += v == JPY_SUSPECT ? A_SUSPICION : 0;
    if (v == JPY_SUSPECT && !f->exact) {
        e->later.doubts = later ? DOUBTS : FIRST_DOUBTS;
        e->unverified = true;
        return f->suspected < SUSPICIONS ? 6 : 7;
    }
    e->wrong = v == JPY_DISPROVED;
    e->undecided += !raised;
    return v == JPY_DISPROVED || e->undecided > MAX_UNDECIDED ? 5 : 6;
}

/* What jpy_entry_call returns of a shadow.  Statements of a region are run by whoever asks. */
static int shadow(jpy_function *f, jpy_entry *e, const jpy_call *call, PyObject **slots,
                  PyObject **out_result) {
    jpy_verdict v;
    if (f->of_region) {
        int rc = jpy_shadow_begin(f, e, call, slots, &jpy_shadow_open);
        return rc < 0 ? rc : 8;
    }
    int rc = jpy_shadow_call(f, e, call, slots, out_result, &v);
    if (rc < 0)
        return rc;
    rc = jpy_entry_judged(f, e, v, *out_result == NULL);
    if (JN_UNLIKELY(e->to_keep) && rc == 4)
        jpy_stored_keep(f, e, slots);
    return rc;
}

static void log_guard(const jpy_entry *e, size_t i) {
    PyObject *path = i < e->guards.srcs.n ? jpy_src_path(e->guards.srcs.data[i], false) : NULL;
    jn_log(JN_LOG_GUARDS, "guard %zu does not hold: %s", i,
           path ? PyUnicode_AsUTF8(path) : "which tensors are one");
    Py_XDECREF(path);
}

static bool hold(PyObject *const *slots, size_t n) {
    for (size_t i = 0; i < n; i++)
        Py_XINCREF(slots[i]);
    return true;
}

/* Whether a result is an object that the call was given. */
static bool is_given(const jpy_entry *e, const jn_arg *results) {
    for (unsigned i = 0; i < e->n_results; i++)
        if (results[i].kind == JANUS_KIND_TENSOR && results[i].object)
            return true;
    return false;
}

int jpy_entry_call(jpy_function *f, jpy_entry *e, const jpy_call *call, bool graph,
                   PyObject **out_result) {
    size_t n = e->guards.srcs.n + 1;
    PyObject *few[256], **slots = n <= 256 ? few : jn_alloc(n * sizeof *slots);
    jn_arg some[128], *results = e->n_results + e->n_frames <= 128
                                     ? some
                                     : jn_alloc((e->n_results + e->n_frames) * sizeof *results);
    int rc = -1;
    jpy_host host = {.e = e, .slots = slots};
    jn_run *r = NULL;
    bool held = false;
    if (!slots || !results)
        goto end;
    if (e->n_stages && (JN_UNLIKELY(f->asked_in_vain) ||
                        (f->differentiated && (e->n_stages > 1 || e->has_effects)))) {
        rc = 0;
        goto end;
    }
    int64_t start = jn_prof_begin();
    int failed = jpy_guards_run(&e->guards, call, slots);
    if (JN_UNLIKELY(start))
        jpy_prof_add(f, JN_PROF_GUARDS, start);
    host.known = e->guards.known;
    if (failed) {
        if ((size_t)failed <= e->guards.srcs.n)
            e->guards.srcs.data[failed - 1]->failures++;
        if (jn_log_on(JN_LOG_GUARDS))
            log_guard(e, (size_t)failed - 1);
        rc = 0;
        goto end;
    }
    if (!graph) {
        rc = 2;
        goto end;
    }
    host.plain = !e->unverified && !e->to_keep && !jn_dev_in_use && jpy_entry_plain(e);
    held = !host.plain && hold(slots, n - 1);
    if (JN_UNLIKELY(e->unverified)) {
        rc = shadow(f, e, call, slots, out_result);
        goto end;
    }
    for (unsigned i = 0; i < e->n_results + e->n_frames; i++)
        results[i].kind = JANUS_KIND_NONE;
    uint64_t rng = 0, rng_before = jpy_rng_default()->offset;
    host.stay = e->stays && e->stays--;
    if (jpy_entry_execute(f, e, slots, &host, &r, results, &rng) != JANUS_OK) {
        rc = jpy_entry_discard(f, e, results);
        goto end;
    }
    held = held || (host.plain && (host.anew || is_given(e, results)) && hold(slots, n - 1));
    if (JN_UNLIKELY(host.away.was) && !jpy_away_holds(&host, &e->guards, call, rng)) {
        e->stays = STAY;
        (void)jn_error(JANUS_CANCELLED, "another thread changed what it had read");
        rc = jpy_entry_discard(f, e, results);
        goto end;
    }
    if (JN_UNLIKELY(host.anew)) { /* again, and what it reads is remembered */
        jn_run_free(r);
        r = NULL;
        jpy_host_free(&host);
        host = (jpy_host){.e = e, .slots = slots};
        rc = shadow(f, e, call, slots, out_result);
        goto end;
    }
    jpy_node *node[JPY_MAX_STAGES] = {NULL};
    start = jn_prof_begin();
    if (jpy_region_nodes(f, e, call, slots, rng_before, results, &host, node) < 0)
        PyErr_Clear(); /* rc is -1 */
    else
        rc = jpy_commit(e, slots, r, &host, results, node, out_result);
    if (JN_UNLIKELY(start))
        jpy_prof_add(f, JN_PROF_COMMIT, start);
    janus_run_stats stats = {0};
    jn_run_stats_get(r, &stats); /* apply computes, too */
    jpy_entry_count(f, &stats);
    jpy_trial_ran(&e->trial, stats.ops);
    const char *why = jpy_why_discarded(rc);
    rc = rc < 0 ? -1 : rc ? 3 : 1;
    for (unsigned k = 0; k < e->n_stages; k++)
        jpy_node_release(node[k]);
    jpy_entry_drop_results(results, e->n_results + e->n_frames);
    if (rc > 0 && rng != rng_before)
        jpy_rng_default()->offset = rng;
    if (rc < 0) {
        jpy_note(f, "discarded: %s", why);
        PyErr_Clear();
    }
    e->runs++;
    if (JN_UNLIKELY(e->to_keep) && rc > 0)
        jpy_stored_keep(f, e, slots);
end:
    rc = rc == JPY_ANOTHER_WAY ? 0 : rc;
    if (r)
        jn_run_free(r);
    jpy_host_free(&host);
    for (size_t i = 0; i + 1 < n && held; i++)
        Py_XDECREF(slots[i]);
    if (slots != few)
        jn_free(slots);
    if (results != some)
        jn_free(results);
    return rc;
}
