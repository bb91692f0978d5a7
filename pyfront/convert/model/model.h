/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python's data model on abstract values: which special methods an operator, a builtin or a
 * statement calls, in which order, and what follows when they decline.
 *
 * As in CPython, special methods are looked up on the type, along its MRO, never on the instance.
 * A slot of a type is absent, native (CPython's or the tensor layer's own) or Python's.  What
 * native slots do is known by the kind of the abstract value, what Python's do by converting the
 * method; both are reached through a table only (`jcv_slots`).  What this room does not know is a
 * barrier: it refuses.
 */
#ifndef JPY_CONVERT_MODEL_MODEL_H
#define JPY_CONVERT_MODEL_MODEL_H

#include "pyfront/convert/core/core.h"

#define JCV_SLOT_BINARY(op, ...) JCV_S_##op,
#define JCV_SLOT_COMPARE(op, ...) JCV_S_##op,
#define JCV_SLOT_UNARY(op, ...) JCV_S_##op,
#define JCV_SLOT_OTHER(op, ...) JCV_S_##op,
typedef enum jcv_slot_id {
#include "pyfront/convert/model/slots.def"
    JCV_N_SLOTS
} jcv_slot_id;

typedef enum jcv_name { JCV_METHOD, JCV_REFLECTED, JCV_IN_PLACE } jcv_name;

/* What a slot of a type is. */
typedef enum jcv_how { JCV_ABSENT, JCV_NATIVE, JCV_PYTHON } jcv_how;

/* How values behave whose slots are native, by their kind.  Functions that may decline give NULL
 * where CPython's would give NotImplemented, and where they would raise they refuse. */
typedef struct jcv_slots {
    jcv_av *(*binary)(jcv *c, int op, jcv_av *a, jcv_av *b, bool inplace);
    /* The same of what may be a number or a tensor (heap/maybe.c), where one node does both; or
     * NULL.
     */
    jcv_av *(*optional)(jcv *c, int op, jcv_av *a, jcv_av *b);
    /* The slot of `self` beside an operand of which it knows nothing but that it is an instance of
     * a Python class: returns where it declines. */
    void (*decline)(jcv *c, int op, jcv_av *self, jcv_av *other, bool inplace);
    jcv_av *(*compare)(jcv *c, int op, jcv_av *a, jcv_av *b); /* JPY_IS and JPY_IS_NOT, too */
    jcv_av *(*unary)(jcv *c, int op, jcv_av *a);
    int (*truth)(jcv *c, jcv_av *a, jcv_val **out); /* as jcv_truth */
    jcv_av *(*length)(jcv *c, jcv_av *a);
    bool (*items)(jcv *c, jcv_av *a, jcv_av ***out, unsigned *n); /* as jcv_items */
    jcv_av *(*contains)(jcv *c, jcv_av *in, jcv_av *item);
    jcv_av *(*getitem)(jcv *c, jcv_av *a, jcv_av *i);
    void (*setitem)(jcv *c, jcv_av *a, jcv_av *i, jcv_av *v);
    void (*delitem)(jcv *c, jcv_av *a, jcv_av *i);
} jcv_slots;

/* ---- lookup.c -------------------------------------------------------------------------------- */

/* The name of a row's method, interned and borrowed. */
PyObject *jcv_slot_name(jcv *c, int slot, jcv_name which);
/* What the slot of `a`'s type is; *method is what was found, or NULL.  An object of the graph of
 * which no sample has a method of Python is native, else its type is asserted. */
jcv_how jcv_how_is(jcv *c, jcv_av *a, int slot, jcv_name which, PyObject **method);
/* Whether a row has a method of this kind. */
bool jcv_slot_has(int slot, jcv_name which);
/* Calls what jcv_how_is found as JCV_PYTHON, bound to `a` as its descriptor says. */
jcv_av *jcv_call_special(jcv *c, jcv_av *a, PyObject *method, jcv_av *const *args, unsigned n);
/* The same for a slot: NULL: it is not Python's. */
jcv_av *jcv_special(jcv *c, jcv_av *a, int slot, jcv_av *const *args, unsigned n);
/* Whether NotImplemented was returned. */
bool jcv_declined(const jcv_av *a);

/* ---- derived.c: of instances of classes that derive from int, float and str ---------------------
 */

/* `a` as it is to the method of a slot, and its reflection: an instance that has both from
 * CPython's own type is its exact value. */
jcv_av *jcv_as_exact(jcv *c, jcv_av *a, int slot);
/* `a` where an int is asked for by its value (an index): no method is called. */
jcv_av *jcv_as_index(jcv *c, jcv_av *a);
/* `a` as C functions of numbers see it, which may call any of its methods. */
jcv_av *jcv_as_number(jcv *c, jcv_av *a);
/* `a` as the function `f` of CPython's sees it. */
jcv_av *jcv_as_argument(jcv *c, PyObject *f, const char *name, jcv_av *a);
/* The text that a method of the exact type gives (str(), repr(), format() by `spec`); NULL: it has
 * another method there. */
PyObject *jcv_exact_text(jcv *c, jcv_av *a, PyObject *method, PyObject *spec);

/* ---- operate.c ------------------------------------------------------------------------------- */

jcv_av *jcv_binary(jcv *c, int op, jcv_av *a, jcv_av *b, bool inplace);
jcv_av *jcv_unary(jcv *c, int op, jcv_av *a);
jcv_av *jcv_compare(jcv *c, int op, jcv_av *a, jcv_av *b);

/* ---- protocols.c ----------------------------------------------------------------------------- */

/* jcv_items, by its protocol. */
bool jcv_items_of(jcv *c, jcv_av *a, jcv_av ***out, unsigned *n);
/* Truth: 1, 0, or -1 and *out the bool value. */
int jcv_truth(jcv *c, jcv_av *a, jcv_val **out);
jcv_av *jcv_getitem(jcv *c, jcv_av *o, jcv_av *i);
void jcv_setitem(jcv *c, jcv_av *o, jcv_av *i, jcv_av *v);

/* len(a). */
jcv_av *jcv_length(jcv *c, jcv_av *a);
void jcv_delitem(jcv *c, jcv_av *a, jcv_av *i);
/* item in `in`, as a bool. */
jcv_av *jcv_contains(jcv *c, jcv_av *in, jcv_av *item);
/* Whether it is an iterator whose __next__ is Python's. */
bool jcv_gives_next(jcv *c, jcv_av *a);
/* What iter() of an instance of a Python class gives; NULL: iteration is native. */
jcv_av *jcv_iterator(jcv *c, jcv_av *a);
/* The same for who makes a list or tuple of all items: iter(), after which CPython asks for a hint
 * of how many there are; `a` itself where iteration is native. */
jcv_av *jcv_hinted(jcv *c, jcv_av *a);

/* ---- convert.c: of an instance of a Python class; NULL: it is native, or has no such method -----
 */

jcv_av *jcv_to_int(jcv *c, jcv_av *a);
jcv_av *jcv_to_float(jcv *c, jcv_av *a);
jcv_av *jcv_to_index(jcv *c, jcv_av *a);
jcv_av *jcv_hash(jcv *c, jcv_av *a);
/* str() or repr(), by JCV_S_STR or JCV_S_REPR: a str, borrowed. */
PyObject *jcv_text(jcv *c, jcv_av *a, int slot);
/* The str that such a method returned; refuses anything else. */
PyObject *jcv_returned_text(jcv *c, jcv_av *r);

#endif
