/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One op, now: infer, allocate, select, run.  What janus.Tensor's operators and the eager emitter
 * of the gradient rules call.  No promotion (the caller casts), no tape.
 */
#ifndef JN_EXEC_EAGER_H
#define JN_EXEC_EAGER_H

#include "exec/eager/copy.h"
#include "exec/store/store.h"

/* Kinds beside janus_kind: a type without data, for LIKE operands; the number that a tensor of one
 * element holds, for scalar operands, where only a graph will know it (given to the hook alone); a
 * tensor of which dims and strides are looked at only (for jn_eager_is_view). */
enum { JN_EAGER_LIKE = 100, JN_EAGER_ITEM, JN_EAGER_LAYOUT };

/* An operand: a tensor (borrowed), a scalar, a type for LIKE, or absent (KIND_NONE). */
typedef struct jn_eager_arg {
    uint8_t kind; /* janus_kind or one of the above */
    union {
        janus_tensor *t;
        janus_scalar s;
        const jn_type *like;
        const janus_tensor *layout;
    };
} jn_eager_arg;

enum { JN_EAGER_MAX_OUT = 8 };

/*
 * Runs a COMPUTE op on the CPU.  out[i] receives new tensors (+1).  VIEW ops give aliases of
 * operand 0's storage where strides allow.  Kernel flags become errors: JANUS_INDEX,
 * JANUS_ARITHMETIC. The generator's ops take their offset from `rng`: see exec/store/rng.h.
 */
janus_status jn_eager(const jn_op *op, const jn_eager_arg *in, unsigned n_in, const void *attrs,
                      janus_tensor **out, unsigned n_out);
/* Same, result 0 written into `dst` (an in-place spelling: dst has the result's dtype and dims, any
 * strides, and may be an operand or overlap one). */
janus_status jn_eager_into(const jn_op *op, const jn_eager_arg *in, unsigned n_in,
                           const void *attrs, janus_tensor *dst);
/* Same, result i written into dst[i], which is an operand (its rows say that results may be written
 * over what they replace) and shares memory with no other. */
janus_status jn_eager_update(const jn_op *op, const jn_eager_arg *in, unsigned n_in,
                             const void *attrs, janus_tensor *const *dst, unsigned n_out);
/* Whether a VIEW op of t's type and layout gives a view: false where it copies.  Runs nothing and
 * looks at no element, so t may be a proxy. */
janus_status jn_eager_is_view(const jn_op *op, const janus_tensor *t, const void *attrs, bool *out);
/* Whether a result has the shape and dtype of the tensor that it is to be written into; the error
 * says which it has. */
janus_status jn_eager_fits(const jn_op *op, const jn_type *t, const janus_tensor *dst);
/* Fast paths, on the calling thread alone, for elementwise ops without attributes whose result has
 * the operands' dtype.  Operands are contiguous, of equal dtype, and of equal dims or one of them
 * 0-d. */
janus_status jn_eager_unary(jn_thread *me, const jn_op *op, janus_tensor *a, janus_tensor **out);
janus_status jn_eager_binary(jn_thread *me, const jn_op *op, janus_tensor *a, janus_tensor *b,
                             janus_tensor **out);
/* Whether they take the row, for float operands: what has no gradient gives bools or integers. */
static inline bool jn_eager_is_like(const jn_op *op) {
    return (op->flags & JN_OP_ELEMENTWISE) && op->grad && op->n_out == 1 && !op->attr_size &&
           op->n_in_max <= 2;
}
/* How kernels of eager calls split their work. */
const jn_par *jn_eager_par(void);

#endif
