/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optional values: None or a tensor or number, as a bool of the graph says (AV_MAYBE); a number or
 * a tensor (`h if c else 0.0`); or a number of one kind or another (`2 if c else 2.5`).
 *
 * They come from paths that join, from `d.get(key)` and from gradients that a run may not have.  A
 * test for None is that bool; where it has been made, the value is what it then is.  Whatever else
 * needs to know assumes that it is there: most of Python raises with None, so the run is discarded
 * where it is not.
 */
#include "pyfront/convert/heap/heap.h"

#include <string.h>

#include "ops/op_ids.h"

/* ---- conditions that are known ------------------------------------------------------------------
 */

typedef struct jcv_known {
    const jcv_val *cond; /* no negation */
    bool holds;
    struct jcv_known *next;
} jcv_known;

/* The condition without its negations; *holds is turned over by each. */
static const jcv_val *bare(const jcv_val *v, bool *holds) {
    while (v->node && v->node->op == JN_OP(s_not)) {
        v = v->node->in[0];
        *holds = !*holds;
    }
    return v;
}

void jcv_now_known(jcv *c, jcv_ctx *x, jcv_val *cond, bool holds) {
    const jcv_val *v = bare(cond, &holds);
    jcv_known *k = jcv_alloc(c, sizeof *k);
    *k = (jcv_known){v, holds, x->known};
    x->known = k;
    if (v->node && v->node->op == (holds ? JN_OP(s_and) : JN_OP(s_or)))
        for (unsigned i = 0; i < v->node->n_in; i++)
            jcv_now_known(c, x, v->node->in[i], holds);
}

void jcv_take_known(jcv_ctx *to, jcv_ctx *from) {
    for (jcv_known *x = from->known, *next; x; x = next) {
        next = x->next;
        x->next = to->known;
        to->known = x;
    }
    from->known = NULL;
}

int jcv_holds(jcv *c, const jcv_val *cond) {
    bool want = true;
    cond = bare(cond, &want);
    for (const jcv_ctx *x = c->ctx; x; x = x->parent)
        for (const jcv_known *k = x->known; k; k = k->next) {
            if (k->cond == cond)
                return k->holds == want;
        }
    return -1;
}

/* ---- values -------------------------------------------------------------------------------------
 */

jcv_av *jcv_maybe(jcv *c, jcv_val *present, jcv_av *v) {
    jcv_av *m = jcv_new(c, AV_MAYBE);
    m->val = present;
    m->self = v;
    return m;
}

jcv_av *jcv_maybe_or(jcv *c, jcv_val *present, jcv_av *v, jcv_av *number) {
    jcv_av *m = jcv_maybe(c, present, v);
    m->items = number ? jcv_alloc(c, sizeof *m->items) : NULL;
    if (number)
        m->items[0] = number;
    return m;
}

jcv_av *jcv_found(jcv *c, jcv_av *a) {
    int has = a->kind == AV_MAYBE ? jcv_holds(c, a->val) : -1;
    if (has < 0)
        return a;
    if (has == 0)
        return jcv_number_or(a) ? jcv_number_or(a) : jcv_none(c);
    if (a->self)
        return a->self;
    if (jcv_long(c, a->items[2]) != (long)c->live_epoch)
        jcv_refuse(c, "a dict may have been written since it was looked up");
    return jcv_live_getkey(c, a->items[0], a->items[1]);
}

jcv_av *jcv_there(jcv *c, jcv_av *a) {
    a = jcv_found(c, a);
    if (a->kind != AV_MAYBE || !a->self)
        return a;
    if (jcv_two_numbers(a))
        jcv_ask_kind(c, a);
    jcv_assert(c, a->val, "it is not None");
    jcv_now_known(c, c->ctx, a->val, true);
    return a->self;
}
