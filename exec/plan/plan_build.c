/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a SubGraph's body to host-strand instructions and segments.
 *
 * Bodies are SSA, so a value's slot is written once and arms of an `if` can share the frame of the
 * body they are inlined in: an arm's parameters are simply the slots of its operands.  Constants
 * that an instruction can hold are folded into it; a comparison used by one `if` becomes the
 * branch.
 */
#include "config.h"

#include "exec/plan/plan_internal.h"
#include "exec/state/state.h"

#include <string.h>

#include "graph/base/status.h"
#include "ops/op_ids.h"

enum { MAX_INLINE_DEPTH = 32 };

static janus_status compile_body(jn_builder *b, jn_scope *s);

janus_status jn_pb_new_slot(jn_builder *b, uint8_t kind, uint32_t *out) {
    *out = (uint32_t)b->kind.n;
    return jn_vec_push(&b->kind, kind) ? JANUS_OK : JN_NO_MEMORY();
}

janus_status jn_pb_emit(jn_builder *b, const jn_node *n, jn_instr in) {
    return jn_vec_push(&b->code, in) && jn_vec_push(&b->where, n) ? JANUS_OK : JN_NO_MEMORY();
}

uint32_t jn_pb_slot_of(const jn_scope *s, jn_value v) {
    return jn_value_is_none(v) ? JN_NO_SLOT : s->slot[v.node][v.index];
}

janus_status jn_pb_out_slot(jn_builder *b, jn_scope *s, const jn_node *n, uint32_t i,
                            uint32_t *out) {
    if (s->slot[n->id][i] == JN_NO_SLOT)
        JN_TRY(jn_pb_new_slot(b, n->out[i]->kind, &s->slot[n->id][i]));
    *out = s->slot[n->id][i];
    return JANUS_OK;
}

bool jn_pb_const_of(const jn_scope *s, jn_value v, int64_t *bits) {
    return !jn_value_is_none(v) && v.node && jn_const_bits(jn_value_node(s->g, v), bits);
}

/* Constants get a slot only when an instruction cannot hold them. */
janus_status jn_pb_value_slot(jn_builder *b, jn_scope *s, jn_value v, uint32_t *out) {
    *out = jn_pb_slot_of(s, v);
    return *out != JN_NO_SLOT || jn_value_is_none(v)
               ? JANUS_OK
               : jn_error(JANUS_INTERNAL, "value %%%u of @%s has no slot", v.node, s->g->name);
    (void)b;
}

static janus_status slots_of(jn_builder *b, jn_scope *s, const jn_value *v, uint32_t n,
                             jn_slots *out) {
    uint32_t *slot = jn_arena_alloc(b->arena, (n + 1) * sizeof *slot);
    if (!slot)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < n; i++)
        JN_TRY(jn_pb_value_slot(b, s, v[i], &slot[i]));
    *out = (jn_slots){n, slot};
    return JANUS_OK;
}

static janus_status result_slots(jn_builder *b, jn_scope *s, const jn_node *n, uint32_t count,
                                 jn_slots *out) {
    uint32_t *slot = jn_arena_alloc(b->arena, (count + 1) * sizeof *slot);
    if (!slot)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < count; i++)
        JN_TRY(jn_pb_out_slot(b, s, n, i, &slot[i]));
    *out = (jn_slots){count, slot};
    return JANUS_OK;
}

/* ---- calls --------------------------------------------------------------------------------------
 */

static bool is_save_form(const jn_op *op) {
    size_t n = strlen(op->name);
    return n > 5 && strcmp(op->name + n - 5, ".save") == 0;
}

/* Whether this node's call keeps its frame: by its op, or because the saved plan lists it. */
static bool saves(const jn_builder *b, const jn_scope *s, const jn_node *n) {
    if (is_save_form(n->op))
        return true;
    if (b->plan->saved && s->g == b->plan->sub)
        for (size_t i = 0; i < s->g->saved.n; i++)
            if (s->g->saved.data[i].frame && s->g->saved.data[i].value.node == n->id)
                return true;
    return false;
}

/* Where the frame goes: the .save form's last result, or a slot of its own. */
static janus_status frame_slot(jn_builder *b, jn_scope *s, const jn_node *n, uint32_t *out) {
    *out = JN_NO_SLOT;
    if (!saves(b, s, n))
        return JANUS_OK;
    if (is_save_form(n->op))
        return jn_pb_out_slot(b, s, n, n->n_out - 1, out);
    JN_TRY(jn_pb_new_slot(b, JANUS_KIND_FRAME, out));
    for (size_t i = 0; i < s->g->saved.n; i++)
        if (s->g->saved.data[i].frame && s->g->saved.data[i].value.node == n->id)
            b->plan->member[i] = *out;
    return JANUS_OK;
}

static uint32_t n_results(const jn_node *n) { return n->n_out - (is_save_form(n->op) ? 1 : 0); }

/* cond: slot of an `if` condition, JN_NO_SLOT for invoke. */
static janus_status compile_call(jn_builder *b, jn_scope *s, const jn_node *n, uint32_t cond) {
    jn_call *c = jn_arena_zalloc(b->arena, sizeof *c);
    if (!c)
        return JN_NO_MEMORY();
    unsigned first_arg = cond != JN_NO_SLOT;
    c->node = n;
    c->cond = cond;
    JN_TRY(slots_of(b, s, n->in + first_arg, n->n_in - first_arg, &c->args));
    JN_TRY(frame_slot(b, s, n, &c->frame_slot));
    JN_TRY(result_slots(b, s, n, n_results(n), &c->results));
    bool saved = c->frame_slot != JN_NO_SLOT;
    for (int i = 0; i < 2 && n->subs[i]; i++) {
        c->sub[i] = n->subs[i];
        c->callee[i] = &b->plan->set->plans[2 * n->subs[i]->index + saved];
    }
    return jn_pb_emit(b, n, (jn_instr){JN_I_INVOKE, 0, 0, 0, {.aux = c}});
}

static janus_status compile_if_grad(jn_builder *b, jn_scope *s, const jn_node *n) {
    jn_call *c = jn_arena_zalloc(b->arena, sizeof *c);
    if (!c)
        return JN_NO_MEMORY();
    uint32_t frame;
    c->node = n;
    c->cond = JN_NO_SLOT;
    JN_TRY(jn_pb_value_slot(b, s, n->in[0], &frame));
    JN_TRY(slots_of(b, s, n->in, n->n_in, &c->args));
    JN_TRY(frame_slot(b, s, n, &c->frame_slot));
    JN_TRY(result_slots(b, s, n, n_results(n), &c->results));
    bool saved = c->frame_slot != JN_NO_SLOT;
    for (int i = 0; i < 2 && n->subs[i]; i++) {
        c->sub[i] = n->subs[i];
        c->callee[i] = &b->plan->set->plans[2 * n->subs[i]->index + saved];
    }
    return jn_pb_emit(b, n, (jn_instr){JN_I_GRAD_CALL, 0, frame, 0, {.aux = c}});
}

/* Parameters that an iteration hands on are those that are not shared, nor frames. */
static janus_status carried_params(jn_builder *b, const jn_subgraph *body, uint32_t first,
                                   jn_loop *l) {
    uint32_t *at = jn_arena_alloc(b->arena, (body->params.n + 1) * sizeof *at), n = 0;
    if (!at)
        return JN_NO_MEMORY();
    for (uint32_t p = first; p < body->params.n; p++) {
        const jn_param *param = &body->params.data[p];
        if (param->type->kind == JANUS_KIND_FRAME)
            l->lists = true;
        else if (!param->shared)
            at[n++] = p - first;
    }
    if (n < l->results.n)
        return jn_error(JANUS_INTERNAL, "@%s: %u carried parameters, %u results", body->name, n,
                        l->results.n);
    l->carried_at = at;
    return JANUS_OK;
}

/* Left to the device where that can be; `s` NULL: never. */
static bool decides(const jn_builder *b, const jn_scope *s, const jn_node *n) {
    return s && !b->plan->saved && jn_pb_can_decide(s->g, n);
}

static janus_status compile_decided_loop(jn_builder *b, jn_scope *s, const jn_node *n,
                                         jn_instr loop) {
    size_t decide;
    JN_TRY(jn_pb_decide(b, s, n, &decide));
    JN_TRY(jn_pb_emit(b, n, loop));
    size_t jump = b->code.n;
    JN_TRY(jn_pb_emit(b, n, (jn_instr){JN_I_JUMP, 0, 0, 0, {0}}));
    b->code.data[decide].dst = (uint32_t)b->code.n;
    JN_TRY(jn_pb_decided(b, s, n, decide));
    b->code.data[jump].imm = (int64_t)b->code.n;
    return JANUS_OK;
}

static janus_status compile_loop(jn_builder *b, jn_scope *s, const jn_node *n) {
    jn_loop *l = jn_arena_zalloc(b->arena, sizeof *l);
    if (!l)
        return JN_NO_MEMORY();
    l->node = n;
    l->count = l->frame_slot = l->list_slot = JN_NO_SLOT;
    jn_plan *plans = b->plan->set->plans;
    uint32_t opcode = JN_I_WHILE, first = 1;
    JN_TRY(frame_slot(b, s, n, &l->frame_slot));
    if (n->op->role == JN_ROLE_WHILE) {
        first = 0;
        l->cond = &plans[2 * n->subs[0]->index];
        l->body = &plans[2 * n->subs[1]->index + (l->frame_slot != JN_NO_SLOT)];
        JN_TRY(slots_of(b, s, n->in, n->n_in, &l->carried));
    } else if (n->op->role == JN_ROLE_FOREACH) {
        opcode = JN_I_FOREACH;
        l->body = &plans[2 * n->subs[0]->index + (l->frame_slot != JN_NO_SLOT)];
        JN_TRY(jn_pb_value_slot(b, s, n->in[0], &l->count));
        JN_TRY(slots_of(b, s, n->in + 1, n->n_in - 1, &l->carried));
    } else {
        opcode = JN_I_GRAD_LOOP;
        l->body = &plans[2 * n->subs[0]->index + (l->frame_slot != JN_NO_SLOT)];
        JN_TRY(jn_pb_value_slot(b, s, n->in[0], &l->list_slot));
        JN_TRY(slots_of(b, s, n->in + 1, n->n_in - 1, &l->carried));
    }
    JN_TRY(result_slots(b, s, n, n_results(n), &l->results));
    JN_TRY(carried_params(b, l->body->sub, first, l));
    jn_instr in = {opcode, 0, 0, 0, {.aux = l}};
    return decides(b, n->op->role == JN_ROLE_WHILE ? s : NULL, n)
               ? compile_decided_loop(b, s, n, in)
               : jn_pb_emit(b, n, in);
}

static janus_status return_slots(jn_builder *b, jn_scope *s) {
    jn_slots *list = jn_arena_alloc(b->arena, sizeof *list);
    if (!list)
        return JN_NO_MEMORY();
    JN_TRY(slots_of(b, s, s->g->results.data, (uint32_t)s->g->results.n, list));
    return jn_pb_emit(b, NULL, (jn_instr){JN_I_RETURN, 0, 0, 0, {.aux = list}});
}

static bool inlined_already(const jn_scope *s, const jn_subgraph *g) {
    for (; s; s = s->outer)
        if (s->g == g)
            return true;
    return false;
}

/* Whether node n computes exactly the results of its body, in order, at its end. */
static bool is_tail(const jn_scope *s, const jn_node *n) {
    if (!s->tail || n->id + 1 != s->g->nodes.n || s->g->results.n != n->n_out)
        return false;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (s->g->results.data[i].node != n->id || s->g->results.data[i].index != i)
            return false;
    return true;
}

static janus_status compile_arm(jn_builder *b, jn_scope *s, const jn_node *n, int arm, bool tail,
                                const jn_slots *args) {
    const jn_subgraph *g = n->subs[arm];
    jn_scope in = {.g = g, .outer = s, .depth = s->depth + 1, .tail = tail};
    in.slot = jn_arena_alloc(b->arena, g->nodes.n * sizeof *in.slot);
    if (!in.slot)
        return JN_NO_MEMORY();
    in.slot[0] = (uint32_t *)args->slot;
    JN_TRY(compile_body(b, &in));
    if (tail)
        return in.returned ? JANUS_OK : return_slots(b, &in);
    for (uint32_t i = 0; i < n->n_out; i++) {
        uint32_t dst, src = jn_pb_slot_of(&in, g->results.data[i]);
        JN_TRY(jn_pb_out_slot(b, s, n, i, &dst));
        JN_TRY(jn_pb_emit(b, n, (jn_instr){JN_I_MOVE, dst, src, 0, {0}}));
    }
    return JANUS_OK;
}

/* Arms of plain plans are inlined, unless they contain themselves. */
static bool inlines(const jn_builder *b, const jn_scope *s, const jn_node *n) {
    return !b->plan->saved && !is_save_form(n->op) && s->depth < MAX_INLINE_DEPTH &&
           !inlined_already(s, n->subs[0]) && !inlined_already(s, n->subs[1]);
}

static janus_status condition_slot(jn_builder *b, jn_scope *s, const jn_node *n, uint32_t *out) {
    JN_TRY(jn_pb_value_slot(b, s, n->in[0], out));
    if (jn_value_type(s->g, n->in[0])->kind != JANUS_KIND_TENSOR)
        return JANUS_OK;
    uint32_t c = *out;
    JN_TRY(jn_pb_new_slot(b, JANUS_KIND_BOOL, out));
    return jn_pb_emit(b, n, (jn_instr){JN_I_TRUTH, *out, c, 0, {0}});
}

static janus_status compile_unary(jn_builder *b, jn_scope *s, const jn_node *n, uint32_t opcode,
                                  uint32_t extra, int64_t imm);

/* DECIDE, and behind it the scalars that only the host's condition needs. */
static janus_status compile_decision(jn_builder *b, jn_scope *s, const jn_node *n, size_t *out_at) {
    jn_condition c;
    JN_TRY(jn_pb_decide(b, s, n, out_at));
    if (!jn_pb_condition(s->g, n->in[0], &c))
        return jn_error(JANUS_INTERNAL, "a condition that is no tensor's element");
    if (c.n > 0)
        JN_TRY(compile_unary(b, s, c.scalar[0], JN_I_ITEM, c.scalar[0]->out[0]->kind, 0));
    return c.n > 1 ? jn_pb_scalar(b, s, c.scalar[1]) : JANUS_OK;
}

/* A scalar that only the condition of an `if` which a device may decide is made from. */
static bool is_for_decision(const jn_builder *b, const jn_scope *s, const jn_node *n) {
    uint32_t user = s->cut.user[n->id];
    jn_condition c;
    if (user && s->g->nodes.data[user]->op->id == JN_OP_ID_s_bool)
        user = s->cut.user[user];
    const jn_node *branch = user ? s->g->nodes.data[user] : NULL;
    return branch && branch->op->role == JN_ROLE_IF && inlines(b, s, branch) &&
           jn_pb_condition(s->g, branch->in[0], &c) && c.n &&
           (c.scalar[0] == n || c.scalar[c.n - 1] == n) && jn_pb_can_decide(s->g, branch);
}

static janus_status compile_if(jn_builder *b, jn_scope *s, const jn_node *n) {
    uint32_t c;
    if (!inlines(b, s, n)) {
        JN_TRY(condition_slot(b, s, n, &c));
        return compile_call(b, s, n, c);
    }
    jn_slots args;
    bool decided = jn_pb_can_decide(s->g, n), tail = !decided && is_tail(s, n);
    size_t decide = 0;
    JN_TRY(slots_of(b, s, n->in + 1, n->n_in - 1, &args));
    if (decided)
        JN_TRY(compile_decision(b, s, n, &decide));
    int fused = jn_pb_branch_opcode(s, n->in[0]);
    if (fused >= 0) {
        const jn_node *cmp = jn_value_node(s->g, n->in[0]);
        int64_t imm = 0;
        jn_pb_immediate(s, cmp, &imm);
        JN_TRY(jn_pb_value_slot(b, s, cmp->in[0], &c));
        JN_TRY(jn_pb_emit(b, n, (jn_instr){(uint32_t)fused, 0, c, (uint32_t)(int32_t)imm, {0}}));
    } else {
        JN_TRY(condition_slot(b, s, n, &c));
        JN_TRY(jn_pb_emit(b, n, (jn_instr){JN_I_JFALSE, 0, c, 0, {0}}));
    }
    size_t branch = b->code.n - 1;
    JN_TRY(compile_arm(b, s, n, 0, tail, &args));
    size_t jump = b->code.n;
    if (!tail)
        JN_TRY(jn_pb_emit(b, n, (jn_instr){JN_I_JUMP, 0, 0, 0, {0}}));
    b->code.data[branch].imm = (int64_t)b->code.n;
    JN_TRY(compile_arm(b, s, n, 1, tail, &args));
    s->returned = tail;
    if (!tail)
        b->code.data[jump].imm = (int64_t)b->code.n;
    if (decided)
        b->code.data[decide].dst = (uint32_t)b->code.n;
    return JANUS_OK;
}

/* ---- host and state -----------------------------------------------------------------------------
 */

int64_t jn_int_attr(const jn_node *n, const char *name) {
    const jn_attr_spec *a = jn_attr_find(n->op, name, strlen(name));
    return a ? *(const int64_t *)((const char *)n->attrs + a->offset) : 0;
}

static janus_status compile_host(jn_builder *b, jn_scope *s, const jn_node *n) {
    if (jn_op_named(n->op, "store")) {
        uint32_t target, value;
        JN_TRY(jn_pb_value_slot(b, s, n->in[0], &target));
        JN_TRY(jn_pb_value_slot(b, s, n->in[1], &value));
        return jn_pb_emit(b, n, (jn_instr){JN_I_STORE, 0, target, value, {0}});
    }
    jn_host_call *c = jn_arena_zalloc(b->arena, sizeof *c);
    if (!c)
        return JN_NO_MEMORY();
    uint32_t dst = JN_NO_SLOT;
    c->node = n;
    JN_TRY(jn_host_what_of(n->op, &c->what));
    c->key = jn_int_attr(n, "key") + jn_int_attr(n, "what");
    c->tag = jn_int_attr(n, "tag");
    c->wired = n->op->id == JN_OP_ID_host_unbox && s->cut.numbered[n->id];
    c->n = n->n_in;
    c->in = jn_arena_alloc(b->arena, (n->n_in + 2) * sizeof *c->in);
    c->kinds = jn_arena_alloc(b->arena, n->n_in + 2);
    if (!c->in || !c->kinds)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < n->n_in; i++) {
        JN_TRY(jn_pb_value_slot(b, s, n->in[i], &c->in[i]));
        c->kinds[i] =
            jn_value_is_none(n->in[i]) ? JANUS_KIND_NONE : jn_value_type(s->g, n->in[i])->kind;
    }
    if (n->n_out)
        JN_TRY(jn_pb_out_slot(b, s, n, 0, &dst));
    c->kind = n->n_out ? n->out[0]->kind : JANUS_KIND_NONE;
    jn_quick_read quick = jn_host_quick(c);
    uint32_t object = quick ? c->in[0] : 0;
    return jn_pb_emit(b, n, (jn_instr){JN_I_HOST, dst, object, quick, {.aux = c}});
}

/* Type tokens are looked at where they are compared. */
static bool is_compared_only(const jn_scope *s, const jn_node *n) {
    int64_t token;
    uint32_t user = s->cut.user[n->id];
    return n->op->id == JN_OP_ID_host_type && user &&
           s->g->nodes.data[user]->op->role == JN_ROLE_SCALAR &&
           jn_pb_type_test(s, s->g->nodes.data[user], &token) == n;
}

/* eq compares the token of an object's type. */
static janus_status compile_type_test(jn_builder *b, jn_scope *s, const jn_node *eq,
                                      const jn_node *type, int64_t token) {
    uint32_t dst;
    JN_TRY(compile_host(b, s, type));
    jn_instr *in = &jn_vec_last(&b->code);
    JN_TRY(jn_pb_out_slot(b, s, eq, 0, &dst));
    in->op = JN_I_TYPE_IS;
    in->dst = dst;
    ((jn_host_call *)(uintptr_t)in->aux)->key = token;
    return JANUS_OK;
}

static janus_status compile_unary(jn_builder *b, jn_scope *s, const jn_node *n, uint32_t opcode,
                                  uint32_t extra, int64_t imm) {
    uint32_t dst = 0, a = 0;
    if (n->n_in)
        JN_TRY(jn_pb_value_slot(b, s, n->in[0], &a));
    if (n->n_out)
        JN_TRY(jn_pb_out_slot(b, s, n, 0, &dst));
    return jn_pb_emit(b, n, (jn_instr){opcode, dst, a, extra, {.imm = imm}});
}

/* A comparison that compile_if turns into the branch itself. */
static bool is_branch_only(const jn_builder *b, const jn_scope *s, const jn_node *n) {
    const jn_node *user = s->cut.user[n->id] ? s->g->nodes.data[s->cut.user[n->id]] : NULL;
    jn_value v = {n->id, 0};
    return user && user->op->role == JN_ROLE_IF && jn_value_equal(user->in[0], v) &&
           jn_pb_branch_opcode(s, v) >= 0 && inlines(b, s, user);
}

static janus_status compile_host_node(jn_builder *b, jn_scope *s, const jn_node *n) {
    int64_t bits;
    uint32_t dst;
    const jn_node *type;
    switch (n->op->role) {
    case JN_ROLE_CONST:
        if (jn_const_bits(n, &bits) && !s->needs_slot[n->id])
            return JANUS_OK;
        JN_TRY(jn_pb_out_slot(b, s, n, 0, &dst));
        if (n->op->id == JN_OP_ID_constant)
            return jn_pb_emit(b, n, (jn_instr){JN_I_TCONST, dst, 0, 0, {.aux = n}});
        return jn_pb_emit(b, n, (jn_instr){JN_I_CONST, dst, 0, 0, {.imm = bits}});
    case JN_ROLE_SCALAR:
        if (is_for_decision(b, s, n))
            return JANUS_OK;
        if (n->op->id == JN_OP_ID_item)
            return compile_unary(b, s, n, JN_I_ITEM, n->out[0]->kind, 0);
        if (n->op->id == JN_OP_ID_size)
            return compile_unary(b, s, n, JN_I_SIZE, 0, jn_int_attr(n, "axis"));
        if (s->cut.uses[n->id] == 0 && !(n->op->flags & JN_OP_MAY_RAISE))
            return JANUS_OK;
        if (is_branch_only(b, s, n))
            return JANUS_OK;
        if ((type = jn_pb_type_test(s, n, &bits)))
            return compile_type_test(b, s, n, type, bits);
        return jn_pb_scalar(b, s, n);
    case JN_ROLE_INVOKE:
        return compile_call(b, s, n, JN_NO_SLOT);
    case JN_ROLE_IF:
        return compile_if(b, s, n);
    case JN_ROLE_WHILE:
    case JN_ROLE_FOREACH:
        return compile_loop(b, s, n);
    case JN_ROLE_GRAD:
        return n->op->flags & JN_OP_TWO_SUBS ? compile_if_grad(b, s, n) : compile_loop(b, s, n);
    case JN_ROLE_SAVED:
        return compile_unary(b, s, n, JN_I_FRAME_GET, 0, jn_int_attr(n, "index"));
    case JN_ROLE_ACC:
        return compile_unary(b, s, n,
                             jn_op_named(n->op, "acc.new")   ? JN_I_ACC_NEW
                             : jn_op_named(n->op, "acc.get") ? JN_I_ACC_GET
                                                             : JN_I_ACC_USED,
                             0, 0);
    case JN_ROLE_NOTE:
        return JANUS_OK;
    case JN_ROLE_HOST:
        return is_compared_only(s, n) ? JANUS_OK : compile_host(b, s, n);
    case JN_ROLE_ASSERT: {
        uint32_t a;
        JN_TRY(jn_pb_value_slot(b, s, n->in[0], &a));
        return jn_pb_emit(b, n,
                          (jn_instr){JN_I_ASSERT,
                                     (uint32_t)jn_int_attr(n, "id"),
                                     a,
                                     jn_value_type(s->g, n->in[0])->kind,
                                     {.aux = n}});
    }
    default:
        break;
    }
    return jn_error(JANUS_UNSUPPORTED, "the executor has no instruction for op %s", n->op->name);
}

/* s->slot[0] is set by the caller: where the parameters are. */
static janus_status compile_body(jn_builder *b, jn_scope *s) {
    const jn_subgraph *g = s->g;
    if (!g->defined)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s is declared but not defined", g->name);
    JN_TRY(jn_cut_make(b->arena, g, b->plan->saved && g == b->plan->sub, &s->cut));
    for (size_t i = 1; i < g->nodes.n; i++) {
        uint32_t n_out = g->nodes.data[i]->n_out;
        s->slot[i] = jn_arena_alloc(b->arena, (n_out + 1) * sizeof **s->slot);
        if (!s->slot[i])
            return JN_NO_MEMORY();
        memset(s->slot[i], 0xff, n_out * sizeof **s->slot);
    }
    JN_TRY(jn_pb_mark_outputs(b, s));
    JN_TRY(jn_pb_find_constants(b, s));
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        bool row_step = jn_is_row_step(&s->cut, i);
        if (jn_is_tensor_node(n) && !row_step)
            continue;
        JN_TRY(jn_pb_issue_until(b, s, i));
        JN_TRY(row_step ? jn_pb_row_step(b, s, (uint32_t)i) : compile_host_node(b, s, n));
    }
    return jn_pb_issue_until(b, s, g->nodes.n);
}

static janus_status compile(jn_builder *b) {
    jn_plan *p = b->plan;
    const jn_subgraph *g = p->sub;
    jn_scope s = {.g = g, .tail = true};
    s.slot = jn_arena_alloc(b->arena, g->nodes.n * sizeof *s.slot);
    uint32_t *params = jn_arena_alloc(b->arena, (g->params.n + 1) * sizeof *params);
    if (p->saved) {
        p->member = jn_arena_alloc(b->arena, (g->saved.n + 1) * sizeof *p->member);
        if (!p->member)
            return JN_NO_MEMORY();
        memset(p->member, 0xff, g->saved.n * sizeof *p->member);
    }
    if (!s.slot || !params)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < g->params.n; i++)
        JN_TRY(jn_pb_new_slot(b, g->params.data[i].type->kind, &params[i]));
    s.slot[0] = params;
    p->n_params = (uint32_t)g->params.n;
    JN_TRY(compile_body(b, &s));
    if (!s.returned)
        JN_TRY(return_slots(b, &s));
    if (p->saved)
        for (size_t i = 0; i < g->saved.n; i++)
            if (!g->saved.data[i].frame)
                JN_TRY(jn_pb_value_slot(b, &s, g->saved.data[i].value, &p->member[i]));
    p->code = jn_arena_dup(b->arena, b->code.data, b->code.n * sizeof *p->code);
    p->where = jn_arena_dup(b->arena, b->where.data, b->where.n * sizeof *p->where);
    p->slot_kind = jn_arena_dup(b->arena, b->kind.data, b->kind.n ? b->kind.n : 1);
    p->bound = jn_arena_zalloc(b->arena, (g->params.n + 1) * sizeof *p->bound);
    if (!p->code || !p->where || !p->slot_kind || !p->bound)
        return JN_NO_MEMORY();
    p->n_code = b->code.n;
    p->n_slots = (uint32_t)b->kind.n;
    p->frame_bytes = (uint32_t)(sizeof(jn_frame) + p->n_slots * sizeof(jn_slot));
    for (size_t i = 0; i < b->kind.n; i++)
        p->has_tensors |=
            b->kind.data[i] == JANUS_KIND_TENSOR || b->kind.data[i] == JANUS_KIND_OBJECT;
    JN_CHECK_THAT(jn_plan_check(p));
    p->compiled = true;
    return JANUS_OK;
}

janus_status jn_plan_compile(jn_plan *p) {
    jn_builder b = {.plan = p, .arena = &p->set->arena};
    janus_status st = jn_vec_reserve(&b.kind, 16) ? compile(&b) : JN_NO_MEMORY();
    if (st != JANUS_OK)
        jn_error_context("compiling @%s", p->sub->name);
    jn_vec_free(&b.code);
    jn_vec_free(&b.where);
    jn_vec_free(&b.kind);
    return st;
}
