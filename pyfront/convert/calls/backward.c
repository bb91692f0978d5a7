/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backward(): the gradients of what is recorded, added to the .grad of the leaves.
 */
#include "pyfront/convert/calls/calls.h"

#include "ops/op_ids.h"
#include "pyfront/base/names.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/tensors/tensors.h"

typedef struct adding {
    jcv_av *leaf;
    jcv_val *gradient, *present; /* NULL: it is there */
} adding;

static void add_to_grad(jcv *c, adding x);

static jcv_out add_in_arm(jcv *c, void *user, int arm) {
    adding x = *(adding *)user;
    x.present = NULL;
    if (!arm)
        add_to_grad(c, x);
    return OUT_NORMAL;
}

static jcv_out add_to_optional(jcv *c, void *user, int arm) {
    (void)arm; /* what the leaf had is known in both */
    add_to_grad(c, *(adding *)user);
    return OUT_NORMAL;
}

static void add_to_grad(jcv *c, adding x) {
    jcv_av *had = jcv_getattr(c, x.leaf, jpy_names.grad);
    if (had->kind == AV_PY) { /* None */
        jcv_av *g = jcv_proxy(c, x.gradient, false);
        jcv_setattr(c, x.leaf, jpy_names.grad, x.present ? jcv_maybe(c, x.present, g) : g);
        return;
    }
    if (x.present) {
        jcv_branch(c, x.present, add_in_arm, &x);
        return;
    }
    if (had->kind == AV_MAYBE) {
        jcv_branch(c, had->val, add_to_optional, &x);
        return;
    }
    jcv_val *in[2] = {jcv_tensor_val(c, had->py), x.gradient};
    jcv_val *sum = &jcv_op(c, JN_OP(add), in, 2, NULL)->out[0];
    sum->depends = false;
    sum->cut = true;
    /* the object stays, its contents change */
    jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)had->py)->t);
    if (jcv_write(c, r, sum, false, false, false) != JANUS_OK)
        jcv_refuse(c, "%s", janus_last_error()->message);
}

static void check_root(jcv *c, jcv_av *root, jcv_av *seed) {
    const jpy_tensor *t = (const jpy_tensor *)root->py;
    const jcv_val *y = jcv_tensor_val(c, root->py);
    if (!jpy_tensor_tracked(t) || !t->node)
        jcv_refuse(c, "backward() of a tensor without history");
    if (!seed && jn_type_numel(y->type) != 1)
        jcv_refuse(c, "backward() of a tensor of several elements");
    if (seed && !jcv_same_type(y->type, jcv_tensor_val(c, seed->py)->type))
        jcv_refuse(c, "backward() with a gradient of another shape or dtype");
}

void jcv_tensor_backward(jcv *c, jcv_av *const *roots, jcv_av *const *seeds, unsigned n_y,
                         bool retain) {
    if (c->ctx != c->main)
        jcv_refuse(c, "backward()" JCV_INSIDE);
    c->backwards++;
    jcv_val **y = jcv_alloc(c, (2 * n_y + 1) * sizeof *y), **dy = y + n_y;
    for (unsigned i = 0; i < n_y; i++) {
        check_root(c, roots[i], seeds[i]);
        y[i] = jcv_tensor_val(c, roots[i]->py);
        dy[i] = seeds[i] ? jcv_tensor_val(c, seeds[i]->py) : NULL;
    }
    unsigned n = 0, cap = 0;
    for (jcv_rec *r = c->recs; r; r = r->next)
        cap++;
    jcv_val **x = jcv_alloc(c, (cap + 1) * sizeof *x);
    jcv_av **leaf = jcv_alloc(c, (cap + 1) * sizeof *leaf);
    uint32_t mark = jcv_mark_reach(c, y, n_y);
    jcv_check_history(c, mark);
    for (jcv_rec *r = c->recs; r; r = r->next) {
        bool bound = r->src && r->src->tensor.requires_grad;
        if (!bound && !r->versions)
            continue;
        jcv_val *now = r->parent ? r->val : r->slot ? jcv_held(c, r) : r->val;
        if (jcv_reaches_older(r, now, mark))
            jcv_refuse(c, "backward() into what a leaf was before it was changed");
        if (now->reach != mark)
            continue; /* gradients do not reach it: its .grad stays */
        if (r->flagged && !((jpy_tensor *)r->obj)->requires_grad)
            continue; /* no longer: its uses since are no history */
        if (r->src && !r->flagged && !r->src->tensor.leaf)
            jcv_refuse(c, "backward() into the history of an argument");
        if (r->src && r->src->tensor.hooked)
            jcv_refuse(c, "backward() to a tensor of the caller that has a hook");
        leaf[n] = jcv_proxy_of(c, r);
        x[n++] = now;
    }
    for (unsigned i = 0; i < n_y; i++)
        if (!jcv_tracked_always(c, y[i]))
            jcv_refuse(c, "backward() of what requires grad on some paths only");
    /* of gradients, the tape says which leaves get one */
    bool alone = jcv_tape_alone(c, mark);
    bool by_tape = (c->second_order || alone) && jcv_tape_knows(c, roots, n_y, NULL, 0);
    if (alone && !by_tape)
        jcv_refuse(c, "a gradient of the program's own beside branches or loops of the graph");
    if (by_tape) {
        jcv_av **g = jcv_tape_grad(c, roots, seeds, n_y, leaf, n, true, false, true);
        for (unsigned i = 0; i < n; i++) {
            if (!g[i])
                continue;
            jcv_val *v = jcv_tensor_val(c, g[i]->py); /* of several leaves it may be one tensor */
            v = &jcv_op(c, JN_OP(clone), &v, 1, NULL)->out[0];
            v->depends = false;
            v->cut = true;
            add_to_grad(c, (adding){leaf[i], v, NULL});
        }
        if (!retain)
            jcv_use_up_history(c, mark);
        return;
    }
    if (!retain)
        jcv_use_up_history(c, mark);
    bool some = c->f->gradients == JPY_GRADIENTS_SOME;
    jcv_node *b = jcv_backward_node(c, y, dy, n_y, x, n, some);
    for (unsigned i = 0; i < n; i++) {
        b->out[i].depends = false;
        b->out[i].cut = true; /* later gradients do not flow through it */
        add_to_grad(c, (adding){leaf[i], &b->out[i], some ? &b->out[n + i] : NULL});
    }
}
