/* SPDX-License-Identifier: Apache-2.0 */
/* An element of a tensor as a scalar of the host strand. */
#include "config.h"

#include "exec/schedule/schedule.h"
#include "exec/state/state.h"
#include "graph/base/status.h"
#include "ops/ref/ref.h"

janus_status jn_read_item(jn_run *r, jn_tval *v, janus_kind kind, jn_slot *out) {
    if (!v)
        return jn_error(JANUS_INTERNAL, "item of an absent tensor");
    if (v->shape->numel != 1)
        return jn_error(JANUS_SHAPE, "item: expected a tensor of one element, got %lld",
                        (long long)v->shape->numel);
    JN_TRY(jn_tval_force(r, v));
    double f = 0;
    int64_t i = 0, here = 0;
    char *data = v->data;
    if (!jn_computes_here(r->on)) {
        JN_TRY(r->on->get(r->dev, &here, data, v->shape->bytes));
        data = (char *)&here;
    }
    switch (v->shape->dtype) {
    case JANUS_F32:
        f = *(const float *)data;
        break;
    case JANUS_F64:
        f = *(const double *)data;
        break;
    case JANUS_I32:
        i = *(const int32_t *)data;
        break;
    case JANUS_I64:
        i = *(const int64_t *)data;
        break;
    case JANUS_BOOL:
    case JANUS_U8:
        i = *(const uint8_t *)data;
        break;
    default: {
        jn_view half = {data, NULL, NULL, 0, v->shape->dtype, true};
        f = jn_load_f(&half, 0);
    }
    }
    bool is_float = jn_dtype_is_float(v->shape->dtype);
    if (kind == JANUS_KIND_FLOAT)
        out->f = is_float ? f : (double)i;
    else if (kind == JANUS_KIND_BOOL)
        out->i = is_float ? f != 0 : i != 0;
    else if (is_float && !(f >= -9223372036854775808.0 && f < 9223372036854775808.0))
        return jn_error(JANUS_ARITHMETIC, "item: %g does not fit an int", f);
    else
        out->i = is_float ? (int64_t)f : i;
    return JANUS_OK;
}
