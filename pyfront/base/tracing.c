/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracing, profiling and monitoring.
 *
 * From CPython 3.12 on all of it goes through events of sys.monitoring, and the interpreter numbers
 * each state of what is watched.  While that number is one at which nobody was found to watch, it
 * is so still; at another one the tools are asked for.
 */
#include <patchlevel.h>
#if PY_VERSION_HEX >= 0x030c0000 && PY_VERSION_HEX < 0x030d0000
#define Py_BUILD_CORE 1 /* the number is a field of the interpreter's state */
#endif
#include <Python.h>
#ifdef Py_BUILD_CORE
#include <internal/pycore_interp.h>
#endif

#include "pyfront/base/tracing.h"

bool jpy_functions_off;
unsigned jpy_plain_threads;
_Thread_local unsigned jpy_plain_here;

static bool traced(const PyThreadState *ts) { return ts->c_tracefunc || ts->c_profilefunc; }

#if PY_VERSION_HEX < 0x030c0000

bool jpy_traced(void) { return traced(PyThreadState_Get()); }

#else

enum { N_TOOLS = 6 };

static uint64_t state_of(const PyThreadState *ts) {
#if PY_VERSION_HEX < 0x030d0000
    return ts->interp->monitoring_version;
#else
    return ts->eval_breaker & ~(uintptr_t)0xff; /* below it: requests to stop */
#endif
}

/* Whether a tool is registered; true also where that cannot be found out. */
static bool tool_in_use(void) {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    bool used = false;
    for (int i = 0; i < N_TOOLS && !used && monitoring; i++) {
        PyObject *name = PyObject_CallMethod(monitoring, "get_tool", "i", i);
        used = name != Py_None;
        Py_XDECREF(name);
    }
    PyErr_Restore(type, value, tb);
    return used;
}

bool jpy_traced(void) {
    static uint64_t quiet = UINT64_MAX; /* the number at which nobody watched */
    const PyThreadState *ts = PyThreadState_Get();
    uint64_t now = state_of(ts);
    if (now == quiet)
        return false;
    if (traced(ts) || tool_in_use())
        return true;
    quiet = now;
    return false;
}

#endif
