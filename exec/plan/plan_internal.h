/* SPDX-License-Identifier: Apache-2.0 */
/* The plan compiler's own types: what plan_cut.c decides and plan_build.c emits. */
#ifndef JN_EXEC_PLAN_INTERNAL_H
#define JN_EXEC_PLAN_INTERNAL_H

#include "exec/heap/heap.h"
#include "exec/plan/plan.h"

/* Row steps (exec/schedule/rows.h) have segments of their own, numbered by node: JN_ROW_STEP |
 * node. */
enum { JN_ROW_STEP = 1 << 30 };
#define JN_NO_SEG UINT32_MAX

/* How the nodes of one body (a SubGraph, or an inlined arm) fall into segments. */
typedef struct jn_cut {
    uint32_t *seg;  /* per node: segment of a tensor node, JN_NO_SEG for host nodes */
    uint32_t *uses; /* per node: uses by live nodes, results and saved members */
    uint32_t *user; /* per node: the last node that uses it; 0: none */
    bool *numbered; /* per node: the number of its tensor is asked for */
    uint32_t n_segs;
    uint32_t *close_before; /* per segment: issued before this node (n_nodes: at the end) */
} jn_cut;

/* True for nodes that run on the tensor strand. */
bool jn_is_tensor_node(const jn_node *n);
static inline bool jn_is_row_step(const jn_cut *c, size_t node) {
    return c->seg[node] != JN_NO_SEG && c->seg[node] & JN_ROW_STEP;
}
/* The value of a scalar constant node; false if it is none. */
bool jn_const_bits(const jn_node *n, int64_t *out_bits);
janus_status jn_cut_make(jn_arena *a, const jn_subgraph *g, bool saved, jn_cut *out);

/* ---- the compiler at work (prefix jn_pb_: plan builder) ---- */

typedef struct jn_builder {
    jn_plan *plan;
    jn_arena *arena;
    JN_VEC(jn_instr) code;
    JN_VEC(const jn_node *) where;
    JN_VEC(uint8_t) kind; /* per slot */
} jn_builder;

/* A body being compiled: the plan's own, or an arm inlined in it. */
typedef struct jn_scope {
    const jn_subgraph *g;
    const struct jn_scope *outer;
    uint32_t depth;
    jn_cut cut;
    uint32_t **slot;     /* [node][result]; JN_NO_SLOT: none yet */
    bool *needs_slot;    /* per constant node: some use cannot hold it as an immediate */
    uint32_t next_issue; /* segments issued so far */
    bool tail;           /* its results are the plan's results */
    bool returned;       /* its last node, an `if` in tail position, has returned in both arms */
} jn_scope;

janus_status jn_pb_new_slot(jn_builder *b, uint8_t kind, uint32_t *out);
janus_status jn_pb_emit(jn_builder *b, const jn_node *n, jn_instr in);
/* The slot of a value, JN_NO_SLOT when it has none (yet). */
uint32_t jn_pb_slot_of(const jn_scope *s, jn_value v);
/* The slot of a result of n, made when it has none. */
janus_status jn_pb_out_slot(jn_builder *b, jn_scope *s, const jn_node *n, uint32_t i,
                            uint32_t *out);
/* The slot of an operand; an error when it has none and is not the none value. */
janus_status jn_pb_value_slot(jn_builder *b, jn_scope *s, jn_value v, uint32_t *out);
bool jn_pb_const_of(const jn_scope *s, jn_value v, int64_t *bits);

/* plan_scalar.c */
/* The constant that n's second operand can be as an immediate. */
bool jn_pb_immediate(const jn_scope *s, const jn_node *n, int64_t *imm);
/* The compare-and-branch for a condition, -1: none. */
int jn_pb_branch_opcode(const jn_scope *s, jn_value cond);
/* The host.type node whose token, used nowhere else, n compares with a constant; NULL: none. */
const jn_node *jn_pb_type_test(const jn_scope *s, const jn_node *n, int64_t *token);
janus_status jn_pb_scalar(jn_builder *b, jn_scope *s, const jn_node *n);
/* Fills s->needs_slot. */
janus_status jn_pb_find_constants(jn_builder *b, jn_scope *s);

/* plan_branch.c */
/* A condition that is a tensor's element: the scalars on the way to it, at most two. */
typedef struct jn_condition {
    jn_value tensor;
    const jn_node *scalar[2];
    unsigned n;
} jn_condition;
/* False: it is none. */
bool jn_pb_condition(const jn_subgraph *g, jn_value v, jn_condition *out);
/* Whether n, an `if` or a `while` of g, may be left to a device (exec/schedule/branch.h). */
bool jn_pb_can_decide(const jn_subgraph *g, const jn_node *n);
/* Emits the DECIDE of n; *out_at: its place in the code.  What it jumps to is the caller's to
 * patch. */
janus_status jn_pb_decide(jn_builder *b, jn_scope *s, const jn_node *n, size_t *out_at);
/* Emits what comes after a DECIDE of a `while` that has issued: results that are no tensors, or
 * that rounds leave as they are. */
janus_status jn_pb_decided(jn_builder *b, jn_scope *s, const jn_node *n, size_t at);

/* plan_segments.c */
/* Gives every tensor value that leaves its segment a slot. */
janus_status jn_pb_mark_outputs(jn_builder *b, jn_scope *s);
/* Emits the ROWS of a row step. */
janus_status jn_pb_row_step(jn_builder *b, jn_scope *s, uint32_t node);
/* Emits the ISSUE of each segment that must be issued before this node. */
janus_status jn_pb_issue_until(jn_builder *b, jn_scope *s, size_t node);

/* exec/plan/plan_check.c: JANUS_INTERNAL where a plan breaks what holds of all: operands of
 * segments come before what reads them, slots are of the kinds that are read there, jumps stay
 * inside. */
janus_status jn_plan_check(const jn_plan *p);

#endif
