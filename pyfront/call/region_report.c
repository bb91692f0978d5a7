/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of the regions of a function. */
#include "pyfront/call/region.h"
#include "pyfront/call/region_object.h"

size_t jpy_regions_count(const jpy_function *f, uint64_t *out_hits) {
    *out_hits = f->region_hits;
    return f->regions && f->skeleton ? (size_t)PyDict_GET_SIZE(f->regions) : 0;
}

PyObject *jpy_regions_list(const jpy_function *f) {
    Py_ssize_t pos = 0;
    PyObject *k, *v, *list = PyList_New(0);
    while (list && f->regions && f->skeleton && PyDict_Next(f->regions, &pos, &k, &v)) {
        const region *r = (region *)v;
        long first, last, col;
        PyObject *one = NULL;
        if (PyArg_ParseTuple(r->within, "(ll)(ll)", &first, &col, &last, &col))
            one = Py_BuildValue("(llKKO)", first, last, (unsigned long long)r->inner->calls,
                                (unsigned long long)r->inner->graph, (PyObject *)r->inner);
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

int jpy_regions_describe(const jpy_function *f, PyObject *list) {
    Py_ssize_t pos = 0;
    PyObject *k, *v;
    int bad = 0;
    while (!bad && f->regions && f->skeleton && PyDict_Next(f->regions, &pos, &k, &v)) {
        const region *r = (region *)v;
        long first = 0, last = 0, col;
        if (!PyArg_ParseTuple(r->within, "(ll)(ll)", &first, &col, &last, &col))
            return -1;
        PyObject *s = PyUnicode_FromFormat(
            "region of statements, lines %ld to %ld: %llu times reached, %llu as graphs, %llu "
            "discarded, %llu conversions, %zu objects looked through",
            first, last, r->inner->calls, r->inner->graph, r->inner->fallbacks,
            r->inner->conversions, r->looks.all);
        bad = s ? PyList_Append(list, s) : -1;
        Py_XDECREF(s);
        for (Py_ssize_t i = 0; !bad && i < PyList_GET_SIZE(r->inner->notes); i++) {
            s = PyUnicode_FromFormat("  %U", PyList_GET_ITEM(r->inner->notes, i));
            bad = s ? PyList_Append(list, s) : -1;
            Py_XDECREF(s);
        }
    }
    return bad;
}
