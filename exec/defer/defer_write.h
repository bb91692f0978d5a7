/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing gradient rules down: an emitter whose values are places of a segment.
 *
 * Rules look at types alone, so what one emits is the same for all calls of the same types.
 */
#ifndef JN_EXEC_DEFER_WRITE_H
#define JN_EXEC_DEFER_WRITE_H

#include "exec/defer/defer.h"
#include "exec/state/state.h"

/* Where an input of the segment, or a gradient, is found. */
typedef enum jn_grad_from {
    JN_GRAD_NOTHING,
    JN_GRAD_VALUE,  /* value `index` of the row */
    JN_GRAD_GIVEN,  /* its cotangent of result `index` */
    JN_GRAD_TYPE,   /* a type without elements */
    JN_GRAD_OUTPUT, /* output `index` of the segment */
    JN_GRAD_ADDED   /* to an accumulator */
} jn_grad_from;
typedef struct jn_grad_source {
    uint8_t from;
    uint32_t index;
} jn_grad_source;

/* A value that the rules have seen. */
typedef struct jn_written {
    jn_src src; /* INPUT: of the segment, once somebody reads it */
    jn_grad_source from;
    jn_type type;
    bool is_input, is_scalar;
    uint32_t uses; /* of a node's result: by nodes, and as gradients */
} jn_written;

typedef struct jn_writer {
    jn_emitter base;
    jn_segment *seg;
    jn_arena *a; /* of all that the segment consists of */
    JN_VEC(jn_written) values;
    JN_VEC(jn_segnode) nodes;
    JN_VEC(jn_written) inputs;
    JN_VEC(jn_segscalar) scalars;
    JN_VEC(uint32_t) scalar_values;
    JN_VEC(jn_src) outputs;
    uint32_t n_results;
    jn_node *origin; /* what messages and measures look at */
} jn_writer;

/* What is written belongs to the arena; jn_writer_free() is to follow, also after an error. */
janus_status jn_writer_init(jn_writer *w, jn_segment *seg, jn_arena *a, const jn_op *named);
void jn_writer_free(jn_writer *w);
static inline jn_written *jn_writer_of(jn_writer *w, jn_ev v) {
    return &w->values.data[v.bits - 1];
}
/* A tensor that comes from outside, whose type's dims live as long as the segment. */
janus_status jn_writer_input(jn_writer *w, const jn_type *type, jn_grad_source from, jn_ev *out);
/* A scalar, value `index` of the row unless it is always `s->value`. */
janus_status jn_writer_scalar(jn_writer *w, jn_segscalar s, uint32_t index, jn_ev *out);
/* The result of a node as an output of the segment; *index is its number. */
janus_status jn_writer_output(jn_writer *w, jn_ev v, uint32_t *index);
/* Whether it is made of rows of a table, so that a sum may know of some rows only. */
bool jn_writer_is_table(jn_writer *w, jn_ev v);
/* Adds v, which is a float tensor, to accumulator `acc`. */
janus_status jn_writer_add_to(jn_writer *w, jn_ev v, uint32_t acc);
/* Products and sums that go to an accumulator alone add to it themselves. */
void jn_writer_fuse_sums(jn_writer *w);
/* Fills the segment and specialises it; *input and *scalar are the sources of its inputs and the
 * values of its scalars, in the arena.  Without nodes *inst stays as it is. */
janus_status jn_writer_end(jn_writer *w, struct jn_planset *set, jn_grad_source **input,
                           uint32_t **scalar, jn_seginst **inst);

/* Whether sums of such tensors can be made, and whether two types are equal. */
static inline bool jn_type_summable(const jn_type *t) {
    return t->kind == JANUS_KIND_TENSOR && (t->dtype == JANUS_F32 || t->dtype == JANUS_F64);
}
bool jn_type_same_tensor(const jn_type *a, const jn_type *b);

#endif
