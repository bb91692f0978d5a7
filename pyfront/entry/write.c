/* SPDX-License-Identifier: Apache-2.0 */
/* The writes of a commit: see write.h. */
#include "pyfront/entry/write.h"

#include "exec/store/store.h"
#include "pyfront/entry/host.h"
#include "pyfront/tensor/tensor.h"

/* ---- the list -----------------------------------------------------------------------------------
 */

static jpy_write *add(jpy_writes *w, jpy_write_kind kind, PyObject *o) {
    jpy_write one = {.kind = kind, .o = o};
    return jn_vec_push(&w->all, one) ? &w->all.data[w->all.n - 1] : NULL;
}

static bool add_keyed(jpy_writes *w, jpy_write_kind kind, PyObject *o, PyObject *key, PyObject *v) {
    jpy_write *x = add(w, kind, o);
    if (!x)
        return false;
    x->key = Py_NewRef(key);
    x->v = Py_XNewRef(v);
    return true;
}

/* Of all that is said of a generator the last holds. */
static bool add_drawn(jpy_writes *w, PyObject *o, PyObject *v) {
    jpy_drawn one = {o, PyLong_AsLongLong(v)};
    size_t i = 0;
    while (i < w->drawn.n && w->drawn.data[i].o != o)
        i++;
    if (i < w->drawn.n)
        w->drawn.data[i] = one;
    return !PyErr_Occurred() && jpy_twister_of(o) &&
           (i < w->drawn.n || jn_vec_push(&w->drawn, one));
}

static bool add_pairs(jpy_writes *w, PyObject *dict, PyObject *pairs) {
    Py_ssize_t pos = 0;
    PyObject *k, *v;
    while (PyDict_Next(pairs, &pos, &k, &v))
        if (!add_keyed(w, JPY_WRITE_KEY, dict, k, v))
            return false;
    return true;
}

/* The dict gets exactly these pairs.  Keys that stay are not moved: an iterator of the program's
 * that is under way goes by places.  The last `put` were put in when they were not in it (any
 * more). */
static bool add_whole(jpy_writes *w, PyObject *dict, PyObject *pairs, Py_ssize_t put) {
    Py_ssize_t at = 0, pos = 0, stay = PyDict_GET_SIZE(pairs) - put;
    PyObject *k, *next = NULL;
    bool more = stay-- > 0 && PyDict_Next(pairs, &at, &next, NULL);
    while (PyDict_Next(dict, &pos, &k, NULL)) {
        int same = more ? PyObject_RichCompareBool(k, next, Py_EQ) : 0;
        if (same < 0)
            return false;
        if (same)
            more = stay-- > 0 && PyDict_Next(pairs, &at, &next, NULL);
        else if (!add_keyed(w, JPY_WRITE_KEY, dict, k, NULL))
            return false;
    }
    return add_pairs(w, dict, pairs);
}

static jpy_write *add_store(jpy_writes *w, janus_tensor *target, janus_tensor *value) {
    jpy_write *x = add(w, JPY_WRITE_STORE, NULL);
    if (!x)
        return NULL;
    x->target = target;
    x->value = value;
    janus_tensor_retain(value);
    return x;
}

static bool add_step(jpy_writes *w, const jpy_making *m, const jpy_commit_step *s, PyObject *v) {
    PyObject *o = m->slots[s->slot];
    jpy_write *x;
    switch (s->kind) {
    case JPY_COMMIT_ATTR:
        if (jpy_is_drawn(s->key))
            return add_drawn(w, o, v);
        return add_keyed(w, JPY_WRITE_ATTR, o, s->key, v);
    case JPY_COMMIT_DEL:
        return add_keyed(w, JPY_WRITE_ATTR, o, s->key, NULL);
    case JPY_COMMIT_GRAD:
        x = add(w, JPY_WRITE_GRAD, o);
        if (x && v != Py_None)
            x->v = Py_NewRef(v);
        return x != NULL;
    case JPY_COMMIT_FLAG:
    case JPY_COMMIT_DATA:
        x = add(w, s->kind == JPY_COMMIT_FLAG ? JPY_WRITE_FLAG : JPY_WRITE_DATA, o);
        if (x)
            x->v = Py_NewRef(v);
        return x != NULL;
    case JPY_COMMIT_STORE:
        x = add_store(w, ((jpy_tensor *)o)->t, m->results[s->value->slot].t);
        if (x) {
            x->uncounted = s->uncounted || (s->counted && !m->results[s->counted - 1].s.i) ||
                           ((jpy_tensor *)o)->no_version;
            x->only = m->e->lent[s->value->slot];
            x->more = s->more;
        }
        return x != NULL;
    case JPY_COMMIT_LIST:
        x = add(w, JPY_WRITE_LIST, o);
        return x && (x->v = PyList_GetSlice(v, 0, PyList_GET_SIZE(v)));
    case JPY_COMMIT_DICT:
        return add_pairs(w, o, v);
    case JPY_COMMIT_WHOLE:
        return add_whole(w, o, v, s->put);
    case JPY_COMMIT_CLEAR:
        return add(w, JPY_WRITE_CLEAR, o) && add_pairs(w, o, v);
    case JPY_COMMIT_GLOBAL:
        return add_keyed(w, JPY_WRITE_KEY, o, s->key, v);
    }
    return false;
}

static bool add_effect(jpy_writes *w, const jpy_making *m, const jn_effect *e) {
    static const jpy_write_kind kinds[] = {
        [JN_EFFECT_SET_ATTR] = JPY_WRITE_ATTR, [JN_EFFECT_DEL_ATTR] = JPY_WRITE_ATTR,
        [JN_EFFECT_SET_ITEM] = JPY_WRITE_ITEM, [JN_EFFECT_APPEND] = JPY_WRITE_APPEND,
        [JN_EFFECT_INSERT] = JPY_WRITE_INSERT, [JN_EFFECT_POP] = JPY_WRITE_POP,
        [JN_EFFECT_DEL_ITEM] = JPY_WRITE_DEL,  [JN_EFFECT_SET_KEY] = JPY_WRITE_KEY,
        [JN_EFFECT_DEL_KEY] = JPY_WRITE_KEY,
    };
    if (e->kind == JN_EFFECT_STORE)
        return add_store(w, e->target, e->value.t) != NULL;
    if (e->kind == JN_EFFECT_SET_ATTR &&
        jpy_is_drawn(PyList_GET_ITEM(m->e->attr_names, (Py_ssize_t)e->index))) {
        PyObject *n = jpy_host_object(&e->value);
        bool added = n && add_drawn(w, e->object, n);
        Py_XDECREF(n);
        return added;
    }
    jpy_write *x = add(w, kinds[e->kind], e->object);
    if (!x)
        return false;
    x->index = (Py_ssize_t)e->index;
    bool gone = e->kind == JN_EFFECT_DEL_ATTR || e->kind == JN_EFFECT_DEL_KEY ||
                e->kind == JN_EFFECT_POP || e->kind == JN_EFFECT_DEL_ITEM;
    if (!gone && !(x->v = jpy_host_object(&e->value)))
        return false;
    if (x->kind == JPY_WRITE_ATTR)
        x->key = Py_NewRef(PyList_GET_ITEM(m->e->attr_names, (Py_ssize_t)e->index));
    else if (x->kind == JPY_WRITE_KEY)
        x->key = jpy_host_object(&e->key);
    return x->key || (x->kind != JPY_WRITE_ATTR && x->kind != JPY_WRITE_KEY);
}

bool jpy_writes_list(jpy_writes *w, const jpy_making *m, const jn_run *run) {
    size_t n;
    const jn_effect *log = jn_run_log(run, &n);
    if (!jn_vec_reserve(&w->all, n + m->e->steps.n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!add_effect(w, m, &log[i]))
            return false;
    for (size_t i = 0; i < m->e->steps.n; i++) {
        const jpy_commit_step *s = &m->e->steps.data[i];
        if (jpy_step_done(m, s) && !add_step(w, m, s, m->values[i]))
            return false;
    }
    return true;
}

/* ---- places that are not there yet --------------------------------------------------------------
 */

bool jpy_attr_is_described(PyObject *o, PyObject *name) {
    PyObject *d = _PyType_Lookup(Py_TYPE(o), name);
    return d && Py_TYPE(d)->tp_descr_set;
}

/* Whether an object has the attribute itself: 1, 0, -1: out of memory. */
static int has_attr(PyObject *o, PyObject *name) {
    PyObject *d = _PyType_Lookup(Py_TYPE(o), name);
    if (!d || !Py_TYPE(d)->tp_descr_get) {
        PyObject *v = _PyObject_GenericGetAttrWithDict(o, name, NULL, 1);
        bool failed = !v && PyErr_Occurred();
        Py_XDECREF(v);
        if (failed || v != d)
            return failed ? -1 : 1;
        if (!d)
            return 0;
    } /* what its type has may be its own, too */
    PyObject *attrs = jpy_attrs_of(o);
    int has = attrs ? PyDict_Contains(attrs, name) : 0;
    jpy_attrs_done(o, attrs);
    return has;
}

/* Known layouts: no code of the program runs. */
static int set_attr(const jpy_write *x, PyObject *v) {
    return PyObject_GenericSetAttr(x->o, x->key, v);
}

static bool grow(jpy_write *x) {
    int has = 1;
    if (!x->v || (x->of && x->of->copy))
        return true;
    if (x->kind == JPY_WRITE_ATTR && !jpy_attr_is_described(x->o, x->key))
        has = has_attr(x->o, x->key);
    else if (x->kind == JPY_WRITE_KEY)
        has = PyDict_Contains(x->o, x->key);
    if (has)
        return has > 0;
    x->grown =
        (x->kind == JPY_WRITE_ATTR ? set_attr(x, x->v) : PyDict_SetItem(x->o, x->key, x->v)) == 0;
    return x->grown;
}

bool jpy_writes_grow(jpy_writes *w) {
    for (size_t i = 0; i < w->all.n; i++)
        if (!grow(&w->all.data[i])) {
            jpy_writes_undo(w);
            return false;
        }
    return true;
}

void jpy_writes_undo(jpy_writes *w) {
    PyErr_Clear();
    for (size_t i = w->all.n; i-- > 0;) {
        jpy_write *x = &w->all.data[i];
        if (x->grown &&
            (x->kind == JPY_WRITE_ATTR ? set_attr(x, NULL) : PyDict_DelItem(x->o, x->key)) < 0)
            PyErr_Clear(); /* another thread took it away while text was printed */
        x->grown = false;
    }
}

/* ---- filling them -------------------------------------------------------------------------------
 */

/* Takes a reference; there is room. */
static void drop(jpy_writes *w, PyObject *o) {
    if (o)
        w->dropped.data[w->dropped.n++] = o;
}

static void replace_contents(jpy_target *t) {
    if (t->copy && t->dict)
        jpy_dict_swap(t->dict, t->copy);
    Py_CLEAR(t->dict); /* once */
}

/* Whether a write to a dict that gets other contents was done in it as it is. */
static bool written_in_place(jpy_writes *w, const jpy_write *x) {
    jpy_target *t = x->of;
    if (!t->in_place)
        return false;
    drop(w, Py_XNewRef(PyDict_GetItemWithError(t->dict, x->key)));
    t->in_place =
        (x->v ? PyDict_SetItem(t->dict, x->key, x->v) : PyDict_DelItem(t->dict, x->key)) == 0;
    return t->in_place;
}

static int finish_attr(jpy_writes *w, const jpy_write *x) {
    if (x->of && x->of->copy && !jpy_attr_is_described(x->o, x->key)) {
        if (!written_in_place(w, x))
            replace_contents(x->of);
        return 0;
    }
    drop(w, jpy_plain_attr(x->o, x->key));
    return set_attr(x, x->v);
}

static int finish_key(jpy_writes *w, const jpy_write *x) {
    if (x->of && x->of->copy) {
        if (!written_in_place(w, x))
            replace_contents(x->of);
        return 0;
    }
    if (x->kind == JPY_WRITE_CLEAR)
        return PyDict_Clear(x->o), 0;
    drop(w, Py_XNewRef(PyDict_GetItemWithError(x->o, x->key)));
    return x->v ? PyDict_SetItem(x->o, x->key, x->v) : PyDict_DelItem(x->o, x->key);
}

static int finish_item(jpy_writes *w, jpy_write *x) {
    PyListObject *l = (PyListObject *)x->o;
    Py_ssize_t n = PyList_GET_SIZE(x->o), at;
    switch (x->kind) {
    case JPY_WRITE_ITEM:
        if (x->index >= n)
            return -1;
        drop(w, PyList_GET_ITEM(x->o, x->index));
        PyList_SET_ITEM(x->o, x->index, x->v);
        break;
    case JPY_WRITE_APPEND:
    case JPY_WRITE_INSERT:
        at = x->kind == JPY_WRITE_APPEND || x->index > n ? n : x->index;
        if (l->allocated <= n) /* another thread has taken what was reserved */
            return PyList_Insert(x->o, at, x->v);
        Py_SET_SIZE(l, n + 1);
        memmove(l->ob_item + at + 1, l->ob_item + at, (size_t)(n - at) * sizeof *l->ob_item);
        PyList_SET_ITEM(x->o, at, x->v);
        break;
    default:
        at = x->kind == JPY_WRITE_DEL ? x->index : n - 1;
        if (at < 0 || at >= n)
            return -1;
        drop(w, PyList_GET_ITEM(x->o, at));
        memmove(l->ob_item + at, l->ob_item + at + 1, (size_t)(n - 1 - at) * sizeof *l->ob_item);
        Py_SET_SIZE(l, n - 1);
        return 0;
    }
    x->v = NULL; /* the list has it */
    return 0;
}

static int finish_store(jn_copies *copies, const jpy_write *x) {
    if (jn_tensor_is_rows(x->value))
        jn_tensor_store_rows(x->target, x->value);
    else if (jn_copies_add(copies, x->target, x->value) != JANUS_OK)
        return -1;
    if (x->uncounted)
        jn_storage_wrote_unseen(x->target->storage);
    else
        x->target->storage->version += 1 + x->more;
    return 0;
}

static int finish(jpy_writes *w, jn_copies *copies, jpy_write *x) {
    switch (x->kind) {
    case JPY_WRITE_ATTR:
        return finish_attr(w, x);
    case JPY_WRITE_KEY:
    case JPY_WRITE_CLEAR:
        return finish_key(w, x);
    case JPY_WRITE_ITEM:
    case JPY_WRITE_APPEND:
    case JPY_WRITE_INSERT:
    case JPY_WRITE_POP:
    case JPY_WRITE_DEL:
        return finish_item(w, x);
    case JPY_WRITE_LIST:
        jpy_list_swap(x->o, x->v);
        return 0;
    case JPY_WRITE_GRAD:
        drop(w, ((jpy_tensor *)x->o)->grad);
        ((jpy_tensor *)x->o)->grad = x->v;
        x->v = NULL;
        return 0;
    case JPY_WRITE_FLAG:
        ((jpy_tensor *)x->o)->requires_grad = x->v == Py_True;
        return 0;
    case JPY_WRITE_DATA:
        janus_tensor_retain(((jpy_tensor *)x->v)->t);
        jpy_tensor_put_memory((jpy_tensor *)x->o, ((jpy_tensor *)x->v)->t);
        return 0;
    case JPY_WRITE_STORE:
        return finish_store(copies, x);
    }
    return -1;
}

/* Whether a write may come between copies of elements that have not been made yet: it runs nobody's
 * code, who might look at them. */
static bool is_plain(const jpy_write *x) {
    return x->kind == JPY_WRITE_STORE || x->kind == JPY_WRITE_GRAD || x->kind == JPY_WRITE_FLAG;
}

void jpy_writes_finish(jpy_writes *w) {
    jn_copies copies;
    copies.n = 0;
    for (size_t i = 0; i < w->all.n; i++) {
        jpy_write *x = &w->all.data[i];
        if (!is_plain(x))
            (void)jn_copies_end(&copies); /* a device failed: nothing of it is left to be done */
        if (finish(w, &copies, x) < 0)
            PyErr_Clear(); /* another thread was there while text was printed, or a device failed */
    }
    (void)jn_copies_end(&copies);
    for (size_t i = 0; i < w->drawn.n; i++)
        jpy_twister_advance(jpy_twister_of(w->drawn.data[i].o), w->drawn.data[i].n);
}

void jpy_writes_free(jpy_writes *w) {
    jpy_target *t, *next;
    HASH_ITER(hh, w->targets, t, next) {
        Py_XDECREF(t->deleted);
        Py_XDECREF(t->dict);
        Py_XDECREF(t->copy);
    }
    HASH_CLEAR(hh, w->targets);
    for (size_t i = 0; i < w->all.n; i++) {
        Py_XDECREF(w->all.data[i].key);
        Py_XDECREF(w->all.data[i].v);
        janus_tensor_release(w->all.data[i].value);
    }
    for (size_t i = 0; i < w->dropped.n; i++)
        Py_DECREF(w->dropped.data[i]);
    jn_vec_free(&w->all);
    jn_vec_free(&w->drawn);
    jn_vec_free(&w->dropped);
    jn_arena_free(&w->arena);
}
