/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that find, build and run chains. */
#ifndef JN_EXEC_CHAIN_H
#define JN_EXEC_CHAIN_H

#include "exec/kernels/kernels.h"

static const uint32_t jn_nobody = UINT32_MAX;

typedef struct jn_space {
    bool flat;
    int cut; /* dim, unless flat */
    const jn_shape *shape;
} jn_space;

/* Whether a value has the space's rows: it is cut along the same dim, and no larger. */
static inline bool jn_has_rows(const jn_space *s, const jn_shape *shape) {
    if (shape->rank <= s->cut || shape->numel > s->shape->numel)
        return false;
    for (int d = 0; d < s->cut; d++)
        if (shape->dims[d] != 1)
            return false;
    return shape->dims[s->cut] == s->shape->dims[s->cut];
}

/* The dim of an operand along which a space that is not flat is cut, < 0: none; dims are matched
 * from the last one, with the result's of elementwise ops, with the first operand's of others. */
static inline int jn_link_rank(const jn_vnode *vn) {
    return vn->op->flags & JN_OP_ELEMENTWISE ? vn->out[0].rank : vn->in[0].rank;
}
static inline int jn_cut_dim(const jn_space *s, const jn_vnode *vn, const jn_view *v) {
    return s->cut - (jn_link_rank(vn) - v->rank);
}

/* What a chain is made of. */
typedef struct jn_members {
    const jn_seginst *inst;
    jn_variant *v;
    jn_arena *a;
    jn_space space;
    uint32_t *node;      /* in the order in which they run */
    uint32_t n, n_again; /* n_again: the first ones, which another chain computes, too */
} jn_members;

/* Which nodes chains compute again, and which values are inside: read by links alone whose chains
 * compute them.  `order` has n_nodes + c for chain c. */
janus_status jn_chains_settle(const jn_seginst *inst, jn_variant *v, jn_arena *arena,
                              jn_members *chain, uint32_t n_chains, const uint32_t *order,
                              uint32_t n_order);

/* Fills an empty chain; it is settled. */
janus_status jn_chain_build(const jn_members *m, jn_chain *c);

/* Of links [first, first + n), which all know steps: the program that computes them.
 * `producer`: per value of the segment the link that computes it, or jn_nobody. */
janus_status jn_chain_program(const jn_members *m, const jn_chain *c, jn_part *part,
                              const uint32_t *producer);

/* The value that an operand is. */
static inline uint32_t jn_value_of(const jn_seginst *inst, const jn_src *src) {
    return inst->seg->nodes[src->index].value[src->index_out];
}

/* The value whose memory a value is in, and whether it is all of it in its order. */
static inline uint32_t jn_value_root(const jn_seginst *inst, uint32_t value, bool *whole) {
    const jn_segvalue *v = &inst->values[value];
    *whole = true;
    if (!v->alias)
        return value;
    if (v->base_input) {
        *whole = false;
        return jn_nobody;
    }
    *whole =
        v->contiguous && v->offset == 0 && v->shape->bytes == inst->values[v->base].shape->bytes;
    return v->base;
}

static inline bool jn_same_source(const jn_src *a, const jn_src *b) {
    return a->kind == b->kind && a->index == b->index && a->index_out == b->index_out;
}

static inline bool jn_single_element(const jn_view *v) {
    for (int d = 0; d < v->rank; d++)
        if (v->dims[d] != 1 && v->strides[d] != 0)
            return false;
    return true;
}

static inline int64_t jn_view_numel(const jn_view *v) {
    int64_t n = 1;
    for (int d = 0; d < v->rank; d++)
        n *= v->dims[d];
    return n;
}

#endif
