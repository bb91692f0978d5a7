/* SPDX-License-Identifier: Apache-2.0 */
/* janus.dump: all graphs of a function, or one given as text, in the format of the file's name. */
#include "pyfront/explain.h"

#include <string.h>

#include "graph/graph.h"
#include "pyfront/function.h"

PyObject *jpy_module_text(const janus_module *m, const char *suffix) {
    jn_str s = {0};
    if (!strcmp(suffix, ".jir"))
        jn_print_module(m, &s);
    else if (!strcmp(suffix, ".dot"))
        jn_print_dot(m, &s);
    else if (!strcmp(suffix, ".json"))
        jn_print_json(m, &s);
    else
        return PyErr_Format(PyExc_ValueError,
                            "janus.dump: no format goes with the suffix \"%s\" (.jir .json .dot "
                            ".svg .html)",
                            suffix);
    PyObject *o = jn_str_ok(&s) ? PyUnicode_DecodeUTF8(s.data ? s.data : "", (Py_ssize_t)s.n, NULL)
                                : PyErr_NoMemory();
    jn_str_free(&s);
    return o;
}

jpy_function *jpy_function_of(PyObject *o) {
    PyObject *forward = NULL;
    if (jpy.module_base_type && PyObject_TypeCheck(o, jpy.module_base_type)) {
        o = forward = PyObject_GetAttrString(o, "forward"); /* the module keeps it */
        PyErr_Clear();
        Py_XDECREF(forward);
    }
    if (o && PyMethod_Check(o))
        o = PyMethod_GET_FUNCTION(o);
    return o && Py_TYPE(o) == jpy_function_type ? (jpy_function *)o : NULL;
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

/* Graphviz, where it is installed: dot -Tsvg. */
static PyObject *svg_of(PyObject *dot) {
    PyObject *sp = PyImport_ImportModule("subprocess"), *r = NULL, *out = NULL;
    PyErr_Clear();
    PyObject *fn = sp ? PyObject_GetAttrString(sp, "run") : NULL;
    PyObject *args = Py_BuildValue("([ss])", "dot", "-Tsvg");
    PyObject *kw = Py_BuildValue("{sOsOsOsO}", "input", dot, "capture_output", Py_True, "text",
                                 Py_True, "check", Py_True);
    Py_XDECREF(r);
    r = fn && args && kw ? PyObject_Call(fn, args, kw) : NULL;
    out = r ? PyObject_GetAttrString(r, "stdout") : NULL;
    Py_XDECREF(sp);
    Py_XDECREF(fn);
    Py_XDECREF(args);
    Py_XDECREF(kw);
    Py_XDECREF(r);
    return out;
}

PyObject *jpy_dump(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *what, *path_o, *path = NULL;
    if (!PyArg_ParseTuple(args, "OO:dump", &what, &path_o) || !PyUnicode_FSConverter(path_o, &path))
        return NULL;
    const char *name = PyBytes_AS_STRING(path), *suffix = strrchr(name, '.');
    suffix = suffix ? suffix : "";
    bool svg = !strcmp(suffix, ".svg"), html = !strcmp(suffix, ".html");
    const char *form = svg || html ? ".dot" : suffix;
    jpy_function *f = jpy_function_of(what);
    PyObject *text = f ? join_graphs(f, form)
                     : PyUnicode_Check(what)
                         ? convert_text(what, form)
                         : PyErr_Format(PyExc_TypeError,
                                        "janus.dump: a janus.function or a graph's text is needed, "
                                        "got %s",
                                        Py_TYPE(what)->tp_name);
    if (text && (svg || html)) {
        PyObject *picture = svg_of(text);
        if (!picture && html) {
            PyErr_Clear();
            picture = PyUnicode_FromFormat("<pre>%U</pre>", text);
        }
        Py_DECREF(text);
        text = picture;
        if (text && html) {
            PyObject *page = PyUnicode_FromFormat("<!doctype html><meta charset=\"utf-8\">"
                                                  "<title>janus graph</title>%U\n",
                                                  text);
            Py_DECREF(text);
            text = page;
        }
    }
    if (text) {
        Py_ssize_t n;
        const char *s = PyUnicode_AsUTF8AndSize(text, &n);
        FILE *file = s ? fopen(name, "w") : NULL;
        bool ok = file && fwrite(s, 1, (size_t)n, file) == (size_t)n;
        if (file && fclose(file) != 0)
            ok = false;
        if (!ok && !PyErr_Occurred())
            PyErr_SetFromErrnoWithFilename(PyExc_OSError, name);
        Py_DECREF(text);
        Py_DECREF(path);
        if (!ok)
            return NULL;
        Py_RETURN_NONE;
    }
    Py_DECREF(path);
    return NULL;
}
