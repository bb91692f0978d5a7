/* SPDX-License-Identifier: Apache-2.0 */
/* Which groups of a node are used up (history.h); whether gradients flow between its results, and
 * in which order those of its operands are complete. */
#include "pyfront/entry/parts.h"
#include "pyfront/tape/tape.h"

/* Whether a group is of ops that a backward() from `outs` to `ins` has run. */
static bool has_run(const jpy_group *g, jpy_set outs, jpy_set ins, jpy_set not_taken) {
    return jpy_group_runs(g, outs, ins) && !jpy_arm_not_taken(not_taken, g->arm);
}

uint32_t jpy_groups_freed(const jpy_groups *l, const bool *freed, jpy_set outs, jpy_set ins,
                          jpy_set not_taken) {
    uint32_t first = 0;
    for (size_t i = 0; freed && i < l->n; i++)
        if (freed[l->data[i].same] && has_run(&l->data[i], outs, ins, not_taken) &&
            l->data[i].at > first)
            first = l->data[i].at;
    return first;
}

void jpy_groups_free(const jpy_groups *l, bool *freed, jpy_set outs, jpy_set ins, jpy_set not_taken,
                     uint32_t after) {
    for (size_t i = 0; i < l->n; i++)
        if (l->data[i].at > after && has_run(&l->data[i], outs, ins, not_taken))
            freed[l->data[i].same] = true;
}

jpy_set jpy_groups_gone(const jpy_groups *l, const bool *freed, unsigned out, jpy_set not_taken) {
    jpy_set gone = 0;
    for (size_t i = 0; freed && i < l->n; i++)
        if (freed[l->data[i].same] && has_run(&l->data[i], JPY_SET_OF(out), ~(jpy_set)0, not_taken))
            gone |= l->data[i].ins;
    return gone;
}

jpy_set jpy_groups_outs(const jpy_groups *l, size_t i, jpy_set not_taken) {
    jpy_set outs = 0;
    for (size_t k = 0; k < l->n; k++)
        if (l->data[k].same == l->data[i].same && !jpy_arm_not_taken(not_taken, l->data[k].arm))
            outs |= l->data[k].outs;
    return outs;
}

/* A call gives what may be computed of its other results, as an arm and a loop do. */
janus_status jpy_stage_mixes(jpy_stage *x, bool wires) {
    const jn_subgraph *g = x->sub;
    x->mixes = wires && x->place.n > 1;
    if (x->place.n < 2 || x->mixes)
        return JANUS_OK;
    jpy_set *from = jn_calloc(2 * g->nodes.n, sizeof *from);
    if (!from)
        return JN_NO_MEMORY();
    jpy_set *own = from + g->nodes.n; /* which of the results a node makes */
    for (size_t i = 0; i < x->place.n; i++) {
        uint32_t at = g->results.data[x->place.data[i]].node;
        x->mixes = x->mixes || (at && g->nodes.data[at]->subs[0] && own[at]);
        own[at] |= at ? JPY_SET_OF(i) : 0;
    }
    for (size_t i = 1; i < g->nodes.n && !x->mixes; i++) {
        const jn_node *n = g->nodes.data[i];
        for (uint32_t k = 0; k < n->n_in; k++)
            if (!jn_value_is_none(n->in[k]))
                from[i] |= from[n->in[k].node] | own[n->in[k].node];
        x->mixes = from[i] && own[i];
    }
    jn_free(from);
    return JANUS_OK;
}

/* A place in program order: the node, in it the node of the body that it calls, and so on, and the
 * operand, in so many bits each. */
enum { DEEPEST = 4, NODE_BITS = 14, OPERAND_BITS = 7 };
_Static_assert(DEEPEST *NODE_BITS + OPERAND_BITS < 64, "a place is a number");

static uint64_t least(uint64_t a, unsigned bits) {
    uint64_t most = ((uint64_t)1 << bits) - 1;
    return a < most ? a : most;
}

/* Whether an op has a gradient at all. */
static bool hands_back(const jn_node *n) { return n->op->role != JN_ROLE_COMPUTE || n->op->grad; }

/* Which nodes lead to results of the stage of which a gradient may arrive; NULL: out of memory. */
static bool *asked_nodes(const jpy_stage *x, const bool *outs) {
    const jn_subgraph *g = x->sub;
    bool *asked = jn_calloc(g->nodes.n, sizeof *asked);
    for (size_t i = 0; asked && i < x->place.n; i++)
        asked[g->results.data[x->place.data[i]].node] |= outs[i];
    for (size_t id = g->nodes.n; asked && id-- > 1;) {
        const jn_node *n = g->nodes.data[id];
        asked[id] = asked[id] && hands_back(n);
        for (uint32_t k = 0; asked[id] && k < n->n_in; k++)
            if (!jn_value_is_none(n->in[k]))
                asked[n->in[k].node] = true;
    }
    return asked;
}

/* Of the first node that uses the parameter, at this depth and below; false: none does.  Later
 * nodes have smaller numbers, since their gradients are complete before; a node's operands have
 * the order of jpy_op_turn().  asked: the nodes that are looked at; NULL: all. */
static bool first_use(const jn_subgraph *g, uint32_t param, unsigned depth, const bool *asked,
                      uint64_t *out) {
    const jn_value p = {0, param};
    const unsigned shift = (DEEPEST - 1 - depth) * NODE_BITS + OPERAND_BITS;
    const uint64_t most = ((uint64_t)1 << NODE_BITS) - 1;
    for (size_t id = 1; id < g->nodes.n; id++) {
        const jn_node *n = g->nodes.data[id];
        const uint32_t condition = n->op->role == JN_ROLE_IF;
        for (uint32_t k = 0; k < n->n_in && (asked ? asked[id] : hands_back(n)); k++) {
            if (!jn_value_equal(n->in[k], p))
                continue;
            uint64_t inside = least(jpy_op_turn(n->op, k), OPERAND_BITS);
            bool used = !n->subs[0] || depth + 1 == DEEPEST;
            for (int s = 0; s < 2 && n->subs[s] && k >= condition && !used; s++)
                used = first_use(n->subs[s], k - condition, depth + 1, NULL, &inside);
            if (!used)
                continue;
            *out = (most - least(id, NODE_BITS)) << shift | inside;
            return true;
        }
    }
    return false;
}

uint64_t jpy_stage_turn(const jpy_stage *x, unsigned in, const bool *outs) {
    uint64_t at = UINT64_MAX;
    bool *asked = asked_nodes(x, outs);
    (void)first_use(x->sub, x->in.data[in].param, 0, asked, &at);
    jn_free(asked);
    return at;
}
