/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules, SubGraphs and nodes.
 *
 * A module owns named SubGraphs and everything in them (one arena).  A SubGraph is a function:
 * typed parameters, nodes in topological order (a node's id is its index; node 0 stands for the
 * parameters), results.  It can be declared before it is defined.  A frozen module is immutable
 * and may be shared between threads.
 *
 * Shared parameters.  A parameter marked `shared` is an invariant of a recursion: inside the
 * strongly connected component of the call graph that the SubGraph belongs to, an invoke must pass
 * the caller's own shared parameter through; from outside any value may be bound.  Weights are
 * shared parameters: the executor keeps them once per component entry, not per frame, batching
 * broadcasts them.  The transpose of a shared parameter is an accumulator (type acc<...>), also
 * passed as a shared parameter: gradients of weights add to it.  Differentiating an accumulator
 * gives a shared parameter again.
 *
 * Control flow.  `if`, `while`, `foreach` refer to SubGraphs and pass operands explicitly; arms
 * and bodies have no implicit captures.  Shared parameters pass through them by the same rule.
 * Parameters come before shared parameters in every SubGraph.  Operands of a loop are the carried
 * values and then the values of the body's shared parameters; its results are the carried values
 * alone (`while`: cond and body take the same operands).  A value a loop only reads is carried and
 * returned as it is.  while.grad and foreach.grad likewise: frame, carried cotangents, then shared
 * parameters (accumulators); subs[0] = body.grad(frame, carried cotangents, shared) -> carried
 * cotangents, run for the iterations in reverse.
 *
 * Saving.  `invoke.save @f(...)` has one more result than `invoke @f`: %t of type frame<@f>.
 * (Likewise if.save, while.save, foreach.save.)  jn_subgraph.saved lists what a frame of that
 * SubGraph keeps: values of its own body, and the frames of invokes inside it.  frame.get reads
 * members.  Whether a call saves is decided by its op, so an `invoke` inside a SubGraph that is
 * run saved is compiled as saved when its frame is listed in `saved`.
 */
#ifndef JN_GRAPH_IR_IR_H
#define JN_GRAPH_IR_IR_H

#include "graph/base/vec.h"
#include "graph/ir/data_text.h"
#include "graph/ir/op.h"

typedef struct jn_subgraph jn_subgraph;

/* Where a node comes from in the user's program; file is owned by the module, NULL: unknown. */
typedef struct jn_loc {
    const char *file;
    uint32_t line, col;
} jn_loc;

/* A value: result `index` of node `node`.  Node 0 is the parameters. */
typedef janus_value jn_value;
#define JN_VALUE_NONE ((jn_value){UINT32_MAX, UINT32_MAX})
static inline bool jn_value_is_none(jn_value v) { return v.node == UINT32_MAX; }
static inline bool jn_value_equal(jn_value a, jn_value b) {
    return a.node == b.node && a.index == b.index;
}

typedef struct jn_node {
    const jn_op *op; /* NULL for node 0 */
    uint32_t id;
    uint32_t n_in, n_out;
    jn_value *in;
    const jn_type **out; /* interned */
    const void *attrs;   /* op's attr struct, NULL for none */
    jn_subgraph *subs[2];
    jn_loc loc;
    bool again; /* what a forward pass has computed already: how work is split leaves it out */
} jn_node;

/* One member of a frame value: a value of the body, or (frame=true) the frame of an inner call,
 * where value.node is that call's node. */
typedef struct jn_saved {
    jn_value value;
    bool frame;
} jn_saved;

typedef struct jn_param {
    const char *name;
    const jn_type *type;
    bool shared;
} jn_param;

struct jn_subgraph {
    const char *name; /* without '@' */
    janus_module *module;
    uint32_t index; /* in module->subs */
    bool defined;   /* body and results are complete */
    JN_VEC(jn_param) params;
    JN_VEC(jn_node *) nodes; /* nodes.data[0] is the parameter node */
    JN_VEC(jn_value) results;
    JN_VEC(const jn_type *) result_types; /* declared; what callers see */
    JN_VEC(jn_saved) saved;
    jn_subgraph *grad;         /* @f.grad once derived, else NULL (graph/autodiff/autodiff.h) */
    const jn_subgraph *primal; /* for @f.grad: @f */
    struct jn_deriv *derivs;   /* gradients derived of this one (graph/autodiff/autodiff.c) */
    struct jn_deriv *deriv;    /* how this one was derived */
    uint32_t scc;              /* strongly connected component of the call graph, set by freeze */
    bool checkpoint; /* its frames keep no activations: the gradient computes them again */
    bool recursive;  /* calls itself, directly or not; set by freeze */
    bool together;   /* its calls are to run as rows of one batch: passes do not inline them */
    jn_loc at;       /* position for nodes of the public builder */
};

struct janus_module {
    jn_arena arena;
    JN_VEC(jn_subgraph *) subs;
    struct jn_type_entry *types; /* intern table */
    struct jn_name_entry *names; /* SubGraph by name */
    uint32_t n_symbols;          /* dim symbols in use */
    bool frozen;
    bool running_sums; /* calls of gradients continue sums instead of returning their own */
    bool asks_rows;    /* a gradient was not derived: rows of a list need keys (rows.read) */
    int refs;          /* atomic */
    /* The executor's plans for this module (exec/plan/plan.c): freed with it. */
    bool watched; /* its plans mark what no run has entered yet (exec/plan/watch.h) */
    void *exec_pool;
    void (*exec_pool_free)(void *pool);
};

static inline const jn_type *jn_value_type(const jn_subgraph *g, jn_value v) {
    return g->nodes.data[v.node]->out[v.index];
}
static inline const jn_node *jn_value_node(const jn_subgraph *g, jn_value v) {
    return g->nodes.data[v.node];
}
/* Whether the op's result is a view of operand 0, where strides allow. */
/* Whether it draws from the run's generator, in program order. Without: the graph gives it seed and
 * offset, its row's last two operands, and it is a function of these. */
static inline bool jn_draws(const jn_node *n) {
    if (!n->op || n->op->role != JN_ROLE_RNG)
        return false;
    uint32_t rows = 0;
    while (n->op->operands[rows].accept != JN_ACCEPT_END)
        rows++;
    return n->n_in < rows || jn_value_is_none(n->in[rows - 2]) || jn_value_is_none(n->in[rows - 1]);
}
static inline bool jn_is_loop(const jn_node *n) {
    return n->op->role == JN_ROLE_WHILE || n->op->role == JN_ROLE_FOREACH;
}
static inline bool jn_is_view(const jn_node *n) {
    return n->op && n->op->role == JN_ROLE_COMPUTE && n->op->flags & JN_OP_VIEW && n->n_out == 1 &&
           n->n_in > 0 && !jn_value_is_none(n->in[0]);
}

/* ---- building (graph/ir/builder.c); the public janus_build_* calls are thin wrappers ------------
 */

janus_status jn_module_new(janus_module **out_module);
void jn_module_retain(janus_module *m);
void jn_module_release(janus_module *m);
const jn_type *jn_type_intern(janus_module *m, const jn_type *t); /* NULL: out of memory */
const char *jn_module_intern_str(janus_module *m, const char *s);
jn_subgraph *jn_module_find(const janus_module *m, const char *name, size_t n);
/* A name not taken yet, made from `base`: base, base.1, base.2, ... */
janus_status jn_module_fresh_name(janus_module *m, const char *base, const char **out_name);

/* Declares @name with its result types (they may be widened until defined). */
janus_status jn_subgraph_declare(janus_module *m, const char *name, jn_subgraph **out_sub);
janus_status jn_subgraph_add_param(jn_subgraph *g, const char *name, const jn_type *t, bool shared,
                                   jn_value *out_value);
janus_status jn_subgraph_set_result_types(jn_subgraph *g, const jn_type *const *types, unsigned n);
/* Appends a node: checks arity and types, infers result types.  `attrs` NULL: defaults; `subs` for
 * call ops.  The error record names op, operand and loc. */
janus_status jn_build(jn_subgraph *g, const jn_op *op, const jn_value *in, unsigned n_in,
                      const void *attrs, jn_subgraph *const *subs, jn_loc loc, jn_value *out,
                      unsigned n_out);
janus_status jn_build_scalar(jn_subgraph *g, janus_kind kind, janus_scalar v, jn_loc loc,
                             jn_value *out);
/* Completes the body. */
janus_status jn_subgraph_define(jn_subgraph *g, const jn_value *results, unsigned n);
/* Verifies everything, computes call-graph components, makes the module immutable. */
janus_status jn_module_freeze(janus_module *m);

/* The graph emitter: gradient rules and the converter append to `g` through it.  jn_ev <-> value */
typedef struct jn_graph_emitter {
    jn_emitter base;
    jn_subgraph *g;
    jn_loc loc;
} jn_graph_emitter;
void jn_graph_emitter_init(jn_graph_emitter *e, jn_subgraph *g);
static inline jn_ev jn_ev_of_value(jn_value v) {
    return jn_value_is_none(v) ? JN_EV_NONE : (jn_ev){(((uint64_t)v.node << 32) | v.index) + 1};
}
static inline jn_value jn_value_of_ev(jn_ev e) {
    return jn_ev_is_none(e) ? JN_VALUE_NONE
                            : (jn_value){(uint32_t)((e.bits - 1) >> 32), (uint32_t)(e.bits - 1)};
}

/* ---- verify -----------------------------------------------------------------------------------
 */

janus_status jn_verify_subgraph(const jn_subgraph *g);
janus_status jn_verify_module(const janus_module *m);

/* ---- what only the layers above build with ----------------------------------------------------
 */

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
/* The same for nodes whose types come from SubGraphs (graph/ir/control.c). */
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

#endif
