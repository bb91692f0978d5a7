/* SPDX-License-Identifier: Apache-2.0 */
/* A call computed twice, by the graph and by CPython, whose outcome stands. */
#include "pyfront/verify/verify.h"

#include "exec/store/tensor_rows.h"
#include "pyfront/external.h"
#include "pyfront/py_rng.h"
#include "pyfront/py_tensor.h"
#include "pyfront/signals.h"

int jpy_shadows_running;
_Thread_local bool jpy_shadow_here;

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
static janus_status length(void *ctx, janus_object o, int64_t *out) {
    JN_TRY(touched(ctx, o));
    return jpy_host_ops.length(ctx, o, out);
}
static janus_status unbox(void *ctx, janus_object o, janus_kind want, janus_host_value *out) {
    if (want == JANUS_KIND_TENSOR)
        JN_TRY(touched(ctx, o));
    return jpy_host_ops.unbox(ctx, o, want, out);
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
static janus_status wrap(void *ctx, janus_tensor *t, int64_t tag, janus_object *out) {
    return born(ctx, jpy_host_ops.wrap(ctx, t, tag, out), out);
}

janus_host_ops jpy_shadow_ops(void) {
    janus_host_ops ops = jpy_host_ops;
    ops.get_attr = get_attr;
    ops.get_item = get_item;
    ops.get_key = get_key;
    ops.length = length;
    ops.unbox = unbox;
    ops.make = make;
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

/* CPython's outcome; every decorated function of this thread is its callable, or one wrong graph
 * would vouch for another. */
static PyObject *run_plain(jpy_function *f, const jpy_call *call, bool *disturbed) {
    bool collects = PyGC_Disable() != 0;
    bool watching = jpy_signals_listen();
    jpy_shadows_running++;
    jpy_shadow_here = true;
    PyObject *callable = Py_NewRef(f->callable);
    PyObject *r = PyObject_Vectorcall(callable, call->args, (size_t)call->n_pos, call->kwnames);
    Py_DECREF(callable);
    jpy_shadow_here = false;
    jpy_shadows_running--;
    *disturbed = jpy_signals_heard(watching);
    if (collects)
        PyGC_Enable();
    return r;
}

static bool is_chance(void) { /* of the exception that is set: it may come at any time */
    return PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) ||
           PyErr_ExceptionMatches(PyExc_MemoryError) ||
           PyErr_ExceptionMatches(PyExc_RecursionError) || !PyErr_ExceptionMatches(PyExc_Exception);
}

/* `prints`: the graph does, and what it would write to may refuse it. */
static void compare(jpy_shadow *s, const jpy_making *m, PyObject *r, bool disturbed, bool prints,
                    const jn_rng_state *rng) {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    if (r) {
        jpy_shadow_compare(s, m->result, r);
        const jn_rng_state *now = jpy_rng_default();
        if (s->verdict == JPY_AGREED && (now->seed != rng->seed || now->offset != rng->offset)) {
            s->verdict = JPY_DISPROVED;
            s->difference = PyUnicode_FromFormat(
                "the random generator: the graph draws up to %llu, CPython up to %llu",
                (unsigned long long)rng->offset, (unsigned long long)now->offset);
        }
    } else {
        s->verdict = JPY_DISPROVED;
        s->difference =
            PyUnicode_FromFormat("result: CPython raises %s", ((PyTypeObject *)type)->tp_name);
    }
    if (s->verdict != JPY_AGREED && (disturbed || other_threads()))
        s->verdict = JPY_UNDECIDED;
    PyErr_Clear();
    PyErr_Restore(type, value, tb);
    if (!r && (prints || is_chance()))
        s->verdict = JPY_UNDECIDED;
}

/* Gradients that are rows are compared as tensors. */
static bool fill_gradients(const jpy_making *m) {
    for (size_t i = 0; i < m->e->steps.n; i++) {
        PyObject *v = m->values[i];
        if (v && jpy_tensor_check(v) && jn_tensor_fill(((jpy_tensor *)v)->t) != JANUS_OK)
            return false;
    }
    return true;
}

int jpy_shadow_call(jpy_function *f, jpy_entry *e, const jpy_call *call, PyObject **slots,
                    PyObject **out_result, jpy_verdict *verdict) {
    unsigned n_results = e->n_results + e->n_frames;
    jn_arg *results = jn_calloc(n_results + 1, sizeof *results);
    jpy_shadow s;
    jpy_node *node[JPY_MAX_STAGES] = {NULL};
    jpy_objects born = {0};
    jpy_making m = {.e = e, .slots = slots, .results = results, .nodes = node, .born = &born};
    jpy_host host = {.e = e, .slots = slots, .shadow = &s};
    jn_run *run = NULL;
    jn_rng_state rng = *jpy_rng_default();
    size_t n = e->guards.srcs.n;
    int rc = -1;
    jpy_entry_hold(e);
    for (size_t i = 0; i < n; i++)
        Py_XINCREF(slots[i]);
    jpy_shadow_init(&s, e, f->exact && !f->doubted);
    s.doubted = f->exact;
    s.copy_all = e->copy_all;
    jpy_shadow_touch_slots(&s, slots);
    if (!results || s.failed)
        goto end;
    rc = jpy_entry_run(f, e, slots, &host, &run, results, &rng.offset);
    if (rc < 0)
        goto end;
    rc = -1;
    if (jpy_region_nodes(f, e, call, slots, jpy_rng_default()->offset, results, node) < 0 ||
        !jpy_making_all(&m, run) || !fill_gradients(&m) || !jpy_shadow_write(&s, &m, run)) {
        PyErr_Clear();
        jpy_note(f, "discarded: the results cannot be made");
        goto end;
    }
    bool disturbed;
    *out_result = run_plain(f, call, &disturbed);
    compare(&s, &m, *out_result, disturbed, host.text != NULL, &rng);
    e->copy_all = s.copy_all;
    *verdict = s.verdict;
    if (s.verdict == JPY_AGREED)
        jn_run_confirm(run);
    if (s.verdict == JPY_DISPROVED && jpy_shadow_report(f, &s, call) < 0)
        Py_CLEAR(*out_result);
    else if (s.verdict != JPY_AGREED && s.difference)
        jpy_note(f, "compared, not decided: %s", PyUnicode_AsUTF8(s.difference));
    rc = 0;
end:
    if (run)
        jn_run_free(run);
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb); /* CPython's; what is dropped may run code */
    jpy_making_free(&m);
    jn_vec_free(&born);
    for (unsigned k = 0; k < e->n_stages; k++)
        jpy_node_release(node[k]);
    if (results)
        jpy_entry_drop_results(results, n_results);
    jn_free(results);
    jpy_host_free(&host);
    jpy_shadow_free(&s);
    for (size_t i = 0; i < n; i++)
        Py_XDECREF(slots[i]);
    jpy_entry_free(e);
    PyErr_Restore(type, value, tb);
    return rc;
}
