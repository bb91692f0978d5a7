/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding chains: elementwise nodes that are run tile by tile (exec/kernels/chain_run.c).
 *
 * A large tensor leaves the cache between one op and the next.  A chain runs all of its nodes on a
 * tile of some thousand elements before the next tile, and what only its nodes read is never
 * written to memory.  A node belongs to a chain if it is elementwise, has the result's dims of the
 * others and reads what one of them computes or reads.  Nodes that lie between them and do not
 * depend on the chain run before it, those that do behind it; what adds to accumulators keeps its
 * order.
 *
 * The iteration space is cut in one of two ways: where every operand is dense or a single element
 * as a vector (flat), else along the first dim that is not 1.  Elements are computed by the same
 * row functions either way, so their bits are those of node after node.
 */
#include "config.h"

#include <string.h>

#include "exec/kernels/kernels.h"
#include "graph/base/status.h"

enum {
    TILE = 1024,         /* elements; a handful of buffers is in the nearest cache */
    LEAST = 2 * TILE,    /* elements that pay for cutting */
    LONGEST_ROW = 16384, /* elements behind the dim that is cut */
    MOST_LINKS = 96,
    WINDOW = 256 /* nodes looked at from the first one of a chain */
};

enum { BEFORE, MEMBER, BEHIND };
static const uint32_t nobody = UINT32_MAX;

typedef struct finder {
    const jn_seginst *inst;
    jn_variant *v;
    jn_arena *a;
    uint32_t *producer; /* per value: the node that computes it */
    uint8_t *mark;      /* per node, of the window */
    uint32_t *list;     /* entries of the order that are left */
    uint32_t *next, n_list;
} finder;

typedef struct space {
    bool flat;
    int cut; /* dim, unless flat */
    const jn_shape *shape;
} space;

/* The value whose memory a value is in, and whether it is all of it in its order. */
static uint32_t root(const jn_seginst *inst, uint32_t value, bool *whole) {
    const jn_segvalue *v = &inst->values[value];
    *whole = true;
    if (!v->alias)
        return value;
    if (v->base_input) {
        *whole = false;
        return nobody;
    }
    *whole =
        v->contiguous && v->offset == 0 && v->shape->bytes == inst->values[v->base].shape->bytes;
    return v->base;
}

static uint32_t value_of(const jn_seginst *inst, const jn_src *src) {
    return inst->seg->nodes[src->index].value[src->index_out];
}

static bool same_source(const jn_src *a, const jn_src *b) {
    return a->kind == b->kind && a->index == b->index && a->index_out == b->index_out;
}

static bool same_dims(const jn_shape *a, const jn_shape *b) {
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0);
}

static bool single_element(const jn_view *v) {
    for (int d = 0; d < v->rank; d++)
        if (v->dims[d] != 1 && v->strides[d] != 0)
            return false;
    return true;
}

static int64_t numel_of(const jn_view *v) {
    int64_t n = 1;
    for (int d = 0; d < v->rank; d++)
        n *= v->dims[d];
    return n;
}

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

/* Whether an operand can be cut as the space is. */
static bool fits_operand(const space *s, const jn_view *v) {
    if (v->rank < 0 || single_element(v))
        return true;
    if (s->flat)
        return v->contiguous && numel_of(v) == s->shape->numel;
    if (v->rank > s->shape->rank)
        return false;
    int k = s->cut - (s->shape->rank - v->rank);
    return k < 0 || v->dims[k] == 1 || v->dims[k] == s->shape->dims[s->cut];
}

static bool fits(const finder *f, const space *s, uint32_t node) {
    const jn_vnode *vn = &f->v->nodes[node];
    if (!elementwise(vn) || f->inst->values[vn->n->value[0]].copied)
        return false;
    const jn_shape *shape = f->inst->values[vn->n->value[0]].shape;
    if (s->flat ? shape->numel != s->shape->numel : !same_dims(shape, s->shape))
        return false;
    for (uint32_t i = 0; i < vn->n_in; i++)
        if (vn->n->in[i].kind != JN_SRC_SCALAR && !fits_operand(s, &vn->in[i]))
            return false;
    return true;
}

static bool make_space(const finder *f, uint32_t node, bool flat, space *s) {
    const jn_vnode *vn = &f->v->nodes[node];
    if (!elementwise(vn))
        return false;
    *s = (space){flat, 0, f->inst->values[vn->n->value[0]].shape};
    if (s->shape->numel < LEAST || s->shape->rank == 0)
        return false;
    while (s->shape->dims[s->cut] == 1)
        s->cut++;
    return fits(f, s, node) && (flat || s->shape->numel / s->shape->dims[s->cut] <= LONGEST_ROW);
}

/* What a node is to the chain: BEHIND if it waits for a member, or for one that does, and cannot be
 * one itself. */
static uint8_t judge(const finder *f, const space *s, uint32_t node, uint32_t first) {
    const jn_segnode *n = f->v->nodes[node].n;
    bool waits = false, linked = node == first, member = fits(f, s, node);
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (n->in[i].kind != JN_SRC_NODE)
            continue;
        bool whole;
        uint32_t value = value_of(f->inst, &n->in[i]), from = root(f->inst, value, &whole);
        uint8_t mark = from == nobody ? BEFORE : f->mark[f->producer[from]];
        if (mark == BEHIND)
            return BEHIND;
        if (mark != MEMBER)
            continue;
        waits = linked = true;
        member = member && whole &&
                 (s->flat || same_dims(f->inst->values[value].shape, f->inst->values[from].shape));
    }
    /* or it reads an operand of a member: large ones only, all read the same constants */
    for (uint32_t i = 0; i < n->n_in && member && !linked; i++)
        for (uint32_t k = 0; k < f->n_list && !linked; k++) {
            const jn_segnode *o =
                f->list[k] < f->inst->seg->n_nodes ? &f->inst->seg->nodes[f->list[k]] : NULL;
            for (uint32_t l = 0; o && f->mark[f->list[k]] == MEMBER && l < o->n_in; l++)
                linked |= same_source(&n->in[i], &o->in[l]) &&
                          (n->in[i].kind == JN_SRC_INPUT || n->in[i].kind == JN_SRC_NODE) &&
                          !single_element(&f->v->nodes[f->list[k]].in[l]);
        }
    return member && linked ? MEMBER : waits ? BEHIND : BEFORE;
}

/* Marks the window from entry `at` on; how many members there are, and the last one's entry. */
static uint32_t mark_window(finder *f, const space *s, uint32_t at, uint32_t end, uint32_t *last) {
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
        if (mark == MEMBER) {
            members++;
            *last = k;
        }
    }
    return members;
}

/* ---- one chain ---------------------------------------------------------------------------------
 */

typedef struct builder {
    finder *f;
    jn_chain *c;
    const space *s;
    uint32_t *buffer_of;   /* per value, of the values inside; nobody: none */
    uint32_t *uses;        /* per value: links that are still to read it */
    JN_VEC(uint32_t) idle; /* buffers */
} builder;

/* A view of one tile: dims of the space with `rows` along the cut. */
static bool tile_view(builder *b, const jn_view *of, bool dense, int64_t rows, jn_view *out) {
    const space *s = b->s;
    int rank = s->flat ? 1 : dense ? s->shape->rank : of->rank;
    int64_t *dims = jn_arena_alloc(b->f->a, (size_t)(2 * rank + 1) * sizeof *dims);
    if (!dims)
        return false;
    int64_t *strides = dims + rank, n = 1;
    int cut = s->flat ? 0 : s->cut - (s->shape->rank - rank);
    for (int d = rank; d-- > 0;) {
        dims[d] = s->flat || d == cut ? rows : dense ? s->shape->dims[d] : of->dims[d];
        strides[d] = dense || s->flat ? n : of->strides[d];
        n *= dims[d];
    }
    *out = (jn_view){NULL, dims, strides, (int16_t)rank, of->dtype, true};
    n = 1;
    for (int d = rank; d-- > 0; n *= dims[d])
        if (dims[d] != 1 && strides[d] != n)
            out->contiguous = false;
    return true;
}

static bool cut_view(builder *b, const jn_view *of, bool dense, jn_chain_view *to) {
    return tile_view(b, of, dense, b->c->tile, &to->view) &&
           tile_view(b, of, dense, b->c->rest, &to->rest);
}

static bool operand(builder *b, const jn_vnode *vn, uint32_t i, jn_chain_view *to) {
    const jn_src *src = &vn->n->in[i];
    const jn_view *v = &vn->in[i];
    const space *s = b->s;
    to->src = *src;
    to->view = to->rest = *v;
    to->kind = JN_CHAIN_FIXED;
    if (src->kind == JN_SRC_SCALAR || v->rank < 0)
        return true;
    if (src->kind == JN_SRC_NODE) {
        bool whole;
        uint32_t value = root(b->f->inst, value_of(b->f->inst, src), &whole);
        if (value != nobody && b->buffer_of[value] != nobody) {
            to->kind = JN_CHAIN_BUFFER;
            to->index = b->buffer_of[value];
            return cut_view(b, v, true, to);
        }
    }
    if (single_element(v)) {
        for (uint32_t k = 0; k < b->c->n_spread; k++)
            if (same_source(&b->c->spread[k].src, src)) {
                *to = b->c->spread[k];
                return true;
            }
        to->kind = JN_CHAIN_SPREAD;
        to->index = b->c->n_spread;
        if (!cut_view(b, v, true, to))
            return false;
        b->c->spread[b->c->n_spread++] = *to;
        return true;
    }
    int k = s->flat ? 0 : s->cut - (s->shape->rank - v->rank);
    if (k < 0 || (!s->flat && v->dims[k] == 1))
        return true;
    to->kind = JN_CHAIN_MOVES;
    to->step =
        (s->flat ? 1 : v->strides[k]) * b->c->tile * (int64_t)jn_dtype_size((janus_dtype)v->dtype);
    return cut_view(b, v, false, to);
}

static bool result(builder *b, const jn_vnode *vn, bool inside, jn_chain_view *to) {
    uint32_t value = vn->n->value[0];
    const jn_view *v = &vn->out[0];
    to->src = (jn_src){JN_SRC_NODE, 0, (uint32_t)(vn->n - b->f->inst->seg->nodes)};
    if (inside) {
        to->kind = JN_CHAIN_BUFFER;
        to->index = b->idle.n ? b->idle.data[--b->idle.n] : b->c->n_buffers++;
        b->buffer_of[value] = to->index;
        return cut_view(b, v, true, to);
    }
    to->kind = JN_CHAIN_MOVES;
    to->step = b->s->shape->numel / b->c->rows * b->c->tile *
               (int64_t)jn_dtype_size((janus_dtype)v->dtype);
    return cut_view(b, v, true, to);
}

static janus_status select_link(const jn_variant *v, jn_link *l) {
    const jn_vnode *vn = l->vn;
    const jn_op_impl *impl = &jn_op_impls[vn->op->id];
    jn_view views[16];
    if (vn->n_in + 1u > sizeof views / sizeof *views)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i <= vn->n_in; i++)
        views[i] = l->view[i].view;
    jn_sig sig = {vn->op, views, views + vn->n_in, vn->n_in, 1, vn->attrs};
    jn_select_fn select = v->device == JN_DEVICE_REF || !impl->cpu ? impl->ref : impl->cpu;
    l->kernel = select ? select(&sig) : NULL;
    return l->kernel ? JANUS_OK
                     : jn_error(JANUS_UNSUPPORTED, "%s: no kernel for a tile", vn->op->name);
}

/* A link reads its operands, takes a buffer for its result, and gives back those nobody reads any
 * more: an operand's may not become the result's, kernels need not bear that. */
static janus_status add_link(builder *b, uint32_t node) {
    const jn_seginst *inst = b->f->inst;
    const jn_vnode *vn = &b->f->v->nodes[node];
    jn_link *l = &b->c->link[b->c->n++];
    uint32_t value = vn->n->value[0];
    l->vn = vn;
    l->view = jn_arena_zalloc(b->f->a, (vn->n_in + 1u) * sizeof *l->view);
    if (!l->view)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < vn->n_in; i++)
        if (!operand(b, vn, i, &l->view[i]))
            return JN_NO_MEMORY();
    if (!result(b, vn, b->f->v->inside[value], &l->view[vn->n_in]))
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < vn->n_in; i++) {
        if (vn->n->in[i].kind != JN_SRC_NODE)
            continue;
        bool whole;
        uint32_t from = root(inst, value_of(inst, &vn->n->in[i]), &whole);
        if (from != nobody && b->buffer_of[from] != nobody && --b->uses[from] == 0 &&
            !jn_vec_push(&b->idle, b->buffer_of[from]))
            return JN_NO_MEMORY();
    }
    b->c->n_views += vn->n_in + 1u;
    return select_link(b->f->v, l);
}

/* What members compute is inside unless it leaves the segment or somebody else reads it. */
static void find_inside(builder *b) {
    const jn_seginst *inst = b->f->inst;
    const jn_segment *seg = inst->seg;
    const uint8_t *mark = b->f->mark;
    for (uint32_t i = 0; i < seg->n_nodes; i++)
        if (mark[i] == MEMBER)
            b->f->v->inside[seg->nodes[i].value[0]] =
                inst->values[seg->nodes[i].value[0]].output < 0;
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_segnode *n = &seg->nodes[i];
        bool alias = n->n_out == 1 && inst->values[n->value[0]].alias;
        if (alias && inst->values[n->value[0]].output >= 0 && !inst->values[n->value[0]].base_input)
            b->f->v->inside[inst->values[n->value[0]].base] = false;
        for (uint32_t k = 0; k < n->n_in && !alias; k++) {
            bool whole;
            uint32_t from = n->in[k].kind == JN_SRC_NODE
                                ? root(inst, value_of(inst, &n->in[k]), &whole)
                                : nobody;
            if (from == nobody || mark[b->f->producer[from]] != MEMBER)
                continue;
            b->uses[from]++;
            if (mark[i] != MEMBER)
                b->f->v->inside[from] = false;
        }
    }
}

static janus_status build(finder *f, const space *s, uint32_t at, uint32_t last) {
    jn_chain *c = &f->v->chains[f->v->n_chains];
    const jn_segment *seg = f->inst->seg;
    builder b = {.f = f, .c = c, .s = s};
    *c = (jn_chain){.rows = s->flat ? s->shape->numel : s->shape->dims[s->cut]};
    int64_t row = s->shape->numel / c->rows;
    c->tile = row >= TILE ? 1 : TILE / row;
    if (c->tile > c->rows)
        c->tile = c->rows;
    c->tiles = (c->rows + c->tile - 1) / c->tile;
    c->rest = c->rows - (c->tiles - 1) * c->tile;
    c->numel = s->shape->numel;
    uint32_t n = 0, most_views = 0;
    for (uint32_t k = at; k <= last; k++)
        if (f->mark[f->list[k]] == MEMBER) {
            n++;
            most_views += f->v->nodes[f->list[k]].n_in;
        }
    c->link = jn_arena_zalloc(f->a, n * sizeof *c->link);
    c->spread = jn_arena_zalloc(f->a, (most_views + 1) * sizeof *c->spread);
    b.buffer_of = jn_arena_alloc(f->a, (seg->n_values + 1) * sizeof *b.buffer_of);
    b.uses = jn_arena_zalloc(f->a, (seg->n_values + 1) * sizeof *b.uses);
    if (!c->link || !c->spread || !b.buffer_of || !b.uses)
        return JN_NO_MEMORY();
    memset(b.buffer_of, 0xff, (seg->n_values + 1) * sizeof *b.buffer_of);
    find_inside(&b);
    c->buffer_bytes = ((size_t)(c->tile * row) * 8 + 63) & ~(size_t)63;
    janus_status st = JANUS_OK;
    for (uint32_t k = at; k <= last && st == JANUS_OK; k++)
        if (f->mark[f->list[k]] == MEMBER)
            st = add_link(&b, f->list[k]);
    jn_vec_free(&b.idle);
    return st;
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
    space s[2];
    *found = false;
    for (int flat = 0; flat < 2; flat++)
        if (make_space(f, f->list[at], flat, &s[flat]))
            n[flat] = mark_window(f, &s[flat], at, end, &last[flat]);
    int best = n[1] >= n[0];
    if (n[best] < 2)
        return JANUS_OK;
    if (best == 0)
        mark_window(f, &s[0], at, end, &last[0]);
    JN_TRY(build(f, &s[best], at, last[best]));
    put_in_order(f, at, last[best]);
    f->v->n_chains++;
    *found = true;
    return JANUS_OK;
}

/* Cheap: whether a chain can begin anywhere. */
static bool worthwhile(const jn_seginst *inst, const jn_variant *v) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < inst->seg->n_nodes && n < 2; i++)
        n += elementwise(&v->nodes[i]) &&
             inst->values[inst->seg->nodes[i].value[0]].shape->numel >= LEAST;
    return n >= 2;
}

janus_status jn_find_chains(jn_seginst *inst, jn_variant *v) {
    const jn_segment *seg = inst->seg;
    bool host = v->device == JN_DEVICE_CPU || v->device == JN_DEVICE_REF;
    if (!host || !v->single || !worthwhile(inst, v))
        return JANUS_OK;
    finder f = {.inst = inst, .v = v, .a = &inst->arena, .n_list = seg->n_nodes};
    f.producer = jn_arena_zalloc(f.a, (seg->n_values + 1) * sizeof *f.producer);
    f.mark = jn_arena_zalloc(f.a, seg->n_nodes + 1);
    f.list = jn_arena_alloc(f.a, (seg->n_nodes + 1) * sizeof *f.list);
    f.next = jn_arena_alloc(f.a, (seg->n_nodes + 1) * sizeof *f.next);
    v->chains = jn_arena_zalloc(f.a, (seg->n_nodes / 2 + 1) * sizeof *v->chains);
    if (!f.producer || !f.mark || !f.list || !f.next || !v->chains)
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
    if (v->n_chains) {
        v->order = f.list;
        v->n_order = f.n_list;
    }
    return JANUS_OK;
}
