/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers' steps over lists of parameters: one call of an op per parameter, in place.
 *
 * step_(name, [[p, g, state...], ...], lr, ATTRIBUTE=value...) updates every p and its state by the
 * row `name`; one whose gradient is None stays as it is.  Nothing is recorded; versions are
 * counted, as by any write in place.
 */
#include "config.h"

#include <string.h>

#include "pyfront/op/op.h"
#include "pyfront/tape/tape.h"

enum { MAX_TENSORS = 5 };

/* Attributes from keyword arguments, numbers all of them. */
static int set_attrs(const jn_op *op, char *attrs, PyObject *const *values, PyObject *names) {
    if (jpy_check(jn_attrs_default(op, attrs)) < 0)
        return -1;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        Py_ssize_t len;
        const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(names, i), &len);
        if (!name)
            return -1;
        const jn_attr_spec *spec = jn_attr_find(op, name, (size_t)len);
        if (!spec || (spec->kind != JN_ATTR_FLOAT && spec->kind != JN_ATTR_BOOL)) {
            PyErr_Format(PyExc_TypeError, "%s has no option %s", op->name, name);
            return -1;
        }
        double v = PyFloat_AsDouble(values[i]);
        if (v == -1.0 && PyErr_Occurred())
            return -1;
        if (spec->kind == JN_ATTR_FLOAT)
            *(double *)(void *)(attrs + spec->offset) = v;
        else
            *(int64_t *)(void *)(attrs + spec->offset) = v != 0;
    }
    return 0;
}

static int step_one(const jn_op *op, PyObject *row, jn_eager_arg rate, const void *attrs) {
    unsigned n = op->n_in_max - 1u; /* all operands but lr */
    jn_eager_arg in[MAX_TENSORS + 1];
    janus_tensor *dst[MAX_TENSORS];
    if (!(PyList_Check(row) || PyTuple_Check(row)) || PySequence_Fast_GET_SIZE(row) != n) {
        PyErr_Format(PyExc_TypeError, "%s: expected lists of %u tensors", op->name, n);
        return -1;
    }
    if (PySequence_Fast_GET_ITEM(row, 1) == Py_None)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        PyObject *o = PySequence_Fast_GET_ITEM(row, i);
        if (!jpy_tensor_check(o)) {
            PyErr_Format(PyExc_TypeError, "%s: operand %u must be a Tensor, not %s", op->name, i,
                         Py_TYPE(o)->tp_name);
            return -1;
        }
        in[i] = (jn_eager_arg){.kind = JANUS_KIND_TENSOR, .t = ((jpy_tensor *)o)->t};
        if (i != 1) { /* the gradient is read only */
            dst[i ? i - 1 : 0] = in[i].t;
            if (jpy_inplace_begin((jpy_tensor *)o) < 0)
                return -1;
        }
    }
    in[n] = rate;
    if (jpy_check(jn_eager_update(op, in, n + 1, attrs, dst, op->n_out)) < 0)
        return -1;
    for (unsigned i = 0; i < n; i++) {
        jpy_tensor *t = (jpy_tensor *)PySequence_Fast_GET_ITEM(row, i);
        if (i == 1)
            continue;
        jpy_inplace_wrote(t);
        if (jpy_inplace_end(t, NULL) < 0)
            return -1;
    }
    return 0;
}

static PyObject *step(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    union {
        max_align_t align;
        char bytes[JPY_ATTR_BYTES];
    } attrs;
    (void)module;
    if (n != 3 || !PyUnicode_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "optimizer_step_(name, tensors, lr, **options)");
        return NULL;
    }
    Py_ssize_t len;
    const char *name = PyUnicode_AsUTF8AndSize(args[0], &len);
    const jn_op *op = name ? jn_op_find(name, (size_t)len) : NULL;
    if (!op || len < 6 || strcmp(name + len - 5, "_step") != 0 || op->n_in_max > MAX_TENSORS + 1) {
        PyErr_Format(PyExc_ValueError, "optimizer_step_: no step is called %R", args[0]);
        return NULL;
    }
    janus_kind kind;
    jn_eager_arg rate = {.kind = JANUS_KIND_FLOAT};
    int rc = jpy_scalar_of(args[2], &kind, &rate.s);
    if (rc == 0)
        PyErr_SetString(PyExc_TypeError, "optimizer_step_: lr must be a number");
    if (rc <= 0 || set_attrs(op, attrs.bytes, args + n, names) < 0)
        return NULL;
    if (kind != JANUS_KIND_FLOAT)
        rate.s.f = (double)rate.s.i;
    PyObject *rows = PySequence_Fast(args[1], "optimizer_step_: expected a list");
    if (!rows)
        return NULL;
    bool was = jpy_no_grad_mode;
    jpy_no_grad_mode = true;
    for (Py_ssize_t i = 0; rc > 0 && i < PySequence_Fast_GET_SIZE(rows); i++)
        if (step_one(op, PySequence_Fast_GET_ITEM(rows, i), rate, attrs.bytes) < 0)
            rc = -1;
    jpy_no_grad_mode = was;
    Py_DECREF(rows);
    return rc < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"optimizer_step_", (PyCFunction)(void *)step, METH_FASTCALL | METH_KEYWORDS,
     "optimizer_step_(name, [[parameter, gradient, state...], ...], lr, **options): in place; "
     "rows whose gradient is None are left alone."},
    {NULL, NULL, 0, NULL},
};

int jpy_init_optim(PyObject *module) { return PyModule_AddFunctions(module, methods); }
