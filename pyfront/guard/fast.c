/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short way through the guards of a call whose modules have not changed.
 *
 * After all guards held, the words of memory are written down that say so: of a module or a dict
 * found on the way its version, since CPython gives every state of every dict a version of its own
 * and one comparison stands for all reads of it; of a function its code, globals, defaults and
 * closure; what cells, tuples and lists hold where that is a function, a module or the like; the
 * class of an object.  The next time all of them are compared in one go, and nothing is read by
 * name.  They are in path order: what has a word is alive once the words before it hold.
 *
 * An object found by its address alone may be another one at the same place.  So everything that
 * was asked of it has a word, too, or it is checked again; a version is never given twice.
 *
 * Dicts of globals change at every statement outside of functions: then their names are read again.
 * Versions of types are looked at again.  Leaves among the tensors that a dict holds are of the
 * same shape as long as jpy_tensor_epoch stands: then their class and flags are all that is looked
 * at, and `known` says so to who binds them.
 *
 * Values are borrowed: what holds them is as it was.  The structure epoch of modules
 * (methods/module_base.c) would be one comparison for all, but does not see `module.__dict__[...] =
 * x`. From CPython 3.13 on versions of dicts are not to be relied on: there this file does nothing.
 */
#include "pyfront/guard/guard.h"

#include "pyfront/guard/look.h"
#include "pyfront/methods/methods.h"
#include "pyfront/tensor/tensor.h"

#if PY_VERSION_HEX < 0x030d0000 && UINTPTR_MAX == UINT64_MAX

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static uint64_t version_of(PyObject *dict) { return ((PyDictObject *)dict)->ma_version_tag; }

/* Numbers and tensors: read each time, where no dict says that they are as they were. */
enum {
    OFTEN = JPY_CHECK_CONST | JPY_CHECK_TENSOR | JPY_CHECK_INT | JPY_CHECK_FLOAT | JPY_CHECK_BOOL
};

/* What is known of a source while the words are written. */
typedef struct learning {
    jpy_guards *g;
    PyObject *const *slots;
    struct known {
        bool covered;  /* it is not read again */
        bool of_call;  /* it comes from an argument */
        bool classed;  /* its class cannot change, or has a word */
        bool shaped;   /* there are words for its class, or its version */
        uint32_t rest; /* its place in fast.rest */
    } * known;
    unsigned n_covered;
} learning;

static bool word(jpy_fast *f, const void *at, uint64_t is) {
    return jn_vec_push(&f->words, ((jpy_fast_word){at, is}));
}

static bool pointer(jpy_fast *f, PyObject *const *at) { return word(f, at, (uintptr_t)*at); }

/* A word for the class of the value in `slot`; once. */
static bool class_word(learning *l, uint32_t slot) {
    PyObject *o = l->slots[slot];
    bool has = l->known[slot].classed;
    l->known[slot].classed = true;
    return has || word(&l->g->fast, &o->ob_type, (uintptr_t)Py_TYPE(o));
}

/* Words for what all reads of the value in `slot` go by; once. */
static bool shape(learning *l, uint32_t slot) {
    jpy_fast *f = &l->g->fast;
    PyObject *o = l->slots[slot];
    if (l->known[slot].shaped)
        return true;
    l->known[slot].shaped = true;
    if (!l->known[slot].covered)
        f->rest.data[l->known[slot].rest].anchor = true;
    if (!class_word(l, slot))
        return false;
    if (PyDict_CheckExact(o))
        return word(f, &((PyDictObject *)o)->ma_version_tag, version_of(o));
    if (PyList_CheckExact(o) &&
        !word(f, &((PyListObject *)o)->ob_item, (uintptr_t)((PyListObject *)o)->ob_item))
        return false;
    if (PyList_CheckExact(o) || PyTuple_Check(o))
        return word(f, &((PyVarObject *)o)->ob_size, (uint64_t)Py_SIZE(o));
    PyObject **dict = jpy_module_check(o) ? &((jpy_module *)o)->dict : NULL;
    return !dict || (pointer(f, dict) &&
                     word(f, &((PyDictObject *)*dict)->ma_version_tag, version_of(*dict)));
}

/* Whether reads of `parent` go to a dict. */
static bool of_dict(const jpy_src *s, PyObject *parent) {
    if (s->kind == JPY_SRC_ATTR && s->how == JPY_ATTR_MODULE)
        return jpy_module_check(parent) && ((jpy_module *)parent)->dict;
    return s->kind == JPY_SRC_KEY && PyDict_CheckExact(parent);
}

/* Of a value that was found by what another source was, it must be that again.  The dict, which is
 * as it was, holds it: it is no other one at its address. */
static void same_key(learning *l, const jpy_src *s) {
    if (s->by && !l->known[s->by->slot].covered)
        l->g->fast.rest.data[l->known[s->by->slot].rest].anchor = true;
}

/* Functions, modules, models: a name of which is rarely given another one. */
static bool stays(const jpy_src *s) { return PyDict_CheckExact(s->obj) && !(s->checks & OFTEN); }

/* The same of a place that has no name.  Objects of the program's may be its data. */
static bool is_part(const jpy_src *s, PyObject *v) {
    return !(s->checks & OFTEN) &&
           (!v || v == Py_None || PyFunction_Check(v) || PyCFunction_Check(v) || PyType_Check(v) ||
            PyTuple_CheckExact(v) || PyList_CheckExact(v) || PyDict_CheckExact(v) ||
            jpy_module_check(v));
}

/* The word that a read of `parent` goes to; NULL: there is none, or it is not of that kind.
 * `cell`: NULL, or the one in the parent which it lies in. */
static PyObject *const *place_of(const jpy_src *s, PyObject *parent, PyObject *const **cell) {
    *cell = NULL;
    if (s->kind == JPY_SRC_FUNC && PyFunction_Check(parent))
        return jpy_function_part(parent, s->index);
    bool list = PyList_CheckExact(parent), tuple = PyTuple_CheckExact(parent);
    if ((s->kind != JPY_SRC_CELL && s->kind != JPY_SRC_ITEM) || (!list && !tuple))
        return NULL;
    Py_ssize_t at = jpy_item_at(s->index, Py_SIZE(parent));
    if (at < 0 || at >= Py_SIZE(parent))
        return NULL;
    PyObject *const *item =
        list ? &((PyListObject *)parent)->ob_item[at] : &((PyTupleObject *)parent)->ob_item[at];
    if (s->kind == JPY_SRC_ITEM)
        return item;
    *cell = item;
    return tuple && PyCell_Check(*item) ? &((PyCellObject *)*item)->ob_ref : NULL;
}

/* 1: the words say what it reads, 0: they do not, -1: out of memory. */
static int by_place(learning *l, const jpy_src *s, PyObject *parent) {
    const struct known *up = &l->known[s->parent->slot];
    PyObject *const *cell;
    PyObject *const *at = up->of_call || !is_part(s, l->slots[s->slot]) ||
                                  (!up->covered && !is_part(s->parent, parent))
                              ? NULL
                              : place_of(s, parent, &cell);
    jpy_fast *f = &l->g->fast;
    if (!at || *at != l->slots[s->slot])
        return 0;
    return shape(l, s->parent->slot) && (!cell || pointer(f, cell)) && pointer(f, at) ? 1 : -1;
}

/* Whether a tensor has no history and is no view, and all that is asked of it is how it looks. */
static bool is_leaf(const jpy_src *s, PyObject *o) {
    if (s->checks != JPY_CHECK_TENSOR || s->tensor.n_any)
        return false;
    const jpy_tensor *t = (const jpy_tensor *)o;
    return !t->node && !t->base && !t->hooks;
}

static bool add_names(jpy_fast *f, uint32_t slot, PyObject *dict) {
    bool known = false;
    for (size_t i = 0; i < f->names.n && !known; i++)
        known = f->names.data[i].dict == dict;
    return (known || jn_vec_push(&f->names, ((jpy_fast_names){dict, version_of(dict)}))) &&
           jn_vec_push(&f->named, slot);
}

/* Whether all names of a dict that has changed are what they were. */
static bool names_hold(const jpy_guards *g, jpy_fast_names *names) {
    const jpy_fast *f = &g->fast;
    for (size_t i = 0; i < f->named.n; i++) {
        const jpy_src *s = g->srcs.data[f->named.data[i]];
        if (s->obj != names->dict)
            continue;
        PyObject *v = jpy_src_read(s, NULL, NULL, NULL);
        if (v != f->values[s->slot] || (!v && jpy_src_asks(s, NULL, NULL)))
            return false;
    }
    names->version = version_of(names->dict);
    return true;
}

static bool add_type(jpy_fast *f, jpy_type_want *w) {
    for (size_t i = 0; i < f->types.n; i++)
        if (f->types.data[i] == w)
            return true;
    return jn_vec_push(&f->types, w);
}

static void now_known(jpy_fast *f) {
    static uint64_t last;
    f->epoch = jpy_tensor_epoch;
    f->known = ++last;
}

/* What else was asked of a value that is not read again: words, or it is checked again.  `held`: it
 * is the very object that was found, not one at its address. */
static bool ask(learning *l, const jpy_src *s, PyObject *v, bool held) {
    jpy_fast *f = &l->g->fast;
    uint32_t slot = s->slot, left = s->checks;
    left &= JPY_CHECK_TENSOR | JPY_CHECK_LEN | JPY_CHECK_SOME | JPY_CHECK_KEYS | JPY_CHECK_CODE |
            JPY_CHECK_VERSION;
    if (!v)
        return true;
    if ((s->checks & JPY_CHECK_IDENT) && s->weak && !held &&
        !pointer(f, &((PyWeakReference *)s->ident)->wr_object))
        return false;
    if ((s->checks & JPY_CHECK_TYPE) && !(class_word(l, slot) && add_type(f, s->type)))
        return false;
    if ((s->checks & JPY_CHECK_CODE) && PyFunction_Check(v)) {
        PyFunctionObject *o = (PyFunctionObject *)v;
        if (!shape(l, slot) || !pointer(f, &o->func_code) || !pointer(f, &o->func_globals))
            return false;
        left &= ~(uint32_t)JPY_CHECK_CODE;
    }
    if ((left & (JPY_CHECK_LEN | JPY_CHECK_KEYS)) && PyDict_CheckExact(v)) {
        if (!shape(l, slot))
            return false;
        left &= ~(uint32_t)(JPY_CHECK_LEN | JPY_CHECK_KEYS);
    }
    if ((left & JPY_CHECK_LEN) && (PyTuple_CheckExact(v) || PyList_CheckExact(v))) {
        if (!shape(l, slot))
            return false;
        left &= ~(uint32_t)JPY_CHECK_LEN;
    }
    if (held && is_leaf(s, v)) {
        left = 0;
        if (!jn_vec_push(&f->tensors,
                         ((jpy_fast_tensor){slot, s->tensor.requires_grad, Py_TYPE(v)})))
            return false;
    }
    bool same = (s->checks & JPY_CHECK_SAME) && !l->known[s->same].covered;
    return !(left || same) || jn_vec_push(&f->again, slot);
}

static bool learn_source(learning *l, const jpy_src *s) {
    jpy_fast *f = &l->g->fast;
    uint32_t slot = s->slot;
    PyObject *v = l->slots[slot], *parent = s->parent ? l->slots[s->parent->slot] : NULL;
    struct known *k = &l->known[slot];
    bool dict = parent && of_dict(s, parent) && (v || !s->by),
         named = s->kind == JPY_SRC_GLOBAL && stays(s);
    int placed = parent && !dict ? by_place(l, s, parent) : 0;
    bool held = dict || s->kind == JPY_SRC_CONST;
    k->classed = held && v && jpy_type_fixed(Py_TYPE(v)) && !PyModule_Check(v);
    k->of_call = s->kind == JPY_SRC_ARG || (s->parent && l->known[s->parent->slot].of_call);
    k->covered = dict || named || placed > 0 || s->kind == JPY_SRC_CONST;
    f->values[slot] = v;
    if (placed < 0 || (dict && !shape(l, s->parent->slot)) ||
        (named && !add_names(f, slot, s->obj)))
        return false;
    if (!k->covered) {
        k->rest = (uint32_t)f->rest.n;
        return jn_vec_push(&f->rest, ((jpy_fast_rest){slot, false, (uint32_t)f->words.n}));
    }
    same_key(l, s);
    l->n_covered += dict || placed;
    return ask(l, s, v, held);
}

void jpy_fast_learn(jpy_guards *g, PyObject *const *slots) {
    jpy_fast *f = &g->fast;
    jpy_fast_free(f);
    f->values = jn_alloc((g->srcs.n + 1) * sizeof *f->values);
    learning l = {g, slots, jn_calloc(g->srcs.n + 1, sizeof *l.known), 0};
    bool ok = f->values && l.known;
    for (size_t i = 0; i < g->srcs.n && ok; i++)
        ok = learn_source(&l, g->srcs.data[i]);
    f->valid = ok && l.n_covered >= 4;
    for (size_t i = 0; i < g->identity.n && f->valid; i++)
        f->aliases = f->aliases || !l.known[g->identity.data[i]].covered;
    jn_free(l.known);
    if (f->valid)
        now_known(f);
    else
        jpy_fast_free(f);
}

/* The words up to number `to`; false: one has changed. */
static inline bool words_hold(const jpy_fast *f, const jpy_fast_word **next, size_t to) {
    const jpy_fast_word *w = *next, *end = f->words.data + to;
    for (; w < end; w++) {
        uint64_t now;
        memcpy(&now, w->at, sizeof now);
        if (now != w->is)
            return false;
    }
    *next = w;
    return true;
}

/* Leaves that a dict holds, which is as it was. */
static bool leaves_hold(const jpy_guards *g, jpy_fast *f, PyObject *const *slots) {
    bool all = f->epoch != jpy_tensor_epoch;
    for (size_t i = 0; i < f->tensors.n; i++) {
        const jpy_fast_tensor *x = &f->tensors.data[i];
        const jpy_tensor *t = (const jpy_tensor *)slots[x->slot];
        if (Py_TYPE(t) != x->type || t->node || t->requires_grad != x->requires_grad ||
            (all && !jpy_src_holds(g->srcs.data[x->slot], slots[x->slot], slots)))
            return false;
    }
    if (all)
        now_known(f);
    return true;
}

bool jpy_fast_run(jpy_guards *g, const jpy_call *call, PyObject **slots) {
    jpy_fast *f = &g->fast;
    const jpy_fast_word *next = f->words.data;
    for (size_t i = 0; i < f->names.n; i++)
        if (version_of(f->names.data[i].dict) != f->names.data[i].version &&
            !names_hold(g, &f->names.data[i]))
            return false;
    for (size_t i = 0; i < f->types.n; i++) /* first: reads of the rest go by them */
        if (!jpy_type_holds(f->types.data[i]))
            return false;
    memcpy(slots, f->values, g->srcs.n * sizeof *slots);
    for (size_t i = 0; i < f->rest.n; i++) {
        const jpy_fast_rest *r = &f->rest.data[i];
        const jpy_src *s = g->srcs.data[r->slot];
        if (!words_hold(f, &next, r->words))
            return false;
        PyObject *v = jpy_src_read_quick(s, slots, call);
        slots[r->slot] = v;
        if (!jpy_src_holds_quick(s, v, slots) || (r->anchor && v != f->values[r->slot]))
            return false;
    }
    if (!words_hold(f, &next, f->words.n) || !leaves_hold(g, f, slots))
        return false;
    for (size_t i = 0; i < f->again.n; i++) {
        const jpy_src *s = g->srcs.data[f->again.data[i]];
        if (!jpy_src_holds(s, slots[s->slot], slots))
            return false;
    }
    return true;
}

#else

void jpy_fast_learn(jpy_guards *g, PyObject *const *slots) { (void)g, (void)slots; }
bool jpy_fast_run(jpy_guards *g, const jpy_call *call, PyObject **slots) {
    (void)g, (void)call, (void)slots;
    return false;
}

#endif

void jpy_fast_free(jpy_fast *f) {
    jn_free(f->values);
    jn_vec_free(&f->names);
    jn_vec_free(&f->named);
    jn_vec_free(&f->words);
    jn_vec_free(&f->types);
    jn_vec_free(&f->rest);
    jn_vec_free(&f->tensors);
    jn_vec_free(&f->again);
    *f = (jpy_fast){0};
}
