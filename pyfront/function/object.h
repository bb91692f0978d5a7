/* SPDX-License-Identifier: Apache-2.0 */
/*
 * janus.function's object and what its parts share.
 *
 * A jpy_function owns the callable it stands for and its cached entries, most recent first.  An
 * entry is one conversion: a guard program, a frozen module, and recipes for results and effects.
 */
#ifndef JPY_FUNCTION_STRUCT_H
#define JPY_FUNCTION_STRUCT_H

#include "exec/eager/eager.h"
#include "graph/base/vec.h"
#include "include/janus.h"
#include "pyfront/base/jpy.h"
#include "pyfront/function/word.h"
#include <structmember.h>

typedef struct jpy_entry jpy_entry;

enum { JPY_MAX_ENTRIES = 64, JPY_TREES = 16 };

/* Where a call begins that is to be timed; ns 0: it is not. */
typedef struct jpy_timing {
    int64_t ns;
    uint64_t ops;     /* that this thread has run by then, ... */
    uint64_t others;  /* ... what was made in it (policy.c) ... */
    uint64_t shadows; /* ... and what was compared */
} jpy_timing;

/* The fastest of some calls. */
typedef struct jpy_pace {
    int64_t ns;         /* of one; 0: none yet */
    double op_ns;       /* of one for each op that it ran */
    uint64_t few, most; /* ops that they ran: least, most, ... */
    uint64_t ops;       /* ... and together */
    int64_t all_ns;
    unsigned calls, largest; /* all, and those that ran about the most ops */
} jpy_pace;

typedef struct jpy_trial { /* policy.h */
    int state;
    bool last_graph;
    bool tracked; /* its gradients are part of what it costs */
    unsigned n, cold, idle;
    int64_t first_ns;                  /* the call converted */
    jpy_pace graph, plain;             /* the timed ones, ... */
    jpy_pace graph_round, plain_round; /* ... from the start of such a call to that of the next */
    jpy_timing last;                   /* where the last timed one started, ... */
    uint64_t last_ops;                 /* ... and what it ran */
    uint64_t paid, left; /* calls until it is compared again: when it was found to pay; to come */
    double least, most;  /* ops of the graph for each of CPython's, where both ran */
} jpy_trial;

/* Graphs against CPython's calls, many at a time (call/phases.c). */
typedef struct jpy_phases {
    int state;
    unsigned turns, again; /* that are over; begun again in this one */
    /* when this one began: of the function, of the process, of this thread */
    uint64_t calls, backs, made;
    int64_t since;
    double graph, plain; /* ns a call at their best; 0: none yet */
} jpy_phases;

/* How often, and since when, something was reached (call/nested.h). */
typedef struct jpy_warmth {
    unsigned reached;
    uint64_t all; /* what all that is looked at had been reached by then */
    bool longer;  /* what lies inside is reached so often that it is left to that */
    int64_t since;
} jpy_warmth;

/* The ways a call may run (ladder.h), by bits. */
typedef uint8_t jpy_ladder;
enum {
    JPY_RUNG_GRAPH = 1,
    JPY_RUNG_COEXECUTION = 2,
    JPY_RUNG_IMPERATIVE = 4,
    JPY_LADDER_DEFAULT = JPY_RUNG_GRAPH | JPY_RUNG_IMPERATIVE
};

/* Of the leaves that backward() may reach: all are assumed to get a gradient; some do, as the run
 * finds; all again, since the function is not converted without. */
typedef enum jpy_gradients {
    JPY_GRADIENTS_ALL,
    JPY_GRADIENTS_SOME,
    JPY_GRADIENTS_ALL_AGAIN
} jpy_gradients;

typedef enum jpy_verify { JPY_VERIFY_RARELY, JPY_VERIFY_ALWAYS, JPY_VERIFY_NEVER } jpy_verify;

/* What is known of the rung of co-execution (coexecute.c). */
typedef struct jpy_coexecution {
    struct jn_deferral *deferral; /* owned; NULL: there was none yet */
    bool busy;                    /* a call is on this rung, or compared with it */
    uint64_t calls;               /* that were co-executed */
    bool at_once;                 /* few of its ops make groups: they run at once */
    unsigned turn, warm;          /* of the trial that goes on; calls that are not timed yet */
    double plain_ns, ns;          /* the fastest timed calls, for each op */
    uint64_t rest, rest_length;   /* calls until it is tried again */
} jpy_coexecution;

typedef struct jpy_function {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *callable; /* owned */
    PyObject *like;     /* whose names it has: the callable, or another one */
    PyObject *dict, *weakrefs;
    PyObject *hints; /* dict: what failed guards taught: path of a number or length -> True: it is
                        not assumed, False: it has to be, an int: how often it was another one, or a
                        run came to a path that was left out */
    PyObject *dims;  /* dict: path of a tensor -> histories of its dims (hints.c) */
    bool pinned;     /* dims are assumed, whatever they were */
    bool narrowed;   /* numbers and lengths are assumed unless they were seen to change */
    jpy_gradients gradients;
    PyObject *seen;    /* dict: objects met by recursions, one of each kind (convert/heap/seen.c) */
    PyObject *notes;   /* list of str: conversions and failures, for explain */
    PyObject *history; /* list of tuples, one a conversion: report.c */
    PyObject *reason;  /* str: why the last conversion was refused, or NULL */
    PyObject *failed;  /* str: the assumption of the run that was just discarded, or NULL */
    PyObject *wrong;   /* the code (a callable without one: it) of which a graph was disproved */
    bool refused; /* the last conversion was, in which statement of the function (0: in none) */
    uint32_t refused_line, refused_col;
    bool refused_usual; /* ... since a usual path (run/hints.h) cannot be a part of a graph */
    bool of_region;     /* it is that of a region of statements ... */
    struct jpy_function *part_of; /* ... of this one's skeleton, which lives longer */
    bool use_regions;      /* region/region.h, which owns what follows; NULL: there is none yet */
    PyObject *plan;        /* of the skeleton (janus/_skeleton.py), or None: it can have none */
    PyObject *skeleton;    /* what CPython runs in place of the callable */
    bool first;            /* the skeleton is that of a first call (call/nested.h) */
    bool creates;          /* its text asks for create_graph, which a first call has yet to learn */
    bool stale;            /* the plan has changed since it was made */
    PyObject *skeleton_of; /* the code that plan and skeleton were made of */
    PyObject *regions;     /* dict of its regions */
    uint64_t region_hits;  /* runs of regions of its text as graphs */
    PyObject *callees;     /* dict: functions that the skeleton calls -> their Functions, or None */
    unsigned dull;         /* calls in the skeleton of what is none of these, counted up to some */
    jpy_trial trial;       /* of the skeleton against the callable */
    uint64_t undressed;    /* calls until the skeleton is tried again: it does not pay ... */
    uint64_t undress;      /* ... and how many these were last */
    struct jpy_function *payer; /* owned: f was made for the skeleton of this one, or of one that
                                   was, and is paid for by its run time; NULL: f was asked for */
    int64_t running_since, lent_ns; /* of a payer: its call; conversions it has paid for */
    unsigned unasked;  /* it was made for a skeleton: calls in which it has to run an op ... */
    jpy_warmth warmth; /* ... and till then */
    jpy_entry *timed;  /* of a region: CPython runs the statements, and is timed for it */
    jpy_timing timed_since;
    JN_VEC(jpy_entry *) entries;
    bool exact;
    bool doubted;       /* it is so since a graph in "fast" numerics gave other numbers */
    unsigned suspected; /* by shadows whose floats differed, then never 0 again: then the graph of a
                           shadow runs twice (verify/nudge.c) */
    bool checkpoint;    /* activations are computed again by gradients */
    bool convert_first; /* before a call that is run imperatively, not after it */
    bool differentiated; /* a gradient was asked for that graphs with effects do not have */
    bool asked_in_vain;  /* ... of one that had run: no graph with a history is run again */
    bool recorded_again; /* a gradient of one was differentiated */
    bool looked, near;   /* whether its first call reaches the package was asked; it does */
    bool recurs_inside;  /* of a conversion: a function made inside calls itself ... */
    bool recurs_fixed;   /* ... or one whose objects are parts of a module, which do not change */
    bool recurs_parts;   /* ... or one that goes down containers whose contents are known */
    bool unrolls;        /* ... and such ones are unrolled */
    bool unrolls_tree;   /* ... and so is what goes over objects of the program's */
    bool by_trees;       /* some of its graphs are of one tree each */
    PyObject *tree;      /* the first of these; owned while a conversion lasts */
    PyObject *trees[JPY_TREES]; /* those of the last such calls, weakly; owned, or NULL */
    unsigned n_trees;
    unsigned plain;       /* nested plain calls going on ... */
    unsigned long thread; /* ... in this thread */
    jpy_verify verify;    /* when graphs are compared with CPython: verify/verify.h */
    uint64_t verified, disproved;
    uint64_t later;              /* shadows of graphs that were compared before: run/later.h */
    uint64_t first_ns, later_ns; /* what the first ones took, and those */
    uint64_t calls, graph, imperative, fallbacks, conversions;
    uint64_t next_try; /* imperative calls until a refused function is tried again */
    uint64_t backoff;
    bool measure;               /* whether graphs that do not pay are given up */
    int64_t plain_ns;           /* spent in its imperative calls, where that is measured */
    int64_t convert_ns;         /* in conversions but the first ones, ... */
    int64_t spent_ns;           /* ... and in all */
    int64_t last_ns;            /* in the last one, ... */
    int64_t last_plain_ns;      /* ... when plain_ns was this */
    unsigned loose;             /* entries for lists of any length that were good for little */
    bool looks_far;             /* for objects of other kinds than it has met: run/hints.h */
    unsigned loose_dims;        /* the same of entries for dims of any size */
    uint64_t slow;              /* entries that were found slow */
    uint64_t rest, rest_length; /* calls until slow entries are tried again */
    jpy_phases phases;
    const void *rests; /* the thread of which such a call goes on: what it calls in turn is none */
    unsigned met_slow; /* calls in a row, of those that were asked about, that a slow entry took */
    unsigned unlooked; /* calls to come that are not asked */
    unsigned vain;     /* calls that no graph was used for, less those that others make up for */
    janus_run_stats run; /* summed over runs */
    jn_op_counts ops;    /* tensor ops run under its calls, those of what it calls too */
    PyObject *shelf;     /* its entries on disk (stored/stored.h), or NULL */
    bool kept_others;    /* entries are there, of which none took the last call that asked */
    bool waited;         /* one call was not converted for their sake */
    uint64_t cache_hits; /* entries taken from there, by what it pays for, too */
    jpy_word word;
    jpy_ladder ladder;
    jpy_coexecution together;
} jpy_function;

/* A gradient was asked for that a graph does not have: such calls are CPython's from now on. */
static inline void jpy_asked_in_vain(jpy_function *f) {
    f->differentiated = f->asked_in_vain = true;
}

typedef struct jpy_call {
    PyObject *const *args; /* positional, then keyword values */
    Py_ssize_t n_pos;
    PyObject *kwnames; /* tuple or NULL */
} jpy_call;

#endif
