/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What failed last is looked at first.
 *
 * Of a function with a graph for each of some shapes every call is tried by most of them in vain,
 * and what tells them apart may come behind all guards of a model.  So the guard that was the first
 * to fail is asked before the others, with what leads to it, till all have held some times in a
 * row.  What leads to it must have held, too, so each object is read as what it is known to be.
 */
#include "pyfront/guard/guard.h"

enum { MOST_STEPS = 8, HELD_IN_A_ROW = 4 };

/* Whether it can be read and checked by itself, and no code of the program's runs for that. */
static bool is_alone(const jpy_src *s) {
    if ((s->checks & JPY_CHECK_SAME) || ((s->checks & JPY_CHECK_TENSOR) && s->tensor.n_any))
        return false;
    return s->kind == JPY_SRC_ARG || s->kind == JPY_SRC_ITEM || s->kind == JPY_SRC_ATTR ||
           (s->kind == JPY_SRC_KEY && s->key && PyUnicode_CheckExact(s->key));
}

void jpy_guards_failed(jpy_guards *g, const jpy_src *s) {
    unsigned n = 0;
    for (const jpy_src *x = s; x; x = x->parent)
        if (!is_alone(x) || ++n > MOST_STEPS)
            return;
    g->suspect = s;
    g->suspected = HELD_IN_A_ROW;
}

bool jpy_suspect_fails(jpy_guards *g, const jpy_call *call, PyObject **slots) {
    const jpy_src *way[MOST_STEPS];
    unsigned n = 0;
    for (const jpy_src *x = g->suspect; x; x = x->parent)
        way[n++] = x;
    for (unsigned k = n; k > 0; k--) {
        const jpy_src *x = way[k - 1];
        PyObject *v = jpy_src_read(x, jpy_src_in(x->parent, slots), NULL, call);
        slots[x->slot] = v;
        if (jpy_src_holds(x, v, slots))
            continue;
        g->suspected = HELD_IN_A_ROW;
        return k == 1; /* else all are asked: what leads to it is no suspect */
    }
    if (!--g->suspected)
        g->suspect = NULL;
    return false;
}
