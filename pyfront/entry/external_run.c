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
#include "ops/scalar.h"
#include "pyfront/base/signals.h"
#include "pyfront/entry/held.h"
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

static janus_status take_found(jn_run *run, const jpy_found *f, jpy_val *out) {
    janus_tensor *t;
    JN_TRY(jn_run_wire_left(run, f->number, &t));
    if (!t)
        return JANUS_OK;
    *out = jpy_val_tensor(t, (jpy_edge){0});
    return jn_tensor_fill(t);
}

static janus_status run(const jpy_stage_run *x, jn_subgraph *sub, const jn_arg *args,
                        unsigned n_args, jn_arg *results, jpy_val *io_din) {
    jn_run *run = NULL;
    unsigned n = (unsigned)sub->results.n;
    jpy_host host = {.e = x->e};
    janus_run_options options = JANUS_RUN_OPTIONS_INIT;
    options.numerics = x->exact ? JANUS_NUMERICS_EXACT : JANUS_NUMERICS_FAST;
    options.host = &jpy_host_ops;
    options.host_ctx = &host;
    if (x->frame->mem->dev)
        options.device = x->frame->mem->dev->name;
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
    for (unsigned i = 0; i < x->n_found && st == JANUS_OK; i++)
        if (x->reached[x->stage->in.n + i])
            st = take_found(run, &x->found[i], &io_din[x->stage->in.n + i]);
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
        st = run(x, sub, args, n_args, results, io_din);
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

/* ---- writes that no version counts
 * ---------------------------------------------------------------
 *
 * CPython's tape keeps the very memory that the program has, so a gradient is computed of what
 * `y.data.mul_(2)`, or NumPy, has put there.  A frame keeps what the run has computed, of which
 * results are copies, and a row-major copy of an argument that is not.  What was written is copied
 * to the frame before the gradient runs: values that frames hold are one in all of them.  Of a view
 * a frame has a copy of its own, which is made again by the ops of the graph; inside of calls and
 * loops that is an error.  Nobody counts what NumPy writes: of what has such copies the elements
 * are compared by a number.
 */

enum { MAX_VIEWS = 16 };

char *jpy_kept_place(const jpy_entry *e, const jn_run *run, const jpy_kept *k) {
    if (k->is_result)
        return jn_run_result_place(run, k->slot);
    if (k->stored)
        return jn_run_result_place(run, k->stored - 1);
    for (unsigned i = 0; i < e->inputs.n; i++)
        if (e->inputs.data[i].slot == k->slot && e->inputs.data[i].kind == JANUS_KIND_TENSOR)
            return jn_run_argument_place(run, i);
    return NULL;
}

static int refuse(const jpy_region_held *r) {
    jpy_asked_in_vain(r->f);
    PyErr_SetString(PyExc_RuntimeError,
                    "a tensor was written through .data before backward(), and a graph of "
                    "janus.function has kept a copy of a view of it for its gradient; computed "
                    "anew the gradient can be had");
    return -1;
}

/* A view op of the graph on `t`; *out NULL: it is at a computed place. */
static janus_status view(const jn_subgraph *g, const jn_node *n, janus_tensor *t,
                         janus_tensor **out) {
    jn_eager_arg in[4] = {{.kind = JANUS_KIND_TENSOR, .t = t}};
    bool known = n->n_in <= 4;
    *out = NULL;
    for (uint32_t k = 1; k < n->n_in && known; k++) {
        janus_kind kind = JANUS_KIND_NONE;
        const jn_node *of = jn_value_is_none(n->in[k]) ? NULL : jn_value_node(g, n->in[k]);
        known = jn_value_is_none(n->in[k]) || (of && jn_const_value(of, &kind, &in[k].s));
        in[k].kind = (uint8_t)kind;
    }
    return known ? jn_eager(n->op, in, n->n_in, n->attrs, out, 1) : JANUS_OK;
}

/* The view of `t`, which is `of`, that v is; *out NULL: it is none, or at a computed place. */
static janus_status views(const jn_subgraph *g, jn_value of, jn_value v, janus_tensor *t,
                          janus_tensor **out) {
    const jn_node *ops[MAX_VIEWS];
    unsigned n = 0;
    *out = NULL;
    for (; !jn_value_equal(v, of); v = ops[n - 1]->in[0]) {
        const jn_node *at = jn_value_node(g, v);
        if (n == MAX_VIEWS || !at || !jn_is_view(at))
            return JANUS_OK;
        ops[n++] = at;
    }
    janus_tensor_retain(t);
    while (n-- > 0) {
        janus_tensor *next;
        janus_status st = view(g, ops[n], t, &next);
        janus_tensor_release(t);
        if (st != JANUS_OK || !next)
            return st;
        t = next;
    }
    *out = t;
    return JANUS_OK;
}

/* What the frame has of a view of `t`, or that which `t` is a view of.  *io_done: it was known. */
static janus_status renew_copy(const jpy_region_held *r, const jpy_copy *c, janus_tensor *t,
                               bool *io_done) {
    const jn_subgraph *g = r->stage->sub;
    jn_value of = c->param ? (jn_value){0, c->of} : g->results.data[c->of];
    jn_value has = g->saved.data[c->member].value;
    janus_tensor *kept, *seen = NULL;
    JN_TRY(jn_frame_value_member(r->frame, c->member, &kept));
    janus_status st = !kept     ? JANUS_OK
                      : c->back ? views(g, has, of, kept, &seen)
                                : views(g, of, has, t, &seen);
    if (st == JANUS_OK && seen)
        st = c->back ? jn_tensor_copy(seen, t) : jn_tensor_copy(kept, seen);
    *io_done = *io_done && seen;
    if (seen)
        janus_tensor_release(seen);
    if (kept)
        janus_tensor_release(kept);
    return st;
}

static int renew(const jpy_region_held *r, const jpy_saved *s, char *place, const jpy_kept *k,
                 uint32_t mark) {
    if (s->kind != JANUS_KIND_TENSOR)
        return 0;
    bool written = s->unseen != s->t->storage->unseen, known = true;
    if (!written && !jn_storage_open(s->t->storage))
        return 0;
    janus_status st = place ? jn_frame_value_renew(r->frame, place, s->t) : JANUS_OK;
    for (size_t i = 0; k && i < r->stage->copies.n && st == JANUS_OK; i++)
        if (&r->stage->kept.data[r->stage->copies.data[i].kept] == k)
            st = renew_copy(r, &r->stage->copies.data[i], s->t, &known);
    if (st != JANUS_OK)
        return jpy_raise(st);
    bool lost = !known || (k && k->copied);
    return lost && (written || jn_storage_written(s->t->storage, mark)) ? refuse(r) : 0;
}

int jpy_renew(const jpy_region_held *r, jpy_set outs, jpy_set ins, bool waits) {
    int rc = 0;
    outs |= waits ? JPY_SET_WAITS : 0;
    for (size_t i = 0; i < r->stage->kept.n && rc == 0; i++) {
        const jpy_kept *k = &r->stage->kept.data[i];
        if ((k->outs & outs) && (k->ins & ins) && !jpy_arm_not_taken(r->not_taken, k->arm))
            rc = renew(r, &r->saved[i], r->place[i], k, r->marks[i]);
    }
    for (unsigned i = 0; i < r->n_waits && rc == 0; i++)
        rc = renew(r, &r->waits[i].saved, r->waits[i].place, NULL, 0);
    return rc;
}
