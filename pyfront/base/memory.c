/* Memory that is not there: janus.OutOfMemoryError, and how much there is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "pyfront/base/jpy.h"

#include "graph/base/limit.h"

int jpy_init_memory(PyObject *module) {
    PyObject *bases = PyTuple_Pack(2, PyExc_RuntimeError, PyExc_MemoryError);
    if (!bases)
        return -1;
    jpy.out_of_memory = PyErr_NewExceptionWithDoc(
        "janus.OutOfMemoryError",
        "There is no memory for a tensor: a RuntimeError, as PyTorch's, and a MemoryError.", bases,
        NULL);
    Py_DECREF(bases);
    if (jpy_module_take(module, "OutOfMemoryError", Py_XNewRef(jpy.out_of_memory)) < 0)
        return -1;
    /* What Python code of janus compares sizes with, before it makes lists as long. */
    return jpy_module_take(module, "_memory_limit", PyLong_FromSize_t(jn_memory_limit(NULL)));
}
