/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items of stacked lists are values: what is read of one is a copy of what was put in, where
 * CPython has one object.
 *
 * That is seen where the tensor remains (the graph stores it, or main returns it, or a view of it)
 * and is there as something else, too: stored by who made it, put in from the caller, read twice.
 * So of each read that may remain all is found that may be the same tensor: what was put in, where
 * that came from, and where it went by other ways.  Calls, arms, rounds and lists are edges between
 * values; a value that remains as itself alone, once, is one object as it is.
 *
 * A list whose items are seen is one of objects: the conversion starts again with its comprehension
 * as a live location (heap/live.c).  Others refuse.
 */
#include "pyfront/convert/finish/finish.h"

#include "ops/op_ids.h"
#include "pyfront/convert/core/list.h"
#include "pyfront/convert/heap/heap.h"

/* Bits of jcv_val.seen: a tensor, or a stacked list that holds it, which may be ... */
enum {
    TO = 1, /* ... what the tensor that is looked at becomes */
    TO_LIST = 2,
    FROM = 4, /* ... what it was */
    FROM_LIST = 8,
    READ = 16 /* the list of which it was read */
};

typedef enum edge_kind { SAME, JOINS, VIEW, PUT, GET } edge_kind;

typedef struct edge {
    jcv_val *from, *to;
    edge_kind kind;
} edge;

typedef struct search {
    jcv *c;
    JCV_LIST(edge) edges;
    JCV_LIST(jcv_val *) remain; /* each once */
} search;

static bool is_tensor(const jcv_val *v) { return v && v->type->kind == JANUS_KIND_TENSOR; }

static void add_edge(search *s, jcv_val *from, jcv_val *to, edge_kind kind) {
    if (is_tensor(from) && is_tensor(to))
        jcv_add(s->c, &s->edges, ((edge){from, to, kind}));
}

static void remains(search *s, jcv_val *v) {
    for (size_t i = 0; i < s->remain.n; i++)
        if (s->remain.data[i] == v)
            return;
    if (is_tensor(v))
        jcv_add(s->c, &s->remain, v);
}

static void body_edges(search *s, jcv_node *n, jcv_ctx *x, unsigned skip_in, unsigned skip_out) {
    for (unsigned k = 0; k < x->params.n && k + skip_in < n->n_in; k++)
        add_edge(s, n->in[k + skip_in], x->params.data[k], SAME);
    for (unsigned k = 0; k < n->n_out && k + skip_out < x->results.n; k++)
        add_edge(s, x->results.data[k + skip_out], &n->out[k], SAME);
}

/* A loop's rounds: foreach has the number of rounds as its first operand, and that of the round as
 * the first parameter of its body. */
static void loop_edges(search *s, jcv_node *n, bool each) {
    jcv_ctx *body = n->subs[!each];
    for (int k = 0; k < 2; k++)
        if (n->subs[k])
            body_edges(s, n, n->subs[k], 0, n->subs[k] == body ? 0 : n->n_out);
    for (unsigned k = 0; k < n->n_out && k < body->results.n; k++) {
        if (k + each < n->n_in)
            add_edge(s, n->in[k + each], &n->out[k], SAME);
        if (k + each < body->params.n)
            add_edge(s, body->results.data[k], body->params.data[k + each], SAME);
    }
}

static void node_edges(search *s, jcv_node *n) {
    if (n->kind != JCV_OP)
        return;
    if (n->row) {
        bool put = n->op == JN_OP(unsqueeze), get = n->op == JN_OP(select);
        for (unsigned i = 0; i < n->n_in; i++)
            add_edge(s, n->in[i], &n->out[0], put ? PUT : get ? GET : JOINS);
        return;
    }
    switch (n->op->role) {
    case JN_ROLE_WHILE:
    case JN_ROLE_FOREACH:
        loop_edges(s, n, n->op->role == JN_ROLE_FOREACH);
        return;
    case JN_ROLE_HOST:
        for (unsigned i = 0; i < n->n_in && n->op != JN_OP(host_emit); i++)
            remains(s, n->in[i]);
        return;
    default:
        break;
    }
    for (int k = 0; k < 2; k++)
        if (n->subs[k])
            body_edges(s, n, n->subs[k], n->op->role == JN_ROLE_IF, 0);
    bool view = n->view || n->widens || (n->op->flags & JN_OP_VIEW);
    if (view && !n->subs[0] && n->n_in && n->n_out)
        add_edge(s, n->in[0], &n->out[0], VIEW);
}

static uint8_t forth(edge_kind kind, uint8_t of) {
    switch (kind) {
    case SAME:
        return of & (TO | TO_LIST);
    case JOINS:
        return of & TO_LIST;
    case VIEW:
        return of & TO;
    case PUT:
        return of & TO ? TO_LIST : 0;
    case GET:
        return of & TO_LIST ? TO : 0;
    }
    return 0;
}

static uint8_t back(edge_kind kind, uint8_t of) {
    switch (kind) {
    case SAME:
        return of & (FROM | FROM_LIST | READ);
    case JOINS:
        return of & (FROM_LIST | READ);
    case VIEW:
        return of & FROM;
    case PUT:
        return of & FROM_LIST ? FROM : 0;
    case GET:
        return of & FROM ? FROM_LIST : 0;
    }
    return 0;
}

static void spread(search *s) {
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < s->edges.n; i++) {
            edge e = s->edges.data[i];
            uint8_t to = e.to->seen | forth(e.kind, e.from->seen);
            changed = changed || to != e.to->seen;
            e.to->seen = to;
        }
        for (size_t i = s->edges.n; i-- > 0;) {
            edge e = s->edges.data[i];
            uint8_t from = e.from->seen | back(e.kind, e.to->seen);
            changed = changed || from != e.from->seen;
            e.from->seen = from;
        }
    }
}

static void forget(search *s) {
    for (size_t i = 0; i < s->edges.n; i++)
        s->edges.data[i].from->seen = s->edges.data[i].to->seen = 0;
    for (size_t i = 0; i < s->remain.n; i++)
        s->remain.data[i]->seen = 0;
}

static unsigned n_remain(const search *s) {
    unsigned n = 0;
    for (size_t i = 0; i < s->remain.n; i++)
        n += s->remain.data[i]->seen & TO;
    return n;
}

/* Whether it is an object that is there already. */
static bool of_others(const jcv *c, const jcv_val *v) {
    if (!v->node)
        return v->ctx == c->main;
    return v->node->kind == JCV_OP &&
           (v->node->op->role == JN_ROLE_HOST || v->node->op == JN_OP(wire_read));
}

/* Whether it is computed once in a run. */
static bool once(const jcv *c, const jcv_val *v) {
    const jcv_ctx *x = v->ctx;
    while (x->kind == JCV_ARM && x->parent)
        x = x->parent;
    return x == c->main;
}

/* Whether what `read` gives remains and may be there as something else. */
static bool is_seen(search *s, jcv_val *read) {
    forget(s);
    read->seen = TO;
    spread(s);
    if (!n_remain(s))
        return false;
    forget(s);
    read->seen = FROM;
    spread(s);
    bool others = false;
    for (size_t i = 0; i < s->edges.n; i++) {
        jcv_val *v = s->edges.data[i].from;
        others = others || ((v->seen & FROM) && of_others(s->c, v));
        v->seen |= v->seen & FROM ? TO : 0;
        v->seen |= v->seen & FROM_LIST ? TO_LIST : 0;
    }
    read->seen |= TO;
    spread(s);
    bool one = n_remain(s) < 2;
    for (size_t i = 0; i < s->remain.n; i++)
        one = one && (!(s->remain.data[i]->seen & TO) || once(s->c, s->remain.data[i]));
    return others || !one;
}

/* The lists that `of` is read of become lists of objects. */
__attribute__((noreturn)) static void as_objects(search *s, edge of) {
    jcv *c = s->c;
    const jpy_tree *site = NULL;
    bool all = true;
    forget(s);
    of.from->seen = READ;
    spread(s);
    for (size_t i = 0; i < s->edges.n; i++) {
        edge e = s->edges.data[i];
        if (e.kind != PUT || !(e.to->seen & READ))
            continue;
        const jpy_tree *at = e.to->node->site;
        if (at && !jcv_live_site(c, at))
            site = at;
        else
            all = false;
    }
    if (all && site)
        jcv_make_live_site(c, site, false);
    jcv_refuse(c,
               "an item of a list of unknown length remains that may be there as another tensor");
}

void jcv_check_identity(jcv *c) {
    search s = {.c = c};
    if (!c->all_rows)
        return;
    jcv_find_used(c);
    for (size_t i = 0; i < c->ctxs.n; i++)
        for (size_t k = 0; c->ctxs.data[i]->used && k < c->ctxs.data[i]->nodes.n; k++)
            node_edges(&s, c->ctxs.data[i]->nodes.data[k]);
    for (size_t i = 0; i < c->main->results.n; i++)
        remains(&s, c->main->results.data[i]);
    for (size_t i = 0; i < s.edges.n && s.remain.n; i++)
        if (s.edges.data[i].kind == GET && is_seen(&s, s.edges.data[i].to))
            as_objects(&s, s.edges.data[i]);
}
