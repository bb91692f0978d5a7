/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of what may be one tensor under two names.
 *
 * In `t = l if c else r; return l * x + t * y + l * z` the tape adds up what three uses give l, the
 * latest first, where t is l. A gradient has a sum of t and a sum of l, and adds the one to the
 * other where the branch was. Bit for bit that is the same where one of them is a single
 * contribution and comes last, as addition commutes, and not in general.
 */
#include "config.h"

#include "graph/autodiff/autodiff.h"
#include "graph/autodiff/internal.h"
#include "graph/ir/ir.h"

/* SubGraphs that the search is in, and how far it may still go. */
typedef struct search {
    const struct search *up;
    const jn_subgraph *sub;
    unsigned *left;
} search;

static bool hands_on(const search *q, const jn_call_shape *c, uint32_t result, uint32_t p);

/* Whether value v of the SubGraph may be its parameter p itself; true where that takes too long. */
static bool may_be(const search *q, jn_value v, uint32_t p) {
    if (jn_value_is_none(v) || !*q->left)
        return !jn_value_is_none(v);
    --*q->left;
    if (v.node == 0)
        return v.index == p;
    const jn_node *n = q->sub->nodes.data[v.node];
    if (!jn_is_call(n))
        return false;
    jn_call_shape c;
    jn_call_shape_of(n, &c);
    for (uint32_t i = 0; v.index < c.n_results && i < c.n; i++)
        if (may_be(q, n->in[c.first_in + i], p) && hands_on(q, &c, v.index, c.first_param + i))
            return true;
    return false;
}

/* Whether a result of the call may be what was passed as parameter p.  A loop may go no round, and
 * its rounds may exchange what they carry. */
static bool hands_on(const search *q, const jn_call_shape *c, uint32_t result, uint32_t p) {
    if (c->loop && jn_carried_param(c, result) == p)
        return true;
    for (unsigned k = 0; k < c->n_subs; k++) {
        const search in = {q, c->sub[k], q->left};
        bool again = false; /* a recursion: what it hands on is what its other paths do */
        for (const search *up = q; up->up && !again; up = up->up)
            again = up->sub == in.sub;
        for (uint32_t i = 0; i < c->n_results && !again; i++)
            if ((c->loop || i == result) && may_be(&in, in.sub->results.data[i], p))
                return true;
    }
    return false;
}

/* What later uses give a value: how much, 2 is many, and where the earliest of them is; OUTSIDE:
 * there are none in this body. */
typedef struct uses {
    unsigned n;
    uint64_t first;
} uses;
#define OUTSIDE UINT64_MAX

static void add_use(uses *u, unsigned n, uint64_t at) {
    u->n += n;
    u->first = at < u->first ? at : u->first;
}

static bool is_active(const jn_sweep *s, const jn_node *n) {
    bool any = false;
    for (uint32_t k = 0; k < n->n_out; k++)
        any = any || s->active[s->num.first[n->id] + k];
    return any;
}

/* Behind a node.  A node gives its first operand's contribution first, so that one is the latest.
 */
static uses uses_behind(const jn_sweep *s, uint32_t node, jn_value v) {
    uses u = {0, OUTSIDE};
    const bool outside = v.node == 0 && ((s->sums && s->sums[v.index]) ||
                                         (s->acc && !jn_value_is_none(s->acc[v.index])));
    for (uint32_t id = node + 1; id < s->num.n_nodes; id++) {
        const jn_node *n = s->f->nodes.data[id];
        for (uint32_t k = 0; k < n->n_in; k++)
            if (jn_value_equal(n->in[k], v) && is_active(s, n))
                add_use(&u, jn_is_call(n) ? 2 : 1, (uint64_t)id << 32 | (UINT32_MAX - k));
    }
    for (size_t i = 0; i < s->f->results.n; i++)
        if (jn_value_equal(s->f->results.data[i], v))
            add_use(&u, 2, OUTSIDE);
    if (outside)
        add_use(&u, 2, OUTSIDE);
    return u;
}

/* Uses outside are those of what a caller has passed and of what it gets, and are looked at where
 * the caller is. */
static bool in_turn(uses a, uses b) {
    if (!a.n || !b.n || (a.n == 1 && b.n == 1) || (a.first == OUTSIDE && b.first == OUTSIDE))
        return true;
    return (a.n == 1 && a.first < b.first) || (b.n == 1 && b.first < a.first);
}

bool jn_sums_in_turn(const jn_sweep *s, const jn_node *n, const jn_call_shape *c,
                     const bool *arriving, uint32_t i) {
    enum { MOST = 4096 };
    const uint32_t p = c->first_param + i;
    uses of = {0, OUTSIDE}, others = of; /* of the operand, of the results met so far */
    bool found = false;
    for (uint32_t r = 0; r < c->n_results; r++) {
        unsigned left = MOST;
        const search q = {NULL, s->f, &left};
        if ((arriving && !arriving[r]) || !hands_on(&q, c, r, p))
            continue;
        if (!found)
            of = uses_behind(s, n->id, n->in[c->first_in + i]);
        found = true;
        uses now = uses_behind(s, n->id, (jn_value){n->id, r});
        if (!in_turn(of, now) || !in_turn(others, now))
            return false;
        add_use(&others, now.n, now.first);
    }
    return true;
}

static bool call_in_turn(const jn_sweep *s, const jn_node *n, const bool *params) {
    jn_call_shape c;
    jn_call_shape_of(n, &c);
    for (uint32_t i = 0; i < c.n; i++) {
        jn_value x = n->in[c.first_in + i];
        if (jn_value_is_none(x) || !jn_differentiable(jn_value_type(s->f, x)))
            continue;
        bool flows = x.node ? s->active[jn_number(&s->num, x)] : params[x.index];
        if (flows && !jn_sums_in_turn(s, n, &c, NULL, i))
            return false;
    }
    return true;
}

janus_status jn_calls_in_turn(jn_subgraph *f, const bool *nodes, const bool *params) {
    jn_sweep s = {.f = f};
    jn_arena a;
    jn_arena_init(&a, 0);
    janus_status st = jn_numbering_make(&a, f, &s.num);
    s.active = st == JANUS_OK ? jn_arena_zalloc(&a, s.num.n_values) : NULL;
    if (st == JANUS_OK && !s.active)
        st = JN_NO_MEMORY();
    for (uint32_t id = 1; st == JANUS_OK && id < s.num.n_nodes; id++)
        for (uint32_t k = 0; k < f->nodes.data[id]->n_out; k++)
            s.active[s.num.first[id] + k] = nodes[id];
    for (uint32_t id = 1; st == JANUS_OK && id < s.num.n_nodes; id++) {
        const jn_node *n = f->nodes.data[id];
        if (nodes[id] && jn_is_call(n) && !call_in_turn(&s, n, params))
            st = jn_sums_not_in_turn(f, n);
    }
    jn_arena_free(&a);
    return st;
}

janus_status jn_sums_not_in_turn(const jn_subgraph *f, const jn_node *n) {
    return jn_error(JANUS_UNSUPPORTED,
                    "in @%s, %%%u = %s: its gradients cannot be added in the order of the program",
                    f->name, n->id, n->op->name);
}
