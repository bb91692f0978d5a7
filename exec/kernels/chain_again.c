/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a chain computes again, and what is inside chains.
 *
 * A chain that reads what an earlier one computed (a gradient's, of values of the forward pass)
 * would have it written to memory and read from there.  A few cheap ops in registers cost less than
 * that, so where the operands of those ops are there the chain has nodes of its own for them.  Ops
 * are pure: the bits are the same.
 */
#include "config.h"

#include <string.h>

#include "exec/kernels/chain.h"
#include "graph/base/status.h"

enum {
    LEAST = 16384, /* elements: what is smaller stays in a near cache */
    KEPT_COST = 24 /* of a value that is written and read, in cheap ops */
};

typedef struct again {
    const jn_seginst *inst;
    const jn_variant *v;
    jn_members *chain;
    uint32_t *owner; /* per value: the chain that computes it, or jn_nobody */
    uint32_t *node;  /* per value: the node that does */
    uint32_t *again; /* per value: 1 + the last chain that computes it again */
    uint32_t *stack, *list;
} again;

static uint32_t read_value(const again *a, const jn_src *src, bool *whole) {
    return src->kind == JN_SRC_NODE ? jn_value_root(a->inst, jn_value_of(a->inst, src), whole)
                                    : jn_nobody;
}

static bool same_space(const jn_space *a, const jn_space *b) {
    if (a->flat != b->flat || a->shape->numel != b->shape->numel)
        return false;
    return a->flat || (a->cut == b->cut && a->shape->rank == b->shape->rank &&
                       memcmp(a->shape->dims, b->shape->dims,
                              (size_t)a->shape->rank * sizeof *a->shape->dims) == 0);
}

/* Whether chain c could compute what an operand reads: a value of another chain of its space that
 * it does not compute yet.  Dims of the value and what is read may differ where the space is flat.
 */
static bool can_compute(const again *a, uint32_t c, const jn_src *src, uint32_t *value) {
    bool whole = true;
    *value = read_value(a, src, &whole);
    if (*value == jn_nobody || !whole || a->owner[*value] == jn_nobody || a->owner[*value] == c ||
        a->again[*value] == c + 1 ||
        !same_space(&a->chain[a->owner[*value]].space, &a->chain[c].space))
        return false;
    uint32_t read = jn_value_of(a->inst, src);
    const jn_shape *s = a->inst->values[read].shape, *t = a->inst->values[*value].shape;
    return a->chain[c].space.flat ||
           (s->rank == t->rank && memcmp(s->dims, t->dims, (size_t)s->rank * sizeof *s->dims) == 0);
}

/* Lets chain c compute a value and what leads to it, if that costs less than keeping the value. */
static void consider(again *a, uint32_t c, uint32_t value) {
    uint32_t n_stack = 0, n = 0, cost = 0, next;
    a->stack[n_stack++] = value;
    a->again[value] = c + 1;
    while (n_stack) {
        uint32_t at = a->stack[--n_stack];
        const jn_vnode *vn = &a->v->nodes[a->node[at]];
        a->list[n++] = at;
        cost += vn->out[0].dtype == JANUS_F32 || vn->out[0].dtype == JANUS_BOOL
                    ? jn_step_cost(vn->op)
                    : KEPT_COST + 1;
        for (uint32_t k = 0; k < vn->n_in && cost <= KEPT_COST; k++)
            if (can_compute(a, c, &vn->n->in[k], &next)) {
                a->again[next] = c + 1;
                a->stack[n_stack++] = next;
            }
    }
    if (cost <= KEPT_COST)
        return;
    while (n_stack)
        a->again[a->stack[--n_stack]] = 0;
    while (n)
        a->again[a->list[--n]] = 0;
}

/* The nodes of chain c with those that it computes again in front, in the order of the others. */
static bool extend(again *a, jn_arena *arena, uint32_t c, const uint32_t *chains,
                   uint32_t n_before) {
    jn_members *m = &a->chain[c];
    uint32_t n = 0, total = m->n, value;
    for (uint32_t l = 0; l < m->n; l++) {
        const jn_vnode *vn = &a->v->nodes[m->node[l]];
        for (uint32_t k = 0; k < vn->n_in; k++)
            if (can_compute(a, c, &vn->n->in[k], &value))
                consider(a, c, value);
    }
    for (uint32_t i = 0; i < n_before; i++)
        total += a->chain[chains[i]].n;
    uint32_t *node = jn_arena_alloc(arena, total * sizeof *node);
    if (!node)
        return false;
    for (uint32_t i = 0; i < n_before; i++) {
        const jn_members *o = &a->chain[chains[i]];
        for (uint32_t l = o->n_again; l < o->n; l++)
            if (a->again[a->v->nodes[o->node[l]].n->value[0]] == c + 1)
                node[n++] = o->node[l];
    }
    m->n_again = n;
    memcpy(node + n, m->node, m->n * sizeof *node);
    m->node = node;
    m->n += n;
    return true;
}

/* Per value how many read it that have it from memory; chains that compute it have it themselves.
 */
static void count_readers(const again *a, uint32_t n_chains, uint32_t *outside, uint32_t *all,
                          uint32_t *has) {
    const jn_seginst *inst = a->inst;
    const jn_segment *seg = inst->seg;
    bool whole;
    memset(outside, 0, seg->n_values * sizeof *outside);
    memset(all, 0, seg->n_values * sizeof *all);
    memset(has, 0, seg->n_values * sizeof *has);
    for (uint32_t c = 0; c < n_chains; c++) {
        const jn_members *m = &a->chain[c];
        for (uint32_t l = 0; l < m->n; l++)
            has[a->v->nodes[m->node[l]].n->value[0]] = c + 1;
        for (uint32_t l = 0; l < m->n; l++) {
            const jn_segnode *n = a->v->nodes[m->node[l]].n;
            for (uint32_t k = 0; k < n->n_in; k++) {
                uint32_t value = read_value(a, &n->in[k], &whole);
                if (value == jn_nobody)
                    continue;
                outside[value] += has[value] != c + 1;
                all[value] += a->owner[value] == c || has[value] != c + 1;
            }
        }
    }
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_segnode *n = &seg->nodes[i];
        const jn_segvalue *v = n->n_out == 1 ? &inst->values[n->value[0]] : NULL;
        if (v && v->alias) {
            if (v->output >= 0 && !v->base_input)
                outside[v->base]++, all[v->base]++;
            continue;
        }
        if (v && a->owner[n->value[0]] != jn_nobody)
            continue;
        for (uint32_t k = 0; k < n->n_in; k++) {
            uint32_t value = read_value(a, &n->in[k], &whole);
            if (value != jn_nobody)
                outside[value]++, all[value]++;
        }
    }
}

/* Nodes whose results nobody reads any more are left out, but for the last one of a chain. */
static bool prune(again *a, uint32_t n_chains, const uint32_t *all) {
    bool any = false;
    for (uint32_t c = 0; c < n_chains; c++) {
        jn_members *m = &a->chain[c];
        uint32_t n = m->n_again;
        for (uint32_t l = m->n_again; l < m->n; l++) {
            uint32_t value = a->v->nodes[m->node[l]].n->value[0];
            bool read = all[value] || a->inst->values[value].output >= 0;
            if (read || (n == 0 && l + 1 == m->n))
                m->node[n++] = m->node[l];
            else
                any = true;
        }
        m->n = n;
    }
    return any;
}

janus_status jn_chains_settle(const jn_seginst *inst, jn_variant *v, jn_arena *arena,
                              jn_members *chain, uint32_t n_chains, const uint32_t *order,
                              uint32_t n_order) {
    uint32_t n_nodes = inst->seg->n_nodes, n_before = 0;
    size_t values = inst->seg->n_values + 1u;
    again a = {.inst = inst, .v = v, .chain = chain};
    uint32_t *memory = jn_arena_zalloc(arena, (8 * values + n_chains) * sizeof *memory);
    if (!memory)
        return JN_NO_MEMORY();
    a.owner = memory, a.node = memory + values, a.again = memory + 2 * values;
    a.stack = memory + 3 * values, a.list = memory + 4 * values;
    uint32_t *outside = memory + 5 * values, *all = memory + 6 * values, *has = memory + 7 * values;
    uint32_t *before = memory + 8 * values;
    memset(a.owner, 0xff, values * sizeof *a.owner);
    for (uint32_t c = 0; c < n_chains; c++)
        for (uint32_t l = 0; l < chain[c].n; l++) {
            uint32_t value = v->nodes[chain[c].node[l]].n->value[0];
            a.owner[value] = c;
            a.node[value] = chain[c].node[l];
        }
    for (uint32_t i = 0; i < n_order && v->device == JN_DEVICE_CPU; i++)
        if (order[i] >= n_nodes) {
            uint32_t c = order[i] - n_nodes;
            if (chain[c].space.shape->numel >= LEAST && !extend(&a, arena, c, before, n_before))
                return JN_NO_MEMORY();
            before[n_before++] = c;
        }
    do
        count_readers(&a, n_chains, outside, all, has);
    while (prune(&a, n_chains, all));
    for (uint32_t value = 0; value < inst->seg->n_values; value++)
        v->inside[value] =
            a.owner[value] != jn_nobody && inst->values[value].output < 0 && !outside[value];
    return JANUS_OK;
}
