/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An `if` of which one arm has, or leads to, what no SubGraph can have: a backward(), a hook, a
 * leaf.
 *
 *     loss = model(batch)
 *     if loss is None:
 *         return
 *     loss.backward()
 *
 * What follows would be in an arm.  The graph assumes that it comes to the backward(): the arm is
 * no SubGraph then, and what follows is the function's own.  Runs that go the other way are
 * discarded; after one more of those than of the others the next graph is for that way.
 *
 * Where numbers of the call decide (`if step % 2 == 0`), each way has a graph: the assumption comes
 * before all work and is as a guard, so that a call that goes another way is another graph's.
 */
#include "pyfront/convert/core/list.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/run/run.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "ops/scalar.h"

enum { MAX_DEPTH = 16 };

static bool number_now(jcv *c, const jcv_val *v, janus_scalar *out, int depth);

/* Whether an arm computes with nothing but numbers of the call. */
static bool of_numbers(jcv *c, const jcv_ctx *arm, int depth) {
    bool all = true;
    for (size_t i = 0; i < arm->nodes.n && all; i++) {
        const jcv_node *n = arm->nodes.data[i];
        janus_scalar x;
        all = n->kind == JCV_SCALAR_CONST ||
              (n->kind == JCV_OP && (n->op->role == JN_ROLE_SCALAR || n->op->role == JN_ROLE_IF));
        for (unsigned k = 0; k < n->n_in && all; k++)
            all = n->in[k]->ctx != c->main || number_now(c, n->in[k], &x, depth);
        for (int k = 0; k < 2 && all; k++)
            all = !n->subs[k] || of_numbers(c, n->subs[k], depth);
    }
    return all;
}

/* What numbers of the call, and nothing else, come to in this call; false: others do, too. */
static bool number_now(jcv *c, const jcv_val *v, janus_scalar *out, int depth) {
    const jcv_node *n = v->node;
    janus_scalar in[3];
    uint8_t kinds[3];
    if (++depth > MAX_DEPTH)
        return false;
    if (!n)
        return jcv_input_number(c, v, out);
    if (n->kind == JCV_SCALAR_CONST)
        *out = n->scalar;
    if (n->kind != JCV_OP)
        return n->kind == JCV_SCALAR_CONST;
    if (n->op->role == JN_ROLE_IF) { /* `and`, `or`, a conditional */
        if (!number_now(c, n->in[0], &in[0], depth) || !of_numbers(c, n->subs[0], depth) ||
            !of_numbers(c, n->subs[1], depth))
            return false;
        const jcv_ctx *arm = n->subs[in[0].i == 0];
        return v->index < arm->results.n && number_now(c, arm->results.data[v->index], out, depth);
    }
    bool computed = n->op->role == JN_ROLE_SCALAR && n->n_in <= 3;
    for (unsigned i = 0; computed && i < n->n_in; i++) {
        kinds[i] = (uint8_t)n->in[i]->type->kind;
        computed = number_now(c, n->in[i], &in[i], depth);
    }
    return computed && jn_scalar_eval(n->op, in, kinds, n->n_in, out) == JANUS_OK;
}

static jcv_only *find(const jcv *c, const jpy_tree *n) {
    jcv_only *o = c->onlys;
    while (o && o->statement != n)
        o = o->next;
    return o;
}

const jcv_only *jcv_only_of(const jcv *c, const jpy_tree *n) {
    const jcv_only *o = c->ctx == c->main ? find(c, n) : NULL;
    return o && o->in_use ? o : NULL;
}

void jcv_only_learn(jcv *c, const jpy_tree *n, jcv_val *cond, int arm, const char *reason) {
    janus_scalar way;
    const char *end = strstr(reason, JCV_INSIDE), *from = strstr(reason, ": ");
    if (!n || !end || !from || from > end || c->ctx != c->main || find(c, n))
        return;
    const jcv_frame *fr = c->frame;
    const char *file = fr && fr->source ? fr->source->file : "?", *base = strrchr(file, '/');
    char why[300];
    snprintf(why, sizeof why, "%s:%u: the path without %.*s", base ? base + 1 : file, n->line,
             (int)(end - from - 2), from + 2);
    bool by_numbers = number_now(c, cond, &way, 0);
    if (!by_numbers && jpy_hint_usual(c->f, why))
        return;
    jcv_only *o = jn_arena_zalloc(&c->keep, sizeof *o);
    const char *kept = jn_arena_strdup(&c->keep, why);
    if (!o || !kept)
        jcv_refuse(c, "out of memory");
    bool rather = by_numbers || jpy_hint_rather(c->f, why, reason);
    *o = (jcv_only){n, arm, kept, rather, rather, c->onlys};
    c->onlys = o;
    if (!rather)
        return;
    snprintf(c->reason, sizeof c->reason, "an arm is no SubGraph");
    jcv_throw_now(c, THROW_RESTART);
}

int jcv_only_assume(jcv *c, const jcv_only *o, jcv_val *cond) {
    janus_scalar way;
    bool by_numbers = number_now(c, cond, &way, 0);
    int arm = by_numbers ? !way.i : o->arm;
    jcv_val *ok = arm ? &jcv_op(c, JN_OP(s_not), &cond, 1, NULL)->out[0] : cond;
    const char *why = jn_arena_strdup(&c->arena, o->why);
    jpy_left_out left = {why, jcv_place_of(c)};
    if (!why || (!by_numbers && !jn_vec_push(&c->left_out, left)))
        jcv_refuse(c, "out of memory");
    if (by_numbers) {
        janus_assert_attrs attrs = {sizeof attrs, JPY_ASSUMED_WAY, why};
        jcv_op(c, JN_OP(assert), &ok, 1, &attrs);
    } else {
        jcv_assert(c, ok, why);
    }
    jcv_now_known(c, c->ctx, cond, !arm);
    jcv_narrow_by(c, c->ctx, cond, !arm);
    return arm;
}

typedef JCV_LIST(jcv_node *) nodes;

static bool is_in(const nodes *all, size_t n, const jcv_node *x) {
    for (size_t i = 0; i < n; i++)
        if (all->data[i] == x)
            return true;
    return false;
}

static void add_behind(jcv *c, nodes *first, const jcv_val *v);

/* What an op, and what its arms do, is made of. */
static void add_operands(jcv *c, nodes *first, const jcv_node *n) {
    for (unsigned i = 0; i < n->n_in; i++)
        add_behind(c, first, n->in[i]);
    for (int k = 0; k < 2 && n->subs[k]; k++) {
        for (size_t i = 0; i < n->subs[k]->nodes.n; i++)
            add_operands(c, first, n->subs[k]->nodes.data[i]);
        for (size_t i = 0; i < n->subs[k]->results.n; i++)
            add_behind(c, first, n->subs[k]->results.data[i]);
    }
}

/* Puts what has made a value of the function's own behind what that is made of. */
static void add_behind(jcv *c, nodes *first, const jcv_val *v) {
    if (v->ctx != c->main || !v->node || is_in(first, first->n, v->node))
        return;
    add_operands(c, first, v->node);
    jcv_add(c, first, v->node);
}

static bool is_way(const jcv_node *n) {
    const janus_assert_attrs *a = n->attrs;
    return n->kind == JCV_OP && n->op == JN_OP(assert) && a->id == JPY_ASSUMED_WAY;
}

void jcv_ways_first(jcv *c) {
    nodes all = {0};
    for (size_t i = 0; i < c->main->nodes.n; i++)
        if (is_way(c->main->nodes.data[i])) {
            add_operands(c, &all, c->main->nodes.data[i]);
            jcv_add(c, &all, c->main->nodes.data[i]);
        }
    size_t n = all.n;
    for (size_t i = 0; i < c->main->nodes.n && n; i++)
        if (!is_in(&all, n, c->main->nodes.data[i]))
            jcv_add(c, &all, c->main->nodes.data[i]);
    if (n)
        memcpy(c->main->nodes.data, all.data, all.n * sizeof *all.data);
}

bool jcv_only_other(jcv *c) {
    bool used = false, untried = false;
    for (const jcv_only *o = c->onlys; o; o = o->next) {
        used |= o->in_use;
        untried |= !o->tried;
    }
    for (jcv_only *o = c->onlys; o; o = o->next) {
        o->in_use = !used && !o->tried;
        o->tried |= o->in_use;
    }
    return used || untried;
}
