/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which branches and loops a device may decide (exec/schedule/branch.h), and their segments.
 *
 * Their SubGraphs hold tensor nodes, constants, and such branches and loops again: no host node, no
 * call, no sum, no random numbers; in loops nothing that may raise, since the loop would go on.  Of
 * what a loop hands on scalars stay as they are, or are *counters*, which the number of rounds
 * says.
 *
 * A result that may be an operand itself (`if c: x = x * 2`, a loop of no rounds) is a copy when a
 * device has decided.  Nobody can tell unless both are seen as objects: such a branch is *exposed*
 * unless the operand is a temporary that is used for nothing else.
 */
#include "config.h"

#include <string.h>

#include "exec/plan/plan_internal.h"
#include "exec/schedule/schedule.h"
#include "graph/base/status.h"
#include "ops/op_ids.h"

bool jn_pb_condition(const jn_subgraph *g, jn_value v, jn_condition *out) {
    *out = (jn_condition){.tensor = v};
    if (jn_value_is_none(v))
        return false;
    if (jn_value_type(g, v)->kind == JANUS_KIND_TENSOR)
        return true;
    const jn_node *n = jn_value_node(g, v), *last = NULL;
    if (n->id && n->op->id == JN_OP_ID_s_bool) {
        last = n;
        n = jn_value_is_none(n->in[0]) ? n : jn_value_node(g, n->in[0]);
    }
    if (!n->id || n->op->id != JN_OP_ID_item || (!last && n->out[0]->kind != JANUS_KIND_BOOL))
        return false;
    if (n->out[0]->kind == JANUS_KIND_INT &&
        jn_dtype_is_float(jn_value_type(g, n->in[0])->dtype)) /* 0.5 is true, int(0.5) is not */
        return false;
    out->tensor = n->in[0];
    out->scalar[out->n++] = n;
    if (last)
        out->scalar[out->n++] = last;
    return true;
}

static uint32_t uses_of(const jn_subgraph *g, const jn_node *of) {
    uint32_t uses = 0;
    for (size_t i = of->id + 1; i < g->nodes.n; i++)
        for (uint32_t k = 0; k < g->nodes.data[i]->n_in; k++)
            uses += g->nodes.data[i]->in[k].node == of->id;
    for (size_t i = 0; i < g->results.n; i++)
        uses += g->results.data[i].node == of->id;
    return uses;
}

/* ---- what a device can decide -------------------------------------------------------------------
 */

static bool is_plain_kind(const jn_type *t) {
    return t->kind == JANUS_KIND_TENSOR || t->kind == JANUS_KIND_INT ||
           t->kind == JANUS_KIND_FLOAT || t->kind == JANUS_KIND_BOOL;
}

static bool can_decide(const jn_subgraph *g, const jn_node *n, unsigned depth, bool in_loop);

/* The body: scalars that are no constants belong to conditions, `own` of them to g's own. */
static bool is_plain_body(const jn_subgraph *g, unsigned own, unsigned depth, bool in_loop) {
    unsigned scalars = 0, accounted = own;
    if (!g->defined)
        return false;
    for (size_t i = 0; i < g->params.n; i++)
        if (!is_plain_kind(g->params.data[i].type))
            return false;
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        int64_t bits;
        if (jn_const_bits(n, &bits))
            continue;
        if (jn_is_tensor_node(n) && n->op->role == JN_ROLE_COMPUTE) {
            if (in_loop && n->op->flags & JN_OP_MAY_RAISE)
                return false;
        } else if (n->op->role == JN_ROLE_SCALAR) {
            scalars++;
        } else if (can_decide(g, n, depth, in_loop)) {
            jn_condition c;
            if (n->op->role == JN_ROLE_IF && jn_pb_condition(g, n->in[0], &c))
                accounted += c.n;
        } else {
            return false;
        }
    }
    return scalars == accounted;
}

static bool gives_tensors(const jn_subgraph *g) {
    for (size_t i = 0; i < g->results.n; i++)
        if (jn_value_is_none(g->results.data[i]) ||
            jn_value_type(g, g->results.data[i])->kind != JANUS_KIND_TENSOR)
            return false;
    return true;
}

static bool is_own_condition(const jn_subgraph *g, const jn_condition *c) {
    for (unsigned i = 0; i < c->n; i++)
        if (uses_of(g, c->scalar[i]) != 1)
            return false;
    return true;
}

/* Carried values by result: the parameter, and whether a round leaves it as it is. */
static uint32_t carried_param(const jn_subgraph *body, uint32_t result) {
    uint32_t k = 0;
    for (uint32_t p = 0; p < body->params.n; p++)
        if (!body->params.data[p].shared && k++ == result)
            return p;
    return 0;
}
static bool is_unchanged(const jn_subgraph *body, uint32_t result) {
    jn_value v = body->results.data[result];
    return v.node == 0 && v.index == carried_param(body, result);
}

static uint32_t uses_of_param(const jn_subgraph *g, uint32_t p) {
    uint32_t uses = 0;
    for (size_t i = 1; i < g->nodes.n; i++)
        for (uint32_t k = 0; k < g->nodes.data[i]->n_in; k++)
            uses += jn_value_equal(g->nodes.data[i]->in[k], (jn_value){0, p});
    for (size_t i = 0; i < g->results.n; i++)
        uses += jn_value_equal(g->results.data[i], (jn_value){0, p});
    return uses;
}

/* An int that each round adds a constant to, and nobody else looks at meanwhile. */
static bool is_counter(const jn_subgraph *cond, const jn_subgraph *body, uint32_t result,
                       int64_t *step) {
    jn_value v = body->results.data[result];
    uint32_t p = carried_param(body, result);
    const jn_node *n = jn_value_node(body, v);
    if (!n->id || jn_value_type(body, v)->kind != JANUS_KIND_INT ||
        (n->op->id != JN_OP_ID_s_add && n->op->id != JN_OP_ID_s_sub) ||
        !jn_value_equal(n->in[0], (jn_value){0, p}) || jn_value_is_none(n->in[1]) ||
        !jn_const_bits(jn_value_node(body, n->in[1]), step))
        return false;
    if (n->op->id == JN_OP_ID_s_sub && *step == INT64_MIN)
        return false;
    if (n->op->id == JN_OP_ID_s_sub)
        *step = -*step;
    return body->params.data[p].type->kind == JANUS_KIND_INT &&
           jn_value_type(body, n->in[1])->kind == JANUS_KIND_INT && uses_of(body, n) == 1 &&
           uses_of_param(body, p) == 1 && uses_of_param(cond, p) == 0;
}

static bool can_loop(const jn_subgraph *cond, const jn_subgraph *body, unsigned depth) {
    jn_condition c;
    int64_t step;
    unsigned counters = 0, changed = 0;
    if (!cond->defined || !body->defined || cond->results.n != 1 ||
        cond->params.n != body->params.n || !jn_pb_condition(cond, cond->results.data[0], &c) ||
        !is_own_condition(cond, &c) || !is_plain_body(cond, c.n, depth, true))
        return false;
    for (uint32_t i = 0; i < body->results.n; i++) {
        jn_value v = body->results.data[i];
        if (jn_value_is_none(v))
            return false;
        if (is_unchanged(body, i))
            continue;
        changed++;
        if (is_counter(cond, body, i, &step) && depth == 1) /* a value for the host */
            counters++;
        else if (jn_value_type(body, v)->kind != JANUS_KIND_TENSOR)
            return false;
    }
    return changed > counters && is_plain_body(body, counters, depth, true);
}

static bool can_decide(const jn_subgraph *g, const jn_node *n, unsigned depth, bool in_loop) {
    if (depth >= JN_BRANCH_DEPTH || n->op->flags & JN_OP_SAVES)
        return false;
    for (uint32_t k = 0; k < n->n_in; k++)
        if (jn_value_is_none(n->in[k]))
            return false;
    if (n->op->role == JN_ROLE_WHILE)
        return can_loop(n->subs[0], n->subs[1], depth + 1);
    jn_condition c;
    return n->op->role == JN_ROLE_IF && n->n_out && jn_pb_condition(g, n->in[0], &c) &&
           is_own_condition(g, &c) && is_plain_body(n->subs[0], 0, depth + 1, in_loop) &&
           is_plain_body(n->subs[1], 0, depth + 1, in_loop) && gives_tensors(n->subs[0]) &&
           gives_tensors(n->subs[1]);
}

bool jn_pb_can_decide(const jn_subgraph *g, const jn_node *n) { return can_decide(g, n, 0, false); }

/* ---- who sees what ------------------------------------------------------------------------------
 */

static bool is_decided(const jn_subgraph *g, const jn_node *n) {
    return (n->op->role == JN_ROLE_IF || n->op->role == JN_ROLE_WHILE) && jn_pb_can_decide(g, n);
}

static bool may_be(const jn_node *n, uint32_t result, uint32_t operand);

/* Whether a value of a plain body may be parameter p itself. */
static bool may_be_param(const jn_subgraph *g, jn_value v, uint32_t p) {
    if (v.node == 0)
        return v.index == p;
    const jn_node *n = jn_value_node(g, v);
    if (n->op->role != JN_ROLE_IF && n->op->role != JN_ROLE_WHILE)
        return false;
    for (uint32_t k = 0; k < n->n_in; k++)
        if (may_be(n, v.index, k) && may_be_param(g, n->in[k], p))
            return true;
    return false;
}

/* Whether a result of a branch or loop may be an operand itself. */
static bool may_be(const jn_node *n, uint32_t result, uint32_t operand) {
    if (n->op->role == JN_ROLE_IF)
        return operand > 0 &&
               (may_be_param(n->subs[0], n->subs[0]->results.data[result], operand - 1) ||
                may_be_param(n->subs[1], n->subs[1]->results.data[result], operand - 1));
    const jn_subgraph *body = n->subs[1];
    if (carried_param(body, result) == operand)
        return true;
    for (uint32_t i = 0; i < body->results.n; i++) /* it may go round */
        if (!is_unchanged(body, i) && may_be_param(body, body->results.data[i], operand))
            return true;
    return false;
}

enum { MAX_CHAIN = 8 }; /* of branches one after the other that are looked at */

/* Whether somebody may see the value as an object; `but`: another node. */
static bool is_seen(const jn_subgraph *g, jn_value v, const jn_node *but, unsigned depth) {
    for (size_t i = 0; i < g->results.n; i++)
        if (jn_value_equal(g->results.data[i], v))
            return true;
    for (size_t i = v.node + 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        for (uint32_t k = 0; k < n->n_in; k++) {
            if (!jn_value_equal(n->in[k], v) || n == but || jn_is_tensor_node(n) ||
                n->op->role == JN_ROLE_SCALAR || (n->op->role == JN_ROLE_IF && k == 0))
                continue;
            if (depth == MAX_CHAIN || !is_decided(g, n))
                return true;
            for (uint32_t r = 0; r < n->n_out; r++)
                if (may_be(n, r, k) && is_seen(g, (jn_value){n->id, r}, NULL, depth + 1))
                    return true;
        }
    }
    return false;
}

static bool is_exposed(const jn_subgraph *g, const jn_node *n, unsigned depth);

/* Made here, of the run's own memory. */
static bool is_temporary(const jn_subgraph *g, const jn_node *n, unsigned depth) {
    return n->id && (jn_is_tensor_node(n) ||
                     (depth < MAX_CHAIN && is_decided(g, n) && !is_exposed(g, n, depth + 1)));
}

static bool is_exposed(const jn_subgraph *g, const jn_node *n, unsigned depth) {
    for (uint32_t k = 0; k < n->n_in; k++) {
        uint32_t seen = 0;
        for (uint32_t r = 0; r < n->n_out; r++)
            if (!(n->op->role == JN_ROLE_WHILE && is_unchanged(n->subs[1], r)) &&
                n->out[r]->kind == JANUS_KIND_TENSOR && may_be(n, r, k))
                seen += is_seen(g, (jn_value){n->id, r}, NULL, 0);
        if (!seen)
            continue;
        if (seen > 1 || !is_temporary(g, jn_value_node(g, n->in[k]), depth) ||
            is_seen(g, n->in[k], n, 0))
            return true;
        for (uint32_t j = 0; j < n->n_in; j++) /* twice the same value */
            if (j != k && jn_value_equal(n->in[j], n->in[k]))
                return true;
    }
    return false;
}

/* ---- segments -----------------------------------------------------------------------------------
 */

typedef struct maker {
    jn_builder *b;
    jn_scope *s;
    jn_segment *seg;
} maker;

static janus_status input(maker *m, jn_value v, uint32_t *out) {
    uint32_t slot;
    JN_TRY(jn_pb_value_slot(m->b, m->s, v, &slot));
    for (*out = 0; *out < m->seg->n_inputs; ++*out)
        if (m->seg->input_slot[*out] == slot)
            return JANUS_OK;
    m->seg->input_slot[m->seg->n_inputs++] = slot;
    return JANUS_OK;
}

static janus_status operand(maker *m, jn_value v, jn_src *out) {
    const jn_type *t = jn_value_type(m->s->g, v);
    if (t->kind == JANUS_KIND_TENSOR) {
        out->kind = JN_SRC_INPUT;
        return input(m, v, &out->index);
    }
    jn_segscalar sc = {JN_NO_SLOT, t->kind, false, false, JN_SCALAR_FIXED, 0};
    sc.is_const = jn_pb_const_of(m->s, v, &sc.value);
    if (!sc.is_const)
        JN_TRY(jn_pb_value_slot(m->b, m->s, v, &sc.slot));
    *out = (jn_src){JN_SRC_SCALAR, 0, m->seg->n_scalars};
    m->seg->scalars[m->seg->n_scalars++] = sc;
    return JANUS_OK;
}

static bool is_counter_param(const jn_node *n, uint32_t param) {
    int64_t step;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (carried_param(n->subs[1], i) == param && !is_unchanged(n->subs[1], i))
            return is_counter(n->subs[0], n->subs[1], i, &step);
    return false;
}

/* The operands: of an `if` the condition first. */
static janus_status operands(maker *m, const jn_node *n, jn_branch *br) {
    uint32_t first = n->op->role == JN_ROLE_IF, at;
    jn_src *param = jn_arena_zalloc(m->b->arena, (n->n_in + 1) * sizeof *param);
    m->seg->input_slot = jn_arena_alloc(m->b->arena, (n->n_in + 1) * sizeof(uint32_t));
    m->seg->scalars = jn_arena_alloc(m->b->arena, (n->n_in + 1) * sizeof(jn_segscalar));
    if (!param || !m->seg->input_slot || !m->seg->scalars)
        return JN_NO_MEMORY();
    if (first) {
        jn_condition c;
        if (!jn_pb_condition(m->s->g, n->in[0], &c))
            return jn_error(JANUS_INTERNAL, "%s: not a tensor's element", n->op->name);
        JN_TRY(input(m, c.tensor, &at));
    }
    for (uint32_t k = first; k < n->n_in; k++)
        if (!br->loop || !is_counter_param(n, k))
            JN_TRY(operand(m, n->in[k], &param[k - first]));
    br->param = param;
    br->n_params = n->n_in - first;
    return JANUS_OK;
}

/* Results that a round of a loop changes, all of an `if`; last the number of rounds where there are
 * counters. */
static janus_status results(maker *m, const jn_node *n, jn_branch *br) {
    int64_t step;
    uint32_t *slot = jn_arena_alloc(m->b->arena, (n->n_out + 1) * sizeof *slot);
    uint32_t *which = jn_arena_alloc(m->b->arena, 2 * (n->n_out + 1) * sizeof *which);
    if (!slot || !which)
        return JN_NO_MEMORY();
    br->result = which;
    br->carried_at = which + n->n_out + 1;
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (br->loop && is_unchanged(n->subs[1], i))
            continue;
        if (br->loop && is_counter(n->subs[0], n->subs[1], i, &step)) {
            br->counts = true;
            continue;
        }
        uint32_t k = br->n_results++;
        JN_TRY(jn_pb_out_slot(m->b, m->s, n, i, &slot[k]));
        which[k] = i;
        which[n->n_out + 1 + k] = br->loop ? carried_param(n->subs[1], i) : 0;
    }
    m->seg->output_slot = slot;
    m->seg->n_outputs = br->n_results + br->counts;
    return br->counts ? jn_pb_new_slot(m->b, JANUS_KIND_TENSOR, &slot[br->n_results]) : JANUS_OK;
}

janus_status jn_pb_decide(jn_builder *b, jn_scope *s, const jn_node *n, size_t *out_at) {
    maker m = {b, s, jn_arena_zalloc(b->arena, sizeof *m.seg)};
    jn_branch *br = jn_arena_zalloc(b->arena, sizeof *br);
    if (!m.seg || !br)
        return JN_NO_MEMORY();
    br->loop = n->op->role == JN_ROLE_WHILE;
    br->exposed = is_exposed(s->g, n, 0);
    br->sub[0] = n->subs[0];
    br->sub[1] = n->subs[1];
    m.seg->branch = br;
    m.seg->specialise = jn_branch_specialise;
    JN_TRY(operands(&m, n, br));
    JN_TRY(results(&m, n, br));
    m.seg->id = (uint32_t)b->plan->set->segments.n;
    if (!jn_vec_push(&b->plan->set->segments, m.seg))
        return JN_NO_MEMORY();
    *out_at = b->code.n;
    return jn_pb_emit(b, n, (jn_instr){JN_I_DECIDE, 0, 0, 0, {.aux = m.seg}});
}

/* dst = start + step * rounds */
static janus_status count(jn_builder *b, const jn_node *n, uint32_t start, int64_t step,
                          uint32_t rounds, uint32_t dst) {
    uint32_t k, product = rounds;
    if (step != 1) {
        JN_TRY(jn_pb_new_slot(b, JANUS_KIND_INT, &k));
        JN_TRY(jn_pb_new_slot(b, JANUS_KIND_INT, &product));
        JN_TRY(jn_pb_emit(b, n, (jn_instr){JN_I_CONST, k, 0, 0, {.imm = step}}));
        JN_TRY(jn_pb_emit(b, n, (jn_instr){JN_I_MUL_I, product, rounds, k, {0}}));
    }
    return jn_pb_emit(b, n, (jn_instr){JN_I_ADD_I, dst, start, product, {0}});
}

janus_status jn_pb_decided(jn_builder *b, jn_scope *s, const jn_node *n, size_t at) {
    const jn_segment *seg = b->code.data[at].aux;
    const jn_branch *br = seg->branch;
    uint32_t rounds = 0;
    if (br->counts) {
        JN_TRY(jn_pb_new_slot(b, JANUS_KIND_INT, &rounds));
        JN_TRY(jn_pb_emit(
            b, n,
            (jn_instr){JN_I_ITEM, rounds, seg->output_slot[br->n_results], JANUS_KIND_INT, {0}}));
    }
    for (uint32_t i = 0; br->loop && i < n->n_out; i++) {
        uint32_t dst, src;
        int64_t step = 0;
        bool same = is_unchanged(n->subs[1], i);
        if (!same && !is_counter(n->subs[0], n->subs[1], i, &step))
            continue;
        JN_TRY(jn_pb_value_slot(b, s, n->in[carried_param(n->subs[1], i)], &src));
        JN_TRY(jn_pb_out_slot(b, s, n, i, &dst));
        JN_TRY(same ? jn_pb_emit(b, n, (jn_instr){JN_I_MOVE, dst, src, 0, {0}})
                    : count(b, n, src, step, rounds, dst));
    }
    return JANUS_OK;
}
