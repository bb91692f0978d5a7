/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of tensors as Python numbers, and lists of them. */
#include "config.h"

#include "pyfront/tape/tape.h"
#include "pyfront/tensor/device.h"

static float half_value(uint16_t h) {
    uint32_t sign = (uint32_t)(h >> 15) << 31, e = h >> 10 & 31, m = h & 1023;
    union {
        uint32_t u;
        float f;
    } x;
    if (e == 31)
        x.u = sign | 0x7F800000u | m << 13;
    else if (e)
        x.u = sign | (e + 112) << 23 | m << 13;
    else {
        x.f = (float)m * 0x1p-24f;
        x.u |= sign;
    }
    return x.f;
}

static PyObject *element(janus_dtype dtype, const void *p) {
    union {
        uint32_t u;
        float f;
    } b;
    switch (dtype) {
    case JANUS_F32:
        return PyFloat_FromDouble((double)*(const float *)p);
    case JANUS_F64:
        return PyFloat_FromDouble(*(const double *)p);
    case JANUS_I32:
        return PyLong_FromLong(*(const int32_t *)p);
    case JANUS_I64:
        return PyLong_FromLongLong(*(const int64_t *)p);
    case JANUS_BOOL:
        return PyBool_FromLong(*(const uint8_t *)p);
    case JANUS_U8:
        return PyLong_FromLong(*(const uint8_t *)p);
    case JANUS_F16:
        return PyFloat_FromDouble((double)half_value(*(const uint16_t *)p));
    default:
        b.u = (uint32_t) * (const uint16_t *)p << 16;
        return PyFloat_FromDouble((double)b.f);
    }
}

PyObject *jpy_tensor_item(janus_tensor *t) {
    if (t->numel != 1) {
        PyErr_Format(PyExc_RuntimeError,
                     "a Tensor with %lld elements cannot be converted to Scalar",
                     (long long)t->numel);
        return NULL;
    }
    char *data;
    if (JN_LIKELY(t->storage->state == JN_STORAGE_READY && !t->storage->device))
        return element((janus_dtype)t->dtype, jn_tensor_ready_data(t));
    janus_tensor *here;
    if (jpy_tensor_here(t, &here) < 0)
        return NULL;
    PyObject *o = jpy_check(jpy_settle(here)) < 0 || jpy_tensor_data(here, &data) < 0
                      ? NULL
                      : element((janus_dtype)here->dtype, data);
    janus_tensor_release(here);
    return o;
}

static PyObject *list_of(janus_tensor *t, int axis, const char *p) {
    if (axis == t->rank)
        return element((janus_dtype)t->dtype, p);
    int64_t n = t->dims[axis],
            step = n > 1 ? t->strides[axis] * (int64_t)jn_dtype_size((janus_dtype)t->dtype) : 0;
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (int64_t i = 0; list && i < n; i++) {
        PyObject *o = list_of(t, axis + 1, p + i * step);
        if (!o)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, o);
    }
    return list;
}
PyObject *jpy_tensor_list(janus_tensor *t) {
    janus_tensor *here;
    if (jpy_tensor_here(t, &here) < 0)
        return NULL;
    char *data;
    PyObject *list = jpy_check(jpy_settle(here)) < 0 || jpy_tensor_data(here, &data) < 0
                         ? NULL
                         : list_of(here, 0, data);
    janus_tensor_release(here);
    return list;
}
