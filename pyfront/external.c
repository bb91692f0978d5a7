/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a region leaves on the tape: one node whose gradient is the region's gradient SubGraph, run
 * on the frame that the forward run kept.
 *
 * A gradient that must be differentiable itself (create_graph) is taken of the function run
 * imperatively on the same arguments, if it has no effects: running again changes nothing.  Else it
 * is refused, and such functions run imperatively from then on.
 */
#include "pyfront/external.h"
#include "exec/tensor_rows.h"

#include <string.h>

#include "exec/task.h"
#include "pyfront/host_py.h"
#include "pyfront/py_device.h"
#include "pyfront/py_rng.h"
#include "pyfront/py_tensor.h"
#include "pyfront/signals.h"

typedef struct region {
    jpy_entry *e;
    const jpy_stage *stage;
    jpy_function *f;                     /* owned */
    PyObject *callable, *args, *kwnames; /* of the call; args: positional, then keyword values */
    Py_ssize_t n_pos;
    jn_frame_value *frame;
    jn_rng_state rng;
    bool exact;
    unsigned n_in, n_out;
    PyObject **inputs; /* tracked tensors, owned, in the order of the node's edges */
    jpy_saved *saved;  /* versions of the tensors the frame refers to: e->kept */
} region;

static void free_region(void *user) {
    region *r = user;
    if (r->frame)
        jn_frame_value_release(r->frame);
    for (unsigned i = 0; i < r->n_in; i++) {
        Py_XDECREF(r->inputs[i]);
    }
    for (size_t i = 0; r->saved && i < r->stage->kept.n; i++)
        jpy_saved_clear(&r->saved[i]);
    Py_XDECREF(r->callable);
    Py_XDECREF(r->args);
    Py_XDECREF(r->kwnames);
    jpy_entry_free(r->e);
    jn_free(r->inputs);
    jn_free(r->saved);
    Py_XDECREF((PyObject *)r->f);
    jn_free(r);
}

static void release_saved(void *user) {
    region *r = user;
    if (r->frame)
        jn_frame_value_release(r->frame);
    r->frame = NULL;
    for (size_t i = 0; i < r->stage->kept.n; i++)
        jpy_saved_clear(&r->saved[i]);
}

/* The tracked results inside what the function returned, by their numbers. */
static void collect(const jpy_recipe *r, PyObject *o, PyObject **out) {
    if (r->kind == JPY_MAKE_RESULT && r->grad) {
        out[r->grad - 1] = o;
    } else if (r->kind == JPY_MAKE_TUPLE && PyTuple_Check(o)) {
        for (unsigned i = 0; i < r->n && (Py_ssize_t)i < PyTuple_GET_SIZE(o); i++)
            collect(r->items[i], PyTuple_GET_ITEM(o, i), out);
    } else if (r->kind == JPY_MAKE_LIST && PyList_Check(o)) {
        for (unsigned i = 0; i < r->n && (Py_ssize_t)i < PyList_GET_SIZE(o); i++)
            collect(r->items[i], PyList_GET_ITEM(o, i), out);
    } else if (r->kind == JPY_MAKE_DICT && PyDict_Check(o)) {
        for (unsigned i = 0; i + 1 < r->n; i += 2)
            if (r->items[i]->kind == JPY_MAKE_CONST) {
                PyObject *v = PyDict_GetItem(o, r->items[i]->obj);
                if (v)
                    collect(r->items[i + 1], v, out);
            }
    } else if (r->kind == JPY_MAKE_OBJECT) {
        for (unsigned i = 0; i + 1 < r->n; i += 2) {
            PyObject *v = jpy_plain_attr(o, r->items[i]->obj);
            if (v)
                collect(r->items[i + 1], v, out);
            Py_XDECREF(v); /* its object keeps it */
        }
    }
}

static int again(region *r, const jpy_val *dout, const bool *want, jpy_val *din) {
    jn_rng_state now = *jpy_rng_default();
    bool mode = jpy_no_grad_mode;
    *jpy_rng_default() = r->rng;
    jpy_no_grad_mode = false;
    PyObject *o = PyObject_Vectorcall(r->callable, ((PyTupleObject *)r->args)->ob_item,
                                      (size_t)r->n_pos, r->kwnames);
    *jpy_rng_default() = now;
    int rc = -1;
    size_t n = r->n_in + r->n_out + 1;
    PyObject **y = jn_calloc(r->n_out + 1, sizeof *y);
    jpy_val *v = jn_calloc(2 * n, sizeof *v);
    jpy_edge *edges = jn_calloc(n, sizeof *edges);
    if (!o || !y || !v || !edges)
        goto end;
    collect(r->e->result, o, y);
    unsigned n_roots = 0, n_x = 0;
    jpy_val *seeds = v + r->n_out, *dx = seeds + r->n_out;
    for (unsigned i = 0; i < r->n_out; i++) {
        if (dout[i].kind == JANUS_KIND_NONE || !y[i] || !jpy_tensor_check(y[i]))
            continue;
        seeds[n_roots] = dout[i];
        if (jpy_tensor_val((jpy_tensor *)y[i], &v[n_roots++]) < 0)
            goto end;
    }
    for (unsigned i = 0; i < r->n_in; i++)
        if (want[i] && jpy_tensor_edge((jpy_tensor *)r->inputs[i], &edges[n_x++]) < 0)
            goto end;
    rc = jpy_backward(v, seeds, n_roots, edges, n_x, dx, true, true);
    n_x = 0;
    for (unsigned i = 0; i < r->n_in && rc == 0; i++)
        if (want[i])
            din[i] = dx[n_x++];
end:
    jpy_no_grad_mode = mode;
    Py_XDECREF(o);
    jn_free(y);
    jn_free(v);
    jn_free(edges);
    return rc;
}

static janus_status zeros(const jn_type *t, janus_tensor **out) {
    JN_TRY(jn_tensor_empty((janus_dtype)t->dtype, t->rank, t->dims, out));
    memset((*out)->data, 0, (size_t)(*out)->numel * jn_dtype_size((janus_dtype)t->dtype));
    return JANUS_OK;
}

static janus_status run_gradient(region *r, const jpy_gradient *g, const jpy_val *dout,
                                 jn_arg *results) {
    jn_arg *args = jn_calloc(r->n_out + 1, sizeof *args);
    jn_run *run = NULL;
    janus_status st = args ? JANUS_OK : JN_NO_MEMORY();
    janus_run_options options = JANUS_RUN_OPTIONS_INIT;
    options.numerics = r->exact ? JANUS_NUMERICS_EXACT : JANUS_NUMERICS_FAST;
    options.host = &jpy_host_ops;
    jpy_host host = {r->e, {0}, NULL};
    options.host_ctx = &host;
    if (r->frame->mem->dev)
        options.device = "cuda";
    if (st == JANUS_OK)
        args[0] = (jn_arg){.kind = JANUS_KIND_FRAME, .f = r->frame};
    unsigned n_args = 1, n = (unsigned)g->sub->results.n;
    for (unsigned i = 0; i < r->n_out && st == JANUS_OK; i++) {
        bool arrives = dout[i].kind == JANUS_KIND_TENSOR;
        if (!arrives && g != &r->stage->grad)
            continue;
        args[n_args].kind = JANUS_KIND_TENSOR;
        st = arrives ? jn_tensor_contiguous(dout[i].t, &args[n_args].t)
                     : zeros(r->stage->out.data[i], &args[n_args].t);
        n_args++;
    }
    if (st == JANUS_OK)
        st = jn_run_new(g->sub, &options, &run);
    if (st == JANUS_OK) {
        bool watching = jpy_signals_watch();
        st = jn_run_execute(run, args, n_args);
        jpy_signals_ignore(watching);
    }
    if (st == JANUS_OK)
        st = jn_run_prepare(run);
    if (st == JANUS_OK)
        st = jn_run_results(run, results, n, NULL);
    for (unsigned i = 0; i < n && st == JANUS_OK; i++)
        if (results[i].kind == JANUS_KIND_TENSOR)
            st = jn_tensor_fill(results[i].t);
    if (run)
        jn_run_free(run);
    for (unsigned i = 0; args && i < r->n_out; i++)
        if (args[i + 1].t)
            janus_tensor_release(args[i + 1].t);
    jn_free(args);
    return st;
}

static int backward(void *user, const jpy_val *dout, const bool *want, jpy_val *din,
                    bool create_graph) {
    region *r = user;
    for (size_t i = 0; i < r->stage->kept.n; i++)
        if (jpy_saved_check(&r->saved[i], r->stage->kept.data[i].op) < 0)
            return -1;
    if (create_graph && (r->e->n_stages > 1 || r->e->has_effects)) {
        /* from now on such calls run imperatively */
        r->f->differentiated = true;
        PyErr_SetString(PyExc_RuntimeError,
                        "create_graph=True: this result was computed by a graph of janus.function "
                        "whose gradient cannot be differentiated again, because it has effects or "
                        "results that are computed from each other; computed anew it can be");
        return -1;
    }
    if (create_graph)
        return again(r, dout, want, din);
    uint64_t arrived = 0;
    const jpy_gradient *g = &r->stage->grad;
    for (unsigned i = 0; i < r->n_out; i++)
        arrived |= (uint64_t)(dout[i].kind == JANUS_KIND_TENSOR) << i;
    for (unsigned i = 0; i < r->n_out && i < JPY_MAX_ALONE; i++)
        if (arrived == (uint64_t)1 << i && r->stage->alone[i].sub)
            g = &r->stage->alone[i];
    unsigned n = (unsigned)g->sub->results.n;
    jn_arg *results = jn_calloc(n + 1, sizeof *results);
    if (!results)
        return jpy_raise(JN_NO_MEMORY());
    janus_status st;
    while ((st = run_gradient(r, g, dout, results)) == JANUS_CANCELLED)
        if (PyErr_CheckSignals() < 0) {
            jn_free(results);
            return -1;
        }
    for (unsigned i = 0; i < r->n_in && st == JANUS_OK; i++) {
        unsigned k = r->stage->in.data[i].gradient;
        int32_t present = g->present[r->stage->in.data[i].param];
        if (present >= 0 && !results[present].s.i)
            continue;
        if (want[i] && (r->stage->in.data[i].outs & arrived) &&
            results[k].kind == JANUS_KIND_TENSOR) {
            din[i] = jpy_val_tensor(results[k].t, (jpy_edge){0});
            janus_tensor_retain(results[k].t);
        }
    }
    for (unsigned i = 0; i < n; i++)
        if (results[i].kind == JANUS_KIND_TENSOR && results[i].t)
            janus_tensor_release(results[i].t);
    jn_free(results);
    return st == JANUS_OK ? 0 : jpy_raise(st);
}

static jpy_node *stage_node(jpy_function *f, jpy_entry *e, const jpy_stage *x, const jpy_call *call,
                            PyObject *const *slots, uint64_t rng_offset, jn_frame_value *frame,
                            jpy_node *const *earlier) {
    region *r = jn_calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->e = e;
    r->stage = x;
    r->f = (jpy_function *)Py_NewRef((PyObject *)f);
    e->refs++;
    Py_ssize_t n_args = call->n_pos + (call->kwnames ? PyTuple_GET_SIZE(call->kwnames) : 0);
    r->callable = Py_NewRef(f->callable);
    r->args = PyTuple_New(n_args);
    r->kwnames = Py_XNewRef(call->kwnames);
    r->n_pos = call->n_pos;
    r->rng = (jn_rng_state){jpy_rng_default()->seed, rng_offset};
    r->exact = f->exact;
    unsigned n_in = (unsigned)x->in.n;
    r->n_out = (unsigned)x->out.n;
    r->inputs = jn_calloc(n_in + 1, sizeof *r->inputs);
    r->saved = jn_calloc(x->kept.n + 1, sizeof *r->saved);
    jpy_edge *edges = jn_calloc(n_in + 1, sizeof *edges);
    jpy_node *node = NULL;
    bool ok = r->args && r->inputs && r->saved && edges;
    for (Py_ssize_t i = 0; ok && i < n_args; i++)
        PyTuple_SET_ITEM(r->args, i, Py_NewRef(call->args[i]));
    for (unsigned i = 0; ok && i < n_in; i++) {
        const jpy_tracked *in = &x->in.data[i];
        r->n_in = i + 1;
        if (in->stage != JPY_NO_STAGE) {
            edges[i] = (jpy_edge){.node = earlier[in->stage], .index = in->slot};
            continue;
        }
        jpy_tensor *t = (jpy_tensor *)slots[in->slot];
        r->inputs[i] = Py_NewRef((PyObject *)t);
        ok = jpy_tensor_edge(t, &edges[i]) >= 0;
    }
    for (size_t i = 0; ok && i < x->kept.n; i++) {
        jpy_saved_set(&r->saved[i], ((jpy_tensor *)slots[x->kept.data[i].slot])->t);
        r->saved[i].version += x->kept.data[i].writes;
    }
    jn_frame_value_retain(frame);
    r->frame = frame;
    jpy_external ext = {r, backward, release_saved, free_region, "Graph"};
    if (ok)
        node = jpy_external_new(&ext, n_in, edges, r->n_out);
    if (!node)
        free_region(r);
    jn_free(edges);
    return node;
}

int jpy_region_nodes(jpy_function *f, jpy_entry *e, const jpy_call *call, PyObject *const *slots,
                     uint64_t rng_offset, jn_arg *results, jpy_node **out) {
    const jn_arg *frame = results + e->n_results;
    for (unsigned k = 0; k < e->n_stages; k++) {
        if (!e->stages[k].grad.sub)
            continue;
        out[k] = stage_node(f, e, &e->stages[k], call, slots, rng_offset, (frame++)->f, out);
        if (!out[k])
            return -1;
    }
    return 0;
}
