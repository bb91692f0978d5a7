/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of ops, remembered: the second call with the same kinds of arguments (tensors of the same
 * types and strides, equal ints) skips binding, promotion, inference and kernel selection.
 */
#ifndef JPY_PY_QUICK_H
#define JPY_PY_QUICK_H

#include "pyfront/op/bound.h"

enum { JPY_QUICK_WORDS = 48 };

/* What tells a call from others: words, the first one its op or spelling. */
typedef struct jpy_quick_key {
    uint64_t hash;
    unsigned n;        /* words; 0: calls like this are not remembered */
    bool numbers_vary; /* Python numbers are operands: their values are left out */
    bool deferred;     /* of a call in a block of janus.deferred() */
    bool seen;         /* found missing once before: worth learning */
    uint64_t words[JPY_QUICK_WORDS];
} jpy_quick_key;

/*
 * Runs a remembered call.  NULL without an exception: it is not known, or needs the long way;
 * `key` is then filled for jpy_quick_learn() after that.  `what`: a jpy_op, or the row of an
 * operator.  Not to be called while a thread has an eager hook.
 */
PyObject *jpy_quick_call(jn_thread *me, const void *what, bool inplace, bool numbers_vary,
                         PyObject *const *args, Py_ssize_t n, PyObject *kwnames,
                         jpy_quick_key *key);
/* While this thread defers, of a call that was remembered before it has run: records it.  NULL
 * without an exception: it is to be run. */
PyObject *jpy_quick_defer(jpy_quick_key *key, bool inplace, PyObject *const *args);
/* Remembers what was bound. */
void jpy_quick_learn(const jpy_quick_key *key, const jpy_bound *b, bool inplace,
                     PyObject *const *args, Py_ssize_t n, PyObject *kwnames);
/*
 * Where the same tensor is given twice nothing tells which of the two an operand was taken from.
 * Then `apart` gets other objects of the same tensors, which jpy_quick_apart_end() drops: the call
 * bound with these can be learned.  False: no tensor is given twice, or it cannot be done.
 */
typedef struct jpy_apart {
    PyObject *args[8], *made[8];
    unsigned n_made;
} jpy_apart;
bool jpy_quick_apart(jpy_apart *apart, PyObject *const *args, Py_ssize_t n);
void jpy_quick_apart_end(jpy_apart *apart);

#endif
