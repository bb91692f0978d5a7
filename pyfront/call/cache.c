/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call through a cached entry: guards, binding, run, commit.
 *
 * No Python code runs between the first guard and the last, so what one has read is there for the
 * next.  Then all that they found is held: making an object may start the garbage collector, which
 * runs code of the user.
 */
#include <stdlib.h>

#include "exec/run/run.h"
#include "exec/store/store.h"
#include "graph/base/log.h"
#include "graph/base/status.h"
#include "pyfront/base/signals.h"
#include "pyfront/call/policy.h"
#include "pyfront/entry/away.h"
#include "pyfront/entry/external.h"
#include "pyfront/entry/host.h"
#include "pyfront/function/hints.h"
#include "pyfront/function/profile.h"
#include "pyfront/methods/rng.h"
#include "pyfront/stored/stored.h"
#include "pyfront/tensor/device.h"
#include "pyfront/tensor/tensor.h"
#include "pyfront/verify/verify.h"

enum {
    MAX_UNDECIDED = 8, /* then it is not used */
    STAY = 64 /* calls that keep the lock after one that another thread got in the way of */
};

void jpy_entry_verify(jpy_entry *e, bool on) {
    e->unverified = on;
    if (on)
        jn_module_watch(e->module);
}

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

static janus_status bind(const jpy_entry *e, PyObject *const *slots, jn_arg *args) {
    for (size_t i = 0; i < e->inputs.n; i++) {
        PyObject *o = slots[e->inputs.data[i].slot];
        jn_arg *a = &args[i];
        a->kind = (janus_kind)e->inputs.data[i].kind;
        a->object = NULL;
        if (!e->inputs.data[i].used)
            a->kind = JANUS_KIND_NONE;
        switch (a->kind) {
        case JANUS_KIND_NONE:
            break;
        case JANUS_KIND_TENSOR:
            a->t = ((jpy_tensor *)o)->t;
            JN_TRY(jn_tensor_fill(a->t));
            a->object = o;
            break;
        case JANUS_KIND_INT:
            a->s.i = PyLong_AsLongLong(o);
            break;
        case JANUS_KIND_FLOAT:
            a->s.f = PyFloat_AS_DOUBLE(o);
            break;
        default:
            a->o = o;
        }
    }
    return JANUS_OK;
}

void jpy_entry_drop_results(jn_arg *results, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (results[i].kind == JANUS_KIND_TENSOR)
            janus_tensor_release(results[i].t);
        else if (results[i].kind == JANUS_KIND_FRAME)
            jn_frame_value_release(results[i].f);
    }
}

static void add_stats(jpy_function *f, const janus_run_stats *s) {
    f->run.invokes += s->invokes;
    f->run.instructions += s->instructions;
    f->run.tasks += s->tasks;
    f->run.batches += s->batches;
    f->run.kernels += s->kernels;
    f->run.host_ns += s->host_ns;
    f->run.tensor_ns += s->tensor_ns;
    f->run.early += s->early;
    f->run.late += s->late;
    if (s->peak_bytes > f->run.peak_bytes)
        f->run.peak_bytes = s->peak_bytes;
    if (s->lanes > f->run.lanes)
        f->run.lanes = s->lanes;
}

/* A run is where all tensors it reads are; without any, where new ones go. */
static janus_status choose_device(const jpy_entry *e, const jn_arg *args,
                                  janus_run_options *options) {
    bool any = false;
    jn_device *d = NULL;
    for (size_t i = 0; i < e->inputs.n; i++) {
        if (args[i].kind != JANUS_KIND_TENSOR)
            continue;
        if (any && args[i].t->storage->device != d)
            return jn_error(JANUS_UNSUPPORTED,
                            "a graph runs on one device: its tensors are on two");
        d = args[i].t->storage->device;
        any = true;
    }
    if (any && e->guards.device && e->guards.device != (d ? 2 : 1))
        return jn_error(JANUS_UNSUPPORTED, "autocast made another graph of it for another device");
    if (any ? d != NULL : jpy_default_device != NULL)
        options->device = "cuda";
    return JANUS_OK;
}

/* Runs up to the commit; *out_run is the caller's to free, also after a failure.  A run that turns
 * out to enter what was never compared stops there: host->anew. */
static janus_status run(jpy_function *f, jpy_entry *e, PyObject *const *slots, jpy_host *host,
                        jn_run **out_run, jn_arg *results, uint64_t *out_rng) {
    jn_arg few[64], *args = e->inputs.n <= 64 ? few : jn_alloc(e->inputs.n * sizeof *args);
    if (!args)
        return JN_NO_MEMORY();
    janus_run_options options = JANUS_RUN_OPTIONS_INIT;
    options.numerics = f->exact ? JANUS_NUMERICS_EXACT : JANUS_NUMERICS_FAST;
    janus_host_ops remembering;
    options.host = &jpy_host_ops;
    if (JN_UNLIKELY(host->shadow != NULL)) {
        remembering = jpy_shadow_ops();
        options.host = &remembering;
    }
    options.host_ctx = host;
    jn_rng_state *rng = jpy_rng_default();
    options.rng_seed = rng->seed;
    options.rng_offset = rng->offset;
    jn_run *r = NULL;
    janus_status st = bind(e, slots, args);
    if (st == JANUS_OK && JN_UNLIKELY(jn_dev_in_use))
        st = choose_device(e, args, &options);
    if (st == JANUS_OK)
        st = jn_run_new(e->main, &options, &r);
    bool watching = jpy_signals_watch();
    if (st == JANUS_OK)
        st = jn_run_execute(r, args, (unsigned)e->inputs.n);
    jpy_signals_ignore(watching);
    if (JN_UNLIKELY(st == JANUS_OK && host->shadow))
        jn_run_aside(r);
    else if (JN_UNLIKELY(st == JANUS_OK && jn_run_met(r)) && !jn_dev_in_use)
        host->anew = true;
    bool go = st == JANUS_OK && !host->anew;
    for (size_t i = 0; i < e->steps.n && go && st == JANUS_OK && !host->shadow; i++) {
        const jpy_commit_step *s = &e->steps.data[i];
        if (s->kind == JPY_COMMIT_STORE)
            st = jn_run_stores(r, s->value->slot, s->when, ((jpy_tensor *)slots[s->slot])->t,
                               e->lent[s->value->slot]);
    }
    if (go && st == JANUS_OK)
        st = jn_run_prepare(r);
    if (go && st == JANUS_OK)
        st = jn_run_results(r, results, e->n_results + e->n_frames, host->shadow ? NULL : e->lent);
    if (go && st == JANUS_OK) {
        janus_run_stats stats = {0};
        jn_run_stats_get(r, &stats);
        *out_rng = stats.rng_offset;
    }
    *out_run = r;
    if (args != few)
        jn_free(args);
    return st;
}

/* What a failed run leaves; -1, or -2 where a signal has arrived. */
static int discard(jpy_function *f, const jpy_entry *e, jn_arg *results) {
    const janus_error *err = janus_last_error();
    bool signal = err->code == JANUS_CANCELLED;
    int64_t now = jn_prof_begin();
    if (JN_UNLIKELY(now))
        jpy_prof_add(f, JN_PROF_FALLBACK, now);
    jpy_note(f, "discarded: %s%s%s", err->message, err->n_context ? ", " : "",
             err->n_context ? err->context[0] : "");
    if (err->code == JANUS_ASSUMPTION_FAILED && err->assumption == JPY_ASSUMED_GRADIENT)
        jpy_hints_gradient(f);
    else if (err->code == JANUS_ASSUMPTION_FAILED)
        jpy_hints_came_to(f, e, err->message);
    jpy_entry_drop_results(results, e->n_results + e->n_frames);
    PyErr_Clear();
    return signal ? -2 : -1;
}

int jpy_entry_run(jpy_function *f, jpy_entry *e, PyObject *const *slots, jpy_host *host,
                  jn_run **out_run, jn_arg *results, uint64_t *out_rng) {
    if (run(f, e, slots, host, out_run, results, out_rng) != JANUS_OK) {
        int rc = discard(f, e, results);
        for (unsigned i = 0; i < e->n_results + e->n_frames; i++)
            results[i].kind = JANUS_KIND_NONE;
        return rc;
    }
    janus_run_stats stats = {0};
    jn_run_stats_get(*out_run, &stats);
    add_stats(f, &stats);
    return 0;
}

int jpy_entry_judged(jpy_function *f, jpy_entry *e, jpy_verdict v, bool raised) {
    if (v == JPY_AGREED) {
        e->unverified = f->verify == JPY_VERIFY_ALWAYS;
        e->undecided = 0;
        e->runs++;
        return 4;
    }
    if (v == JPY_SUSPECT && !f->exact)
        return 7;
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
    if (f->differentiated && e->n_stages && (e->n_stages > 1 || e->has_effects)) {
        rc = 0;
        goto end;
    }
    int64_t start = jn_prof_begin();
    int failed = jpy_guards_run(&e->guards, call, slots);
    if (JN_UNLIKELY(start))
        jpy_prof_add(f, JN_PROF_GUARDS, start);
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
    for (size_t i = 0; i + 1 < n; i++)
        Py_XINCREF(slots[i]);
    held = true;
    if (JN_UNLIKELY(e->unverified) && !jn_dev_in_use) {
        rc = shadow(f, e, call, slots, out_result);
        goto end;
    }
    for (unsigned i = 0; i < e->n_results + e->n_frames; i++)
        results[i].kind = JANUS_KIND_NONE;
    uint64_t rng = 0, rng_before = jpy_rng_default()->offset;
    host.stay = e->stays && e->stays--;
    if (run(f, e, slots, &host, &r, results, &rng) != JANUS_OK) {
        rc = discard(f, e, results);
        goto end;
    }
    if (JN_UNLIKELY(host.away.was) && !jpy_away_holds(&host, &e->guards, call, rng)) {
        e->stays = STAY;
        (void)jn_error(JANUS_CANCELLED, "another thread changed what it had read");
        rc = discard(f, e, results);
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
    if (jpy_region_nodes(f, e, call, slots, rng_before, results, node) < 0)
        PyErr_Clear(); /* rc is -1 */
    else
        rc = jpy_commit(e, slots, r, host.text, results, node, out_result);
    if (JN_UNLIKELY(start))
        jpy_prof_add(f, JN_PROF_COMMIT, start);
    janus_run_stats stats = {0};
    jn_run_stats_get(r, &stats); /* apply computes, too */
    add_stats(f, &stats);
    rc = rc < 0 ? -1 : rc ? 3 : 1;
    for (unsigned k = 0; k < e->n_stages; k++)
        jpy_node_release(node[k]);
    jpy_entry_drop_results(results, e->n_results + e->n_frames);
    if (rc > 0 && rng != rng_before)
        jpy_rng_default()->offset = rng;
    if (rc < 0) {
        jpy_note(f, "discarded: the results cannot be made");
        PyErr_Clear();
    }
    e->runs++;
    if (JN_UNLIKELY(e->to_keep) && rc > 0)
        jpy_stored_keep(f, e, slots);
end:
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
