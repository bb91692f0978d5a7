/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that fail on an index out of bounds: an error belongs to the call, so it is looked for when
 * the call is recorded, where the indices are few and there.
 */
#include "config.h"

#include "exec/defer/defer_internal.h"
#include "ops/kernel.h"

enum { FEW = 64 };

bool jn_call_has_bounds(const jn_op *op) { return jn_op_impls[op->id].bounds != NULL; }

bool jn_call_in_bounds(const jn_call_kind *k, const jn_deferred_in *in) {
    if (k->in[0].from != JN_FROM_TENSOR || k->in[1].from != JN_FROM_TENSOR || in[0].t->rank == 0)
        return false;
    const janus_tensor *t = in[1].t;
    int64_t bound, other; /* indices from 0 on, below `bound`; or `other` */
    if (!jn_op_impls[k->recipe.op->id].bounds(k->attrs, in[0].t->dims, in[0].t->rank, t->dtype,
                                              &bound, &other))
        return true;
    if (t->storage->state == JN_STORAGE_PENDING || !t->contiguous || t->numel > FEW)
        return false;
    const void *data = jn_tensor_place(t);
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
        if ((v < 0 || v >= bound) && (v != other || bound == 0))
            return false;
    }
    return true;
}
