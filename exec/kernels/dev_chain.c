/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that a device runs as one: chains of elementwise ops (jn_dev_chain in ops/device.h).
 *
 * A device's small kernels cost what their launches do, whatever they compute.  A chain ends with a
 * node and has the nodes whose results only its own nodes read: these are computed again for each
 * element of the result where they are broadcast, so they need no memory, and have no kernel.  The
 * node that ends it becomes a call of the device's one kernel for chains, whose operands are what
 * the chain reads from memory, each with strides over the dims of the result.
 *
 * A node that is not elementwise can be the chain's head, where the device has a kernel for it that
 * does the steps, too: what it computes is read by the chain as it is.
 *
 * Rows of a group are the first dim of a result, and of what differs from row to row.  How many
 * they are may change afterwards (patch in exec/kernels/variant.c): strides do not depend on it,
 * and the dims are the result's own.
 *
 * Bits are those of node after node: elements are computed by the same functions.
 */
#include "config.h"

#include <string.h>

#include "exec/kernels/chain.h"
#include "graph/base/status.h"
#include "ops/device.h"

enum {
    WINDOW = 512, /* nodes looked at before the last one of a chain */
    ATTEMPTS = 16,
    /* Elements of a result for each of which what is smaller is computed again: once for some that
     * lie side by side, or for each one. */
    MOST_NARROW = 1 << 22,
    MOST_AGAIN = 1 << 18
};

/* What a value of the chain is read for: its elements in row-major order, with these strides over
 * the dims of the result. */
typedef struct access {
    int64_t stride[JN_MAX_RANK];
} access;

/* A step that has been written. */
typedef struct written {
    uint32_t node;
    access at;
} written;

typedef struct joiner {
    jn_seginst *inst;
    jn_variant *v;
    uint32_t *producer; /* per value: the node that computes it */
    uint32_t *readers;  /* per value: operands that are it, or views of it */
    uint32_t *reads;    /* per value: those of the chain's nodes, which are all of it */
    uint8_t *what;      /* per node */
    uint32_t end;       /* the chain's last node */
    uint32_t head;      /* its first one, or jn_nobody */
    const jn_view *y;   /* its result */
    access whole;       /* and how it lies */
    jn_dev_chain chain;
    written step[JN_CHAIN_STEPS];
    jn_src src[JN_CHAIN_OPERANDS];
    access in[JN_CHAIN_OPERANDS];
    uint32_t n_in;
    uint32_t refused; /* the node that cannot be in the chain */
} joiner;

enum { OUTSIDE, MEMBER, HEAD, REFUSED, JOINED };

static bool can_join(const joiner *j, uint32_t node) {
    const jn_vnode *vn = &j->v->nodes[node];
    if (vn->mode != JN_V_CALL || vn->acc >= 0 || vn->accumulates || vn->n_out != 1 ||
        vn->workspace || vn->op != vn->n->op || !(vn->op->flags & JN_OP_ELEMENTWISE) ||
        (vn->op->flags & (JN_OP_MAY_RAISE | JN_OP_EFFECT)) || !vn->out[0].contiguous ||
        j->inst->values[vn->n->value[0]].alias)
        return false;
    for (uint32_t i = 0; i < vn->n_in; i++)
        if ((vn->n->in[i].kind != JN_SRC_INPUT && vn->n->in[i].kind != JN_SRC_NODE) ||
            vn->in[i].rank < 0 || jn_op_accept(vn->op, i) == JN_ACCEPT_LIKE)
            return false;
    jn_sig sig = {vn->op, vn->in, vn->out, vn->n_in, 1, vn->attrs};
    return jn_view_numel(&vn->out[0]) > 0 && j->v->on->chain(j->v->dev, &sig) != NULL;
}

/* The device's kernel for chains that begin with a node, or NULL. */
static jn_kernel_fn head_kernel(const joiner *j, uint32_t node) {
    const jn_vnode *vn = &j->v->nodes[node];
    if (!j->v->on->chain_head || vn->mode != JN_V_CALL || vn->acc >= 0 || vn->accumulates ||
        vn->n_out != 1 || vn->out_rowed || vn->op != vn->n->op ||
        (vn->op->flags & (JN_OP_ELEMENTWISE | JN_OP_MAY_RAISE | JN_OP_EFFECT)) ||
        !vn->out[0].contiguous || j->inst->values[vn->n->value[0]].alias)
        return NULL;
    jn_sig sig = {vn->op, vn->in, vn->out, vn->n_in, 1, vn->attrs};
    return j->v->on->chain_head(j->v->dev, &sig);
}

/* The value whose memory an operand is in, or jn_nobody. */
static uint32_t read_value(const joiner *j, const jn_src *src, bool *whole) {
    return src->kind == JN_SRC_NODE ? jn_value_root(j->inst, jn_value_of(j->inst, src), whole)
                                    : jn_nobody;
}

static void count_reads(joiner *j, uint32_t node) {
    const jn_segnode *n = j->v->nodes[node].n;
    for (uint32_t i = 0; i < n->n_in; i++) {
        bool whole;
        uint32_t value = read_value(j, &n->in[i], &whole);
        if (value != jn_nobody && whole)
            j->reads[value]++;
    }
}

/* ---- the steps ----------------------------------------------------------------------------------
 */

/* How an operand is read where the result of its node is read at `at`. */
static bool find_access(const joiner *j, const jn_vnode *vn, const jn_view *v, const access *at,
                        access *out) {
    const jn_view *to = &vn->out[0];
    uint32_t seen = 0;
    *out = (access){{0}};
    if (jn_single_element(v))
        return true;
    if (v->contiguous && jn_view_numel(v) == jn_view_numel(to)) {
        *out = *at;
        return true;
    }
    for (int d = 0; d < j->y->rank; d++) {
        int e = 0;
        if (at->stride[d] == 0)
            continue;
        while (e < to->rank && (to->dims[e] == 1 || to->dims[e] != j->y->dims[d] ||
                                to->strides[e] != at->stride[d]))
            e++;
        if (e == to->rank || (seen >> e & 1))
            return false;
        seen |= 1u << e;
        int k = e - (to->rank - v->rank);
        out->stride[d] = k < 0 || v->dims[k] == 1 ? 0 : v->strides[k];
    }
    return true;
}

static bool add_operand(joiner *j, const jn_src *src, const access *at, uint8_t *out) {
    uint32_t i = 0;
    while (i < j->n_in &&
           !(jn_same_source(&j->src[i], src) && memcmp(&j->in[i], at, sizeof *at) == 0))
        i++;
    if (i == JN_CHAIN_OPERANDS)
        return false;
    if (i == j->n_in) {
        j->src[i] = *src;
        j->in[i] = *at;
        j->n_in++;
    }
    *out = (uint8_t)i;
    return true;
}

/* Whether it pays to compute a node for each element of the result. */
static bool pays(const joiner *j, uint32_t node, const access *at) {
    const jn_view *y = j->y;
    int64_t n = jn_view_numel(y);
    if (jn_view_numel(&j->v->nodes[node].out[0]) == n)
        return true;
    int last = y->rank - 1;
    while (last > 0 && y->dims[last] == 1)
        last--;
    bool narrow = last >= 0 && at->stride[last] == 0 && y->dims[last] % 4 == 0;
    return n <= (narrow ? MOST_NARROW : MOST_AGAIN);
}

/* Whether a node is the chain's head now: all it computes is read, element for element. */
static bool takes_head(joiner *j, uint32_t node, const access *at) {
    if (j->what[node] != HEAD || (j->head != jn_nobody && j->head != node) ||
        jn_view_numel(&j->v->nodes[node].out[0]) != jn_view_numel(j->y) ||
        memcmp(at, &j->whole, sizeof *at) != 0)
        return false;
    j->head = node;
    return true;
}

/* Writes the steps that compute a node's result as it is read at `at`.  False: the chain cannot
 * have `refused`. */
static bool write_steps(joiner *j, uint32_t node, const access *at, uint8_t *out) {
    const jn_vnode *vn = &j->v->nodes[node];
    jn_dev_step s = {.op = (uint16_t)vn->op->id, .n_in = (uint8_t)vn->n_in, .attrs = vn->attrs};
    for (uint32_t i = 0; i < j->chain.n; i++)
        if (j->step[i].node == node && memcmp(&j->step[i].at, at, sizeof *at) == 0) {
            *out = (uint8_t)(JN_CHAIN_OPERANDS + i);
            return true;
        }
    j->refused = node;
    if (!pays(j, node, at))
        return false;
    for (uint32_t i = 0; i < vn->n_in; i++) {
        const jn_src *src = &vn->n->in[i];
        bool whole;
        uint32_t value = read_value(j, src, &whole);
        access in;
        j->refused = node;
        if (!find_access(j, vn, &vn->in[i], at, &in))
            return false;
        uint32_t by = value != jn_nobody ? j->producer[value] : jn_nobody;
        if (by != jn_nobody && takes_head(j, by, &in))
            s.in[i] = JN_CHAIN_HEAD;
        else if (!(by != jn_nobody && j->what[by] == MEMBER ? write_steps(j, by, &in, &s.in[i])
                                                            : add_operand(j, src, &in, &s.in[i])))
            return false;
    }
    j->refused = node;
    if (j->chain.n == JN_CHAIN_STEPS)
        return false;
    *out = (uint8_t)(JN_CHAIN_OPERANDS + j->chain.n);
    j->step[j->chain.n] = (written){node, *at};
    j->chain.step[j->chain.n++] = s;
    return true;
}

/* ---- joining ------------------------------------------------------------------------------------
 */

/* Marks the nodes that only the chain reads, those refused left out; how many there are. */
static uint32_t mark_members(joiner *j, uint32_t first) {
    const jn_segment *seg = j->inst->seg;
    uint32_t n = 1;
    memset(j->reads, 0, seg->n_values * sizeof *j->reads);
    j->what[j->end] = MEMBER;
    count_reads(j, j->end);
    for (uint32_t i = j->end; i-- > first;) {
        const jn_segnode *s = j->v->nodes[i].n;
        uint32_t value = s->n_out == 1 ? s->value[0] : jn_nobody;
        if (j->what[i] == MEMBER || j->what[i] == HEAD)
            j->what[i] = OUTSIDE;
        if (j->what[i] != OUTSIDE || value == jn_nobody || !j->reads[value] ||
            j->reads[value] != j->readers[value] || j->inst->values[value].output >= 0)
            continue;
        if (can_join(j, i)) {
            j->what[i] = MEMBER;
            count_reads(j, i);
        } else if (head_kernel(j, i))
            j->what[i] = HEAD;
        else
            continue;
        n++;
    }
    return n;
}

/* The node that ends the chain becomes a call of the device's kernel. */
static janus_status make_call(joiner *j, uint32_t first) {
    jn_vnode *vn = &j->v->nodes[j->end];
    const jn_vnode *head = j->head != jn_nobody ? &j->v->nodes[j->head] : NULL;
    jn_arena *a = &j->inst->arena;
    int rank = j->y->rank;
    uint32_t n_in = j->n_in + (head ? head->n_in : 0);
    jn_sig sig = {vn->op, vn->in, vn->out, vn->n_in, 1, vn->attrs};
    jn_segnode *n = jn_arena_dup(a, vn->n, sizeof *n);
    jn_view *in = jn_arena_zalloc(a, n_in * sizeof *in);
    int64_t *strides = jn_arena_alloc(a, (j->n_in * (size_t)rank + 1) * sizeof *strides);
    jn_src *src = jn_arena_alloc(a, n_in * sizeof *src);
    jn_dev_chain *chain = jn_arena_dup(a, &j->chain, sizeof *chain);
    if (!n || !in || !strides || !src || !chain)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < j->n_in; i++, strides += rank) {
        memcpy(strides, j->in[i].stride, (size_t)rank * sizeof *strides);
        in[i] = (jn_view){NULL, j->y->dims, strides, (int16_t)rank, JANUS_F32, false};
        src[i] = j->src[i];
    }
    for (uint32_t i = j->n_in; i < n_in; i++) {
        in[i] = head->in[i - j->n_in];
        src[i] = head->n->in[i - j->n_in];
    }
    chain->n_operands = j->n_in;
    vn->kernel = head ? head_kernel(j, j->head) : j->v->on->chain(j->v->dev, &sig);
    if (head) {
        chain->head = head->attrs;
        chain->head_dims = head->out[0].dims;
        vn->workspace = head->workspace;
        j->what[j->head] = MEMBER;
    }
    n->in = src;
    n->n_in = n_in;
    vn->n = n;
    vn->in = in;
    vn->n_in = (uint16_t)n_in;
    vn->attrs = chain;
    if (vn->n_in + 1u > j->v->max_views)
        j->v->max_views = vn->n_in + 1u;
    j->what[j->end] = JOINED;
    for (uint32_t i = first; i < j->end; i++)
        if (j->what[i] == MEMBER) {
            j->what[i] = JOINED;
            j->v->nodes[i].mode = JN_V_SKIP;
            j->v->inside[j->v->nodes[i].n->value[0]] = true;
        }
    return JANUS_OK;
}

static janus_status try_chain(joiner *j, uint32_t end) {
    uint32_t first = end > WINDOW ? end - WINDOW : 0;
    access at = {{0}};
    uint8_t out;
    bool done = false;
    j->end = end;
    j->y = &j->v->nodes[end].out[0];
    for (int d = 0; d < j->y->rank; d++)
        at.stride[d] = j->y->dims[d] == 1 ? 0 : j->y->strides[d];
    j->whole = at;
    for (int k = 0; k < ATTEMPTS && !done; k++) {
        if (mark_members(j, first) < 2)
            break;
        j->n_in = j->chain.n = 0;
        j->head = jn_nobody;
        done = write_steps(j, end, &at, &out);
        if (done && j->chain.n < 2 && j->head == jn_nobody) {
            done = false; /* its own kernel does that */
            break;
        }
        if (!done && j->refused == end)
            break;
        if (!done)
            j->what[j->refused] = REFUSED;
    }
    if (done)
        JN_TRY(make_call(j, first));
    for (uint32_t i = first; i <= end; i++)
        if (j->what[i] != JOINED)
            j->what[i] = OUTSIDE;
    return JANUS_OK;
}

janus_status jn_join_nodes(jn_seginst *inst, jn_variant *v) {
    const jn_segment *seg = inst->seg;
    joiner j = {.inst = inst, .v = v};
    if (!v->on->chain)
        return JANUS_OK;
    j.producer = jn_arena_zalloc(&inst->arena, (seg->n_values + 1) * sizeof *j.producer);
    j.readers = jn_arena_zalloc(&inst->arena, (seg->n_values + 1) * sizeof *j.readers);
    j.reads = jn_arena_zalloc(&inst->arena, (seg->n_values + 1) * sizeof *j.reads);
    j.what = jn_arena_zalloc(&inst->arena, seg->n_nodes + 1);
    if (!j.producer || !j.readers || !j.reads || !j.what)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_segnode *n = &seg->nodes[i];
        bool view = n->n_out == 1 && inst->values[n->value[0]].alias;
        for (uint32_t k = 0; k < n->n_out; k++)
            j.producer[n->value[k]] = i;
        for (uint32_t k = 0; k < n->n_in && !view; k++) {
            bool whole;
            uint32_t value = read_value(&j, &n->in[k], &whole);
            if (value != jn_nobody)
                j.readers[value]++;
        }
    }
    for (uint32_t i = seg->n_nodes; i-- > 0;)
        if (j.what[i] == OUTSIDE && can_join(&j, i))
            JN_TRY(try_chain(&j, i));
    return JANUS_OK;
}
