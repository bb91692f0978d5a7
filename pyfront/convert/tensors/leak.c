/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors that leave the SubGraph they were made in, which forgets that they share memory.
 *
 * As values of the graph two views of one tensor are two tensors.  Nothing is lost by that while
 * both are computed with only, since what has left a SubGraph is not written.  It is seen where one
 * of them remains: where the graph stores it, and the other one, or what it is a view of, remains,
 * too, or is read again.  So what matters is whether what is stored may be such a view.
 */
#include "pyfront/convert/tensors/tensors.h"

#include "ops/op_ids.h"

/* What is made again as a whole: a loop's body, a function's. */
static const jcv_ctx *whole(const jcv_ctx *x) {
    while (x->kind == JCV_ARM && x->parent)
        x = x->parent;
    return x;
}

static const jcv_node *maker(const jcv_rec *r) { return r->val ? r->val->node : NULL; }

static bool of_heap(const jcv_rec *r) {
    const jcv_node *n = maker(r);
    return n && n->op && (n->op->role == JN_ROLE_HOST || n->op == JN_OP(wire_read));
}

/* Whether others may know what `root` is, or another view of it made in another round or call. */
static bool known_elsewhere(const jcv_rec *r, const jcv_rec *root) {
    return root->src || root->shared || root->n_from || of_heap(root) ||
           whole(root->ctx) != whole(r->ctx);
}

void jcv_leak(jcv *c, jcv_rec *r) {
    jcv_rec *root = r->root;
    root->two_leaked = root->two_leaked || (root->leaked && root->leaked != r) ||
                       (r != root && known_elsewhere(r, root));
    root->leaked = r;
    c->two_views = c->two_views || root->two_leaked;
}

/* Whether it is known which memory a stored tensor has, and that nothing else that has left is in
 * it. */
static bool alone(jcv_rec *r) {
    jcv_rec *root = r->root;
    const jcv_node *n = maker(root);
    if (root->two_leaked || root->asked)
        return !root->two_leaked;
    if (root->src || of_heap(root)) /* the object itself, of which no view is stored */
        return true;
    bool yes = !root->shared && (root->n_from || (n && n->kind == JCV_OP && !n->subs[0]));
    root->asked = true;
    for (unsigned i = 0; i < root->n_from && yes; i++)
        yes = (!root->from[i]->leaked || root->from[i]->leaked == root->from[i]) &&
              alone(root->from[i]);
    root->asked = false;
    return yes;
}

void jcv_check_stored(jcv *c) {
    for (size_t i = 0; i < c->stored.n && c->two_views; i++)
        if (!alone(c->stored.data[i]))
            jcv_refuse(c, "two views of one tensor leave the graph, which stores one of them");
}
