/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators and comparisons, as CPython's abstract.c, object.c (do_richcompare) and the slot
 * functions of typeobject.c order them.
 */
#include "pyfront/convert/model/model.h"

#include "pyfront/convert/heap/heap.h"

/* One operand of a binary operator. */
typedef struct operand {
    jcv_av *v;
    PyTypeObject *type; /* NULL: no class can derive from it */
    jcv_how how;
    PyObject *forward, *back; /* its methods, where they are Python's; or NULL */
} operand;

/* CPython calls one function for a method and its reflection: it is Python's where one of them is.
 */
static operand operand_of(jcv *c, jcv_av *a, int slot) {
    operand x = {.v = a};
    jcv_how forward = jcv_how_is(c, a, slot, JCV_METHOD, &x.forward);
    jcv_how back = jcv_how_is(c, a, slot, JCV_REFLECTED, &x.back);
    x.how = forward == JCV_PYTHON || back == JCV_PYTHON   ? JCV_PYTHON
            : forward == JCV_ABSENT && back == JCV_ABSENT ? JCV_ABSENT
                                                          : JCV_NATIVE;
    if (x.how == JCV_PYTHON)
        x.type = jcv_type_of(c, a);
    if (x.how == JCV_PYTHON && (forward == JCV_NATIVE || back == JCV_NATIVE))
        jcv_refuse(c, "an operator of %s, which is Python's on one side only", x.type->tp_name);
    return x;
}

/* What calling one method gives; NULL: it is not there, or declines. */
static jcv_av *maybe(jcv *c, jcv_av *self, PyObject *method, jcv_av *other) {
    jcv_av *r = method ? jcv_call_special(c, self, method, &other, 1) : NULL;
    return r && !jcv_declined(r) ? r : NULL;
}

/* Whether b's class has another reflected method than a's. */
static bool overridden(jcv *c, const operand *a, const operand *b) {
    if (!b->back || !a->back || a->back == b->back)
        return b->back && a->back != b->back;
    if (Py_TYPE(a->type) != &PyType_Type || Py_TYPE(b->type) != &PyType_Type ||
        !PyFunction_Check(a->back) || !PyFunction_Check(b->back))
        jcv_refuse(c, "two classes whose reflected methods cannot be compared");
    return true;
}

/* The function of a class made in Python, called with both operands, one of them its instance. */
static jcv_av *python_slot(jcv *c, const operand *a, const operand *b) {
    bool other = b->how == JCV_PYTHON && a->type != b->type;
    jcv_av *r;
    if (a->how == JCV_PYTHON) {
        if (other && PyType_IsSubtype(b->type, a->type) && overridden(c, a, b)) {
            r = maybe(c, b->v, b->back, a->v);
            if (r)
                return r;
            other = false;
        }
        r = maybe(c, a->v, a->forward, b->v);
        if (r || b->type == a->type)
            return r;
    }
    return other ? maybe(c, b->v, b->back, a->v) : NULL;
}

static jcv_av *operate(jcv *c, int op, operand *a, operand *b) {
    if (a->how == JCV_PYTHON && b->how == JCV_PYTHON)
        return python_slot(c, a, b);
    operand *python = a->how == JCV_PYTHON ? a : b, *native = python == a ? b : a;
    native->type = native->how == JCV_NATIVE ? jcv_type_of(c, native->v) : NULL;
    bool before = native == a && native->type && PyType_IsSubtype(b->type, native->type);
    if (python == a || before) {
        jcv_av *r = python_slot(c, a, b);
        if (r)
            return r;
    }
    if (native->how == JCV_NATIVE)
        c->native->decline(c, op, native->v, python->v, false);
    return python == a || before ? NULL : python_slot(c, a, b);
}

typedef struct operands {
    int op;
    jcv_av *a, *b;
    const jcv_av *which; /* of them is of two kinds */
} operands;

static jcv_av *binary_of(jcv *c, void *user, jcv_av *is) {
    const operands *x = user;
    return jcv_binary(c, x->op, x->a == x->which ? is : x->a, x->b == x->which ? is : x->b, false);
}

/* An operator on what is a number on some paths and a tensor, or another kind of number, on others.
 */
static jcv_av *binary_of_two_kinds(jcv *c, int op, jcv_av *a, jcv_av *b) {
    jcv_av *r = c->native->optional(c, op, a, b), *which = jcv_number_or(a) ? a : b;
    operands x = {op, a, b, which};
    return r ? r : jcv_each_way(c, which, binary_of, &x);
}

static jcv_av *unary_of(jcv *c, void *user, jcv_av *is) { return jcv_unary(c, *(int *)user, is); }

jcv_av *jcv_binary(jcv *c, int op, jcv_av *a, jcv_av *b, bool inplace) {
    int slot = JCV_S_ADD + op;
    a = jcv_operand(c, a);
    b = jcv_operand(c, b);
    inplace = inplace && !jcv_two_numbers(a) && !jcv_number_kind(a); /* numbers do not change */
    if (!inplace && (jcv_number_or(a) || jcv_number_or(b)))
        return binary_of_two_kinds(c, op, a, b);
    a = jcv_there(c, a);
    b = jcv_there(c, b);
    operand x = operand_of(c, a, slot), y = operand_of(c, b, slot);
    PyObject *method = NULL;
    jcv_how in_place = inplace ? jcv_how_is(c, a, slot, JCV_IN_PLACE, &method) : JCV_ABSENT;
    if (in_place == JCV_NATIVE && x.how == JCV_PYTHON) /* CPython's comes first: dict's |= */
        jcv_refuse(c, "this operator on %s in place", jcv_describe(a));
    if (in_place == JCV_PYTHON) {
        jcv_av *r = maybe(c, a, method, b);
        if (r)
            return r;
        inplace = false;
    }
    if (x.how != JCV_PYTHON && y.how != JCV_PYTHON)
        return c->native->binary(c, op, jcv_as_exact(c, a, slot), jcv_as_exact(c, b, slot),
                                 inplace);
    if (inplace && x.how != JCV_PYTHON)
        c->native->decline(c, op, a, b, true);
    jcv_av *r = operate(c, op, &x, &y);
    if (!r)
        jcv_refuse(c, "an operator on %s and %s", jcv_describe(a), jcv_describe(b));
    return r;
}

jcv_av *jcv_unary(jcv *c, int op, jcv_av *a) {
    static const int slots[] = {
        [JPY_U_NEG] = JCV_S_NEG, [JPY_U_POS] = JCV_S_POS, [JPY_U_INVERT] = JCV_S_INVERT};
    a = op == JPY_U_NOT ? a : jcv_operand(c, a);
    if (op != JPY_U_NOT && jcv_two_numbers(a))
        return jcv_each_way(c, a, unary_of, &op);
    a = op == JPY_U_NOT ? a : jcv_there(c, a);
    jcv_av *r = op == JPY_U_NOT ? NULL : jcv_special(c, a, slots[op], NULL, 0);
    return r ? r : c->native->unary(c, op, op == JPY_U_NOT ? a : jcv_as_exact(c, a, slots[op]));
}

/* ---- comparisons -------------------------------------------------------------------------------
 */

static int reflection(int op) {
    static const int of[] = {[JPY_EQ] = JPY_EQ, [JPY_NE] = JPY_NE, [JPY_LT] = JPY_GT,
                             [JPY_LE] = JPY_GE, [JPY_GT] = JPY_LT, [JPY_GE] = JPY_LE};
    return of[op];
}

/* Whether a comparison of `a` calls a method of Python: object's != asks ==. */
static bool compares_itself(jcv *c, int op, jcv_av *a) {
    jcv_how how = jcv_how_is(c, a, JCV_S_EQ + op, JCV_METHOD, NULL);
    return how == JCV_PYTHON || (op == JPY_NE && how == JCV_ABSENT &&
                                 jcv_how_is(c, a, JCV_S_EQ, JCV_METHOD, NULL) == JCV_PYTHON);
}

/* The comparison of a's class; NULL: it declines. */
static jcv_av *one_side(jcv *c, int op, jcv_av *a, jcv_av *b) {
    PyObject *method;
    switch (jcv_how_is(c, a, JCV_S_EQ + op, JCV_METHOD, &method)) {
    case JCV_PYTHON:
        return maybe(c, a, method, b);
    case JCV_NATIVE:
        c->native->decline(c, -1, a, b, false);
        return NULL;
    case JCV_ABSENT:
        break;
    }
    jcv_av *equal = op == JPY_NE ? one_side(c, JPY_EQ, a, b) : NULL;
    return equal ? jcv_unary(c, JPY_U_NOT, equal) : NULL;
}

static jcv_av *comparison_of(jcv *c, void *user, jcv_av *is) {
    const operands *x = user;
    return jcv_compare(c, x->op, x->a == x->which ? is : x->a, x->b == x->which ? is : x->b);
}

/* Whether it is a number of two kinds; or a number or None, where a comparison with None says
 * something. */
static bool of_two_kinds(int op, const jcv_av *a) {
    bool order = op == JPY_LT || op == JPY_LE || op == JPY_GT || op == JPY_GE;
    return jcv_two_numbers(a) ||
           (!order && a->kind == AV_MAYBE && a->self && jcv_number_kind(a->self));
}

jcv_av *jcv_compare(jcv *c, int op, jcv_av *a, jcv_av *b) {
    if (op != JPY_IS && op != JPY_IS_NOT) {
        bool in = op == JPY_IN || op == JPY_NOT_IN;
        bool order = !in && op != JPY_EQ && op != JPY_NE;
        a = jcv_found(c, a);
        b = jcv_found(c, b);
        if (order || (!in && b->kind != AV_HOST && !jcv_is_plain(b)))
            a = jcv_number_of(c, a);
        if (order || (!in && a->kind != AV_HOST && !jcv_is_plain(a)))
            b = jcv_number_of(c, b);
        operands x = {op, a, b, of_two_kinds(op, a) ? a : b};
        if (of_two_kinds(op, a) || (!in && of_two_kinds(op, b)))
            return jcv_each_way(c, x.which == a ? a : b, comparison_of, &x);
        a = jcv_there(c, a);
        b = jcv_there(c, b);
    }
    if (op == JPY_IN || op == JPY_NOT_IN) {
        jcv_av *r = jcv_contains(c, b, a);
        return op == JPY_IN ? r : jcv_unary(c, JPY_U_NOT, r);
    }
    if (op == JPY_IS || op == JPY_IS_NOT) {
        jcv_kind_decides(c, a);
        jcv_kind_decides(c, b);
        return c->native->compare(c, op, a, b);
    }
    if (!compares_itself(c, op, a) && !compares_itself(c, reflection(op), b))
        return c->native->compare(c, op, jcv_as_exact(c, a, JCV_S_EQ + op),
                                  jcv_as_exact(c, b, JCV_S_EQ + op));
    PyTypeObject *s = jcv_type_of(c, a), *t = jcv_type_of(c, b);
    bool before = s && t && s != t && PyType_IsSubtype(t, s);
    jcv_av *r = before ? one_side(c, reflection(op), b, a) : NULL;
    r = r ? r : one_side(c, op, a, b);
    r = r || before ? r : one_side(c, reflection(op), b, a);
    if (!r && op != JPY_EQ && op != JPY_NE)
        jcv_refuse(c, "a comparison of %s and %s", jcv_describe(a), jcv_describe(b));
    return r ? r : c->native->compare(c, op == JPY_EQ ? JPY_IS : JPY_IS_NOT, a, b);
}
