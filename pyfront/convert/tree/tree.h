/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The converter's own syntax tree.
 *
 * Python's `ast` objects of one function are lowered once into these nodes, which live in an arena
 * together; identifiers are interned strings, so names compare by address.  A node has one generic
 * shape (three children, four lists), read as the comment of its kind says.  What has no kind here
 * becomes JPY_UNSUPPORTED with a reason: the converter refuses it only when it is reached.
 */
#ifndef JPY_CONVERT_TREE_TREE_H
#define JPY_CONVERT_TREE_TREE_H

#include "graph/base/arena.h"
#include "graph/base/vec.h"
#include "pyfront/base/jpy.h"

typedef enum jpy_tree_kind {
    /* expressions */
    JPY_CONST,     /* obj */
    JPY_NAME,      /* obj: identifier */
    JPY_BINOP,     /* op, a, b */
    JPY_UNARY,     /* op, a */
    JPY_BOOLOP,    /* op: JPY_AND or JPY_OR, x */
    JPY_COMPARE,   /* a, x: right operands, ops */
    JPY_CALL,      /* a: function, x: arguments, y: JPY_KEYWORD */
    JPY_KEYWORD,   /* obj: name, NULL for **; a */
    JPY_ATTR,      /* a, obj */
    JPY_SUBSCRIPT, /* a, b */
    JPY_SLICE,     /* a, b, c, each may be NULL */
    JPY_TUPLE,     /* x */
    JPY_LIST,      /* x */
    JPY_SET,       /* x */
    JPY_DICT,      /* x: keys (NULL: **), y: values */
    JPY_IFEXP,     /* a: test, b, c: else */
    JPY_LAMBDA,    /* c: JPY_ARGS, a: body, fn */
    JPY_LISTCOMP,  /* a: element, x: JPY_GENERATOR */
    JPY_SETCOMP,
    JPY_GENEXP,
    JPY_DICTCOMP,  /* a: key, b: value, x */
    JPY_GENERATOR, /* a: target, b: iterable, x: conditions */
    JPY_FSTRING,   /* x */
    JPY_FORMATTED, /* a: value, op: conversion, b: format */
    JPY_STARRED,   /* a */
    JPY_NAMED,     /* a: target, b: value */
    JPY_YIELD,     /* a, or NULL; op: 1: yield from */
    /* parameters */
    JPY_ARGS,  /* x: JPY_PARAM, a: *name, b: **name, y: defaults, z: keyword defaults or NULL */
    JPY_PARAM, /* obj; op: 0 positional only, 1 either, 2 keyword only */
    /* statements */
    JPY_EXPR,   /* a */
    JPY_ASSIGN, /* x: targets, a */
    JPY_AUG,    /* op, a, b */
    JPY_ANN,    /* a: target, b: value or NULL */
    JPY_IF,     /* a, x, y: else */
    JPY_WHILE,  /* a, x, y */
    JPY_FOR,    /* a: target, b: iterable, x, y: else */
    JPY_RETURN, /* a or NULL */
    JPY_BREAK,
    JPY_CONTINUE,
    JPY_PASS,
    JPY_ASSERT,     /* a, b: message or NULL */
    JPY_RAISE,      /* a */
    JPY_WITH,       /* x: JPY_WITHITEM, y: body */
    JPY_WITHITEM,   /* a, b: target or NULL */
    JPY_TRY,        /* x: body, y: else, z: finally, c: the only handler, a JPY_PASS, or NULL:
                       a: type or NULL, obj: name or NULL, x: body */
    JPY_DEF,        /* obj: name, c: JPY_ARGS, x: body, y: decorators, fn */
    JPY_DELETE,     /* x */
    JPY_SCOPE,      /* global and nonlocal declarations: no effect here, see jpy_tree_fn */
    JPY_IMPORT,     /* obj: module name or NULL, x: JPY_KEYWORD (obj: name, a: JPY_NAME as) */
    JPY_MATCH,      /* a: subject, x: JPY_CASE */
    JPY_CASE,       /* a: JPY_PATTERN, b: guard or NULL, x: body */
    JPY_PATTERN,    /* op: below */
    JPY_UNSUPPORTED /* obj: what */
} jpy_tree_kind;

enum {
    JPY_P_OTHER,
    JPY_P_VALUE,     /* a */
    JPY_P_SINGLETON, /* obj */
    JPY_P_SEQUENCE,  /* x */
    JPY_P_STAR,      /* obj: name or NULL */
    JPY_P_CLASS,     /* a: class, x: patterns by position, obj: list of names, y: their patterns */
    JPY_P_AS,        /* a: pattern or NULL, obj: name or NULL */
    JPY_P_OR,        /* x */
    JPY_P_MAPPING    /* x: keys, y: patterns, obj: name of the rest or NULL */
};
enum { JPY_AND, JPY_OR };
enum { JPY_U_NEG, JPY_U_POS, JPY_U_NOT, JPY_U_INVERT };
/* Binary operators: in the order of jpy_binop_names. */
enum {
    JPY_ADD,
    JPY_SUB,
    JPY_MUL,
    JPY_TRUEDIV,
    JPY_FLOORDIV,
    JPY_MOD,
    JPY_POW,
    JPY_MATMUL,
    JPY_LSHIFT,
    JPY_RSHIFT,
    JPY_BITAND,
    JPY_BITOR,
    JPY_BITXOR
};
enum { JPY_EQ, JPY_NE, JPY_LT, JPY_LE, JPY_GT, JPY_GE, JPY_IS, JPY_IS_NOT, JPY_IN, JPY_NOT_IN };

typedef struct jpy_tree jpy_tree;
typedef struct jpy_tree_list {
    jpy_tree **v;
    unsigned n;
} jpy_tree_list;

/* What a function body binds: parameters and assigned names that are neither global nor nonlocal.
 */
typedef struct jpy_tree_fn {
    PyObject **locals;
    PyObject **kept; /* of a region's function: variables that nobody reads behind it */
    unsigned n_locals, n_kept;
    bool generator; /* has yield or await */
    const char *name;
} jpy_tree_fn;

struct jpy_tree {
    uint8_t kind, op;
    uint32_t line, col;
    uint32_t id; /* dense, in source order */
    PyObject *obj;
    jpy_tree *a, *b, *c;
    jpy_tree_list x, y, z;
    const uint8_t *ops;
    jpy_tree_fn *fn;
};

/* One lowered function; counted, immutable. */
typedef struct jpy_source {
    int refs;
    jn_arena arena;
    JN_VEC(PyObject *) objects; /* owned: constants and identifiers of the tree */
    jpy_tree *root;             /* JPY_DEF or JPY_LAMBDA */
    uint32_t n_nodes;
    const char *file; /* in the arena */
    bool library;     /* it is one of janus's own */
} jpy_source;

/* Lowers a FunctionDef or Lambda object of `ast` that stands in a class of that name (a str), or in
 * none (NULL); its constants are the code's.  NULL: Python exception set. */
jpy_source *jpy_lower(PyObject *ast_node, PyObject *class_name, const char *file, PyObject *code);
void jpy_source_release(jpy_source *s);

/* The source of a Python function's code, checked against the code that runs; NULL without an
 * exception: there is none, *out_why says why (static or borrowed text). */
jpy_source *jpy_source_of(PyObject *code, PyObject *globals, const char **out_why);
/* New reference: (ast node, name of the class around it or None) of the code in its file, which
 * nobody may change; None: it has no source. */
PyObject *jpy_source_node(PyObject *code, PyObject *globals);
/* New reference: a tuple of constants of which what looks like one of the code's is that object.
 * NULL: exception set. */
PyObject *jpy_constants_like(PyObject *consts, PyObject *code);
/* _compile(text or tree, file name, flags): code of a module, without warnings. */
PyObject *jpy_py_compile(PyObject *module, PyObject *args);
/* Whether `test` holds of the node, which may be NULL, or of one in it. */
bool jpy_tree_any(const jpy_tree *n, bool (*test)(const jpy_tree *n, const void *arg),
                  const void *arg);
/* From now on the source of `code` is the FunctionDef `node` (in_class: a str or None).  -1:
 * exception set. */
int jpy_source_give(PyObject *code, PyObject *node, PyObject *in_class);

#endif
