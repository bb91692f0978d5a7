/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a running code object to the syntax tree it was compiled from.
 *
 * The lines of the statement that the function is in are parsed, with empty ones before them (so
 * that lines and columns need no correction) and with the imports of the file, and compiled again
 * with the same flags; the code object found there must be the one that runs: names, constants,
 * byte code, nested code, and for lambdas the positions, as several can share a line.  Where that
 * is not so the whole file is parsed, and compiled but for other functions and classes.  Anything
 * else (an edited file, rewritten asserts, exec'ed text) has no source: such a function runs
 * imperatively.  What was parsed is kept by the file's name with the text it was parsed from.
 */
#include "pyfront/convert/tree/tree.h"

#include <string.h>

#include "pyfront/base/codes.h"
#include "pyfront/base/tracing.h"
#include "pyfront/convert/tree/file.h"

static PyObject *given; /* of codes: (ast node, name of a class or None) */

static bool code_equal(PyObject *a, PyObject *b);

/* New reference: what a constant is to the bit: repr() tells -0.0, 1, 1.0, True, nan; sets that
 * were made in another order are equal. */
static PyObject *shown(PyObject *constant) {
    if (!PyFrozenSet_CheckExact(constant))
        return PyObject_Repr(constant);
    PyObject *list = PySequence_List(constant);
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++) {
        PyObject *one = PyObject_Repr(PyList_GET_ITEM(list, i));
        if (!one || PyList_SetItem(list, i, one) < 0)
            Py_CLEAR(list);
    }
    if (list && PyList_Sort(list) < 0)
        Py_CLEAR(list);
    return list;
}

static bool const_equal(PyObject *a, PyObject *b) {
    if (Py_TYPE(a) != Py_TYPE(b))
        return false;
    if (PyCode_Check(a))
        return code_equal(a, b);
    if (PyTuple_CheckExact(a)) {
        bool equal = PyTuple_GET_SIZE(a) == PyTuple_GET_SIZE(b);
        for (Py_ssize_t i = 0; equal && i < PyTuple_GET_SIZE(a); i++)
            equal = const_equal(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i));
        return equal;
    }
    PyObject *x = shown(a), *y = shown(b);
    bool same = x && y && PyObject_RichCompareBool(x, y, Py_EQ) == 1;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return same;
}

static bool attr_equal(PyObject *a, PyObject *b, const char *name) {
    PyObject *x = PyObject_GetAttrString(a, name), *y = PyObject_GetAttrString(b, name);
    bool same = x && y && PyObject_RichCompareBool(x, y, Py_EQ) == 1;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return same;
}

/* Whether a constant is where the function of `code` is made, which CPython 3.10 has behind its
 * code: that differs with the function around a lambda, and so is not compared. */
static bool path_of(PyObject *code, PyObject *constant) {
    PyObject *name = PyCode_Check(code) ? PyObject_GetAttrString(code, "co_name") : NULL;
    PyObject *end = name ? PyUnicode_FromFormat(".<locals>.%U", name) : NULL;
    bool is = end && PyUnicode_Check(constant) &&
              PyUnicode_Tailmatch(constant, end, 0, PY_SSIZE_T_MAX, 1) == 1;
    Py_XDECREF(end);
    Py_XDECREF(name);
    return is;
}

static bool code_equal(PyObject *a, PyObject *b) {
    static const char *const names[] = {
        "co_name",     "co_firstlineno", "co_code",     "co_names",           "co_varnames",
        "co_freevars", "co_cellvars",    "co_argcount", "co_posonlyargcount", "co_kwonlyargcount",
        NULL};
    for (int i = 0; names[i]; i++)
        if (!attr_equal(a, b, names[i]))
            return false;
    /* CO_NESTED says no more than that some function is around this one */
    if ((((PyCodeObject *)a)->co_flags ^ ((PyCodeObject *)b)->co_flags) & ~CO_NESTED)
        return false;
    PyObject *x = PyObject_GetAttrString(a, "co_consts"),
             *y = PyObject_GetAttrString(b, "co_consts");
    bool same = x && y && PyTuple_GET_SIZE(x) == PyTuple_GET_SIZE(y);
    for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(x); i++)
        same = const_equal(PyTuple_GET_ITEM(x, i), PyTuple_GET_ITEM(y, i)) ||
               (i && path_of(PyTuple_GET_ITEM(x, i - 1), PyTuple_GET_ITEM(x, i)) &&
                path_of(PyTuple_GET_ITEM(y, i - 1), PyTuple_GET_ITEM(y, i)));
    Py_XDECREF(x);
    Py_XDECREF(y);
    return same;
}

/* Whether a position of the code is exactly that of the lambda's body, which is nobody else's. */
static bool position_matches(PyObject *code, PyObject *node) {
    static const char *const names[] = {"lineno", "end_lineno", "col_offset", "end_col_offset"};
    PyObject *body = PyObject_GetAttrString(node, "body"), *want = PyTuple_New(4);
    bool found = false, ok = body && want;
    for (int i = 0; ok && i < 4; i++) {
        PyObject *v = PyObject_GetAttrString(body, names[i]);
        ok = v != NULL;
        if (v)
            PyTuple_SET_ITEM(want, i, v);
    }
    PyObject *it = ok ? PyObject_CallMethod(code, "co_positions", NULL) : NULL, *p;
    while (it && !found && (p = PyIter_Next(it))) {
        found = PyObject_RichCompareBool(p, want, Py_EQ) == 1;
        Py_DECREF(p);
    }
    Py_XDECREF(it);
    Py_XDECREF(body);
    Py_XDECREF(want);
    PyErr_Clear();
    return found;
}

/* New reference: the first code among the constants of `code`. */
static PyObject *code_inside(PyObject *code) {
    PyObject *consts = code ? PyObject_GetAttrString(code, "co_consts") : NULL, *out = NULL;
    for (Py_ssize_t i = 0; consts && i < PyTuple_GET_SIZE(consts) && !out; i++)
        if (PyCode_Check(PyTuple_GET_ITEM(consts, i)))
            out = Py_NewRef(PyTuple_GET_ITEM(consts, i));
    Py_XDECREF(consts);
    return out;
}

/* New reference: the code of a lambda compiled in a function that has the variables which `code`
 * has of the functions around it. */
static PyObject *lambda_code(PyObject *code, PyObject *node) {
    PyObject *ast = PyImport_ImportModule("ast"), *file = PyUnicode_FromString("<lambda>");
    PyObject *free = PyObject_GetAttrString(code, "co_freevars"),
             *comma = PyUnicode_FromString(", ");
    PyObject *names = free && comma ? PyUnicode_Join(comma, free) : NULL;
    PyObject *text = names ? PyUnicode_FromFormat("def around(%U): return 0", names) : NULL;
    PyObject *tree = ast && text ? PyObject_CallMethod(ast, "parse", "O", text) : NULL;
    PyObject *at = tree ? PyObject_GetAttrString(tree, "body") : NULL, *all = NULL;
    for (int depth = 0; depth < 2 && at; depth++) { /* the function, then what it returns */
        PyObject *item = PySequence_GetItem(at, 0);
        Py_SETREF(at, item && !depth ? PyObject_GetAttrString(item, "body") : Py_XNewRef(item));
        Py_XDECREF(item);
    }
    if (at && file && PyObject_SetAttrString(at, "value", node) == 0)
        all = jpy_compile(tree, file, ((PyCodeObject *)code)->co_flags & PyCF_MASK);
    PyObject *around = code_inside(all), *out = code_inside(around);
    Py_XDECREF(around);
    Py_XDECREF(all);
    Py_XDECREF(at);
    Py_XDECREF(tree);
    Py_XDECREF(text);
    Py_XDECREF(names);
    Py_XDECREF(comma);
    Py_XDECREF(free);
    Py_XDECREF(file);
    Py_XDECREF(ast);
    PyErr_Clear();
    return out;
}

/* Where there are no positions: whether a lambda is compiled to the same code. */
static bool code_matches(PyObject *code, PyObject *node) {
    PyObject *made = lambda_code(code, node);
    bool same = made && code_equal(code, made);
    Py_XDECREF(made);
    PyErr_Clear();
    return same;
}

/* Whether two trees are written alike. */
static bool dump_equal(PyObject *a, PyObject *b) {
    PyObject *ast = PyImport_ImportModule("ast");
    PyObject *x = ast ? PyObject_CallMethod(ast, "dump", "O", a) : NULL;
    PyObject *y = x ? PyObject_CallMethod(ast, "dump", "O", b) : NULL;
    bool same = y && PyObject_RichCompareBool(x, y, Py_EQ) == 1;
    Py_XDECREF(x);
    Py_XDECREF(y);
    Py_XDECREF(ast);
    PyErr_Clear();
    return same;
}

/* Borrowed from `nodes`: the ast node of `code`. */
static PyObject *pick_node(PyObject *nodes, PyObject *code, const char **out_why) {
    Py_ssize_t n = nodes ? PyList_GET_SIZE(nodes) : 0;
    if (n == 1)
        return PyList_GET_ITEM(nodes, 0);
    *out_why = n ? "several functions begin on its line" : "no function begins on its line";
    for (int way = 0; way < 2; way++) {
        PyObject *found = NULL;
        for (Py_ssize_t i = 0; i < n; i++) {
            PyObject *node = PyList_GET_ITEM(nodes, i);
            if (!(way ? code_matches(code, node) : position_matches(code, node)))
                continue;
            if (found && !dump_equal(found, node))
                return NULL;
            found = node;
        }
        if (found)
            return found;
    }
    return NULL;
}

int jpy_source_give(PyObject *code, PyObject *node, PyObject *in_class) {
    PyObject *pair = PyTuple_Pack(2, node, in_class);
    int bad = pair && jpy_of_code_keep(&given, code, pair) ? 0 : -1;
    Py_XDECREF(pair);
    return bad;
}

/* The source of code that no file has; NULL: it was not given, or an exception is set. */
static jpy_source *given_source(PyObject *code) {
    PyObject *pair = jpy_of_code(given, code);
    PyObject *file = pair ? PyObject_GetAttrString(code, "co_filename") : NULL;
    jpy_source *out = NULL;
    if (file) {
        PyObject *in_class = PyTuple_GET_ITEM(pair, 1);
        out = jpy_lower(PyTuple_GET_ITEM(pair, 0), in_class == Py_None ? NULL : in_class,
                        PyUnicode_AsUTF8(file), code);
    }
    Py_XDECREF(file);
    return out;
}

/* New reference: the ast node of code in a part of its file; NULL: *out_why says why not, or an
 * exception is set. */
static PyObject *node_in(PyObject *part, PyObject *code, const char **out_why) {
    PyObject *codes = PyTuple_GET_ITEM(part, 1), *node = NULL;
    const PyCodeObject *of = (PyCodeObject *)code;
    bool same = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(codes) && !same; i++)
        same = code_equal(code, PyList_GET_ITEM(codes, i));
    PyErr_Clear();
    if (!same) {
        *out_why = "its source text is not what is running";
        return NULL;
    }
    PyObject *key = Py_BuildValue("(Oi)", of->co_name, of->co_firstlineno);
    if (key) {
        PyObject *nodes = PyDict_GetItemWithError(PyTuple_GET_ITEM(part, 0), key);
        node = Py_XNewRef(pick_node(nodes, code, out_why));
    }
    Py_XDECREF(key);
    return node;
}

/* The same of code in its file: of the lines that it is in, or of the file as a whole where these
 * do not say what they are. */
static PyObject *node_of(PyObject *code, PyObject *globals, const char **out_why) {
    if (((PyCodeObject *)code)->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) {
        *out_why = "a call of an `async def` function runs none of it";
        return NULL;
    }
    PyObject *entry = jpy_file_of(code, globals);
    if (!entry) {
        *out_why = "its source text is not available";
        return NULL;
    }
    PyObject *part = jpy_part_of_block(entry, code);
    PyObject *node = part ? node_in(part, code, out_why) : NULL;
    if (!node && !PyErr_Occurred()) {
        Py_XSETREF(part, jpy_part_of_file(entry, code));
        if (part) {
            node = node_in(part, code, out_why);
        } else {
            *out_why = "its source text does not compile";
            PyErr_Clear();
        }
    }
    Py_XDECREF(part);
    Py_DECREF(entry);
    return node;
}

/* New reference: the name of the class that private names in a function are named for, or NULL. */
static PyObject *class_of(PyObject *node) {
    PyObject *in_class = PyObject_GetAttrString(node, "in_class");
    PyErr_Clear(); /* it is in none */
    return in_class;
}

static jpy_source *source_of(PyObject *code, PyObject *globals, const char **out_why) {
    jpy_source *out = given_source(code);
    if (out || PyErr_Occurred())
        return out;
    PyObject *node = node_of(code, globals, out_why);
    PyObject *file = node ? PyObject_GetAttrString(code, "co_filename") : NULL;
    if (file) {
        PyObject *in_class = class_of(node);
        out = jpy_lower(node, in_class, PyUnicode_AsUTF8(file), code);
        Py_XDECREF(in_class);
    }
    Py_XDECREF(file);
    Py_XDECREF(node);
    return out;
}

/* `linecache` and `ast` are asked by the package, whatever is decorated of them. */
jpy_source *jpy_source_of(PyObject *code, PyObject *globals, const char **out_why) {
    *out_why = NULL;
    jpy_plain_begin();
    jpy_source *out = source_of(code, globals, out_why);
    jpy_plain_end();
    return out;
}

PyObject *jpy_source_node(PyObject *code, PyObject *globals) {
    const char *why;
    jpy_plain_begin();
    PyObject *node = node_of(code, globals, &why);
    jpy_plain_end();
    if (!node)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *in_class = class_of(node);
    PyObject *out = Py_BuildValue("(OO)", node, in_class ? in_class : Py_None);
    Py_XDECREF(in_class);
    Py_DECREF(node);
    return out;
}

bool jpy_tree_any(const jpy_tree *n, bool (*test)(const jpy_tree *n, const void *arg),
                  const void *arg) {
    if (!n)
        return false;
    bool yes = test(n, arg) || jpy_tree_any(n->a, test, arg) || jpy_tree_any(n->b, test, arg) ||
               jpy_tree_any(n->c, test, arg);
    const jpy_tree_list *lists[3] = {&n->x, &n->y, &n->z};
    for (int k = 0; k < 3; k++)
        for (unsigned i = 0; i < lists[k]->n && !yes; i++)
            yes = jpy_tree_any(lists[k]->v[i], test, arg);
    return yes;
}
