/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How what a product reads lies in memory.
 *
 * A product of a matrix and one of its transpose sum in another order, so in exact numerics the
 * graph's operand has to lie as the program's does.  A view that is taken in a SubGraph does; what
 * comes into one (an argument, what an arm or a round reads of the body around it, the result of a
 * call) is row-major in the graph, whatever it is a view of in the program.
 */
#include "pyfront/convert/tensors/tensors.h"

#include "ops/kernel.h"
#include "ops/op_ids.h"
#include "ops/shape_rules.h"

static bool is_view(const jcv *c, const jcv_val *v) {
    const jcv_node *n = v->node;
    return n && v->ctx == c->ctx && n->kind == JCV_OP && n->op->flags & JN_OP_VIEW &&
           jn_op_impls[n->op->id].view && n->n_in && n->n_in <= 8 && n->in[0] &&
           n->in[0]->type->kind == JANUS_KIND_TENSOR;
}

/* Strides of the value in the graph, in the SubGraph that is being made. */
static void strides_in_graph(const jcv *c, const jcv_val *v, int64_t *strides) {
    static int64_t anywhere; /* strides do not depend on a place that only the graph knows */
    int64_t base[JN_MAX_RANK], offset, step = 1;
    if (is_view(c, v)) {
        const jcv_node *n = v->node;
        const jn_type *t = n->in[0]->type;
        strides_in_graph(c, n->in[0], base);
        jn_view in[8] = {{NULL, t->dims, base, t->rank, t->dtype, false}};
        for (unsigned i = 1; i < n->n_in; i++) {
            jcv_val *s = n->in[i];
            bool known = s && s->node && s->node->kind == JCV_SCALAR_CONST;
            in[i] = (jn_view){known ? (void *)&s->node->scalar : (void *)&anywhere,
                              NULL,
                              NULL,
                              s ? 0 : -1,
                              JANUS_I64,
                              true};
            if (s && s->type->kind == JANUS_KIND_TENSOR) /* a shape to have */
                in[i] = (jn_view){NULL, s->type->dims, base, s->type->rank, s->type->dtype, false};
        }
        if (jn_op_impls[n->op->id].view(in, n->n_in, n->attrs, v->type, strides, &offset))
            return;
    }
    for (int i = v->type->rank; i-- > 0;) {
        strides[i] = step;
        step *= v->type->dims[i] > 0 ? v->type->dims[i] : 1;
    }
}

void jcv_check_layouts(jcv *c, const jn_op *op, const jn_eager_arg *in, jcv_val *const *v,
                       unsigned n) {
    if (op != JN_OP(matmul) && op != JN_OP(linear) && op != JN_OP(attention))
        return;
    for (unsigned i = 0; i < n && i < 3; i++) {
        int rank = v[i] ? v[i]->type->rank : 0;
        int64_t ours[JN_MAX_RANK];
        if (in[i].kind != JANUS_KIND_TENSOR || rank < 2)
            continue;
        const int64_t *dims = v[i]->type->dims + rank - 2, *theirs = in[i].t->strides + rank - 2;
        strides_in_graph(c, v[i], ours);
        if (jn_is_turned(dims[0], dims[1], theirs[0], theirs[1]) !=
            jn_is_turned(dims[0], dims[1], ours[rank - 2], ours[rank - 1]))
            jcv_refuse(c, "a product of a tensor that comes transposed, which exact numerics round "
                          "otherwise");
    }
}
