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

#include "exec/segment.h"

typedef enum jn_vmode {
    JN_V_SKIP,   /* alias, or an acc.add done by its producer */
    JN_V_CALL,   /* one kernel call for all rows */
    JN_V_LOOP,   /* one kernel call per row */
    JN_V_SUM,    /* acc.add of a value: rows are summed into the accumulator */
    JN_V_PRODUCT /* x' z for an accumulator: the rows of x and z are collected (exec/acc.h) */
} jn_vmode;

typedef struct jn_vnode {
    const jn_segnode *n;
    const jn_op *op; /* may differ from n->op: a batch rule chose another */
    const void *attrs;
    jn_view *in, *out;
    uint16_t n_in, n_out;
    uint8_t mode; /* jn_vmode */
    bool accumulates;
    bool out_rowed;
    int32_t acc; /* accumulator input it adds to, or -1 */
    jn_kernel_fn kernel;
    size_t workspace;
    int64_t *in_step, *out_step; /* LOOP, PRODUCT: elements from row to row per operand */
} jn_vnode;

enum { JN_ADDS_ROWS = 1, JN_ADDS_PRODUCTS = 2, JN_ADDS_VALUES = 4 };

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
    uint8_t device;
    bool exact;   /* sums as in imperative mode */
    uint8_t user; /* ranges that run at once have variants of their own: their rows differ */
    jn_vnode *nodes;
    bool *rowed;          /* per value */
    uint8_t *adds;        /* per accumulator: what is added to it, bits below */
    uint32_t n_products;  /* nodes that are */
    int32_t *goes_to;     /* per value: 2 * node + operand of the product whose rows it is written
                             to at once; -1: none */
    size_t *scratch;      /* per value: offset per row of temporaries */
    size_t scratch_bytes; /* per row */
    uint32_t max_views;   /* most operands and results of a node */
    size_t workspace;     /* largest of the nodes */
    JN_VEC(jn_dimref) dims;
} jn_variant;

/* Finds or makes the variant for this mask, patched for `rows` rows. */
janus_status jn_variant_get(jn_seginst *inst, uint64_t mask, int64_t rows, uint8_t device,
                            uint8_t user, bool exact, jn_variant **out);

#endif
