/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inference of elementwise ops: the result has the broadcast dims of the tensor operands.  Dtype
 * classes were checked against the row before a rule runs.
 */
#include "config.h"

#include "ops/infer/infer.h"

janus_status jn_infer_binary(jn_infer *c) {
    return jn_infer_broadcast(c, 0, c->in[0]->dtype, c->in, 2);
}

static janus_status no_float(jn_infer *c) {
    janus_dtype d = (janus_dtype)c->in[0]->dtype;
    if (jn_dtype_is_float(d))
        return jn_infer_fail(c, JANUS_UNSUPPORTED, "not implemented for operands of dtype %s",
                             jn_dtype_name(d));
    return JANUS_OK;
}

janus_status jn_infer_bits(jn_infer *c) {
    JN_TRY(no_float(c));
    return jn_infer_broadcast(c, 0, c->in[0]->dtype, c->in, c->n_in);
}

janus_status jn_infer_shift(jn_infer *c) {
    if (c->in[0]->dtype == JANUS_BOOL)
        return jn_infer_fail(c, JANUS_UNSUPPORTED, "not implemented for operands of dtype bool");
    return jn_infer_bits(c);
}

janus_status jn_infer_compare(jn_infer *c) {
    return jn_infer_broadcast(c, 0, JANUS_BOOL, c->in, 2);
}

janus_status jn_infer_ternary(jn_infer *c) {
    return jn_infer_broadcast(c, 0, c->in[0]->dtype, c->in, 3);
}

janus_status jn_infer_unary(jn_infer *c) { return jn_infer_like(c, 0, c->in[0]->dtype, c->in[0]); }

janus_status jn_infer_same(jn_infer *c) { return jn_infer_unary(c); }

janus_status jn_infer_predicate(jn_infer *c) { return jn_infer_like(c, 0, JANUS_BOOL, c->in[0]); }

janus_status jn_infer_cast(jn_infer *c) {
    const janus_cast_attrs *a = c->attrs;
    if (a->dtype < 0 || a->dtype >= JANUS_DTYPE_COUNT)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "unknown dtype %lld", (long long)a->dtype);
    return jn_infer_like(c, 0, (int)a->dtype, c->in[0]);
}

janus_status jn_infer_where(jn_infer *c) {
    return jn_infer_broadcast(c, 0, c->in[1]->dtype, c->in, 3);
}

janus_status jn_infer_masked_fill(jn_infer *c) {
    return jn_infer_broadcast(c, 0, c->in[0]->dtype, c->in, 2);
}
