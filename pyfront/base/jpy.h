/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every file of the extension shares: Python.h, the process-wide state, error conversion.
 *
 * The extension lives in one interpreter at a time (types are heap types, but their addresses are
 * kept in `jpy` so that a type test is one comparison).  Everything here is called with the
 * interpreter lock held unless it says otherwise.
 */
#ifndef JPY_JPY_H
#define JPY_JPY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "exec/store/store.h"
#include "graph/ir/ir.h"

typedef struct jpy_state {
    PyObject *module; /* janus._C, borrowed */
    PyTypeObject *tensor_type, *dtype_type, *device_type, *size_type, *op_type, *node_type;
    PyTypeObject *generator_type, *ctx_type, *module_base_type, *return_type;
    PyTypeObject *autocast_type, *function_type;
    PyTypeObject *wrapper_type; /* of (1).__add__: CPython 3.13 does not export it */
    PyObject *dtypes[JANUS_DTYPE_COUNT];
    PyObject *cpu; /* janus.device("cpu") */
    PyObject *empty_tuple;
    PyObject *out_of_memory; /* janus.OutOfMemoryError */
} jpy_state;
extern jpy_state jpy;

/* Each file that offers names adds them here, called once by module.c in this order. */
int jpy_init_types(PyObject *module); /* dtype, device, Size */
int jpy_init_tensor(PyObject *module);
int jpy_init_op(PyObject *module);
int jpy_init_create(PyObject *module);
int jpy_init_random(PyObject *module);
int jpy_init_twister(PyObject *module);
int jpy_init_tape(PyObject *module);
int jpy_init_tape_objects(PyObject *module);
int jpy_init_entry(PyObject *module);
int jpy_init_region(PyObject *module);
int jpy_init_regions(PyObject *module);
int jpy_init_function(PyObject *module);
int jpy_init_function_object(PyObject *module);
int jpy_init_optim(PyObject *module);
int jpy_init_rng(PyObject *module);
int jpy_init_module_base(PyObject *module);
int jpy_init_threads(PyObject *module);
int jpy_init_memory(PyObject *module);
int jpy_init_autocast(PyObject *module);
int jpy_init_deferred(PyObject *module);
int jpy_init_stored(PyObject *module);

/*
 * Sets the Python exception that users of PyTorch expect for a failed status, from this thread's
 * error record: SHAPE, DTYPE, ... RuntimeError, INDEX IndexError, NO_MEMORY MemoryError, PARSE
 * ValueError, INVALID_ARGUMENT ValueError, UNSUPPORTED NotImplementedError.  Returns -1.
 */
int jpy_raise(janus_status st);
/* An exception already set by a callback travels through a janus_status: -1 if `st` failed. */
static inline int jpy_check(janus_status st) {
    return JN_LIKELY(st == JANUS_OK) ? 0 : jpy_raise(st);
}

/* The type types.SimpleNamespace; NULL: not found. */
PyTypeObject *jpy_namespace_type(void);
/* An instance without attributes, of that type or one that has object's __new__. */
PyObject *jpy_blank(PyTypeObject *t);

/* Adds a new reference `o` (may be NULL: fails) under `name` and drops it. */
int jpy_module_take(PyObject *module, const char *name, PyObject *o);
PyTypeObject *jpy_type_new(PyObject *module, PyType_Spec *spec, PyObject *bases);

/* dtype objects: janus.float32, ... */
PyObject *jpy_dtype_object(janus_dtype d); /* borrowed */
/* A dtype object, or Python's float, int, bool; None gives false with *out untouched. -1: error. */
int jpy_dtype_parse(PyObject *o, janus_dtype *out);
PyObject *jpy_size_new(int rank, const int64_t *dims);

#endif
