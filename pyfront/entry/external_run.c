/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gradient of a stage is run on the frame that the forward run kept.
 *
 * In exact numerics it goes on with the sums that the tape has collected so far: the tape adds the
 * contributions of the ops of a stage to them one by one, and so does the gradient SubGraph.  The
 * sum of its own contributions, added at the end, would be another number.
 */
#include "pyfront/entry/external_run.h"

#include <string.h>

#include "exec/eager/eager.h"
#include "exec/store/store.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/base/signals.h"
#include "pyfront/entry/host.h"

/* What is added without a trace: zeros, or -0.0, which leaves even the sign of a zero. */
static janus_status zeros(const jn_type *t, bool negative, janus_tensor **out) {
    jn_eager_arg value = {.kind = JANUS_KIND_FLOAT, .s.f = negative ? -0.0 : 0.0};
    janus_full_attrs attrs = {sizeof attrs, {t->dims, (size_t)t->rank}, (janus_dtype)t->dtype};
    return jn_eager(JN_OP(full), &value, 1, &attrs, out, 1);
}

/* The gradient for the cotangents that arrive. */
static const jpy_gradient *gradient_of(const jpy_stage_run *x) {
    unsigned n_out = (unsigned)x->stage->out.n, n_arrived = 0, last = 0;
    for (unsigned i = 0; i < n_out; i++)
        if (x->dout[i].kind == JANUS_KIND_TENSOR) {
            n_arrived++;
            last = i;
        }
    if (n_arrived == 0)
        return &x->stage->none;
    if (n_arrived == 1 && last < JPY_MAX_ALONE && x->stage->alone[last].sub)
        return &x->stage->alone[last];
    return n_arrived < n_out ? &x->stage->some : &x->stage->grad;
}

/* The input that is parameter p of the stage. */
static size_t input_of(const jpy_stage *stage, size_t p) {
    size_t i = 0;
    while (stage->in.data[i].param != p)
        i++;
    return i;
}

static bool has_sum(const jpy_stage_run *x, const jpy_val *din, size_t i) {
    return x->reached[i] && din[i].kind == JANUS_KIND_TENSOR;
}

static janus_status add_cotangents(const jpy_stage_run *x, const jpy_gradient *g, jn_arg *args,
                                   unsigned *io_n) {
    bool some = g == &x->stage->some;
    for (size_t i = 0; i < x->stage->out.n; i++) {
        bool arrives = x->dout[i].kind == JANUS_KIND_TENSOR;
        if (!arrives && !some)
            continue;
        jn_arg *a = &args[(*io_n)++];
        a->kind = JANUS_KIND_TENSOR;
        JN_TRY(arrives ? jn_tensor_contiguous(x->dout[i].t, &a->t)
                       : zeros(&x->out[i], false, &a->t));
    }
    for (size_t i = 0; i < x->stage->out.n && some; i++)
        args[(*io_n)++] =
            (jn_arg){.kind = JANUS_KIND_BOOL, .s.i = x->dout[i].kind == JANUS_KIND_TENSOR};
    return JANUS_OK;
}

static janus_status add_sums(const jpy_stage_run *x, const jpy_gradient *g, const jpy_val *din,
                             jn_arg *args, unsigned *io_n) {
    size_t n = x->stage->sub->params.n;
    for (size_t p = 0; p < n; p++) {
        if (!g->sums[p])
            continue;
        size_t i = input_of(x->stage, p);
        jn_arg *a = &args[(*io_n)++];
        a->kind = JANUS_KIND_TENSOR;
        JN_TRY(has_sum(x, din, i) ? jn_tensor_contiguous(din[i].t, &a->t)
                                  : zeros(&x->in[i], true, &a->t));
    }
    for (size_t p = 0; p < n; p++)
        if (g->sums[p] == 2)
            args[(*io_n)++] =
                (jn_arg){.kind = JANUS_KIND_BOOL, .s.i = has_sum(x, din, input_of(x->stage, p))};
    return JANUS_OK;
}

/* Cotangents of what waits at numbers, there when the run begins.  io_held: n_waits of them. */
static janus_status begin_waiting(const jpy_stage_run *x, jn_run *run, janus_tensor **held) {
    const jpy_val *dout = x->dout + x->stage->out.n;
    for (unsigned i = 0; i < x->n_waits; i++) {
        if (dout[i].kind != JANUS_KIND_TENSOR)
            continue;
        JN_TRY(jn_tensor_contiguous(dout[i].t, &held[i]));
        JN_TRY(jn_run_wire_begins(run, x->waits[i].number, held[i]));
    }
    return JANUS_OK;
}

static void take_marks(const jpy_stage_run *x, const jn_run *run) {
    size_t n;
    const uint8_t *marks = jn_run_wire_marks(run, &n);
    for (size_t k = 0; k < n && k < x->n_marks; k++)
        x->marks[k] |= marks[k];
}

static janus_status run(const jpy_stage_run *x, jn_subgraph *sub, const jn_arg *args,
                        unsigned n_args, jn_arg *results) {
    jn_run *run = NULL;
    unsigned n = (unsigned)sub->results.n;
    jpy_host host = {.e = x->e};
    janus_run_options options = JANUS_RUN_OPTIONS_INIT;
    options.numerics = x->exact ? JANUS_NUMERICS_EXACT : JANUS_NUMERICS_FAST;
    options.host = &jpy_host_ops;
    options.host_ctx = &host;
    if (x->frame->mem->dev)
        options.device = "cuda";
    janus_tensor **held = jn_calloc(x->n_waits + 1, sizeof *held);
    if (!held)
        return JN_NO_MEMORY();
    jn_frame_value_retain(x->frame); /* another thread may go backward from here, too */
    janus_status st = jn_run_new(sub, &options, &run);
    if (st == JANUS_OK)
        st = begin_waiting(x, run, held);
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
    if (st == JANUS_OK)
        take_marks(x, run);
    if (run)
        jn_run_free(run);
    for (unsigned i = 0; i < x->n_waits; i++)
        if (held[i])
            janus_tensor_release(held[i]);
    jn_free(held);
    jn_frame_value_release(x->frame);
    jpy_host_free(&host);
    return st;
}

/* Puts the gradients in din. */
static void hand_out(const jpy_stage_run *x, const int32_t *is_present, const jn_arg *results,
                     jpy_val *din) {
    for (size_t i = 0; i < x->stage->in.n; i++) {
        unsigned k = x->stage->in.data[i].gradient;
        int32_t present = is_present[x->stage->in.data[i].param];
        if (!x->reached[i] || (present >= 0 && !results[present].s.i) ||
            results[k].kind != JANUS_KIND_TENSOR)
            continue;
        jpy_val_release(&din[i]);
        din[i] = jpy_val_tensor(results[k].t, (jpy_edge){0});
        janus_tensor_retain(results[k].t);
    }
}

janus_status jpy_stage_run_gradient(const jpy_stage_run *x, jpy_val *io_din) {
    const jpy_gradient *g = gradient_of(x);
    bool onto = false;
    for (size_t i = 0; i < x->stage->in.n; i++)
        onto = onto || has_sum(x, io_din, i);
    jn_subgraph *sub = onto ? g->onto : g->sub;
    unsigned n = (unsigned)sub->results.n, n_args = 1;
    unsigned most = 1 + 2 * (unsigned)(x->stage->out.n + x->stage->sub->params.n);
    jn_arg *args = jn_calloc(most + n + 1, sizeof *args);
    if (!args)
        return JN_NO_MEMORY();
    jn_arg *results = args + most;
    args[0] = (jn_arg){.kind = JANUS_KIND_FRAME, .f = x->frame};
    janus_status st = add_cotangents(x, g, args, &n_args);
    if (st == JANUS_OK && onto)
        st = add_sums(x, g, io_din, args, &n_args);
    if (st == JANUS_OK)
        st = run(x, sub, args, n_args, results);
    for (unsigned i = 1; i < n_args; i++)
        if (args[i].kind == JANUS_KIND_TENSOR && args[i].t)
            janus_tensor_release(args[i].t);
    if (st == JANUS_OK)
        hand_out(x, onto ? g->onto_present : g->present, results, io_din);
    for (unsigned i = 0; i < n; i++)
        if (results[i].kind == JANUS_KIND_TENSOR && results[i].t)
            janus_tensor_release(results[i].t);
    jn_free(args);
    return st;
}
