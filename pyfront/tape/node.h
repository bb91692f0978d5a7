/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tape: what backward() walks.
 *
 * A node is one differentiable operation that ran.  It is counted (not atomic: the interpreter lock
 * guards it), points to the nodes or leaf tensors its operands came from (edges), and keeps the
 * values its gradient needs.  Nodes are numbered in program order; backward visits them in
 * descending order and adds the contributions to one gradient in that order, so sums are the same
 * in every run and the same as a graph's.  Nothing here recurses: chains of any length can be
 * built, walked and freed.
 */
#ifndef JPY_NODE_H
#define JPY_NODE_H

#include "exec/eager/eager.h"
#include "pyfront/base/jpy.h"

typedef struct jpy_node jpy_node;
struct jpy_tensor;
struct jn_call_kind;

/* Where a value came from: result `index` of a node, or a leaf tensor that collects .grad; all
 * zero: not tracked. */
typedef struct jpy_edge {
    jpy_node *node;
    struct jpy_tensor *leaf;
    uint32_t index;
} jpy_edge;
static inline bool jpy_edge_tracked(jpy_edge e) { return e.node || e.leaf; }

/* A value with its place on the tape.  kind is a janus_kind, or JN_EAGER_LIKE: only a type. */
typedef struct jpy_val {
    uint8_t kind;
    union {
        janus_tensor *t;
        janus_scalar s;
        const jn_type *like;
    };
    jpy_edge edge;
} jpy_val;
#define JPY_VAL_NONE ((jpy_val){0})
static inline jpy_val jpy_val_tensor(janus_tensor *t, jpy_edge edge) {
    return (jpy_val){.kind = JANUS_KIND_TENSOR, .t = t, .edge = edge};
}
/* Drops the references a value owns. */
void jpy_val_release(jpy_val *v);

/*
 * The kinds of node.  `backward` gets the cotangents of the results (kind NONE where none arrived,
 * borrowed) and fills din[i], i < n_in, with owned values where want[i]; none means zero.  With
 * `create_graph` the cotangents are tracked and so must be what is returned (grad mode is on).
 * Returns -1 with a Python exception set.
 */
typedef struct jpy_node_class {
    const char *name; /* "External"; grad_fn prints <ExternalBackward> */
    int (*backward)(jpy_node *n, const jpy_val *dout, const bool *want, jpy_val *din,
                    bool create_graph);
    void (*release_saved)(jpy_node *n); /* after backward without retain_graph; may be NULL */
    void (*destroy)(jpy_node *n);       /* frees what the node owns but its edges; may be NULL */
    /* Adds the gradient of operand 0, for the cotangent `dy` of result 0, to `sum`, which is
     * contiguous and nobody else's; may be NULL. */
    int (*add_into)(jpy_node *n, janus_tensor *dy, janus_tensor *sum);
    bool plain; /* its backward runs ops alone and none of the program's code */
} jpy_node_class;

struct jpy_node {
    uint32_t refs;
    uint16_t n_in, n_out;
    uint64_t seq;
    const jpy_node_class *cls;
    jpy_edge *edges; /* n_in, owned */
    PyObject *held;  /* the objects it holds, as one whose reference count is the node's; or NULL */
    struct jpy_node_extra *extra; /* hooks and retain_grad, NULL: none */
    uint32_t size;                /* of this block */
    uint32_t visit;               /* its number in the last backward() that has met it */
    bool freed;                   /* saved values were given up */
    bool leads;                   /* through its edges to a node that holds objects, or it does */
    uint8_t inplace;              /* result 0 was written over operand 0 */
    uint8_t running;              /* threads that run its backward: saved values are in use */
    bool has_saved;               /* of an op: tensors were saved */
    bool moved;                   /* its results are others' (jpy_edge_now) */
    bool let_go;                  /* of an op: nothing saved is left */
};
_Static_assert(sizeof(jpy_node) == 64, "a line of the cache: a history is more than one holds");

/* New node with `extra_size` bytes of its own behind the struct (see jpy_node_data); edges are
 * retained.  NULL: MemoryError set. */
jpy_node *jpy_node_make(jn_thread *me, const jpy_node_class *cls, unsigned n_in, unsigned n_out,
                        const jpy_edge *edges, size_t extra_size);
static inline jpy_node *jpy_node_new(const jpy_node_class *cls, unsigned n_in, unsigned n_out,
                                     const jpy_edge *edges, size_t extra_size) {
    return jpy_node_make(&jn_this, cls, n_in, n_out, edges, extra_size);
}
static inline void *jpy_node_data(jpy_node *n) { return n + 1; }
static inline void jpy_node_retain(jpy_node *n) {
    n->refs++;
    Py_XINCREF(n->held);
}
void jpy_node_release_now(jpy_node *n);            /* of the last reference; iterative */
static inline void jpy_node_release(jpy_node *n) { /* accepts NULL */
    if (!n)
        return;
    if (n->held && n->refs > 1)
        Py_DECREF(n->held);
    if (--n->refs == 0)
        jpy_node_release_now(n);
}
void jpy_edge_retain(jpy_edge e);
void jpy_edge_release(jpy_edge e);
/* A number that grows by one with each node, and by more with some. */
uint64_t jpy_nodes_made(void);
/*
 * For the collector: visits what one reference to the node keeps alive.  Nodes are not objects, but
 * some hold objects of the program (the arguments of a region, the context of a Function), which
 * may have the tensor whose history that is.  What such a node holds is one object, `held`, that
 * has as many references as the node, so each reference to the node is visited as one to it.  From
 * a node that is referred to once, the way goes on through its edges; behind one that is shared
 * nothing is visited: then its objects live until the history is used up or dropped.
 */
int jpy_node_visit(jpy_node *n, visitproc visit, void *arg);
int jpy_node_visit_edges(jpy_node *n, visitproc visit, void *arg);
/* Of an external node, from what it holds: its edges and where its results are. */
int jpy_node_visit_held(jpy_node *n, visitproc visit, void *arg);
/* The node holds `o`, of which the caller has the only reference and gives it up. */
void jpy_node_hold(jpy_node *n, PyObject *o);

/*
 * An external node: a whole graph region as one node.  The converter runs its gradient SubGraph in
 * `backward`, which knows itself what is used up.  Callbacks run with the interpreter lock held.
 */
typedef struct jpy_external {
    void *user;
    /* Records the ops that the node stands for and calls jpy_node_move(), unless it cannot be done.
     * -1: Python exception set.  May be NULL. */
    int (*record)(void *user);
    int (*backward)(void *user, const jpy_val *dout, const bool *want, jpy_val *din,
                    bool create_graph);
    bool (*release_saved)(void *user); /* may be NULL; false: it may be asked for more */
    void (*raised)(void *user);        /* backward has raised, and does not retain the graph: what
                                        * its ops have come past is used up; may be NULL */
    void (*free_user)(void *user);     /* exactly once, when the node dies; may be NULL */
    bool (*leads)(void *user, unsigned out, unsigned in); /* result from operand */
    /* as jpy_node_turn(); NULL: the operands' order */
    uint64_t (*turn)(void *user, unsigned in, const bool *outs);
    /* Raises: gradients of its results flow between them unseen, so one that a hook or a capture
     * looks at is not known where others arrive, too.  -1.  NULL: they do not. */
    int (*refuse)(void *user);
    const char *name; /* static; NULL: "Graph" */
    /* backward gets in din[i] what was added to the gradient of operand i before (owned; kind NONE:
     * nothing), and gives it back with its own added to it. */
    bool goes_on;
    bool for_good; /* its ops cannot be recorded */
    bool parted;   /* some of them are used up, and others may be asked for more */
    jpy_edge *now; /* n_out, owned: where its results are; NULL: here */
} jpy_external;
/* The place of an op's operand among those whose gradients it completes.  In PyTorch a linear
 * layer's weight is turned by an op of its own, so it comes last. */
uint32_t jpy_op_turn(const jn_op *op, uint32_t in);
/* After a backward() without retain_graph that a node has ended by raising. */
void jpy_node_raised(jpy_node *n);
/* edges: one per operand, from jpy_tensor_edge(); node with n_out results.  On failure free_user is
 * not called. */
jpy_node *jpy_external_new(const jpy_external *ext, unsigned n_in, const jpy_edge *edges,
                           unsigned n_out);

/*
 * What takes the place of an external node: its ops, recorded behind what was recorded before it
 * and before what came later, whenever that is done.  From then on its results are theirs, for all
 * edges that there are to it.  1: done, 0: it is none, or it cannot be done; -1: Python exception.
 */
int jpy_node_record(jpy_node *n);
/* For its `record`: what is recorded in between is in its place.  end: false: there were too many.
 */
uint64_t jpy_node_place_begin(const jpy_node *n);
bool jpy_node_place_end(const jpy_node *n, uint64_t began);
/* now[i], owned, as the array of jn_alloc() is: where result i comes from; not tracked: still from
 * the node.  -1: Python exception set. */
int jpy_node_move(jpy_node *n, jpy_edge *now);
/* Where a result is now; borrowed, as `e` is. */
jpy_edge jpy_edge_moved(jpy_edge e);
static inline jpy_edge jpy_edge_now(jpy_edge e) {
    return e.node && e.node->moved ? jpy_edge_moved(e) : e;
}
/* Whether a node was recorded in the place of `n`. */
bool jpy_node_in_place_of(const jpy_node *x, const jpy_node *n);

/* Saved values with the version check; `what` names the user in the message.  0, or -1: raised. */
typedef struct jpy_saved {
    uint8_t kind; /* janus_kind; NONE: not saved */
    uint16_t unseen;
    uint32_t version;
    union {
        janus_tensor *t; /* owned */
        janus_scalar s;
    };
} jpy_saved;
void jpy_saved_set(jpy_saved *s, janus_tensor *t); /* retains */
bool jpy_saved_holds(const jpy_saved *s);
int jpy_saved_check(const jpy_saved *s, const char *what, const jn_type *view);
void jpy_saved_clear(jpy_saved *s);

/*
 * Runs `op` now and records it when grad mode is on and an operand is tracked: out[i] new tensors,
 * *out_node the node (+1) or NULL.  Operands are already cast.  -1: Python exception set.
 */
int jpy_apply(const jn_op *op, const jpy_val *in, unsigned n_in, const void *attrs,
              janus_tensor **out, unsigned n_out, jpy_node **out_node);
/* The node alone, for results computed already.  `kind`: of the recorded call that computes them
 * (exec/defer/defer.h), or NULL. */
jpy_node *jpy_record(jn_thread *me, const jn_op *op, const jpy_val *in, unsigned n_in,
                     const void *attrs, janus_tensor *const *out, unsigned n_out,
                     struct jn_call_kind *kind);

/* Of a node that jpy_record has made: the kind of its call, borrowed; NULL: none. */
struct jn_call_kind *jpy_node_kind(jpy_node *n);

/* Whether an op with a history keeps operand i, result i.  tracked: of its first JPY_SAVES_READ
 * operands, whether they have a history: some are kept for another one's gradient alone. */
enum { JPY_SAVES_READ = 3 };
bool jpy_op_saves(const jn_op *op, unsigned i, const bool *tracked);
bool jpy_op_saves_result(const jn_op *op, unsigned i, const bool *tracked);

/* Grad mode of this thread. */
#define jpy_no_grad_mode (jn_this.no_grad)
static inline bool jpy_grad_enabled(void) { return !jpy_no_grad_mode; }

#endif
