/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the writes of a commit take: see write.h.
 *
 * A dict has no way to reserve room, and a key that is deleted and set again goes to its end.  Such
 * a dict gets its contents from a copy that was written in advance: the two swap them.  Where that
 * would not lie as the dict does, it is for the case only that memory is short.
 */
#include "pyfront/entry/write.h"

#include "exec/store/store.h"
#include "pyfront/entry/host.h"
#include "pyfront/methods/methods.h"
#include "pyfront/tensor/tensor.h"

/* ---- layouts ------------------------------------------------------------------------------------
 */

bool jpy_list_reserve(PyObject *list, Py_ssize_t n) {
    PyListObject *l = (PyListObject *)list;
    if (l->allocated >= n)
        return true;
    Py_ssize_t room = n + (n >> 3) + 6; /* as lists grow by appending */
    PyObject **items = (size_t)room > SIZE_MAX / 2 / sizeof *items
                           ? NULL
                           : PyMem_Realloc(l->ob_item, (size_t)room * sizeof *items);
    if (!items)
        return false;
    l->ob_item = items;
    l->allocated = room;
    return true;
}

void jpy_list_swap(PyObject *a, PyObject *b) {
    PyListObject *x = (PyListObject *)a, *y = (PyListObject *)b;
    PyObject **items = x->ob_item;
    Py_ssize_t n = Py_SIZE(x), allocated = x->allocated;
    x->ob_item = y->ob_item;
    x->allocated = y->allocated;
    Py_SET_SIZE(x, Py_SIZE(y));
    y->ob_item = items;
    y->allocated = allocated;
    Py_SET_SIZE(y, n);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* ma_version_tag, since 3.12 */
#if PY_VERSION_HEX >= 0x030e0000
#define ma_version_tag _ma_watcher_tag /* what is left of it */
#endif

enum {
    WATCHED = PY_VERSION_HEX < 0x030c0000   ? 0
              : PY_VERSION_HEX < 0x030d0000 ? 0xff
                                            : 0xfff /* bits of the version: who watches it */
};

bool jpy_dict_can_swap(PyObject *dict) {
    const PyDictObject *d = (const PyDictObject *)dict;
    if (Py_TYPE(dict)->tp_iter != PyDict_Type.tp_iter || (d->ma_version_tag & WATCHED))
        return false; /* what goes over its pairs in another way is not copied by its table */
    return PY_VERSION_HEX < 0x030d0000 || !d->ma_values; /* the object's, not its own */
}

void jpy_dict_swap(PyObject *a, PyObject *b) {
    PyDictObject *x = (PyDictObject *)a, *y = (PyDictObject *)b, old = *x;
    x->ma_used = y->ma_used;
    x->ma_version_tag = y->ma_version_tag; /* a later one: who knew the old contents looks again */
    x->ma_keys = y->ma_keys;
    x->ma_values = y->ma_values;
    y->ma_used = old.ma_used;
    y->ma_version_tag = old.ma_version_tag;
    y->ma_keys = old.ma_keys;
    y->ma_values = old.ma_values;
    if (!PyObject_GC_IsTracked(a))
        PyObject_GC_Track(a);
    if (!PyObject_GC_IsTracked(b))
        PyObject_GC_Track(b);
}

PyObject *jpy_attrs_of(PyObject *o) {
    PyTypeObject *type = Py_TYPE(o);
    PyObject *d = NULL;
    if (jpy_tensor_check(o))
        return Py_XNewRef(((jpy_tensor *)o)->dict);
    if (jpy.module_base_type && jpy_module_check(o))
        return Py_XNewRef(((jpy_module *)o)->dict);
    if (PyType_Check(o))
        return ((PyTypeObject *)o)->tp_flags & Py_TPFLAGS_HEAPTYPE
                   ? Py_XNewRef(((PyTypeObject *)o)->tp_dict)
                   : NULL;
    if (PyModule_Check(o))
        return Py_XNewRef(PyModule_GetDict(o));
#ifdef Py_TPFLAGS_MANAGED_DICT
    bool managed = type->tp_flags & Py_TPFLAGS_MANAGED_DICT;
#else
    bool managed = false;
#endif
    if (type->tp_dictoffset || managed)
        d = PyObject_GenericGetDict(o, NULL);
    PyErr_Clear();
    return d;
}

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030d0000 && !defined(Py_DEBUG)
/* Before an object lie its dict and, in another word or in the same one with a mark, the values of
 * the names that its type knows, which a dict of such names has taken as they are. */
static void give_back(PyObject *o, PyObject *dict) {
    const PyTypeObject *t = Py_TYPE(o);
    PyDictObject *d = (PyDictObject *)dict;
    void **at = (void **)(void *)o - 3, *values;
    if (!(t->tp_flags & Py_TPFLAGS_MANAGED_DICT) || !(t->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
        *at != dict || Py_REFCNT(dict) != 2 || !PyDict_CheckExact(dict) || !d->ma_values ||
        d->ma_keys != ((const PyHeapTypeObject *)t)->ht_cached_keys ||
        (d->ma_version_tag & WATCHED))
        return;
    values = d->ma_values;
    d->ma_values = NULL;
    d->ma_used = 0;
#if PY_VERSION_HEX < 0x030c0000
    at[0] = NULL;
    at[-1] = values;
#else
    at[0] = (char *)values - 1;
#endif
    Py_DECREF(dict); /* the object's */
}
#else
static void give_back(PyObject *o, PyObject *dict) { (void)o, (void)dict; }
#endif

void jpy_attrs_done(PyObject *o, PyObject *dict) {
    if (dict)
        give_back(o, dict);
    Py_XDECREF(dict);
}

PyObject *jpy_attrs_there(PyObject *o) {
    PyObject **at;
    if (jpy_tensor_check(o))
        return ((jpy_tensor *)o)->dict;
    if (jpy.module_base_type && jpy_module_check(o))
        return ((jpy_module *)o)->dict;
    if (PyType_Check(o))
        return NULL;
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030d0000
    if (Py_TYPE(o)->tp_flags & Py_TPFLAGS_MANAGED_DICT) { /* which would be made to be given */
        uintptr_t there;
        memcpy(&there, (const char *)o - 3 * sizeof(void *), sizeof there);
        return there & 1 ? NULL : (PyObject *)there; /* NOLINT(performance-no-int-to-ptr) */
    }
#endif
    at = _PyObject_GetDictPtr(o);
    return at ? *at : NULL;
}

/* ---- one way ------------------------------------------------------------------------------------
 * A graph knows an attribute by its object and a pair by its dict.  Both may be one place: the dict
 * is that of the object (`d = vars(o)`, `self.__dict__ = self`), or two objects have one.  A dict
 * that nobody but its object has is no such place.
 */

typedef struct ways { /* of what a run has read or writes */
    const jpy_writes *w;
    const jpy_making *m;
    const jpy_host *host;
    bool pairs; /* a dict is written as such */
} ways;

static PyObject *one_of(const ways *x, size_t i) {
    const jpy_entry *e = x->m->e;
    if (i < e->guards.srcs.n)
        return x->m->slots[i];
    i -= e->guards.srcs.n;
    return i < x->host->held.n ? x->host->held.data[i] : x->w->all.data[i - x->host->held.n].o;
}

static bool writes_pairs(const jpy_write *x) {
    return (x->kind == JPY_WRITE_KEY || x->kind == JPY_WRITE_CLEAR) && PyDict_Check(x->o);
}

/* Whether the run writes to the dict of the object as such. */
static bool is_written(const ways *x, const PyObject *dict) {
    for (size_t i = 0; i < x->w->all.n; i++)
        if (x->w->all.data[i].o == dict && writes_pairs(&x->w->all.data[i]))
            return true;
    return false;
}

/* Whether the dict of the object is met in another way. */
static bool is_met(const ways *x, const PyObject *o, const PyObject *dict) {
    size_t n = x->m->e->guards.srcs.n + x->host->held.n + x->w->all.n;
    bool met = dict == o;
    for (size_t i = 0; i < n && !met; i++) {
        PyObject *other = one_of(x, i);
        met = other && other != o && (other == dict || jpy_attrs_there(other) == dict);
    }
    return met;
}

/* Whether the dict of which `name` is a global is met as a dict, too, and written. */
static bool is_global(const ways *x, const jpy_src *name) {
    bool met = false;
    for (size_t i = 0; i < x->m->e->guards.srcs.n && !met; i++)
        met = x->m->slots[i] == name->obj && x->m->e->guards.srcs.data[i]->kind != JPY_SRC_CONST;
    return met && is_written(x, name->obj);
}

bool jpy_writes_go_one_way(const jpy_writes *w, const jpy_making *m, const jpy_host *host) {
    ways x = {w, m, host, false};
    size_t n_srcs = m->e->guards.srcs.n, n = n_srcs + host->held.n;
    const PyObject *last = NULL; /* names of a function come together */
    for (size_t i = 0; i < w->all.n; i++) {
        const jpy_write *one = &w->all.data[i];
        PyObject *dict = one->kind == JPY_WRITE_ATTR ? jpy_attrs_there(one->o) : NULL;
        x.pairs = x.pairs || writes_pairs(one);
        if (dict && Py_REFCNT(dict) > 1 && !jpy_attr_is_described(one->o, one->key) &&
            is_met(&x, one->o, dict))
            return false;
    }
    for (size_t i = 0; x.pairs && i < n; i++) {
        PyObject *o = one_of(&x, i), *dict = o ? jpy_attrs_there(o) : NULL;
        const jpy_src *s = i < n_srcs ? m->e->guards.srcs.data[i] : NULL;
        if (dict && Py_REFCNT(dict) > 1 && is_written(&x, dict))
            return false;
        if (s && s->kind == JPY_SRC_GLOBAL && s->obj != last && is_global(&x, s))
            return false;
        last = s && s->kind == JPY_SRC_GLOBAL ? s->obj : last;
    }
    return true;
}

/* ---- targets ------------------------------------------------------------------------------------
 */

static jpy_target *find(const jpy_writes *w, const PyObject *o) {
    jpy_target *t;
    HASH_FIND_PTR(w->targets, &o, t);
    return t;
}

static jpy_target *target(jpy_writes *w, PyObject *o) {
    jpy_target *t = find(w, o);
    if (t || !(t = jn_arena_zalloc(&w->arena, sizeof *t)))
        return t;
    t->o = o;
    HASH_ADD_PTR(w->targets, o, t);
    return t->hh.tbl ? t : NULL;
}

/* Whether the write says something about the container that other writes must know. */
static bool is_telling(const jpy_write *x) {
    switch (x->kind) {
    case JPY_WRITE_ATTR:
        return !x->v && !jpy_attr_is_described(x->o, x->key);
    case JPY_WRITE_KEY:
        return !x->v;
    case JPY_WRITE_CLEAR:
    case JPY_WRITE_APPEND:
    case JPY_WRITE_INSERT:
        return true;
    default:
        return false;
    }
}

static bool find_targets(jpy_writes *w) {
    for (size_t i = 0; i < w->all.n; i++) {
        const jpy_write *x = &w->all.data[i];
        if (!is_telling(x))
            continue;
        jpy_target *t = target(w, x->o);
        if (!t)
            return false;
        t->appends += x->kind == JPY_WRITE_APPEND || x->kind == JPY_WRITE_INSERT;
    }
    return true;
}

static bool is_keyed(const jpy_write *x) {
    return x->kind == JPY_WRITE_KEY || x->kind == JPY_WRITE_CLEAR ||
           (x->kind == JPY_WRITE_ATTR && !jpy_attr_is_described(x->o, x->key));
}

/* Whether a key is put in that the dict does not have: 1, 0, -1: out of memory.  What lies in an
 * object itself has a place for each name. */
static int is_new(const jpy_write *x) {
    PyObject *dict = x->kind == JPY_WRITE_KEY ? x->o : jpy_attrs_of(x->o);
    int has = dict && !((PyDictObject *)dict)->ma_values ? PyDict_Contains(dict, x->key) : 1;
    if (dict != x->o)
        jpy_attrs_done(x->o, dict);
    return has < 0 ? -1 : !has;
}

/* Which dicts get back what was taken from them, or others behind it: these, put in before that is
 * taken out, would be given more room at another time. */
static bool find_moves(jpy_writes *w) {
    for (size_t i = 0; i < w->all.n; i++) {
        jpy_write *x = &w->all.data[i];
        jpy_target *t = is_keyed(x) ? find(w, x->o) : NULL;
        if (!(x->of = t))
            continue;
        if (x->kind == JPY_WRITE_ATTR && PyDict_Check(x->o))
            return false; /* which of its two dicts is meant is not told */
        if (x->kind == JPY_WRITE_CLEAR) {
            t->cleared = t->moves = true;
        } else if (!x->v) {
            if ((!t->deleted && !(t->deleted = PySet_New(NULL))) ||
                PySet_Add(t->deleted, x->key) < 0)
                return false;
        } else if (t->cleared) {
            t->moves = true;
        } else if (t->deleted && !t->moves) {
            int again = PySet_Contains(t->deleted, x->key);
            int fresh = again ? 0 : is_new(x);
            if (again < 0 || fresh < 0)
                return false;
            t->moves = again || fresh;
        }
    }
    return true;
}

/* Whether iterators that are under way over the one go on in the other as they would. */
static bool same_places(PyObject *a, PyObject *b) {
    Py_ssize_t p = 0, q = 0;
    bool more = true;
    while (more && p == q) {
        more = PyDict_Next(a, &p, NULL, NULL);
        if (PyDict_Next(b, &q, NULL, NULL) != more)
            return false;
    }
    return p == q;
}

/* The contents that they are to have. */
static bool copy_dicts(jpy_writes *w) {
    for (jpy_target *t = w->targets; t; t = t->hh.next) {
        if (!t->moves)
            continue;
        t->dict = PyDict_Check(t->o) ? Py_NewRef(t->o) : jpy_attrs_of(t->o);
        if (!t->dict)
            return false;
        /* what CPython keeps in the object itself has a place for each name: filling it again takes
         * no memory */
        if (jpy_dict_can_swap(t->dict) ? !(t->copy = PyDict_Copy(t->dict))
                                       : !((PyDictObject *)t->dict)->ma_values)
            return false;
        t->in_place = t->copy && !t->cleared && !same_places(t->dict, t->copy);
    }
    for (size_t i = 0; i < w->all.n; i++) {
        const jpy_write *x = &w->all.data[i];
        PyObject *copy = x->of ? x->of->copy : NULL;
        if (!copy)
            continue;
        if (x->kind == JPY_WRITE_CLEAR)
            PyDict_Clear(copy);
        else if ((x->v ? PyDict_SetItem(copy, x->key, x->v) : PyDict_DelItem(copy, x->key)) < 0)
            return false;
    }
    return true;
}

/* ---- what is let go of --------------------------------------------------------------------------
 */

typedef struct replacing { /* what jpy_dying.own is asked with */
    const jpy_writes *w;
    const jpy_making *m;
    const jpy_host *host;
    const jpy_copies *copies;
} replacing;

static int own(PyObject *o, void *d) {
    jpy_own_goes(d, o);
    return 0;
}

static void run_goes(jpy_dying *d, const void *ctx) {
    const replacing *x = ctx;
    const jpy_making *m = x->m;
    const jpy_entry *e = m->e;
    for (size_t i = 0; i < x->host->held.n; i++)
        jpy_own_goes(d, x->host->held.data[i]);
    for (size_t i = 0; i < e->guards.srcs.n; i++) {
        jpy_own_goes(d, m->slots[i]);
        if (x->copies) /* the call has them, and so has what compares it */
            jpy_own_goes(d, m->slots[i]);
    }
    for (size_t i = 0; e->n_stages && i < e->inputs.n; i++) /* the node of its results has them */
        jpy_own_goes(d, m->slots[e->inputs.data[i].slot]);
    for (unsigned i = 0; i < e->n_results; i++) {
        if (m->results[i].kind == JANUS_KIND_OBJECT)
            jpy_own_goes(d, m->results[i].o);
        else if (m->results[i].kind == JANUS_KIND_TENSOR)
            jpy_own_goes(d, m->results[i].object);
    }
    for (size_t i = 0; i < e->steps.n + e->n_recipes + 1; i++)
        jpy_own_goes(d, m->values[i]);
    for (size_t i = 0; i < x->w->all.n; i++) {
        jpy_own_goes(d, x->w->all.data[i].key);
        jpy_own_goes(d, x->w->all.data[i].v);
    }
    for (size_t i = 0; x->copies && i < x->copies->n; i++) {
        PyObject *copy = x->copies->data[i].copy;
        jpy_own_goes(d, x->copies->data[i].o);
        if (copy && Py_TYPE(copy)->tp_traverse)
            Py_TYPE(copy)->tp_traverse(copy, own, d);
    }
}

static void attr_goes(jpy_dying *d, const jpy_write *x) {
    PyObject *v = jpy_plain_attr(x->o, x->key);
    if (v && !jpy_is_quiet(v) && Py_REFCNT(v) > 1) { /* else it was made by being read */
        Py_DECREF(v);
        jpy_goes(d, v);
    } else {
        Py_XDECREF(v);
    }
}

static void pair_goes(jpy_dying *d, const jpy_write *x) {
    PyObject *v = PyDict_GetItemWithError(x->o, x->key);
    PyErr_Clear();
    jpy_goes(d, v);
    if (v && !x->v)
        jpy_goes(d, x->key);
}

static void all_goes(jpy_dying *d, PyObject *o) {
    Py_ssize_t pos = 0;
    PyObject *k, *v;
    for (Py_ssize_t i = 0; PyList_Check(o) && i < PyList_GET_SIZE(o); i++)
        jpy_goes(d, PyList_GET_ITEM(o, i));
    while (PyDict_Check(o) && PyDict_Next(o, &pos, &k, &v)) {
        jpy_goes(d, k);
        jpy_goes(d, v);
    }
}

/* Of a list from which items are popped they go from its end, whatever is put there meanwhile. */
static void last_goes(jpy_dying *d, const jpy_write *x) {
    if (x->of && !x->of->all_go && x->of->popped < PyList_GET_SIZE(x->o))
        jpy_goes(d, PyList_GET_ITEM(x->o, PyList_GET_SIZE(x->o) - ++x->of->popped));
}

/* An item at any other place: which one of the list as it is, what came before decides. */
static void one_goes(jpy_dying *d, const jpy_write *x) {
    if (!x->of || x->of->all_go)
        return;
    x->of->all_go = true;
    all_goes(d, x->o);
}

static void replaced(jpy_dying *d, const jpy_write *x) {
    switch (x->kind) {
    case JPY_WRITE_ATTR:
        attr_goes(d, x);
        break;
    case JPY_WRITE_KEY:
        pair_goes(d, x);
        break;
    case JPY_WRITE_CLEAR:
    case JPY_WRITE_LIST:
        all_goes(d, x->o);
        break;
    case JPY_WRITE_ITEM:
        if (x->index < PyList_GET_SIZE(x->o))
            jpy_goes(d, PyList_GET_ITEM(x->o, x->index));
        break;
    case JPY_WRITE_POP:
        last_goes(d, x);
        break;
    case JPY_WRITE_DEL:
        one_goes(d, x);
        break;
    case JPY_WRITE_GRAD:
        jpy_goes(d, ((jpy_tensor *)x->o)->grad);
        break;
    case JPY_WRITE_DATA: /* the program's own memory may tell somebody */
        d->loud = d->loud || ((jpy_tensor *)x->o)->t->storage->release;
        break;
    case JPY_WRITE_APPEND:
    case JPY_WRITE_INSERT:
    case JPY_WRITE_FLAG:
    case JPY_WRITE_STORE:
        break;
    }
}

bool jpy_writes_are_quiet(jpy_writes *w, const jpy_making *m, const jpy_host *host,
                          const jpy_copies *copies) {
    const replacing ctx = {w, m, host, copies};
    jpy_dying d = {.own = run_goes, .ctx = &ctx};
    for (size_t i = 0; i < w->all.n && !d.loud; i++) {
        jpy_write *x = &w->all.data[i];
        bool taken = x->kind == JPY_WRITE_POP || x->kind == JPY_WRITE_DEL;
        if (taken && !(x->of = target(w, x->o)))
            d.loud = true;
        if (x->kind == JPY_WRITE_KEY && jpy_key_asks(x->o, x->key)) {
            d.loud = true;
            break;
        }
        replaced(&d, x);
    }
    if (d.asked || d.todo.n) /* with what goes, what variables hold may go */
        for (size_t i = 0; i < JPY_HELD_TWICE * jpy_variables.n && !d.loud; i++)
            jpy_goes(&d, jpy_variables.objects[i / JPY_HELD_TWICE]);
    return jpy_dies_quietly(&d);
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

static bool ready_store(jpy_write *x) {
    janus_tensor *value;
    if (jn_tensor_is_rows(x->value))
        return true;
    if (jn_tensor_ready_copy(x->target, x->value, &value) != JANUS_OK)
        return false;
    janus_tensor_release(x->value);
    x->value = value;
    return true;
}

bool jpy_writes_ready(jpy_writes *w) {
    for (size_t i = 0; i < w->all.n; i++)
        if (w->all.data[i].kind == JPY_WRITE_STORE && !ready_store(&w->all.data[i]))
            return false;
    if (!jn_vec_reserve(&w->dropped, w->all.n) || !find_targets(w))
        return false;
    if (w->targets && (!find_moves(w) || !copy_dicts(w)))
        return false;
    for (const jpy_target *t = w->targets; t; t = t->hh.next)
        if (t->appends && !jpy_list_reserve(t->o, PyList_GET_SIZE(t->o) + t->appends))
            return false;
    return true;
}
