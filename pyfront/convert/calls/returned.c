/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recursion returns: a template of its structure, which all calls agree on, and its leaves
 * as results of the SubGraph.
 */
#include "pyfront/convert/calls/calls.h"

#include <string.h>

#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/values.h"

static unsigned times_in(jcv *c, jcv_av *all, jcv_av *a) {
    unsigned n = jcv_same_root(c, all, a);
    if (all->kind == AV_MAYBE)
        return all->self ? times_in(c, all->self, a) : 0;
    for (unsigned i = 0; all->kind == AV_TUPLE && i < all->n; i++)
        n += times_in(c, all->items[i], a);
    return n;
}

/* Whether what a call returns may be known to others: `all` is all that it returns. */
static bool has_other_names(jcv *c, jcv_av *a, const jcv_instance *in, jcv_av *all) {
    return a->kind == AV_TENSOR && (!jcv_only_in(c, a, in->ctx, NULL) || times_in(c, all, a) != 1);
}

static bool is_constant_number(const jcv_av *a) { return a->kind == AV_PY && jcv_number_kind(a); }

/* Copies a result's shape so that it outlives the attempt: leaves keep kind, type and tracking. */
jcv_av *jcv_returned(jcv *c, jcv_av *a, const jcv_instance *in, jcv_av *all) {
    jcv_av *t = jcv_kept(c, sizeof *t);
    t->kind = a->kind;
    if (a->kind == AV_TUPLE) {
        t->n = a->n;
        t->named = a->named;
        t->text = a->text;
        t->items = jcv_kept(c, a->n * sizeof *t->items);
        for (unsigned i = 0; i < a->n; i++)
            t->items[i] = jcv_returned(c, a->items[i], in, all);
        return t;
    }
    if (a->kind == AV_MAYBE && a->self) {
        t->self = jcv_returned(c, a->self, in, all);
        if (jcv_number_or(a)) {
            t->items = jcv_kept(c, sizeof *t->items);
            t->items[0] = jcv_returned(c, jcv_number_or(a), in, all);
        }
        return t;
    }
    if (is_constant_number(a) ||
        (a->kind == AV_PY && (a->py == Py_None || PyUnicode_CheckExact(a->py)))) {
        t->py = a->py;
        Py_INCREF(t->py); /* a short string, a number or None: kept for ever */
        return t;
    }
    jcv_val *v = jcv_leaf_val(c, a);
    jn_type *type = jcv_kept(c, sizeof *type);
    *type = *v->type;
    if (type->kind == JANUS_KIND_OBJECT)
        jcv_refuse(c, "a recursion that returns objects");
    if (!jcv_plain_layout(a))
        jcv_refuse(c, "a recursion that returns a tensor with strides of its own");
    if (type->kind == JANUS_KIND_TENSOR) {
        int64_t *dims = jcv_kept(c, (size_t)type->rank * sizeof *dims);
        for (int i = 0; i < type->rank; i++)
            dims[i] = jcv_size_of_call(c, v->type->dims[i]);
        type->dims = dims;
    }
    t->kind = type->kind == JANUS_KIND_TENSOR ? AV_TENSOR : AV_SCALAR;
    jcv_val *kept = jcv_kept(c, sizeof *kept);
    kept->type = type;
    t->val = kept;
    t->n = jcv_leaf_tracked(c, a);
    t->slot = has_other_names(c, a, in, all);
    return t;
}

/* One of them is, or may be, of another kind than the other one: so the result is an optional
 * value. `t` becomes the template of that. */
static int fit_optional(jcv *c, jcv_av *t, jcv_av *a, const jcv_instance *in, jcv_av *all) {
    jcv_two two;
    if (!jcv_two_kinds(t, a, &two))
        return -1;
    jcv_av *there = jcv_kind_in(a, two.there);
    jcv_av *number = two.number ? jcv_kind_in(a, two.number) : NULL;
    if (t->kind == AV_MAYBE) {
        int r = there ? jcv_fit_returned(c, t->self, there, in, all) : 1;
        int s = number ? jcv_fit_returned(c, t->items[0], number, in, all) : 1;
        return r < 0 || s < 0 ? -1 : r && s;
    }
    jcv_av *was = NULL, *of, *known = NULL; /* what it was, what it is now */
    if (!jcv_is_none(t)) {
        was = jcv_kept(c, sizeof *was);
        *was = *t;
    }
    bool first = was && jcv_kind_in(t, two.there);
    of = first ? was : jcv_returned(c, there, in, all);
    if (two.number)
        known = was && !first ? was : jcv_returned(c, number, in, all);
    jcv_av *more = was ? first ? there : number : NULL;
    int r = more ? jcv_fit_returned(c, was, more, in, all) : 0;
    *t = (jcv_av){.kind = AV_MAYBE, .self = of};
    if (known) {
        t->items = jcv_kept(c, sizeof *t->items);
        t->items[0] = known;
    }
    return r < 0 ? -1 : 0;
}

/* Whether one is of another kind than the other one: None, a number, a tensor. */
static bool of_two_kinds(jcv_av *t, jcv_av *a) {
    jcv_two two;
    return t->kind == AV_MAYBE || a->kind == AV_MAYBE || jcv_two_kinds(t, a, &two);
}

/* 1: they agree, 0: `t` was widened (it requires grad, has other names, may be None), -1: they do
 * not fit. */
int jcv_fit_returned(jcv *c, jcv_av *t, jcv_av *a, const jcv_instance *in, jcv_av *all) {
    if (t->kind == AV_TUPLE) {
        if (a->kind != AV_TUPLE || a->n != t->n || a->named != t->named || a->text != t->text)
            return -1;
        int r = 1;
        for (unsigned i = 0; i < t->n; i++) {
            int x = jcv_fit_returned(c, t->items[i], a->items[i], in, all);
            if (x < 0)
                return -1;
            r = r && x;
        }
        return r;
    }
    if (t->kind == AV_PY && a->kind == AV_PY && (a->py == t->py || jcv_av_equal(a, t)))
        return 1;
    if (is_constant_number(t) && jcv_number_kind(a) == jcv_number_kind(t)) {
        *t = *jcv_returned(c, jcv_scalar(c, jcv_number(c, a)), in, all);
        return 0;
    }
    if (of_two_kinds(t, a))
        return fit_optional(c, t, a, in, all);
    if (t->kind == AV_PY || a->kind == AV_TUPLE || jcv_is_none(a))
        return -1;
    int sizes = jcv_fit_sizes(c, (jn_type *)t->val->type, jcv_leaf_val(c, a)->type);
    if (sizes < 0 || !jcv_plain_layout(a))
        return -1;
    bool on_tape = t->n || (t->kind == AV_TENSOR && jcv_leaf_tracked(c, a));
    bool others = t->slot || has_other_names(c, a, in, all);
    bool same = sizes && t->n == on_tape && t->slot == others;
    t->n = on_tape;
    t->slot = others;
    return same;
}

static void add_leaf(jcv *c, jcv_ctx *to, jcv_val *v) {
    if (!jn_vec_push(&to->results, v))
        jcv_refuse(c, "out of memory");
}

/* A part of an optional value; a: NULL where it is never that. */
static void add_optional(jcv *c, const jcv_av *t, jcv_av *a, jcv_ctx *to) {
    if (a)
        jcv_returned_leaves(c, t, a, to);
    else if (t->kind == AV_TENSOR)
        add_leaf(c, to, jcv_unseen(c, t->val->type));
    else if (t->kind == AV_SCALAR)
        add_leaf(c, to, jcv_scalar_const(c, t->val->type->kind, (janus_scalar){0}));
}

void jcv_returned_leaves(jcv *c, const jcv_av *t, jcv_av *a, jcv_ctx *to) {
    if (t->kind == AV_MAYBE) {
        jcv_av *there = jcv_kind_in(a, t->self), *n = jcv_number_or(t);
        add_leaf(c, to,
                 a->kind == AV_MAYBE
                     ? a->val
                     : jcv_scalar_const(c, JANUS_KIND_BOOL, (janus_scalar){.i = there != NULL}));
        add_optional(c, t->self, there, to);
        if (n)
            add_optional(c, n, jcv_kind_in(a, n), to);
    } else if (t->kind == AV_TUPLE) {
        for (unsigned i = 0; i < a->n; i++)
            jcv_returned_leaves(c, t->items[i], a->items[i], to);
    } else if (t->kind != AV_PY) {
        add_leaf(c, to, jcv_leaf_val(c, a));
    }
}

unsigned jcv_count_returned(const jcv_av *t) {
    if (t->kind == AV_TUPLE) {
        unsigned n = 0;
        for (unsigned i = 0; i < t->n; i++)
            n += jcv_count_returned(t->items[i]);
        return n;
    }
    if (t->kind == AV_MAYBE)
        return 1 + jcv_count_returned(t->self) +
               (jcv_number_or(t) ? jcv_count_returned(jcv_number_or(t)) : 0);
    return t->kind == AV_PY ? 0 : 1;
}

void jcv_returned_types(jcv *c, const jcv_av *t, const jn_type **types, unsigned *at) {
    if (t->kind == AV_MAYBE) {
        types[(*at)++] = jcv_type(c, jn_scalar_type(JANUS_KIND_BOOL));
        jcv_returned_types(c, t->self, types, at);
        if (jcv_number_or(t))
            jcv_returned_types(c, jcv_number_or(t), types, at);
    } else if (t->kind == AV_TUPLE)
        for (unsigned i = 0; i < t->n; i++)
            jcv_returned_types(c, t->items[i], types, at);
    else if (t->kind != AV_PY)
        types[(*at)++] = t->val->type;
}

jcv_av *jcv_make_returned(jcv *c, const jcv_av *t, jcv_node *n, unsigned *at) {
    if (t->kind == AV_TUPLE) {
        jcv_av *x = jcv_tuple_like(c, t);
        for (unsigned i = 0; i < t->n; i++)
            x->items[i] = jcv_make_returned(c, t->items[i], n, at);
        return t->text == jcv_record ? jcv_from_record(c, x) : x;
    }
    if (t->kind == AV_PY)
        return jcv_py(c, t->py, NULL);
    if (t->kind == AV_MAYBE) {
        jcv_val *present = &n->out[(*at)++];
        jcv_av *there = jcv_make_returned(c, t->self, n, at);
        jcv_av *number = jcv_number_or(t) ? jcv_make_returned(c, jcv_number_or(t), n, at) : NULL;
        return jcv_maybe_or(c, present, there, number);
    }
    jcv_val *v = &n->out[(*at)++];
    if (t->kind == AV_SCALAR)
        return jcv_scalar(c, v);
    v->depends = t->n && !jpy_no_grad_mode;
    v->cut = t->n && jpy_no_grad_mode;
    jcv_av *a = jcv_proxy(c, v, t->n && !jpy_no_grad_mode);
    jcv_rec_of(c, ((jpy_tensor *)a->py)->t)->shared = t->slot;
    return a;
}
