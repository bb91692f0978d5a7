/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data in and out: nested sequences, the buffer protocol, memory shared with other libraries.
 *
 * Sharing keeps both sides alive: a buffer view holds its tensor, and a tensor over foreign memory
 * holds the exporter's object until its storage dies (which may be on a thread without the lock).
 */
#include "config.h"

#include <string.h>

#include "pyfront/tensor/buffers.h"
#include "pyfront/tensor/device.h"

/* ---- out: the buffer protocol
 * --------------------------------------------------------------------------- */

static const char *const formats[JANUS_DTYPE_COUNT] = {"f", "d", "i", "q", "?", "B", "e", "H"};

typedef struct export {
    Py_ssize_t shape[JN_MAX_RANK], strides[JN_MAX_RANK];
    janus_tensor *t; /* owned: `.data =` must not pull the memory away */
}
export;

int jpy_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    janus_tensor *t = ((jpy_tensor *)self)->t;
    if (t->storage->device) {
        PyErr_SetString(PyExc_TypeError, "can't convert cuda:0 device type tensor to host memory "
                                         "implicitly: use Tensor.cpu() first");
        return -1;
    }
    if (!jn_eager_hook && jpy_tensor_tracked((jpy_tensor *)self)) {
        PyErr_SetString(PyExc_RuntimeError, "Can't call numpy() on Tensor that requires grad. Use "
                                            "tensor.detach().numpy() instead.");
        return -1;
    }
    if (!t->contiguous && !(flags & PyBUF_STRIDES)) {
        PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous");
        return -1;
    }
    char *data;
    if (jpy_tensor_data(t, &data) < 0)
        return -1;
    export *e = PyMem_Malloc(sizeof *e);
    if (!e) {
        PyErr_NoMemory();
        return -1;
    }
    jn_storage_export(t->storage);
    Py_ssize_t size = (Py_ssize_t)jn_dtype_size((janus_dtype)t->dtype);
    for (int i = 0; i < t->rank; i++) {
        e->shape[i] = (Py_ssize_t)t->dims[i];
        /* that of a size 1 may be anything */
        e->strides[i] = (Py_ssize_t)((uint64_t)t->strides[i] * (uint64_t)size);
    }
    e->t = t;
    janus_tensor_retain(t);
    view->obj = Py_NewRef(self);
    view->buf = data;
    view->len = (Py_ssize_t)t->numel * size;
    view->itemsize = size;
    view->readonly = 0;
    view->ndim = t->rank;
    view->format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)formats[t->dtype] : NULL;
    view->shape = flags & PyBUF_ND ? e->shape : NULL;
    view->strides = flags & PyBUF_STRIDES ? e->strides : NULL;
    view->suboffsets = NULL;
    view->internal = e;
    return 0;
}

void jpy_releasebuffer(PyObject *self, Py_buffer *view) {
    (void)self;
    export *e = view->internal;
    janus_tensor_release(e->t);
    PyMem_Free(e);
}

PyObject *jpy_numpy(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyMemoryView_FromObject(self);
}

/* ---- in: shared memory
 * ------------------------------------------------------------------------------------ */

typedef struct import {
    Py_buffer view;
} import;

static void import_release(void *user) {
    import *m = user;
    PyGILState_STATE s = PyGILState_Ensure();
    PyBuffer_Release(&m->view);
    PyMem_Free(m);
    PyGILState_Release(s);
}

static int format_dtype(const Py_buffer *v, janus_dtype *out) {
    const char *f = v->format ? v->format : "B";
    if (*f == '@' || *f == '=' || *f == '<')
        f++;
    if (f[0] && !f[1]) {
        switch (*f) {
        case 'f':
            *out = JANUS_F32;
            return 0;
        case 'd':
            *out = JANUS_F64;
            return 0;
        case 'e':
            *out = JANUS_F16;
            return 0;
        case '?':
            *out = JANUS_BOOL;
            return 0;
        case 'B':
            *out = JANUS_U8;
            return 0;
        case 'i':
        case 'l':
        case 'q':
        case 'n':
            if (v->itemsize == 4 || v->itemsize == 8) {
                *out = v->itemsize == 4 ? JANUS_I32 : JANUS_I64;
                return 0;
            }
        }
    }
    PyErr_Format(PyExc_TypeError, "can't convert elements of format '%s' to a janus dtype", f);
    return -1;
}

/* Tensor over the memory of a buffer exporter; `copy`: a tensor of its own. */
static int from_buffer(PyObject *o, bool copy, janus_tensor **out) {
    import *m = PyMem_Calloc(1, sizeof *m);
    if (!m) {
        PyErr_NoMemory();
        return -1;
    }
    if (PyObject_GetBuffer(o, &m->view, PyBUF_FULL_RO) < 0) {
        PyMem_Free(m);
        return -1;
    }
    janus_dtype dtype;
    int64_t dims[JN_MAX_RANK], strides[JN_MAX_RANK];
    int rc = format_dtype(&m->view, &dtype);
    Py_ssize_t size = m->view.itemsize;
    if (rc == 0 && (m->view.ndim > JN_MAX_RANK || m->view.suboffsets)) {
        PyErr_SetString(PyExc_ValueError, "the array has too many dims or is indirect");
        rc = -1;
    }
    for (int i = 0; rc == 0 && i < m->view.ndim; i++) {
        dims[i] = m->view.shape[i];
        strides[i] = m->view.strides[i] / size;
        if (m->view.strides[i] % size || (m->view.strides[i] < 0 && !copy)) {
            PyErr_SetString(PyExc_ValueError, "arrays with negative or odd strides are not "
                                              "supported: copy() the array first");
            rc = -1;
        }
    }
    janus_tensor *t = NULL;
    if (rc == 0)
        rc = jpy_check(janus_tensor_wrap(dtype, m->view.ndim, dims, strides, m->view.buf,
                                         import_release, m, &t));
    if (rc < 0) {
        PyBuffer_Release(&m->view);
        PyMem_Free(m);
        return -1;
    }
    if (copy) {
        janus_tensor *own;
        rc = jpy_check(jn_tensor_empty(dtype, t->rank, t->dims, &own));
        if (rc == 0)
            rc = jpy_check(jn_tensor_copy(own, t));
        janus_tensor_release(t);
        t = own;
    }
    *out = t;
    return rc;
}

PyObject *jpy_from_buffer(PyObject *module, PyObject *o) {
    janus_tensor *t;
    (void)module;
    return from_buffer(o, false, &t) < 0 ? NULL : jpy_tensor_take(t);
}

/* ---- in: nested sequences
 * ---------------------------------------------------------------------------------- */

typedef struct shape {
    int rank;
    int64_t dims[JN_MAX_RANK];
    int category; /* 0 bool, 1 int, 2 float; -1 nothing seen */
    janus_dtype widest;
    bool has_tensor;
} shape;

static int note(shape *s, int category, janus_dtype d) {
    if (category > s->category) {
        s->category = category;
        s->widest = d;
    } else if (category == s->category && d == JANUS_F64 && s->has_tensor) {
        s->widest = d;
    }
    return 0;
}

static int is_array(PyObject *o) {
    return !jpy_tensor_check(o) && !PyBytes_Check(o) && PyObject_CheckBuffer(o);
}

/* Shape and kind of data, found by walking it. */
static int measure(shape *s, PyObject *o, int depth) {
    janus_kind kind;
    janus_scalar v;
    if (jpy_tensor_check(o) || is_array(o)) {
        janus_tensor *t, *own = NULL;
        if (jpy_tensor_check(o))
            t = ((jpy_tensor *)o)->t;
        else if (from_buffer(o, true, &own) < 0)
            return -1;
        else
            t = own;
        int cat = t->dtype == JANUS_BOOL ? 0 : jn_dtype_is_int(t->dtype) ? 1 : 2;
        s->has_tensor = true;
        note(s, cat, (janus_dtype)t->dtype);
        for (int i = 0; i < t->rank && depth < JN_MAX_RANK; i++)
            s->dims[depth++] = t->dims[i];
        janus_tensor_release(own);
        s->rank = depth;
        return 0;
    }
    int rc = jpy_scalar_of(o, &kind, &v);
    if (rc < 0)
        return -1;
    if (rc > 0) {
        s->rank = depth;
        return kind == JANUS_KIND_BOOL  ? note(s, 0, JANUS_BOOL)
               : kind == JANUS_KIND_INT ? note(s, 1, JANUS_I64)
                                        : note(s, 2, JANUS_F32);
    }
    if (PyUnicode_Check(o) || !PySequence_Check(o) || depth == JN_MAX_RANK) {
        PyErr_Format(PyExc_TypeError, "can't make a tensor of %s", Py_TYPE(o)->tp_name);
        return -1;
    }
    PyObject *seq = PySequence_Fast(o, "expected a sequence");
    if (!seq)
        return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(seq);
    s->dims[depth] = n;
    s->rank = depth + 1;
    for (Py_ssize_t i = 0; rc == 0 && i < n; i++) {
        shape inner = *s;
        rc = measure(&inner, PySequence_Fast_GET_ITEM(seq, i), depth + 1);
        if (rc == 0 && i > 0 &&
            (inner.rank != s->rank || memcmp(inner.dims + depth + 1, s->dims + depth + 1,
                                             (size_t)(s->rank - depth - 1) * sizeof(int64_t)))) {
            PyErr_Format(PyExc_ValueError, "expected sequences of equal shape at dim %d",
                         depth + 1);
            rc = -1;
        }
        *s = inner;
    }
    Py_DECREF(seq);
    return rc;
}

static int store(janus_dtype d, char *p, janus_kind kind, janus_scalar v) {
    if (!jn_dtype_is_float(d) && jpy_scalar_check(d, kind, v) < 0)
        return -1;
    double f = kind == JANUS_KIND_FLOAT ? v.f : (double)v.i;
    int64_t i = kind != JANUS_KIND_FLOAT ? v.i : jn_dtype_is_int(d) ? (int64_t)v.f : 0;
    switch (d) {
    case JANUS_F32:
        *(float *)(void *)p = (float)f;
        break;
    case JANUS_F64:
        *(double *)(void *)p = f;
        break;
    case JANUS_I32:
        *(int32_t *)(void *)p = (int32_t)i;
        break;
    case JANUS_I64:
        *(int64_t *)(void *)p = i;
        break;
    case JANUS_BOOL:
        *p = kind == JANUS_KIND_FLOAT ? v.f != 0 : v.i != 0;
        break;
    default:
        *(uint8_t *)p = (uint8_t)i;
    }
    return 0;
}

/* Elements of o to t, from the one at `at` on, which it leaves behind the last. */
static int fill(janus_tensor *t, int64_t *at, PyObject *o) {
    janus_kind kind;
    janus_scalar v;
    size_t size = jn_dtype_size((janus_dtype)t->dtype);
    if (jpy_tensor_check(o) || is_array(o)) {
        janus_tensor *src, *own = NULL, *part;
        if (jpy_tensor_check(o))
            src = ((jpy_tensor *)o)->t;
        else if (from_buffer(o, true, &own) < 0)
            return -1;
        else
            src = own;
        int64_t strides[JN_MAX_RANK], step = 1;
        for (int i = src->rank - 1; i >= 0; i--) {
            strides[i] = step;
            step *= src->dims[i];
        }
        int rc = jpy_check(jn_tensor_view(t, src->rank, src->dims, strides, *at, &part));
        if (rc == 0) {
            rc = jpy_check(jn_tensor_copy(part, src));
            janus_tensor_release(part);
        }
        *at += src->numel;
        janus_tensor_release(own);
        return rc;
    }
    int rc = jpy_scalar_of(o, &kind, &v);
    if (rc < 0)
        return -1;
    if (rc > 0) {
        char *to = jn_tensor_ready_data(t) + *at * (int64_t)size;
        ++*at;
        return store((janus_dtype)t->dtype, to, kind, v);
    }
    PyObject *seq = PySequence_Fast(o, "expected a sequence");
    if (!seq)
        return -1;
    for (Py_ssize_t i = 0; rc == 0 && i < PySequence_Fast_GET_SIZE(seq); i++)
        rc = fill(t, at, PySequence_Fast_GET_ITEM(seq, i));
    Py_DECREF(seq);
    return rc;
}

int jpy_tensor_from_object(PyObject *o, bool has_dtype, janus_dtype dtype, janus_tensor **out) {
    shape s = {.category = -1, .widest = JANUS_F32};
    if (measure(&s, o, 0) < 0)
        return -1;
    if (!has_dtype)
        dtype = s.widest;
    janus_dtype made = dtype == JANUS_F16 || dtype == JANUS_BF16 ? JANUS_F32 : dtype;
    janus_tensor *t;
    if (jpy_check(jn_tensor_empty(made, s.rank, s.dims, &t)) < 0)
        return -1;
    int64_t at = 0;
    int rc = fill(t, &at, o);
    if (rc == 0 && made != dtype) {
        janus_tensor *half;
        rc = jpy_check(jn_tensor_cast(t, dtype, &half));
        if (rc == 0) {
            janus_tensor_release(t);
            t = half;
        }
    }
    if (rc < 0) {
        janus_tensor_release(t);
        return -1;
    }
    *out = t;
    return 0;
}
