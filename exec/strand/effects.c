/* SPDX-License-Identifier: Apache-2.0 */
/* What steps of the host strand read and write: see effects.h. */
#include "config.h"

#include "exec/strand/effects.h"

#include "exec/heap/heap.h"
#include "exec/plan/plan.h"
#include "exec/schedule/schedule.h"
#include "exec/strand/strand.h"
#include "graph/base/status.h"

enum { CLASS_DRAW = 4, CLASS_SUM = 8 }; /* beside those of exec/heap/host_ops.c */

jn_effects jn_instr_effects(const jn_instr *in) {
    switch (jn_opcode_of(in)) {
    case JN_I_HOST:
        return jn_host_effects(in->aux);
    case JN_I_DRAW:
        return (jn_effects){0, CLASS_DRAW, 0};
    case JN_I_ACC_GET:
    case JN_I_ACC_USED:
        return (jn_effects){0, CLASS_SUM, 0};
    case JN_I_ISSUE:
    case JN_I_ROWS:
        return (jn_effects){0, ((const jn_segment *)in->aux)->n_accs ? CLASS_SUM : 0, 0};
    default:
        return (jn_effects){0, 0, 0};
    }
}

/* A compiled plan says it exactly; a SubGraph's nodes say enough. */
static janus_status of_node(const jn_planset *s, const jn_node *n, jn_effects *out) {
    jn_effects e = {0, 0, 0};
    if (!n->op)
        return JANUS_OK;
    for (int i = 0; i < 2 && n->subs[i]; i++)
        e = jn_effects_both(e, s->effects[n->subs[i]->index]);
    if (jn_draws(n))
        e.writes |= CLASS_DRAW;
    else if (n->op->role == JN_ROLE_ACC)
        e.writes |= CLASS_SUM;
    else if (n->op->role == JN_ROLE_HOST && !jn_op_named(n->op, "store")) {
        jn_host_call c = {.node = n, .key = jn_int_attr(n, "key")};
        JN_TRY(jn_host_what_of(n->op, &c.what));
        e = jn_effects_both(e, jn_host_effects(&c));
    }
    *out = jn_effects_both(*out, e);
    return JANUS_OK;
}

static janus_status all(jn_planset *s) {
    const janus_module *m = s->module;
    s->effects = jn_arena_zalloc(&s->arena, (m->subs.n + 1) * sizeof *s->effects);
    if (!s->effects)
        return JN_NO_MEMORY();
    for (bool more = true; more;) {
        more = false;
        for (size_t i = m->subs.n; i-- > 0;) {
            const jn_subgraph *g = m->subs.data[i];
            jn_effects e = s->effects[i];
            for (size_t k = 1; g->defined && k < g->nodes.n; k++)
                JN_TRY(of_node(s, g->nodes.data[k], &e));
            more |= !jn_effects_equal(e, s->effects[i]);
            s->effects[i] = e;
        }
    }
    return JANUS_OK;
}

janus_status jn_effects_of(jn_planset *s, const jn_subgraph *g, jn_effects *out) {
    if (!s->effects)
        JN_TRY(all(s));
    *out = s->effects[g->index];
    return JANUS_OK;
}

/* What a call may do. */
static janus_status of_call(jn_planset *s, const jn_instr *in, jn_effects *out) {
    jn_effects e;
    const jn_subgraph *subs[2] = {NULL, NULL};
    jn_opcode op = jn_opcode_of(in);
    if (op == JN_I_INVOKE || op == JN_I_GRAD_CALL) {
        const jn_call *c = in->aux;
        subs[0] = c->sub[0];
        subs[1] = c->sub[1];
    } else if (op == JN_I_WHILE || op == JN_I_FOREACH || op == JN_I_GRAD_LOOP) {
        const jn_loop *l = in->aux;
        subs[0] = l->body->sub;
        subs[1] = l->cond ? l->cond->sub : NULL;
    }
    for (int i = 0; i < 2; i++)
        if (subs[i]) {
            JN_TRY(jn_effects_of(s, subs[i], &e));
            *out = jn_effects_both(*out, e);
        }
    return JANUS_OK;
}

janus_status jn_effects_from(jn_plan *p, const jn_instr *in, jn_effects *out) {
    if (!p->effects) { /* jumps go forward only */
        jn_effects *from = jn_arena_alloc(&p->set->arena, (p->n_code + 1) * sizeof *from);
        if (!from)
            return JN_NO_MEMORY();
        from[p->n_code] = (jn_effects){0, 0, 0};
        for (size_t i = p->n_code; i-- > 0;) {
            from[i] = jn_effects_both(from[i + 1], jn_instr_effects(&p->code[i]));
            JN_TRY(of_call(p->set, &p->code[i], &from[i]));
        }
        p->effects = from;
    }
    *out = p->effects[in - p->code];
    return JANUS_OK;
}
