/* SPDX-License-Identifier: Apache-2.0 */
#include "pyfront/convert/tree/file.h"

#include <string.h>

#include "pyfront/base/lines.h"
#include "pyfront/convert/tree/tree.h"

/* file name -> (text, {line: part, range of lines: part}, {None: [statements], place: part}); a
 * part is what compile_part() gives: of the lines around one, or of the statements of the whole
 * file.  The files that were asked for last, in that order. */
static PyObject *files;

static int add_node(PyObject *index, PyObject *node, PyObject *name, long line) {
    PyObject *key = Py_BuildValue("(Ol)", name, line);
    if (!key)
        return -1;
    PyObject *list = PyDict_GetItemWithError(index, key); /* borrowed */
    int bad = -1;
    if (list) {
        bad = PyList_Append(list, node);
    } else if (!PyErr_Occurred()) {
        list = Py_BuildValue("[O]", node);
        bad = list ? PyDict_SetItem(index, key, list) : -1;
        Py_XDECREF(list);
    }
    Py_DECREF(key);
    return bad;
}

static long line_of(PyObject *node) {
    PyObject *v = PyObject_GetAttrString(node, "lineno");
    long line = v ? PyLong_AsLong(v) : -1;
    Py_XDECREF(v);
    return line;
}

static int index_node(PyObject *index, PyObject *node) {
    const char *kind = strrchr(Py_TYPE(node)->tp_name, '.');
    kind = kind ? kind + 1 : Py_TYPE(node)->tp_name;
    if (!strcmp(kind, "Lambda")) {
        PyObject *name = PyUnicode_FromString("<lambda>");
        int bad = name ? add_node(index, node, name, line_of(node)) : -1;
        Py_XDECREF(name);
        return bad;
    }
    if (strcmp(kind, "FunctionDef") != 0)
        return 0;
    PyObject *name = PyObject_GetAttrString(node, "name");
    PyObject *decorators = PyObject_GetAttrString(node, "decorator_list");
    int bad = -1;
    if (name && decorators) {
        PyObject *first = PyList_GET_SIZE(decorators) ? PyList_GET_ITEM(decorators, 0) : node;
        bad = add_node(index, node, name, line_of(first));
    }
    Py_XDECREF(name);
    Py_XDECREF(decorators);
    return bad;
}

/* Says to the functions in the body of a class which class it is: private names are named for it.
 * Inner classes come later and say it anew. */
static int name_class(PyObject *ast, PyObject *class_def) {
    PyObject *name = PyObject_GetAttrString(class_def, "name");
    PyObject *body = PyObject_GetAttrString(class_def, "body");
    int bad = name && body && PyList_Check(body) ? 0 : -1;
    for (Py_ssize_t i = 0; !bad && i < PyList_GET_SIZE(body); i++) {
        PyObject *walk = PyObject_CallMethod(ast, "walk", "O", PyList_GET_ITEM(body, i)), *node;
        while (walk && !bad && (node = PyIter_Next(walk))) {
            const char *kind = Py_TYPE(node)->tp_name;
            if (strstr(kind, "FunctionDef") || strstr(kind, "Lambda"))
                bad = PyObject_SetAttrString(node, "in_class", name);
            Py_DECREF(node);
        }
        bad = bad || !walk || PyErr_Occurred() ? -1 : 0;
        Py_XDECREF(walk);
    }
    Py_XDECREF(name);
    Py_XDECREF(body);
    return bad;
}

static int collect_code(PyObject *list, PyObject *code) {
    if (PyList_Append(list, code) < 0)
        return -1;
    PyObject *consts = PyObject_GetAttrString(code, "co_consts");
    if (!consts)
        return -1;
    int bad = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(consts) && !bad; i++)
        if (PyCode_Check(PyTuple_GET_ITEM(consts, i)))
            bad = collect_code(list, PyTuple_GET_ITEM(consts, i));
    Py_DECREF(consts);
    return bad;
}

/* New reference: the text of a file as linecache sees it; NULL with or without an exception. */
static PyObject *file_text(PyObject *filename, PyObject *globals) {
    PyObject *lines = jpy_lines(filename, globals);
    PyObject *file =
        globals && PyDict_Check(globals) ? PyDict_GetItemString(globals, "__file__") : NULL;
    if (lines && !PyList_GET_SIZE(lines) && file && PyUnicode_Check(file) &&
        !strncmp(PyUnicode_AsUTF8(filename), "<frozen ",
                 8)) /* a module that CPython is built with */
        Py_SETREF(lines, jpy_lines(file, globals));
    PyObject *empty = lines && PyList_GET_SIZE(lines) > 0 ? PyUnicode_FromString("") : NULL;
    PyObject *text = empty ? PyUnicode_Join(empty, lines) : NULL;
    Py_XDECREF(empty);
    Py_XDECREF(lines);
    return text;
}

/* Whether `filters` begin with `one`; it is put there, or taken away.  Not by the functions of
 * warnings: these have every warning be given once more that a program was given. */
static bool ignoring(PyObject *filters, PyObject *one, bool now) {
    if (!filters || !PyList_Check(filters))
        return false;
    if (now)
        return PyList_Insert(filters, 0, one) == 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters); i++)
        if (PyList_GET_ITEM(filters, i) == one)
            return PyList_SetSlice(filters, i, i + 1, NULL) == 0;
    return false;
}

/* compile(), without the warnings that were given when the program was compiled. */
PyObject *jpy_compile(PyObject *what, PyObject *filename, long flags) {
    PyObject *builtins = PyEval_GetBuiltins(); /* borrowed */
    PyObject *fn = builtins ? PyDict_GetItemString(builtins, "compile") : NULL;
    PyObject *warnings = PyImport_ImportModule("warnings");
    PyObject *filters = warnings ? PyObject_GetAttrString(warnings, "filters") : NULL;
    PyObject *one = Py_BuildValue("(sOOOi)", "ignore", Py_None, PyExc_Warning, Py_None, 0);
    bool ignored = one && ignoring(filters, one, true);
    PyErr_Clear(); /* else they are given once more */
    PyObject *made =
        fn ? PyObject_CallFunction(fn, "OOslO", what, filename, "exec", flags, Py_True) : NULL;
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    if (ignored)
        (void)ignoring(filters, one, false);
    PyErr_Restore(type, value, tb);
    Py_XDECREF(one);
    Py_XDECREF(filters);
    Py_XDECREF(warnings);
    return made;
}

PyObject *jpy_py_compile(PyObject *module, PyObject *args) {
    PyObject *what, *filename;
    long flags;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOl:_compile", &what, &filename, &flags))
        return NULL;
    return jpy_compile(what, filename, flags);
}

/* The lines of a function or class, with its decorators, and of anything else (0, 0): (first line,
 * last line, statement). */
static PyObject *lines_of(PyObject *statement) {
    const char *kind = Py_TYPE(statement)->tp_name;
    if (!strstr(kind, "FunctionDef") && !strstr(kind, "ClassDef"))
        return Py_BuildValue("(iiO)", 0, 0, statement);
    PyObject *end = PyObject_GetAttrString(statement, "end_lineno");
    PyObject *decorators = PyObject_GetAttrString(statement, "decorator_list");
    long first = line_of(statement), last = end ? PyLong_AsLong(end) : -1;
    for (Py_ssize_t i = 0; decorators && i < PyList_GET_SIZE(decorators); i++) {
        long line = line_of(PyList_GET_ITEM(decorators, i));
        first = line < first ? line : first;
    }
    PyObject *out = end && decorators && !PyErr_Occurred()
                        ? Py_BuildValue("(llO)", first, last, statement)
                        : NULL;
    Py_XDECREF(end);
    Py_XDECREF(decorators);
    return out;
}

/* New reference: the list of statements of a text. */
static PyObject *parse(PyObject *text, PyObject *filename, long flags) {
    PyObject *tree = jpy_compile(text, filename, flags | 0x400 /* ast.PyCF_ONLY_AST */);
    PyObject *body = tree ? PyObject_GetAttrString(tree, "body") : NULL;
    Py_XDECREF(tree);
    return body;
}

/* New reference: [statements with their lines] of the whole file, which the file's entry keeps. */
static PyObject *statements_of(PyObject *entry, PyObject *filename, long flags) {
    PyObject *had = Py_XNewRef(PyDict_GetItemWithError(PyTuple_GET_ITEM(entry, 2), Py_None));
    if (had || PyErr_Occurred())
        return had;
    PyObject *body = parse(PyTuple_GET_ITEM(entry, 0), filename, flags);
    PyObject *statements = body ? PyList_New(0) : NULL;
    bool bad = !statements;
    for (Py_ssize_t i = 0; !bad && i < PyList_GET_SIZE(body); i++) {
        PyObject *one = lines_of(PyList_GET_ITEM(body, i));
        bad = !one || PyList_Append(statements, one) < 0;
        Py_XDECREF(one);
    }
    bad = bad || PyDict_SetItem(PyTuple_GET_ITEM(entry, 2), Py_None, statements) < 0;
    Py_XDECREF(body);
    if (bad)
        Py_CLEAR(statements);
    return statements;
}

/* New reference: ({(name, line): [ast nodes]}, [code objects]) of a module of these statements. */
static PyObject *compile_part(PyObject *statements, PyObject *filename, long flags) {
    PyObject *ast = PyImport_ImportModule("ast");
    PyObject *tree = ast ? PyObject_CallMethod(ast, "Module", "(O[])", statements) : NULL;
    PyObject *code = tree ? jpy_compile(tree, filename, flags) : NULL;
    PyObject *index = PyDict_New(), *codes = PyList_New(0), *out = NULL;
    PyObject *walk = NULL, *node;
    if (!code || !index || !codes || collect_code(codes, code) < 0)
        goto end;
    walk = PyObject_CallMethod(ast, "walk", "O", tree);
    if (!walk)
        goto end;
    while ((node = PyIter_Next(walk))) {
        int bad = index_node(index, node);
        if (!bad && strstr(Py_TYPE(node)->tp_name, "ClassDef"))
            bad = name_class(ast, node);
        Py_DECREF(node);
        if (bad)
            goto end;
    }
    if (!PyErr_Occurred())
        out = PyTuple_Pack(2, index, codes);
end:
    Py_XDECREF(tree);
    Py_XDECREF(code);
    Py_XDECREF(index);
    Py_XDECREF(codes);
    Py_XDECREF(ast);
    Py_XDECREF(walk);
    return out;
}

/* New reference: d[key], or what compile_part() gives of the statements, kept there. */
static PyObject *part_kept(PyObject *d, PyObject *key, PyObject *statements, PyObject *filename,
                           long flags) {
    PyObject *part = Py_XNewRef(PyDict_GetItemWithError(d, key));
    if (part || PyErr_Occurred())
        return part;
    part = compile_part(statements, filename, flags);
    if (part && PyDict_SetItem(d, key, part) < 0)
        Py_CLEAR(part);
    return part;
}

PyObject *jpy_part_of_file(PyObject *entry, PyObject *code) {
    const PyCodeObject *of = (PyCodeObject *)code;
    long flags = of->co_flags & PyCF_MASK;
    PyObject *all = statements_of(entry, of->co_filename, flags);
    PyObject *chosen = all ? PyList_New(0) : NULL, *key = NULL, *part = NULL;
    Py_ssize_t at = -1, n = 0;
    bool bad = !chosen;
    for (Py_ssize_t i = 0; !bad && i < PyList_GET_SIZE(all); i++) {
        long first, last;
        PyObject *statement;
        bad = !PyArg_ParseTuple(PyList_GET_ITEM(all, i), "llO", &first, &last, &statement);
        bool within = !bad && of->co_firstlineno >= first && of->co_firstlineno <= last;
        if (bad || (first && !within))
            continue;
        at = first ? i : at; /* those on a line follow each other */
        n += first != 0;
        bad = PyList_Append(chosen, statement) < 0;
    }
    if (!bad && (key = Py_BuildValue("(nn)", at, n)))
        part = part_kept(PyTuple_GET_ITEM(entry, 2), key, chosen, of->co_filename, flags);
    Py_XDECREF(all);
    Py_XDECREF(chosen);
    Py_XDECREF(key);
    return part;
}

/* New reference: the part of the lines around `line`; NULL: they cannot be told. */
static PyObject *parse_block(PyObject *entry, PyObject *filename, long line, long flags) {
    long first, last;
    PyObject *text = jpy_block_text(PyTuple_GET_ITEM(entry, 0), line, &first, &last);
    PyObject *key = text ? Py_BuildValue("(ll)", first, last) : NULL, *statements = NULL;
    PyObject *parts = PyTuple_GET_ITEM(entry, 1);
    PyObject *part = key ? Py_XNewRef(PyDict_GetItemWithError(parts, key)) : NULL;
    if (key && !part && !PyErr_Occurred() && (statements = parse(text, filename, flags)))
        part = part_kept(parts, key, statements, filename, flags);
    Py_XDECREF(statements);
    Py_XDECREF(text);
    Py_XDECREF(key);
    return part;
}

PyObject *jpy_part_of_block(PyObject *entry, PyObject *code) {
    const PyCodeObject *of = (PyCodeObject *)code;
    PyObject *parts = PyTuple_GET_ITEM(entry, 1), *line = PyLong_FromLong(of->co_firstlineno);
    PyObject *part = line ? Py_XNewRef(PyDict_GetItemWithError(parts, line)) : NULL;
    if (line && !part && !PyErr_Occurred()) {
        part = parse_block(entry, of->co_filename, of->co_firstlineno, of->co_flags & PyCF_MASK);
        PyErr_Clear(); /* the whole file is parsed then */
        if (PyDict_SetItem(parts, line, part ? part : Py_None) < 0)
            Py_CLEAR(part);
    }
    Py_XDECREF(line);
    PyErr_Clear();
    if (part == Py_None)
        Py_CLEAR(part);
    return part;
}

PyObject *jpy_file_of(PyObject *code, PyObject *globals) {
    PyObject *filename = ((PyCodeObject *)code)->co_filename, *entry;
    PyObject *text = files || (files = PyDict_New()) ? file_text(filename, globals) : NULL;
    if (!text) {
        PyErr_Clear();
        return NULL;
    }
    entry = Py_XNewRef(PyDict_GetItemWithError(files, filename));
    if (!entry || PyUnicode_Compare(PyTuple_GET_ITEM(entry, 0), text) != 0)
        Py_XSETREF(entry, PyErr_Occurred() ? NULL : Py_BuildValue("(O{}{})", text));
    if (entry && jpy_keep_file(files, filename, entry) < 0)
        Py_CLEAR(entry);
    Py_DECREF(text);
    return entry;
}
