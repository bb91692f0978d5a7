/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stretches of a history that come again and again, each as one trace graph
 * (exec/defer/defer_trace.h).
 *
 * Nodes follow each other in the order in which they run, the latest first.  A stretch is as many
 * as run nothing but gradient rules of ops: stretch.c finds it, and writes down as words what it
 * consists of (ops, attributes, types, what is kept of each call, what leads where).  The second
 * time that the same words come, stretch_write.c writes its rules down as one graph; stretch_run.c
 * remembers graphs and runs them.  Numbers that vary, elements and the tensors that collect
 * gradients are no part of the words.
 */
#ifndef JPY_TAPE_STRETCH_H
#define JPY_TAPE_STRETCH_H

#include "exec/defer/defer.h"
#include "pyfront/backward/engine.h"

/* A slot (engine.h) that the stretch gives gradients to: of one of its own nodes, or outside. */
typedef struct jpy_local {
    uint32_t slot, uses;
    uint32_t given; /* 1 + the value that had arrived before; 0: none */
    jn_type type;   /* dims: those of a node */
    bool inside, leaf;
} jpy_local;

/* A node of the stretch. */
typedef struct jpy_item {
    uint32_t visit;
    uint32_t ids;   /* in ids: per operand, then per result, 1 + its local; 0: none */
    uint32_t value; /* in values: the first that it keeps */
} jpy_item;

typedef struct jpy_stretch {
    jpy_engine *e;
    size_t first, end; /* in e->order */
    JN_VEC(uint64_t) words;
    JN_VEC(jn_call_kind *) kinds; /* that stand in words; borrowed */
    JN_VEC(const void *) values;  /* row-major elements, or scalars */
    JN_VEC(janus_tensor *) copies;
    JN_VEC(jpy_local) locals;
    JN_VEC(jpy_item) items;
    JN_VEC(uint32_t) ids;
    JN_VEC(uint32_t) after; /* visits that run on their own when it has run */
    uint32_t *local_of;     /* by slot: 1 + its local; 0: none */
} jpy_stretch;

/* What becomes of the gradient that an outside slot gets. */
typedef struct jpy_traced_result {
    uint8_t from; /* jn_grad_from: NOTHING, VALUE, OUTPUT, ADDED */
    bool shared;  /* an output that another slot gets, too */
    uint32_t index;
} jpy_traced_result;

/* A stretch that is remembered. */
typedef struct jpy_known_history jpy_known_history;
typedef struct jpy_traced {
    uint64_t hash;
    size_t n_words, n_kinds, n_locals, n_outside;
    bool alone, looked; /* there is no graph for it; it is known whether it can be followed */
    unsigned running;
    jn_trace_graph *graph; /* NULL: it has come once */
    jpy_traced_result *results;
    uint32_t *outside;          /* per result: the local */
    jn_type *types;             /* and its type */
    jn_call_kind **kinds;       /* references */
    jpy_known_history *history; /* NULL: it cannot be followed */
    uint64_t words[];
} jpy_traced;

static inline uint64_t jpy_type_word(const jn_type *t) {
    return t->kind | (uint64_t)t->dtype << 8 | (uint64_t)(uint32_t)t->rank << 16;
}

/* stretch.c: finds the stretch that begins at s->first; false: out of memory. */
bool jpy_stretch_find(jpy_stretch *s);
/* Everything of one stretch is forgotten; all of it is freed. */
void jpy_stretch_clear(jpy_stretch *s);
void jpy_stretch_free(jpy_stretch *s);
/* Where a piece of a tensor lies in it: elements in front of it and its size, per dim; false: it is
 * no box of it. */
bool jpy_piece_box(const jpy_region *r, int64_t *before, int64_t *size);

/* stretch_write.c: its graph, and a result per outside local, of jn_alloc().  Other statuses than
 * JANUS_OK: it has none. */
janus_status jpy_stretch_write(jpy_stretch *s, jn_trace_graph **out, jpy_traced_result **results);

/* stretch_run.c: runs the graph.  got[i]: of each local that gets one, its gradient; NONE for the
 * others.  1: done; 0: it could not be run. */
void jpy_count_traced(uint64_t nodes); /* that ran so, of the deferral of this thread */
int jpy_traced_run(jpy_traced *t, const void *const *value, jpy_val *got);

/*
 * stretch_follow.c: a stretch that is all of a history, NULL: it cannot be followed, or out of
 * memory; from then on backward() looks for it where a history has such a root.
 */
jpy_known_history *jpy_known_history_new(const jpy_stretch *s);
void jpy_known_history_free(jpy_known_history *h);
void jpy_known_history_put(jpy_traced *t, const jpy_node *root);
void jpy_known_history_forget(const jpy_traced *t);
/* backward() of one value whose history is known: 1: done; 0: it is not, and nothing has happened;
 * -1: raised. */
int jpy_history_follow(const jpy_val *root, const jpy_val *seed, bool retain_graph);

/* Whether a run may use trace graphs. */
bool jpy_stretches_possible(bool create_graph);
/* The stretch that begins at order[k] has run: the number of visits in it, of which *after are
 * still to run, in order; 0: it has not, and neither have the first *rest of them; -1: raised. */
int jpy_stretch_run(jpy_stretch *s, size_t k, size_t *rest);

#endif
