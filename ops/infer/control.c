/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inference of scalar ops, of host reads and of the small structural rows.  Rows whose results are
 * a SubGraph's are typed by graph/, which alone knows SubGraphs.
 */
#include "config.h"

#include "ops/infer/infer.h"

janus_status jn_infer_structural(jn_infer *c) {
    return jn_infer_fail(c, JANUS_INTERNAL, "has the types of a SubGraph's results");
}

janus_status jn_infer_none(jn_infer *c) {
    (void)c; /* no results */
    return JANUS_OK;
}

janus_status jn_infer_none_value(jn_infer *c) { return jn_infer_scalar(c, 0, JANUS_KIND_NONE); }
janus_status jn_infer_object(jn_infer *c) { return jn_infer_scalar(c, 0, JANUS_KIND_OBJECT); }
janus_status jn_infer_int(jn_infer *c) { return jn_infer_scalar(c, 0, JANUS_KIND_INT); }
janus_status jn_infer_truth(jn_infer *c) { return jn_infer_scalar(c, 0, JANUS_KIND_BOOL); }

static janus_status read_tensor(jn_infer *c, int64_t dtype, int64_t rank, janus_ints dims) {
    if (dtype < 0 || dtype >= JANUS_DTYPE_COUNT)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "a tensor needs a dtype");
    if (rank < 0)
        return jn_infer_unknown(c, 0, (int)dtype);
    if (dims.n != (size_t)rank)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "dims needs one entry per dim");
    return jn_infer_dims(c, 0, (int)dtype, (int)rank, dims.data);
}

janus_status jn_infer_wire_take(jn_infer *c) {
    const janus_wire_take_attrs *a = c->attrs;
    return read_tensor(c, a->dtype, a->rank, a->dims);
}

janus_status jn_infer_unbox(jn_infer *c) {
    const janus_host_unbox_attrs *a = c->attrs;
    if (a->kind >= JANUS_KIND_INT && a->kind <= JANUS_KIND_BOOL)
        return jn_infer_scalar(c, 0, (janus_kind)a->kind);
    if (a->kind != JANUS_KIND_TENSOR)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "kind must be a scalar's or tensor");
    return read_tensor(c, a->dtype, a->rank, a->dims);
}

janus_status jn_infer_acc_new(jn_infer *c) {
    JN_TRY(jn_infer_like(c, 0, c->in[0]->dtype, c->in[0]));
    c->out[0].kind = JANUS_KIND_ACC;
    return JANUS_OK;
}

janus_status jn_infer_acc_get(jn_infer *c) {
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[0]);
}

/* ---- scalars: kinds as in Python ------------------------------------------------------------- */

janus_status jn_infer_s_const(jn_infer *c) {
    const janus_s_const_attrs *a = c->attrs;
    if (a->kind < JANUS_KIND_INT || a->kind > JANUS_KIND_BOOL)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "kind must be int, float or bool");
    return jn_infer_scalar(c, 0, (janus_kind)a->kind);
}

/* float if an operand is, else int (of bools too) */
janus_status jn_infer_s_arith(jn_infer *c) {
    janus_kind k = JANUS_KIND_INT;
    for (unsigned i = 0; i < c->n_in; i++) {
        if (c->in[i]->kind == JANUS_KIND_FLOAT)
            k = JANUS_KIND_FLOAT;
    }
    return jn_infer_scalar(c, 0, k);
}

janus_status jn_infer_s_float(jn_infer *c) { return jn_infer_scalar(c, 0, JANUS_KIND_FLOAT); }
janus_status jn_infer_s_int(jn_infer *c) { return jn_infer_scalar(c, 0, JANUS_KIND_INT); }
janus_status jn_infer_s_bool(jn_infer *c) { return jn_infer_scalar(c, 0, JANUS_KIND_BOOL); }

/* that of the number that is rounded */
janus_status jn_infer_s_round_digits(jn_infer *c) {
    bool real = c->in[0]->kind == JANUS_KIND_FLOAT;
    return jn_infer_scalar(c, 0, real ? JANUS_KIND_FLOAT : JANUS_KIND_INT);
}

static janus_status no_floats(jn_infer *c) {
    for (unsigned i = 0; i < c->n_in; i++) {
        if (c->in[i]->kind == JANUS_KIND_FLOAT)
            return jn_infer_expected(c, JANUS_DTYPE, i, "int or bool");
    }
    return JANUS_OK;
}

/* bool of bools, else int */
janus_status jn_infer_s_bits(jn_infer *c) {
    JN_TRY(no_floats(c));
    bool both = c->in[0]->kind == JANUS_KIND_BOOL && c->in[1]->kind == JANUS_KIND_BOOL;
    return jn_infer_scalar(c, 0, both ? JANUS_KIND_BOOL : JANUS_KIND_INT);
}

janus_status jn_infer_s_shift(jn_infer *c) {
    JN_TRY(no_floats(c));
    return jn_infer_scalar(c, 0, JANUS_KIND_INT);
}

/* Which operand is taken depends on values, so both must have one kind. */
static janus_status one_kind(jn_infer *c, unsigned i, unsigned j) {
    if (c->in[i]->kind != c->in[j]->kind)
        return jn_infer_expected(c, JANUS_DTYPE, j, "the kind of the other operand");
    return jn_infer_scalar(c, 0, (janus_kind)c->in[i]->kind);
}
janus_status jn_infer_s_same(jn_infer *c) { return one_kind(c, 0, 1); }
janus_status jn_infer_s_select(jn_infer *c) { return one_kind(c, 1, 2); }
