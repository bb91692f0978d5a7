/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rebuilding a body: what every pass does.
 *
 * A pass walks the old nodes in order and, for each, keeps it, drops it, or puts something else in
 * its place; operands are mapped from old to new values on the way.  The SubGraph changes only in
 * jn_rewrite_finish, which cannot fail: a pass that runs out of memory leaves it untouched.
 */
#ifndef JN_GRAPH_REWRITE_H
#define JN_GRAPH_REWRITE_H

#include "graph/ir/ir.h"

typedef struct jn_rewrite {
    jn_subgraph *g;    /* old body */
    jn_subgraph to;    /* shell around the new nodes: inference and jn_value_type work on it */
    jn_value **values; /* per old node: new value of each result */
    uint32_t *nodes;   /* per old node: new id; UINT32_MAX: gone */
    jn_arena arena;    /* of the two maps */
    bool changed;
} jn_rewrite;

/* Starts with the parameters mapped to themselves.  Fails for frozen modules. */
janus_status jn_rewrite_begin(jn_rewrite *r, jn_subgraph *g);
jn_value jn_rewrite_value(const jn_rewrite *r, jn_value old);
/* Old node `n` with mapped operands, as the next new node. */
janus_status jn_rewrite_keep(jn_rewrite *r, const jn_node *n, jn_node **out_new);
/* All results of old node `n` are now those of the new node `id`. */
void jn_rewrite_becomes(jn_rewrite *r, const jn_node *n, uint32_t id);
void jn_rewrite_set(jn_rewrite *r, jn_value old, jn_value now);
/* A new node of the new body (arrays are copied; types interned). */
janus_status jn_rewrite_add(jn_rewrite *r, const jn_node *model, jn_node **out_new);
/* Puts the new body in place of the old one, if anything changed. */
void jn_rewrite_finish(jn_rewrite *r);
void jn_rewrite_cancel(jn_rewrite *r);

/* Per SubGraph of the module: whether a call of it must stay even when nobody uses its results. */
janus_status jn_effects_compute(const janus_module *m, bool **out_by_index /* jn_free */);
bool jn_node_has_effect(const jn_node *n, const bool *effects);
/* The same of one SubGraph, of whose callees it is known; of a recursion, of that itself. */
bool jn_body_has_effect(const jn_subgraph *g, const bool *effects);

/* The passes of passes.h for who has asked already what they would ask of the whole module: which
 * SubGraphs are recursive (jn_callgraph_compute), which have effects, and whether tensors are put
 * into host objects. */
janus_status jn_inline_calls(jn_subgraph *g, unsigned max_nodes);
janus_status jn_drop_unused(jn_subgraph *g, const bool *effects);
janus_status jn_merge_equal(jn_subgraph *g, bool stores);
bool jn_stores_tensors(const janus_module *m);

/* Whether a frame kept by `g` is the frame of this call. */
bool jn_frame_is_saved(const jn_subgraph *g, uint32_t node);

#endif
