/* SPDX-License-Identifier: Apache-2.0 */
/* A call computed twice, by the graph and by CPython, whose outcome stands. */
#include "pyfront/run/run.h"
#include "pyfront/verify/verify.h"

#include "exec/eager/eager.h"
#include "exec/store/store.h"
#include "pyfront/base/signals.h"
#include "pyfront/entry/entry.h"
#include "pyfront/methods/methods.h"
#include "pyfront/tensor/tensor.h"

int jpy_shadows_running;
_Thread_local bool jpy_shadow_here;
_Thread_local uint64_t jpy_shadows_begun;
_Thread_local jpy_compared *jpy_shadow_open;

/* ---- reads that are remembered ------------------------------------------------------------------
 */

static janus_status touched(void *ctx, PyObject *o) {
    jpy_shadow *s = ((jpy_host *)ctx)->shadow;
    jpy_shadow_touch(s, o, NULL);
    return s->failed ? JN_NO_MEMORY() : JANUS_OK;
}

static janus_status get_attr(void *ctx, janus_object o, int64_t key, janus_host_value *out) {
    JN_TRY(touched(ctx, o));
    return jpy_host_ops.get_attr(ctx, o, key, out);
}
static janus_status get_item(void *ctx, janus_object o, int64_t index, janus_host_value *out) {
    JN_TRY(touched(ctx, o));
    return jpy_host_ops.get_item(ctx, o, index, out);
}
static janus_status get_key(void *ctx, janus_object o, const janus_host_value *key,
                            janus_host_value *out) {
    JN_TRY(touched(ctx, o));
    return jpy_host_ops.get_key(ctx, o, key, out);
}
static janus_status next_pair(void *ctx, janus_object o, int64_t *io_place, janus_host_value *key,
                              janus_host_value *v) {
    JN_TRY(touched(ctx, o));
    return jpy_host_ops.next_pair(ctx, o, io_place, key, v);
}
static janus_status length(void *ctx, janus_object o, int64_t *out) {
    JN_TRY(touched(ctx, o));
    return jpy_host_ops.length(ctx, o, out);
}
static janus_status unbox(void *ctx, janus_object o, janus_kind want, janus_host_value *out) {
    if (want == JANUS_KIND_TENSOR)
        JN_TRY(touched(ctx, o));
    JN_TRY(jpy_host_ops.unbox(ctx, o, want, out));
    return want == JANUS_KIND_TENSOR ? jpy_shadow_nudge(((jpy_host *)ctx)->shadow, out->t, &out->t)
                                     : JANUS_OK;
}

static janus_status leaf(void *ctx, janus_object o, janus_tensor **out) {
    JN_TRY(touched(ctx, o));
    janus_status st = jpy_host_ops.leaf(ctx, o, out);
    return st == JANUS_OK ? jpy_shadow_nudge(((jpy_host *)ctx)->shadow, *out, out) : st;
}

static janus_status born(void *ctx, janus_status st, const janus_object *o) {
    if (st == JANUS_OK && !jpy_shadow_add_born(((jpy_host *)ctx)->shadow, *o))
        return JN_NO_MEMORY();
    return st;
}
static janus_status make(void *ctx, janus_birth what, const janus_host_value *items, unsigned n,
                         janus_object *out) {
    return born(ctx, jpy_host_ops.make(ctx, what, items, n, out), out);
}
static janus_status text(void *ctx, int64_t key, const janus_host_value *items, unsigned n,
                         janus_object *out) {
    janus_status st = jpy_host_ops.text(ctx, key, items, n, out);
    return jpy_host_says_floats(items, n) ? born(ctx, st, out) : st; /* it may say rounded ones */
}
static janus_status wrap(void *ctx, janus_tensor *t, int64_t tag, janus_object *out) {
    return born(ctx, jpy_host_ops.wrap(ctx, t, tag, out), out);
}

/* Reads of a run, which are remembered; the context is a jpy_host with its `shadow`. */
static janus_host_ops remembering(void) {
    janus_host_ops ops = jpy_host_ops;
    ops.get_attr = get_attr;
    ops.get_item = get_item;
    ops.get_key = get_key;
    ops.next_pair = next_pair;
    ops.length = length;
    ops.unbox = unbox;
    ops.leaf = leaf;
    ops.make = make;
    ops.text = text;
    ops.wrap = wrap;
    return ops;
}

/* ---- CPython's run ------------------------------------------------------------------------------
 */

/* Others may have changed what is compared. */
static bool other_threads(void) {
    PyThreadState *t = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    return t && PyThreadState_Next(t);
}

/* CPython begins: every decorated function of this thread is its callable until it ends, or one
 * wrong graph would vouch for another. */
static void plain_begins(jpy_compared *x) {
    x->collects = PyGC_Disable() != 0;
    x->watching = jpy_signals_listen();
    jpy_shadows_begun++;
    jpy_shadows_running++;
    jpy_shadow_here = true;
    jpy_shadow_listen(&x->s);
    x->ops_before = jn_ops_run.eager;
}

/* Whether a signal handler ran. */
static bool plain_ends(jpy_compared *x) {
    jpy_shadow_listened(&x->s);
    jpy_shadow_here = false;
    jpy_shadows_running--;
    bool disturbed = jpy_signals_heard(x->watching);
    if (x->collects)
        PyGC_Enable();
    return disturbed;
}

static bool is_chance(void) { /* of the exception that is set: it may come at any time */
    return PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) ||
           PyErr_ExceptionMatches(PyExc_MemoryError) ||
           PyErr_ExceptionMatches(PyExc_RecursionError) || !PyErr_ExceptionMatches(PyExc_Exception);
}

static void compare(jpy_compared *x, PyObject *r, bool disturbed) {
    jpy_shadow *s = &x->s;
    const jn_rng_state *rng = &x->rng;
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    if (r) {
        if (x->second) {
            jpy_shadow *second = &x->second->s;
            jpy_shadow_compare(second, x->second->m.result, r);
            s->second = second->verdict == JPY_AGREED && !second->failed ? second : NULL;
        }
        jpy_shadow_compare(s, x->m.result, r);
        const jn_rng_state *now = jpy_rng_default();
        if (s->verdict == JPY_AGREED && (now->seed != rng->seed || now->offset != rng->offset)) {
            s->verdict = JPY_DISPROVED;
            s->difference = PyUnicode_FromFormat(
                "the random generator: the graph draws up to %llu, CPython up to %llu",
                (unsigned long long)rng->offset, (unsigned long long)now->offset);
        }
        if (s->verdict == JPY_AGREED)
            jpy_shadow_compare_text(s, x->host.text, x->host.says_floats);
        if (s->verdict == JPY_AGREED)
            jpy_shadow_gradients(s);
    } else {
        s->verdict = JPY_DISPROVED;
        s->difference =
            PyUnicode_FromFormat("result: CPython raises %s", ((PyTypeObject *)type)->tp_name);
    }
    if (s->verdict != JPY_AGREED && (disturbed || other_threads()))
        s->verdict = JPY_UNDECIDED;
    PyErr_Clear();
    PyErr_Restore(type, value, tb);
    if (!r && (x->host.text || is_chance())) /* what it would write to may refuse it */
        s->verdict = JPY_UNDECIDED;
}

/* Gradients that are rows of what CPython may write to become tensors before. */
static bool fill_gradients(const jpy_making *m) {
    for (size_t i = 0; i < m->e->steps.n; i++) {
        PyObject *v = m->values[i];
        janus_tensor *t = v && jpy_tensor_check(v) ? ((jpy_tensor *)v)->t : NULL;
        if (t && jn_tensor_is_rows(t) && jn_tensor_rows(t).base && jn_tensor_fill(t) != JANUS_OK)
            return false;
    }
    return true;
}

/* Frees what a shadow holds; an exception that is set stays. */
static void forget(jpy_compared *x) {
    jpy_entry *e = x->m.e;
    unsigned n_results = e->n_results + e->n_frames;
    PyObject *type, *value, *tb;
    if (x->second)
        forget(x->second);
    if (x->run)
        jn_run_free(x->run);
    PyErr_Fetch(&type, &value, &tb); /* CPython's; what is dropped may run code */
    jpy_making_free(&x->m);
    jn_vec_free(&x->born);
    for (unsigned k = 0; k < e->n_stages; k++)
        jpy_node_release(x->node[k]);
    if (x->results)
        jpy_entry_drop_results(x->results, n_results);
    jn_free(x->results);
    jpy_host_free(&x->host);
    jpy_shadow_free(&x->s);
    for (size_t i = 0; i < e->guards.srcs.n && x->slots; i++)
        Py_XDECREF(x->slots[i]);
    jn_free(x->slots);
    jpy_entry_free(e);
    Py_DECREF((PyObject *)x->f);
    jn_free(x);
    PyErr_Restore(type, value, tb);
}

/* The run, up to its commit. */
static int run_graph(jpy_compared *x) {
    jpy_function *f = x->f;
    jpy_entry *e = x->m.e;
    if (!x->s.nudges)
        return jpy_entry_run(f, e, x->slots, &x->host, &x->run, x->results, &x->rng.offset);
    x->host.given = jpy_shadow_nudge;
    if (jpy_entry_execute(f, e, x->slots, &x->host, &x->run, x->results, &x->rng.offset) ==
        JANUS_OK)
        return 0;
    jpy_entry_drop_results(x->results, e->n_results + e->n_frames);
    for (unsigned i = 0; i < e->n_results + e->n_frames; i++)
        x->results[i].kind = JANUS_KIND_NONE;
    return -1; /* nothing is learnt of it */
}

/* The graph's part, up to where CPython begins; nudged: the second one. */
static int graph_begins(jpy_function *f, jpy_entry *e, const jpy_call *call, PyObject *const *slots,
                        bool nudged, jpy_compared **out) {
    size_t n = e->guards.srcs.n;
    jpy_compared *x = jn_calloc(1, sizeof *x);
    int rc = -1;
    if (!x)
        return rc;
    x->f = (jpy_function *)Py_NewRef((PyObject *)f);
    jpy_entry_hold(e);
    x->slots = jn_calloc(n + 1, sizeof *x->slots);
    x->results = jn_calloc(e->n_results + e->n_frames + 1, sizeof *x->results);
    x->rng = *jpy_rng_default();
    x->m = (jpy_making){
        .e = e, .slots = x->slots, .results = x->results, .nodes = x->node, .born = &x->born};
    x->ops = remembering();
    x->host = (jpy_host){.e = e, .slots = x->slots, .shadow = &x->s, .ops = &x->ops};
    for (size_t i = 0; i < n && x->slots; i++)
        x->slots[i] = Py_XNewRef(slots[i]);
    jpy_shadow_init(&x->s, e, f->exact && !f->doubted);
    x->s.doubted = f->exact;
    x->s.copy_all = e->copy_all;
    x->s.nudges = nudged;
    if (x->slots)
        jpy_shadow_touch_slots(&x->s, x->slots);
    if (x->slots && x->results && !x->s.failed)
        rc = run_graph(x);
    if (rc == 0 && (jpy_region_nodes(f, e, call, x->slots, jpy_rng_default()->offset, x->results,
                                     &x->host, x->node) < 0 ||
                    !jpy_making_all(&x->m, x->run) || !fill_gradients(&x->m) ||
                    !jpy_shadow_write(&x->s, &x->m, x->run, &x->host))) {
        PyErr_Clear();
        if (!nudged)
            jpy_note(f, "discarded: %s", jpy_why_discarded(x->s.loud ? -2 : -1));
        rc = -1;
    }
    if (rc < 0) {
        forget(x);
        return rc;
    }
    /* what it leaves is made: CPython needs as much memory as the run */
    jpy_entry_drop_results(x->results, e->n_results + e->n_frames);
    for (unsigned i = 0; i < e->n_results + e->n_frames; i++)
        x->results[i].kind = JANUS_KIND_NONE;
    jn_run_rest(x->run);
    *out = x;
    return 0;
}

int jpy_shadow_begin(jpy_function *f, jpy_entry *e, const jpy_call *call, PyObject *const *slots,
                     jpy_compared **out) {
    jpy_later_begins(e);
    int rc = graph_begins(f, e, call, slots, false, out);
    if (rc < 0) {
        e->later.now = false;
        return rc;
    }
    if (f->suspected && !f->exact && graph_begins(f, e, call, slots, true, &(*out)->second) < 0)
        (*out)->second = NULL;
    plain_begins(*out);
    return 0;
}

PyObject *jpy_shadow_end(jpy_compared *x, PyObject *outcome, bool known, jpy_verdict *verdict) {
    uint64_t ops = jn_ops_run.eager - x->ops_before; /* comparing runs some, too */
    bool disturbed = plain_ends(x);
    if (known)
        compare(x, outcome, disturbed);
    else
        x->s.verdict = JPY_UNDECIDED;
    x->m.e->copy_all = x->s.copy_all;
    x->m.e->later.explained = x->s.explained;
    *verdict = x->s.verdict;
    if (x->s.verdict == JPY_AGREED)
        jn_run_confirm(x->run);
    if (x->s.verdict == JPY_DISPROVED && jpy_shadow_report(x->f, &x->s) < 0)
        Py_CLEAR(outcome);
    else if (x->s.verdict != JPY_AGREED && x->s.difference)
        jpy_note(x->f, "compared, not decided: %s", PyUnicode_AsUTF8(x->s.difference));
    janus_run_stats stats = {0};
    jn_run_stats_get(x->run, &stats);
    jpy_later_ends(x->f, x->m.e, &stats, x->s.copied, ops);
    forget(x);
    jn_memory_trim(); /* CPython's run may have needed much */
    return outcome;
}

int jpy_shadow_call(jpy_function *f, jpy_entry *e, const jpy_call *call, PyObject *const *slots,
                    PyObject **out_result, jpy_verdict *verdict) {
    jpy_compared *x;
    int rc = jpy_shadow_begin(f, e, call, slots, &x);
    if (rc < 0)
        return rc;
    PyObject *callable = Py_NewRef(f->callable);
    PyObject *r = PyObject_Vectorcall(callable, call->args, (size_t)call->n_pos, call->kwnames);
    Py_DECREF(callable);
    *out_result = jpy_shadow_end(x, r, true, verdict);
    return 0;
}
