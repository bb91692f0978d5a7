/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The staged graph: what the converter makes while it runs a function's tree, before the module.
 *
 * SubGraphs (`jcv_ctx`) hold nodes whose operands may belong to an enclosing SubGraph; captures are
 * resolved when all is known (emit.c).
 */
#ifndef JPY_CONVERT_CORE_STAGED_H
#define JPY_CONVERT_CORE_STAGED_H

#include "graph/base/vec.h"
#include "graph/ir/ir.h"
#include "pyfront/base/jpy.h"

typedef struct jcv_ctx jcv_ctx;
typedef struct jcv_node jcv_node;

/* What may be so of a value on some paths only (tensors/trait.c). */
enum { JCV_TRACKED, JCV_RECORDED, JCV_USED, JCV_NO_VIEW, JCV_N_TRAITS };
/* Whether a value has such a trait: what is known for certain, and a bool of the graph. */
typedef struct jcv_has {
    uint8_t certain;
    struct jcv_val *flag;
} jcv_has;
/* Of a FUNC: which of its first results and parameters have a trait in all calls; which of its
 * results says so of another one, 0: none. */
typedef struct jcv_sure {
    bool *results, *params;
    size_t n_results, n_params;
    unsigned *flag_at;
} jcv_sure;

typedef struct jcv_val {
    jcv_ctx *ctx;
    jcv_node *node; /* NULL: a parameter of ctx */
    unsigned index; /* result, or parameter */
    const jn_type *type;
    bool depends;             /* on something that requires grad */
    bool cut;                 /* so computed under no_grad: a barrier is due before recorded use */
    bool root;                /* an object read where the graph writes: it has its own samples */
    struct jcv_val *detached; /* cached barrier of it, made in `detached_in` */
    jcv_ctx *detached_in;
    bool across; /* a cut one that is stored or goes from SubGraph to SubGraph: there ... */
    struct jcv_val *bare; /* ... it is this, which carries no gradient (finish/cut.c) */
    bool asked;           /* what it is a view of: place.c */
    uint8_t memory;       /* the answer, ... */
    uint64_t question;    /* ... to this question */
    struct jcv_val *same; /* of a parameter of a recursion: what it is in every call (share.c) */
    jcv_has has[JCV_N_TRAITS]; /* tensors/trait.c */
    uint32_t reach;            /* mark of the last search that came to it (backward.c) */
    bool leads;                /* of walks: gradients flow from it to what is asked for (way.c) */
    uint8_t histories;         /* of a loop's parameter: what its history may be (reach.c) */
    bool moot;                 /* nobody looks at it: it requires grad as well as not */
    bool box;                  /* a list of one item that a variable is (variables.c) */
    bool no_rows; /* the stacked list of no items: whoever takes one finds another list */
    uint8_t seen; /* what a search has found of it (finish/identity.c) */
    bool needed;  /* finish/reads.c */
    const jcv_node *saved_by;   /* the last op whose gradient needs it as it is */
    struct jcv_read *reads;     /* of it, the last first ... */
    struct jcv_read *given;     /* ... and those that gave it (heap/sample.c) */
    struct jcv_narrow *narrows; /* what branches tell of it */
    bool sized;                 /* a number that follows from dims that vary (dims.c) ... */
    janus_scalar image;         /* ... and what it is in this image */
    jn_value emitted;           /* in ctx */
} jcv_val;

/* JCV_BACKWARD: operands are the roots, their cotangents (NULL: ones), then what it is a gradient
 * of; a result for each of the last, and behind them, where it is `optional`, a bool for each:
 * whether there is that gradient, which else is assumed. */
typedef enum jcv_node_kind { JCV_OP, JCV_SCALAR_CONST, JCV_BACKWARD } jcv_node_kind;

struct jcv_node {
    uint8_t kind;
    const jn_op *op;
    const void *attrs;
    jcv_val **in; /* NULL entries: absent */
    unsigned n_in, n_out;
    jcv_val *out; /* n_out of them */
    jcv_ctx *subs[2];
    const void
        *loop; /* the statement that a loop is, a jpy_tree, whose first round may be peeled */
    janus_scalar scalar;
    janus_kind scalar_kind;
    bool settled[JCV_N_TRAITS]; /* of a loop: trait.c */
    bool optional;
    bool view;         /* its result is a view of its first operand */
    bool widens;       /* ... or is it, with dims of which less is known */
    bool row;          /* a tensor becomes a row of a stacked list, joins others, is read again */
    const void *site;  /* ... of a list made here, a jpy_tree; NULL: by no comprehension */
    bool mixed;        /* a read of what may have no history (stored.c) */
    bool asked;        /* of an item: CPython may raise there; of what an object is as a number or
                        * tensor: its type decides something (finish/reads.c) */
    bool freed;        /* its history was used up by backward() */
    bool maybe;        /* ... by one that only some paths come to */
    bool leads;        /* of walks: it is run for what is asked for (way.c) */
    bool by_tape;      /* gradients through it are the tape's alone (own_gradient.c) ... */
    jcv_val **through; /* ... and go to these, of a result of an autograd.Function */
    unsigned n_through;
    struct jcv_av *release; /* to be called when the history is used up; or NULL */
    uint32_t reach;
    uint32_t place; /* among the nodes of its SubGraph, while two are compared (alike.c) */
    jn_loc loc;
};

/* The role of its op; -1: it has no op, as numbers and gradients have none. */
static inline int jcv_role(const jcv_node *n) { return n->op ? (int)n->op->role : -1; }

typedef enum jcv_ctx_kind { JCV_MAIN, JCV_FUNC, JCV_ARM, JCV_LOOP } jcv_ctx_kind;

typedef struct jcv_narrow { /* samples of a host value, fewer than it has, where `ctx` runs */
    jcv_ctx *ctx;
    PyObject *samples;
    struct jcv_narrow *next; /* of the same value */
} jcv_narrow;

typedef struct jcv_read { /* a host read made already, good where `ctx` runs */
    jcv_ctx *ctx;
    PyObject *key;
    int64_t index;
    struct jcv_av *av;
    uint32_t epoch;              /* of reads of what the graph writes: good until it writes again */
    struct jcv_read *next;       /* of the same value */
    struct jcv_read *next_given; /* that gave the same value */
} jcv_read;

struct jcv_ctx {
    jcv_ctx_kind kind;
    const char *name;
    jcv_ctx *parent; /* NULL for MAIN and FUNC */
    jcv_ctx *fn;     /* nearest MAIN or FUNC */
    bool in_loop;
    size_t first_slot; /* slots made since it was begun */
    JN_VEC(jcv_val *) params;
    JN_VEC(jcv_node *) nodes;
    JN_VEC(jcv_val *) results;
    JN_VEC(jcv_val *) captures;      /* found at emission */
    JN_VEC(jn_value) capture_values; /* parameters of `sub` they arrive in */
    JN_VEC(jcv_node *) consts;       /* constants of other SubGraphs made again here ... */
    JN_VEC(jn_value) const_values;
    bool loop_body;          /* its results end with what it only reads */
    jcv_ctx *spliced;        /* its nodes are those of this one now */
    struct jcv_known *known; /* conditions that hold here, or do not */
    jn_subgraph *sub;
    bool emitted, used;
    bool acts;            /* of those in use: has an effect (finish/reads.c) */
    jcv_node *of;         /* of a loop or an arm: the node that it belongs to, once there is one */
    bool recursive;       /* of those in use: calls itself, directly or not (share.c) */
    const bool *calls;    /* of a FUNC in use: which SubGraphs it calls, by place in c->ctxs ... */
    unsigned place;       /* ... and its own */
    uint32_t reach, held; /* of walks: reach.c, stage.c */
    bool checkpoint;
    bool apart;    /* made by apart.c: what is differentiated inside is all inside */
    bool together; /* stands for several that were alike: its calls are to run together */
    jcv_sure sure[JCV_N_TRAITS]; /* tensors/trait.c */
};

#endif
