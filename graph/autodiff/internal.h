/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the differentiation share.
 *
 *   autodiff.c        entry points; one derivation from declaration to results
 *   autodiff_sweep.c  the reverse sweep over a body: rules, sums, members read
 *   autodiff_slice.c  slices of one value
 *   autodiff_call.c   calls: frames, records, accumulators
 *   autodiff_paths.c  calls whose results have a cotangent on some paths only
 *   autodiff_presence.c  gradients that there may be or not
 *   autodiff_arm.c    what is computed only where such a gradient is
 *   autodiff_wire.c   what is stored in objects and read back
 *   autodiff_rows.c   which rows of a list get a gradient
 *   autodiff_reach.c  what depends on what, before anything is built
 *
 * A derivation (jn_deriv) is kept with the SubGraph it was derived from, in the module's arena, and
 * is found again by its key.  Working memory of one entry call is in jn_diff.tmp.
 * docs/adr/0003-frames-and-gradients.md has the design.
 */
#ifndef JN_GRAPH_AUTODIFF_INTERNAL_H
#define JN_GRAPH_AUTODIFF_INTERNAL_H

#include "graph/autodiff/autodiff.h"
#include "graph/base/status.h"

/* A record: the frame of `sub` (of sub[1] where the other arm of an if ran), read as the cotangents
 * of the members of the frame that was parameter `param` of what `sub` is the gradient of. */
typedef struct jn_record_type {
    jn_subgraph *sub[2];
    uint32_t param;
} jn_record_type;

/* A derived SubGraph `g` of `f`: where it keeps the cotangent of one member of a frame parameter.
 */
typedef struct jn_frame_ct {
    uint32_t param;  /* of f, of type frame<@p> */
    uint32_t member; /* of @p.saved */
    uint32_t index;  /* in g->saved */
    bool record;     /* the member is a frame, and g's member a record of this type: */
    jn_record_type type;
} jn_frame_ct;

typedef struct jn_deriv {
    struct jn_deriv *next; /* of the same f */
    jn_subgraph *f, *g;
    /* The key. */
    const bool *arriving; /* per result of f, then per parameter of f (accumulators) */
    const bool *want;     /* per parameter of f */
    const uint8_t *sums;  /* per parameter: its cotangent so far is passed (2: and its flag), g
                             adds to it; NULL: none */
    const bool *outs;   /* per parameter: results of g; NULL: all differentiable ones, maybe none */
    bool presence;      /* g says which of its results are gradients, see jn_sweep.flag */
    const bool *flags;  /* of `presence`, per parameter: a bool says so, the others are certain;
                           NULL: as it is found */
    const bool *unsure; /* per result of f, of loops: a bool says whether its cotangent is one */
    unsigned n_records;
    const jn_record_type *records; /* sub[0] and param count */
    /* What was derived. */
    bool typed; /* g has its result types */
    bool done;
    int32_t *present; /* of `presence`: per parameter: the result that says so; -1: certain */
    unsigned order;   /* 1: gradient of a SubGraph that is no gradient */
    unsigned n_cts;
    jn_frame_ct *cts;
} jn_deriv;

/* Ops the differentiation itself creates. */
typedef struct jn_diff_ops {
    const jn_op *none, *add, *full_like, *reshape_like, *frame_get, *acc_new, *acc_add, *acc_get;
    const jn_op *slice, *select, *unsqueeze, *slice_scatter, *concat;
    const jn_op *acc_used, *s_and, *s_or, *s_not, *full, *if_;
    const jn_op *invoke, *if_grad, *while_grad, *foreach_grad;
    const jn_op *wire_put, *wire_read, *wire_has, *wire_take, *wire_set, *wire_mark;
    const jn_op *rows_put, *rows_read, *rows_mark, *rows_take;
} jn_diff_ops;

/* One entry call. */
typedef struct jn_diff {
    janus_module *m;
    jn_arena tmp;
    jn_diff_ops ops;
    struct jn_reach *reach;     /* autodiff_reach.c */
    struct jn_reach **reach_of; /* the same, per SubGraph of the first n_reach_of */
    size_t n_reach_of;
    const struct jn_reach *solved, *sure; /* how far it is */
    struct jn_activity *activity;         /* per SubGraph, all parameters wanted */
    uint8_t *wires;                       /* per SubGraph of the first n_wires: autodiff_wire.c */
    uint32_t n_wires;
    bool marks;  /* something that is stored outlives the run */
    bool *often; /* per SubGraph of the first n_often: jn_callgraph_often */
    size_t n_often;
} jn_diff;

/* Whether a run enters f at most once; false where that is not known. */
bool jn_runs_once(jn_diff *d, const jn_subgraph *f);

/* A record met in a sweep: the frame of node `node` of g, which was built there, or a value. */
typedef struct jn_record {
    struct jn_record *next;
    uint32_t node; /* 0: value */
    jn_value value;
    jn_record_type type;
} jn_record;

typedef struct jn_part jn_part; /* autodiff_slice.c */

/* Numbers the values of the first n_nodes nodes of a body, with room for one more per call. */
typedef struct jn_numbering {
    uint32_t n_nodes, n_values;
    const uint32_t *first; /* per node */
} jn_numbering;

/* What is computed where a cotangent is present only: an arm of an `if`, see autodiff_arm.c. */
typedef struct jn_arm {
    jn_subgraph *sub; /* NULL: none is open */
    jn_value when;    /* the condition, of the body around */
    bool calls;
    jn_value *outer; /* per parameter: the value of the body around that it is */
    unsigned n_outer, cap;
    jn_value *sums; /* of f, whose cotangents are values of the arm */
    unsigned n_sums;
    jn_value *parted; /* of f, that have parts which are */
    unsigned n_parted;
} jn_arm;

/* One reverse sweep over f, emitting to g (home == f for jn_grad_emit). */
typedef struct jn_sweep {
    jn_emitter base;
    jn_diff *d;
    jn_subgraph *f, *home;
    jn_subgraph *g; /* home, or the arm that is being built */
    jn_numbering num;
    bool *active;        /* per value: depends on what is differentiated by */
    jn_value *ct;        /* per value: its cotangent in g so far; of accumulators: of the sum */
    jn_part **parts;     /* per value: cotangents of its slices, not yet added to it */
    jn_value *fetched;   /* per value: it, in g (g != f) */
    bool *lasting;       /* per node of a checkpoint: kept in any case; NULL: not known yet */
    jn_record **records; /* per call or frame.get: records that are the cotangent of its frame */
    jn_value *acc;       /* per parameter of f: accumulator in g, none: not shared */
    jn_value *open;      /* per value: accumulator in g that calls add to, not yet read */
    const uint8_t *sums; /* as in jn_deriv */
    jn_value frame;      /* g's %t */
    /* Where control decides, a value may get no gradient; its cotangent is zeros then.  `when` (a
     * bool of g, none: it is certain) is the condition of what is added now, `flag` per value that
     * of its cotangent. */
    bool presence;
    jn_value when, *flag;
    uint32_t at;         /* the node that the sweep has come to */
    const jn_node *rule; /* whose rule is asked ... */
    uint64_t read;       /* ... and which of its first 64 operands it has read */
    bool marks;          /* f stores or reads, and something that is stored outlives the run */
    bool *used;          /* per value: something certain was added to its accumulator */
    jn_arm arm;
    /* Per value, of the open arm: its cotangent is the arm's, and what it was before; its parts are
     * the arm's.  The flag is that of what the arm added, within the arm. */
    bool *inside, *part_inside;
    jn_value *before, *before_flag;
    jn_loc loc;
} jn_sweep;

/* How the operands of a call meet the parameters of what it calls. */
typedef struct jn_call_shape {
    unsigned n_subs;
    jn_subgraph *sub[2];
    uint32_t first_in, first_param; /* operand first_in + i is parameter first_param + i */
    uint32_t n;                     /* pairs */
    uint32_t n_results;             /* without the frame of a saving call */
    bool loop;                      /* result i is carried parameter i, else result i of sub */
} jn_call_shape;

static inline bool jn_differentiable(const jn_type *t) {
    return t->kind == JANUS_KIND_TENSOR && jn_dtype_is_float(t->dtype);
}
static inline bool jn_is_call(const jn_node *n) {
    return n->op->role == JN_ROLE_INVOKE || n->op->role == JN_ROLE_IF || jn_is_loop(n) ||
           n->op->role == JN_ROLE_GRAD;
}
/* A loop hands such a parameter on from iteration to iteration. */
static inline bool jn_param_carried(const jn_param *p) {
    return !p->shared && p->type->kind != JANUS_KIND_FRAME && p->type->kind != JANUS_KIND_ACC;
}
void jn_call_shape_of(const jn_node *n, jn_call_shape *out);
/* Parameter of `sub` that result i of a loop over it is. */
uint32_t jn_carried_param(const jn_call_shape *c, uint32_t i);
static inline uint32_t jn_number(const jn_numbering *num, jn_value v) {
    return num->first[v.node] + v.index;
}
janus_status jn_numbering_make(jn_arena *a, const jn_subgraph *f, jn_numbering *out);
void *jn_diff_alloc(jn_diff *d, size_t n, size_t size); /* zeroed; NULL: out of memory */

/* autodiff_reach.c ----------------------------------------------------------------------------- */

/* Spreads `active` (set for what is differentiated by) from operands to results. */
janus_status jn_activity_spread(jn_diff *d, const jn_subgraph *f, const jn_numbering *num,
                                bool *active);
/* Extends `want` (per parameter of c->sub[0]) until a loop's results are no more active than its
 * parameters. */
janus_status jn_want_close(jn_diff *d, const jn_call_shape *c, bool *want);
/* Which parameters of f can get a cotangent; at least those that will. */
janus_status jn_reach_outs(jn_diff *d, jn_subgraph *f, const bool *arriving, const bool *want,
                           bool records, const bool **out_outs);
/* Which of them get one whatever path is taken, where results get theirs; of loops, where only the
 * results that are not `unsure` (per result, NULL: none) do. */
janus_status jn_reach_sure(jn_diff *d, jn_subgraph *f, const bool *arriving, const bool *want,
                           const bool *unsure, const bool **out_sure);

/* autodiff_sweep.c ----------------------------------------------------------------------------- */

janus_status jn_sweep_init(jn_sweep *s, jn_diff *d, jn_subgraph *f, jn_subgraph *g);
janus_status jn_sweep_run(jn_sweep *s, uint32_t from_node);
/* Adds a contribution to the cotangent of v. */
janus_status jn_sweep_add(jn_sweep *s, jn_value v, jn_value contribution);
/* The accumulator that contributions to v go to, made when there is none; it is read when the sweep
 * reaches v. */
janus_status jn_sweep_open(jn_sweep *s, jn_value v, jn_value *out_acc);
/* What has been added to the results of a node becomes their cotangents: nothing more will be. */
janus_status jn_sweep_close(jn_sweep *s, uint32_t node, uint32_t n_out);
/* The value v of f, in g. */
janus_status jn_sweep_fetch(jn_sweep *s, jn_value v, jn_value *out);
janus_status jn_sweep_build(jn_sweep *s, const jn_op *op, const jn_value *in, unsigned n_in,
                            jn_value *out, unsigned n_out);
janus_status jn_sweep_zeros(jn_sweep *s, jn_value like /* of f */, jn_value *out);
janus_status jn_sweep_frame_get(jn_sweep *s, jn_value frame, uint32_t index, jn_value *out);
/* Position of the value, or of the frame of the call `v.node`, in f->saved, listed when new. */
janus_status jn_save_member(jn_subgraph *f, jn_value v, bool frame, uint32_t *out_index);

/* autodiff_presence.c -------------------------------------------------------------------------- */

/* Adds to an accumulator of g under s->when. */
janus_status jn_presence_acc_add(jn_sweep *s, jn_value acc, jn_value more);
/* Of conditions; none: there is not this one. */
janus_status jn_presence_and(jn_sweep *s, jn_value a, jn_value b, jn_value *out);
janus_status jn_presence_or(jn_sweep *s, jn_value a, jn_value b, jn_value *out);
janus_status jn_presence_not(jn_sweep *s, jn_value a, jn_value *out);
/* v->present, where the bools are declared: after n_outs cotangents. */
janus_status jn_presence_declare(jn_diff *d, jn_deriv *v, unsigned n_outs);
/* Bools that say which results of v's SubGraph are gradients, as its last results. */
janus_status jn_presence_results(jn_sweep *s, jn_deriv *v, jn_value *results, unsigned n_outs,
                                 unsigned *out_n);

/* autodiff_arm.c ------------------------------------------------------------------------------- */

/* Chooses where what node n gives its operands is built, and makes that s->g: the body around, or
 * an arm.  What n touches is a value there, once it went through jn_arm_in(). */
janus_status jn_arm_choose(jn_sweep *s, const jn_node *n);
void jn_arm_leave(jn_sweep *s);
/* Opens an arm and makes it s->g; the one that was open is closed. */
janus_status jn_arm_open(jn_sweep *s, jn_value when);
/* The `if` is built, cotangents are the body's again. */
janus_status jn_arm_close(jn_sweep *s);
/* Whether node n reads or adds to what is a value of the open arm. */
bool jn_arm_touches(const jn_sweep *s, const jn_node *n);
/* Whether all cotangents of node n are there exactly when the open arm runs. */
bool jn_arm_is_for(const jn_sweep *s, const jn_node *n);
/* Whether the cotangent of a value (its number) is there on all paths. */
bool jn_arm_certain(const jn_sweep *s, uint32_t i);
/* Value v of the body around, in s->g. */
janus_status jn_arm_in(jn_sweep *s, jn_value v, jn_value *out);
/* The same, to be read: where gradients are rounded as by the tape a view is made again in an arm,
 * which gets its parameters row-major. */
janus_status jn_arm_read(jn_sweep *s, jn_value v, jn_value *out);
/* The cotangent of value number i, in s->g, to be read. */
janus_status jn_arm_ct(jn_sweep *s, uint32_t i, jn_value *out);
/* Makes the cotangent of v one of the arm, before the arm adds to it. */
janus_status jn_arm_take(jn_sweep *s, jn_value v);
/* Says that parts of v are the arm's. */
void jn_arm_part(jn_sweep *s, jn_value v);
static inline bool jn_in_arm(const jn_sweep *s) { return s->g != s->home; }

/* autodiff_wire.c ------------------------------------------------------------------------------ */

/* Looks at all SubGraphs there are. */
janus_status jn_wires_find(jn_diff *d);
/* Whether the node, or something that it calls, stores or reads what is differentiated. */
bool jn_wire_stores(const jn_diff *d, const jn_node *n);
bool jn_wire_reads(const jn_diff *d, const jn_node *n);
/* The gradient of storing and of reading; other host operations have none. */
janus_status jn_sweep_wire(jn_sweep *s, const jn_node *n);
/* Marks what f has stored of the results of a node (0: parameters), all uses of which are done. */
janus_status jn_wire_marks(jn_sweep *s, uint32_t node);
/* Marks what is stored, or was, of a node's operands, which its gradient has read (a bit each). */
janus_status jn_wire_kept(jn_sweep *s, const jn_node *n, uint64_t read);

/* autodiff_rows.c ------------------------------------------------------------------------------ */

/* What a note says of the gradient of its operand, once all later uses of that have given theirs.
 */
janus_status jn_sweep_note(jn_sweep *s, const jn_node *n);

/* autodiff_slice.c ----------------------------------------------------------------------------- */

/* Keeps the cotangent of a slice as a part of its operand's; not taken: the rule does it. */
janus_status jn_sweep_slice(jn_sweep *s, const jn_node *n, bool *out_taken);
/* Adds the parts kept for v to its cotangent. */
janus_status jn_sweep_join(jn_sweep *s, jn_value v);

/* autodiff_call.c ------------------------------------------------------------------------------ */

/* The gradient of the call, for the cotangents there are, in s->g. */
janus_status jn_call_gradient(jn_sweep *s, const jn_node *n);
/* turns.c: whether what later uses give operand i of a call, and those of its results that may be
 * the operand itself, is added up as if they were one value.  arriving: as in jn_deriv; NULL: all.
 */
bool jn_sums_in_turn(const jn_sweep *s, const jn_node *n, const jn_call_shape *c,
                     const bool *arriving, uint32_t i);
/* The error where it is not. */
janus_status jn_sums_not_in_turn(const jn_subgraph *f, const jn_node *n);
/* Turns a call into its saving form, where it is none, and gives its frame. */
janus_status jn_call_save(jn_subgraph *g, uint32_t node, jn_value *out_frame);

/* autodiff_paths.c ------------------------------------------------------------------------------
 */

janus_status jn_sweep_call(jn_sweep *s, const jn_node *n);

/* autodiff.c ----------------------------------------------------------------------------------- */

janus_status jn_derive(jn_diff *d, const jn_deriv *key, jn_deriv **out);

#endif
