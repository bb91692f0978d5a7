/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What janus.export takes along of an entry; see export.c.
 */
#ifndef JPY_EXPORT_H
#define JPY_EXPORT_H

#include "pyfront/entry/entry.h"

/* What the result of a call, or a value that it stores, is made of, a new reference:
 * ("result", number), ("argument", number), ("input", number of a parameter of the graph),
 * ("constant", object), ("tuple" | "list" | "dict", [of these]).  `slots`: what the guards found.
 * NULL: it cannot be said, ValueError. */
PyObject *jpy_export_form(const jpy_entry *e, PyObject *const *slots, const jpy_recipe *r);
/* What the graph leaves for its next call, or for others to read, a new list of
 * (path of the place, parameter that has what is there or -1, whether the tensor there is written
 * rather than replaced, form of the value, the result that says whether it is written or -1).
 * NULL: an effect that cannot be taken along, ValueError. */
PyObject *jpy_export_state(const jpy_entry *e, PyObject *const *slots);

/* What it prints, a new list of (sep, end, flush, whether the first value is the file, [(how a
 * piece of text is made, text or None, of how many values, whether an item ends there)]). */
PyObject *jpy_export_prints(const jpy_entry *e);
/* e->prints of a tuple of such, all tuples, which owns what they say; they lie in the arena. False:
 * it is none. */
bool jpy_export_take_prints(jn_arena *arena, PyObject *prints, jpy_entry *e);
/* The argument, or what else, that a source is in. */
const jpy_src *jpy_export_root(const jpy_src *s);
/* The way from there to it, [("attr" | "item" | "key", which)]; NULL without an exception: no such
 * way. */
PyObject *jpy_export_way(const jpy_src *s);

#endif
