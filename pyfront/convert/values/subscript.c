/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items: of tensors, of containers made here, and of real lists, tuples and dicts.
 *
 * A real list or dict that is written is from then on stood for by an AV_LIST or AV_DICT of its
 * items, which the commit writes back; reads through any other path find that.
 */
#include "pyfront/convert/values/values.h"

#include <string.h>

#include "pyfront/base/names.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/native.h"

jcv_av *jcv_standing_for(jcv *c, PyObject *o) {
    for (size_t i = 0; i < c->real.n; i++)
        if (c->real.data[i]->origin->py == o)
            return c->real.data[i];
    return NULL;
}

bool jcv_is_written(jcv *c, PyObject *o) { return jcv_standing_for(c, o) != NULL; }

/* Items of a real list or tuple: its length is guarded. */
static jcv_av *real_items(jcv *c, jcv_av *a) {
    Py_ssize_t n = Py_SIZE(a->py);
    PyObject *const *v =
        PyList_Check(a->py) ? ((PyListObject *)a->py)->ob_item : ((PyTupleObject *)a->py)->ob_item;
    if (a->src) {
        if (n > 10000) /* each would be a source, which guards read at every call */
            jcv_refuse(c, "all items of a list of more than 10,000");
        a->src->checks |= JPY_CHECK_LEN;
        a->src->number = n;
    }
    jcv_av *t = jcv_tuple(c, NULL, 0);
    t->items = jcv_alloc(c, (size_t)(n + 1) * sizeof *t->items);
    t->n = (unsigned)n;
    for (Py_ssize_t i = 0; i < n; i++)
        t->items[i] = jcv_wrap(
            c, v[i], a->src ? jpy_src_get(c->guards, JPY_SRC_ITEM, a->src, NULL, NULL, i) : NULL);
    return t;
}

static bool was_given(const jcv *c, const jcv_av *a) {
    bool given = false;
    for (size_t i = 0; a->kind == AV_DICT && i < c->given.n; i++)
        given = given || c->given.data[i] == a->slot;
    return given;
}

static jcv_av *to_abstract(jcv *c, jcv_av *a) {
    if (was_given(c, a))
        jcv_make_live(c, a);
    if (a->kind != AV_PY)
        return a;
    jcv_av *x = jcv_standing_for(c, a->py);
    if (x)
        return x;
    if (c->ctx != c->main && a->src)
        jcv_make_live(c, a);
    if (!a->src)
        jcv_refuse(c, "a constant container is written");
    if (PyODict_Check(a->py))
        jcv_refuse(c, "an item of %s is written", jcv_describe(a));
    if (a->src->kind == JPY_SRC_ATTR && PyDict_CheckExact(a->py) &&
        PyUnicode_CompareWithASCIIString(a->src->key, "__dict__") == 0)
        jcv_refuse(c, "an instance dict is written");
    if (PyList_CheckExact(a->py)) {
        jcv_av *t = real_items(c, a);
        x = jcv_list(c, t->items, t->n);
    } else if (jpy_has_pairs(a->py)) {
        x = jcv_dict(c);
    } else {
        jcv_refuse(c, "an item of %s is written", jcv_describe(a));
    }
    x->origin = a;
    if (!jn_vec_push(&c->real, x))
        jcv_refuse(c, "out of memory");
    return x;
}

jcv_av *jcv_abstract(jcv *c, jcv_av *a) { return to_abstract(c, a); }

bool jcv_native_items(jcv *c, jcv_av *a, jcv_av ***out, unsigned *n) {
    jcv_av *t = NULL;
    switch (a->kind) {
    case AV_TUPLE:
        t = a;
        break;
    case AV_LIST:
        t = c->slots.data[a->slot];
        break;
    case AV_DICT: {
        jcv_av *keys = jcv_call_method(c, a, "keys", &(jcv_args){0});
        return jcv_items(c, keys, out, n);
    }
    case AV_ITER:
        t = a;
        if (a->slot) {
            t = c->slots.data[a->slot];
            if (t->kind != AV_TUPLE)
                jcv_refuse(c, "an iterator whose place only the graph knows");
            jcv_put(c, a->slot, jcv_tuple(c, NULL, 0));
        }
        jcv_all_unchanged(c, a->watch, a->slot ? (int64_t)a->n - t->n : 0, t->n);
        if (a->self) {
            t = jcv_tuple(c, t->items, t->n);
            for (unsigned i = 0; i < t->n; i++) {
                jcv_unchanged(c, a->watch, (int64_t)a->n - t->n + i);
                t->items[i] = jcv_taken(c, a, t->items[i]);
            }
            jcv_unchanged(c, a->watch, -1);
        }
        break;
    case AV_SEQ:
        t = jcv_try_all(c, a);
        if (!t)
            return false;
        break;
    case AV_RANGE: {
        long v[3];
        for (int i = 0; i < 3; i++) {
            if (a->items[i]->kind != AV_PY)
                return false;
            v[i] = jcv_long(c, a->items[i]);
        }
        if (PyErr_Occurred())
            jcv_refuse_py(c);
        /* without a sign: bounds and steps may be as far apart as numbers are */
        unsigned long from = (unsigned long)v[0], to = (unsigned long)v[1];
        unsigned long step = (unsigned long)v[2], m = 0;
        if (v[2] > 0 && v[0] < v[1])
            m = (to - from - 1) / step + 1;
        else if (v[2] < 0 && v[0] > v[1])
            m = (from - to - 1) / (0 - step) + 1;
        if (m > 100000)
            jcv_refuse(c, "a very long range");
        t = jcv_tuple(c, NULL, 0);
        t->items = jcv_alloc(c, (m + 1) * sizeof *t->items);
        t->n = (unsigned)m;
        for (unsigned long i = 0; i < m; i++)
            t->items[i] = jcv_take(c, PyLong_FromLong((long)(from + i * step)));
        break;
    }
    case AV_TENSOR: {
        const jn_type *ty = jcv_tensor_val(c, a->py)->type;
        if (ty->rank == 0 || ty->dims[0] > 1000 || jcv_dim_varies(c, ty->dims[0]))
            jcv_refuse(c, "a loop over a tensor");
        t = jcv_tuple(c, NULL, 0);
        t->n = (unsigned)ty->dims[0];
        t->items = jcv_alloc(c, (t->n + 1) * sizeof *t->items);
        for (unsigned i = 0; i < t->n; i++)
            t->items[i] = jcv_native_getitem(c, a, jcv_take(c, PyLong_FromLong((long)i)));
        break;
    }
    case AV_PY: {
        PyObject *o = a->py;
        jcv_av *x = jcv_standing_for(c, o);
        if (x)
            return jcv_native_items(c, x, out, n);
        if (PyList_CheckExact(o) || PyTuple_Check(o)) {
            t = real_items(c, a);
            break;
        }
        if (jpy_has_pairs(o))
            return jcv_items(c, jcv_call_method(c, a, "keys", &(jcv_args){0}), out, n);
        if (PyUnicode_CheckExact(o) || PyFrozenSet_CheckExact(o) || PyBytes_CheckExact(o) ||
            PyRange_Check(o)) {
            t = real_items(c, jcv_py(c, jcv_own(c, PySequence_Tuple(o)), NULL));
            break;
        }
        return false;
    }
    default:
        return false;
    }
    *out = t->items;
    *n = t->n;
    return true;
}

/* ---- the two operations -------------------------------------------------------------------------
 */

/* A part of a range is one, too. */
static jcv_av *part_of_range(jcv *c, const jcv_av *r, const jcv_av *at) {
    static const char *const names[] = {"start", "stop", "step"};
    for (int i = 0; i < 3; i++)
        if (r->items[i]->kind != AV_PY)
            jcv_refuse(c, "a part of a range of computed numbers");
    PyObject *whole =
        jcv_own(c, PyObject_CallFunctionObjArgs((PyObject *)&PyRange_Type, r->items[0]->py,
                                                r->items[1]->py, r->items[2]->py, NULL));
    PyObject *part = jcv_own(c, PyObject_GetItem(whole, at->py));
    jcv_av *out = jcv_new(c, AV_RANGE);
    out->items = jcv_alloc(c, 3 * sizeof *out->items);
    out->n = 3;
    for (int i = 0; i < 3; i++)
        out->items[i] = jcv_take(c, PyObject_GetAttrString(part, names[i]));
    return out;
}

/* Whether a slice takes all of n items, as they lie: of a tuple it is that tuple. */
static bool is_all(const jcv_av *at, unsigned n) {
    Py_ssize_t start, stop, step;
    if (at->kind != AV_PY || !PySlice_Check(at->py))
        return false;
    if (PySlice_Unpack(at->py, &start, &stop, &step) < 0) {
        PyErr_Clear(); /* whoever takes the items says so */
        return false;
    }
    return PySlice_AdjustIndices(n, &start, &stop, step) == (Py_ssize_t)n && step == 1;
}

static jcv_av *sequence_item(jcv *c, jcv_av *t, bool list, jcv_av *i) {
    if (i->kind != AV_PY)
        jcv_refuse(c, "%s as an index", jcv_describe(i));
    if (PySlice_Check(i->py)) {
        Py_ssize_t start, stop, step, n;
        if (PySlice_Unpack(i->py, &start, &stop, &step) < 0)
            jcv_refuse_py(c);
        n = PySlice_AdjustIndices(t->n, &start, &stop, step);
        jcv_av **v = jcv_alloc(c, (size_t)(n + 1) * sizeof *v);
        for (Py_ssize_t k = 0; k < n; k++)
            v[k] = t->items[start + k * step];
        return list ? jcv_list(c, v, (unsigned)n) : jcv_tuple(c, v, (unsigned)n);
    }
    if (!PyLong_Check(i->py))
        jcv_refuse(c, "%s as an index", jcv_describe(i));
    long k = jcv_long(c, i);
    if (k < 0)
        k += t->n;
    if (k < 0 || k >= (long)t->n)
        jcv_refuse(c, "an index out of range");
    return t->items[k];
}

/* A slice whose bounds, or whose list, only the graph knows; NULL: it is something else. */
static jcv_av *graph_slice(jcv *c, jcv_av *o, jcv_av *i) {
    if (jcv_is_computed(i)) {
        if (o->kind == AV_TENSOR)
            return jcv_computed_key(c, o, i);
        return jcv_slice(c, o, i->items);
    }
    if (i->kind == AV_TUPLE && o->kind == AV_TENSOR) {
        bool any = jcv_is_computed_view(i);
        for (unsigned k = 0; k < i->n && !any; k++)
            any = jcv_is_computed(i->items[k]);
        return any ? jcv_computed_key(c, o, i) : NULL;
    }
    if (i->kind != AV_PY || !PySlice_Check(i->py) || (o->kind != AV_HOST && o->kind != AV_SEQ))
        return NULL;
    static const char *const names[] = {"start", "stop", "step"};
    jcv_av *bounds[3];
    for (int k = 0; k < 3; k++)
        bounds[k] = jcv_take(c, PyObject_GetAttrString(i->py, names[k]));
    jcv_av *first = jcv_is_slice(o) ? NULL : jcv_first_assumed(c, o, bounds);
    bool sliced = o->kind == AV_HOST || jcv_is_slice(o) || jcv_is_stacked(o);
    return first || !sliced ? first : jcv_slice(c, o, bounds);
}

/* Whether `C[i]` of a class is code of the program, which a conversion does not run. */
static bool has_own_subscript(jcv *c, PyObject *o) {
    PyObject *d =
        PyType_Check(o) ? jcv_lookup(c, (PyTypeObject *)o, jpy_names.class_getitem) : NULL;
    return d && Py_TYPE(d) != &PyClassMethodDescr_Type;
}

/* Of a string that only the graph knows. */
static jcv_av *text_item(jcv *c, jcv_av *o, jcv_av *i) {
    if (jcv_any_text(c, o)) {
        PyObject *f =
            jcv_own(c, PyObject_GetAttrString((PyObject *)&PyUnicode_Type, "__getitem__"));
        jcv_av *r = jcv_by_table(c, f, &(jcv_args){.pos = (jcv_av *[]){o, i}, .n_pos = 2});
        if (r)
            return r;
        if (i->kind == AV_SCALAR && i->val->type->kind == JANUS_KIND_INT)
            return jcv_host_item(c, o, jcv_place_among(c, i, jcv_host_len(c, o)));
    }
    return jcv_getitem(c, jcv_which_text(c, o), i);
}

/* A slice to what is native: of bounds that are ints of another class the values. */
static jcv_av *with_values(jcv *c, jcv_av *i) {
    if (!jcv_is_computed(i))
        return i;
    jcv_av *bounds[3];
    PyObject *known[3] = {NULL, NULL, NULL};
    bool any = false;
    for (int k = 0; k < 3; k++) {
        bounds[k] = jcv_as_index(c, i->items[k]);
        known[k] = jcv_is_const(bounds[k]) ? bounds[k]->py : NULL;
        any = any || bounds[k] != i->items[k];
    }
    if (!any)
        return i;
    if (known[0] && known[1] && known[2])
        return jcv_take(c, PySlice_New(known[0], known[1], known[2]));
    jcv_av *r = jcv_alloc(c, sizeof *r);
    *r = *i;
    r->items = jcv_alloc(c, sizeof bounds);
    memcpy(r->items, bounds, sizeof bounds);
    return r;
}

jcv_av *jcv_native_getitem(jcv *c, jcv_av *o, jcv_av *i) {
    jcv_av **items;
    unsigned n;
    i = with_values(c, i);
    if (o->kind == AV_HOST && jcv_host_type(c, o) == &PyUnicode_Type)
        return text_item(c, o, i);
    jcv_av *part = graph_slice(c, o, i);
    if (part)
        return part;
    if (o->kind == AV_TENSOR) {
        if (jcv_is_number(i))
            return jcv_selected(c, o, 0, i->val);
        i = jcv_with_places(c, o, i);
        c->passed.n = 0;
        c->passing = true;
        PyObject *k = jcv_object(c, i);
        c->passing = false;
        if (!k)
            jcv_refuse(c, "an index of a tensor");
        c->hook_refused = false;
        PyObject *x = PyObject_GetItem(o->py, k);
        c->passed.n = 0;
        return jcv_wrap(c, jcv_own(c, x), NULL);
    }
    if (i->kind == AV_HOST && o->kind == AV_PY && PyDict_CheckExact(o->py) &&
        !jcv_standing_for(c, o->py)) {
        jcv_av *x = jcv_pick_key(c, o, i);
        x = x ? x : jcv_choice(c, o, i);
        return x ? x : jcv_live_getkey(c, jcv_to_host(c, o), i);
    }
    if (i->kind == AV_SCALAR && o->kind == AV_PY && PyDict_CheckExact(o->py) && o->src &&
        !jcv_standing_for(c, o->py))
        return jcv_live_getkey(c, jcv_to_host(c, o), i);
    if ((i->kind == AV_HOST || i->kind == AV_SCALAR) && o->kind == AV_PY && o->src &&
        jpy_has_pairs(o->py) && !PyODict_Check(o->py) && !jcv_standing_for(c, o->py))
        return jcv_host_getkey(c, jcv_to_host(c, o), i);
    if (jcv_is_dict(o)) {
        jcv_av *v = jcv_dict_get(c, o, i);
        return v ? v : jcv_missing(c, o, i);
    }
    if (o->kind == AV_SEQ && !o->slot)
        return jcv_seq_at(c, o, i);
    if (i->kind == AV_SCALAR && o->kind == AV_PY && o->src && !jcv_standing_for(c, o->py) &&
        (PyList_CheckExact(o->py) || PyTuple_CheckExact(o->py))) {
        jcv_av *x = jcv_pick_item(c, o, i);
        if (x)
            return x;
        o = jcv_to_host(c, o);
    }
    if (o->kind == AV_HOST && jcv_host_has_pairs(c, o))
        return jcv_host_getkey(c, o, i);
    if (o->kind == AV_HOST) {
        jcv_val *k = jcv_number(c, i);
        if (!k || k->type->kind != JANUS_KIND_INT)
            jcv_refuse(c, "an item of an object read while the graph runs");
        if (i->kind == AV_SCALAR) /* also where nobody uses the item */
            k = jcv_place_among(c, i, jcv_host_len(c, o));
        return jcv_host_item(c, o, k);
    }
    if (o->kind == AV_PY && has_own_subscript(c, o->py))
        return jcv_call1(c, jcv_getattr(c, o, jpy_names.class_getitem), i);
    if (jcv_is_inert(o) && jcv_is_inert(i))
        return jcv_take_of(c, PyObject_GetItem(o->py, i->py), &o, 1);
    if (o->kind == AV_PY && (PyList_CheckExact(o->py) || PyTuple_CheckExact(o->py)) &&
        i->kind == AV_PY && PyLong_Check(i->py) && o->src && !jcv_standing_for(c, o->py)) {
        long k = jcv_long(c, i);
        jpy_src *s = jpy_src_get(c->guards, JPY_SRC_ITEM, o->src, NULL, NULL, k);
        PyObject *item = s ? jpy_src_read(s, o->py, NULL, c->call) : NULL;
        if (item) /* nothing is assumed about the length, nor about other items */
            return jcv_wrap(c, item, s);
    }
    jcv_av *item = i->kind == AV_SCALAR ? jcv_item_at_place(c, o, i) : NULL;
    if (item)
        return item;
    if (o->kind == AV_RANGE && i->kind == AV_PY && PySlice_Check(i->py))
        return part_of_range(c, o, i);
    bool sequence = o->kind == AV_TUPLE || o->kind == AV_LIST || o->kind == AV_RANGE ||
                    (o->kind == AV_PY && (PyList_CheckExact(o->py) || PyTuple_Check(o->py)));
    if (sequence && jcv_native_items(c, o, &items, &n)) {
        jcv_av t = {.items = items, .n = n};
        if (jcv_is_plain_tuple(o) && is_all(i, n))
            return o;
        return sequence_item(c, &t, o->kind == AV_LIST || (o->kind == AV_PY && PyList_Check(o->py)),
                             i);
    }
    jcv_refuse(c, "an item of %s", jcv_describe(o));
}

static void set_slice(jcv *c, jcv_av *l, jcv_av *t, jcv_av *at, jcv_av *v) {
    Py_ssize_t start, stop, step;
    jcv_av **items;
    unsigned m;
    if (PySlice_Unpack(at->py, &start, &stop, &step) < 0)
        jcv_refuse_py(c);
    if (step != 1 || !jcv_items(c, v, &items, &m)) {
        if (step == 1 && (v->kind == AV_HOST || v->kind == AV_SEQ))
            jcv_leave_to_graph(c, l); /* how long it is then only the graph knows */
        jcv_refuse(c, "this way to write a part of a list");
    }
    if (c->slots.data[l->slot] != t)
        jcv_refuse(c, "items that write the list that they become a part of");
    Py_ssize_t n = PySlice_AdjustIndices(t->n, &start, &stop, step);
    unsigned first = (unsigned)start, rest = t->n - first - (unsigned)n;
    jcv_av *now = jcv_tuple(c, NULL, 0);
    now->n = first + m + rest;
    now->items = jcv_alloc(c, (now->n + 1) * sizeof *now->items);
    if (first)
        memcpy(now->items, t->items, first * sizeof *items);
    if (m)
        memcpy(now->items + first, items, m * sizeof *items);
    if (rest)
        memcpy(now->items + first + m, t->items + first + n, rest * sizeof *items);
    jcv_put(c, l->slot, now);
    jcv_wrote_if(c, l->origin != NULL);
}

void jcv_native_setitem(jcv *c, jcv_av *o, jcv_av *i, jcv_av *v) {
    i = with_values(c, i);
    if (o->kind == AV_TENSOR && v->kind == AV_SCALAR)
        v = jcv_stored_number(c, o, v);
    if (o->kind == AV_TENSOR && jcv_is_computed_view(i)) {
        jcv_call1(c, jcv_getattr(c, jcv_getitem(c, o, i), jpy_names.copy_), v);
        return;
    }
    if (o->kind == AV_TENSOR) {
        if (v->kind == AV_TENSOR)
            i = jcv_with_places(c, o, i);
        PyObject *k = jcv_object(c, i), *x = jcv_object(c, v);
        if (!k || !x)
            jcv_refuse(c, "a tensor is written at a computed place");
        uint32_t writes = c->writes;
        c->hook_refused = false;
        if (PyObject_SetItem(o->py, k, x) < 0 || c->hook_refused)
            jcv_refuse_py(c);
        if (c->writes == writes)
            jcv_refuse(c, "this way to write a tensor");
        return;
    }
    if (jcv_is_dict(o) || (o->kind == AV_HOST && jcv_host_has_pairs(c, o))) {
        jcv_dict_set(c, o, i, v);
        return;
    }
    if (o->kind == AV_HOST && jcv_host_type(c, o) == &PyList_Type) {
        if (jcv_is_computed(i) || (i->kind == AV_PY && PySlice_Check(i->py)))
            jcv_call_method(c, o, "__setitem__",
                            &(jcv_args){.pos = (jcv_av *[]){i, v}, .n_pos = 2});
        else
            jcv_live_setitem(c, o, i, v);
        return;
    }
    if (o->kind == AV_LIST || (o->kind == AV_PY && PyList_CheckExact(o->py))) {
        if (i->kind == AV_SCALAR || jcv_is_computed(i))
            jcv_leave_to_graph(c, o);
        jcv_av *l = to_abstract(c, o), *t = c->slots.data[l->slot];
        if (i->kind == AV_PY && PySlice_Check(i->py)) {
            set_slice(c, l, t, i, v);
            return;
        }
        if (i->kind != AV_PY || !PyLong_Check(i->py))
            jcv_refuse(c, "%s as an index", jcv_describe(i));
        long k = jcv_long(c, i);
        if (k < 0)
            k += t->n;
        if (k < 0 || k >= (long)t->n)
            jcv_refuse(c, "an index out of range");
        jcv_av *now = jcv_tuple(c, t->items, t->n);
        now->items[k] = v;
        jcv_put(c, l->slot, now);
        jcv_wrote_if(c, l->origin != NULL);
        return;
    }
    jcv_leave_to_graph(c, o);
    jcv_refuse(c, "an item of %s is written", jcv_describe(o));
}

void jcv_native_delitem(jcv *c, jcv_av *o, jcv_av *i) {
    jcv_call_method(c, o, "__delitem__", &(jcv_args){.pos = &i, .n_pos = 1});
}
