/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prototypes of every rule the op table names, made from the rows: RULE(infer, f) is jn_infer_f,
 * RULE(cpu, f) is jn_cpu_f, and so on.  Included by the files that define rules.
 */
#ifndef JN_OPS_RULES_H
#define JN_OPS_RULES_H

#include "ops/kernel.h"

/* Rules are named by several rows; declaring a function again is harmless. */
#define OP_NAMED(id, name, ...) __VA_ARGS__
#define RULE_infer(f) janus_status jn_infer_##f(jn_infer *c);
#define RULE_grad(f) janus_status jn_grad_##f(jn_grad *g);
#define RULE_grad_wide(f) RULE_grad(f) janus_status jn_grad_wide_##f(jn_grad *g);
#define RULE_cpu(f) jn_kernel_fn jn_cpu_##f(const jn_sig *sig);
#define RULE_ref(f) jn_kernel_fn jn_ref_##f(const jn_sig *sig);
#define RULE_workspace(f) size_t jn_workspace_##f(const jn_sig *sig);
#define RULE_view(f)                                                                               \
    bool jn_view_##f(const jn_view *in, unsigned n_in, const void *attrs, const jn_type *out,      \
                     int64_t *strides, int64_t *offset);
#define RULE_batch_rule(f)                                                                         \
    const jn_op *jn_batch_##f(const jn_sig *sig, const bool *rowed, int64_t rows, void *attrs,     \
                              int64_t *ints);
#define RULE_bounds(f)                                                                             \
    bool jn_bounds_##f(const void *attrs, const int64_t *dims, int rank, uint8_t dtype1,           \
                       int64_t *bound, int64_t *other);
#define RULE_summed(f) bool jn_summed_##f(const void *attrs);
#define RULE_skips(f) int64_t jn_skips_##f(const void *attrs);
#define RULE_joined(f) int jn_joined_##f(const void *attrs, int rank);
#define RULE_rows(f) int jn_rows_##f(const void *attrs, int rank);
#include "ops/ops.def"

#endif
