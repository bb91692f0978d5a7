/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: a SubGraph compiled for execution.
 *
 * The host strand runs a flat array of instructions over the 8-byte slots of a frame: scalars, host
 * objects, and promises of tensors.  Tensor nodes are not instructions: they are grouped into
 * segments, and an ISSUE instruction hands one segment of this frame, with its operands, to the
 * tensor strand as a task (exec/state/task.h).
 *
 * A SubGraph has up to two plans: plain, and saved (its frame outlives the call, for the gradient).
 * Arms of `if` are inlined in plain plans and are frames of their own in saved ones.  All plans of
 * a module that one run uses at a time form a plan set; concurrent runs use different sets, so
 * nothing here is locked while running.
 */
#ifndef JN_EXEC_PLAN_H
#define JN_EXEC_PLAN_H

#include <string.h>

#include "exec/state/segment.h"
#include "graph/ir/ir.h"

static inline bool jn_op_named(const jn_op *op, const char *name) {
    return strcmp(op->name, name) == 0;
}

typedef struct jn_plan jn_plan;
typedef struct jn_planset jn_planset;
typedef struct jn_frame jn_frame;

/* What a slot holds is known from the plan. */
typedef union jn_slot {
    int64_t i;
    double f;
    void *p; /* host object, possibly a tagged jn_box (exec/heap/host_ops.c) */
    struct jn_tval *t;
    struct jn_acc *acc;
    jn_frame *frame;
} jn_slot;

/* Instructions of the host strand.  dst, a, b are slots unless said otherwise. */
#define JN_INSTR_LIST(X)                                                                           \
    X(MOVE)   /* dst = a */                                                                        \
    X(CONST)  /* dst = imm */                                                                      \
    X(TCONST) /* dst = constant tensor; aux is its node */                                         \
    X(ADD_I)  /* integer ops trap on overflow */                                                   \
    X(SUB_I)                                                                                       \
    X(MUL_I)                                                                                       \
    X(ADD_IK) /* dst = a + imm */                                                                  \
    X(LT_I)                                                                                        \
    X(LE_I)                                                                                        \
    X(EQ_I)                                                                                        \
    X(NE_I)                                                                                        \
    X(LT_IK) /* dst = a < imm */                                                                   \
    X(LE_IK)                                                                                       \
    X(EQ_IK)                                                                                       \
    X(ADD_F)                                                                                       \
    X(SUB_F)                                                                                       \
    X(MUL_F)                                                                                       \
    X(LT_F)                                                                                        \
    X(NOT)                                                                                         \
    X(SCALAR) /* any other scalar op: aux is jn_scalar_call */                                     \
    X(JUMP)   /* to instruction imm */                                                             \
    X(JFALSE) /* to imm when a is 0 */                                                             \
    X(JLT_IK) /* fused compare and branch: to imm unless a < b (b: the constant, i32) */           \
    X(JLE_IK)                                                                                      \
    X(JEQ_IK)                                                                                      \
    X(INVOKE) /* aux is jn_call */                                                                 \
    X(WHILE)  /* aux is jn_loop */                                                                 \
    X(DECIDE) /* issues aux, a jn_segment, and goes on at dst; or nothing (exec/schedule/branch.h) \
               */                                                                                  \
    X(FOREACH)                                                                                     \
    X(RETURN) /* aux is the list of result slots */                                                \
    X(ISSUE)  /* aux is jn_segment */                                                              \
    X(ROWS)   /* the same, one node: of the rows of its operand 1 if it has rows                   \
                 (exec/schedule/rows.h) */                                                         \
    X(TRUTH)  /* dst = value of one-element tensor a is not zero; waits for the tensor strand */   \
    X(ITEM)   /* dst = value of one-element tensor a as scalar of kind b */                        \
    X(SIZE)   /* dst = dim imm of tensor a */                                                      \
    X(DRAW)   /* dst = next random offset, a = seed (both written); aux is jn_draw */              \
    X(FRAME_GET) /* dst = member imm of frame a */                                                 \
    X(GRAD_CALL) /* if.grad: aux is jn_call, the frame's arm decides */                            \
    X(GRAD_LOOP) /* while.grad, foreach.grad: aux is jn_loop */                                    \
    X(ACC_NEW)                                                                                     \
    X(ACC_GET)                                                                                     \
    X(ACC_USED)                                                                                    \
    X(HOST)    /* aux is jn_host_call */                                                           \
    X(TYPE_IS) /* dst = an object's type has the token `key`; aux is a jn_host_call */             \
    X(ASSERT)  /* a must be true; aux is the node */                                               \
    X(STORE)   /* log: tensor a's storage becomes b */

typedef enum jn_opcode {
#define JN_INSTR_ENUM(name) JN_I_##name,
    JN_INSTR_LIST(JN_INSTR_ENUM)
#undef JN_INSTR_ENUM
} jn_opcode;

typedef struct jn_instr {
    uint32_t op, dst, a, b;
    union {
        int64_t imm;
        const void *aux;
    };
} jn_instr;

/* Slot lists are stored as {n, slots...}. */
typedef struct jn_slots {
    uint32_t n;
    const uint32_t *slot;
} jn_slots;

enum { JN_NO_SLOT = UINT32_MAX }; /* stands for the none value in operand lists */

typedef struct jn_call {
    jn_plan *callee[2]; /* [1]: the other arm, for IF in saved plans and if.grad */
    const jn_subgraph *sub[2];
    jn_slots args, results;
    uint32_t cond;       /* saved if: condition slot, else JN_NO_SLOT */
    uint32_t frame_slot; /* where the callee's frame goes; JN_NO_SLOT: not saved */
    const jn_node *node;
} jn_call;

typedef struct jn_loop {
    jn_plan *cond, *body; /* cond NULL: foreach */
    jn_slots carried;     /* initial values in; for gradients: cotangents and accumulators */
    jn_slots results;
    const uint32_t *carried_at; /* per result: which of carried an iteration replaces by it */
    uint32_t count;             /* foreach: trip count slot */
    uint32_t frame_slot;        /* where the list of iteration frames goes; JN_NO_SLOT: not kept */
    uint32_t list_slot;         /* gradients: that list */
    bool lists;                 /* gradients: some of carried are lists too, walked along */
    uint8_t unseen;             /* how often it was not yet taken (exec/plan/watch.h) */
    const jn_node *node;
} jn_loop;

typedef struct jn_scalar_call {
    const jn_op *op;
    const jn_node *node;
    unsigned n;
    uint32_t in[4];
    uint8_t kinds[4];
} jn_scalar_call;

/* Reads that the host strand makes without a call of its own where nothing was written before:
 * operand b of their instructions, beside the slot of the object, a. */
typedef enum jn_quick_read {
    JN_QUICK_NONE,
    JN_QUICK_ATTR,
    JN_QUICK_TYPE,
    JN_QUICK_UNBOX
} jn_quick_read;

typedef struct jn_host_call {
    const jn_node *node;
    uint8_t what; /* jn_host_what */
    uint8_t kind; /* of what comes out */
    uint32_t n;
    uint32_t *in;
    uint8_t *kinds;
    bool wired;  /* of host.unbox: gradients go to what is read (exec/heap/wire.h) */
    int64_t key; /* attribute `key`, or `what` of host.new */
    int64_t tag;
} jn_host_call;

typedef struct jn_draw {
    const jn_node *node;
    int64_t numel; /* -1: that of the tensor in slot `like` */
    uint32_t like;
} jn_draw;

struct jn_plan {
    const jn_subgraph *sub;
    jn_planset *set;
    bool saved;
    bool compiled;
    bool has_tensors; /* or objects: some slot may point into the run's memory */
    jn_instr *code;
    size_t n_code;
    uint32_t n_slots;
    uint32_t n_params;        /* slots 0 .. n_params-1 */
    uint8_t *slot_kind;       /* janus_kind per slot */
    const jn_shape **bound;   /* per parameter: of the tensor that it was last; NULL: none yet */
    uint64_t known;           /* the jn_run.known of the run that bound these; 0: none */
    struct jn_replay *replay; /* of runs that begin here, or NULL (exec/kernels/replay.h) */
    uint32_t alike, write_at; /* runs one after the other whose arguments looked the same; so many
                                 of them pay for a list, 0: not yet known */
    struct jn_panels *panels; /* of weights, left by runs that began here; or NULL */
    size_t replay_scratch;    /* bytes of scratch memory that a range of a list needs */
    uint32_t *member;         /* saved plans: slot of each member of sub->saved */
    uint32_t frame_bytes;
    const jn_node **where; /* node per instruction, for messages */
    struct jn_effects
        *effects; /* from each instruction on (exec/strand/effects.h); NULL: not yet known */
    jn_frame *free_frames; /* of the run that uses the set now */
};

enum { JN_SEGMENT_LISTS = 256, JN_BOUND_SHAPES = 16 /* a power of two */ };

/* All plans of a module for one run at a time. */
struct jn_planset {
    const janus_module *module;
    /* The compiled plan of a SubGraph. */
    janus_status (*plan_of)(jn_planset *s, const jn_subgraph *sub, bool saved, jn_plan **out);
    jn_arena arena;
    jn_plan *plans; /* [2 * sub index + saved] */
    JN_VEC(jn_segment *) segments;
    jn_segment *by_hash[JN_SEGMENT_LISTS];
    jn_shapes shapes;                       /* interned shapes */
    const jn_shape *bound[JN_BOUND_SHAPES]; /* of tensors bound lately */
    struct jn_mem *spare;                   /* run memory for reuse */
    size_t expected;                        /* bytes that a run has asked for and kept */
    size_t scratch[JN_MAX_RANGES];          /* and those of temporaries, by part */
    struct jn_table *tables;                /* all zero (exec/schedule/rows.h) */
    struct jn_effects *effects;             /* per SubGraph; NULL: not yet known */
    struct jn_decided *decided;             /* the same: by what they are */
    bool recurs;                            /* a SubGraph calls itself */
    bool crowded; /* some segment has many specialisations: trim when the run is over */
    jn_planset *next;
};

/* ---- marks: see exec/plan/watch.h ---- */

enum { JN_MARKED = 1 << 17 /* beside an opcode */ };
enum { JN_LOOP_NEVER = 1, JN_LOOP_ONCE = 2, JN_LOOP_OFTEN = 4 }; /* jn_loop.unseen */

typedef struct jn_mark { /* that a run has met */
    jn_plan *plan;
    uint32_t at; /* instruction, where loop is NULL */
    jn_loop *loop;
    uint8_t times;
} jn_mark;

static inline jn_opcode jn_opcode_of(const jn_instr *in) {
    return (jn_opcode)(in->op & (JN_MARKED - 1));
}

#endif
