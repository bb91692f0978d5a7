/* SPDX-License-Identifier: Apache-2.0 */
/* Source text as linecache has it, and its cache as the program left it. */
#include "pyfront/base/lines.h"

/* cache[name] = v; NULL: there is none. */
static bool cached_is(PyObject *cache, PyObject *name, PyObject *v) {
    if (v)
        return PyDict_SetItem(cache, name, v) == 0;
    return PyDict_GetItem(cache, name) == NULL || PyDict_DelItem(cache, name) == 0;
}

enum { MOST_FILES = 128 };

int jpy_keep_file(PyObject *d, PyObject *file, PyObject *v) {
    if (PyDict_Contains(d, file) == 1 && PyDict_DelItem(d, file) < 0)
        return -1;
    PyObject *first, *of_first;
    Py_ssize_t at = 0;
    if (PyDict_GET_SIZE(d) >= MOST_FILES && PyDict_Next(d, &at, &first, &of_first)) {
        Py_INCREF(first);
        int bad = PyDict_DelItem(d, first);
        Py_DECREF(first);
        if (bad)
            return -1;
    }
    return PyDict_SetItem(d, file, v);
}

PyObject *jpy_lines(PyObject *filename, PyObject *globals) {
    static PyObject *read_here; /* what the cache would have kept of files that it did not have */
    PyObject *linecache = PyImport_ImportModule("linecache");
    PyObject *cache = linecache ? PyObject_GetAttrString(linecache, "cache") : NULL;
    if (cache && !PyDict_Check(cache))
        PyErr_SetString(PyExc_TypeError, "linecache.cache is no dict");
    PyObject *lines = NULL, *r = NULL, *had = NULL, *own;
    if (!cache || PyErr_Occurred() || (!read_here && !(read_here = PyDict_New())))
        goto end;
    had = Py_XNewRef(PyDict_GetItem(cache, filename));
    own = PyDict_GetItem(read_here, filename);
    if (!had && own && !cached_is(cache, filename, own))
        goto end;
    r = PyObject_CallMethod(linecache, "checkcache", "O", filename);
    lines = r ? PyObject_CallMethod(linecache, "getlines", "OO", filename, globals) : NULL;
    own = PyDict_GetItem(cache, filename);
    if ((own && jpy_keep_file(read_here, filename, own) < 0) || !cached_is(cache, filename, had))
        Py_CLEAR(lines);
    if (lines && !PyList_Check(lines)) {
        PyErr_SetString(PyExc_TypeError, "linecache.getlines() gives no list");
        Py_CLEAR(lines);
    }
end:
    Py_XDECREF(r);
    Py_XDECREF(had);
    Py_XDECREF(cache);
    Py_XDECREF(linecache);
    return lines;
}
