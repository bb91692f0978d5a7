/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The op table: ops.def expanded into jn_ops (what graph/ sees) and jn_op_impls (kernels).
 *
 * Each expansion defines the fields it wants.  Attribute specs need the op's name for offsetof(),
 * which a field does not have: ATTR leaves a tuple, and ATTR_SPECS gives each tuple the name.
 */
#include "config.h"

#include "ops/attrs.h"
#include "ops/cpu/select/select.h"
#include "ops/op_ids.h"
#include "ops/rules.h"
#include "ops/scalar.h"

#define JN_IN(i) (1u << (i))
#define JN_INS_FROM(i) (0xffffu & ~((1u << (i)) - 1u))
#define JN_RES(i) (1u << (16 + (i)))

/* ---- operands ----------------------------------------------------------------------------------
 */

enum { /* the scalar kinds of SCALAR fields */
       SCALAR_KIND_ANY = JANUS_KIND_NONE,
       SCALAR_KIND_INT = JANUS_KIND_INT,
       SCALAR_KIND_FLOAT = JANUS_KIND_FLOAT,
       SCALAR_KIND_BOOL = JANUS_KIND_BOOL
};

#define IN(name, cls, doc) {#name, JN_ACCEPT_TENSOR, JN_DT_##cls, false, false, doc},
#define OPT(name, cls, doc) {#name, JN_ACCEPT_TENSOR, JN_DT_##cls, true, false, doc},
#define VAR(name, cls, doc) {#name, JN_ACCEPT_TENSOR, JN_DT_##cls, false, true, doc},
#define LIKE(name) {#name, JN_ACCEPT_LIKE, JN_DT_ANY, false, false, "shape and dtype"},
#define OPTLIKE(name) {#name, JN_ACCEPT_LIKE, JN_DT_ANY, true, false, "shape and dtype"},
#define SCALAR(name, kind) {#name, JN_ACCEPT_SCALAR, SCALAR_KIND_##kind, false, false, "scalar"},
#define OPTSCALAR(name, kind) {#name, JN_ACCEPT_SCALAR, SCALAR_KIND_##kind, true, false, "scalar"},
#define SHAPE(name) {#name, JN_ACCEPT_SHAPE, JANUS_KIND_INT, false, false, "int"},
#define OPTSHAPE(name) {#name, JN_ACCEPT_SHAPE, JANUS_KIND_INT, true, false, "int"},
#define VARSHAPE(name) {#name, JN_ACCEPT_SHAPE, JANUS_KIND_INT, false, true, "int"},
#define OPERAND(name, accept) {#name, JN_ACCEPT_##accept, JN_DT_ANY, false, false, NULL},
#define VAROPERAND(name, accept) {#name, JN_ACCEPT_##accept, JN_DT_ANY, false, true, NULL},
#define OP_NAMED(id, text, ...)                                                                    \
    static const jn_operand operands_##id[] = {                                                    \
        __VA_ARGS__{NULL, JN_ACCEPT_END, 0, false, false, NULL}};
#include "ops/ops.def"

#define OUT(name) #name,
#define OP_NAMED(id, text, ...) static const char *const out_names_##id[] = {__VA_ARGS__ NULL};
#include "ops/ops.def"

/* ---- attributes --------------------------------------------------------------------------------
 */

#define REQUIRED NULL
/* The ranges that rows name: least and largest number. */
#define RANGE_ANY INT64_MIN, INT64_MAX
#define RANGE_AXIS -(JN_MAX_RANK + 1), JN_MAX_RANK
#define RANGE_RANK JN_RANK_UNKNOWN, JN_MAX_RANK
#define RANGE_SIZE 0, INT64_MAX
#define RANGE_SHAPE -2, INT64_MAX
#define RANGE_STEP 1, INT64_MAX
#define RANGE_SHIFT -INT64_MAX, INT64_MAX
#define RANGE_OFFSET -(INT64_C(1) << 62), INT64_C(1) << 62
#define RANGE_WINDOW 1, INT32_MAX
#define RANGE_PADDING 0, INT32_MAX
#define RANGE_REDUCTION 0, 2
#define RANGE_SCALAR_KIND 0, JANUS_KIND_BOOL

#define ATTR(...) (__VA_ARGS__),
#define SPEC_UNPACK(...) __VA_ARGS__
#define SPEC_OF(id, name, kind, dflt, ...)                                                         \
    {#name, JN_ATTR_##kind, offsetof(janus_##id##_attrs, name), dflt, __VA_ARGS__},
#define SPEC_INT(id, name, dflt, range) SPEC_OF(id, name, INT, dflt, RANGE_##range)
#define SPEC_INTS(id, name, dflt, range) SPEC_OF(id, name, INTS, dflt, RANGE_##range)
#define SPEC_BOOL(id, name, dflt) SPEC_OF(id, name, BOOL, dflt, RANGE_ANY)
#define SPEC_DTYPE(id, name, dflt) SPEC_OF(id, name, DTYPE, dflt, RANGE_ANY)
#define SPEC_FLOAT(id, name, dflt) SPEC_OF(id, name, FLOAT, dflt, RANGE_ANY)
#define SPEC_STR(id, name, dflt) SPEC_OF(id, name, STR, dflt, RANGE_ANY)
#define SPEC_DATA(id, name, dflt) SPEC_OF(id, name, DATA, dflt, RANGE_ANY)
#define SPEC_END(id, name, dflt)
#define SPEC2(id, kind, name, ...) SPEC_##kind(id, name, __VA_ARGS__)
#define SPEC1(id, ...) SPEC2(id, __VA_ARGS__)
#define SPEC(id, tuple) SPEC1(id, SPEC_UNPACK tuple)
/* At most eight attributes per row; a ninth is a compile error here. */
#define ATTR_SPECS_(id, a, b, c, d, e, f, g, h, i)                                                 \
    SPEC(id, a) SPEC(id, b) SPEC(id, c) SPEC(id, d) SPEC(id, e) SPEC(id, f) SPEC(id, g) SPEC(id, h)
#define ATTR_SPECS8(id, a, b, c, d, e, f, g, h, i, ...) ATTR_SPECS_(id, a, b, c, d, e, f, g, h, i)
#define NIL (END, , )
#define ATTR_SPECS(id, ...)                                                                        \
    ATTR_SPECS8(id, __VA_ARGS__ NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL, NIL)
#define OP_NAMED(id, text, ...)                                                                    \
    static const jn_attr_spec attr_specs_##id[] = {                                                \
        ATTR_SPECS(id, __VA_ARGS__){NULL, JN_ATTR_INT, 0, NULL, 0, 0}};
#include "ops/ops.def"
#undef REQUIRED

/* ---- counts ------------------------------------------------------------------------------------
 */

/* Operands: required ones count 1, all count 256, a variadic one 65536; results and attributes. */
#define IN(...) +257
#define LIKE(...) +257
#define SCALAR(...) +257
#define SHAPE(...) +257
#define OPERAND(...) +257
#define OPT(...) +256
#define OPTLIKE(...) +256
#define OPTSCALAR(...) +256
#define OPTSHAPE(...) +256
#define VAR(...) +65536
#define VARSHAPE(...) +65536
#define VAROPERAND(...) +65536
#define OP_NAMED(id, text, ...) enum { n_operands_##id = 0 __VA_ARGS__ };
#include "ops/ops.def"

#define OUT(...) +1
#define NOUT_ANY +255
#define OP_NAMED(id, text, ...) enum { n_out_##id = 0 __VA_ARGS__ };
#include "ops/ops.def"

#define ATTR(...) +1
#define OP_NAMED(id, text, ...) enum { n_attrs_##id = 0 __VA_ARGS__ };
#include "ops/ops.def"

/* Rows of which some attribute has a range or is a list. */
#define CHECKED_INT(range) CHECKED_##range
#define CHECKED_INTS(range) 1
#define CHECKED_BOOL(...) 0
#define CHECKED_DTYPE(...) 0
#define CHECKED_FLOAT(...) 0
#define CHECKED_STR(...) 0
#define CHECKED_DATA(...) 1
#define CHECKED_ANY 0
#define CHECKED_AXIS 1
#define CHECKED_RANK 1
#define CHECKED_SIZE 1
#define CHECKED_STEP 1
#define CHECKED_OFFSET 1
#define CHECKED_WINDOW 1
#define CHECKED_REDUCTION 1
#define CHECKED_SCALAR_KIND 1
#define ATTR(kind, name, ...) | CHECKED_LAST(kind, __VA_ARGS__, )
#define CHECKED_LAST(kind, dflt, range, ...) CHECKED_##kind(range)
#define OP_NAMED(id, text, ...) enum { has_ranges_##id = 0 __VA_ARGS__ };
#include "ops/ops.def"

/* Every row decides on each of these rules, once: a hexadecimal digit counts each. */
#define DECIDES_infer 0x1
#define DECIDES_grad 0x10
#define DECIDES_grad_wide 0x10
#define DECIDES_batch 0x100
#define DECIDES_cpu 0x1000
#define DECIDES_ref 0x10000
#define DECIDES_cuda 0x100000
#define DECIDES_workspace 0
#define DECIDES_view 0
#define DECIDES_batch_rule 0
#define DECIDES_bounds 0
#define DECIDES_summed 0
#define DECIDES_joined 0
#define DECIDES_skips 0
#define DECIDES_rows 0
#define RULE(slot, f) +DECIDES_##slot
#define NONE(slot) +DECIDES_##slot
#define OP_NAMED(id, text, ...)                                                                    \
    _Static_assert((0 __VA_ARGS__) == 0x111111,                                                    \
                   "ops.def: row " #id " must name infer, grad, batch, cpu, ref, cuda once each");
#include "ops/ops.def"

/* ---- the rows ----------------------------------------------------------------------------------
 */

#define RULE_infer(f) .infer = jn_infer_##f,
#define RULE_grad(f) .grad = jn_grad_##f,
#define RULE_grad_wide(f) .grad = jn_grad_wide_##f,
#define ROLE(r) .role = JN_ROLE_##r, .fold = JN_ROLE_##r == JN_ROLE_SCALAR ? jn_scalar_fold : NULL,
#define FLAGS(mask) .flags = (mask),
#define SAVE(mask) .save = (mask),
#define DOC(text) .doc = text,
#define OP_NAMED(op, text, ...)                                                                    \
    [JN_OP_ID_##op] = {.name = text,                                                               \
                       .id = JN_OP_ID_##op,                                                        \
                       .n_in_required = n_operands_##op & 255,                                     \
                       .n_in_max = n_operands_##op >= 65536 ? 255 : (n_operands_##op >> 8) & 255,  \
                       .n_out = n_out_##op,                                                        \
                       .operands = operands_##op,                                                  \
                       .out_names = out_names_##op,                                                \
                       .attrs = attr_specs_##op,                                                   \
                       .attr_size = n_attrs_##op ? sizeof(janus_##op##_attrs) : 0,                 \
                       .has_ranges = has_ranges_##op,                                              \
                       __VA_ARGS__},
const jn_op jn_ops[] = {
#include "ops/ops.def"
};
const unsigned jn_n_ops = JN_OP_ID_COUNT;

/* A row whose CPU kernel is not written yet: the reference kernel. Declared here, since no row need
 * name it. */
jn_kernel_fn jn_cpu_REF(const jn_sig *sig);
jn_kernel_fn jn_cpu_REF(const jn_sig *sig) {
    jn_select_fn ref = jn_op_impls[sig->op->id].ref;
    return ref ? ref(sig) : NULL;
}

/* What the rows name; the slot of every row leads to jn_cpu_select, which deals with halves first.
 */
#define RULE_cpu(f) .select = jn_cpu_##f,
#define OP_NAMED(op, text, ...) [JN_OP_ID_##op] = {.id = JN_OP_ID_##op, __VA_ARGS__},
const jn_cpu_own_select jn_cpu_own[JN_OP_ID_COUNT] = {
#include "ops/ops.def"
};

#define RULE_cpu(f) .cpu = jn_cpu_select,
#define RULE_ref(f) .ref = jn_ref_##f,
#define RULE_workspace(f) .workspace = jn_workspace_##f,
#define RULE_view(f) .view = jn_view_##f,
#define RULE_batch_rule(f) .batch_rule = jn_batch_##f,
#define RULE_batch(kind) .batch = JN_BATCH_##kind,
#define RULE_bounds(f) .bounds = jn_bounds_##f,
#define RULE_summed(f) .summed = jn_summed_##f,
#define RULE_skips(f) .skips = jn_skips_##f,
#define RULE_joined(f) .joined = jn_joined_##f,
#define RULE_rows(f) .rows = jn_rows_##f,
#define DEVICE_SCALARS(mask) .device_scalars = (mask),
#define INDICES_FROM(k) .indices_from = (k),
#define SUMS(how) .sums = JN_SUMS_##how,
#define OP_NAMED(op, text, ...) [JN_OP_ID_##op] = {__VA_ARGS__},
const jn_op_impl jn_op_impls[JN_OP_ID_COUNT] = {
#include "ops/ops.def"
};
