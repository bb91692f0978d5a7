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

/* What is written down of a node when it is met, for a run by groups, so that it is not looked at
 * again until it is given back: a history is more than a cache holds. */
typedef struct jpy_call {
    jn_call_kind *kind;   /* of the recorded call that it is of; NULL: another node */
    const jn_type *types; /* of an op: operands, then results; or NULL */
    uint32_t value;       /* of operand 0 in values */
    uint16_t saved;       /* bits of values that are there (jn_grad_key) */
    uint8_t n_in;
    bool ran;
} jpy_call;

typedef struct jpy_visit {
    jpy_node *node;          /* or */
    struct jpy_tensor *leaf; /* owned; both NULL: a node that was given up */
    uint64_t seq;            /* of the node */
    uint32_t slot;           /* of result 0 in slots; a leaf has one */
    uint32_t link;           /* of operand 0 in links */
    uint16_t n_out;
    bool needed;   /* of a region (tape.h): some result of it */
    bool end;      /* an input behind which nothing is visited */
    bool rows;     /* of a leaf: the gradient of rows that were read of it has arrived */
    jpy_call call; /* while noting */
} jpy_visit;
_Static_assert(sizeof(jpy_visit) <= 64, "a line of the cache");

typedef struct jpy_engine {
    JN_VEC(jpy_visit) visits;
    JN_VEC(jpy_val) slots;
    JN_VEC(jpy_link) links, root_links, input_links;
    JN_VEC(uint32_t) stack;
    bool *needed;    /* by slot; NULL: all are */
    uint32_t *table; /* visit index + 1 of leaves, by pointer hash */
    size_t mask;
    uint32_t *order; /* visits: n_nodes, latest node first, then leaves */
    uint32_t *ready; /* by leaf, in order: so many nodes come before it; NULL: all */
    uint32_t n_nodes, n_leaves;
    const jpy_edge *inputs;
    unsigned n_inputs;
    uint32_t *input_at;   /* by slot, n_input_at of them: 1 + an input that it is, 0: none; ... */
    uint32_t *input_next; /* ... by input: the next one of its slot, in the same way */
    size_t n_input_at;
    jpy_val *captured;
    bool retain_graph, create_graph;
    bool traces;     /* stretches that come again are graphs (pyfront/backward/stretch.h) */
    bool between;    /* nothing behind the inputs is visited: jpy_backward_until() */
    bool noting;     /* what a run by groups has to know of nodes is written down; */
    bool unlike;     /* there is one that has to run with the others one by one */
    uint32_t n_held; /* visits whose node's `running` counts this run: the first in `order` */
    JN_VEC(const void *) values; /* elements of saved values, row-major; NULL: to be copied */
} jpy_engine;

static inline jpy_op_data *jpy_op_of(jpy_node *n) {
    return n->cls == &jpy_op_class ? jpy_node_data(n) : NULL;
}

/* Asks for a node's memory ahead: a history is more than a cache holds. */
static inline void jpy_node_expect(const jpy_node *n) {
    enum { BYTES = 256, LINE = 64 };
    for (int i = 0; n && i < BYTES; i += LINE)
        __builtin_prefetch((const char *)n + i);
}
/* What a node saved, ahead. */
static inline void jpy_node_expect_saved(jpy_node *n) {
    enum { LINE = 64 };
    const jpy_op_data *d = n ? jpy_op_of(n) : NULL;
    for (unsigned i = 0; d && i < (unsigned)n->n_in + n->n_out; i++)
        if (d->saved[i].kind == JANUS_KIND_TENSOR) {
            __builtin_prefetch(d->saved[i].t);
            __builtin_prefetch((const char *)d->saved[i].t - LINE); /* the storage of a small one */
        }
}
/* pyfront/backward/collect.c: fills visits, links, slots (all empty), order and needed; false: out
 * of memory.  Either way jpy_engine_free() is to follow. */
bool jpy_engine_collect(jpy_engine *e, const jpy_val *roots, unsigned n_roots);
void jpy_engine_free(jpy_engine *e);
/* pyfront/backward/ready.c: the order of leaves, once that of the nodes is known and what is
 * needed; false: out of memory. */
bool jpy_engine_order_leaves(jpy_engine *e);
/* ... Whether hooks of a node that stands for several ops, or of leaves that it leads to, come
 * before some of these ops, or the error of one, and after others. */
bool jpy_engine_order_shows(const jpy_engine *e, const jpy_visit *v);
/* Notes a leaf that was not met before, or finds it; false: out of memory. */
bool jpy_engine_meet_leaf(jpy_engine *e, struct jpy_tensor *leaf, jpy_link *out);
/* What the inputs' edges lead to, once all is met; false: out of memory. */
bool jpy_engine_find_inputs(jpy_engine *e);
/*
 * pyfront/backward/walk.c: the same as visits and links alone, latest node first, in one walk along
 * the numbers of the nodes.  *done is false, and nothing has happened, where the numbers lie too
 * far apart.
 */
bool jpy_engine_walk(jpy_engine *e, const jpy_val *roots, unsigned n_roots, bool *done);
/* Writes down what a run by groups has to know of a node, which is held from then on: what it has
 * saved cannot go, since long ops run without the interpreter lock, and another thread may use up
 * the same history.  false: out of memory. */
bool jpy_engine_note(jpy_engine *e, uint32_t visit);
/* Nodes are not held any more. */
void jpy_engine_let_go(jpy_engine *e);
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
/* 1 + an input that is at the slot; 0: none is. */
static inline uint32_t jpy_engine_input(const jpy_engine *e, uint32_t slot) {
    return slot < e->n_input_at ? e->input_at[slot] : 0;
}
/* Whether some result of the node, or the leaf, is an input. */
static inline bool jpy_engine_is_input(const jpy_engine *e, const jpy_visit *v) {
    bool any = false;
    for (uint32_t k = 0; k < v->n_out && e->n_input_at && !any; k++)
        any = jpy_engine_input(e, v->slot + k);
    return any;
}

/* Whether the nodes may run by groups; what was recorded has been computed then, so that values can
 * be noted. */
bool jpy_groups_possible(bool create_graph);
/*
 * Runs the nodes, of which all was noted, by groups: 1, the leaves' slots have their gradients, and
 * the nodes were given back.  0: they are to be run one by one, and nothing has happened.  -1:
 * raised.
 */
int jpy_groups_run(jpy_engine *e);

#endif
