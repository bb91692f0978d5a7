/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optional values: None or something else, as a bool of the graph says (AV_MAYBE).
 *
 * They come from paths that join, from `d.get(key)` and from gradients that a run may not have.  A
 * test for None is that bool; where it has been made, the value is what it then is.  Whatever else
 * needs to know assumes that it is there: most of Python raises with None, so the run is discarded
 * where it is not.
 */
#include "pyfront/convert/convert.h"

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

jcv_av *jcv_found(jcv *c, jcv_av *a) {
    int has = a->kind == AV_MAYBE ? jcv_holds(c, a->val) : -1;
    if (has < 0)
        return a;
    if (has == 0)
        return jcv_none(c);
    if (a->self)
        return a->self;
    if (a->n != c->live_epoch)
        jcv_refuse(c, "a dict may have been written since it was looked up");
    return jcv_live_getkey(c, a->items[0], a->items[1]);
}

jcv_av *jcv_there(jcv *c, jcv_av *a) {
    a = jcv_found(c, a);
    if (a->kind != AV_MAYBE || !a->self)
        return a;
    jcv_assert(c, a->val, "it is not None");
    jcv_now_known(c, c->ctx, a->val, true);
    return a->self;
}

/* ---- steps of optimizers ------------------------------------------------------------------------
 */

typedef struct stepping {
    PyObject *callable;
    const jcv_args *args;
    jcv_av **row;
    unsigned n;
} stepping;

static jcv_out step_row(jcv *c, void *user, int arm) {
    const stepping *x = user;
    if (arm)
        return OUT_NORMAL;
    jcv_av *row = jcv_tuple(c, x->row, x->n);
    row->items[1] = jcv_found(c, row->items[1]);
    jcv_av *rows = jcv_tuple(c, &row, 1), *pos[3] = {x->args->pos[0], rows, x->args->pos[2]};
    jcv_args args = *x->args;
    args.pos = pos;
    jcv_call_tensor(c, x->callable, &args);
    return OUT_NORMAL;
}

bool jcv_optional_steps(jcv *c, PyObject *callable, const char *name, const jcv_args *args) {
    jcv_av **rows;
    unsigned n;
    bool any = false;
    if (strcmp(name, "optimizer_step_") != 0 || args->n_pos != 3 ||
        !jcv_items(c, args->pos[1], &rows, &n))
        return false;
    stepping *x = jcv_alloc(c, (n + 1) * sizeof *x);
    for (unsigned i = 0; i < n; i++) {
        x[i] = (stepping){callable, args, NULL, 0};
        if (!jcv_items(c, rows[i], &x[i].row, &x[i].n) || x[i].n < 2)
            return false;
        jcv_av *g = jcv_found(c, x[i].row[1]);
        any = any || g->kind == AV_MAYBE || jcv_is_none(g);
    }
    for (unsigned i = 0; i < n && any; i++) {
        jcv_av *g = jcv_found(c, x[i].row[1]);
        if (g->kind == AV_MAYBE)
            jcv_branch(c, g->val, step_row, &x[i]);
        else if (!jcv_is_none(g))
            step_row(c, &x[i], 0);
    }
    return any;
}
