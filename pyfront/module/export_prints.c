/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a graph prints, taken along: how each call of print() makes its text, as tuples that JSON
 * can say.
 */
#include "pyfront/module/export.h"

#include <string.h>

#include "pyfront/entry/entry.h"

static const char *const hows[] = {"str", "text", "format", "percent", "percent tuple", "call"};
enum { N_HOWS = sizeof hows / sizeof *hows };

PyObject *jpy_export_prints(const jpy_entry *e) {
    PyObject *all = PyList_New(0);
    for (size_t i = 0; all && i < e->prints.n; i++) {
        const jpy_print *p = e->prints.data[i];
        PyObject *pieces = PyList_New(0), *one = NULL;
        for (unsigned k = 0; pieces && k < p->n_pieces; k++) {
            const jpy_piece *x = &p->pieces[k];
            one = Py_BuildValue("(sOIO)", hows[x->how], x->text ? x->text : Py_None, x->n,
                                x->last ? Py_True : Py_False);
            if (!one || PyList_Append(pieces, one) < 0)
                Py_CLEAR(pieces);
            Py_XDECREF(one);
        }
        one = pieces ? Py_BuildValue("(OOOOO)", p->sep, p->end, p->flush ? Py_True : Py_False,
                                     p->to_file ? Py_True : Py_False, pieces)
                     : NULL;
        if (!one || PyList_Append(all, one) < 0)
            Py_CLEAR(all);
        Py_XDECREF(one);
        Py_XDECREF(pieces);
    }
    return all;
}

/* A piece of (how, text or None, number of values, whether it is the last of an item). */
static bool take_piece(PyObject *t, jpy_piece *out) {
    const char *how;
    int last;
    if (!PyTuple_CheckExact(t) || !PyArg_ParseTuple(t, "sOIp", &how, &out->text, &out->n, &last))
        return false;
    unsigned k = 0;
    while (k < N_HOWS && strcmp(how, hows[k]))
        k++;
    out->how = (jpy_text_how)k;
    out->last = last;
    out->text = out->text == Py_None ? NULL : out->text;
    bool one = k == JPY_SAY_STR || k == JPY_SAY_FORMAT || k == JPY_SAY_PERCENT;
    return k < N_HOWS && (out->text ? PyUnicode_CheckExact(out->text) : k == JPY_SAY_STR) &&
           (one ? out->n == 1 : k != JPY_SAY_TEXT || out->n == 0);
}

static jpy_print *take_print(jn_arena *arena, PyObject *t) {
    PyObject *pieces;
    int flush, to_file;
    jpy_print *p = jn_arena_zalloc(arena, sizeof *p);
    if (!p || !PyTuple_CheckExact(t) ||
        !PyArg_ParseTuple(t, "UUppO!", &p->sep, &p->end, &flush, &to_file, &PyTuple_Type, &pieces))
        return NULL;
    p->flush = flush;
    p->to_file = to_file;
    p->n_pieces = (unsigned)PyTuple_GET_SIZE(pieces);
    p->pieces = jn_arena_zalloc(arena, (p->n_pieces + 1) * sizeof *p->pieces);
    for (unsigned i = 0; p->pieces && i < p->n_pieces; i++)
        if (!take_piece(PyTuple_GET_ITEM(pieces, i), &p->pieces[i]))
            return NULL;
    return p->pieces ? p : NULL;
}

bool jpy_export_take_prints(jn_arena *arena, PyObject *prints, jpy_entry *e) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(prints); i++) {
        jpy_print *p = take_print(arena, PyTuple_GET_ITEM(prints, i));
        PyErr_Clear();
        if (!p || !jn_vec_push(&e->prints, p))
            return false;
    }
    return true;
}
