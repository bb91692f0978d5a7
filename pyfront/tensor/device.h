/* SPDX-License-Identifier: Apache-2.0 */
/* Devices in Python: names, moving tensors, and reading what lies elsewhere. */
#ifndef JN_PYFRONT_PY_DEVICE_H
#define JN_PYFRONT_PY_DEVICE_H

#include "exec/device/device.h"
#include "pyfront/tensor/object.h"

/* Where new tensors go by default: NULL, the host, or what JANUS_DEVICE names. */
extern jn_device *jpy_default_device;

/* While converting: where the graph's tensors are, all of them, as far as it is known. */
typedef struct jpy_graph_place {
    bool known;
    jn_device *device; /* NULL: the host */
} jpy_graph_place;
extern _Thread_local jpy_graph_place jpy_graph_on;
/* The graph has a tensor there: false, with an error: it has others elsewhere. */
bool jpy_graph_meets(jn_device *d);

/* None (leaves *out alone), "cpu", "cuda", a janus.device; RuntimeError with the reason for a
 * device there is not. */
int jpy_device_parse(PyObject *o, jn_device **out);
/* janus.device of a tensor; new reference. */
PyObject *jpy_device_of(const janus_tensor *t);
/* The tensor on `to` (NULL: host), the object itself when it is there; recorded for gradients. */
PyObject *jpy_tensor_move(jpy_tensor *t, jn_device *to, bool copy, bool non_blocking);
/* t itself (retained) or a copy of it in host memory. */
int jpy_tensor_here(janus_tensor *t, janus_tensor **out);
/* jn_tensor_data() with the error raised: its elements; a proxy's are refused. */
int jpy_tensor_data(janus_tensor *t, char **out);
/* New row-major zeros where `like` is (NULL: host). */
int jpy_tensor_zeros(const jn_type *type, const janus_tensor *like, janus_tensor **out);

extern PyMethodDef jpy_device_functions[];

#endif
