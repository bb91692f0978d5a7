/* Types of nodes that refer to SubGraphs: calls, control flow, gradients of calls, frame members.
 *
 * Results are what the SubGraph declares, with its dim symbols replaced by the caller's dims; where
 * two ways lead to a result (arms, entry and next iteration) it is the join of both types.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/ir/ir.h"

#include <string.h>

bool jn_op_is_structural(const jn_op *op) {
    return jn_op_n_subs(op) != 0 || op->role == JN_ROLE_SAVED;
}

/* ---- symbols ----------------------------------------------------------------------------------
 */

enum { MAX_BOUND = 32 };
typedef struct binding {
    unsigned n;
    int64_t symbol[MAX_BOUND], dim[MAX_BOUND];
} binding;

/* A symbol that meets two different dims stands for neither: unknown. */
static void bind(binding *b, const jn_type *param, const jn_type *arg) {
    if ((param->kind != JANUS_KIND_TENSOR && param->kind != JANUS_KIND_ACC) || param->rank < 0 ||
        arg->rank != param->rank)
        return;
    for (int i = 0; i < param->rank; i++) {
        int64_t symbol = param->dims[i];
        unsigned k = 0;
        if (symbol >= JN_DIM_UNKNOWN)
            continue;
        while (k < b->n && b->symbol[k] != symbol)
            k++;
        if (k < b->n) {
            if (b->dim[k] != arg->dims[i])
                b->dim[k] = JN_DIM_UNKNOWN;
        } else if (b->n < MAX_BOUND) {
            b->symbol[b->n] = symbol;
            b->dim[b->n++] = arg->dims[i];
        }
    }
}

static janus_status substitute(const binding *b, const jn_type *t, jn_arena *scratch,
                               jn_type *out) {
    *out = *t;
    if ((t->kind != JANUS_KIND_TENSOR && t->kind != JANUS_KIND_ACC) || t->rank <= 0)
        return JANUS_OK;
    int64_t *dims = jn_arena_dup(scratch, t->dims, (size_t)t->rank * sizeof *dims);
    if (!dims)
        return JN_NO_MEMORY();
    for (int i = 0; i < t->rank; i++) {
        int64_t symbol = dims[i];
        if (symbol >= JN_DIM_UNKNOWN)
            continue;
        dims[i] = JN_DIM_UNKNOWN;
        for (unsigned k = 0; k < b->n; k++) {
            if (b->symbol[k] == symbol)
                dims[i] = b->dim[k];
        }
    }
    out->dims = dims;
    return JANUS_OK;
}

/* ---- pieces -----------------------------------------------------------------------------------
 */

static janus_status check_sub(const jn_subgraph *g, const jn_op *op, const jn_subgraph *sub,
                              unsigned i) {
    if (!sub)
        return jn_error(JANUS_INVALID_ARGUMENT, "%s: SubGraph %u is missing", op->name, i);
    if (sub->module != g->module)
        return jn_error(JANUS_INVALID_ARGUMENT, "%s: @%s belongs to another module", op->name,
                        sub->name);
    return JANUS_OK;
}

static janus_status check_fits(const jn_op *op, const jn_subgraph *sub, unsigned param,
                               const jn_type *t) {
    const jn_param *p = &sub->params.data[param];
    if (!t) {
        /* A cotangent that does not arrive. */
        if (p->type->kind == JANUS_KIND_NONE ||
            (op->role == JN_ROLE_GRAD && p->type->kind == JANUS_KIND_TENSOR))
            return JANUS_OK;
    } else if (jn_type_fits(t, p->type)) {
        return JANUS_OK;
    }
    janus_status code = t && t->kind == p->type->kind
                            ? (t->dtype == p->type->dtype ? JANUS_SHAPE : JANUS_DTYPE)
                            : JANUS_INVALID_ARGUMENT;
    return jn_error(code, "%s @%s: parameter %u (%s): expected %s, got %s", op->name, sub->name,
                    param, p->name, jn_type_text_of(p->type).s, jn_type_text_of(t).s);
}

/* Checks the operands of a call against the parameters of `sub` and binds its symbols. */
static janus_status check_call(const jn_op *op, const jn_subgraph *sub, const jn_type *const *in,
                               unsigned n_in, bool frame_too, binding *b) {
    unsigned extra = op->role == JN_ROLE_IF;
    if (n_in - extra != sub->params.n)
        return jn_error(JANUS_INVALID_ARGUMENT, "%s @%s: expected %zu operands, got %u", op->name,
                        sub->name, sub->params.n + extra, n_in);
    for (unsigned i = 0; i < sub->params.n; i++) {
        static const jn_type int_type = {.kind = JANUS_KIND_INT};
        int at = jn_operand_of_param(op, i);
        const jn_type *t = at < 0 ? &int_type : in[at];
        if (!frame_too && op->role == JN_ROLE_GRAD && t && t->kind == JANUS_KIND_FRAME)
            continue; /* which arm's frame it is shows when it runs */
        JN_TRY(check_fits(op, sub, i, t));
        if (t)
            bind(b, sub->params.data[i].type, t);
    }
    return JANUS_OK;
}

static janus_status alloc_types(jn_arena *scratch, size_t n, jn_type **out) {
    *out = jn_arena_zalloc(scratch, (n + 1) * sizeof **out);
    return *out ? JANUS_OK : JN_NO_MEMORY();
}

static janus_status join_into(const jn_op *op, const jn_subgraph *sub, unsigned i, jn_type *t,
                              const jn_type *other, jn_arena *scratch) {
    int64_t *dims = jn_arena_alloc(scratch, JN_MAX_RANK * sizeof *dims);
    jn_type joined;
    if (!dims)
        return JN_NO_MEMORY();
    if (!jn_type_join(t, other, &joined, dims))
        return jn_error(t->kind == other->kind ? JANUS_DTYPE : JANUS_INVALID_ARGUMENT,
                        "%s: result %u is %s and, from @%s, %s", op->name, i, jn_type_text_of(t).s,
                        sub->name, jn_type_text_of(other).s);
    *t = joined;
    return JANUS_OK;
}

/* ---- per role ---------------------------------------------------------------------------------
 */

static janus_status results_of(const jn_subgraph *sub, const binding *b, jn_arena *scratch,
                               jn_type **out, unsigned *n) {
    JN_TRY(alloc_types(scratch, sub->result_types.n, out));
    for (unsigned i = 0; i < sub->result_types.n; i++)
        JN_TRY(substitute(b, sub->result_types.data[i], scratch, &(*out)[i]));
    *n = (unsigned)sub->result_types.n;
    return JANUS_OK;
}

static janus_status infer_call(const jn_op *op, const jn_type *const *in, unsigned n_in,
                               jn_subgraph *const *subs, jn_arena *scratch, jn_type **out,
                               unsigned *n) {
    binding b = {0}, b2 = {0};
    JN_TRY(check_call(op, subs[0], in, n_in, true, &b));
    JN_TRY(results_of(subs[0], &b, scratch, out, n));
    if (jn_op_n_subs(op) == 1)
        return JANUS_OK;
    jn_type *other;
    unsigned n_other;
    JN_TRY(check_call(op, subs[1], in, n_in, false, &b2));
    JN_TRY(results_of(subs[1], &b2, scratch, &other, &n_other));
    if (*n != n_other)
        return jn_error(JANUS_INVALID_ARGUMENT, "%s: @%s has %u results, @%s has %u", op->name,
                        subs[0]->name, *n, subs[1]->name, n_other);
    for (unsigned i = 0; i < *n; i++)
        JN_TRY(join_into(op, subs[1], i, &(*out)[i], &other[i], scratch));
    return JANUS_OK;
}

/* while and foreach: parameters that are not shared (and not the index) are carried. */
static janus_status infer_loop(const jn_op *op, const jn_type *const *in, unsigned n_in,
                               const jn_subgraph *body, jn_arena *scratch, jn_type **out,
                               unsigned *n) {
    binding b = {0};
    unsigned first = op->role == JN_ROLE_FOREACH, carried = 0;
    JN_TRY(check_call(op, body, in, n_in, true, &b));
    JN_TRY(alloc_types(scratch, n_in, out));
    for (unsigned i = first; i < body->params.n; i++) {
        if (body->params.data[i].shared)
            continue;
        if (carried >= body->result_types.n)
            break;
        jn_type next;
        JN_TRY(check_fits(op, body, i, body->result_types.data[carried]));
        JN_TRY(substitute(&b, body->result_types.data[carried], scratch, &next));
        (*out)[carried] = in[i] ? *in[i] : jn_scalar_type(JANUS_KIND_NONE);
        JN_TRY(join_into(op, body, carried, &(*out)[carried], &next, scratch));
        carried++;
    }
    size_t expected = 0;
    for (unsigned i = first; i < body->params.n; i++)
        expected += !body->params.data[i].shared;
    if (expected != body->result_types.n)
        return jn_error(JANUS_INVALID_ARGUMENT,
                        "%s @%s: %zu carried values (parameters that are not shared), %zu results",
                        op->name, body->name, expected, body->result_types.n);
    *n = carried;
    return JANUS_OK;
}

static janus_status check_while_cond(const jn_op *op, const jn_type *const *in, unsigned n_in,
                                     const jn_subgraph *cond) {
    binding b = {0};
    JN_TRY(check_call(op, cond, in, n_in, true, &b));
    const jn_type *t = cond->result_types.n == 1 ? cond->result_types.data[0] : NULL;
    if (!t || (t->kind != JANUS_KIND_BOOL && t->kind != JANUS_KIND_TENSOR))
        return jn_error(JANUS_INVALID_ARGUMENT,
                        "%s: the condition @%s must have one result, a bool or a tensor", op->name,
                        cond->name);
    return JANUS_OK;
}

static janus_status check_condition(const jn_op *op, const jn_type *t) {
    bool ok = t && (t->kind == JANUS_KIND_BOOL || (t->kind == JANUS_KIND_TENSOR &&
                                                   (!jn_type_static(t) || jn_type_numel(t) == 1)));
    return ok ? JANUS_OK
              : jn_error(t && t->kind == JANUS_KIND_TENSOR ? JANUS_SHAPE : JANUS_INVALID_ARGUMENT,
                         "%s: operand 0 (cond): expected a bool or a tensor of one element, got %s",
                         op->name, jn_type_text_of(t).s);
}

static janus_status infer_frame_get(const jn_op *op, const jn_type *frame, const void *attrs,
                                    jn_arena *scratch, jn_type **out, unsigned *n) {
    const jn_attr_spec *spec = jn_attr_find(op, "index", 5);
    const jn_subgraph *f = frame->frame_of;
    if (!spec || !attrs)
        return jn_error(JANUS_INTERNAL, "%s: has no attribute index", op->name);
    int64_t i = *(const int64_t *)((const char *)attrs + spec->offset);
    if (!f || i < 0 || (size_t)i >= f->saved.n)
        return jn_error(JANUS_INDEX, "%s: frame<@%s> has %zu members, index is %lld", op->name,
                        f ? f->name : "?", f ? f->saved.n : 0, (long long)i);
    JN_TRY(alloc_types(scratch, 1, out));
    const jn_saved *s = &f->saved.data[i];
    if (s->value.node >= f->nodes.n ||
        (!s->frame && s->value.index >= jn_value_node(f, s->value)->n_out))
        return jn_error(JANUS_INVALID_ARGUMENT, "%s: member %lld of frame<@%s> is no value of it",
                        op->name, (long long)i, f->name);
    if (s->frame)
        (*out)[0] = jn_frame_type(jn_value_node(f, s->value));
    else
        JN_TRY(substitute(&(binding){0}, jn_value_type(f, s->value), scratch, &(*out)[0]));
    *n = 1;
    return JANUS_OK;
}

jn_type jn_frame_type(const jn_node *call) {
    return (jn_type){.kind = JANUS_KIND_FRAME,
                     .frame_of = call->subs[call->op->role == JN_ROLE_WHILE ? 1 : 0]};
}

janus_status jn_control_infer(const jn_subgraph *g, const jn_op *op, const jn_type *const *in,
                              unsigned n_in, const void *attrs, jn_subgraph *const *subs,
                              jn_arena *scratch, jn_type **out_types, unsigned *out_n) {
    jn_infer generic = {.op = op, .n_in = n_in, .in = in};
    JN_TRY(jn_infer_check(&generic));
    for (unsigned i = 0; i < jn_op_n_subs(op); i++)
        JN_TRY(check_sub(g, op, subs ? subs[i] : NULL, i));
    const jn_subgraph *frame_of = NULL;
    switch (op->role) {
    case JN_ROLE_SAVED:
        return infer_frame_get(op, in[0], attrs, scratch, out_types, out_n);
    case JN_ROLE_IF:
        JN_TRY(check_condition(op, in[0]));
        /* fall through */
    case JN_ROLE_INVOKE:
    case JN_ROLE_GRAD:
        JN_TRY(infer_call(op, in, n_in, subs, scratch, out_types, out_n));
        frame_of = subs[0];
        break;
    case JN_ROLE_WHILE:
        JN_TRY(check_while_cond(op, in, n_in, subs[0]));
        JN_TRY(infer_loop(op, in, n_in, subs[1], scratch, out_types, out_n));
        frame_of = subs[1];
        break;
    case JN_ROLE_FOREACH:
        JN_TRY(infer_loop(op, in, n_in, subs[0], scratch, out_types, out_n));
        frame_of = subs[0];
        break;
    default:
        return jn_error(JANUS_INTERNAL, "%s: not a structural op", op->name);
    }
    if (op->flags & JN_OP_SAVES) /* there is room for one more */
        (*out_types)[(*out_n)++] = (jn_type){.kind = JANUS_KIND_FRAME, .frame_of = frame_of};
    return JANUS_OK;
}
