/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schedule that a module has without a run: what its plans issue, and what that waits for.
 *
 *     {"plans": [{"sub": name, "saved": bool, "levels": n, "steps":
 *       [{"do": "segment" | "call" | "wait" | "host", "sub": name, "nodes": [id], "level": n,
 * ...}]}]}
 *
 * `level` is the earliest a step can have: one more than the last segment or call that it reads of;
 * parameters are at level 0.  What a value decides waits for its segment, so what the host strand
 * issues behind it is later.  A segment that does the same as an earlier one of another place says
 * which: "like".  Nodes belong to "sub", which is another SubGraph than the plan's in an arm that
 * is inlined.
 */
#include "config.h"

#include "exec/plan/plan_internal.h"

#include <string.h>

#include "graph/base/status.h"

typedef struct drawing {
    const jn_plan *plan;
    jn_str *s;
    uint32_t *level; /* per slot */
    uint32_t floor;  /* what the host strand has waited for */
    uint32_t last;
    bool any;
} drawing;

static void quote(jn_str *s, const char *text) { jn_str_quote(s, text, strlen(text)); }

static const jn_subgraph *home(const jn_planset *set, const jn_node *n) {
    for (size_t i = 0; i < set->module->subs.n; i++) {
        const jn_subgraph *g = set->module->subs.data[i];
        if (n->id < g->nodes.n && g->nodes.data[n->id] == n)
            return g;
    }
    return NULL;
}

static uint32_t level_of(const drawing *d, uint32_t slot) {
    return slot == JN_NO_SLOT ? 0 : d->level[slot];
}

static uint32_t latest(const drawing *d, const uint32_t *slot, uint32_t n) {
    uint32_t max = 0;
    for (uint32_t i = 0; i < n; i++)
        if (level_of(d, slot[i]) > max)
            max = level_of(d, slot[i]);
    return max;
}

static uint32_t later(uint32_t a, uint32_t b) { return a > b ? a : b; }

static void set_level(drawing *d, const uint32_t *slot, uint32_t n, uint32_t level) {
    for (uint32_t i = 0; i < n; i++)
        if (slot[i] != JN_NO_SLOT)
            d->level[slot[i]] = later(d->level[slot[i]], level);
}

/* ---- text ---------------------------------------------------------------------------------------
 */

static void begin_step(drawing *d, const char *what, const jn_node *n, uint32_t level) {
    const jn_subgraph *g = home(d->plan->set, n);
    jn_str_printf(d->s, "%s\n   {\"do\":\"%s\",\"sub\":", d->any ? "," : "", what);
    quote(d->s, g ? g->name : "");
    jn_str_printf(d->s, ",\"level\":%u", level);
    d->any = true;
    d->last = later(d->last, level);
}

static void one_node(drawing *d, const char *what, const jn_node *n, uint32_t level) {
    begin_step(d, what, n, level);
    jn_str_printf(d->s, ",\"nodes\":[%u]}", n->id);
}

static void segment(drawing *d, const jn_segment *seg, const jn_node *at, bool rows) {
    uint32_t level = latest(d, seg->input_slot, seg->n_inputs);
    level = later(level, latest(d, seg->acc_slot, seg->n_accs));
    for (uint32_t i = 0; i < seg->n_scalars; i++)
        if (!seg->scalars[i].is_const)
            level = later(level, level_of(d, seg->scalars[i].slot));
    level = later(level, d->floor) + 1;
    begin_step(d, "segment", at, level);
    jn_str_printf(d->s, ",\"id\":%u", seg->id);
    if (seg->twin)
        jn_str_printf(d->s, ",\"like\":%u", seg->twin->id);
    if (rows)
        jn_str_append(d->s, ",\"rows\":true");
    jn_str_append(d->s, ",\"nodes\":[");
    for (uint32_t i = 0; i < seg->n_nodes; i++)
        jn_str_printf(d->s, i ? ",%u" : "%u", seg->nodes[i].node->id);
    jn_str_append(d->s, "]}");
    set_level(d, seg->output_slot, seg->n_outputs, level);
    set_level(d, seg->acc_slot, seg->n_accs, level);
}

static void call(drawing *d, const jn_node *n, const jn_plan *const callee[2], const jn_slots *args,
                 const jn_slots *results, uint32_t frame_slot, uint32_t also) {
    uint32_t level = later(later(latest(d, args->slot, args->n), level_of(d, also)), d->floor) + 1;
    begin_step(d, "call", n, level);
    jn_str_printf(d->s, ",\"nodes\":[%u],\"of\":[", n->id);
    for (int i = 0, some = 0; i < 2; i++)
        if (callee[i]) {
            jn_str_append(d->s, some++ ? "," : "");
            quote(d->s, callee[i]->sub->name);
        }
    jn_str_printf(d->s, "],\"saved\":%s}", frame_slot != JN_NO_SLOT ? "true" : "false");
    set_level(d, results->slot, results->n, level);
    set_level(d, &frame_slot, 1, level);
    for (uint32_t i = 0; i < args->n; i++) /* sums go on behind it */
        if (args->slot[i] != JN_NO_SLOT && d->plan->slot_kind[args->slot[i]] == JANUS_KIND_ACC)
            set_level(d, &args->slot[i], 1, level);
}

/* The host strand needs the value of a tensor: what it does next comes behind. */
static void wait_for(drawing *d, const jn_node *n, uint32_t slot) {
    uint32_t level = level_of(d, slot);
    one_node(d, "wait", n, level);
    d->floor = later(d->floor, level);
}

/* ---- instructions -------------------------------------------------------------------------------
 */

static void step(drawing *d, const jn_instr *in, const jn_node *n) {
    uint32_t level = 0;
    switch (jn_opcode_of(in)) {
    case JN_I_ISSUE:
    case JN_I_ROWS:
        segment(d, in->aux, n, jn_opcode_of(in) == JN_I_ROWS);
        return;
    case JN_I_INVOKE:
    case JN_I_GRAD_CALL: {
        const jn_call *c = in->aux;
        const jn_plan *callee[2] = {c->callee[0], c->callee[1]};
        call(d, n, callee, &c->args, &c->results, c->frame_slot, c->cond);
        return;
    }
    case JN_I_WHILE:
    case JN_I_FOREACH:
    case JN_I_GRAD_LOOP: {
        const jn_loop *l = in->aux;
        const jn_plan *callee[2] = {l->cond ? l->cond : l->body, l->cond ? l->body : NULL};
        call(d, n, callee, &l->carried, &l->results, l->frame_slot,
             l->count != JN_NO_SLOT ? l->count : l->list_slot);
        return;
    }
    case JN_I_TRUTH:
    case JN_I_ITEM:
        wait_for(d, n, in->a);
        return;
    case JN_I_ASSERT:
        if (in->b == JANUS_KIND_TENSOR)
            wait_for(d, n, in->a);
        return;
    case JN_I_HOST:
    case JN_I_TYPE_IS: {
        const jn_host_call *c = in->aux;
        level = latest(d, c->in, c->n);
        one_node(d, "host", n, level);
        break;
    }
    case JN_I_DRAW: {
        const jn_draw *draw = in->aux;
        level = level_of(d, draw->like);
        set_level(d, &in->a, 1, level);
        break;
    }
    case JN_I_SCALAR: {
        const jn_scalar_call *c = in->aux;
        level = latest(d, c->in, c->n);
        break;
    }
    case JN_I_ADD_I:
    case JN_I_SUB_I:
    case JN_I_MUL_I:
    case JN_I_LT_I:
    case JN_I_LE_I:
    case JN_I_EQ_I:
    case JN_I_NE_I:
    case JN_I_ADD_F:
    case JN_I_SUB_F:
    case JN_I_MUL_F:
    case JN_I_LT_F:
        level = later(level_of(d, in->a), level_of(d, in->b));
        break;
    case JN_I_MOVE:
    case JN_I_ADD_IK:
    case JN_I_LT_IK:
    case JN_I_LE_IK:
    case JN_I_EQ_IK:
    case JN_I_NOT:
    case JN_I_SIZE:
    case JN_I_FRAME_GET:
    case JN_I_ACC_NEW:
    case JN_I_ACC_GET:
    case JN_I_ACC_USED:
        level = level_of(d, in->a);
        break;
    default: /* no value comes of it: jumps, constants, the return, decisions left to a device */
        return;
    }
    set_level(d, &in->dst, 1, level);
}

static janus_status draw_plan(const jn_plan *p, bool first, jn_str *s) {
    drawing d = {.plan = p, .s = s, .level = jn_calloc(p->n_slots + 1, sizeof *d.level)};
    if (!d.level)
        return JN_NO_MEMORY();
    jn_str_append(s, first ? "\n  {\"sub\":" : ",\n  {\"sub\":");
    quote(s, p->sub->name);
    jn_str_printf(s, ",\"saved\":%s,\"steps\":[", p->saved ? "true" : "false");
    for (size_t i = 0; i < p->n_code; i++) {
        const jn_instr *in = &p->code[i];
        if (p->where[i]) /* a branch that a device may decide is drawn as the host decides it */
            step(&d, in, p->where[i]);
    }
    jn_str_printf(s, "],\"levels\":%u}", d.last);
    jn_free(d.level);
    return JANUS_OK;
}

/* ---- which plans --------------------------------------------------------------------------------
 */

static void mark_callees(const jn_plan *p, bool *wanted) {
    const jn_plan *base = p->set->plans;
    for (size_t i = 0; i < p->n_code; i++) {
        jn_opcode op = jn_opcode_of(&p->code[i]);
        const jn_plan *to[2] = {NULL, NULL};
        if (op == JN_I_INVOKE || op == JN_I_GRAD_CALL) {
            const jn_call *c = p->code[i].aux;
            to[0] = c->callee[0];
            to[1] = c->callee[1];
        } else if (op == JN_I_WHILE || op == JN_I_FOREACH || op == JN_I_GRAD_LOOP) {
            const jn_loop *l = p->code[i].aux;
            to[0] = l->cond;
            to[1] = l->body;
        }
        for (int k = 0; k < 2; k++)
            if (to[k])
                wanted[to[k] - base] = true;
    }
}

/* Runs begin in what nobody else calls, and in @main. */
static void mark_entries(const janus_module *m, bool *wanted) {
    bool *called = wanted + 2 * m->subs.n, any = false;
    for (size_t i = 0; i < m->subs.n; i++) {
        const jn_subgraph *g = m->subs.data[i];
        for (size_t k = 1; k < g->nodes.n; k++)
            for (int j = 0; j < 2 && g->nodes.data[k]->subs[j]; j++)
                called[g->nodes.data[k]->subs[j]->index] |= g->nodes.data[k]->subs[j] != g;
    }
    for (size_t i = 0; i < m->subs.n; i++)
        any |= wanted[2 * i] =
            m->subs.data[i]->defined && (!called[i] || strcmp(m->subs.data[i]->name, "main") == 0);
    if (!any && m->subs.n)
        wanted[0] = m->subs.data[0]->defined;
}

static janus_status draw_all(jn_planset *set, bool *wanted, jn_str *s) {
    size_t n = 2 * set->module->subs.n;
    bool first = true, more = true;
    bool *done = jn_calloc(n + 1, sizeof *done);
    janus_status st = done ? JANUS_OK : JN_NO_MEMORY();
    jn_str_append(s, "{\"plans\":[");
    while (more && st == JANUS_OK) {
        more = false;
        for (size_t i = 0; i < n && st == JANUS_OK; i++) {
            jn_plan *p;
            if (!wanted[i] || done[i])
                continue;
            done[i] = more = true;
            st = jn_plan_get(set, set->plans[i].sub, set->plans[i].saved, &p);
            if (st == JANUS_OK) {
                mark_callees(p, wanted);
                st = draw_plan(p, first, s);
                first = false;
            }
        }
    }
    jn_str_append(s, "]}");
    jn_free(done);
    return st == JANUS_OK && !jn_str_ok(s) ? JN_NO_MEMORY() : st;
}

janus_status jn_plans_json(const janus_module *m, jn_str *s) {
    jn_planset *set;
    JN_TRY(jn_planset_take(m, &set));
    bool *wanted = jn_calloc(3 * m->subs.n + 1, sizeof *wanted); /* plans; SubGraphs called */
    janus_status st = wanted ? JANUS_OK : JN_NO_MEMORY();
    if (wanted) {
        mark_entries(m, wanted);
        st = draw_all(set, wanted, s);
    }
    jn_free(wanted);
    jn_planset_return(set);
    return st;
}
