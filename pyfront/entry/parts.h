/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cached entry: guards, module, and recipes that make Python objects of a run's results.
 */
#ifndef JPY_PARTS_H
#define JPY_PARTS_H

#include "exec/run/run.h"
#include "graph/ir/ir.h"
#include "pyfront/entry/history.h"
#include "pyfront/guard/guard.h"

struct jpy_node;
struct jpy_host;

/* How a Python value is born at commit. */
typedef enum jpy_recipe_kind {
    JPY_MAKE_CONST,  /* obj */
    JPY_MAKE_SOURCE, /* slot: the guarded object itself */
    JPY_MAKE_RESULT, /* slot: result of the run, wrapped */
    JPY_MAKE_TUPLE,  /* items; obj: its type where that is a named tuple's */
    JPY_MAKE_LIST,
    JPY_MAKE_DICT,   /* obj: type derived from dict, or NULL; items: key, value, ... */
    JPY_MAKE_OBJECT, /* obj: type; items: attribute, value, ... */
    JPY_MAKE_VIEW,   /* of items[0]: views */
    JPY_MAKE_OPTION  /* items[0] where result `slot`, a bool, holds; else items[1],
                        or None where there is one item */
} jpy_recipe_kind;

typedef struct jpy_view_step {
    const jn_op *op;
    const void *attrs;
    unsigned n; /* operands but the first */
    janus_scalar extra[3];
    uint8_t kinds[3];
} jpy_view_step;

typedef struct jpy_recipe {
    jpy_recipe_kind kind;
    uint32_t slot;
    uint32_t id;        /* recipes of one id make one object */
    uint32_t grad;      /* of a tensor result: 1 + its number among the tracked; 0: no history */
    uint32_t if_result; /* of one with a history: 1 + the result, a bool, that says whether it is
                         * there in this run; 0: it is */
    bool freed;         /* of a tensor result: it has a history, which backward has used up */
    bool leaf; /* of a tensor result: it requires grad; items: its .grad, where it has one */
    const int64_t *strides; /* of a tensor result: NULL: row-major */
    bool by_order;          /* strides: not these, but axes, the one with the longest steps first */
    PyObject *obj;
    struct jpy_recipe **items;
    jpy_view_step *views; /* n of them */
    bool detached;        /* of a view: it does not know what it is a view of, ... */
    bool uncounted;       /* ... nor, of a result as well, do versions count writes by way of it */
    unsigned n;
} jpy_recipe;

typedef enum jpy_commit_kind {
    JPY_COMMIT_ATTR,   /* object slot . key = value */
    JPY_COMMIT_GRAD,   /* tensor slot .grad = value (None allowed) */
    JPY_COMMIT_FLAG,   /* tensor slot .requires_grad = value */
    JPY_COMMIT_STORE,  /* tensor slot [...] = result `value` */
    JPY_COMMIT_DATA,   /* tensor slot .data = result `value` */
    JPY_COMMIT_LIST,   /* list slot [:] = value */
    JPY_COMMIT_DICT,   /* dict slot: set the pairs of value, a JPY_MAKE_DICT; key order kept */
    JPY_COMMIT_WHOLE,  /* dict slot: exactly the pairs of value; keys that stay keep their places */
    JPY_COMMIT_CLEAR,  /* dict slot: cleared, then set the pairs of value */
    JPY_COMMIT_GLOBAL, /* dict slot [key] = value */
    JPY_COMMIT_DEL     /* del object slot . key */
} jpy_commit_kind;

typedef struct jpy_commit_step {
    jpy_commit_kind kind;
    uint32_t slot;
    PyObject *key;
    jpy_recipe *value;
    uint32_t when;    /* 0: always; else the number + 1 of a result, whether it is done */
    uint32_t put;     /* WHOLE: so many pairs, the last, were put in after others were taken out */
    bool uncounted;   /* STORE: versions do not count it ... */
    uint32_t counted; /* ... 0, or the number + 1 of a result, whether they do */
    uint32_t more;    /* STORE: so many versions more than one */
    bool needed;      /* STORE: by a gradient, what is stored or views of it */
} jpy_commit_step;

typedef struct jpy_input {
    uint32_t slot;
    uint8_t kind; /* janus_kind */
    bool used;    /* by the graph; else only guards look at it */
} jpy_input;

typedef struct jpy_left_out { /* a path that the graph does not have */
    const char *why;
    jn_loc at;
} jpy_left_out;

enum { JPY_NO_STAGE = UINT32_MAX, JPY_MAX_STAGES = 32, JPY_MAX_ALONE = 4 };
typedef struct jpy_tracked { /* a tensor that gradients flow to */
    uint32_t stage,
        slot;          /* of an earlier stage: its node and result; JPY_NO_STAGE: a guarded one */
    uint32_t param;    /* of the stage */
    uint32_t gradient; /* result of the stage's gradients */
    const bool *outs;  /* per result of the stage's node: it is computed from it */
} jpy_tracked;

typedef struct jpy_kept { /* a tensor that must stay as it is, and the op that saved it */
    uint32_t slot;        /* where it is bound; of a result its number */
    const char *op;
    uint32_t writes;   /* of the commit to it, which come before the value that was saved */
    jpy_set outs, ins; /* gradients of these results for these inputs need it */
    uint32_t at;       /* the op: backward() comes to later ones first */
    uint8_t arm;       /* as jpy_group.arm */
    bool is_result;
    bool maybe;      /* only the run's ops say whether it was kept: again.h */
    bool copied;     /* some of it is kept as a copy, to which no write comes */
    uint32_t stored; /* of a tensor that the commit writes: 1 + the result that it gets */
} jpy_kept;

typedef struct jpy_copy { /* of a view of what is kept, as a member of the frame; or, `back`, what
                           * is kept is a view of it */
    uint32_t kept;        /* of the stage's */
    uint32_t member, of;  /* a parameter of the stage or a result of its SubGraph */
    bool param, back;
} jpy_copy;

typedef struct jpy_gradient {
    jn_subgraph *sub;
    const int32_t *present; /* as jn_grad_presence() gives it */
    jn_subgraph *onto;      /* in exact numerics: the same that goes on with sums so far ... */
    const int32_t *onto_present;
    const uint8_t *sums; /* ... of these parameters, as jn_grad_onto() gives it */
} jpy_gradient;

typedef struct jpy_stage { /* a node of the tape: see convert/finish/gradient.c */
    jn_subgraph *sub;
    JN_VEC(uint32_t) place; /* per result of the node: its number among those of sub */
    jpy_gradient grad;      /* for cotangents of all results; sub NULL: none, and no frame */
    jpy_gradient alone[JPY_MAX_ALONE]; /* of one of several results */
    jpy_gradient some;                 /* of any of more than two: bools say which */
    jpy_gradient none;                 /* of what waits at numbers alone: jpy_entry.remains */
    JN_VEC(jpy_tracked) in;
    JN_VEC(jpy_kept) kept;
    JN_VEC(jpy_copy) copies;
    jpy_groups groups;
    JN_VEC(jpy_arm) arms;
    JN_VEC(const jn_type *) out;
    bool mixes;            /* gradients flow between its results, inside of it */
    JN_VEC(uint32_t) seen; /* per out: the result of the run that has its dims, where they vary */
} jpy_stage;

typedef struct jpy_place { /* of a tracked result */
    uint32_t stage, out;
} jpy_place;

typedef struct jpy_later {          /* comparing it once more: run/later.h */
    uint64_t due;                   /* from this many runs on */
    uint64_t ns, bytes;             /* what the last shadow took */
    uint64_t instructions, invokes; /* of its run; the most of any */
    int64_t since;                  /* when one began */
    bool now;                       /* one that was due is under way */
    bool explained;                 /* the last shadow agreed by what rounding moves: nudge.c */
    unsigned doubts;                /* hits to compare since other floats came of one */
} jpy_later;

struct jpy_entry {
    PyObject_HEAD jpy_guards guards;
    janus_module *module;
    jn_subgraph *main;
    jn_arena arena;
    JN_VEC(jpy_input) inputs;
    bool *lent; /* per result: it is only stored to a tensor */
    JN_VEC(jpy_commit_step) steps;
    jpy_recipe *result;
    jpy_recipe *held;  /* of a region, what its dead variables hold: a tuple; NULL: nothing */
    jpy_stage *stages; /* none: no result requires grad; their frames follow the results */
    unsigned n_stages, n_frames;
    jpy_place *place;         /* by jpy_recipe.grad - 1 */
    JN_VEC(uint32_t) grad_of; /* per result: as jpy_recipe.grad */
    JN_VEC(uint32_t) looked;  /* slots of containers whose contents the guards have read */
    unsigned n_tracked;
    bool keeps_results; /* a stage has kept some */
    bool has_effects;   /* of any kind */
    bool unsure;        /* whether they hold more of what it has read */
    bool any_dims;      /* dims of tensors may be of any size: see hints.c */
    bool any_length;    /* a list is taken at any length: see hints.c */
    bool wires;         /* gradients pass through what it stores */
    PyObject *finds;    /* leaves that take gradients and are read may be others in each run: a list
                         * of their types (of the guards), or NULL */
    bool of_process;    /* it is good for this process only: hashes of strings differ */
    bool to_keep;       /* stored/stored.h: it is written once it was used */
    PyObject *kept_as;  /* str: the name of its file, or NULL */
    bool local;         /* what it stores and requires grad must not outlive the run ... */
    bool remains;       /* ... but may: results of the node, whose gradients wait at numbers */
    uint32_t n_recipes;
    unsigned n_results;
    JN_VEC(struct jpy_print *) prints; /* by the key of host.emit and host.text */
    PyObject *attr_names;              /* list: host.attr keys */
    PyObject *type_list;               /* list: host.type tokens are addresses of these */
    PyObject
        *methods;   /* list: type, name, function that objects may hide, ...; see jcv_of_the_type */
    uint8_t plain;  /* 0: jpy_entry_plain() was not asked yet; 1: no, 2: yes */
    uint8_t *known; /* per input: a jn_known (exec/run/run.h), as long as jpy_guards.known stands */
    uint64_t known_by; /* ... when that was this, ... */
    bool known_away;   /* ... and jn_dev_in_use that */
    uint64_t runs;
    unsigned stays;     /* calls that keep the interpreter lock: another thread got in the way */
    bool unverified;    /* hits are shadows (verify/verify.h) */
    bool wrong;         /* it was disproved */
    bool copy_all;      /* of those: all memory is copied */
    unsigned undecided; /* shadows in a row that said nothing */
    jpy_later later;
    jpy_trial trial;
    JN_VEC(jn_loc) visited;        /* statements that the conversion ran, sorted; for explain */
    JN_VEC(jpy_left_out) left_out; /* likewise */
    uint64_t came;                 /* runs that came to one of these */
    uint64_t left; /* discarded runs of calls that are left to CPython: jpy_hints_left() */
};

extern PyTypeObject *jpy_entry_type;
/* history.c: finds x->mixes, of x->sub and x->place.  `wires`: as jpy_entry.wires. */
janus_status jpy_stage_mixes(jpy_stage *x, bool wires);
/* As jpy_node_turn(), of the stage's node: on the tape of the program's ops a leaf's gradient is
 * complete when the op that used it first has gone backward, and the body says which that was. */
uint64_t jpy_stage_turn(const jpy_stage *x, unsigned in, const bool *outs);
/* entry.c: an empty one for the arguments of `call`, of which the guards hold the names; NULL: out
 * of memory, with an exception. */
jpy_entry *jpy_entry_new(const jpy_call *call, bool grad_mode);

/* Whether its graph neither sees nor makes objects: tensors and numbers go in, tensors and numbers
 * come out, and nothing else is done.  Until the results are there no code of the user can run, but
 * in other threads while the interpreter lock is given up. */
bool jpy_entry_plain(jpy_entry *e);
/* What is wrong with the numbers by which a graph asks for e->prints and e->attr_names; NULL:
 * nothing. */
const char *jpy_keys_wrong(const jpy_entry *e, const janus_module *m);
void jpy_entry_free(jpy_entry *e); /* gives up one reference */
void jpy_entry_hold(jpy_entry *e); /* takes one */

/* As the column of a statement that was visited: a call in it has led to nodes of other lines. */
enum { JPY_LEADS_ON = 1 };
/* For qsort(): by file, line and column. */
int jpy_by_place(const void *a, const void *b);
/* Keeps, sorted and once each, the statements that a conversion ran, and what it left out. */
void jpy_keep_visited(jpy_entry *e, const jn_loc *visited, size_t n, const jpy_left_out *out,
                      size_t n_out);

/* Why a run is discarded that has come to its commit. */
static inline const char *jpy_why_discarded(int committed) {
    return committed == -2
               ? "what it lets go of has a finalizer, or a key is compared by code of the program"
           : committed == -3 ? "a dict that it writes is the __dict__ of an object, too"
                             : "the results cannot be made";
}

/* commit.c: builds every object (prepare), then applies, the log of the run (prepared) last.
 * `host`: of the run, with what is printed first of all.  0; -1: nothing has changed; -2: nor has
 * it, since that would run code of the program, -3: since a place is met in two ways (write.h); 1:
 * all is done, but printing has raised when some of it was written. */
int jpy_commit(jpy_entry *e, PyObject **slots, jn_run *run, const struct jpy_host *host,
               jn_arg *results, struct jpy_node **nodes, PyObject **out_result);
#endif
