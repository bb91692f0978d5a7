/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of backward(): what pyfront/backward/collect.c collects, pyfront/backward/engine.c runs
 * node by node, and pyfront/backward/groups.c by groups where that is the same.
 */
#ifndef JPY_TAPE_ENGINE_H
#define JPY_TAPE_ENGINE_H

#include "graph/base/vec.h"
#include "pyfront/backward/backward.h"
#include "pyfront/tape/tape.h"

/* What an edge leads to. */
typedef struct jpy_link {
    uint32_t visit, slot; /* visit: JPY_NO_LINK: it is not tracked */
} jpy_link;
#define JPY_NO_LINK UINT32_MAX

typedef struct jpy_visit {
    jpy_node *node;          /* or */
    struct jpy_tensor *leaf; /* owned; both NULL: a node that was given up */
    uint64_t seq;            /* of the node */
    uint32_t slot;           /* of result 0 in slots; a leaf has one */
    uint32_t link;           /* of operand 0 in links */
    uint16_t n_out;
    bool needed; /* of a region (tape.h): some result of it */
    bool end;    /* an input behind which nothing is visited */
} jpy_visit;

typedef struct jpy_engine {
    JN_VEC(jpy_visit) visits;
    JN_VEC(jpy_val) slots;
    JN_VEC(jpy_link) links, root_links, input_links;
    JN_VEC(uint32_t) stack;
    bool *needed;    /* by slot; NULL: all are */
    uint32_t *table; /* visit index + 1 of leaves, by pointer hash */
    size_t mask;
    uint32_t *order; /* visits: n_nodes, latest node first, then leaves */
    uint32_t n_nodes, n_leaves;
    const jpy_edge *inputs;
    unsigned n_inputs;
    jpy_val *captured;
    bool retain_graph, create_graph;
    bool between; /* nothing behind the inputs is visited: jpy_backward_between() */
} jpy_engine;

/* Asks for a node's memory ahead: a history is more than a cache holds. */
static inline void jpy_node_expect(const jpy_node *n) {
    enum { BYTES = 256, LINE = 64 };
    for (int i = 0; n && i < BYTES; i += LINE)
        __builtin_prefetch((const char *)n + i);
}
/* pyfront/backward/collect.c: fills visits, links, slots (all empty), order and needed; false: out
 * of memory.  Either way jpy_engine_free() is to follow. */
bool jpy_engine_collect(jpy_engine *e, const jpy_val *roots, unsigned n_roots);
void jpy_engine_free(jpy_engine *e);
static inline bool jpy_link_needed(const jpy_engine *e, jpy_link to) {
    return to.visit != JPY_NO_LINK && (!e->needed || e->needed[to.slot]);
}
static inline uint32_t jpy_visit_number(const jpy_engine *e, const jpy_visit *v) {
    return (uint32_t)(v - e->visits.data);
}
/* Adds a contribution (consumed) to a slot. */
int jpy_engine_contribute(jpy_engine *e, uint32_t slot, jpy_val *g);
/* Hands out the gradients that the caller has asked for of this target. */
void jpy_engine_capture(jpy_engine *e, const jpy_visit *v);

/*
 * Runs the nodes by groups: 1, the leaves' slots have their gradients, and the nodes were given
 * back.  0: they are to be run
 * one by one, and nothing has happened.  -1: raised.
 */
int jpy_groups_run(jpy_engine *e);

#endif
