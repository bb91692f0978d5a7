/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that fail on an index out of bounds: an error belongs to the call, so it is looked for when
 * the call is recorded, where the indices are few and there.
 */
#include "config.h"

#include "exec/defer/defer_internal.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"

enum { FEW = 64 };

bool jn_call_has_bounds(const jn_op *op) {
    switch (op->id) {
    case JN_OP_ID_embedding:
    case JN_OP_ID_index_select:
    case JN_OP_ID_cross_entropy:
    case JN_OP_ID_nll_loss:
        return true;
    default:
        return false;
    }
}

/* Indices from 0 on, below `bound`; or `other`. */
typedef struct range {
    int64_t bound, other;
} range;

static range range_of(const jn_call_kind *k, const janus_tensor *x) {
    int64_t classes = x->rank > 1 ? x->dims[1] : x->dims[0];
    switch (k->recipe.op->id) {
    case JN_OP_ID_embedding:
        return (range){x->dims[0], 0};
    case JN_OP_ID_index_select: {
        int64_t axis = ((const janus_index_select_attrs *)k->attrs)->axis;
        return (range){x->dims[axis < 0 ? axis + x->rank : axis], 0};
    }
    case JN_OP_ID_cross_entropy:
        return (range){classes, ((const janus_cross_entropy_attrs *)k->attrs)->ignore_index};
    default:
        return (range){classes, ((const janus_nll_loss_attrs *)k->attrs)->ignore_index};
    }
}

bool jn_call_in_bounds(const jn_call_kind *k, const jn_deferred_in *in) {
    if (k->in[0].from != JN_FROM_TENSOR || k->in[1].from != JN_FROM_TENSOR || in[0].t->rank == 0)
        return false;
    const janus_tensor *t = in[1].t;
    if (k->recipe.op->id == JN_OP_ID_cross_entropy && jn_dtype_is_float(t->dtype))
        return true; /* probabilities */
    if (t->storage->state == JN_STORAGE_PENDING || !t->contiguous || t->numel > FEW)
        return false;
    const void *data = jn_tensor_place(t);
    range r = range_of(k, in[0].t);
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t v;
        switch ((janus_dtype)t->dtype) {
        case JANUS_I64:
            v = ((const int64_t *)data)[i];
            break;
        case JANUS_I32:
            v = ((const int32_t *)data)[i];
            break;
        case JANUS_U8:
            v = ((const uint8_t *)data)[i];
            break;
        default:
            return false;
        }
        if ((v < 0 || v >= r.bound) && (v != r.other || r.bound == 0))
            return false;
    }
    return true;
}
