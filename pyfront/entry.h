/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cached entry: guards, module, and recipes that make Python objects of a run's results.
 */
#ifndef JPY_ENTRY_H
#define JPY_ENTRY_H

#include "exec/run.h"
#include "graph/graph.h"
#include "pyfront/guard.h"

struct jpy_node;

/* How a Python value is born at commit. */
typedef enum jpy_recipe_kind {
    JPY_MAKE_CONST,  /* obj */
    JPY_MAKE_SOURCE, /* slot: the guarded object itself */
    JPY_MAKE_RESULT, /* slot: result of the run, wrapped */
    JPY_MAKE_TUPLE,  /* items; obj: its type where that is a named tuple's */
    JPY_MAKE_LIST,
    JPY_MAKE_DICT,  /* items: key, value, ... */
    JPY_MAKE_OBJECT /* obj: type; items: attribute, value, ... */
} jpy_recipe_kind;

typedef struct jpy_recipe {
    jpy_recipe_kind kind;
    uint32_t slot;
    uint32_t id;   /* recipes of one id make one object */
    uint32_t grad; /* of a tensor result: 1 + its number at the region's node; 0: no history */
    bool freed;    /* of a tensor result: it has a history, which backward has used up */
    PyObject *obj;
    struct jpy_recipe **items;
    unsigned n;
} jpy_recipe;

typedef enum jpy_commit_kind {
    JPY_COMMIT_ATTR,  /* object slot . key = value */
    JPY_COMMIT_GRAD,  /* tensor slot .grad = value (None allowed) */
    JPY_COMMIT_STORE, /* tensor slot [...] = result `value` */
    JPY_COMMIT_LIST,  /* list slot [:] = value */
    JPY_COMMIT_DICT,  /* dict slot: set the pairs of value, a JPY_MAKE_DICT; key order kept */
    JPY_COMMIT_PRINT  /* print(*value, ...): value is a tuple */
} jpy_commit_kind;

typedef struct jpy_commit_step {
    jpy_commit_kind kind;
    uint32_t slot;
    PyObject *key;
    jpy_recipe *value;
} jpy_commit_step;

typedef struct jpy_input {
    uint32_t slot;
    uint8_t kind; /* janus_kind */
} jpy_input;

typedef struct jpy_tracked { /* a tensor that gradients flow to */
    uint32_t slot, gradient; /* result of grad_sub */
} jpy_tracked;

typedef struct jpy_kept { /* a bound tensor that the frame refers to, and the op that saved it */
    uint32_t slot;
    const char *op;
} jpy_kept;

struct jpy_entry {
    int refs;
    jpy_guards guards;
    janus_module *module;
    jn_subgraph *main;
    jn_arena arena;
    JN_VEC(jpy_input) inputs;
    JN_VEC(jpy_commit_step) steps;
    jpy_recipe *result;
    jn_subgraph *grad_sub; /* NULL: no result requires grad; else the last result is the frame */
    JN_VEC(jpy_tracked) tracked;
    JN_VEC(jpy_kept) kept;
    JN_VEC(uint32_t) grad_of; /* per result: as jpy_recipe.grad */
    JN_VEC(uint32_t) looked;  /* slots of containers whose contents the guards have read */
    unsigned n_tracked;
    uint32_t n_recipes;
    unsigned n_results;
    PyObject *attr_names; /* list: host.attr keys */
    PyObject *type_list;  /* list: host.type tokens are addresses of these */
    uint64_t runs;
    jpy_trial trial;
};

/* commit.c: builds every object (prepare), then applies, the log of the run (prepared) last.
 * 0, or -1: nothing has changed. */
int jpy_commit(jpy_entry *e, PyObject **slots, jn_run *run, jn_arg *results, struct jpy_node *node,
               PyObject **out_result);
#endif
