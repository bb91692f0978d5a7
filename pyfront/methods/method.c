/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods of janus.Tensor that are no single op: sizes, values out, history, writing in place.
 */
#include "config.h"

#include "pyfront/backward/backward.h"
#include "pyfront/methods/method.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/op/op.h"
#include "pyfront/tape/tape.h"
#include "pyfront/tensor/tensor.h"

#define T(o) (((jpy_tensor *)(o))->t)

/* ---- values out
 * --------------------------------------------------------------------------------------- */

static PyObject *item(PyObject *self, PyObject *unused) {
    (void)unused;
    return jpy_tensor_item(T(self));
}

static PyObject *tolist(PyObject *self, PyObject *unused) {
    (void)unused;
    return jpy_tensor_list(T(self));
}

/* ---- sizes
 * ---------------------------------------------------------------------------------------------- */

static PyObject *at_dim(const int64_t *values, int rank, PyObject *o) {
    int64_t d;
    if (jpy_int_needed(o, &d) < 0)
        return NULL;
    if (d < -rank || d >= rank) {
        PyErr_Format(PyExc_IndexError,
                     "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                     -rank, rank - 1, (long long)d);
        return NULL;
    }
    return PyLong_FromLongLong(values[d < 0 ? d + rank : d]);
}
static PyObject *one_dim(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names,
                         const int64_t *values) {
    if (names && PyTuple_GET_SIZE(names) == 1 && n == 0)
        n = 1;
    if (n == 0 || args[0] == Py_None)
        return jpy_size_new(T(self)->rank, values);
    return at_dim(values, T(self)->rank, args[0]);
}
static PyObject *size(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    return one_dim(self, args, n, names, T(self)->dims);
}
static PyObject *stride(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyObject *s = one_dim(self, args, n, names, T(self)->strides);
    if (s && Py_TYPE(s) == jpy.size_type)
        Py_SETREF(s, PyTuple_GetSlice(s, 0, PyTuple_GET_SIZE(s)));
    return s;
}
static PyObject *numel(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLongLong(T(self)->numel);
}
static PyObject *dim(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLong(T(self)->rank);
}
static PyObject *element_size(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromSize_t(jn_dtype_size((janus_dtype)T(self)->dtype));
}
static PyObject *data_ptr(PyObject *self, PyObject *unused) {
    (void)unused;
    char *data;
    if (jpy_tensor_data(T(self), &data) < 0)
        return NULL;
    jn_storage_export(T(self)->storage);
    return PyLong_FromVoidPtr(data);
}
static PyObject *storage_offset(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLongLong(jn_tensor_offset(T(self)));
}
static PyObject *is_contiguous(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyBool_FromLong(T(self)->contiguous);
}
static PyObject *is_floating_point(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyBool_FromLong(jn_dtype_is_float(T(self)->dtype));
}
static PyObject *shares_storage(PyObject *self, PyObject *other) {
    return PyBool_FromLong(jpy_tensor_check(other) && T(self)->storage == T(other)->storage);
}

/* ---- history
 * --------------------------------------------------------------------------------------------- */

static PyObject *detach(PyObject *self, PyObject *unused) {
    (void)unused;
    janus_tensor *t;
    if (jn_eager_hook) {
        jn_eager_arg arg = {.kind = JANUS_KIND_TENSOR, .t = T(self)};
        if (jpy_check(jn_eager(JN_OP(detach), &arg, 1, NULL, &t, 1)) < 0)
            return NULL;
    } else {
        t = T(self);
        if (jpy_check(jn_tensor_view(t, t->rank, t->dims, t->strides, 0, &t)) < 0)
            return NULL;
    }
    PyObject *o = jpy_tensor_take(t);
    if (o)
        ((jpy_tensor *)o)->no_version = ((jpy_tensor *)self)->no_version;
    return o;
}
static PyObject *detach_(PyObject *self, PyObject *unused) {
    (void)unused;
    jpy_tensor *t = (jpy_tensor *)self;
    if (t->base) {
        PyErr_SetString(PyExc_RuntimeError, "Can't detach views in-place. Use detach() instead.");
        return NULL;
    }
    jpy_node_release(t->node);
    t->node = NULL;
    t->requires_grad = false;
    t->epoch++;
    return Py_NewRef(self);
}
static PyObject *may_write(PyObject *self, PyObject *unused) {
    (void)unused;
    return jpy_inplace_may((jpy_tensor *)self) < 0 ? NULL : Py_NewRef(Py_None);
}
static PyObject *become(PyObject *self, PyObject *view) {
    if (!jpy_tensor_check(view) || T(view)->storage != T(self)->storage) {
        PyErr_SetString(PyExc_TypeError, "_become(): argument must be a view of this tensor");
        return NULL;
    }
    return jpy_inplace_reshape((jpy_tensor *)self, (jpy_tensor *)view) < 0 ? NULL : Py_NewRef(self);
}
static PyObject *requires_grad_(PyObject *self, PyObject *const *args, Py_ssize_t n,
                                PyObject *names) {
    PyObject *on = n > 0 || (names && PyTuple_GET_SIZE(names) == 1) ? args[0] : Py_True;
    return jpy_set_requires_grad(self, on, NULL) < 0 ? NULL : Py_NewRef(self);
}

/* ---- writing
 * ---------------------------------------------------------------------------------------------- */

static PyObject *copy_(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    if (n < 1 || n > 2) {
        PyErr_SetString(PyExc_TypeError, "copy_(src, non_blocking=False)");
        return NULL;
    }
    return jpy_copy_into((jpy_tensor *)self, args[0], false) < 0 ? NULL : Py_NewRef(self);
}
static PyObject *fill_(PyObject *self, PyObject *value) {
    if (jpy_tensor_check(value) && ((jpy_tensor *)value)->t->rank) {
        PyErr_Format(PyExc_RuntimeError,
                     "fill_ only supports 0-dimension value tensor but got tensor with %d "
                     "dimensions.",
                     (int)((jpy_tensor *)value)->t->rank);
        return NULL;
    }
    return jpy_copy_into((jpy_tensor *)self, value, false) < 0 ? NULL : Py_NewRef(self);
}
static PyObject *zero_(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *zero = PyLong_FromLong(0);
    PyObject *result = zero ? fill_(self, zero) : NULL;
    Py_XDECREF(zero);
    return result;
}
/* _index_put(indices, axes, src, accumulate) in place */
static PyObject *index_put(PyObject *self, PyObject *args) {
    PyObject *indices, *src;
    int accumulate = 0;
    if (!PyArg_ParseTuple(args, "O!O|p:_index_put", &PyTuple_Type, &indices, &src, &accumulate))
        return NULL;
    int64_t axes[JN_MAX_RANK];
    PyObject *index[JN_MAX_RANK];
    unsigned n = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(indices) && i < JN_MAX_RANK; i++)
        if (PyTuple_GET_ITEM(indices, i) != Py_None) {
            axes[n] = i;
            index[n++] = PyTuple_GET_ITEM(indices, i);
        }
    if (jpy_index_put(self, src, index, axes, n, accumulate != 0) < 0)
        return NULL;
    return Py_NewRef(self);
}

static PyObject *as_strided_(PyObject *self, PyObject *args) {
    PyObject *sizes, *strides;
    long long offset = 0;
    jpy_bound b;
    janus_ints d = {NULL, 0}, s = {NULL, 0};
    b.n_ints = 0;
    if (!PyArg_ParseTuple(args, "OO|L:as_strided", &sizes, &strides, &offset) ||
        jpy_ints_arg(&b, sizes, &d) < 0 || jpy_ints_arg(&b, strides, &s) < 0)
        return NULL;
    if (jpy_tensor_tracked((jpy_tensor *)self) && jpy_grad_enabled()) {
        PyErr_SetString(PyExc_NotImplementedError, "as_strided() of a tensor that requires grad");
        return NULL;
    }
    janus_tensor *t = T(self), *y;
    int64_t size = (int64_t)jn_dtype_size((janus_dtype)t->dtype), last = offset;
    bool ok = d.n == s.n && d.n <= JN_MAX_RANK && offset >= 0;
    bool empty = false;
    for (size_t i = 0; ok && i < d.n; i++) {
        ok = d.data[i] >= 0 && s.data[i] >= 0;
        empty = empty || d.data[i] == 0;
        int64_t way;
        ok = ok && (d.data[i] == 0 || (!__builtin_mul_overflow(d.data[i] - 1, s.data[i], &way) &&
                                       !__builtin_add_overflow(last, way, &last)));
    }
    if (!ok || (!empty && last >= (int64_t)t->storage->bytes / size)) {
        PyErr_SetString(PyExc_RuntimeError, "as_strided(): out of the storage's bounds");
        return NULL;
    }
    if (jpy_check(jn_tensor_view(t, (int)d.n, d.data, s.data, offset - jn_tensor_offset(t), &y)) <
        0)
        return NULL;
    return jpy_tensor_take_view(y, NULL, 0, (jpy_tensor *)self);
}

#define FAST(f) ((PyCFunction)(void *)(f)), METH_FASTCALL
#define FASTKW(f) ((PyCFunction)(void *)(f)), METH_FASTCALL | METH_KEYWORDS

PyMethodDef jpy_tensor_methods[] = {
    {"item", item, METH_NOARGS, "The element of a one-element tensor as a Python number."},
    {"tolist", tolist, METH_NOARGS, "Nested lists of Python numbers."},
    {"size", FASTKW(size), "size(dim=None): all sizes, or one."},
    {"stride", FASTKW(stride), "stride(dim=None): elements from one to the next along a dim."},
    {"numel", numel, METH_NOARGS, "Number of elements."},
    {"nelement", numel, METH_NOARGS, "Number of elements."},
    {"dim", dim, METH_NOARGS, "Number of dims."},
    {"ndimension", dim, METH_NOARGS, "Number of dims."},
    {"element_size", element_size, METH_NOARGS, "Bytes of an element."},
    {"data_ptr", data_ptr, METH_NOARGS, "Address of the first element."},
    {"storage_offset", storage_offset, METH_NOARGS, "Elements before the first in the storage."},
    {"is_contiguous", is_contiguous, METH_NOARGS, "Whether row-major without gaps."},
    {"is_floating_point", is_floating_point, METH_NOARGS, "Whether elements are floats."},
    {"_shares_storage", shares_storage, METH_O, "Whether two tensors share memory."},
    {"detach", detach, METH_NOARGS, "The same memory without history."},
    {"detach_", detach_, METH_NOARGS, "Forgets the history."},
    {"_may_write", may_write, METH_NOARGS, NULL},
    {"_become", become, METH_O, NULL},
    {"requires_grad_", FASTKW(requires_grad_), "requires_grad_(requires_grad=True)"},
    {"retain_grad", jpy_retain_grad, METH_NOARGS, "Keeps .grad though it is no leaf."},
    {"copy_", FAST(copy_), "copy_(src): takes over src's elements."},
    {"fill_", fill_, METH_O, "fill_(value)"},
    {"zero_", zero_, METH_NOARGS, "Sets every element to zero."},
    {"_index_put", index_put, METH_VARARGS, NULL},
    {"as_strided", as_strided_, METH_VARARGS, "as_strided(size, stride, storage_offset=0)"},
    {"_numpy", jpy_numpy, METH_NOARGS, "A memoryview that shares the memory."},
    {"__dlpack__", (PyCFunction)(void *)jpy_dlpack, METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack_device__", jpy_dlpack_device, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
