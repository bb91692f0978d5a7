/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of graph/ share among themselves. */
#ifndef JN_GRAPH_INTERNAL_H
#define JN_GRAPH_INTERNAL_H

#include "graph/base/hash.h"
#include "graph/graph.h"

/* Interned types, by the bytes of what they are. */
struct jn_type_entry {
    jn_type type;
    UT_hash_handle hh;
};

/* Interned strings; the ones that name a SubGraph point to it. */
struct jn_name_entry {
    jn_subgraph *sub;
    UT_hash_handle hh;
    char text[];
};

/* An arena that begins with room on the stack: scratch memory of one call. */
#define JN_SCRATCH(name, size)                                                                     \
    _Alignas(16) char name##_room[size];                                                           \
    jn_arena name = {.ptr = name##_room, .end = name##_room + (size), .chunk_size = 4096}

/* The SubGraph declared last is no more; nothing may refer to it. */
void jn_subgraph_drop_last(janus_module *m);

/* Fails with a message when `g` may not be changed. */
janus_status jn_check_building(const jn_subgraph *g);

/* Result types of one node, dims in `scratch`.  n_out: asked for, UINT32_MAX: as many as there are
 * (rows that leave it to the caller then have one). */
janus_status jn_infer_node(const jn_subgraph *g, const jn_op *op, const jn_value *in, unsigned n_in,
                           const void *attrs, jn_subgraph *const *subs, jn_arena *scratch,
                           unsigned n_out, jn_type **out_types, unsigned *out_n);
/* The same for nodes whose types come from SubGraphs (graph/control.c). */
bool jn_op_is_structural(const jn_op *op);
janus_status jn_control_infer(const jn_subgraph *g, const jn_op *op, const jn_type *const *in,
                              unsigned n_in, const void *attrs, jn_subgraph *const *subs,
                              jn_arena *scratch, jn_type **out_types, unsigned *out_n);

/* Appends a node with given result types (interned here) and attributes (copied here); nothing is
 * checked.  jn_build without inference, for the parser and the passes. */
janus_status jn_append_node(jn_subgraph *g, const jn_op *op, const jn_value *in, unsigned n_in,
                            const void *attrs, jn_subgraph *const *subs, jn_loc loc,
                            const jn_type *types, unsigned n_out, jn_node **out_node);

/* A SubGraph's parameter `i` of callee `sub` is fed by this operand of the call; -1: by none
 * (foreach's index). */
static inline int jn_operand_of_param(const jn_op *call, unsigned i) {
    return call->role == JN_ROLE_IF                  ? (int)i + 1
           : call->role == JN_ROLE_FOREACH && i == 0 ? -1
                                                     : (int)i;
}

/* Value of a scalar constant node; false for anything else. */
bool jn_const_value(const jn_node *n, janus_kind *kind, janus_scalar *out);

/* Row and attributes (in `arena`) of a scalar constant. */
janus_status jn_scalar_const(jn_arena *arena, janus_kind kind, janus_scalar v, const jn_op **out_op,
                             const void **out_attrs);

/* The text of a type for messages; does not fail. */
typedef struct jn_type_text {
    char s[96];
} jn_type_text;
jn_type_text jn_type_text_of(const jn_type *t);

/* The type of the frame that a call keeps: of its SubGraph, then-arm or body. */
jn_type jn_frame_type(const jn_node *call);

/* Sets scc and recursive of every SubGraph; components are numbered callees first. */
janus_status jn_callgraph_compute(janus_module *m);
/* Which SubGraphs, by index, may run many times in a run: those of recursions, what loops repeat,
 * and what these call. */
janus_status jn_callgraph_often(janus_module *m, bool *out);
/* Whether calls inside a component pass their shared parameters on; after jn_callgraph_compute. */
janus_status jn_callgraph_check_shared(const janus_module *m);

/* Prints a value's name as the text form has it. */
void jn_print_value(jn_str *s, const jn_subgraph *g, jn_value v);

#endif
