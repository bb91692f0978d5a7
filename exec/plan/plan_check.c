/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of a compiled plan: where segments are cut, what slots are of. */
#include "config.h"

#include "exec/plan/plan_internal.h"
#include "graph/base/status.h"

/* A segment's operands: nodes of earlier ones, inputs there are.  NULL, or what is wrong. */
static const char *source_problem(const jn_segment *seg, const jn_src *src, uint32_t before) {
    switch (src->kind) {
    case JN_SRC_INPUT:
        return src->index < seg->n_inputs ? NULL : "a node reads an input that there is not";
    case JN_SRC_SCALAR:
        return src->index < seg->n_scalars ? NULL : "a node reads a scalar that there is not";
    case JN_SRC_NODE:
        if (src->index >= before)
            return "a node reads a later one";
        return src->index_out < seg->nodes[src->index].n_out
                   ? NULL
                   : "a node reads a result that there is not";
    default:
        return NULL;
    }
}

static const char *nodes_problem(const jn_segment *seg) {
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_segnode *n = &seg->nodes[i];
        for (uint32_t k = 0; k < n->n_in; k++) {
            const char *what = source_problem(seg, &n->in[k], i);
            if (what)
                return what;
        }
        for (uint32_t k = 0; k < n->n_out; k++)
            if (n->value[k] >= seg->n_values)
                return "a result has no value";
        if (n->acc >= (int32_t)seg->n_accs || n->fused_acc >= (int32_t)seg->n_accs)
            return "a node adds to an accumulator that there is not";
    }
    for (uint32_t i = 0; i < seg->n_outputs; i++)
        if (seg->output[i].kind != JN_SRC_NODE ||
            source_problem(seg, &seg->output[i], seg->n_nodes))
            return "an output is no result of a node";
    return NULL;
}

static bool is_of(const jn_plan *p, uint32_t slot, janus_kind kind) {
    return slot < p->n_slots && p->slot_kind[slot] == kind;
}

static const char *slots_problem(const jn_plan *p, const jn_segment *seg) {
    for (uint32_t i = 0; i < seg->n_inputs; i++)
        if (!is_of(p, seg->input_slot[i], JANUS_KIND_TENSOR))
            return "an input's slot is of no tensor";
    for (uint32_t i = 0; i < seg->n_outputs; i++)
        if (!is_of(p, seg->output_slot[i], JANUS_KIND_TENSOR))
            return "an output's slot is of no tensor";
    for (uint32_t i = 0; i < seg->n_accs; i++)
        if (!is_of(p, seg->acc_slot[i], JANUS_KIND_ACC))
            return "an accumulator's slot is of none";
    for (uint32_t i = 0; i < seg->n_scalars; i++)
        if (!seg->scalars[i].is_const && !is_of(p, seg->scalars[i].slot, seg->scalars[i].kind))
            return "a scalar's slot is of another kind";
    return NULL;
}

/* Whether an instruction goes to one that there is. */
static const char *jump_problem(const jn_plan *p, const jn_instr *in) {
    switch (in->op) {
    case JN_I_JUMP:
    case JN_I_JFALSE:
    case JN_I_JLT_IK:
    case JN_I_JLE_IK:
    case JN_I_JEQ_IK:
        return in->imm >= 0 && (uint64_t)in->imm < p->n_code ? NULL
                                                             : "a jump leads out of the plan";
    default:
        return NULL;
    }
}

janus_status jn_plan_check(const jn_plan *p) {
    const char *what = p->n_code ? NULL : "there are no instructions";
    for (size_t i = 0; i < p->n_code && !what; i++) {
        const jn_instr *in = &p->code[i];
        what = jump_problem(p, in);
        if (in->op == JN_I_ISSUE || in->op == JN_I_ROWS) {
            const jn_segment *seg = in->aux;
            what = nodes_problem(seg);
            if (!what)
                what = slots_problem(p, seg);
        }
        if (what)
            return jn_error(JANUS_INTERNAL, "the plan of @%s, instruction %zu: %s", p->sub->name, i,
                            what);
    }
    return what ? jn_error(JANUS_INTERNAL, "the plan of @%s: %s", p->sub->name, what) : JANUS_OK;
}

/* ---- what runs do ------------------------------------------------------------------------------
 */

/* Its outcome depends on shapes and constants alone, and what it does is a task or nothing. */
static bool is_fixed(jn_opcode op) {
    switch (op) {
    case JN_I_DECIDE:
    case JN_I_TRUTH:
    case JN_I_ITEM:
    case JN_I_DRAW:
    case JN_I_FRAME_GET:
    case JN_I_GRAD_CALL:
    case JN_I_GRAD_LOOP:
    case JN_I_ACC_NEW:
    case JN_I_ACC_GET:
    case JN_I_ACC_USED:
    case JN_I_HOST:
    case JN_I_TYPE_IS:
    case JN_I_ASSERT:
    case JN_I_STORE:
        return false;
    default:
        return true;
    }
}

bool jn_plan_is_fixed(const jn_plan *p) {
    const jn_planset *s = p->set;
    for (size_t k = 0; k < 2 * s->module->subs.n; k++)
        for (size_t i = 0; s->plans[k].compiled && i < s->plans[k].n_code; i++)
            if (!is_fixed(jn_opcode_of(&s->plans[k].code[i])))
                return false;
    return true;
}
