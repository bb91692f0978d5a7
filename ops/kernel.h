/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel interface: what an op computes with, per device.
 *
 * A kernel is chosen once per signature (when a plan is specialised, or per eager call) by the op's
 * select rule and then called with data pointers.  Kernels are total: a bad index or divisor sets a
 * bit in *flags and writes zeros, nothing is read or written out of bounds.  A kernel knows nothing
 * of batching, frames, graphs or gradients.
 */
#ifndef JN_OPS_KERNEL_H
#define JN_OPS_KERNEL_H

#include "graph/ir/ir.h"

/* A tensor operand in memory.  Scalars (SCALAR, SHAPE operands) are 0-d views of i64, f64, bool. */
typedef struct jn_view {
    void *data; /* first element; NULL while selecting, and for absent optional operands */
    const int64_t *dims;
    const int64_t *strides; /* in elements; 0 where broadcast */
    int16_t rank;           /* -1: operand absent */
    uint8_t dtype;
    bool contiguous; /* row-major without gaps */
} jn_view;
static inline int64_t jn_numel(const jn_view *v) {
    int64_t n = 1;
    for (int d = 0; d < v->rank; d++)
        n *= v->dims[d];
    return n;
}

enum {                       /* bits of *jn_kargs.flags */
       JN_KFLAG_INDEX = 1,   /* an index was out of range */
       JN_KFLAG_DIVZERO = 2, /* integer division or remainder by zero */
       JN_KFLAG_OVERFLOW = 4,
       JN_KFLAG_MEMORY = 8, /* the kernel could not get workspace */
       JN_KFLAG_ROUNDS = 16 /* a loop in a capture has given up (exec/schedule/branch.h) */
};

/* Splits [0, n) into ranges of at least `grain` and runs body on them, maybe on several threads;
 * returns when all are done.  The split depends on n, grain and the thread count only. */
typedef void (*jn_range_fn)(void *arg, int64_t begin, int64_t end);
typedef struct jn_par {
    void (*run)(const struct jn_par *par, int64_t n, int64_t grain, jn_range_fn body, void *arg);
    int threads;
} jn_par;
extern const jn_par jn_par_serial;

/* Matrices that several products of a run multiply by, as their kernel reads them: packed at the
 * second product, which is when it pays, or at the first one where more are to be expected.
 * ops/cpu/products/packs.c; all zero: none yet. */
typedef struct jn_pack {
    const void *b; /* where it lies, and how */
    int64_t n, k, b_row, b_col;
    void *panels; /* NULL: met once */
    bool lent;    /* they are another's */
} jn_pack;
enum { JN_MOST_PACKS = 8 };
typedef struct jn_packs {
    uint32_t n;
    size_t bytes;
    bool at_once;                  /* the first product packs */
    const struct jn_packs *before; /* of earlier runs; or NULL.  Several threads read them */
    jn_pack pack[JN_MOST_PACKS];
} jn_packs;
/* Of the same matrix; NULL: there is none. */
jn_pack *jn_packs_like(jn_packs *packs, const jn_pack *pack);
/* `to` may read the panels that `from` has, as long as that is there. */
void jn_packs_lend(const jn_packs *from, jn_packs *to);
void jn_packs_free(jn_packs *packs);

typedef struct jn_kargs {
    const jn_view *in;
    const jn_view *out; /* allocated by the caller, row-major, dims as inferred */
    uint16_t n_in, n_out;
    const void *attrs;
    void *workspace; /* of the size the row's workspace rule asked for, 64-byte aligned */
    uint32_t *flags;
    const jn_par *par;
    bool accumulate; /* add to out instead of writing it; only with JN_OP_ADDS */
    bool from_end;   /* it stands for an op whose negative indices count from the end */
    /* The same for n_apart rows, where not 0: operands and results of row r begin at
     * apart[r * (n_in + n_out) + i], not at the views' data.  Only where jn_takes_apart() says. */
    uint32_t n_apart;
    char *const *apart;
    jn_packs *packs; /* operand 1 stays as it is while these are kept; NULL: it may not */
    /* What jn_keep() made of operand 1 of each row, which is as it was; NULL: without, as each may
     * be. Results are the same, to the bit. */
    const void *const *kept;
} jn_kargs;

typedef void (*jn_kernel_fn)(const jn_kargs *k);

/* What a selection looks at: the views without data, and the attributes. */
typedef struct jn_sig {
    const jn_op *op;
    const jn_view *in, *out;
    uint16_t n_in, n_out;
    const void *attrs;
} jn_sig;
typedef jn_kernel_fn (*jn_select_fn)(const jn_sig *sig); /* NULL: no kernel for this signature */
typedef size_t (*jn_workspace_fn)(const jn_sig *sig);

/* Result of a VIEW op as an alias of operand 0: strides and offset in elements.  False: the strides
 * do not allow it, copy instead.  `in` has dims and strides; scalars' data pointers are set. */
typedef bool (*jn_view_fn)(const jn_view *in, unsigned n_in, const void *attrs, const jn_type *out,
                           int64_t *strides, int64_t *offset);

/* How an op takes rows, when frames run batched: operands marked rowed have one more leading dim.
 */
typedef enum jn_batch {
    JN_BATCH_LOOP,    /* one kernel call per row; always right */
    JN_BATCH_ROWS,    /* elementwise with broadcasting: prepend the row dim to every operand */
    JN_BATCH_FOLD,    /* fold rows into the first dim of operand 0 (matmul, conv2d, ...): other
                         operands must be shared, else LOOP */
    JN_BATCH_AXIS,    /* a rule rewrites the attributes (axis + 1, dims with a row dim in front) */
    JN_BATCH_SEGMENT, /* ragged rows: segment-wise */
    JN_BATCH_RULE     /* the op's own: see batch_rule */
} jn_batch;
/* For JN_BATCH_AXIS and JN_BATCH_RULE: given which operands are rowed, fills `attrs` (attr_size
 * bytes, copied from the original) for the batched call; returns the batched op (usually the same),
 * or NULL: loop. INTS attributes may be written to `ints`, room for 2 * JN_MAX_RANK. */
typedef const jn_op *(*jn_batch_fn)(const jn_sig *sig, const bool *rowed, int64_t rows, void *attrs,
                                    int64_t *ints);

/* How an op with JN_OP_ADDS adds the results of many rows to one buffer in one call. */
typedef enum jn_sums {
    JN_SUMS_EACH,    /* it does not: a call per row */
    JN_SUMS_ROWS,    /* rows are one more dim that is summed over */
    JN_SUMS_TABLE,   /* the same; and one row adds to few rows of the result, each once: those that
                        operand 1 numbers, of any number of rows */
    JN_SUMS_PRODUCT, /* where `summed` holds: rows are folded into the dim summed over */
} jn_sums;

/* Of an op that fails on indices out of bounds: operand 1's must be in [0, *bound) or *other, for
 * an operand 0 of these dims.  False: it has no indices there, given operand 1's dtype. */
typedef bool (*jn_bounds_fn)(const void *attrs, const int64_t *dims, int rank, uint8_t dtype1,
                             int64_t *bound, int64_t *other);
/* Whether result = operand 0' x operand 1, both matrices: a sum over their first dims. */
typedef bool (*jn_summed_fn)(const void *attrs);
/* The axis along which operands lie one behind the other in a result of that rank. */
typedef int (*jn_joined_fn)(const void *attrs, int rank);
/* The row of the result that nothing is added to, with JN_SUMS_TABLE; <0: none. */
typedef int64_t (*jn_skips_fn)(const void *attrs);
/* The first dim of operand 0, which has that rank, along which elements depend on each other: what
 * dims in front of it number is taken apart, and first in results; 0: nothing is. */
typedef int (*jn_rows_fn)(const void *attrs, int rank);

/* The part of an op's row that graph/ does not see. */
typedef struct jn_op_impl {
    jn_select_fn cpu;          /* NULL: control, host or scalar op */
    jn_select_fn ref;          /* plain loops: the oracle */
    jn_workspace_fn workspace; /* NULL: none */
    jn_view_fn view;           /* with JN_OP_VIEW or JN_OP_PASSES */
    uint8_t batch;             /* jn_batch */
    jn_batch_fn batch_rule;
    uint8_t sums;            /* jn_sums, with JN_OP_ADDS */
    uint8_t indices_from;    /* operands from this one on are indices, of any device; 0: none are */
    uint32_t device_scalars; /* by bit: scalar operands whose value a device's kernels can read
                                there, when it is known only after the launch was recorded */
    jn_bounds_fn bounds;     /* NULL: none */
    jn_summed_fn summed;     /* NULL: never */
    jn_joined_fn joined;     /* NULL: they do not */
    jn_skips_fn skips;       /* NULL: -1 */
    jn_rows_fn rows;         /* NULL: 0 */
} jn_op_impl;

extern const jn_op_impl jn_op_impls[]; /* indexed by jn_op.id */

/* ops/cpu/products/matmul.c: whether the CPU's kernel for this signature takes rows whose operands
 * lie anywhere, such as weights of several models, in one call. */
bool jn_takes_apart(const jn_sig *sig);
/* Bytes of what a call like this one can be told of operand 1 (of each row), where that stays as it
 * is from call to call; 0: nothing that would make it faster.  ops/cpu/products/packs.c. */
size_t jn_kept_bytes(const jn_op *op, const jn_kargs *k);
/* Writes that, of an operand that lies at `operand`, to memory aligned as a cache line. */
void jn_keep(const jn_kargs *k, const void *operand, void *to);

#endif
