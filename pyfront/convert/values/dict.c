/* SPDX-License-Identifier: Apache-2.0 */
/* Dicts: keys, which are found by their values, and what stands for the pairs of a real one. */
#include "pyfront/convert/values/values.h"

#include <math.h>
#include <string.h>

#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/native.h"

const char jcv_whole[JCV_WHOLE] = "all pairs";
const char jcv_cleared[] = "all pairs, of a dict that was cleared";

const char *jcv_whole_text(jcv *c, unsigned gone, unsigned put) {
    if (gone >= JCV_MOST_GONE || put >= JCV_MOST_PUT)
        jcv_refuse(c, "many keys are taken out of a dict and put in");
    return jcv_whole + gone * JCV_MOST_PUT + put;
}

/* An object that equals nothing but itself.  Members of an Enum hash by their names, in code of
 * CPython's own that asks nobody. */
static bool by_identity_only(jcv *c, const jcv_av *a) {
    PyTypeObject *t = a->kind == AV_PY ? Py_TYPE(a->py) : NULL;
    if (!t || t->tp_richcompare != PyBaseObject_Type.tp_richcompare)
        return false;
    return t->tp_hash == PyBaseObject_Type.tp_hash ||
           (!jcv_is_data(a) && jcv_hashes_as_enum(c, a->py));
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

/* A key as dicts look for it: by the value, where its class hashes and compares as CPython's own.
 */
static jcv_av *as_sought(jcv *c, jcv_av *key) {
    jcv_av *exact = jcv_as_exact(c, key, JCV_S_HASH);
    return exact == key || jcv_as_exact(c, key, JCV_S_EQ) == key ? key : exact;
}

/* Refuses what cannot be a key, or is hashed or compared by code of the user. */
static void check_key(jcv *c, jcv_av *key) {
    jcv_av **items;
    unsigned n;
    key = as_sought(c, key);
    if (key->kind == AV_PY && holds_nan(key->py))
        jcv_refuse(c, "nan as a key");
    jcv_not_frozen(c, key, "the identity");
    if (is_tuple(key) && !jcv_is_const(key) && jcv_native_items(c, key, &items, &n)) {
        for (unsigned i = 0; i < n; i++)
            check_key(c, items[i]);
        return;
    }
    if (jcv_is_const(key) ? !jcv_is_key(key) || PyObject_Hash(key->py) == -1
                          : key->kind != AV_TENSOR && key->kind != AV_SCALAR &&
                                key->kind != AV_HOST && !by_identity_only(c, key)) {
        PyErr_Clear();
        jcv_refuse(c, "%s as a key", jcv_describe(key));
    }
}

/* Whether two keys are one.  Of objects that are not, it is guarded. */
bool jcv_same_key(jcv *c, jcv_av *a, jcv_av *b) {
    if (jcv_av_equal(a, b))
        return true;
    a = as_sought(c, a);
    b = as_sought(c, b);
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
    jcv_kind_decides(c, key); /* a tensor is no number */
    check_key(c, key);
    for (unsigned i = 0; i + 1 < pairs->n; i += 2)
        if (jcv_same_key(c, pairs->items[i], key))
            return (int)i;
    return -1;
}

/* The key of a real dict that an abstract value stands for.  One that is found by what it is at the
 * call (`*by`) may be another object each time. */
static PyObject *real_key(jcv *c, jcv_av *key, jpy_src **by) {
    *by = NULL;
    if (key->kind == AV_PY && holds_nan(key->py))
        jcv_refuse(c, "nan as a key");
    if (jcv_is_const(key) && !jcv_is_key(key))
        jcv_refuse(c, "%s as a key", jcv_describe(key));
    if (jcv_is_const(key))
        return key->py;
    if (key->kind == AV_TENSOR && key->src) {
        *by = key->src;
        return jcv_rec_of(c, ((jpy_tensor *)key->py)->t)->proxy;
    }
    if (by_identity_only(c, key) && key->src) {
        *by = key->src->checks & JPY_CHECK_IDENT ? NULL : key->src;
        return key->py;
    }
    if (key->kind == AV_TUPLE) { /* of constants: no objects of the program, nor tensors */
        PyObject *o = jcv_const_object(c, key);
        if (o)
            return o;
    }
    jcv_refuse(c, "%s as a key", jcv_describe(key));
}

bool jcv_is_dict(const jcv_av *a) {
    return a->kind == AV_DICT || (a->kind == AV_PY && jpy_has_pairs(a->py));
}

jcv_av *jcv_host_getkey(jcv *c, jcv_av *d, jcv_av *key) {
    PyTypeObject *t = jcv_host_type(c, d);
    PyObject *method = t == &PyDict_Type ? NULL : jcv_lookup_str(c, t, "__missing__");
    if (!method)
        return jcv_live_getkey(c, d, key);
    if (Py_TYPE(method) != &PyMethodDescr_Type && !PyFunction_Check(method))
        jcv_refuse(c, "a %s as a special method", Py_TYPE(method)->tp_name);
    return jcv_get_or_ask(c, d, key, jcv_constant(c, method));
}

jcv_av *jcv_missing(jcv *c, jcv_av *d, jcv_av *key) {
    PyTypeObject *t = jcv_type_of(c, d);
    PyObject *method = t == &PyDict_Type ? NULL : jcv_lookup_str(c, t, "__missing__");
    if (!method)
        jcv_refuse(c, "a key that is not in the dict");
    d = d->kind == AV_DICT ? d->origin : d;
    if (Py_TYPE(method) != &PyMethodDescr_Type)
        return jcv_call_special(c, d, method, &key, 1);
    return jcv_call(c, jcv_constant(c, method),
                    &(jcv_args){.pos = (jcv_av *[]){d, key}, .n_pos = 2});
}

static jcv_av *real_get(jcv *c, jcv_av *d, jcv_av *key) {
    jpy_src *by;
    PyObject *k = real_key(c, key, &by);
    if (jpy_key_asks(d->py, k))
        jcv_refuse(c, "a dict whose keys are compared by code of the program");
    PyObject *v = PyDict_GetItemWithError(d->py, k);
    bool kept = key->kind == AV_TUPLE ||
                (jcv_is_const(key) && (jpy_by_value(k) || !Py_TYPE(k)->tp_weaklistoffset));
    if (by && !d->src)
        jcv_by_identity(c, k, by);
    jpy_src *s = !d->src ? NULL
                 : by    ? jpy_src_by_source(c->guards, d->src, by)
                 : kept  ? jpy_src_get(c->guards, JPY_SRC_KEY, d->src, NULL, k, 0)
                         : jpy_src_by_object(c->guards, d->src, k);
    if (d->src && !s)
        jcv_refuse(c, "%s as a key, which an entry would keep", jcv_describe(key));
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
        if (jcv_is_whole(pairs))
            t->text = jcv_whole_text(c, jcv_pairs_gone(pairs), jcv_pairs_put(pairs) + 1);
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
        return jcv_live_getkey(c, d, as_sought(c, key));
    key = as_sought(c, which_name(c, d, key));
    if (d->kind == AV_DICT && (key->kind == AV_SCALAR || key->kind == AV_HOST))
        jcv_make_live(c, d);
    if (d->kind == AV_PY) {
        jcv_av *x = jcv_standing_for(c, d->py);
        if (!x)
            return real_get(c, d, key);
        if (key->kind == AV_SCALAR || key->kind == AV_HOST)
            jcv_make_live(c, x);
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
    if (key->kind == AV_TEXT) /* the run finds out which it is */
        jcv_make_live(c, d);
    key = which_name(c, d, key);
    if ((d->kind == AV_DICT && d->slot < c->ctx->fn->first_slot) || key->kind == AV_SCALAR ||
        key->kind == AV_HOST || (c->ctx->fn->kind == JCV_FUNC && (d->kind == AV_PY || d->origin)))
        jcv_make_live(c, d);
    check_key(c, key);
    d = jcv_abstract(c, d);
    if (d->origin)
        jcv_wrote(c);
    put_pair(c, d, key, v);
}
