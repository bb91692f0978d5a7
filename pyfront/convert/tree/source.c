/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a running code object to the syntax tree it was compiled from.
 *
 * The whole file is parsed (so that lines and columns need no correction), compiled again, but for
 * other functions and classes, with the same flags, and the code object found there must be the one
 * that runs: names, constants, byte code, nested code, and for lambdas the positions, as several
 * can share a line.  Anything else (an edited file, rewritten asserts, exec'ed text) has no source:
 * such a function runs imperatively.  Parsed files are kept by name with the text they were parsed
 * from.
 */
#include "pyfront/convert/tree/tree.h"

#include <string.h>

#include "pyfront/base/lines.h"

static PyObject *files; /* file name -> (text, [statements], {place: what was compiled of some}) */
static PyObject
    *given; /* address of a code object -> (code object, ast node, name of a class or None) */

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
static PyObject *compile_call(PyObject *what, PyObject *filename, long flags) {
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
    return compile_call(what, filename, flags);
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

/* New reference: (text, [statements with their lines], {}). */
static PyObject *parse_file(PyObject *text, PyObject *filename, long flags) {
    PyObject *tree = compile_call(text, filename, flags | 0x400 /* ast.PyCF_ONLY_AST */);
    PyObject *body = tree ? PyObject_GetAttrString(tree, "body") : NULL;
    PyObject *statements = body ? PyList_New(0) : NULL, *out = NULL;
    bool bad = !statements;
    for (Py_ssize_t i = 0; !bad && i < PyList_GET_SIZE(body); i++) {
        PyObject *one = lines_of(PyList_GET_ITEM(body, i));
        bad = !one || PyList_Append(statements, one) < 0;
        Py_XDECREF(one);
    }
    if (!bad)
        out = Py_BuildValue("(OO{})", text, statements);
    Py_XDECREF(tree);
    Py_XDECREF(body);
    Py_XDECREF(statements);
    return out;
}

/* New reference: ({(name, line): [ast nodes]}, [code objects]) of a module of these statements. */
static PyObject *compile_part(PyObject *statements, PyObject *filename, long flags) {
    PyObject *ast = PyImport_ImportModule("ast");
    PyObject *tree = ast ? PyObject_CallMethod(ast, "Module", "(O[])", statements) : NULL;
    PyObject *code = tree ? compile_call(tree, filename, flags) : NULL;
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

/* New reference: what compile_part() gives of a file without the functions and classes that the
 * code is not in.  They say nothing of what it is compiled to; imports do. */
static PyObject *part_at(PyObject *entry, PyObject *code) {
    PyObject *filename = PyObject_GetAttrString(code, "co_filename"),
             *all = PyTuple_GET_ITEM(entry, 1);
    const PyCodeObject *of = (PyCodeObject *)code;
    PyObject *chosen = PyList_New(0), *key = NULL, *part = NULL;
    Py_ssize_t at = -1, n = 0;
    bool bad = !filename || !chosen;
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
    if (!bad)
        key = Py_BuildValue("(nn)", at, n);
    if (key && !(part = Py_XNewRef(PyDict_GetItemWithError(PyTuple_GET_ITEM(entry, 2), key)))) {
        part = PyErr_Occurred() ? NULL : compile_part(chosen, filename, of->co_flags & PyCF_MASK);
        if (part && PyDict_SetItem(PyTuple_GET_ITEM(entry, 2), key, part) < 0)
            Py_CLEAR(part);
    }
    Py_XDECREF(filename);
    Py_XDECREF(chosen);
    Py_XDECREF(key);
    return part;
}

static PyObject *load_file(PyObject *code, PyObject *globals, const char **out_why) {
    PyObject *filename = PyObject_GetAttrString(code, "co_filename");
    PyObject *flags_o = PyObject_GetAttrString(code, "co_flags");
    PyObject *text = NULL, *entry = NULL;
    if (!filename || !flags_o || (!files && !(files = PyDict_New())))
        goto end;
    text = file_text(filename, globals);
    if (!text) {
        *out_why = "its source text is not available";
        PyErr_Clear();
        goto end;
    }
    entry = PyDict_GetItemWithError(files, filename);
    if (entry && PyUnicode_Compare(PyTuple_GET_ITEM(entry, 0), text) == 0) {
        Py_INCREF(entry);
        goto end;
    }
    entry = parse_file(text, filename, PyLong_AsLong(flags_o) & PyCF_MASK);
    if (!entry) {
        *out_why = "its source text does not compile";
        PyErr_Clear();
    } else if (PyDict_SetItem(files, filename, entry) < 0) {
        Py_CLEAR(entry);
    }
end:
    Py_XDECREF(filename);
    Py_XDECREF(flags_o);
    Py_XDECREF(text);
    return entry;
}

static bool code_equal(PyObject *a, PyObject *b);

static bool const_equal(PyObject *a, PyObject *b) {
    if (Py_TYPE(a) != Py_TYPE(b))
        return false;
    if (PyCode_Check(a))
        return code_equal(a, b);
    PyObject *ra = PyObject_Repr(a), *rb = PyObject_Repr(b); /* tells -0.0, 1, 1.0, True, nan */
    bool same = ra && rb && PyUnicode_Compare(ra, rb) == 0;
    Py_XDECREF(ra);
    Py_XDECREF(rb);
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
        all = compile_call(tree, file, 0);
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
    PyObject *key = PyLong_FromVoidPtr(code), *value = PyTuple_Pack(3, code, node, in_class);
    int bad = -1;
    if (key && value && (given || (given = PyDict_New())))
        bad = PyDict_SetItem(given, key, value);
    Py_XDECREF(key);
    Py_XDECREF(value);
    return bad;
}

/* The source of code that no file has; NULL: it was not given, or an exception is set. */
static jpy_source *given_source(PyObject *code) {
    PyObject *key = given ? PyLong_FromVoidPtr(code) : NULL;
    PyObject *value = key ? PyDict_GetItemWithError(given, key) : NULL; /* borrowed */
    PyObject *file = value ? PyObject_GetAttrString(code, "co_filename") : NULL;
    jpy_source *out = NULL;
    if (file) {
        PyObject *in_class = PyTuple_GET_ITEM(value, 2);
        out = jpy_lower(PyTuple_GET_ITEM(value, 1), in_class == Py_None ? NULL : in_class,
                        PyUnicode_AsUTF8(file));
    }
    Py_XDECREF(key);
    Py_XDECREF(file);
    return out;
}

/* New reference: the ast node of code in its file; NULL: *out_why says why not, or an exception is
 * set. */
static PyObject *node_of(PyObject *code, PyObject *globals, const char **out_why) {
    PyObject *entry = load_file(code, globals, out_why);
    if (!entry)
        return NULL;
    PyObject *part = part_at(entry, code), *codes = part ? PyTuple_GET_ITEM(part, 1) : NULL;
    PyObject *key = NULL, *node = NULL;
    bool same = false;
    for (Py_ssize_t i = 0; codes && i < PyList_GET_SIZE(codes) && !same; i++)
        same = code_equal(code, PyList_GET_ITEM(codes, i));
    PyErr_Clear();
    if (!same) {
        *out_why = "its source text is not what is running";
        goto end;
    }
    PyObject *name = PyObject_GetAttrString(code, "co_name");
    PyObject *line = PyObject_GetAttrString(code, "co_firstlineno");
    if (name && line)
        key = PyTuple_Pack(2, name, line);
    Py_XDECREF(name);
    Py_XDECREF(line);
    if (!key)
        goto end;
    PyObject *nodes = PyDict_GetItemWithError(PyTuple_GET_ITEM(part, 0), key);
    node = pick_node(nodes, code, out_why);
    Py_XINCREF(node);
end:
    Py_XDECREF(key);
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

jpy_source *jpy_source_of(PyObject *code, PyObject *globals, const char **out_why) {
    *out_why = NULL;
    jpy_source *out = given_source(code);
    if (out || PyErr_Occurred())
        return out;
    PyObject *node = node_of(code, globals, out_why);
    PyObject *file = node ? PyObject_GetAttrString(code, "co_filename") : NULL;
    if (file) {
        PyObject *in_class = class_of(node);
        out = jpy_lower(node, in_class, PyUnicode_AsUTF8(file));
        Py_XDECREF(in_class);
    }
    Py_XDECREF(file);
    Py_XDECREF(node);
    return out;
}

PyObject *jpy_source_node(PyObject *code, PyObject *globals) {
    const char *why;
    PyObject *node = node_of(code, globals, &why);
    if (!node)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *in_class = class_of(node);
    PyObject *out = Py_BuildValue("(OO)", node, in_class ? in_class : Py_None);
    Py_XDECREF(in_class);
    Py_DECREF(node);
    return out;
}
