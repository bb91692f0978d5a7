/* SPDX-License-Identifier: Apache-2.0 */
/* Python numbers as scalars, elements and 0-d tensors. */
#include "config.h"

#include "pyfront/tensor/object.h"

#include <float.h>
#include <math.h>

#include "ops/ref/ref.h"

int jpy_scalar_of(PyObject *o, janus_kind *kind, janus_scalar *out) {
    if (PyFloat_Check(o)) {
        *kind = JANUS_KIND_FLOAT;
        out->f = PyFloat_AS_DOUBLE(o);
        return 1;
    }
    if (PyBool_Check(o)) {
        *kind = JANUS_KIND_BOOL;
        out->i = o == Py_True;
        return 1;
    }
    if (PyLong_Check(o)) {
        *kind = JANUS_KIND_INT;
        out->i = PyLong_AsLongLong(o);
        if (out->i == -1 && PyErr_Occurred()) {
            PyErr_SetString(PyExc_RuntimeError, "value cannot be converted to type int64 without "
                                                "overflow");
            return -1;
        }
        return 1;
    }
    if (jpy_tensor_check(o) || PyUnicode_Check(o) || PySequence_Check(o))
        return 0;
    PyNumberMethods *nb = Py_TYPE(o)->tp_as_number;
    if (nb && nb->nb_index) { /* NumPy's integers */
        PyObject *n = PyNumber_Index(o);
        if (!n)
            return -1;
        int rc = jpy_scalar_of(n, kind, out);
        Py_DECREF(n);
        return rc;
    }
    if (nb && nb->nb_float) {
        *kind = JANUS_KIND_FLOAT;
        out->f = PyFloat_AsDouble(o);
        return out->f == -1.0 && PyErr_Occurred() ? -1 : 1;
    }
    return 0;
}

bool jpy_scalar_fits(janus_dtype dtype, janus_kind kind, janus_scalar v) {
    static const double largest[JANUS_DTYPE_COUNT] = {
        [JANUS_F16] = 65504.0, [JANUS_F32] = FLT_MAX, [JANUS_BF16] = 3.3895313892515355e38};
    if (kind == JANUS_KIND_BOOL || dtype == JANUS_BOOL || dtype == JANUS_F64)
        return true;
    double f = kind == JANUS_KIND_FLOAT ? v.f : (double)v.i;
    if (jn_dtype_is_float(dtype)) {
        return isnan(f) || isinf(f) || fabs(f) <= largest[dtype];
    }
    if (kind == JANUS_KIND_FLOAT) {
        if (!(f > -9223372036854777856.0 && f < 9223372036854775808.0))
            return false;
        v.i = (int64_t)f;
    }
    return dtype == JANUS_I32  ? v.i >= INT32_MIN && v.i <= INT32_MAX
           : dtype == JANUS_U8 ? v.i >= -255 && v.i <= 255 /* a negative one counts from 256 */
                               : true;
}

int jpy_scalar_check(janus_dtype dtype, janus_kind kind, janus_scalar v) {
    if (jpy_scalar_fits(dtype, kind, v))
        return 0;
    PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow",
                 jn_dtype_name(dtype));
    return -1;
}

bool jpy_scalar_store(janus_dtype dtype, janus_kind kind, janus_scalar v, void *to) {
    double f = kind == JANUS_KIND_FLOAT ? v.f : (double)v.i;
    switch (dtype) {
    case JANUS_F32:
        *(float *)to = (float)f;
        return !isinf(*(float *)to) || isinf(f);
    case JANUS_F64:
        *(double *)to = f;
        return true;
    case JANUS_BOOL:
        *(bool *)to = kind == JANUS_KIND_FLOAT ? v.f != 0 : v.i != 0;
        return true;
    case JANUS_F16:
        *(uint16_t *)to = jn_float_to_half(f);
        return (double)jn_half_to_float(*(uint16_t *)to) == f || isnan(f);
    case JANUS_BF16:
        *(uint16_t *)to = jn_float_to_bfloat(f);
        return (double)jn_bfloat_to_float(*(uint16_t *)to) == f || isnan(f);
    default:
        break;
    }
    bool fits = jpy_scalar_fits(dtype, kind, v);
    int64_t i = kind != JANUS_KIND_FLOAT ? v.i : fits ? (int64_t)v.f : INT64_MIN;
    switch (dtype) {
    case JANUS_I32:
        *(int32_t *)to = (int32_t)i;
        return fits;
    case JANUS_I64:
        *(int64_t *)to = i;
        return fits;
    case JANUS_U8:
        *(uint8_t *)to = (uint8_t)i;
        return fits;
    default:
        return false;
    }
}

int jpy_scalar_tensor(janus_dtype dtype, janus_kind kind, janus_scalar v, janus_tensor **out) {
    janus_tensor *t;
    if (jpy_check(jn_tensor_empty(dtype, 0, NULL, &t)) < 0)
        return -1;
    (void)jpy_scalar_store(dtype, kind, v, jn_tensor_ready_data(t));
    *out = t;
    return 0;
}
