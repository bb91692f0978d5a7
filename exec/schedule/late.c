/* SPDX-License-Identifier: Apache-2.0 */
/* Late tasks: see exec/schedule/late.h. */
#include "config.h"

#include "exec/schedule/late.h"

#include <stdlib.h>

#include "exec/schedule/early.h"
#include "exec/schedule/group.h"
#include "exec/schedule/rows.h"
#include "exec/schedule/schedule.h"
#include "graph/base/status.h"

enum { LEAST_BYTES = 16 << 10 /* of a task's results: a copy of fewer costs next to nothing */ };

/* A task that may be late. */
struct jn_late {
    jn_late *next; /* in issue order */
    jn_task *task;
    bool out;       /* it is not late after all */
    jn_store **of;  /* per result: the store that it is for */
    uint32_t *uses; /* per result: of its promise, by stores, results, entries of the log */
    int64_t *last;  /* per input: the node that reads it last, -1: none */
    jn_src *writer; /* per result: the node that writes it */
    jn_lane lane;
    jn_group group;
    jn_variant *v;
};

static jn_late never = {.out = true}; /* of tasks that were looked at */

static jn_late *late_of(const jn_task *t) { return t && t->late && !t->late->out ? t->late : NULL; }

/* ---- what a task does --------------------------------------------------------------------------
 */

static bool plain_dtype(const jn_shape *s) { /* kernels for halves allocate */
    return s->dtype != JANUS_F16 && s->dtype != JANUS_BF16;
}

/* Whether a node neither raises nor allocates. */
static bool is_sure(const jn_segnode *n) {
    return n->op->flags & (JN_OP_ELEMENTWISE | JN_OP_SURE) && !(n->op->flags & JN_OP_MAY_RAISE);
}

static bool all_sure(const jn_seginst *inst) {
    const jn_segment *seg = inst->seg;
    size_t bytes = 0;
    if (seg->n_accs || seg->branch || !seg->n_outputs)
        return false;
    for (uint32_t i = 0; i < seg->n_inputs; i++)
        if (!plain_dtype(inst->in[i]))
            return false;
    for (uint32_t i = 0; i < seg->n_outputs; i++) {
        if (inst->shares[i] >= 0)
            return false; /* one memory for two results */
        bytes += inst->out[i]->bytes;
    }
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_segnode *n = &seg->nodes[i];
        const jn_segvalue *v = &inst->values[n->value[0]];
        if (v->copied || !plain_dtype(v->shape) || (!v->alias && !is_sure(n)))
            return false;
    }
    return bytes >= LEAST_BYTES;
}

/* Whether operand k of a node may lie where its result `out` is written. */
static bool may_replace(const jn_segnode *n, uint32_t out, uint32_t k) {
    if (n->op->flags & JN_OP_STEP) /* p_new for p; behind the gradient, the state in its order */
        return k == (out > 0 ? out + 1 : 0u);
    return (n->op->flags & JN_OP_ELEMENTWISE) != 0;
}

/* The input that operand k of a node reads, -1: none; *whole: all of it, as it lies. */
static int64_t input_read(const jn_seginst *inst, const jn_segnode *n, uint32_t k, bool *whole) {
    const jn_src *src = &n->in[k];
    *whole = src->kind == JN_SRC_INPUT;
    if (src->kind == JN_SRC_INPUT)
        return src->index;
    if (src->kind != JN_SRC_NODE)
        return -1;
    const jn_segvalue *v = &inst->values[inst->seg->nodes[src->index].value[src->index_out]];
    return v->alias && v->base_input ? (int64_t)v->base : -1;
}

/* Which node reads each input last, -1: none, and which writes each result: it may be a view of
 * all that the node makes. */
static janus_status find_order(jn_run *r, jn_late *l) {
    const jn_seginst *inst = l->task->inst;
    const jn_segment *seg = inst->seg;
    bool whole;
    if (!(l->last = jn_arena_alloc(&r->mem->arena, (seg->n_inputs + 1) * sizeof *l->last)) ||
        !(l->writer = jn_arena_zalloc(&r->mem->arena, seg->n_outputs * sizeof *l->writer)))
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < seg->n_inputs; i++)
        l->last[i] = -1;
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_segnode *n = &seg->nodes[i];
        for (uint32_t k = 0; k < n->n_in && !inst->values[n->value[0]].alias; k++) {
            int64_t input = input_read(inst, n, k, &whole);
            if (input >= 0)
                l->last[input] = i;
        }
        for (uint32_t k = 0; k < n->n_out; k++) {
            const jn_segvalue *v = &inst->values[n->value[k]];
            if (v->output >= 0 && !v->alias)
                l->writer[v->output] = (jn_src){JN_SRC_NODE, (uint8_t)k, i};
        }
    }
    return JANUS_OK;
}

/* Whether result `out` can be written over memory that the input overlaps. */
static bool in_order(const jn_late *l, uint32_t out, uint32_t input) {
    const jn_task *t = l->task;
    const jn_seginst *inst = t->inst;
    const jn_src *w = &l->writer[out];
    if (l->last[input] != w->index)
        return l->last[input] < w->index;
    const jn_segnode *n = &inst->seg->nodes[w->index];
    const jn_shape *shape = inst->values[n->value[w->index_out]].shape;
    bool same = t->in[input]->data == l->of[out]->lo && inst->in[input] == shape, whole;
    for (uint32_t k = 0; k < n->n_in; k++)
        if (input_read(inst, n, k, &whole) == input &&
            !(same && whole && may_replace(n, w->index_out, k)))
            return false;
    return true;
}

/* ---- stores ------------------------------------------------------------------------------------
 */

static int by_address(const void *pa, const void *pb) {
    const jn_store *a = pa, *b = pb;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return a->hi < b->hi ? -1 : a->hi > b->hi;
}

static janus_status add_store(jn_run *r, jn_tval *value, janus_tensor *target, bool only) {
    jn_store s = {.value = value, .target = target, .only = only};
    jn_tensor_extent(target, &s.lo, &s.hi);
    return jn_vec_push(&r->of_schedule.stores, s) ? JANUS_OK : JN_NO_MEMORY();
}

/* All stores that will be made, by address. */
static janus_status find_stores(jn_run *r, const jn_pending_effect *effect, size_t n) {
    for (size_t i = 0; i < r->of_schedule.result_stores.n; i++) {
        const jn_result_store *s = &r->of_schedule.result_stores.data[i];
        if ((!s->when || r->results[s->when - 1].i) && r->results[s->result].t)
            JN_TRY(add_store(r, r->results[s->result].t, s->target, s->only));
    }
    for (size_t i = 0; i < n; i++)
        if (effect[i].kind == JN_EFFECT_STORE)
            JN_TRY(add_store(r, effect[i].value.v.t, effect[i].target->tensor, true));
    if (r->of_schedule.stores.n > 1)
        qsort(r->of_schedule.stores.data, r->of_schedule.stores.n,
              sizeof *r->of_schedule.stores.data, by_address);
    const char *end = NULL;
    for (size_t i = 0; i < r->of_schedule.stores.n; i++) {
        jn_store *s = &r->of_schedule.stores.data[i];
        r->of_schedule.stores_overlap |= s->lo < end;
        s->alone = !(s->lo < end) && !(i + 1 < r->of_schedule.stores.n && s[1].lo < s->hi);
        end = s->hi > end ? s->hi : end;
    }
    return JANUS_OK;
}

/* The first store that ends behind `p`; none of them overlaps another, or all may be meant. */
static size_t first_behind(const jn_run *r, const char *p) {
    size_t lo = 0, hi = r->of_schedule.stores_overlap ? 0 : r->of_schedule.stores.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (r->of_schedule.stores.data[mid].hi > p)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

bool jn_late_overwritten(const jn_run *r, const jn_tval *v) {
    if (!v->dense)
        return false;
    const char *lo, *hi;
    jn_tensor_extent(v->dense, &lo, &hi);
    for (size_t i = first_behind(r, lo);
         i < r->of_schedule.stores.n && r->of_schedule.stores.data[i].lo < hi; i++)
        if (r->of_schedule.stores.data[i].hi > lo)
            return true;
    return false;
}

/* ---- who is late -------------------------------------------------------------------------------
 */

static janus_status candidate(jn_run *r, jn_task *t) {
    const jn_segment *seg = t->inst->seg;
    t->late = &never;
    if (t->id < jn_early_count(r->of_schedule.early) || !all_sure(t->inst))
        return JANUS_OK;
    jn_late *l = jn_arena_zalloc(&r->mem->arena, sizeof *l);
    if (!l || !(l->of = jn_arena_zalloc(&r->mem->arena, seg->n_outputs * sizeof *l->of)) ||
        !(l->uses = jn_arena_zalloc(&r->mem->arena, seg->n_outputs * sizeof *l->uses)))
        return JN_NO_MEMORY();
    l->task = t;
    JN_TRY(find_order(r, l));
    t->late = l;
    jn_late **at = &r->of_schedule.late;
    while (*at && (*at)->task->id < t->id)
        at = &(*at)->next;
    l->next = *at;
    *at = l;
    return JANUS_OK;
}

static void count_use(const jn_tval *v) {
    jn_late *l = v ? late_of(v->task) : NULL;
    if (l)
        l->uses[v - l->task->out]++;
}

static void count_box(jn_box b) {
    b = jn_box_now(b);
    if (b.kind == JANUS_KIND_TENSOR)
        count_use(b.v.t);
}

/* Results and the log; stores among both. */
static void count_uses(jn_run *r, const jn_pending_effect *effect, size_t n) {
    for (size_t i = 0; i < r->sub->results.n; i++)
        if (r->sub->result_types.data[i]->kind == JANUS_KIND_TENSOR)
            count_use(r->results[i].t);
    for (size_t i = 0; i < n; i++) {
        const jn_pending_effect *e = &effect[i];
        count_box(e->key);
        count_box(e->value);
        for (uint32_t k = 0; k < e->n_items; k++)
            count_box(e->items[k]);
    }
}

static bool fits(const jn_store *s) {
    const janus_tensor *t = s->target;
    const jn_shape *shape = s->value->shape;
    bool same = s->alone && s->only && jn_tensor_ready_data(t) && t->contiguous &&
                !t->storage->device && t->dtype == shape->dtype && t->rank == shape->rank;
    for (int d = 0; same && d < t->rank; d++)
        same = t->dims[d] == shape->dims[d];
    return same;
}

static janus_status find_candidates(jn_run *r, const jn_pending_effect *effect, size_t n) {
    for (size_t i = 0; i < r->of_schedule.stores.n; i++) {
        jn_store *s = &r->of_schedule.stores.data[i];
        jn_tval *v = s->value;
        if (!v->task || v->task->done || v->rows || !fits(s))
            continue;
        if (!v->task->late)
            JN_TRY(candidate(r, v->task));
        jn_late *l = late_of(v->task);
        if (!l)
            continue;
        l->out |= l->of[v - v->task->out] != NULL; /* of two tensors */
        l->of[v - v->task->out] = s;
    }
    count_uses(r, effect, n);
    for (jn_late *l = r->of_schedule.late; l; l = l->next)
        for (uint32_t i = 0; i < l->task->inst->seg->n_outputs; i++)
            l->out |= !l->of[i] || l->uses[i] != 1;
    return JANUS_OK;
}

/* Who waits for a late task is late, too. */
static bool drop_what_others_wait_for(const jn_run *r) {
    bool dropped = false;
    for (size_t k = jn_early_count(r->of_schedule.early); k < r->of_schedule.pending.n; k++) {
        const jn_task *t = r->of_schedule.pending.data[k];
        for (uint32_t i = 0; i < t->inst->seg->n_inputs && !late_of(t); i++) {
            jn_late *l = late_of(t->in[i]->task);
            if (l)
                l->out = dropped = true;
        }
    }
    return dropped;
}

/* What a late task reads, no earlier one overwrites, nor itself too soon. */
static bool drop_what_is_read_later(jn_run *r) {
    bool dropped = false;
    for (jn_late *l = r->of_schedule.late; l; l = l->next) {
        const jn_task *t = l->task;
        for (uint32_t i = 0; i < t->inst->seg->n_inputs && !l->out; i++) {
            const jn_tval *in = t->in[i];
            if (!in->dense)
                continue;
            const char *lo = in->data, *hi = lo + in->shape->bytes;
            for (size_t k = first_behind(r, lo);
                 k < r->of_schedule.stores.n && r->of_schedule.stores.data[k].lo < hi; k++) {
                const jn_store *s = &r->of_schedule.stores.data[k];
                jn_late *w = s->hi > lo ? late_of(s->value->task) : NULL;
                uint32_t out = w ? (uint32_t)(s->value - w->task->out) : 0;
                if (!w || w->of[out] != s || w->task->id > t->id)
                    continue;
                if (w == l && in_order(l, out, i))
                    continue;
                w->out = dropped = true;
            }
        }
    }
    return dropped;
}

/* What is stored as it was is not overwritten first. */
static void drop_what_is_stored(jn_run *r) {
    for (size_t i = 0; i < r->of_schedule.stores.n; i++) {
        const jn_tval *v = r->of_schedule.stores.data[i].value;
        const jn_tval *base = v->rows && !v->data ? v->rows->base : v;
        const char *lo, *hi;
        if (!base || !base->dense)
            continue;
        jn_tensor_extent(base->dense, &lo, &hi);
        for (size_t k = first_behind(r, lo);
             k < r->of_schedule.stores.n && r->of_schedule.stores.data[k].lo < hi; k++) {
            jn_late *w = r->of_schedule.stores.data[k].hi > lo
                             ? late_of(r->of_schedule.stores.data[k].value->task)
                             : NULL;
            if (w)
                w->out = true;
        }
    }
}

/* ---- keeping them back -------------------------------------------------------------------------
 */

static janus_status make_ready(jn_run *r, jn_late *l) {
    jn_seginst *inst = l->task->inst;
    l->lane = (jn_lane){.run = r};
    l->group = (jn_group){.lane = &l->lane, .inst = inst, .task = &l->task, .n = 1, .ranges = 1};
    l->group.layout = jn_arena_zalloc(&r->mem->arena, inst->seg->n_inputs + 1);
    _Static_assert(JN_ROWS_SHARED == 0, "the layout of all inputs of one row");
    if (!l->group.layout)
        return JN_NO_MEMORY();
    jn_early_beside(r->of_schedule.early, &l->lane);
    janus_status st =
        jn_variant_get(&l->lane, inst, (jn_variant_key){0, 0, JN_FOR_STORES}, 1, &l->v);
    l->lane.lock = NULL; /* alone when it runs */
    return st == JANUS_OK ? jn_tile_reserve(&l->group, l->v, 1, 0) : st;
}

/* The others, numbered anew. */
static janus_status take_out(jn_run *r) {
    jn_of_schedule *s = &r->of_schedule;
    uint32_t *number = jn_alloc(s->pending.n * sizeof *number), n = (uint32_t)s->pending.n;
    if (!number)
        return JN_NO_MEMORY();
    uint32_t given = jn_early_count(s->early), to = given;
    for (uint32_t i = 0; i < given; i++)
        number[i] = i;
    for (uint32_t i = given; i < n; i++) {
        jn_task *t = s->pending.data[i];
        uint32_t *dep = s->deps.data + t->first_dep;
        if (late_of(t)) {
            r->stats.ops += t->inst->seg->n_nodes;
            continue;
        }
        number[i] = t->id = to;
        s->pending.data[to++] = t;
        for (uint32_t k = 0; k < t->n_deps; k++)
            dep[k] = number[dep[k]];
    }
    s->pending.n = to;
    r->stats.tasks += n - to;
    r->stats.batches += n - to;
    jn_free(number);
    return JANUS_OK;
}

static bool gives_frames(const jn_run *r) {
    for (size_t i = 0; i < r->sub->results.n; i++)
        if (r->sub->result_types.data[i]->kind == JANUS_KIND_FRAME)
            return true;
    return false;
}

janus_status jn_late_stores(jn_run *r, jn_result_store store) {
    return jn_vec_push(&r->of_schedule.result_stores, store) ? JANUS_OK : JN_NO_MEMORY();
}

janus_status jn_late_find(jn_run *r, const jn_pending_effect *effect, size_t n) {
    if (!r->on->host || r->aside)
        return JANUS_OK;
    r->of_schedule.late = NULL;
    jn_vec_clear(&r->of_schedule.stores);
    JN_TRY(find_stores(r, effect, n));
    if (!r->of_schedule.stores.n || !r->on->lanes || gives_frames(r))
        return JANUS_OK;
    JN_TRY(find_candidates(r, effect, n));
    if (!r->of_schedule.late)
        return JANUS_OK;
    drop_what_is_stored(r);
    while (drop_what_others_wait_for(r) || drop_what_is_read_later(r))
        ;
    jn_late **at = &r->of_schedule.late;
    while (*at) {
        if ((*at)->out) {
            *at = (*at)->next;
            continue;
        }
        JN_TRY(make_ready(r, *at));
        at = &(*at)->next;
    }
    return r->of_schedule.late ? take_out(r) : JANUS_OK;
}

janus_tensor *jn_late_target(const jn_tval *v) {
    const jn_late *l = late_of(v->task);
    return l ? l->of[v - l->task->out]->target : NULL;
}

janus_status jn_late_run(jn_run *r) {
    int64_t start = r->of_schedule.late ? jn_run_clock() : 0;
    for (jn_late *l = r->of_schedule.late; l; l = l->next) {
        jn_task *t = l->task;
        for (uint32_t i = 0; i < t->inst->seg->n_outputs; i++)
            t->out[i].data = jn_tensor_ready_data(l->of[i]->target);
        JN_TRY(jn_tile_run(&l->group, l->v, &l->task, 1, 0, &r->stats.kernels));
        t->done = true;
        r->stats.late++;
    }
    if (r->of_schedule.late)
        r->stats.tensor_ns += (uint64_t)(jn_run_clock() - start);
    r->of_schedule.late = NULL;
    return JANUS_OK;
}
