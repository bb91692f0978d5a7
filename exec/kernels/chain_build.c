/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a chain runs: its nodes as links in parts, tiles, and where operands and results lie.
 *
 * Links that lie together and know steps (ops/steps.h) are one part, a program: what only its links
 * read is in registers.  What goes from part to part is in buffers of a tile.  A sum is a part.
 */
#include "config.h"

#include <string.h>

#include "exec/kernels/chain.h"
#include "graph/base/status.h"

enum {
    TILE = 1024,      /* elements; a handful of buffers is in the nearest cache */
    ROW_TILE = 2048,  /* where rows are added up, a kernel for each: less at once pays for calls */
    LONG_TILE = 8192, /* where one program is all, which needs no buffers */
    SUM_TILE = JN_SUM_AT_ONCE,
    MOST_OPERANDS = 16
};

typedef struct builder {
    const jn_members *m;
    jn_chain *c;
    uint32_t *link_of;     /* per value: the link that computes it; jn_nobody: none */
    uint32_t *part_of;     /* per link */
    uint32_t *buffer_of;   /* per value, of the values inside; jn_nobody: none */
    uint32_t *uses;        /* per value: links that are still to read it */
    JN_VEC(uint32_t) idle; /* buffers */
    JN_VEC(uint32_t) done; /* buffers that the part has read for the last time */
} builder;

/* The link that computes what an operand reads, all of it, or jn_nobody. */
static uint32_t read_link(const builder *b, const jn_src *src, uint32_t *value) {
    bool whole;
    if (src->kind != JN_SRC_NODE)
        return jn_nobody;
    *value = jn_value_root(b->m->inst, jn_value_of(b->m->inst, src), &whole);
    return *value == jn_nobody ? jn_nobody : b->link_of[*value];
}

/* ---- parts ------------------------------------------------------------------------------------
 */

/* Whether a program can have the link: its op, and operands that lie as the result does, which is
 * as large as the space. */
static bool is_step(const builder *b, const jn_vnode *vn) {
    if (vn->n_out != 1 || jn_view_numel(&vn->out[0]) != b->m->space.shape->numel)
        return false;
    jn_sig sig = {vn->op, vn->in, vn->out, vn->n_in, 1, vn->attrs};
    int number = jn_step_number(vn->op);
    if (!b->m->v->on->steps || !jn_step_knows(&sig))
        return false;
    for (int i = 0; i < vn->n_in; i++) {
        const jn_view *v = &vn->in[i];
        uint32_t value;
        if (i == number)
            continue;
        if (vn->n->in[i].kind == JN_SRC_SCALAR || v->rank < 0)
            return false;
        bool inside = read_link(b, &vn->n->in[i], &value) != jn_nobody;
        bool whole = jn_view_numel(v) == b->m->space.shape->numel;
        if (inside ? !whole : !(whole && v->contiguous) && !jn_single_element(v))
            return false;
    }
    return true;
}

static bool make_parts(builder *b) {
    jn_chain *c = b->c;
    c->part = jn_arena_zalloc(b->m->a, c->n * sizeof *c->part);
    if (!c->part)
        return false;
    for (uint32_t l = 0; l < c->n;) {
        jn_part *p = &c->part[c->n_parts];
        p->first = l;
        while (l < c->n && is_step(b, c->link[l].vn))
            l++;
        if (l - p->first < 2) /* alone a kernel does it */
            l = p->first + 1;
        else if (!(p->program = jn_arena_zalloc(b->m->a, sizeof *p->program)))
            return false;
        p->n = l - p->first;
        for (uint32_t k = p->first; k < l; k++)
            b->part_of[k] = c->n_parts;
        c->n_parts++;
    }
    return true;
}

/* Counts uses, and finds what only the program reads that computes it: that needs no buffer. */
static void find_uses(builder *b, bool *between) {
    for (uint32_t l = 0; l < b->c->n; l++) {
        const jn_segnode *n = b->c->link[l].vn->n;
        for (uint32_t k = 0; k < n->n_in; k++) {
            uint32_t value, from = read_link(b, &n->in[k], &value);
            if (from == jn_nobody)
                continue;
            b->uses[value]++;
            if (b->part_of[l] != b->part_of[from])
                between[value] = true;
        }
    }
}

/* ---- views ------------------------------------------------------------------------------------
 */

/* A view of one tile: its dims, of the space where it is `spread`, with `rows` along the cut. */
static bool tile_view(builder *b, const jn_view *of, int cut, bool spread, bool dense, int64_t rows,
                      jn_view *out) {
    const jn_space *s = &b->m->space;
    int rank = s->flat ? 1 : spread ? s->shape->rank : of->rank;
    int64_t *dims = jn_arena_alloc(b->m->a, (size_t)(2 * rank + 1) * sizeof *dims);
    if (!dims)
        return false;
    int64_t *strides = dims + rank, n = 1;
    for (int d = rank; d-- > 0;) {
        dims[d] = s->flat || d == cut ? rows : spread ? s->shape->dims[d] : of->dims[d];
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

static bool cut_view(builder *b, const jn_view *of, int cut, bool dense, jn_chain_view *to) {
    bool spread = to->kind == JN_CHAIN_SPREAD;
    return tile_view(b, of, cut, spread, dense, b->c->tile, &to->view) &&
           tile_view(b, of, cut, spread, dense, b->c->rest, &to->rest);
}

static bool operand(builder *b, uint32_t link, uint32_t i, jn_chain_view *to) {
    const jn_vnode *vn = b->c->link[link].vn;
    const jn_src *src = &vn->n->in[i];
    const jn_view *v = &vn->in[i];
    const jn_space *s = &b->m->space;
    uint32_t value;
    to->src = *src;
    to->view = to->rest = *v;
    to->kind = JN_CHAIN_FIXED;
    if (src->kind == JN_SRC_SCALAR || v->rank < 0)
        return true;
    uint32_t from = read_link(b, src, &value);
    if (from != jn_nobody && b->part_of[from] == b->part_of[link] &&
        b->c->part[b->part_of[link]].program) {
        to->kind = JN_CHAIN_REGISTER;
        return true;
    }
    if (from != jn_nobody && b->buffer_of[value] != jn_nobody) {
        to->kind = JN_CHAIN_BUFFER;
        to->index = b->buffer_of[value];
        return cut_view(b, v, s->cut, true, to);
    }
    bool large = jn_view_numel(&vn->out[0]) == s->shape->numel;
    if ((vn->op->flags & JN_OP_ELEMENTWISE) && jn_single_element(v)) {
        if (!large)
            return true;
        for (uint32_t k = 0; k < b->c->n_spread; k++)
            if (jn_same_source(&b->c->spread[k].src, src)) {
                *to = b->c->spread[k];
                return true;
            }
        to->kind = JN_CHAIN_SPREAD;
        to->index = b->c->n_spread;
        if (!cut_view(b, v, s->cut, true, to))
            return false;
        b->c->spread[b->c->n_spread++] = *to;
        return true;
    }
    int k = s->flat ? 0 : jn_cut_dim(s, vn, v);
    if (k < 0 || (!s->flat && v->dims[k] == 1))
        return true;
    to->kind = JN_CHAIN_MOVES;
    to->step =
        (s->flat ? 1 : v->strides[k]) * b->c->tile * (int64_t)jn_dtype_size((janus_dtype)v->dtype);
    return cut_view(b, v, k, false, to);
}

static bool result(builder *b, const jn_vnode *vn, uint32_t which, bool between,
                   jn_chain_view *to) {
    uint32_t value = vn->n->value[which];
    const jn_view *v = &vn->out[which];
    to->src = (jn_src){JN_SRC_NODE, (uint8_t)which, (uint32_t)(vn->n - b->m->inst->seg->nodes)};
    if (b->c->link[b->link_of[value]].sums) {
        to->view = to->rest = *v;
        to->kind = b->m->v->inside[value] ? JN_CHAIN_REGISTER : JN_CHAIN_FIXED;
        return true;
    }
    if (b->c->link[b->link_of[value]].again || b->m->v->inside[value]) {
        to->view = to->rest = *v;
        to->kind = JN_CHAIN_REGISTER;
        if (!between && b->c->part[b->part_of[b->link_of[value]]].program)
            return true;
        to->kind = JN_CHAIN_BUFFER;
        to->index = b->idle.n ? b->idle.data[--b->idle.n] : b->c->n_buffers++;
        b->buffer_of[value] = to->index;
        return cut_view(b, v, b->m->space.cut, true, to);
    }
    to->kind = JN_CHAIN_MOVES;
    to->step =
        jn_view_numel(v) / b->c->rows * b->c->tile * (int64_t)jn_dtype_size((janus_dtype)v->dtype);
    return cut_view(b, v, b->m->space.cut, true, to);
}

static janus_status select_kernel(const jn_variant *v, jn_link *l) {
    const jn_vnode *vn = l->vn;
    size_t workspace;
    jn_view views[MOST_OPERANDS];
    if (l->n_views > MOST_OPERANDS)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < l->n_views; i++)
        views[i] = l->view[i].view;
    jn_sig sig = {vn->op, views, views + vn->n_in, vn->n_in, vn->n_out, vn->attrs};
    return v->on->select(v->dev, &sig, &l->kernel, &workspace);
}

/* A link reads its operands, takes a buffer for its result, and gives back those nobody reads any
 * more: an operand's may not become the result's, kernels need not bear that. */
static janus_status add_link(builder *b, uint32_t link, const bool *between) {
    jn_link *l = &b->c->link[link];
    const jn_vnode *vn = l->vn;
    l->n_views = (uint32_t)vn->n_in + vn->n_out;
    l->view = jn_arena_zalloc(b->m->a, l->n_views * sizeof *l->view);
    if (!l->view)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < vn->n_in; i++)
        if (!operand(b, link, i, &l->view[i]))
            return JN_NO_MEMORY();
    for (uint32_t i = 0; i < vn->n_out; i++)
        if (!result(b, vn, i, between[vn->n->value[i]], &l->view[vn->n_in + i]))
            return JN_NO_MEMORY();
    for (uint32_t i = 0; i < vn->n_in; i++) {
        uint32_t value, from = read_link(b, &vn->n->in[i], &value);
        if (from != jn_nobody && --b->uses[value] == 0 && b->buffer_of[value] != jn_nobody &&
            !jn_vec_push(&b->done, b->buffer_of[value]))
            return JN_NO_MEMORY();
    }
    l->first_view = b->c->n_views;
    b->c->n_views += l->n_views;
    return l->sums || b->c->part[b->part_of[link]].program ? JANUS_OK : select_kernel(b->m->v, l);
}

static bool adds_up_rows(const jn_chain *c) {
    for (uint32_t l = 0; l < c->n; l++)
        if (!(c->link[l].vn->op->flags & JN_OP_ELEMENTWISE) && !c->link[l].sums)
            return true;
    return false;
}

static void cut_tiles(builder *b) {
    jn_chain *c = b->c;
    const jn_space *s = &b->m->space;
    bool program = c->n_parts == 1 + c->n_sums && c->part[0].program;
    int64_t most = c->n_sums ? SUM_TILE : program ? LONG_TILE : adds_up_rows(c) ? ROW_TILE : TILE;
    c->rows = s->flat ? s->shape->numel : s->shape->dims[s->cut];
    c->numel = s->shape->numel;
    int64_t row = c->numel / c->rows;
    c->tile = row >= most ? 1 : most / row;
    if (c->tile > c->rows)
        c->tile = c->rows;
    c->tiles = (c->rows + c->tile - 1) / c->tile;
    c->rest = c->rows - (c->tiles - 1) * c->tile;
    int64_t block = jn_step_block(), whole = c->tile * row;
    c->spread_numel = program || whole < block ? block : whole;
    whole = program && !c->n_sums ? block : whole;
    c->buffer_bytes = ((size_t)(whole < block ? block : whole) * 8 + 63) & ~(size_t)63;
}

static janus_status fill(builder *b, bool *between) {
    jn_chain *c = b->c;
    if (!make_parts(b))
        return JN_NO_MEMORY();
    find_uses(b, between);
    cut_tiles(b);
    for (uint32_t p = 0; p < c->n_parts; p++) {
        jn_part *part = &c->part[p];
        for (uint32_t l = part->first; l < part->first + part->n; l++)
            JN_TRY(add_link(b, l, between));
        if (part->program)
            JN_TRY(jn_chain_program(b->m, c, part, b->link_of));
        for (; b->done.n; b->done.n--)
            if (!jn_vec_push(&b->idle, b->done.data[b->done.n - 1]))
                return JN_NO_MEMORY();
    }
    return JANUS_OK;
}

janus_status jn_chain_build(const jn_members *m, jn_chain *c) {
    const jn_segment *seg = m->inst->seg;
    builder b = {.m = m, .c = c};
    size_t values = seg->n_values + 1u;
    uint32_t most_views = 0;
    *c = (jn_chain){.n = m->n};
    for (uint32_t l = 0; l < m->n; l++)
        most_views += m->v->nodes[m->node[l]].n_in;
    c->link = jn_arena_zalloc(m->a, m->n * sizeof *c->link);
    c->spread = jn_arena_zalloc(m->a, (most_views + 1) * sizeof *c->spread);
    b.link_of = jn_arena_alloc(m->a, values * sizeof *b.link_of);
    b.part_of = jn_arena_alloc(m->a, m->n * sizeof *b.part_of);
    b.buffer_of = jn_arena_alloc(m->a, values * sizeof *b.buffer_of);
    b.uses = jn_arena_zalloc(m->a, values * sizeof *b.uses);
    bool *between = jn_arena_zalloc(m->a, values * sizeof *between);
    if (!c->link || !c->spread || !b.link_of || !b.part_of || !b.buffer_of || !b.uses || !between)
        return JN_NO_MEMORY();
    memset(b.link_of, 0xff, values * sizeof *b.link_of);
    memset(b.buffer_of, 0xff, values * sizeof *b.buffer_of);
    for (uint32_t l = 0; l < m->n; l++) {
        const jn_vnode *vn = c->link[l].vn = &m->v->nodes[m->node[l]];
        c->link[l].again = l < m->n_again;
        jn_sig sig = {vn->op, vn->in, vn->out, vn->n_in, vn->n_out, vn->attrs};
        if ((c->link[l].sums = jn_sum_knows(&sig)))
            c->link[l].sum = c->n_sums++;
        for (uint32_t k = 0; k < vn->n_out; k++)
            b.link_of[vn->n->value[k]] = l;
    }
    janus_status st = fill(&b, between);
    jn_vec_free(&b.idle);
    jn_vec_free(&b.done);
    return st;
}
