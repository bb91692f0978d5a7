/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of one op with everything it needs, on the C stack: what eager.c runs and recipe.c looks
 * at once to know it for ever.  Only calls with many operands (concat of a long list) take their
 * arrays from the heap.
 */
#ifndef JN_EXEC_EAGER_CALL_H
#define JN_EXEC_EAGER_CALL_H

#include "exec/device/device.h"
#include "exec/eager/eager.h"

enum { JN_CALL_FEW = 8, JN_CALL_DIMS = JN_EAGER_MAX_OUT * JN_MAX_RANK };

typedef union jn_cell {
    int64_t i;
    double f;
    bool b;
} jn_cell;

typedef struct jn_call {
    const jn_op *op;
    const jn_op_impl *impl;
    unsigned n_in, n_out;
    const void *attrs;
    jn_view *in;
    jn_type *types;
    const jn_type **type_of;
    const int64_t **cv;
    jn_cell *cells;
    janus_tensor **temps; /* contiguous copies of operands, NULL where none */
    jn_type out_types[JN_EAGER_MAX_OUT];
    int64_t dims[JN_CALL_DIMS];
    unsigned n_dims;
    bool waits;        /* an operand's elements are not there yet */
    jn_device *device; /* of the operands; NULL: the host */
    void *block;       /* the arrays above, when there are many operands */
} jn_call;

/* Room for the arrays of a call with few operands. */
typedef struct jn_call_room {
    jn_view in[JN_CALL_FEW];
    jn_type types[JN_CALL_FEW];
    const jn_type *type_of[JN_CALL_FEW];
    const int64_t *cv[JN_CALL_FEW];
    jn_cell cells[JN_CALL_FEW];
    janus_tensor *temps[JN_CALL_FEW];
} jn_call_room;

/* jn_call_done() after it, however it ends. */
janus_status jn_call_init(jn_call *k, jn_call_room *room, const jn_op *op, unsigned n_in,
                          const void *attrs, unsigned n_out);
void jn_call_done(jn_call *k);
/* Operands as views and types, their device (`dst`: a target's counts too, or NULL), then the
 * results' types: tensors of known shapes, or an error. */
janus_status jn_call_infer(jn_call *k, const jn_eager_arg *in, const janus_tensor *dst);
/* The same of a step of an optimizer whose results go over its operands: their types need not be
 * known, and are not where all operands are as they have to be. */
janus_status jn_call_infer_step(jn_call *k, const jn_eager_arg *in, const janus_tensor *dst);
/* What the kernel reads: elements that are there, row-major unless the row says STRIDED. */
janus_status jn_call_straighten(jn_call *k, const jn_eager_arg *in);
/* The error that a kernel's flags stand for. */
janus_status jn_call_flag_error(const jn_op *op, uint32_t flags);

/* The device of the operands, NULL for the host; an error where they differ.  0-d host tensors may
 * accompany device tensors, and so may indices. */
janus_status jn_dev_of_args(const jn_op *op, const jn_eager_arg *in, unsigned n_in,
                            const janus_tensor *dst, jn_device **out);

#endif
