/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of an optimizer's step: every result is like the operand it replaces.
 */
#include "config.h"

#include "ops/infer/infer.h"
#include "ops/rules.h"

/* Operands of a row: p, g, state tensors; then results p and the same state. */
janus_status jn_infer_optim(jn_infer *c) {
    const jn_type *p = c->in[0];
    for (unsigned i = 1; i < c->n_in && c->in[i]->kind == JANUS_KIND_TENSOR; i++) {
        const jn_type *t = c->in[i];
        bool step = c->op->operands[i].dtype_class == JN_DT_FLOAT; /* the count of steps: 0-d */
        int rank = step ? 0 : p->rank;
        bool ok = t->rank < 0 || rank < 0 || t->rank == rank;
        for (int d = 0; ok && !step && t->rank >= 0 && d < rank; d++) {
            int64_t m;
            ok = jn_dim_merge(t->dims[d], p->dims[d], &m);
        }
        if (!ok)
            return jn_infer_expected(c, JANUS_SHAPE, i, step ? "no dims" : "the dims of p");
    }
    for (unsigned i = 0; i < c->n_out; i++) {
        const jn_type *like = c->in[i ? i + 1 : 0];
        JN_TRY(like->rank < 0 ? jn_infer_unknown(c, i, like->dtype)
                              : jn_infer_like(c, i, like->dtype, like));
    }
    return JANUS_OK;
}
