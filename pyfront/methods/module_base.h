/* SPDX-License-Identifier: Apache-2.0 */
/*
 * janus._C.ModuleBase: the C base of nn.Module.
 *
 * Parameters, buffers and sub-modules are entries of the instance dict and, once more, of the dicts
 * `_parameters`, `_buffers` and `_modules`.  Storing or deleting one, or changing `training`,
 * counts in the module's own version and in the process-wide epoch: guards that saw an epoch need
 * look no further while it stands.
 */
#ifndef JPY_PY_MODULE_BASE_H
#define JPY_PY_MODULE_BASE_H

#include "pyfront/base/jpy.h"

typedef struct jpy_module {
    PyObject_HEAD PyObject *dict, *weakrefs;
    uint64_t version;
    vectorcallfunc vectorcall; /* NULL: not called yet */
} jpy_module;

extern uint64_t jpy_module_epoch;
static inline bool jpy_module_check(PyObject *o) {
    return PyType_IsSubtype(Py_TYPE(o), jpy.module_base_type);
}
/* Whether attributes of its objects are set and deleted as ModuleBase does it, by no class of the
 * program's; for subtypes of it. */
bool jpy_module_sets_its_own(PyTypeObject *t);

#endif
