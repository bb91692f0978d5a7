/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of an entry, run up to its commit. */
#include "pyfront/run/run.h"

#include <string.h>

#include "exec/run/run.h"
#include "exec/store/store.h"
#include "graph/base/status.h"
#include "pyfront/base/signals.h"
#include "pyfront/function/function.h"
#include "pyfront/methods/methods.h"
#include "pyfront/tensor/tensor.h"

/* The number for what all guards know, without those of fast.c. */
static const uint64_t LOOKS_ALONE = UINT64_MAX;

void jpy_entry_verify(jpy_entry *e, bool on) {
    e->unverified = on;
    e->later.due = UINT64_MAX; /* until it was compared */
    if (on)
        jn_module_watch(e->module);
}

static bool is_leaf(const jpy_fast *f, uint32_t slot) {
    size_t from = 0, to = f->tensors.n; /* they are in order */
    while (from < to) {
        size_t mid = (from + to) / 2;
        if (f->tensors.data[mid].slot == slot)
            return true;
        if (f->tensors.data[mid].slot < slot)
            from = mid + 1;
        else
            to = mid;
    }
    return false;
}

/* What is known of an input where the guards held, as number `known` says. */
static uint8_t known_input(const jpy_entry *e, const jpy_input *in, uint64_t known) {
    const jpy_fast *f = &e->guards.fast;
    if (!in->used || in->kind != JANUS_KIND_TENSOR)
        return JN_UNKNOWN;
    if (known != LOOKS_ALONE && is_leaf(f, in->slot))
        return ((jpy_tensor *)f->values[in->slot])->t->contiguous ? JN_KNOWN_TENSOR : JN_UNKNOWN;
    return !jn_dev_in_use && jpy_src_has_form(e->guards.srcs.data[in->slot]) ? JN_KNOWN_LOOK
                                                                             : JN_UNKNOWN;
}

/* What is known of the inputs, and the number for it; NULL: nothing is. */
static const uint8_t *known_inputs(jpy_entry *e, uint64_t *number) {
    uint64_t known = *number = *number ? *number : LOOKS_ALONE;
    if (JN_LIKELY(known == e->known_by && jn_dev_in_use == e->known_away))
        return e->known;
    if ((known != LOOKS_ALONE && known != e->guards.fast.known) ||
        (!e->known && !(e->known = jn_arena_alloc(&e->arena, e->inputs.n + 1))))
        return NULL;
    for (size_t i = 0; i < e->inputs.n; i++)
        e->known[i] = known_input(e, &e->inputs.data[i], known);
    e->known_by = known;
    e->known_away = jn_dev_in_use;
    return e->known;
}

static janus_status bind(const jpy_entry *e, PyObject *const *slots, const uint8_t *known,
                         jn_arg *args) {
    for (size_t i = 0; i < e->inputs.n; i++) {
        PyObject *o = slots[e->inputs.data[i].slot];
        jn_arg *a = &args[i];
        if (known && known[i]) {
            janus_tensor *t = ((jpy_tensor *)o)->t;
            if (JN_UNLIKELY(!jn_tensor_ready_data(t)))
                JN_TRY(jn_tensor_fill(t));
            *a = (jn_arg){.kind = JANUS_KIND_TENSOR, .t = t, .object = o};
            continue;
        }
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
        case JANUS_KIND_BOOL:
            a->s.i = o == Py_True;
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

void jpy_entry_count(jpy_function *f, const janus_run_stats *s) {
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
    bool there = e->guards.device == 2 || (!e->guards.device && jpy_default_device);
    if (any ? d != NULL : there)
        options->device = d ? d->name : "cuda";
    return JANUS_OK;
}

janus_status jpy_entry_execute(jpy_function *f, jpy_entry *e, PyObject *const *slots,
                               jpy_host *host, jn_run **out_run, jn_arg *results,
                               uint64_t *out_rng) {
    jn_arg few[64], *args = e->inputs.n <= 64 ? few : jn_alloc(e->inputs.n * sizeof *args);
    if (!args)
        return JN_NO_MEMORY();
    janus_run_options options = JANUS_RUN_OPTIONS_INIT;
    options.numerics = f->exact ? JANUS_NUMERICS_EXACT : JANUS_NUMERICS_FAST;
    options.host = JN_UNLIKELY(host->shadow != NULL) ? host->ops : &jpy_host_ops;
    options.host_ctx = host;
    jn_rng_state *rng = jpy_rng_default();
    options.rng_seed = rng->seed;
    options.rng_offset = rng->offset;
    jn_run *r = NULL;
    uint64_t number = host->known;
    const uint8_t *known = number || !host->shadow ? known_inputs(e, &number) : NULL;
    janus_status st = bind(e, slots, known, args);
    for (size_t i = 0; i < e->inputs.n && JN_UNLIKELY(host->given != NULL) && st == JANUS_OK; i++)
        if (args[i].kind == JANUS_KIND_TENSOR)
            st = host->given(host->shadow, args[i].t, &args[i].t);
    if (st == JANUS_OK && JN_UNLIKELY(jn_dev_in_use))
        st = choose_device(e, args, &options);
    if (st == JANUS_OK)
        st = jn_run_new(e->main, &options, &r);
    if (st == JANUS_OK && known)
        jn_run_knows(r, number, known);
    if (st == JANUS_OK && host->plain)
        jn_run_borrows(r);
    bool watching = jpy_signals_watch();
    if (st == JANUS_OK)
        st = jn_run_execute(r, args, (unsigned)e->inputs.n);
    jpy_signals_ignore(watching);
    if (JN_UNLIKELY(st == JANUS_OK && host->shadow))
        jn_run_aside(r);
    else if (st == JANUS_OK && JN_UNLIKELY(jn_run_met(r) || e->runs >= e->later.due))
        host->anew = jn_run_met(r) || jpy_later_due(f, e, r);
    bool go = st == JANUS_OK && !host->anew;
    for (size_t i = 0; i < e->steps.n && go && st == JANUS_OK && !host->shadow; i++) {
        const jpy_commit_step *s = &e->steps.data[i];
        if (s->kind == JPY_COMMIT_STORE)
            st = jn_run_stores(r, s->value->slot, s->when, ((jpy_tensor *)slots[s->slot])->t,
                               e->lent[s->value->slot]);
    }
    if (go && st == JANUS_OK)
        st = jn_run_prepare(r);
    if (go && st == JANUS_OK && JN_UNLIKELY(e->remains)) {
        host->n_wires = jn_run_wires(r);
        st = jn_run_wired(r, &host->wired, &host->n_wired);
    }
    if (JN_UNLIKELY(host->n_leaves > JPY_MAX_FOUND))
        e->finds = NULL; /* it fails at the first one from now on */
    if (go && JN_UNLIKELY(e->finds))
        host->found = jn_run_found(r, &host->n_found);
    if (go && st == JANUS_OK)
        st = jn_run_results(r, results, e->n_results + e->n_frames, e->lent);
    if (go && st == JANUS_OK) {
        janus_run_stats stats = {0};
        jn_run_stats_get(r, &stats);
        *out_rng = stats.rng_offset;
    }
    *out_run = r;
    host->run = r;
    if (args != few)
        jn_free(args);
    return st;
}

int jpy_entry_discard(jpy_function *f, jpy_entry *e, jn_arg *results) {
    const janus_error *err = janus_last_error();
    bool signal = err->code == JANUS_CANCELLED;
    if (err->code == JANUS_ASSUMPTION_FAILED && err->assumption == JPY_ASSUMED_WAY) {
        jpy_entry_drop_results(results, e->n_results + e->n_frames);
        return JPY_ANOTHER_WAY;
    }
    int64_t now = jn_prof_begin();
    if (JN_UNLIKELY(now))
        jpy_prof_add(f, JN_PROF_FALLBACK, now);
    jpy_note(f, "discarded: %s%s%s", err->message, err->n_context ? ", " : "",
             err->n_context ? err->context[0] : "");
    bool left = err->code == JANUS_ASSUMPTION_FAILED && err->assumption == JPY_ASSUMED_OWN;
    if (err->code == JANUS_ASSUMPTION_FAILED && err->assumption == JPY_ASSUMED_GRADIENT)
        jpy_hints_gradient(f);
    else if (!left && err->code == JANUS_ASSUMPTION_FAILED)
        Py_XSETREF(f->failed,
                   PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)strlen(err->message), "replace"));
    jpy_entry_drop_results(results, e->n_results + e->n_frames);
    PyErr_Clear();
    return signal ? -2 : left ? JPY_LEFT : -1;
}

int jpy_entry_run(jpy_function *f, jpy_entry *e, PyObject *const *slots, jpy_host *host,
                  jn_run **out_run, jn_arg *results, uint64_t *out_rng) {
    if (jpy_entry_execute(f, e, slots, host, out_run, results, out_rng) != JANUS_OK) {
        int rc = jpy_entry_discard(f, e, results);
        for (unsigned i = 0; i < e->n_results + e->n_frames; i++)
            results[i].kind = JANUS_KIND_NONE;
        return rc;
    }
    janus_run_stats stats = {0};
    jn_run_stats_get(*out_run, &stats);
    jpy_entry_count(f, &stats);
    return 0;
}
