/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scalar nodes as instructions: constants folded into them, comparisons into branches, everything
 * without an instruction of its own through jn_scalar_eval.
 */
#include "config.h"

#include "exec/plan/plan_internal.h"

#include "graph/base/status.h"
#include "ops/op_ids.h"

static bool is_int(const jn_subgraph *g, jn_value v) {
    return jn_value_type(g, v)->kind == JANUS_KIND_INT;
}
static bool is_float(const jn_subgraph *g, jn_value v) {
    return jn_value_type(g, v)->kind == JANUS_KIND_FLOAT;
}

static const struct {
    const char *name;
    int ii, ik, ff; /* opcode on two ints, on an int and a constant, on two floats; -1: none */
} scalar_fast[] = {
    {"s.add", JN_I_ADD_I, JN_I_ADD_IK, JN_I_ADD_F},
    {"s.sub", JN_I_SUB_I, JN_I_ADD_IK, JN_I_SUB_F},
    {"s.mul", JN_I_MUL_I, -1, JN_I_MUL_F},
    {"s.lt", JN_I_LT_I, JN_I_LT_IK, JN_I_LT_F},
    {"s.le", JN_I_LE_I, JN_I_LE_IK, -1},
    {"s.eq", JN_I_EQ_I, JN_I_EQ_IK, -1},
    {"s.ne", JN_I_NE_I, -1, -1},
};

static int fast_index(const jn_node *n) {
    if (n->n_in == 2)
        for (int i = 0; i < (int)(sizeof scalar_fast / sizeof *scalar_fast); i++)
            if (jn_op_named(n->op, scalar_fast[i].name))
                return i;
    return -1;
}

/* The constant that n's second operand can be as an immediate. */
bool jn_pb_immediate(const jn_scope *s, const jn_node *n, int64_t *imm) {
    int f = fast_index(n);
    if (f < 0 || scalar_fast[f].ik < 0 || !is_int(s->g, n->in[0]) || !is_int(s->g, n->in[1]) ||
        !jn_pb_const_of(s, n->in[1], imm) || *imm < INT32_MIN + 1 || *imm > INT32_MAX)
        return false;
    if (jn_op_named(n->op, "s.sub"))
        *imm = -*imm;
    return true;
}

/* A comparison whose only use is the condition of an `if`: becomes the branch. */
int jn_pb_branch_opcode(const jn_scope *s, jn_value cond) {
    const jn_node *n = jn_value_node(s->g, cond);
    int64_t imm;
    if (!n->op || n->op->role != JN_ROLE_SCALAR || s->cut.uses[n->id] != 1 ||
        !jn_pb_immediate(s, n, &imm))
        return -1;
    switch (scalar_fast[fast_index(n)].ik) {
    case JN_I_LT_IK:
        return JN_I_JLT_IK;
    case JN_I_LE_IK:
        return JN_I_JLE_IK;
    case JN_I_EQ_IK:
        return JN_I_JEQ_IK;
    default:
        return -1;
    }
}

const jn_node *jn_pb_type_test(const jn_scope *s, const jn_node *n, int64_t *token) {
    if (n->op->id != JN_OP_ID_s_eq || jn_value_is_none(n->in[0]) || !n->in[0].node)
        return NULL;
    const jn_node *t = jn_value_node(s->g, n->in[0]);
    const jn_node *user = s->cut.user[n->id] ? s->g->nodes.data[s->cut.user[n->id]] : NULL;
    if (!t->op || t->op->id != JN_OP_ID_host_type || s->cut.uses[t->id] != 1 ||
        !jn_pb_const_of(s, n->in[1], token))
        return NULL;
    if (user && user->op->role == JN_ROLE_IF && jn_pb_immediate(s, n, &(int64_t){0}))
        return NULL; /* a branch */
    return t;
}

janus_status jn_pb_scalar(jn_builder *b, jn_scope *s, const jn_node *n) {
    uint32_t dst, x = JN_NO_SLOT, y = JN_NO_SLOT;
    int64_t imm;
    JN_TRY(jn_pb_out_slot(b, s, n, 0, &dst));
    int f = fast_index(n);
    if (jn_pb_immediate(s, n, &imm)) {
        JN_TRY(jn_pb_value_slot(b, s, n->in[0], &x));
        return jn_pb_emit(b, n, (jn_instr){(uint32_t)scalar_fast[f].ik, dst, x, 0, {.imm = imm}});
    }
    if (f >= 0 && is_int(s->g, n->in[0]) && is_int(s->g, n->in[1])) {
        JN_TRY(jn_pb_value_slot(b, s, n->in[0], &x));
        JN_TRY(jn_pb_value_slot(b, s, n->in[1], &y));
        return jn_pb_emit(b, n, (jn_instr){(uint32_t)scalar_fast[f].ii, dst, x, y, {0}});
    }
    if (f >= 0 && scalar_fast[f].ff >= 0 && is_float(s->g, n->in[0]) && is_float(s->g, n->in[1])) {
        JN_TRY(jn_pb_value_slot(b, s, n->in[0], &x));
        JN_TRY(jn_pb_value_slot(b, s, n->in[1], &y));
        return jn_pb_emit(b, n, (jn_instr){(uint32_t)scalar_fast[f].ff, dst, x, y, {0}});
    }
    jn_scalar_call *c = jn_arena_zalloc(b->arena, sizeof *c);
    if (!c)
        return JN_NO_MEMORY();
    if (n->n_in > 4)
        return jn_error(JANUS_UNSUPPORTED, "%s: more than 4 scalar operands", n->op->name);
    c->op = n->op;
    c->node = n;
    c->n = n->n_in;
    for (uint32_t i = 0; i < n->n_in; i++) {
        JN_TRY(jn_pb_value_slot(b, s, n->in[i], &c->in[i]));
        c->kinds[i] = jn_value_type(s->g, n->in[i])->kind;
    }
    return jn_pb_emit(b, n, (jn_instr){JN_I_SCALAR, dst, 0, 0, {.aux = c}});
}

janus_status jn_pb_find_constants(jn_builder *b, jn_scope *s) {
    const jn_subgraph *g = s->g;
    s->needs_slot = jn_arena_zalloc(b->arena, g->nodes.n);
    if (!s->needs_slot)
        return JN_NO_MEMORY();
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        int64_t imm;
        if (jn_is_tensor_node(n))
            continue;
        bool folds = n->op->role == JN_ROLE_SCALAR &&
                     (jn_pb_immediate(s, n, &imm) || jn_pb_type_test(s, n, &imm));
        for (uint32_t k = 0; k < n->n_in; k++)
            if (!jn_value_is_none(n->in[k]) && !(folds && k == 1))
                s->needs_slot[n->in[k].node] = true;
    }
    for (size_t i = 0; i < g->results.n; i++)
        if (!jn_value_is_none(g->results.data[i]))
            s->needs_slot[g->results.data[i].node] = true;
    for (size_t i = 0; i < g->saved.n; i++)
        s->needs_slot[g->saved.data[i].value.node] = true;
    return JANUS_OK;
}
