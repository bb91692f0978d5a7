/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verified speculation: before a part of a graph commits for the first time, what it would do is
 * compared with what CPython does (docs/adr/0020-verified-speculation.md).
 *
 * A *shadow* is a call that both compute.  The graph runs up to its commit, which is performed on
 * *twins*, shallow copies of the objects that it has touched; then CPython runs the call; then
 * every touched object must equal its twin, and the two results each other.  What CPython did
 * stands in any case.
 *
 * Files: twin.c copies, write.c commits to copies, match.c compares, gradients.c what goes backward
 * from there, text.c what is printed, nudge.c how far rounding moves all that, shadow.c runs the
 * call, report.c says what differed;
 * call/check.c does all of it once by hand.
 */
#ifndef JPY_VERIFY_H
#define JPY_VERIFY_H

#include "exec/store/store.h"
#include "graph/base/hash.h"
#include "pyfront/entry/entry.h"
#include "pyfront/verify/numbers.h"

typedef enum jpy_verdict {
    JPY_AGREED,    /* nothing differed */
    JPY_SUSPECT,   /* floats differ by more than rounding should make them */
    JPY_DISPROVED, /* anything else differs */
    JPY_UNDECIDED  /* something else may have changed what was compared */
} jpy_verdict;

/* Where a value is, for messages: `[3]` of `.children` of ... ; in the shadow's arena. */
typedef struct jpy_where {
    const struct jpy_where *of; /* NULL: `name` is where it begins */
    const char *name;           /* "result"; an attribute where `of` is not NULL */
    PyObject *key;              /* of a dict, borrowed */
    Py_ssize_t index;           /* of a list or tuple where name and key are NULL */
    uint32_t slot;              /* of a beginning: the guarded object; UINT32_MAX: none */
} jpy_where;

/* The memory of a tensor that the run has touched. */
typedef struct jpy_twin_storage {
    jn_storage *storage; /* retained */
    uint32_t version;    /* before */
    uint32_t print;      /* and what jn_storage_print() said; 0: nobody has asked */
    janus_tensor *all;   /* all of it, owned; one dim, unless the copy is rows */
    janus_tensor *copy; /* what that has to hold afterwards, owned; NULL: what it held before ... */
    janus_tensor *rows; /* ... but for these rows of one of its tensors, whose print is that of the
                           others; owned, NULL: none */
    bool borrowed;      /* the copy is a result of the run: it is copied before it is written */
    const jpy_where *where;
    UT_hash_handle hh;
} jpy_twin_storage;

typedef struct jpy_twin_tensor {
    janus_tensor *t; /* retained */
    PyObject *grad;  /* owned; NULL: none */
    jpy_edge edge;   /* its place on the tape, owned; not tracked: none, or not known */
    bool tracked, leaf, requires_grad;
    bool moved; /* t is what the run has made for it: its .data was set */
} jpy_twin_tensor;

/* What an object has to be like afterwards.  References are owned. */
typedef struct jpy_twin {
    PyObject *o;
    PyObject *items;   /* of a list, tuple, set, dict, cell: a container of its kind (cell: list) */
    PyObject *attrs;   /* of its instance dict, or that of a type or module, which has a twin of its
                          own: that one's items; NULL: none */
    PyObject *owner;   /* of an instance dict: whose it is, borrowed */
    PyObject *members; /* dict: what its slots hold; NULL: none */
    jpy_twin_tensor *tensor;
    jpy_twister *drawn; /* of a generator */
    const jpy_where *where;
    UT_hash_handle hh;
} jpy_twin;

typedef struct jpy_pair { /* an object of the graph's and the one that is CPython's */
    PyObject *graph, *python;
    UT_hash_handle by_graph, by_python;
} jpy_pair;

typedef struct jpy_value_pair { /* tuples that were compared by what is in them */
    struct jpy_two_tuples {
        PyObject *graph, *python;
    } of;
    UT_hash_handle hh;
} jpy_value_pair;

typedef struct jpy_storage_pair {
    const jn_storage *graph, *python;
    UT_hash_handle by_graph, by_python;
} jpy_storage_pair;

typedef struct jpy_born { /* an object that the run made */
    PyObject *o;
    UT_hash_handle hh;
} jpy_born;

typedef struct jpy_todo { /* two objects whose contents are still to be compared */
    PyObject *graph, *python;
    const jpy_where *where;
} jpy_todo;

typedef struct jpy_gradients_of { /* a result of both with a history; references are owned */
    PyObject *graph, *python;
} jpy_gradients_of;

typedef struct jpy_nudged { /* memory of the program's, and its copy that a second run is given */
    jn_storage *of;         /* retained */
    const jn_storage *copy; /* of `all` */
    janus_tensor *all;      /* owned; one dim */
    UT_hash_handle by_program, by_copy;
} jpy_nudged;

typedef struct jpy_moved { /* what a second run gave */
    const void *of;        /* where CPython gave this: memory, a tensor, a float */
    janus_tensor *t;       /* retained; NULL: it is a float */
    double value;
    UT_hash_handle hh;
} jpy_moved;

typedef struct jpy_shadow {
    jpy_entry *e;
    jn_arena arena;
    jpy_twin *twins;
    jpy_twin_storage *storages;
    jpy_born *born;
    jpy_pair *pairs, *pairs_back;
    jpy_value_pair *values;
    jpy_storage_pair *storage_pairs, *storage_pairs_back;
    JN_VEC(jpy_todo) todo;
    JN_VEC(jpy_gradients_of) histories;
    bool exact;   /* floats must have equal bits */
    bool doubted; /* the graph computes as CPython does: rounding explains no difference */
    bool nudges;  /* it is the second run, on inputs that are not quite the program's */
    jpy_nudged *nudged, *nudged_back;
    JN_VEC(janus_tensor *) nudged_views; /* owned */
    jpy_moved *moved;
    bool explained;                  /* something is equal but for what rounding moves */
    const struct jpy_shadow *second; /* what that gave, borrowed; NULL: there was none */
    bool copy_all;                   /* memory is copied whether the graph writes it or not */
    size_t copied;                   /* bytes */
    bool failed;                     /* out of memory: nothing can be said */
    bool loud;                       /* what is replaced has a finalizer */
    jpy_verdict verdict;
    PyObject *difference; /* str: the first one, or NULL */
    PyObject *out;        /* sys.stdout when CPython began, or NULL */
    PyObject *said;       /* what CPython printed: list of file, text, ...; NULL: not known */
} jpy_shadow;

/* ---- twin.c ------------------------------------------------------------------------------------
 */

void jpy_shadow_init(jpy_shadow *s, jpy_entry *e, bool exact);
void jpy_shadow_free(jpy_shadow *s);
/* Remembers what the object is like now, unless it is known; NULL `o` is nothing.  `where`: NULL,
 * something that the run has read. */
void jpy_shadow_touch(jpy_shadow *s, PyObject *o, const jpy_where *where);
/* All that the guards have bound, and the dicts and cells it was read from. */
void jpy_shadow_touch_slots(jpy_shadow *s, PyObject *const *slots);
jpy_twin *jpy_shadow_find(const jpy_shadow *s, const PyObject *o);
jpy_twin_storage *jpy_shadow_storage(const jpy_shadow *s, const jn_storage *st);
/* Makes its copy if there is none; false: out of memory. */
bool jpy_shadow_copy_storage(jpy_shadow *s, jpy_twin_storage *st);
/* Notes that it has to hold these rows instead of a copy; false: it needs one. */
bool jpy_shadow_take_rows(jpy_twin_storage *st, janus_tensor *rows);
/* Whether CPython has written to what there is no copy of. */
bool jpy_shadow_wrote(const jpy_twin_storage *st);
jpy_where *jpy_shadow_where(jpy_shadow *s, const jpy_where *of, const char *name, PyObject *key,
                            Py_ssize_t index);
/* What its slots (descriptors made by __slots__) hold: a new dict; NULL: it has none. */
PyObject *jpy_members_of(PyObject *o);

/* Notes a difference, `fmt` as in PyUnicode_FromFormat, unless a graver one is known; false. */
bool jpy_shadow_differs(jpy_shadow *s, jpy_verdict v, const jpy_where *where, const char *fmt, ...);

/* ---- write.c -----------------------------------------------------------------------------------
 */

/* The log and the steps of the commit, performed on twins; what the run made is written itself.
 * false: it cannot be done, or (s->loud) what CPython will replace has a finalizer. */
bool jpy_shadow_write(jpy_shadow *s, const jpy_making *m, const jn_run *run, const jpy_host *host);
/* Remembers that the run made it; false: out of memory. */
bool jpy_shadow_add_born(jpy_shadow *s, PyObject *o);

/* ---- match.c -----------------------------------------------------------------------------------
 */

/* Compares the two results and all twins; sets s->verdict and s->difference. */
void jpy_shadow_compare(jpy_shadow *s, PyObject *graph, PyObject *python);

/* ---- nudge.c -----------------------------------------------------------------------------------
 */

/* What a run is given in place of the tensor, borrowed: in a second run one whose floats are the
 * next ones, else itself. */
janus_status jpy_shadow_nudge(jpy_shadow *s, janus_tensor *t, janus_tensor **out);
/* The memory of the program's that it stands for, or itself. */
const jn_storage *jpy_shadow_unnudged(const jpy_shadow *s, const jn_storage *st);
/* The second run gave this where CPython gave `of`. */
void jpy_shadow_moved(jpy_shadow *s, const void *of, janus_tensor *t);
void jpy_shadow_moved_float(jpy_shadow *s, const void *of, double value);
/* Whether p and a, CPython's, are no further apart than rounding moves p. */
bool jpy_shadow_explains(jpy_shadow *s, const void *of, janus_tensor *p, janus_tensor *a);
bool jpy_shadow_explains_float(jpy_shadow *s, const void *of, double p, double a);
void jpy_shadow_nudged_free(jpy_shadow *s);

/* ---- gradients.c -------------------------------------------------------------------------------
 */

/* Both outcomes' gradients of the same cotangents, where their results have a history. */
void jpy_shadow_gradients(jpy_shadow *s);

/* ---- text.c ------------------------------------------------------------------------------------
 */

/* CPython begins, and ends: what this thread prints to files that graphs may print to is kept. */
void jpy_shadow_listen(jpy_shadow *s);
void jpy_shadow_listened(jpy_shadow *s);
/* What tells two texts apart, of which floats may be rounded otherwise; `floats`: ints, too, which
 * may be floats that were printed so. */
jpy_verdict jpy_shadow_same_text(const jpy_shadow *s, PyObject *p, PyObject *a, bool floats);
/* Compares it with what the graph prints, as jpy_print_write takes it, NULL: nothing.  floats: some
 * of that may have been made of floats. */
void jpy_shadow_compare_text(jpy_shadow *s, const PyObject *text, bool floats);

/* ---- shadow.c ----------------------------------------------------------------------------------
 */

/* How many threads run shadows now; whether this one does: no graph is used then. */
extern int jpy_shadows_running;
extern _Thread_local bool jpy_shadow_here;
extern _Thread_local uint64_t jpy_shadows_begun; /* in this thread, so far */

/* A call that both compute, between CPython's beginning and its end. */
typedef struct jpy_compared {
    jpy_function *f;             /* owned */
    struct jpy_compared *second; /* the graph's part once more, nudged; owned, NULL: none */
    jpy_shadow s;
    jpy_making m; /* m.e: an owned reference */
    jpy_host host;
    janus_host_ops ops; /* of the run: what they read is remembered */
    PyObject **slots;   /* owned, and so are its references */
    jn_arg *results;
    struct jpy_node *node[JPY_MAX_STAGES];
    jpy_objects born;
    jn_run *run;
    jn_rng_state rng; /* as the run leaves it */
    bool collects, watching;
    uint64_t ops_before; /* of this thread, when CPython began */
} jpy_compared;

/* The graph's part of a call whose guards hold; until the end, which must come, CPython computes it
 * and decorated functions of this thread are plain. 0; -1: the run was discarded, -2: the same, for
 * a signal; then *out is nothing and CPython has not begun. */
int jpy_shadow_begin(jpy_function *f, jpy_entry *e, const jpy_call *call, PyObject *const *slots,
                     jpy_compared **out);
/* CPython has ended with `outcome` (stolen; NULL: the exception that is set).  known: false: nobody
 * knows how, which decides nothing.  Returns the outcome, NULL also where a warning of a wrong
 * graph was made an exception; *verdict is what is known of the graph. */
PyObject *jpy_shadow_end(jpy_compared *x, PyObject *outcome, bool known, jpy_verdict *verdict);
/* A call whose guards hold, computed by both. <0: as jpy_shadow_begin; else *out_result is
 * CPython's outcome (NULL: its exception) and *verdict what is known of the graph. */
int jpy_shadow_call(jpy_function *f, jpy_entry *e, const jpy_call *call, PyObject *const *slots,
                    PyObject **out_result, jpy_verdict *verdict);

/* Statements of a region that this thread compares, or NULL: they run in the frame of the program,
 * and whoever sees how they end ends it. */
extern _Thread_local jpy_compared *jpy_shadow_open;

/* ---- mutate.c, with JANUS_MUTATIONS
 * --------------------------------------------------------------
 */

/* Makes the mistake number JANUS_MUTATE in an entry whose module is not frozen yet. */
void jpy_mutate(jpy_entry *e);
/* _mutations(): (what each one is, how many were made). */
PyObject *jpy_mutations(PyObject *module, PyObject *unused);

/* ---- report.c ----------------------------------------------------------------------------------
 */

/* The class of the warning: janus.SpeculationWarning. */
int jpy_init_verify(PyObject *module);
/* Notes and warns of a graph that was disproved; -1: the warning was made an exception. */
int jpy_shadow_report(jpy_function *f, jpy_shadow *s);
/* "result[0].weight" as text; new reference. */
PyObject *jpy_where_text(const jpy_shadow *s, const jpy_where *w);

#endif
