/* SPDX-License-Identifier: Apache-2.0 */
/* What failed guards taught: numbers and lengths that the next conversion does not assume. */
#ifndef JPY_HINTS_H
#define JPY_HINTS_H

#include "pyfront/entry/entry.h"

/* Whether a number, or the length of a list or tuple, was seen to change.  With JANUS_SPECIALISE=0
 * arguments, their items and first dims count as seen: graphs without specialisation. */
bool jpy_hint_number(const jpy_function *f, const jpy_src *s);
/* ... and that it was a graph which wrote it. */
bool jpy_hint_written(const jpy_function *f, const jpy_src *s);
bool jpy_hint_length(const jpy_function *f, const jpy_src *s, bool list);
/* Lengths, or all of it, have to be assumed from now on; false: they were. */
bool jpy_hints_narrow(jpy_function *f, bool lengths);
/* New reference: the paths of numbers that are not assumed, a sorted list.  NULL: exception set. */
PyObject *jpy_hints_numbers(const jpy_function *f);
/* Whether the number at that path is assumed. */
void jpy_hints_number_is(jpy_function *f, PyObject *path, bool assumed);

/* What the dim of a tensor was at the calls at which it was another one than assumed, 0: there were
 * none.  Dims with one history were always equal. */
Py_hash_t jpy_hint_dim(const jpy_function *f, const jpy_src *s, int axis, int64_t size);
/* Whether there are dims that are not assumed; from now on all are. */
bool jpy_hints_dims(const jpy_function *f);
void jpy_hints_pin(jpy_function *f);

/* The id of the asserts that leaves get gradients.  What failed: from the next conversion on a
 * `.grad` may be None, as the run finds. */
enum { JPY_ASSUMED_GRADIENT = -2 };
/* The id of the asserts that an `if` of which numbers of the call decide goes that way: what fails
 * is as a guard that does not hold (convert/heap/only.c). */
enum { JPY_ASSUMED_WAY = -3 };
/* The id of the asserts that a result is no view of a tensor that the graph has not made
 * (convert/tensors/viewed.c): the calls that return one are CPython's. */
enum { JPY_ASSUMED_OWN = -4 };
void jpy_hints_gradient(jpy_function *f);

/* What is assumed where samples of objects have one type, and where none leads to a path.  If it
 * fails, later conversions look for samples of other kinds below those they meet (f->looks_far). */
#define JPY_TYPE_SEEN "an object has the type seen"
#define JPY_NOT_SEEN "not seen"

/* A run was discarded since `failed` (NULL: something else); whether it came to a path that the
 * graph does not have, which is seldom taken, so that the graph is good for other runs.  Where that
 * happens again to graphs that have hardly run, or to one run in a few, the path is a usual one: a
 * graph without it is none, and its statement is left to CPython.  So it is where graphs made since
 * have assumed what failed, too. */
bool jpy_hints_discarded(jpy_function *f, jpy_entry *e, const jpy_call *call, PyObject *failed);
bool jpy_hint_usual(const jpy_function *f, const char *why);
/* Whether the path `why` is rather to be left out than the path `than`: runs came to it no more
 * often. */
bool jpy_hint_rather(const jpy_function *f, const char *why, const char *than);

/* A run was discarded that a graph leaves to CPython, as where it ends with an exception; whether
 * the entry is good for other calls: where such calls are the most, a graph does not pay. */
bool jpy_hints_left(const jpy_function *f, jpy_entry *e);
/* Whether a list with one item stays apart from longer ones: what is made of its length is a size
 * of tensors, and graphs of all sizes are for none of 0 and 1. */
bool jpy_hint_one_apart(const jpy_function *f, const jpy_src *s);
/* What such a graph says of another size. */
#define JPY_SIZE_WAS "a size is as it was"

/* After a miss: what differs is not assumed in the next conversion (hints.c).  false: e is for
 * calls in another mode, or with other arguments by name, and says nothing of this one. */
bool jpy_entry_learn(jpy_function *f, jpy_entry *e, const jpy_call *call);

#endif
