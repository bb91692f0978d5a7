/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls apart: a function called again and again on tensors of the same types is one SubGraph, each
 * call an invoke of it, which the executor batches.  janus.vmap calls its function so, row by row.
 *
 * So does janus.checkpoint, whose SubGraph keeps no activations.
 *
 * The arguments are tensors and become parameters; whatever else the function reads is captured, as
 * by a recursion.  Where it cannot be apart (it writes to what is outside) the call is inlined.
 */
#include "pyfront/convert/calls/calls.h"

#include <string.h>

#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/tensors/tensors.h"

enum { MAX_RESULTS = 256 };

struct jcv_apart {
    const jcv_av *f;
    unsigned n;
    const jn_type **types; /* of the arguments */
    jcv_av **like;         /* the arguments that it was converted with, as they lie in memory */
    jcv_av **out_like;     /* its results */
    uint32_t autocast;
    bool *tracked, grad_mode, checkpoint, sole; /* sole: what it returns has no other names */
    jcv_ctx *ctx;                               /* NULL: it cannot be apart */
    jcv_av *result;                             /* leaves are numbered placeholders */
    bool *out_tracked;
    uint32_t draws, effects; /* what a call adds to the counts of the conversion */
    struct jcv_apart *next;
};
typedef struct jcv_apart apart;

/* Rows share memory with what they were taken from, which nobody can see: they are not written. */
static jcv_val *value_of(jcv *c, jcv_av *v) {
    return v->kind == AV_TENSOR ? jcv_tensor_val(c, v->py) : jcv_leaf_val(c, v);
}

static apart *find(jcv *c, const jcv_av *f, jcv_av *const *args, unsigned n, bool checkpoint) {
    for (apart *a = c->aparts; a; a = a->next) {
        bool same =
            a->n == n && a->checkpoint == checkpoint && a->grad_mode == !jpy_no_grad_mode &&
            a->autocast == jpy_autocast_word &&
            (a->f == f || (a->f->kind == f->kind && a->f->py == f->py && !f->py == !a->f->py &&
                           a->f->tree == f->tree && a->f->frame == f->frame));
        for (unsigned i = 0; same && i < n; i++)
            same = jcv_same_type(a->types[i], value_of(c, args[i])->type) &&
                   jcv_same_layout(a->like[i], args[i]) &&
                   a->tracked[i] == jcv_leaf_tracked(c, args[i]);
        if (same)
            return a;
    }
    return NULL;
}

/* Tensors and numbers of the graph become placeholders and results; the rest is as it is. */
static jcv_av *result_shape(jcv *c, apart *a, jcv_av *v) {
    if (v->kind == AV_TUPLE && !v->named) {
        jcv_av *t = jcv_tuple_like(c, v);
        for (unsigned i = 0; i < t->n; i++)
            t->items[i] = result_shape(c, a, v->items[i]);
        return t;
    }
    if (v->kind == AV_PY)
        return v;
    if (v->kind != AV_TENSOR && v->kind != AV_SCALAR)
        jcv_refuse(c, "a result of a call apart is %s", jcv_describe(v));
    if (a->ctx->results.n == MAX_RESULTS)
        jcv_refuse(c, "a call apart has very many results");
    a->out_tracked[a->ctx->results.n] = jcv_leaf_tracked(c, v);
    a->out_like[a->ctx->results.n] = v;
    jcv_av *leaf = jcv_new(c, AV_ITER);
    leaf->text = "leaf";
    leaf->n = (unsigned)a->ctx->results.n;
    if (!jn_vec_push(&a->ctx->results, value_of(c, v)))
        jcv_refuse(c, "out of memory");
    return leaf;
}

static void only_own_writes(jcv *c, jcv_state before) {
    for (size_t i = 1; i < before.n; i++) {
        if (jcv_av_equal(before.slots[i], c->slots.data[i]))
            continue;
        jcv_av *of = jcv_container_in(c, (uint32_t)i);
        if (of)
            jcv_make_live(c, of);
        jcv_refuse(c, "a call apart writes to what is outside");
    }
}

/* What a checkpoint returns may be written: it shares memory with nothing. */
static void only_new_results(jcv *c, apart *a, jcv_av *v) {
    if (v->kind == AV_TUPLE)
        for (unsigned i = 0; i < v->n; i++)
            only_new_results(c, a, v->items[i]);
    if (v->kind != AV_TENSOR)
        return;
    jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)v->py)->t);
    if (r->root->ctx != a->ctx || r->root->leaked)
        jcv_refuse(c, "a checkpoint returns a view of something else");
    a->sole = a->sole && jcv_only_in(c, v, a->ctx, NULL);
    r->root->leaked = r;
}

/* Whether each result was made by the call and has no other name, among the results included. */
static bool all_new(jcv *c, const apart *a) {
    size_t n = a->ctx->results.n;
    for (size_t i = 0; i < n; i++) {
        if (a->out_like[i]->kind == AV_TENSOR && !jcv_only_in(c, a->out_like[i], a->ctx, NULL))
            return false;
        for (size_t k = 0; k < i; k++)
            if (jcv_same_root(c, a->out_like[i], a->out_like[k]))
                return false;
    }
    return true;
}

static void run(jcv *c, apart *a, const jcv_av *f, jcv_av *const *args) {
    jcv_ctx *outside = c->ctx, *inside = jcv_ctx_new(c, JCV_FUNC, "row", NULL);
    jcv_state before = jcv_save(c);
    jcv_av **params = jcv_alloc(c, (a->n + 1) * sizeof *params);
    for (unsigned i = 0; i < a->n; i++) {
        jcv_val *v = jcv_param(c, inside, a->types[i]);
        v->depends = jn_dtype_is_float(a->types[i]->dtype);
        params[i] = jcv_leaf(c, v, args[i], a->tracked[i]); /* made outside: no writes to it */
    }
    uint32_t draws = c->draws, effects = c->n_effects;
    inside->apart = true;
    inside->checkpoint = a->checkpoint;
    a->ctx = c->ctx = inside;
    jcv_av *r = jcv_call(c, (jcv_av *)f, &(jcv_args){.pos = params, .n_pos = a->n});
    only_own_writes(c, before);
    a->out_tracked = jcv_alloc(c, MAX_RESULTS);
    a->out_like = jcv_alloc(c, MAX_RESULTS * sizeof *a->out_like);
    a->result = result_shape(c, a, r);
    a->sole = a->checkpoint || all_new(c, a);
    if (a->checkpoint)
        only_new_results(c, a, r);
    a->draws = c->draws - draws;
    a->effects = c->n_effects - effects;
    c->ctx = outside;
}

static apart *make(jcv *c, const jcv_av *f, jcv_av *const *args, unsigned n, bool checkpoint) {
    apart *a = jcv_alloc(c, sizeof *a);
    jcv_place place = jcv_where(c);
    jcv_state before = jcv_save(c);
    uint32_t epoch = c->epoch, draws = c->draws, effects = c->n_effects;
    a->f = f;
    a->n = n;
    a->checkpoint = checkpoint;
    a->grad_mode = !jpy_no_grad_mode;
    a->autocast = jpy_autocast_word;
    a->types = jcv_alloc(c, (n + 1) * sizeof *a->types);
    a->tracked = jcv_alloc(c, n + 1);
    a->like = jcv_alloc(c, (n + 1) * sizeof *a->like);
    for (unsigned i = 0; i < n; i++) {
        a->types[i] = value_of(c, args[i])->type;
        a->tracked[i] = jcv_leaf_tracked(c, args[i]);
        a->like[i] = args[i];
    }
    jcv_handler h = {.up = c->handler};
    c->handler = &h;
    volatile bool thrown = true;
    if (setjmp(h.env) == 0) {
        run(c, a, f, args);
        thrown = false;
    }
    c->handler = h.up;
    c->epoch = epoch; /* its writes are its own; draws and effects are counted per call */
    c->draws = draws;
    c->n_effects = effects;
    if (thrown) {
        jcv_restore(c, before);
        jcv_back(c, place);
        a->ctx = NULL;
        if (c->thrown != THROW_REFUSE)
            jcv_throw_now(c, c->thrown);
    }
    a->next = c->aparts;
    c->aparts = a;
    return a;
}

static jcv_av *invoke(jcv *c, apart *a, jcv_av *const *args) {
    unsigned n_in = (unsigned)a->ctx->params.n, n_out = (unsigned)a->ctx->results.n;
    jcv_val **in = jcv_alloc(c, (a->n + n_in + 1) * sizeof *in);
    const jn_type **types = jcv_alloc(c, (n_out + 1) * sizeof *types);
    jcv_av **leaves = jcv_alloc(c, (n_out + 1) * sizeof *leaves);
    for (unsigned i = 0; i < a->n; i++)
        in[i] = value_of(c, args[i]);
    for (unsigned i = a->n; i < n_in; i++) /* tracked.c */
        in[i] = jcv_scalar_const(c, JANUS_KIND_BOOL, (janus_scalar){0});
    for (unsigned i = 0; i < n_out; i++)
        types[i] = a->ctx->results.data[i]->type;
    jcv_node *node = jcv_call_node(c, "invoke", a->ctx, NULL, in, n_in, types, n_out);
    c->draws += a->draws;
    c->n_effects += a->effects;
    c->live_epoch++;
    for (unsigned i = 0; i < n_out; i++) {
        node->out[i].depends = a->out_tracked[i];
        node->out[i].cut = a->ctx->results.data[i]->cut;
        leaves[i] = jcv_leaf(c, &node->out[i], a->out_like[i], a->out_tracked[i]);
        if (a->sole)
            jcv_made_of(c, leaves[i], NULL, 0);
    }
    return jcv_fill(c, a->result, leaves);
}

/* _apart(f, *tensors) */
jcv_av *jcv_call_apart(jcv *c, const jcv_args *args, bool checkpoint) {
    if (!args->n_pos || args->n_kw)
        jcv_refuse(c, "a call apart with these arguments");
    jcv_av *f = args->pos[0], **rest = args->pos + 1;
    unsigned n = args->n_pos - 1;
    for (unsigned i = 0; i < n; i++)
        if (rest[i]->kind != AV_TENSOR)
            jcv_refuse(c, "a call apart of %s", jcv_describe(rest[i]));
    apart *a = find(c, f, rest, n, checkpoint);
    if (!a)
        a = make(c, f, rest, n, checkpoint);
    return a->ctx ? invoke(c, a, rest) : jcv_call(c, f, &(jcv_args){.pos = rest, .n_pos = n});
}
