/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DLPack both ways: memory shared with any array library, through a capsule.
 *
 * The structures are those of the DLPack standard (version 0.x layout, which consumers of every
 * version accept).
 */
#include "config.h"

#include <string.h>

#include "pyfront/tensor/buffers.h"
#include "pyfront/tensor/device.h"

typedef struct dl_device {
    int32_t type, id;
} dl_device;
typedef struct dl_dtype {
    uint8_t code, bits;
    uint16_t lanes;
} dl_dtype;
typedef struct dl_tensor {
    void *data;
    dl_device device;
    int32_t ndim;
    dl_dtype dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;
typedef struct dl_managed {
    dl_tensor t;
    void *manager_ctx;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

enum { DL_CPU = 1, DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };

static const dl_dtype dtypes[JANUS_DTYPE_COUNT] = {
    [JANUS_F32] = {DL_FLOAT, 32, 1}, [JANUS_F64] = {DL_FLOAT, 64, 1},
    [JANUS_I32] = {DL_INT, 32, 1},   [JANUS_I64] = {DL_INT, 64, 1},
    [JANUS_BOOL] = {DL_BOOL, 8, 1},  [JANUS_U8] = {DL_UINT, 8, 1},
    [JANUS_F16] = {DL_FLOAT, 16, 1}, [JANUS_BF16] = {DL_BFLOAT, 16, 1}};

typedef struct exported {
    dl_managed m;
    int64_t dims[2 * JN_MAX_RANK];
} exported;

static void exported_delete(dl_managed *m) {
    janus_tensor_release(m->manager_ctx);
    PyMem_RawFree(m);
}

static void capsule_free(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor"))
        return; /* taken over by a consumer */
    dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
    if (m && m->deleter)
        m->deleter(m);
}

PyObject *jpy_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
    (void)args;
    (void)kwargs; /* stream, max_version, ...: there is nothing to choose */
    jpy_tensor *o = (jpy_tensor *)self;
    if (o->t->storage->device) {
        PyErr_SetString(PyExc_BufferError, "Can't export tensors of cuda: use tensor.cpu()");
        return NULL;
    }
    if (jpy_tensor_tracked(o)) {
        PyErr_SetString(PyExc_BufferError, "Can't export tensors that require gradient, use "
                                           "tensor.detach()");
        return NULL;
    }
    janus_tensor *t = o->t;
    char *data;
    if (jpy_tensor_data(t, &data) < 0)
        return NULL;
    exported *e = PyMem_RawCalloc(1, sizeof *e);
    if (!e)
        return PyErr_NoMemory();
    jn_storage_export(t->storage);
    memcpy(e->dims, t->dims, (size_t)t->rank * sizeof(int64_t));
    memcpy(e->dims + JN_MAX_RANK, t->strides, (size_t)t->rank * sizeof(int64_t));
    e->m.t = (dl_tensor){.data = data,
                         .device = {DL_CPU, 0},
                         .ndim = t->rank,
                         .dtype = dtypes[t->dtype],
                         .shape = e->dims,
                         .strides = e->dims + JN_MAX_RANK};
    janus_tensor_retain(t);
    e->m.manager_ctx = t;
    e->m.deleter = exported_delete;
    PyObject *capsule = PyCapsule_New(&e->m, "dltensor", capsule_free);
    if (!capsule)
        exported_delete(&e->m);
    return capsule;
}

PyObject *jpy_dlpack_device(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    return Py_BuildValue("ii", (int)DL_CPU, 0);
}

static void imported_release(void *user) {
    dl_managed *m = user;
    if (!m->deleter)
        return;
    PyGILState_STATE s = PyGILState_Ensure();
    m->deleter(m);
    PyGILState_Release(s);
}

PyObject *jpy_from_dlpack(PyObject *module, PyObject *o) {
    (void)module;
    PyObject *capsule =
        PyCapsule_CheckExact(o) ? Py_NewRef(o) : PyObject_CallMethod(o, "__dlpack__", NULL);
    if (!capsule)
        return NULL;
    PyObject *result = NULL;
    dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
    if (m) {
        int d = 0;
        while (d < JANUS_DTYPE_COUNT && memcmp(&dtypes[d], &m->t.dtype, sizeof dtypes[d]))
            d++;
        janus_tensor *t;
        if (m->t.device.type != DL_CPU || d == JANUS_DTYPE_COUNT || m->t.ndim > JN_MAX_RANK)
            PyErr_SetString(PyExc_BufferError,
                            "from_dlpack: this device or dtype is not supported");
        else if (jpy_check(janus_tensor_wrap((janus_dtype)d, m->t.ndim, m->t.shape, m->t.strides,
                                             (char *)m->t.data + m->t.byte_offset, imported_release,
                                             m, &t)) == 0) {
            PyCapsule_SetName(capsule, "used_dltensor");
            result = jpy_tensor_take(t);
        }
    }
    Py_DECREF(capsule);
    return result;
}
