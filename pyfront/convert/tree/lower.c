/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python's ast objects -> jpy_tree, once per function.
 *
 * Everything is read through attribute access on `ast` objects, which are plain data.  A table maps
 * class names to small functions.
 */
#include "pyfront/convert/tree/tree.h"

#include <string.h>

#include "pyfront/convert/tree/constants.h"
#include "pyfront/function/function.h"

typedef struct lower {
    jpy_source *s;
    jpy_tree_fn *fn; /* of the function being lowered */
    JN_VEC(PyObject *) bound, outer;
    const char *class_name; /* of the innermost class around it, without leading underscores */
    PyObject *constants;    /* of the code, NULL: nobody asks which objects they are */
    bool failed;
} lower;

static jpy_tree *lower_node(lower *l, PyObject *o);

static PyObject *keep(lower *l, PyObject *o /* new reference */) {
    if (!o) {
        l->failed = true;
        return NULL;
    }
    if (!jn_vec_push(&l->s->objects, o)) {
        Py_DECREF(o);
        PyErr_NoMemory();
        l->failed = true;
        return NULL;
    }
    return o;
}

static PyObject *field(lower *l, PyObject *o, const char *name) {
    return keep(l, PyObject_GetAttrString(o, name));
}

/* An identifier as the compiler has it: inside a class, __name is _Class__name.  Takes over the
 * reference. */
static PyObject *mangled(lower *l, PyObject *s) {
    const char *text = s && PyUnicode_Check(s) ? PyUnicode_AsUTF8(s) : NULL;
    size_t n = text ? strlen(text) : 0;
    if (n > 2 && l->class_name && *l->class_name && text[0] == '_' && text[1] == '_' &&
        !(text[n - 1] == '_' && text[n - 2] == '_') && !strchr(text, '.'))
        Py_SETREF(s, PyUnicode_FromFormat("_%s%U", l->class_name, s));
    if (s && PyUnicode_Check(s))
        PyUnicode_InternInPlace(&s);
    return keep(l, s);
}

static PyObject *identifier(lower *l, PyObject *o, const char *name) {
    return mangled(l, PyObject_GetAttrString(o, name));
}

static jpy_tree *child(lower *l, PyObject *o, const char *name) {
    PyObject *v = field(l, o, name);
    return !v || v == Py_None ? NULL : lower_node(l, v);
}

static jpy_tree_list children(lower *l, PyObject *o, const char *name) {
    jpy_tree_list out = {0};
    PyObject *v = field(l, o, name);
    if (!v || !PyList_Check(v))
        return out;
    out.n = (unsigned)PyList_GET_SIZE(v);
    out.v = jn_arena_zalloc(&l->s->arena, sizeof(jpy_tree *) * (out.n + 1));
    if (!out.v) {
        l->failed = true;
        out.n = 0;
        return out;
    }
    for (unsigned i = 0; i < out.n; i++) {
        PyObject *e = PyList_GET_ITEM(v, i);
        out.v[i] = e == Py_None ? NULL : lower_node(l, e);
    }
    return out;
}

static bool contains(PyObject *const *v, size_t n, PyObject *o) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == o)
            return true;
    return false;
}

static void bind(lower *l, PyObject *name) {
    if (name && !contains(l->bound.data, l->bound.n, name) && !jn_vec_push(&l->bound, name))
        l->failed = true;
}

static int table_index(const char *const *names, const char *name) {
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

static const char *class_name(PyObject *o) { return Py_TYPE(o)->tp_name; }
static const char *short_name(PyObject *o) {
    const char *n = class_name(o), *dot = strrchr(n, '.');
    return dot ? dot + 1 : n;
}

static uint8_t operator_of(lower *l, PyObject *o, const char *const *names) {
    int i = table_index(names, short_name(o));
    if (i < 0)
        l->failed = true;
    return (uint8_t)i;
}

static const char *const binops[] = {"Add",    "Sub",   "Mult",    "Div",    "FloorDiv",
                                     "Mod",    "Pow",   "MatMult", "LShift", "RShift",
                                     "BitAnd", "BitOr", "BitXor",  NULL};
static const char *const cmpops[] = {"Eq", "NotEq", "Lt", "LtE",   "Gt", "GtE",
                                     "Is", "IsNot", "In", "NotIn", NULL};
static const char *const unops[] = {"USub", "UAdd", "Not", "Invert", NULL};
static const char *const boolops[] = {"And", "Or", NULL};

static void lower_args(lower *l, jpy_tree *n, PyObject *o) {
    n->kind = JPY_ARGS;
    static const char *const lists[] = {"posonlyargs", "args", "kwonlyargs"};
    jpy_tree_list part[3];
    unsigned total = 0;
    for (int i = 0; i < 3; i++) {
        part[i] = children(l, o, lists[i]);
        total += part[i].n;
    }
    n->x.v = jn_arena_zalloc(&l->s->arena, sizeof(jpy_tree *) * (total + 1));
    if (!n->x.v) {
        l->failed = true;
        return;
    }
    for (int i = 0; i < 3; i++)
        for (unsigned k = 0; k < part[i].n; k++) {
            part[i].v[k]->op = (uint8_t)i;
            n->x.v[n->x.n++] = part[i].v[k];
        }
    n->a = child(l, o, "vararg");
    n->b = child(l, o, "kwarg");
    n->y = children(l, o, "defaults");
    n->z = children(l, o, "kw_defaults");
}

/* A nested function or lambda: its own list of bound names. */
/* What janus/_skeleton.py says of a region's function, by names that are its variables'. */
static void lower_kept(lower *l, jpy_tree_fn *fn, PyObject *o) {
    PyObject *names = PyObject_GetAttrString(o, "kept");
    Py_ssize_t n = names && PyList_Check(names) ? PyList_GET_SIZE(names) : 0;
    PyErr_Clear();
    fn->kept =
        n && fn->locals ? jn_arena_alloc(&l->s->arena, sizeof(PyObject *) * (size_t)n) : NULL;
    l->failed = l->failed || (n && !fn->kept);
    for (Py_ssize_t i = 0; i < n && fn->kept; i++)
        for (unsigned k = 0; k < fn->n_locals; k++)
            if (PyUnicode_Compare(fn->locals[k], PyList_GET_ITEM(names, i)) == 0)
                fn->kept[fn->n_kept++] = fn->locals[k];
    l->failed = l->failed || fn->n_kept != (unsigned)n;
    Py_XDECREF(names);
}

static void lower_fn(lower *l, jpy_tree *n, PyObject *o, bool is_def) {
    if (is_def) {
        n->obj = identifier(l, o, "name");
        n->y = children(l, o, "decorator_list");
    }
    jpy_tree *args = child(l, o, "args"); /* defaults belong to the enclosing scope */
    lower inner = {.s = l->s, .class_name = l->class_name, .constants = l->constants};
    inner.fn = n->fn = jn_arena_zalloc(&l->s->arena, sizeof *n->fn);
    if (!n->fn || !args) {
        l->failed = true;
        return;
    }
    n->c = args;
    for (unsigned i = 0; i < args->x.n; i++)
        bind(&inner, args->x.v[i]->obj);
    if (args->a)
        bind(&inner, args->a->obj);
    if (args->b)
        bind(&inner, args->b->obj);
    size_t n_params = inner.bound.n;
    if (is_def)
        n->x = children(&inner, o, "body");
    else
        n->a = child(&inner, o, "body");
    unsigned kept = 0;
    n->fn->locals = jn_arena_alloc(&l->s->arena, sizeof(PyObject *) * (inner.bound.n + 1));
    if (!n->fn->locals)
        inner.failed = true;
    else
        for (size_t i = 0; i < inner.bound.n; i++)
            if (i < n_params || !contains(inner.outer.data, inner.outer.n, inner.bound.data[i]))
                n->fn->locals[kept++] = inner.bound.data[i];
    n->fn->n_locals = kept;
    if (is_def)
        lower_kept(l, n->fn, o);
    n->fn->name = is_def && n->obj ? PyUnicode_AsUTF8(n->obj) : "<lambda>";
    if (inner.failed)
        l->failed = true;
    jn_vec_free(&inner.bound);
    jn_vec_free(&inner.outer);
}

static void lower_import(lower *l, jpy_tree *n, PyObject *o, bool from) {
    n->kind = JPY_IMPORT;
    if (from) {
        PyObject *level = field(l, o, "level");
        n->op = level && PyLong_Check(level) ? (uint8_t)PyLong_AsLong(level) : 0;
        n->obj = field(l, o, "module");
    }
    PyObject *names = field(l, o, "names");
    for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(names); i++) {
        PyObject *e = PyList_GET_ITEM(names, i);
        PyObject *as = identifier(l, e, "asname"), *name = identifier(l, e, "name");
        if (as && name)
            bind(l, as != Py_None ? as : name);
    }
}

static void lower_scope(lower *l, PyObject *o) {
    PyObject *names = field(l, o, "names");
    for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(names); i++) {
        PyObject *e = PyList_GET_ITEM(names, i);
        e = mangled(l, Py_NewRef(e));
        if (!e || !jn_vec_push(&l->outer, e))
            l->failed = true;
    }
}

static const struct {
    const char *name;
    uint8_t kind;
} simple[] = {{"Tuple", JPY_TUPLE},     {"List", JPY_LIST},
              {"Set", JPY_SET},         {"ListComp", JPY_LISTCOMP},
              {"SetComp", JPY_SETCOMP}, {"GeneratorExp", JPY_GENEXP},
              {"Break", JPY_BREAK},     {"Continue", JPY_CONTINUE},
              {"Pass", JPY_PASS},       {NULL, 0}};

static void lower_expr(lower *l, jpy_tree *n, PyObject *o, const char *k);

static PyObject *bound_name(lower *l, PyObject *o, const char *what) {
    PyObject *name = identifier(l, o, what);
    if (!name || name == Py_None)
        return NULL;
    bind(l, name);
    return name;
}

/* What a match statement is made of; false: it is something else. */
static bool lower_match(lower *l, jpy_tree *n, PyObject *o, const char *k) {
    if (strncmp(k, "Match", 5) != 0 && strcmp(k, "match_case") != 0)
        return false;
    n->kind = JPY_PATTERN;
    if (!strcmp(k, "Match")) {
        n->kind = JPY_MATCH;
        n->a = child(l, o, "subject");
        n->x = children(l, o, "cases");
    } else if (*k == 'm') {
        n->kind = JPY_CASE;
        n->a = child(l, o, "pattern");
        n->b = child(l, o, "guard");
        n->x = children(l, o, "body");
    } else if (!strcmp(k, "MatchValue")) {
        n->op = JPY_P_VALUE;
        n->a = child(l, o, "value");
    } else if (!strcmp(k, "MatchSingleton")) {
        n->op = JPY_P_SINGLETON;
        n->obj = field(l, o, "value");
    } else if (!strcmp(k, "MatchSequence")) {
        n->op = JPY_P_SEQUENCE;
        n->x = children(l, o, "patterns");
    } else if (!strcmp(k, "MatchStar")) {
        n->op = JPY_P_STAR;
        n->obj = bound_name(l, o, "name");
    } else if (!strcmp(k, "MatchClass")) {
        n->op = JPY_P_CLASS;
        n->a = child(l, o, "cls");
        n->x = children(l, o, "patterns");
        n->obj = field(l, o, "kwd_attrs");
        n->y = children(l, o, "kwd_patterns");
    } else if (!strcmp(k, "MatchAs")) {
        n->op = JPY_P_AS;
        n->a = child(l, o, "pattern");
        n->obj = bound_name(l, o, "name");
    } else if (!strcmp(k, "MatchOr")) {
        n->op = JPY_P_OR;
        n->x = children(l, o, "patterns");
    } else {
        n->op = JPY_P_MAPPING;
        n->x = children(l, o, "keys");
        n->y = children(l, o, "patterns");
        n->obj = bound_name(l, o, "rest");
    }
    return true;
}

static void lower_stmt(lower *l, jpy_tree *n, PyObject *o, const char *k) {
    if (!strcmp(k, "Expr")) {
        n->kind = JPY_EXPR;
        n->a = child(l, o, "value");
    } else if (!strcmp(k, "Assign")) {
        n->kind = JPY_ASSIGN;
        n->a = child(l, o, "value");
        n->x = children(l, o, "targets");
    } else if (!strcmp(k, "AugAssign")) {
        n->kind = JPY_AUG;
        n->op = operator_of(l, field(l, o, "op"), binops);
        n->a = child(l, o, "target");
        n->b = child(l, o, "value");
    } else if (!strcmp(k, "AnnAssign")) {
        n->kind = JPY_ANN;
        n->a = child(l, o, "target");
        n->b = child(l, o, "value");
    } else if (!strcmp(k, "If") || !strcmp(k, "While")) {
        n->kind = *k == 'I' ? JPY_IF : JPY_WHILE;
        n->a = child(l, o, "test");
        n->x = children(l, o, "body");
        n->y = children(l, o, "orelse");
    } else if (!strcmp(k, "For")) {
        n->kind = JPY_FOR;
        n->a = child(l, o, "target");
        n->b = child(l, o, "iter");
        n->x = children(l, o, "body");
        n->y = children(l, o, "orelse");
    } else if (!strcmp(k, "Return")) {
        n->kind = JPY_RETURN;
        n->a = child(l, o, "value");
    } else if (!strcmp(k, "Assert")) {
        n->kind = JPY_ASSERT;
        n->a = child(l, o, "test");
        n->b = child(l, o, "msg");
    } else if (!strcmp(k, "Raise")) {
        n->kind = JPY_RAISE;
    } else if (!strcmp(k, "With")) {
        n->kind = JPY_WITH;
        n->x = children(l, o, "items");
        n->y = children(l, o, "body");
    } else if (!strcmp(k, "Try")) {
        n->kind = JPY_TRY;
        n->x = children(l, o, "body");
        jpy_tree_list handlers = children(l, o, "handlers"); /* for the names they bind */
        n->c = handlers.n == 1 ? handlers.v[0] : NULL;
        n->y = children(l, o, "orelse");
        n->z = children(l, o, "finalbody");
    } else if (!strcmp(k, "ExceptHandler")) {
        n->kind = JPY_PASS;
        PyObject *name = identifier(l, o, "name");
        if (name && name != Py_None)
            bind(l, name);
        n->obj = name == Py_None ? NULL : name;
        n->a = child(l, o, "type");
        n->x = children(l, o, "body");
    } else if (!strcmp(k, "FunctionDef")) {
        n->kind = JPY_DEF;
        lower_fn(l, n, o, true);
        bind(l, n->obj);
    } else if (!strcmp(k, "Delete")) {
        n->kind = JPY_DELETE;
        n->x = children(l, o, "targets");
    } else if (!strcmp(k, "Global") || !strcmp(k, "Nonlocal")) {
        n->kind = JPY_SCOPE;
        n->op = *k == 'N';
        lower_scope(l, o);
    } else if (!strcmp(k, "Import") || !strcmp(k, "ImportFrom")) {
        lower_import(l, n, o, k[6] != '\0');
    } else if (!strcmp(k, "ClassDef") || !strcmp(k, "AsyncFunctionDef")) {
        n->obj = keep(l, PyUnicode_FromString(k));
        bind(l, identifier(l, o, "name"));
    } else if (!lower_match(l, n, o, k)) {
        lower_expr(l, n, o, k);
    }
}

static void lower_expr(lower *l, jpy_tree *n, PyObject *o, const char *k) {
    if (!strcmp(k, "Constant")) {
        n->kind = JPY_CONST;
        n->obj = field(l, o, "value");
    } else if (!strcmp(k, "Name")) {
        n->kind = JPY_NAME;
        n->obj = identifier(l, o, "id");
        PyObject *ctx = field(l, o, "ctx");
        if (ctx && strcmp(short_name(ctx), "Load") != 0)
            bind(l, n->obj);
    } else if (!strcmp(k, "BinOp")) {
        n->kind = JPY_BINOP;
        n->op = operator_of(l, field(l, o, "op"), binops);
        n->a = child(l, o, "left");
        n->b = child(l, o, "right");
    } else if (!strcmp(k, "UnaryOp")) {
        n->kind = JPY_UNARY;
        n->op = operator_of(l, field(l, o, "op"), unops);
        n->a = child(l, o, "operand");
    } else if (!strcmp(k, "BoolOp")) {
        n->kind = JPY_BOOLOP;
        n->op = operator_of(l, field(l, o, "op"), boolops);
        n->x = children(l, o, "values");
    } else if (!strcmp(k, "Compare")) {
        n->kind = JPY_COMPARE;
        n->a = child(l, o, "left");
        n->x = children(l, o, "comparators");
        PyObject *ops = field(l, o, "ops");
        uint8_t *v = jn_arena_alloc(&l->s->arena, n->x.n + 1);
        for (unsigned i = 0; ops && v && i < n->x.n; i++)
            v[i] = operator_of(l, PyList_GET_ITEM(ops, i), cmpops);
        n->ops = v;
    } else if (!strcmp(k, "Call")) {
        n->kind = JPY_CALL;
        n->a = child(l, o, "func");
        n->x = children(l, o, "args");
        n->y = children(l, o, "keywords");
    } else if (!strcmp(k, "keyword")) {
        n->kind = JPY_KEYWORD;
        n->obj = PyObject_GetAttrString(o, "arg"); /* of a call: never mangled */
        if (n->obj && PyUnicode_Check(n->obj))
            PyUnicode_InternInPlace(&n->obj);
        if (keep(l, n->obj) == Py_None)
            n->obj = NULL;
        n->a = child(l, o, "value");
    } else if (!strcmp(k, "Attribute")) {
        n->kind = JPY_ATTR;
        n->a = child(l, o, "value");
        n->obj = identifier(l, o, "attr");
    } else if (!strcmp(k, "Subscript")) {
        n->kind = JPY_SUBSCRIPT;
        n->a = child(l, o, "value");
        n->b = child(l, o, "slice");
    } else if (!strcmp(k, "Slice")) {
        n->kind = JPY_SLICE;
        n->a = child(l, o, "lower");
        n->b = child(l, o, "upper");
        n->c = child(l, o, "step");
    } else if (!strcmp(k, "Dict")) {
        n->kind = JPY_DICT;
        n->x = children(l, o, "keys");
        n->y = children(l, o, "values");
    } else if (!strcmp(k, "IfExp")) {
        n->kind = JPY_IFEXP;
        n->a = child(l, o, "test");
        n->b = child(l, o, "body");
        n->c = child(l, o, "orelse");
    } else if (!strcmp(k, "Lambda")) {
        n->kind = JPY_LAMBDA;
        lower_fn(l, n, o, false);
    } else if (!strcmp(k, "DictComp")) {
        n->kind = JPY_DICTCOMP;
        n->a = child(l, o, "key");
        n->b = child(l, o, "value");
        n->x = children(l, o, "generators");
    } else if (!strcmp(k, "comprehension")) {
        n->kind = JPY_GENERATOR;
        size_t before = l->bound.n; /* the target belongs to the comprehension */
        n->a = child(l, o, "target");
        l->bound.n = before;
        n->b = child(l, o, "iter");
        n->x = children(l, o, "ifs");
    } else if (!strcmp(k, "JoinedStr")) {
        n->kind = JPY_FSTRING;
        n->x = children(l, o, "values");
    } else if (!strcmp(k, "FormattedValue")) {
        n->kind = JPY_FORMATTED;
        PyObject *c = field(l, o, "conversion");
        n->op = c && PyLong_Check(c) ? (uint8_t)PyLong_AsLong(c) : 255;
        n->a = child(l, o, "value");
        n->b = child(l, o, "format_spec");
    } else if (!strcmp(k, "Starred")) {
        n->kind = JPY_STARRED;
        n->a = child(l, o, "value");
    } else if (!strcmp(k, "NamedExpr")) {
        n->kind = JPY_NAMED;
        n->a = child(l, o, "target");
        n->b = child(l, o, "value");
    } else if (!strcmp(k, "arguments")) {
        lower_args(l, n, o);
    } else if (!strcmp(k, "arg")) {
        n->kind = JPY_PARAM;
        n->obj = identifier(l, o, "arg");
    } else if (!strcmp(k, "withitem")) {
        n->kind = JPY_WITHITEM;
        n->a = child(l, o, "context_expr");
        n->b = child(l, o, "optional_vars");
    } else {
        bool yield = !strcmp(k, "Yield") || !strcmp(k, "YieldFrom");
        if ((yield || !strcmp(k, "Await")) && l->fn)
            l->fn->generator = true;
        if (yield) {
            n->kind = JPY_YIELD;
            n->op = k[5] != '\0';
            n->a = child(l, o, "value");
        }
        n->obj = keep(l, PyUnicode_FromString(k));
    }
}

static jpy_tree *lower_node(lower *l, PyObject *o) {
    jpy_tree *n = jn_arena_zalloc(&l->s->arena, sizeof *n);
    if (!n || Py_EnterRecursiveCall(" while reading the source")) {
        l->failed = true;
        return NULL;
    }
    const char *k = short_name(o);
    n->id = l->s->n_nodes++;
    n->kind = JPY_UNSUPPORTED;
    PyObject *line = PyObject_GetAttrString(o, "lineno");
    PyObject *col = line ? PyObject_GetAttrString(o, "col_offset") : NULL;
    if (line && col) {
        n->line = (uint32_t)PyLong_AsLong(line);
        n->col = (uint32_t)PyLong_AsLong(col);
    }
    PyErr_Clear(); /* arguments, comprehension, keyword (3.8) have no position */
    Py_XDECREF(line);
    Py_XDECREF(col);
    bool done = false;
    for (int i = 0; simple[i].name && !done; i++)
        if (!strcmp(simple[i].name, k)) {
            n->kind = simple[i].kind;
            if (n->kind == JPY_TUPLE || n->kind == JPY_LIST || n->kind == JPY_SET)
                n->x = children(l, o, "elts");
            else if (n->kind == JPY_LISTCOMP || n->kind == JPY_SETCOMP || n->kind == JPY_GENEXP) {
                n->a = child(l, o, "elt");
                n->x = children(l, o, "generators");
            }
            done = true;
        }
    if (!done)
        lower_stmt(l, n, o, k);
    PyObject *one = l->constants && !l->failed ? jpy_constant_of(l->constants, n) : NULL;
    if (one)
        *n = (jpy_tree){.kind = JPY_CONST,
                        .line = n->line,
                        .col = n->col,
                        .id = n->id,
                        .obj = keep(l, Py_NewRef(one))};
    Py_LeaveRecursiveCall();
    return n;
}

jpy_source *jpy_lower(PyObject *ast_node, PyObject *class_name, const char *file, PyObject *code) {
    jpy_source *s = jn_calloc(1, sizeof *s);
    if (!s) {
        PyErr_NoMemory();
        return NULL;
    }
    s->refs = 1;
    jn_arena_init(&s->arena, 0);
    s->file = jn_arena_strdup(&s->arena, file);
    s->library = jpy_in_library(file);
    lower l = {.s = s};
    if (class_name) {
        const char *text = PyUnicode_AsUTF8(class_name);
        l.class_name = text ? jn_arena_strdup(&s->arena, text + strspn(text, "_")) : NULL;
        l.failed = !l.class_name;
    }
    if (!s->library && !l.failed)
        l.failed = !(l.constants = jpy_constants_of(code));
    s->root = l.failed ? NULL : lower_node(&l, ast_node);
    bool failed = l.failed || !s->root;
    Py_XDECREF(l.constants);
    jn_vec_free(&l.bound);
    jn_vec_free(&l.outer);
    if (failed) {
        jpy_source_release(s);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_RuntimeError, "janus: the syntax tree is not understood");
        return NULL;
    }
    return s;
}

void jpy_source_release(jpy_source *s) {
    if (!s || --s->refs > 0)
        return;
    for (size_t i = 0; i < s->objects.n; i++)
        Py_DECREF(s->objects.data[i]);
    jn_vec_free(&s->objects);
    jn_arena_free(&s->arena);
    jn_free(s);
}
