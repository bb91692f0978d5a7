/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match: patterns over known and over host objects.
 *
 * A pattern is first tested, without binding anything, as a condition that reads what is matched
 * only as far as the tests before have held; in the arm of a case its names are bound by reading
 * again.  So the samples of a node that come to an arm are those that match.  With a guard the
 * names are bound for it, too.
 */
#include "pyfront/convert/syntax/match.h"

#include "ops/op_ids.h"
#include "pyfront/convert/calls/calls.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/objects/objects.h"

/* ---- and, or ------------------------------------------------------------------------------------
 */

typedef struct test {
    jcv_test_fn fn;
    void *user;
    int decides; /* the arm in which the first test decides */
    uint32_t slot;
} test;

static jcv_out second(jcv *c, void *user, int arm) {
    test *x = user;
    jcv_av *v = arm == x->decides ? jcv_bool(c, arm == 0) : x->fn(c, x->user);
    jcv_val *g = NULL;
    int t = jcv_truth(c, v, &g);
    jcv_put(c, x->slot, t < 0 ? jcv_scalar(c, g) : jcv_bool(c, t));
    return OUT_NORMAL;
}

jcv_av *jcv_both(jcv *c, jcv_av *first, bool either, jcv_test_fn fn, void *user) {
    jcv_val *g = NULL;
    int t = jcv_truth(c, first, &g);
    if (t >= 0)
        return (t == 1) == either ? jcv_bool(c, t) : fn(c, user);
    test x = {fn, user, either ? 0 : 1, jcv_slot(c, jcv_none(c))};
    jcv_branch(c, g, second, &x);
    return c->slots.data[x.slot];
}

/* ---- parts --------------------------------------------------------------------------------------
 */

bool jcv_captures(const jpy_tree *p) {
    if (!p || p->kind != JPY_PATTERN)
        return false;
    bool any = (p->op == JPY_P_AS || p->op == JPY_P_STAR || p->op == JPY_P_MAPPING) && p->obj;
    any = any || jcv_captures(p->a);
    for (unsigned i = 0; i < p->x.n && !any; i++)
        any = jcv_captures(p->x.v[i]);
    for (unsigned i = 0; i < p->y.n && !any; i++)
        any = jcv_captures(p->y.v[i]);
    return any;
}

static jcv_av *number(jcv *c, long v) { return jcv_take(c, PyLong_FromLong(v)); }

jcv_av *jcv_call_named(jcv *c, const char *name, jcv_av *a, jcv_av *b) {
    PyObject *f = PyDict_GetItemString(PyEval_GetBuiltins(), name);
    jcv_av *pos[2] = {a, b};
    return jcv_call_builtin(c, jcv_py(c, f, NULL), &(jcv_args){.pos = pos, .n_pos = b ? 2 : 1});
}

/* Whether the one position of a class pattern is the object itself. */
static bool is_itself(const PyTypeObject *t) {
    static PyTypeObject *const itself[] = {&PyBool_Type,  &PyByteArray_Type, &PyBytes_Type,
                                           &PyDict_Type,  &PyFloat_Type,     &PyFrozenSet_Type,
                                           &PyLong_Type,  &PyList_Type,      &PySet_Type,
                                           &PyTuple_Type, &PyUnicode_Type,   NULL};
    for (int k = 0; itself[k]; k++)
        if (PyType_IsSubtype((PyTypeObject *)t, itself[k]))
            return true;
    return false;
}

/* Name of the attribute that sub-pattern i of a class pattern looks at; NULL: the object itself. */
static PyObject *attr_name(jcv *c, const jpy_tree *p, jcv_av *cls, unsigned i) {
    PyObject *name;
    if (i >= p->x.n) {
        name = PyList_GET_ITEM(p->obj, (Py_ssize_t)(i - p->x.n));
    } else {
        jcv_av *names =
            jcv_getattr_opt(c, cls, jcv_own(c, PyUnicode_InternFromString("__match_args__")));
        if (!names && p->x.n == 1 && is_itself((PyTypeObject *)cls->py))
            return NULL;
        PyObject *t = names ? jcv_const_object(c, names) : NULL;
        if (!t || !PyTuple_CheckExact(t) || (Py_ssize_t)p->x.n > PyTuple_GET_SIZE(t))
            jcv_refuse(c, "a class pattern with too many positions");
        name = PyTuple_GET_ITEM(t, (Py_ssize_t)i);
    }
    if (!PyUnicode_CheckExact(name))
        jcv_refuse(c, "a class pattern with odd names");
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    return jcv_own(c, name);
}

static jpy_tree *sub_pattern(const jpy_tree *p, unsigned i) {
    return i < p->x.n ? p->x.v[i] : p->y.v[i - p->x.n];
}

/* NULL: it has no such attribute. */
static jcv_av *part(jcv *c, const jpy_tree *p, jcv_av *o, jcv_av *cls, unsigned i) {
    PyObject *name = attr_name(c, p, cls, i);
    jcv_av *v = name ? jcv_getattr_opt(c, o, name) : o;
    return v ? jcv_settled(c, v) : NULL;
}

static jcv_av *class_of(jcv *c, jpy_tree *p) {
    jcv_av *cls = jcv_eval(c, p->a);
    if (cls->kind != AV_PY || !PyType_Check(cls->py))
        jcv_refuse(c, "a class pattern of %s", jcv_describe(cls));
    return cls;
}

static unsigned star_of(const jpy_tree *p) {
    unsigned i = 0;
    while (i < p->x.n && p->x.v[i]->op != JPY_P_STAR)
        i++;
    return i;
}

static jcv_av *item(jcv *c, const jpy_tree *p, jcv_av *o, unsigned i) {
    long at = i < star_of(p) ? (long)i : (long)i - (long)p->x.n;
    return jcv_settled(c, jcv_getitem(c, o, number(c, at)));
}

/* ---- tests --------------------------------------------------------------------------------------
 */

void jcv_remember_match(jcv *c, const jpy_tree *p, const jcv_av *o, jcv_av **of, jcv_av *fits) {
    jcv_matched *m = jcv_alloc(c, sizeof *m);
    *m = (jcv_matched){p, o, c->ctx, of, fits, c->matched};
    c->matched = m;
}

const jcv_matched *jcv_remembered_match(jcv *c, const jpy_tree *p, const jcv_av *o, bool fits) {
    const jcv_matched *m = c->matched;
    while (m && (m->p != p || m->o != o || (m->fits != NULL) != fits))
        m = m->next;
    for (const jcv_ctx *x = c->ctx; m && x; x = x->parent)
        if (x == m->ctx)
            return m;
    return NULL;
}

static jcv_av *part_again(jcv *c, const jpy_tree *p, jcv_av *o, jcv_av *cls, unsigned i) {
    const jcv_matched *m = jcv_remembered_match(c, p, o, false);
    if (m)
        return m->of[i];
    PyObject *name = attr_name(c, p, cls, i);
    PyTypeObject *t = name ? jcv_type_of(c, o) : NULL;
    PyObject *d = t ? jcv_lookup(c, t, name) : NULL;
    if (d && (Py_TYPE(d) == &PyProperty_Type ||
              (Py_TYPE(d)->tp_descr_get && (Py_TYPE(d)->tp_flags & Py_TPFLAGS_HEAPTYPE))))
        jcv_refuse(c, "a property that a pattern reads where the graph decides");
    return part(c, p, o, cls, i);
}

static jcv_av *class_part(jcv *c, void *user) {
    jcv_parts_of x = *(jcv_parts_of *)user;
    if (x.at == x.p->x.n + x.p->y.n)
        return jcv_bool(c, true);
    jcv_av *first = jcv_matches(c, sub_pattern(x.p, x.at), x.of[x.at]);
    x.at++;
    return jcv_both(c, first, false, class_part, &x);
}

/* All attributes are read before the first of them is matched. */
static jcv_av *class_parts(jcv *c, void *user) {
    jcv_parts_of x = *(jcv_parts_of *)user;
    unsigned n = x.p->x.n + x.p->y.n;
    PyObject *names = jcv_own(c, PyTuple_New(n));
    x.of = jcv_alloc(c, (n + 1) * sizeof(jcv_av *));
    for (unsigned i = 0; i < n; i++) {
        PyObject *name = attr_name(c, x.p, x.cls, i);
        for (unsigned k = 0; k < i && name; k++)
            if (PyTuple_GET_ITEM(names, k) == name)
                jcv_refuse(c, "a class pattern with an attribute twice");
        PyTuple_SET_ITEM(names, i, Py_NewRef(name ? name : Py_None));
        x.of[i] = part(c, x.p, x.o, x.cls, i);
        if (!x.of[i])
            return jcv_bool(c, false);
    }
    jcv_remember_match(c, x.p, x.o, x.of, NULL);
    return class_part(c, &x);
}

static jcv_av *sequence_parts(jcv *c, void *user) {
    jcv_parts_of x = *(jcv_parts_of *)user;
    if (x.at == x.p->x.n)
        return jcv_bool(c, true);
    jpy_tree *sub = x.p->x.v[x.at];
    jcv_av *first =
        sub->op == JPY_P_STAR ? jcv_bool(c, true) : jcv_matches(c, sub, item(c, x.p, x.o, x.at));
    x.at++;
    return jcv_both(c, first, false, sequence_parts, &x);
}

static jcv_av *sequence_length(jcv *c, void *user) {
    jcv_parts_of *x = user;
    bool star = star_of(x->p) < x->p->x.n;
    jcv_av *n = jcv_call_named(c, "len", x->o, NULL);
    jcv_av *fits = jcv_compare(c, star ? JPY_GE : JPY_EQ, n, number(c, (long)x->p->x.n - star));
    return jcv_both(c, fits, false, sequence_parts, x);
}

static jcv_av *sequence(jcv *c, jcv_parts_of *x) {
    static const unsigned long flag = Py_TPFLAGS_SEQUENCE;
    jcv_av *o = x->o, *is = jcv_bool(c, true);
    jcv_kind_decides(c, o);
    if (o->kind == AV_HOST) {
        is = jcv_scalar(c, jcv_host_is_one(c, o, jcv_has_flag, &flag));
    } else if (o->kind == AV_PY && !PyList_CheckExact(o->py) && !PyTuple_Check(o->py)) {
        if (jcv_has_flag(c, Py_TYPE(o->py), &flag))
            jcv_refuse(c, "a sequence pattern over %s", jcv_describe(o));
        return jcv_bool(c, false);
    } else if (o->kind == AV_TENSOR || o->kind == AV_SCALAR || o->kind == AV_DICT) {
        return jcv_bool(c, false);
    } else if ((o->kind != AV_PY && o->kind != AV_TUPLE && o->kind != AV_LIST) ||
               jcv_own_items(c, o)) { /* by place or one after the other, as the pattern is */
        jcv_refuse(c, "a sequence pattern over %s", jcv_describe(o));
    }
    return jcv_both(c, is, false, sequence_length, x);
}

typedef struct others {
    jpy_tree *p;
    jcv_av *o;
    unsigned at;
} others;

static jcv_av *alternatives(jcv *c, void *user) {
    others x = *(others *)user;
    jcv_av *first = jcv_matches(c, x.p->x.v[x.at], x.o);
    jcv_remember_match(c, x.p->x.v[x.at], x.o, NULL, first);
    if (++x.at == x.p->x.n)
        return first;
    return jcv_both(c, first, true, alternatives, &x);
}

static bool is_container(const jcv_av *o) {
    return o->kind == AV_TUPLE || o->kind == AV_LIST || o->kind == AV_DICT ||
           (o->kind == AV_PY &&
            (PyList_CheckExact(o->py) || PyTuple_CheckExact(o->py) || PyDict_CheckExact(o->py)));
}

static jcv_av *value(jcv *c, jcv_av *o, jcv_av *v) {
    if (is_container(o) && jcv_is_plain(v))
        return jcv_bool(c, false);
    return jcv_compare(c, JPY_EQ, o, v);
}

jcv_av *jcv_matches(jcv *c, jpy_tree *p, jcv_av *o) {
    c->at = p->line ? p : c->at;
    o = jcv_settled(c, o);
    jcv_parts_of x = {.p = p, .o = o};
    switch (p->op) {
    case JPY_P_VALUE:
        return value(c, o, jcv_eval(c, p->a));
    case JPY_P_SINGLETON:
        return jcv_compare(c, JPY_IS, o, jcv_py(c, p->obj, NULL));
    case JPY_P_AS:
        return p->a ? jcv_matches(c, p->a, o) : jcv_bool(c, true);
    case JPY_P_OR:
        return alternatives(c, &(others){p, o, 0});
    case JPY_P_CLASS:
        x.cls = class_of(c, p);
        return jcv_both(c, jcv_call_named(c, "isinstance", o, x.cls), false, class_parts, &x);
    case JPY_P_SEQUENCE:
        return sequence(c, &x);
    case JPY_P_MAPPING:
        return jcv_matches_mapping(c, &x);
    default:
        jcv_refuse(c, "this pattern is not converted");
    }
}

/* ---- names --------------------------------------------------------------------------------------
 */

static void bind_alternative(jcv *c, others *x);

static jcv_out bind_arm(jcv *c, void *user, int arm) {
    others x = *(others *)user;
    x.at += (unsigned)arm;
    if (arm)
        bind_alternative(c, &x);
    else
        jcv_bind_match(c, x.p->x.v[x.at], x.o);
    return OUT_NORMAL;
}

static void bind_alternative(jcv *c, others *x) {
    jcv_val *g = NULL;
    bool last = x->at + 1 == x->p->x.n;
    const jcv_matched *m = last ? NULL : jcv_remembered_match(c, x->p->x.v[x->at], x->o, true);
    if (!last && !m)
        jcv_refuse(c, "alternatives of a pattern that the graph decides");
    int t = last ? 1 : jcv_truth(c, m->fits, &g);
    if (t < 0)
        jcv_branch(c, g, bind_arm, x);
    else
        bind_arm(c, x, !t);
}

static void bind_rest_of_list(jcv *c, const jpy_tree *p, jcv_av *o, unsigned i) {
    jcv_av **items;
    unsigned n, after = p->x.n - i - 1;
    if (!p->x.v[i]->obj)
        return;
    if (o->kind == AV_HOST || !jcv_items(c, o, &items, &n))
        jcv_refuse(c, "the rest of %s in a pattern", jcv_describe(o));
    jcv_store(c, p->x.v[i]->obj, jcv_list(c, items + i, n - i - after));
}

void jcv_bind_match(jcv *c, jpy_tree *p, jcv_av *o) {
    if (!jcv_captures(p))
        return;
    o = jcv_settled(c, o);
    if (p->op == JPY_P_AS) {
        if (p->a)
            jcv_bind_match(c, p->a, o);
        if (p->obj)
            jcv_store(c, p->obj, o);
    } else if (p->op == JPY_P_OR) {
        bind_alternative(c, &(others){p, o, 0});
    } else if (p->op == JPY_P_CLASS) {
        jcv_av *cls = class_of(c, p);
        for (unsigned i = 0; i < p->x.n + p->y.n; i++)
            if (jcv_captures(sub_pattern(p, i))) {
                jcv_av *v = part_again(c, p, o, cls, i);
                if (!v)
                    jcv_refuse(c, "an attribute that a pattern has found is missing");
                jcv_bind_match(c, sub_pattern(p, i), v);
            }
    } else if (p->op == JPY_P_MAPPING) {
        jcv_bind_mapping(c, p, o);
    } else {
        for (unsigned i = 0; i < p->x.n; i++)
            if (p->x.v[i]->op == JPY_P_STAR)
                bind_rest_of_list(c, p, o, i);
            else if (jcv_captures(p->x.v[i]))
                jcv_bind_match(c, p->x.v[i], item(c, p, o, i));
    }
}

/* ---- the statement ------------------------------------------------------------------------------
 */

typedef struct cases {
    jpy_tree *n;
    jcv_av *o;
    unsigned at;
} cases;

static jcv_av *guard(jcv *c, void *user) {
    cases *x = user;
    jcv_bind_match(c, x->n->x.v[x->at]->a, x->o);
    jcv_val *v = NULL;
    int t = jcv_test(c, x->n->x.v[x->at]->b, &v);
    return t >= 0 ? jcv_bool(c, t) : jcv_scalar(c, v);
}

static jcv_out from_case(jcv *c, cases *x);

static jcv_out case_arm(jcv *c, void *user, int arm) {
    cases x = *(cases *)user;
    x.at += (unsigned)arm;
    if (arm)
        return from_case(c, &x);
    jpy_tree *k = x.n->x.v[x.at];
    jcv_bind_match(c, k->a, x.o);
    return jcv_exec(c, &k->x);
}

static jcv_out from_case(jcv *c, cases *x) {
    for (; x->at < x->n->x.n; x->at++) {
        jpy_tree *k = x->n->x.v[x->at];
        jcv_av *fits = jcv_matches(c, k->a, x->o);
        if (k->b)
            fits = jcv_both(c, fits, false, guard, x);
        jcv_val *g = NULL;
        int t = jcv_truth(c, fits, &g);
        if (t > 0)
            return case_arm(c, x, 0);
        if (t < 0 && jcv_list_leaves(&x->n->x))
            return jcv_branch_with_rest(c, g, case_arm, x);
        if (t < 0)
            return jcv_branch(c, g, case_arm, x);
    }
    return OUT_NORMAL;
}

jcv_out jcv_exec_match(jcv *c, jpy_tree *n) {
    return from_case(c, &(cases){n, jcv_eval(c, n->a), 0});
}
