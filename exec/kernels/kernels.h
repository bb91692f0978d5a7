/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variants: a specialised segment made ready for groups of rows.
 *
 * A variant fixes which inputs differ from row to row.  Per node it holds the call to make: views
 * whose row-dependent dims are patched when the number of rows changes, the kernel, where it adds.
 * One variant with no rowed input serves single tasks.
 */
#ifndef JN_EXEC_VARIANT_H
#define JN_EXEC_VARIANT_H

#include "exec/kernels/panels.h"
#include "exec/kernels/replay.h"
#include "exec/state/state.h"
#include "ops/steps.h"

typedef enum jn_vmode {
    JN_V_SKIP,    /* alias, or an acc.add done by its producer */
    JN_V_CALL,    /* one kernel call for all rows */
    JN_V_LOOP,    /* one kernel call per row */
    JN_V_SUM,     /* acc.add of a value: rows are summed into the accumulator */
    JN_V_PRODUCT, /* x' z for an accumulator: the rows of x and z are collected
                     (exec/schedule/acc.h) */
    JN_V_CONCAT   /* of inputs: their rows go straight to where they belong */
} jn_vmode;

typedef struct jn_vnode {
    const jn_segnode *n;
    const jn_op *op; /* may differ from n->op: a batch rule chose another */
    const void *attrs;
    jn_view *in, *out;
    uint16_t n_in, n_out;
    uint8_t mode; /* jn_vmode */
    bool accumulates;
    bool from_end; /* as in jn_kargs */
    bool out_rowed;
    bool apart;  /* LOOP: the kernel takes all rows in one call, wherever they lie */
    int32_t acc; /* accumulator input it adds to, or -1 */
    jn_kernel_fn kernel;
    size_t workspace;
    int64_t *in_step, *out_step; /* LOOP, PRODUCT: elements from row to row per operand */
    uint32_t factor[2];          /* PRODUCT: x and z among the variant's factors */
} jn_vnode;

/* What products collect of a group's row: some rows of a matrix, of which products that have the
 * same operand have one. */
typedef struct jn_factor {
    int64_t rows, cols;
    uint32_t node; /* the first of the products; its operand i is this */
    uint8_t i;
    bool stays; /* it lies in memory that stays as it is till the run ends */
    jn_src of;  /* what it is, a view of a whole value looked through */
} jn_factor;

enum { JN_ADDS_ROWS = 1, JN_ADDS_PRODUCTS = 2, JN_ADDS_VALUES = 4 };

/* How an operand or a result of a chain's node lies: as it is; a single element, which is put on a
 * whole tile; a part of a large tensor; a buffer of the thread; in a register of a program. */
typedef enum jn_chain_kind {
    JN_CHAIN_FIXED,
    JN_CHAIN_SPREAD,
    JN_CHAIN_MOVES,
    JN_CHAIN_BUFFER,
    JN_CHAIN_REGISTER
} jn_chain_kind;
typedef struct jn_chain_view {
    uint8_t kind;
    uint32_t index;     /* SPREAD, BUFFER: which */
    jn_src src;         /* whose data it is, but for BUFFER */
    jn_view view, rest; /* of a tile, and of the last one */
    int64_t step;       /* MOVES: bytes from tile to tile */
} jn_chain_view;
typedef struct jn_link {
    const jn_vnode *vn;
    jn_kernel_fn kernel;
    jn_chain_view *view;          /* operands, then results */
    uint32_t n_views, first_view; /* of the chain's */
    bool again;   /* another chain computes it, too; here it is a buffer or in a register */
    bool sums;    /* it adds up tiles, each a block of a sum (ops/steps.h) */
    uint32_t sum; /* which of the chain's, then */
} jn_link;

/* Where a step of a program finds an operand: in the memory of a view of the chain; in the spread
 * single element of one; in a register, a block of scratch; or it is a number, that of a view. */
typedef enum jn_operand_place {
    JN_PLACE_VIEW,
    JN_PLACE_SPREAD,
    JN_PLACE_REGISTER,
    JN_PLACE_NUMBER
} jn_operand_place;
typedef struct jn_step_operand {
    uint32_t step, index;         /* view or register */
    uint32_t slot;                /* VIEW: of the block that stands for the last, partial one */
    uint8_t operand, place, size; /* size: bytes of an element */
    bool writes;
} jn_step_operand;
typedef struct jn_program {
    jn_step *step;
    jn_step_operand *operand;
    uint32_t n_steps, n_operands, n_registers, n_slots;
    uint32_t n_moving; /* operands in views, which come first */
} jn_program;

/* Links that run one after the other on a tile: a program of all of them, a kernel each, or a sum.
 */
typedef struct jn_part {
    uint32_t first, n;
    jn_program *program; /* NULL: kernels */
} jn_part;
/* Nodes that run tile by tile. */
typedef struct jn_chain {
    uint32_t n, n_parts, n_views, n_buffers, n_spread, n_sums; /* sums are the last links */
    jn_link *link;
    jn_part *part;
    jn_chain_view *spread;
    int64_t numel, rows, tile, tiles, rest; /* rows: along the dim that is cut */
    int64_t spread_numel;                   /* elements that a spread one is put on */
    size_t buffer_bytes;
} jn_chain;

/* A dim that is rows * mult. */
typedef struct jn_dimref {
    int64_t *where;
    int64_t mult;
} jn_dimref;

typedef struct jn_variant {
    struct jn_variant *next;
    uint64_t mask; /* bit i: input i is rowed; then scalars */
    bool single;   /* for one row: nothing is rowed */
    int64_t rows;  /* the views are patched for */
    const jn_run_device *on;
    const struct jn_device *dev;
    bool exact;  /* sums as in imperative mode */
    uint8_t use; /* jn_variant_use */
    jn_vnode *nodes;
    bool *rowed; /* per value */
    bool
        *direct; /* per input: its rows are found through the tasks, so they need not be gathered */
    uint8_t *adds;      /* per accumulator: what is added to it, bits below */
    jn_factor *factors; /* of the products that are put off */
    uint32_t n_factors, n_products;
    int32_t *goes_to;     /* per value: the factor that it is written to at once; -1: none */
    size_t *scratch;      /* per value: offset per row of temporaries */
    size_t scratch_bytes; /* per row */
    uint32_t max_views;   /* most operands and results of a node */
    size_t workspace;     /* largest of the nodes */
    JN_VEC(jn_dimref) dims;
    jn_chain *chains; /* exec/kernels/chain.c */
    uint32_t n_chains, n_order;
    uint32_t *order; /* nodes as they run, n_nodes + c: chain c; NULL: one after the other */
    bool *inside;    /* per value: only links of one chain read it; it has no memory */
} jn_variant;

/* Parts that run at once have variants of their own, and a part has several: their rows differ. */
typedef enum jn_variant_use {
    JN_FOR_TILES,
    JN_FOR_LAST,
    JN_FOR_ROWS,
    JN_FOR_STORES /* in place: nodes run one after the other, and ask for no memory */
} jn_variant_use;
typedef struct jn_variant_key {
    uint64_t mask;
    uint32_t part;
    jn_variant_use use;
} jn_variant_key;

/* Finds or makes the variant for this key, patched for `rows` rows.  Takes the lane's lock. */
janus_status jn_variant_get(jn_lane *l, jn_seginst *inst, jn_variant_key key, int64_t rows,
                            jn_variant **out);

/* exec/kernels/temporaries.c: fills v->scratch and v->scratch_bytes; the nodes are made. */
janus_status jn_place_temporaries(const jn_seginst *inst, jn_variant *v);

/* exec/kernels/chain.c: fills v->chains, order and inside; the nodes are made. */
janus_status jn_find_chains(jn_seginst *inst, jn_variant *v);

/* exec/kernels/dev_chain.c: nodes that a device runs as one become the last of them; the others are
 * skipped, and what they compute is inside. */
janus_status jn_join_nodes(jn_seginst *inst, jn_variant *v);

/* Where the data of a tile's operands is: per input, scalar and value of the segment. */
typedef struct jn_operands {
    char **input, **scalar, **value;
} jn_operands;
/* NULL: an absent operand. */
static inline char *jn_operand_data(const jn_segment *seg, const jn_operands *o,
                                    const jn_src *src) {
    switch (src->kind) {
    case JN_SRC_INPUT:
        return o->input[src->index];
    case JN_SRC_SCALAR:
        return o->scalar[src->index];
    case JN_SRC_NODE:
        return o->value[seg->nodes[src->index].value[src->index_out]];
    default:
        return NULL;
    }
}

/* Runs a chain, ranges of tiles on threads; what goes wrong is in *flags. */
void jn_chain_run(const jn_chain *c, const jn_segment *seg, const jn_operands *data,
                  const jn_par *par, uint32_t *flags);

/* What went wrong in a kernel of this node. */
janus_status jn_vnode_error(const jn_vnode *vn, uint32_t flags);

/* Whether scalar i differs from row to row. */
bool jn_variant_scalar_rowed(const jn_seginst *inst, const jn_variant *v, uint32_t i);
/* The value that a JN_V_SUM node adds to an accumulator of this shape: elements from row to row,
 * 0: one for all.  An error if it is not of the accumulator's layout. */
janus_status jn_variant_summand(const jn_seginst *inst, const jn_variant *v, const jn_vnode *vn,
                                const jn_shape *acc, int64_t *step);
/* Whether an accumulating node adds rows to a table (exec/schedule/rows.h). */
bool jn_vnode_adds_rows(const jn_vnode *vn);
/* Moves each view by its step, in elements. */
void jn_views_advance(jn_view *v, const int64_t *step, uint32_t n);

#endif
