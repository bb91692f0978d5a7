/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures of groups of rows: a segment for a number of rows that is rounded up.
 *
 * Trees are always new ones, so their flushes are never seen twice; but their groups are few
 * segments at any number of rows.  A capture is kept per specialisation and rounded number.  Before
 * a replay one small table is uploaded: how many rows there are, where each row of each operand is,
 * where results go, scalars that differ from row to row.  Kernels of the capture read it when they
 * run, so nothing waits for the device; rows behind the last are the last one again and their
 * results are dropped.  What adds to sums is launched after the replay, for the rows there are: a
 * row too many would be added.
 *
 * A capture is held until that is launched; then the stream's order keeps the next replay from its
 * memory.  Not captured: kernels that may raise, row by row calls, and specialisations whose large
 * shared operands keep moving.
 */
#include "config.h"

#include <string.h>

#include "exec/device/device.h"
#include "exec/schedule/dev_group.h"
#include "exec/schedule/schedule.h"

enum {
    MOST_ROWS = 4096,
    LEAST_CALLS = 3,   /* launches that are worth a capture */
    MOST_RECORDS = 64, /* of a specialisation */
    SMALL = 1 << 14,   /* shared operands of so many bytes are copied, larger ones read in place */
    MOST_BITS = 64     /* inputs and scalars: bits of a mask */
};

/* What a replay needs: jn_capture.more. */
typedef struct plan {
    size_t table_at; /* in the arena */
    size_t *in_at;   /* per input, then per value; SIZE_MAX: not in the arena */
    size_t *value_at;
    uint64_t calls;
} plan;

typedef struct group {
    jn_lane *l;
    jn_run *r;
    jn_schedule *s;
    jn_seginst *inst;
    jn_variant_key key;
    const jn_variant *v;
    jn_task **task;
    uint32_t n, rows; /* there are; of the capture */
} group;

/* At most a quarter more. */
static uint32_t rounded_rows(uint32_t n) {
    uint32_t step = 1;
    while (8 * step < n)
        step *= 2;
    return (n + step - 1) / step * step;
}

static bool input_rowed(const group *g, uint32_t i) { return g->key.mask >> i & 1; }
static bool input_taken(const group *g, uint32_t i) {
    return input_rowed(g, i) || g->inst->in[i]->bytes <= SMALL;
}
static bool scalar_rowed(const group *g, uint32_t i) {
    return jn_variant_scalar_rowed(g->inst, g->v, i);
}
static bool adds(const jn_vnode *vn) { return vn->mode == JN_V_SUM || vn->accumulates; }

static bool suits(const group *g) {
    const jn_segment *seg = g->inst->seg;
    uint32_t calls = 0;
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_vnode *vn = &g->v->nodes[i];
        if (vn->mode != JN_V_SKIP && vn->mode != JN_V_CALL && vn->mode != JN_V_SUM)
            return false;
        if (vn->mode != JN_V_CALL || adds(vn))
            continue;
        if (vn->op->flags & JN_OP_MAY_RAISE)
            return false;
        calls++;
    }
    for (uint32_t i = 0; i < seg->n_outputs; i++)
        if (!g->v->rowed[seg->nodes[seg->output[i].index].value[seg->output[i].index_out]])
            return false;
    return calls >= LEAST_CALLS;
}

/* ---- the table ----------------------------------------------------------------------------------
 */

/* Words: the count; addresses of inputs; of results; scalars.  NULL: only counted. */
static size_t fill_table(const group *g, uint64_t *to) {
    const jn_segment *seg = g->inst->seg;
    size_t at = 1;
    if (to)
        to[0] = g->n;
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        if (!input_taken(g, i))
            continue;
        for (uint32_t t = 0; to && t < (input_rowed(g, i) ? g->n : 1); t++)
            to[at + t] = (uintptr_t)g->task[t]->in[i]->data;
        at += input_rowed(g, i) ? g->rows : 1;
    }
    for (uint32_t i = 0; i < seg->n_outputs; i++, at++)
        if (to)
            to[at] = (uintptr_t)g->task[0]->out[i].data;
    for (uint32_t i = 0; i < seg->n_scalars; i++) {
        if (!scalar_rowed(g, i))
            continue;
        for (uint32_t t = 0; to && t < g->rows; t++) {
            int64_t bits = g->task[t < g->n ? t : g->n - 1]->scalars[i];
            if (seg->scalars[i].kind == JANUS_KIND_BOOL)
                ((bool *)(to + at))[t] = bits != 0;
            else
                to[at + t] = (uint64_t)bits;
        }
        at += g->rows;
    }
    return at;
}

/* ---- recording ----------------------------------------------------------------------------------
 */

/* What is added to sums afterwards stays. */
static void keep_operands(const group *g, const jn_dev_rows *w, jn_trace *t) {
    const jn_segment *seg = g->inst->seg;
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_vnode *vn = &w->v->nodes[i];
        for (uint32_t k = 0; adds(vn) && k < vn->n->n_in; k++)
            jn_trace_keep(t, jn_operand_data(seg, &w->data, &vn->n->in[k]));
    }
}

static janus_status write_down(const group *g, jn_dev_rows *w, jn_trace *t, char *table) {
    const jn_segment *seg = g->inst->seg;
    char *at = table + 8;
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        uint32_t rows = input_rowed(g, i) ? g->rows : 1;
        size_t bytes = g->inst->in[i]->bytes;
        w->data.input[i] = g->task[0]->in[i]->data;
        if (!input_taken(g, i))
            continue;
        if (!(w->data.input[i] = jn_trace_take(t, bytes * rows)))
            return JN_NO_MEMORY();
        JN_TRY(jn_trace_take_rows(t, w->data.input[i], at, table, rows, bytes));
        at += 8 * (size_t)rows;
    }
    char *results = at;
    at += 8 * (size_t)seg->n_outputs;
    for (uint32_t i = 0; i < seg->n_scalars; i++) {
        if (!scalar_rowed(g, i)) {
            jn_dev_rows_constant(w, i);
            continue;
        }
        w->data.scalar[i] = at;
        at += 8 * (size_t)g->rows;
    }
    for (uint32_t i = 0; i < seg->n_values; i++) {
        const jn_segvalue *v = &g->inst->values[i];
        if (v->alias)
            jn_dev_rows_alias(w, i);
        else if (v->shape && !w->v->inside[i] &&
                 !(w->data.value[i] =
                       jn_trace_take(t, v->shape->bytes * (w->v->rowed[i] ? g->rows : 1))))
            return JN_NO_MEMORY();
    }
    for (uint32_t i = 0; i < seg->n_nodes; i++)
        if (!adds(&w->v->nodes[i]))
            JN_TRY(jn_dev_rows_node(w, &w->v->nodes[i]));
    for (uint32_t i = 0; i < seg->n_outputs; i++) {
        uint32_t value = seg->nodes[seg->output[i].index].value[seg->output[i].index_out];
        JN_TRY(jn_trace_give_rows(t, results + 8 * (size_t)i, w->data.value[value], table, g->rows,
                                  g->inst->out[i]->bytes));
    }
    keep_operands(g, w, t);
    return JANUS_OK;
}

static void plan_free(void *more) { jn_free(more); }

static janus_status make_plan(const group *g, const jn_dev_rows *w, const jn_trace *t, char *table,
                              plan **out) {
    const jn_segment *seg = g->inst->seg;
    plan *p =
        jn_calloc(1, sizeof *p + ((size_t)seg->n_inputs + seg->n_values + 1) * sizeof *p->in_at);
    if (!p)
        return JN_NO_MEMORY();
    p->in_at = (size_t *)(void *)(p + 1);
    p->value_at = p->in_at + seg->n_inputs;
    p->table_at = jn_trace_offset(t, table);
    for (uint32_t i = 0; i < seg->n_inputs; i++)
        p->in_at[i] = jn_trace_offset(t, w->data.input[i]);
    for (uint32_t i = 0; i < seg->n_values; i++)
        p->value_at[i] = jn_trace_offset(t, w->data.value[i]);
    *out = p;
    return JANUS_OK;
}

static janus_status record(const group *g, const uint64_t *key, size_t n_key, jn_capture **out) {
    jn_run *r = g->r;
    jn_dev_rows w = {
        .r = r, .d = r->dev, .inst = g->inst, .task = g->task, .n = g->rows, .v = g->v};
    jn_variant *wide = NULL;
    janus_run_stats before = r->stats;
    plan *p = NULL;
    jn_trace t;
    JN_TRY(jn_variant_get(g->l, g->inst, (jn_variant_key){g->key.mask, g->key.part, JN_FOR_LAST},
                          g->rows, &wide));
    w.v = wide;
    JN_TRY(jn_dev_rows_tables(&w));
    jn_trace_init(&t);
    char *table = jn_trace_take(&t, 8 * fill_table(g, NULL));
    janus_status st = table ? JANUS_OK : JN_NO_MEMORY();
    if (st == JANUS_OK) {
        jn_trace_fix(&t, table);
        r->of_schedule.trace = &t;
        st = write_down(g, &w, &t, table);
        r->of_schedule.trace = NULL;
    }
    if (st == JANUS_OK)
        st = jn_trace_plan(&t, g->s->d, g->s->single);
    if (st == JANUS_OK && t.bytes > r->mem->ceiling)
        st = jn_error(JANUS_NO_MEMORY, "a capture would need %zu bytes", t.bytes);
    if (st == JANUS_OK)
        st = make_plan(g, &w, &t, table, &p);
    if (st == JANUS_OK)
        st = jn_schedule_record(g->s, &g->s->rows, &t, key, n_key * sizeof *key, 0, out);
    if (st == JANUS_OK) {
        p->calls = r->stats.kernels - before.kernels;
        (*out)->more = p;
        (*out)->free_more = plan_free;
        (*out)->owner = r->set;
    } else {
        jn_free(p);
    }
    r->stats = before;
    jn_trace_free(&t);
    jn_free(w.host);
    return st;
}

/* ---- replaying ----------------------------------------------------------------------------------
 */

/* Sums, of the rows there are. */
static janus_status add_up(const group *g, jn_dev_rows *w, const plan *p, char *arena) {
    const jn_segment *seg = g->inst->seg;
    size_t rowed = 8 * fill_table(g, NULL);
    for (uint32_t i = seg->n_scalars; i-- > 0;) { /* the table's end, backwards */
        if (!scalar_rowed(g, i)) {
            jn_dev_rows_constant(w, i);
            continue;
        }
        rowed -= 8 * (size_t)g->rows;
        w->data.scalar[i] = arena + p->table_at + rowed;
    }
    for (uint32_t i = 0; i < seg->n_inputs; i++)
        w->data.input[i] = p->in_at[i] == SIZE_MAX ? g->task[0]->in[i]->data : arena + p->in_at[i];
    for (uint32_t i = 0; i < seg->n_values; i++)
        if (g->inst->values[i].alias)
            jn_dev_rows_alias(w, i);
        else if (p->value_at[i] != SIZE_MAX)
            w->data.value[i] = arena + p->value_at[i];
    for (uint32_t i = 0; i < seg->n_nodes; i++)
        if (adds(&g->v->nodes[i]))
            JN_TRY(jn_dev_rows_node(w, &g->v->nodes[i]));
    return JANUS_OK;
}

static janus_status replay(const group *g, jn_capture *c) {
    const plan *p = c->more;
    jn_dev_rows w = {
        .r = g->r, .d = g->r->dev, .inst = g->inst, .task = g->task, .n = g->n, .v = g->v};
    jn_dev_block *workspace = NULL;
    bool any = false, stopped;
    char *arena = jn_capture_arena(c);
    size_t words = fill_table(g, NULL);
    uint64_t *table = jn_calloc(words, sizeof *table);
    janus_status st = table ? JANUS_OK : JN_NO_MEMORY();
    if (st == JANUS_OK) {
        fill_table(g, table);
        st = jn_dev_upload(w.d, arena + p->table_at, table, words * sizeof *table);
    }
    jn_free(table);
    if (st == JANUS_OK) {
        void *timed = jn_dev_timed_begin(w.d);
        st = jn_capture_replay(&g->s->rows, c, w.d->stream, false, &stopped);
        if (JN_UNLIKELY(timed != NULL))
            jn_dev_timed_end(w.d, timed, "captured rows", NULL, 0, g->n);
    }
    for (uint32_t i = 0; i < g->inst->seg->n_nodes; i++)
        any |= adds(&g->v->nodes[i]);
    if (st == JANUS_OK && any)
        st = jn_dev_rows_tables(&w);
    if (st == JANUS_OK && any && g->v->workspace)
        st = jn_dev_pool_take(&w.d->pool, g->v->workspace, w.d->stream, &workspace);
    if (st == JANUS_OK && any) {
        w.workspace = workspace ? workspace->data : NULL;
        st = add_up(g, &w, p, arena);
    }
    jn_dev_pool_free(&w.d->pool, workspace);
    jn_free(w.host);
    g->r->stats.kernels += p->calls;
    return st;
}

/* ---- a group ------------------------------------------------------------------------------------
 */

/* What a capture is known by; NULL: out of memory. */
static uint64_t *make_key(const group *g, size_t *out_n) {
    const jn_segment *seg = g->inst->seg;
    uint64_t *key = jn_alloc((4 + (size_t)seg->n_inputs + seg->n_scalars) * sizeof *key);
    size_t n = 0;
    if (!key)
        return NULL;
    key[n++] = g->inst->serial;
    key[n++] = g->key.mask;
    key[n++] = g->rows;
    key[n++] = jn_dev_precision(g->r->dev);
    for (uint32_t i = 0; i < seg->n_inputs; i++)
        if (!input_taken(g, i))
            key[n++] = (uintptr_t)g->task[0]->in[i]->data;
    for (uint32_t i = 0; i < seg->n_scalars; i++)
        if (!scalar_rowed(g, i) && !seg->scalars[i].is_const)
            key[n++] = (uint64_t)g->task[0]->scalars[i];
    *out_n = n;
    return key;
}

janus_status jn_dev_rows_replay(jn_lane *l, jn_seginst *inst, jn_variant_key key,
                                const jn_variant *v, jn_task **task, uint32_t n, bool *done) {
    group g = {l, l->run, l->run->dev->schedule, inst, key, v, task, n, rounded_rows(n)};
    jn_capture *c = NULL;
    size_t n_key;
    *done = false;
    if (!g.s || !g.s->on || g.r->of_schedule.trace || g.r->exact || n < 2 || n > MOST_ROWS ||
        inst->seg->n_inputs + inst->seg->n_scalars > MOST_BITS || !suits(&g))
        return JANUS_OK;
    uint64_t *words = make_key(&g, &n_key);
    if (!words)
        return JN_NO_MEMORY();
    jn_capture_way way = jn_captures_choose(&g.s->rows, words, n_key * sizeof *words, &c);
    janus_status st = JANUS_OK;
    if (way == JN_WAY_RECORD && inst->row_records < MOST_RECORDS) {
        inst->row_records++;
        st = record(&g, words, n_key, &c);
        if (st == JANUS_NO_MEMORY || st == JANUS_UNSUPPORTED || st == JANUS_DEVICE) {
            inst->row_records = MOST_RECORDS; /* it runs uncaptured */
            st = JANUS_OK;
        }
    }
    jn_free(words);
    if (!c || st != JANUS_OK)
        return st;
    st = replay(&g, c);
    jn_capture_drop(&g.s->rows, c);
    pthread_mutex_lock(&g.s->lock);
    g.s->stats.row_replays++;
    pthread_mutex_unlock(&g.s->lock);
    *done = st == JANUS_OK;
    return st;
}
