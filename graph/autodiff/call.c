/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a call is a call of the gradient: of the SubGraph called, with the frame the call
 * kept, the cotangents that arrive, the records that are the frame's own cotangent, and one
 * accumulator per shared parameter.
 *
 * Inside a gradient SubGraph the inner call's frame is a member of the outer one and the inner call
 * stays as it is; in a body that is being built the call is turned into its saving form in place.
 */
#include "config.h"

#include "graph/autodiff/internal.h"
#include "graph/ir/ir.h"

#include <string.h>

/* What one call's gradient is put together from. */
typedef struct call_grad {
    jn_call_shape shape;
    const jn_node *n;
    bool presence;         /* the gradient says which of its results are gradients */
    bool *arriving, *want; /* as in jn_deriv */
    bool *outs;            /* NULL: all */
    bool *flags, *unsure;  /* as in jn_deriv */
    bool *starts;          /* per result of a loop: its cotangent is there at first */
    uint8_t *sums;         /* as in jn_deriv */
    jn_deriv *deriv[2];
    JN_VEC(jn_value) in;
} call_grad;

janus_status jn_call_save(jn_subgraph *g, uint32_t node, jn_value *out_frame) {
    jn_node *n = g->nodes.data[node];
    if (!(n->op->flags & JN_OP_SAVES)) {
        char name[64];
        size_t len = strlen(n->op->name);
        if (len + sizeof ".save" > sizeof name)
            return jn_error(JANUS_INTERNAL, "%s: name too long", n->op->name);
        memcpy(name, n->op->name, len);
        memcpy(name + len, ".save", sizeof ".save");
        const jn_op *op = jn_op_find(name, len + 5);
        if (!op)
            return jn_error(JANUS_UNSUPPORTED, "%s: has no saving form", n->op->name);
        jn_type frame = jn_frame_type(n);
        const jn_type *t = jn_type_intern(g->module, &frame);
        const jn_type **out = jn_arena_alloc(&g->module->arena, (n->n_out + 1) * sizeof *out);
        if (!t || !out)
            return JN_NO_MEMORY();
        if (n->n_out)
            memcpy(out, n->out, n->n_out * sizeof *out);
        out[n->n_out] = t;
        n->op = op;
        n->out = out;
        n->n_out++;
    }
    *out_frame = (jn_value){node, n->n_out - 1};
    return JANUS_OK;
}

static jn_value operand(const call_grad *c, uint32_t i) { return c->n->in[c->shape.first_in + i]; }

static bool operand_active(const jn_sweep *s, jn_value v) {
    return !jn_value_is_none(v) && s->active[jn_number(&s->num, v)];
}

/* Collects what arrives and what is asked for; false in *out_any: nothing to do. */
static janus_status collect(jn_sweep *s, call_grad *c, bool *out_any) {
    const jn_subgraph *sub = c->shape.sub[0];
    size_t n_results = sub->result_types.n, n_params = sub->params.n;
    c->arriving = jn_diff_alloc(s->d, n_results + n_params, 1);
    c->want = jn_diff_alloc(s->d, n_params, 1);
    if (!c->arriving || !c->want)
        return JN_NO_MEMORY();
    bool arrives = s->records[c->n->id] != NULL, wanted = false;
    for (uint32_t i = 0; i < c->shape.n_results; i++)
        arrives |= c->arriving[i] = !jn_value_is_none(s->ct[s->num.first[c->n->id] + i]);
    for (uint32_t i = 0; i < c->shape.n; i++) {
        jn_value v = operand(c, i);
        uint32_t p = c->shape.first_param + i;
        const jn_type *t = sub->params.data[p].type;
        if (jn_value_is_none(v))
            continue;
        if (t->kind == JANUS_KIND_ACC)
            arrives |= c->arriving[n_results + p] = !jn_value_is_none(s->ct[jn_number(&s->num, v)]);
        c->want[p] = (jn_differentiable(t) || t->kind == JANUS_KIND_FRAME) && operand_active(s, v);
        wanted |= c->want[p];
    }
    *out_any = (arrives && (wanted || jn_wire_reads(s->d, c->n))) || jn_wire_stores(s->d, c->n);
    return JANUS_OK;
}

/* Arms must agree on their results; the results of an iteration are the cotangents the next one
 * starts from. */
static janus_status agree(jn_sweep *s, call_grad *c) {
    jn_subgraph *const *sub = c->shape.sub;
    size_t n_params = sub[0]->params.n;
    bool records = s->records[c->n->id] != NULL;
    JN_TRY(jn_want_close(s->d, &c->shape, c->want));
    if (!c->shape.loop && c->shape.n_subs == 1)
        return JANUS_OK;
    c->outs = jn_diff_alloc(s->d, n_params, 1);
    if (!c->outs)
        return JN_NO_MEMORY();
    for (unsigned k = 1; k < c->shape.n_subs; k++)
        for (size_t p = 0; p < n_params; p++)
            if (sub[k]->params.data[p].shared != sub[0]->params.data[p].shared)
                return jn_error(JANUS_INVALID_ARGUMENT,
                                "%s: parameter %zu is shared in one of @%s and @%s only",
                                c->n->op->name, p, sub[0]->name, sub[k]->name);
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned k = 0; k < c->shape.n_subs; k++) {
            const bool *outs;
            JN_TRY(jn_reach_outs(s->d, sub[k], c->arriving, c->want, records, &outs));
            for (size_t p = 0; p < n_params; p++)
                c->outs[p] = c->outs[p] || (outs[p] && !sub[k]->params.data[p].shared);
        }
        for (uint32_t i = 0; c->shape.loop && i < c->shape.n_results; i++) {
            uint32_t p = jn_carried_param(&c->shape, i);
            if (c->outs[p] && !c->arriving[i])
                c->arriving[i] = changed = true;
            c->outs[p] = c->outs[p] || c->arriving[i];
        }
    }
    return JANUS_OK;
}

/* What a loop only reads gets its cotangent from the iterations, too: they add to what later uses
 * gave, in the order of the program.  none: it is no such result, or nothing was given; else the
 * operand. */
static janus_status handed_on(jn_sweep *s, const call_grad *c, uint32_t i, jn_value *out) {
    *out = JN_VALUE_NONE;
    if (!c->shape.loop || jn_in_arm(s))
        return JANUS_OK;
    uint32_t p = jn_carried_param(&c->shape, i);
    jn_value back = c->shape.sub[0]->results.data[i], x = operand(c, p - c->shape.first_param);
    if (back.node != 0 || back.index != p || jn_value_is_none(x))
        return JANUS_OK;
    uint32_t at = jn_number(&s->num, x);
    JN_TRY(jn_sweep_join(s, x));
    if (!jn_value_is_none(s->ct[at]) && jn_value_is_none(s->flag[at]) &&
        jn_value_is_none(s->open[at]) &&
        jn_type_fits(jn_value_type(s->g, s->ct[at]), c->shape.sub[0]->params.data[p].type))
        *out = x;
    return JANUS_OK;
}

/* Whether the cotangent that goes into a loop for result i is there for certain where it runs. */
static janus_status starts_sure(jn_sweep *s, const call_grad *c, uint32_t i, bool *out) {
    uint32_t at = s->num.first[c->n->id] + i;
    jn_value x = s->ct[at];
    if (jn_value_is_none(x))
        JN_TRY(handed_on(s, c, i, &x));
    *out = !jn_value_is_none(x) && (jn_value_is_none(s->flag[at]) ||
                                    (jn_in_arm(s) && jn_value_equal(s->flag[at], s->arm.when)));
    return JANUS_OK;
}

/* Which carried cotangents have a bool beside them: those that a round or none may leave absent. */
static janus_status find_unsure(jn_sweep *s, call_grad *c) {
    c->unsure = jn_diff_alloc(s->d, c->shape.sub[0]->result_types.n, 1);
    c->starts = jn_diff_alloc(s->d, c->shape.sub[0]->result_types.n, 1);
    if (!c->unsure || !c->starts)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < c->shape.n_results; i++) {
        JN_TRY(starts_sure(s, c, i, &c->starts[i]));
        c->unsure[i] = c->arriving[i] && !c->starts[i];
    }
    for (bool changed = true; changed;) {
        const bool *sure;
        changed = false;
        JN_TRY(jn_reach_sure(s->d, c->shape.sub[0], c->arriving, c->want, c->unsure, &sure));
        for (uint32_t i = 0; i < c->shape.n_results; i++)
            if (c->arriving[i] && !c->unsure[i] && !sure[jn_carried_param(&c->shape, i)])
                c->unsure[i] = changed = true;
    }
    return JANUS_OK;
}

/* Which results have a bool beside them. */
static janus_status find_flags(jn_sweep *s, call_grad *c) {
    size_t n_params = c->shape.sub[0]->params.n;
    if (!c->presence)
        return JANUS_OK;
    c->flags = jn_diff_alloc(s->d, n_params, 1);
    if (!c->flags)
        return JN_NO_MEMORY();
    if (c->shape.loop) {
        JN_TRY(find_unsure(s, c));
        for (uint32_t i = 0; i < c->shape.n_results; i++)
            c->flags[jn_carried_param(&c->shape, i)] = c->unsure[i];
        return JANUS_OK;
    }
    for (unsigned k = 0; k < c->shape.n_subs; k++) {
        const bool *sure, *outs;
        jn_subgraph *sub = c->shape.sub[k];
        JN_TRY(jn_reach_sure(s->d, sub, c->arriving, c->want, NULL, &sure));
        JN_TRY(jn_reach_outs(s->d, sub, c->arriving, c->want, false, &outs));
        for (size_t p = 0; p < n_params; p++) {
            bool out = c->outs ? c->outs[p] : outs[p] && !sub->params.data[p].shared;
            if (c->sums && c->sums[p])
                out = c->sums[p] == 2;
            c->flags[p] = c->flags[p] || (out && !sure[p]);
        }
    }
    return JANUS_OK;
}

static janus_status derive(jn_sweep *s, call_grad *c) {
    unsigned n_records = 0;
    for (jn_record *r = s->records[c->n->id]; r; r = r->next)
        n_records++;
    for (unsigned k = 0; k < c->shape.n_subs; k++) {
        jn_record_type *records = jn_diff_alloc(s->d, n_records, sizeof *records);
        if (!records)
            return JN_NO_MEMORY();
        unsigned i = 0;
        for (jn_record *r = s->records[c->n->id]; r; r = r->next)
            records[i++] = (jn_record_type){{r->type.sub[k], NULL}, r->type.param};
        jn_deriv key = {.f = c->shape.sub[k],
                        .arriving = c->arriving,
                        .want = c->want,
                        .outs = c->outs,
                        .sums = c->sums,
                        .presence = c->presence,
                        .flags = c->flags,
                        .unsure = c->unsure,
                        .n_records = n_records,
                        .records = records};
        JN_TRY(jn_derive(s->d, &key, &c->deriv[k]));
    }
    return JANUS_OK;
}

static janus_status frame_of_call(jn_sweep *s, const jn_node *n, jn_value *out) {
    jn_subgraph *g = s->g;
    uint32_t index;
    bool value = n->op->flags & JN_OP_SAVES;
    if (s->f == s->home) {
        JN_TRY(jn_call_save(s->f, n->id, out));
        return jn_arm_in(s, *out, out);
    }
    JN_TRY(jn_save_member(s->f, (jn_value){n->id, value ? n->n_out - 1 : 0}, !value, &index));
    s->g = s->home;
    JN_TRY(jn_sweep_frame_get(s, s->frame, index, out));
    s->g = g;
    return jn_arm_in(s, *out, out);
}

/* Whether a SubGraph gives its parameter one contribution at most. */
static bool gives_one(const jn_subgraph *sub, uint32_t p) {
    unsigned uses = 0;
    for (size_t i = 0; i < sub->results.n; i++)
        uses += sub->results.data[i].node == 0 && sub->results.data[i].index == p;
    for (size_t i = 1; i < sub->nodes.n; i++) {
        const jn_node *n = sub->nodes.data[i];
        for (uint32_t k = 0; k < n->n_in; k++)
            if (n->in[k].node == 0 && n->in[k].index == p)
                uses += jn_is_call(n) ? 2 : 1;
    }
    return uses < 2;
}

/* Whether operand i of the call is another one, too. */
static bool passed_twice(const call_grad *c, uint32_t i) {
    bool twice = false;
    for (uint32_t k = 0; k < c->shape.n; k++)
        twice = twice || (k != i && jn_value_equal(operand(c, k), operand(c, i)));
    return twice;
}

/* A loop hands the parameter on as it is. */
static bool is_handed_on(const call_grad *c, uint32_t p) {
    for (uint32_t i = 0; c->shape.loop && i < c->shape.n_results; i++)
        if (jn_carried_param(&c->shape, i) == p)
            return jn_value_equal(c->shape.sub[0]->results.data[i], (jn_value){0, p});
    return false;
}

/* The tape adds the contributions of a call to what later uses gave, one by one.  Where sums are to
 * be the same bit for bit the gradient of a call does so, too: it goes on with the sum so far
 * (loops have handed_on).  What it cannot go on with must be one contribution. */
static janus_status find_sums(jn_sweep *s, call_grad *c) {
    const jn_subgraph *sub = c->shape.sub[0];
    for (uint32_t i = 0; s->d->m->running_sums && i < c->shape.n; i++) {
        uint32_t p = c->shape.first_param + i;
        jn_value x = operand(c, i);
        const jn_type *t = sub->params.data[p].type;
        if (!c->want[p] || !jn_differentiable(t))
            continue;
        if (!jn_sums_in_turn(s, c->n, &c->shape, c->arriving, i))
            return jn_sums_not_in_turn(s->f, c->n);
        if (sub->params.data[p].shared)
            continue;
        JN_TRY(jn_sweep_join(s, x));
        uint32_t at = jn_number(&s->num, x);
        bool acc = !jn_value_is_none(s->open[at]) ||
                   (x.node == 0 && s->acc && !jn_value_is_none(s->acc[x.index]));
        bool twice = passed_twice(c, i);
        bool can = !acc && !twice &&
                   ((c->presence && !c->shape.loop) || jn_value_is_none(s->flag[at])) &&
                   !jn_in_arm(s) && !s->records[c->n->id];
        if (jn_value_is_none(s->ct[at]) && !acc && !twice)
            continue;
        can = can && jn_type_fits(jn_value_type(s->g, s->ct[at]), t);
        if (can && is_handed_on(c, p))
            continue;
        if (!can || c->shape.loop) {
            bool one = !twice;
            for (unsigned k = 0; k < c->shape.n_subs; k++)
                one = one && gives_one(c->shape.sub[k], p);
            if (one)
                continue;
            return jn_sums_not_in_turn(s->f, c->n);
        }
        if (!c->sums && !(c->sums = jn_diff_alloc(s->d, sub->params.n, 1)))
            return JN_NO_MEMORY();
        c->sums[p] = jn_value_is_none(s->flag[at]) ? 1 : 2;
        if (c->outs)
            c->outs[p] = true;
    }
    return JANUS_OK;
}

/* Whether a loop's cotangent i is there at first. */
static janus_status start_flag(jn_sweep *s, const call_grad *c, uint32_t i, jn_value *out) {
    jn_value flag = s->flag[s->num.first[c->n->id] + i];
    if (c->starts[i] || jn_value_is_none(flag))
        return jn_build_scalar(s->g, JANUS_KIND_BOOL, (janus_scalar){.i = c->starts[i]}, s->loc,
                               out);
    return jn_arm_in(s, flag, out);
}

/* The operands, in the order of the derived SubGraph's parameters (autodiff.c: add_params). */
static janus_status operands(jn_sweep *s, call_grad *c) {
    const jn_subgraph *sub = c->shape.sub[0];
    jn_value v, x;
    JN_TRY(frame_of_call(s, c->n, &v));
    if (!jn_vec_push(&c->in, v))
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < c->shape.n_results; i++) {
        if (!c->arriving[i])
            continue;
        JN_TRY(jn_arm_ct(s, s->num.first[c->n->id] + i, &v));
        if (jn_value_is_none(v)) {
            JN_TRY(handed_on(s, c, i, &x));
            if (!jn_value_is_none(x)) {
                v = s->ct[jn_number(&s->num, x)];
                s->ct[jn_number(&s->num, x)] = JN_VALUE_NONE;
            }
        }
        if (jn_value_is_none(v))
            JN_TRY(jn_sweep_zeros(s, (jn_value){c->n->id, i}, &v));
        if (!jn_vec_push(&c->in, v))
            return JN_NO_MEMORY();
    }
    for (uint32_t i = 0; c->unsure && i < c->shape.n_results; i++) {
        if (!c->unsure[i])
            continue;
        JN_TRY(start_flag(s, c, i, &v));
        if (!jn_vec_push(&c->in, v))
            return JN_NO_MEMORY();
    }
    for (uint32_t i = 0; c->sums && i < c->shape.n; i++) {
        if (!c->sums[c->shape.first_param + i])
            continue;
        uint32_t at = jn_number(&s->num, operand(c, i));
        if (!jn_vec_push(&c->in, s->ct[at]))
            return JN_NO_MEMORY();
        s->ct[at] = JN_VALUE_NONE; /* the call gives it back */
    }
    for (uint32_t i = 0; c->sums && i < c->shape.n; i++) {
        if (c->sums[c->shape.first_param + i] != 2)
            continue;
        uint32_t at = jn_number(&s->num, operand(c, i));
        if (!jn_vec_push(&c->in, s->flag[at]))
            return JN_NO_MEMORY();
        s->flag[at] = JN_VALUE_NONE;
    }
    for (jn_record *r = s->records[c->n->id]; r; r = r->next) {
        v = r->value;
        if (r->node)
            JN_TRY(jn_call_save(s->home, r->node, &v));
        JN_TRY(jn_arm_in(s, v, &v));
        if (!jn_vec_push(&c->in, v))
            return JN_NO_MEMORY();
    }
    for (uint32_t i = 0; i < c->shape.n; i++) {
        uint32_t p = c->shape.first_param + i;
        const jn_param *param = &sub->params.data[p];
        if (!param->shared || !c->want[p] || !jn_differentiable(param->type))
            continue;
        JN_TRY(jn_sweep_open(s, operand(c, i), &v));
        if (!jn_vec_push(&c->in, v))
            return JN_NO_MEMORY();
    }
    for (uint32_t i = 0; i < c->shape.n; i++) {
        if (!c->arriving[sub->result_types.n + c->shape.first_param + i])
            continue;
        JN_TRY(jn_arm_ct(s, jn_number(&s->num, operand(c, i)), &v));
        if (!jn_vec_push(&c->in, v))
            return JN_NO_MEMORY();
    }
    return JANUS_OK;
}

static const jn_op *grad_op(const jn_diff *d, const jn_node *n) {
    if (n->op->role == JN_ROLE_INVOKE)
        return d->ops.invoke;
    if (n->op->role == JN_ROLE_IF || n->subs[1])
        return n->op->role == JN_ROLE_WHILE ? d->ops.while_grad : d->ops.if_grad;
    return strncmp(n->op->name, "foreach", 7) == 0 ? d->ops.foreach_grad : d->ops.while_grad;
}

/* The record of a frame operand belongs to the call that made the frame, or to the read of it. */
static janus_status add_record(jn_sweep *s, call_grad *c, uint32_t i, uint32_t built) {
    jn_value v = operand(c, i);
    if (v.node == 0)
        return jn_error(JANUS_UNSUPPORTED,
                        "in @%s, %%%u = %s: a frame parameter is passed on whole: its gradient is "
                        "not derived",
                        s->f->name, c->n->id, c->n->op->name);
    jn_record *r = jn_diff_alloc(s->d, 1, sizeof *r);
    if (!r)
        return JN_NO_MEMORY();
    r->node = built;
    r->type = (jn_record_type){{c->deriv[0]->g, c->deriv[1] ? c->deriv[1]->g : NULL},
                               c->shape.first_param + i};
    jn_record **tail = &s->records[v.node];
    while (*tail)
        tail = &(*tail)->next;
    *tail = r;
    return JANUS_OK;
}

static janus_status distribute(jn_sweep *s, call_grad *c, const jn_value *out, uint32_t built) {
    const jn_subgraph *sub = c->shape.sub[0];
    uint32_t at = 0;
    for (uint32_t p = 0; p < c->shape.first_param; p++)
        at +=
            !c->outs && !sub->params.data[p].shared && jn_differentiable(sub->params.data[p].type);
    for (uint32_t i = 0; i < c->shape.n; i++) {
        uint32_t p = c->shape.first_param + i;
        const jn_param *param = &sub->params.data[p];
        bool active = operand_active(s, operand(c, i));
        if (param->type->kind == JANUS_KIND_FRAME && active)
            JN_TRY(add_record(s, c, i, built));
        if (!jn_differentiable(param->type) || param->shared)
            continue;
        if (!c->outs || c->outs[p]) {
            jn_value v = out[at++];
            if (!active || jn_value_type(s->g, v)->kind != JANUS_KIND_TENSOR)
                continue;
            if (c->flags && c->flags[p])
                s->when = out[c->deriv[0]->present[p]];
            JN_TRY(jn_sweep_add(s, operand(c, i), v));
            s->when = JN_VALUE_NONE;
        }
    }
    return JANUS_OK;
}

janus_status jn_call_gradient(jn_sweep *s, const jn_node *n) {
    call_grad c = {.n = n};
    bool any = false;
    jn_call_shape_of(n, &c.shape);
    JN_TRY(collect(s, &c, &any));
    if (!any)
        return JANUS_OK;
    c.presence = s->presence && !s->records[n->id];
    s->arm.calls = true;
    JN_TRY(agree(s, &c));
    JN_TRY(find_sums(s, &c));
    JN_TRY(find_flags(s, &c));
    JN_TRY(derive(s, &c));
    jn_value *out = NULL;
    unsigned n_out = (unsigned)c.deriv[0]->g->result_types.n;
    jn_subgraph *subs[2] = {c.deriv[0]->g, c.deriv[1] ? c.deriv[1]->g : NULL};
    janus_status st = operands(s, &c);
    if (st == JANUS_OK && !(out = jn_diff_alloc(s->d, n_out, sizeof *out)))
        st = JN_NO_MEMORY();
    uint32_t built = (uint32_t)s->g->nodes.n;
    if (st == JANUS_OK)
        st = jn_build(s->g, grad_op(s->d, n), c.in.data, (unsigned)c.in.n, NULL, subs, n->loc, out,
                      n_out);
    jn_vec_free(&c.in);
    JN_TRY(st);
    return distribute(s, &c, out, built);
}
