/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a commit writes, as a list, so that performing it cannot fail.
 *
 *     list -> are quiet? -> ready -> grow -> finish, or undo after grow
 *
 * `ready` has everything that writing takes: room in lists, tensors that can be copied, the new
 * contents of dicts whose keys change places.  `grow` makes the places that are not there yet, the
 * one step that writes and may fail; undone, nothing has happened.  `finish` fills the places, in
 * program order, and needs no memory.  What is replaced is dropped by `free`, when all is written:
 * dropping may run code of the program.
 */
#ifndef JPY_WRITE_H
#define JPY_WRITE_H

#include "graph/base/arena.h"
#include "graph/base/hash.h"
#include "pyfront/base/twister.h"
#include "pyfront/entry/commit.h"

typedef enum jpy_write_kind {
    JPY_WRITE_ATTR,   /* o . key = v; v NULL: del */
    JPY_WRITE_KEY,    /* dict o [key] = v; v NULL: del */
    JPY_WRITE_CLEAR,  /* dict o .clear() */
    JPY_WRITE_ITEM,   /* list o [index] = v */
    JPY_WRITE_APPEND, /* list o .append(v) */
    JPY_WRITE_INSERT, /* list o .insert(index, v) */
    JPY_WRITE_POP,    /* list o .pop() */
    JPY_WRITE_DEL,    /* del list o [index] */
    JPY_WRITE_LIST,   /* list o [:] = v, a list that nobody else has */
    JPY_WRITE_FLAG,   /* tensor o .requires_grad = v */
    JPY_WRITE_GRAD,   /* tensor o .grad = v, NULL: none */
    JPY_WRITE_DATA,   /* tensor o .data = v */
    JPY_WRITE_STORE   /* target[...] = value */
} jpy_write_kind;

typedef struct jpy_write {
    jpy_write_kind kind;
    bool grown;        /* its place was made for it */
    bool uncounted;    /* a STORE that is no new version of the tensor */
    bool only;         /* of a STORE: the value is stored, and nothing else */
    uint32_t more;     /* of a STORE: versions that are passed over */
    PyObject *o;       /* borrowed */
    PyObject *key, *v; /* owned */
    Py_ssize_t index;
    janus_tensor *target; /* borrowed */
    janus_tensor *value;  /* owned */
    struct jpy_target *of;
} jpy_write;

typedef struct jpy_target { /* a container of which more is known than one write */
    PyObject *o;
    Py_ssize_t appends; /* and insertions, to a list */
    Py_ssize_t popped;  /* of a list, as far as jpy_writes_are_quiet has come */
    PyObject *deleted;  /* set: what was deleted of it so far */
    bool all_go;        /* any item of a list may be taken out */
    bool cleared;
    bool moves;     /* what was deleted comes again, behind all others */
    PyObject *dict; /* `o`, or its instance dict, which is to have ... */
    PyObject *copy; /* ... these contents; NULL: it is written place by place */
    bool in_place;  /* so it is, in the order of the program; the copy is for when that fails */
    UT_hash_handle hh;
} jpy_target;

typedef struct jpy_drawn { /* a generator and how many words of it were drawn */
    PyObject *o;
    int64_t n;
} jpy_drawn;

typedef struct jpy_writes {
    JN_VEC(jpy_drawn) drawn;
    JN_VEC(jpy_write) all;
    jpy_objects dropped; /* what was replaced */
    jpy_target *targets;
    jn_arena arena;
} jpy_writes;

typedef struct jpy_copied { /* an object, and a container of some of what it refers to */
    PyObject *o, *copy;
} jpy_copied;
typedef JN_VEC(jpy_copied) jpy_copies;

/* The log of the run, then the steps; false: out of memory, an exception may be set.  Memory of all
 * zeros is an empty list; to be freed in any case. */
bool jpy_writes_list(jpy_writes *w, const jpy_making *m, const jn_run *run);
/* Whether all that the writes let go of dies quietly (pyfront/tensor/dying.h) and no key is asked
 * for another (pyfront/base/keys.h); false, too: memory is short.  Before `ready`.  copies: what
 * refers to objects beside the program and the run, or NULL. */
bool jpy_writes_are_quiet(jpy_writes *w, const jpy_making *m, const struct jpy_host *host,
                          const jpy_copies *copies);
/* Whether no place is written in one way and met in another. */
bool jpy_writes_go_one_way(const jpy_writes *w, const jpy_making *m, const struct jpy_host *host);
bool jpy_writes_ready(jpy_writes *w);
/* No Python code may run from here to finish, but what printing runs. */
bool jpy_writes_grow(jpy_writes *w);
void jpy_writes_undo(jpy_writes *w);
void jpy_writes_finish(jpy_writes *w);
void jpy_writes_free(jpy_writes *w);

/* The instance dict of an object, or that of a type or module, without running Python code: a new
 * reference; NULL: none. */
PyObject *jpy_attrs_of(PyObject *o);
/* The same where it is a dict already: borrowed; of a type: NULL. */
PyObject *jpy_attrs_there(PyObject *o);
/* Nobody looks at that of o any more, which was read only: the reference is taken (NULL: none).
 * CPython 3.11 and 3.12 keep attributes without a dict, which they read faster, until one is asked
 * for, and never again: who leaves it makes all that the program does with o slower. */
void jpy_attrs_done(PyObject *o, PyObject *dict);
/* Whether an attribute is kept by a slot or getter of its type and not in an instance dict. */
bool jpy_attr_is_described(PyObject *o, PyObject *name);
/* Room for n items in a list; false: out of memory, without an exception. */
bool jpy_list_reserve(PyObject *list, Py_ssize_t n);
/* Both get the contents of the other. */
void jpy_list_swap(PyObject *a, PyObject *b);
void jpy_dict_swap(PyObject *a, PyObject *b);
/* Whether its contents are its own and nobody watches them. */
bool jpy_dict_can_swap(PyObject *dict);

#endif
