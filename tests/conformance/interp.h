/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small eager interpreter for the op tests: values, one op at a time on a device's kernels, a
 * tape that is an emitter of gradient rules, and its backward pass, whose own ops are on the tape
 * again.
 *
 * Values belong to a pool and live until it is reset.  Failing allocations end the program: this is
 * a test.
 */
#ifndef JN_TESTS_CONFORMANCE_INTERP_H
#define JN_TESTS_CONFORMANCE_INTERP_H

#include "graph/base/arena.h"
#include "ops/kernel.h"
#include "ops/op_ids.h"

typedef enum device { DEVICE_REF, DEVICE_CPU } device;

typedef struct val {
    jn_type t; /* t.dims is dims; scalars: kind */
    int64_t dims[JN_MAX_RANK], strides[JN_MAX_RANK], numel;
    char *data; /* first element; scalars: an i64, f64 or bool */
    bool needs; /* a gradient of it is asked for */
    struct val *cot;
} val;

typedef struct node {
    const jn_op *op;
    unsigned n_in, n_out;
    val **in, **out;
    const void *attrs;
} node;

typedef struct tape {
    jn_emitter base;
    jn_arena arena;
    device dev;
    node *nodes;
    size_t n, cap;
    uint32_t flags; /* kernel flags seen */
    bool poison;    /* operands that SAVE does not list reach rules as NaN */
    bool blur;      /* rules see types of unknown sizes, as in a graph */
} tape;

void tape_init(tape *t, device dev);
void tape_free(tape *t);

val *val_tensor(tape *t, int dtype, int rank, const int64_t *dims); /* zeroed, row-major */
val *val_scalar(tape *t, janus_kind kind, janus_scalar s);
jn_view val_view(const val *v);
double val_get(const val *v, int64_t i); /* element i in row-major order */
void val_set(val *v, int64_t i, double f);

/* Runs one op; outs are new values.  The record is set on failure. */
janus_status tape_run(tape *t, const jn_op *op, val *const *in, unsigned n_in, const void *attrs,
                      val **out, unsigned n_out);
/* Number of results of an op whose row says any. */
unsigned op_n_out(const jn_op *op);

/* Adds cotangents: the cotangents of y[i] are dy[i] (NULL: none); afterwards val.cot of every value
 * with `needs` that y depends on is set. */
janus_status tape_backward(tape *t, val *const *y, val *const *dy, unsigned n);
/* Forgets all cotangents. */
void tape_clear(tape *t);

#endif
