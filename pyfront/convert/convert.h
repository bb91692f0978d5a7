/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The converter's own data: its state and what its files call in each other.  Abstract values are
 * values.h's, the staged graph is staged.h's.
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
#ifndef JPY_CONVERT_CONVERT_H
#define JPY_CONVERT_CONVERT_H

#include <setjmp.h>

#include "graph/ir/ir.h"
#include "pyfront/autocast.h"
#include "pyfront/convert/values.h"

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
/* A loop whose first round is made outside of it, or a comprehension that is unrolled: kept over
 * restarts. */
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
    PyObject *func;     /* one of several with the same code has cells of its own */
    PyObject *self_key; /* Module the method belongs to, or NULL */
    uint8_t *by_value;  /* per parameter: 1: differs between calls, passed as an argument */
    PyObject **samples; /* per parameter: list for host objects */
    unsigned n_params;
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
    bool deeper;     /* a call of itself has shown samples that were not known */
    jcv_av *shape;   /* of the frame it was made for */
    jcv_av **params; /* abstract argument each parameter was bound to */
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
    PyObject *object;     /* ... a real list or dict, or ... */
    const jpy_tree *site; /* ... one that is made at this place */
    PyObject *stored;     /* list or dict of samples of what is written; a site's sample itself */
    bool tracked;         /* some of it requires grad */
    bool read;            /* its samples were used in this attempt */
    struct jcv_live *next;
} jcv_live;

typedef struct jcv_tagged {
    jcv_val *val;
    bool seen; /* by an op that was recorded */
} jcv_tagged;

typedef struct jcv_symbol { /* dims that were always equal */
    Py_hash_t history;
    int64_t size, image; /* at the call that is converted, and here */
    uint32_t slot;       /* the first tensor that has it */
    int axis;
} jcv_symbol;

typedef struct jcv_fork {
    const jpy_tree *statement;
    bool rest; /* its arms have the rest of the block in them */
    struct jcv_fork *next;
} jcv_fork;

typedef struct jcv_asked { /* what a statement forks on: a type, a string, or else a length */
    jcv_val *val;
    PyTypeObject *type;
    PyObject *text;
    int64_t length;
} jcv_asked;

struct jcv {
    jpy_function *f;
    const jpy_call *call;
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
    uint32_t n_effects;       /* written by the graph, or printed, so far */
    JN_VEC(PyObject *) fresh; /* blanks of instances made here (objects.c) */
    jcv_rec *recs;
    jcv_frame *frame;
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
    bool any_dims;            /* results may have unknown dims */
    int image;                /* 1 or 2: dims that vary are symbols (dims.c); 0: none do */
    JN_VEC(jcv_symbol) symbols;
    JN_VEC(int64_t) still;    /* large dims of bound tensors that do not vary */
    JN_VEC(jcv_val *) passed; /* numbers given to the eager function that runs ... */
    bool passing;             /* ... which takes such */
    JN_VEC(jcv_val *) rounds; /* of loops, how many: numbers of this kind */
    jpy_tree *at;
    bool hook_refused, no_effects;
    bool own_gradients;      /* some nodes are by_tape */
    jcv_throw thrown_inside; /* by what the tape has called (own_gradient.c) */
    bool second_order;       /* gradients were made that have a history */
    bool any_freed;          /* some history was used up by backward() */
    uint32_t last_reach;     /* backward.c */
    jcv_throw thrown;
    char reason[512];
    jn_loc refused_at;                /* where reason comes from */
    JN_VEC(jpy_left_out) left_out;    /* paths that are asserted not to be taken */
    JN_VEC(jn_loc) visited;           /* statements; repeated ones are dropped now and then */
    const jpy_tree *statement;        /* of the function itself, which runs; NULL: none does */
    unsigned steps, search;           /* search: how many nodes sample.c may still look at */
    PyObject *attr_names, *type_list; /* lists: what host.attr and host.type refer to */
    PyObject *methods;                /* list: see jpy_entry */
    JN_VEC(jcv_tagged) tags;          /* numbers given to eager functions, see jcv_tag */
    bool host_items, host_keys;       /* items of host lists and tuples, of host dicts are read */
    jcv_live *lives;
    jcv_peel *peels;
    jcv_fork *forks;         /* kept over restarts */
    const jpy_tree *running; /* the innermost statement */
    jcv_asked asked;
    const jpy_tree *loop;  /* the statement whose rounds the graph makes, if it can be peeled */
    JN_VEC(jcv_av *) made; /* AV_LIST and AV_DICT, to find the place one was made at by its slot */
    uint32_t live_epoch;   /* counts what may write to live locations ... */
    uint32_t live_items;   /* ... and writes to live containers */
    bool cells;            /* some are written; kept */
    bool share_views;      /* several views of one tensor leave: all are taken at commit; kept */
    bool one_tensor;       /* what was bound as one tensor stays one: it is written; kept */
    bool live_tensors, live_containers, two_views;
    bool wires;                       /* what is stored and requires grad is read again; kept */
    JN_VEC(jcv_val *) stored_tracked; /* tensors that require grad and are stored by the graph */
};

extern _Thread_local jcv *jcv_current;

/* Leaves with a reason; the position of the current statement is added. */
__attribute__((noreturn, format(printf, 2, 3))) void jcv_refuse(jcv *c, const char *fmt, ...);
__attribute__((noreturn)) void jcv_throw_now(jcv *c, jcv_throw what);
/* After a Python call failed: refuses with the exception's text. */
__attribute__((noreturn)) void jcv_refuse_py(jcv *c);
/* Where the current statement is.  What janus's own Python code does is the work of the user's line
 * that led there: the innermost one on the stack.  Of janus's own functions that are called by none
 * it is their own.  file NULL: not known. */
jn_loc jcv_place_of(const jcv *c);
void *jcv_alloc(jcv *c, size_t size); /* zeroed, of this attempt */
/* Takes a new reference; refuses when NULL, or when elements of a proxy were asked for on the way.
 */
PyObject *jcv_own(jcv *c, PyObject *o);

/* stage.c: values and nodes */
jcv_ctx *jcv_ctx_new(jcv *c, jcv_ctx_kind kind, const char *name, jcv_ctx *parent);
/* x is `outer` or lies in it: what outer has made is there to be used. */
bool jcv_encloses(const jcv_ctx *outer, const jcv_ctx *x);
jcv_val *jcv_param(jcv *c, jcv_ctx *ctx, const jn_type *type);
jcv_val *jcv_scalar_const(jcv *c, janus_kind kind, janus_scalar v);
/* Appends a node to c->ctx with inferred types; results are returned in the node. */
jcv_node *jcv_op(jcv *c, const jn_op *op, jcv_val *const *in, unsigned n_in, const void *attrs);
jcv_node *jcv_op_try(jcv *c, const jn_op *op, jcv_val *const *in, unsigned n_in, const void *attrs);
jcv_node *jcv_call_node(jcv *c, const char *op, jcv_ctx *a, jcv_ctx *b, jcv_val *const *in,
                        unsigned n_in, const jn_type *const *types, unsigned n_out);
jcv_node *jcv_backward_node(jcv *c, jcv_val *const *y, jcv_val *const *dy, unsigned n_y,
                            jcv_val *const *x, unsigned n_x, bool optional);
/* tracked.c: whether what may require grad does so whichever path is taken; where what ran decides
 * it, it is asserted.  False: only a branch decides. */
bool jcv_tracked_always(jcv *c, jcv_val *v);
/* The same, where nothing can be asserted any more: false also where what ran decides. */
bool jcv_tracked_certain(jcv *c, jcv_val *v);
void jcv_assert(jcv *c, jcv_val *cond, const char *message);
/* With the place in the source that it is about. */
void jcv_assert_at(jcv *c, jcv_val *cond, const char *message, const jn_loc *loc);
const jn_type *jcv_type(jcv *c, jn_type t);
bool jcv_same_type(const jn_type *a, const jn_type *b);

/* proxy.c: tensors */
janus_status jcv_hook(const jn_op *op, const jn_eager_arg *in, unsigned n_in, const void *attrs,
                      janus_tensor **out, unsigned n_out, janus_tensor *into);
jcv_rec *jcv_rec_of(jcv *c, const janus_tensor *t);
jcv_val *jcv_tensor_val(jcv *c, PyObject *proxy);
/* The number that a tensor of one element holds. */
jcv_val *jcv_item(jcv *c, jcv_val *v);
/* New proxy for a value; tracked: it requires grad (as a result).  It lies in memory as `like`
 * does, a tensor of these dims, or is contiguous (NULL). */
jcv_av *jcv_proxy_like(jcv *c, jcv_val *val, bool tracked, const jcv_av *like);
jcv_av *jcv_proxy(jcv *c, jcv_val *val, bool tracked);
/* Whether two values, tensors of the same dims if both are tensors, lie in memory alike. */
bool jcv_same_layout(const jcv_av *a, const jcv_av *b);
/* Whether it is no tensor, or lies in memory as a new one does. */
bool jcv_plain_layout(const jcv_av *a);
/* The proxy of a real tensor read from a source. */
jcv_av *jcv_bind_tensor(jcv *c, PyObject *tensor, jpy_src *src);
jcv_av *jcv_real_tensor_const(jcv *c, PyObject *tensor);
bool jcv_is_proxy(jcv *c, PyObject *o);
/* Notes that a tensor leaves its SubGraph: of several views of one the graph forgets that they
 * share memory. */
void jcv_leak(jcv *c, jcv_rec *r);
/* A Python float that stands for a number of the graph in a call of an eager function. */
double jcv_tag(jcv *c, jcv_val *v);
/* The view of a proxy that a node takes. */
jcv_av *jcv_view(jcv *c, PyObject *of, jcv_node *n);
/* The proxy of a record. */
jcv_av *jcv_proxy_of(jcv *c, jcv_rec *r);
/* x.detach(), x.data: the same storage without history. */
jcv_av *jcv_detach(jcv *c, PyObject *proxy);
/* The source of a proxy that stands for a real tensor, else NULL. */
jpy_src *jcv_bound_src(jcv *c, jcv_av *a);

/* A proxy on the tape. */
PyObject *jcv_track(PyObject *proxy, bool tracked);

/* backward.c */
/* backward() of tensors; seeds: their cotangents, NULL: 1.  Adds to the .grad of the leaves. */
void jcv_tensor_backward(jcv *c, jcv_av *const *roots, jcv_av *const *seeds, unsigned n,
                         bool retain);
/* Gradients of y (seeds: their cotangents, NULL: 1) with respect to x by the tape that the eager
 * layer has of ops on proxies, op by op: which of them there are, and whether they require grad, is
 * as CPython has it.  NULL for one that there is not; NULL altogether where a rule cannot be
 * staged, unless it must. */
jcv_av **jcv_tape_grad(jcv *c, jcv_av *const *y, jcv_av *const *seeds, unsigned n_y,
                       jcv_av *const *x, unsigned n, bool retain, bool create, bool must);
/* Whether the tape knows all of the history of y; `x`: where it ends. */
bool jcv_tape_knows(jcv *c, jcv_av *const *y, unsigned n_y, jcv_av *const *x, unsigned n);
/* Whether gradients of `y` flow to an argument that has a history, other than that of `but`. */
bool jcv_reaches_history(jcv *c, jcv_val *const *y, unsigned n_y, const jcv_val *but);
/* Whether gradients of `y` flow to `x`. */
bool jcv_reaches(jcv *c, jcv_val *y, jcv_val *x);
/* Whether some of the history of `y` was used up; the history of y is used up from now on. */
bool jcv_history_used(jcv *c, jcv_val *y);
void jcv_use_history(jcv *c, jcv_val *y);
/* Whether gradients of `y` need what was written since by way of .data, which no version tells. */
bool jcv_history_rewritten(jcv *c, jcv_val *y);
/* Whether gradients of `y` flow to a leaf as it is since a write in the graph. */
bool jcv_reaches_written_leaf(jcv *c, jcv_val *y);
/* A gradient through `by` needs what the tensor holds now; whether one that may be asked for does.
 */
void jcv_save_for(jcv *c, jcv_rec *root, const jcv_node *by);
bool jcv_saved(const jcv_rec *root);
/* The value that a write without recording gives a leaf; NULL: error record filled. */
jcv_val *jcv_leaf_again(jcv *c, jcv_rec *root, jcv_val *v);

/* own_gradient.c: gradients that the program computes itself */
/* Whether gradients of what was marked go through a function or a hook of the program. */
bool jcv_tape_alone(jcv *c, uint32_t mark);
bool jcv_history_by_tape(jcv *c, jcv_val *y); /* backward.c: the same of a value */
/* Tells the functions of the program that their history is used up. */
void jcv_release_functions(jcv *c, uint32_t mark);
/* Throws again what was thrown in a function that the tape has called; returns where nothing was.
 */
void jcv_thrown_inside(jcv *c);

/* place.c: what tensors hold */
/* The value now; NULL: error record filled. */
jcv_val *jcv_held(jcv *c, jcv_rec *r);
/* Whether a value may be a view of a tensor that the graph has not made. */
bool jcv_views_others(jcv_val *v);
void jcv_keep_view(jcv *c, jcv_rec *r, jcv_rec *parent, const jn_op *op, jcv_node *n);
/* Writes v to the tensor; recorded: by an op on the tape. */
janus_status jcv_write(jcv *c, jcv_rec *r, jcv_val *v, bool recorded);
/* leaf.c: leaves that the function makes or changes */
/* x.requires_grad = on; x.data = y. */
void jcv_set_requires_grad(jcv *c, jcv_av *x, bool on);
void jcv_set_data(jcv *c, jcv_av *x, jcv_av *y);
/* What an op has made is a leaf where the op was told so. */
void jcv_made_leaf(jcv *c, PyObject *proxy);
/* Whether a root may be one of several tensors: which object it is, is not known. */
static inline bool jcv_of_several(const jcv_rec *r) { return r->shared || r->stored || r->n_from; }
/* A slot for what a root holds, from its first change on. */
janus_status jcv_need_slot(jcv *c, jcv_rec *root);
/* Sets what a root holds. */
void jcv_put_held(jcv *c, jcv_rec *root, jcv_val *v);
/* Whether an abstract value that is in reach leads to x, otherwise than by `me`. */
bool jcv_reachable(jcv *c, const jcv_rec *x, const jcv_rec *me);
/* The state learns from the proxies which of them require grad; the other direction. */
void jcv_settle_places(jcv *c);
void jcv_sync_places(jcv *c);
/* Whether a slot holds state of a tensor; of one that was made in x or outside of it? */
bool jcv_is_place(jcv *c, size_t slot, const jcv_ctx *x, bool *out_outer);
/* Says which tensors the proxy of a leaf may be. */
void jcv_made_of(jcv *c, jcv_av *leaf, jcv_av *const *of, unsigned n);
/* Whether a tensor was made in x, or is `or` (NULL: none), and has no other name outside. */
bool jcv_only_in(jcv *c, jcv_av *a, const jcv_ctx *x, jcv_av * or);
bool jcv_same_root(jcv *c, jcv_av *a, jcv_av *b);
/* Whether two roots are, or on some paths may be, one tensor (depth: 0). */
bool jcv_may_be_one(const jcv_rec *a, const jcv_rec *b, unsigned depth);
/* What a loop carries: the proxies of its body's parameters and what a round leaves; refuses when
 * the next round would write to what has another name. */
void jcv_check_rounds(jcv *c, const jcv_ctx *body, jcv_av *const *first, jcv_av *const *last,
                      unsigned n);

/* value.c: abstract values */
jcv_av *jcv_new(jcv *c, jcv_kind kind);
jcv_av *jcv_py(jcv *c, PyObject *o /* kept */, jpy_src *src);
jcv_av *jcv_take(jcv *c, PyObject *o /* new reference, constant */);
jcv_av *jcv_none(jcv *c);
/* An AV_UNDEF; why: static text. */
jcv_av *jcv_lacking(jcv *c, jcv_lack lack, const char *why);
static inline bool jcv_lacks(const jcv_av *a, jcv_lack lack) {
    return a && a->kind == AV_UNDEF && a->lack == lack;
}
static inline bool jcv_is_none(const jcv_av *a) { return a->kind == AV_PY && a->py == Py_None; }
jcv_av *jcv_bool(jcv *c, bool v);
jcv_av *jcv_scalar(jcv *c, jcv_val *v);
jcv_av *jcv_tuple(jcv *c, jcv_av *const *items, unsigned n);
/* A tuple of the same type as `like`, with its items. */
jcv_av *jcv_tuple_like(jcv *c, const jcv_av *like);
/* An object found in a class or module that is as good as a constant. */
jcv_av *jcv_constant(jcv *c, PyObject *o);
jcv_av *jcv_list(jcv *c, jcv_av *const *items, unsigned n);
/* Of constants, for a membership test and nothing else. */
jcv_av *jcv_set(jcv *c, jcv_av *const *items, unsigned n);
jcv_av *jcv_dict(jcv *c);
uint32_t jcv_slot(jcv *c, jcv_av *first);
/* Slots are written by this alone: both the place and the value may make slots while they are
 * computed, which moves the table. */
static inline void jcv_put(jcv *c, size_t slot, jcv_av *v) { c->slots.data[slot] = v; }
/* What reading a real object gives: guarded as far as its kind needs. */
jcv_av *jcv_wrap(jcv *c, PyObject *o, jpy_src *src);
/* Whether two values are one real object, and go on to be: guarded where nothing else says so. */
bool jcv_one_object(jcv *c, const jcv_av *a, const jcv_av *b);
/* From now on the source must be that very object. */
void jcv_by_identity(jcv *c, PyObject *o, jpy_src *src);
/* A member of an Enum: which one is guarded. */
bool jcv_is_enum(PyObject *o);
bool jcv_is_const(const jcv_av *a); /* AV_PY that is a number, string, None, dtype, ... */
/* The Python object of a constant (guards its value), tensors as proxies, tuples and lists of them;
 * NULL when it has none (graph values). Kept by c. */
PyObject *jcv_object(jcv *c, jcv_av *a);
/* The same where no tensor is part of it. */
PyObject *jcv_const_object(jcv *c, jcv_av *a);
/* Graph value of a number: constant or computed; NULL: not a number. */
jcv_val *jcv_number(jcv *c, jcv_av *a);
PyTypeObject *jcv_type_of(jcv *c, jcv_av *a);
bool jcv_av_equal(const jcv_av *a, const jcv_av *b);
const char *jcv_describe(jcv_av *a);

/* state.c: copies of the slots, branches, loops */
/* Something that a recursion may read was written. */
static inline void jcv_wrote(jcv *c) { c->epoch = ++c->last_epoch; }
static inline void jcv_wrote_if(jcv *c, bool yes) {
    if (yes)
        jcv_wrote(c);
}
jcv_state jcv_save(jcv *c);
void jcv_restore(jcv *c, jcv_state s);
/* Truth: 1, 0, or -1 and *out the bool value. */
int jcv_truth(jcv *c, jcv_av *a, jcv_val **out);
/* The same of an expression, `and`, `or` and `not` of different kinds included (expr.c). */
int jcv_test(jcv *c, jpy_tree *n, jcv_val **out);
typedef jcv_out (*jcv_arm_fn)(jcv *c, void *user, int arm);
/* Both arms of a condition. */
jcv_out jcv_branch(jcv *c, jcv_val *cond, jcv_arm_fn fn, void *user);
/* Where control is, to come back to after a throw. */
typedef struct jcv_place {
    jcv_ctx *ctx;
    jcv_frame *frame;
    jcv_cont *cont;
    int boundary;
    jcv_leave *leave;
    jpy_tree *at;
    bool no_grad;
    uint32_t autocast;
    const jpy_tree *running;
} jcv_place;
jcv_place jcv_where(jcv *c);
void jcv_back(jcv *c, jcv_place p);
/* Moves the nodes of `from` to the current SubGraph. */
void jcv_splice(jcv *c, jcv_ctx *from);
/* Whether functions are made in it. */
bool jcv_makes_functions(const jpy_tree *n);
/* foreach: body(i) for i < count. while: cond value by cond_fn. */
typedef jcv_val *(*jcv_cond_fn)(jcv *c, void *user);
typedef void (*jcv_body_fn)(jcv *c, void *user, jcv_val *i);
void jcv_foreach(jcv *c, jcv_val *count, jcv_body_fn body, void *user);
void jcv_while(jcv *c, jcv_cond_fn cond, jcv_body_fn body, void *user);

/* merge.c */
/* Common shape of two values; leaves that need a graph value become placeholders, numbered by
 * the place of (a, b) in pairs. */
typedef struct jcv_pairs { /* of list.h */
    JN_VEC(jcv_av *) a;
    JN_VEC(jcv_av *) b;
    struct jcv_joined *tuples;
} jcv_pairs;
typedef enum jcv_force {
    MERGE_ARMS,     /* what is equal stays as it is */
    MERGE_OPTIONAL, /* ... and None on one path, a tensor on the other is an optional value */
    MERGE_ROUNDS,   /* values of the graph become placeholders also where they are equal */
    MERGE_NUMBERS   /* ... and constant numbers */
} jcv_force;
jcv_av *jcv_merge(jcv *c, jcv_av *a, jcv_av *b, jcv_pairs *pairs, jcv_force force);
/* The same of what a slot holds: the pairs of a dict keep their keys. */
jcv_av *jcv_merge_slot(jcv *c, uint32_t slot, jcv_av *a, jcv_av *b, jcv_pairs *p, jcv_force force);
jcv_av *jcv_fill(jcv *c, jcv_av *shape, jcv_av *const *leaves);
/* The graph value of a leaf in the current SubGraph. */
jcv_val *jcv_leaf_val(jcv *c, jcv_av *a);
bool jcv_leaf_tracked(jcv *c, jcv_av *a);
/* An abstract value like `like` for a graph value; a tensor has the strides of `like`. */
jcv_av *jcv_leaf(jcv *c, jcv_val *v, jcv_av *like, bool tracked);
/* What a number is: an int, a float or a bool, known or the graph's; else JANUS_KIND_NONE. */
janus_kind jcv_number_kind(const jcv_av *a);
/* Something of the same kind that nobody looks at. */
jcv_av *jcv_dummy(jcv *c, jcv_av *like);
/* Whether two shapes have leaves at the same places and are else the same.  *out_number: where one
 * has a leaf the other has a number. */
bool jcv_same_shape(const jcv_av *a, const jcv_av *b, bool *out_number);
/* Fills slots with what the leaves have become. */
void jcv_fill_slots(jcv *c, const uint32_t *which, jcv_av *const *shapes, size_t n,
                    jcv_av *const *leaves, struct jcv_joined *once);

/* host.c: objects known only when the graph runs */
jcv_av *jcv_host(jcv *c, jcv_val *v, PyObject *samples);
/* The same for an object that nothing was read to get at (a parameter, an element), seen in ctx. */
jcv_av *jcv_root(jcv *c, jcv_ctx *ctx, jcv_val *v, PyObject *samples);
/* A number or tensor of one type where a test before has left only such samples; else `a`. */
jcv_av *jcv_settled(jcv *c, jcv_av *a);
/* Makes an input of a real object that has a source. */
jcv_av *jcv_to_host(jcv *c, jcv_av *a);
jcv_av *jcv_host_attr(jcv *c, jcv_av *o, PyObject *name);
/* What the type has under the name is used of objects read while the graph runs: the type of one
 * that has something of its own there is none that was seen.  `got`: the function, in a tuple where
 * it takes no self. */
void jcv_of_the_type(jcv *c, PyTypeObject *t, PyObject *name, PyObject *got);
jcv_av *jcv_host_item(jcv *c, jcv_av *o, jcv_val *index);
jcv_val *jcv_host_len(jcv *c, jcv_av *o);
/* What a read gave that can be made again for other samples. */
jcv_av *jcv_host_read(jcv *c, jcv_val *v, PyObject *samples);
/* What a read where the graph writes gave, which has these samples. */
jcv_av *jcv_host_got(jcv *c, jcv_val *v, PyObject *samples);
/* Samples of the items (of one at a known place: index) of a list, tuple or dict. */
PyObject *jcv_item_samples(jcv *c, jcv_av *o, const jcv_val *index);
/* What was just written: reads until the next write need no look. */
void jcv_attr_is(jcv *c, jcv_val *o, PyObject *name, jcv_av *v);
void jcv_known_type(jcv *c, jcv_val *v, PyTypeObject *t);
int64_t jcv_key_of(jcv *c, PyObject *name);
/* Whether its type is `t` (not exact: or one derived from it), as a bool of the graph. */
jcv_val *jcv_host_is(jcv *c, jcv_av *o, PyTypeObject *t, bool exact);
jcv_val *jcv_host_truth(jcv *c, jcv_av *o);
PyTypeObject *jcv_host_type(jcv *c, jcv_av *o); /* asserts the one type seen */

/* Whether an assert or a branch around says which type it is. */
bool jcv_type_known(jcv *c, jcv_av *o);
/* The types seen, as a list of at least one. */
PyObject *jcv_types_of(jcv *c, jcv_av *o);
jcv_val *jcv_type_is(jcv *c, jcv_av *o, PyTypeObject *t);
/* An attribute that the object itself has, whichever of the types seen it is of. */
jcv_av *jcv_own_attr_of(jcv *c, jcv_av *o, PyObject *name);
/* fork.c: the rest of the block is converted for each type, or length, that was seen.  Whether a
 * statement is known to ask; runs one that does. */
typedef jcv_out (*jcv_exec_fn)(jcv *c, jpy_tree *statement);
bool jcv_forks(const jcv *c, const jpy_tree *statement);
/* Whether a statement inside of `n` takes the rest of the block into its arms. */
bool jcv_forks_rest(const jcv *c, const jpy_tree *n);
jcv_out jcv_exec_forking(jcv *c, jpy_tree *statement, jcv_exec_fn exec);
/* Of an object of several types. */
__attribute__((noreturn)) void jcv_ask_type(jcv *c, jcv_av *o);
/* Of a list of several lengths, one of which is `length`; returns where nothing can be asked. */
void jcv_ask_length(jcv *c, jcv_av *o, int64_t length);
/* The constant that a string is, for what cannot be done with one that only the graph knows. */
jcv_av *jcv_which_text(jcv *c, jcv_av *o);
/* Whether a list is empty, where some that were seen are. */
void jcv_ask_empty(jcv *c, jcv_av *o);
/* dispatch.c: an attribute of an object that may be of several types */
jcv_av *jcv_attr_by_type(jcv *c, jcv_av *o, PyObject *name);
/* Adds samples of the types that were met with its own under the name of a method. */
void jcv_widen_types(jcv *c, jcv_av *o, PyObject *name);
/* A tensor of a real dict, list or tuple of tensors, of which some require grad, at a key or index
 * that only the graph knows; NULL: it holds something else. */
jcv_av *jcv_pick_key(jcv *c, jcv_av *d, jcv_av *key);
jcv_av *jcv_pick_item(jcv *c, jcv_av *l, jcv_av *i);
/* text of an AV_CHOICE whose keys are tuples of types, which the type of an object selects. */
extern const char jcv_by_type[];
/* More objects that it may be: from now on it is a root of its own. */
void jcv_add_samples(jcv *c, jcv_av *o, PyObject *more);
/* Asserts that its type is among those seen. */
void jcv_host_one_of_seen(jcv *c, jcv_av *o);

/* plain.c: strings, numbers, None of the graph */
bool jcv_is_plain(const jcv_av *a);
/* Whether such an object is certain to be plain (asserted). */
bool jcv_host_plain(jcv *c, jcv_av *o);
/* Whether it equals one of the keys, plain constants. */
jcv_val *jcv_host_among(jcv *c, jcv_av *o, jcv_av *const *keys, unsigned n);
/* The same of an object that is known to be plain, though it was not seen to be any of them. */
jcv_val *jcv_plain_among(jcv *c, jcv_av *o, jcv_av *const *keys, unsigned n);
/* d.get(key, otherwise) of a dict that the graph reads; sets: d.setdefault(key, otherwise). */
jcv_av *jcv_plain_get(jcv *c, jcv_av *d, jcv_av *key, jcv_av *otherwise, bool sets);
/* The value of a real dict of functions; NULL: it is something else. */
jcv_av *jcv_choice(jcv *c, jcv_av *d, jcv_av *key);

/* maybe.c: optional values.  None, unless `present` holds. */
jcv_av *jcv_maybe(jcv *c, jcv_val *present, jcv_av *v);
/* What one is where a test before has found out; else `a`. */
jcv_av *jcv_found(jcv *c, jcv_av *a);
/* The same for who can do nothing with None: else it is assumed to be there. */
jcv_av *jcv_there(jcv *c, jcv_av *a);
/* Whether a condition holds here: 1, 0, or -1: not known.  The other one says so. */
int jcv_holds(jcv *c, const jcv_val *cond);
void jcv_now_known(jcv *c, jcv_ctx *x, jcv_val *cond, bool holds);
void jcv_take_known(jcv_ctx *to, jcv_ctx *from);

/* sample.c: what the real objects that a host value stood for say */
PyObject *jcv_samples(jcv *c, jcv_av *a);
/* The string that a read of a dict has for a key; NULL: it is no such read, or another key. */
PyObject *jcv_constant_key(jcv *c, const jcv_node *n);
/* Where one comes who takes `a` of a sample again and again: the last objects of that type. */
PyObject *jcv_ends(jcv *c, jcv_av *a);
/* The samples that come to the arm of a branch on `cond`; NULL: it tells nothing of them. */
jcv_narrow *jcv_narrowing(jcv *c, jcv_val *cond, bool taken);

/* sequence.c: what has a length that only the graph knows */
typedef void (*jcv_visit_fn)(jcv *c, void *user, jcv_av *item);
typedef void (*jcv_feed_fn)(jcv *c, void *from, jcv_visit_fn fn, void *user);
extern const char *const jcv_stacked;
/* Of an AV_LIST that is empty as far as is known: who needs items of it leads nowhere. */
extern const char jcv_never[];
jcv_av *jcv_seq(jcv *c, const char *what, jcv_av *const *bases, unsigned n);
/* Whether count and item are defined for it. */
bool jcv_is_seq(const jcv_av *a);
jcv_val *jcv_seq_count(jcv *c, jcv_av *a);
jcv_av *jcv_seq_item(jcv *c, jcv_av *a, jcv_val *i);
jcv_av *jcv_seq_at(jcv *c, jcv_av *a, jcv_av *at);
/* A slice of a list or tuple of the graph, which nobody writes; bounds: start, stop, step. */
extern const char jcv_bounds[]; /* text of the bounds of a slice, AV_ITER, where one is computed */
bool jcv_is_slice(const jcv_av *a);
jcv_av *jcv_slice(jcv *c, jcv_av *o, jcv_av *const *bounds);
/* Items of a list or tuple of the graph that was seen with one length only (asserted), or of a
 * stacked list of as many: AV_TUPLE, or NULL.  A stacked list made by a comprehension starts the
 * conversion again, to be unrolled. */
jcv_av *jcv_all_assumed(jcv *c, jcv_av *a);
/* n items of one of that kind, asserted; NULL: it is not of that kind. */
jcv_av *jcv_exactly(jcv *c, jcv_av *a, unsigned n);
/* The parts of a tensor along its first dim, as many as that varies. */
jcv_av *jcv_parts(jcv *c, jcv_av *t);
/* An iterator is used once; false: it was, and is empty. */
bool jcv_use_up(jcv *c, jcv_av *a);
/* A stacked list of what `feed` gives. */
jcv_av *jcv_collect(jcv *c, jcv_feed_fn feed, void *user);
/* Runs `feed` up to where fn throws THROW_PROBE, and takes it all back. */
void jcv_probe(jcv *c, jcv_feed_fn feed, void *from, jcv_visit_fn fn, void *user);
jcv_av *jcv_stack(jcv *c, jcv_val *v, bool tracked);
/* A sum that has a term, asserted; anything else as it is. */
jcv_av *jcv_firm(jcv *c, jcv_av *a);

/* loop.c */
/* A variable changes its kind in the first round of c->loop: starts again with this round made
 * outside of the loop, if that is possible. */
void jcv_peel_loop(jcv *c, const jpy_tree *loop);
bool jcv_peeled(const jcv *c, const jpy_tree *loop);
/* Whether a loop has been left: 1, 0, or -1: the graph knows. */
int jcv_has_left(jcv *c, const jcv_leave *l);
void jcv_visit(jcv *c, jcv_av *over, const jcv_leave *leave, jcv_visit_fn fn, void *user);
void jcv_leave_by(jcv *c, jcv_out out);

/* comprehension.c */
void jcv_visit_generator(jcv *c, jcv_av *g, const jcv_leave *leave, jcv_visit_fn fn, void *user);
/* A call of a generator function: its body runs when items are taken. */
jcv_av *jcv_generator(jcv *c, jcv_frame *fr);
/* Whether a generator function runs whose consumer may leave it at a yield. */
bool jcv_yield_leaves(const jcv *c);
/* The statement `yield ...`. */
jcv_out jcv_exec_yield(jcv *c, jpy_tree *n);
/* All items as AV_TUPLE; NULL: only the graph knows how many, and nothing was used up. */
jcv_av *jcv_try_all(jcv *c, jcv_av *a);
/* The same, else a stacked list and *out_known is false. */
jcv_av *jcv_take_all(jcv *c, jcv_av *a, bool *out_known);

/* live.c: what the graph writes.  The find functions give NULL where it does not (yet); making
 * something live starts the conversion again. */
jcv_live *jcv_live_attr(jcv *c, PyTypeObject *t, PyObject *name);
bool jcv_live_type(jcv *c, PyTypeObject *t);
jcv_live *jcv_live_var(jcv *c, PyObject *holder, PyObject *name); /* outer.c */
__attribute__((noreturn)) void jcv_make_live_var(jcv *c, PyObject *holder, PyObject *name);
jcv_live *jcv_live_object(jcv *c, PyObject *o);
jcv_live *jcv_live_site(jcv *c, const jpy_tree *site);
__attribute__((noreturn)) void jcv_make_live_attr(jcv *c, PyTypeObject *t, PyObject *name);
void jcv_make_live_objects(jcv *c, PyObject *const *o, Py_ssize_t n);
__attribute__((noreturn)) void jcv_make_live(jcv *c, jcv_av *container);
/* The AV_LIST or AV_DICT whose contents a slot holds, NULL: none. */
jcv_av *jcv_container_in(jcv *c, uint32_t slot);
PyObject *jcv_live_samples(jcv *c, jcv_live *l);
/* Samples of the heap and of what the graph stores. */
PyObject *jcv_with_stored(jcv *c, PyObject *heap, jcv_live *l);
int64_t jcv_tag_of(jcv *c, jcv_av *v);          /* for host writes of it */
bool jcv_is_stored_sample(const jpy_tensor *t); /* stands for one that requires grad */
void jcv_live_learn(jcv *c, jcv_live *l, jcv_av *v);
void jcv_live_free(jcv_live *l);
jcv_val *jcv_object_input(jcv *c, jpy_src *src);
jcv_val *jcv_object_const(jcv *c, PyObject *o);
/* The value that a write stores. */
jcv_val *jcv_stored(jcv *c, jcv_av *v);
/* A list or dict made at a place where they are live; NULL: they are not. */
jcv_av *jcv_born(jcv *c, const jpy_tree *site, jcv_av *const *items, unsigned n, bool dict);
void jcv_live_setattr(jcv *c, jcv_av *o, PyTypeObject *t, PyObject *name, jcv_av *v);
void jcv_live_delattr(jcv *c, jcv_av *o, PyTypeObject *t, PyObject *name);
void jcv_live_append(jcv *c, jcv_av *o, jcv_av *v);
jcv_av *jcv_live_pop(jcv *c, jcv_av *o);
void jcv_live_setitem(jcv *c, jcv_av *o, jcv_av *i, jcv_av *v);
void jcv_live_setkey(jcv *c, jcv_av *o, jcv_av *key, jcv_av *v);
void jcv_live_delkey(jcv *c, jcv_av *o, jcv_av *key);
jcv_val *jcv_live_has(jcv *c, jcv_av *o, jcv_av *key);
jcv_av *jcv_live_getkey(jcv *c, jcv_av *o, jcv_av *key);

/* outer.c: globals and cells */
typedef struct jcv_outer {
    PyObject *holder, *name; /* a dict and the key; a cell and "cell_contents" */
    jpy_src *src, *value_src;
} jcv_outer;
jcv_outer jcv_global_var(jcv *c, PyObject *dict, PyObject *name);
jcv_outer jcv_cell_var(jcv *c, PyObject *closure, jpy_src *closure_src, Py_ssize_t at);
jcv_av *jcv_outer_read(jcv *c, const jcv_outer *x); /* NULL: as the heap has it */
void jcv_outer_write(jcv *c, const jcv_outer *x, jcv_av *v);

/* The interpreter: one file per family */
jcv_av *jcv_eval(jcv *c, jpy_tree *n);
/* The same, but the result may be an AV_SUM. */
jcv_av *jcv_eval_sum(jcv *c, jpy_tree *n);
jcv_out jcv_exec(jcv *c, const jpy_tree_list *list);
jcv_out jcv_exec_from(jcv *c, const jpy_tree_list *list, unsigned first);
void jcv_assign(jcv *c, jpy_tree *target, jcv_av *v);
jcv_av *jcv_load(jcv *c, PyObject *name);
/* The local variable, NULL: none, or not bound. */
jcv_av *jcv_local(jcv *c, PyObject *name);
/* Whether earlier calls had other objects: what depends on their structure is left to the graph. */
bool jcv_varies(const jcv *c);
void jcv_store(jcv *c, PyObject *name, jcv_av *v);
jcv_av *jcv_getattr(jcv *c, jcv_av *o, PyObject *name);
jcv_av *jcv_getattr_opt(jcv *c, jcv_av *o, PyObject *name); /* NULL: AttributeError */
void jcv_setattr(jcv *c, jcv_av *o, PyObject *name, jcv_av *v);
void jcv_delattr(jcv *c, jcv_av *o, PyObject *name);
/* tensor_attr.c: of tensors */
jcv_av *jcv_tensor_attr(jcv *c, jcv_av *t, PyObject *name);
void jcv_set_tensor_attr(jcv *c, jcv_av *o, PyObject *name, jcv_av *v);
/* An attribute of a value whose type is not made in Python; NULL: there is none. */
jcv_av *jcv_native_attr(jcv *c, jcv_av *o, PyObject *name);
jcv_attr *jcv_find_attr(jcv *c, PyObject *o, PyObject *name);
uint32_t jcv_attr_slot(jcv *c, PyObject *o, PyObject *name, jpy_src *src, jcv_av *first);
bool jcv_generic_attrs(PyTypeObject *t); /* reads attributes as object does, or by __getattr__ */
jcv_av *jcv_getitem(jcv *c, jcv_av *o, jcv_av *i);
void jcv_setitem(jcv *c, jcv_av *o, jcv_av *i, jcv_av *v);
jcv_av *jcv_binary(jcv *c, int op, jcv_av *a, jcv_av *b, bool inplace);
jcv_av *jcv_unary(jcv *c, int op, jcv_av *a);
jcv_av *jcv_compare(jcv *c, int op, jcv_av *a, jcv_av *b);
/* Items of something iterable whose length is known; false: it is not. */
bool jcv_items(jcv *c, jcv_av *a, jcv_av ***out, unsigned *n);
/* Whether a real list or dict was written in what is converted. */
bool jcv_is_written(jcv *c, PyObject *o);
/* subscript.c: the abstract container that stands for a real one from now on */
jcv_av *jcv_abstract(jcv *c, jcv_av *a);
extern const char jcv_whole[]; /* text of all pairs of a real dict */
bool jcv_same_key(jcv *c, jcv_av *a, jcv_av *b);
int jcv_find_key(jcv *c, jcv_av *pairs, jcv_av *key); /* place of the pair, -1: none */
jcv_av *jcv_dict_get(jcv *c, jcv_av *d, jcv_av *key); /* NULL: no such key */
void jcv_dict_set(jcv *c, jcv_av *d, jcv_av *key, jcv_av *v);
jcv_av *jcv_comprehension(jcv *c, jpy_tree *n);
jcv_out jcv_exec_for(jcv *c, jpy_tree *n);
jcv_out jcv_exec_while(jcv *c, jpy_tree *n);
jcv_out jcv_exec_if(jcv *c, jpy_tree *n);
jcv_out jcv_exec_match(jcv *c, jpy_tree *n); /* match.c */
jcv_out jcv_exec_with(jcv *c, jpy_tree *n);  /* with.c */
/* Both arms of a condition, each with what follows up to the end of the function or round. */
jcv_out jcv_branch_with_rest(jcv *c, jcv_val *cond, jcv_arm_fn fn, void *user);
bool jcv_list_leaves(const jpy_tree_list *l);
bool jcv_has_kind(const jpy_tree_list *l, int kind, bool into_loops);

/* model/lookup.c */
/* What a type has under a name, and goes on to have there; NULL: nothing. */
PyObject *jcv_lookup(jcv *c, PyTypeObject *t, PyObject *name);
/* The same; but where it is a value, no descriptor, another value may be there the next time. */
PyObject *jcv_lookup_kind(jcv *c, PyTypeObject *t, PyObject *name);
/* jcv_lookup of a name that is written in C. */
PyObject *jcv_lookup_str(jcv *c, PyTypeObject *t, const char *name);
/* The type must be as it is: its special methods, and what was looked up. */
void jcv_guard_type(jcv *c, PyTypeObject *t);

typedef struct jcv_args {
    jcv_av **pos;
    unsigned n_pos;
    PyObject **names;
    jcv_av **kw;
    unsigned n_kw;
} jcv_args;
jcv_av *jcv_call(jcv *c, jcv_av *f, const jcv_args *args);
jcv_av *jcv_call_choice(jcv *c, jcv_av *f, const jcv_args *args);
jcv_av *jcv_call1(jcv *c, jcv_av *f, jcv_av *a);
jcv_av *jcv_call_function(jcv *c, PyObject *func, jpy_src *src, const jcv_args *args);
jcv_av *jcv_call_builtin(jcv *c, jcv_av *f, const jcv_args *args);
jcv_av *jcv_call_method(jcv *c, jcv_av *self, const char *name, const jcv_args *args);
/* own_gradient.c: calls of _function_node, _register_hook and _remove_hook. */
jcv_av *jcv_function_node(jcv *c, PyObject *function, const jcv_args *args);
jcv_av *jcv_tensor_hook(jcv *c, PyObject *function, const jcv_args *args);
jcv_av *jcv_no_hook(jcv *c, PyObject *function, const jcv_args *args);
/* model/call.c; NULL: not one of these calls. */
/* self.__name__(...), where the method is CPython's own and does what syntax does. */
jcv_av *jcv_special_by_name(jcv *c, jcv_av *self, const char *name, const jcv_args *args);
/* type.name(self, ...), where the method is CPython's own and `self` of exactly that type. */
jcv_av *jcv_call_unbound(jcv *c, PyObject *method, const jcv_args *args);
/* Calls a C function known to have no effect on constants. */
jcv_av *jcv_call_real(jcv *c, PyObject *f, const jcv_args *a, const char *name);
jcv_av *jcv_call_tensor(jcv *c, PyObject *callable, const jcv_args *args);
/* maybe.c: a call of optimizer_step_ where some gradients may be None */
bool jcv_optional_steps(jcv *c, PyObject *callable, const char *name, const jcv_args *args);
/* super.c: super(), its attributes, and object.__init__ as one of them */
jcv_av *jcv_super(jcv *c, const jcv_args *args);
jcv_av *jcv_super_attr(jcv *c, jcv_av *a, PyObject *name);
jcv_av *jcv_super_init(jcv *c, const jcv_args *args);
/* apart.c: _apart(f, *tensors), a call that is an invoke */
jcv_av *jcv_call_apart(jcv *c, const jcv_args *args, bool checkpoint);
/* text.c: text with numbers of the graph in it; NULL: not of these values */
jcv_av *jcv_text_join(jcv *c, jcv_av *a, jcv_av *b);
/* format(a, spec); spec: kept by c, NULL: "". */
jcv_av *jcv_text_of(jcv *c, jcv_av *a, PyObject *spec);
/* template % args (tuple: they are one) or template.format(*args). */
jcv_av *jcv_text_by_template(jcv *c, PyObject *template, bool percent, bool tuple,
                             jcv_av *const *args, unsigned n);
struct jpy_piece;
typedef void (*jcv_each_piece)(jcv *c, void *user, const struct jpy_piece *p, jcv_av *const *args);
void jcv_text_pieces(jcv *c, jcv_av *a, jcv_each_piece fn, void *user);
/* modules.c: modules made inside */
/* A method that ModuleBase has in C; NULL: not known. */
jcv_av *jcv_module_method(jcv *c, jcv_av *o, const char *name, const jcv_args *args);
/* Whether the attribute is a parameter, module or buffer: then it is set. */
bool jcv_module_registers(jcv *c, jcv_av *o, PyObject *name, jcv_av *v);
/* models.c */
/* The function or class of Python that means the same, borrowed; NULL: none. */
PyObject *jcv_model_of(jcv *c, PyObject *callable);
/* What type() says of an instance of `t`: what the class stands for, or t. */
PyTypeObject *jcv_stands_for(PyTypeObject *t);
/* Whether a function of the models is called on constants, not converted. */
bool jcv_called_as_it_is(PyObject *function);
/* A set that the program makes; in_order: CPython puts the items in one by one. */
jcv_av *jcv_new_set(jcv *c, jcv_av *const *items, unsigned n, bool in_order);
/* objects.c; NULL: not one that is known here */
jcv_av *jcv_make_object(jcv *c, PyTypeObject *t, const jcv_args *args);
jcv_av *jcv_named_attr(jcv *c, jcv_av *o, PyObject *name);
jcv_av *jcv_named_method(jcv *c, jcv_av *self, const char *name, const jcv_args *args);
bool jcv_is_fresh(jcv *c, PyObject *o);
/* Sets an attribute of an instance made here. */
void jcv_set_fresh(jcv *c, jcv_av *o, PyObject *name, jcv_av *v);
/* Names of attributes that an object did not have, or may not have had, in the order they were set:
 * AV_TUPLE. */
jcv_av *jcv_attr_order(jcv *c, PyObject *o);
/* The attribute, which has its slot, is the next of them. */
void jcv_is_next(jcv *c, PyObject *o, PyObject *name);
/* Whether an entry of the attribute table is the order of an object's attributes. */
bool jcv_is_order(const jcv_attr *a);
/* Attributes of it, in the order they were set, as AV_TUPLE of name, value, ... */
jcv_av *jcv_fresh_attrs(jcv *c, PyObject *o);
/* text of an AV_TUPLE of names and values: the attributes of an instance of its `named`. */
extern const char jcv_record[];
/* Instances in what a call returns, which it has made (there were `made` before), as records; of a
 * record an instance. */
jcv_av *jcv_to_record(jcv *c, jcv_av *a, size_t made);
jcv_av *jcv_from_record(jcv *c, jcv_av *t);
/* expr.c: defaults of a function made here, positional ones first */
void jcv_closure_defaults(jcv *c, jcv_av *a, jpy_tree *params);
/* data.c: janus.tensor(...) */
jcv_av *jcv_tensor_of_data(jcv *c, PyObject *callable, const jcv_args *args);
/* watch.c: containers that change while they are iterated over */
typedef enum jcv_watch_kind { WATCH_ITEMS, WATCH_KEYS, WATCH_PAIRS, WATCH_SIGHT } jcv_watch_kind;
jcv_watch *jcv_watch_new(jcv *c, jcv_watch_kind kind, jcv_av *of, jcv_av *held, bool reverse);
/* What iterating over `a`, which gave `items`, depends on, and then `rest`. */
jcv_watch *jcv_watch_over(jcv *c, jcv_av *a, jcv_av *items, bool reverse, jcv_watch *rest);
/* sight.c: what a generator could read when its items were made, in how many nodes; whether that is
 * as it was. */
typedef struct jcv_sight jcv_sight;
jcv_sight *jcv_sight_of(jcv *c, jcv_av *generator, size_t nodes);
bool jcv_sees_the_same(jcv *c, const jcv_sight *s);
jcv_watch *jcv_watch_sight(jcv *c, jcv_sight *sight);
/* Refuses where item i of an iterator is another one by now, or (i < 0) there are others. */
void jcv_unchanged(jcv *c, const jcv_watch *w, int64_t i);
void jcv_all_unchanged(jcv *c, const jcv_watch *w, int64_t from, int64_t n);
/* What an iterator gives for one of its items: map() calls its function then. */
jcv_av *jcv_taken(jcv *c, jcv_av *it, jcv_av *item);
/* It may not be used again: how much of it is left is not followed. */
void jcv_abandon(jcv *c, jcv_av *it);
/* iterate.c */
jcv_av *jcv_iter(jcv *c, const char *what, jcv_av *const *items, unsigned n);
jcv_av *jcv_kw_of(const jcv_args *args, const char *name);
jcv_av *jcv_b_enumerate(jcv *c, const jcv_args *a);
jcv_av *jcv_b_zip(jcv *c, const jcv_args *a);
jcv_av *jcv_b_map(jcv *c, const jcv_args *a);
jcv_av *jcv_b_reversed(jcv *c, const jcv_args *a);
jcv_av *jcv_b_iter(jcv *c, const jcv_args *a);
jcv_av *jcv_b_next(jcv *c, const jcv_args *a);
jcv_av *jcv_b_sum(jcv *c, const jcv_args *a);
jcv_av *jcv_b_min(jcv *c, const jcv_args *a);
jcv_av *jcv_b_max(jcv *c, const jcv_args *a);
/* rows.c: stack() and cat() of a list of unknown length (NULL: something else), and its methods */
jcv_av *jcv_rows_of(jcv *c, const char *name, const jcv_args *args);
bool jcv_rows_has(const char *method);
jcv_av *jcv_rows_method(jcv *c, jcv_av *x, const char *name, const jcv_args *args);
jcv_av *jcv_rows_binary(jcv *c, int op, jcv_av *a, jcv_av *b);
/* order.c */
jcv_av *jcv_b_sorted(jcv *c, const jcv_args *a);
jcv_av *jcv_sort_items(jcv *c, jcv_av *t, const jcv_args *a); /* list.sort: the items then */
jcv_av *jcv_extreme_by(jcv *c, const jcv_args *a, bool max);  /* with a key */
extern const char *const jcv_ordered;                         /* text of an AV_SEQ */
jcv_av *jcv_ordered_item(jcv *c, jcv_av *a, jcv_val *i);
jcv_av *jcv_b_any(jcv *c, const jcv_args *a);
jcv_av *jcv_b_all(jcv *c, const jcv_args *a);
jcv_av *jcv_make_list(jcv *c, const jcv_args *a, bool list);
/* Whether its function is known to be recursive. */
bool jcv_recursive(jcv *c, const jcv_frame *fr);
/* Binds the parameters of `fr` to flat arguments. */
void jcv_store_params(jcv *c, jcv_frame *fr, jcv_av **flat);
jcv_av *jcv_autograd_grad(jcv *c, const jcv_args *args);
jcv_av *jcv_autograd_backward(jcv *c, const jcv_args *args);
jcv_av *jcv_print(jcv *c, const jcv_args *args);
/* Recursion: NULL: the call is not of a recursive function, inline it. */
jcv_av *jcv_call_recursive(jcv *c, jcv_frame *fr, jcv_av **params, unsigned n);
jcv_av *jcv_run_body(jcv *c, jcv_frame *fr);

/* seen.c: objects that earlier conversions met as that parameter */
PyObject *jcv_seen(jcv *c, const jcv_rec_fn *f, unsigned param);
void jcv_remember(jpy_function *f, const jcv_rec_fn *x);
/* Whether an earlier conversion found it to be recursive: then it says which parameters differ. */
bool jcv_was_recursive(jcv *c, jcv_rec_fn *x);
/* Objects of several types have the method `name` called at one place; those of other types than
 * these that were met with some of them, NULL: none. */
void jcv_met_together(jcv *c, PyObject *name, PyObject *samples);
PyObject *jcv_may_meet(jcv *c, PyObject *name, PyObject *types);
/* dims.c: dims that vary */
bool jcv_dim_varies(const jcv *c, int64_t size);
bool jcv_any_dim_varies(const jcv *c, const jn_type *t);
/* The type of a bound tensor in this image, with these dims, and its strides, if there are dims
 * that vary and it is not contiguous; guards of dims are made to fit. */
void jcv_image_of(jcv *c, const janus_tensor *t, jpy_src *src, jn_type *type, int64_t *dims,
                  int64_t *strides);
/* The type that a value has in the module: in `dims` where some vary. */
jn_type jcv_wide_type(const jcv *c, const jcv_val *v, int64_t *dims);
void jcv_image_number(jcv *c, jcv_node *n);
jcv_av *jcv_size(jcv *c, jcv_val *t, int axis);
/* x.shape, and a call of size(), numel() or __len__() (NULL: of something else), where dims vary;
 * NULL: none do. */
jcv_av *jcv_shape(jcv *c, jcv_av *t);
jcv_av *jcv_size_method(jcv *c, const char *name, const jcv_args *args);
/* Whether it is a tensor that only the graph knows the first size of. */
bool jcv_has_parts(jcv *c, jcv_av *a);
/* Rows whose number is that of the rounds of a loop, asserted, as a tensor; NULL: of none. */
jcv_av *jcv_rows_tensor(jcv *c, jcv_av *rows, jcv_val *count);
/* The same stacked along another dim. */
jcv_av *jcv_rows_along(jcv *c, jcv_av *t, jcv_av *dim);
/* A number as the eager layer gets it; NULL: it cannot. */
PyObject *jcv_pass(jcv *c, jcv_val *v);
/* Gives the next op the sizes of symbols that a tensor has, for where nothing else is wrong but
 * refused when the graph runs. */
void jcv_pass_symbols(jcv *c, const jn_type *t);
/* Refuses sizes of the image among results of the eager layer. */
void jcv_no_sizes(jcv *c, PyObject *o);
/* The number that an int of the eager layer is; NULL: a constant. */
jcv_val *jcv_explained(jcv *c, jcv_val *const *in, unsigned n_in, int64_t value);
void jcv_bounds_hold(jcv *c, jcv_val *const *in, unsigned n_in, int axis);
/* Attributes and operands of an op without sizes of the image in its shape. */
const void *jcv_sizes_out(jcv *c, const jn_op *op, jcv_val ***in, unsigned *n_in,
                          const void *attrs);
/* Whether two entries, of both images, do the same; else why not. */
bool jcv_same_entry(const jpy_entry *a, const jpy_entry *b, char *reason, size_t size);
/* finish.c: what an attempt found becomes the entry */
void jcv_finish(jcv *c, jpy_entry *e, jcv_av *result);
/* gradient.c: the entry's stages, and @entry, which runs them and keeps their frames */
/* Before: no gradient is computed of, nor a value kept for, inputs that do not require grad. */
void jcv_cut_untracked(jcv *c);
janus_status jcv_add_gradient(jpy_entry *e, bool exact);
/* share.c: recursions no longer pass on what is the same in all of their calls */
void jcv_share_invariants(jcv *c);
/* emit.c: staged graph -> module; fills the entry's graph part */
janus_status jcv_emit(jcv *c, janus_module *m, jn_subgraph **out_main);

#endif
