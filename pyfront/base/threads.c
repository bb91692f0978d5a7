/* janus.set_num_threads and get_num_threads: how many threads share the work of a call.
 *
 * The pool is one of the process (exec/store/par.c); JANUS_NUM_THREADS sets its first size.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "pyfront/base/jpy.h"

#include "include/janus.h"

static PyObject *set_num_threads(PyObject *module, PyObject *number) {
    (void)module;
    int n = PyLong_Check(number) ? (int)PyLong_AsLong(number) : -1;
    if (PyErr_Occurred())
        return NULL;
    if (n < 1)
        return PyErr_Format(PyExc_ValueError, "set_num_threads: expected an int > 0, got %R",
                            number);
    if (jpy_check(janus_set_num_threads(n)) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *get_num_threads(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyLong_FromLong(janus_get_num_threads());
}

static PyMethodDef functions[] = {
    {"set_num_threads", set_num_threads, METH_O, "Sets how many threads share the work of a call."},
    {"get_num_threads", get_num_threads, METH_NOARGS, "How many threads share the work of a call."},
    {NULL, NULL, 0, NULL},
};

int jpy_init_threads(PyObject *module) { return PyModule_AddFunctions(module, functions); }
