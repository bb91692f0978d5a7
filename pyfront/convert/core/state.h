/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The converter's own data.  Abstract values are abstract.h's, the staged graph is staged.h's.
 *
 * Converting is running the function's tree on abstract values.  A tensor is a *proxy*: a real
 * janus.Tensor without elements, whose storage leads to a `jcv_rec` with its graph value.  Eager
 * ops on proxies come to the converter through jn_eager_hook, so promotion, argument parsing,
 * views, in-place rules and the tape are the eager layer's own.
 *
 * Mutable state (variables, cells, containers, attributes written) is a table of slots holding
 * immutable abstract values: a branch is run on a copy of the table and merged.  Refusing is a
 * longjmp to the nearest handler: no function here returns a failure.
 */
#ifndef JPY_CONVERT_CORE_STATE_H
#define JPY_CONVERT_CORE_STATE_H

#include <setjmp.h>

#include "graph/ir/ir.h"
#include "pyfront/convert/core/abstract.h"
#include "pyfront/op/op.h"

typedef enum jcv_out { OUT_NORMAL, OUT_RETURN, OUT_BREAK, OUT_CONTINUE } jcv_out;

/* Statements that follow, innermost first, up to the function's or loop body's end. */
typedef struct jcv_cont {
    const jpy_tree_list *list;
    unsigned next;
    struct jcv_cont *up;
} jcv_cont;

enum { JCV_END_FUNC, JCV_END_ROUND, JCV_END_OTHER };

/* PROBE: what was looked for has been found, see jcv_probe.  FORK: see fork.c. */
typedef enum jcv_throw {
    THROW_NONE,
    THROW_REFUSE,
    THROW_DEAD,
    THROW_RESTART,
    THROW_PROBE,
    THROW_FORK
} jcv_throw;
/* A loop whose first round is made outside of it, a comprehension that is unrolled, or a function:
 * kept over restarts. */
typedef struct jcv_peel {
    const jpy_tree *loop;
    struct jcv_peel *next;
} jcv_peel;
/* How the loop around is left, where that is seen only by the graph (loop.c). */
typedef struct jcv_leave {
    uint32_t flag, value; /* slots: a number, what is returned */
    struct jcv_leave *up;
} jcv_leave;

typedef struct jcv_handler {
    jmp_buf env;
    struct jcv_handler *up;
} jcv_handler;

typedef struct jcv_state {
    jcv_av **slots;
    size_t n;
} jcv_state;

/* A recursive function, kept over restarts of a conversion. */
typedef struct jcv_rec_fn {
    PyObject *func;      /* one of several with the same code has cells of its own; NULL: ... */
    const jpy_tree *def; /* ... it is made inside, here */
    PyObject *self_key;  /* Module the method belongs to, or NULL */
    uint8_t *by_value;   /* per parameter: 1: differs between calls, passed as an argument */
    PyObject **samples;  /* per parameter: list for host objects */
    bool *looked;        /* per parameter: objects below its samples were looked at */
    uint32_t *sizes;     /* per parameter: axes that have other dims in other calls */
    uint32_t *gaps;      /* ... and, of such, axes along which there may be gaps */
    unsigned n_params;
    bool parts;     /* a call was seen that gets parts of what one around it gets */
    jcv_av *result; /* template: what a call returns; NULL: not known yet */
    struct jcv_rec_fn *next;
} jcv_rec_fn;

/* One SubGraph made of it in this attempt. */
typedef struct jcv_instance {
    jcv_rec_fn *fn;
    jcv_ctx *ctx;
    uint32_t epoch;
    uint32_t autocast;
    bool grad_mode, open;
    bool deeper;             /* a call of itself has shown samples that were not known */
    jcv_av *shape;           /* of the frame it was made for */
    jcv_frame *outer;        /* of a function that is made inside: whose variables it sees */
    struct jcv_sight *sight; /* what it sees beside its arguments */
    jcv_av **params;         /* abstract argument each parameter was bound to */
    bool *is_arg;
    struct jcv_instance *next;
} jcv_instance;

typedef struct jcv_attr {    /* an attribute of a real object, written or about to be */
    PyObject *object, *name; /* name: str; NULL: .grad of a tensor */
    jpy_src *src;
    uint32_t slot;
    jcv_av *first;
} jcv_attr;

/* A location that the graph writes itself (live.c); kept over restarts. */
typedef struct jcv_live {
    PyTypeObject *type; /* attribute `name` of objects of this type, or ... */
    PyObject *name;
    PyObject *object; /* ... a real list or dict, or ... */
    const void *site; /* ... one that is made at this place, a jpy_tree; or a variable of calls of
                         a function, one of jpy_tree_fn's locals (variables.c) */
    PyTypeObject *of; /* ... such a list that attribute `name` of instances made here is */
    PyObject *stored; /* list or dict of samples of what is written; a site's sample itself */
    bool tracked;     /* some of it requires grad */
    bool read;        /* its samples were used in this attempt */
    struct jcv_live *next;
} jcv_live;

typedef struct jcv_tagged {
    jcv_val *val;
    bool seen; /* by an op that was recorded */
} jcv_tagged;

typedef struct jcv_symbol { /* dims that were always equal */
    Py_hash_t history;
    int64_t size, image; /* at the call that is converted, and here */
    uint32_t slot;       /* the first tensor that has it; UINT32_MAX: only the run knows it */
    int axis;
    jcv_val *val;       /* of the last kind: the number */
    const jpy_tree *at; /* ... and where it was made, as which one */
    unsigned nth;
} jcv_symbol;

typedef struct jcv_which { /* a symbol, in all attempts */
    Py_hash_t history;     /* of an argument's dims ... */
    int64_t size;
    const jpy_tree *at; /* ... or, where that is 0, one that only the run knows */
    unsigned nth;
} jcv_which;

typedef struct jcv_equal { /* a symbol is assumed to be `by` more than another one, or `by` */
    jcv_which which, other;
    bool constant;
    int64_t by;
    unsigned times; /* how often that was found out */
    struct jcv_equal *next;
} jcv_equal;

typedef struct jcv_part { /* what x[start:stop] has along a dim of a size, and so every other such
                           */
    jcv_val *start, *stop;
    int64_t size, image;
} jcv_part;

typedef struct jcv_fork {
    const jpy_tree *statement;
    bool rest;  /* its arms have the rest of the block in them */
    bool texts; /* it could not, on a string */
    struct jcv_fork *next;
} jcv_fork;

typedef struct jcv_only { /* of an `if` that is no branch of the graph: what is so is assumed */
    const jpy_tree *statement;
    int arm;
    const char *why; /* what the other path is called */
    bool in_use;     /* else it is a branch: the other path is the usual one */
    bool tried;
    struct jcv_only *next;
} jcv_only;

typedef struct jcv_asked { /* what a statement forks on: a type, a string, or else a length */
    jcv_val *val;
    bool holds; /* it is the bool itself */
    PyTypeObject *type;
    PyObject *text;
    int64_t length;
} jcv_asked;

typedef struct jcv_ahead jcv_ahead;

struct jcv {
    const struct jcv_above *above;
    const struct jcv_slots *native; /* what values do whose slots are native (model.h) */
    jpy_function *f;
    const jpy_call *call;
    bool creates;   /* at a gradient that can be differentiated again (create_graph) */
    jn_arena arena; /* of this attempt */
    jn_arena keep;  /* of the conversion */
    JN_VEC(PyObject *) owned;
    jpy_guards *guards;
    janus_module *types; /* where staged types are interned */
    jcv_ctx *main, *ctx;
    JN_VEC(jcv_ctx *) ctxs;
    JN_VEC(jcv_av *) slots;     /* slot 0: the value being returned */
    JN_VEC(jcv_av *) slot_init; /* what each held when it was made */
    JN_VEC(jcv_attr *) attrs;
    JN_VEC(jcv_av *) real;    /* AV_LIST / AV_DICT standing for real containers */
    JN_VEC(jpy_src *) inputs; /* of main's parameters, in order; NULL: none */
    jpy_entry *entry;
    uint32_t n_effects;              /* written by the graph, or printed, so far */
    uint32_t n_outside;              /* ... where others see it, whatever else is written */
    JN_VEC(PyObject *) fresh;        /* blanks of instances made here (objects.c) ... */
    JN_VEC(const PyObject *) frozen; /* ... of which some stay as they are (copies.c) */
    jcv_rec *recs;
    jcv_rec *bound[JCV_BOUND]; /* those of them that were bound, by the address of the tensor */
    jcv_frame *frame;
    jcv_av **left; /* by a region's function in variables that are dead behind it, n_left */
    unsigned n_left;
    jcv_cont *cont;
    int boundary;     /* what the end of `cont` is: enum below */
    jcv_leave *leave; /* of the loop whose round it is, NULL: none, or it is left by no graph */
    jcv_handler *handler;
    jcv_rec_fn *rec_fns;
    jcv_instance *instances;
    struct jcv_apart *aparts; /* apart.c */
    uint32_t epoch;           /* the state that a recursion may see: each write makes a new one */
    uint32_t last_epoch;
    uint32_t writes;          /* ... to tensors */
    JN_VEC(jcv_rec *) places; /* roots that have a slot */
    uint32_t draws;           /* counts uses of the random generator */
    jcv_val *const *draw_at;  /* seed and offset of the eager function's draw, NULL: the run's */
    unsigned inside;          /* containers that are gone through, one in another */
    unsigned unrolled;        /* calls of recursions that are no SubGraphs */
    unsigned in_arms;         /* ... whose end only the graph knows */
    bool any_dims;            /* results may have unknown dims */
    int image;                /* 1 or 2: dims that vary are symbols (dims.c); 0: none do */
    bool asks_images;         /* refused for want of one: a size that only the run knows */
    JN_VEC(jcv_symbol) symbols;
    JN_VEC(jcv_val *) decided; /* numbers that only the run knows, and that are sizes */
    JN_VEC(jcv_part) parts;    /* of tensors, between bounds that only the run knows */
    JN_VEC(int64_t) large;     /* sizes of the image that 0 and 1 would not be like */
    JN_VEC(int64_t) still;     /* large dims of bound tensors that do not vary */
    JN_VEC(jcv_val *) passed;  /* numbers given to the eager function that runs ... */
    uint64_t came_back;        /* ... the first 64 of them that an op of it has got */
    bool passing;              /* ... which takes such */
    jpy_tree *at;
    bool hook_refused, no_effects;
    bool hook_restarts;      /* hook_refused, by what asks to start again */
    bool own_gradients;      /* some nodes are by_tape */
    jcv_throw thrown_inside; /* by what the tape has called (own_gradient.c) */
    bool asks_gradients;     /* by autograd.grad() */
    bool second_order;       /* gradients were made that have a history */
    bool any_freed;          /* some history was used up by backward() */
    uint32_t last_reach;     /* backward.c */
    uint32_t last_held;      /* stage.c */
    jcv_throw thrown;
    char reason[512];
    jn_loc refused_at;                /* where reason comes from */
    JN_VEC(jpy_left_out) left_out;    /* paths that are asserted not to be taken */
    JN_VEC(jn_loc) visited;           /* statements; repeated ones are dropped now and then */
    const jpy_tree *statement;        /* of the function itself, which runs; NULL: none does */
    unsigned steps, search;           /* search: how many nodes sample.c may still look at */
    uint32_t backwards;               /* calls of backward() */
    PyObject *attr_names, *type_list; /* lists: what host.attr and host.type refer to */
    PyObject *methods;                /* list: see jpy_entry */
    JN_VEC(jcv_tagged) tags;          /* numbers given to eager functions, see jcv_tag */
    bool host_items, host_keys;       /* items of host lists and tuples, of host dicts are read */
    jcv_live *lives;
    jcv_peel *peels;
    jcv_fork *forks;                   /* kept over restarts */
    jcv_only *onlys;                   /* kept over restarts */
    jcv_equal *equals;                 /* kept over restarts */
    JN_VEC(const jpy_tree *) sized_at; /* where sizes were made that only the run knows */
    const jpy_tree *running;           /* the innermost statement */
    jcv_asked asked;
    jcv_ahead *ahead; /* what expressions of the statement that runs are known to give (fork.c) */
    JN_VEC(uint32_t) gaps;       /* slots of dicts made here of which keys were taken out */
    struct jcv_matched *matched; /* what class patterns have looked at (syntax/match.c) */
    const jpy_tree *loop;  /* the statement whose rounds the graph makes, if it can be peeled */
    JN_VEC(jcv_av *) made; /* AV_LIST and AV_DICT, to find the place one was made at by its slot */
    uint32_t live_epoch;   /* counts what may write to live locations ... */
    uint32_t live_items;   /* ... and writes to live containers */
    bool cells;            /* some are written; kept */
    bool share_views;      /* several views of one tensor leave: all are taken at commit; kept */
    bool counts;           /* slots say whether versions count a write: jcv_rec.counted; kept */
    bool in_parts;   /* the last refusal was inside of a recursion that goes down containers */
    bool one_tensor; /* what was bound as one tensor stays one: it is written; kept */
    bool live_tensors, live_containers, two_views;
    bool rows;                /* rows of lists have keys (rows.put); kept */
    jcv_rows *all_rows;       /* of stacked lists of tensors */
    const jcv_av *in_turn;    /* the list of which a loop reads the next row ... */
    bool peeled;              /* ... having read the first one outside of its rounds */
    bool wires;               /* what is stored and requires grad is read again; kept */
    bool mixed_stores;        /* some of it requires grad on some paths only; kept */
    uint32_t views;           /* views of the caller's tensors are stored: of these dtypes without
                                 history; kept */
    jcv_peel *by_pairs;       /* functions: recursions that get other dicts in other calls; kept */
    JN_VEC(uint32_t) given;   /* slots of dicts that stand for what was given to a recursion */
    PyObject *met;            /* list of leaves that the graph reads (met.c); kept */
    JN_VEC(jcv_rec *) stored; /* tensors that the graph stores */
    JN_VEC(jcv_val *) stored_tracked; /* values of those that require grad, ... */
    JN_VEC(jcv_val *) stored_outside; /* ... and of these what is put into objects that remain */
    bool put_written;                 /* some of the caller's among these were written since */
    struct jcv_text *texts;           /* that are not assumed (heap/text.c) */
};

enum { JCV_MOST_STEPS = 200000 }; /* of which a conversion makes fifty thousand a second */

#define JCV_VIEWS_TRACKED ((uint32_t)1 << 31) /* in jcv.views */

extern _Thread_local jcv *jcv_current;

/* Why a path with a raise statement is left out.  The call ends there, so a barrier wins nothing.
 */
#define JCV_RAISES "a path that raises an exception"
/* How reasons end of what is a part of a graph outside of SubGraphs alone. */
#define JCV_INSIDE " inside a branch, loop or recursion"

#endif
