/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings, numbers and None that the graph reads: equality, membership, look-ups.
 *
 * For objects of these types `==` is what a dict does to find a key, so a comparison with constants
 * is a look-up in a dict of them (host.has), which the host strand makes without running any code
 * of the user.
 */
#include "pyfront/convert/heap/heap.h"

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/entry/entry.h"

static bool plain_type(PyTypeObject *t) {
    return t == &PyUnicode_Type || t == &PyLong_Type || t == &PyFloat_Type || t == &PyBool_Type ||
           t == &PyBytes_Type || t == Py_TYPE(Py_None);
}

bool jcv_is_plain(const jcv_av *a) {
    return a->kind == AV_PY && plain_type(Py_TYPE(a->py)) &&
           !(PyFloat_CheckExact(a->py) && PyFloat_AS_DOUBLE(a->py) != PyFloat_AS_DOUBLE(a->py));
}

bool jcv_host_plain(jcv *c, jcv_av *o) {
    PyObject *s = jcv_samples(c, o);
    if (!PyList_GET_SIZE(s))
        jcv_throw_now(c, THROW_DEAD);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(s); i++)
        if (!plain_type(Py_TYPE(PyList_GET_ITEM(s, i))))
            return false;
    jcv_host_one_of_seen(c, o);
    return true;
}

/* A dict with these keys, always the same one. */
static PyObject *dict_of(jcv *c, jcv_av *const *keys, unsigned n) {
    static PyObject *all; /* frozenset -> dict; kept: as many as there are such places */
    PyObject *set = jcv_own(c, PyFrozenSet_New(NULL)), *d;
    for (unsigned i = 0; i < n; i++)
        if (PySet_Add(set, keys[i]->py) < 0)
            jcv_refuse_py(c);
    if (!all)
        all = PyDict_New();
    if (!all)
        jcv_refuse_py(c);
    d = PyDict_GetItemWithError(all, set);
    if (d)
        return d;
    d = jcv_own(c, PyDict_New());
    for (unsigned i = 0; i < n; i++)
        if (PyDict_SetItem(d, keys[i]->py, Py_None) < 0)
            jcv_refuse_py(c);
    d = PyDict_SetDefault(all, set, d); /* another thread may have been first */
    if (!d)
        jcv_refuse_py(c);
    return d;
}

jcv_val *jcv_host_among(jcv *c, jcv_av *o, jcv_av *const *keys, unsigned n) {
    if (!n)
        return jcv_scalar_const(c, JANUS_KIND_BOOL, (janus_scalar){0});
    for (unsigned i = 0; i < n; i++)
        if (!jcv_is_plain(keys[i]))
            jcv_refuse(c, "a comparison of an object of the graph with %s", jcv_describe(keys[i]));
    if (!jcv_host_plain(c, o))
        jcv_refuse(c, "a comparison of %s with an object of the graph", jcv_describe(keys[0]));
    return jcv_plain_among(c, o, keys, n);
}

jcv_val *jcv_plain_among(jcv *c, jcv_av *o, jcv_av *const *keys, unsigned n) {
    jcv_val *in[2] = {jcv_object_const(c, dict_of(c, keys, n)), o->val};
    return &jcv_op(c, JN_OP(host_has), in, 2, NULL)->out[0];
}

jcv_val *jcv_same_text(jcv *c, jcv_av *a, jcv_av *b) {
    janus_host_new_attrs attrs = {sizeof attrs, JANUS_BIRTH_DICT, JPY_TAG_PLAIN};
    jcv_val *d = &jcv_op(c, JN_OP(host_new), NULL, 0, &attrs)->out[0];
    struct {
        size_t struct_size;
        int64_t tag;
    } plain = {sizeof plain, JPY_TAG_PLAIN};
    jcv_val *put[3] = {d, a->val, jcv_int_const(c, 0)};
    jcv_op(c, JN_OP(host_setkey), put, 3, &plain);
    jcv_val *in[2] = {d, b->val};
    return &jcv_op(c, JN_OP(host_has), in, 2, NULL)->out[0];
}

typedef struct getting {
    jcv_av *d, *key, *otherwise, *missing;
    bool sets;
    uint32_t slot;
} getting;

static jcv_out got(jcv *c, void *user, int arm) {
    getting *x = user;
    jcv_args args = {.pos = (jcv_av *[]){x->d, x->key}, .n_pos = 2};
    jcv_av *v = !arm         ? jcv_live_getkey(c, x->d, x->key)
                : x->missing ? jcv_call(c, x->missing, &args)
                             : x->otherwise;
    if (arm && x->sets)
        jcv_live_setkey(c, x->d, x->key, v);
    jcv_put(c, x->slot, v);
    return OUT_NORMAL;
}

static jcv_av *got_of(jcv *c, getting x) {
    x.slot = jcv_slot(c, jcv_none(c));
    jcv_branch(c, jcv_live_has(c, x.d, x.key), got, &x);
    jcv_av *v = c->slots.data[x.slot];
    jcv_needed(c, v);
    if (v->kind == AV_UNDEF)
        jcv_refuse(c, "get(): %s", v->text);
    return v;
}

/* Whether a dict holds no None: one that the function makes, whose contents are all known. */
static bool never_none(jcv *c, jcv_av *d) {
    PyObject *s = d->kind == AV_HOST ? jcv_samples(c, d) : NULL;
    for (Py_ssize_t i = 0; s && i < PyList_GET_SIZE(s); i++) {
        const jcv_live *l = jcv_live_object(c, PyList_GET_ITEM(s, i));
        PyObject *stored = l && l->site ? jcv_live_samples(c, (jcv_live *)l) : NULL;
        if (!stored)
            return false;
        for (Py_ssize_t k = 0; k < PyList_GET_SIZE(stored); k++)
            if (PyList_GET_ITEM(stored, k) == Py_None)
                return false;
    }
    return s && PyList_GET_SIZE(s);
}

jcv_av *jcv_plain_get(jcv *c, jcv_av *d, jcv_av *key, jcv_av *otherwise, bool sets) {
    if (otherwise->kind == AV_PY && otherwise->py == Py_None && !sets && never_none(c, d)) {
        jcv_av *epoch = jcv_take(c, PyLong_FromUnsignedLong(c->live_epoch));
        jcv_av *m = jcv_tuple(c, (jcv_av *[]){d, key, epoch}, 3);
        m->kind = AV_MAYBE;
        m->val = jcv_live_has(c, m->items[0], key);
        return m;
    }
    return got_of(c, (getting){jcv_to_host(c, d), key, otherwise, NULL, sets, 0});
}

jcv_av *jcv_get_or_ask(jcv *c, jcv_av *d, jcv_av *key, jcv_av *missing) {
    return got_of(c, (getting){d, key, NULL, missing, false, 0});
}

/* ---- choices ------------------------------------------------------------------------------------
 */
