/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python's arithmetic on scalars, for the host strand and constant folding.
 *
 * Semantics are CPython's: floor division, remainder with the divisor's sign, int and float
 * compared exactly, ints divided correctly rounded.  What raises in Python is JANUS_ARITHMETIC
 * here, and so is an int result that does not fit 64 bits.
 */
#ifndef JN_OPS_SCALAR_H
#define JN_OPS_SCALAR_H

#include "graph/ir/ir.h"

/* Evaluates an `s.` row (role SCALAR or s.const excluded) on n operands of the given janus_kinds.
 * The result's kind is that of the row's inference, see jn_scalar_kind. */
janus_status jn_scalar_eval(const jn_op *op, const janus_scalar *in, const uint8_t *kinds,
                            unsigned n, janus_scalar *out);
/* Kind of the result for operands of these kinds (which inference has accepted). */
janus_kind jn_scalar_kind(const jn_op *op, const uint8_t *kinds, unsigned n);
/* The rows' fold rule (jn_fold_fn). */
bool jn_scalar_fold(const jn_op *op, const void *attrs, const janus_scalar *in,
                    const uint8_t *kinds, unsigned n_in, janus_scalar *out, uint8_t *out_kind);

#endif
