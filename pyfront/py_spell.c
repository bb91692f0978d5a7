/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's spellings of ops whose parameters differ from their rows: shapes given one by one, dim
 * meaning one dim or several or all, alpha, reduction names.  Each binder chooses a row and fills
 * its attributes.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/py_device.h"
#include "pyfront/py_op.h"

#define ATTRS(type) ((type *)(void *)b->attrs)

static int use(jpy_bound *b, const jn_op *op, PyObject *const *a, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        b->in[i] = (jpy_operand){.o = a[i]};
    b->n_in = n;
    return jpy_bound_op(b, op);
}

static int type_of(jpy_bound *b, PyObject *o, jn_type *out) {
    if (jpy_tensor_check(o)) {
        *out = jn_tensor_as_type(((jpy_tensor *)o)->t);
        return 0;
    }
    if (b->type_of && b->type_of(b->ctx, o, out))
        return 0;
    PyErr_Format(PyExc_TypeError, "expected a Tensor, not %s", Py_TYPE(o)->tp_name);
    return -1;
}

static int take_dtype(jpy_bound *b, PyObject *o) {
    janus_dtype d;
    int rc = jpy_dtype_parse(o, &d);
    if (rc > 0)
        b->cast_first = d;
    return rc < 0 ? -1 : 0;
}

/* ---- reductions
 * -------------------------------------------------------------------------------------- */

/* input, dim, keepdim, dtype: the struct has dims and keepdim first. */
static int reduce(jpy_bound *b, const jn_op *op, PyObject *const *a) {
    if (use(b, op, a, 1) < 0)
        return -1;
    janus_sum_attrs *s = ATTRS(janus_sum_attrs);
    int on = a[2] ? PyObject_IsTrue(a[2]) : 0;
    if (on < 0 || jpy_ints_arg(b, a[1], &s->dims) < 0)
        return -1;
    s->keepdim = on;
    return 0;
}
static int bind_sum(jpy_bound *b, PyObject *const *a) {
    return take_dtype(b, a[3]) < 0 ? -1 : reduce(b, JN_OP(sum), a);
}
static int bind_mean(jpy_bound *b, PyObject *const *a) {
    return take_dtype(b, a[3]) < 0 ? -1 : reduce(b, JN_OP(mean), a);
}
static int bind_prod(jpy_bound *b, PyObject *const *a) {
    return take_dtype(b, a[3]) < 0 ? -1 : reduce(b, JN_OP(prod), a);
}
static int bind_any(jpy_bound *b, PyObject *const *a) { return reduce(b, JN_OP(any), a); }
static int bind_all(jpy_bound *b, PyObject *const *a) { return reduce(b, JN_OP(all), a); }
static int bind_amax(jpy_bound *b, PyObject *const *a) { return reduce(b, JN_OP(max), a); }
static int bind_amin(jpy_bound *b, PyObject *const *a) { return reduce(b, JN_OP(min), a); }
static int bind_logsumexp(jpy_bound *b, PyObject *const *a) {
    return reduce(b, JN_OP(logsumexp), a);
}

/* input, dim or other, keepdim */
static int extreme(jpy_bound *b, PyObject *const *a, const jn_op *all, const jn_op *along,
                   const jn_op *pairwise) {
    if (!a[1])
        return reduce(b, all, a);
    jn_type t;
    if (jpy_tensor_check(a[1]) || (b->type_of && b->type_of(b->ctx, a[1], &t)))
        return use(b, pairwise, a, 2);
    if (use(b, along, a, 1) < 0)
        return -1;
    janus_max_dim_attrs *s = ATTRS(janus_max_dim_attrs);
    int on = a[2] ? PyObject_IsTrue(a[2]) : 0;
    s->keepdim = on;
    b->result = JPY_RESULT_PAIR;
    return on < 0 || jpy_int_arg(a[1], &s->axis) < 0 ? -1 : 0;
}
static int bind_max(jpy_bound *b, PyObject *const *a) {
    return extreme(b, a, JN_OP(max), JN_OP(max_dim), JN_OP(maximum));
}
static int bind_min(jpy_bound *b, PyObject *const *a) {
    return extreme(b, a, JN_OP(min), JN_OP(min_dim), JN_OP(minimum));
}

static int arg_extreme(jpy_bound *b, PyObject *const *a, const jn_op *op) {
    if (use(b, op, a, 1) < 0)
        return -1;
    janus_argmax_attrs *s = ATTRS(janus_argmax_attrs);
    s->all = a[1] == NULL;
    int on = a[2] ? PyObject_IsTrue(a[2]) : 0;
    s->keepdim = on;
    return on < 0 || jpy_int_arg(a[1], &s->axis) < 0 ? -1 : 0;
}
static int bind_argmax(jpy_bound *b, PyObject *const *a) {
    return arg_extreme(b, a, JN_OP(argmax));
}
static int bind_argmin(jpy_bound *b, PyObject *const *a) {
    return arg_extreme(b, a, JN_OP(argmin));
}

/* input, dim, unbiased, keepdim, correction */
static int bind_var(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(var), a, 1) < 0)
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
static int bind_norm(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(norm), a, 1) < 0)
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
    return keep < 0 || jpy_ints_arg(b, a[2], &s->dims) < 0 ? -1 : 0;
}

/* ops whose second parameter is one dim: softmax(input, dim, dtype) */
static int bind_softmax(jpy_bound *b, PyObject *const *a) {
    if (take_dtype(b, a[2]) < 0 || use(b, JN_OP(softmax), a, 1) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_softmax_attrs)->axis) < 0 ? -1 : 0;
}
static int bind_log_softmax(jpy_bound *b, PyObject *const *a) {
    if (take_dtype(b, a[2]) < 0 || use(b, JN_OP(log_softmax), a, 1) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_log_softmax_attrs)->axis) < 0 ? -1 : 0;
}
static int bind_cumsum(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(cumsum), a, 1) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_cumsum_attrs)->axis) < 0 ? -1 : 0;
}

/* input, dim, descending */
static int bind_sort(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(sort), a, 1) < 0)
        return -1;
    janus_sort_attrs *s = ATTRS(janus_sort_attrs);
    int on = a[2] ? PyObject_IsTrue(a[2]) : 0;
    s->descending = on;
    b->result = JPY_RESULT_PAIR;
    return on < 0 || jpy_int_arg(a[1], &s->axis) < 0 ? -1 : 0;
}
/* input, k, dim, largest, sorted */
static int bind_topk(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(topk), a, 1) < 0)
        return -1;
    janus_topk_attrs *s = ATTRS(janus_topk_attrs);
    int on = a[3] ? PyObject_IsTrue(a[3]) : 1;
    s->largest = on;
    b->result = JPY_RESULT_PAIR;
    return on < 0 || jpy_int_arg(a[1], &s->k) < 0 || jpy_int_arg(a[2], &s->axis) < 0 ? -1 : 0;
}

/* ---- shapes
 * ------------------------------------------------------------------------------------------- */

static int bind_reshape(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(reshape), a, 1) < 0)
        return -1;
    return jpy_ints_arg(b, a[1], &ATTRS(janus_reshape_attrs)->shape) < 0 ? -1 : 0;
}
static int bind_view(jpy_bound *b, PyObject *const *a) {
    if (bind_reshape(b, a) < 0)
        return -1;
    if (!jpy_tensor_check(a[0]))
        return 0;
    janus_tensor *t = ((jpy_tensor *)a[0])->t;
    if (t->contiguous)
        return 0;
    /* Only what needs no copy: two adjacent dims that do not follow each other must not be merged.
     */
    janus_ints shape = ATTRS(janus_reshape_attrs)->shape;
    jn_eager_arg arg = {.kind = JANUS_KIND_TENSOR, .t = t};
    janus_tensor *y;
    janus_reshape_attrs attrs = *ATTRS(janus_reshape_attrs);
    attrs.shape = shape;
    if (jpy_check(jn_eager(JN_OP(reshape), &arg, 1, &attrs, &y, 1)) < 0)
        return -1;
    bool shares = y->storage == t->storage;
    janus_tensor_release(y);
    if (!shares)
        PyErr_SetString(PyExc_RuntimeError,
                        "view size is not compatible with input tensor's size and stride (at least "
                        "one dimension spans across two contiguous subspaces). Use .reshape(...) "
                        "instead.");
    return shares ? 0 : -1;
}
static int bind_view_as(jpy_bound *b, PyObject *const *a) {
    return use(b, JN_OP(reshape_like), a, 2);
}
static int bind_expand_as(jpy_bound *b, PyObject *const *a) {
    return use(b, JN_OP(expand_like), a, 2);
}
static int bind_permute(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(permute), a, 1) < 0)
        return -1;
    return jpy_ints_arg(b, a[1], &ATTRS(janus_permute_attrs)->dims) < 0 ? -1 : 0;
}
static int bind_expand(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(expand), a, 1) < 0)
        return -1;
    return jpy_ints_arg(b, a[1], &ATTRS(janus_expand_attrs)->shape) < 0 ? -1 : 0;
}
static int bind_repeat(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(repeat), a, 1) < 0)
        return -1;
    return jpy_ints_arg(b, a[1], &ATTRS(janus_repeat_attrs)->repeats) < 0 ? -1 : 0;
}
static int bind_flip(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(flip), a, 1) < 0)
        return -1;
    return jpy_ints_arg(b, a[1], &ATTRS(janus_flip_attrs)->dims) < 0 ? -1 : 0;
}
/* input, start_dim, end_dim */
static int bind_flatten(jpy_bound *b, PyObject *const *a) {
    jn_type t;
    if (type_of(b, a[0], &t) < 0 || use(b, JN_OP(reshape), a, 1) < 0)
        return -1;
    int64_t from = 0, to = -1;
    if (jpy_int_arg(a[1], &from) < 0 || jpy_int_arg(a[2], &to) < 0)
        return -1;
    int64_t rank = t.rank;
    from += from < 0 ? rank : 0;
    to += to < 0 ? rank : 0;
    if (rank && (from < 0 || from >= rank || to < from || to >= rank)) {
        PyErr_SetString(PyExc_IndexError, "flatten(): dims out of range");
        return -1;
    }
    int64_t *shape = b->ints;
    unsigned n = 0;
    bool unknown = false;
    for (int64_t i = 0; i < from; i++)
        shape[n++] = t.dims[i];
    int64_t merged = 1;
    for (int64_t i = from; i <= to && i < rank; i++) {
        unknown = unknown || t.dims[i] < 0;
        merged *= t.dims[i];
    }
    shape[n++] = unknown ? -1 : merged;
    for (int64_t i = to + 1; i < rank; i++)
        shape[n++] = t.dims[i];
    b->n_ints = n;
    ATTRS(janus_reshape_attrs)->shape = (janus_ints){shape, n};
    return 0;
}
static int bind_squeeze(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(squeeze), a, 1) < 0)
        return -1;
    return jpy_ints_arg(b, a[1], &ATTRS(janus_squeeze_attrs)->axis) < 0 ? -1 : 0;
}
static int bind_unsqueeze(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(unsqueeze), a, 1) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_unsqueeze_attrs)->axis) < 0 ? -1 : 0;
}
static int bind_t(jpy_bound *b, PyObject *const *a) {
    jn_type t;
    if (type_of(b, a[0], &t) < 0)
        return -1;
    if (t.rank < 2) {
        b->is_identity = true;
        b->in[0].o = a[0];
        b->n_in = 1;
        return 0;
    }
    if (t.rank > 2) {
        PyErr_Format(PyExc_RuntimeError,
                     "t() expects a tensor with <= 2 dimensions, but self is %dD", (int)t.rank);
        return -1;
    }
    return use(b, JN_OP(transpose), a, 1);
}
static int bind_transpose(jpy_bound *b, PyObject *const *a) {
    jn_type t;
    if (type_of(b, a[0], &t) < 0 || use(b, JN_OP(transpose), a, 1) < 0)
        return -1;
    if (t.rank == 0) {
        b->op = JN_OP(alias);
        return 0;
    }
    janus_transpose_attrs *s = ATTRS(janus_transpose_attrs);
    return jpy_int_arg(a[1], &s->dim0) < 0 || jpy_int_arg(a[2], &s->dim1) < 0 ? -1 : 0;
}
/* tensors, dim */
static int bind_cat(jpy_bound *b, PyObject *const *a) {
    if (jpy_bound_op(b, JN_OP(concat)) < 0 || jpy_bound_list(b, 0, a[0]) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_concat_attrs)->axis) < 0 ? -1 : 0;
}
static int bind_stack(jpy_bound *b, PyObject *const *a) {
    if (jpy_bound_op(b, JN_OP(stack)) < 0 || jpy_bound_list(b, 0, a[0]) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_stack_attrs)->axis) < 0 ? -1 : 0;
}
/* input, dim, index */
static int bind_select(jpy_bound *b, PyObject *const *a) {
    PyObject *in[2] = {a[0], a[2]};
    if (use(b, JN_OP(select), in, 2) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_select_attrs)->axis) < 0 ? -1 : 0;
}
/* input, dim, start, length */
static int bind_narrow(jpy_bound *b, PyObject *const *a) {
    int64_t start, n;
    if (use(b, JN_OP(slice), a, 1) < 0 || jpy_int_arg(a[2], &start) <= 0 ||
        jpy_int_arg(a[3], &n) <= 0)
        return -1;
    b->in[1] = (jpy_operand){.kind = JANUS_KIND_INT, .s.i = start};
    b->in[2] = (jpy_operand){.kind = JANUS_KIND_INT, .s.i = start + n};
    b->n_in = 3;
    return jpy_int_arg(a[1], &ATTRS(janus_slice_attrs)->axis) < 0 ? -1 : 0;
}
static int bind_roll(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(roll), a, 1) < 0)
        return -1;
    janus_roll_attrs *s = ATTRS(janus_roll_attrs);
    return jpy_ints_arg(b, a[1], &s->shifts) < 0 || jpy_ints_arg(b, a[2], &s->dims) < 0 ? -1 : 0;
}

/* ---- indexing
 * ------------------------------------------------------------------------------------------ */

/* input, dim, index */
static int bind_gather(jpy_bound *b, PyObject *const *a) {
    PyObject *in[2] = {a[0], a[2]};
    if (use(b, JN_OP(gather), in, 2) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_gather_attrs)->axis) < 0 ? -1 : 0;
}
static int bind_index_select(jpy_bound *b, PyObject *const *a) {
    PyObject *in[2] = {a[0], a[2]};
    if (use(b, JN_OP(index_select), in, 2) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_index_select_attrs)->axis) < 0 ? -1 : 0;
}
/* input, dim, index, src */
static int bind_scatter_add(jpy_bound *b, PyObject *const *a) {
    PyObject *in[3] = {a[0], a[2], a[3]};
    if (use(b, JN_OP(scatter_add), in, 3) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_scatter_add_attrs)->axis) < 0 ? -1 : 0;
}
static int bind_index_add(jpy_bound *b, PyObject *const *a) {
    PyObject *in[3] = {a[0], a[2], a[3]};
    if (use(b, JN_OP(index_add), in, 3) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_index_add_attrs)->axis) < 0 ? -1 : 0;
}
static int bind_scatter(jpy_bound *b, PyObject *const *a) {
    PyObject *in[3] = {a[0], a[2], a[3] ? a[3] : a[4]};
    janus_kind kind;
    janus_scalar v;
    if (!in[2]) {
        PyErr_SetString(PyExc_TypeError, "scatter() needs src or value");
        return -1;
    }
    int number = jpy_scalar_of(in[2], &kind, &v);
    if (number < 0)
        return -1;
    if (number) { /* the row wants a source of index's shape */
        PyObject *shape = PyObject_GetAttrString(a[2], "shape");
        PyObject *like = shape ? PyObject_CallMethod(jpy.module, "full", "OO", shape, in[2]) : NULL;
        Py_XDECREF(shape);
        b->keep = like ? PyTuple_Pack(1, like) : NULL;
        Py_XDECREF(like);
        if (!b->keep)
            return -1;
        in[2] = PyTuple_GET_ITEM(b->keep, 0);
    }
    if (use(b, JN_OP(scatter), in, 3) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_scatter_attrs)->axis) < 0 ? -1 : 0;
}

/* ---- elementwise
 * ---------------------------------------------------------------------------------------- */

/* A bound of clamp: -1, or 1 when given. */
static int limit(PyObject *o, double *out) {
    if (!o)
        return 0;
    *out = PyFloat_AsDouble(o);
    return *out == -1.0 && PyErr_Occurred() ? -1 : 1;
}
static int bind_clamp(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(clamp), a, 1) < 0)
        return -1;
    if (!a[1] && !a[2]) {
        PyErr_SetString(PyExc_RuntimeError,
                        "clamp: At least one of 'min' or 'max' must not be None");
        return -1;
    }
    janus_clamp_attrs *s = ATTRS(janus_clamp_attrs);
    return limit(a[1], &s->lo) < 0 || limit(a[2], &s->hi) < 0 ? -1 : 0;
}
static int bind_clamp_min(jpy_bound *b, PyObject *const *a) {
    PyObject *all[3] = {a[0], a[1], NULL};
    return bind_clamp(b, all);
}
static int bind_clamp_max(jpy_bound *b, PyObject *const *a) {
    PyObject *all[3] = {a[0], NULL, a[1]};
    return bind_clamp(b, all);
}

/* input, other, alpha: alpha * other is computed by one fused row. */
static int add_alpha(jpy_bound *b, PyObject *const *a, const jn_op *op, double sign) {
    if (!a[2])
        return use(b, op, a, 2);
    double alpha = PyFloat_AsDouble(a[2]);
    if (alpha == -1.0 && PyErr_Occurred())
        return -1;
    if (alpha == 1.0)
        return use(b, op, a, 2);
    PyObject *one = PyFloat_FromDouble(1.0);
    b->keep = one ? PyTuple_Pack(1, one) : NULL;
    Py_XDECREF(one);
    if (!b->keep)
        return -1;
    PyObject *in[3] = {a[0], a[1], one};
    if (use(b, JN_OP(addcmul), in, 3) < 0)
        return -1;
    b->in[3] = (jpy_operand){.kind = JANUS_KIND_FLOAT, .s.f = sign * alpha};
    b->n_in = 4;
    return 0;
}
static int bind_add(jpy_bound *b, PyObject *const *a) { return add_alpha(b, a, JN_OP(add), 1.0); }
static int bind_sub(jpy_bound *b, PyObject *const *a) { return add_alpha(b, a, JN_OP(sub), -1.0); }

static int bind_div(jpy_bound *b, PyObject *const *a) {
    if (!a[2])
        return use(b, JN_OP(div), a, 2);
    if (PyUnicode_Check(a[2]) && PyUnicode_CompareWithASCIIString(a[2], "floor") == 0)
        return use(b, JN_OP(floordiv), a, 2);
    PyErr_Format(PyExc_ValueError, "div(): rounding_mode %R is not supported", a[2]);
    return -1;
}

/* input, tensor1, tensor2, value */
static int three_and_value(jpy_bound *b, PyObject *const *a, const jn_op *op) {
    if (use(b, op, a, 3) < 0)
        return -1;
    b->in[3] =
        a[3] ? (jpy_operand){.o = a[3]} : (jpy_operand){.kind = JANUS_KIND_FLOAT, .s.f = 1.0};
    b->n_in = 4;
    return 0;
}
static int bind_addcmul(jpy_bound *b, PyObject *const *a) {
    return three_and_value(b, a, JN_OP(addcmul));
}
static int bind_addcdiv(jpy_bound *b, PyObject *const *a) {
    return three_and_value(b, a, JN_OP(addcdiv));
}
/* input, tensor1, square, value, eps */
static int bind_addcdiv_sqrt(jpy_bound *b, PyObject *const *a) {
    if (three_and_value(b, a, JN_OP(addcdiv_sqrt)) < 0)
        return -1;
    b->in[4] =
        a[4] ? (jpy_operand){.o = a[4]} : (jpy_operand){.kind = JANUS_KIND_FLOAT, .s.f = 0.0};
    b->n_in = 5;
    return 0;
}
static int bind_gelu(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(gelu), a, 1) < 0)
        return -1;
    if (a[1])
        ATTRS(janus_gelu_attrs)->approximate =
            PyUnicode_Check(a[1]) ? PyUnicode_CompareWithASCIIString(a[1], "tanh") == 0
                                  : PyObject_IsTrue(a[1]) > 0;
    return 0;
}

static int cast_to(jpy_bound *b, PyObject *const *a, janus_dtype d) {
    jn_type t;
    if (type_of(b, a[0], &t) < 0)
        return -1;
    if (t.dtype == d) {
        b->is_identity = true;
        b->in[0].o = a[0];
        b->n_in = 1;
        return 0;
    }
    if (use(b, JN_OP(cast), a, 1) < 0)
        return -1;
    ATTRS(janus_cast_attrs)->dtype = d;
    return 0;
}
#define CAST(name, dtype)                                                                          \
    static int bind_##name(jpy_bound *b, PyObject *const *a) { return cast_to(b, a, dtype); }
CAST(float, JANUS_F32)
CAST(double, JANUS_F64)
CAST(int, JANUS_I32)
CAST(long, JANUS_I64)
CAST(bool, JANUS_BOOL)
CAST(byte, JANUS_U8)
CAST(half, JANUS_F16)
CAST(bfloat16, JANUS_BF16)

static int bind_type_as(jpy_bound *b, PyObject *const *a) {
    jn_type t;
    return type_of(b, a[1], &t) < 0 ? -1 : cast_to(b, a, (janus_dtype)t.dtype);
}

/* What the call is about is the tensor on another device, which b->keep then owns. */
static int move_first(jpy_bound *b, PyObject *x, jn_device *device) {
    if (jn_eager_hook || !jpy_tensor_check(x)) {
        PyErr_SetString(PyExc_RuntimeError, "a graph does not move tensors between devices");
        return -1;
    }
    Py_XSETREF(b->keep, jpy_tensor_move((jpy_tensor *)x, device, false));
    return b->keep ? 0 : -1;
}

/* to(dtype), to(device), to(device, dtype), to(other) */
static int bind_to(jpy_bound *b, PyObject *const *a) {
    jn_type t;
    if (type_of(b, a[0], &t) < 0)
        return -1;
    janus_dtype d = (janus_dtype)t.dtype;
    PyObject *given[5] = {a[1], a[2], a[3], a[4], NULL};
    jn_device *device = NULL;
    bool moves = false;
    for (int i = 0; i < 4; i++) {
        PyObject *o = given[i];
        jn_type other;
        if (!o || PyBool_Check(o))
            continue;
        if (jpy_tensor_check(o) || (b->type_of && b->type_of(b->ctx, o, &other))) {
            if (type_of(b, o, &other) < 0)
                return -1;
            d = (janus_dtype)other.dtype;
            if (jpy_tensor_check(o) && jn_dev_in_use) {
                device = ((jpy_tensor *)o)->t->storage->device;
                moves = true;
            }
        } else if (Py_TYPE(o) == jpy.dtype_type || PyType_Check(o)) {
            if (jpy_dtype_parse(o, &d) < 0)
                return -1;
        } else {
            if (jpy_device_parse(o, &device) < 0)
                return -1;
            moves = true;
        }
    }
    int copy = a[6] ? PyObject_IsTrue(a[6]) : 0;
    if (copy < 0)
        return -1;
    PyObject *moved[1];
    if (moves && (device || jn_dev_in_use)) {
        if (move_first(b, a[0], device) < 0)
            return -1;
        moved[0] = b->keep;
        a = moved;
    }
    if (copy && d == t.dtype)
        return use(b, JN_OP(clone), a, 1);
    return cast_to(b, a, d);
}
static int bind_same(jpy_bound *b, PyObject *const *a) {
    b->is_identity = true;
    b->in[0].o = a[0];
    b->n_in = 1;
    return 0;
}
static int bind_cpu(jpy_bound *b, PyObject *const *a) {
    if (!jn_dev_in_use)
        return bind_same(b, a);
    if (move_first(b, a[0], NULL) < 0)
        return -1;
    return bind_same(b, &b->keep);
}
static int bind_contiguous(jpy_bound *b, PyObject *const *a) {
    if (jpy_tensor_check(a[0]) && ((jpy_tensor *)a[0])->t->contiguous)
        return bind_same(b, a);
    return use(b, JN_OP(clone), a, 1);
}
static int bind_clone(jpy_bound *b, PyObject *const *a) { return use(b, JN_OP(clone), a, 1); }

/* ---- products
 * ------------------------------------------------------------------------------------------- */

static int product(jpy_bound *b, PyObject *const *a, int ra, int rb, const char *name) {
    jn_type x, y;
    if (type_of(b, a[0], &x) < 0 || type_of(b, a[1], &y) < 0)
        return -1;
    if ((x.rank >= 0 && x.rank != ra) || (y.rank >= 0 && y.rank != rb)) {
        PyErr_Format(PyExc_RuntimeError, "%s: expected a %d-D and a %d-D tensor, got %d-D and %d-D",
                     name, ra, rb, (int)x.rank, (int)y.rank);
        return -1;
    }
    return use(b, JN_OP(matmul), a, 2);
}
static int bind_mm(jpy_bound *b, PyObject *const *a) { return product(b, a, 2, 2, "mm"); }
static int bind_bmm(jpy_bound *b, PyObject *const *a) { return product(b, a, 3, 3, "bmm"); }
static int bind_mv(jpy_bound *b, PyObject *const *a) { return product(b, a, 2, 1, "mv"); }

/* An int or a pair as two ints. */
static int pair(jpy_bound *b, PyObject *o, janus_ints *out) {
    if (!o)
        return 0;
    if (jpy_ints_arg(b, o, out) < 0)
        return -1;
    if (out->n == 1 && b->n_ints < JPY_BOUND_INTS) {
        b->ints[b->n_ints] = out->data[0];
        b->n_ints++;
        out->n = 2;
    }
    return 0;
}
/* input, weight, bias, stride, padding, dilation, groups */
static int bind_conv2d(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(conv2d), a, 3) < 0)
        return -1;
    janus_conv2d_attrs *s = ATTRS(janus_conv2d_attrs);
    return pair(b, a[3], &s->stride) < 0 || pair(b, a[4], &s->padding) < 0 ||
                   pair(b, a[5], &s->dilation) < 0 || jpy_int_arg(a[6], &s->groups) < 0
               ? -1
               : 0;
}
/* input, kernel_size, stride, padding, dilation, ceil_mode */
static int bind_max_pool2d(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(max_pool2d), a, 1) < 0)
        return -1;
    janus_max_pool2d_attrs *s = ATTRS(janus_max_pool2d_attrs);
    b->result = JPY_RESULT_FIRST;
    s->ceil_mode = a[5] && PyObject_IsTrue(a[5]) > 0;
    return pair(b, a[1], &s->kernel) < 0 || pair(b, a[2], &s->stride) < 0 ||
                   pair(b, a[3], &s->padding) < 0 || pair(b, a[4], &s->dilation) < 0
               ? -1
               : 0;
}
/* input, kernel_size, stride, padding, ceil_mode, count_include_pad */
static int bind_avg_pool2d(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(avg_pool2d), a, 1) < 0)
        return -1;
    janus_avg_pool2d_attrs *s = ATTRS(janus_avg_pool2d_attrs);
    s->ceil_mode = a[4] && PyObject_IsTrue(a[4]) > 0;
    if (a[5])
        s->count_include_pad = PyObject_IsTrue(a[5]) > 0;
    return pair(b, a[1], &s->kernel) < 0 || pair(b, a[2], &s->stride) < 0 ||
                   pair(b, a[3], &s->padding) < 0
               ? -1
               : 0;
}

/* ---- losses and norms
 * ------------------------------------------------------------------------------------- */

static int reduction(PyObject *o, int64_t *out) {
    static const char *const names[] = {"none", "mean", "sum"};
    if (!o)
        return 0;
    if (!PyUnicode_Check(o))
        return jpy_int_arg(o, out) < 0 ? -1 : 0;
    for (int i = 0; i < 3; i++)
        if (PyUnicode_CompareWithASCIIString(o, names[i]) == 0) {
            *out = i;
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "%U is not a valid value for reduction", o);
    return -1;
}
/* input, target, reduction, ignore_index, label_smoothing */
static int bind_cross_entropy(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(cross_entropy), a, 2) < 0)
        return -1;
    janus_cross_entropy_attrs *s = ATTRS(janus_cross_entropy_attrs);
    if (a[4]) {
        s->label_smoothing = PyFloat_AsDouble(a[4]);
        if (PyErr_Occurred())
            return -1;
    }
    return reduction(a[2], &s->reduction) < 0 || jpy_int_arg(a[3], &s->ignore_index) < 0 ? -1 : 0;
}
static int bind_nll_loss(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(nll_loss), a, 2) < 0)
        return -1;
    janus_nll_loss_attrs *s = ATTRS(janus_nll_loss_attrs);
    return reduction(a[2], &s->reduction) < 0 || jpy_int_arg(a[3], &s->ignore_index) < 0 ? -1 : 0;
}
static int bind_mse_loss(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(mse_loss), a, 2) < 0)
        return -1;
    return reduction(a[2], &ATTRS(janus_mse_loss_attrs)->reduction);
}
static int bind_bce_with_logits(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(bce_with_logits), a, 2) < 0)
        return -1;
    return reduction(a[2], &ATTRS(janus_bce_with_logits_attrs)->reduction);
}
static int bind_smooth_l1(jpy_bound *b, PyObject *const *a) {
    if (use(b, JN_OP(smooth_l1), a, 2) < 0)
        return -1;
    janus_smooth_l1_attrs *s = ATTRS(janus_smooth_l1_attrs);
    if (a[3]) {
        s->beta = PyFloat_AsDouble(a[3]);
        if (PyErr_Occurred())
            return -1;
    }
    return reduction(a[2], &s->reduction);
}
/* input, weight, bias, eps: with the batch's statistics */
static int bind_batch_norm(jpy_bound *b, PyObject *const *a) {
    PyObject *in[5] = {a[0], a[1], a[2], NULL, NULL};
    if (use(b, JN_OP(batch_norm), in, 5) < 0)
        return -1;
    if (a[3]) {
        ATTRS(janus_batch_norm_attrs)->eps = PyFloat_AsDouble(a[3]);
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}
/* input, normalized_shape, weight, bias, eps */
static int bind_layer_norm(jpy_bound *b, PyObject *const *a) {
    PyObject *in[3] = {a[0], a[2], a[3]};
    janus_ints shape = {NULL, 0};
    jn_type t;
    if (type_of(b, a[0], &t) < 0 || jpy_ints_arg(b, a[1], &shape) < 0 ||
        use(b, JN_OP(layer_norm), in, 3) < 0)
        return -1;
    bool fits = (int64_t)shape.n <= t.rank && shape.n > 0;
    for (size_t i = 0; fits && i < shape.n; i++)
        fits = t.dims[(size_t)t.rank - shape.n + i] < 0 ||
               t.dims[(size_t)t.rank - shape.n + i] == shape.data[i];
    if (!fits) {
        PyErr_Format(PyExc_RuntimeError,
                     "layer_norm: the last dims of the input do not match normalized_shape %R",
                     a[1]);
        return -1;
    }
    janus_layer_norm_attrs *s = ATTRS(janus_layer_norm_attrs);
    s->axis = -(int64_t)shape.n;
    b->result = JPY_RESULT_FIRST;
    if (a[4]) {
        s->eps = PyFloat_AsDouble(a[4]);
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}

#include "pyfront/py_spell_table.h"
