/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is handed on: a result of a branch, a loop or a callee may be a tensor that it was given, so
 * that what keeps, or writes, the one does so with the other.
 */
#include "pyfront/convert/finish/given.h"

#include "ops/op_ids.h"

jn_value jcv_memory_of(const jn_subgraph *g, jn_value v) {
    jn_value at = v;
    bool reshaped = false;
    while (at.node) {
        const jn_node *n = g->nodes.data[at.node];
        if (!(n->op->flags & JN_OP_VIEW))
            break;
        bool moves = n->op == JN_OP(permute) || n->op == JN_OP(transpose) ||
                     n->op == JN_OP(expand) || n->op == JN_OP(expand_like);
        if (reshaped && moves)
            return v;
        if (n->op == JN_OP(reshape) || n->op == JN_OP(reshape_like)) {
            reshaped = true;
            v = at;
        } else if (!reshaped) {
            v = n->in[0];
        }
        at = n->in[0];
    }
    return at;
}

static void add_given(jcv_all_given *to, const jn_node *n, uint32_t operand, uint8_t when,
                      bool view) {
    if (operand < n->n_in && !jn_value_is_none(n->in[operand]) && to->n < JCV_MAX_GIVEN)
        to->of[to->n++] = (jcv_given){n->in[operand], when, view};
}

jpy_set jcv_params_given(const jn_subgraph *g, jn_value v, unsigned depth, bool *io_view) {
    jn_value at = jcv_memory_of(g, v);
    *io_view = *io_view || !jn_value_equal(at, v);
    if (!at.node)
        return at.index < 64 ? (jpy_set)1 << at.index : 0;
    jcv_all_given all;
    jpy_set params = 0;
    jcv_find_given(g, at, depth, &all);
    for (unsigned i = 0; i < all.n; i++) {
        *io_view = *io_view || all.of[i].view;
        params |= jcv_params_given(g, all.of[i].v, depth - 1, io_view);
    }
    return params;
}

/* Of a loop: what it begins with, and what its rounds exchange. */
static void find_carried(const jn_node *n, uint32_t result, unsigned depth, jcv_all_given *out) {
    bool each = n->op->role == JN_ROLE_FOREACH; /* its first parameter is the number of the round */
    const jn_subgraph *body = n->subs[!each];
    uint32_t first = result + each;
    jpy_set start = first < 64 ? (jpy_set)1 << first : 0, seen = 0, later = 0;
    bool view = false;
    while ((start | later) & ~seen) {
        uint32_t p = (uint32_t)__builtin_ctzll((start | later) & ~seen);
        seen |= (jpy_set)1 << p;
        if (p >= each && p - each < body->results.n)
            later |= jcv_params_given(body, body->results.data[p - each], depth, &view);
    }
    for (uint32_t p = 0; p < 64; p++) {
        bool at_once = start >> p & 1, after = later >> p & 1;
        if (at_once || after)
            add_given(out, n, p,
                      !each || (at_once && after) ? JCV_GIVEN_EITHER_WAY
                      : at_once                   ? JCV_GIVEN_IF_NOT
                                                  : JCV_GIVEN_IF_SO,
                      after && view);
    }
}

/* Whether it puts what was computed in place, and is kept for a gradient, in a part of a tensor:
 * tensors/place.c says so by an alias. */
static bool writes_kept(const jn_subgraph *g, const jn_node *n) {
    bool part = n->op == JN_OP(slice_scatter) || n->op == JN_OP(select_scatter);
    return part && n->in[1].node && g->nodes.data[n->in[1].node]->op == JN_OP(alias);
}

void jcv_find_given(const jn_subgraph *g, jn_value v, unsigned depth, jcv_all_given *out) {
    const jn_node *n = g->nodes.data[v.node];
    bool branch = n->op->role == JN_ROLE_IF;
    out->n = 0;
    if (depth && writes_kept(g, n))
        add_given(out, n, 1, JCV_GIVEN_EITHER_WAY, true);
    if (!depth || !n->subs[0])
        return;
    if (n->op->role == JN_ROLE_WHILE || n->op->role == JN_ROLE_FOREACH) {
        find_carried(n, v.index, depth - 1, out);
        return;
    }
    for (unsigned s = 0; (branch || n->op->role == JN_ROLE_INVOKE) && s < 2 && n->subs[s]; s++) {
        const jn_subgraph *in = n->subs[s];
        bool view = false;
        jpy_set params = v.index < in->results.n
                             ? jcv_params_given(in, in->results.data[v.index], depth - 1, &view)
                             : 0;
        for (uint32_t p = 0; p < 64; p++)
            if (params >> p & 1)
                add_given(out, n, p + branch,
                          branch ? (uint8_t)(JCV_GIVEN_IF_SO + s) : JCV_GIVEN_EITHER_WAY, view);
    }
}

bool jcv_may_be_in(const jn_subgraph *g, jn_value of, jn_value v, unsigned depth, bool *io_view) {
    jn_value at = jcv_memory_of(g, of);
    bool view = *io_view || !jn_value_equal(at, of), is = jn_value_equal(at, v);
    jcv_all_given all = {.n = 0};
    if (!is && at.node && depth)
        jcv_find_given(g, at, JCV_MOST_GIVEN, &all);
    for (unsigned i = 0; i < all.n && !is; i++) {
        bool inner = view || all.of[i].view;
        is = jcv_may_be_in(g, all.of[i].v, v, depth - 1, &inner);
        view = view || (is && inner);
    }
    *io_view = is ? view : *io_view;
    return is;
}
