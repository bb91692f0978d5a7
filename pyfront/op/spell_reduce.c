/* SPDX-License-Identifier: Apache-2.0 */
/* Spellings of reductions, softmax and sorting: dim meaning one dim or several or all, keepdim. */
#include "config.h"

#include "pyfront/op/spell.h"

#include <math.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"

/* input, dim, keepdim, dtype: the struct has dims and keepdim first. */
static int reduce(jpy_bound *b, const jn_op *op, PyObject *const *a) {
    if (jpy_use(b, op, a, 1) < 0)
        return -1;
    janus_sum_attrs *s = ATTRS(janus_sum_attrs);
    int on = a[2] ? PyObject_IsTrue(a[2]) : 0;
    if (on < 0 || jpy_ints_arg(b, a[1], &s->dims) < 0)
        return -1;
    s->keepdim = on;
    return 0;
}
int jpy_bind_sum(jpy_bound *b, PyObject *const *a) {
    return jpy_take_dtype(b, a[3]) < 0 ? -1 : reduce(b, JN_OP(sum), a);
}
int jpy_bind_mean(jpy_bound *b, PyObject *const *a) {
    return jpy_take_dtype(b, a[3]) < 0 ? -1 : reduce(b, JN_OP(mean), a);
}
int jpy_bind_prod(jpy_bound *b, PyObject *const *a) {
    return jpy_take_dtype(b, a[3]) < 0 ? -1 : reduce(b, JN_OP(prod), a);
}
/* Of no dims at all: whether each element is true. */
static int truth(jpy_bound *b, const jn_op *op, PyObject *const *a) {
    if (!a[1] || !(PyTuple_Check(a[1]) || PyList_Check(a[1])) || PyObject_Size(a[1]))
        return reduce(b, op, a);
    if (jpy_use(b, JN_OP(cast), a, 1) < 0)
        return -1;
    ATTRS(janus_cast_attrs)->dtype = JANUS_BOOL;
    return 0;
}
int jpy_bind_any(jpy_bound *b, PyObject *const *a) { return truth(b, JN_OP(any), a); }
int jpy_bind_all(jpy_bound *b, PyObject *const *a) { return truth(b, JN_OP(all), a); }
int jpy_bind_amax(jpy_bound *b, PyObject *const *a) { return reduce(b, JN_OP(max), a); }
int jpy_bind_amin(jpy_bound *b, PyObject *const *a) { return reduce(b, JN_OP(min), a); }
int jpy_bind_logsumexp(jpy_bound *b, PyObject *const *a) { return reduce(b, JN_OP(logsumexp), a); }

/* input, dim or other, keepdim */
static int extreme(jpy_bound *b, PyObject *const *a, const jn_op *all, const jn_op *along,
                   const jn_op *pairwise) {
    if (!a[1])
        return reduce(b, all, a);
    jn_type t;
    if (jpy_tensor_check(a[1]) || (b->type_of && b->type_of(b->ctx, a[1], &t)))
        return jpy_use(b, pairwise, a, 2);
    if (jpy_use(b, along, a, 1) < 0)
        return -1;
    janus_max_dim_attrs *s = ATTRS(janus_max_dim_attrs);
    int on = a[2] ? PyObject_IsTrue(a[2]) : 0;
    s->keepdim = on;
    b->result = JPY_RESULT_PAIR;
    return on < 0 || jpy_int_arg(a[1], &s->axis) < 0 ? -1 : 0;
}
int jpy_bind_max(jpy_bound *b, PyObject *const *a) {
    return extreme(b, a, JN_OP(max), JN_OP(max_dim), JN_OP(maximum));
}
int jpy_bind_min(jpy_bound *b, PyObject *const *a) {
    return extreme(b, a, JN_OP(min), JN_OP(min_dim), JN_OP(minimum));
}

static int arg_extreme(jpy_bound *b, PyObject *const *a, const jn_op *op) {
    if (jpy_use(b, op, a, 1) < 0)
        return -1;
    janus_argmax_attrs *s = ATTRS(janus_argmax_attrs);
    s->all = a[1] == NULL;
    int on = a[2] ? PyObject_IsTrue(a[2]) : 0;
    s->keepdim = on;
    return on < 0 || jpy_int_arg(a[1], &s->axis) < 0 ? -1 : 0;
}
int jpy_bind_argmax(jpy_bound *b, PyObject *const *a) { return arg_extreme(b, a, JN_OP(argmax)); }
int jpy_bind_argmin(jpy_bound *b, PyObject *const *a) { return arg_extreme(b, a, JN_OP(argmin)); }

/* input, dim, unbiased, keepdim, correction */
int jpy_bind_var(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(var), a, 1) < 0)
        return -1;
    janus_var_attrs *s = ATTRS(janus_var_attrs);
    PyObject *dim = a[1], *unbiased = a[2];
    if (dim && PyBool_Check(dim)) {
        unbiased = dim;
        dim = NULL;
    }
    int keep = a[3] ? PyObject_IsTrue(a[3]) : 0;
    int on = unbiased ? PyObject_IsTrue(unbiased) : 1;
    s->correction = on;
    s->keepdim = keep;
    if (on < 0 || keep < 0 || jpy_int_arg(a[4], &s->correction) < 0)
        return -1;
    return jpy_ints_arg(b, dim, &s->dims) < 0 ? -1 : 0;
}

/* input, p, dim, keepdim */
/* The largest and smallest of nothing are no numbers. */
static int norm_of_nothing(jpy_bound *b, PyObject *o, const janus_norm_attrs *s) {
    jn_type t;
    if (jpy_type_of(b, o, &t) < 0)
        return -1;
    bool empty = false;
    for (int i = 0; s->dims.n == 0 && i < t.rank; i++)
        empty = empty || t.dims[i] == 0;
    for (size_t k = 0; k < s->dims.n; k++) {
        int64_t i = s->dims.data[k] + (s->dims.data[k] < 0 ? t.rank : 0);
        empty = empty || (i >= 0 && i < t.rank && t.dims[i] == 0);
    }
    if (empty)
        PyErr_Format(
            PyExc_RuntimeError,
            "norm(): cannot compute a negative or infinite norm of an empty tensor because "
            "the operation does not have an identity");
    return empty ? -1 : 0;
}

int jpy_bind_norm(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(norm), a, 1) < 0)
        return -1;
    janus_norm_attrs *s = ATTRS(janus_norm_attrs);
    if (a[1] && PyUnicode_Check(a[1])) {
        if (PyUnicode_CompareWithASCIIString(a[1], "fro") != 0) {
            PyErr_Format(PyExc_ValueError, "norm(): unknown p %R", a[1]);
            return -1;
        }
    } else if (a[1]) {
        s->p = PyFloat_AsDouble(a[1]);
        if (s->p == -1.0 && PyErr_Occurred())
            return -1;
    }
    int keep = a[3] ? PyObject_IsTrue(a[3]) : 0;
    s->keepdim = keep;
    if (keep < 0 || jpy_ints_arg(b, a[2], &s->dims) < 0)
        return -1;
    return s->p < 0 || isinf(s->p) ? norm_of_nothing(b, a[0], s) : 0;
}

/* One dim, which must be given. */
static int one_dim(PyObject *o, int64_t *axis) {
    int given = jpy_int_arg(o, axis);
    if (given == 0)
        PyErr_SetString(PyExc_TypeError, "argument 'dim' (position 2) must be int, not None");
    return given > 0 ? 0 : -1;
}

/* ops whose second parameter is one dim: softmax(input, dim, dtype) */
int jpy_bind_softmax(jpy_bound *b, PyObject *const *a) {
    if (jpy_take_dtype(b, a[2]) < 0 || jpy_use(b, JN_OP(softmax), a, 1) < 0)
        return -1;
    return one_dim(a[1], &ATTRS(janus_softmax_attrs)->axis);
}
int jpy_bind_log_softmax(jpy_bound *b, PyObject *const *a) {
    if (jpy_take_dtype(b, a[2]) < 0 || jpy_use(b, JN_OP(log_softmax), a, 1) < 0)
        return -1;
    return one_dim(a[1], &ATTRS(janus_log_softmax_attrs)->axis);
}
int jpy_bind_cumsum(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(cumsum), a, 1) < 0)
        return -1;
    return one_dim(a[1], &ATTRS(janus_cumsum_attrs)->axis);
}

/* input, dim, descending, stable: it always is */
static int in_order(PyObject *const *a, int64_t *axis, int64_t *descending) {
    int on = a[2] ? PyObject_IsTrue(a[2]) : 0;
    *descending = on > 0;
    return on < 0 || jpy_int_arg(a[1], axis) < 0 ? -1 : 0;
}
int jpy_bind_sort(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(sort), a, 1) < 0)
        return -1;
    b->result = JPY_RESULT_PAIR;
    janus_sort_attrs *s = ATTRS(janus_sort_attrs);
    return in_order(a, &s->axis, &s->descending);
}
int jpy_bind_argsort(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(argsort), a, 1) < 0)
        return -1;
    janus_argsort_attrs *s = ATTRS(janus_argsort_attrs);
    return in_order(a, &s->axis, &s->descending);
}
/* input, k, dim, largest, sorted */
int jpy_bind_topk(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(topk), a, 1) < 0)
        return -1;
    janus_topk_attrs *s = ATTRS(janus_topk_attrs);
    int on = a[3] ? PyObject_IsTrue(a[3]) : 1;
    s->largest = on;
    b->result = JPY_RESULT_PAIR;
    return on < 0 || jpy_int_arg(a[1], &s->k) < 0 || jpy_int_arg(a[2], &s->axis) < 0 ? -1 : 0;
}
