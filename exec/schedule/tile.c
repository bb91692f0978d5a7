/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a tile: some rows of a group, node after node, with temporaries in scratch memory of the
 * range that they belong to.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "exec/schedule/acc.h"
#include "exec/schedule/group.h"
#include "exec/schedule/rows.h"
#include "exec/schedule/schedule.h"
#include "exec/store/store.h"
#include "graph/base/status.h"

/* A tile being run by one thread. */
typedef struct tile {
    jn_group *g;
    jn_variant *v;
    jn_task **task;
    uint32_t n, part;
    jn_operands data;
    char *scratch; /* temporaries */
    char *workspace;
    jn_view *views;    /* of the call being made */
    char **apart;      /* where the operands of its rows begin */
    const jn_par *par; /* of its kernels */
    jn_replay *list;   /* what is called is written down there; or NULL */
    uint32_t flags;
    uint64_t kernels;
} tile;

/* Scratch memory of a range: one block, bumped within a tile. */
typedef struct bump {
    char *at, *end;
} bump;

static void *take(bump *b, size_t bytes) {
    bytes = (bytes + 63) & ~(size_t)63;
    if ((size_t)(b->end - b->at) < bytes)
        return NULL;
    void *p = b->at;
    b->at += bytes;
    return p;
}

static janus_status reserve_scratch(jn_run *r, uint32_t part, size_t bytes) {
    enum { LARGE = 1 << 20 }; /* no more of these than is needed */
    jn_scratch *s = &r->of_schedule.scratch[part];
    if (s->most < bytes)
        s->most = bytes;
    if (s->bytes >= bytes)
        return JANUS_OK;
    jn_replay *list = r->of_schedule.list;
    if (JN_UNLIKELY(list != NULL))
        list->spoiled |= jn_replay_has(list, part); /* it has moved */
    if (bytes > r->mem->ceiling)
        return jn_error(JANUS_NO_MEMORY, "a batch would need %zu bytes of temporaries", bytes);
    jn_free_aligned(s->data);
    s->bytes = 0;
    size_t last = r->set->scratch[part];
    bytes += bytes < LARGE ? bytes / 2 : 0;
    bytes = bytes < last && last <= r->mem->ceiling ? last : bytes;
    if (JN_UNLIKELY(list != NULL) && bytes < r->entry->replay_scratch)
        bytes = r->entry->replay_scratch;
    s->data = jn_alloc_aligned(bytes);
    if (!s->data)
        return JN_NO_MEMORY();
    s->bytes = bytes;
    return JANUS_OK;
}

/* The rows of an input go to `to`, `step` bytes apart.  They lie wherever a task's producer put
 * them: the memory of those to come is asked for ahead. */
static void gather(const tile *w, uint32_t i, char *to, size_t step) {
    size_t bytes = w->g->inst->in[i]->bytes;
    uint32_t rows = jn_rows_ahead(bytes);
    for (uint32_t t = 0; t < w->n; t++, to += step) {
        if (t + rows < w->n)
            jn_ask_for(w->task[t + rows]->in[i]->data, bytes);
        if (JN_UNLIKELY(w->list != NULL))
            jn_replay_copy(w->list, to, w->task[t]->in[i]->data, bytes);
        memcpy(to, w->task[t]->in[i]->data, bytes);
    }
}

janus_status jn_scratch_take(jn_run *r, uint32_t part, size_t bytes, char **out) {
    JN_TRY(reserve_scratch(r, part, bytes));
    *out = r->of_schedule.scratch[part].data;
    return JANUS_OK;
}

static janus_status prepare_inputs(tile *w, bump *b) {
    const jn_segment *seg = w->g->inst->seg;
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        w->data.input[i] = w->task[0]->in[i]->data;
        if (w->g->layout[i] != JN_ROWS_GATHER || w->n == 1 || w->v->direct[i])
            continue;
        size_t bytes = w->g->inst->in[i]->bytes;
        char *to = take(b, bytes * w->n);
        if (!to)
            return JN_NO_MEMORY();
        w->data.input[i] = to;
        gather(w, i, to, bytes);
    }
    for (uint32_t i = 0; i < seg->n_scalars; i++) {
        bool is_bool = seg->scalars[i].kind == JANUS_KIND_BOOL;
        uint32_t n = jn_variant_scalar_rowed(w->g->inst, w->v, i) ? w->n : 1;
        char *to = take(b, 8 * (size_t)n);
        if (!to)
            return JN_NO_MEMORY();
        w->data.scalar[i] = to;
        for (uint32_t t = 0; t < n; t++) {
            int64_t bits =
                seg->scalars[i].is_const ? seg->scalars[i].value : w->task[t]->scalars[i];
            if (is_bool)
                to[t] = bits != 0;
            else
                memcpy(to + 8 * (size_t)t, &bits, 8);
        }
        if (JN_UNLIKELY(w->list != NULL) && (to = jn_replay_keep(w->list, to, 8 * (size_t)n)))
            w->data.scalar[i] = to;
    }
    return JANUS_OK;
}

static inline char *src_data(const tile *w, const jn_src *src) {
    return jn_operand_data(w->g->inst->seg, &w->data, src);
}

/* The number of the tile's first row of a factor among all that are collected. */
static size_t first_row(const tile *w, uint32_t factor) {
    int64_t task = w->g->first_collected + (w->task - w->g->task);
    return (size_t)(task * w->v->factors[factor].rows);
}

/* Where they go. */
static char *factor_rows(const tile *w, uint32_t factor, janus_dtype dtype) {
    size_t row = (size_t)w->v->factors[factor].cols * jn_dtype_size(dtype);
    return w->g->collected->factor[factor].data + first_row(w, factor) * row;
}

static bool is_apart(const tile *w, const jn_src *src) {
    return src->kind == JN_SRC_INPUT && w->g->layout[src->index] == JN_ROWS_GATHER &&
           w->v->direct[src->index];
}

/* Where the rows of an operand of a product lie. */
static void note_rows(const tile *w, const jn_factor *f, const char **to, const jn_src *src,
                      size_t step, size_t row) {
    bool input = f->of.kind == JN_SRC_INPUT;
    const char *first = input ? NULL : src_data(w, src);
    for (uint32_t t = 0; t < w->n; t++) {
        const char *at = input ? w->task[t]->in[f->of.index]->data : first + t * step;
        for (int64_t i = 0; i < f->rows; i++, at += row)
            *to++ = at;
    }
}

static void collect(const tile *w, uint32_t node) {
    const jn_vnode *vn = &w->v->nodes[node];
    for (int i = 0; i < 2; i++) {
        const jn_factor *f = &w->v->factors[vn->factor[i]];
        const jn_src *src = &vn->n->in[i];
        janus_dtype dtype = (janus_dtype)vn->in[i].dtype;
        size_t size = jn_dtype_size(dtype), row = (size_t)f->cols * size,
               bytes = (size_t)f->rows * row, step = (size_t)vn->in_step[i] * size;
        if (f->node != node || f->i != i)
            continue; /* another product has it */
        if (f->stays) {
            const char **at = w->g->collected->factor[vn->factor[i]].at;
            note_rows(w, f, at + first_row(w, vn->factor[i]), src, step, row);
            continue;
        }
        char *to = factor_rows(w, vn->factor[i], dtype);
        if (is_apart(w, src)) {
            gather(w, src->index, to, bytes);
            continue;
        }
        const char *from = src_data(w, src);
        if (from == to)
            continue; /* written there at once */
        for (uint32_t t = 0; t < w->n; t++, to += bytes, from += step)
            memcpy(to, from, bytes);
    }
}

static void concat_inputs(tile *w, const jn_segnode *n) {
    char *out = w->data.value[n->value[0]];
    size_t row = w->g->inst->values[n->value[0]].shape->bytes;
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (w->n > 1 || w->data.input[n->in[i].index] != out) /* else it is there */
            gather(w, n->in[i].index, out, row);
        out += w->g->inst->in[n->in[i].index]->bytes;
    }
}

static void place_values(tile *w) {
    const jn_segment *seg = w->g->inst->seg;
    for (uint32_t i = 0; i < seg->n_values; i++) {
        const jn_segvalue *v = &w->g->inst->values[i];
        if (v->alias) {
            char *base = v->base_input ? w->data.input[v->base] : w->data.value[v->base];
            w->data.value[i] = base + v->offset * (int64_t)jn_dtype_size(v->shape->dtype);
        } else if (w->v->goes_to[i] >= 0) {
            w->data.value[i] =
                factor_rows(w, (uint32_t)w->v->goes_to[i], (janus_dtype)v->shape->dtype);
        } else if (v->shape && v->output >= 0) {
            w->data.value[i] = w->task[0]->out[v->output].data;
        } else if (v->shape && !w->v->inside[i]) {
            w->data.value[i] = w->scratch + w->v->scratch[i] * w->n;
        }
    }
}

static janus_status sum_rows(tile *w, const jn_vnode *vn) {
    jn_acc *acc = w->task[0]->accs[vn->acc];
    int64_t step;
    JN_TRY(jn_variant_summand(w->g->inst, w->v, vn, acc->shape, &step));
    return jn_acc_add(acc, w->part, src_data(w, &vn->n->in[1]), step, w->n);
}

/* Whether a node that goes row by row takes rows of an input from where they lie: weights of
 * several models are not copied for one product each. */
static bool reads_apart(const tile *w, const jn_segnode *n) {
    for (uint32_t i = 0; i < n->n_in; i++)
        if (is_apart(w, &n->in[i]))
            return true;
    return false;
}

static void take_apart(const tile *w, const jn_segnode *n, uint32_t t, jn_view *in) {
    for (uint32_t i = 0; i < n->n_in; i++)
        if (is_apart(w, &n->in[i]))
            in[i].data = w->task[t]->in[n->in[i].index]->data;
}

/* Where operands and results of each row begin, for one call of all. */
static void find_apart(const tile *w, const jn_vnode *vn, const jn_view *v) {
    const jn_segnode *n = vn->n;
    uint32_t all = (uint32_t)vn->n_in + vn->n_out;
    for (uint32_t i = 0; i < all; i++) {
        char **at = w->apart + i, *data = v[i].data;
        bool in = i < vn->n_in;
        if (in && is_apart(w, &n->in[i])) {
            for (uint32_t t = 0; t < w->n; t++, at += all)
                *at = w->task[t]->in[n->in[i].index]->data;
            continue;
        }
        int64_t step = in ? vn->in_step[i] : vn->out_step[i - vn->n_in];
        step *= (int64_t)jn_dtype_size(v[i].dtype);
        for (uint32_t t = 0; t < w->n; t++, at += all, data += step)
            *at = data;
    }
}

/* The kernel adds where the rows that its operand 1 numbers have their places in the table. */
static void add_rows(tile *w, const jn_vnode *vn, jn_table *table, const jn_kargs *k) {
    int64_t strides[JN_MAX_RANK + 1];
    jn_view *in = &w->views[1], *out = w->views + vn->n_in, index = *in;
    jn_skips_fn skips = jn_op_impls[vn->op->id].skips;
    if (jn_table_find(table, &index, skips ? skips(vn->attrs) : -1, strides, in)) {
        out->data = table->data;
        vn->kernel(k);
    } else {
        w->flags |= JN_KFLAG_MEMORY;
    }
    *in = index;
}

static jn_packs *packs_of(jn_run *r, uint32_t part) {
    jn_packs **of = &r->of_schedule.packs[part];
    if (!*of && (*of = jn_calloc(1, sizeof **of))) {
        (*of)->at_once = r->set->recurs;
        (*of)->before = jn_panels_kept(r->entry->panels);
    }
    return *of;
}

void jn_tile_lend(jn_run *r, uint32_t parts) {
    const jn_packs *first = r->of_schedule.packs[0];
    for (uint32_t k = 1; first && first->bytes && k < parts; k++) {
        jn_packs *to = packs_of(r, k); /* without, it packs for itself */
        if (to)
            jn_packs_lend(first, to);
    }
}

/* Weights that the run was given stay as they are till its commit: what its products pack of them
 * is kept, and for later runs, if they stay longer (exec/kernels/panels.h).  A list of calls that
 * is run again finds others, and runs without an entry (those of deferred ops) go on while their
 * caller writes. */
static jn_packs *packs(const tile *w, const jn_vnode *vn) {
    jn_run *r = w->g->lane->run;
    const jn_src *b = &vn->n->in[1];
    if (!(vn->op->flags & JN_OP_PRODUCT) || vn->n_in < 2 || b->kind != JN_SRC_INPUT || w->list ||
        r->exact || !r->entry || w->g->layout[b->index] != JN_ROWS_SHARED)
        return NULL;
    const jn_tval *v = w->task[0]->in[b->index];
    if (v->task || !v->dense || v->shape->dtype != JANUS_F32)
        return NULL;
    return packs_of(r, w->part);
}

/* The variant is read by all ranges at once: data pointers go into copies of its views. */
static void call(tile *w, const jn_vnode *vn) {
    const jn_segnode *n = vn->n;
    jn_view *in = w->views, *out = in + vn->n_in;
    const jn_segvalue *v0 = n->n_out ? &w->g->inst->values[n->value[0]] : NULL;
    bool copied = v0 && v0->copied;
    for (uint32_t i = 0; i < vn->n_in; i++) {
        in[i] = vn->in[i];
        if (!copied)
            in[i].data = src_data(w, &n->in[i]);
    }
    if (copied) {
        char *base = v0->base_input ? w->data.input[v0->base] : w->data.value[v0->base];
        in[0].data = base + v0->offset * (int64_t)jn_dtype_size(v0->shape->dtype);
        if (v0->part && in[0].data == w->data.value[n->value[0]])
            return; /* it is there (exec/schedule/group.c) */
    }
    for (uint32_t i = 0; i < vn->n_out; i++) {
        out[i] = vn->out[i];
        out[i].data = w->data.value[n->value[i]];
    }
    jn_acc_part *part = vn->accumulates ? &w->task[0]->accs[vn->acc]->part[w->part] : NULL;
    jn_table *table = part && jn_vnode_adds_rows(vn) ? part->table : NULL;
    if (part)
        out[0].data = part->data;
    jn_kargs k = {in,        out,       vn->n_in,
                  vn->n_out, vn->attrs, w->workspace,
                  &w->flags, w->par,    part && (table || part->written),
                  false,     0,         NULL,
                  NULL,      NULL};
    k.from_end = vn->from_end;
    k.packs = packs(w, vn);
    uint32_t times = vn->mode == JN_V_LOOP ? w->n : 1, left = times;
    int64_t start = jn_prof_begin();
    if (vn->apart) {
        find_apart(w, vn, in);
        k.n_apart = w->n;
        k.apart = w->apart;
        if (JN_UNLIKELY(w->list != NULL))
            jn_replay_kernel(w->list, vn, &k);
        vn->kernel(&k);
        left = 0;
    }
    bool apart = left > 1 && reads_apart(w, n);
    for (uint32_t t = 0; t < left; t++) {
        if (apart)
            take_apart(w, n, t, in);
        if (JN_UNLIKELY(w->list != NULL))
            jn_replay_kernel(w->list, vn, &k);
        if (table)
            add_rows(w, vn, table, &k);
        else
            vn->kernel(&k);
        k.accumulate = part != NULL;
        if (vn->mode == JN_V_LOOP) {
            jn_views_advance(in, vn->in_step, vn->n_in);
            jn_views_advance(out, vn->out_step, vn->n_out);
        }
    }
    if (part && !table)
        part->written = true;
    w->kernels += times;
    if (JN_UNLIKELY(start))
        jn_prof_add(JN_PROF_KERNEL, vn->op->name, &n->node->loc, start, w->n);
}

static janus_status run_chain(tile *w, const jn_chain *c) {
    int64_t start = jn_prof_begin();
    if (JN_UNLIKELY(w->list != NULL))
        jn_replay_chain(w->list, c, w->g->inst->seg, &w->data, w->par);
    jn_chain_run(c, w->g->inst->seg, &w->data, w->par, &w->flags);
    const jn_vnode *last = c->link[c->n - 1].vn;
    w->kernels += c->n;
    if (JN_UNLIKELY(start)) {
        char name[64];
        snprintf(name, sizeof name, "%u ops to %s", c->n, last->op->name);
        jn_prof_add(JN_PROF_KERNEL, name, &last->n->node->loc, start, w->n);
    }
    return JN_UNLIKELY(w->flags) ? jn_vnode_error(last, w->flags) : JANUS_OK;
}

janus_status jn_tile_reserve(const jn_group *g, const jn_variant *v, uint32_t n, uint32_t range) {
    const jn_segment *seg = g->inst->seg;
    size_t need = 4096 + v->max_views * sizeof(jn_view) + v->scratch_bytes * n + v->workspace +
                  (seg->n_inputs + seg->n_scalars + seg->n_values + 8) * sizeof(char *) +
                  (size_t)n * v->max_views * sizeof(char *);
    for (uint32_t i = 0; i < seg->n_inputs; i++)
        if (g->layout[i] == JN_ROWS_GATHER && !v->direct[i])
            need += g->inst->in[i]->bytes * n + 64;
    need += seg->n_scalars * (8 * (size_t)n + 64);
    return reserve_scratch(g->lane->run, jn_group_part(g, range), need);
}

static janus_status run_tile(tile *w, uint32_t range) {
    const jn_segment *seg = w->g->inst->seg;
    JN_TRY(jn_tile_reserve(w->g, w->v, w->n, range));
    jn_scratch *s = &w->g->lane->run->of_schedule.scratch[w->part];
    bump b = {s->data, s->data + s->bytes};
    w->data.input = take(&b, seg->n_inputs * sizeof(char *));
    w->data.scalar = take(&b, seg->n_scalars * sizeof(char *));
    w->data.value = take(&b, seg->n_values * sizeof(char *));
    JN_TRY(prepare_inputs(w, &b));
    w->scratch = take(&b, w->v->scratch_bytes * w->n);
    w->workspace = take(&b, w->v->workspace);
    w->views = take(&b, w->v->max_views * sizeof(jn_view));
    w->apart = take(&b, (size_t)w->n * w->v->max_views * sizeof(char *));
    if (!w->scratch || !w->workspace || !w->views || !w->apart)
        return JN_NO_MEMORY();
    if (JN_UNLIKELY(w->list != NULL)) /* those without memory of their own are copied, too */
        memset(w->data.value, 0, seg->n_values * sizeof(char *));
    place_values(w);
    const uint32_t *order = w->v->order;
    for (uint32_t k = 0, n = order ? w->v->n_order : seg->n_nodes; k < n; k++) {
        uint32_t i = order ? order[k] : k;
        if (JN_UNLIKELY(i >= seg->n_nodes)) {
            JN_TRY(run_chain(w, &w->v->chains[i - seg->n_nodes]));
            continue;
        }
        const jn_vnode *vn = &w->v->nodes[i];
        if (vn->mode == JN_V_SKIP)
            continue;
        if (vn->mode == JN_V_SUM)
            JN_TRY(sum_rows(w, vn));
        else if (vn->mode == JN_V_PRODUCT)
            collect(w, i);
        else if (vn->mode == JN_V_CONCAT)
            concat_inputs(w, vn->n);
        else
            call(w, vn);
        if (JN_UNLIKELY(w->flags))
            return jn_vnode_error(vn, w->flags);
    }
    return JANUS_OK;
}

janus_status jn_tile_run(jn_group *g, jn_variant *v, jn_task **task, uint32_t n, uint32_t range,
                         uint64_t *kernels) {
    tile w = {.g = g, .v = v, .task = task, .n = n, .part = jn_group_part(g, range)};
    w.par = g->ranges > 1 || g->lane->lock ? &jn_par_serial : jn_par_pool();
    w.list = jn_tile_list(g);
    janus_status st = run_tile(&w, range);
    if (JN_UNLIKELY(w.list != NULL)) {
        w.list->kernels += w.kernels;
        w.list->spoiled |= g->inst->seg->n_accs > 0;
    }
    *kernels += w.kernels;
    return st;
}
