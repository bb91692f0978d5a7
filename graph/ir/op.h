/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What graph/ knows of an op: one constant row per op.  The table itself is ops/ops.def, expanded
 * in ops/table/table.c; graph code never names an op, it looks at `role`, `flags` and the rules.
 */
#ifndef JN_GRAPH_OP_H
#define JN_GRAPH_OP_H

#include "graph/ir/attr.h"
#include "graph/ir/type.h"

/* What a node is to the graph passes, the autodiff and the plan compiler. */
typedef enum jn_role {
    JN_ROLE_COMPUTE, /* pure function of tensors and scalars with a kernel */
    JN_ROLE_SCALAR,  /* pure function of scalars, on the host strand */
    JN_ROLE_CONST,   /* scalar or small tensor constant; attrs hold it */
    JN_ROLE_INVOKE,  /* subs[0](operands...) -> results */
    JN_ROLE_IF,      /* operand 0: bool or 0-d/1-element tensor; subs[0] then, subs[1] else */
    JN_ROLE_WHILE,   /* subs[0] cond(carried...) -> bool, subs[1] body(carried...) -> carried */
    JN_ROLE_FOREACH, /* operand 0: int trip count; subs[0] body(int i, carried...) -> carried */
    JN_ROLE_SAVED,   /* frame.get: reads a member of a frame value */
    JN_ROLE_GRAD,    /* invoke.grad / if.grad / while.grad / foreach.grad over a frame */
    JN_ROLE_ACC,     /* acc.new, acc.add, acc.get */
    JN_ROLE_HOST,    /* host.*: through janus_host_ops, in program order */
    JN_ROLE_RNG,     /* draws: takes the run's next offset, in program order, or one given to it */
    JN_ROLE_ASSERT,  /* check; attr `id` names the assumption */
    JN_ROLE_NOTE     /* says something to the differentiation; is dropped, and never runs */
} jn_role;

enum {                      /* jn_op.flags */
       JN_OP_PURE = 1 << 0, /* may be merged, folded, dropped */
       JN_OP_MAY_RAISE =
           1 << 1, /* imperative mode could raise: kernel sets a flag, graph asserts */
       JN_OP_ELEMENTWISE = 1 << 2, /* out[i] depends on in[i] only, after broadcasting */
       JN_OP_COMMUTATIVE = 1 << 3, /* first two operands may be swapped */
       JN_OP_VIEW = 1 << 4,        /* result aliases operand 0 when strides allow (ops/kernel.h) */
       JN_OP_EFFECT = 1 << 5,      /* writes the log: never merged, dropped or reordered */
       JN_OP_INPLACE0 = 1 << 6,    /* result may be written over operand 0's buffer */
       JN_OP_STRIDED = 1 << 7,     /* kernel takes any strides; else operands are made contiguous */
       JN_OP_SAVES = 1 << 8,       /* invoke.save and the like: one more result, the frame */
       JN_OP_TWO_SUBS = 1 << 9,    /* refers to two SubGraphs: if, while, if.grad */
       JN_OP_KEEPS0 = 1 << 10, /* out[i] is operand 0's where operand 1's is 0: in numerics "fast",
                                  rows of a sparse operand 1 are all that is computed */
       JN_OP_ADDS = 1 << 11,   /* kernels, of every device, can add to the result's buffer */
       JN_OP_FEW_ROWS = 1 << 12, /* the result is zero but for some rows */
       JN_OP_MOVES = 1 << 13,    /* elements are moved, never computed with: kernels go by size */
       JN_OP_ANY_SIZE = 1 << 14, /* what it does with dims of 0 and 1 is what it does with any
                                    other, beside broadcasting; so it is of elementwise ones */
       JN_OP_SURE = 1 << 15,     /* kernels neither raise nor allocate; so it is of elementwise ones
                                    that may not raise */
       JN_OP_STEP = 1 << 16,     /* an optimizer's: of a parameter, what it is next */
       JN_OP_PRODUCT = 1 << 17,  /* an element is a sum over operand 0's last dim */
       JN_OP_FROM_END = 1 << 18, /* negative indices count from the end */
       JN_OP_KEEPS0_ANY = 1 << 19, /* KEEPS0, whatever operands of operand 0's shape hold */
       JN_OP_PASSES = 1 << 20      /* computes nothing where its view rule says so, which the shapes
                                      decide: then the result is operand 0 */
};

/* What an operand position accepts. */
typedef enum jn_accept {
    JN_ACCEPT_END,    /* ends the list */
    JN_ACCEPT_TENSOR, /* a tensor */
    JN_ACCEPT_LIKE,   /* a tensor of which only shape and dtype are used */
    JN_ACCEPT_SCALAR, /* int, float or bool value; kernels see a 0-d i64/f64/bool view */
    JN_ACCEPT_SHAPE,  /* int that decides a result dim: must be known when shapes are fixed */
    JN_ACCEPT_OBJECT,
    JN_ACCEPT_FRAME,
    JN_ACCEPT_ACC,
    JN_ACCEPT_ANY
} jn_accept;

typedef enum jn_dtype_class {
    JN_DT_ANY,
    JN_DT_FLOAT, /* f32 f64 f16 bf16 */
    JN_DT_INT,   /* i32 i64 u8 */
    JN_DT_NUM,   /* FLOAT or INT */
    JN_DT_BOOL,
    JN_DT_SAME0, /* equal to operand 0's */
    JN_DT_SAME1,
    JN_DT_SAME2
} jn_dtype_class;

typedef struct jn_operand {
    const char *name;
    uint8_t accept;      /* jn_accept */
    uint8_t dtype_class; /* jn_dtype_class, or the scalar's janus_kind for SCALAR/SHAPE */
    bool optional;       /* may be absent (the none value, printed `_`) */
    bool variadic;       /* last operand only: zero or more */
    const char *doc;     /* shape in words: "[N,C,H,W]" */
} jn_operand;

struct jn_infer;
struct jn_grad;
typedef janus_status (*jn_infer_fn)(struct jn_infer *c);
typedef janus_status (*jn_grad_fn)(struct jn_grad *c);

/* Value of a SCALAR row for constant operands.  False: not now (it would raise, or overflow). */
struct jn_op;
typedef bool (*jn_fold_fn)(const struct jn_op *op, const void *attrs, const janus_scalar *in,
                           const uint8_t *kinds, unsigned n_in, janus_scalar *out,
                           uint8_t *out_kind);

typedef struct jn_op {
    const char *name;
    uint16_t id;
    uint8_t role;
    uint8_t n_in_required, n_in_max; /* n_in_max 255: variadic */
    uint8_t n_out;                   /* 255: decided by infer or by the SubGraph called */
    uint32_t flags;
    uint32_t save; /* which values the gradient rule reads: bit i operand i, bit 16+i result i */
    const jn_operand *operands; /* ends with accept == JN_ACCEPT_END */
    const char *const *out_names;
    const jn_attr_spec *attrs; /* ends with name == NULL */
    size_t attr_size;          /* 0: no attributes */
    bool has_ranges;           /* jn_attrs_check has something to check */
    jn_infer_fn infer;
    jn_grad_fn grad; /* NULL: no gradient (integer result, or NONE(grad) in the table) */
    const char *doc;
    jn_fold_fn fold; /* SCALAR rows; NULL: never folded */
} jn_op;

/* How many SubGraphs a node of this op refers to. */
static inline unsigned jn_op_n_subs(const jn_op *op) {
    switch (op->role) {
    case JN_ROLE_IF:
    case JN_ROLE_WHILE:
        return 2;
    case JN_ROLE_INVOKE:
    case JN_ROLE_FOREACH:
        return 1;
    case JN_ROLE_GRAD:
        return op->flags & JN_OP_TWO_SUBS ? 2 : 1;
    default:
        return 0;
    }
}

/* What operand `i` accepts; operands from the variadic one on are like it. */
static inline jn_accept jn_op_accept(const jn_op *op, unsigned i) {
    const jn_operand *o = op->operands;
    for (unsigned k = 0; o[k].accept != JN_ACCEPT_END; k++)
        if (k == i || o[k].variadic)
            return (jn_accept)o[k].accept;
    return JN_ACCEPT_ANY;
}

extern const jn_op jn_ops[];
extern const unsigned jn_n_ops;
const jn_op *jn_op_find(const char *name, size_t n); /* NULL when unknown */

/* ---- shape and dtype inference ------------------------------------------------------------- */

/*
 * One inference: the rule reads operand types (and values where constant) and fills result types.
 * Results' dims go to memory from `dims_of` (rank entries each).  Works on unknown dims and ranks:
 * a rule gives as much as can be known.  Errors are user errors: JANUS_SHAPE or JANUS_DTYPE with a
 * message that names op, operand, expected and got.
 */
typedef struct jn_infer {
    const jn_op *op;
    unsigned n_in;
    const jn_type *const *in; /* NULL where an optional operand is absent */
    const int64_t *const *cv; /* per operand: value of a constant int/bool scalar, else NULL; the
                                 array itself may be NULL */
    const void *attrs;
    unsigned n_out;
    jn_type *out;                                           /* n_out entries, to fill */
    int64_t *(*dims_of)(struct jn_infer *c, unsigned rank); /* NULL when out of memory */
    void *user;                                             /* of dims_of */
} jn_infer;

/* Generic checks from the row (arity, kinds, dtype classes), then the op's rule. */
janus_status jn_infer_run(jn_infer *c);
/* Only the generic checks. */
janus_status jn_infer_check(const jn_infer *c);

/* ---- gradients ------------------------------------------------------------------------------ */

/* A value as a gradient rule sees it; `bits` belongs to the emitter, 0 is "none". */
typedef struct jn_ev {
    uint64_t bits;
} jn_ev;
#define JN_EV_NONE ((jn_ev){0})
static inline bool jn_ev_is_none(jn_ev v) { return v.bits == 0; }

/*
 * An emitter makes ops happen: the graph emitter appends nodes to a SubGraph, the eager emitter
 * computes at once.  Values it returns live as long as the emitter says (the graph: for ever;
 * eager: until the rule's scope ends).
 */
typedef struct jn_emitter jn_emitter;
typedef struct jn_emitter_ops {
    janus_status (*emit)(jn_emitter *e, const jn_op *op, const jn_ev *in, unsigned n_in,
                         const void *attrs, jn_ev *out, unsigned n_out);
    janus_status (*scalar)(jn_emitter *e, janus_kind kind, janus_scalar v, jn_ev *out);
    /* Type of a value; valid until the next emit.  Eager: exact.  Graph: may have unknown dims. */
    const jn_type *(*type)(jn_emitter *e, jn_ev v);
} jn_emitter_ops;
struct jn_emitter {
    const jn_emitter_ops *ops;
};

/*
 * One application of a gradient rule: given operands, results and cotangents of the results
 * (dout[i] none: no gradient arrives there), fill din[i] for each i with want[i]; leaving it none
 * means zero.  A rule may read only the values its row's SAVE field lists; of every other operand
 * and result only the type, also as a LIKE operand.  Rules are written with ops that have rules.
 */
typedef struct jn_grad {
    jn_emitter *e;
    const jn_op *op;
    const void *attrs;
    unsigned n_in, n_out;
    const jn_ev *in; /* none where absent */
    const jn_ev *out;
    const jn_ev *dout;
    const bool *want;
    jn_ev *din; /* all none on entry */
} jn_grad;

#endif
