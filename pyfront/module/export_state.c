/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a graph that is taken along: the places that it writes, by name.
 *
 * A place is an attribute, a global, a variable of a closure, an item, or the memory of a tensor.
 * Where the graph reads it as well, it does so by a parameter, so that the next call goes on from
 * what this one has left.  A place that the guards take for granted and the graph writes has no
 * parameter: such a graph is good for one call, and is not taken along.
 */
#include "pyfront/module/export.h"

#include "pyfront/base/twister.h"
#include "pyfront/tensor/tensor.h"

static PyObject *no(const char *what, PyObject *path) {
    if (path)
        PyErr_Format(PyExc_ValueError, "janus.export: the graph cannot be taken along: %s %U", what,
                     path);
    Py_XDECREF(path);
    return NULL;
}

/* The parameter that has what a source reads; -1: none. */
static Py_ssize_t input_of(const jpy_entry *e, const jpy_src *s) {
    for (size_t i = 0; i < e->inputs.n; i++)
        if (e->inputs.data[i].slot == s->slot)
            return (Py_ssize_t)i;
    return -1;
}

PyObject *jpy_export_form(const jpy_entry *e, PyObject *const *slots, const jpy_recipe *r) {
    const char *kind = r->kind == JPY_MAKE_TUPLE  ? "tuple"
                       : r->kind == JPY_MAKE_LIST ? "list"
                       : r->kind == JPY_MAKE_DICT ? "dict"
                                                  : NULL;
    if (r->kind == JPY_MAKE_RESULT)
        return Py_BuildValue("(sI)", "result", r->slot);
    if (r->kind == JPY_MAKE_CONST)
        return Py_BuildValue("(sO)", "constant", r->obj);
    if (r->kind == JPY_MAKE_SOURCE) {
        const jpy_src *s = e->guards.srcs.data[r->slot];
        if (s->kind == JPY_SRC_ARG)
            return Py_BuildValue("(sL)", "argument", (long long)s->index);
        Py_ssize_t input = input_of(e, s);
        if (input >= 0)
            return Py_BuildValue("(sn)", "input", input);
        if (s->checks & JPY_CHECK_CONST || slots[r->slot] == Py_None)
            return Py_BuildValue("(sO)", "constant", slots[r->slot]);
    }
    if (r->kind == JPY_MAKE_VIEW)
        return PyErr_Format(PyExc_ValueError, "janus.export: its result has a view of a tensor; "
                                              "return clone() of it");
    if (!kind || r->obj)
        return PyErr_Format(PyExc_ValueError,
                            "janus.export: its result is not made of tensors, numbers, tuples, "
                            "lists and dicts alone");
    PyObject *items = PyList_New(0);
    for (unsigned i = 0; items && i < r->n; i++) {
        PyObject *one = jpy_export_form(e, slots, r->items[i]);
        if (!one || PyList_Append(items, one) < 0)
            Py_CLEAR(items);
        Py_XDECREF(one);
    }
    return items ? Py_BuildValue("(sN)", kind, items) : NULL;
}

/* ---- places ------------------------------------------------------------------------------------
 */

typedef struct place { /* item `index` of a list, else what `holder` has under `key` */
    PyObject *holder, *key;
    Py_ssize_t index;
} place;

static bool same_key(PyObject *a, PyObject *b) {
    return a == b ||
           (a && b && PyUnicode_Check(a) && PyUnicode_Check(b) && PyUnicode_Compare(a, b) == 0);
}

/* Whether a source reads that place. */
static bool reads(const jpy_src *s, PyObject *const *slots, place at) {
    PyObject *up = s->parent ? slots[s->parent->slot] : NULL, *holder = up,
             *key = s->by ? jpy_src_in(s->by, slots) : s->key;
    switch (s->kind) {
    case JPY_SRC_GLOBAL:
        holder = s->obj;
        break;
    case JPY_SRC_CELL:
        holder = PyTuple_GET_ITEM(up, s->index);
        key = at.key;
        break;
    case JPY_SRC_ITEM:
        return up == at.holder && !at.key && jpy_item_at(s->index, Py_SIZE(up)) == at.index;
    case JPY_SRC_ATTR:
    case JPY_SRC_KEY:
        break;
    default:
        return false;
    }
    return holder == at.holder && at.key && same_key(key, at.key);
}

static PyObject *path_of(const jpy_src *holder, place at) {
    if (holder->kind == JPY_SRC_CONST)
        return PyUnicode_FromFormat("global %U", at.key);
    if (PyCell_Check(at.holder)) {
        PyObject *up = jpy_src_path(holder->parent, false), *path = NULL;
        if (up)
            path = PyUnicode_FromFormat("%U cell %lld", up, (long long)holder->index);
        Py_XDECREF(up);
        return path;
    }
    PyObject *up = jpy_src_path(holder, false), *path = NULL;
    if (up)
        path = !at.key                   ? PyUnicode_FromFormat("%U[%zd]", up, at.index)
               : PyDict_Check(at.holder) ? PyUnicode_FromFormat("%U[\"%U\"]", up, at.key)
                                         : PyUnicode_FromFormat("%U.%U", up, at.key);
    Py_XDECREF(up);
    return path;
}

/* Takes the references to `path`, `form` and `at`, which is None, or (number of an argument, way
 * from there). */
static int add_at(PyObject *list, PyObject *path, Py_ssize_t input, bool store, PyObject *form,
                  uint32_t when, PyObject *at) {
    PyObject *one = path && form && at
                        ? Py_BuildValue("(OniOnO)", path, input, (int)store, form,
                                        when ? (Py_ssize_t)when - 1 : (Py_ssize_t)-1, at)
                        : NULL;
    int rc = one ? PyList_Append(list, one) : -1;
    Py_XDECREF(one);
    Py_XDECREF(path);
    Py_XDECREF(form);
    Py_XDECREF(at);
    return rc;
}

static int add(PyObject *list, PyObject *path, Py_ssize_t input, bool store, PyObject *form,
               uint32_t when) {
    return add_at(list, path, input, store, form, when, Py_NewRef(Py_None));
}

typedef struct writing {
    const jpy_entry *e;
    PyObject *const *slots;
    PyObject *list;
    uint32_t when;
} writing;

static int add_value(const writing *w, const jpy_src *read, PyObject *path, const jpy_recipe *r);

/* A container that is made anew: its items are places.  What the guards know of it, its type and
 * length, is as the graph makes it. */
static int add_parts(const writing *w, const jpy_src *read, PyObject *path, const jpy_recipe *r) {
    bool dict = r->kind == JPY_MAKE_DICT;
    int rc = path ? 0 : -1;
    for (unsigned i = 0; i < r->n && rc == 0; i += 1 + dict) {
        PyObject *key = dict ? r->items[i]->obj : NULL;
        const jpy_src *of_item = NULL;
        for (size_t k = 0; read && k < w->e->guards.srcs.n && !of_item; k++) {
            const jpy_src *s = w->e->guards.srcs.data[k];
            if (s->parent == read &&
                (dict ? s->kind == JPY_SRC_KEY && same_key(s->key, key)
                      : s->kind == JPY_SRC_ITEM && jpy_item_at(s->index, r->n) == (Py_ssize_t)i))
                of_item = s;
        }
        if (dict && (r->items[i]->kind != JPY_MAKE_CONST || !PyUnicode_Check(key))) {
            no("it makes a dict whose keys are not all strings,", Py_NewRef(path));
            rc = -1;
            break;
        }
        rc = add_value(w, of_item,
                       dict ? PyUnicode_FromFormat("%U[\"%U\"]", path, key)
                            : PyUnicode_FromFormat("%U[%u]", path, i),
                       r->items[i + dict]);
    }
    Py_XDECREF(path);
    return rc;
}

/* What a place gets, which `read` (NULL: nothing) reads at the next call; takes the reference to
 * `path`. */
static int add_value(const writing *w, const jpy_src *read, PyObject *path, const jpy_recipe *r) {
    Py_ssize_t input = read ? input_of(w->e, read) : -1;
    bool parts =
        (r->kind == JPY_MAKE_TUPLE || r->kind == JPY_MAKE_LIST || r->kind == JPY_MAKE_DICT) &&
        !r->obj;
    if (parts && input < 0 && !w->when)
        return add_parts(w, read, path, r);
    if (input < 0 && read && read->checks) {
        if (r->kind == JPY_MAKE_CONST && r->obj == w->slots[read->slot]) {
            Py_XDECREF(path); /* it is that already */
            return 0;
        }
        no("it is for one value only of what it writes,", path);
        return -1;
    }
    return add(w->list, path, input, false, path ? jpy_export_form(w->e, w->slots, r) : NULL,
               w->when);
}

/* Whether a source is an argument or something in one. */
static bool of_argument(const jpy_src *s) { return jpy_export_root(s)->kind == JPY_SRC_ARG; }

/* Where something is written in an argument: what `s` reads, or (`last` is not NULL) a step on. */
static PyObject *at_argument(const jpy_src *s, PyObject *last) {
    PyObject *way = jpy_export_way(s), *at = NULL;
    if (way && (!last || PyList_Append(way, last) == 0))
        at = Py_BuildValue("(LO)", (long long)jpy_export_root(s)->index, way);
    else if (!PyErr_Occurred())
        no("it writes to", jpy_src_path(s, false));
    Py_XDECREF(way);
    Py_XDECREF(last);
    return at;
}

/* A place gets a value. */
static int add_place(const writing *w, const jpy_commit_step *s, place at,
                     const jpy_recipe *value) {
    const jpy_src *holder = w->e->guards.srcs.data[s->slot], *read = NULL;
    if (of_argument(holder)) { /* who is given another one checks it anew */
        PyObject *last = !at.key                   ? Py_BuildValue("(sn)", "item", at.index)
                         : PyDict_Check(at.holder) ? Py_BuildValue("(sO)", "key", at.key)
                                                   : Py_BuildValue("(sO)", "attr", at.key);
        PyObject *to = last ? at_argument(holder, last) : NULL;
        return add_at(w->list, path_of(holder, at), -1, false,
                      to ? jpy_export_form(w->e, w->slots, value) : NULL, w->when, to);
    }
    for (size_t i = 0; i < w->e->guards.srcs.n && !read; i++)
        if (i != s->slot && reads(w->e->guards.srcs.data[i], w->slots, at))
            read = w->e->guards.srcs.data[i];
    return add_value(w, read, path_of(holder, at), value);
}

/* The memory of a tensor is written. */
static int add_store(const jpy_entry *e, PyObject *list, const jpy_commit_step *s) {
    const jpy_src *src = e->guards.srcs.data[s->slot];
    if (of_argument(src))
        return add_at(list, jpy_src_path(src, false), -1, true,
                      Py_BuildValue("(sI)", "result", s->value->slot), s->when,
                      at_argument(src, NULL));
    Py_ssize_t input = input_of(e, src);
    return add(list, jpy_src_path(src, false), input, true,
               Py_BuildValue("(sI)", "result", s->value->slot), s->when);
}

static int add_items(const writing *w, const jpy_commit_step *s) {
    const jpy_entry *e = w->e;
    PyObject *o = w->slots[s->slot];
    bool dict = s->kind == JPY_COMMIT_DICT;
    if (!dict && PyList_GET_SIZE(o) != (Py_ssize_t)s->value->n) {
        no("it changes the length of", jpy_src_path(e->guards.srcs.data[s->slot], false));
        return -1;
    }
    for (unsigned i = 0; i < s->value->n; i += 1 + dict) {
        const jpy_recipe *key = s->value->items[i];
        if (dict && (key->kind != JPY_MAKE_CONST || !PyUnicode_Check(key->obj))) {
            no("it writes under a key that is no string to",
               jpy_src_path(e->guards.srcs.data[s->slot], false));
            return -1;
        }
        place at = {o, dict ? key->obj : NULL, (Py_ssize_t)i};
        if (add_place(w, s, at, s->value->items[i + dict]) < 0)
            return -1;
    }
    return 0;
}

static int add_step(const writing *w, const jpy_commit_step *s) {
    const jpy_src *src = w->e->guards.srcs.data[s->slot];
    if (s->kind == JPY_COMMIT_ATTR && jpy_is_drawn(s->key)) {
        no("it draws numbers of", jpy_src_path(src, false));
        return -1;
    }
    switch (s->kind) {
    case JPY_COMMIT_ATTR:
    case JPY_COMMIT_GLOBAL:
        return add_place(w, s, (place){w->slots[s->slot], s->key, 0}, s->value);
    case JPY_COMMIT_STORE:
    case JPY_COMMIT_DATA: /* nobody else has its memory there */
        return add_store(w->e, w->list, s);
    case JPY_COMMIT_LIST:
    case JPY_COMMIT_DICT:
        return add_items(w, s);
    default:
        no(s->kind == JPY_COMMIT_DEL ? "it deletes an attribute of"
           : s->kind == JPY_COMMIT_WHOLE || s->kind == JPY_COMMIT_CLEAR
               ? "it makes all keys anew of"
               : "it writes gradients to",
           jpy_src_path(src, false));
        return -1;
    }
}

PyObject *jpy_export_state(const jpy_entry *e, PyObject *const *slots) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < e->steps.n; i++) {
        writing w = {e, slots, list, e->steps.data[i].when};
        if (add_step(&w, &e->steps.data[i]) < 0)
            Py_CLEAR(list);
    }
    return list;
}
