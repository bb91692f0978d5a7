/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads that CPython could raise at and whose result nobody needs: `try: n.value` asks only whether
 * it is there.
 *
 * Passes drop what has no effect, a read among it (graph/passes/dce.c).  So what is needed is
 * found here, through branches, loops and calls, and a read of an attribute, a key or a known place
 * that is not gets an assert, which stays.  So does what was a number or a tensor so far, of which
 * nothing but its type was asked: `isinstance(n.value, list)`.
 */
#include "pyfront/convert/finish/finish.h"

#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/run/run.h"

typedef struct sweep {
    jcv *c;
    bool changed;
} sweep;

static void need(sweep *s, jcv_val *v) {
    if (v && !v->needed) {
        v->needed = true;
        s->changed = true;
    }
}

static bool is_effect(const jcv_node *n) {
    if (n->kind == JCV_SCALAR_CONST)
        return false;
    return n->kind == JCV_BACKWARD || n->op->flags & JN_OP_EFFECT ||
           n->op->role == JN_ROLE_ASSERT || n->op->role == JN_ROLE_RNG;
}

static bool acts(const jcv_node *n) {
    return is_effect(n) || (n->subs[0] && n->subs[0]->acts) || (n->subs[1] && n->subs[1]->acts);
}

static void need_result(sweep *s, const jcv_ctx *x, size_t k) {
    if (x && k < x->results.n)
        need(s, x->results.data[k]);
}

/* What is carried from round to round: where it is needed after them, or in them. */
static void rounds(sweep *s, const jcv_node *n, unsigned skip) {
    const jcv_ctx *cond = skip ? NULL : n->subs[0], *body = skip ? n->subs[0] : n->subs[1];
    need_result(s, cond, 0);
    if (skip)
        need(s, n->in[0]);
    for (unsigned k = 0; k < n->n_out; k++) {
        bool needed = n->out[k].needed || body->params.data[k + skip]->needed ||
                      (cond && cond->params.data[k]->needed);
        if (!needed)
            continue;
        need(s, n->in[k + skip]);
        need_result(s, body, k);
    }
}

static void visit(sweep *s, const jcv_node *n) {
    bool live = acts(n);
    for (unsigned k = 0; k < n->n_out && !live; k++)
        live = n->out[k].needed;
    if (!live)
        return;
    int role = jcv_role(n);
    if (role == JN_ROLE_FOREACH || role == JN_ROLE_WHILE) {
        rounds(s, n, role == JN_ROLE_FOREACH);
        return;
    }
    bool call = role == JN_ROLE_INVOKE && n->subs[0];
    for (unsigned i = 0; i < n->n_in; i++)
        if (!call || i >= n->subs[0]->params.n || n->subs[0]->params.data[i]->needed)
            need(s, n->in[i]);
    for (unsigned k = 0; k < n->n_out; k++)
        for (int i = 0; i < 2 && n->out[k].needed; i++)
            need_result(s, n->subs[i], k);
}

/* Whether CPython may raise where it reads. */
static bool may_raise(const jcv_node *n) {
    return n->op == JN_OP(host_attr) || n->op == JN_OP(host_key) ||
           (n->op == JN_OP(host_item) && n->asked);
}

static void keep(jcv *c, jcv_node *n) {
    jcv_val *both[2] = {&n->out[0], &n->out[0]};
    jcv_val *is = &jcv_op(c, JN_OP(host_is), both, 2, NULL)->out[0];
    jcv_assert_at(c, is, "what is read is there", n->loc.file ? &n->loc : NULL);
}

/* Its type alone has decided something: that is one of those seen. */
static void keep_kind(jcv *c, const jcv_node *n) {
    jcv_av *o = jcv_host(c, n->in[0], jcv_own(c, PyList_New(0)));
    const jcv_val *v = &n->out[0];
    PyTypeObject *t = v->type->kind == JANUS_KIND_INT     ? &PyLong_Type
                      : v->type->kind == JANUS_KIND_FLOAT ? &PyFloat_Type
                      : v->type->kind == JANUS_KIND_BOOL  ? &PyBool_Type
                                                          : NULL;
    if (PyList_GET_SIZE(jcv_samples(c, o)))
        jcv_host_one_of_seen(c, o);
    else if (t)
        jcv_assert(c, jcv_type_is(c, o, t), JPY_TYPE_SEEN);
    else
        jcv_refuse(c, "the type of a tensor of which nothing is known decides");
}

static void keep_read(jcv *c, jcv_node *n) {
    if (n->kind != JCV_OP || !n->n_out || n->out[0].needed)
        return;
    if (n->op == JN_OP(host_unbox) && n->asked)
        keep_kind(c, n);
    else if (may_raise(n))
        keep(c, n);
}

void jcv_keep_reads(jcv *c) {
    sweep s = {c, true};
    jcv_find_used(c);
    while (s.changed) {
        s.changed = false;
        for (size_t i = 0; i < c->ctxs.n; i++) {
            jcv_ctx *x = c->ctxs.data[i];
            bool found = false;
            for (size_t k = 0; k < x->nodes.n && x->used && !x->acts && !found; k++)
                found = acts(x->nodes.data[k]);
            x->acts = x->acts || found;
            s.changed = s.changed || found;
        }
    }
    for (size_t i = 0; i < c->main->results.n; i++)
        need(&s, c->main->results.data[i]);
    while (s.changed) {
        s.changed = false;
        for (size_t i = c->ctxs.n; i-- > 0;)
            for (size_t k = c->ctxs.data[i]->nodes.n; k-- > 0 && c->ctxs.data[i]->used;)
                visit(&s, c->ctxs.data[i]->nodes.data[k]);
    }
    jcv_ctx *was = c->ctx;
    for (size_t i = 0; i < c->ctxs.n; i++) {
        c->ctx = c->ctxs.data[i];
        size_t n = c->ctx->used ? c->ctx->nodes.n : 0;
        for (size_t k = 0; k < n; k++)
            keep_read(c, c->ctx->nodes.data[k]);
    }
    c->ctx = was;
}
