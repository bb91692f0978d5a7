/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging: one value of what two paths, or the rounds of a loop, leave in a slot.
 *
 * Two values of the same kind have a common *shape*, whose leaves become values of the graph; of
 * different kinds, nothing is known of the result, and who needs it refuses.
 */
#include "pyfront/convert/heap/heap.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/core/list.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/methods/methods.h"

janus_kind jcv_number_kind(const jcv_av *a) {
    if (a->kind == AV_SCALAR)
        return (janus_kind)a->val->type->kind;
    if (a->kind != AV_PY)
        return JANUS_KIND_NONE;
    return PyBool_Check(a->py)         ? JANUS_KIND_BOOL
           : PyLong_CheckExact(a->py)  ? JANUS_KIND_INT
           : PyFloat_CheckExact(a->py) ? JANUS_KIND_FLOAT
                                       : JANUS_KIND_NONE;
}

static jcv_av *undef(jcv *c, const char *why) { return jcv_lacking(c, LACK_UNKNOWN, why); }

jcv_av *jcv_placeholder(jcv *c, jcv_av *a, jcv_av *b, jcv_pairs *p) {
    jcv_add(c, &p->a, a);
    jcv_add(c, &p->b, b);
    jcv_av *x = jcv_new(c, AV_ITER);
    x->text = "leaf";
    x->n = (unsigned)p->a.n - 1;
    return x;
}

/* One tensor on each path under several names is one tensor after them. */
static jcv_av *same_placeholder(jcv *c, jcv_av *a, jcv_av *b, jcv_pairs *p) {
    for (size_t i = 0; i < p->a.n; i++)
        if (p->a.data[i]->kind == AV_TENSOR && p->b.data[i]->kind == AV_TENSOR &&
            p->a.data[i]->py == a->py && p->b.data[i]->py == b->py) {
            jcv_av *x = jcv_new(c, AV_ITER);
            x->text = "leaf";
            x->n = (unsigned)i;
            return x;
        }
    return jcv_placeholder(c, a, b, p);
}

static bool unset(const jcv_av *a) { return jcv_lacks(a, LACK_UNRETURNED); }

jcv_val *jcv_unseen(jcv *c, const jn_type *type) {
    janus_full_attrs attrs = {sizeof attrs, {type->dims, (size_t)type->rank}, type->dtype};
    jcv_val *v = jcv_scalar_const(c,
                                  jn_dtype_is_float(type->dtype) ? JANUS_KIND_FLOAT
                                  : type->dtype == JANUS_BOOL    ? JANUS_KIND_BOOL
                                                                 : JANUS_KIND_INT,
                                  (janus_scalar){0});
    v = &jcv_op(c, JN_OP(full), &v, 1, &attrs)->out[0];
    v->moot = true;
    return v;
}

/* Something of the same kind that nobody looks at. */
jcv_av *jcv_dummy(jcv *c, jcv_av *like) {
    janus_scalar zero = {0};
    jcv_av *t;
    switch (like->kind) {
    case AV_TENSOR:
        return jcv_proxy_like(c, jcv_unseen(c, jcv_tensor_val(c, like->py)->type), false, like);
    case AV_SCALAR:
        return jcv_scalar(c, jcv_scalar_const(c, like->val->type->kind, zero));
    case AV_PY:
        return like;
    case AV_MAYBE:
        if (!like->self)
            jcv_refuse(c, "%s is returned from inside a loop", jcv_describe(like));
        t = jcv_number_or(like) ? jcv_dummy(c, jcv_number_or(like)) : NULL;
        return jcv_maybe_or(c, jcv_scalar_const(c, JANUS_KIND_BOOL, zero), jcv_dummy(c, like->self),
                            t);
    case AV_TUPLE:
        t = jcv_tuple_like(c, like);
        for (unsigned i = 0; i < t->n; i++)
            t->items[i] = jcv_dummy(c, like->items[i]);
        return t;
    default:
        jcv_refuse(c, "%s is returned from inside a loop", jcv_describe(like));
    }
}

/* Two tuples that became one: an object that is known by two names stays one. */
struct jcv_joined {
    const jcv_av *a, *b;
    jcv_av *both, *filled;
    struct jcv_joined *next;
};

static jcv_av *join_tuples(jcv *c, jcv_av *a, jcv_av *b, jcv_pairs *p, jcv_force force) {
    for (const struct jcv_joined *x = p->tuples; x; x = x->next)
        if (x->a == a && x->b == b)
            return x->both;
        else if (x->a == a || x->b == b)
            return undef(c, "a tuple is one object on one path and two on another");
    struct jcv_joined *x = jcv_alloc(c, sizeof *x);
    jcv_av *t = jcv_tuple_like(c, a);
    for (unsigned i = 0; i < a->n; i++)
        t->items[i] = jcv_merge(c, a->items[i], b->items[i], p, force);
    *x = (struct jcv_joined){a, b, t, NULL, p->tuples};
    p->tuples = x;
    return t;
}

/* None on one path and a number or tensor on another, a number and a tensor, or numbers of two
 * kinds: which it is is a bool, and for the other stands one of its kind that nobody looks at.
 * NULL: it is something else. */
static jcv_av *join_maybe(jcv *c, jcv_av *a, jcv_av *b, jcv_pairs *p, jcv_force force) {
    jcv_two two;
    if (!jcv_two_kinds(a, b, &two))
        return NULL;
    bool rounds = force >= MERGE_ROUNDS;
    jcv_force each = rounds ? force : MERGE_ARMS;
    a = jcv_as_two(c, a, &two);
    b = jcv_as_two(c, b, &two);
    jcv_av *n = two.number ? jcv_merge(c, jcv_number_or(a), jcv_number_or(b), p, each) : NULL;
    if (n && n->kind == AV_UNDEF)
        return n;
    jcv_av *value = jcv_merge(c, a->self, b->self, p, each);
    if (value->kind == AV_UNDEF)
        return value;
    jcv_av *there = jcv_merge(c, jcv_scalar(c, a->val), jcv_scalar(c, b->val), p,
                              rounds ? MERGE_NUMBERS : MERGE_ARMS);
    jcv_av *m = jcv_tuple(c, (jcv_av *[]){there, value, n}, n ? 3 : 2);
    m->kind = AV_MAYBE;
    return m;
}

/* Tensors that have other dims on another path and are else alike: only the run knows the sizes. */
static bool other_sizes(jcv *c, jcv_av *a, jcv_av *b) {
    if (a->kind != AV_TENSOR || b->kind != AV_TENSOR)
        return false;
    const jn_type *x = jcv_tensor_val(c, a->py)->type, *y = jcv_tensor_val(c, b->py)->type;
    if (x->dtype != y->dtype || x->rank != y->rank || !jcv_plain_layout(a) || !jcv_plain_layout(b))
        return false;
    c->asks_images = true;
    return c->image;
}

/* Nothing is known of what may be of either kind, but that the graph can make containers. */
static jcv_av *different(jcv *c, const jcv_av *a, const jcv_av *b) {
    jcv_av *u = undef(c, "it is of different kinds on different paths");
    const jcv_av *x[2] = {a, b}, *made = jcv_made_at(a) ? a : b;
    for (int i = 0; i < 2; i++)
        if (!jcv_made_at(x[i]) && x[i]->kind != AV_HOST && !(x[i]->kind == AV_PY && x[i]->src))
            return u;
    u->self = jcv_made_at(made) ? (jcv_av *)made : NULL;
    return u;
}

/* A constant as the object that it is, of which another path has another one; NULL: it is none. */
static jcv_av *constant_object(jcv *c, jcv_av *a) {
    bool one = jcv_is_none(a) || (a->kind == AV_PY && jcv_is_const(a) &&
                                  (PyUnicode_CheckExact(a->py) || PyTuple_CheckExact(a->py)));
    PyObject *o = a->kind == AV_TUPLE && !a->n && !a->named ? jpy.empty_tuple : one ? a->py : NULL;
    return o ? jcv_py(c, o, NULL) : NULL;
}

bool jcv_one_of_many(const jcv_av *a) {
    return a->kind == AV_PY && a->src && !jcv_is_const(a) && !PyFunction_Check(a->py) &&
           !PyMethod_Check(a->py) && !jpy_module_check(a->py);
}

/* What is called has to be known, and what has it in it. */
static bool is_to_be_known(PyObject *o) {
    bool any = PyCFunction_Check(o) || PyType_Check(o) || Py_TYPE(o) == jpy.op_type ||
               Py_TYPE(o) == jpy.function_type || PyFunction_Check(o);
    for (Py_ssize_t i = 0; PyTuple_Check(o) && i < PyTuple_GET_SIZE(o) && !any; i++)
        any = is_to_be_known(PyTuple_GET_ITEM(o, i));
    return any;
}

/* The object that a value on one path is, of which the other has another one; NULL: it is none, or
 * has to be known. */
static jcv_av *object_on_path(jcv *c, jcv_av *a, jcv_force force) {
    bool member = a->kind == AV_PY && a->src && jcv_is_enum(a->py);
    bool is = force == MERGE_OBJECTS && jcv_one_of_many(a) && !is_to_be_known(a->py);
    return member || is ? a : constant_object(c, a);
}

jcv_av *jcv_merge(jcv *c, jcv_av *a, jcv_av *b, jcv_pairs *p, jcv_force force) {
    if (unset(a) && b && b->kind != AV_UNDEF)
        a = jcv_dummy(c, b);
    else if (unset(b) && a && a->kind != AV_UNDEF)
        b = jcv_dummy(c, a);
    if (unset(a) && unset(b))
        return a;
    if (force == MERGE_NUMBERS && a && b && jcv_number_kind(a) &&
        jcv_number_kind(a) == jcv_number_kind(b))
        return jcv_placeholder(c, a, b, p);
    bool tuples = a != b && a && b && a->kind == AV_TUPLE && b->kind == AV_TUPLE && a->n;
    if (!tuples && jcv_av_equal(a, b) &&
        !(force >= MERGE_ROUNDS &&
          (a->kind == AV_TENSOR || a->kind == AV_SCALAR || a->kind == AV_HOST ||
           a->kind == AV_TUPLE || a->kind == AV_STACK || a->kind == AV_DATA ||
           (a->kind == AV_MAYBE && a->self))))
        return a;
    if (!a || !b || a->kind == AV_UNDEF || b->kind == AV_UNDEF)
        return undef(c, "it is not bound on every path");
    if (jcv_number_kind(a) && jcv_number_kind(a) == jcv_number_kind(b))
        return jcv_placeholder(c, a, b, p);
    if (a->kind == AV_TENSOR && b->kind == AV_TENSOR &&
        jcv_same_type(jcv_tensor_val(c, a->py)->type, jcv_tensor_val(c, b->py)->type)) {
        if (!jcv_same_layout(a, b))
            return undef(c, "it has other strides on another path");
        return force >= MERGE_ROUNDS ? jcv_placeholder(c, a, b, p) : same_placeholder(c, a, b, p);
    }
    if (force < MERGE_ROUNDS && other_sizes(c, a, b))
        return same_placeholder(c, a, b, p);
    if (a->kind == AV_DATA && b->kind == AV_DATA)
        return jcv_placeholder(c, a, b, p);
    if (a->kind == AV_STACK && b->kind == AV_STACK && jcv_same_type(a->val->type, b->val->type))
        return jcv_placeholder(c, a, b, p);
    if (a->kind == AV_HOST && (b->kind == AV_HOST || (b->kind == AV_PY && b->src)))
        return jcv_placeholder(c, a, b, p);
    if (b->kind == AV_HOST && a->kind == AV_PY && a->src)
        return jcv_placeholder(c, a, b, p);
    jcv_av *one = force >= MERGE_ROUNDS ? NULL
                  : a->kind == AV_HOST  ? constant_object(c, b)
                  : b->kind == AV_HOST  ? constant_object(c, a)
                                        : NULL;
    if (one)
        return a->kind == AV_HOST ? jcv_placeholder(c, a, one, p) : jcv_placeholder(c, one, b, p);
    if (a->kind == AV_TUPLE && b->kind == AV_TUPLE && a->n == b->n && a->named == b->named &&
        a->text == b->text)
        return join_tuples(c, a, b, p, force);
    bool rounds = force >= MERGE_ROUNDS && a->kind == AV_MAYBE && a->self;
    bool optional = force == MERGE_OPTIONAL || force == MERGE_OBJECTS;
    jcv_av *maybe = optional || rounds ? join_maybe(c, a, b, p, force) : NULL;
    if (maybe)
        return maybe;
    jcv_av *x = optional ? object_on_path(c, a, force) : NULL;
    jcv_av *y =
        x ? object_on_path(c, b, force) : NULL; /* two nodes, two strings, None and either */
    return y ? jcv_placeholder(c, x, y, p) : different(c, a, b);
}

/* Pairs of a dict: the same keys in the same order, which stay the keys that they are. */
static jcv_av *join_pairs(jcv *c, jcv_av *a, jcv_av *b, jcv_pairs *p, jcv_force force) {
    bool same = a->n == b->n && a->text == b->text;
    for (unsigned i = 0; same && i < a->n; i += 2)
        same = jcv_av_equal(a->items[i], b->items[i]);
    if (!same)
        return undef(c, "a dict has other keys on another path");
    jcv_av *t = jcv_tuple_like(c, a);
    for (unsigned i = 1; i < a->n; i += 2)
        t->items[i] = jcv_merge(c, a->items[i], b->items[i], p, force);
    return t;
}

jcv_av *jcv_merge_slot(jcv *c, uint32_t slot, jcv_av *a, jcv_av *b, jcv_pairs *p, jcv_force force) {
    jcv_av *of = jcv_container_in(c, slot);
    bool dict = of && of->kind == AV_DICT && a && b && a->kind == AV_TUPLE && b->kind == AV_TUPLE;
    return dict ? join_pairs(c, a, b, p, force) : jcv_merge(c, a, b, p, force);
}

static bool is_leaf(const jcv_av *a) {
    return a->kind == AV_ITER && a->text && !strcmp(a->text, "leaf");
}

/* Whether two shapes have leaves at the same places and are else the same.  *out_number: where one
 * has a leaf the other has a number. */
bool jcv_same_shape(const jcv_av *a, const jcv_av *b, bool *out_number) {
    if (is_leaf(a) && is_leaf(b))
        return true;
    bool maybe = a->kind == AV_MAYBE && b->kind == AV_MAYBE && !a->val && !b->val;
    if ((maybe && a->n == b->n) || (a->kind == AV_TUPLE && b->kind == AV_TUPLE && a->n == b->n &&
                                    a->named == b->named && a->text == b->text)) {
        bool same = true;
        for (unsigned i = 0; i < a->n; i++)
            same = jcv_same_shape(a->items[i], b->items[i], out_number) && same;
        return same;
    }
    if (jcv_number_kind(a) && is_leaf(b))
        *out_number = true;
    return jcv_av_equal(a, b);
}

/* once: the tuples that are one object wherever they are met, or NULL. */
static jcv_av *fill(jcv *c, jcv_av *shape, jcv_av *const *leaves, struct jcv_joined *once) {
    struct jcv_joined *x = once;
    if (is_leaf(shape))
        return leaves[shape->n];
    if (shape->kind == AV_UNDEF && shape->held && is_leaf(shape->held)) {
        jcv_av *u = jcv_lacking(c, LACK_UNKNOWN, shape->text);
        u->self = shape->self;
        u->held = leaves[shape->held->n];
        return u;
    }
    if (shape->kind == AV_MAYBE && !shape->val)
        return jcv_maybe_or(c, jcv_number(c, fill(c, shape->items[0], leaves, once)),
                            fill(c, shape->items[1], leaves, once),
                            shape->n > 2 ? fill(c, shape->items[2], leaves, once) : NULL);
    if (shape->kind != AV_TUPLE && !jcv_is_slice(shape))
        return shape;
    while (x && x->both != shape)
        x = x->next;
    if (x && x->filled)
        return x->filled;
    jcv_av *t = jcv_tuple_like(c, shape);
    t->kind = shape->kind;
    t->text = shape->text;
    for (unsigned i = 0; i < t->n; i++)
        t->items[i] = fill(c, t->items[i], leaves, once);
    if (x)
        x->filled = t;
    return t;
}

jcv_av *jcv_fill(jcv *c, jcv_av *shape, jcv_av *const *leaves) {
    return fill(c, shape, leaves, NULL);
}

/* Fills slots with what the leaves have become. */
void jcv_fill_slots(jcv *c, const uint32_t *which, jcv_av *const *shapes, size_t n,
                    jcv_av *const *leaves, struct jcv_joined *once) {
    for (struct jcv_joined *x = once; x; x = x->next)
        x->filled = NULL;
    for (size_t i = 0; i < n; i++)
        jcv_put(c, which[i], fill(c, shapes[i], leaves, once));
    jcv_sync_places(c);
}

jcv_val *jcv_leaf_val(jcv *c, jcv_av *a) {
    if (a->kind == AV_TENSOR) {
        jcv_leak(c, jcv_rec_of(c, ((jpy_tensor *)a->py)->t));
        return jcv_tensor_val(c, a->py);
    }
    if (a->kind == AV_HOST || a->kind == AV_STACK || a->kind == AV_DATA)
        return a->val;
    if (a->kind == AV_LIST || a->kind == AV_DICT)
        jcv_make_live(c, a);
    jcv_val *v = jcv_number(c, a);
    if (!v && a->kind == AV_PY && (a->src || jcv_is_const(a)))
        v = jcv_to_host(c, a)->val;
    if (!v)
        jcv_refuse(c, "%s cannot be a value of the graph", jcv_describe(a));
    return v;
}

bool jcv_leaf_tracked(jcv *c, jcv_av *a) {
    (void)c;
    if (a->kind == AV_STACK || a->kind == AV_DATA)
        return a->n;
    return a->kind == AV_TENSOR && jpy_tensor_tracked((jpy_tensor *)a->py);
}

jcv_av *jcv_leaf(jcv *c, jcv_val *v, jcv_av *like, bool tracked) {
    jcv_av *a;
    if (like && like->kind == AV_DATA) {
        a = jcv_new(c, AV_DATA);
        a->val = v;
        a->n = tracked;
        return a;
    }
    if (v->type->kind == JANUS_KIND_TENSOR && !jn_type_static(v->type))
        return jcv_stack(c, v, tracked);
    if (v->type->kind == JANUS_KIND_TENSOR) {
        a = jcv_proxy_like(c, v, tracked, like);
        jcv_rec_of(c, ((jpy_tensor *)a->py)->t)->shared = true;
        return a;
    }
    if (v->type->kind == JANUS_KIND_OBJECT)
        return jcv_host(c, v, jcv_samples(c, like));
    return jcv_scalar(c, v);
}
