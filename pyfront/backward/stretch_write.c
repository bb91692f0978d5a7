/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient rules of a stretch as one graph: see pyfront/backward/stretch.h.
 *
 * What arrives at a result is added up before its node runs, in the order in which it arrives. What
 * several nodes give to a tensor that collects gradients, a weight above all, is a sum of the
 * graph's.
 */
#include "config.h"

#include "pyfront/backward/stretch.h"

#include <string.h>

#include "graph/base/alloc.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/tensor/tensor.h"

#define NO_SUM UINT32_MAX
enum { MOST_JOINED = 16 };

/* The gradient of a piece, which has not been put to its place yet. */
typedef struct piece {
    uint32_t id; /* the local that it is a part of */
    bool done;
    jn_ev v;
    int64_t before[JN_MAX_RANK], size[JN_MAX_RANK];
} piece;

typedef struct job {
    jpy_stretch *s;
    jn_writer *w;
    jn_trace_graph *t;
    jn_ev *grad;   /* per local: what has arrived so far */
    uint32_t *sum; /* per local: its accumulator */
    JN_VEC(piece) pieces;
    jpy_traced_result *results;
} job;

/* A type whose dims live as long as the graph. */
static janus_status keep_type(job *j, const jn_type *type, jn_type *out) {
    *out = *type;
    if (type->kind != JANUS_KIND_TENSOR)
        return JANUS_OK;
    int64_t *dims = jn_arena_alloc(j->w->a, ((size_t)type->rank + 1) * sizeof *dims);
    if (!dims)
        return JN_NO_MEMORY();
    for (int i = 0; i < type->rank; i++)
        dims[i] = type->dims[i];
    out->dims = dims;
    return JANUS_OK;
}

static janus_status input(job *j, const jn_type *type, jn_grad_from from, uint32_t index,
                          jn_ev *out) {
    jn_type own;
    JN_TRY(keep_type(j, type, &own));
    return jn_writer_input(j->w, &own, (jn_grad_source){(uint8_t)from, index}, out);
}

static janus_status emit1(job *j, const jn_op *op, const jn_ev *in, unsigned n, const void *attrs,
                          jn_ev *out) {
    return j->w->base.ops->emit(&j->w->base, op, in, n, attrs, out, 1);
}

static janus_status add(job *j, jn_ev *to, jn_ev v) {
    jn_ev in[2] = {*to, v};
    if (jn_ev_is_none(*to)) {
        *to = v;
        return JANUS_OK;
    }
    return emit1(j, JN_OP(add), in, 2, NULL, to);
}

/* Another gradient for a slot. */
static janus_status contribute(job *j, uint32_t id, jn_ev v) {
    const jpy_local *l = &j->s->locals.data[id];
    const jn_written *k = jn_writer_of(j->w, v);
    if (!jn_type_same_tensor(&k->type, &l->type) || !jn_type_summable(&k->type))
        return jn_error(JANUS_UNSUPPORTED, "a gradient of another type");
    if (l->inside || !l->leaf || (l->uses < 2 && !jn_writer_is_table(j->w, v)))
        return add(j, &j->grad[id], v);
    if (j->sum[id] == NO_SUM) {
        jn_type own;
        JN_TRY(keep_type(j, &l->type, &own));
        JN_TRY(jn_trace_graph_sum(j->t, &own, &j->sum[id]));
    }
    return jn_writer_add_to(j->w, v, j->sum[id]);
}

/* With zeros around it. */
static janus_status padded(job *j, const jn_type *whole, const piece *p, jn_ev *out) {
    int64_t before[JN_MAX_RANK], behind[JN_MAX_RANK];
    size_t rank = (size_t)whole->rank;
    bool all = true;
    for (size_t i = 0; i < rank; i++) {
        before[i] = p->before[i];
        behind[i] = whole->dims[i] - p->before[i] - p->size[i];
        all = all && p->size[i] == whole->dims[i];
    }
    janus_pad_attrs pad = {sizeof pad, {before, rank}, {behind, rank}, 0};
    *out = p->v;
    return all ? JANUS_OK : emit1(j, JN_OP(pad), &p->v, 1, &pad, out);
}

/* The dim along which a piece is a part of the whole; -1: none, or several. */
static int cut_along(const jn_type *whole, const piece *p) {
    int axis = -1;
    for (int i = 0; i < whole->rank; i++) {
        if (p->size[i] == whole->dims[i])
            continue;
        if (axis >= 0)
            return -1;
        axis = i;
    }
    return axis;
}

/* Pieces that make up the whole, one behind the other, are joined; *n: how many, 0: they do not. */
static void find_row(job *j, uint32_t id, const jn_type *whole, int axis, jn_ev *in, unsigned *n) {
    int64_t at = 0;
    *n = 0;
    while (at < whole->dims[axis]) {
        const piece *next = NULL;
        for (size_t i = 0; i < j->pieces.n && !next; i++) {
            const piece *p = &j->pieces.data[i];
            if (p->id == id && !p->done && cut_along(whole, p) == axis && p->before[axis] == at)
                next = p;
        }
        if (!next || *n == MOST_JOINED) {
            *n = 0;
            return;
        }
        in[(*n)++] = next->v;
        at += next->size[axis];
    }
}

static janus_status join(job *j, uint32_t id, const jn_type *whole, int axis) {
    jn_ev in[MOST_JOINED], out;
    unsigned n;
    find_row(j, id, whole, axis, in, &n);
    if (!n)
        return JANUS_OK;
    for (unsigned k = 0; k < n; k++)
        for (size_t i = 0; i < j->pieces.n; i++)
            if (j->pieces.data[i].v.bits == in[k].bits && j->pieces.data[i].id == id)
                j->pieces.data[i].done = true;
    janus_concat_attrs attrs = {sizeof attrs, axis};
    JN_TRY(emit1(j, JN_OP(concat), in, n, &attrs, &out));
    return contribute(j, id, out);
}

/* The pieces that have come of a local, together. */
static janus_status put_pieces(job *j, uint32_t id) {
    const jn_type *whole = &j->s->locals.data[id].type;
    for (int axis = 0; axis < whole->rank && j->pieces.n; axis++)
        JN_TRY(join(j, id, whole, axis));
    for (size_t i = 0; i < j->pieces.n; i++) {
        piece *p = &j->pieces.data[i];
        jn_ev v;
        if (p->id != id || p->done)
            continue;
        p->done = true;
        JN_TRY(padded(j, whole, p, &v));
        JN_TRY(contribute(j, id, v));
    }
    return JANUS_OK;
}

/* What has arrived at a result. */
static janus_status arrived(job *j, uint32_t id, jn_ev *out) {
    *out = JN_EV_NONE;
    if (!id)
        return JANUS_OK;
    const jpy_local *l = &j->s->locals.data[id - 1];
    JN_TRY(put_pieces(j, id - 1));
    if (l->given) {
        jn_ev given;
        JN_TRY(input(j, &l->type, JN_GRAD_VALUE, l->given - 1, &given));
        JN_TRY(add(j, &j->grad[id - 1], given));
    }
    *out = j->grad[id - 1];
    return JANUS_OK;
}

/* Operand or result i of a node as its rule may see it; *value is the next one that was kept. */
static janus_status visible(job *j, const jpy_saved *s, const jn_type *type, uint32_t *value,
                            jn_ev *out) {
    *out = JN_EV_NONE;
    if (type->kind == JANUS_KIND_NONE)
        return JANUS_OK;
    if (s->kind == JANUS_KIND_NONE && type->kind == JANUS_KIND_TENSOR)
        return input(j, type, JN_GRAD_TYPE, 0, out);
    if (s->kind == JANUS_KIND_TENSOR)
        return input(j, type, JN_GRAD_VALUE, (*value)++, out);
    if (s->kind == JANUS_KIND_NONE)
        return jn_error(JANUS_UNSUPPORTED, "a scalar that was not kept");
    bool varies = s->kind == JANUS_KIND_FLOAT;
    jn_segscalar scalar = {
        .slot = JN_NO_SLOT, .kind = s->kind, .is_const = !varies, .value = varies ? 0 : s->s.i};
    return jn_writer_scalar(j->w, scalar, varies ? (*value)++ : 0, out);
}

static janus_status write_call(job *j, const jpy_item *item) {
    const jpy_visit *v = &j->s->e->visits.data[item->visit];
    const jpy_node *n = v->node;
    const jpy_op_data *d = jpy_op_of(v->node);
    const uint32_t *ids = &j->s->ids.data[item->ids];
    jn_ev *value = jn_arena_alloc(j->w->a, 3 * ((size_t)n->n_in + n->n_out) * sizeof *value);
    bool *want = jn_arena_alloc(j->w->a, n->n_in + 1u);
    uint32_t next = item->value;
    if (!value || !want)
        return JN_NO_MEMORY();
    jn_ev *dy = value + n->n_in + n->n_out, *dx = dy + n->n_out;
    for (unsigned i = 0; i < (unsigned)n->n_in + n->n_out; i++)
        JN_TRY(visible(j, &d->saved[i], &d->types[i], &next, &value[i]));
    bool any = false;
    for (unsigned i = 0; i < n->n_out; i++) {
        JN_TRY(arrived(j, ids[n->n_in + i], &dy[i]));
        any |= !jn_ev_is_none(dy[i]);
    }
    for (unsigned i = 0; i < n->n_in; i++) {
        dx[i] = JN_EV_NONE;
        want[i] = ids[i] != 0;
    }
    if (!any)
        return JANUS_OK;
    jn_grad g = {&j->w->base, d->op,           d->attrs, n->n_in, n->n_out,
                 value,       value + n->n_in, dy,       want,    dx};
    JN_TRY(d->op->grad(&g));
    for (unsigned i = 0; i < n->n_in; i++)
        if (want[i] && !jn_ev_is_none(dx[i]))
            JN_TRY(contribute(j, ids[i] - 1, dx[i]));
    return JANUS_OK;
}

/* The gradient of a piece waits for the others of its tensor. */
static janus_status write_piece(job *j, const jpy_item *item) {
    const jpy_visit *v = &j->s->e->visits.data[item->visit];
    uint32_t whole = j->s->ids.data[item->ids], part = j->s->ids.data[item->ids + 1];
    jpy_region r;
    jn_ev dy;
    jpy_region_get(v->node, &r);
    JN_TRY(arrived(j, part, &dy));
    if (!whole || jn_ev_is_none(dy))
        return JANUS_OK;
    piece p = {.id = whole - 1};
    if (!jpy_piece_box(&r, p.before, p.size))
        return jn_error(JANUS_UNSUPPORTED, "no box");
    janus_reshape_attrs shape = {sizeof shape, {p.size, (size_t)r.root.rank}};
    JN_TRY(emit1(j, JN_OP(reshape), &dy, 1, &shape, &p.v));
    return jn_vec_push(&j->pieces, p) ? JANUS_OK : JN_NO_MEMORY();
}

/* What an outside slot gets. */
static janus_status result(job *j, size_t id, jpy_traced_result *out) {
    jn_ev v = j->grad[id];
    if (j->sum[id] != NO_SUM) {
        *out = (jpy_traced_result){JN_GRAD_ADDED, false, j->sum[id]};
        return JANUS_OK;
    }
    *out = (jpy_traced_result){.from = JN_GRAD_NOTHING};
    if (jn_ev_is_none(v))
        return JANUS_OK;
    const jn_written *k = jn_writer_of(j->w, v);
    if (k->is_scalar || (k->is_input && k->from.from != JN_GRAD_VALUE))
        return jn_error(JANUS_UNSUPPORTED, "no elements");
    if (k->is_input) {
        *out = (jpy_traced_result){JN_GRAD_VALUE, true, k->from.index};
        return JANUS_OK;
    }
    out->from = JN_GRAD_OUTPUT;
    size_t n = 0;
    for (size_t i = 0; i < id; i++) {
        if (j->s->locals.data[i].inside)
            continue;
        if (j->grad[i].bits == v.bits && j->sum[i] == NO_SUM) {
            *out = j->results[n];
            out->shared = true; /* the first one takes it, after the others have copied it */
            return JANUS_OK;
        }
        n++;
    }
    return jn_writer_output(j->w, v, &out->index);
}

static janus_status write_all(jn_writer *w, jn_trace_graph *t, void *arg) {
    job *j = arg;
    jpy_stretch *s = j->s;
    j->w = w;
    j->t = t;
    j->grad = jn_arena_alloc(w->a, s->locals.n * sizeof *j->grad);
    j->sum = jn_arena_alloc(w->a, s->locals.n * sizeof *j->sum);
    if (!j->grad || !j->sum)
        return JN_NO_MEMORY();
    for (size_t i = 0; i < s->locals.n; i++) {
        j->grad[i] = JN_EV_NONE;
        j->sum[i] = NO_SUM;
    }
    for (size_t i = 0; i < s->items.n; i++) {
        const jpy_item *item = &s->items.data[i];
        bool call = jpy_op_of(s->e->visits.data[item->visit].node) != NULL;
        JN_TRY(call ? write_call(j, item) : write_piece(j, item));
    }
    for (uint32_t i = 0; i < s->locals.n; i++)
        JN_TRY(put_pieces(j, i));
    size_t n = 0;
    for (size_t i = 0; i < s->locals.n; i++)
        if (!s->locals.data[i].inside)
            JN_TRY(result(j, i, &j->results[n++]));
    return JANUS_OK;
}

janus_status jpy_stretch_write(jpy_stretch *s, jn_trace_graph **out, jpy_traced_result **results) {
    job j = {.s = s};
    const jpy_op_data *d = jpy_op_of(s->e->visits.data[s->items.data[0].visit].node);
    j.results = jn_calloc(s->locals.n + 1, sizeof *j.results);
    if (!j.results)
        return JN_NO_MEMORY();
    janus_status st = jn_trace_graph_new(write_all, &j, d ? d->op : JN_OP(pad), out);
    jn_vec_free(&j.pieces);
    if (st == JANUS_OK)
        *results = j.results;
    else
        jn_free(j.results);
    return st;
}
