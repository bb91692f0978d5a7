/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods of lists, dicts and constants.
 *
 * A real dict that loses keys is *whole* from then on: all its pairs are known and guarded, and the
 * commit writes them all (text of the tuple of pairs: jcv_whole).
 */
#include "pyfront/convert/objects/objects.h"

#include <string.h>

#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/values/values.h"
#include "pyfront/methods/methods.h"

static jcv_av *int_av(jcv *c, long v) { return jcv_take(c, PyLong_FromLong(v)); }

static void arity(jcv *c, const jcv_args *a, unsigned lo, unsigned hi, const char *name) {
    if (a->n_pos < lo || a->n_pos > hi)
        jcv_refuse(c, "%s with %u arguments", name, a->n_pos);
}

static jcv_av **items_of(jcv *c, jcv_av *x, unsigned *n, const char *name) {
    jcv_av **items;
    if (!jcv_items(c, x, &items, n))
        jcv_refuse(c, "%s of %s", name, jcv_describe(x));
    return items;
}

static void set_seq(jcv *c, jcv_av *l, jcv_av **items, unsigned n) {
    if (l->origin)
        jcv_wrote(c);
    jcv_put(c, l->slot, jcv_tuple(c, items, n));
}

static jcv_av *remove_item(jcv *c, jcv_av *l, jcv_av *t, const jcv_args *a) {
    const jcv_av *at = jcv_search(c, t, "remove", a);
    if (at->kind != AV_PY)
        jcv_refuse(c, "remove() of what only the graph finds");
    long i = jcv_long(c, at);
    jcv_av **v = jcv_alloc(c, (t->n + 1) * sizeof *v);
    memcpy(v, t->items, (size_t)i * sizeof *v);
    memcpy(v + i, t->items + i + 1, (t->n - (size_t)i - 1) * sizeof *v);
    set_seq(c, l, v, t->n - 1);
    return jcv_none(c);
}

static void delete_items(jcv *c, jcv_av *l, jcv_av *t, jcv_av *at) {
    Py_ssize_t start, stop, step = 1, n = 1;
    if (at->kind == AV_PY && PyLong_Check(at->py)) {
        start = jcv_long(c, at);
        start += start < 0 ? (Py_ssize_t)t->n : 0;
        if (start < 0 || start >= (Py_ssize_t)t->n)
            jcv_refuse(c, "an index out of range");
    } else if (at->kind == AV_PY && PySlice_Check(at->py) &&
               PySlice_Unpack(at->py, &start, &stop, &step) == 0 && step == 1) {
        n = PySlice_AdjustIndices((Py_ssize_t)t->n, &start, &stop, step);
    } else {
        jcv_refuse(c, "del of items at %s", jcv_describe(at));
    }
    jcv_av **v = jcv_alloc(c, (t->n + 1) * sizeof *v);
    size_t rest = (size_t)start + (size_t)n;
    memcpy(v, t->items, (size_t)start * sizeof *v);
    memcpy(v + start, t->items + rest, (t->n - rest) * sizeof *v);
    set_seq(c, l, v, t->n - (unsigned)n);
}

/* Whether its items are made, or taken, one after the other, so that each sees what was done with
 * the one before. */
static bool in_turn(jcv *c, jcv_av *a) {
    bool list = a->kind == AV_TUPLE || a->kind == AV_LIST ||
                (a->kind == AV_PY && (PyList_Check(a->py) || PyTuple_Check(a->py)));
    return (a->kind == AV_SEQ && a->slot) || a->kind == AV_ITER ||
           (!list && jcv_how_is(c, a, JCV_S_ITER, JCV_METHOD, NULL) == JCV_PYTHON);
}

static void each_in_turn(jcv *c, jcv_av *a, jcv_visit_fn fn, void *user, const char *name) {
    if (!jcv_try_each(c, a, fn, user))
        jcv_refuse(c, "%s of %s", name, jcv_describe(a));
}

static void append_known(jcv *c, void *self, jcv_av *item) {
    jcv_call_method(c, self, "append", &(jcv_args){.pos = &item, .n_pos = 1});
}

static void put_known(jcv *c, void *self, jcv_av *pair) {
    jcv_av **kv;
    unsigned two;
    if (!jcv_items(c, pair, &kv, &two) || two != 2)
        jcv_refuse(c, "update() of no pairs");
    jcv_dict_set(c, self, kv[0], kv[1]);
}

static jcv_av *list_method(jcv *c, jcv_av *self, const char *name, const jcv_args *a) {
    if (self->kind == AV_LIST && self->slot < c->ctx->fn->first_slot && *name != '_')
        jcv_make_live(c, self);
    jcv_av *l = jcv_abstract(c, self), *t = c->slots.data[l->slot], **more;
    unsigned n = t->n, m;
    if (!strcmp(name, "append") || !strcmp(name, "extend")) {
        arity(c, a, 1, 1, name);
        more = &a->pos[0];
        m = 1;
        bool graph = a->n_pos == 1 && (a->pos[0]->kind == AV_HOST ||
                                       (a->pos[0]->kind == AV_SEQ && !a->pos[0]->slot));
        if (*name == 'e' && self->kind == AV_LIST && graph)
            jcv_make_live(c, self); /* by how much only the graph knows */
        jcv_av *from = *name == 'e' ? jcv_hinted(c, a->pos[0]) : NULL;
        if (from && in_turn(c, from)) {
            each_in_turn(c, from, append_known, self, "extend()");
            return jcv_none(c);
        }
        if (from)
            more = items_of(c, from, &m, "extend()");
        jcv_av **v = jcv_alloc(c, (n + m + 1) * sizeof *v);
        if (n)
            memcpy(v, t->items, n * sizeof *v);
        if (m)
            memcpy(v + n, more, m * sizeof *v);
        set_seq(c, l, v, n + m);
        return jcv_none(c);
    }
    if (!strcmp(name, "pop") || !strcmp(name, "insert")) {
        arity(c, a, *name == 'i' ? 2 : 0, *name == 'i' ? 2 : 1, name);
        jcv_av *i = a->n_pos ? a->pos[0] : int_av(c, -1);
        if (i->kind == AV_SCALAR)
            jcv_leave_to_graph(c, self);
        if (i->kind != AV_PY || !PyLong_Check(i->py))
            jcv_refuse(c, "%s() at %s", name, jcv_describe(i));
        long k = jcv_long(c, i);
        if (k < 0)
            k += n;
        if (*name == 'i') {
            k = k < 0 ? 0 : k > (long)n ? (long)n : k;
            jcv_av **v = jcv_alloc(c, (n + 2) * sizeof *v);
            memcpy(v, t->items, (size_t)k * sizeof *v);
            v[k] = a->pos[1];
            memcpy(v + k + 1, t->items + k, (n - (size_t)k) * sizeof *v);
            set_seq(c, l, v, n + 1);
            return jcv_none(c);
        }
        if (k < 0 || k >= (long)n)
            jcv_refuse(c, "pop() from nothing");
        jcv_av *r = t->items[k], **v = jcv_alloc(c, (n + 1) * sizeof *v);
        memcpy(v, t->items, (size_t)k * sizeof *v);
        memcpy(v + k, t->items + k + 1, (n - (size_t)k - 1) * sizeof *v);
        set_seq(c, l, v, n - 1);
        return r;
    }
    if (!strcmp(name, "remove"))
        return remove_item(c, l, t, a);
    if (!strcmp(name, "sort")) {
        jcv_av *sorted = jcv_sort_items(c, t, a);
        set_seq(c, l, sorted->items, sorted->n);
        return jcv_none(c);
    }
    if (!strcmp(name, "__delitem__")) {
        arity(c, a, 1, 1, name);
        delete_items(c, l, t, a->pos[0]);
        return jcv_none(c);
    }
    if (!strcmp(name, "clear")) {
        arity(c, a, 0, 0, name);
        set_seq(c, l, NULL, 0);
        return jcv_none(c);
    }
    if (!strcmp(name, "reverse")) {
        arity(c, a, 0, 0, name);
        jcv_av **v = jcv_alloc(c, (n + 1) * sizeof *v);
        for (unsigned i = 0; i < n; i++)
            v[i] = t->items[n - 1 - i];
        set_seq(c, l, v, n);
        return jcv_none(c);
    }
    return NULL;
}

static void known_pairs(jcv *c, jcv_av *d, jcv_av **out) {
    /* a real dict: exactly these keys, values read one by one */
    PyObject *keys = jcv_own(c, PySequence_Tuple(jcv_own(c, jpy_keys_of(d->py))));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); i++) {
        jcv_av k = {.kind = AV_PY, .py = PyTuple_GET_ITEM(keys, i)};
        if (!jcv_is_key(&k) || !jcv_lasts(k.py))
            jcv_refuse(c, "a loop over a dict whose keys are objects");
    }
    if (d->src) {
        d->src->checks |= JPY_CHECK_KEYS;
        d->src->want2 = jpy_guards_own(c->guards, keys);
    }
    Py_ssize_t n = PyTuple_GET_SIZE(keys);
    jcv_av *t = jcv_tuple(c, NULL, 0);
    t->items = jcv_alloc(c, (size_t)(2 * n + 1) * sizeof *t->items);
    t->n = (unsigned)(2 * n);
    for (Py_ssize_t i = 0; i < n; i++) {
        t->items[2 * i] = jcv_py(c, PyTuple_GET_ITEM(keys, i), NULL);
        t->items[2 * i + 1] = jcv_dict_get(c, d, t->items[2 * i]);
    }
    *out = t;
}

/* From what was written to a real dict to all that is in it. */
static void make_whole(jcv *c, jcv_av *d) {
    jcv_av *written = c->slots.data[d->slot], *all;
    if (jcv_all_pairs(written))
        return;
    known_pairs(c, d->origin, &all);
    jcv_av *t = jcv_tuple(c, all->items, all->n);
    t->items = jcv_alloc(c, (all->n + written->n + 1) * sizeof *t->items);
    memcpy(t->items, all->items, all->n * sizeof *t->items);
    for (unsigned i = 0; i + 1 < written->n; i += 2) {
        int at = jcv_find_key(c, t, written->items[i]);
        if (at < 0) {
            t->items[t->n++] = written->items[i];
            t->items[t->n++] = written->items[i + 1];
        }
    }
    t->text = jcv_whole_text(c, 0, (t->n - all->n) / 2);
    jcv_put(c, d->slot, t);
}

static jcv_av *dict_pairs(jcv *c, jcv_av *d) {
    jcv_av *t = NULL;
    for (size_t i = 0; i < c->real.n && d->kind == AV_PY; i++)
        if (c->real.data[i]->origin->py == d->py)
            d = c->real.data[i];
    if (d->kind == AV_DICT) {
        if (d->origin)
            make_whole(c, d);
        return c->slots.data[d->slot];
    }
    known_pairs(c, d, &t);
    return t;
}

static jcv_av *dict_clear(jcv *c, jcv_av *self) {
    jcv_av *d = jcv_abstract(c, self), *none = jcv_tuple(c, NULL, 0);
    none->text = d->origin ? jcv_cleared : NULL;
    jcv_put(c, d->slot, none);
    jcv_wrote_if(c, d->origin != NULL);
    return jcv_none(c);
}

/* pop and del */
static jcv_av *dict_remove(jcv *c, jcv_av *self, const char *name, const jcv_args *a) {
    arity(c, a, 1, *name == 'p' ? 2 : 1, name);
    jcv_av *v = jcv_dict_get(c, self, a->pos[0]);
    if (!v && a->n_pos > 1)
        return a->pos[1];
    if (!v)
        jcv_refuse(c, "a key that is not in the dict");
    jcv_av *d = jcv_abstract(c, self);
    if (d->origin)
        make_whole(c, d);
    jcv_av *t = c->slots.data[d->slot], *now = jcv_tuple(c, t->items, t->n);
    int at = jcv_find_key(c, t, a->pos[0]);
    if (at < 0)
        jcv_refuse(c, "a key that is not in the dict");
    memmove(now->items + at, now->items + at + 2, (t->n - (unsigned)at - 2) * sizeof *now->items);
    now->n -= 2;
    now->text = t->text;
    /* the commit takes keys out before it puts others in: what it leaves has the gaps, and was
     * given room at the times, of CPython's in that order only, which iterators that are under way
     * see */
    bool real = d->origin && d->origin->src;
    if (real && (jcv_pairs_put(t) || t->text == jcv_cleared))
        jcv_refuse(c, "a key that is taken out of a dict behind one that is put in");
    if (t->text != jcv_cleared)
        now->text = jcv_whole_text(c, jcv_pairs_gone(t) + 1, 0);
    if (!real && !jn_vec_push(&c->gaps, d->slot))
        jcv_refuse(c, "out of memory");
    jcv_put(c, d->slot, now);
    jcv_wrote_if(c, d->origin != NULL);
    return *name == 'p' ? v : jcv_none(c);
}

/* The pairs of a mapping whose keys() is Python's. */
static jcv_av *pairs_by_key(jcv *c, jcv_av *of, PyObject *method) {
    unsigned n;
    if (!PyFunction_Check(method))
        jcv_refuse(c, "update() with %s", jcv_describe(of));
    jcv_av **keys = items_of(c, jcv_call1(c, jcv_constant(c, method), of), &n, "keys()");
    jcv_av **pairs = jcv_alloc(c, (n + 1) * sizeof *pairs);
    for (unsigned i = 0; i < n; i++)
        pairs[i] = jcv_tuple(c, (jcv_av *[]){keys[i], jcv_getitem(c, of, keys[i])}, 2);
    return jcv_tuple(c, pairs, n);
}

static jcv_av *dict_method(jcv *c, jcv_av *self, const char *name, const jcv_args *a) {
    jcv_av *v = NULL;
    if (!strcmp(name, "get") || !strcmp(name, "setdefault") || !strcmp(name, "__contains__")) {
        arity(c, a, 1, 2, name);
        bool graph = a->pos[0]->kind == AV_HOST || a->pos[0]->kind == AV_SCALAR;
        if (*name == 'g' && graph && self->kind == AV_PY && self->src &&
            !jcv_is_written(c, self->py))
            return jcv_plain_get(c, self, a->pos[0], a->n_pos > 1 ? a->pos[1] : jcv_none(c), false);
        v = jcv_dict_get(c, self, a->pos[0]);
        if (*name == '_')
            return jcv_bool(c, v != NULL);
        if (!v) {
            v = a->n_pos > 1 ? a->pos[1] : jcv_none(c);
            if (*name == 's')
                jcv_dict_set(c, self, a->pos[0], v);
        }
        return v;
    }
    if (!strcmp(name, "items") || !strcmp(name, "keys") || !strcmp(name, "values")) {
        arity(c, a, 0, 0, name);
        jcv_av *t = dict_pairs(c, self), **out = jcv_alloc(c, (t->n + 1) * sizeof *out);
        unsigned n = 0;
        for (unsigned i = 0; i + 1 < t->n; i += 2) {
            if (t->items[i + 1]->kind == AV_UNDEF)
                jcv_refuse(c, "a key that is in a dict on one path only");
            out[n++] = *name == 'i'   ? jcv_tuple(c, t->items + i, 2)
                       : *name == 'k' ? t->items[i]
                                      : t->items[i + 1];
        }
        jcv_av *view = jcv_tuple(c, out, n);
        view->kind = AV_ITER;
        view->text = "view";
        jcv_av *of = self;
        for (size_t i = 0; i < c->real.n && self->kind == AV_PY; i++)
            if (c->real.data[i]->origin->py == self->py)
                of = c->real.data[i];
        view->watch = jcv_watch_new(c, WATCH_PAIRS, of, t, false);
        return view;
    }
    if (!strcmp(name, "update") || !strcmp(name, "__init__")) {
        arity(c, a, 0, 1, name);
        unsigned n = 0;
        jcv_av **pairs = NULL;
        if (a->n_pos) {
            jcv_av *from = a->pos[0];
            PyTypeObject *t = jcv_type_of(c, from);
            bool graph = from->kind == AV_HOST && t == &PyDict_Type;
            if (graph)
                jcv_live_update(c, self, from);
            else if (from->kind == AV_DICT || (from->kind == AV_PY && jpy_gives_pairs(from->py)))
                from = dict_method(c, from, "items", &(jcv_args){0});
            else if (t && jcv_lookup_str(c, t, "keys")) /* it is asked for items by key */
                from = pairs_by_key(c, from, jcv_lookup_str(c, t, "keys"));
            if (!graph && from == a->pos[0] && in_turn(c, from))
                each_in_turn(c, from, put_known, self, "update()");
            else if (!graph)
                pairs = items_of(c, from, &n, "update()");
        }
        for (unsigned i = 0; i < n; i++)
            put_known(c, self, pairs[i]);
        for (unsigned i = 0; i < a->n_kw; i++)
            jcv_dict_set(c, self, jcv_py(c, a->names[i], NULL), a->kw[i]);
        return jcv_none(c);
    }
    if (!strcmp(name, "copy")) {
        arity(c, a, 0, 0, name);
        jcv_av *d = jcv_dict(c);
        dict_method(c, d, "update", &(jcv_args){.pos = &self, .n_pos = 1});
        return d;
    }
    if (!strcmp(name, "clear") && !a->n_pos)
        return dict_clear(c, self);
    if (!strcmp(name, "pop") || !strcmp(name, "__delitem__"))
        return dict_remove(c, self, name, a);
    return NULL;
}

static bool all_constants(jcv *c, jcv_av *const *values, unsigned n) {
    bool all = true;
    for (unsigned i = 0; i < n && all; i++)
        all = jcv_const_object(c, values[i]) != NULL;
    return all;
}

/* All items are there before any is looked at, as in CPython. */
static jcv_av *join(jcv *c, PyObject *between, jcv_av *of) {
    unsigned n;
    jcv_av **items = items_of(c, of, &n, "join()");
    if (!all_constants(c, items, n))
        return jcv_text_between(c, between, items, n);
    PyObject *all = jcv_own(c, PyTuple_New((Py_ssize_t)n));
    for (unsigned i = 0; i < n; i++)
        PyTuple_SET_ITEM(all, i, Py_NewRef(jcv_const_object(c, items[i])));
    return jcv_take_of(c, PyUnicode_Join(between, all), items, n);
}

PyObject *jcv_own_method(jcv *c, PyTypeObject *t, const char *name) {
    PyObject *own = NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(t->tp_mro) && !own; i++) {
        PyObject *base = PyTuple_GET_ITEM(t->tp_mro, i);
        PyObject *attrs = jcv_own(c, PyObject_GetAttrString(base, "__dict__"));
        PyObject *d = PyMapping_GetItemString(attrs, name);
        PyErr_Clear();
        if (d && (Py_TYPE(d) == &PyMethodDescr_Type || Py_TYPE(d) == &PyWrapperDescr_Type))
            own = d;
        if (d)
            jcv_own(c, d);
    }
    return own;
}

/* Whether it does to pairs what dict's method of the name does: dict's, or those of an OrderedDict
 * that look at nothing but its order. */
static bool is_of_pairs(PyObject *method) {
    static const char *const in_order[] = {"keys", "values", "items"};
    bool is = PyDescr_TYPE(method) == &PyDict_Type;
    for (size_t i = 0; PyDescr_TYPE(method) == &PyODict_Type && i < 3 && !is; i++)
        is = PyUnicode_CompareWithASCIIString(PyDescr_NAME(method), in_order[i]) == 0;
    return is;
}

jcv_av *jcv_method_of(jcv *c, jcv_av *self, const char *name, const jcv_args *a) {
    jcv_av *r = jcv_draw_method(c, self, name, a);
    if (r)
        return r;
    bool real = self->kind == AV_PY;
    if (self->kind == AV_STACK)
        return jcv_rows_method(c, self, name, a);
    if (self->kind == AV_SUPER)
        return jcv_super_init(c, a);
    bool host = self->kind == AV_HOST && jcv_host_has_pairs(c, self);
    bool dict = host || jcv_is_dict(self);
    PyTypeObject *of = dict ? jcv_type_of(c, self) : &PyDict_Type;
    PyObject *own = of != &PyDict_Type ? jcv_own_method(c, of, name) : NULL;
    if (own && jcv_model_of(c, own))
        return jcv_call(c, jcv_constant(c, own), jcv_behind(c, self, a));
    if (of != &PyDict_Type && !(own && is_of_pairs(own)))
        jcv_refuse(c, "the method %s of %s", name, jcv_describe(self));
    if (self->kind == AV_HOST)
        r = jcv_live_method(c, self, name, a);
    r = r ? r : jcv_special_by_name(c, self, name, a);
    if (r)
        return r;
    bool list = self->kind == AV_LIST || (real && PyList_CheckExact(self->py));
    if (a->n_kw && (list || dict) && strcmp(name, "sort") != 0 && strcmp(name, "update") != 0 &&
        strcmp(name, "__init__") != 0)
        jcv_refuse(c, "%s() with keyword arguments", name); /* it raises */
    bool tuple = self->kind == AV_TUPLE || (real && PyTuple_Check(self->py));
    if ((list || tuple) && !a->n_kw && (!strcmp(name, "index") || !strcmp(name, "count"))) {
        jcv_av *t = jcv_tuple(c, NULL, 0);
        if (!c->native->items(c, self, &t->items, &t->n))
            jcv_refuse(c, "%s() of %s", name, jcv_describe(self));
        return jcv_search(c, t, name, a);
    }
    if (list) {
        if (!strcmp(name, "copy")) {
            arity(c, a, 0, 0, name);
            unsigned n;
            jcv_av **items = items_of(c, self, &n, "copy()");
            return jcv_list(c, items, n);
        }
        r = list_method(c, self, name, a);
    } else if (dict && (!host || !strcmp(name, "update") || !strcmp(name, "copy"))) {
        r = dict_method(c, self, name, a);
    } else if (self->kind == AV_TUPLE && self->named) {
        r = jcv_named_method(c, self, name, a);
    } else if (real && PyTuple_Check(self->py) && !PyTuple_CheckExact(self->py)) {
        r = jcv_named_method(c, self, name, a);
    } else if (real && jpy_module_check(self->py)) {
        r = jcv_module_method(c, self, name, a);
    } else if (real && PyUnicode_CheckExact(self->py) && !strcmp(name, "format") &&
               !(all_constants(c, a->pos, a->n_pos) && all_constants(c, a->kw, a->n_kw))) {
        r = jcv_text_formatted(c, self->py, a);
    } else if (real && PyUnicode_CheckExact(self->py) && !strcmp(name, "join") && !a->n_kw &&
               a->n_pos == 1) {
        r = join(c, self->py, a->pos[0]);
    } else if (real && jcv_is_const(self)) {
        PyObject *m = jcv_own(c, PyObject_GetAttrString(self->py, name));
        r = jcv_call_real(c, m, a, name);
        r = r->kind == AV_PY && r->py == self->py ? self : r;
    }
    if (!r && self->kind == AV_SEQ)
        r = jcv_open_method(c, self, name, a);
    if (!r)
        jcv_refuse(c, "the method %s of %s", name, jcv_describe(self));
    return r;
}

jcv_av *jcv_call_real(jcv *c, PyObject *f, const jcv_args *a, const char *name) {
    PyObject **v = jcv_alloc(c, (a->n_pos + a->n_kw + 1) * sizeof *v);
    PyObject *kw = a->n_kw ? jcv_own(c, PyTuple_New(a->n_kw)) : NULL;
    for (unsigned i = 0; i < a->n_pos + a->n_kw; i++) {
        jcv_av *x = i < a->n_pos ? a->pos[i] : a->kw[i - a->n_pos];
        if (x->kind == AV_HOST && jcv_host_type(c, x) == &PyUnicode_Type) {
            jcv_av *r = jcv_any_text(c, x) ? jcv_by_table(c, f, a) : NULL;
            if (r)
                return r;
            x = jcv_which_text(c, x);
        }
        v[i] = jcv_const_object(c, x);
        if (!v[i])
            jcv_refuse(c, "%s() of %s", name, jcv_describe(x));
        if (i >= a->n_pos) {
            Py_INCREF(a->names[i - a->n_pos]);
            PyTuple_SET_ITEM(kw, i - a->n_pos, a->names[i - a->n_pos]);
        }
    }
    PyObject *r = PyObject_Vectorcall(f, v, a->n_pos, kw);
    bool made = r && Py_REFCNT(r) == 1; /* and no part of an argument's copy */
    jcv_own(c, r);
    for (unsigned i = 0; i < a->n_pos; i++) /* min() and max(): it is the argument */
        if (r == v[i] && a->pos[i]->kind == AV_PY)
            return a->pos[i];
    jcv_av *x = jcv_py(c, r, NULL);
    if (PyTuple_CheckExact(r) || PyList_CheckExact(r)) {
        unsigned n;
        jcv_av **items;
        jcv_items(c, x, &items, &n);
        made = made || PyTuple_CheckExact(r);
        for (Py_ssize_t i = 0; made && i < (Py_ssize_t)n; i++)
            made = jpy_by_value(PySequence_Fast_GET_ITEM(r, i));
        if (!made)
            jcv_refuse(c, "lists in what %s() returns", name);
        return PyList_CheckExact(r) ? jcv_list(c, items, n) : jcv_tuple(c, items, n);
    }
    if (!jcv_is_const(x))
        jcv_refuse(c, "a call of %s", name);
    return x;
}
