/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What failed guards taught.
 *
 * f->hints maps the path of a number, or "length of " and the path of a list or tuple, to True (it
 * is not assumed), False (it has to be: without it the function is not converted) or, of a length,
 * how often it was another one.  A number is an input as soon as it changes.  A list of a new
 * length is unrolled for some lengths first: its items may differ in dims or require grad, and
 * two or three lengths may be all there are; not so one that the graph itself makes longer.
 */
#include "pyfront/run/hints.h"

#include <stdlib.h>
#include <string.h>

#include "pyfront/base/names.h"
#include "pyfront/entry/entry.h"
#include "pyfront/guard/guard.h"

enum {
    LENGTHS_UNROLLED = 3,
    FEW_RUNS = 4,
    TOO_LOOSE = 4,
    USUAL = 2,
    SELDOM = 8,
    TAUGHT_NOTHING = 2, /* graphs in which the same failed */
    MOST_LATER = 16
};

static void learn_length(PyObject *hints, PyObject *path) {
    PyObject *had = PyDict_GetItem(hints, path);
    if (had && !PyLong_CheckExact(had))
        return;
    long n = had ? PyLong_AsLong(had) + 1 : 1;
    PyObject *now = n < LENGTHS_UNROLLED ? PyLong_FromLong(n) : Py_NewRef(Py_True);
    if (now)
        PyDict_SetItem(hints, path, now);
    Py_XDECREF(now);
}

static Py_hash_t history_of(PyObject *histories, Py_ssize_t axis) {
    return histories ? PyLong_AsSsize_t(PyTuple_GET_ITEM(histories, axis)) : 0;
}

static Py_hash_t mixed(Py_hash_t history, Py_ssize_t size) {
    size_t h = ((size_t)history ^ (size_t)size) * (size_t)0x9e3779b97f4a7c15u;
    return (Py_hash_t)((h ^ h >> 29) >> 1 | 1);
}

/* f->dims maps the path of a tensor to a tuple with the history of each dim: 0 where it was the
 * same at all calls, else a hash of the sizes that it had when it was another one than assumed. */
static void learn_dims(PyObject *dims, PyObject *path, PyObject *was, PyObject *is) {
    PyObject *had = PyDict_GetItem(dims, path), *now = PyTuple_New(PyTuple_GET_SIZE(was));
    if (had && PyTuple_GET_SIZE(had) != PyTuple_GET_SIZE(was))
        had = NULL;
    for (Py_ssize_t i = 0; now && i < PyTuple_GET_SIZE(was); i++) {
        PyObject *x = PyTuple_GET_ITEM(was, i), *y = PyTuple_GET_ITEM(is, i);
        Py_hash_t h = history_of(had, i);
        bool large = PyLong_AsSsize_t(x) > 1 && PyLong_AsSsize_t(y) > 1;
        if (h)
            h = mixed(h, PyLong_AsSsize_t(y));
        else if (large && PyObject_RichCompareBool(x, y, Py_EQ) == 0)
            h = mixed(mixed(0, PyLong_AsSsize_t(x)), PyLong_AsSsize_t(y));
        PyObject *o = PyLong_FromSsize_t(h);
        if (o)
            PyTuple_SET_ITEM(now, i, o);
        else
            Py_CLEAR(now);
    }
    if (now)
        PyDict_SetItem(dims, path, now);
    Py_XDECREF(now);
}

/* JANUS_SPECIALISE=0: arguments and items of them need not be seen to change.  What modules hold
 * (sizes, strides, weights) is part of the program. */
static bool at_once(void) {
    const char *env = getenv("JANUS_SPECIALISE");
    return env && strcmp(env, "0") == 0;
}

static bool is_given(const jpy_src *s) {
    while (s && (s->kind == JPY_SRC_ITEM || s->kind == JPY_SRC_KEY))
        s = s->parent;
    return s && s->kind == JPY_SRC_ARG;
}

Py_hash_t jpy_hint_dim(const jpy_function *f, const jpy_src *s, int axis, int64_t size) {
    PyObject *path = jpy_src_path(s, false);
    PyObject *histories = path ? PyDict_GetItem(f->dims, path) : NULL;
    Py_XDECREF(path);
    if (!histories && !f->pinned && axis == 0 && at_once() && is_given(s))
        return mixed(0, size);
    return histories && axis < PyTuple_GET_SIZE(histories) ? history_of(histories, axis) : 0;
}

bool jpy_hints_dims(const jpy_function *f) {
    return !f->pinned && (PyDict_GET_SIZE(f->dims) > 0 || at_once());
}

void jpy_hints_pin(jpy_function *f) { f->pinned = true; }

void jpy_hints_gradient(jpy_function *f) {
    if (f->gradients == JPY_GRADIENTS_ALL)
        f->gradients = JPY_GRADIENTS_SOME;
}

/* A list or dict that the graph itself makes longer or shorter has another length at every call. */
static void learn_grown(PyObject *hints, const jpy_entry *e, PyObject *lengths, PyObject *dicts) {
    for (size_t i = 0; i < e->steps.n; i++) {
        const jpy_commit_step *x = &e->steps.data[i];
        const jpy_src *s = e->guards.srcs.data[x->slot];
        bool dict = x->kind == JPY_COMMIT_DICT;
        if (!dict && (x->kind != JPY_COMMIT_LIST || s->number == (int64_t)x->value->n))
            continue;
        PyObject *path = jpy_src_length(s), *of = dict ? dicts : lengths;
        if (path && PySet_Contains(of, path) > 0 && PySet_Discard(of, path) > 0 &&
            PyDict_GetItem(hints, path) != Py_False)
            PyDict_SetItem(hints, path, Py_True);
        Py_XDECREF(path);
    }
}

static PyObject *written_key(PyObject *path /* new reference */) {
    PyObject *out = path ? PyUnicode_FromFormat("written: %U", path) : NULL;
    Py_XDECREF(path);
    return out;
}

/* A number that the graph itself writes is another one at every call, wherever it is. */
static void learn_written(PyObject *hints, const jpy_entry *e, PyObject *numbers) {
    for (size_t i = 0; i < e->steps.n; i++) {
        const jpy_commit_step *x = &e->steps.data[i];
        for (size_t k = 0; k < e->guards.srcs.n && x->kind == JPY_COMMIT_ATTR; k++) {
            const jpy_src *s = e->guards.srcs.data[k];
            if (s->kind != JPY_SRC_ATTR || !s->parent || s->parent->slot != x->slot ||
                PyUnicode_Compare(s->key, x->key) != 0)
                continue;
            PyObject *path = jpy_src_path(s, true), *key = NULL;
            if (path && PySet_Contains(numbers, path) > 0)
                key = written_key(Py_NewRef(path));
            if (key && !PyDict_GetItem(hints, key))
                PyDict_SetItem(hints, key, Py_True);
            Py_XDECREF(key);
            Py_XDECREF(path);
        }
    }
}

bool jpy_entry_learn(jpy_function *f, jpy_entry *e, const jpy_call *call) {
    if (!jpy_guards_called_so(&e->guards, call))
        return false;
    PyObject *numbers = PySet_New(NULL), *lengths = PySet_New(NULL), *dicts = PySet_New(NULL);
    PyObject *dims = PyDict_New(), *path;
    if (numbers && lengths && dicts && dims)
        jpy_guards_failing(&e->guards, call, numbers, lengths, dicts, dims);
    PyObject *pair;
    Py_ssize_t pos = 0;
    while (dims && PyDict_Next(dims, &pos, &path, &pair))
        learn_dims(f->dims, path, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));
    Py_XDECREF(dims);
    if (numbers && PySet_GET_SIZE(numbers))
        learn_written(f->hints, e, numbers);
    while (numbers && PySet_GET_SIZE(numbers) && (path = PySet_Pop(numbers))) {
        if (!PyDict_GetItem(f->hints, path))
            PyDict_SetItem(f->hints, path, Py_True);
        Py_DECREF(path);
    }
    if (lengths && dicts)
        learn_grown(f->hints, e, lengths, dicts);
    Py_XDECREF(dicts);
    while (lengths && PySet_GET_SIZE(lengths) && (path = PySet_Pop(lengths))) {
        learn_length(f->hints, path);
        Py_DECREF(path);
    }
    Py_XDECREF(numbers);
    Py_XDECREF(lengths);
    PyErr_Clear();
    return true;
}

/* `free`: with JANUS_SPECIALISE=0 it is true unless it was tried. */
static bool is_true(const jpy_function *f, PyObject *path /* new reference */, bool free) {
    PyObject *had = path ? PyDict_GetItem(f->hints, path) : NULL;
    if (path && !had && !f->narrowed && free && at_once() &&
        PyDict_SetItem(f->hints, path, Py_True) == 0)
        had = Py_True;
    Py_XDECREF(path);
    return had == Py_True;
}

bool jpy_hint_number(const jpy_function *f, const jpy_src *s) {
    return is_true(f, jpy_src_path(s, true), is_given(s));
}

bool jpy_hint_written(const jpy_function *f, const jpy_src *s) {
    return is_true(f, written_key(jpy_src_path(s, true)), false);
}

bool jpy_hint_length(const jpy_function *f, const jpy_src *s, bool list) {
    return is_true(f, jpy_src_length(s), list && is_given(s));
}

static bool is_length(PyObject *path) {
    return PyUnicode_Tailmatch(path, jpy_names.length_of, 0, PY_SSIZE_T_MAX, -1) == 1;
}

bool jpy_hints_narrow(jpy_function *f, bool lengths) {
    Py_ssize_t pos = 0;
    PyObject *k, *v;
    bool any = false;
    f->narrowed = true;
    while (PyDict_Next(f->hints, &pos, &k, &v))
        if (v == Py_True && (!lengths || is_length(k))) {
            PyDict_SetItem(f->hints, k, Py_False);
            any = true;
        }
    return any;
}

/* Lists of any length with items of ever other dims are better unrolled: guards look at the items
 * before a run, so that there can be an entry for each kind. */
PyObject *jpy_hints_numbers(const jpy_function *f) {
    Py_ssize_t pos = 0;
    PyObject *k, *v, *list = PyList_New(0);
    while (list && PyDict_Next(f->hints, &pos, &k, &v))
        if (v == Py_True && !is_length(k) && PyList_Append(list, k) < 0)
            Py_CLEAR(list);
    if (list && PyList_Sort(list) < 0)
        Py_CLEAR(list);
    return list;
}

void jpy_hints_number_is(jpy_function *f, PyObject *path, bool assumed) {
    if (PyDict_SetItem(f->hints, path, assumed ? Py_False : Py_True) < 0)
        PyErr_Clear();
}

/* The key of whether a list with one item stays apart; a new reference. */
static PyObject *one_apart(const jpy_src *s) {
    PyObject *path = jpy_src_length(s), *key = path ? PyUnicode_FromFormat("one, %U", path) : NULL;
    Py_XDECREF(path);
    return key;
}

bool jpy_hint_one_apart(const jpy_function *f, const jpy_src *s) {
    PyObject *key = one_apart(s), *had = key ? PyDict_GetItem(f->hints, key) : NULL;
    Py_XDECREF(key);
    return had != NULL;
}

/* Whether lists with one item, which the graph took as any others, stay apart from now on. */
static bool learn_ones(jpy_function *f, const jpy_entry *e, const jpy_call *call) {
    bool any = false;
    for (size_t i = 0; i < e->guards.srcs.n; i++) {
        const jpy_src *s = e->guards.srcs.data[i];
        PyObject *v = (s->checks & JPY_CHECK_SOME) && s->number == 1 ? jpy_src_now(s, call) : NULL;
        PyObject *key = v && PyObject_Size(v) == 1 ? one_apart(s) : NULL;
        any = (key && PyDict_SetItem(f->hints, key, Py_None) == 0) || any;
        Py_XDECREF(key);
    }
    PyErr_Clear();
    return any;
}

static PyObject *key_of(const char *kind, const char *why) {
    PyObject *key = PyUnicode_DecodeUTF8(why, (Py_ssize_t)strlen(why), "replace");
    Py_XSETREF(key, key ? PyUnicode_FromFormat("%s: %U", kind, key) : NULL);
    return key;
}

static PyObject *left_out(const char *why) { return key_of("path left out", why); }

static long times(const jpy_function *f, PyObject *key) {
    PyObject *had = key ? PyDict_GetItem(f->hints, key) : NULL;
    return had ? PyLong_AsLong(had) : 0;
}

/* How often that was so before; takes the key. */
static long once_more(jpy_function *f, PyObject *key) {
    long had = times(f, key);
    PyObject *n = key ? PyLong_FromLong(had + 1) : NULL;
    if (n)
        PyDict_SetItem(f->hints, key, n);
    Py_XDECREF(n);
    Py_XDECREF(key);
    PyErr_Clear();
    return had;
}

/* That it is good for most runs. */
static bool is_seldom(jpy_entry *e) {
    return e->runs >= FEW_RUNS && ++e->came <= 1 + e->runs / SELDOM;
}

static bool came_to(jpy_function *f, jpy_entry *e, const char *message) {
    f->looks_far = f->looks_far || strstr(message, JPY_TYPE_SEEN) || strstr(message, JPY_NOT_SEEN);
    for (size_t i = 0; i < e->left_out.n; i++) {
        if (!strstr(message, e->left_out.data[i].why))
            continue;
        if (is_seldom(e))
            return true;
        (void)once_more(f, left_out(e->left_out.data[i].why));
        f->loose_dims += e->any_dims; /* which path is taken may be a matter of sizes ... */
        f->loose += e->any_length;    /* ... or lengths */
        return false;
    }
    /* graphs that were made since have assumed it, too: so would the next one, which comes later
     * and later where this one is good for few runs */
    long had = once_more(f, key_of("failed", message));
    bool seldom = had >= TAUGHT_NOTHING && is_seldom(e);
    if (f->measure && had >= TAUGHT_NOTHING && !seldom)
        f->next_try = 1u << (had < MOST_LATER ? had : MOST_LATER);
    return seldom;
}

bool jpy_hints_discarded(jpy_function *f, jpy_entry *e, const jpy_call *call, PyObject *failed) {
    const char *message = failed ? PyUnicode_AsUTF8(failed) : NULL;
    if (message && came_to(f, e, message))
        return true;
    if (message && strstr(message, JPY_SIZE_WAS) && learn_ones(f, e, call))
        return false;
    if (e->any_dims && ++f->loose_dims >= TOO_LOOSE)
        jpy_hints_pin(f);
    if (e->any_length && e->runs < FEW_RUNS && ++f->loose >= TOO_LOOSE) {
        f->loose = 0;
        jpy_hints_narrow(f, true);
    }
    return false;
}

bool jpy_hints_left(const jpy_function *f, jpy_entry *e) {
    return ++e->left <= FEW_RUNS + e->runs || !f->measure;
}

static long times_left_out(const jpy_function *f, const char *why) {
    PyObject *key = left_out(why);
    long n = times(f, key);
    Py_XDECREF(key);
    PyErr_Clear();
    return n;
}

bool jpy_hint_usual(const jpy_function *f, const char *why) {
    return times_left_out(f, why) >= USUAL;
}

bool jpy_hint_rather(const jpy_function *f, const char *why, const char *than) {
    return times_left_out(f, why) <= times_left_out(f, than);
}
