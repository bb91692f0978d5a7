/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comprehensions and generator expressions.
 *
 * One is a feed: it calls a function for each item, in order, visiting what it iterates over.  A
 * generator expression stays a feed until something takes its items, so what it computes runs in
 * turn with its consumer's rounds.  A list display collects; of unknown length it is stacked.
 */
#include "pyfront/convert/syntax/syntax.h"

#include "pyfront/convert/calls/calls.h"
#include "pyfront/convert/core/list.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/values/values.h"

typedef struct feeding {
    jcv_av *g;
    unsigned level;
    const jcv_leave *leave;
    jcv_visit_fn fn;
    void *user;
    jcv_frame *consumer; /* where fn runs */
} feeding;

static void level(jcv *c, void *user, jcv_av *item);

typedef struct filtered {
    feeding *f;
    unsigned at;
} filtered;

static void pass(jcv *c, feeding *f, unsigned at);

static jcv_out if_kept(jcv *c, void *user, int arm) {
    filtered *x = user;
    if (arm == 0)
        pass(c, x->f, x->at);
    return OUT_NORMAL;
}

/* The conditions of a level from number `at` on, then what is inside. */
static void pass(jcv *c, feeding *f, unsigned at) {
    jpy_tree *n = f->g->tree, *gen = n->x.v[f->level];
    if (at < gen->x.n) {
        jcv_val *v = NULL;
        int t = jcv_test(c, gen->x.v[at], &v);
        filtered x = {f, at + 1};
        if (t > 0)
            pass(c, f, at + 1);
        else if (t < 0)
            jcv_branch(c, v, if_kept, &x);
        return;
    }
    feeding inner = *f;
    if (++inner.level < n->x.n) {
        jcv_visit(c, jcv_eval(c, n->x.v[inner.level]->b), f->leave, level, &inner);
        return;
    }
    jcv_av *v = jcv_eval(c, n->a);
    if (n->kind == JPY_DICTCOMP)
        v = jcv_tuple(c, (jcv_av *[]){v, jcv_eval(c, n->b)}, 2);
    c->frame = f->consumer;
    f->fn(c, f->user, v);
    c->frame = f->g->frame;
}

static void level(jcv *c, void *user, jcv_av *item) {
    feeding *f = user;
    jcv_frame *was = c->frame;
    c->frame = f->g->frame;
    c->frame->caller = f->consumer;
    jcv_assign(c, f->g->tree->x.v[f->level]->a, item);
    pass(c, f, 0);
    c->frame = was;
}

/* ---- generator functions ------------------------------------------------------------------------
 */

struct jcv_yield {
    const jcv_leave *leave;
    jcv_visit_fn fn;
    void *user;
    jcv_frame *consumer;
};

bool jcv_yield_leaves(const jcv *c) { return c->frame->yield && c->frame->yield->leave; }

/* A generator that goes on with others of its function, as far down as the graph alone knows, is
 * unrolled: each of them in an arm or round of the one before it, and of their branches all. */
static void look_for_end(jcv *c, const jcv_av *g) {
    unsigned running = 0;
    for (const jcv_frame *x = c->frame; x; x = x->caller)
        running += x->def == g->frame->def && x->yield;
    if (running && jcv_in_arms(c, running) && jcv_too_many_in_arms(c))
        jcv_refuse(c, "how deep a generator goes is known to the graph alone");
}

static void run_generator(jcv *c, jcv_av *g, struct jcv_yield *y) {
    enum { MAX_DEPTH = 200 };
    jcv_place place = jcv_where(c);
    jcv_av *ret = c->slots.data[0];
    if (g->frame->depth > MAX_DEPTH)
        jcv_refuse(c, "calls are nested too deeply");
    look_for_end(c, g);
    g->frame->caller = c->frame;
    g->frame->yield = y;
    c->frame = g->frame;
    c->cont = NULL;
    c->boundary = JCV_END_FUNC;
    c->leave = NULL;
    jcv_exec(c, &g->tree->x);
    jcv_put(c, 0, ret);
    jcv_back(c, place);
}

static void pass_on(jcv *c, void *user, jcv_av *item) {
    struct jcv_yield *y = user;
    jcv_frame *me = c->frame;
    c->frame = y->consumer;
    y->fn(c, y->user, item);
    c->frame = me;
}

jcv_out jcv_exec_yield(jcv *c, jpy_tree *n) {
    struct jcv_yield *y = c->frame->yield;
    jcv_av *v = n->a ? jcv_eval(c, n->a) : jcv_none(c);
    if (!y)
        jcv_refuse(c, "yield in another place");
    if (n->op)
        jcv_visit(c, v, y->leave, pass_on, y);
    else
        pass_on(c, y, v);
    int left = jcv_has_left(c, y->leave);
    if (left < 0)
        jcv_refuse(c, "a generator is left under a condition of the graph");
    return left ? OUT_RETURN : OUT_NORMAL;
}

void jcv_visit_generator(jcv *c, jcv_av *g, const jcv_leave *leave, jcv_visit_fn fn, void *user) {
    if (c->slots.data[g->slot]->kind == AV_TUPLE) { /* its items are made (jcv_b_next) */
        jcv_av *rest = jcv_new(c, AV_ITER);
        rest->text = "rest";
        rest->n = c->slots.data[g->slot]->n;
        rest->slot = g->slot;
        rest->watch = g->watch;
        jcv_visit(c, rest, leave, fn, user);
        return;
    }
    if (g->tree->kind == JPY_DEF) {
        struct jcv_yield y = {leave, fn, user, c->frame};
        if (jcv_use_up(c, g))
            run_generator(c, g, &y);
        return;
    }
    feeding f = {g, 0, leave, fn, user, c->frame};
    if (jcv_use_up(c, g))
        jcv_visit(c, g->items[0], leave, level, &f);
}

/* ---- taking all items ---------------------------------------------------------------------------
 */

jcv_av *jcv_comprehension(jcv *c, jpy_tree *n) {
    jcv_frame *fr = jcv_alloc(c, sizeof *fr), *was = c->frame;
    *fr = (jcv_frame){.source = was->source,
                      .def = was->def,
                      .outer = was,
                      .caller = was,
                      .comprehension = true,
                      .depth = was->depth};
    fr->code = was->code;
    fr->self_key = was->self_key;
    jcv_av *first = jcv_eval(c, n->x.v[0]->b);
    jcv_av *all = jcv_peeled(c, n) ? jcv_all_assumed(c, first) : NULL;
    if (all)
        first = all;
    jcv_av *g = jcv_seq(c, "generator", &first, 1);
    g->tree = n;
    g->frame = fr;
    if (n->kind == JPY_GENEXP)
        return g;
    bool known;
    jcv_av *t = jcv_take_all(c, g, &known, NULL);
    c->at = n;
    if (n->kind == JPY_LISTCOMP)
        return known ? jcv_list(c, t->items, t->n) : t;
    if (!known && !(t->kind == AV_LIST))
        jcv_refuse(c, "a dict or set of unknown size");
    if (t->kind == AV_LIST)
        t = c->slots.data[t->slot];
    if (n->kind == JPY_DICTCOMP) {
        jcv_av *d = jcv_dict(c);
        for (unsigned i = 0; i < t->n; i++)
            jcv_dict_set(c, d, t->items[i]->items[0], t->items[i]->items[1]);
        return d;
    }
    return jcv_new_set(c, t->items, t->n, true);
}
