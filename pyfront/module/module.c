/* The extension module janus._C: its definition and nothing else.
 *
 * Multi-phase initialisation; what other files of pyfront/ offer is added in exec_module.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "pyfront/base/jpy.h"
#include "pyfront/base/names.h"
#include "pyfront/base/signals.h"
#include "pyfront/call/call.h"
#include "pyfront/function/function.h"
#include "pyfront/op/op.h"
#include "pyfront/tensor/tensor.h"

#include <structmember.h>

#include "graph/base/alloc.h"
#include "graph/base/status.h"

static PyStructSequence_Field pair_fields[] = {
    {"values", "the values"},
    {"indices", "where they were"},
    {NULL, NULL},
};
static PyStructSequence_Desc pair_desc = {"janus.return_types.values_indices",
                                          "Values and their indices.", pair_fields, 2};

/* _returned(values, indices): as ops with two results return them. */
static PyObject *returned(PyObject *module, PyObject *args) {
    (void)module;
    if (PyTuple_GET_SIZE(args) != pair_desc.n_in_sequence)
        return PyErr_Format(PyExc_TypeError, "_returned: two results are needed");
    PyObject *pair = PyStructSequence_New(jpy.return_type);
    for (Py_ssize_t i = 0; pair && i < pair_desc.n_in_sequence; i++)
        PyStructSequence_SET_ITEM(pair, i, Py_NewRef(PyTuple_GET_ITEM(args, i)));
    return pair;
}

/* _fail_alloc(n): for tests, see jn_alloc_fail_after. */
static PyObject *fail_alloc(PyObject *module, PyObject *arg) {
    (void)module;
    unsigned long long n = PyLong_AsUnsignedLongLong(arg);
    return PyErr_Occurred() ? NULL : PyLong_FromUnsignedLongLong(jn_alloc_fail_after(n));
}

static PyMethodDef own_functions[] = {
    {"_returned", returned, METH_VARARGS, "_returned(values, indices): both under their names."},
    {"_fail_alloc", fail_alloc, METH_O,
     "_fail_alloc(n): the n-th allocation of janus from now fails, 0: none; how many the last call "
     "has left."},
    {NULL, NULL, 0, NULL}};

static int init_signals(PyObject *module) {
    (void)module;
    return jpy_init_signals();
}

/* In this order. */
static int (*const inits[])(PyObject *) = {
    jpy_init_names,   jpy_init_types,   jpy_init_tensor,       jpy_init_op,
    jpy_init_pieces,  jpy_init_optim,   jpy_init_create,       jpy_init_random,
    jpy_init_twister, jpy_init_tape,    jpy_init_tape_objects, jpy_init_module_base,
    jpy_init_entry,   jpy_init_region,  jpy_init_function,     jpy_init_function_object,
    init_signals,     jpy_init_threads, jpy_init_autocast,     jpy_init_profile,
    jpy_init_nan,     jpy_init_export,  jpy_init_deferred,     jpy_init_regions,
    jpy_init_stored,  jpy_init_memory,
};

static int exec_module(PyObject *module) {
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        /* types and tables are the process's: what another interpreter leaves behind when it ends
         * would be of no use to this one */
        PyErr_SetString(PyExc_ImportError,
                        "janus._C can be loaded in the main interpreter only, not in a "
                        "sub-interpreter");
        return -1;
    }
    if (jpy.module) {
        PyErr_SetString(PyExc_ImportError, "janus._C is loaded already");
        return -1;
    }
    jpy.module = module;
    jpy.return_type = PyStructSequence_NewType(&pair_desc);
    if (!jpy.return_type)
        return -1;
    for (size_t i = 0; i < sizeof inits / sizeof *inits; i++)
        if (inits[i](module) < 0)
            return -1;
    if (PyModule_AddFunctions(module, jpy_device_functions) < 0 ||
        PyModule_AddFunctions(module, own_functions) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "__version__", janus_version());
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)exec_module},
    {0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, .m_name = "janus._C",    .m_doc = "The C part of janus.",
    .m_size = 0,           .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__C(void);

PyMODINIT_FUNC PyInit__C(void) { return PyModuleDef_Init(&module_def); }
