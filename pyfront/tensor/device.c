/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices in Python.  A move is a node of the tape of its own: its gradient moves back.  The
 * package's janus.cuda is made of the functions at the end.
 */
#include "config.h"

#include "pyfront/tensor/device.h"

#include <string.h>

#include "exec/device/device.h"
#include "pyfront/tape/tape.h"

jn_device *jpy_default_device;
_Thread_local jpy_graph_place jpy_graph_on;

bool jpy_graph_meets(jn_device *d) {
    if (jpy_graph_on.known && jpy_graph_on.device != d) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a graph runs on one device: its tensors would be on two");
        return false;
    }
    jpy_graph_on = (jpy_graph_place){true, d};
    return true;
}

int jpy_device_parse(PyObject *o, jn_device **out) {
    if (!o || o == Py_None)
        return 0;
    if (o == jpy.cpu) {
        *out = NULL;
        return 0;
    }
    PyObject *d = PyObject_CallOneArg((PyObject *)jpy.device_type, o);
    PyObject *text = d ? PyObject_Str(d) : NULL;
    const char *name = text ? PyUnicode_AsUTF8(text) : NULL;
    int rc = -1;
    if (name && strncmp(name, "cpu", 3) == 0) {
        *out = NULL;
        rc = 0;
    } else if (name && jn_device_named(name, out) == JANUS_OK) {
        rc = 0;
    } else if (name) {
        PyErr_Format(PyExc_RuntimeError, "device %s is not available: %s", name,
                     janus_last_error()->message);
    }
    Py_XDECREF(text);
    Py_XDECREF(d);
    return rc;
}

PyObject *jpy_device_of(const janus_tensor *t) {
    bool stands = t->storage->state == JN_STORAGE_PROXY; /* for a tensor of the graph */
    if (!(stands ? jpy_graph_on.device : t->storage->device))
        return Py_NewRef(jpy.cpu);
    return PyObject_CallFunction((PyObject *)jpy.device_type, "si", "cuda", 0);
}

int jpy_tensor_here(janus_tensor *t, janus_tensor **out) {
    if (t->storage->device)
        return jpy_check(jn_tensor_to(t, NULL, false, out));
    janus_tensor_retain(t);
    *out = t;
    return 0;
}

int jpy_tensor_data(janus_tensor *t, char **out) {
    *out = NULL;
    return jpy_check(jn_tensor_data(t, out));
}

int jpy_tensor_zeros(const jn_type *type, const janus_tensor *like, janus_tensor **out) {
    jn_device *d = like ? like->storage->device : NULL;
    size_t bytes;
    if (!d) {
        if (jpy_check(jn_tensor_empty((janus_dtype)type->dtype, type->rank, type->dims, out)) < 0)
            return -1;
        bytes = (size_t)(*out)->numel * jn_dtype_size((janus_dtype)type->dtype);
        if (bytes)
            memset(jn_tensor_ready_data(*out), 0, bytes);
        return 0;
    }
    if (jpy_check(jn_dev_tensor(d, (janus_dtype)type->dtype, type->rank, type->dims, out)) < 0)
        return -1;
    bytes = (size_t)(*out)->numel * jn_dtype_size((janus_dtype)type->dtype);
    if (jpy_check(jn_dev_zero(d, jn_tensor_ready_data(*out), bytes)) == 0)
        return 0;
    janus_tensor_release(*out);
    return -1;
}

/* ---- moving -------------------------------------------------------------------------------------
 */

typedef struct move {
    jn_device *from;
} move;

static jpy_node *move_node(jn_device *from, jpy_edge edge);

static int move_backward(jpy_node *n, const jpy_val *dout, const bool *want, jpy_val *din,
                         bool create_graph) {
    const move *m = jpy_node_data(n);
    janus_tensor *t;
    if (!want[0])
        return 0;
    if (jpy_check(jn_tensor_to(dout[0].t, m->from, false, &t)) < 0)
        return -1;
    jpy_node *node = NULL;
    if (create_graph && jpy_edge_tracked(dout[0].edge)) {
        node = move_node(dout[0].t->storage->device, dout[0].edge);
        if (!node) {
            janus_tensor_release(t);
            return -1;
        }
    }
    din[0] = jpy_val_tensor(t, (jpy_edge){node, NULL, 0});
    return 0;
}

static const jpy_node_class move_class = {"ToCopy", move_backward, NULL, NULL, NULL, false};

static jpy_node *move_node(jn_device *from, jpy_edge edge) {
    jpy_node *node = jpy_node_new(&move_class, 1, 1, &edge, sizeof(move));
    if (node)
        ((move *)jpy_node_data(node))->from = from;
    return node;
}

PyObject *jpy_tensor_move(jpy_tensor *t, jn_device *to, bool copy, bool non_blocking) {
    jn_device *from = t->t->storage->device;
    if (from == to && !copy)
        return Py_NewRef((PyObject *)t);
    janus_tensor *moved;
    if (jpy_check(jn_tensor_send(t->t, to, copy, non_blocking, &moved)) < 0)
        return NULL;
    jpy_edge edge = {0};
    jpy_node *node = NULL;
    if (!jpy_no_grad_mode && jpy_tensor_tracked(t) &&
        (jpy_tensor_edge(t, &edge) < 0 || !(node = move_node(from, edge)))) {
        janus_tensor_release(moved);
        return NULL;
    }
    PyObject *result = node ? jpy_tensor_take_node(moved, node, 0) : jpy_tensor_take(moved);
    jpy_node_release(node);
    return result;
}

/* ---- janus.cuda
 * ----------------------------------------------------------------------------------
 */

static PyObject *cuda_reason(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    jn_device *d;
    if (jn_device_cuda(&d) == JANUS_OK)
        Py_RETURN_NONE;
    return PyUnicode_FromString(janus_last_error()->message);
}

static jn_device *cuda_device(void) {
    jn_device *d = NULL;
    if (jn_device_cuda(&d) != JANUS_OK)
        PyErr_SetString(PyExc_RuntimeError, janus_last_error()->message);
    return d;
}

static PyObject *cuda_info(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    jn_device *d = cuda_device();
    size_t free_bytes = 0, total = 0;
    if (!d)
        return NULL;
    d->api->memory(&free_bytes, &total);
    return Py_BuildValue("{s:s,s:i,s:i,s:n,s:n,s:z}", "name", d->model, "capability", d->capability,
                         "multi_processor_count", d->processors, "free_memory",
                         (Py_ssize_t)free_bytes, "total_memory", (Py_ssize_t)total, "no_libraries",
                         d->no_libs);
}

static PyObject *cuda_stats(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    jn_device *d = cuda_device();
    if (!d)
        return NULL;
    jn_dev_stats s = jn_dev_pool_stats(&d->pool);
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "allocated_bytes.current",
                         (unsigned long long)s.allocated, "allocated_bytes.peak",
                         (unsigned long long)s.allocated_peak, "reserved_bytes.current",
                         (unsigned long long)s.reserved, "reserved_bytes.peak",
                         (unsigned long long)s.reserved_peak, "allocation.allocated",
                         (unsigned long long)s.taken, "allocation.freed",
                         (unsigned long long)s.returned, "num_device_alloc",
                         (unsigned long long)s.from_driver, "num_alloc_retries",
                         (unsigned long long)s.flushes, "num_ooms", (unsigned long long)s.failures);
}

static PyObject *cuda_graph_stats(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    jn_device *d = cuda_device();
    if (!d)
        return NULL;
    jn_schedule_stats s = jn_schedule_stats_get(d->schedule);
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "captures", (unsigned long long)s.captures,
        "replays", (unsigned long long)s.replays, "busy", (unsigned long long)s.busy, "evicted",
        (unsigned long long)s.evicted, "refused", (unsigned long long)s.refused, "streams",
        (unsigned long long)s.streams, "nodes", (unsigned long long)s.nodes, "waits",
        (unsigned long long)s.waits, "row_captures", (unsigned long long)s.row_captures,
        "row_replays", (unsigned long long)s.row_replays, "branches",
        (unsigned long long)s.branches);
}

static PyObject *cuda_reset_peaks(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    jn_device *d = cuda_device();
    if (!d)
        return NULL;
    jn_dev_pool_reset_peaks(&d->pool);
    Py_RETURN_NONE;
}

static PyObject *cuda_synchronize(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    jn_device *d = cuda_device();
    if (!d || jpy_check(jn_dev_sync(d)) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* The tensor's elements in pinned memory, without history. */
static PyObject *cuda_pin(PyObject *self, PyObject *tensor) {
    (void)self;
    janus_tensor *pinned;
    if (!jpy_tensor_check(tensor)) {
        PyErr_SetString(PyExc_TypeError, "pin_memory: a tensor is expected");
        return NULL;
    }
    jn_device *d = cuda_device();
    if (!d || jpy_check(jn_tensor_pin(d, ((jpy_tensor *)tensor)->t, &pinned)) < 0)
        return NULL;
    return jpy_tensor_take(pinned);
}
static PyObject *cuda_is_pinned(PyObject *self, PyObject *tensor) {
    (void)self;
    return PyBool_FromLong(jpy_tensor_check(tensor) &&
                           jn_tensor_is_pinned(((jpy_tensor *)tensor)->t));
}

static PyObject *cuda_empty_cache(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    jn_device *d = cuda_device();
    if (!d)
        return NULL;
    jn_dev_pool_flush(&d->pool);
    Py_RETURN_NONE;
}

static PyObject *cuda_allow_tf32(PyObject *self, PyObject *args) {
    (void)self;
    int products, convolutions;
    if (!PyArg_ParseTuple(args, "pp", &products, &convolutions))
        return NULL;
    jn_device_allow_tf32(products, convolutions);
    Py_RETURN_NONE;
}

static PyObject *cuda_fastest_convolutions(PyObject *self, PyObject *on) {
    (void)self;
    int fastest = PyObject_IsTrue(on);
    if (fastest < 0)
        return NULL;
    jn_device_fastest_convolutions(fastest);
    Py_RETURN_NONE;
}

static PyObject *set_default_device(PyObject *self, PyObject *o) {
    (void)self;
    jn_device *d = NULL;
    if (jpy_device_parse(o, &d) < 0)
        return NULL;
    jpy_default_device = d;
    Py_RETURN_NONE;
}

PyMethodDef jpy_device_functions[] = {
    {"_cuda_reason", cuda_reason, METH_NOARGS, "Why there is no CUDA device; None: there is one."},
    {"_cuda_info", cuda_info, METH_NOARGS, NULL},
    {"_cuda_stats", cuda_stats, METH_NOARGS, NULL},
    {"_cuda_graph_stats", cuda_graph_stats, METH_NOARGS, NULL},
    {"_cuda_reset_peaks", cuda_reset_peaks, METH_NOARGS, NULL},
    {"_cuda_synchronize", cuda_synchronize, METH_NOARGS, NULL},
    {"_cuda_empty_cache", cuda_empty_cache, METH_NOARGS, NULL},
    {"_cuda_allow_tf32", cuda_allow_tf32, METH_VARARGS, NULL},
    {"_cuda_fastest_convolutions", cuda_fastest_convolutions, METH_O, NULL},
    {"_cuda_pin", cuda_pin, METH_O, NULL},
    {"_cuda_is_pinned", cuda_is_pinned, METH_O, NULL},
    {"set_default_device", set_default_device, METH_O,
     "Where tensors are made that are not told where."},
    {NULL, NULL, 0, NULL},
};
