/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python objects as a running graph reads and writes them.
 *
 * The context of one run: it owns what the run has read and what prepare made for the log.
 */
#ifndef JPY_HOST_PY_H
#define JPY_HOST_PY_H

#include "pyfront/base/twister.h"
#include "pyfront/entry/parts.h"
#include "pyfront/tape/tape.h"

typedef struct jpy_away {  /* away.c */
    PyThreadState *thread; /* while the interpreter lock is given up */
    bool was;              /* it has been; then these are what was there before: */
    janus_tensor **tensor; /* of a plain run, by input: retained */
    uint32_t *version;     /* by input: of its storage */
    uint64_t seed, offset; /* of the generator */
} jpy_away;

typedef struct jpy_host {
    const jpy_entry *e;
    PyObject *const *slots; /* what the guards bound; NULL: a run that writes nothing */
    const jn_run *run;      /* that has been executed */
    JN_VEC(PyObject *) held;
    jpy_stream *streams; /* of the generators that it has drawn from */
    PyObject *text;      /* what is printed, as jpy_print_write takes it, or NULL */
    bool says_floats;    /* what is printed may have been made of floats */
    bool anew;           /* the run has entered what was never compared: it is to be a shadow */
    struct jpy_shadow *shadow; /* NULL: what the run reads need not be remembered, ... */
    const janus_host_ops *ops; /* ... else those that remember it */
    janus_status (*given)(struct jpy_shadow *s, janus_tensor *t, janus_tensor **out); /* what the
                                  run gets in place of an input, borrowed; NULL: the input */
    bool plain;      /* nobody holds what is in `slots` but while others run */
    uint64_t known;  /* jpy_guards.known of what is in `slots` */
    bool stay;       /* keeps the interpreter lock */
    jn_wired *wired; /* tensors that it has stored and that wait for a node; owned ... */
    size_t n_wired;
    int64_t n_wires; /* ... and the last number of the run */
    const jn_wired
        *found; /* leaves that it has read and that nobody knew of, borrowed of the run */
    size_t n_found;
    size_t n_leaves; /* of these, while it runs */
    jpy_away away;
} jpy_host;

enum { JPY_MAX_FOUND = 60000 }; /* inputs of a node are few enough for 16 bits */

enum {
    JPY_TAG_PLAIN,
    JPY_TAG_FREED,
    JPY_TAG_VIEW
}; /* of tensors written: no history; one, that is used up unless jpy_entry.remains; a view of what
    * the run has not made, which must not be real */

extern const janus_host_ops jpy_host_ops; /* reads and prepare; it writes nothing */
/* What a value of the log is stored as; new reference, NULL: an exception is set. */
PyObject *jpy_host_object(const janus_host_value *v);
/* Whether what is said of the values may have been made of floats. */
bool jpy_host_says_floats(const janus_host_value *items, unsigned n);
void jpy_host_free(jpy_host *h);
/* New tensor whose history backward has used up; takes the reference to `t`. Where that came from
 * is what an entry was given that has a history, as `slots` of its guards say; NULL: not known. */
PyObject *jpy_freed_tensor(janus_tensor *t, const jpy_entry *e, PyObject *const *slots);
/* Whether a tensor with this node is one. */
bool jpy_is_freed(const jpy_node *n);

#endif
