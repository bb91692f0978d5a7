/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field macros of ops.def that the includer left undefined expand to nothing.  Included by ops.def
 * itself, once per expansion, hence no guard; ops/fields_undef.h ends the expansion.
 */
#ifndef IN
#define IN(...)
#endif
#ifndef OPT
#define OPT(...)
#endif
#ifndef VAR
#define VAR(...)
#endif
#ifndef LIKE
#define LIKE(...)
#endif
#ifndef OPTLIKE
#define OPTLIKE(...)
#endif
#ifndef SCALAR
#define SCALAR(...)
#endif
#ifndef OPTSCALAR
#define OPTSCALAR(...)
#endif
#ifndef SHAPE
#define SHAPE(...)
#endif
#ifndef OPTSHAPE
#define OPTSHAPE(...)
#endif
#ifndef VARSHAPE
#define VARSHAPE(...)
#endif
#ifndef OPERAND
#define OPERAND(...)
#endif
#ifndef VAROPERAND
#define VAROPERAND(...)
#endif
#ifndef OUT
#define OUT(...)
#endif
#ifndef ATTR
#define ATTR(...)
#endif
#ifndef ROLE
#define ROLE(...)
#endif
#ifndef FLAGS
#define FLAGS(...)
#endif
#ifndef DEVICE_SCALARS
#define DEVICE_SCALARS(...)
#endif
#ifndef INDICES_FROM
#define INDICES_FROM(...)
#endif
#ifndef SUMS
#define SUMS(...)
#endif
#ifndef SAVE
#define SAVE(...)
#endif
#ifndef NONE
#define NONE(...)
#endif
#ifndef DOC
#define DOC(...)
#endif
#ifndef NOUT_ANY
#define NOUT_ANY
#endif
/* RULE(slot, f) goes to RULE_<slot>(f). */
#ifndef RULE
#define RULE(slot, f) RULE_##slot(f)
#endif
#ifndef RULE_infer
#define RULE_infer(f)
#endif
#ifndef RULE_grad
#define RULE_grad(f)
#endif
#ifndef RULE_grad_wide
#define RULE_grad_wide(f)
#endif
#ifndef RULE_batch
#define RULE_batch(f)
#endif
#ifndef RULE_cpu
#define RULE_cpu(f)
#endif
#ifndef RULE_ref
#define RULE_ref(f)
#endif
#ifndef RULE_cuda
#define RULE_cuda(f)
#endif
#ifndef RULE_workspace
#define RULE_workspace(f)
#endif
#ifndef RULE_view
#define RULE_view(f)
#endif
#ifndef RULE_batch_rule
#define RULE_batch_rule(f)
#endif
#ifndef RULE_bounds
#define RULE_bounds(f)
#endif
#ifndef RULE_summed
#define RULE_summed(f)
#endif
#ifndef RULE_skips
#define RULE_skips(f)
#endif
#ifndef RULE_joined
#define RULE_joined(f)
#endif
#ifndef RULE_rows
#define RULE_rows(f)
#endif
/* Rows that no device computes. */
#define NO_KERNELS NONE(batch) NONE(cpu) NONE(ref) NONE(cuda)
#define OP(id, ...) OP_NAMED(id, #id, __VA_ARGS__)
