/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items: of tensors, of containers made here, and of real lists, tuples and dicts.
 *
 * A real list or dict that is written is from then on stood for by an AV_LIST or AV_DICT of its
 * items, which the commit writes back; reads through any other path find that.
 */
#include "pyfront/convert/values/values.h"

#include <math.h>
#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/native.h"

const char jcv_whole[2 * JCV_WHOLE] = "all pairs";
const char jcv_cleared[] = "all pairs, of a dict that was cleared";

const char *jcv_whole_text(jcv *c, unsigned gone, unsigned put, bool gap) {
    if (gone >= JCV_MOST_GONE || put >= JCV_MOST_PUT)
        jcv_refuse(c, "many keys are taken out of a dict and put in");
    return jcv_whole + (gap ? JCV_WHOLE : 0) + gone * JCV_MOST_PUT + put;
}

static jcv_av *standing_for(jcv *c, PyObject *o) {
    for (size_t i = 0; i < c->real.n; i++)
        if (c->real.data[i]->origin->py == o)
            return c->real.data[i];
    return NULL;
}

bool jcv_is_written(jcv *c, PyObject *o) { return standing_for(c, o) != NULL; }

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
    jcv_av *x = standing_for(c, a->py);
    if (x)
        return x;
    if (c->ctx != c->main && a->src)
        jcv_make_live(c, a);
    if (!a->src)
        jcv_refuse(c, "a constant container is written");
    if (a->src->kind == JPY_SRC_ATTR && PyDict_CheckExact(a->py) &&
        PyUnicode_CompareWithASCIIString(a->src->key, "__dict__") == 0)
        jcv_refuse(c, "an instance dict is written");
    if (PyList_CheckExact(a->py)) {
        jcv_av *t = real_items(c, a);
        x = jcv_list(c, t->items, t->n);
    } else if (PyDict_CheckExact(a->py)) {
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
            t->items[i] = jcv_getitem(c, a, jcv_take(c, PyLong_FromLong((long)i)));
        break;
    }
    case AV_PY: {
        PyObject *o = a->py;
        jcv_av *x = standing_for(c, o);
        if (x)
            return jcv_items(c, x, out, n);
        if (PyList_CheckExact(o) || PyTuple_Check(o)) {
            t = real_items(c, a);
            break;
        }
        if (PyDict_CheckExact(o))
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

/* ---- dicts --------------------------------------------------------------------------------------
 */

/* An object that equals nothing but itself. */
static bool by_identity_only(const jcv_av *a) {
    const PyTypeObject *t = a->kind == AV_PY ? Py_TYPE(a->py) : NULL;
    return t && t->tp_hash == PyBaseObject_Type.tp_hash &&
           t->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

static bool is_tuple(const jcv_av *a) {
    return a->kind == AV_TUPLE || (a->kind == AV_PY && PyTuple_CheckExact(a->py));
}

/* NaN is found by its object alone: a constant is one object in all calls. */
static bool holds_nan(PyObject *o) {
    for (Py_ssize_t i = 0; PyTuple_Check(o) && i < PyTuple_GET_SIZE(o); i++)
        if (holds_nan(PyTuple_GET_ITEM(o, i)))
            return true;
    return (PyFloat_Check(o) && isnan(PyFloat_AS_DOUBLE(o))) ||
           (PyComplex_Check(o) && !(PyComplex_AsCComplex(o).real == PyComplex_AsCComplex(o).real &&
                                    PyComplex_AsCComplex(o).imag == PyComplex_AsCComplex(o).imag));
}

/* Refuses what cannot be a key, or is hashed or compared by code of the user. */
static void check_key(jcv *c, jcv_av *key) {
    jcv_av **items;
    unsigned n;
    if (key->kind == AV_PY && holds_nan(key->py))
        jcv_refuse(c, "nan as a key");
    jcv_not_frozen(c, key, "the identity");
    if (is_tuple(key) && !jcv_is_const(key) && jcv_items(c, key, &items, &n)) {
        for (unsigned i = 0; i < n; i++)
            check_key(c, items[i]);
        return;
    }
    if (jcv_is_const(key) ? PyObject_Hash(key->py) == -1
                          : key->kind != AV_TENSOR && key->kind != AV_SCALAR &&
                                key->kind != AV_HOST && !by_identity_only(key)) {
        PyErr_Clear();
        jcv_refuse(c, "%s as a key", jcv_describe(key));
    }
}

/* Whether two keys are one.  Of objects that are not, it is guarded. */
bool jcv_same_key(jcv *c, jcv_av *a, jcv_av *b) {
    if (jcv_av_equal(a, b))
        return true;
    PyObject *x = jcv_const_object(c, a), *y = jcv_const_object(c, b);
    if (x && y)
        return PyObject_RichCompareBool(x, y, Py_EQ) == 1;
    if (is_tuple(a) && is_tuple(b))
        jcv_refuse(c, "tuples of values of the graph as keys");
    if (x || y || a->kind != b->kind)
        return false;
    if (a->kind == AV_TENSOR)
        return jcv_compare(c, JPY_IS, a, b)->py == Py_True;
    if (a->kind == AV_PY && a->src && b->src &&
        (!jpy_guards_distinct(c->guards, a->src->slot) ||
         !jpy_guards_distinct(c->guards, b->src->slot)))
        jcv_refuse(c, "out of memory");
    return false;
}

int jcv_find_key(jcv *c, jcv_av *pairs, jcv_av *key) {
    check_key(c, key);
    for (unsigned i = 0; i + 1 < pairs->n; i += 2)
        if (jcv_same_key(c, pairs->items[i], key))
            return (int)i;
    return -1;
}

/* The key of a real dict that an abstract value stands for. */
static PyObject *real_key(jcv *c, jcv_av *key) {
    if (key->kind == AV_PY && holds_nan(key->py))
        jcv_refuse(c, "nan as a key");
    if (jcv_is_const(key))
        return key->py;
    if (key->kind == AV_TENSOR && key->src) {
        jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)key->py)->t);
        key->src->checks |= JPY_CHECK_IDENT;
        key->src->ident = jpy_guards_own(c->guards, r->proxy);
        return r->proxy;
    }
    if (by_identity_only(key) && key->src) {
        jcv_by_identity(c, key->py, key->src);
        return key->py;
    }
    if (key->kind == AV_TUPLE) {
        PyObject *o = jcv_object(c, key);
        if (o)
            return o;
    }
    jcv_refuse(c, "%s as a key", jcv_describe(key));
}

static jcv_av *real_get(jcv *c, jcv_av *d, jcv_av *key) {
    PyObject *k = real_key(c, key);
    PyObject *v = PyDict_GetItemWithError(d->py, k);
    jpy_src *s = d->src ? jpy_src_get(c->guards, JPY_SRC_KEY, d->src, NULL, k, 0) : NULL;
    if (!v) {
        PyErr_Clear();
        if (s)
            s->checks |= JPY_CHECK_ABSENT;
        return NULL;
    }
    return jcv_wrap(c, v, s);
}

static void put_pair(jcv *c, jcv_av *d, jcv_av *key, jcv_av *v) {
    jcv_av *pairs = c->slots.data[d->slot];
    int at = jcv_find_key(c, pairs, key);
    jcv_av *t = jcv_tuple(c, pairs->items, pairs->n);
    t->text = pairs->text;
    if (at >= 0) {
        t->items[at + 1] = v;
    } else {
        t->items = jcv_alloc(c, (pairs->n + 2) * sizeof *t->items);
        if (pairs->n)
            memcpy(t->items, pairs->items, pairs->n * sizeof *t->items);
        t->items[pairs->n] = key;
        t->items[pairs->n + 1] = v;
        t->n = pairs->n + 2;
        bool gap = jcv_pairs_gap(pairs);
        if (gap && d->origin) /* it lies behind the gap, which the commit does not make */
            jcv_refuse(c, "keys are put in a dict, taken out and put in again");
        if (jcv_is_whole(pairs))
            t->text = jcv_whole_text(c, jcv_pairs_gone(pairs), jcv_pairs_put(pairs) + 1, gap);
    }
    jcv_put(c, d->slot, t);
}

/* Of a dict that is made here keys are known: a string of the graph is one of those that were seen.
 */
static jcv_av *which_name(jcv *c, const jcv_av *d, jcv_av *key) {
    PyObject *s =
        d->kind == AV_DICT && !d->origin && key->kind == AV_HOST ? jcv_samples(c, key) : NULL;
    bool names = s != NULL;
    for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(s); i++)
        names = PyUnicode_CheckExact(PyList_GET_ITEM(s, i));
    return names ? jcv_which_text(c, key) : key;
}

/* NULL: no such key. */
jcv_av *jcv_dict_get(jcv *c, jcv_av *d, jcv_av *key) {
    if (d->kind == AV_HOST)
        return jcv_live_getkey(c, d, key);
    key = which_name(c, d, key);
    if (d->kind == AV_DICT && (key->kind == AV_SCALAR || key->kind == AV_HOST))
        jcv_make_live(c, d);
    if (d->kind == AV_PY) {
        jcv_av *x = standing_for(c, d->py);
        if (!x)
            return real_get(c, d, key);
        d = x;
    }
    int at = jcv_find_key(c, c->slots.data[d->slot], key);
    if (at >= 0) {
        jcv_av *v = c->slots.data[d->slot]->items[at + 1];
        return v->kind == AV_UNDEF ? NULL : v;
    }
    bool whole = jcv_all_pairs(c->slots.data[d->slot]);
    return d->origin && !whole ? real_get(c, d->origin, key) : NULL;
}

void jcv_dict_set(jcv *c, jcv_av *d, jcv_av *key, jcv_av *v) {
    if (d->kind == AV_HOST) {
        jcv_live_setkey(c, d, key, v);
        return;
    }
    key = which_name(c, d, key);
    if ((d->kind == AV_DICT && d->slot < c->ctx->fn->first_slot) || key->kind == AV_SCALAR ||
        key->kind == AV_HOST || (c->ctx->fn->kind == JCV_FUNC && (d->kind == AV_PY || d->origin)))
        jcv_make_live(c, d);
    check_key(c, key);
    d = to_abstract(c, d);
    if (d->origin)
        jcv_wrote(c);
    put_pair(c, d, key, v);
}

/* ---- the two operations -------------------------------------------------------------------------
 */

static jcv_av *sequence_item(jcv *c, jcv_av *t, bool list, jcv_av *i) {
    if (i->kind != AV_PY)
        jcv_refuse(c, "an item of a list at a computed place");
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

/* A bound of a slice of a tensor; NULL: absent. */
static jcv_val *part_bound(jcv *c, jcv_av *a) {
    if (a->kind == AV_PY && a->py == Py_None)
        return NULL;
    jcv_val *v = jcv_number(c, a);
    if (!v || v->type->kind != JANUS_KIND_INT)
        jcv_refuse(c, "a slice with computed bounds");
    return v;
}

/* x[:, a:b], with bounds that the graph computes: not by the eager layer, which would cut them to
 * what the image has. */
static jcv_av *tensor_part(jcv *c, jcv_av *o, int axis, jcv_av *const *bounds) {
    jcv_av *step = bounds[2];
    jcv_val *x = jcv_tensor_val(c, o->py);
    if (axis >= x->type->rank || step->kind != AV_PY || step->py != Py_None)
        jcv_refuse(c, "a slice with computed bounds");
    jcv_val *start = part_bound(c, bounds[0]), *stop = part_bound(c, bounds[1]);
    return jcv_view(c, o->py, jcv_part_of(c, x, axis, start, stop));
}

static bool is_computed(const jcv_av *a) { return a->kind == AV_ITER && a->text == jcv_bounds; }

static bool is_number(const jcv_av *a) {
    return a->kind == AV_SCALAR && a->val->type->kind == JANUS_KIND_INT;
}

/* Whether a key has ints and bounds that only the graph knows, and nothing else but ints, slices,
 * None and ...: what is there is a view. */
static bool is_computed_view(const jcv_av *key) {
    jcv_av *const *items = key->kind == AV_TUPLE ? key->items : (jcv_av *const *)&key;
    unsigned n = key->kind == AV_TUPLE ? key->n : 1, known = 0;
    for (unsigned i = 0; i < n; i++) {
        const jcv_av *a = items[i];
        bool plain = a->kind == AV_PY && (PyLong_CheckExact(a->py) || PySlice_Check(a->py) ||
                                          a->py == Py_None || a->py == Py_Ellipsis);
        known += plain;
        if (!plain && !is_computed(a) && !is_number(a))
            return false;
    }
    return known < n;
}

static jcv_av *selected(jcv *c, jcv_av *o, int axis, jcv_val *i) {
    jcv_val *in[2] = {jcv_tensor_val(c, o->py), i};
    janus_select_attrs attrs = {sizeof attrs, axis};
    if (axis >= in[0]->type->rank)
        jcv_refuse(c, "an index of more dims than there are");
    return jcv_view(c, o->py, jcv_op(c, JN_OP(select), in, 2, &attrs));
}

/* How many dims an item of a key is about; -1: those that the others leave. */
static int dims_of_item(jcv *c, const jcv_av *a) {
    if (a->kind == AV_PY && a->py == Py_None)
        return 0;
    if (a->kind == AV_PY && a->py == Py_Ellipsis)
        return -1;
    if (a->kind == AV_PY && PyBool_Check(a->py))
        jcv_refuse(c, "a slice with computed bounds beside a truth");
    const jn_type *t = a->kind == AV_TENSOR ? jcv_tensor_val(c, a->py)->type : NULL;
    return t && (t->dtype == JANUS_BOOL || t->dtype == JANUS_U8) ? t->rank : 1;
}

/* x[i, a:b, j]: first the parts between bounds that the graph computes and the numbers that it
 * knows, each along its dim, then the rest of the key. */
static jcv_av *computed_key(jcv *c, jcv_av *o, jcv_av *key) {
    int rank = jcv_tensor_val(c, o->py)->type->rank, named = 0, axis = 0;
    bool others = false;
    for (unsigned k = 0; k < key->n; k++) {
        int n = dims_of_item(c, key->items[k]);
        named += n < 0 ? 0 : n;
    }
    jcv_av *rest = jcv_tuple(c, NULL, 0);
    rest->items = jcv_alloc(c, key->n * sizeof *rest->items);
    for (unsigned k = 0; k < key->n; k++) {
        jcv_av *item = key->items[k];
        int n = dims_of_item(c, item);
        if (is_number(item)) { /* that dim is gone */
            o = selected(c, o, axis, item->val);
            continue;
        }
        if (is_computed(item))
            o = tensor_part(c, o, axis, item->items);
        rest->items[rest->n++] =
            is_computed(item) ? jcv_take(c, PySlice_New(NULL, NULL, NULL)) : item;
        others = others || !is_computed(item);
        axis += n < 0 ? rank - named : n;
    }
    return others ? jcv_native_getitem(c, o, rest) : o;
}

/* A slice whose bounds, or whose list, only the graph knows; NULL: it is something else. */
static jcv_av *graph_slice(jcv *c, jcv_av *o, jcv_av *i) {
    if (is_computed(i)) {
        if (o->kind == AV_TENSOR)
            return tensor_part(c, o, 0, i->items);
        return jcv_slice(c, o, i->items);
    }
    if (i->kind == AV_TUPLE && o->kind == AV_TENSOR) {
        bool any = is_computed_view(i);
        for (unsigned k = 0; k < i->n && !any; k++)
            any = is_computed(i->items[k]);
        return any ? computed_key(c, o, i) : NULL;
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

/* A mask: it has dims, and how many it chooses only the run knows. */
static bool is_mask(jcv *c, const jcv_av *a) {
    if (a->kind != AV_TENSOR)
        return false;
    const jn_type *t = jcv_tensor_val(c, a->py)->type;
    return t->rank > 0 && (t->dtype == JANUS_BOOL || t->dtype == JANUS_U8);
}

/* How many dims of a tensor an index is for. */
static int dims_of(jcv *c, const jcv_av *a) {
    if (is_mask(c, a))
        return jcv_tensor_val(c, a->py)->type->rank;
    if (a->kind == AV_TENSOR)
        return jcv_tensor_val(c, a->py)->type->dtype != JANUS_BOOL;
    return a->kind != AV_PY || !(a->py == Py_None || a->py == Py_Ellipsis || PyBool_Check(a->py));
}

/* A mask has the dims of what it is an index of, from `axis` on. */
static void check_mask(jcv *c, jcv_av *o, jcv_av *mask, int axis) {
    jcv_val *x = jcv_tensor_val(c, o->py), *m = jcv_tensor_val(c, mask->py);
    for (int k = 0; k < m->type->rank; k++) {
        bool there = axis >= 0 && axis + k < x->type->rank;
        int64_t size = there ? x->type->dims[axis + k] : -1;
        if (size == m->type->dims[k])
            continue;
        if (!there || !(jcv_dim_varies(c, size) || jcv_dim_varies(c, m->type->dims[k])))
            jcv_refuse(c, "a mask of another shape as an index"); /* it raises */
        jcv_must_be(c, jcv_size_of(c, m, k), jcv_size_of(c, x, axis + k));
    }
}

/* The key of a tensor with the places of what is true instead of each mask: one index a dim of it,
 * which is what the eager layer makes of them. */
static jcv_av *with_places(jcv *c, jcv_av *o, jcv_av *key) {
    bool many = key->kind == AV_TUPLE;
    jcv_av *one[1] = {key}, **items = many ? key->items : one, **places;
    unsigned n = many ? key->n : 1, n_places, n_masks = 0;
    int axis = 0, all_dims = 0;
    for (unsigned i = 0; i < n; i++) {
        n_masks += is_mask(c, items[i]);
        all_dims += dims_of(c, items[i]);
    }
    if (!n_masks)
        return key;
    jcv_av *t = jcv_tuple(c, NULL, 0);
    t->items = jcv_alloc(c, (n + n_masks * JN_MAX_RANK) * sizeof *t->items);
    for (unsigned i = 0; i < n; axis += dims_of(c, items[i++])) {
        if (items[i]->kind == AV_PY && items[i]->py == Py_Ellipsis)
            axis += jcv_tensor_val(c, o->py)->type->rank - all_dims;
        if (!is_mask(c, items[i])) {
            t->items[t->n++] = items[i];
            continue;
        }
        check_mask(c, o, items[i], axis);
        PyObject *name = jcv_own(c, PyUnicode_InternFromString("as_tuple"));
        jcv_av *yes = jcv_py(c, Py_True, NULL);
        jcv_args as_tuple = {.kw = &yes, .names = &name, .n_kw = 1};
        jcv_av *find = jcv_getattr(c, items[i], jcv_own(c, PyUnicode_InternFromString("nonzero")));
        jcv_av *all = jcv_call(c, find, &as_tuple);
        if (!jcv_items(c, all, &places, &n_places))
            jcv_refuse(c, "a mask as an index");
        memcpy(t->items + t->n, places, n_places * sizeof *places);
        t->n += n_places;
    }
    return t;
}

jcv_av *jcv_native_getitem(jcv *c, jcv_av *o, jcv_av *i) {
    jcv_av **items;
    unsigned n;
    if (o->kind == AV_HOST && jcv_host_type(c, o) == &PyUnicode_Type)
        return jcv_getitem(c, jcv_which_text(c, o), i);
    jcv_av *part = graph_slice(c, o, i);
    if (part)
        return part;
    if (o->kind == AV_TENSOR) {
        if (is_number(i))
            return selected(c, o, 0, i->val);
        i = with_places(c, o, i);
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
        !standing_for(c, o->py)) {
        jcv_av *x = jcv_pick_key(c, o, i);
        x = x ? x : jcv_choice(c, o, i);
        return x ? x : jcv_live_getkey(c, jcv_to_host(c, o), i);
    }
    if (i->kind == AV_SCALAR && o->kind == AV_PY && PyDict_CheckExact(o->py) && o->src &&
        !standing_for(c, o->py))
        return jcv_live_getkey(c, jcv_to_host(c, o), i);
    if (o->kind == AV_DICT || (o->kind == AV_PY && PyDict_CheckExact(o->py))) {
        jcv_av *v = jcv_dict_get(c, o, i);
        if (!v)
            jcv_refuse(c, "a key that is not in the dict");
        return v;
    }
    if (o->kind == AV_SEQ && !o->slot)
        return jcv_seq_at(c, o, i);
    if (i->kind == AV_SCALAR && o->kind == AV_PY && o->src && !standing_for(c, o->py) &&
        (PyList_CheckExact(o->py) || PyTuple_CheckExact(o->py))) {
        jcv_av *x = jcv_pick_item(c, o, i);
        if (x)
            return x;
        o = jcv_to_host(c, o);
    }
    if (o->kind == AV_HOST && jcv_host_type(c, o) == &PyDict_Type)
        return jcv_live_getkey(c, o, i);
    if (o->kind == AV_HOST) {
        jcv_val *k = jcv_number(c, i);
        if (!k || k->type->kind != JANUS_KIND_INT)
            jcv_refuse(c, "an item of an object read while the graph runs");
        return jcv_host_item(c, o, k);
    }
    if (o->kind == AV_PY && jcv_is_const(o) && jcv_is_const(i))
        return jcv_take(c, PyObject_GetItem(o->py, i->py));
    if (o->kind == AV_PY && PyList_CheckExact(o->py) && i->kind == AV_PY && PyLong_Check(i->py) &&
        o->src && !standing_for(c, o->py)) {
        long k = jcv_long(c, i);
        if (k >= 0 && k < PyList_GET_SIZE(o->py)) /* nothing is assumed about the length */
            return jcv_wrap(c, PyList_GET_ITEM(o->py, k),
                            jpy_src_get(c->guards, JPY_SRC_ITEM, o->src, NULL, NULL, k));
    }
    bool sequence = o->kind == AV_TUPLE || o->kind == AV_LIST || o->kind == AV_RANGE ||
                    (o->kind == AV_PY && (PyList_CheckExact(o->py) || PyTuple_Check(o->py)));
    if (sequence && jcv_items(c, o, &items, &n)) {
        jcv_av t = {.items = items, .n = n};
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
    if (step != 1 || !jcv_items(c, v, &items, &m))
        jcv_refuse(c, "this way to write a part of a list");
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

/* A number that only the graph knows, as what it becomes in a tensor. */
static jcv_av *stored_number(jcv *c, jcv_av *o, jcv_av *v) {
    janus_dtype d = (janus_dtype)jcv_tensor_val(c, o->py)->type->dtype;
    janus_kind kind = (janus_kind)v->val->type->kind;
    bool fits = jn_dtype_is_float(d)      ? true
                : kind == JANUS_KIND_INT  ? d == JANUS_I64
                : kind == JANUS_KIND_BOOL ? d == JANUS_BOOL || d == JANUS_I64
                                          : false;
    if (!fits)
        jcv_refuse(c, "a number of the graph is written to a tensor of this dtype");
    janus_scalar_tensor_attrs attrs = {sizeof attrs, d};
    return jcv_proxy(c, &jcv_op(c, JN_OP(scalar_tensor), &v->val, 1, &attrs)->out[0], false);
}

void jcv_native_setitem(jcv *c, jcv_av *o, jcv_av *i, jcv_av *v) {
    if (o->kind == AV_TENSOR && v->kind == AV_SCALAR)
        v = stored_number(c, o, v);
    if (o->kind == AV_TENSOR && is_computed_view(i)) {
        static PyObject *copy_name;
        if (!copy_name)
            copy_name = PyUnicode_InternFromString("copy_");
        jcv_call1(c, jcv_getattr(c, jcv_getitem(c, o, i), copy_name), v);
        return;
    }
    if (o->kind == AV_TENSOR) {
        if (v->kind == AV_TENSOR)
            i = with_places(c, o, i);
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
    if (o->kind == AV_DICT || (o->kind == AV_PY && PyDict_CheckExact(o->py)) ||
        (o->kind == AV_HOST && jcv_host_type(c, o) == &PyDict_Type)) {
        jcv_dict_set(c, o, i, v);
        return;
    }
    if (o->kind == AV_HOST && jcv_host_type(c, o) == &PyList_Type) {
        jcv_live_setitem(c, o, i, v);
        return;
    }
    if (o->kind == AV_LIST && i->kind == AV_SCALAR && o->tree)
        jcv_make_live(c, o);
    if (o->kind == AV_LIST || (o->kind == AV_PY && PyList_CheckExact(o->py))) {
        jcv_av *l = to_abstract(c, o), *t = c->slots.data[l->slot];
        if (i->kind == AV_PY && PySlice_Check(i->py)) {
            set_slice(c, l, t, i, v);
            return;
        }
        if (i->kind != AV_PY || !PyLong_Check(i->py))
            jcv_refuse(c, "an item of a list is written at a computed place");
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
    jcv_refuse(c, "an item of %s is written", jcv_describe(o));
}

void jcv_native_delitem(jcv *c, jcv_av *o, jcv_av *i) {
    jcv_call_method(c, o, "__delitem__", &(jcv_args){.pos = &i, .n_pos = 1});
}
