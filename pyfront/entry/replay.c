/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaying: see pyfront/entry/replay.h.
 *
 * The graph computes what the function computed whatever has become of the heap since, and runs no
 * code of the user.  Nothing is batched: this is for the rare gradient that is differentiated
 * again.
 */
#include "pyfront/entry/replay.h"

#include <string.h>

#include "exec/store/store.h"
#include "graph/ir/ir.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "ops/rng.h"
#include "ops/scalar.h"
#include "pyfront/tensor/tensor.h"

typedef struct replay {
    const jn_subgraph *stage; /* what is recorded */
    const jpy_edge *edges;
    jn_rng_state rng;
    jpy_val *operands, *out;
    bool done;
    unsigned depth;
} replay;

enum { MAX_DEPTH = 2000 };

static int body(replay *r, const jn_subgraph *g, const jpy_val *in, jpy_val *out);

static jpy_val copy(const jpy_val *v) {
    if (v->kind == JANUS_KIND_TENSOR)
        janus_tensor_retain(v->t);
    jpy_edge_retain(v->edge);
    return *v;
}

static void not_known(jpy_val *out, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        out[i] = (jpy_val){.kind = JPY_NOT_KNOWN};
}

static int out_of_memory(void) { return jpy_raise(JN_NO_MEMORY()); }

/* ---- single ops ---------------------------------------------------------------------------------
 */

static int constant(const jn_node *n, jpy_val *out) {
    janus_kind kind;
    if (jn_const_value(n, &kind, &out->s)) {
        out->kind = (uint8_t)kind;
        return 0;
    }
    if (n->op != JN_OP(constant)) /* absent */
        return 0;
    const janus_constant_attrs *a = n->attrs;
    janus_tensor *t;
    if (jpy_check(jn_tensor_empty((janus_dtype)a->value.dtype, a->value.rank, a->value.dims, &t)) <
        0)
        return -1;
    memcpy(jn_tensor_ready_data(t), a->value.bytes,
           (size_t)t->numel * jn_dtype_size((janus_dtype)a->value.dtype));
    *out = jpy_val_tensor(t, (jpy_edge){0});
    return 0;
}

/* The element of a tensor as a number of this kind. */
static int element(janus_tensor *t, janus_kind kind, jpy_val *out) {
    PyObject *o = jpy_tensor_item(t);
    double f = o ? PyFloat_AsDouble(o) : -1;
    if (!o || (f == -1 && PyErr_Occurred())) {
        Py_XDECREF(o);
        return -1;
    }
    out->kind = (uint8_t)kind;
    if (kind == JANUS_KIND_FLOAT)
        out->s.f = f;
    else if (kind == JANUS_KIND_BOOL)
        out->s.i = f != 0;
    else
        out->s.i = PyFloat_Check(o) ? (int64_t)f : PyLong_AsLongLong(o);
    Py_DECREF(o);
    return PyErr_Occurred() ? -1 : 0;
}

static int scalar(const jn_node *n, const jpy_val *in, jpy_val *out) {
    janus_scalar v[4];
    uint8_t kinds[4];
    if (n->op == JN_OP(item))
        return element(in[0].t, (janus_kind)n->out[0]->kind, out);
    if (n->op == JN_OP(size)) {
        int64_t axis = ((const janus_size_attrs *)n->attrs)->axis;
        *out = (jpy_val){.kind = JANUS_KIND_INT};
        out->s.i = in[0].t->dims[axis < 0 ? axis + in[0].t->rank : axis];
        return 0;
    }
    if (n->n_in > 4) {
        not_known(out, 1);
        return 0;
    }
    for (uint32_t i = 0; i < n->n_in; i++) {
        v[i] = in[i].s;
        kinds[i] = in[i].kind;
    }
    out->kind = n->out[0]->kind;
    return jpy_check(jn_scalar_eval(n->op, v, kinds, n->n_in, &out->s));
}

static int compute(const jn_node *n, const jpy_val *in, jpy_val *out) {
    janus_tensor *y[JN_EAGER_MAX_OUT];
    jpy_node *node = NULL;
    if (n->n_out > JN_EAGER_MAX_OUT) {
        not_known(out, n->n_out);
        return 0;
    }
    if (jpy_apply(n->op, in, n->n_in, n->attrs, y, n->n_out, &node) < 0)
        return -1;
    for (unsigned i = 0; i < n->n_out; i++) {
        jpy_edge edge = {0};
        if (node && jn_dtype_is_float((janus_dtype)y[i]->dtype)) {
            edge = (jpy_edge){.node = node, .index = i};
            jpy_node_retain(node);
        }
        out[i] = jpy_val_tensor(y[i], edge);
    }
    jpy_node_release(node);
    return 0;
}

/* A draw at the place of the generator that the graph's had, or at the one that the graph gives. */
static int draw(replay *r, const jn_node *n, const jpy_val *in, jpy_val *out) {
    jpy_val v[8] = {{0}};
    unsigned n_in = 0;
    while (n->op->operands[n_in].accept != JN_ACCEPT_END && n_in < 8) {
        const char *name = n->op->operands[n_in].name;
        bool seed = strcmp(name, "seed") == 0, offset = strcmp(name, "offset") == 0;
        if (n_in < n->n_in)
            v[n_in] = in[n_in];
        if ((seed || offset) && jn_draws(n)) {
            v[n_in].kind = JANUS_KIND_INT;
            v[n_in].s.i = (int64_t)(seed ? r->rng.seed : r->rng.offset);
        }
        n_in++;
    }
    janus_tensor *y;
    jpy_node *node;
    if (jpy_apply(n->op, v, n_in, n->attrs, &y, 1, &node) < 0)
        return -1;
    jpy_node_release(node);
    if (jn_draws(n))
        r->rng.offset += (uint64_t)jn_rng_draws(y->numel);
    out[0] = jpy_val_tensor(y, (jpy_edge){0});
    return 0;
}

/* ---- control ------------------------------------------------------------------------------------
 */

/* 1, 0, -1: an exception is set, -2: not known. */
static int truth(const jpy_val *v) {
    jpy_val b;
    if (v->kind == JPY_NOT_KNOWN)
        return -2;
    if (v->kind != JANUS_KIND_TENSOR)
        return v->s.i != 0;
    return element(v->t, JANUS_KIND_BOOL, &b) < 0 ? -1 : b.s.i != 0;
}

static bool carried(const jn_param *p) {
    return !p->shared && p->type->kind != JANUS_KIND_FRAME && p->type->kind != JANUS_KIND_ACC;
}

/* Puts what an iteration gave in place of what it got. */
static void carry(const jn_subgraph *g, unsigned first, jpy_val *state, jpy_val *out) {
    unsigned k = 0;
    for (unsigned p = first; p < g->params.n; p++)
        if (carried(&g->params.data[p])) {
            jpy_val_release(&state[p]);
            state[p] = out[k];
            out[k++] = (jpy_val){0};
        }
}

/* `count` rounds, or as long as `cond` holds. */
static int loop(replay *r, const jn_node *n, const jn_subgraph *cond, const jn_subgraph *g,
                const jpy_val *in, jpy_val *out) {
    unsigned first = cond ? 0 : 1, at = 0;
    size_t n_params = g->params.n, n_room = n_params + n->n_out + 2;
    jpy_val *state = jn_calloc(2 * n_room, sizeof *state), *got = state + n_room, yes = {0};
    if (!state)
        return out_of_memory();
    for (size_t p = first; p < n_params; p++)
        state[p] = copy(&in[p]);
    int rc = 0;
    for (int64_t i = 0; rc == 0; i++) {
        int on = cond ? 1 : i < in[0].s.i;
        if (cond) {
            rc = body(r, cond, state, &yes);
            on = rc == 0 ? truth(&yes) : 0;
            jpy_val_release(&yes);
            yes = (jpy_val){0};
        }
        if (on == -1)
            rc = -1;
        if (on == -2)
            for (size_t p = first; p < n_params; p++) {
                jpy_val_release(&state[p]);
                state[p] = (jpy_val){.kind = JPY_NOT_KNOWN};
            }
        if (on != 1 || rc)
            break;
        if (first)
            state[0] = (jpy_val){.kind = JANUS_KIND_INT, .s.i = i};
        rc = body(r, g, state, got);
        if (rc == 0)
            carry(g, first, state, got);
    }
    for (unsigned p = first; p < n_params && rc == 0; p++)
        if (carried(&g->params.data[p])) {
            out[at++] = state[p];
            state[p] = (jpy_val){0};
        }
    for (size_t i = 0; i < 2 * n_room; i++)
        jpy_val_release(&state[i]);
    jn_free(state);
    return rc;
}

/* The call of the stage, recorded. */
static int recorded(replay *r, const jn_node *n, const jpy_val *in) {
    bool mode = jpy_no_grad_mode;
    for (uint32_t i = 0; i < n->n_in; i++) {
        jpy_val v = in[i];
        v.edge = v.kind == JANUS_KIND_TENSOR ? r->edges[i] : (jpy_edge){0};
        r->operands[i] = copy(&v);
    }
    jpy_no_grad_mode = false;
    int rc = body(r, n->subs[0], r->operands, r->out);
    jpy_no_grad_mode = mode;
    r->done = true;
    return rc;
}

static int call(replay *r, const jn_node *n, const jpy_val *in, jpy_val *out) {
    int on;
    switch (n->op->role) {
    case JN_ROLE_INVOKE:
        return n->subs[0] == r->stage ? recorded(r, n, in) : body(r, n->subs[0], in, out);
    case JN_ROLE_IF:
        on = truth(&in[0]);
        if (on == -2)
            not_known(out, n->n_out);
        return on < 0 ? (on == -1 ? -1 : 0) : body(r, n->subs[on ? 0 : 1], in + 1, out);
    case JN_ROLE_WHILE:
        return loop(r, n, n->subs[0], n->subs[1], in, out);
    case JN_ROLE_FOREACH:
        if (in[0].kind != JPY_NOT_KNOWN)
            return loop(r, n, NULL, n->subs[0], in, out);
        not_known(out, n->n_out);
        return 0;
    default:
        return -1;
    }
}

static int step(replay *r, const jn_node *n, const jpy_val *in, jpy_val *out) {
    bool known = true;
    for (uint32_t i = 0; i < n->n_in; i++)
        known = known && in[i].kind != JPY_NOT_KNOWN;
    switch (n->op->role) {
    case JN_ROLE_CONST:
        return constant(n, out);
    case JN_ROLE_INVOKE:
    case JN_ROLE_IF:
    case JN_ROLE_WHILE:
    case JN_ROLE_FOREACH:
        return call(r, n, in, out);
    case JN_ROLE_SCALAR:
    case JN_ROLE_COMPUTE:
    case JN_ROLE_RNG:
        if (!known)
            break;
        return n->op->role == JN_ROLE_SCALAR ? scalar(n, in, out)
               : n->op->role == JN_ROLE_RNG  ? draw(r, n, in, out)
                                             : compute(n, in, out);
    default:
        break;
    }
    not_known(out, n->n_out);
    return 0;
}

static int body(replay *r, const jn_subgraph *g, const jpy_val *in, jpy_val *out) {
    size_t n_values = 0, n_nodes = g->nodes.n, widest = 1;
    for (size_t i = 1; i < n_nodes; i++) {
        n_values += g->nodes.data[i]->n_out;
        widest = g->nodes.data[i]->n_in > widest ? g->nodes.data[i]->n_in : widest;
    }
    if (r->depth >= MAX_DEPTH) {
        not_known(out, (unsigned)g->results.n);
        return 0;
    }
    jpy_val *v = jn_calloc(n_values + widest + 1, sizeof *v), *args = v + n_values;
    size_t *first = jn_calloc(n_nodes + 1, sizeof *first), at = 0;
    int rc = v && first ? 0 : out_of_memory();
    r->depth++;
    for (size_t i = 1; i < n_nodes && rc == 0 && !r->done; i++) {
        const jn_node *n = g->nodes.data[i];
        first[i] = at;
        for (uint32_t k = 0; k < n->n_in; k++) {
            jn_value x = n->in[k];
            args[k] = jn_value_is_none(x) ? (jpy_val){0}
                      : x.node            ? v[first[x.node] + x.index]
                                          : in[x.index];
        }
        rc = step(r, n, args, v + at);
        at += n->n_out;
    }
    for (size_t i = 0; i < g->results.n && rc == 0 && !r->done; i++) {
        jn_value x = g->results.data[i];
        out[i] = jn_value_is_none(x) ? (jpy_val){0}
                 : x.node            ? copy(&v[first[x.node] + x.index])
                                     : copy(&in[x.index]);
    }
    for (size_t i = 0; v && i < n_values; i++)
        jpy_val_release(&v[i]);
    r->depth--;
    jn_free(v);
    jn_free(first);
    return rc;
}

int jpy_replay(const jpy_entry *e, const jpy_stage *stage, const jpy_val *in, const jpy_edge *edges,
               jn_rng_state rng, jpy_val *operands, jpy_val *out) {
    replay r = {.stage = stage->sub, .edges = edges, .rng = rng, .operands = operands, .out = out};
    bool mode = jpy_no_grad_mode;
    jpy_val *results = jn_calloc(e->main->results.n + 1, sizeof *results);
    if (!results)
        return out_of_memory();
    jpy_no_grad_mode = true;
    int rc = body(&r, e->main, in, results);
    jpy_no_grad_mode = mode;
    for (size_t i = 0; i < e->main->results.n; i++)
        jpy_val_release(&results[i]);
    jn_free(results);
    if (rc == 0 && !r.done)
        not_known(out, (unsigned)stage->sub->results.n);
    return rc;
}
