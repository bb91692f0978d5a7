/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping patterns of match: over dicts that are known, and over objects of the graph. */
#include "pyfront/convert/calls/calls.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/syntax/match.h"
#include "pyfront/convert/values/values.h"

/* ---- tests --------------------------------------------------------------------------------------
 */

static jcv_av *value_at(jcv *c, const jcv_parts_of *x, unsigned i) {
    return x->of[i] ? x->of[i] : jcv_settled(c, jcv_getitem(c, x->o, x->cls->items[i]));
}

static jcv_av *mapping_part(jcv *c, void *user) {
    jcv_parts_of x = *(jcv_parts_of *)user;
    if (x.at == x.p->x.n)
        return jcv_bool(c, true);
    jcv_av *first = jcv_matches(c, x.p->y.v[x.at], value_at(c, &x, x.at));
    x.at++;
    return jcv_both(c, first, false, mapping_part, &x);
}

/* All keys are looked for before the first value is matched. */
static jcv_av *mapping_keys(jcv *c, void *user) {
    jcv_parts_of x = *(jcv_parts_of *)user;
    jcv_av *has = jcv_bool(c, true), *key;
    if (x.at == x.p->x.n) {
        x.at = 0;
        jcv_remember_match(c, x.p, x.o, x.of, NULL);
        return mapping_part(c, &x);
    }
    key = x.cls->items[x.at];
    if (x.o->kind == AV_HOST)
        has = jcv_compare(c, JPY_IN, key, x.o);
    else if (!(x.of[x.at] = jcv_dict_get(c, x.o, key)))
        return jcv_bool(c, false);
    else
        x.of[x.at] = jcv_settled(c, x.of[x.at]);
    x.at++;
    return jcv_both(c, has, false, mapping_keys, &x);
}

/* Keys are looked for by `get`, as CPython's are. */
static bool gets_as_dict(jcv *c, PyTypeObject *t) {
    PyObject *own = jcv_lookup_str(c, &PyDict_Type, "get");
    return PyType_IsSubtype(t, &PyDict_Type) && jcv_lookup_str(c, t, "get") == own &&
           t->tp_as_mapping->mp_length == PyDict_Type.tp_as_mapping->mp_length;
}

static jcv_av *of_mapping(jcv *c, void *user) {
    jcv_parts_of *x = user;
    if (!gets_as_dict(c, jcv_type_of(c, x->o)))
        jcv_refuse(c, "a mapping pattern over %s", jcv_describe(x->o));
    return mapping_keys(c, x);
}

static jcv_av *keys_of(jcv *c, const jpy_tree *p) {
    jcv_av **keys = jcv_alloc(c, (p->x.n + 1) * sizeof *keys);
    for (unsigned i = 0; i < p->x.n; i++) {
        keys[i] = jcv_eval(c, p->x.v[i]);
        if (!jcv_is_const(keys[i]))
            jcv_refuse(c, "%s as a key of a pattern", jcv_describe(keys[i]));
        for (unsigned k = 0; k < i; k++)
            if (jcv_same_key(c, keys[k], keys[i]))
                jcv_refuse(c, "a mapping pattern with a key twice");
    }
    return jcv_tuple(c, keys, p->x.n);
}

jcv_av *jcv_matches_mapping(jcv *c, jcv_parts_of *x) {
    static const unsigned long flag = Py_TPFLAGS_MAPPING;
    jcv_av *o = x->o, *is = jcv_bool(c, true);
    if (o->kind == AV_HOST) {
        is = jcv_scalar(c, jcv_host_is_one(c, o, jcv_has_flag, &flag));
    } else if (!jcv_is_dict(o)) {
        PyTypeObject *t = jcv_type_of(c, o);
        if (!t || jcv_has_flag(c, t, &flag))
            jcv_refuse(c, "a mapping pattern over %s", jcv_describe(o));
        return jcv_bool(c, false);
    }
    x->cls = keys_of(c, x->p);
    x->of = jcv_alloc(c, (x->p->x.n + 1) * sizeof *x->of);
    return jcv_both(c, is, false, of_mapping, x);
}

/* ---- names --------------------------------------------------------------------------------------
 */

/* `**rest`: a new dict without the keys of the pattern. */
static void bind_rest_of_mapping(jcv *c, const jpy_tree *p, jcv_av *o, const jcv_av *keys) {
    jcv_av *dict = jcv_py(c, (PyObject *)&PyDict_Type, NULL);
    jcv_av *rest = jcv_call(c, dict, &(jcv_args){.pos = &o, .n_pos = 1});
    for (unsigned i = 0; i < keys->n; i++)
        jcv_call_method(c, rest, "pop", &(jcv_args){.pos = &keys->items[i], .n_pos = 1});
    jcv_store(c, p->obj, rest);
}

void jcv_bind_mapping(jcv *c, const jpy_tree *p, jcv_av *o) {
    const jcv_matched *m = jcv_remembered_match(c, p, o, false);
    for (unsigned i = 0; i < p->x.n; i++)
        if (!m && p->x.v[i]->kind != JPY_CONST)
            jcv_refuse(c, "a mapping pattern with computed keys, which the graph decides");
    jcv_parts_of x = {.p = NULL, .o = o, .cls = keys_of(c, p)};
    x.of = m ? m->of : jcv_alloc(c, (p->x.n + 1) * sizeof *x.of);
    for (unsigned i = 0; i < p->x.n; i++)
        if (jcv_captures(p->y.v[i]))
            jcv_bind_match(c, p->y.v[i], value_at(c, &x, i));
    if (p->obj)
        bind_rest_of_mapping(c, p, o, x.cls);
}
