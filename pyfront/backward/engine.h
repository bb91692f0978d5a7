/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of backward(): what pyfront/backward/engine.c collects, and pyfront/backward/groups.c runs by
 * groups where that is the same.
 */
#ifndef JPY_TAPE_ENGINE_H
#define JPY_TAPE_ENGINE_H

#include "graph/base/vec.h"
#include "pyfront/tape/internal.h"

typedef struct jpy_visit {
    jpy_node *node;          /* or */
    struct jpy_tensor *leaf; /* owned */
    uint64_t rank;           /* later nodes have more, leaves 0 */
    uint32_t slot;           /* of result 0 in slots */
    uint32_t found;          /* order of discovery */
    bool needed;             /* of a region (tape.h): some result of it */
} jpy_visit;

typedef struct jpy_engine {
    JN_VEC(jpy_visit) visits;
    JN_VEC(jpy_val) slots;
    JN_VEC(uint32_t) stack;
    bool *needed;    /* by slot; NULL: all are */
    uint32_t *table; /* visit index + 1 by pointer hash */
    size_t mask;
    uint32_t *order; /* visits, latest node first, then leaves */
    const jpy_edge *inputs;
    unsigned n_inputs;
    jpy_val *captured;
    bool retain_graph, create_graph;
} jpy_engine;

static inline const void *jpy_edge_target(jpy_edge e) {
    return e.node ? (const void *)e.node : (const void *)e.leaf;
}
/* Asks for a node's memory ahead: a history is more than a cache holds. */
static inline void jpy_node_expect(const jpy_node *n) {
    enum { BYTES = 320, LINE = 64 };
    for (int i = 0; n && i < BYTES; i += LINE)
        __builtin_prefetch((const char *)n + i);
}
/* Visit of a target, or NULL. */
jpy_visit *jpy_engine_find(jpy_engine *e, const void *target);
/* Adds a contribution (consumed) to a target's slot. */
int jpy_engine_contribute(jpy_engine *e, jpy_edge edge, jpy_val *g);
/* Hands out the gradients that the caller has asked for of this target. */
void jpy_engine_capture(jpy_engine *e, const jpy_visit *v);

/*
 * Runs the nodes by groups: 1, and the leaves' slots have their gradients.  0: they are to be run
 * one by one, and nothing has happened.  -1: raised.
 */
int jpy_groups_run(jpy_engine *e);

#endif
