/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops are steps, and what their attributes are: see ops/steps.h. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/steps.h"

/* Forms of an op: by the operands that are the accumulator. */
static const jn_step_fn *forms_of(const jn_sig *sig) {
    const jn_isa_steps *t = &jn_isa.steps;
    bool mask = sig->in[0].dtype == JANUS_BOOL;
    switch (sig->op->id) {
    case JN_OP_ID_gelu: {
        const janus_gelu_attrs *a = sig->attrs;
        return a && a->approximate ? t->gelu_tanh : t->op[JN_OP_ID_gelu];
    }
    case JN_OP_ID_gelu_grad: {
        const janus_gelu_grad_attrs *a = sig->attrs;
        return a && a->approximate ? t->gelu_tanh_grad : t->op[JN_OP_ID_gelu_grad];
    }
    case JN_OP_ID_cast:
        return mask == (sig->out[0].dtype == JANUS_BOOL) ? NULL : mask ? t->from_mask : t->to_mask;
    default:
        return t->op[sig->op->id];
    }
}

/* What the operands of an op must be: bit k, operand k is a mask. */
static unsigned masks_of(uint16_t op, bool cast_from_mask) {
    switch (op) {
    case JN_OP_ID_logical_and:
    case JN_OP_ID_logical_or:
    case JN_OP_ID_logical_xor:
        return 3;
    case JN_OP_ID_logical_not:
    case JN_OP_ID_where:
        return 1;
    case JN_OP_ID_masked_fill:
        return 2;
    case JN_OP_ID_cast:
        return cast_from_mask;
    default:
        return 0;
    }
}

int jn_step_number(const jn_op *op) {
    return op->id == JN_OP_ID_masked_fill                             ? 2
           : op->id == JN_OP_ID_addcmul || op->id == JN_OP_ID_addcdiv ? 3
                                                                      : -1;
}

void jn_step_set_number(jn_step *s, const jn_view *number) {
    s->p = number->dtype == JANUS_F32 ? *(const float *)number->data : (float)jn_scalar_f(number);
}

bool jn_step_knows(const jn_sig *sig) {
    const jn_step_fn *forms = forms_of(sig);
    int number = jn_step_number(sig->op), n = number < 0 ? sig->n_in : number;
    if (!forms || !forms[0] || n > JN_STEP_OPERANDS || sig->n_out != 1 ||
        (number >= 0 && sig->n_in != number + 1))
        return false;
    unsigned masks = masks_of(sig->op->id, sig->in[0].dtype == JANUS_BOOL);
    for (int i = 0; i < n; i++)
        if (sig->in[i].dtype != (masks >> i & 1 ? JANUS_BOOL : JANUS_F32))
            return false;
    return sig->out[0].dtype == JANUS_F32 || sig->out[0].dtype == JANUS_BOOL;
}

bool jn_step_make(const jn_sig *sig, unsigned held, jn_step *to) {
    const jn_step_fn *forms = forms_of(sig);
    if (held >= JN_STEP_FORMS || !forms[held])
        return false;
    *to = (jn_step){.run = forms[held]};
    if (sig->op->id == JN_OP_ID_clamp) {
        const janus_clamp_attrs *a = sig->attrs;
        to->p = a ? (float)a->lo : -INFINITY;
        to->q = a ? (float)a->hi : INFINITY;
    } else if (sig->op->id == JN_OP_ID_clamp_grad) {
        const janus_clamp_grad_attrs *a = sig->attrs;
        to->p = a ? (float)a->lo : -INFINITY;
        to->q = a ? (float)a->hi : INFINITY;
    } else if (sig->op->id == JN_OP_ID_leaky_relu) {
        const janus_leaky_relu_attrs *a = sig->attrs;
        to->p = (float)(a ? a->slope : 0.01);
    } else if (sig->op->id == JN_OP_ID_elu) {
        const janus_elu_attrs *a = sig->attrs;
        to->p = (float)(a ? a->alpha : 1.0);
    }
    return true;
}

static bool is_number(const jn_view *v) {
    for (int d = 0; d < v->rank; d++)
        if (v->dims[d] != 1 && v->strides[d] != 0)
            return false;
    return true;
}

jn_step_change jn_step_change_of(const jn_sig *sig, unsigned *what) {
    *what = 0;
    if (sig->in[0].dtype != JANUS_F32 || sig->out[0].dtype != JANUS_F32)
        return JN_STEP_CHANGES;
    switch (sig->op->id) {
    case JN_OP_ID_abs:
        return JN_STEP_ABS;
    case JN_OP_ID_neg:
        return JN_STEP_NEG;
    case JN_OP_ID_relu:
        return JN_STEP_RELU;
    case JN_OP_ID_mul:
        *what = is_number(&sig->in[0]);
        return is_number(&sig->in[1 - *what]) ? JN_STEP_SCALE : JN_STEP_CHANGES;
    default:
        return JN_STEP_CHANGES;
    }
}

bool jn_step_make_changing(const jn_op *op, unsigned k, jn_step_change change, bool held,
                           jn_step *to) {
    int which = op->id == JN_OP_ID_add   ? JN_STEP_ADDS
                : op->id == JN_OP_ID_sub ? JN_STEP_SUBTRACTS
                : op->id == JN_OP_ID_mul ? JN_STEP_MULTIPLIES
                                         : -1;
    if (which < 0 || k > 1)
        return false;
    *to = (jn_step){.run = jn_isa.steps.changing[which][k][change][held]};
    return true;
}

/* Measured: an addition takes 0.02 ns of a core that computes 16 numbers at once. */
uint32_t jn_step_cost(const jn_op *op) {
    enum { A_FEW = 3, SERIES = 12, TWO_SERIES = 26, IN_DOUBLE = 60, NO_STEP = 1000 };
    switch (op->id) {
    case JN_OP_ID_div:
    case JN_OP_ID_reciprocal:
    case JN_OP_ID_sqrt:
    case JN_OP_ID_rsqrt:
    case JN_OP_ID_floor:
    case JN_OP_ID_ceil:
    case JN_OP_ID_round:
    case JN_OP_ID_addcdiv:
        return A_FEW;
    case JN_OP_ID_exp:
    case JN_OP_ID_log:
    case JN_OP_ID_tanh:
    case JN_OP_ID_sigmoid:
    case JN_OP_ID_silu:
        return SERIES;
    case JN_OP_ID_erf:
    case JN_OP_ID_gelu:
    case JN_OP_ID_gelu_grad:
        return TWO_SERIES;
    case JN_OP_ID_log1p:
    case JN_OP_ID_expm1:
    case JN_OP_ID_softplus:
    case JN_OP_ID_elu:
        return IN_DOUBLE;
    default:
        return jn_isa.steps.op[op->id][0] ? 1 : NO_STEP;
    }
}

void jn_step_make_move(jn_step_move move, jn_step *to) {
    *to = (jn_step){.run = jn_isa.steps.move[move]};
}

int64_t jn_step_block(void) { return jn_isa.steps.block; }

void jn_steps_run(const jn_step *program, int64_t blocks) { jn_isa.steps.run(program, blocks); }
