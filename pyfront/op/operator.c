/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators of the number protocol.
 *
 * Two contiguous float tensors of one shape, or one and a number, are most of what eager programs
 * add and multiply: they go to the kernel at once, whatever the shape.
 */
#include "config.h"

#include "pyfront/op/bound.h"

#include <string.h>

#include "exec/defer/defer.h"
#include "exec/device/device.h"
#include "ops/op_ids.h"
#include "pyfront/op/autocast.h"
#include "pyfront/op/quick.h"
#include "pyfront/tape/tape.h"

enum { FAST_MAX = 32768 }; /* elements up to which one thread does it at once */

/* Result y (consumed) of a fast path, recorded when an operand has a history. */
static PyObject *fast_result(jn_thread *me, const jn_op *op, const jpy_val *in, unsigned n,
                             janus_tensor *y) {
    jpy_node *node = NULL;
    if (jpy_any_tracked(in, n) && !(node = jpy_record(me, op, in, n, NULL, &y, 1, NULL))) {
        janus_tensor_release(y);
        return NULL;
    }
    jpy_tensor *o = (jpy_tensor *)jpy_tensor_take(y);
    if (o)
        o->node = node;
    else
        jpy_node_release(node);
    return (PyObject *)o;
}

static PyObject *fast_error(void) {
    jpy_raise(janus_last_error()->code);
    return NULL;
}

static PyObject *fast_binary(jn_thread *me, const jn_op *op, jpy_tensor *a, jpy_tensor *b) {
    janus_tensor *y;
    if (JN_UNLIKELY(jn_eager_binary(me, op, a->t, b->t, &y) != JANUS_OK))
        return fast_error();
    if (me->no_grad || !(jpy_maybe_tracked(a) || jpy_maybe_tracked(b)))
        return jpy_tensor_take(y);
    jpy_val in[2];
    if (jpy_tensor_val(a, &in[0]) < 0 || jpy_tensor_val(b, &in[1]) < 0) {
        janus_tensor_release(y);
        return NULL;
    }
    return fast_result(me, op, in, 2, y);
}

/* tensor op number, and the other way round with `swapped` */
static PyObject *fast_number(jn_thread *me, const jn_op *op, jpy_tensor *a, double f,
                             bool swapped) {
    bool tracked = !me->no_grad && jpy_tensor_tracked(a);
    bool real = tracked || jn_dev_in_use; /* a shell of a tensor is good for kernels only */
    uint64_t cell;
    janus_tensor shell;
    jn_tensor_on_cell(&shell, (janus_dtype)a->t->dtype, &cell);
    janus_tensor *number = &shell, *y;
    if (real) {
        if (jpy_scalar_tensor((janus_dtype)a->t->dtype, JANUS_KIND_FLOAT, (janus_scalar){.f = f},
                              &number) < 0)
            return NULL;
    } else {
        (void)jpy_scalar_store((janus_dtype)a->t->dtype, JANUS_KIND_FLOAT, (janus_scalar){.f = f},
                               &cell);
    }
    jpy_val in[2];
    janus_status st = swapped ? jn_eager_binary(me, op, number, a->t, &y)
                              : jn_eager_binary(me, op, a->t, number, &y);
    PyObject *result = NULL;
    if (JN_UNLIKELY(st != JANUS_OK))
        fast_error();
    else if (JN_LIKELY(!tracked))
        result = jpy_tensor_take(y);
    else if (jpy_tensor_val(a, &in[swapped]) < 0)
        janus_tensor_release(y);
    else {
        in[!swapped] = jpy_val_tensor(number, (jpy_edge){0});
        result = fast_result(me, op, in, 2, y);
    }
    if (real)
        janus_tensor_release(number);
    return result;
}

/* Few elements that are side by side.  What has a form is. */
static inline bool fast_operand(const janus_tensor *t) {
    return t->dtype <= JANUS_F64 && t->contiguous && t->numel < FAST_MAX;
}

static bool same_layout(janus_tensor *a, janus_tensor *b) {
    uint64_t form = jn_tensor_form(a);
    if (JN_LIKELY(form && jn_tensor_form(b)))
        return form == b->form;
    if (a->dtype != b->dtype || a->rank != b->rank || !b->contiguous)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

PyObject *jpy_unary_fast(jn_thread *me, const jn_op *op, PyObject *x) {
    janus_tensor *y;
    jpy_tensor *a = (jpy_tensor *)x;
    if (!fast_operand(a->t) || JN_UNLIKELY(me->deferring != NULL))
        return jpy_unary(op, x);
    (void)jn_tensor_form(a->t); /* which the result gets */
    if (JN_UNLIKELY(jn_eager_unary(me, op, a->t, &y) != JANUS_OK))
        return fast_error();
    if (me->no_grad || !jpy_tensor_tracked(a))
        return jpy_tensor_take(y);
    jpy_val in;
    if (jpy_tensor_val(a, &in) < 0) {
        janus_tensor_release(y);
        return NULL;
    }
    return fast_result(me, op, &in, 1, y);
}

static bool acceptable(PyObject *o) {
    if (jpy_tensor_check(o) || PyFloat_Check(o) || PyLong_Check(o))
        return true;
    if (PyUnicode_Check(o) || PySequence_Check(o) || !Py_TYPE(o)->tp_as_number)
        return false;
    return strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0;
}

static int bind_operands(jpy_bound *b, const jn_op *op, PyObject *const *args, Py_ssize_t n) {
    b->in = b->few;
    b->n_in = (unsigned)n;
    for (Py_ssize_t i = 0; i < n; i++)
        b->few[i] = (jpy_operand){.o = args[i]};
    b->result = JPY_RESULT_ALL;
    b->is_identity = false;
    b->by_value = false;
    b->cast_first = -1;
    b->keep = NULL;
    b->type_of = NULL;
    return jpy_bound_op(b, op);
}

static bool plain_number(PyObject *o) { return PyFloat_CheckExact(o) || PyLong_CheckExact(o); }

static void learn(const jpy_quick_key *key, const jpy_bound *b, bool inplace, PyObject *const *args,
                  Py_ssize_t n) {
    jpy_apart apart;
    jpy_bound other;
    if (!key->n || !key->seen)
        return;
    if (!jpy_quick_apart(&apart, args, n)) {
        jpy_quick_learn(key, b, inplace, args, n, NULL);
        return;
    }
    if (bind_operands(&other, b->op, apart.args, n) == 0)
        jpy_quick_learn(key, &other, inplace, apart.args, n, NULL);
    else
        PyErr_Clear();
    jpy_quick_apart_end(&apart);
}

/* What every other call of an operator does: remembered, or bound. */
static PyObject *run_operator(jn_thread *me, const jn_op *op, PyObject *const *args, Py_ssize_t n,
                              bool inplace) {
    jpy_quick_key key = {.n = 0};
    if (JN_LIKELY(me->hook == NULL)) {
        PyObject *known = jpy_quick_call(me, op, inplace, true, args, n, NULL, &key);
        if (known || PyErr_Occurred())
            return known;
    }
    jpy_bound b;
    if (bind_operands(&b, op, args, n) < 0)
        return NULL;
    PyObject *result = NULL;
    bool told = JN_UNLIKELY(me->deferring != NULL) && key.n && !inplace;
    if (told) {
        key.seen = true;
        learn(&key, &b, inplace, args, n);
        result = jpy_quick_defer(&key, inplace, args);
    }
    if (result || PyErr_Occurred())
        return result;
    result = jpy_bound_run(&b, inplace ? (jpy_tensor *)args[0] : NULL);
    if (result && !told)
        learn(&key, &b, inplace, args, n);
    return result;
}

PyObject *jpy_binary(const jn_op *op, PyObject *x, PyObject *y) {
    jn_thread *me = jn_thread_mine();
    bool tx = jpy_tensor_check(x), ty = jpy_tensor_check(y),
         fast = jn_eager_is_like(op) && jpy_usual(me, op);
    PyObject *args[2] = {x, y};
    if (JN_LIKELY(tx && ty)) {
        jpy_tensor *a = (jpy_tensor *)x, *b = (jpy_tensor *)y;
        if (fast && fast_operand(a->t) && same_layout(a->t, b->t))
            return fast_binary(me, op, a, b);
    } else if (plain_number(tx ? y : x)) {
        PyObject *t = tx ? x : y, *number = tx ? y : x;
        if (fast && fast_operand(((jpy_tensor *)t)->t)) {
            double f = PyFloat_AsDouble(number);
            if (f == -1.0 && PyErr_Occurred())
                return NULL;
            (void)jn_tensor_form(((jpy_tensor *)t)->t); /* which the result gets */
            return fast_number(me, op, (jpy_tensor *)t, f, ty);
        }
    } else if (!acceptable(x) || !acceptable(y)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return run_operator(me, op, args, 2, false);
}

PyObject *jpy_binary_inplace(const jn_op *op, PyObject *x, PyObject *y) {
    PyObject *args[2] = {x, y};
    if (!jpy_tensor_check(x) || !acceptable(y))
        Py_RETURN_NOTIMPLEMENTED;
    return run_operator(&jn_this, op, args, 2, true);
}

PyObject *jpy_unary(const jn_op *op, PyObject *x) {
    return run_operator(&jn_this, op, &x, 1, false);
}
