/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch refuses of an op's operands and the rows of the op table would take. */
#ifndef JPY_REFUSE_H
#define JPY_REFUSE_H

#include "graph/ir/ir.h"

/* 0; -1 with the error that PyTorch raises. types[i]: of operand i, kind NONE where it is absent;
 * of a Python number the type of a scalar. Looks at types alone, so a call that was remembered
 * (quick.h) need not ask again. */
int jpy_refuse(const jn_op *op, const jn_type *types, unsigned n);

/* 0; -1 with IndexError where `dim` is none of a tensor of `rank` dims; a number has the dims 0 and
 * -1. */
int jpy_dim_check(int64_t dim, int64_t rank);

#endif
