/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The selection of CPU kernels: what every row's `cpu` slot of jn_op_impls leads to.
 */
#ifndef JN_OPS_CPU_SELECT_H
#define JN_OPS_CPU_SELECT_H

#include "ops/kernel.h"

/* Of any row with a CPU kernel: that of halves (ops/cpu/select/half.c) or the row's own. */
jn_kernel_fn jn_cpu_select(const jn_sig *sig);
/* The selection that the row names in ops.def; NULL: none.  Indexed by jn_op.id. */
typedef struct jn_cpu_own_select {
    unsigned id;
    jn_select_fn select;
} jn_cpu_own_select;
extern const jn_cpu_own_select jn_cpu_own[];
/* The kernel where operands or results are f16 or bf16 and computed with; NULL: the row's own. */
jn_kernel_fn jn_cpu_half(const jn_sig *sig);

#endif
