/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a chain computes again, and what is inside chains.
 *
 * A chain that reads what an earlier one computed (a gradient's, of values of the forward pass)
 * would have it written to memory and read from there.  A few cheap ops in registers cost less than
 * that, so where the operands of those ops are there the chain has nodes of its own for them.  Ops
 * are pure: the bits are the same.
 *
 * What it costs is counted in cheap ops: those of the nodes, and the reads of tensors that the
 * chain does not read anyway.  What it saves is the read of the value, and its write unless others
 * need it in memory.  Values are looked at in the order of what leads to them, so that one is
 * there for the next.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "exec/kernels/chain.h"
#include "graph/base/status.h"

enum {
    LEAST = 16384,             /* elements: what is smaller stays in a near cache */
    READ_COST = 12,            /* of a tensor, in cheap ops */
    KEPT_COST = 20 + READ_COST /* of a value that is written and read */
};

/* A value of an earlier chain that a chain reads; depth: nodes of chains that lead to it, one after
 * the other. */
typedef struct wanted {
    uint32_t value, depth;
} wanted;

typedef struct again {
    const jn_seginst *inst;
    const jn_variant *v;
    jn_members *chain;
    uint32_t *owner; /* per value: the chain that computes it, or jn_nobody */
    uint32_t *node;  /* per value: the node that does */
    uint32_t *again; /* per value: 1 + the last chain that computes it again */
    uint32_t *reads; /* per value, then per input: 1 + the last chain that reads it from memory */
    bool *kept;      /* per value: somebody reads it from memory */
    uint32_t *trail; /* what was marked: a value computed again; n_values + what is read */
    uint32_t n_trail;
    wanted *wanted; /* of the chain that is looked at; then per value its depth */
    uint32_t *depth;
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

/* What an operand of chain c costs to have from memory. */
static uint32_t read_cost(const again *a, uint32_t c, const jn_src *src, const jn_view *view,
                          uint32_t *place) {
    bool whole;
    uint32_t value = read_value(a, src, &whole), n_values = a->inst->seg->n_values;
    *place = value != jn_nobody          ? value
             : src->kind == JN_SRC_INPUT ? n_values + src->index
                                         : jn_nobody;
    if (*place == jn_nobody || a->reads[*place] == c + 1 || view->rank < 0 ||
        jn_single_element(view))
        return 0;
    return value == jn_nobody || a->kept[value] ? READ_COST : KEPT_COST;
}

static void mark(again *a, uint32_t *what, uint32_t entry, uint32_t c) {
    *what = c + 1;
    a->trail[a->n_trail++] = entry;
}

static void unmark(again *a, uint32_t n_trail) {
    uint32_t n_values = a->inst->seg->n_values;
    while (a->n_trail > n_trail) {
        uint32_t entry = a->trail[--a->n_trail];
        if (entry < n_values)
            a->again[entry] = 0;
        else
            a->reads[entry - n_values] = 0;
    }
}

/* Marks a value and what leads to it as computed again by chain c, operands as read where that
 * costs less.  The cost of all; more than `most`: the marks are for nothing. */
static uint32_t compute_cost(again *a, uint32_t c, uint32_t value, uint32_t most) {
    const jn_vnode *vn = &a->v->nodes[a->node[value]];
    bool step = vn->n_out == 1 && (vn->out[0].dtype == JANUS_F32 || vn->out[0].dtype == JANUS_BOOL);
    uint32_t cost = step ? jn_step_cost(vn->op) : most + 1, next, place;
    mark(a, &a->again[value], value, c);
    for (uint32_t k = 0; k < vn->n_in && cost <= most; k++) {
        const jn_src *src = &vn->n->in[k];
        uint32_t n_trail = a->n_trail, read = read_cost(a, c, src, &vn->in[k], &place);
        if (place < a->inst->seg->n_values && a->again[place] == c + 1)
            continue;
        if (read && can_compute(a, c, src, &next)) {
            uint32_t least = read - 1 < most - cost ? read - 1 : most - cost;
            uint32_t own = compute_cost(a, c, next, least);
            if (own <= least) {
                cost += own;
                continue;
            }
            unmark(a, n_trail);
        }
        cost += read;
        if (read && cost <= most)
            mark(a, &a->reads[place], a->inst->seg->n_values + place, c);
    }
    return cost;
}

/* What the trail says to be read is in memory for whoever comes later, too. */
static void keep_what_is_read(again *a) {
    uint32_t n_values = a->inst->seg->n_values;
    for (uint32_t k = 0; k < a->n_trail; k++)
        if (a->trail[k] >= n_values && a->trail[k] < 2 * n_values)
            a->kept[a->trail[k] - n_values] = true;
}

static int by_depth(const void *pa, const void *pb) {
    const wanted *a = pa, *b = pb;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    return (a->value > b->value) - (a->value < b->value);
}

/* Nodes in front of those of chain c for what costs less to compute again than to read. */
static bool extend(again *a, jn_arena *arena, uint32_t c, const uint32_t *chains,
                   uint32_t n_before) {
    jn_members *m = &a->chain[c];
    uint32_t n = 0, n_wanted = 0, total = m->n, value, place, n_values = a->inst->seg->n_values;
    for (uint32_t l = 0; l < m->n; l++) {
        const jn_vnode *vn = &a->v->nodes[m->node[l]];
        for (uint32_t k = 0; k < vn->n_in; k++) {
            if (can_compute(a, c, &vn->n->in[k], &value)) {
                a->again[value] = c + 1; /* for now: once is enough */
                a->wanted[n_wanted++] = (wanted){value, a->depth[value]};
                continue;
            }
            bool read = read_cost(a, c, &vn->n->in[k], &vn->in[k], &place);
            if (!read || (place < n_values && (a->owner[place] == c || a->again[place] == c + 1)))
                continue;
            a->reads[place] = c + 1;
            if (place < n_values)
                a->kept[place] = true;
        }
    }
    qsort(a->wanted, n_wanted, sizeof *a->wanted, by_depth);
    for (uint32_t i = 0; i < n_wanted; i++)
        a->again[a->wanted[i].value] = 0;
    for (uint32_t i = 0; i < n_wanted; i++) {
        value = a->wanted[i].value;
        uint32_t least = (a->kept[value] ? READ_COST : KEPT_COST) - 1;
        if (a->again[value] == c + 1 || a->reads[value] == c + 1)
            continue;
        a->n_trail = 0;
        if (compute_cost(a, c, value, least) > least) {
            unmark(a, 0);
            a->reads[value] = c + 1;
            a->kept[value] = true;
        }
        keep_what_is_read(a);
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
        for (uint32_t l = 0; l < m->n; l++) {
            const jn_segnode *n = a->v->nodes[m->node[l]].n;
            for (uint32_t k = 0; k < n->n_out; k++)
                has[n->value[k]] = c + 1;
        }
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
        if (n->n_out && a->owner[n->value[0]] != jn_nobody)
            continue;
        for (uint32_t k = 0; k < n->n_in; k++) {
            uint32_t value = read_value(a, &n->in[k], &whole);
            if (value != jn_nobody)
                outside[value]++, all[value]++;
        }
    }
}

/* Nodes whose results nobody reads any more are left out; nothing may be left of a chain. */
static bool prune(again *a, uint32_t n_chains, const uint32_t *all) {
    bool any = false;
    for (uint32_t c = 0; c < n_chains; c++) {
        jn_members *m = &a->chain[c];
        uint32_t n = m->n_again;
        for (uint32_t l = m->n_again; l < m->n; l++) {
            const jn_segnode *node = a->v->nodes[m->node[l]].n;
            bool read = false;
            for (uint32_t k = 0; k < node->n_out; k++)
                read |= all[node->value[k]] || a->inst->values[node->value[k]].output >= 0;
            if (read)
                m->node[n++] = m->node[l];
            else
                any = true;
        }
        m->n = n > m->n_again ? n : 0;
    }
    return any;
}

/* Values that are in memory whatever chains do. */
static void find_kept(const again *a) {
    const jn_seginst *inst = a->inst;
    bool whole;
    for (uint32_t i = 0; i < inst->seg->n_nodes; i++) {
        const jn_segnode *n = &inst->seg->nodes[i];
        const jn_segvalue *v = n->n_out == 1 ? &inst->values[n->value[0]] : NULL;
        if (v && v->alias) {
            if (v->output >= 0 && !v->base_input)
                a->kept[v->base] = true;
            continue;
        }
        bool linked = n->n_out && a->owner[n->value[0]] != jn_nobody;
        for (uint32_t k = 0; k < n->n_out; k++)
            a->kept[n->value[k]] = !linked || inst->values[n->value[k]].output >= 0;
        for (uint32_t k = 0; k < n->n_in && !linked; k++) {
            uint32_t value = read_value(a, &n->in[k], &whole);
            if (value != jn_nobody)
                a->kept[value] = true;
        }
    }
}

/* Nodes come behind those that they read. */
static void find_depths(const again *a) {
    const jn_segment *seg = a->inst->seg;
    bool whole;
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_segnode *n = &seg->nodes[i];
        if (!n->n_out || a->owner[n->value[0]] == jn_nobody)
            continue;
        uint32_t depth = 0;
        for (uint32_t k = 0; k < n->n_in; k++) {
            uint32_t value = read_value(a, &n->in[k], &whole);
            if (value != jn_nobody && a->depth[value] > depth)
                depth = a->depth[value];
        }
        for (uint32_t k = 0; k < n->n_out; k++)
            a->depth[n->value[k]] = depth + 1;
    }
}

janus_status jn_chains_settle(const jn_seginst *inst, jn_variant *v, jn_arena *arena,
                              jn_members *chain, uint32_t n_chains, const uint32_t *order,
                              uint32_t n_order) {
    uint32_t n_nodes = inst->seg->n_nodes, n_before = 0;
    size_t values = inst->seg->n_values + 1u, places = values + inst->seg->n_inputs;
    again a = {.inst = inst, .v = v, .chain = chain};
    uint32_t *memory =
        jn_arena_zalloc(arena, (7 * values + 2 * places + values + n_chains) * sizeof *memory);
    a.kept = jn_arena_zalloc(arena, values);
    a.wanted = jn_arena_alloc(arena, values * sizeof *a.wanted);
    if (!memory || !a.kept || !a.wanted)
        return JN_NO_MEMORY();
    a.owner = memory, a.node = memory + values, a.again = memory + 2 * values;
    a.depth = memory + 3 * values;
    uint32_t *outside = memory + 4 * values, *all = memory + 5 * values, *has = memory + 6 * values;
    a.reads = memory + 7 * values, a.trail = a.reads + places;
    uint32_t *before = a.trail + places + values;
    memset(a.owner, 0xff, values * sizeof *a.owner);
    for (uint32_t c = 0; c < n_chains; c++)
        for (uint32_t l = 0; l < chain[c].n; l++) {
            const jn_segnode *n = v->nodes[chain[c].node[l]].n;
            for (uint32_t k = 0; k < n->n_out; k++) {
                a.owner[n->value[k]] = c;
                a.node[n->value[k]] = chain[c].node[l];
            }
        }
    find_kept(&a);
    find_depths(&a);
    for (uint32_t i = 0; i < n_order && v->on->steps; i++)
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
