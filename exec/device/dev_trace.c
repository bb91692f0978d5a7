/* SPDX-License-Identifier: Apache-2.0 */
/* Launches written down: see exec/device/dev_trace.h. */
#include "config.h"

#include "exec/device/dev_trace.h"

#include <string.h>

#include "exec/device/dev_join.h"
#include "exec/device/device.h"

enum { NONE = UINT32_MAX };

/* Addresses of blocks: where no device and no host has memory. */
#define FIRST_ADDRESS ((uintptr_t)1 << 62)

typedef enum op_kind { CALL, GATHER, SUM, ZERO, TAKE_ROWS, GIVE_ROWS, BRANCH } op_kind;

struct jn_trace_op {
    op_kind kind;
    const jn_op *op;
    jn_kernel_fn kernel;
    jn_kargs k;               /* CALL: views and their dims are the trace's own */
    const jn_dev_many *many;  /* CALL: how it is launched ... */
    struct jn_trace_op *with; /* ... with this one, which has another; NULL: alone */
    void **src;               /* GATHER */
    uint32_t n;
    void *to; /* not GIVE_ROWS */
    size_t bytes;
    const void *from;          /* SUM, GIVE_ROWS */
    const void *table, *count; /* TAKE_ROWS, GIVE_ROWS */
    int64_t numel, step;
    uint8_t dtype;
    /* BRANCH: from, table: the value before and after a round; to: its rounds are counted here; n:
     * the most of them */
    jn_trace_ops body[2], *outer;
    bool loop;
};
typedef struct jn_trace_op trace_op;

void jn_trace_init(jn_trace *t) {
    *t = (jn_trace){.next = FIRST_ADDRESS};
    t->into = &t->ops;
    jn_arena_init(&t->arena, 0);
}

void jn_trace_free(jn_trace *t) {
    jn_stream_plan_free(&t->plan);
    for (size_t i = 0; i < t->bodies.n; i++)
        jn_vec_free(t->bodies.data[i]);
    jn_vec_free(&t->bodies);
    jn_vec_free(&t->ops);
    jn_vec_free(&t->blocks);
    jn_vec_free(&t->touches);
    jn_arena_free(&t->arena);
}

char *jn_trace_take(jn_trace *t, size_t bytes) {
    if (bytes > SIZE_MAX / 8)
        return NULL;
    jn_trace_block b = {.at = t->next, .bytes = bytes};
    if (!jn_vec_push(&t->blocks, b))
        return NULL;
    t->next += ((bytes + 255) & ~(size_t)255) + 256; /* never side by side */
    return (char *)b.at;
}

/* The block an address lies in, NONE: it is not the trace's. */
static uint32_t block_of(const jn_trace *t, const void *p) {
    uintptr_t at = (uintptr_t)p;
    if (at < FIRST_ADDRESS || at >= t->next)
        return NONE;
    size_t low = 0, high = t->blocks.n;
    while (high - low > 1) {
        size_t mid = (low + high) / 2;
        if (t->blocks.data[mid].at <= at)
            low = mid;
        else
            high = mid;
    }
    return (uint32_t)low;
}

void jn_trace_keep(jn_trace *t, const void *p) {
    uint32_t b = block_of(t, p);
    if (b != NONE)
        t->blocks.data[b].kept = true;
}

void jn_trace_fix(jn_trace *t, const void *p) {
    uint32_t b = block_of(t, p);
    if (b != NONE)
        t->blocks.data[b].fixed = true;
}

static bool touch(jn_trace *t, const void *p, bool writes) {
    uint32_t b = p ? block_of(t, p) : NONE;
    jn_trace_touch x = {(uint32_t)t->ops.n, b, writes};
    return b == NONE || jn_vec_push(&t->touches, x);
}

static janus_status append(jn_trace *t, const trace_op *o, bool touched) {
    trace_op *own = jn_arena_dup(&t->arena, o, sizeof *o);
    t->n_launches++;
    return own && touched && jn_vec_push(t->into, own) ? JANUS_OK : JN_NO_MEMORY();
}

/* Views of variants are patched for other numbers of rows later. */
static jn_view *copy_views(jn_trace *t, const jn_view *v, unsigned n) {
    jn_view *own = jn_arena_alloc(&t->arena, (n + 1) * sizeof *own);
    for (unsigned i = 0; i < n && own; i++) {
        own[i] = v[i];
        if (v[i].rank <= 0)
            continue;
        size_t bytes = (size_t)v[i].rank * sizeof(int64_t);
        own[i].dims = v[i].dims ? jn_arena_dup(&t->arena, v[i].dims, bytes) : NULL;
        own[i].strides = v[i].strides ? jn_arena_dup(&t->arena, v[i].strides, bytes) : NULL;
        if ((v[i].dims && !own[i].dims) || (v[i].strides && !own[i].strides))
            return NULL;
    }
    return own;
}

janus_status jn_trace_call(jn_trace *t, const jn_op *op, jn_kernel_fn kernel, const jn_kargs *k,
                           size_t workspace) {
    trace_op o = {.kind = CALL, .op = op, .kernel = kernel, .k = *k};
    o.k.in = copy_views(t, k->in, k->n_in);
    o.k.out = copy_views(t, k->out, k->n_out);
    if (!o.k.in || !o.k.out)
        return JN_NO_MEMORY();
    bool ok = true;
    for (unsigned i = 0; i < k->n_in; i++)
        if (k->in[i].rank >= 0 && jn_op_accept(op, i) != JN_ACCEPT_LIKE)
            ok &= touch(t, k->in[i].data, false);
    for (unsigned i = 0; i < k->n_out; i++)
        ok &= touch(t, k->out[i].data, true);
    o.k.workspace = NULL;
    if (workspace) {
        o.k.workspace = jn_trace_take(t, workspace);
        ok &= o.k.workspace && touch(t, o.k.workspace, true);
    }
    t->may_raise |= (op->flags & JN_OP_MAY_RAISE) != 0;
    return append(t, &o, ok);
}

janus_status jn_trace_gather(jn_trace *t, void *to, void *const *src, uint32_t n, size_t bytes) {
    trace_op o = {.kind = GATHER, .to = to, .n = n, .bytes = bytes};
    o.src = jn_arena_dup(&t->arena, src, n * sizeof *src);
    bool ok = touch(t, to, true);
    for (uint32_t i = 0; i < n; i++)
        ok &= touch(t, src[i], false);
    return append(t, &o, ok && o.src);
}

janus_status jn_trace_sum(jn_trace *t, void *acc, const void *x, int64_t numel, int64_t rows,
                          int64_t step, uint8_t dtype) {
    trace_op o = {.kind = SUM,
                  .to = acc,
                  .from = x,
                  .numel = numel,
                  .n = (uint32_t)rows,
                  .step = step,
                  .dtype = dtype};
    bool ok = touch(t, x, false);
    ok &= touch(t, acc, true);
    return append(t, &o, ok);
}

janus_status jn_trace_take_rows(jn_trace *t, void *to, const void *table, const void *count,
                                uint32_t rows, size_t bytes) {
    trace_op o = {
        .kind = TAKE_ROWS, .to = to, .table = table, .count = count, .n = rows, .bytes = bytes};
    bool ok = touch(t, to, true);
    ok &= touch(t, table, false);
    return append(t, &o, ok);
}

janus_status jn_trace_give_rows(jn_trace *t, const void *table, const void *from, const void *count,
                                uint32_t rows, size_t bytes) {
    trace_op o = {
        .kind = GIVE_ROWS, .from = from, .table = table, .count = count, .n = rows, .bytes = bytes};
    bool ok = touch(t, from, false);
    ok &= touch(t, table, false);
    return append(t, &o, ok);
}

janus_status jn_trace_zero(jn_trace *t, void *p, size_t bytes) {
    trace_op o = {.kind = ZERO, .to = p, .bytes = bytes};
    return append(t, &o, touch(t, p, true));
}

janus_status jn_trace_branch(jn_trace *t, bool loop, trace_op **out) {
    trace_op *o = jn_arena_zalloc(&t->arena, sizeof *o);
    if (!o || !jn_vec_push(&t->bodies, &o->body[0]) || !jn_vec_push(&t->bodies, &o->body[1]))
        return JN_NO_MEMORY();
    if (++t->depth > JN_TRACE_DEPTH)
        return jn_error(JANUS_UNSUPPORTED, "no capture: branches in branches in branches");
    if (t->depth > t->max_depth)
        t->max_depth = t->depth;
    o->kind = BRANCH;
    o->loop = loop;
    o->outer = t->into;
    *out = o;
    return JANUS_OK;
}

void jn_trace_body(jn_trace *t, trace_op *branch, unsigned which) {
    t->into = &branch->body[which];
}

janus_status jn_trace_branch_end(jn_trace *t, trace_op *o, const void *value, const void *again,
                                 uint8_t dtype, void *rounds, uint32_t most) {
    t->into = o->outer;
    t->depth--;
    o->from = value;
    o->table = again;
    o->dtype = dtype;
    o->n = most;
    bool ok = touch(t, value, false);
    ok &= touch(t, again, false);
    if (rounds) {
        o->to = rounds;
        ok &= touch(t, rounds, true);
        t->may_raise = true; /* it may set the abort word */
    }
    t->n_launches += 1 + o->body[0].n + o->body[1].n;
    return ok && jn_vec_push(t->into, o) ? JANUS_OK : JN_NO_MEMORY();
}

/* ---- planning -----------------------------------------------------------------------------------
 */

typedef JN_VEC(jn_edge) edges;

static bool put(edges *e, uint32_t from, uint32_t to) {
    jn_edge x = {from, to};
    return from == NONE || from == to || jn_vec_push(e, x);
}

/* A write comes after the write before it and what has read that; a read after the write. */
static janus_status order_of_touches(const jn_trace *t, edges *e) {
    uint32_t *writer = jn_alloc((t->blocks.n + 1) * 2 * sizeof *writer);
    uint32_t *last = writer + t->blocks.n;                            /* reader since, a list: */
    uint32_t *before = jn_alloc((t->touches.n + 1) * sizeof *before); /* by touch */
    bool ok = writer && before;
    if (ok)
        memset(writer, 0xff, t->blocks.n * 2 * sizeof *writer);
    for (size_t i = 0; i < t->touches.n && ok; i++) {
        const jn_trace_touch *x = &t->touches.data[i];
        ok = put(e, writer[x->block], x->op);
        if (!x->writes) {
            before[i] = last[x->block];
            last[x->block] = (uint32_t)i;
            continue;
        }
        for (uint32_t k = last[x->block]; k != NONE && ok; k = before[k])
            ok = put(e, t->touches.data[k].op, x->op);
        last[x->block] = NONE;
        writer[x->block] = x->op;
    }
    jn_free(writer);
    jn_free(before);
    return ok ? JANUS_OK : JN_NO_MEMORY();
}

static size_t rounded(size_t bytes) { return (bytes + 255) & ~(size_t)255; }

/* Fixed blocks first, the others by when they are used. */
static janus_status place(jn_trace *t) {
    size_t n = t->blocks.n, m = 0, head = 0, total = 0;
    jn_plan_value *v = jn_calloc(n + 1, sizeof *v);
    uint32_t *which = jn_alloc((n + 1) * sizeof *which);
    uint32_t *start = jn_calloc(n + 2, sizeof *start);
    uint32_t *use = jn_alloc((t->touches.n + 1) * sizeof *use);
    janus_status st = JANUS_OK;
    if (!v || !which || !start || !use) {
        st = JN_NO_MEMORY();
        goto done;
    }
    for (size_t i = 0; i < t->touches.n; i++)
        start[t->touches.data[i].block + 2]++;
    for (size_t b = 0; b < n; b++)
        start[b + 2] += start[b + 1];
    for (size_t i = 0; i < t->touches.n; i++)
        use[start[t->touches.data[i].block + 1]++] = t->touches.data[i].op;
    for (size_t b = 0; b < n; b++) {
        jn_trace_block *k = &t->blocks.data[b];
        uint32_t uses = start[b + 1] - start[b];
        if (k->fixed) {
            k->offset = head;
            head += rounded(k->bytes);
        } else if (uses) {
            v[m] =
                (jn_plan_value){k->bytes, use[start[b]], use + start[b] + 1, uses - 1, k->kept, 0};
            which[m++] = (uint32_t)b;
        }
    }
    JN_GO(jn_memory_plan(&t->plan, v, m, &total), done);
    for (size_t i = 0; i < m; i++)
        t->blocks.data[which[i]].offset = head + v[i].offset;
    t->bytes = head + total;
done:
    jn_free(v);
    jn_free(which);
    jn_free(start);
    jn_free(use);
    return st;
}

/* kind[u]: which ops are like op u, 0: none. */
static void find_kinds(const jn_trace *t, const jn_dev_module *m, uint32_t *kind, uint32_t *first) {
    uint32_t kinds = 0;
    for (uint32_t u = 0; u < t->ops.n; u++) {
        trace_op *o = t->ops.data[u];
        o->many = o->kind == CALL ? m->many(o->kernel) : NULL;
        for (uint32_t i = 0; i < kinds && o->many && !kind[u]; i++) {
            const trace_op *f = t->ops.data[first[i]];
            if (f->kernel == o->kernel && o->many->like(&f->k, &o->k))
                kind[u] = i + 1;
        }
        if (o->many && !kind[u]) {
            first[kinds++] = u;
            kind[u] = kinds;
        }
    }
}

/* Ops with one number behind each other are one; their touches are in the order of numbers. */
static janus_status renumber(jn_trace *t, const uint32_t *to, uint32_t n) {
    trace_op **op = jn_calloc(n + 1, sizeof *op), **end = jn_calloc(n + 1, sizeof *end);
    jn_trace_touch *touch = jn_alloc((t->touches.n + 1) * sizeof *touch);
    uint32_t *at = jn_calloc((size_t)n + 2, sizeof *at);
    janus_status st = op && end && touch && at ? JANUS_OK : JN_NO_MEMORY();
    for (uint32_t u = 0; u < t->ops.n && st == JANUS_OK; u++) {
        trace_op *o = t->ops.data[u];
        if (op[to[u]])
            end[to[u]]->with = o;
        else
            op[to[u]] = o;
        end[to[u]] = o;
    }
    for (size_t i = 0; i < t->touches.n && st == JANUS_OK; i++)
        at[to[t->touches.data[i].op] + 1]++;
    for (uint32_t u = 0; u < n && st == JANUS_OK; u++)
        at[u + 1] += at[u];
    for (size_t i = 0; i < t->touches.n && st == JANUS_OK; i++) {
        jn_trace_touch x = t->touches.data[i];
        x.op = to[x.op];
        touch[at[x.op]++] = x;
    }
    if (st == JANUS_OK) {
        memcpy(t->ops.data, op, n * sizeof(trace_op *));
        if (t->touches.n)
            memcpy(t->touches.data, touch, t->touches.n * sizeof *touch);
        t->n_launches -= t->ops.n - n;
        t->ops.n = n;
    }
    jn_free(op);
    jn_free(end);
    jn_free(touch);
    jn_free(at);
    return st;
}

/* What can be one launch is one op; `e`: the order. */
static janus_status join_like(jn_trace *t, const jn_dev_module *m, const edges *e, bool *joined) {
    uint32_t n = (uint32_t)t->ops.n, *kind = jn_calloc(3 * (size_t)n + 1, sizeof *kind), left = n;
    janus_status st = JANUS_OK;
    if (!kind)
        return JN_NO_MEMORY();
    find_kinds(t, m, kind, kind + n);
    JN_GO(jn_join_like(n, e->data, e->n, kind, kind + 2 * (size_t)n, &left), done);
    *joined = left < n;
    if (*joined)
        st = renumber(t, kind + 2 * (size_t)n, left);
done:
    jn_free(kind);
    return st;
}

janus_status jn_trace_plan(jn_trace *t, const jn_device *d, bool single) {
    edges e = {0};
    bool joined = false;
    janus_status st = order_of_touches(t, &e);
    if (st == JANUS_OK && d->module->many)
        st = join_like(t, d->module, &e, &joined);
    if (st == JANUS_OK && joined) {
        jn_vec_clear(&e);
        st = order_of_touches(t, &e);
    }
    if (st == JANUS_OK)
        st = jn_streams_assign((uint32_t)t->ops.n, e.data, e.n, single, &t->plan);
    jn_vec_free(&e);
    return st == JANUS_OK ? place(t) : st;
}

/* ---- launching ----------------------------------------------------------------------------------
 */

size_t jn_trace_offset(const jn_trace *t, const void *p) {
    uint32_t b = block_of(t, p);
    return b == NONE ? SIZE_MAX : t->blocks.data[b].offset + ((uintptr_t)p - t->blocks.data[b].at);
}

typedef struct launcher {
    const jn_trace *t;
    jn_device *d;
    char *arena;
    uint32_t *stop;
    void *const *body; /* streams */
} launcher;

static void *real(const launcher *l, const void *p) {
    size_t at = jn_trace_offset(l->t, p);
    return at == SIZE_MAX ? (void *)p : l->arena + at;
}

/* Kernels look at the abort word where they write what outlives the run: what lies in the capture's
 * arena does not, and a library may write it, which knows nothing of the word. */
static const uint32_t *stop_of(const launcher *l, const void *to) {
    return jn_trace_offset(l->t, to) == SIZE_MAX ? l->stop : NULL;
}

static jn_kargs operands(const launcher *l, const trace_op *o, jn_dev_exec *e) {
    jn_kargs k = o->k;
    for (unsigned i = 0; i < k.n_out && !e->stop; i++)
        e->stop = stop_of(l, k.out[i].data);
    for (unsigned i = 0; i < k.n_in; i++)
        ((jn_view *)k.in)[i].data = real(l, k.in[i].data);
    for (unsigned i = 0; i < k.n_out; i++)
        ((jn_view *)k.out)[i].data = real(l, k.out[i].data);
    k.workspace = k.workspace ? real(l, k.workspace) : NULL;
    /* the word beside it serves ops that never raise: nobody reads it */
    k.flags = o->op->flags & JN_OP_MAY_RAISE ? l->stop : l->stop + 1;
    k.par = &e->base;
    return k;
}

static void call(const launcher *l, const trace_op *o, jn_dev_exec *e) {
    uint32_t n = 0, at = 0;
    e->stop = NULL;
    if (!o->with) {
        jn_kargs k = operands(l, o, e);
        o->kernel(&k);
        return;
    }
    for (const trace_op *x = o; x; x = x->with)
        n++;
    jn_kargs *all = jn_alloc(n * sizeof *all);
    if (!all) {
        e->error = JN_DEV_OUT_OF_MEMORY;
        return;
    }
    for (const trace_op *x = o; x; x = x->with)
        all[at++] = operands(l, x, e);
    o->many->run(all, n);
    jn_free(all);
}

static jn_dev_exec exec_on(const launcher *l, void *stream) {
    jn_dev_exec e = l->d->exec;
    e.stream = stream;
    e.stop = l->stop;
    e.error = 0;
    e.scalars_here = l->t->scalars;
    e.scalars_bytes = l->t->scalar_bytes;
    e.scalars_there = l->t->scalar_block ? real(l, l->t->scalar_block) : NULL;
    return e;
}

static janus_status launched(const launcher *l, int error, const char *what) {
    return error ? jn_error(JANUS_DEVICE, "%s on cuda, while a capture is recorded: %s", what,
                            l->d->api->error_text(error))
                 : JANUS_OK;
}

static janus_status launch_one(const launcher *l, const trace_op *o, void *stream) {
    jn_device *d = l->d;
    jn_dev_exec e = exec_on(l, stream);
    pthread_mutex_lock(&d->lock); /* the libraries' handles are of one thread at a time */
    switch (o->kind) {
    case CALL:
        call(l, o, &e);
        break;
    case GATHER:
        for (uint32_t i = 0; i < o->n; i++)
            o->src[i] = real(l, o->src[i]);
        d->module->gather_rows(&e, real(l, o->to), o->src, o->n, o->bytes);
        break;
    case SUM:
        e.stop = stop_of(l, o->to);
        d->module->sum_rows(&e, real(l, o->to), real(l, o->from), o->numel, o->n, o->step,
                            o->dtype);
        break;
    case TAKE_ROWS:
        d->module->take_rows(&e, real(l, o->to), real(l, o->table), real(l, o->count), o->n,
                             o->bytes);
        break;
    case GIVE_ROWS:
        d->module->give_rows(&e, real(l, o->table), real(l, o->from), real(l, o->count), o->n,
                             o->bytes);
        break;
    case ZERO:
        e.error = d->api->fill(real(l, o->to), 0, o->bytes, stream);
        break;
    case BRANCH:
        break;
    }
    int error = e.error ? e.error : d->api->launch_error();
    pthread_mutex_unlock(&d->lock);
    return launched(l, error, o->op ? o->op->name : "a copy");
}

/* The kernel that says whether bodies run (again). */
static janus_status decide(const launcher *l, const trace_op *o, const void *value, bool first,
                           const uint64_t *handle, void *stream) {
    jn_dev_exec e = exec_on(l, stream);
    jn_dev_decision x = {.value = real(l, value),
                         .dtype = o->dtype,
                         .handle = handle,
                         .n = o->loop ? 1 : 2,
                         .rounds = o->to ? real(l, o->to) : NULL,
                         .most = o->n,
                         .first = first,
                         .stop = l->stop};
    pthread_mutex_lock(&l->d->lock);
    l->d->module->decide(&e, &x);
    int error = e.error ? e.error : l->d->api->launch_error();
    pthread_mutex_unlock(&l->d->lock);
    return launched(l, error, "a decision");
}

static janus_status launch_branch(const launcher *l, const trace_op *o, void *stream,
                                  unsigned depth);

static janus_status launch_body(const launcher *l, const trace_op *o, unsigned which,
                                const uint64_t *handle, unsigned depth) {
    const jn_trace_ops *body = &o->body[which];
    void *stream = l->body[depth];
    for (size_t i = 0; i < body->n; i++) {
        const trace_op *x = body->data[i];
        JN_TRY(x->kind == BRANCH ? launch_branch(l, x, stream, depth + 1)
                                 : launch_one(l, x, stream));
    }
    return o->loop ? decide(l, o, o->table, false, handle, stream) : JANUS_OK;
}

static janus_status launch_branch(const launcher *l, const trace_op *o, void *stream,
                                  unsigned depth) {
    const jn_dev_api *api = l->d->api;
    uint64_t handle[2];
    unsigned n = o->loop ? 1 : 2;
    for (unsigned i = 0; i < n; i++)
        JN_TRY(launched(l, api->branch_handle(stream, &handle[i]), "a conditional handle"));
    JN_TRY(decide(l, o, o->from, true, handle, stream));
    for (unsigned i = 0; i < n; i++) {
        JN_TRY(launched(l, api->body_begin(stream, handle[i], o->loop, l->body[depth]),
                        "a conditional node"));
        janus_status st = launch_body(l, o, i, handle, depth);
        /* ended in any case: a stream left in capture mode would be lost */
        int error = api->body_end(l->body[depth]);
        JN_TRY(st);
        JN_TRY(launched(l, error, "a conditional body"));
    }
    return JANUS_OK;
}

static janus_status launch(void *user, uint32_t index, void *stream) {
    const launcher *l = user;
    const trace_op *o = l->t->ops.data[index];
    return o->kind == BRANCH ? launch_branch(l, o, stream, 0) : launch_one(l, o, stream);
}

janus_status jn_trace_launch(const jn_trace *t, jn_device *d, void *const *stream,
                             void *const *body, char *arena, uint32_t *stop) {
    launcher l = {t, d, arena, stop, body};
    return jn_streams_run(&t->plan, d->api, stream, launch, &l);
}
