/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes that data decides: parts of tensors between bounds that only the run knows.
 *
 * Such a number has a value in each image as the dims of arguments have (dims.c).  Unlike them it
 * may be 0 or 1, as how many elements a mask chooses: that holds where nothing is made of such a
 * size but what is made of any other (JN_OP_ANY_SIZE).
 */
#include "pyfront/convert/core/core.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"

static bool is_const(const jcv_val *v) { return v->node && v->node->kind == JCV_SCALAR_CONST; }

/* Whether two values are one, whatever they are: the same ops of the same. */
static bool same_value(const jcv_val *a, const jcv_val *b, int depth) {
    if (a == b || !a || !b)
        return a == b;
    const jcv_node *x = a->node, *y = b->node;
    if (!x || !y || a->index != b->index || a->ctx != b->ctx)
        return false;
    if (is_const(a) || is_const(b))
        return is_const(a) && is_const(b) && x->scalar_kind == y->scalar_kind &&
               x->scalar.i == y->scalar.i;
    bool same = depth > 0 && x->kind == JCV_OP && y->kind == JCV_OP && x->op == y->op &&
                (x->op->flags & JN_OP_PURE || x->op == JN_OP(item)) && x->n_in == y->n_in &&
                jn_attrs_equal(x->op, x->attrs, y->attrs);
    for (unsigned i = 0; same && i < x->n_in; i++)
        same = same_value(x->in[i], y->in[i], depth - 1);
    return same;
}
enum { DEEP = 8 }; /* how many ops two values are compared through */

void jcv_becomes_size(jcv *c, jcv_val *v) {
    for (size_t i = 0; i < c->decided.n && !v->sized; i++)
        if (same_value(c->decided.data[i], v, DEEP)) {
            v->image = c->decided.data[i]->image;
            v->sized = true;
        }
    if (v->sized)
        return;
    jcv_new_size size = jcv_fresh_size(c);
    v->image.i = size.image;
    v->sized = true;
    jcv_size_is(c, &size, v);
    jcv_at_least(c, v, jcv_int(c, 0));
    if (!jn_vec_push(&c->decided, v))
        jcv_refuse(c, "out of memory");
}

static bool is_zero(const jcv_val *v) { return !v || (is_const(v) && v->node->scalar.i == 0); }

/* Whether nothing about a bound is known in the image: it is a number that only the run knows. */
static bool is_free(const jcv *c, const jcv_val *v) {
    if (!v || is_const(v))
        return false;
    for (size_t i = 0; i < c->symbols.n && v->sized; i++)
        if (c->symbols.data[i].slot == UINT32_MAX && c->symbols.data[i].image == v->image.i)
            return true;
    return !v->sized;
}

/* x[i : i + k]: how many these are; -1: it is not of that form. */
static int64_t fixed_length(const jcv_val *start, const jcv_val *stop) {
    const jcv_node *n = start && stop ? stop->node : NULL;
    for (unsigned i = 0; n && n->op == JN_OP(s_add) && i < 2; i++)
        if (n->in[i] == start && is_const(n->in[1 - i]))
            return n->in[1 - i]->node->scalar.i;
    return -1;
}

/* What other parts between these bounds have of a dim of this size. */
static jcv_new_size part_size(jcv *c, int64_t size, jcv_val *start, jcv_val *stop) {
    for (size_t i = 0; i < c->parts.n; i++) {
        jcv_part p = c->parts.data[i];
        if (p.size == size && same_value(p.start, start, DEEP) && same_value(p.stop, stop, DEEP))
            return (jcv_new_size){.image = p.image, .symbol = SIZE_MAX};
    }
    jcv_new_size fresh = jcv_fresh_size(c);
    jcv_part p = {start, stop, size, fresh.image};
    if (!jn_vec_push(&c->parts, p))
        jcv_refuse(c, "out of memory");
    return fresh;
}

/* The slice, of which only the graph knows that it has `part` there. */
static jcv_node *sliced(jcv *c, jcv_val *const in[3], int axis, int64_t part) {
    janus_slice_attrs attrs = {sizeof attrs, axis, 1};
    c->any_dims = true;
    jcv_node *n = jcv_op(c, JN_OP(slice), in, 3, &attrs);
    c->any_dims = false;
    int64_t dims[JN_MAX_RANK];
    jn_type t = *n->out[0].type;
    memcpy(dims, t.dims, (size_t)t.rank * sizeof *dims);
    dims[axis] = part;
    t.dims = dims;
    n->out[0].type = jcv_type(c, t);
    return n;
}

/* x[-n:], of which there are so many. */
static jcv_node *last_part(jcv *c, jcv_val *x, int axis, jcv_val *start) {
    jcv_val *whole = jcv_dim_of(c, x, axis);
    jcv_val *n = &jcv_op(c, JN_OP(s_neg), &start, 1, NULL)->out[0];
    jcv_val *from[2] = {whole, start};
    jcv_at_least(c, n, jcv_int(c, 1)); /* x[-0:] is all of x */
    jcv_at_least(c, whole, n);
    jcv_val *in[3] = {x, &jcv_op(c, JN_OP(s_add), from, 2, NULL)->out[0], NULL};
    return sliced(c, in, axis, n->image.i);
}

jcv_node *jcv_part_of(jcv *c, jcv_val *x, int axis, jcv_val *start, jcv_val *stop) {
    jcv_val *in[3] = {x, start, stop};
    janus_slice_attrs attrs = {sizeof attrs, axis, 1};
    int64_t size = x->type->dims[axis], part = fixed_length(start, stop);
    jcv_new_size fresh = {.symbol = SIZE_MAX};
    if (start && start->sized && start->image.i < 0 && !stop)
        return last_part(c, x, axis, start);
    bool free_start = is_free(c, start), free_stop = is_free(c, stop);
    if (!free_start && !free_stop && (!stop || is_const(stop) || jcv_dim_varies(c, size)))
        return jcv_op(c, JN_OP(slice), in, 3, &attrs);
    jcv_val *whole = jcv_dim_of(c, x, axis);
    if (free_start && part >= 0) {
        jcv_at_least(c, start, jcv_int(c, 0));
        jcv_at_least(c, whole, stop);
    } else if (stop && !is_const(stop) && is_zero(start)) {
        jcv_becomes_size(c, stop);
        jcv_at_least(c, whole, stop);
        part = stop->image.i;
    } else {
        fresh = part_size(c, size, start, stop);
        part = fresh.image;
    }
    jcv_node *n = sliced(c, in, axis, part);
    if (fresh.symbol != SIZE_MAX || fresh.same)
        jcv_size_is(c, &fresh, jcv_size_of(c, &n->out[0], axis));
    return n;
}

/* ---- 0 and 1 ------------------------------------------------------------------------------------
 */

static bool any_size(const jn_op *op) {
    return op->role != JN_ROLE_COMPUTE || op->flags & (JN_OP_ANY_SIZE | JN_OP_ELEMENTWISE);
}

static bool has(const jn_type *t, int64_t size) {
    for (int i = 0; t->kind == JANUS_KIND_TENSOR && i < t->rank; i++)
        if (t->dims[i] == size)
            return true;
    return false;
}

/* Named dims are all that a squeeze looks at. */
static bool squeezes(const jcv_node *n, int64_t size) {
    janus_ints named = ((const janus_squeeze_attrs *)n->attrs)->axis;
    const jn_type *t = n->in[0]->type;
    bool yes = !named.n;
    for (size_t i = 0; i < named.n; i++)
        yes = yes || t->dims[named.data[i] < 0 ? named.data[i] + t->rank : named.data[i]] == size;
    return yes;
}

static bool minds(const jcv_node *n, int64_t size) {
    if (n->kind != JCV_OP || !n->op || any_size(n->op) ||
        (n->op == JN_OP(squeeze) && !squeezes(n, size)))
        return false;
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] && has(n->in[i]->type, size))
            return true;
    for (unsigned i = 0; i < n->n_out; i++)
        if (has(n->out[i].type, size))
            return true;
    return false;
}

void jcv_keep_large(jcv *c, const jn_type *t) {
    for (int i = 0; t->kind == JANUS_KIND_TENSOR && i < t->rank; i++)
        if (jcv_dim_varies(c, t->dims[i]) && !jn_vec_push(&c->large, t->dims[i]))
            jcv_refuse(c, "out of memory");
}

bool jcv_may_be_small(const jcv *c, int64_t size) {
    bool small = !c->f->exact;
    for (size_t i = 0; i < c->large.n && small; i++)
        small = c->large.data[i] != size;
    for (size_t i = 0; i < c->ctxs.n && small; i++)
        for (size_t k = 0; k < c->ctxs.data[i]->nodes.n && small; k++)
            small = !minds(c->ctxs.data[i]->nodes.data[k], size);
    return small;
}
