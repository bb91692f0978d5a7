/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls apart of functions that turned out to be the same computation are calls of one SubGraph.
 *
 * janus.merge calls models of one architecture one after the other, each apart (apart.c), so each
 * is a SubGraph of its own that captures its own weights.  Where two of them differ in nothing but
 * what they capture, the second's calls become calls of the first: a value that is not the same in
 * all of them becomes a parameter.  The executor then runs the calls together, with a row for each
 * model, and gradients are those of a SubGraph that is called several times.
 *
 * Nothing is assumed: SubGraphs that are not equal, node by node, stay as they are.  This is done
 * on the staged graph, since gradients are taken while it is emitted.
 */
#include "pyfront/convert/finish/finish.h"

#include <string.h>

#include "pyfront/convert/core/list.h"

typedef struct alike {
    jcv *c;
    jcv_ctx *a, *b; /* what is compared, each with all that it calls */
    JCV_LIST(jcv_ctx *) in_a;
    JCV_LIST(jcv_ctx *) in_b;   /* beside each: what it must be like */
    JCV_LIST(jcv_val *) from_a; /* what `a` uses from outside ... */
    JCV_LIST(jcv_val *) from_b; /* ... and what `b` does in its place */
} alike;

static int place_of(jcv_ctx *const *v, size_t n, const jcv_ctx *x) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == x)
            return (int)i;
    return -1;
}

static bool is_const(const jcv_val *v) { return v->node && v->node->kind == JCV_SCALAR_CONST; }

/* Of each kind 64 bits: floats are equal by their bits. */
static bool same_const(const jcv_node *a, const jcv_node *b) {
    return a->scalar_kind == b->scalar_kind && a->scalar.i == b->scalar.i;
}

/* Two values from outside: what stands for one stands for the other wherever it is used. */
static bool same_outside(alike *s, jcv_val *va, jcv_val *vb) {
    if (!jcv_same_type(va->type, vb->type) || va->cut != vb->cut)
        return false;
    for (size_t i = 0; i < s->from_a.n; i++)
        if (s->from_a.data[i] == va)
            return s->from_b.data[i] == vb;
    jcv_add(s->c, &s->from_a, va);
    jcv_add(s->c, &s->from_b, vb);
    return true;
}

static bool same_value(alike *s, jcv_val *va, jcv_val *vb) {
    if (!va || !vb)
        return va == vb;
    if (is_const(va) || is_const(vb))
        return is_const(va) && is_const(vb) && same_const(va->node, vb->node);
    int in_a = place_of(s->in_a.data, s->in_a.n, va->ctx);
    int in_b = place_of(s->in_b.data, s->in_b.n, vb->ctx);
    if (in_a != in_b)
        return false;
    if (in_a < 0)
        return same_outside(s, va, vb);
    return va->index == vb->index && va->cut == vb->cut && !va->node == !vb->node &&
           (!va->node || va->node->place == vb->node->place);
}

static bool same_ctx(alike *s, jcv_ctx *a, jcv_ctx *b);

static bool same_node(alike *s, const jcv_node *a, const jcv_node *b) {
    if (a->kind != b->kind || a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out ||
        a->optional != b->optional || a->by_tape || b->by_tape)
        return false;
    if (a->kind == JCV_SCALAR_CONST)
        return same_const(a, b);
    if (a->op && a->op->attr_size && !jn_attrs_equal(a->op, a->attrs, b->attrs))
        return false;
    for (unsigned i = 0; i < a->n_out; i++)
        if (!jcv_same_type(a->out[i].type, b->out[i].type) || a->out[i].cut != b->out[i].cut)
            return false;
    for (unsigned i = 0; i < a->n_in; i++)
        if (!same_value(s, a->in[i], b->in[i]))
            return false;
    for (int k = 0; k < 2; k++)
        if (!same_ctx(s, a->subs[k], b->subs[k]))
            return false;
    return true;
}

static bool same_ctx(alike *s, jcv_ctx *a, jcv_ctx *b) {
    if (!a || !b)
        return a == b;
    int at = place_of(s->in_a.data, s->in_a.n, a);
    if (at >= 0 || place_of(s->in_b.data, s->in_b.n, b) >= 0)
        return at >= 0 && s->in_b.data[at] == b;
    if (a->kind != b->kind || a->checkpoint != b->checkpoint || a->params.n != b->params.n ||
        a->nodes.n != b->nodes.n || a->results.n != b->results.n)
        return false;
    jcv_add(s->c, &s->in_a, a);
    jcv_add(s->c, &s->in_b, b);
    for (size_t i = 0; i < a->params.n; i++)
        if (!jcv_same_type(a->params.data[i]->type, b->params.data[i]->type))
            return false;
    for (size_t i = 0; i < a->nodes.n; i++) {
        a->nodes.data[i]->place = b->nodes.data[i]->place = (uint32_t)i;
        if (!same_node(s, a->nodes.data[i], b->nodes.data[i]))
            return false;
    }
    for (size_t i = 0; i < a->results.n; i++)
        if (!same_value(s, a->results.data[i], b->results.data[i]))
            return false;
    return true;
}

/* Whether all calls of what `a` is made of are inside it: else it cannot get parameters. */
static bool called_inside_only(const alike *s) {
    for (size_t i = 0; i < s->c->ctxs.n; i++) {
        const jcv_ctx *x = s->c->ctxs.data[i];
        bool inside = place_of(s->in_a.data, s->in_a.n, x) >= 0;
        for (size_t k = 0; !inside && x->used && k < x->nodes.n; k++)
            for (int j = 0; j < 2; j++) {
                const jcv_ctx *sub = x->nodes.data[k]->subs[j];
                if (sub && sub != s->a && place_of(s->in_a.data, s->in_a.n, sub) >= 0)
                    return false;
            }
    }
    return true;
}

/* Calls of `from` are calls of `to`, with `extra` as further operands. */
static void redirect(jcv *c, jcv_ctx *from, jcv_ctx *to, jcv_val *const *extra, unsigned n) {
    for (size_t i = 0; i < c->ctxs.n; i++) {
        jcv_ctx *x = c->ctxs.data[i];
        for (size_t k = 0; k < x->nodes.n; k++) {
            jcv_node *node = x->nodes.data[k];
            if (node->subs[0] != from)
                continue;
            jcv_val **in = jcv_alloc(c, (node->n_in + n + 1) * sizeof *in);
            if (node->n_in)
                memcpy(in, node->in, node->n_in * sizeof *in);
            if (n)
                memcpy(in + node->n_in, extra, n * sizeof *in);
            node->in = in;
            node->n_in += n;
            node->subs[0] = to;
        }
    }
}

static void replace(const alike *s, const jcv_val *old, jcv_val *now) {
    for (size_t i = 0; i < s->in_a.n; i++) {
        jcv_ctx *x = s->in_a.data[i];
        for (size_t k = 0; k < x->nodes.n; k++)
            for (unsigned j = 0; j < x->nodes.data[k]->n_in; j++)
                if (x->nodes.data[k]->in[j] == old)
                    x->nodes.data[k]->in[j] = now;
        for (size_t k = 0; k < x->results.n; k++)
            if (x->results.data[k] == old)
                x->results.data[k] = now;
    }
}

/* `a` is equal to the `n` SubGraphs of `like`, which use `from[i]` where it uses `s->from_a`. */
static void join(const alike *s, jcv_ctx *const *like, jcv_val **const *from, unsigned n) {
    unsigned n_own = 0;
    jcv_val **extra = jcv_alloc(s->c, (s->from_a.n + 1) * sizeof *extra);
    unsigned *own = jcv_alloc(s->c, (s->from_a.n + 1) * sizeof *own);
    for (unsigned i = 0; i < s->from_a.n; i++) {
        bool differs = false;
        for (unsigned k = 0; k < n; k++)
            differs = differs || from[k][i] != s->from_a.data[i];
        if (differs)
            own[n_own++] = i;
    }
    for (unsigned i = 0; i < n_own; i++)
        extra[i] = s->from_a.data[own[i]];
    redirect(s->c, s->a, s->a, extra, n_own);
    for (unsigned k = 0; k < n; k++) {
        for (unsigned i = 0; i < n_own; i++)
            extra[i] = from[k][own[i]];
        redirect(s->c, like[k], s->a, extra, n_own);
    }
    for (unsigned i = 0; i < n_own; i++) {
        const jcv_val *v = s->from_a.data[own[i]];
        jcv_val *p = jcv_param(s->c, s->a, v->type);
        p->depends = v->depends;
        p->cut = v->cut;
        replace(s, v, p);
    }
    s->a->together = true;
}

static void forget(alike *s) { s->in_a.n = s->in_b.n = s->from_a.n = s->from_b.n = 0; }

/* Joins to `s->a` those behind it that are like it. */
static void join_all(alike *s, size_t behind) {
    jcv *c = s->c;
    unsigned n = 0;
    jcv_ctx **like = jcv_alloc(c, (c->ctxs.n + 1) * sizeof *like);
    jcv_val ***from = jcv_alloc(c, (c->ctxs.n + 1) * sizeof *from);
    for (size_t i = behind; i < c->ctxs.n; i++) {
        s->b = c->ctxs.data[i];
        forget(s);
        if (!s->b->apart || !s->b->used || !same_ctx(s, s->a, s->b) ||
            (n == 0 && !called_inside_only(s)))
            continue;
        from[n] = jcv_alloc(c, (s->from_b.n + 1) * sizeof **from);
        if (s->from_b.n)
            memcpy(from[n], s->from_b.data, s->from_b.n * sizeof **from);
        like[n++] = s->b;
    }
    if (n == 0)
        return;
    s->b = s->a; /* what it is made of and uses, alone */
    forget(s);
    if (same_ctx(s, s->a, s->a))
        join(s, like, from, n);
}

void jcv_join_alike(jcv *c) {
    alike s = {.c = c};
    unsigned n = 0;
    for (size_t i = 0; i < c->ctxs.n; i++)
        n += c->ctxs.data[i]->apart;
    if (n < 2)
        return;
    for (size_t i = 0; i < c->ctxs.n; i++) {
        s.a = c->ctxs.data[i];
        jcv_find_used(c);
        if (s.a->apart && s.a->used)
            join_all(&s, i + 1);
    }
}
