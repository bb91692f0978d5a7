/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients through what the run stores in objects and reads back.
 *
 * A tensor that is stored has a number (wire.put), a tensor that is read knows it (wire.of,
 * wire.read).  No value leads from the one to the other, but the gradient of a body runs in reverse
 * program order, recursion included: all reads of a number come before the storing.  So the
 * gradient of a read adds to the sum at its number, and the gradient of the storing takes that.
 * A call has a gradient when something in it stores, whether or not a cotangent of its results
 * arrives.  The run keeps the sums (exec/heap/wire.c): there are no gradients of such a gradient.
 */
#include "config.h"

#include "graph/autodiff/internal.h"

#include <string.h>

enum { STORES = 1, READS = 2, GRADIENT = 4 };

/* What the gradient of a storing says of it. */
static int64_t put_marks(const jn_diff *d, const jn_node *n) {
    int64_t v;
    memcpy(&v, (const char *)n->attrs + jn_attr_find(d->ops.wire_put, "what", 4)->offset, sizeof v);
    return v & ~(int64_t)JN_WIRE_NONE;
}

static uint8_t wires_of_node(const jn_diff *d, const jn_node *n) {
    const jn_diff_ops *o = &d->ops;
    uint8_t w = 0;
    if (n->op == o->wire_put)
        return STORES;
    if (n->op == o->wire_read)
        return READS;
    if (n->op == o->wire_take || n->op == o->wire_set)
        return GRADIENT;
    for (unsigned k = 0; k < jn_op_n_subs(n->op); k++)
        if (n->subs[k]->index < d->n_wires)
            w |= d->wires[n->subs[k]->index];
    return w;
}

janus_status jn_wires_find(jn_diff *d) {
    d->n_wires = (uint32_t)d->m->subs.n;
    d->wires = jn_diff_alloc(d, d->n_wires, sizeof *d->wires);
    if (!d->wires)
        return JN_NO_MEMORY();
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < d->n_wires; i++) {
            const jn_subgraph *g = d->m->subs.data[i];
            uint8_t w = 0;
            for (size_t k = 1; k < g->nodes.n; k++) {
                const jn_node *n = g->nodes.data[k];
                w |= wires_of_node(d, n);
                d->marks = d->marks || (n->op == d->ops.wire_put && put_marks(d, n));
            }
            changed = changed || w != d->wires[i];
            d->wires[i] = w;
        }
    }
    return JANUS_OK;
}

bool jn_wire_stores(const jn_diff *d, const jn_node *n) { return wires_of_node(d, n) & STORES; }
bool jn_wire_reads(const jn_diff *d, const jn_node *n) { return wires_of_node(d, n) & READS; }

/* ---- building -----------------------------------------------------------------------------------
 */

static janus_status has(jn_sweep *s, jn_subgraph *g, jn_value k, jn_value *out) {
    return jn_build(g, s->d->ops.wire_has, &k, 1, NULL, NULL, s->loc, out, 1);
}

static janus_status take(jn_sweep *s, jn_subgraph *g, jn_value k, const jn_type *t, jn_value *out) {
    const jn_op *op = s->d->ops.wire_take;
    char *attrs = jn_diff_alloc(s->d, 1, op->attr_size);
    if (!attrs)
        return JN_NO_MEMORY();
    JN_TRY(jn_attrs_default(op, attrs));
    int64_t dtype = t->dtype, rank = t->rank;
    memcpy(attrs + jn_attr_find(op, "dtype", 5)->offset, &dtype, sizeof dtype);
    memcpy(attrs + jn_attr_find(op, "rank", 4)->offset, &rank, sizeof rank);
    if (rank > 0) {
        janus_ints dims = {t->dims, (size_t)rank};
        memcpy(attrs + jn_attr_find(op, "dims", 4)->offset, &dims, sizeof dims);
    }
    return jn_build(g, op, &k, 1, attrs, NULL, s->loc, out, 1);
}

static janus_status declare(jn_sweep *s, const char *base, const jn_type *t, jn_subgraph **out,
                            jn_value in[2]) {
    const char *name;
    jn_type number = {.kind = JANUS_KIND_INT};
    const jn_type *int_type = jn_type_intern(s->d->m, &number);
    if (!int_type)
        return JN_NO_MEMORY();
    JN_TRY(jn_module_fresh_name(s->d->m, base, &name));
    JN_TRY(jn_subgraph_declare(s->d->m, name, out));
    JN_TRY(jn_subgraph_add_param(*out, "k", int_type, false, &in[0]));
    return jn_subgraph_add_param(*out, "x", t, false, &in[1]);
}

static janus_status define(jn_subgraph *g, const jn_type *t, const jn_value *result) {
    JN_TRY(jn_subgraph_set_result_types(g, &t, result ? 1 : 0));
    return jn_subgraph_define(g, result, result ? 1 : 0);
}

/* What is there for number k with x added, or x alone: the arms of an `if`. */
static janus_status sum_arms(jn_sweep *s, const jn_type *t, jn_subgraph *arms[2]) {
    jn_value in[2], both[2];
    JN_TRY(declare(s, "wire_more", t, &arms[0], in));
    JN_TRY(take(s, arms[0], in[0], t, &both[0]));
    both[1] = in[1];
    JN_TRY(jn_build(arms[0], s->d->ops.add, both, 2, NULL, NULL, s->loc, &both[0], 1));
    JN_TRY(define(arms[0], t, &both[0]));
    JN_TRY(declare(s, "wire_first", t, &arms[1], in));
    return define(arms[1], t, &in[1]);
}

/* Adds x to the sum at number k, in g. */
static janus_status add(jn_sweep *s, jn_subgraph *g, jn_value k, jn_value x) {
    jn_subgraph *arms[2];
    jn_value in[3] = {JN_VALUE_NONE, k, x}, set[2] = {k, x};
    JN_TRY(sum_arms(s, jn_value_type(g, x), arms));
    JN_TRY(has(s, g, k, &in[0]));
    JN_TRY(jn_build(g, s->d->ops.if_, in, 3, NULL, arms, s->loc, &set[1], 1));
    return jn_build(g, s->d->ops.wire_set, set, 2, NULL, NULL, s->loc, NULL, 0);
}

/* The same where `when` is true. */
static janus_status add_when(jn_sweep *s, jn_value when, jn_value k, jn_value x) {
    jn_subgraph *arms[2];
    jn_value in[3] = {when, k, x}, p[2];
    const jn_type *t = jn_value_type(s->g, x);
    JN_TRY(declare(s, "wire_adds", t, &arms[0], p));
    JN_TRY(add(s, arms[0], p[0], p[1]));
    JN_TRY(define(arms[0], NULL, NULL));
    JN_TRY(declare(s, "wire_adds_not", t, &arms[1], p));
    JN_TRY(define(arms[1], NULL, NULL));
    return jn_build(s->g, s->d->ops.if_, in, 3, NULL, arms, s->loc, NULL, 0);
}

static janus_status read_gradient(jn_sweep *s, const jn_node *n) {
    uint32_t i = s->num.first[n->id];
    jn_value k;
    if (jn_value_is_none(s->ct[i]))
        return JANUS_OK;
    JN_TRY(jn_sweep_fetch(s, n->in[1], &k));
    if (!jn_value_is_none(s->flag[i]))
        return add_when(s, s->flag[i], k, s->ct[i]);
    return add(s, s->g, k, s->ct[i]);
}

/* Zeros where nothing that was read of it has a gradient. */
static janus_status put_gradient(jn_sweep *s, const jn_node *n) {
    jn_subgraph *arms[2];
    jn_value in[3], p[2], y;
    const jn_type *t = jn_value_type(s->f, n->in[0]);
    if (!s->active[jn_number(&s->num, n->in[0])])
        return JANUS_OK;
    JN_TRY(jn_sweep_fetch(s, (jn_value){n->id, 0}, &in[1]));
    JN_TRY(jn_sweep_fetch(s, n->in[0], &in[2]));
    JN_TRY(has(s, s->g, in[1], &in[0]));
    JN_TRY(declare(s, "wire_got", t, &arms[0], p));
    JN_TRY(take(s, arms[0], p[0], t, &y));
    JN_TRY(define(arms[0], t, &y));
    JN_TRY(declare(s, "wire_none", t, &arms[1], p));
    JN_TRY(jn_build_scalar(arms[1], JANUS_KIND_FLOAT, (janus_scalar){.f = 0.0}, s->loc, &p[0]));
    JN_TRY(jn_build(arms[1], s->d->ops.full_like, p, 2, NULL, NULL, s->loc, &y, 1));
    JN_TRY(define(arms[1], t, &y));
    JN_TRY(jn_build(s->g, s->d->ops.if_, in, 3, NULL, arms, s->loc, &y, 1));
    if (s->presence)
        s->when = in[0];
    JN_TRY(jn_sweep_add(s, n->in[0], y));
    s->when = JN_VALUE_NONE;
    return JANUS_OK;
}

/* wire.mark of the number that value k of f is, where `when` holds; none: it is certain. */
static janus_status mark(jn_sweep *s, jn_value k, jn_value when, int64_t what) {
    const jn_op *op = s->d->ops.wire_mark;
    char *attrs = jn_diff_alloc(s->d, 1, op->attr_size);
    jn_value in[2] = {JN_VALUE_NONE, when};
    if (!attrs)
        return JN_NO_MEMORY();
    JN_TRY(jn_attrs_default(op, attrs));
    memcpy(attrs + jn_attr_find(op, "what", 4)->offset, &what, sizeof what);
    JN_TRY(jn_sweep_fetch(s, k, &in[0]));
    if (jn_value_is_none(when))
        JN_TRY(jn_build_scalar(s->g, JANUS_KIND_BOOL, (janus_scalar){.i = 1}, s->loc, &in[1]));
    return jn_build(s->g, op, in, 2, attrs, NULL, s->loc, NULL, 0);
}

/* The number of a tensor that f has stored or read; none: it is not. */
static jn_value number_of(const jn_sweep *s, jn_value v) {
    while (v.node && jn_is_view(s->f->nodes.data[v.node]))
        v = s->f->nodes.data[v.node]->in[0];
    if (v.node && s->f->nodes.data[v.node]->op == s->d->ops.wire_read)
        return s->f->nodes.data[v.node]->in[1];
    for (uint32_t k = v.node + 1; k < s->num.n_nodes; k++) {
        const jn_node *n = s->f->nodes.data[k];
        if (n->op == s->d->ops.wire_put && jn_value_equal(n->in[0], v))
            return (jn_value){k, 0};
    }
    return JN_VALUE_NONE;
}

/* Whether a cotangent of the node is there; none: it is for certain. */
static janus_status arrives(jn_sweep *s, const jn_node *n, jn_value *out) {
    bool first = true;
    *out = JN_VALUE_NONE;
    for (uint32_t k = 0; k < n->n_out && !jn_in_arm(s); k++) {
        uint32_t i = s->num.first[n->id] + k;
        if (jn_value_is_none(s->ct[i]))
            continue;
        if (jn_value_is_none(s->flag[i])) {
            *out = JN_VALUE_NONE;
            return JANUS_OK;
        }
        if (first)
            *out = s->flag[i];
        else
            JN_TRY(jn_presence_or(s, *out, s->flag[i], out));
        first = false;
    }
    return JANUS_OK;
}

janus_status jn_wire_kept(jn_sweep *s, const jn_node *n, uint64_t read) {
    jn_value when;
    bool known = false;
    for (uint32_t k = 0; k < n->n_in && k < 64; k++) {
        jn_value number;
        if (!(read >> k & 1) || !jn_differentiable(jn_value_type(s->f, n->in[k])) ||
            jn_value_is_none(number = number_of(s, n->in[k])))
            continue;
        if (!known)
            JN_TRY(arrives(s, n, &when));
        known = true;
        JN_TRY(mark(s, number, when, JN_WIRE_KEPT));
    }
    return JANUS_OK;
}

/* Whoever goes backward from what outlives the run learns what that has come to. */
janus_status jn_wire_marks(jn_sweep *s, uint32_t node) {
    for (uint32_t k = node + 1; k < s->num.n_nodes; k++) {
        const jn_node *n = s->f->nodes.data[k];
        if (n->op != s->d->ops.wire_put || n->in[0].node != node || !put_marks(s->d, n))
            continue;
        uint32_t i = jn_number(&s->num, n->in[0]);
        JN_TRY(jn_sweep_join(s, n->in[0]));
        JN_TRY(jn_arm_close(s));
        if (jn_value_is_none(s->ct[i]) || !s->active[i])
            continue;
        JN_TRY(mark(s, (jn_value){k, 0}, s->flag[i], put_marks(s->d, n)));
        if (n->n_in > 1 && !jn_value_is_none(n->in[1])) {
            jn_value used;
            JN_TRY(jn_sweep_fetch(s, n->in[1], &used));
            JN_TRY(jn_presence_and(s, s->flag[i], used, &used));
            JN_TRY(mark(s, (jn_value){k, 0}, used, JN_WIRE_USED));
        }
    }
    const jn_node *n = s->f->nodes.data[node];
    uint64_t all = 0;
    for (uint32_t k = 0; node && jn_is_call(n) && k < n->n_in && k < 64; k++)
        all |= (uint64_t)!jn_value_is_none(n->in[k]) << k; /* what it keeps is not known */
    bool any = false;
    for (uint32_t k = 0; all && k < n->n_out; k++)
        any = any || !jn_value_is_none(s->ct[s->num.first[node] + k]);
    if (!any)
        return JANUS_OK;
    JN_TRY(jn_arm_close(s));
    return jn_wire_kept(s, n, all);
}

janus_status jn_sweep_wire(jn_sweep *s, const jn_node *n) {
    const jn_diff_ops *o = &s->d->ops;
    if (n->op == o->wire_put || n->op == o->wire_read)
        JN_TRY(jn_arm_close(s));
    if (n->op == o->wire_put)
        return put_gradient(s, n);
    if (n->op == o->wire_read)
        return read_gradient(s, n);
    if (wires_of_node(s->d, n) & GRADIENT)
        return jn_error(JANUS_UNSUPPORTED,
                        "@%s: the gradient of a gradient through what the run stores", s->f->name);
    return JANUS_OK;
}
