/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor that a recursion hands on as it is, from call to call, is no argument of it.
 *
 * Weights passed down as arguments are the usual case.  As an argument each frame would return a
 * gradient of them, and these would be added up level by level: slow, and in another order than the
 * tape's.  So where all calls from outside pass one value of main, and all calls inside pass on
 * what the caller got, the parameter is taken away and the value captured, which makes it a shared
 * parameter with an accumulator (emit.c).  Mutual recursion and other orders of arguments included:
 * what a parameter is in every call is found by assuming the best and taking back.
 *
 * This is done on the staged graph, since gradients are taken while it is emitted.  Values of a
 * loop stay arguments: they differ from round to round, and frames of all rounds run together.
 */
#include "pyfront/convert/finish/finish.h"

#include <string.h>

static bool is_candidate(const jcv_val *p) {
    return p->ctx->recursive && !p->node && p->type->kind == JANUS_KIND_TENSOR;
}

/* What `v` is as far as known; NULL: nothing yet. */
static jcv_val *resolve(jcv_val *v) { return v && is_candidate(v) ? v->same : v; }

/* One value for all that runs: computed once, by main. */
static bool is_root(const jcv_val *v) { return v->ctx->fn->kind == JCV_MAIN && !v->ctx->in_loop; }

/* Joins what one call passes; a parameter that is not the same in every call is itself. */
static bool meet_call(const jcv_node *n) {
    const jcv_ctx *callee = n->subs[0];
    bool changed = false;
    for (size_t i = 0; i < callee->params.n; i++) {
        jcv_val *p = callee->params.data[i];
        jcv_val *v = is_candidate(p) && p->same != p ? resolve(n->in[i]) : NULL;
        if (!v || v == p->same)
            continue;
        p->same = p->same || !is_root(v) || !jcv_same_type(v->type, p->type) ? p : v;
        changed = true;
    }
    return changed;
}

static bool is_call(const jcv_node *n) {
    return jcv_role(n) == JN_ROLE_INVOKE && n->subs[0]->recursive;
}

static bool found(const jcv_val *p) { return is_candidate(p) && p->same && p->same != p; }

static jcv_val *replacement(jcv_val *v) { return v && found(v) ? v->same : v; }

/* Takes the arguments away that are none. */
static void drop_arguments(jcv_node *n) {
    unsigned left = 0;
    for (unsigned i = 0; i < n->n_in; i++)
        if (!found(n->subs[0]->params.data[i]))
            n->in[left++] = n->in[i];
    n->n_in = left;
}

static void drop_params(jcv_ctx *x) {
    size_t left = 0;
    for (size_t i = 0; i < x->params.n; i++) {
        jcv_val *p = x->params.data[i];
        if (found(p))
            continue;
        p->index = (unsigned)left;
        x->params.data[left++] = p;
    }
    x->params.n = left;
}

static void mark_calls(const jcv_ctx *x, bool *calls) {
    for (size_t i = 0; i < x->nodes.n; i++)
        for (int k = 0; k < 2; k++) {
            const jcv_ctx *sub = x->nodes.data[i]->subs[k];
            if (!sub || calls[sub->place])
                continue;
            calls[sub->place] = true;
            mark_calls(sub, calls);
        }
}

bool jcv_of_its_recursion(const jcv_ctx *x, const jcv_val *v) {
    return x->fn->calls && x->fn->calls[v->ctx->fn->place];
}

void jcv_share_invariants(jcv *c) {
    bool changed = false;
    for (size_t i = 0; i < c->ctxs.n; i++)
        c->ctxs.data[i]->place = (unsigned)i;
    for (size_t i = 0; i < c->ctxs.n; i++) {
        jcv_ctx *x = c->ctxs.data[i];
        if (!x->used || x->kind != JCV_FUNC)
            continue;
        bool *calls = jcv_alloc(c, c->ctxs.n);
        mark_calls(x, calls);
        x->calls = calls;
        x->recursive = calls[i];
        changed = changed || x->recursive;
    }
    while (changed) {
        changed = false;
        for (size_t i = 0; i < c->ctxs.n; i++)
            for (size_t k = 0; c->ctxs.data[i]->used && k < c->ctxs.data[i]->nodes.n; k++)
                if (is_call(c->ctxs.data[i]->nodes.data[k]))
                    changed = meet_call(c->ctxs.data[i]->nodes.data[k]) || changed;
    }
    for (size_t i = 0; i < c->ctxs.n; i++) {
        jcv_ctx *x = c->ctxs.data[i];
        for (size_t k = 0; x->used && k < x->nodes.n; k++) {
            jcv_node *n = x->nodes.data[k];
            if (is_call(n))
                drop_arguments(n);
            for (unsigned j = 0; j < n->n_in; j++)
                n->in[j] = replacement(n->in[j]);
        }
        for (size_t k = 0; x->used && k < x->results.n; k++)
            x->results.data[k] = replacement(x->results.data[k]);
    }
    for (size_t i = 0; i < c->ctxs.n; i++)
        if (c->ctxs.data[i]->recursive)
            drop_params(c->ctxs.data[i]);
}
