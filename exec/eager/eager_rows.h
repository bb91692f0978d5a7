/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step of an optimizer by a gradient of which only some rows are there
 * (exec/store/tensor_rows.h): an op that leaves its operand 0 as it is where operand 1 is zero
 * (JN_OP_KEEPS0) writes those rows alone, so that it costs what they cost and not what the
 * vocabulary costs.
 */
#ifndef JN_EXEC_EAGER_ROWS_H
#define JN_EXEC_EAGER_ROWS_H

#include "exec/eager/now.h"
#include "exec/store/store.h"

/* Whether operand 1 of a call is a tensor of rows. */
static inline bool jn_eager_by_rows(const jn_eager_arg *in, unsigned n_in) {
    return JN_UNLIKELY(n_in > 1 && in[1].kind == JANUS_KIND_TENSOR && jn_tensor_is_rows(in[1].t));
}
/* jn_eager_into() on those rows.  *done is false, and nothing has happened, where the result could
 * differ elsewhere: the caller runs the call on all rows. */
janus_status jn_eager_rows_into(const jn_op *op, const jn_eager_arg *in, unsigned n_in,
                                const void *attrs, janus_tensor *dst, bool *done);

#endif
