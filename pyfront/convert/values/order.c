/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sorted(), list.sort(), min() and max() by a key.
 *
 * Few known items are put in order by comparing neighbours, each comparison a branch that exchanges
 * them.  A sequence whose length only the graph knows is sorted by its keys, rows of one tensor:
 * its items are taken in the order of their places.  Both are stable, as Python's sort is.
 */
#include "pyfront/convert/values/values.h"

#include <math.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/values/native.h"

enum { MAX_SORTED = 12 };

const char *const jcv_ordered = "a sorted list";

static jcv_av *number(jcv *c, long v) { return jcv_take(c, PyLong_FromLong(v)); }

static jcv_av *key_of(jcv *c, jcv_av *key, jcv_av *item) {
    bool none = !key || (key->kind == AV_PY && key->py == Py_None);
    return none ? item : jcv_call1(c, key, item);
}

static bool flag(jcv *c, const jcv_args *a, const char *name) {
    jcv_av *v = jcv_kw_of(a, name);
    if (v && !(v->kind == AV_PY && PyBool_Check(v->py)))
        jcv_refuse(c, "%s=%s", name, jcv_describe(v));
    return v && v->py == Py_True;
}

static void only(jcv *c, const jcv_args *a, unsigned n_pos, const char *const *names) {
    if (a->n_pos != n_pos)
        jcv_refuse(c, "sorting with %u arguments", a->n_pos);
    for (unsigned i = 0; i < a->n_kw; i++)
        if (PyUnicode_CompareWithASCIIString(a->names[i], names[0]) != 0 &&
            PyUnicode_CompareWithASCIIString(a->names[i], names[1]) != 0)
            jcv_refuse(c, "this argument of sorting or choosing");
}

/* ---- known items --------------------------------------------------------------------------------
 */

typedef struct pair { /* slots of items and of their keys */
    uint32_t item[2], key[2];
} pair;

static jcv_out exchange(jcv *c, void *user, int arm) {
    pair *p = user;
    for (int i = 0; i < 2 && arm == 0; i++) {
        uint32_t *slots = i ? p->key : p->item;
        jcv_av *a = c->slots.data[slots[0]];
        jcv_put(c, slots[0], c->slots.data[slots[1]]);
        jcv_put(c, slots[1], a);
    }
    return OUT_NORMAL;
}

/* Whether they may have been exchanged. */
static bool exchange_if(jcv *c, jcv_av *cond, pair *p) {
    jcv_val *v = NULL;
    int t = jcv_truth(c, cond, &v);
    if (t > 0)
        exchange(c, p, 0);
    else if (t < 0)
        jcv_branch(c, v, exchange, p);
    return t != 0;
}

static jcv_av *in_slot(jcv *c, uint32_t slot) {
    jcv_av *v = c->slots.data[slot];
    if (v->kind == AV_UNDEF)
        jcv_refuse(c, "what is sorted: %s", v->text);
    return v;
}

/* What is known by its attributes, where it was made once: in the function itself. */
static jcv_av *one_of_several(jcv *c, jcv_av *a) {
    const jcv_ctx *x = c->ctx;
    while (x->kind == JCV_ARM && x->parent && !x->in_loop)
        x = x->parent;
    return jcv_to_copy(c, a, x == c->main ? 0 : SIZE_MAX);
}

/* ---- items that only the graph can count --------------------------------------------------------
 */

typedef struct keyed {
    jcv_av *over, *key;
    jcv_visit_fn fn;
    void *user;
} keyed;

static void pass_key(jcv *c, void *user, jcv_av *item) {
    keyed *k = user;
    jcv_av *v = key_of(c, k->key, item);
    if (!jcv_number(c, v))
        jcv_refuse(c, "sorting by %s", jcv_describe(v));
    k->fn(c, k->user, v);
}

static void feed_keys(jcv *c, void *from, jcv_visit_fn fn, void *user) {
    keyed k = *(keyed *)from;
    k.fn = fn;
    k.user = user;
    jcv_visit(c, k.over, NULL, pass_key, &k);
}

/* Nothing that it goes through may be written before its items are read. */
static bool stays(jcv *c, const jcv_av *over) {
    if (over->kind == AV_HOST)
        for (const jcv_live *l = c->lives; l; l = l->next)
            if (!l->type && !l->name)
                return false;
    for (unsigned i = 0; over->items && i < over->n; i++)
        if (!stays(c, over->items[i]))
            return false;
    return true;
}

static jcv_val *rows_op(jcv *c, const jn_op *op, jcv_val *const *in, unsigned n,
                        const void *attrs) {
    c->any_dims = true;
    jcv_node *node = jcv_op(c, op, in, n, attrs);
    c->any_dims = false;
    return &node->out[0];
}

jcv_av *jcv_ordered_item(jcv *c, jcv_av *a, jcv_val *i) {
    jcv_val *in[2] = {a->val, i};
    janus_select_attrs at = {sizeof at, 0};
    jcv_val *place = &jcv_op(c, JN_OP(select), in, 2, &at)->out[0];
    janus_item_attrs kind = {sizeof kind, JANUS_KIND_INT};
    return jcv_seq_item(c, a->items[0], &jcv_op(c, JN_OP(item), &place, 1, &kind)->out[0]);
}

/* `over` in the order of its keys, which are rows. */
static jcv_av *ordered_by(jcv *c, jcv_av *over, jcv_av *rows, bool reverse) {
    jcv_val *keys = rows->items[0]->val;
    if (rows->types[0]->kind == JANUS_KIND_FLOAT) { /* numbers that do not equal themselves */
        jcv_val *in[2] = {keys, keys}, *same = rows_op(c, JN_OP(eq), in, 2, NULL);
        jcv_val *all = rows_op(c, JN_OP(all), &same, 1, NULL);
        janus_item_attrs kind = {sizeof kind, JANUS_KIND_BOOL};
        jcv_assert(c, &jcv_op(c, JN_OP(item), &all, 1, &kind)->out[0], "keys have an order");
    }
    janus_argsort_attrs attrs = {sizeof attrs, 0, reverse};
    jcv_av *a = jcv_seq(c, jcv_ordered, &over, 1);
    a->slot = 0;
    a->val = rows_op(c, JN_OP(argsort), &keys, 1, &attrs);
    return a;
}

static jcv_av *sequence_in_order(jcv *c, jcv_av *over, jcv_av *key, bool reverse) {
    const jpy_tree *at = c->at;
    keyed k = {.over = over, .key = key};
    if (!jcv_is_seq(over) || over->slot)
        jcv_refuse(c, "sorting %s", jcv_describe(over));
    bool copied = !stays(c, over);
    if (copied && !jcv_live_site(c, at))
        jcv_make_live_site(c, at, false);
    uint32_t written = c->live_items;
    jcv_av *rows = jcv_collect(c, feed_keys, &k, true);
    if (rows->kind != AV_SEQ || rows->n != 1) /* none was met */
        return rows;
    if (copied && c->live_items != written)
        jcv_refuse(c, "sorting by keys whose making writes lists");
    jcv_av *a = ordered_by(c, over, rows, reverse);
    a->site = at;
    return jcv_live_site(c, at) ? jcv_list_of(c, jcv_feed, a, false, at) : a;
}

static void feed_all(jcv *c, void *tuple, jcv_visit_fn fn, void *user) {
    const jcv_av *t = tuple;
    for (unsigned i = 0; i < t->n; i++)
        fn(c, user, t->items[i]);
}

/* Instances whose keys, in slots, only the graph knows, as rows of their attributes; NULL: other
 * items. */
static jcv_av *instances_in_order(jcv *c, jcv_av *t, const uint32_t *keys, bool reverse) {
    jcv_av *items = jcv_tuple(c, t->items, t->n), *by = jcv_tuple(c, t->items, t->n);
    bool instances = t->n > 1;
    for (unsigned i = 0; i < t->n; i++) {
        items->items[i] = one_of_several(c, t->items[i]);
        instances = instances && items->items[i] != t->items[i];
        by->items[i] = jcv_scalar(c, jcv_number(c, c->slots.data[keys[i]]));
    }
    if (!instances)
        return NULL;
    jcv_av *rows = jcv_collect(c, feed_all, items, true);
    jcv_av *seq = ordered_by(c, rows, jcv_collect(c, feed_all, by, true), reverse);
    for (unsigned i = 0; i < t->n; i++)
        items->items[i] = jcv_seq_item(c, seq, jcv_int_const(c, (int64_t)i));
    return items;
}

/* By keys that are constants: as CPython puts them, whatever they are.  NULL: not all are. */
static jcv_av *by_constants(jcv *c, const jcv_av *t, jcv_av *const *keys, bool reverse) {
    PyObject *all = jcv_own(c, PyList_New(0)), *order = jcv_own(c, PyList_New(0));
    for (unsigned i = 0; i < t->n; i++) {
        PyObject *k = jcv_const_object(c, keys[i]);
        if (!k || !jpy_by_value(k))
            return NULL;
        if (PyList_Append(all, k) < 0 ||
            PyList_Append(order, jcv_own(c, PyLong_FromUnsignedLong(i))) < 0)
            jcv_refuse_py(c);
    }
    PyObject *sort = jcv_own(c, PyObject_GetAttrString(order, "sort"));
    PyObject *none = jcv_own(c, PyTuple_New(0)), *kw = jcv_own(c, PyDict_New());
    PyObject *key = jcv_own(c, PyObject_GetAttrString(all, "__getitem__"));
    if (PyDict_SetItemString(kw, "key", key) < 0 ||
        PyDict_SetItemString(kw, "reverse", reverse ? Py_True : Py_False) < 0)
        jcv_refuse_py(c);
    jcv_own(c, PyObject_Call(sort, none, kw));
    jcv_av *out = jcv_tuple(c, t->items, t->n);
    for (unsigned i = 0; i < t->n; i++)
        out->items[i] = t->items[PyLong_AsUnsignedLong(PyList_GET_ITEM(order, i))];
    return out;
}

/* Refuses keys that items cannot be put in order by, and asserts that numbers equal themselves: of
 * others the order is that of the comparisons that CPython happens to make. */
static void check_key(jcv *c, jcv_av *k) {
    jcv_av **items;
    unsigned n;
    if (jcv_is_sequence(k) && jcv_native_items(c, k, &items, &n)) {
        for (unsigned i = 0; i < n; i++)
            if (!jcv_is_const(items[i]) || PyFloat_Check(items[i]->py))
                check_key(c, items[i]);
    } else if (k->kind == AV_SCALAR && k->val->type->kind == JANUS_KIND_FLOAT) {
        jcv_val *in[2] = {k->val, k->val};
        jcv_assert(c, &jcv_op(c, JN_OP(s_eq), in, 2, NULL)->out[0], "a key equals itself");
    } else if (k->kind == AV_PY && PyFloat_Check(k->py) && isnan(PyFloat_AS_DOUBLE(k->py))) {
        jcv_refuse(c, "sorting by nan");
    }
}

static jcv_av *in_order(jcv *c, jcv_av *t, jcv_av *key, bool reverse) {
    uint32_t *items = jcv_alloc(c, (t->n + 1) * sizeof *items);
    uint32_t *keys = jcv_alloc(c, (t->n + 1) * sizeof *keys);
    jcv_av **by = jcv_alloc(c, (t->n + 1) * sizeof *by);
    bool numbers = true;
    for (unsigned i = 0; i < t->n; i++)
        by[i] = key_of(c, key, t->items[i]);
    jcv_av *known = by_constants(c, t, by, reverse);
    if (known)
        return known;
    for (unsigned i = 0; i < t->n; i++) {
        numbers = numbers && jcv_number(c, by[i]);
        if (!jcv_is_const(by[i]) && !jcv_number(c, by[i]) && !jcv_is_sequence(by[i]))
            jcv_refuse(c, "sorting by %s", jcv_describe(by[i]));
        check_key(c, by[i]);
        items[i] = jcv_slot(c, t->items[i]);
        keys[i] = jcv_slot(c, by[i]);
    }
    if (t->n > MAX_SORTED)
        jcv_refuse(c, "sorting %u items", t->n);
    jcv_av *rows = numbers ? instances_in_order(c, t, keys, reverse) : NULL;
    if (rows)
        return rows;
    for (unsigned i = 1; i < t->n; i++)
        for (unsigned k = i; k > 0; k--) {
            pair p = {{items[k - 1], items[k]}, {keys[k - 1], keys[k]}};
            jcv_av *a = in_slot(c, keys[k - 1]), *b = in_slot(c, keys[k]);
            if (!exchange_if(
                    c, reverse ? jcv_compare(c, JPY_LT, a, b) : jcv_compare(c, JPY_LT, b, a), &p))
                break;
        }
    jcv_av *out = jcv_tuple(c, t->items, t->n);
    for (unsigned i = 0; i < t->n; i++)
        out->items[i] = in_slot(c, items[i]);
    return out;
}

jcv_av *jcv_b_sorted(jcv *c, const jcv_args *a) {
    only(c, a, 1, (const char *const[]){"key", "reverse"});
    jcv_av *key = jcv_kw_of(a, "key"), *x = a->pos[0], **items;
    bool reverse = flag(c, a, "reverse");
    unsigned n;
    x = jcv_hinted(c, x);
    if (!jcv_items(c, x, &items, &n))
        return sequence_in_order(c, x, key, reverse);
    jcv_av *t = in_order(c, jcv_tuple(c, items, n), key, reverse);
    return jcv_list(c, t->items, t->n);
}

jcv_av *jcv_sort_items(jcv *c, jcv_av *t, const jcv_args *a) {
    only(c, a, 0, (const char *const[]){"key", "reverse"});
    return in_order(c, t, jcv_kw_of(a, "key"), flag(c, a, "reverse"));
}

/* ---- min and max by a key -----------------------------------------------------------------------
 */

typedef struct choosing {
    jcv_av *key;
    bool max;
    uint32_t best, place, any; /* slots: the key, where it is, whether there is one */
    const jn_type *type;
} choosing;

static void first_key(jcv *c, void *user, jcv_av *item) {
    choosing *x = user;
    jcv_val *v = jcv_number(c, key_of(c, x->key, item->items[1]));
    if (!v)
        jcv_refuse(c, "min() or max() by a key that is no number");
    x->type = v->type;
    jcv_throw_now(c, THROW_PROBE);
}

static jcv_av *either(jcv *c, jcv_val *cond, jcv_av *a, jcv_av *b) {
    jcv_val *in[3] = {cond, jcv_number(c, a), jcv_number(c, b)};
    if (!in[1] || in[1]->type->kind != in[2]->type->kind)
        jcv_refuse(c, "min() or max() by keys of different kinds");
    return jcv_scalar(c, &jcv_op(c, JN_OP(s_select), in, 3, NULL)->out[0]);
}

static void candidate(jcv *c, void *user, jcv_av *item) {
    choosing *x = user;
    jcv_av *k = key_of(c, x->key, item->items[1]), *best = c->slots.data[x->best];
    jcv_val *in[2] = {jcv_number(c, jcv_unary(c, JPY_U_NOT, c->slots.data[x->any])),
                      jcv_number(c, jcv_compare(c, x->max ? JPY_GT : JPY_LT, k, best))};
    jcv_val *better = &jcv_op(c, JN_OP(s_or), in, 2, NULL)->out[0];
    jcv_put(c, x->best, either(c, better, k, best));
    jcv_put(c, x->place, either(c, better, item->items[0], c->slots.data[x->place]));
    jcv_put(c, x->any, jcv_bool(c, true));
}

static void feed(jcv *c, void *over, jcv_visit_fn fn, void *user) {
    jcv_av *s = jcv_seq(c, "enumerate", (jcv_av *[]){over}, 1);
    s->self = number(c, 0);
    jcv_visit(c, s, NULL, fn, user);
}

static jcv_av *extreme_of_sequence(jcv *c, jcv_av *over, choosing *x) {
    if (!jcv_is_seq(over) || over->slot)
        jcv_refuse(c, "min() or max() of %s by a key", jcv_describe(over));
    jcv_probe(c, feed, over, first_key, x);
    if (!x->type)
        jcv_throw_now(c, THROW_DEAD);
    x->best = jcv_slot(c, jcv_scalar(c, jcv_scalar_const(c, x->type->kind, (janus_scalar){0})));
    x->place = jcv_slot(c, number(c, 0));
    x->any = jcv_slot(c, jcv_bool(c, false));
    feed(c, over, candidate, x);
    jcv_assert(c, jcv_number(c, c->slots.data[x->any]), "min() or max() of something");
    return jcv_seq_item(c, over, jcv_number(c, c->slots.data[x->place]));
}

jcv_av *jcv_extreme_by(jcv *c, const jcv_args *a, bool max) {
    choosing x = {.key = jcv_kw_of(a, "key"), .max = max};
    jcv_av *otherwise = jcv_kw_of(a, "default"), **items;
    unsigned n;
    only(c, a, a->n_pos, (const char *const[]){"key", "default"});
    jcv_av *over = a->n_pos > 1 ? jcv_tuple(c, a->pos, a->n_pos) : a->pos[0];
    jcv_turn turn = jcv_turn_begin(c, over, "min() or max()");
    if (!turn.items) {
        if (otherwise)
            jcv_refuse(c, "min() or max() by a key with a default");
        return extreme_of_sequence(c, turn.over, &x);
    }
    items = turn.items->items;
    n = turn.items->n;
    if (!n && !otherwise)
        jcv_refuse(c, "min() or max() of nothing");
    if (!n)
        return otherwise;
    uint32_t *keys = jcv_alloc(c, n * sizeof *keys);
    bool graph = true, known = true;
    for (unsigned i = 0; i < n; i++) {
        jcv_av *k = key_of(c, x.key, items[i]);
        graph = graph && jcv_number(c, k);
        known = known && jcv_is_const(k);
        keys[i] = jcv_slot(c, k);
    }
    jcv_turn_end(c, &turn, "min() or max()");
    if (!graph && !known && jcv_done_any(c, &turn.since))
        jcv_refuse(c, "min() or max() by keys with effects that are no numbers");
    jcv_done before = jcv_done_now(c); /* a key is made after those before it were compared */
    before.held.n = turn.since.held.n;
    jcv_av *rows =
        graph && !known ? instances_in_order(c, jcv_tuple(c, items, n), keys, max) : NULL;
    if (rows)
        return rows->items[0];
    pair p = {{jcv_slot(c, items[0])}, {keys[0]}};
    for (unsigned i = 1; i < n; i++) { /* the best one is kept in place 0 */
        p.item[1] = jcv_slot(c, items[i]);
        p.key[1] = keys[i];
        exchange_if(
            c, jcv_compare(c, max ? JPY_GT : JPY_LT, in_slot(c, p.key[1]), in_slot(c, p.key[0])),
            &p);
    }
    if (jcv_done_any(c, &before))
        jcv_refuse(c, "min() or max() by keys whose comparison has effects");
    return in_slot(c, p.item[0]);
}
