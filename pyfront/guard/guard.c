/* SPDX-License-Identifier: Apache-2.0 */
/* The guard program: reading sources and checking them. See guard.h. */
#include "pyfront/guard/guard.h"

#include <string.h>

#include "pyfront/guard/look.h"
#include "pyfront/methods/methods.h"
#include "pyfront/op/op.h"
#include "pyfront/tensor/tensor.h"

void jpy_guards_init(jpy_guards *g) {
    memset(g, 0, sizeof *g);
    jn_arena_init(&g->arena, 4096);
}

void jpy_guards_free(jpy_guards *g) {
    for (size_t i = 0; i < g->owned.n; i++)
        Py_DECREF(g->owned.data[i]);
    jn_vec_free(&g->owned);
    jpy_fast_free(&g->fast);
    jpy_type_wants_free(g);
    jn_vec_free(&g->srcs);
    jn_free(g->found);
    jn_vec_free(&g->identity);
    jn_vec_free(&g->written);
    jn_vec_free(&g->bound);
    jn_arena_free(&g->arena);
}

PyObject *jpy_guards_own(jpy_guards *g, PyObject *o) {
    if (!o)
        return NULL;
    if (jn_vec_push(&g->owned, o))
        Py_INCREF(o);
    return o; /* else the conversion holds it, and its entry is not used */
}

void jpy_guards_ident(jpy_guards *g, jpy_src *s, PyObject *o) {
    bool lasts = PyType_Check(o) || PyModule_Check(o) || !Py_TYPE(o)->tp_weaklistoffset;
    PyObject *ref = lasts ? NULL : PyWeakref_NewRef(o, NULL);
    PyErr_Clear();
    s->checks |= JPY_CHECK_IDENT;
    s->weak = ref != NULL;
    s->ident = jpy_guards_own(g, ref ? ref : o);
    Py_XDECREF(ref);
}

bool jpy_guards_distinct(jpy_guards *g, uint32_t slot) {
    jpy_src *s = g->srcs.data[slot];
    return s->distinct || (s->distinct = jn_vec_push(&g->identity, slot));
}

static bool key_equal(PyObject *a, PyObject *b) {
    if (a == b)
        return true;
    return a && b && PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b) &&
           PyUnicode_Compare(a, b) == 0;
}

static size_t hash_of(jpy_src_kind kind, const jpy_src *parent, const PyObject *obj, PyObject *key,
                      int64_t index) {
    uint64_t h = key && PyUnicode_CheckExact(key) ? (uint64_t)PyObject_Hash(key) : (uintptr_t)key;
    const uint64_t parts[] = {(uint64_t)kind, (uintptr_t)parent, (uintptr_t)obj, (uint64_t)index};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        h = (h ^ (h >> 29) ^ parts[i]) * 0x9E3779B97F4A7C15u; /* 2^64 by the golden ratio */
    return (size_t)(h ^ (h >> 32));
}

/* The first open place for a hash. */
static uint32_t *open_place(const jpy_guards *g, size_t hash) {
    size_t at = hash & (g->n_found - 1);
    while (g->found[at])
        at = (at + 1) & (g->n_found - 1);
    return &g->found[at];
}

/* Keeps the table half empty. */
static bool room_for_source(jpy_guards *g) {
    if (2 * (g->srcs.n + 1) <= g->n_found)
        return true;
    uint32_t n = g->n_found ? 2 * g->n_found : 64;
    uint32_t *found = jn_calloc(n, sizeof *found);
    if (!found)
        return false;
    jn_free(g->found);
    g->found = found;
    g->n_found = n;
    for (size_t i = 0; i < g->srcs.n; i++) {
        const jpy_src *s = g->srcs.data[i];
        *open_place(g, hash_of(s->kind, s->parent, s->obj, s->key, s->index)) = (uint32_t)i + 1;
    }
    return true;
}

jpy_src *jpy_src_get(jpy_guards *g, jpy_src_kind kind, jpy_src *parent, PyObject *obj,
                     PyObject *key, int64_t index) {
    size_t hash = hash_of(kind, parent, obj, key, index);
    for (size_t at = hash; g->n_found && g->found[at & (g->n_found - 1)]; at++) {
        jpy_src *s = g->srcs.data[g->found[at & (g->n_found - 1)] - 1];
        if (s->kind == kind && s->parent == parent && s->obj == obj && s->index == index &&
            key_equal(s->key, key))
            return s;
    }
    jpy_src *s = jn_arena_zalloc(&g->arena, sizeof *s);
    if (!s || !room_for_source(g) || !jn_vec_push(&g->srcs, s))
        return NULL;
    *open_place(g, hash) = (uint32_t)g->srcs.n;
    *s = (jpy_src){.kind = kind,
                   .slot = (uint32_t)g->srcs.n - 1,
                   .parent = parent,
                   .obj = jpy_guards_own(g, obj),
                   .key = jpy_guards_own(g, key),
                   .index = index};
    return s;
}

jpy_src *jpy_src_by_object(jpy_guards *g, jpy_src *dict, PyObject *key) {
    bool bare = !PyObject_IS_GC(key); /* it refers to nothing that could be missed */
    if (PyType_Check(key) || PyModule_Check(key) || bare)
        return jpy_src_get(g, JPY_SRC_KEY, dict, NULL, key, 0);
    PyObject *ref = PyWeakref_NewRef(key, NULL);
    jpy_src *s = ref ? jpy_src_get(g, JPY_SRC_KEY, dict, NULL, ref, 0) : NULL;
    PyErr_Clear();
    Py_XDECREF(ref);
    if (s)
        s->weak_key = true;
    return s;
}

jpy_src *jpy_src_by_source(jpy_guards *g, jpy_src *dict, jpy_src *key) {
    jpy_src *s = jpy_src_get(g, JPY_SRC_KEY, dict, NULL, NULL, (int64_t)key->slot + 1);
    if (s)
        s->by = key;
    return s;
}

static PyObject *item_of(PyObject *o, int64_t index) {
    bool list = PyList_CheckExact(o), has = list || PyTuple_Check(o);
    Py_ssize_t n = has ? Py_SIZE(o) : 0, at = jpy_item_at(index, n);
    return at < 0 || at >= n ? NULL : list ? PyList_GET_ITEM(o, at) : PyTuple_GET_ITEM(o, at);
}

PyObject *jpy_src_read(const jpy_src *s, PyObject *parent, PyObject *by, const jpy_call *call) {
    switch (s->kind) {
    case JPY_SRC_ARG:
        return call->args[s->index];
    case JPY_SRC_CONST:
        return s->key;
    case JPY_SRC_GLOBAL:
        return jpy_key_value(s->obj, s->key);
    case JPY_SRC_CELL:
        return parent && PyTuple_CheckExact(parent) && s->index < PyTuple_GET_SIZE(parent)
                   ? PyCell_GET(PyTuple_GET_ITEM(parent, s->index))
                   : NULL;
    case JPY_SRC_ATTR:
        if (!parent)
            return NULL;
        if (s->how == JPY_ATTR_PLAIN)
            return jpy_generic_attr(parent, s->key);
        if (s->how != JPY_ATTR_MODULE)
            return jpy_own_attr(parent, s->key, s->how, s->offset);
        {
            PyObject *d = jpy_module_check(parent) ? ((jpy_module *)parent)->dict : NULL;
            return d ? jpy_key_value(d, s->key) : NULL;
        }
    case JPY_SRC_TYPE:
        return _PyType_Lookup((PyTypeObject *)s->obj, s->key);
    case JPY_SRC_ITEM:
        return parent ? item_of(parent, s->index) : NULL;
    case JPY_SRC_KEY:
        by = s->by ? by : jpy_src_key(s);
        return parent && PyDict_Check(parent) && by ? jpy_key_value(parent, by) : NULL;
    case JPY_SRC_FUNC:
        if (!parent || !PyFunction_Check(parent))
            return NULL;
        return *jpy_function_part(parent, s->index);
    case JPY_SRC_GRAD:
        if (!parent || !jpy_tensor_check(parent))
            return NULL;
        /* maybe rows: filled where it is bound or returned */
        return ((jpy_tensor *)parent)->grad ? ((jpy_tensor *)parent)->grad : Py_None;
    }
    return NULL;
}

PyObject *jpy_src_now(const jpy_src *s, const jpy_call *call) {
    PyObject *parent = s->parent ? jpy_src_now(s->parent, call) : NULL;
    PyObject *by = s->by ? jpy_src_now(s->by, call) : NULL;
    return s->parent && !parent ? NULL : jpy_src_read(s, parent, by, call);
}

void jpy_src_check_type(jpy_guards *g, jpy_src *s, PyTypeObject *t) {
    s->checks |= JPY_CHECK_TYPE;
    s->type = jpy_guards_type(g, t);
    if (s->type)
        s->type->guarded = true;
}

void jpy_src_check_tensor(jpy_guards *g, jpy_src *s, PyObject *o) {
    if (s->checks & JPY_CHECK_TENSOR)
        return;
    jpy_tensor *p = (jpy_tensor *)o;
    janus_tensor *t = p->t;
    s->checks |= JPY_CHECK_TENSOR;
    size_t bytes = (size_t)t->rank * sizeof(int64_t);
    s->tensor = (jpy_tensor_want){t->dtype,
                                  jpy_tensor_tracked(p),
                                  jpy_tensor_is_leaf(p),
                                  t->contiguous,
                                  p->base && !jpy_tensor_is_leaf(p),
                                  false,
                                  jpy_tensor_hooked(p),
                                  t->rank,
                                  jn_arena_dup(&g->arena, t->dims, bytes + !bytes),
                                  jn_arena_dup(&g->arena, t->strides, bytes + !bytes),
                                  NULL,
                                  0,
                                  p->node || jpy_tensor_hooked(p) ? 0 : jn_tensor_form(t)};
    s->want = jpy_guards_own(g, (PyObject *)Py_TYPE(o));
}

bool jpy_layout_of(int rank, const int64_t *dims, const int64_t *strides, jpy_layout *out) {
    *out = (jpy_layout){.gaps = 0};
    for (int i = 0; i < rank; i++) {
        int at = i;
        for (; at > 0 && strides[out->order[at - 1]] < strides[i]; at--)
            out->order[at] = out->order[at - 1];
        out->order[at] = (uint8_t)i;
        if (dims[i] < 2)
            return false;
    }
    int64_t least = 1;
    for (int i = rank; i-- > 0;) {
        int64_t step = strides[out->order[i]];
        if (step == 0) {
            out->spread |= (uint32_t)1 << out->order[i];
            continue;
        }
        if (step < least)
            return false;
        out->gaps |= (uint32_t)(step > least) << i;
        least = step * dims[out->order[i]];
    }
    return true;
}

static bool same_layout(const jpy_tensor_want *w, const janus_tensor *t) {
    jpy_layout a, b;
    return t->contiguous || (jpy_layout_of(w->rank, w->dims, w->strides, &a) &&
                             jpy_layout_of(t->rank, t->dims, t->strides, &b) &&
                             memcmp(a.order, b.order, (size_t)t->rank) == 0 && a.gaps == b.gaps &&
                             a.spread == b.spread);
}

/* Dims where some may be of any size: sizes that were always equal still are. */
static bool dims_hold(const jpy_tensor_want *w, const janus_tensor *t, PyObject *const *slots) {
    int from = 0;
    for (unsigned i = 0; i < w->n_any; i++) {
        const jpy_any_dim *a = &w->any[i];
        const jpy_tensor *other = (const jpy_tensor *)slots[a->slot]; /* NULL: it fails itself */
        if (!other || t->dims[a->axis] < 2 || t->dims[a->axis] != other->t->dims[a->of])
            return false;
        for (; from < a->axis; from++)
            if (t->dims[from] != w->dims[from])
                return false;
        from = a->axis + 1;
    }
    return memcmp(t->dims + from, w->dims + from, (size_t)(w->rank - from) * sizeof *w->dims) ==
               0 &&
           same_layout(w, t);
}

/* All but dims and strides. */
static bool kind_holds(const jpy_src *s, PyObject *v) {
    if ((PyObject *)Py_TYPE(v) != s->want)
        return false;
    const jpy_tensor *p = (const jpy_tensor *)v;
    const janus_tensor *t = p->t;
    const jpy_tensor_want *w = &s->tensor;
    bool leaf = jpy_tensor_is_leaf(p);
    return t->dtype == w->dtype && t->rank == w->rank && t->contiguous == w->contiguous &&
           jpy_tensor_tracked(p) == w->requires_grad && leaf == w->leaf &&
           (p->base && !leaf) == w->part && !(p->base && w->alone) &&
           jpy_tensor_hooked(p) == w->hooked;
}

static bool tensor_holds(const jpy_src *s, PyObject *v, PyObject *const *slots) {
    if (!kind_holds(s, v))
        return false;
    const janus_tensor *t = ((const jpy_tensor *)v)->t;
    const jpy_tensor_want *w = &s->tensor;
    size_t bytes = (size_t)w->rank * sizeof(int64_t);
    if (w->n_any)
        return dims_hold(w, t, slots);
    for (int d = 0; d < w->rank; d++) /* few: a call takes longer */
        if (t->dims[d] != w->dims[d])
            return false;
    return w->contiguous || !bytes || memcmp(t->strides, w->strides, bytes) == 0;
}

static bool length_holds(const jpy_src *s, PyObject *v) {
    if (PyList_Check(v) || PyTuple_Check(v))
        return Py_SIZE(v) == s->number;
    return PyDict_Check(v) && PyDict_GET_SIZE(v) == s->number;
}

static bool has_items(const jpy_src *s, PyObject *v) {
    return PyDict_Check(v) ? PyDict_GET_SIZE(v) >= s->number
                           : (PyList_Check(v) || PyTuple_Check(v)) && Py_SIZE(v) >= s->number;
}

static bool keys_hold(PyObject *keys, PyObject *dict) {
    if (!PyDict_Check(dict) || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys))
        return false;
    Py_ssize_t pos = 0, i = 0;
    PyObject *k, *v;
    if (PyODict_Check(dict)) { /* its order is not that of its table */
        PyObject *now = jpy_keys_of(dict);
        bool same = now && PyList_GET_SIZE(now) == PyTuple_GET_SIZE(keys);
        for (; same && i < PyTuple_GET_SIZE(keys); i++)
            same = jpy_same_value(PyTuple_GET_ITEM(keys, i), PyList_GET_ITEM(now, i));
        PyErr_Clear();
        Py_XDECREF(now);
        return same;
    }
    while (PyDict_Next(dict, &pos, &k, &v)) {
        PyObject *w = PyTuple_GET_ITEM(keys, i++);
        if (k != w && !jpy_same_value(w, k))
            return false;
    }
    return true;
}

static bool type_holds(const jpy_src *s, PyObject *v) {
    return !(s->checks & JPY_CHECK_TYPE) ||
           (s->type && Py_TYPE(v) == s->type->type && jpy_type_holds(s->type));
}

bool jpy_src_holds(const jpy_src *s, PyObject *v, PyObject *const *slots) {
    uint32_t c = s->checks;
    if (c & JPY_CHECK_ABSENT)
        return !v && !jpy_src_asks(s, jpy_src_in(s->parent, slots), jpy_src_in(s->by, slots));
    if (!v)
        return false;
    if (c == JPY_CHECK_TENSOR)
        return tensor_holds(s, v, slots);
    if ((c & JPY_CHECK_IDENT) && v != jpy_src_ident(s))
        return false;
    if (!type_holds(s, v))
        return false;
    if ((c & JPY_CHECK_CONST) && !jpy_same_value(s->want, v))
        return false;
    if ((c & JPY_CHECK_TENSOR) && !tensor_holds(s, v, slots))
        return false;
    if ((c & JPY_CHECK_LEN) && !length_holds(s, v))
        return false;
    if ((c & JPY_CHECK_SOME) && !has_items(s, v))
        return false;
    if ((c & JPY_CHECK_CODE) && (!PyFunction_Check(v) || PyFunction_GET_CODE(v) != s->want2 ||
                                 PyFunction_GET_GLOBALS(v) != s->want))
        return false;
    if ((c & JPY_CHECK_SAME) && v != slots[s->same])
        return false;
    if ((c & JPY_CHECK_KEYS) && !keys_hold(s->want2, v))
        return false;
    if (c & JPY_CHECK_INT) {
        int overflow = 0;
        if (!PyLong_CheckExact(v))
            return false;
        PyLong_AsLongLongAndOverflow(v, &overflow);
        if (overflow)
            return false;
    }
    if ((c & JPY_CHECK_VERSION) && (!s->type || !jpy_type_holds(s->type)))
        return false;
    if ((c & JPY_CHECK_BOOL) && !PyBool_Check(v))
        return false;
    return !(c & JPY_CHECK_FLOAT) || PyFloat_CheckExact(v);
}

PyObject *jpy_abc_token(void) {
    static PyObject *get;
    PyObject *m = get ? NULL : PyImport_ImportModule("_abc");
    if (!get)
        get = m ? PyObject_GetAttrString(m, "get_cache_token") : NULL;
    Py_XDECREF(m);
    return get ? PyObject_CallNoArgs(get) : NULL;
}

static bool same_abc(PyObject *was) {
    PyObject *now = jpy_abc_token();
    bool same = now && PyObject_RichCompareBool(now, was, Py_EQ) == 1;
    PyErr_Clear();
    Py_XDECREF(now);
    return same;
}

bool jpy_guards_called_so(const jpy_guards *g, const jpy_call *call) {
    Py_ssize_t n_kw = call->kwnames ? PyTuple_GET_SIZE(call->kwnames) : 0;
    if (call->n_pos != g->n_pos || n_kw != (g->kwnames ? PyTuple_GET_SIZE(g->kwnames) : 0) ||
        g->grad_mode != jpy_grad_enabled() || g->autocast != jpy_autocast_word ||
        (g->abc_token && !same_abc(g->abc_token)))
        return false;
    for (Py_ssize_t i = 0; i < n_kw; i++)
        if (!key_equal(PyTuple_GET_ITEM(call->kwnames, i), PyTuple_GET_ITEM(g->kwnames, i)))
            return false;
    return true;
}

/* A table of addresses, of a power of two of places. */
typedef struct seen {
    const void **at;
    uint32_t *owner;
    size_t mask;
    int shift;
} seen;

/* The place of p, or the free one where it belongs. */
static size_t place_of(const seen *s, const void *p) {
    size_t h = (size_t)(((uintptr_t)p >> 4) * 11400714819323198485u >> s->shift);
    while (s->at[h] && s->at[h] != p)
        h = (h + 1) & s->mask;
    return h;
}

static bool aliases_in(const jpy_guards *g, PyObject *const *slots, bool identity, seen *s) {
    size_t bytes = (s->mask + 1) * sizeof *s->at;
    if (identity && g->identity.n > 1) {
        memset(s->at, 0, bytes);
        for (size_t i = 0; i < g->identity.n; i++) {
            const void *p = slots[g->identity.data[i]];
            size_t h = place_of(s, p);
            if (s->at[h])
                return false;
            s->at[h] = p;
        }
    }
    if (!g->written.n)
        return true;
    memset(s->at, 0, bytes);
    for (size_t i = 0; i < g->written.n; i++) {
        const void *p = ((const jpy_tensor *)slots[g->written.data[i]])->t->storage;
        size_t h = place_of(s, p);
        if (s->at[h])
            return false;
        s->at[h] = p;
        s->owner[h] = g->written.data[i];
    }
    for (size_t i = 0; i < g->bound.n; i++) {
        size_t h = place_of(s, ((const jpy_tensor *)slots[g->bound.data[i]])->t->storage);
        if (s->at[h] && s->owner[h] != g->bound.data[i])
            return false;
    }
    return true;
}

/* Pairwise tests through a small table of addresses. */
static bool aliases_hold(const jpy_guards *g, PyObject *const *slots, bool identity) {
    enum { FEW = 1024 };
    const void *few[FEW];
    uint32_t few_owners[FEW];
    size_t n = g->identity.n > g->written.n ? g->identity.n : g->written.n;
    seen s = {few, few_owners, 15, 60}; /* it is cleared twice: not larger than need be */
    while (s.mask + 1 < 4 * n) {
        s.mask = 2 * s.mask + 1;
        s.shift--;
    }
    if (s.mask < FEW)
        return aliases_in(g, slots, identity, &s);
    char *memory = PyMem_Malloc((s.mask + 1) * (sizeof *s.at + sizeof *s.owner));
    if (!memory)
        return false;
    s.at = (const void **)(void *)memory;
    s.owner = (uint32_t *)(void *)(s.at + s.mask + 1);
    bool hold = aliases_in(g, slots, identity, &s);
    PyMem_Free(memory);
    return hold;
}

/* Whether bound tensors are where those were of which the graph was made. */
static bool device_holds(const jpy_guards *g, PyObject *const *slots) {
    for (size_t i = 0; g->device && i < g->bound.n; i++)
        if ((((jpy_tensor *)slots[g->bound.data[i]])->t->storage->device != NULL) !=
            (g->device == 2))
            return false;
    return true;
}

/* Which tensors are one, and where they are. */
static bool tensors_hold(const jpy_guards *g, PyObject *const *slots, bool aliases) {
    return aliases_hold(g, slots, aliases) &&
           (!JN_UNLIKELY(jn_dev_in_use) || device_holds(g, slots));
}

int jpy_guards_run(jpy_guards *g, const jpy_call *call, PyObject **slots) {
    if (!jpy_guards_called_so(g, call))
        return 1;
    if (JN_UNLIKELY(g->suspect != NULL)) {
        const jpy_src *s = g->suspect;
        if (jpy_suspect_fails(g, call, slots))
            return (int)s->slot + 1;
    }
    if (g->fast.valid && jpy_fast_run(g, call, slots)) {
        g->known = g->fast.known;
        return tensors_hold(g, slots, g->fast.aliases) ? 0 : (int)g->srcs.n + 1;
    }
    g->known = 0;
    for (size_t i = 0; i < g->srcs.n; i++) {
        const jpy_src *s = g->srcs.data[i];
        PyObject *v = jpy_src_read_quick(s, slots, call);
        slots[i] = v;
        if (!jpy_src_holds_quick(s, v, slots)) {
            jpy_guards_failed(g, s);
            return (int)i + 1;
        }
    }
    if (!tensors_hold(g, slots, true))
        return (int)g->srcs.n + 1;
    if (g->fast_wait) {
        g->fast_wait--;
    } else { /* the more often it was in vain, the more seldom */
        jpy_fast_learn(g, slots);
        g->known = g->fast.known;
        g->fast_wait = g->fast_pause;
        g->fast_pause = g->fast_pause < 1024 ? 2 * g->fast_pause + 1 : g->fast_pause;
    }
    return 0;
}

static PyObject *tuple_of_dims(const int64_t *dims, int rank) {
    PyObject *t = PyTuple_New(rank);
    for (int i = 0; t && i < rank; i++) {
        PyObject *d = PyLong_FromLongLong(dims[i]);
        if (d)
            PyTuple_SET_ITEM(t, i, d);
        else
            Py_CLEAR(t);
    }
    return t;
}

static void add_dims(PyObject *dims, const jpy_src *s, PyObject *v) {
    const jpy_tensor_want *w = &s->tensor;
    PyObject *path = jpy_src_path(s, false);
    PyObject *pair = Py_BuildValue("NN", tuple_of_dims(w->dims, w->rank),
                                   tuple_of_dims(((jpy_tensor *)v)->t->dims, w->rank));
    if (!path || !pair || PyDict_SetItem(dims, path, pair) < 0)
        PyErr_Clear();
    Py_XDECREF(path);
    Py_XDECREF(pair);
}

bool jpy_src_in_sequence(const jpy_src *s) {
    while (s->kind == JPY_SRC_KEY && s->parent)
        s = s->parent;
    return s->kind == JPY_SRC_ITEM;
}

static void add_number(PyObject *numbers, const jpy_src *s) {
    PyObject *path = jpy_src_path(s, true);
    if (!path || PySet_Add(numbers, path) < 0)
        PyErr_Clear();
    Py_XDECREF(path);
}

/* An object of another type, or another object, in a list: its items are of several kinds, and a
 * graph for each row of kinds is one too many.  The outermost list is what is gone through. */
static void add_list_of(PyObject *lengths, const jpy_src *s) {
    const jpy_src *list = NULL;
    for (; s->parent; s = s->parent)
        if (s->kind == JPY_SRC_ITEM && (s->parent->checks & JPY_CHECK_LEN))
            list = s->parent;
    PyObject *path = list ? jpy_src_length(list) : NULL;
    if (path && PySet_Add(lengths, path) < 0)
        PyErr_Clear();
    Py_XDECREF(path);
}

void jpy_guards_failing(const jpy_guards *g, const jpy_call *call, PyObject *numbers,
                        PyObject *lengths, PyObject *dicts, PyObject *dims) {
    if (!jpy_guards_called_so(g, call))
        return;
    PyObject **slots = jn_calloc(g->srcs.n + 1, sizeof *slots);
    for (size_t i = 0; slots && i < g->srcs.n; i++) {
        const jpy_src *s = g->srcs.data[i];
        slots[i] =
            s->parent && !slots[s->parent->slot]
                ? NULL
                : jpy_src_read(s, jpy_src_in(s->parent, slots), jpy_src_in(s->by, slots), call);
        if (!slots[i] || jpy_src_holds(s, slots[i], slots))
            continue;
        if (!type_holds(s, slots[i])) { /* what was an attribute may be a property now */
            add_list_of(lengths, s);
            slots[i] = NULL;
            continue;
        }
        bool dict = PyDict_CheckExact(slots[i]);
        bool sized = dict || PyList_CheckExact(slots[i]) || PyTuple_CheckExact(slots[i]);
        if ((s->checks & JPY_CHECK_LEN) && sized && !length_holds(s, slots[i])) {
            PyObject *path = jpy_src_length(s);
            if (!path || PySet_Add(dict ? dicts : lengths, path) < 0)
                PyErr_Clear();
            Py_XDECREF(path);
        } else if ((s->checks & JPY_CHECK_CONST) && s->want &&
                   Py_TYPE(s->want) == Py_TYPE(slots[i])) {
            add_number(numbers, s);
        } else if ((s->checks & JPY_CHECK_IDENT) && !s->weak && PyBool_Check(s->ident) &&
                   PyBool_Check(slots[i]) && jpy_src_in_sequence(s)) {
            add_number(numbers, s);
        } else if ((s->checks & JPY_CHECK_TENSOR) && kind_holds(s, slots[i]) &&
                   same_layout(&s->tensor, ((jpy_tensor *)slots[i])->t)) {
            /* a parameter of an object has other dims where the object is another one: its dims are
             * those of a model, not of data */
            if (!s->parent || !s->tensor.requires_grad || !s->tensor.leaf)
                add_dims(dims, s, slots[i]);
        } else {
            slots[i] = NULL; /* what lies behind is of no use */
        }
    }
    jn_free(slots);
}

PyObject *jpy_src_path(const jpy_src *s, bool general) {
    PyObject *up = s->parent ? jpy_src_path(s->parent, general) : NULL, *out = NULL;
    if (s->parent && !up)
        return NULL;
    switch (s->kind) {
    case JPY_SRC_ARG:
        out = PyUnicode_FromFormat("argument %lld", (long long)s->index);
        break;
    case JPY_SRC_CONST:
        out = PyUnicode_FromFormat("<%s>", Py_TYPE(s->key)->tp_name);
        break;
    case JPY_SRC_GLOBAL:
        out = PyUnicode_FromFormat("global %U", s->key);
        break;
    case JPY_SRC_CELL:
        out = PyUnicode_FromFormat("%U cell %lld", up, (long long)s->index);
        break;
    case JPY_SRC_TYPE:
        out = PyUnicode_FromFormat("class %s.%U", ((PyTypeObject *)s->obj)->tp_name, s->key);
        break;
    case JPY_SRC_ATTR:
        out = PyUnicode_FromFormat("%U.%U", up, s->key);
        break;
    case JPY_SRC_ITEM:
        out = general ? PyUnicode_FromFormat("%U[*]", up)
                      : PyUnicode_FromFormat("%U[%lld]", up, (long long)s->index);
        break;
    case JPY_SRC_KEY:
        if (s->key && PyUnicode_Check(s->key))
            out = PyUnicode_FromFormat("%U[\"%U\"]", up, s->key);
        else
            out = PyUnicode_FromFormat("%U[<key>]", up);
        break;
    case JPY_SRC_FUNC:
        out = PyUnicode_FromFormat("%U:%lld", up, (long long)s->index);
        break;
    case JPY_SRC_GRAD:
        out = PyUnicode_FromFormat("%U.grad", up);
        break;
    }
    Py_XDECREF(up);
    return out;
}

PyObject *jpy_src_length(const jpy_src *s) {
    PyObject *path = jpy_src_path(s, true);
    PyObject *out = path ? PyUnicode_FromFormat("length of %U", path) : NULL;
    Py_XDECREF(path);
    return out;
}
