/* SPDX-License-Identifier: Apache-2.0 */
/* Recording calls, and running what was recorded: see exec/defer/defer.h. */
#include "config.h"

#include "exec/defer/defer.h"

#include <pthread.h>
#include <string.h>

#include "exec/defer/defer_internal.h"
#include "exec/defer/defer_rule.h"
#include "graph/base/status.h"
#include "graph/ir/ir.h"

enum { MOST_CALLS = 1 << 16, ARENA_CHUNK = 64 << 10, SMALL_BYTES = 256 };
static const size_t most_bytes = (size_t)64 << 20;

struct jn_deferral {
    atomic_int refs;
    jn_deferral_options options;
    jn_deferral_stats stats;
    jn_arena arena;                   /* of the calls */
    JN_VEC(jn_deferred_call *) calls; /* in the order of the program */
    JN_VEC(jn_storage *) lent;        /* held by the calls that read them */
    JN_VEC(janus_tensor *) views;     /* of results that have no memory yet; references */
    uint32_t max_level;
    size_t bytes; /* of results, and of what is lent */
};

/* Guards all deferrals and kinds, and the states of the storages that belong to them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void jn_deferrals_lock(void) { pthread_mutex_lock(&lock); }
void jn_deferrals_unlock(void) { pthread_mutex_unlock(&lock); }

/* A child finds everything as it was between two calls. */
static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
static void watch_forks(void) { pthread_atfork(before_fork, after_fork, after_fork); }

/* ---- kinds of calls -----------------------------------------------------------------------------
 */

bool jn_call_kind_possible(const jn_recipe *r) {
    return r->kernel && (!(r->op->flags & JN_OP_MAY_RAISE) || jn_call_has_bounds(r->op));
}

jn_call_kind *jn_call_kind_new(const jn_recipe *r, const jn_operand_kind *in, const void *attrs) {
    jn_call_kind *k = jn_calloc(1, sizeof *k);
    if (!k)
        return NULL;
    atomic_init(&k->refs, 1);
    k->recipe = *r;
    memcpy(k->in, in, r->n_in * sizeof *in);
    jn_arena_init(&k->arena, 512);
    if (r->op->attr_size && jn_attrs_copy(r->op, attrs, &k->arena, &k->attrs) != JANUS_OK) {
        jn_call_kind_release(k);
        return NULL;
    }
    return k;
}

void jn_call_kind_retain(jn_call_kind *k) {
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
}

void jn_call_kind_release(jn_call_kind *k) {
    if (!k || atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) != 1)
        return;
    jn_call_rows_free(k->rows);
    for (jn_grad_rule *g = k->grads; g; g = g->next)
        if (g->inst)
            jn_seginst_free(g->inst);
    jn_arena_free(&k->arena);
    jn_free(k->types);
    jn_free(k);
}

jn_call_note *jn_call_kind_note(jn_call_kind *k) { return &k->note; }
const void *jn_call_kind_attrs(const jn_call_kind *k) { return k->attrs; }
const jn_type *jn_call_kind_types(const jn_call_kind *k) { return k->types; }

const jn_type *jn_call_kind_keep_types(jn_call_kind *k, const jn_type *types, unsigned n) {
    size_t n_dims = 0;
    for (unsigned i = 0; i < n; i++)
        n_dims += types[i].kind == JANUS_KIND_TENSOR ? (size_t)types[i].rank : 0;
    if (!(k->types = jn_alloc(n * sizeof *types + n_dims * sizeof(int64_t))))
        return NULL;
    int64_t *dims = (int64_t *)(void *)(k->types + n);
    for (unsigned i = 0; i < n; i++) {
        k->types[i] = types[i];
        if (types[i].kind != JANUS_KIND_TENSOR)
            continue;
        memcpy(dims, types[i].dims, (size_t)types[i].rank * sizeof *dims);
        k->types[i].dims = dims;
        dims += types[i].rank;
    }
    return k->types;
}

/* ---- deferrals ----------------------------------------------------------------------------------
 */

static janus_status settle(jn_storage *s);
static janus_status viewed(janus_tensor *base, int64_t offset, janus_tensor *view);

static char *nowhere; /* where results lie that have no memory yet */

static void start(void) {
    watch_forks();
    nowhere = jn_nowhere();
    jn_storage_settle = settle;
    jn_storage_viewed = viewed;
}

jn_deferral *jn_deferral_new(const jn_deferral_options *o) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    jn_deferral *d = nowhere ? jn_calloc(1, sizeof *d) : NULL;
    if (!d)
        return NULL;
    atomic_init(&d->refs, 1);
    d->options = *o;
    if (!d->options.bytes)
        d->options.bytes = most_bytes;
    if (!d->options.calls || d->options.calls > MOST_CALLS)
        d->options.calls = MOST_CALLS;
    jn_arena_init(&d->arena, ARENA_CHUNK);
    return d;
}

void jn_deferral_retain(jn_deferral *d) {
    atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
}

static void deferral_free(jn_deferral *d) {
    jn_vec_free(&d->calls);
    jn_vec_free(&d->lent);
    jn_vec_free(&d->views);
    jn_arena_free(&d->arena);
    jn_free(d);
}

/* Recorded calls hold the deferral as well: together one reference. */
void jn_deferral_release(jn_deferral *d) {
    if (d && atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) == 1)
        deferral_free(d);
}

bool jn_deferral_exact(const jn_deferral *d) { return d->options.exact; }
size_t jn_deferral_bytes(const jn_deferral *d) { return d->options.bytes; }

void jn_deferral_count_back(jn_deferral *d, uint64_t groups, uint64_t grouped, uint64_t alone) {
    pthread_mutex_lock(&lock);
    d->stats.back_groups += groups;
    d->stats.back_grouped += grouped;
    d->stats.back_alone += alone;
    pthread_mutex_unlock(&lock);
}

void jn_deferral_count_traced(jn_deferral *d, uint64_t nodes) {
    pthread_mutex_lock(&lock);
    d->stats.traces++;
    d->stats.traced += nodes;
    pthread_mutex_unlock(&lock);
}

void jn_deferral_stats_get(jn_deferral *d, jn_deferral_stats *out) {
    pthread_mutex_lock(&lock);
    *out = d->stats;
    pthread_mutex_unlock(&lock);
}

/* ---- flushing -----------------------------------------------------------------------------------
 */

/* Whether somebody beside the call itself can reach a result; calls that read it do not count
 * where they read the tensor itself. */
static bool alive(const janus_tensor *t) {
    return atomic_load_explicit(&t->refs, memory_order_acquire) > 1 ||
           atomic_load_explicit(&t->storage->refs, memory_order_acquire) > 1;
}

/* What has been recorded is more than a cache holds: the results of calls to come are asked for
 * ahead. */
enum { AHEAD = 8 };
static inline void expect(const jn_deferred_call *c) {
    __builtin_prefetch(c->out[0], 1);
    __builtin_prefetch((const char *)c->out[0] - 64, 1); /* the storage of a small tensor */
}

/* From the last to the first: what is alive, and what that is computed from. */
static void mark_wanted(jn_deferral *d) {
    for (size_t n = d->calls.n; n-- > 0;) {
        jn_deferred_call *c = d->calls.data[n];
        if (n >= AHEAD)
            expect(d->calls.data[n - AHEAD]);
        for (unsigned i = 0; i < c->kind->recipe.n_out && !c->wanted; i++)
            c->wanted = alive(c->out[i]);
        for (unsigned i = 0; i < c->kind->recipe.n_in && c->wanted; i++)
            if (c->in[i].maker)
                c->in[i].maker->wanted = true;
    }
}

static janus_status run_alone(jn_deferred_call *c) {
    const jn_call_kind *k = c->kind;
    jn_view in[JN_RECIPE_IN], out[JN_RECIPE_OUT];
    for (unsigned i = 0; i < k->recipe.n_in; i++) {
        switch ((jn_operand_from)k->in[i].from) {
        case JN_FROM_TENSOR:
            in[i] = jn_tensor_layout(c->in[i].v.t);
            in[i].data = jn_deferred_data(&c->in[i]);
            break;
        case JN_FROM_NONE:
            in[i] = (jn_view){.rank = -1};
            break;
        default:
            in[i] = (jn_view){&c->in[i].v.cell, NULL, NULL, 0, k->in[i].dtype, true};
        }
    }
    for (unsigned i = 0; i < k->recipe.n_out; i++) {
        out[i] = jn_tensor_layout(c->out[i]);
        JN_TRY(jn_deferred_place(c, i));
        out[i].data = c->at[i];
    }
    return jn_recipe_compute(&k->recipe, in, out, k->attrs);
}

/* The calls of one level.  Those of one kind run together, in the order of the first of each kind.
 */
static janus_status run_level(jn_deferral *d, jn_deferred_call *const *call, size_t n) {
    jn_call_kind *first = NULL, **tail = &first;
    for (size_t i = 0; i < n; i++) {
        jn_call_kind *k = call[i]->kind;
        if (!k->n++) {
            k->tail = &k->first;
            k->next = NULL;
            *tail = k;
            tail = &k->next;
        }
        call[i]->next = NULL;
        *k->tail = call[i];
        k->tail = &call[i]->next;
    }
    janus_status st = JANUS_OK;
    for (jn_call_kind *k = first; k; k = k->next) {
        if (st == JANUS_OK && k->n > 1 && jn_deferred_rows_run(k)) {
            d->stats.groups++;
            d->stats.grouped += k->n;
        } else {
            for (jn_deferred_call *c = k->first; c && st == JANUS_OK; c = c->next)
                st = run_alone(c);
        }
        k->n = 0;
    }
    return st;
}

/* By depth; calls of equal depth in the order of the program. */
static janus_status run_by_level(jn_deferral *d) {
    size_t n = 0, levels = (size_t)d->max_level + 1;
    jn_deferred_call **sorted = jn_alloc(d->calls.n * sizeof *sorted);
    size_t *at = jn_calloc(levels + 1, sizeof *at);
    janus_status st = sorted && at ? JANUS_OK : JN_NO_MEMORY();
    if (st == JANUS_OK) {
        for (size_t i = 0; i < d->calls.n; i++)
            if (d->calls.data[i]->wanted)
                at[d->calls.data[i]->level + 1]++;
        for (size_t l = 0; l < levels; l++)
            at[l + 1] += at[l];
        for (size_t i = 0; i < d->calls.n; i++)
            if (d->calls.data[i]->wanted)
                sorted[at[d->calls.data[i]->level]++] = d->calls.data[i];
        for (size_t l = 0; l < levels && st == JANUS_OK; n = at[l++])
            st = run_level(d, sorted + n, at[l] - n);
    }
    jn_free(sorted);
    jn_free(at);
    return st;
}

static janus_status run_in_order(jn_deferral *d) {
    janus_status st = JANUS_OK;
    for (size_t i = 0; i < d->calls.n && st == JANUS_OK; i++)
        if (d->calls.data[i]->wanted)
            st = run_alone(d->calls.data[i]);
    return st;
}

/* Other threads look at the state without the lock. */
static void make_ready(jn_storage *s) {
    s->user = NULL;
    atomic_store_explicit(&s->state, JN_STORAGE_READY, memory_order_release);
}

/* Views whose only owner is this list are gone. */
static void forget_views(jn_deferral *d) {
    size_t n = 0;
    for (size_t i = 0; i < d->views.n; i++) {
        janus_tensor *v = d->views.data[i];
        if (atomic_load_explicit(&v->refs, memory_order_acquire) == 1)
            janus_tensor_release(v);
        else
            d->views.data[n++] = v;
    }
    d->views.n = n;
}

/* Views lie where their results are now. */
static void place_views(jn_deferral *d) {
    for (size_t i = 0; i < d->views.n; i++) {
        janus_tensor *v = d->views.data[i];
        const jn_deferred_call *c = v->storage->user;
        unsigned k = 0;
        while (c->out[k]->storage != v->storage)
            k++;
        if (c->wanted)
            jn_tensor_follow(v, c->at[k] + (jn_tensor_place(v) - nowhere));
        janus_tensor_release(v);
    }
    jn_vec_clear(&d->views);
}

/* Results that somebody knows and that lie where they cannot stay get blocks of their own. */
static janus_status save_results(jn_deferral *d) {
    for (size_t n = 0; jn_deferred_rows_go() && n < d->calls.n; n++) {
        jn_deferred_call *c = d->calls.data[n];
        for (unsigned i = 0; i < c->kind->recipe.n_out && c->wanted; i++) {
            const janus_tensor *t = c->out[i];
            if (c->of[i] || c->own >> i & 1 || !jn_tensor_promised(t) || !alive(t))
                continue;
            char *own = jn_alloc_aligned(t->storage->bytes);
            if (!own)
                return JN_NO_MEMORY();
            c->at[i] = memcpy(own, c->at[i], t->storage->bytes);
            c->own |= (uint8_t)(1u << i);
        }
    }
    return JANUS_OK;
}

/* What was computed belongs to the tensors that somebody knows; the others are gone. */
static void call_end(jn_deferred_call *c) {
    const jn_recipe *r = &c->kind->recipe;
    for (unsigned i = 0; i < r->n_out; i++) {
        janus_tensor *t = c->out[i];
        if (c->wanted && alive(t)) {
            if (c->of[i] || c->own >> i & 1)
                jn_tensor_put(t, c->at[i], c->of[i]);
            else if (c->at[i] != jn_tensor_place(t))
                memcpy(jn_tensor_place(t), c->at[i], t->storage->bytes);
        } else if (c->own >> i & 1) {
            jn_free_aligned(c->at[i]);
        }
        make_ready(t->storage);
        janus_tensor_release(t);
    }
    for (unsigned i = 0; i < r->n_in; i++)
        if (c->owned >> i & 1)
            janus_tensor_release(c->in[i].v.t);
    jn_call_kind_release(c->kind);
}

/* Everything has run, or was not needed. */
static void forget_all(jn_deferral *d) {
    for (size_t i = 0; i < d->lent.n; i++)
        make_ready(d->lent.data[i]);
    jn_vec_clear(&d->lent);
    place_views(d);
    for (size_t i = 0; i < d->calls.n; i++) {
        if (i + AHEAD < d->calls.n)
            expect(d->calls.data[i + AHEAD]);
        call_end(d->calls.data[i]);
    }
    jn_vec_clear(&d->calls);
    jn_arena_reset(&d->arena);
    d->max_level = 0;
    d->bytes = 0;
}

/* Out of memory: everything stays recorded, and runs with the next flush.  Calls that have run give
 * the same then, since what they read is as it was. */
static void keep_all(jn_deferral *d) {
    for (size_t n = 0; n < d->calls.n; n++) {
        jn_deferred_call *c = d->calls.data[n];
        for (unsigned i = 0; i < c->kind->recipe.n_out; i++)
            if (c->own >> i & 1)
                jn_free_aligned(c->at[i]);
        c->own = 0;
        c->wanted = false;
    }
}

/* After a flush, without the lock. */
static void flushed(jn_deferral *d) {
    if (d->options.flushed)
        d->options.flushed(d);
    jn_deferral_release(d); /* of the calls that were recorded */
}

/* Under the lock. */
static janus_status flush(jn_deferral *d) {
    if (!d->calls.n)
        return JANUS_OK;
    d->stats.flushes++;
    forget_views(d);
    mark_wanted(d);
    for (size_t i = 0; i < d->calls.n; i++)
        d->stats.dropped += !d->calls.data[i]->wanted;
    janus_status st = d->options.exact ? run_in_order(d) : run_by_level(d);
    if (st == JANUS_OK)
        st = save_results(d);
    if (st == JANUS_OK)
        forget_all(d);
    else
        keep_all(d);
    jn_deferred_rows_end();
    return st;
}

janus_status jn_deferral_flush(jn_deferral *d) {
    pthread_mutex_lock(&lock);
    bool held = d->calls.n > 0;
    janus_status st = flush(d);
    bool let_go = held && !d->calls.n;
    pthread_mutex_unlock(&lock);
    if (let_go)
        flushed(d);
    return st;
}

static janus_status settle(jn_storage *s) {
    pthread_mutex_lock(&lock);
    jn_deferral *d = s->state == JN_STORAGE_PENDING ? ((jn_deferred_call *)s->user)->deferral
                     : s->state == JN_STORAGE_LENT  ? s->user
                                                    : NULL;
    janus_status st = d ? flush(d) : JANUS_OK;
    bool let_go = d && !d->calls.n;
    pthread_mutex_unlock(&lock);
    if (let_go)
        flushed(d);
    return st;
}

/* ---- recording ----------------------------------------------------------------------------------
 */

/* Whether an operand can be read later; what another deferral has to do with it is done first. */
static janus_status usable(const jn_deferral *d, const janus_tensor *t, bool *yes,
                           jn_deferral **let_go) {
    const jn_storage *s = t->storage;
    jn_deferral *of = s->state == JN_STORAGE_PENDING ? ((jn_deferred_call *)s->user)->deferral
                      : s->state == JN_STORAGE_LENT  ? s->user
                                                     : NULL;
    if (of && of != d) {
        JN_TRY(flush(of));
        *let_go = of;
        of = NULL;
    }
    *yes = of || (s->state == JN_STORAGE_READY && !s->release && !s->user && !s->device);
    return JANUS_OK;
}

/* Small results have memory of their own, to which they are copied: they would keep much more of a
 * slab than they are. */
static janus_status new_result(jn_thread *me, const jn_recipe *r, unsigned i, janus_tensor **out) {
    const jn_layout *l = &r->out[i];
    janus_dtype dtype = (janus_dtype)l->dtype;
    if ((size_t)l->numel * jn_dtype_size(dtype) <= SMALL_BYTES)
        return jn_tensor_of(me, l, out);
    return jn_tensor_promise(dtype, l->rank, l->dims, l->strides, l->numel, nowhere, out);
}

static janus_status new_results(const jn_recipe *r, janus_tensor **out) {
    jn_thread *me = &jn_this;
    for (unsigned i = 0; i < r->n_out; i++) {
        janus_status st = new_result(me, r, i, &out[i]);
        if (JN_UNLIKELY(st != JANUS_OK)) {
            while (i-- > 0)
                janus_tensor_release(out[i]);
            return st;
        }
    }
    return JANUS_OK;
}

static void take_operand(jn_deferral *d, jn_deferred_call *c, unsigned i) {
    jn_deferred_operand *o = &c->in[i];
    janus_tensor *t = o->v.t;
    jn_storage *s = t->storage;
    o->place = jn_tensor_place(t);
    if (s->state == JN_STORAGE_PENDING) {
        jn_deferred_call *maker = o->maker = s->user;
        while (maker->out[o->result]->storage != s)
            o->result++;
        o->offset = o->place - jn_tensor_place(maker->out[o->result]);
        if (maker->level >= c->level)
            c->level = maker->level + 1;
        if (maker->out[o->result] == t)
            return; /* which lives as long */
    } else if (s->state == JN_STORAGE_READY) {
        s->user = d;
        atomic_store_explicit(&s->state, JN_STORAGE_LENT, memory_order_release);
        d->lent.data[d->lent.n++] = s;
        d->bytes += s->bytes;
    }
    janus_tensor_retain(t);
    c->owned |= (uint8_t)(1u << i);
}

/* Under the lock, all operands being usable. */
static janus_status append(jn_deferral *d, jn_call_kind *k, const jn_deferred_in *in,
                           janus_tensor **out) {
    const jn_recipe *r = &k->recipe;
    jn_deferred_call *c = jn_arena_alloc(&d->arena, sizeof *c + r->n_in * sizeof *c->in);
    if (JN_UNLIKELY(!c || !jn_vec_reserve(&d->calls, d->calls.n + 1) ||
                    !jn_vec_reserve(&d->lent, d->lent.n + r->n_in)))
        return JN_NO_MEMORY();
    JN_TRY(new_results(r, out));
    c->kind = k;
    c->deferral = d;
    c->level = 0;
    c->owned = c->own = 0;
    c->wanted = false;
    for (unsigned i = 0; i < r->n_in; i++) {
        c->in[i] = (jn_deferred_operand){.v = in[i]};
        if (k->in[i].from == JN_FROM_TENSOR)
            take_operand(d, c, i);
        else if (k->in[i].from == JN_FROM_CONST)
            c->in[i].v.cell = k->in[i].cell;
    }
    for (unsigned i = 0; i < r->n_out; i++) {
        c->out[i] = out[i];
        janus_tensor_retain(out[i]);
        out[i]->storage->user = c;
        atomic_store_explicit(&out[i]->storage->state, JN_STORAGE_PENDING, memory_order_release);
        d->bytes += out[i]->storage->bytes;
    }
    if (c->level > d->max_level)
        d->max_level = c->level;
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    if (d->calls.n == 0)
        jn_deferral_retain(d);
    d->calls.data[d->calls.n++] = c;
    d->stats.recorded++;
    return JANUS_OK;
}

janus_status jn_deferral_record(jn_deferral *d, jn_call_kind *k, const jn_deferred_in *in,
                                janus_tensor **out, bool *recorded) {
    jn_deferral *let_go = NULL;
    janus_status st = JANUS_OK;
    bool yes = true, full = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < k->recipe.n_in && yes && st == JANUS_OK; i++)
        if (k->in[i].from == JN_FROM_TENSOR) {
            st = usable(d, in[i].t, &yes, &let_go);
            if (JN_UNLIKELY(let_go)) { /* its reference, without the lock, and once more */
                pthread_mutex_unlock(&lock);
                jn_deferral_release(let_go);
                let_go = NULL;
                i = UINT32_MAX;
                pthread_mutex_lock(&lock);
            }
        }
    if (JN_UNLIKELY(k->recipe.op->flags & JN_OP_MAY_RAISE) && yes && st == JANUS_OK)
        yes = jn_call_in_bounds(k, in);
    if (st == JANUS_OK && yes) {
        st = append(d, k, in, out);
        full = st == JANUS_OK && (d->bytes >= d->options.bytes || d->calls.n >= d->options.calls);
    }
    pthread_mutex_unlock(&lock);
    *recorded = yes && st == JANUS_OK;
    jn_ops_run.eager += *recorded;
    if (JN_UNLIKELY(full) && (st = jn_deferral_flush(d)) != JANUS_OK)
        for (unsigned i = 0; i < k->recipe.n_out; i++)
            janus_tensor_release(out[i]);
    return st;
}

/* A view of a result that has no memory yet has to be told where it is, later. */
static janus_status viewed(janus_tensor *base, int64_t offset, janus_tensor *view) {
    janus_status st = JANUS_OK;
    bool full = false;
    pthread_mutex_lock(&lock);
    jn_tensor_follow(view, jn_tensor_place(base) + offset);
    if (base->storage->state == JN_STORAGE_PENDING && jn_tensor_promised(base)) {
        jn_deferral *d = ((jn_deferred_call *)base->storage->user)->deferral;
        if (jn_vec_push(&d->views, view)) {
            janus_tensor_retain(view);
            full = d->views.n >= d->options.calls;
        } else {
            st = JN_NO_MEMORY();
        }
    }
    pthread_mutex_unlock(&lock);
    return JN_UNLIKELY(full) ? settle(base->storage) : st;
}
