/* SPDX-License-Identifier: Apache-2.0 */
/* For janus.dump: all graphs of a function, or one given as text, in the format of a suffix. */
#include "pyfront/call/explain.h"
#include "pyfront/call/cache.h"

#include <string.h>

#include "exec/run/run.h"
#include "graph/draw/draw.h"
#include "graph/ir/ir.h"
#include "graph/text/text.h"
#include "pyfront/function/function.h"

jpy_function *jpy_function_of(PyObject *o) {
    PyObject *forward = NULL;
    if (jpy.module_base_type && PyObject_TypeCheck(o, jpy.module_base_type)) {
        o = forward = PyObject_GetAttrString(o, "forward"); /* the module keeps it */
        PyErr_Clear();
        Py_XDECREF(forward);
    }
    if (o && PyMethod_Check(o))
        o = PyMethod_GET_FUNCTION(o);
    if (o && Py_TYPE(o) != jpy.function_type) { /* what janus.merge made keeps one, too */
        o = forward = PyObject_GetAttrString(o, "_janus_function_");
        PyErr_Clear();
        Py_XDECREF(forward);
    }
    return o && Py_TYPE(o) == jpy.function_type ? (jpy_function *)o : NULL;
}

static PyObject *join_graphs(jpy_function *f, const char *suffix) {
    PyObject *text = PyUnicode_FromString("");
    size_t n = !strcmp(suffix, ".jir") ? f->entries.n : f->entries.n ? 1 : 0;
    for (size_t i = 0; text && i < n; i++) {
        PyObject *one = jpy_module_text(jpy_entry_module(f->entries.data[i]), suffix);
        PyObject *both = one ? PyUnicode_Concat(text, one) : NULL;
        Py_XDECREF(one);
        Py_DECREF(text);
        text = both;
    }
    return text;
}

/* The text of a graph (.jir) in another format. */
static PyObject *convert_text(PyObject *jir, const char *suffix) {
    Py_ssize_t n;
    const char *s = PyUnicode_AsUTF8AndSize(jir, &n);
    janus_module *m = NULL;
    if (!s || jpy_check(jn_parse_module(s, (size_t)n, "graph", &m)) < 0)
        return NULL;
    PyObject *o = jpy_module_text(m, suffix);
    jn_module_release(m);
    return o;
}

/* Without a schedule where there is none: of SubGraphs that are only declared. */
static void print_page(const janus_module *m, const char *extra, jn_str *s) {
    jn_str schedule = {0};
    bool known = m->frozen && jn_module_schedule(m, &schedule) == JANUS_OK;
    jn_print_html(m, known ? schedule.data : NULL, extra, s);
    jn_str_free(&schedule);
}

/* _page(what, extra): the viewer's page of a function's newest graph, or of a graph's text. */
PyObject *jpy_page(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *what, *text = NULL;
    const char *extra;
    if (!PyArg_ParseTuple(args, "Os:_page", &what, &extra))
        return NULL;
    jpy_function *f = jpy_function_of(what);
    jn_str s = {0};
    if (f && f->entries.n) {
        print_page(jpy_entry_module(f->entries.data[0]), extra, &s);
    } else {
        Py_ssize_t n;
        const char *jir = PyUnicode_AsUTF8AndSize(what, &n);
        janus_module *m = NULL;
        if (!jir || jpy_check(jn_parse_module(jir, (size_t)n, "graph", &m)) < 0)
            return NULL;
        (void)jn_module_freeze(m);
        print_page(m, extra, &s);
        jn_module_release(m);
    }
    text =
        jn_str_ok(&s) ? PyUnicode_DecodeUTF8(s.data, (Py_ssize_t)s.n, "replace") : PyErr_NoMemory();
    jn_str_free(&s);
    return text;
}

PyObject *jpy_dump_text(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *what;
    const char *suffix;
    if (!PyArg_ParseTuple(args, "Os:_dump_text", &what, &suffix))
        return NULL;
    jpy_function *f = jpy_function_of(what);
    return f ? join_graphs(f, suffix) : convert_text(what, suffix);
}
