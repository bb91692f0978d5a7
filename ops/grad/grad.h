/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing gradient rules: ops as function calls.
 *
 * A rule makes a jn_gx of its jn_grad and returns g.st.  The first failure is kept in `st`; from
 * then on every call does nothing and gives none, so rules need no checks in between.
 */
#ifndef JN_OPS_GRAD_EMIT_H
#define JN_OPS_GRAD_EMIT_H

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "ops/rules.h"

typedef struct jn_gx {
    jn_grad *r;
    janus_status st;
} jn_gx;

#define JN_ATTRS(op, ...)                                                                          \
    (&(janus_##op##_attrs){.struct_size = sizeof(janus_##op##_attrs), __VA_ARGS__})

/* Emits any op with n operands; out receives n_out results. */
void jn_g_emit(jn_gx *g, const jn_op *op, const jn_ev *in, unsigned n, const void *attrs,
               jn_ev *out, unsigned n_out);
jn_ev jn_g_op1(jn_gx *g, const jn_op *op, jn_ev a, const void *attrs);
jn_ev jn_g_op2(jn_gx *g, const jn_op *op, jn_ev a, jn_ev b, const void *attrs);
jn_ev jn_g_op3(jn_gx *g, const jn_op *op, jn_ev a, jn_ev b, jn_ev c, const void *attrs);
/* op(a...) without attributes: JN_G1(g, exp, x) */
#define JN_G1(g, op, a) jn_g_op1(g, JN_OP(op), a, NULL)
#define JN_G2(g, op, a, b) jn_g_op2(g, JN_OP(op), a, b, NULL)
#define JN_G3(g, op, a, b, c) jn_g_op3(g, JN_OP(op), a, b, c, NULL)

static inline jn_ev jn_g_add(jn_gx *g, jn_ev a, jn_ev b) { return JN_G2(g, add, a, b); }
static inline jn_ev jn_g_sub(jn_gx *g, jn_ev a, jn_ev b) { return JN_G2(g, sub, a, b); }
static inline jn_ev jn_g_mul(jn_gx *g, jn_ev a, jn_ev b) { return JN_G2(g, mul, a, b); }
static inline jn_ev jn_g_div(jn_gx *g, jn_ev a, jn_ev b) { return JN_G2(g, div, a, b); }
static inline jn_ev jn_g_neg(jn_gx *g, jn_ev a) { return JN_G1(g, neg, a); }

jn_ev jn_g_int(jn_gx *g, int64_t v);  /* scalar */
jn_ev jn_g_float(jn_gx *g, double v); /* scalar */
/* A 0-d tensor of the dtype of `like`, from a number or from a scalar value. */
jn_ev jn_g_const(jn_gx *g, double v, jn_ev like);
jn_ev jn_g_of_scalar(jn_gx *g, jn_ev scalar, jn_ev like);
jn_ev jn_g_scale(jn_gx *g, jn_ev a, double v); /* a * v; a itself for 1 */
jn_ev jn_g_zeros_like(jn_gx *g, jn_ev like);
jn_ev jn_g_zero_where(jn_gx *g, jn_ev a, jn_ev mask); /* 0 where mask, else a */

/* a summed to the shape of `like`: what broadcasting `like` did is undone.  a itself when the types
 * are known to have one shape. */
jn_ev jn_g_sum_like(jn_gx *g, jn_ev a, jn_ev like);

/* Type of a value, copied so that it survives later emits; kind NONE after a failure. */
typedef struct jn_gtype {
    jn_type t;
    int64_t dims[JN_MAX_RANK];
} jn_gtype;
void jn_g_type(jn_gx *g, jn_ev v, jn_gtype *out);
int jn_g_rank(jn_gx *g, jn_ev v); /* -1 unknown */

/* a reduced over dims (keepdim). */
jn_ev jn_g_sum(jn_gx *g, jn_ev a, janus_ints dims, bool keepdim);
jn_ev jn_g_mean(jn_gx *g, jn_ev a, janus_ints dims, bool keepdim);
/* y is x reduced over dims: gives y the reduced dims back with size 1. */
jn_ev jn_g_restore_dims(jn_gx *g, jn_ev y, jn_ev x, janus_ints dims, bool keepdim);
/* How many elements of x a reduction over dims joins, as a 0-d tensor of the dtype of `like`. */
jn_ev jn_g_count(jn_gx *g, jn_ev x, janus_ints dims, jn_ev like);
/* a in a shape given by sizes: entries -2 are sizes of `of` along the axis given in `axes`. */
jn_ev jn_g_reshape(jn_gx *g, jn_ev a, const int64_t *shape, const jn_ev *sizes, int rank);
/* Size of a along axis as an int scalar. */
jn_ev jn_g_size(jn_gx *g, jn_ev a, int64_t axis);
/* x[start:stop:step] along an axis; the bounds are scalar values, or JN_EV_NONE. */
jn_ev jn_g_slice(jn_gx *g, jn_ev x, jn_ev start, jn_ev stop, int64_t axis, int64_t step);
/* x with that replaced by src. */
jn_ev jn_g_slice_scatter(jn_gx *g, jn_ev x, jn_ev src, jn_ev start, jn_ev stop, int64_t axis,
                         int64_t step);
jn_ev jn_g_unsqueeze(jn_gx *g, jn_ev a, int64_t axis);
/* The gradient of x, read at rows `index` (an int tensor; or none: the int scalar `at`) of its
 * first dim, dy arriving: as embedding_grad, which an accumulator takes without a table of zeros
 * per use. None when x is not known to be a matrix. */
jn_ev jn_g_table_grad(jn_gx *g, jn_ev x, jn_ev index, jn_ev at, jn_ev dy);
/* The rule cannot do this: sets the error. */
void jn_g_unsupported(jn_gx *g, const char *what);

/* din[i] = v where it is wanted. */
#define JN_WANT(g, i) ((i) < (g)->r->n_in && (g)->r->want[i] && (g)->st == JANUS_OK)
static inline void jn_g_set(jn_gx *g, unsigned i, jn_ev v) {
    if (g->st == JANUS_OK)
        g->r->din[i] = v;
}
/* The same, summed to the operand's shape. */
void jn_g_set_like(jn_gx *g, unsigned i, jn_ev v);

#endif
