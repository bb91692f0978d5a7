/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of calls: see exec/kernels/replay.h. */
#include "config.h"

#include <string.h>

#include "exec/kernels/kernels.h"
#include "exec/store/store.h"
#include "graph/base/status.h"

enum { MOST_CALLS = 4096, CHUNK = 4096 };

typedef enum jn_replay_kind { KERNEL, CHAIN, COPY } jn_replay_kind;
typedef struct jn_replay_call {
    struct jn_replay_call *next;
    const jn_vnode *vn; /* for messages */
    jn_replay_kind kind;
    union {
        struct {
            jn_kernel_fn run;
            jn_kargs args;
        } kernel;
        struct {
            const jn_chain *c;
            const jn_segment *seg;
            const jn_par *par;
            jn_operands data;
        } chain;
        struct {
            char *to, *from;
            size_t bytes;
        } copy;
    };
} jn_replay_call;

jn_replay *jn_replay_new(uint32_t n_args) {
    jn_replay *p = jn_calloc(1, sizeof *p);
    if (!p)
        return NULL;
    jn_arena_init(&p->arena, CHUNK);
    p->n_args = n_args;
    p->arg = jn_arena_zalloc(&p->arena, (n_args + 1) * sizeof *p->arg);
    if (p->arg)
        return p;
    jn_replay_free(p);
    return NULL;
}

void jn_replay_free(jn_replay *p) {
    if (!p)
        return;
    jn_mem_release(p->mem);
    if (p->idle) {
        jn_free(p->idle->results);
        jn_pool_free(p->idle, sizeof *p->idle);
    }
    for (int i = 0; i < JN_MAX_RANGES; i++)
        jn_free_aligned(p->scratch[i].data);
    jn_vec_free(&p->moves);
    jn_vec_free(&p->apart);
    jn_vec_free(&p->given);
    jn_kept_free(&p->kept);
    jn_arena_free(&p->arena);
    jn_free(p);
}

size_t jn_replay_scratch(const jn_replay *p) {
    size_t bytes = 0;
    for (int i = 0; i < JN_MAX_RANGES; i++)
        bytes += p->scratch[i].bytes;
    return bytes;
}

/* ---- writing -----------------------------------------------------------------------------------
 */

/* If the pointer there points into the memory of an argument, it goes with it. */
static void follow(jn_replay *p, void *place) {
    uintptr_t at;
    memcpy(&at, place, sizeof at);
    for (uint32_t i = 0; i < p->n_args; i++) {
        jn_replay_arg *a = &p->arg[i];
        if (!a->shape || at - (uintptr_t)p->arg[i].data >= a->shape->bytes)
            continue;
        if (!jn_vec_push(&p->moves, ((jn_replay_move){place, a->moves})))
            p->spoiled = true;
        else
            a->moves = (uint32_t)p->moves.n;
        return; /* of those that lie in each other's memory, none moves */
    }
}

static jn_replay_call *add(jn_replay *p, jn_replay_kind kind, const jn_vnode *vn) {
    jn_replay_call *c =
        p->part && p->n_calls < MOST_CALLS ? jn_arena_alloc(&p->arena, sizeof *c) : NULL;
    if (!c) {
        p->spoiled = true;
        return NULL;
    }
    c->next = NULL;
    c->vn = vn;
    c->kind = kind;
    *p->part->tail = c;
    p->part->tail = &c->next;
    p->n_calls++;
    return c;
}

void jn_replay_range(jn_replay *p, uint32_t range, uint32_t ranges) {
    jn_replay_stage *s = p->last;
    if (range == 0 && !(s && s->n == 1 && ranges == 1)) {
        s = jn_arena_alloc(&p->arena, sizeof *s + ranges * sizeof *s->part);
        if (!s) {
            p->spoiled = true;
            return;
        }
        s->next = NULL;
        s->n = ranges;
        p->in_parts |= ranges > 1;
        for (uint32_t i = 0; i < ranges; i++)
            s->part[i] = (jn_replay_part){.tail = &s->part[i].first};
        if (p->last)
            p->last->next = s;
        else
            p->first = s;
        p->last = s;
    }
    if (!p->spoiled)
        p->part = &s->part[range];
}

bool jn_replay_has(const jn_replay *p, uint32_t range) {
    for (const jn_replay_stage *s = p->first; s; s = s->next)
        if (range < s->n && s->part[range].first)
            return true;
    return false;
}

static const int64_t *dims_of(jn_replay *p, const jn_view *v) {
    const int64_t *dims = jn_arena_dup(&p->arena, v->dims, (size_t)v->rank * sizeof *dims);
    p->spoiled |= !dims;
    return dims;
}

/* What is kept of the arguments that are operand 1 of a call's rows. */
static void keep(jn_replay *p, const jn_op *op, jn_kargs *k) {
    uint32_t rows = k->n_apart ? k->n_apart : 1, all = (uint32_t)k->n_in + k->n_out;
    const jn_view *v = &k->in[1];
    size_t bytes = (size_t)jn_numel(v) * jn_dtype_size((janus_dtype)v->dtype);
    const void **kept = NULL;
    for (uint32_t r = 0; r < rows; r++) {
        const char *at = k->n_apart ? k->apart[r * all + 1] : v->data;
        uint32_t i = 0;
        while (i < p->n_args && !(p->arg[i].shape && p->arg[i].data == at))
            i++;
        if (i == p->n_args || p->arg[i].shape->bytes != bytes)
            continue;
        if (!kept && !(kept = jn_arena_zalloc(&p->arena, rows * sizeof *kept)))
            break;
        if (!jn_kept_add(&p->kept, &p->arena, i, op, k, &kept[r]))
            break;
    }
    k->kept = kept;
}

void jn_replay_kernel(jn_replay *p, const jn_vnode *vn, const jn_kargs *k) {
    if (p->spoiled)
        return;
    uint32_t all = (uint32_t)k->n_in + k->n_out, rows = k->n_apart * all;
    jn_replay_call *c = add(p, KERNEL, vn);
    jn_view *views = jn_arena_alloc(&p->arena, (all + 1) * sizeof *views);
    char **apart = jn_arena_alloc(&p->arena, (rows + 1) * sizeof *apart);
    if (!c || !views || !apart) {
        p->spoiled = true;
        return;
    }
    memcpy(views, k->in, k->n_in * sizeof *views);
    memcpy(views + k->n_in, k->out, k->n_out * sizeof *views);
    if (rows)
        memcpy(apart, k->apart, rows * sizeof *apart);
    c->kernel.run = vn->kernel;
    c->kernel.args = *k;
    c->kernel.args.in = views;
    c->kernel.args.out = views + k->n_in;
    c->kernel.args.apart = apart;
    c->kernel.args.flags = &p->part->flags;
    for (uint32_t i = 0; i < all; i++) {
        follow(p, &views[i].data);
        if (views[i].rank > 0) /* those of a variant are of the rows that it had last */
            views[i].dims = dims_of(p, &views[i]);
    }
    if ((vn->op->flags & JN_OP_PRODUCT) && k->n_in > 1 && !p->spoiled)
        keep(p, vn->op, &c->kernel.args);
    for (uint32_t i = 0; i < rows; i++)
        follow(p, &apart[i]);
}

/* A copy of n pointers, which follow what they point into. */
static char **pointers(jn_replay *p, char *const *from, uint32_t n) {
    char **to = jn_arena_alloc(&p->arena, (n + 1) * sizeof *to);
    if (!to) {
        p->spoiled = true;
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        to[i] = from[i];
        follow(p, &to[i]);
    }
    return to;
}

void jn_replay_chain(jn_replay *p, const jn_chain *chain, const jn_segment *seg,
                     const jn_operands *data, const jn_par *par) {
    jn_replay_call *c = p->spoiled ? NULL : add(p, CHAIN, chain->link[chain->n - 1].vn);
    if (!c)
        return;
    c->chain.c = chain;
    c->chain.seg = seg;
    c->chain.par = par;
    c->chain.data = (jn_operands){pointers(p, data->input, seg->n_inputs),
                                  pointers(p, data->scalar, seg->n_scalars),
                                  pointers(p, data->value, seg->n_values)};
}

void jn_replay_copy(jn_replay *p, char *to, const char *from, size_t bytes) {
    jn_replay_call *c = p->spoiled ? NULL : add(p, COPY, NULL);
    if (!c)
        return;
    c->copy.to = to;
    c->copy.from = (char *)from;
    c->copy.bytes = bytes;
    follow(p, &c->copy.from);
}

char *jn_replay_keep(jn_replay *p, const char *from, size_t bytes) {
    char *to = p->spoiled ? NULL : jn_arena_alloc(&p->arena, bytes + 1);
    if (to)
        memcpy(to, from, bytes);
    else
        p->spoiled = true;
    return to;
}

/* The argument that a value is; n_args: none. */
static uint32_t argument(const jn_replay *p, const jn_tval *v) {
    size_t at = (uintptr_t)v - (uintptr_t)p->bound;
    return at < p->n_args * sizeof *p->bound ? (uint32_t)(at / sizeof *p->bound) : p->n_args;
}

void jn_replay_differ(jn_replay *p, const jn_tval *a, const jn_tval *b, size_t bytes) {
    uint32_t i = argument(p, a), k = argument(p, b);
    if (i == p->n_args || k == p->n_args) /* memory of the run is no argument's */
        return;
    if (!jn_vec_push(&p->apart, ((jn_replay_apart){i, k, bytes})))
        p->spoiled = true;
}

void jn_replay_gives(jn_replay *p, const jn_tval *v) {
    uint32_t i = argument(p, v);
    if (i < p->n_args && !jn_vec_push(&p->given, i))
        p->spoiled = true;
}

void jn_replay_fix(jn_replay *p, const jn_tval *v) {
    uint32_t i = argument(p, v);
    if (i < p->n_args)
        p->arg[i].fixed = true;
}

static bool overlap(const jn_replay *p, uint32_t i, uint32_t k) {
    uintptr_t a = (uintptr_t)p->arg[i].data, b = (uintptr_t)p->arg[k].data;
    return a < b ? b - a < p->arg[i].shape->bytes : a - b < p->arg[k].shape->bytes;
}

void jn_replay_overlaps(jn_replay *p) {
    for (uint32_t i = 0; i < p->n_args; i++)
        for (uint32_t k = 0; k < i && p->arg[i].shape; k++)
            if (p->arg[k].shape && overlap(p, i, k))
                p->arg[i].fixed = p->arg[k].fixed = true;
}

/* ---- running -----------------------------------------------------------------------------------
 */

bool jn_replay_moves(jn_replay *p, char *const *data) {
    for (uint32_t i = 0; i < p->n_args; i++)
        if (p->arg[i].fixed && data[i] != p->arg[i].data)
            return false;
    for (size_t i = 0; i < p->apart.n; i++) {
        const jn_replay_apart *x = &p->apart.data[i];
        if ((uintptr_t)data[x->b] - (uintptr_t)data[x->a] == x->bytes)
            return false;
    }
    for (uint32_t i = 0; i < p->n_args; i++) {
        if (!p->arg[i].shape)
            continue;
        uintptr_t by = (uintptr_t)data[i] - (uintptr_t)p->arg[i].data;
        for (uint32_t m = by ? p->arg[i].moves : 0; m; m = p->moves.data[m - 1].next) {
            uintptr_t at;
            memcpy(&at, p->moves.data[m - 1].place, sizeof at);
            at += by;
            memcpy(p->moves.data[m - 1].place, &at, sizeof at);
        }
        p->arg[i].data = data[i];
    }
    return true;
}

static void run_part(jn_replay_part *p) {
    p->flags = 0;
    for (jn_replay_call *c = p->first; c; c = c->next) {
        switch (c->kind) {
        case KERNEL:
            c->kernel.run(&c->kernel.args);
            break;
        case CHAIN:
            jn_chain_run(c->chain.c, c->chain.seg, &c->chain.data, c->chain.par, &p->flags);
            break;
        case COPY:
            memcpy(c->copy.to, c->copy.from, c->copy.bytes);
            break;
        }
        if (JN_UNLIKELY(p->flags)) {
            p->failed = c->vn;
            return;
        }
    }
}

static void run_parts(void *arg, int64_t begin, int64_t end) {
    jn_replay_stage *s = arg;
    for (int64_t i = begin; i < end; i++)
        run_part(&s->part[i]);
}

janus_status jn_replay_run(jn_replay *p) {
    for (jn_replay_stage *s = p->first; s; s = s->next) {
        if (p->pace.beside && s->n > 1)
            jn_parallel_for(s->n, 1, run_parts, s);
        else
            run_parts(s, 0, s->n);
        for (uint32_t i = 0; i < s->n; i++)
            if (JN_UNLIKELY(s->part[i].flags))
                return jn_vnode_error(s->part[i].failed, s->part[i].flags);
    }
    return JANUS_OK;
}
