/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of what was not entered before: see watch.h. */
#include "config.h"

#include "exec/plan/watch.h"

#include <string.h>

#include "exec/state/state.h"
#include "graph/base/status.h"

static bool is_conditional(jn_opcode op) {
    return op == JN_I_JFALSE || op == JN_I_JLT_IK || op == JN_I_JLE_IK || op == JN_I_JEQ_IK;
}

static bool falls_through(jn_opcode op) { return op != JN_I_JUMP && op != JN_I_RETURN; }

/* How many ways lead to each instruction. */
static void count_ways(const jn_plan *p, uint32_t *ways) {
    for (size_t i = 0; i < p->n_code; i++) {
        const jn_instr *in = &p->code[i];
        jn_opcode op = jn_opcode_of(in);
        if (falls_through(op) && i + 1 < p->n_code)
            ways[i + 1]++;
        if (is_conditional(op) || op == JN_I_JUMP)
            ways[in->imm]++;
        if (op == JN_I_DECIDE)
            ways[in->dst]++;
    }
}

/* Room for `n` more instructions behind the others. */
static janus_status extend(jn_plan *p, size_t n) {
    jn_arena *a = &p->set->arena;
    jn_instr *code = jn_arena_alloc(a, (p->n_code + n) * sizeof *code);
    const jn_node **where = jn_arena_zalloc(a, (p->n_code + n) * sizeof *where);
    if (!code || !where)
        return JN_NO_MEMORY();
    memcpy(code, p->code, p->n_code * sizeof *code);
    memcpy(where, p->where, p->n_code * sizeof *where);
    p->code = code;
    p->where = where;
    return JANUS_OK;
}

/* A way to an instruction that other ways lead to gets an instruction of its own, a jump; once it
 * is confirmed the way goes straight again. */
static janus_status mark_ways(jn_plan *p, const uint32_t *ways) {
    size_t n = p->n_code, extra = 0;
    for (size_t i = 0; i < n; i++)
        extra += is_conditional(jn_opcode_of(&p->code[i])) && ways[p->code[i].imm] > 1;
    if (extra)
        JN_TRY(extend(p, extra));
    for (size_t i = 0; i < n; i++) {
        jn_instr *in = &p->code[i];
        if (!is_conditional(jn_opcode_of(in)))
            continue;
        if (ways[i + 1] == 1)
            p->code[i + 1].op |= JN_MARKED;
        if (ways[in->imm] == 1) {
            p->code[in->imm].op |= JN_MARKED;
            continue;
        }
        p->code[p->n_code] =
            (jn_instr){.op = JN_I_JUMP | JN_MARKED, .dst = (uint32_t)i, .imm = in->imm};
        in->imm = (int64_t)p->n_code++;
    }
    return JANUS_OK;
}

janus_status jn_watch_plan(jn_plan *p) {
    uint32_t *ways = jn_calloc(p->n_code + 1, sizeof *ways);
    if (!ways)
        return JN_NO_MEMORY();
    count_ways(p, ways);
    janus_status st = mark_ways(p, ways);
    jn_free(ways);
    JN_TRY(st);
    p->code[0].op |= JN_MARKED;
    for (size_t i = 0; i < p->n_code; i++) {
        jn_opcode op = jn_opcode_of(&p->code[i]);
        if (op == JN_I_WHILE || op == JN_I_FOREACH)
            ((jn_loop *)p->code[i].aux)->unseen = JN_LOOP_NEVER | JN_LOOP_ONCE | JN_LOOP_OFTEN;
    }
    return JANUS_OK;
}

static janus_status met(jn_run *r, jn_mark m) {
    return jn_vec_push(&r->of_plan.met, m) ? JANUS_OK : JN_NO_MEMORY();
}

janus_status jn_watch_met(jn_run *r, jn_plan *p, const jn_instr *in) {
    uint32_t at = (uint32_t)(in - p->code);
    JN_TRY(met(r, (jn_mark){.plan = p, .at = at}));
    p->code[at].op &= ~(uint32_t)JN_MARKED;
    return JANUS_OK;
}

janus_status jn_watch_loop(jn_run *r, jn_loop *l, int64_t n) {
    uint8_t times = n == 0 ? JN_LOOP_NEVER : n == 1 ? JN_LOOP_ONCE : JN_LOOP_OFTEN;
    if (!(l->unseen & times))
        return JANUS_OK;
    JN_TRY(met(r, (jn_mark){.loop = l, .times = times}));
    l->unseen &= (uint8_t)~times;
    return JANUS_OK;
}

void jn_watch_module(janus_module *m) { m->watched = true; }

bool jn_watch_has_met(const jn_run *r) { return r->of_plan.met.n > 0; }

void jn_watch_confirm(jn_run *r) {
    for (size_t i = 0; i < r->of_plan.met.n; i++) {
        const jn_mark *m = &r->of_plan.met.data[i];
        const jn_instr *in = m->loop ? NULL : &m->plan->code[m->at];
        /* a jump of mark_ways: every other one goes forward */
        if (in && in->op == JN_I_JUMP && in->imm < m->at)
            m->plan->code[in->dst].imm = in->imm;
    }
    jn_vec_clear(&r->of_plan.met);
}

void jn_watch_end(jn_run *r) {
    for (size_t i = 0; i < r->of_plan.met.n; i++) {
        const jn_mark *m = &r->of_plan.met.data[i];
        if (m->loop)
            m->loop->unseen |= m->times;
        else
            m->plan->code[m->at].op |= JN_MARKED;
    }
    jn_vec_free(&r->of_plan.met);
}
