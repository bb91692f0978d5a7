/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments: stretches of tensor nodes that run together, and their specialisations.
 *
 * A segment belongs to a plan.  Its inputs are slots: promises of tensors, scalars, accumulators;
 * its outputs are the tensors used outside.  Segments that do the same, of the copies of a body
 * that was inlined or unrolled, share their specialisations.  A specialisation (jn_seginst) fixes
 * every shape: kernels, temporaries' offsets, output shapes.  Tasks of one specialisation at one
 * level run as one group of rows; a variant says which inputs have a row dim (differ from row to
 * row) and which are shared.
 *
 * Every tensor between segments is row-major, and the outputs of a group are one block [rows, ...]:
 * so the rows of a group can be read by the next one without a copy when the order is the same.
 */
#ifndef JN_EXEC_SEGMENT_H
#define JN_EXEC_SEGMENT_H

#include "graph/ir/ir.h"
#include "ops/kernel.h"

enum { JN_MAX_RANGES = 16 }; /* of rows, and lanes: what runs on threads of their own */

/* An interned shape: equal shapes have equal addresses within a plan set. */
typedef struct jn_shape {
    uint8_t dtype;
    int16_t rank;
    int64_t numel;
    size_t bytes;
    const int64_t *dims, *strides; /* row-major */
} jn_shape;

typedef struct jn_shapes {
    jn_arena arena;
    struct jn_shape_entry *table;
} jn_shapes;

const jn_shape *jn_shape_intern(jn_shapes *s, janus_dtype dtype, int rank, const int64_t *dims);
void jn_shapes_free(jn_shapes *s);

/* Where an operand of a segment node comes from. */
typedef enum jn_src_kind { JN_SRC_NONE, JN_SRC_INPUT, JN_SRC_SCALAR, JN_SRC_NODE } jn_src_kind;
typedef struct jn_src {
    uint8_t kind;
    uint8_t index_out; /* NODE: which result */
    uint32_t index;    /* INPUT: tensor input, SCALAR: scalar input, NODE: node of the segment */
} jn_src;

typedef struct jn_segnode {
    const jn_op *op;
    const jn_node *node;
    const void *attrs;
    uint32_t n_in, n_out;
    const jn_src *in;
    uint32_t *value;   /* per result: index into the segment's values */
    int32_t acc;       /* acc.add: index of the accumulator input, else -1 */
    int32_t fused_acc; /* result 0 goes to acc.add only: add to this accumulator input instead */
} jn_segnode;

enum { JN_SCALAR_UNKNOWN, JN_SCALAR_FIXED, JN_SCALAR_FREE }; /* FREE: read on the device */
typedef struct jn_segscalar {
    uint32_t slot;
    uint8_t kind;   /* janus_kind */
    bool is_const;  /* same for every row and run: value */
    bool shape;     /* decides a shape: part of the specialisation's key */
    uint8_t device; /* what captures may assume (exec/device/dev_schedule.c) */
    int64_t value;  /* bits */
} jn_segscalar;

struct jn_seginst;
struct jn_planset;
typedef struct jn_segment {
    uint32_t id;
    uint32_t n_nodes, n_inputs, n_scalars, n_accs, n_outputs, n_values;
    jn_segnode *nodes;
    uint32_t *input_slot;
    jn_segscalar *scalars;
    uint32_t *acc_slot;
    uint32_t *output_slot;    /* frame slots that get the promises */
    jn_src *output;           /* NODE sources */
    struct jn_seginst *insts; /* list, most recent first */
    uint32_t n_insts;
    /* Its shapes, where it has a branch. */
    janus_status (*specialise)(struct jn_seginst *inst, struct jn_planset *set);
    struct jn_branch *branch; /* it has no nodes: exec/schedule/branch.h; or NULL */
    struct jn_segment *twin;  /* does the same on other slots: its specialisations serve; or NULL */
    struct jn_segment *next;  /* with this hash, in the plan set */
    uint64_t hash;
} jn_segment;

/* A value (node result) of a specialised segment, per row. */
typedef struct jn_segvalue {
    const jn_shape *shape;
    int32_t output; /* index of the segment output it is, or whose memory it is in; -1: none */
    bool alias;     /* a view of another value's or an input's memory */
    bool copied;    /* such a view that leaves the segment: copied to an output */
    bool part;      /* copied: of an input, as its elements lie there */
    bool base_input;
    uint32_t base;               /* alias, copied: value index, or input index when base_input */
    int64_t offset;              /* alias, copied: elements from the base's first */
    const int64_t *strides;      /* where its elements are */
    const int64_t *view_strides; /* copied: where they are in the base */
    bool contiguous;
    bool read_dense;   /* by a kernel that needs row-major operands */
    uint32_t last_use; /* node that reads it last, aliases included */
} jn_segvalue;

/* The tasks of a level, while they are grouped. */
typedef struct jn_bucket {
    struct jn_task *first, **tail;
    uint32_t n;
} jn_bucket;

struct jn_variant;
typedef struct jn_seginst {
    struct jn_seginst *next;
    const jn_segment *seg;
    uint64_t serial; /* no two of a process have the same */
    jn_arena arena;
    const jn_shape **in; /* key: shape per tensor input */
    int64_t *scalars;    /* key: bits per scalar with `shape` (0 elsewhere) */
    jn_segvalue *values;
    const jn_shape **out; /* per segment output */
    int32_t *shares;      /* per output: the earlier one whose memory it is in, or -1 */
    size_t row_bytes;     /* of all values: what a tile is sized by */
    uint32_t row_cost;    /* elements of work: what ranges are sized by */
    bool wide;            /* a row multiplies by more than a cache holds */
    struct jn_variant *variants[JN_MAX_RANGES]; /* of each range */
    jn_bucket bucket[JN_MAX_RANGES];            /* of each lane */
    struct {
        uint32_t n, stamp, early, late; /* while the tasks of a flush are put in order */
    } count;
    uint32_t row_records; /* captures made for its groups (exec/schedule/dev_rows.c) */
} jn_seginst;

/* Finds or makes the specialisation for these input shapes and scalars. */
janus_status jn_segment_specialise(jn_segment *seg, struct jn_planset *set,
                                   const jn_shape *const *in, const int64_t *scalars,
                                   jn_seginst **out);
/* Drops all but the most recent specialisations of a segment that has very many. */
void jn_segment_trim(jn_segment *seg);
void jn_seginst_free(jn_seginst *inst);

#endif
