/* The extension module janus._C: its definition and nothing else.
 *
 * Multi-phase initialisation; what other files of pyfront/ offer is added in exec_module.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "janus.h"

static int exec_module(PyObject *module) {
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
