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
 */
#include "pyfront/convert/heap/heap.h"
#include "pyfront/run/run.h"

#include <string.h>

#include "ops/op_ids.h"

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

void jcv_only_learn(jcv *c, const jpy_tree *n, int arm, const char *reason) {
    const char *end = strstr(reason, JCV_INSIDE), *from = strstr(reason, ": ");
    if (!n || !end || !from || from > end || c->ctx != c->main || find(c, n))
        return;
    const jcv_frame *fr = c->frame;
    const char *file = fr && fr->source ? fr->source->file : "?", *base = strrchr(file, '/');
    char why[300];
    snprintf(why, sizeof why, "%s:%u: the path without %.*s", base ? base + 1 : file, n->line,
             (int)(end - from - 2), from + 2);
    if (jpy_hint_usual(c->f, why))
        return;
    jcv_only *o = jn_arena_zalloc(&c->keep, sizeof *o);
    const char *kept = jn_arena_strdup(&c->keep, why);
    if (!o || !kept)
        jcv_refuse(c, "out of memory");
    bool rather = jpy_hint_rather(c->f, why, reason);
    *o = (jcv_only){n, arm, kept, rather, rather, c->onlys};
    c->onlys = o;
    if (!rather)
        return;
    snprintf(c->reason, sizeof c->reason, "an arm is no SubGraph");
    jcv_throw_now(c, THROW_RESTART);
}

void jcv_only_assume(jcv *c, const jcv_only *o, jcv_val *cond) {
    jcv_val *ok = o->arm ? &jcv_op(c, JN_OP(s_not), &cond, 1, NULL)->out[0] : cond;
    jcv_narrow *x = jcv_narrowing(c, cond, !o->arm);
    const char *why = jn_arena_strdup(&c->arena, o->why);
    if (!why || !jn_vec_push(&c->left_out, ((jpy_left_out){why, jcv_place_of(c)})))
        jcv_refuse(c, "out of memory");
    jcv_assert(c, ok, why);
    jcv_now_known(c, c->ctx, cond, !o->arm);
    if (x) {
        x->next = c->ctx->narrowed;
        c->ctx->narrowed = x;
    }
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
