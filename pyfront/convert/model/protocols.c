/* SPDX-License-Identifier: Apache-2.0 */
/* Truth, length, iteration, membership and items. */
#include "pyfront/convert/model/model.h"

#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"

/* ---- length and truth -------------------------------------------------------------------------
 */

/* What __len__ returned, as len() gives it. */
static jcv_av *as_length(jcv *c, jcv_av *n) {
    if (n->kind == AV_PY && PyLong_Check(n->py)) {
        Py_ssize_t v = PyLong_AsSsize_t(n->py);
        if (v < 0)
            PyErr_Clear();
        else
            return jcv_take(c, PyLong_FromSsize_t(v));
    }
    if (n->kind != AV_SCALAR || n->val->type->kind != JANUS_KIND_INT)
        jcv_refuse(c, "%s as a length", jcv_describe(n));
    jcv_val *in[2] = {n->val, jcv_int_const(c, 0)};
    jcv_assert(c, &jcv_op(c, JN_OP(s_ge), in, 2, NULL)->out[0], "a length is not negative");
    return n;
}

jcv_av *jcv_length(jcv *c, jcv_av *a) {
    jcv_av *n = jcv_special(c, a, JCV_S_LEN, NULL, 0);
    return n ? as_length(c, n) : c->native->length(c, jcv_as_exact(c, a, JCV_S_LEN));
}

static jcv_val *truth_value(jcv *c, jcv_av *a) {
    jcv_val *v = NULL;
    int t = a ? c->native->truth(c, a, &v) : 0;
    return t < 0 ? v : jcv_scalar_const(c, JANUS_KIND_BOOL, (janus_scalar){.i = t});
}

/* Of a number of two kinds, or a number or None. */
static jcv_val *optional_truth(jcv *c, const jcv_av *a) {
    jcv_val *there[2] = {a->val, truth_value(c, a->self)};
    jcv_val *either = &jcv_op(c, JN_OP(s_and), there, 2, NULL)->out[0];
    if (!jcv_number_or(a))
        return either;
    jcv_val *other[2] = {&jcv_op(c, JN_OP(s_not), there, 1, NULL)->out[0],
                         truth_value(c, jcv_number_or(a))};
    jcv_val *any[2] = {either, &jcv_op(c, JN_OP(s_and), other, 2, NULL)->out[0]};
    return &jcv_op(c, JN_OP(s_or), any, 2, NULL)->out[0];
}

/* CPython asks for __bool__, and for __len__ where there is none. */
static jcv_av *as_truth(jcv *c, jcv_av *a) {
    bool sized = a->kind == AV_PY && PyUnicode_Check(a->py);
    jcv_av *exact = sized ? jcv_as_exact(c, a, JCV_S_LEN) : NULL;
    return exact == a ? a : jcv_as_exact(c, a, JCV_S_BOOL);
}

int jcv_truth(jcv *c, jcv_av *a, jcv_val **out) {
    PyObject *method;
    a = jcv_number_of(c, jcv_found(c, a));
    if (a->kind == AV_MAYBE && a->self && jcv_number_kind(a->self)) {
        *out = optional_truth(c, a);
        return -1;
    }
    a = jcv_there(c, a);
    jcv_how how = jcv_how_is(c, a, JCV_S_BOOL, JCV_METHOD, &method);
    jcv_av *r = NULL;
    if (how == JCV_PYTHON) {
        r = jcv_call_special(c, a, method, NULL, 0);
        if (!(r->kind == AV_PY && PyBool_Check(r->py)) &&
            !(r->kind == AV_SCALAR && r->val->type->kind == JANUS_KIND_BOOL))
            jcv_refuse(c, "%s as a truth", jcv_describe(r));
    } else if (how == JCV_ABSENT) {
        r = jcv_special(c, a, JCV_S_LEN, NULL, 0);
        r = r ? as_length(c, r) : NULL;
    }
    return c->native->truth(c, r ? r : as_truth(c, a), out);
}

/* ---- iteration ---------------------------------------------------------------------------------
 */

bool jcv_gives_next(jcv *c, jcv_av *a) {
    return jcv_how_is(c, a, JCV_S_NEXT, JCV_METHOD, NULL) == JCV_PYTHON;
}

jcv_av *jcv_iterator(jcv *c, jcv_av *a) {
    PyObject *method;
    jcv_how how = jcv_how_is(c, a, JCV_S_ITER, JCV_METHOD, &method);
    if (how == JCV_ABSENT && jcv_how_is(c, a, JCV_S_GETITEM, JCV_METHOD, NULL) == JCV_PYTHON)
        jcv_refuse(c, "iteration of %s by its items", jcv_describe(a));
    if (how != JCV_PYTHON)
        return NULL;
    jcv_av *it = jcv_call_special(c, a, method, NULL, 0);
    if (!((it->kind == AV_ITER || it->kind == AV_SEQ) && it->slot) && !jcv_gives_next(c, it))
        jcv_refuse(c, "%s as an iterator", jcv_describe(it));
    return it;
}

jcv_av *jcv_hinted(jcv *c, jcv_av *a) {
    jcv_av *it = jcv_iterator(c, a);
    if (jcv_how_is(c, a, JCV_S_LEN, JCV_METHOD, NULL) == JCV_PYTHON) {
        (void)jcv_length(c, a);
        return it ? it : a;
    }
    jcv_av *hint = jcv_special(c, a, JCV_S_LENGTH_HINT, NULL, 0);
    if (hint && !jcv_declined(hint))
        (void)as_length(c, hint);
    return it ? it : a;
}

bool jcv_items_of(jcv *c, jcv_av *a, jcv_av ***out, unsigned *n) {
    jcv_av *it = jcv_iterator(c, a);
    return c->native->items(c, it ? it : a, out, n);
}

jcv_av *jcv_contains(jcv *c, jcv_av *in, jcv_av *item) {
    PyObject *method;
    jcv_how how = jcv_how_is(c, in, JCV_S_CONTAINS, JCV_METHOD, &method);
    if (how == JCV_PYTHON) {
        jcv_val *v = NULL;
        int t = jcv_truth(c, jcv_call_special(c, in, method, &item, 1), &v);
        return t < 0 ? jcv_scalar(c, v) : jcv_bool(c, t);
    }
    jcv_av *it = how == JCV_ABSENT ? jcv_iterator(c, in) : NULL;
    jcv_av **items;
    unsigned n;
    if (!it)
        return c->native->contains(c, in, item);
    if (!c->native->items(c, it, &items, &n))
        jcv_refuse(c, "a membership test in %s", jcv_describe(in));
    return c->native->contains(c, jcv_tuple(c, items, n), item);
}

/* ---- items -------------------------------------------------------------------------------------
 */

/* Dicts look for their keys by their methods; what else is native takes the value of an int. */
static jcv_av *as_place(jcv *c, jcv_av *of, jcv_av *i) {
    PyTypeObject *t = of->kind == AV_TENSOR ? jpy.tensor_type : jcv_type_of(c, of);
    bool places = t == jpy.tensor_type || t == &PyList_Type || t == &PyTuple_Type ||
                  t == &PyUnicode_Type || t == &PyRange_Type;
    return places ? jcv_as_index(c, i) : i;
}

jcv_av *jcv_getitem(jcv *c, jcv_av *a, jcv_av *i) {
    a = jcv_there(c, a);
    i = jcv_there(c, i);
    jcv_av *r = jcv_special(c, a, JCV_S_GETITEM, &i, 1);
    return r ? r : c->native->getitem(c, a, as_place(c, a, i));
}

void jcv_setitem(jcv *c, jcv_av *o, jcv_av *i, jcv_av *v) {
    jcv_av *args[2] = {i, v};
    if (!jcv_special(c, o, JCV_S_SETITEM, args, 2))
        c->native->setitem(c, o, as_place(c, o, i), v);
}

void jcv_delitem(jcv *c, jcv_av *a, jcv_av *i) {
    if (!jcv_special(c, a, JCV_S_DELITEM, &i, 1))
        c->native->delitem(c, a, as_place(c, a, i));
}
