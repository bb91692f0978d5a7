/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether objects die quietly.
 *
 * CPython runs a finalizer (`__del__`, the end of a generator, the closing of a file) or the
 * callback of a weak reference when the last reference to an object goes, between two statements of
 * the program.  A graph writes all that its statements write and lets go of what was there after
 * that: such code would see what statements behind its own have done.  So what is to go is asked
 * first (docs/adr/0083-quiet-commits.md).
 *
 * References that go are counted as the garbage collector counts them, from what is let go of down
 * to what dies with it, which is as much work as freeing it will be.
 */
#ifndef JPY_DYING_H
#define JPY_DYING_H

#include "graph/base/arena.h"
#include "graph/base/hash.h"
#include "graph/base/vec.h"
#include "pyfront/base/jpy.h"

typedef struct jpy_dying {
    /* Tells the references that are not the program's, and go in any case, by jpy_own_goes; asked
     * once, where it may matter.  NULL: there are none. */
    void (*own)(struct jpy_dying *d, const void *ctx);
    const void *ctx;
    bool asked; /* it was */
    bool loud;  /* something would run, or memory is short */
    struct jpy_counted *objects;
    size_t seen;             /* references that went, with those of what dies */
    JN_VEC(PyObject *) todo; /* what dies, and has not been gone into */
    jn_arena arena;
} jpy_dying;

/* A reference to `o` (NULL: to nothing) goes. */
void jpy_goes(jpy_dying *d, PyObject *o);
void jpy_own_goes(jpy_dying *d, PyObject *o);
/* Whether all is quiet when they have gone; frees what *d holds. */
bool jpy_dies_quietly(jpy_dying *d);
/* How often objects are looked through that may be many each time, and live on: a loop whose
 * variable holds all of a table would take as long as the table is large in every round. */
typedef struct jpy_looks {
    size_t seen, all; /* the last time, and ever */
    unsigned passed;  /* how many times they were not */
    int64_t at;       /* when, a time of jpy_now() */
} jpy_looks;
/* The same where `each` references to every one of the objects go, and one to each of `others`.
 * Counts how many go. */
bool jpy_all_die_quietly(PyObject *const *objects, size_t n, Py_ssize_t each,
                         PyObject *const *others, size_t n_others, jpy_looks *looks);

/* Whether to do it now; it is a small part of the time, where there is one (now: not 0), else of
 * what the calls in between might have seen. */
bool jpy_looks_now(jpy_looks *l, int64_t now);

/* What variables hold that a region binds again once its graph has written: each of `n` objects,
 * borrowed, with JPY_HELD_TWICE references, by its variable and as an argument. */
typedef struct jpy_let_go {
    PyObject *const *objects;
    size_t n;
} jpy_let_go;
enum { JPY_HELD_TWICE = 2 };
extern _Thread_local jpy_let_go jpy_variables;

/* Most of what programs replace, which has nothing to say: numbers, text, tensors.  What the
 * history of a tensor holds is for the tape to let go of. */
bool jpy_is_quiet(PyObject *o);
/* Whether something would run if it died, whatever it holds. */
bool jpy_has_finalizer(PyObject *o);
/* Whether nothing would run if an object died with all that it refers to, as far as that is
 * `most` objects: what refers to more is taken for something that lives on. */
bool jpy_holds_quietly(PyObject *o, size_t most);

#endif
