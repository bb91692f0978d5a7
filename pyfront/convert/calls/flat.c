/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments without containers: each number, tensor or object in them is a parameter of its own, so
 * that a recursion can pass them.
 *
 * Tuples and optional values are taken apart in every call.  Dicts and instances that the function
 * makes are one object each; only where a call of a recursion gets another one than the call around
 * it, the conversion starts again, and what is handed on is what they hold: a dict by its keys, an
 * instance by the names of its attributes.  A container among those is one of the graph's then, so
 * it is the same one inside.  The instance inside is a copy, which nobody can tell from the object
 * as long as it stays as it is (objects/copies.c); it does not outlive the call.
 */
#include "pyfront/convert/calls/calls.h"

#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/methods/methods.h"

/* A tuple that is a node of a tree, not several values: something in it is no value of the graph.
 */
static bool is_node(PyObject *t) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(t); i++) {
        PyObject *o = PyTuple_GET_ITEM(t, i);
        if (!jpy_tensor_check(o) && !PyLong_Check(o) && !PyFloat_Check(o) && o != Py_None)
            return true;
    }
    return false;
}

/* An optional value by its parts: whether it is there, what it then is, and else. */
static bool is_optional(const jcv_av *a) { return a->kind == AV_MAYBE && !a->val && a->n; }

/* Returns the shape, whose leaves are numbered. */
static jcv_av *flatten(jcv *c, jcv_av *a, bool real, jcv_av **flat, unsigned *n) {
    enum { MAX_FLAT = 256 };
    jcv_av **items;
    unsigned m;
    if (real && a->kind == AV_PY && a->src && PyTuple_CheckExact(a->py) && !is_node(a->py) &&
        jcv_items(c, a, &items, &m))
        a = jcv_tuple(c, items, m);
    if (a->kind == AV_MAYBE && a->self) {
        jcv_av *parts[3] = {jcv_scalar(c, a->val), a->self, jcv_number_or(a)};
        a = jcv_tuple(c, parts, parts[2] ? 3 : 2);
        a->kind = AV_MAYBE;
    }
    if (a->kind == AV_TUPLE || jcv_is_slice(a) || is_optional(a)) {
        jcv_av *t = jcv_tuple_like(c, a);
        t->kind = a->kind;
        t->text = a->text;
        for (unsigned i = 0; i < t->n; i++)
            if (t->text != jcv_record || i % 2) /* names of attributes are what they are */
                t->items[i] = flatten(c, a->items[i], real, flat, n);
        return t;
    }
    if (real && a->kind == AV_PY && a->py == Py_None && !a->src)
        return a; /* what is not given: the calls that give it are of another kind */
    if (*n == MAX_FLAT)
        jcv_refuse(c, "a call with very many arguments");
    jcv_av *leaf = jcv_new(c, AV_ITER);
    leaf->text = "leaf";
    leaf->named = a->kind == AV_TENSOR ? (PyObject *)jpy.tensor_type : NULL; /* no number */
    leaf->n = *n;
    flat[(*n)++] = a;
    return leaf;
}

static const char pairs_text[] = "the pairs of a dict";

/* Whether a function is given pairs in the place of dicts, a parameter of one a record. */
static bool is_by_parts(const jcv *c, const jpy_tree *function_or_parameter) {
    const jcv_peel *p = c->by_pairs;
    while (p && p->loop != function_or_parameter)
        p = p->next;
    return p;
}

static bool gets_pairs(const jcv *c, const jcv_frame *fr) { return is_by_parts(c, fr->def); }

/* The parameter's node; NULL: it is *args or **kwargs. */
static const jpy_tree *parameter(const jcv_frame *fr, unsigned i) {
    return i < fr->def->c->x.n ? fr->def->c->x.v[i] : NULL;
}

/* Pairs of a dict that the function makes, whose keys are strings and ints; NULL: another one. */
static jcv_av *plain_pairs(jcv *c, const jcv_av *d) {
    jcv_av *t = d->kind == AV_DICT && !d->origin && d->tree ? c->slots.data[d->slot] : NULL;
    if (!t || t->kind != AV_TUPLE || t->text)
        return NULL;
    for (unsigned i = 0; i + 1 < t->n; i += 2) {
        const jcv_av *k = t->items[i];
        bool plain = k->kind == AV_PY && (PyUnicode_CheckExact(k->py) || PyLong_CheckExact(k->py));
        if (!plain || t->items[i + 1]->kind == AV_UNDEF)
            return NULL;
    }
    return t;
}

/* An instance that the function has made, which is what its attributes are. */
static bool is_made(jcv *c, const jcv_av *a) {
    return a->kind == AV_PY && jcv_is_fresh(c, a->py) && jcv_is_plain_class(Py_TYPE(a->py)) &&
           !jpy_module_check(a->py);
}

/* An instance by its attributes, and those that it has by theirs.  What the recursion itself writes
 * (a boxed attribute) would be written in the copy alone. */
static jcv_av *record_of(jcv *c, jcv_av *a) {
    if (!is_made(c, a))
        return a;
    const jcv_av *names = jcv_attr_order(c, a->py);
    for (unsigned i = 0; i < names->n; i++) {
        uint32_t slot = jcv_find_attr(c, a->py, names->items[i]->py)->slot;
        if (jcv_is_box(c->slots.data[slot]))
            jcv_refuse(c, "an instance that calls of a recursion get and write");
    }
    jcv_av *t = jcv_attrs_of_plain(c, a->py);
    jcv_go_inside(c);
    for (unsigned i = 1; i < t->n; i += 2)
        t->items[i] = record_of(c, t->items[i]);
    c->inside--;
    return t;
}

static bool has_leaf(const jcv_av *shape, unsigned leaf) {
    bool has = shape->kind == AV_ITER && shape->n == leaf;
    for (unsigned i = 0; shape->kind != AV_ITER && i < shape->n && !has; i++)
        has = has_leaf(shape->items[i], leaf);
    return has;
}

__attribute__((noreturn)) static void by_parts(jcv *c, const jpy_tree *of, const char *why) {
    jcv_peel *p = jn_arena_alloc(&c->keep, sizeof *p);
    if (!p)
        jcv_refuse(c, "out of memory");
    *p = (jcv_peel){of, c->by_pairs};
    c->by_pairs = p;
    snprintf(c->reason, sizeof c->reason, "%s", why);
    jcv_throw_now(c, THROW_RESTART);
}

void jcv_other_objects(jcv *c, const jcv_frame *fr, unsigned leaf, const jcv_av *a,
                       const jcv_av *b) {
    if (a->kind == AV_DICT && b->kind == AV_DICT && !gets_pairs(c, fr) && plain_pairs(c, a) &&
        plain_pairs(c, b))
        by_parts(c, fr->def, "a recursion gets other dicts");
    if (!is_made(c, a) || !is_made(c, b))
        return;
    unsigned i = 0;
    while (i < fr->shape->n && !has_leaf(fr->shape->items[i], leaf))
        i++;
    if (parameter(fr, i) && !is_by_parts(c, parameter(fr, i)))
        by_parts(c, parameter(fr, i), "a recursion gets other instances");
}

/* A dict in a recursion that other calls give another one: what it holds is given, and whoever
 * writes to it has it live. */
static jcv_av *given_dict(jcv *c, jcv_av *pairs) {
    jpy_tree *at = c->at;
    c->at = NULL; /* it is made elsewhere */
    jcv_av *d = jcv_dict(c), *t = jcv_tuple(c, pairs->items, pairs->n);
    c->at = at;
    d->tree = pairs->tree;
    jcv_put(c, d->slot, t);
    if (!jn_vec_push(&c->given, d->slot))
        jcv_refuse(c, "out of memory");
    return d;
}

jcv_av *jcv_flat_arguments(jcv *c, const jcv_frame *fr, jcv_av **v, unsigned n, jcv_av **flat,
                           unsigned *n_flat) {
    jcv_av *shape = jcv_tuple(c, v, n);
    bool real = jcv_recursive(c, fr);
    for (unsigned i = 0; i < n; i++) {
        if (parameter(fr, i) && is_by_parts(c, parameter(fr, i))) {
            shape->items[i] = flatten(c, record_of(c, v[i]), real, flat, n_flat);
            continue;
        }
        if (i + 1 < n || !fr->def->c->b) {
            jcv_av *held = real && gets_pairs(c, fr) ? plain_pairs(c, v[i]) : NULL;
            jcv_av *t = held ? jcv_tuple(c, held->items, held->n) : NULL;
            for (unsigned k = 1; t && k < t->n; k += 2)
                t->items[k] = flatten(c, t->items[k], real, flat, n_flat);
            if (t) {
                t->text = pairs_text;
                t->tree = v[i]->tree;
            }
            shape->items[i] = t ? t : flatten(c, v[i], real, flat, n_flat);
            continue;
        }
        jcv_av *pairs = c->slots.data[v[i]->slot], *kw = jcv_tuple(c, pairs->items, pairs->n);
        for (unsigned k = 1; k < kw->n; k += 2)
            kw->items[k] = flatten(c, kw->items[k], real, flat, n_flat);
        shape->items[i] = kw;
    }
    return shape;
}

jcv_av **jcv_from_flat(jcv *c, const jcv_frame *fr, jcv_av *const *flat) {
    unsigned n = fr->shape->n;
    jcv_av **v = jcv_alloc(c, (n + 1) * sizeof *v);
    for (unsigned i = 0; i < n; i++) {
        v[i] = jcv_fill(c, fr->shape->items[i], flat);
        if (fr->shape->items[i]->text == pairs_text) {
            v[i]->tree = fr->shape->items[i]->tree;
            v[i] = given_dict(c, v[i]);
        }
        if (v[i]->text == jcv_record)
            v[i] = jcv_from_copy(c, v[i]);
    }
    if (fr->def->c->b) {
        jcv_av *d = jcv_dict(c);
        jcv_put(c, d->slot, v[n - 1]);
        v[n - 1] = d;
    }
    return v;
}
