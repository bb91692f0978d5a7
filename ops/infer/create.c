/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inference of creation, of random draws, and of what reads a tensor's shape or element.
 */
#include "config.h"

#include "ops/infer/infer.h"
#include "ops/shape_rules.h"

static janus_status check_dtype(jn_infer *c, int64_t dtype) {
    if (dtype < 0 || dtype >= JANUS_DTYPE_COUNT)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "unknown dtype %lld", (long long)dtype);
    return JANUS_OK;
}

static janus_status check_float(jn_infer *c, int64_t dtype) {
    if (!jn_dtype_is_float((int)dtype))
        return jn_infer_fail(c, JANUS_DTYPE, "dtype must be f32, f64, f16 or bf16");
    return JANUS_OK;
}

janus_status jn_infer_full(jn_infer *c) {
    const janus_full_attrs *a = c->attrs;
    JN_TRY(check_dtype(c, a->dtype));
    return jn_infer_shape_attr(c, 0, (int)a->dtype, a->shape, 1);
}

janus_status jn_infer_full_like(jn_infer *c) {
    const janus_full_like_attrs *a = c->attrs;
    if (a->dtype == -1)
        return jn_infer_like(c, 0, c->in[1]->dtype, c->in[1]);
    JN_TRY(check_dtype(c, a->dtype));
    return jn_infer_like(c, 0, (int)a->dtype, c->in[1]);
}

janus_status jn_infer_scalar_tensor(jn_infer *c) {
    const janus_scalar_tensor_attrs *a = c->attrs;
    JN_TRY(check_dtype(c, a->dtype));
    return jn_infer_dims(c, 0, (int)a->dtype, 0, NULL);
}

/* A vector of as many elements as the SHAPE operand says. */
static janus_status vector_of(jn_infer *c, unsigned operand, int64_t dtype) {
    int64_t n;
    JN_TRY(check_dtype(c, dtype));
    if (!jn_infer_const(c, operand, &n))
        n = JN_DIM_UNKNOWN;
    else if (n < 0)
        return jn_infer_fail(c, JANUS_SHAPE, "invalid size %lld", (long long)n);
    return jn_infer_dims(c, 0, (int)dtype, 1, &n);
}

janus_status jn_infer_arange(jn_infer *c) {
    return vector_of(c, 2, ((const janus_arange_attrs *)c->attrs)->dtype);
}

janus_status jn_infer_randperm(jn_infer *c) {
    return vector_of(c, 0, ((const janus_randperm_attrs *)c->attrs)->dtype);
}

janus_status jn_infer_eye(jn_infer *c) {
    const janus_eye_attrs *a = c->attrs;
    int64_t dims[2] = {a->n, a->m};
    JN_TRY(check_dtype(c, a->dtype));
    if (a->n < 0 || a->m < 0)
        return jn_infer_fail(c, JANUS_SHAPE, "sizes must not be negative");
    return jn_infer_dims(c, 0, (int)a->dtype, 2, dims);
}

/* Shape of `like` when it is there, else of the attribute. */
static janus_status rng_shape(jn_infer *c, unsigned like, janus_ints shape, int64_t dtype) {
    if (jn_infer_has(c, like))
        return jn_infer_like(c, 0, (int)dtype, c->in[like]);
    return jn_infer_shape_attr(c, 0, (int)dtype, shape, c->n_in);
}

janus_status jn_infer_rng_float(jn_infer *c) {
    const janus_uniform_attrs *a = c->attrs; /* normal's begins alike */
    JN_TRY(check_float(c, a->dtype));
    return rng_shape(c, 0, a->shape, a->dtype);
}

janus_status jn_infer_randint(jn_infer *c) {
    const janus_randint_attrs *a = c->attrs;
    JN_TRY(check_dtype(c, a->dtype));
    return rng_shape(c, 2, a->shape, a->dtype);
}

janus_status jn_infer_bernoulli_mask(jn_infer *c) {
    JN_TRY(check_float(c, c->in[0]->dtype));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[0]);
}

janus_status jn_infer_constant(jn_infer *c) {
    const janus_constant_attrs *a = c->attrs;
    return jn_infer_dims(c, 0, a->value.dtype, a->value.rank, a->value.dims);
}

janus_status jn_infer_item(jn_infer *c) {
    const janus_item_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    int64_t n = jn_type_numel(x);
    janus_kind kind = (janus_kind)a->kind;
    if (n >= 0 && n != 1)
        return jn_infer_expected(c, JANUS_SHAPE, 0, "one element");
    if (a->kind == 0)
        kind = x->dtype == JANUS_BOOL        ? JANUS_KIND_BOOL
               : jn_dtype_is_float(x->dtype) ? JANUS_KIND_FLOAT
                                             : JANUS_KIND_INT;
    else if (a->kind < JANUS_KIND_INT || a->kind > JANUS_KIND_BOOL)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "kind must be int, float or bool");
    return jn_infer_scalar(c, 0, kind);
}

janus_status jn_infer_size(jn_infer *c) {
    const janus_size_attrs *a = c->attrs;
    int axis;
    if (c->in[0]->rank >= 0)
        JN_TRY(jn_infer_axis(c, a->axis, c->in[0]->rank, &axis));
    return jn_infer_scalar(c, 0, JANUS_KIND_INT);
}
