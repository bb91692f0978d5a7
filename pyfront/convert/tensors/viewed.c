/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a value is a view of a tensor that the graph has not made, on whichever path (trait.c).
 *
 * A tree's leaves are rows of a table as often as not (`return table[n.word]`), and what a tree
 * gives is computed but for one that is a leaf.  Such a call is CPython's, which returns the view.
 */
#include "pyfront/convert/tensors/tensors.h"

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/run/run.h"

/* What is read may be such a view where the graph stores some (place.c). */
static bool by_itself(const jcv *c, const jcv_val *v) {
    const jcv_node *n = v->node;
    if (!n || (n->kind == JCV_OP && (n->op->role == JN_ROLE_HOST || n->op == JN_OP(wire_read))))
        return !c->views;
    return !n->view || jcv_has_own(c, n->in[0]);
}

static const jcv_trait no_view = {
    .which = JCV_NO_VIEW, .by_itself = by_itself, .branches = true, .by_node = true};

bool jcv_no_view(jcv *c, jcv_val *v) {
    bool always;
    if (!jcv_views_others(c, v))
        return true;
    if (!jcv_is_float(v))
        return false;
    jcv_trait_survey(c, &no_view);
    jcv_val *flag = jcv_trait_flag(c, &no_view, v, &always);
    if (!flag)
        return always;
    janus_assert_attrs attrs = {sizeof attrs, JPY_ASSUMED_OWN,
                                "a result is no view of a tensor of the caller"};
    jcv_node *n = jcv_op(c, JN_OP(assert), &flag, 1, &attrs);
    n->loc = v->node ? v->node->loc : n->loc;
    if (c->ctx == c->main)
        jcv_trait_is(&no_view, v);
    return true;
}
