/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences whose length only the graph knows.
 *
 * Such a thing has a count and an item for each place: a list of the heap, a range, what zip,
 * enumerate, reversed and map make of them.  A list that a comprehension makes of them is
 * *stacked*: each number or tensor of its items is a row of one tensor `[?, ...]`, a hidden value
 * (AV_STACK) that has no proxy, since a proxy's dims are known.
 */
#include "pyfront/convert/values/values.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/native.h"

const char jcv_never[] = "a list without items so far";

static jcv_av *number(jcv *c, int64_t v) { return jcv_take(c, PyLong_FromLongLong(v)); }
jcv_av *jcv_seq(jcv *c, const char *what, jcv_av *const *bases, unsigned n) {
    jcv_av *a = jcv_tuple(c, bases, n);
    a->kind = AV_SEQ;
    a->text = what;
    a->slot = jcv_slot(c, jcv_none(c));
    return a;
}

bool jcv_use_up(jcv *c, jcv_av *a) {
    if (!a->slot)
        return true;
    jcv_av *state = c->slots.data[a->slot];
    if (jcv_lacks(state, LACK_USED_UP))
        return false;
    if (state->kind == AV_UNDEF)
        jcv_refuse(c, "an iterator that is used on one path only");
    jcv_put(c, a->slot, jcv_lacking(c, LACK_USED_UP, "an iterator is used up"));
    return true;
}

bool jcv_is_seq(const jcv_av *a) {
    return a->kind == AV_HOST || a->kind == AV_RANGE || (a->kind == AV_SEQ && !a->tree);
}

const char jcv_bounds[] = "the bounds of a slice";

/* A bound of a slice of n items, from 0 to n; of one that goes backward from -1 to n - 1. */
static jcv_av *clamped(jcv *c, jcv_av *at, jcv_av *n, bool backward, jcv_av *otherwise) {
    if (at->kind == AV_PY && at->py == Py_None)
        return otherwise;
    jcv_val *v = jcv_number(c, at), *len = jcv_number(c, n), *zero = jcv_int_const(c, 0);
    if (!v || v->type->kind != JANUS_KIND_INT)
        jcv_refuse(c, "%s as a bound of a slice", jcv_describe(at));
    if (at->kind == AV_PY && jcv_long(c, at) == 0 && !backward)
        return at;
    jcv_val *low[2] = {v, zero}, *sum[2] = {v, len}, *most[2] = {v, len};
    if (backward)
        most[1] = jcv_number(c, jcv_binary(c, JPY_SUB, n, number(c, 1), false));
    jcv_val *from_end[2] = {&jcv_op(c, JN_OP(s_add), sum, 2, NULL)->out[0],
                            backward ? jcv_int_const(c, -1) : zero};
    jcv_val *back = &jcv_op(c, JN_OP(s_max), from_end, 2, NULL)->out[0];
    jcv_val *on = &jcv_op(c, JN_OP(s_min), most, 2, NULL)->out[0];
    if (at->kind == AV_PY)
        return jcv_scalar(c, jcv_long(c, at) < 0 ? back : on);
    jcv_val *three[3] = {&jcv_op(c, JN_OP(s_lt), low, 2, NULL)->out[0], back, on};
    return jcv_scalar(c, &jcv_op(c, JN_OP(s_select), three, 3, NULL)->out[0]);
}

/* Whether a list of the heap may be one that the graph writes. */
static bool may_be_live(jcv *c, jcv_av *o) {
    PyTypeObject *t = jcv_host_type(c, o);
    PyObject *samples = jcv_samples(c, o);
    bool live = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples) && !live; i++)
        live = jcv_live_object(c, PyList_GET_ITEM(samples, i));
    for (const jcv_live *l = c->lives; l && !live; l = l->next)
        live = t == &PyList_Type && l->object && PyList_Check(l->object);
    return live;
}

enum { MAX_LENGTH = 16 };

static const char as_long[] = "a list is as long as its slice";
static const char longer[] = "a tuple is longer than its slice";

/* A bound of a slice that is known, and near an end: *out, 0 where it is not given. */
static bool near_bound(const jcv_av *a, long *out) {
    int overflow = 0;
    bool given = a->kind == AV_PY && PyLong_CheckExact(a->py);
    *out = given ? PyLong_AsLongAndOverflow(a->py, &overflow) : 0;
    return !overflow && *out <= MAX_LENGTH && *out >= -MAX_LENGTH &&
           (given || (a->kind == AV_PY && a->py == Py_None));
}

/* The first or the last items of a list that may be written behind this: a list of its own, taken
 * now.  NULL: how many items those are depends on the list's length. */
static jcv_av *known_part(jcv *c, jcv_av *list, jcv_av *const *bounds) {
    long from, to;
    if (!near_bound(bounds[0], &from) || !near_bound(bounds[1], &to))
        return NULL;
    bool open = bounds[1]->py == Py_None;
    bool first = from >= 0 && to >= from && !open, last = from < 0 && (open || to < 0);
    long n = to > from ? to - from : 0, far = first ? to : -from;
    if (!first && !last)
        return NULL;
    jcv_val *in[2] = {jcv_host_len(c, list), jcv_int_const(c, far)};
    jcv_assert(c, &jcv_op(c, JN_OP(s_ge), in, 2, NULL)->out[0], as_long);
    jcv_av **items = jcv_alloc(c, (size_t)(n + 1) * sizeof *items);
    for (long i = 0; i < n; i++)
        items[i] = jcv_host_item(c, list, jcv_int_const(c, from + i));
    return jcv_list(c, items, (unsigned)n);
}

static jcv_val *range_count(jcv *c, jcv_av *r);

/* start and stop of n items, put into *count and returned: the first place. */
static jcv_av *places_of_slice(jcv *c, jcv_av *const *bounds, jcv_av *step, jcv_av *n,
                               jcv_av **count) {
    bool backward = step && jcv_long(c, step) < 0;
    jcv_av *last = backward ? jcv_binary(c, JPY_SUB, n, number(c, 1), false) : n;
    jcv_av *start = clamped(c, bounds[0], n, backward, backward ? last : number(c, 0));
    jcv_av *stop = clamped(c, bounds[1], n, backward, backward ? number(c, -1) : n);
    *count = stop;
    if (step) {
        jcv_av *range = jcv_tuple(c, (jcv_av *[]){start, stop, step}, 3);
        range->kind = AV_RANGE;
        *count = jcv_scalar(c, range_count(c, range));
    } else if (!(start->kind == AV_PY && jcv_long(c, start) == 0)) {
        jcv_val *in[2] = {jcv_number(c, jcv_binary(c, JPY_SUB, stop, start, false)),
                          jcv_int_const(c, 0)};
        *count = jcv_scalar(c, &jcv_op(c, JN_OP(s_max), in, 2, NULL)->out[0]);
    }
    return start;
}

/* The slice, where all its bounds are known; NULL: the graph computes some. */
static jcv_av *known_slice(jcv *c, jcv_av *const *bounds) {
    for (int i = 0; i < 3; i++)
        if (bounds[i]->kind != AV_PY)
            return NULL;
    return jcv_take(c, PySlice_New(bounds[0]->py, bounds[1]->py, bounds[2]->py));
}

jcv_av *jcv_slice(jcv *c, jcv_av *o, jcv_av *const *bounds) {
    jcv_av *step = bounds[2], *base = jcv_is_slice(o) ? o->items[0] : o;
    bool rows = jcv_is_stacked(base), list = rows || base->kind == AV_HOST;
    bool tuple = jcv_type_of(c, o) == &PyTuple_Type; /* of the items of a list, at times */
    if (step->kind != AV_PY || !(step->py == Py_None || PyLong_Check(step->py)))
        jcv_refuse(c, "a slice with a computed step");
    if (step->py == Py_None || jcv_long(c, step) == 1)
        step = NULL;
    if (base->kind == AV_PY && base->src && !jcv_is_written(c, base->py))
        list = PyList_CheckExact(base->py) || PyTuple_CheckExact(base->py);
    if (!list) {
        jcv_leave_to_graph(c, o);
        jcv_refuse(c, "a slice of %s with computed bounds", jcv_describe(o));
    }
    base = rows ? base : jcv_to_host(c, base);
    PyTypeObject *t = jcv_type_of(c, base);
    bool live = !rows && may_be_live(c, base);
    bool head = live && !step && o == base && t == &PyList_Type;
    jcv_av *part = head ? known_part(c, base, bounds) : NULL;
    if (part)
        return part;
    if (live && o == base && t == &PyList_Type) /* a copy */
        return jcv_call_method(c, base, "__getitem__",
                               &(jcv_args){.pos = (jcv_av **)bounds, .n_pos = 3});
    if ((t != &PyList_Type && t != &PyTuple_Type) || live)
        jcv_refuse(c, "a slice of %s that the graph writes", t->tp_name);
    jcv_av *n = jcv_scalar(c, jcv_seq_count(c, jcv_is_slice(o) ? o : base)), *count;
    jcv_av *start = places_of_slice(c, bounds, step, n, &count);
    if (jcv_is_slice(o)) {
        jcv_av *by = o->n > 3 ? o->items[3] : NULL;
        start = by ? jcv_binary(c, JPY_MUL, start, by, false) : start;
        start = jcv_binary(c, JPY_ADD, o->items[1], start, false);
        step = by && step ? jcv_binary(c, JPY_MUL, by, step, false) : by ? by : step;
    }
    jcv_av *a = jcv_tuple(c, (jcv_av *[]){base, start, count, step}, step ? 4 : 3);
    a->kind = AV_SEQ;
    a->text = jcv_slice_text;
    a->self = o == base ? known_slice(c, bounds) : NULL;
    if (rows || (!tuple && jcv_live_site(c, c->at))) { /* it is a list of its own */
        jcv_av *own = jcv_list_of(c, jcv_feed, a, false, tuple ? NULL : c->at);
        return tuple ? jcv_made_tuple(c, own) : own;
    }
    a->named = tuple && t != &PyTuple_Type ? (PyObject *)&PyTuple_Type : NULL;
    a->site = tuple ? NULL : c->at;
    return a;
}

/* ---- count and item -----------------------------------------------------------------------------
 */

/* The sign of a range's step, which CPython does not take to be 0. */
static jcv_av *sign_of(jcv *c, jcv_av *step) {
    if (step->kind == AV_PY) {
        if (!jcv_long(c, step))
            jcv_refuse(c, JCV_RAISES " by a step of zero");
        return number(c, jcv_long(c, step) < 0 ? -1 : 1);
    }
    jcv_val *in[2] = {jcv_number(c, step), jcv_int_const(c, 0)};
    jcv_assert(c, &jcv_op(c, JN_OP(s_ne), in, 2, NULL)->out[0], "a step is not zero");
    jcv_val *either[3] = {&jcv_op(c, JN_OP(s_lt), in, 2, NULL)->out[0], jcv_int_const(c, -1),
                          jcv_int_const(c, 1)};
    return jcv_scalar(c, &jcv_op(c, JN_OP(s_select), either, 3, NULL)->out[0]);
}

/* The next whole number of steps: (stop - start + step - sign) // step, of whichever sign. */
static jcv_val *range_count(jcv *c, jcv_av *r) {
    jcv_av *step = r->items[2], *sign = sign_of(c, step);
    jcv_av *n = jcv_binary(c, JPY_SUB, r->items[1], r->items[0], false);
    if (step->kind != AV_PY || jcv_long(c, step) != 1) {
        jcv_av *more = jcv_binary(c, JPY_SUB, step, sign, false);
        n = jcv_binary(c, JPY_FLOORDIV, jcv_binary(c, JPY_ADD, n, more, false), step, false);
    }
    jcv_val *in[2] = {jcv_number(c, n), jcv_int_const(c, 0)};
    return &jcv_op(c, JN_OP(s_max), in, 2, NULL)->out[0];
}

const char *const jcv_unbound = "the parts of a tensor along a dim that varies";

jcv_av *jcv_parts(jcv *c, jcv_av *t) {
    jcv_av *a = jcv_tuple(c, &t, 1);
    a->kind = AV_SEQ;
    a->text = jcv_unbound;
    return a;
}

static jcv_val *count_of(jcv *c, jcv_av *a) {
    jcv_av **items;
    unsigned n;
    if (jcv_has_parts(c, a))
        return jcv_number(c, jcv_size(c, jcv_tensor_val(c, a->py), 0));
    if (jcv_is_seq(a))
        return jcv_seq_count(c, a);
    if (a->kind == AV_SEQ || !jcv_items(c, a, &items, &n))
        jcv_refuse(c, "the length of %s", jcv_describe(a));
    return jcv_int_const(c, n);
}

jcv_val *jcv_seq_count(jcv *c, jcv_av *a) {
    if (a->kind == AV_HOST)
        return jcv_host_len(c, a);
    if (a->kind == AV_RANGE)
        return range_count(c, a);
    if (a->text == jcv_stacked)
        return a->val;
    if (jcv_is_slice(a))
        return jcv_number(c, a->items[2]);
    jcv_val *least = count_of(c, a->items[0]);
    for (unsigned i = 1; i < a->n; i++) {
        jcv_val *in[2] = {least, count_of(c, a->items[i])};
        least = &jcv_op(c, JN_OP(s_min), in, 2, NULL)->out[0];
    }
    return least;
}

jcv_av *jcv_number_at(jcv *c, jcv_av *const *items, unsigned n, jcv_val *i) {
    enum { MAX_CHOSEN = 16 };
    if (!n || n > MAX_CHOSEN)
        return NULL;
    for (unsigned k = 0; k < n; k++)
        if (!jcv_is_numeric(items[k]) ||
            jcv_number(c, items[k])->type->kind != jcv_number(c, items[0])->type->kind)
            return NULL;
    jcv_val *v = jcv_number(c, items[n - 1]);
    for (unsigned k = n - 1; k-- > 0;) {
        jcv_val *at[2] = {i, jcv_int_const(c, k)};
        jcv_val *in[3] = {&jcv_op(c, JN_OP(s_eq), at, 2, NULL)->out[0], jcv_number(c, items[k]), v};
        v = &jcv_op(c, JN_OP(s_select), in, 3, NULL)->out[0];
    }
    return jcv_scalar(c, v);
}

bool jcv_at_any_place(jcv *c, jcv_av *const *items, unsigned n) {
    janus_scalar first = {0};
    return jcv_number_at(c, items, n, jcv_scalar_const(c, JANUS_KIND_INT, first)) != NULL;
}

static jcv_av *item_of(jcv *c, jcv_av *a, jcv_val *i) {
    jcv_av **items, *number;
    unsigned n;
    if (jcv_is_seq(a))
        return jcv_seq_item(c, a, i);
    if (a->kind == AV_TENSOR)
        return jcv_native_getitem(c, a, jcv_scalar(c, i)); /* whatever its class has for x[k] */
    bool tuple = a->kind == AV_TUPLE || (a->kind == AV_PY && PyTuple_CheckExact(a->py));
    if (tuple && jcv_native_items(c, a, &items, &n) && (number = jcv_number_at(c, items, n, i)))
        return number;
    jcv_refuse(c, "an item of %s at a place that the graph knows", jcv_describe(a));
}

jcv_av *jcv_seq_item(jcv *c, jcv_av *a, jcv_val *i) {
    jcv_av *item = jcv_scalar(c, i), **v;
    if (a->kind == AV_HOST)
        return jcv_host_item(c, a, i);
    if (a->kind == AV_RANGE) { /* start + i * step */
        jcv_av *start = a->items[0], *step = a->items[2];
        if (!(step->kind == AV_PY && jcv_long(c, step) == 1))
            item = jcv_binary(c, JPY_MUL, item, step, false);
        if (!(start->kind == AV_PY && jcv_long(c, start) == 0))
            item = jcv_binary(c, JPY_ADD, start, item, false);
        return item;
    }
    if (a->text == jcv_stacked)
        return jcv_stacked_item(c, a, i);
    if (a->text == jcv_unbound)
        return item_of(c, a->items[0], i);
    if (a->text == jcv_ordered)
        return jcv_ordered_item(c, a, i);
    if (jcv_is_slice(a)) {
        if (a->n > 3)
            item = jcv_binary(c, JPY_MUL, item, a->items[3], false);
        item = jcv_binary(c, JPY_ADD, a->items[1], item, false);
        return jcv_seq_item(c, a->items[0], jcv_number(c, item));
    }
    if (!strcmp(a->text, "reversed")) {
        jcv_av *last =
            jcv_binary(c, JPY_SUB, jcv_scalar(c, count_of(c, a->items[0])), number(c, 1), false);
        return item_of(c, a->items[0], jcv_number(c, jcv_binary(c, JPY_SUB, last, item, false)));
    }
    if (!strcmp(a->text, "enumerate")) {
        v = (jcv_av *[]){jcv_binary(c, JPY_ADD, a->self, item, false), item_of(c, a->items[0], i)};
        return jcv_tuple(c, v, 2);
    }
    v = jcv_alloc(c, (a->n + 1) * sizeof *v);
    for (unsigned k = 0; k < a->n; k++)
        v[k] = item_of(c, a->items[k], i);
    return a->self ? jcv_call(c, a->self, &(jcv_args){.pos = v, .n_pos = a->n})
                   : jcv_tuple(c, v, a->n);
}

/* The item at a place that is known, or a number of the graph: there are so many. */
jcv_av *jcv_seq_at(jcv *c, jcv_av *a, jcv_av *at) {
    jcv_av *n = jcv_scalar(c, jcv_seq_count(c, a)), *zero = number(c, 0);
    if (at->kind == AV_PY && PyLong_CheckExact(at->py) && jcv_long(c, at) < 0)
        at = jcv_binary(c, JPY_ADD, n, at, false);
    else if (at->kind != AV_SCALAR && !(at->kind == AV_PY && PyLong_CheckExact(at->py)))
        jcv_refuse(c, "%s of a list of unknown length", jcv_describe(at));
    jcv_val *low = jcv_number(c, jcv_compare(c, JPY_GE, at, zero));
    jcv_val *in[2] = {low, jcv_number(c, jcv_compare(c, JPY_LT, at, n))};
    jcv_assert(c, &jcv_op(c, JN_OP(s_and), in, 2, NULL)->out[0], "an index is in range");
    return jcv_seq_item(c, a, jcv_number(c, at));
}

static void assert_count(jcv *c, jcv_av *a, Py_ssize_t n) {
    jcv_val *in[2] = {jcv_seq_count(c, a), jcv_int_const(c, n)};
    jcv_assert(c, &jcv_op(c, JN_OP(s_eq), in, 2, NULL)->out[0], "a list has the length seen");
}

/* A generator expression that nothing was taken of, with an item for each of what it goes over. */
static bool is_one_by_one(const jcv *c, const jcv_av *a) {
    bool expression = a->kind == AV_SEQ && a->tree && a->tree->kind == JPY_GENEXP;
    return expression && a->tree->x.n == 1 && !a->tree->x.v[0]->x.n &&
           c->slots.data[a->slot]->kind == AV_PY;
}

/* All items of such a one, where it goes over these. */
static jcv_av *all_over(jcv *c, const jcv_av *generator, jcv_av *items) {
    if (!items)
        return NULL;
    jcv_av *g = jcv_new(c, AV_SEQ);
    *g = *generator; /* what is used up of it is of both */
    g->items = jcv_alloc(c, sizeof *g->items);
    g->items[0] = items;
    return jcv_try_all(c, g);
}

/* A map() of one iterable that nothing was taken of. */
static bool is_map(const jcv *c, const jcv_av *a) {
    bool map = a->kind == AV_SEQ && a->slot && a->text && !strcmp(a->text, "map");
    return map && a->n == 1 && c->slots.data[a->slot]->kind == AV_PY;
}

/* What it gives of all items, one after the other. */
static jcv_av *mapped(jcv *c, jcv_av *map, const jcv_av *all) {
    if (!all || !jcv_use_up(c, map))
        return NULL;
    jcv_av **items = jcv_alloc(c, (all->n + 1) * sizeof *items);
    for (unsigned i = 0; i < all->n; i++)
        items[i] = jcv_call1(c, map->self, all->items[i]);
    return jcv_tuple(c, items, all->n);
}

jcv_av *jcv_all_assumed(jcv *c, jcv_av *a) {
    if (is_one_by_one(c, a))
        return all_over(c, a, jcv_all_assumed(c, a->items[0]));
    if (is_map(c, a))
        return mapped(c, a, jcv_all_assumed(c, a->items[0]));
    if (jcv_is_slice(a) && a->self) {
        jcv_av *all = jcv_all_assumed(c, a->items[0]);
        return all ? jcv_getitem(c, all, a->self) : NULL;
    }
    if (a->kind == AV_SEQ && a->site && a->site->kind == JPY_LISTCOMP)
        jcv_peel_loop(c, a->site);
    if (a->kind != AV_HOST)
        return NULL;
    PyTypeObject *t = jcv_host_type(c, a);
    PyObject *s = jcv_samples(c, a);
    if ((t != &PyList_Type && !jcv_like_tuple(c, t)) || !PyList_GET_SIZE(s))
        return NULL;
    Py_ssize_t n = Py_SIZE(PyList_GET_ITEM(s, 0));
    bool same = true;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(s); i++) {
        if (Py_SIZE(PyList_GET_ITEM(s, i)) > MAX_LENGTH)
            return NULL;
        same = same && Py_SIZE(PyList_GET_ITEM(s, i)) == n;
    }
    if (!same) {
        jcv_ask_length(c, a, n);
        return NULL;
    }
    assert_count(c, a, n);
    jcv_av *all = jcv_tuple(c, NULL, 0);
    all->items = jcv_alloc(c, (size_t)(n + 1) * sizeof *all->items);
    for (all->n = 0; all->n < (unsigned)n; all->n++)
        all->items[all->n] = jcv_host_item(c, a, jcv_int_const(c, all->n));
    return all;
}

jcv_av *jcv_later_assumed(jcv *c, jcv_av *a) {
    return a->kind == AV_HOST && !may_be_live(c, a) ? jcv_all_assumed(c, a) : NULL;
}

jcv_av *jcv_first_assumed(jcv *c, jcv_av *a, jcv_av *const *bounds) {
    const jcv_av *start = bounds[0], *stop = bounds[1], *step = bounds[2];
    bool list = a->kind == AV_SEQ && !a->slot && (a->text == jcv_stacked || a->text == jcv_ordered);
    bool first =
        start->py == Py_None || (PyLong_CheckExact(start->py) && !PyLong_AsLong(start->py));
    bool one = step->py == Py_None || (PyLong_CheckExact(step->py) && PyLong_AsLong(step->py) == 1);
    int overflow;
    long n = PyLong_CheckExact(stop->py) ? PyLong_AsLongAndOverflow(stop->py, &overflow) : -1;
    if (!list || !first || !one || n < 0 || n > MAX_LENGTH)
        return NULL;
    bool tuple = jcv_type_of(c, a) == &PyTuple_Type; /* all of one is that tuple */
    jcv_val *in[2] = {jcv_seq_count(c, a), jcv_int_const(c, n)};
    jcv_assert(c, &jcv_op(c, tuple ? JN_OP(s_gt) : JN_OP(s_ge), in, 2, NULL)->out[0],
               tuple ? longer : as_long);
    jcv_av **items = jcv_alloc(c, (size_t)(n + 1) * sizeof *items);
    for (long i = 0; i < n; i++)
        items[i] = jcv_seq_item(c, a, jcv_int_const(c, i));
    return tuple ? jcv_tuple(c, items, (unsigned)n) : jcv_list(c, items, (unsigned)n);
}

jcv_av *jcv_exactly(jcv *c, jcv_av *a, unsigned n) {
    if (is_one_by_one(c, a))
        return all_over(c, a, jcv_exactly(c, a->items[0], n));
    if (!(a->kind == AV_HOST || (a->kind == AV_SEQ && !a->tree)) || !jcv_use_up(c, a))
        return NULL;
    assert_count(c, a, n);
    jcv_av *all = jcv_tuple(c, NULL, 0);
    all->items = jcv_alloc(c, (n + 1) * sizeof *all->items);
    for (; all->n < n; all->n++)
        all->items[all->n] = jcv_seq_next(c, a, jcv_int_const(c, all->n), true);
    return all;
}

/* ---- sums ---------------------------------------------------------------------------------------
 */

jcv_av *jcv_firm(jcv *c, jcv_av *a) {
    if (a->kind != AV_SUM)
        return a;
    jcv_ask_empty(c, a->items[0]);
    jcv_assert(c, a->val, "a sum has a term");
    return a->self;
}
