/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What depends on what, found without building anything.
 *
 * Activity goes forward: a value is active when it depends, through ops that have a gradient, on
 * what is differentiated by.  Reach goes backward: which parameters get a cotangent when certain
 * results have one.  Both are needed where a body cannot simply be swept first: loops (the answer
 * of one iteration is the question of the next), arms of an `if` (both must return the same), and
 * recursion (results are declared before the body is derived).  Reach errs on the side of "gets
 * one"; the sweep then fills in zeros.  Which of them get one on all paths is found in the same
 * way, erring on the other side: the others have a bool beside them (autodiff_presence.c).
 */
#include "config.h"

#include "graph/autodiff/internal.h"
#include "graph/ir/ir.h"

#include <string.h>

void *jn_diff_alloc(jn_diff *d, size_t n, size_t size) {
    size_t bytes;
    if (!jn_mul_size(n ? n : 1, size, &bytes))
        return NULL;
    return jn_arena_zalloc(&d->tmp, bytes);
}

bool jn_runs_once(jn_diff *d, const jn_subgraph *f) {
    if (!d->often) {
        size_t n = d->m->subs.n;
        bool *often = jn_diff_alloc(d, n, sizeof *often);
        if (!often || jn_callgraph_often(d->m, often) != JANUS_OK)
            return false;
        d->often = often;
        d->n_often = n;
    }
    return f->index < d->n_often && !d->often[f->index];
}

void jn_call_shape_of(const jn_node *n, jn_call_shape *out) {
    const char *name = n->op->name;
    memset(out, 0, sizeof *out);
    out->n_results = n->n_out - ((n->op->flags & JN_OP_SAVES) != 0);
    out->n_subs = 1;
    out->sub[0] = n->subs[0];
    switch (n->op->role) {
    case JN_ROLE_IF:
        out->n_subs = 2;
        out->sub[1] = n->subs[1];
        out->first_in = 1;
        break;
    case JN_ROLE_WHILE:
        out->sub[0] = n->subs[1];
        out->loop = true;
        break;
    case JN_ROLE_FOREACH:
        out->first_in = out->first_param = 1;
        out->loop = true;
        break;
    case JN_ROLE_GRAD:
        out->sub[1] = n->subs[1];
        out->n_subs = (n->op->flags & JN_OP_TWO_SUBS) ? 2 : 1;
        out->loop = strncmp(name, "while", 5) == 0 || strncmp(name, "foreach", 7) == 0;
        break;
    default:
        break;
    }
    out->n = n->n_in - out->first_in;
}

uint32_t jn_carried_param(const jn_call_shape *c, uint32_t i) {
    uint32_t p = c->first_param;
    for (;; p++)
        if (jn_param_carried(&c->sub[0]->params.data[p]) && i-- == 0)
            return p;
}

janus_status jn_numbering_make(jn_arena *a, const jn_subgraph *f, jn_numbering *out) {
    uint32_t n = (uint32_t)f->nodes.n, at = 0;
    uint32_t *first = jn_arena_alloc(a, n * sizeof *first);
    if (!first)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < n; i++) {
        const jn_node *node = f->nodes.data[i];
        first[i] = at;
        at += node->n_out + (node->op && jn_is_call(node) ? 1 : 0);
    }
    *out = (jn_numbering){n, at, first};
    return JANUS_OK;
}

/* ---- activity ----------------------------------------------------------------------------------
 */

typedef struct jn_activity {
    struct jn_activity *next;
    const jn_subgraph *f;
    jn_numbering num;
    bool *active;
} jn_activity;

/* Activity in f when every parameter that can be is differentiated by; NULL: out of memory. */
static const jn_activity *activity_of(jn_diff *d, const jn_subgraph *f) {
    for (jn_activity *a = d->activity; a; a = a->next)
        if (a->f == f)
            return a;
    jn_activity *a = jn_diff_alloc(d, 1, sizeof *a);
    if (!a || jn_numbering_make(&d->tmp, f, &a->num) != JANUS_OK)
        return NULL;
    a->f = f;
    a->active = jn_diff_alloc(d, a->num.n_values, sizeof *a->active);
    if (!a->active)
        return NULL;
    for (size_t p = 0; p < f->params.n; p++)
        a->active[p] = jn_differentiable(f->params.data[p].type) ||
                       f->params.data[p].type->kind == JANUS_KIND_FRAME;
    if (jn_activity_spread(d, f, &a->num, a->active) != JANUS_OK)
        return NULL;
    a->next = d->activity;
    d->activity = a;
    return a;
}

/* Whether a member of a frame can carry a cotangent back into the body it was kept from. */
static janus_status member_active(jn_diff *d, const jn_subgraph *g, const jn_node *n, bool *out) {
    const jn_subgraph *of = jn_value_type(g, n->in[0])->frame_of;
    int64_t index = -1;
    for (const jn_attr_spec *spec = n->op->attrs; spec && spec->name; spec++)
        if (strcmp(spec->name, "index") == 0)
            memcpy(&index, (const char *)n->attrs + spec->offset, sizeof index);
    *out = true;
    if (!of || !of->defined || index < 0 || (size_t)index >= of->saved.n)
        return JANUS_OK;
    const jn_activity *a = activity_of(d, of);
    if (!a)
        return JN_NO_MEMORY();
    const jn_saved *m = &of->saved.data[index];
    const jn_node *node = jn_value_node(of, m->value);
    if (m->frame) {
        *out = false;
        for (uint32_t i = 0; i < node->n_in; i++)
            if (!jn_value_is_none(node->in[i]) && a->active[jn_number(&a->num, node->in[i])])
                *out = true;
    } else
        *out = a->active[jn_number(&a->num, m->value)];
    return JANUS_OK;
}

static bool carries(const jn_type *t) {
    return jn_differentiable(t) || t->kind == JANUS_KIND_FRAME;
}

janus_status jn_activity_spread(jn_diff *d, const jn_subgraph *f, const jn_numbering *num,
                                bool *active) {
    for (uint32_t i = 1; i < num->n_nodes; i++) {
        const jn_node *n = f->nodes.data[i];
        bool *out = &active[num->first[i]];
        bool call = jn_is_call(n), any = false;
        uint32_t first = n->op->role == JN_ROLE_IF ? 1 : 0;
        for (uint32_t k = first; k < n->n_in && !any; k++)
            any = !jn_value_is_none(n->in[k]) && active[jn_number(num, n->in[k])];
        any = any || jn_wire_reads(d, n);
        if (!any)
            continue;
        if (n->op == d->ops.wire_read) {
            out[0] = true;
        } else if (call) {
            for (uint32_t k = 0; k < n->n_out; k++)
                out[k] = out[k] || carries(n->out[k]);
            for (uint32_t k = 0; k < n->n_in; k++)
                if (!jn_value_is_none(n->in[k]) &&
                    jn_value_type(f, n->in[k])->kind == JANUS_KIND_ACC)
                    active[jn_number(num, n->in[k])] = true;
        } else if (n->op->role == JN_ROLE_SAVED) {
            bool member;
            JN_TRY(member_active(d, f, n, &member));
            out[0] = out[0] || (member && carries(n->out[0]));
        } else if (n->op->role == JN_ROLE_ACC) {
            if (n->n_out == 0)
                active[jn_number(num, n->in[0])] = true;
            else if (n->out[0]->kind == JANUS_KIND_TENSOR)
                out[0] = true;
        } else if (n->op->grad) {
            for (uint32_t k = 0; k < n->n_out; k++)
                out[k] = out[k] || jn_differentiable(n->out[k]);
        }
    }
    return JANUS_OK;
}

janus_status jn_want_close(jn_diff *d, const jn_call_shape *c, bool *want) {
    if (!c->loop)
        return JANUS_OK;
    const jn_subgraph *body = c->sub[0];
    jn_numbering num;
    JN_TRY(jn_numbering_make(&d->tmp, body, &num));
    bool *active = jn_diff_alloc(d, num.n_values, sizeof *active);
    if (!active)
        return JN_NO_MEMORY();
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t p = 0; p < body->params.n; p++)
            active[p] = want[p];
        JN_TRY(jn_activity_spread(d, body, &num, active));
        for (uint32_t i = 0; i < c->n_results; i++) {
            uint32_t p = jn_carried_param(c, i);
            jn_value r = body->results.data[i];
            if (!want[p] && !jn_value_is_none(r) && active[jn_number(&num, r)] &&
                jn_differentiable(body->params.data[p].type))
                want[p] = changed = true;
        }
    }
    return JANUS_OK;
}

/* ---- reach -------------------------------------------------------------------------------------
 */

typedef struct jn_reach {
    struct jn_reach *next;
    struct jn_reach *other; /* of the same SubGraph */
    jn_subgraph *f;
    const bool *arriving, *want;
    const bool *unsure; /* per result: what arrives may be absent */
    bool records;
    bool *outs, *sure;
    jn_numbering num;
    bool *active, *ct, *sure_ct;
} jn_reach;

/* Where the entries of a SubGraph begin; NULL: out of memory. */
static jn_reach **reach_of(jn_diff *d, const jn_subgraph *f) {
    if (f->index >= d->n_reach_of) {
        size_t n = 2 * d->m->subs.n;
        jn_reach **more = jn_diff_alloc(d, n, sizeof(jn_reach *));
        if (!more)
            return NULL;
        if (d->n_reach_of)
            memcpy(more, d->reach_of, d->n_reach_of * sizeof(jn_reach *));
        d->reach_of = more;
        d->n_reach_of = n;
    }
    return &d->reach_of[f->index];
}

/* unsure: NULL: what arrives is there. */
static janus_status reach_entry(jn_diff *d, jn_subgraph *f, const bool *arriving, const bool *want,
                                const bool *unsure, bool records, jn_reach **out) {
    size_t n_params = f->params.n, n_results = f->result_types.n, n_arriving = n_results + n_params;
    const bool *all = jn_diff_alloc(d, n_results, 1);
    if (!all)
        return JN_NO_MEMORY();
    unsure = unsure ? unsure : all;
    jn_reach **of = reach_of(d, f);
    if (!of)
        return JN_NO_MEMORY();
    for (jn_reach *r = *of; r; r = r->other)
        if (r->records == records && memcmp(r->arriving, arriving, n_arriving) == 0 &&
            memcmp(r->want, want, n_params) == 0 && memcmp(r->unsure, unsure, n_results) == 0) {
            *out = r;
            return JANUS_OK;
        }
    if (!f->defined)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s has no body yet: it cannot be differentiated",
                        f->name);
    jn_reach *r = jn_diff_alloc(d, 1, sizeof *r);
    if (!r)
        return JN_NO_MEMORY();
    r->f = f;
    r->arriving = jn_arena_dup(&d->tmp, arriving, n_arriving);
    r->want = jn_arena_dup(&d->tmp, want, n_params ? n_params : 1);
    r->records = records;
    r->unsure = jn_arena_dup(&d->tmp, unsure, n_results ? n_results : 1);
    r->outs = jn_diff_alloc(d, n_params, 1);
    r->sure = jn_diff_alloc(d, n_params, 1);
    JN_TRY(jn_numbering_make(&d->tmp, f, &r->num));
    r->active = jn_diff_alloc(d, r->num.n_values, 1);
    r->ct = jn_diff_alloc(d, r->num.n_values, 1);
    r->sure_ct = jn_diff_alloc(d, r->num.n_values, 1);
    if (!r->arriving || !r->want || !r->unsure || !r->outs || !r->sure || !r->active || !r->ct ||
        !r->sure_ct)
        return JN_NO_MEMORY();
    for (size_t p = 0; p < n_params; p++)
        r->active[p] = want[p];
    JN_TRY(jn_activity_spread(d, f, &r->num, r->active));
    r->next = d->reach;
    d->reach = r;
    r->other = *of;
    *of = *out = r;
    return JANUS_OK;
}

static bool value_has(const jn_reach *r, const bool *set, jn_value v) {
    return !jn_value_is_none(v) && set[jn_number(&r->num, v)];
}

/* For a loop: extends `arriving` (per result of the body) by what one more iteration gives, as far
 * as known. */
static janus_status reach_close(jn_diff *d, const jn_call_shape *c, bool *arriving,
                                const bool *want, bool records) {
    if (!c->loop)
        return JANUS_OK;
    for (bool changed = true; changed;) {
        changed = false;
        jn_reach *r;
        JN_TRY(reach_entry(d, c->sub[0], arriving, want, NULL, records, &r));
        for (uint32_t i = 0; i < c->n_results; i++)
            if (!arriving[i] && r->outs[jn_carried_param(c, i)])
                arriving[i] = changed = true;
    }
    return JANUS_OK;
}

/* One call, and what its gradient would be asked. */
typedef struct reach_question {
    jn_call_shape c;
    bool *arriving, *want;
    bool any; /* something */
} reach_question;

static janus_status question_of(jn_diff *d, jn_reach *r, const jn_node *n, reach_question *q) {
    jn_call_shape_of(n, &q->c);
    const jn_subgraph *sub = q->c.sub[0];
    size_t n_results = sub->result_types.n, n_params = sub->params.n;
    q->arriving = jn_diff_alloc(d, n_results + n_params, 1);
    q->want = jn_diff_alloc(d, n_params, 1);
    if (!q->arriving || !q->want)
        return JN_NO_MEMORY();
    q->any = r->records;
    for (uint32_t i = 0; i < q->c.n_results; i++)
        q->any |= q->arriving[i] = r->ct[r->num.first[n->id] + i];
    for (uint32_t i = 0; i < q->c.n; i++) {
        jn_value v = n->in[q->c.first_in + i];
        uint32_t p = q->c.first_param + i;
        if (jn_value_is_none(v))
            continue;
        const jn_type *t = sub->params.data[p].type;
        if (t->kind == JANUS_KIND_ACC)
            q->any |= q->arriving[n_results + p] = r->ct[jn_number(&r->num, v)];
        q->want[p] = carries(t) && value_has(r, r->active, v);
    }
    q->any = q->any || jn_wire_stores(d, n);
    if (!q->any)
        return JANUS_OK;
    JN_TRY(jn_want_close(d, &q->c, q->want));
    return reach_close(d, &q->c, q->arriving, q->want, r->records);
}

/* Whether an operand can have a cotangent. */
static bool operand_counts(const jn_reach *r, jn_value v) {
    return value_has(r, r->active, v) && jn_differentiable(jn_value_type(r->f, v));
}

/* One call: cotangents of its results to cotangents of its operands. */
static janus_status reach_call(jn_diff *d, jn_reach *r, const jn_node *n) {
    reach_question q;
    JN_TRY(question_of(d, r, n, &q));
    if (!q.any)
        return JANUS_OK;
    size_t n_params = q.c.sub[0]->params.n;
    bool *outs = jn_diff_alloc(d, n_params, 1);
    if (!outs)
        return JN_NO_MEMORY();
    for (unsigned k = 0; k < q.c.n_subs; k++) {
        jn_reach *callee;
        JN_TRY(reach_entry(d, q.c.sub[k], q.arriving, q.want, NULL, r->records, &callee));
        for (size_t p = 0; p < n_params; p++)
            outs[p] = outs[p] || callee->outs[p];
    }
    for (uint32_t i = 0; q.c.loop && i < q.c.n_results; i++) /* there may be no iteration */
        if (q.arriving[i])
            outs[jn_carried_param(&q.c, i)] = true;
    for (uint32_t i = 0; i < q.c.n; i++) {
        jn_value v = n->in[q.c.first_in + i];
        uint32_t p = q.c.first_param + i;
        if (operand_counts(r, v) && (outs[p] || q.c.sub[0]->params.data[p].shared))
            r->ct[jn_number(&r->num, v)] = true;
    }
    return JANUS_OK;
}

static janus_status reach_node(jn_diff *d, jn_reach *r, const jn_node *n) {
    if (jn_is_call(n))
        return reach_call(d, r, n);
    if (n->op == d->ops.wire_put) {
        r->ct[jn_number(&r->num, n->in[0])] |= value_has(r, r->active, n->in[0]);
        return JANUS_OK;
    }
    bool any = false;
    for (uint32_t i = 0; i < n->n_out; i++)
        any |= r->ct[r->num.first[n->id] + i];
    if (n->op->role == JN_ROLE_ACC) {
        jn_value acc = n->in[0];
        if (n->n_out == 0 && value_has(r, r->active, n->in[1]) && value_has(r, r->ct, acc))
            r->ct[jn_number(&r->num, n->in[1])] = true;
        if (n->n_out == 1 && any && n->out[0]->kind == JANUS_KIND_TENSOR)
            r->ct[jn_number(&r->num, acc)] = true;
        return JANUS_OK;
    }
    if (!any || !n->op->grad)
        return JANUS_OK;
    for (uint32_t k = 0; k < n->n_in; k++)
        if (value_has(r, r->active, n->in[k]) && jn_differentiable(jn_value_type(r->f, n->in[k])))
            r->ct[jn_number(&r->num, n->in[k])] = true;
    return JANUS_OK;
}

/* Walks one body with what is known of its callees so far. */
static janus_status reach_walk(jn_diff *d, jn_reach *r, bool *changed) {
    const jn_subgraph *f = r->f;
    size_t n_results = f->result_types.n;
    memset(r->ct, 0, r->num.n_values);
    for (size_t i = 0; i < n_results; i++)
        if (r->arriving[i] && !jn_value_is_none(f->results.data[i]))
            r->ct[jn_number(&r->num, f->results.data[i])] = true;
    for (size_t p = 0; p < f->params.n; p++)
        r->ct[p] = r->ct[p] || r->arriving[n_results + p];
    if (r->records)
        for (uint32_t i = 0; i < r->num.n_values; i++)
            r->ct[i] = r->ct[i] || r->active[i];
    for (uint32_t i = r->num.n_nodes; i-- > 1;)
        JN_TRY(reach_node(d, r, f->nodes.data[i]));
    for (size_t p = 0; p < f->params.n; p++)
        if (!r->outs[p] && r->ct[p] && r->want[p] && jn_differentiable(f->params.data[p].type))
            r->outs[p] = *changed = true;
    return JANUS_OK;
}

/* Answers only grow, so this ends; entries met on the way join in.  Those that were solved before
 * ask nothing of later ones: what they asked was met then. */
static janus_status reach_solve(jn_diff *d) {
    if (d->reach == d->solved)
        return JANUS_OK;
    for (bool changed = true; changed;) {
        const jn_reach *head = d->reach;
        changed = false;
        for (jn_reach *r = d->reach; r != d->solved; r = r->next)
            JN_TRY(reach_walk(d, r, &changed));
        changed = changed || d->reach != head;
    }
    d->solved = d->reach;
    return JANUS_OK;
}

janus_status jn_reach_outs(jn_diff *d, jn_subgraph *f, const bool *arriving, const bool *want,
                           bool records, const bool **out_outs) {
    jn_reach *r;
    JN_TRY(reach_entry(d, f, arriving, want, NULL, records, &r));
    JN_TRY(reach_solve(d));
    *out_outs = r->outs;
    return JANUS_OK;
}

/* ---- on all paths -------------------------------------------------------------------------------
 */

/* What a loop hands on is there after it if it was before, and a round leaves it so. */
static janus_status sure_loop(jn_diff *d, jn_reach *r, const jn_node *n, const reach_question *q) {
    bool *unsure = jn_diff_alloc(d, q->c.sub[0]->result_types.n, 1), any = false;
    if (!unsure)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < q->c.n_results; i++) {
        unsure[i] = q->arriving[i] && !r->sure_ct[r->num.first[n->id] + i];
        any = any || (q->arriving[i] && !unsure[i]);
    }
    for (bool changed = any; changed;) {
        jn_reach *body;
        changed = false;
        JN_TRY(reach_entry(d, q->c.sub[0], q->arriving, q->want, unsure, false, &body));
        for (uint32_t i = 0; i < q->c.n_results; i++)
            if (q->arriving[i] && !unsure[i] && !body->sure[jn_carried_param(&q->c, i)])
                unsure[i] = changed = true;
    }
    for (uint32_t i = 0; i < q->c.n_results; i++) {
        jn_value v = n->in[q->c.first_in + jn_carried_param(&q->c, i) - q->c.first_param];
        if (q->arriving[i] && !unsure[i] && operand_counts(r, v))
            r->sure_ct[jn_number(&r->num, v)] = true;
    }
    return JANUS_OK;
}

static janus_status sure_call(jn_diff *d, jn_reach *r, const jn_node *n) {
    reach_question q;
    JN_TRY(question_of(d, r, n, &q));
    if (!q.any)
        return JANUS_OK;
    if (q.c.loop)
        return sure_loop(d, r, n, &q);
    for (uint32_t i = 0; i < q.c.n_results; i++)
        if (q.arriving[i] && !r->sure_ct[r->num.first[n->id] + i])
            return JANUS_OK;
    for (uint32_t i = 0; i < q.c.n; i++) {
        jn_value v = n->in[q.c.first_in + i];
        uint32_t p = q.c.first_param + i;
        bool sure = operand_counts(r, v) && !q.c.sub[0]->params.data[p].shared;
        for (unsigned k = 0; k < q.c.n_subs && sure; k++) {
            jn_reach *callee;
            JN_TRY(reach_entry(d, q.c.sub[k], q.arriving, q.want, NULL, false, &callee));
            sure = callee->sure[p];
        }
        if (sure)
            r->sure_ct[jn_number(&r->num, v)] = true;
    }
    return JANUS_OK;
}

static janus_status sure_node(jn_diff *d, jn_reach *r, const jn_node *n) {
    if (jn_is_call(n))
        return sure_call(d, r, n);
    if (n->op == d->ops.rows_put) /* a row that may get none */
        r->sure_ct[jn_number(&r->num, n->in[0])] = false;
    bool any = false, all = true;
    for (uint32_t i = 0; i < n->n_out; i++) {
        uint32_t at = r->num.first[n->id] + i;
        any = any || r->ct[at];
        all = all && (!r->ct[at] || r->sure_ct[at]);
    }
    for (uint32_t k = 0; k < n->n_in && any && all && n->op->grad; k++)
        if (operand_counts(r, n->in[k]))
            r->sure_ct[jn_number(&r->num, n->in[k])] = true;
    return JANUS_OK;
}

static janus_status sure_walk(jn_diff *d, jn_reach *r, bool *changed) {
    const jn_subgraph *f = r->f;
    memset(r->sure_ct, 0, r->num.n_values);
    for (size_t i = 0; i < f->result_types.n; i++)
        if (r->arriving[i] && !r->unsure[i] && !jn_value_is_none(f->results.data[i]))
            r->sure_ct[jn_number(&r->num, f->results.data[i])] = true;
    for (uint32_t i = r->num.n_nodes; i-- > 1;)
        JN_TRY(sure_node(d, r, f->nodes.data[i]));
    for (size_t p = 0; p < f->params.n; p++)
        if (r->sure[p] && !r->sure_ct[p]) {
            r->sure[p] = false;
            *changed = true;
        }
    return JANUS_OK;
}

/* All is taken to be sure until a walk shows otherwise; with an entry met on the way all that is
 * new begins anew. */
static janus_status sure_solve(jn_diff *d) {
    while (d->reach != d->sure) {
        JN_TRY(reach_solve(d));
        const jn_reach *head = d->reach;
        for (jn_reach *r = d->reach; r != d->sure; r = r->next)
            memset(r->sure, !r->records, r->f->params.n);
        for (bool changed = true; changed && d->reach == head;) {
            changed = false;
            for (jn_reach *r = d->reach; r != d->sure; r = r->next)
                if (!r->records)
                    JN_TRY(sure_walk(d, r, &changed));
        }
        d->sure = d->reach == head ? head : d->sure;
    }
    return JANUS_OK;
}

janus_status jn_reach_sure(jn_diff *d, jn_subgraph *f, const bool *arriving, const bool *want,
                           const bool *unsure, const bool **out_sure) {
    jn_reach *r;
    JN_TRY(reach_entry(d, f, arriving, want, unsure, false, &r));
    JN_TRY(sure_solve(d));
    *out_sure = r->sure;
    return JANUS_OK;
}
