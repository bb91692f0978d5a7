/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding chains: elementwise nodes that are run tile by tile (exec/kernels/chain_run.c).
 *
 * A large tensor leaves the cache between one op and the next.  A chain runs all of its nodes on a
 * tile of some thousand elements before the next tile, and what only its nodes read is never
 * written to memory.  A node belongs to a chain if it is elementwise, has the result's dims of the
 * others and reads what one of them computes or reads.  Nodes that lie between them and do not
 * depend on the chain run before it, those that do behind it; what adds to accumulators keeps its
 * order.  Sums and means of whole tensors belong to it, too, where they read dense ones.
 *
 * The iteration space is cut in one of two ways: where every operand is dense or a single element
 * as a vector (flat), else along the first dim that is not 1.  Elements are computed by the same
 * row functions either way, so their bits are those of node after node.
 *
 * A space that is cut along a dim has rows, and what takes rows apart belongs to it: norms, softmax
 * and reductions along dims behind the cut, and what is computed of a number for each row.
 */
#include "config.h"

#include <string.h>

#include "exec/kernels/chain.h"
#include "graph/base/status.h"

enum {
    LEAST = 2048,        /* elements that pay for cutting */
    LONGEST_ROW = 16384, /* elements behind the dim that is cut */
    MOST_LINKS = 160,
    MOST_AGAIN = 8, /* times that a window is marked again for what leads to members */
    WINDOW = 256    /* nodes looked at from the first one of a chain */
};

enum { BEFORE, MEMBER, BEHIND, REDUCED };
enum { LEADS = 1, ASKED = 2 };

typedef struct finder {
    const jn_seginst *inst;
    jn_variant *v;
    jn_arena *a;
    uint32_t *producer; /* per value: the node that computes it */
    uint8_t *mark;      /* per node, of the window */
    uint8_t *leads;     /* per node: ASKED if a member reads it, LEADS if it is to be one, then */
    uint32_t *list;     /* entries of the order that are left */
    uint32_t *next, n_list;
    jn_members *found; /* per chain */
} finder;

static bool elementwise(const jn_vnode *vn) {
    const uint32_t no = JN_OP_MAY_RAISE | JN_OP_EFFECT;
    if (vn->mode != JN_V_CALL || vn->acc >= 0 || vn->accumulates || vn->n_out != 1 ||
        vn->workspace || vn->op != vn->n->op || !(vn->op->flags & JN_OP_ELEMENTWISE) ||
        (vn->op->flags & no) || !vn->out[0].contiguous)
        return false;
    for (uint32_t i = 0; i < vn->n_in; i++)
        if (jn_op_accept(vn->op, i) == JN_ACCEPT_LIKE)
            return false;
    return true;
}

/* Whether a node takes rows apart that are cut in front of some dim. */
static bool rowwise(const jn_vnode *vn) {
    const uint32_t no = JN_OP_MAY_RAISE | JN_OP_EFFECT;
    if (vn->mode != JN_V_CALL || vn->acc >= 0 || vn->accumulates || vn->workspace ||
        vn->op != vn->n->op || (vn->op->flags & no) || !jn_op_impls[vn->op->id].rows)
        return false;
    for (uint32_t i = 0; i < vn->n_in; i++)
        if (vn->n->in[i].kind == JN_SRC_SCALAR || jn_op_accept(vn->op, i) == JN_ACCEPT_LIKE ||
            (vn->in[i].rank >= 0 && !vn->in[i].contiguous))
            return false;
    for (uint32_t i = 0; i < vn->n_out; i++)
        if (!vn->out[i].contiguous)
            return false;
    return true;
}

static const jn_shape *operand_shape(const jn_seginst *inst, const jn_src *src) {
    return src->kind == JN_SRC_INPUT  ? inst->in[src->index]
           : src->kind == JN_SRC_NODE ? inst->values[jn_value_of(inst, src)].shape
                                      : NULL;
}

/* Whether an operand can be cut as the space is. */
static bool fits_operand(const jn_space *s, const jn_vnode *vn, const jn_view *v) {
    bool elements = vn->op->flags & JN_OP_ELEMENTWISE;
    if (v->rank < 0 || (elements && jn_single_element(v)))
        return true;
    if (s->flat)
        return v->contiguous && jn_view_numel(v) == s->shape->numel;
    if (v->rank > jn_link_rank(vn))
        return false;
    int k = jn_cut_dim(s, vn, v);
    return k < 0 || (elements && v->dims[k] == 1) || v->dims[k] == s->shape->dims[s->cut];
}

static bool fits(const finder *f, const jn_space *s, uint32_t node) {
    const jn_vnode *vn = &f->v->nodes[node];
    bool rows = !s->flat && rowwise(vn);
    if (!rows && !elementwise(vn))
        return false;
    if (rows) {
        const jn_shape *of = operand_shape(f->inst, &vn->n->in[0]);
        if (!of || !jn_has_rows(s, of) ||
            jn_op_impls[vn->op->id].rows(vn->attrs, of->rank) <= s->cut)
            return false;
    }
    for (uint32_t i = 0; i < vn->n_out; i++) {
        const jn_segvalue *v = &f->inst->values[vn->n->value[i]];
        if (v->copied || (s->flat ? v->shape->numel != s->shape->numel : !jn_has_rows(s, v->shape)))
            return false;
    }
    for (uint32_t i = 0; i < vn->n_in; i++)
        if (vn->n->in[i].kind != JN_SRC_SCALAR && !fits_operand(s, vn, &vn->in[i]))
            return false;
    return true;
}

/* Whether the node adds up a whole tensor of the space. */
static bool reduces(const finder *f, const jn_space *s, uint32_t node) {
    const jn_vnode *vn = &f->v->nodes[node];
    jn_sig sig = {vn->op, vn->in, vn->out, vn->n_in, vn->n_out, vn->attrs};
    return s->flat && f->v->on->steps && vn->mode == JN_V_CALL && vn->acc < 0 && !vn->accumulates &&
           vn->op == vn->n->op && jn_sum_knows(&sig) && !f->inst->values[vn->n->value[0]].copied &&
           jn_view_numel(&vn->in[0]) == s->shape->numel;
}

static bool make_space(const finder *f, uint32_t node, bool flat, jn_space *s) {
    const jn_vnode *vn = &f->v->nodes[node];
    if (!elementwise(vn) && (flat || !rowwise(vn)))
        return false;
    *s = (jn_space){flat, 0,
                    elementwise(vn) ? f->inst->values[vn->n->value[0]].shape
                                    : operand_shape(f->inst, &vn->n->in[0])};
    if (!s->shape || s->shape->numel < LEAST || s->shape->rank == 0)
        return false;
    while (s->shape->dims[s->cut] == 1)
        s->cut++;
    return fits(f, s, node) && (flat || s->shape->numel / s->shape->dims[s->cut] <= LONGEST_ROW);
}

/* What a node is to the chain: BEHIND if it waits for a member, or for one that does, and cannot be
 * one itself; REDUCED if it is one whose result is there when the chain has ended. */
static uint8_t judge(const finder *f, const jn_space *s, uint32_t node, uint32_t first) {
    const jn_segnode *n = f->v->nodes[node].n;
    bool waits = false, linked = node == first || (f->leads[node] & LEADS);
    bool reduced = reduces(f, s, node);
    bool member = reduced || fits(f, s, node);
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (n->in[i].kind != JN_SRC_NODE)
            continue;
        bool whole;
        uint32_t value = jn_value_of(f->inst, &n->in[i]),
                 from = jn_value_root(f->inst, value, &whole);
        uint8_t mark = from == jn_nobody ? BEFORE : f->mark[f->producer[from]];
        if (mark == BEHIND || mark == REDUCED)
            return BEHIND;
        if (mark != MEMBER)
            continue;
        waits = linked = true;
        member = member && whole &&
                 (s->flat || (jn_has_rows(s, f->inst->values[value].shape) &&
                              f->v->nodes[node].in[i].rank == jn_link_rank(&f->v->nodes[node])));
    }
    /* or it reads an operand of a member: large ones only, all read the same constants */
    for (uint32_t i = 0; i < n->n_in && member && !linked; i++)
        for (uint32_t k = 0; k < f->n_list && !linked; k++) {
            const jn_segnode *o =
                f->list[k] < f->inst->seg->n_nodes ? &f->inst->seg->nodes[f->list[k]] : NULL;
            for (uint32_t l = 0; o && f->mark[f->list[k]] == MEMBER && l < o->n_in; l++)
                linked |= jn_same_source(&n->in[i], &o->in[l]) &&
                          (n->in[i].kind == JN_SRC_INPUT || n->in[i].kind == JN_SRC_NODE) &&
                          !jn_single_element(&f->v->nodes[f->list[k]].in[l]);
        }
    return member && linked ? (reduced ? REDUCED : MEMBER) : waits ? BEHIND : BEFORE;
}

/* Marks the window from entry `at` on, once; how many members there are, and the last one's entry.
 */
static uint32_t mark_once(finder *f, const jn_space *s, uint32_t at, uint32_t end, uint32_t *last) {
    uint32_t members = 0;
    bool added = false; /* to an accumulator, behind the chain */
    memset(f->mark, BEFORE, f->inst->seg->n_nodes);
    for (uint32_t k = at; k < end && members < MOST_LINKS; k++) {
        uint32_t node = f->list[k];
        if (node >= f->inst->seg->n_nodes)
            break; /* another chain */
        const jn_vnode *vn = &f->v->nodes[node];
        uint8_t mark = judge(f, s, node, f->list[at]);
        bool adds = vn->acc >= 0 && vn->mode != JN_V_SKIP;
        if (adds && added)
            mark = BEHIND;
        added |= adds && mark == BEHIND;
        f->mark[node] = mark;
        if (mark == MEMBER || mark == REDUCED) {
            members++;
            *last = k;
        }
    }
    return members;
}

/* Whether there are nodes of the space in front of the chain that lead to members: what a gradient
 * makes of a single number and of the forward pass reads no member, but is read by one. */
static bool find_leading(finder *f, const jn_space *s, uint32_t at, uint32_t last) {
    bool whole, found = false;
    for (uint32_t k = last + 1; k-- > at;) {
        uint32_t node = f->list[k];
        const jn_segnode *n = f->v->nodes[node].n;
        if (f->mark[node] == BEFORE && f->leads[node] == ASKED && fits(f, s, node)) {
            f->leads[node] |= LEADS;
            found = true;
        }
        if (f->mark[node] != MEMBER && !(f->leads[node] & LEADS))
            continue;
        for (uint32_t i = 0; i < n->n_in; i++) {
            uint32_t from = n->in[i].kind == JN_SRC_NODE
                                ? jn_value_root(f->inst, jn_value_of(f->inst, &n->in[i]), &whole)
                                : jn_nobody;
            if (from != jn_nobody)
                f->leads[f->producer[from]] |= ASKED;
        }
    }
    return found;
}

/* Marks the window till what leads to members is one, too. */
static uint32_t mark_window(finder *f, const jn_space *s, uint32_t at, uint32_t end,
                            uint32_t *last) {
    memset(f->leads, 0, f->inst->seg->n_nodes);
    uint32_t members = mark_once(f, s, at, end, last);
    for (int again = 0; again < MOST_AGAIN && members && find_leading(f, s, at, *last); again++)
        members = mark_once(f, s, at, end, last);
    return members;
}

/* The entries from `at` on with the chain in the place of its members. */
static void put_in_order(finder *f, uint32_t at, uint32_t last) {
    uint32_t n = 0, n_nodes = f->inst->seg->n_nodes;
    for (int what = BEFORE; what <= BEHIND; what++) {
        if (what == MEMBER) {
            f->next[n++] = n_nodes + f->v->n_chains;
            continue;
        }
        for (uint32_t k = at; k <= last; k++)
            if (f->mark[f->list[k]] == what)
                f->next[n++] = f->list[k];
    }
    memcpy(f->list + at, f->next, n * sizeof *f->list);
    memmove(f->list + at + n, f->list + last + 1, (f->n_list - last - 1) * sizeof *f->list);
    f->n_list -= last + 1 - at - n;
}

/* A chain that begins with entry `at`, if there is one; the entry is then another. */
static janus_status try_chain(finder *f, uint32_t at, bool *found) {
    uint32_t end = f->n_list - at > WINDOW ? at + WINDOW : f->n_list, n[2] = {0}, last[2] = {0};
    jn_space s[2];
    *found = false;
    for (int flat = 0; flat < 2; flat++)
        if (make_space(f, f->list[at], flat, &s[flat]))
            n[flat] = mark_window(f, &s[flat], at, end, &last[flat]);
    int best = n[1] >= n[0];
    if (n[best] < 2)
        return JANUS_OK;
    if (best == 0)
        mark_window(f, &s[0], at, end, &last[0]);
    jn_members *m = &f->found[f->v->n_chains];
    *m = (jn_members){.inst = f->inst, .v = f->v, .a = f->a, .space = s[best]};
    m->node = jn_arena_alloc(f->a, n[best] * sizeof *m->node);
    if (!m->node)
        return JN_NO_MEMORY();
    for (int sums = 0; sums < 2; sums++)
        for (uint32_t k = at; k <= last[best]; k++)
            if (f->mark[f->list[k]] == (sums ? REDUCED : MEMBER))
                m->node[m->n++] = f->list[k];
    put_in_order(f, at, last[best]);
    f->v->n_chains++;
    *found = true;
    return JANUS_OK;
}

/* Cheap: whether a chain can begin anywhere. */
static bool worthwhile(const jn_seginst *inst, const jn_variant *v) {
    uint32_t n = 0, sums = 0;
    for (uint32_t i = 0; i < inst->seg->n_nodes && n < 2; i++) {
        const jn_vnode *vn = &v->nodes[i];
        jn_sig sig = {vn->op, vn->in, vn->out, vn->n_in, vn->n_out, vn->attrs};
        n += rowwise(vn) ||
             (elementwise(vn) && inst->values[inst->seg->nodes[i].value[0]].shape->numel >= LEAST);
        sums += vn->mode == JN_V_CALL && jn_sum_knows(&sig);
    }
    return n >= 2 || (n && sums);
}

janus_status jn_find_chains(jn_seginst *inst, jn_variant *v) {
    const jn_segment *seg = inst->seg;
    if (!jn_computes_here(v->on) || !v->single || !worthwhile(inst, v))
        return JANUS_OK;
    finder f = {.inst = inst, .v = v, .a = &inst->arena, .n_list = seg->n_nodes};
    f.producer = jn_arena_zalloc(f.a, (seg->n_values + 1) * sizeof *f.producer);
    f.mark = jn_arena_zalloc(f.a, seg->n_nodes + 1);
    f.leads = jn_arena_zalloc(f.a, seg->n_nodes + 1);
    f.list = jn_arena_alloc(f.a, (seg->n_nodes + 1) * sizeof *f.list);
    f.next = jn_arena_alloc(f.a, (seg->n_nodes + 1) * sizeof *f.next);
    f.found = jn_arena_zalloc(f.a, (seg->n_nodes / 2 + 1) * sizeof *f.found);
    if (!f.producer || !f.mark || !f.leads || !f.list || !f.next || !f.found)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        f.list[i] = i;
        for (uint32_t k = 0; k < seg->nodes[i].n_out; k++)
            f.producer[seg->nodes[i].value[k]] = i;
    }
    for (uint32_t at = 0; at < f.n_list; at++) {
        bool found = f.list[at] < seg->n_nodes;
        while (found) { /* what runs before a chain may begin with one itself */
            JN_TRY(try_chain(&f, at, &found));
            found = found && f.list[at] < seg->n_nodes;
        }
    }
    if (!v->n_chains)
        return JANUS_OK;
    v->chains = jn_arena_zalloc(f.a, v->n_chains * sizeof *v->chains);
    if (!v->chains)
        return JN_NO_MEMORY();
    JN_TRY(jn_chains_settle(inst, v, f.a, f.found, v->n_chains, f.list, f.n_list));
    v->order = f.list;
    for (uint32_t i = 0; i < f.n_list; i++)
        if (f.list[i] < seg->n_nodes || f.found[f.list[i] - seg->n_nodes].n)
            v->order[v->n_order++] = f.list[i];
    for (uint32_t c = 0; c < v->n_chains; c++)
        if (f.found[c].n)
            JN_TRY(jn_chain_build(&f.found[c], &v->chains[c]));
    return JANUS_OK;
}
