/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a history lies on the way to certain tensors: autograd.grad(y, x) runs the nodes from
 * which gradients flow on to x and no others, so it uses up what these have kept, and leaves what
 * other branches of the history have.  What makes x itself is not run either.
 */
#include "pyfront/convert/tensors/tensors.h"

#include "ops/op_ids.h"

static void clear(jcv *c) {
    for (size_t i = 0; i < c->ctxs.n; i++) {
        const jcv_ctx *x = c->ctxs.data[i];
        for (size_t k = 0; k < x->params.n; k++)
            x->params.data[k]->leads = false;
        for (size_t k = 0; k < x->nodes.n; k++) {
            jcv_node *n = x->nodes.data[k];
            n->leads = false;
            for (unsigned j = 0; j < n->n_out; j++)
                n->out[j].leads = false;
        }
    }
}

/* A leaf, too, as it was before writes to it. */
static void begin(jcv *c, jcv_av *const *x, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)x[i]->py)->t);
        jcv_tensor_val(c, x[i]->py)->leads = true;
        if (r->first)
            r->first->leads = true;
        for (const jcv_version *v = r->versions; v; v = v->next)
            v->val->leads = true;
    }
}

static bool set(jcv_val *v, bool on) {
    bool news = on && !v->leads;
    v->leads = v->leads || on;
    return news;
}

/* Parameters and results of the SubGraphs that a node runs; whether more is known than before. */
static bool of_call(jcv_node *n) {
    unsigned first = n->op->role == JN_ROLE_FOREACH;
    bool loop = first || n->op->role == JN_ROLE_WHILE, news = false;
    for (int s = 0; s < 2 && n->subs[s]; s++) {
        const jcv_ctx *x = n->subs[s];
        bool results = n->op->role != JN_ROLE_WHILE || s == 1;
        for (uint32_t k = 0; k < x->params.n; k++) {
            bool on = k < n->n_in && n->in[k] && n->in[k]->leads;
            if (loop && results && k >= first && k - first < x->results.n)
                on = on || x->results.data[k - first]->leads;
            news = set(x->params.data[k], on) || news;
        }
        for (uint32_t k = 0; results && k < x->results.n && k < n->n_out; k++) {
            bool on = x->results.data[k]->leads;
            if (loop && k + first < n->n_in)
                on = on || n->in[k + first]->leads;
            n->leads = n->leads || on;
            news = set(&n->out[k], on) || news;
        }
    }
    return news;
}

/* What is read may be any tensor stored, so it may lead anywhere. */
static bool of_node(jcv_node *n) {
    bool on = n->op == JN_OP(wire_read), news = false;
    for (unsigned i = 0; i < n->n_through; i++)
        on = on || n->through[i]->leads;
    bool flows = n->kind == JCV_OP && (n->op->role != JN_ROLE_COMPUTE || n->op->grad);
    for (unsigned i = 0; flows && i < n->n_in; i++)
        on = on || (n->in[i] && n->in[i]->leads);
    n->leads = n->leads || on;
    for (unsigned i = 0; i < n->n_out; i++)
        news = set(&n->out[i], on) || news;
    return news;
}

void jcv_keep_way(jcv *c, uint32_t mark, jcv_av *const *x, unsigned n) {
    clear(c);
    begin(c, x, n);
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < c->ctxs.n; i++)
            for (size_t k = 0; k < c->ctxs.data[i]->nodes.n; k++) {
                jcv_node *at = c->ctxs.data[i]->nodes.data[k];
                again = (at->subs[0] ? of_call(at) : of_node(at)) || again;
            }
    }
    for (size_t i = 0; i < c->ctxs.n; i++)
        for (size_t k = 0; k < c->ctxs.data[i]->nodes.n; k++) {
            jcv_node *at = c->ctxs.data[i]->nodes.data[k];
            if (at->reach == mark && !at->leads)
                at->reach = 0;
        }
}
