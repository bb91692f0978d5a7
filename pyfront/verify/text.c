/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CPython prints while a call is compared, beside what the graph would have printed.
 *
 * Graphs print to files whose `write` is CPython's own (entry/print.h).  While a shadow is under
 * way that method of the two types of files tells what it wrote, by whatever name the program has
 * it; for whoever looks it is the same method.
 */
#include "pyfront/verify/verify.h"

#include <ctype.h>
#include <string.h>

#include "pyfront/entry/entry.h"

/* ---- listening ----------------------------------------------------------------------------------
 */

static struct heard { /* a type of files; its method while it is not listened to */
    const char *type;
    PyMethodDef *def;
    PyCFunction write, tells;
} files[2];
static unsigned listeners;
static _Thread_local PyObject *into; /* borrowed list of file, text, ...; NULL: nobody listens */

static PyObject *tell(const struct heard *h, PyObject *file, PyObject *text) {
    PyObject *r = h->write(file, text);
    if (r && into && jpy_shadow_here && PyUnicode_Check(text) &&
        (PyList_Append(into, file) < 0 || PyList_Append(into, text) < 0)) {
        PyErr_Clear();
        into = NULL; /* out of memory: nothing can be said */
    }
    return r;
}
static PyObject *write_wrapper(PyObject *file, PyObject *text) {
    return tell(&files[0], file, text);
}
static PyObject *write_string(PyObject *file, PyObject *text) {
    return tell(&files[1], file, text);
}

/* Where the type keeps its method; false: it has another one than expected. */
static bool find(struct heard *h) {
    PyObject *io = PyImport_ImportModule("_io"), *t = NULL, *d = NULL;
    t = io ? PyObject_GetAttrString(io, h->type) : NULL;
    d = t ? PyObject_GetAttrString(t, "write") : NULL;
    bool is = d && Py_TYPE(d) == &PyMethodDescr_Type &&
              ((PyMethodDescrObject *)d)->d_method->ml_flags == METH_O;
    if (is) { /* the type is not freed: it is CPython's */
        h->def = ((PyMethodDescrObject *)d)->d_method;
        h->write = h->def->ml_meth;
    }
    Py_XDECREF(d);
    Py_XDECREF(t);
    Py_XDECREF(io);
    PyErr_Clear();
    return is;
}

static bool know_files(void) {
    if (!files[0].type)
        files[0] = (struct heard){.type = "TextIOWrapper", .tells = write_wrapper};
    if (!files[1].type)
        files[1] = (struct heard){.type = "StringIO", .tells = write_string};
    return (files[0].def || find(&files[0])) && (files[1].def || find(&files[1]));
}

void jpy_shadow_listen(jpy_shadow *s) {
    s->out = Py_XNewRef(jpy_print_out());
    PyErr_Clear();
    if (!know_files() || !(s->said = PyList_New(0))) {
        PyErr_Clear();
        return;
    }
    for (int i = 0; i < 2 && !listeners; i++)
        files[i].def->ml_meth = files[i].tells;
    listeners++;
    into = s->said;
}

void jpy_shadow_listened(jpy_shadow *s) {
    if (!s->said)
        return;
    if (!into)
        Py_CLEAR(s->said);
    into = NULL;
    listeners--;
    for (int i = 0; i < 2 && !listeners; i++)
        files[i].def->ml_meth = files[i].write;
}

/* ---- numbers in a text --------------------------------------------------------------------------
 */

typedef struct number {
    const char *end;
    double value, unit; /* of its last digit */
    bool is_float;      /* it has a point or an exponent, or is NaN or infinity */
} number;

static bool word_at(const char *s, const char *word) {
    size_t n = strlen(word);
    return !strncmp(s, word, n) && !isalnum((unsigned char)s[n]) && s[n] != '_';
}

/* The number that begins at s, of which `from` is the text. */
static bool number_at(const char *from, const char *s, number *out) {
    const char *p = s;
    if (s > from && (isalnum((unsigned char)s[-1]) || s[-1] == '_' || s[-1] == '.'))
        return false;
    p += *p == '-' || *p == '+';
    *out = (number){.unit = 1};
    if (word_at(p, "nan") || word_at(p, "inf")) {
        *out = (number){p + 3,
                        *p == 'n'   ? Py_NAN
                        : *s == '-' ? -Py_HUGE_VAL
                                    : Py_HUGE_VAL,
                        1, true};
        return true;
    }
    if (!isdigit((unsigned char)*p) && !(*p == '.' && isdigit((unsigned char)p[1])))
        return false;
    char *end = NULL;
    out->value = PyOS_string_to_double(s, &end, NULL);
    if (PyErr_Occurred() || !end) {
        PyErr_Clear();
        return false;
    }
    out->end = end;
    bool point = false;
    for (p = s; p < end && *p != 'e' && *p != 'E'; p++) {
        if (point)
            out->unit /= 10;
        point = point || *p == '.';
    }
    for (int e = p < end ? atoi(p + 1) : 0; e; e += e < 0 ? 1 : -1)
        out->unit = e < 0 ? out->unit / 10 : out->unit * 10;
    out->is_float = point || p < end;
    return true;
}

static bool near_enough(const number *p, const number *a) {
    double apart = p->value - a->value, unit = p->unit > a->unit ? p->unit : a->unit;
    return jpy_near(p->value, a->value, 0, JANUS_F32, false) ||
           (apart <= 1.01 * unit && -apart <= 1.01 * unit);
}

/* Of two texts that differ, AGREED: but for the rounding of floats, and spaces that make up for it,
 * they say the same; SUSPECT: other numbers, which may be floats printed as ints (`floats`); else
 * DISPROVED. */
static jpy_verdict compare(const char *p, const char *a, bool floats) {
    const char *from_p = p, *from_a = a;
    jpy_verdict v = JPY_AGREED;
    bool other_numbers = false;
    while (*p || *a) {
        number x, y;
        if (floats && (*p == ' ') != (*a == ' ')) {
            p += *p == ' ';
            a += *a == ' ';
            continue;
        }
        bool is = number_at(from_p, p, &x);
        if (is && number_at(from_a, a, &y)) {
            bool same = x.end - p == y.end - a && !memcmp(p, a, (size_t)(x.end - p));
            if (!same && !(x.is_float || y.is_float || floats))
                return JPY_DISPROVED;
            if (!same && !((x.is_float || y.is_float) && near_enough(&x, &y)))
                v = JPY_SUSPECT;
            other_numbers = other_numbers || !same;
            p = x.end;
            a = y.end;
            continue;
        }
        if (*p != *a)
            return JPY_DISPROVED;
        p++;
        a++;
    }
    return other_numbers ? v : JPY_DISPROVED;
}

/* ---- comparing ----------------------------------------------------------------------------------
 */

/* Texts by file, consecutive ones of a file as one: pairs of a list of `step` items each, whose
 * file None is `out`.  Only of files in `of` (NULL: of all); new reference. */
static PyObject *gathered(const PyObject *list, Py_ssize_t step, PyObject *out,
                          const PyObject *of) {
    PyObject *all = PyList_New(0);
    for (Py_ssize_t i = 0; all && list && i + step <= PyList_GET_SIZE(list); i += step) {
        PyObject *file = PyList_GET_ITEM(list, i), *text = PyList_GET_ITEM(list, i + 1);
        file = file == Py_None ? out : file;
        bool counts = file && file != Py_None && PyUnicode_GET_LENGTH(text) && (!of || file == out);
        for (Py_ssize_t k = 0; of && k < PyList_GET_SIZE(of); k += 2)
            counts = counts || (PyUnicode_GET_LENGTH(text) && PyList_GET_ITEM(of, k) == file);
        if (!counts)
            continue;
        Py_ssize_t n = PyList_GET_SIZE(all);
        if (n && PyList_GET_ITEM(all, n - 2) == file) {
            PyObject *both = PyUnicode_Concat(PyList_GET_ITEM(all, n - 1), text);
            if (!both || PyList_SetItem(all, n - 1, both) < 0)
                Py_CLEAR(all);
        } else if (PyList_Append(all, file) < 0 || PyList_Append(all, text) < 0) {
            Py_CLEAR(all);
        }
    }
    return all;
}

jpy_verdict jpy_shadow_same_text(const jpy_shadow *s, PyObject *p, PyObject *a, bool floats) {
    if (PyUnicode_Compare(p, a) == 0)
        return JPY_AGREED;
    const char *x = PyUnicode_AsUTF8(p), *y = PyUnicode_AsUTF8(a);
    if (s->exact || !x || !y)
        return JPY_DISPROVED;
    jpy_verdict v = compare(x, y, floats);
    return v == JPY_SUSPECT && s->doubted ? JPY_DISPROVED : v;
}

void jpy_shadow_compare_text(jpy_shadow *s, const PyObject *text, bool floats) {
    if (!s->said)
        return; /* nobody has listened */
    PyObject *p = gathered(text, 3, s->out, NULL);
    PyObject *a = p ? gathered(s->said, 2, s->out, p) : NULL;
    Py_ssize_t n = a ? PyList_GET_SIZE(p) : 0, m = a ? PyList_GET_SIZE(a) : 0;
    s->failed = s->failed || !a;
    for (Py_ssize_t i = 0; a && (i < n || i < m) && s->verdict != JPY_DISPROVED; i += 2) {
        PyObject *file = PyList_GET_ITEM(i < n ? p : a, i);
        const jpy_where *w =
            jpy_shadow_where(s, NULL, file == s->out ? "stdout" : "a file", NULL, 0);
        bool both = i < n && i < m && PyList_GET_ITEM(a, i) == file;
        if (!both)
            jpy_shadow_differs(s, JPY_DISPROVED, w, "%s prints %.200R next, which %s does not",
                               i < n ? "the graph" : "CPython",
                               PyList_GET_ITEM(i < n ? p : a, i + 1),
                               i < n ? "CPython" : "the graph");
        PyObject *x = both ? PyList_GET_ITEM(p, i + 1) : NULL;
        PyObject *y = both ? PyList_GET_ITEM(a, i + 1) : NULL;
        jpy_verdict v = both ? jpy_shadow_same_text(s, x, y, floats) : JPY_AGREED;
        if (v != JPY_AGREED)
            jpy_shadow_differs(s, v, w, "the graph prints %.200R, CPython %.200R", x, y);
    }
    Py_XDECREF(p);
    Py_XDECREF(a);
    PyErr_Clear();
}
