/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries kept on disk (JANUS_CACHE=DIR): a second start of a program has its graphs without
 * conversions.  See docs/adr/0047-graphs-on-disk.md.
 *
 *     dump.c    an entry as tuples of Python objects, which janus/_stored.py writes
 *     build.c   an entry of such tuples, whose parts are objects of this process; of it
 *               link.c the guards, gradients.c the nodes of the tape, parts.c what these share
 *     renumber.c  numbers of types, which differ from process to process
 *     take.c    when entries are looked for, and when they are kept
 */
#ifndef JPY_STORED_H
#define JPY_STORED_H

#include "pyfront/entry/entry.h"

extern bool jpy_stored_on; /* there is a folder for them */

/* No entry takes the call: one from the folder may.  True: f has got one, the first of its entries,
 * whose guards hold for this call.  No exception. */
bool jpy_stored_take(jpy_function *f, const jpy_call *call);
/* Keeps an entry whose guards hold with what is in `slots`, once. No exception. */
void jpy_stored_keep(jpy_function *f, jpy_entry *e, PyObject *const *slots);
/* An entry was wrong or was discarded: it is not to be found again. */
void jpy_stored_forget(jpy_function *f, jpy_entry *e);

/* A conversion of f was refused in another process: (why, what janus/_skeleton.py's Plan.resume
 * takes), a new reference.  NULL: nothing is known of that; no exception. */
PyObject *jpy_stored_refusal(jpy_function *f);
/* Keeps that a conversion of f, or of a part, was refused, and which statements are CPython's after
 * f->plan.  No exception. */
void jpy_stored_keep_refusal(jpy_function *f);

/* _stored_dump(entry): a dict; ValueError: it has what cannot be taken along. */
PyObject *jpy_stored_dump(PyObject *module, PyObject *entry);
/* _stored_build(dict, args, n_pos, kwnames): an entry, or ValueError: it is none, or its guards do
 * not hold for these arguments. */
PyObject *jpy_stored_build(PyObject *module, PyObject *args);
/* link.c: what a source of its kind needs so that reading it is well defined. */
bool jpy_src_readable(const jpy_src *s, const jpy_call *call);
/* Whether an attribute is read in the way in which it was, which its type decides. */
bool jpy_src_same_way(const jpy_src *s, PyObject *parent);
/* renumber.c: other numbers for types, {old: new}.  -1: raised. */
int jpy_renumber_types(janus_module *m, PyObject *tokens);

#endif
