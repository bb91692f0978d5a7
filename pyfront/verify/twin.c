/* SPDX-License-Identifier: Apache-2.0 */
/* Twins: shallow copies of what a run has touched, made before anything is written. */
#include "pyfront/verify/verify.h"

#include <string.h>

#include "exec/store/store.h"
#include "pyfront/entry/entry.h"
#include "pyfront/tensor/tensor.h"

/* Bytes of tensors that are copied without being written.  What more there is has a print, by which
 * it is seen whether CPython wrote to it; a device's memory, of which there are none, versions. */
enum { COPY_AT_ONCE = 1 << 20, COPY_OF_DEVICE = 64 << 20 };

void jpy_shadow_init(jpy_shadow *s, jpy_entry *e, bool exact) {
    memset(s, 0, sizeof *s);
    jn_arena_init(&s->arena, 0);
    s->e = e;
    s->exact = exact;
}

void jpy_shadow_free(jpy_shadow *s) {
    jpy_twin *t;
    for (t = s->twins; t; t = t->hh.next) {
        if (t->tensor) {
            janus_tensor_release(t->tensor->t);
            Py_XDECREF(t->tensor->grad);
            jpy_edge_release(t->tensor->edge);
        }
        Py_XDECREF(t->items);
        Py_XDECREF(t->attrs);
        Py_XDECREF(t->members);
    }
    for (t = s->twins; t; t = t->hh.next)
        if (t->owner && Py_REFCNT(t->o) > 1) { /* nothing goes with it */
            jpy_attrs_done(t->owner, t->o);
            t->o = NULL;
        }
    /* the objects last: what they drop may run code of the program, which sees no twin */
    for (t = s->twins; t; t = t->hh.next)
        Py_XDECREF(t->o);
    HASH_CLEAR(hh, s->twins);
    for (jpy_twin_storage *st = s->storages; st; st = st->hh.next) {
        janus_tensor_release(st->copy);
        janus_tensor_release(st->all);
        janus_tensor_release(st->rows);
        jn_storage_release(st->storage);
    }
    HASH_CLEAR(hh, s->storages);
    HASH_CLEAR(hh, s->born);
    HASH_CLEAR(by_graph, s->pairs);
    HASH_CLEAR(by_python, s->pairs_back);
    HASH_CLEAR(hh, s->values);
    HASH_CLEAR(by_graph, s->storage_pairs);
    HASH_CLEAR(by_python, s->storage_pairs_back);
    jn_vec_free(&s->todo);
    for (size_t i = 0; i < s->histories.n; i++) {
        Py_DECREF(s->histories.data[i].graph);
        Py_DECREF(s->histories.data[i].python);
    }
    jn_vec_free(&s->histories);
    jpy_shadow_nudged_free(s);
    Py_CLEAR(s->difference);
    Py_CLEAR(s->out);
    Py_CLEAR(s->said);
    jn_arena_free(&s->arena);
}

jpy_where *jpy_shadow_where(jpy_shadow *s, const jpy_where *of, const char *name, PyObject *key,
                            Py_ssize_t index) {
    jpy_where *w = jn_arena_alloc(&s->arena, sizeof *w);
    if (!w)
        s->failed = true;
    else
        *w = (jpy_where){of, name, key, index, UINT32_MAX};
    return w;
}

jpy_twin *jpy_shadow_find(const jpy_shadow *s, const PyObject *o) {
    jpy_twin *t;
    HASH_FIND_PTR(s->twins, &o, t);
    return t;
}

jpy_twin_storage *jpy_shadow_storage(const jpy_shadow *s, const jn_storage *st) {
    jpy_twin_storage *t;
    HASH_FIND_PTR(s->storages, &st, t);
    return t;
}

PyObject *jpy_members_of(PyObject *o) {
    PyObject *mro = Py_TYPE(o)->tp_mro, *d = NULL;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *t = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        bool slots = t->tp_flags & Py_TPFLAGS_HEAPTYPE;
        for (const PyMemberDef *m = t->tp_members; m && m->name; m++) {
            if ((m->type != T_OBJECT_EX && m->type != T_OBJECT) ||
                (!slots && (m->flags & READONLY)))
                continue;
            PyObject *v = *(PyObject **)((char *)o + m->offset);
            if (!v && m->type == T_OBJECT) /* as it reads */
                v = Py_None;
            if (!v)
                continue;
            if (!d && !(d = PyDict_New()))
                return NULL;
            if (PyDict_SetItemString(d, m->name, v) < 0)
                PyErr_Clear();
        }
    }
    return d;
}

/* Of the tensor whose rows there are, in elements. */
static int64_t offset_of(const jpy_twin_storage *st) {
    const janus_tensor *base = jn_tensor_rows(st->rows).base;
    return jn_tensor_offset(base);
}

bool jpy_shadow_copy_storage(jpy_shadow *s, jpy_twin_storage *st) {
    janus_tensor *all = st->all, *from = st->borrowed ? st->copy : all;
    if (st->copy && !st->borrowed)
        return jn_tensor_fill(st->copy) == JANUS_OK || !(s->failed = true);
    if (jn_dev_tensor(st->storage->device, (janus_dtype)all->dtype, 1, all->dims, &st->copy) !=
        JANUS_OK)
        st->copy = NULL;
    bool copied = st->copy && jn_tensor_copy(st->copy, from) == JANUS_OK;
    if (st->borrowed)
        janus_tensor_release(from);
    st->borrowed = false;
    if (!copied)
        return !(s->failed = true);
    s->copied += st->storage->bytes;
    janus_tensor *place = NULL;
    if (st->rows && jn_tensor_view(st->copy, st->rows->rank, st->rows->dims, st->rows->strides,
                                   offset_of(st), &place) != JANUS_OK)
        return !(s->failed = true);
    if (st->rows)
        jn_tensor_store_rows(place, st->rows);
    janus_tensor_release(place);
    janus_tensor_release(st->rows);
    st->rows = NULL;
    return true;
}

bool jpy_shadow_take_rows(jpy_twin_storage *st, janus_tensor *rows) {
    if (st->copy || st->rows || !st->print)
        return false;
    uint32_t print = jn_tensor_print_beside(rows);
    if (!print)
        return false;
    janus_tensor_retain(rows);
    st->rows = rows;
    st->print = print;
    return true;
}

bool jpy_shadow_wrote(const jpy_twin_storage *st) {
    const jn_storage *now = st->storage;
    if (st->rows) /* what it writes there is counted */
        return now->state != JN_STORAGE_READY || jn_tensor_print_beside(st->rows) != st->print;
    return now->version != st->version ||
           (st->print && (now->state != JN_STORAGE_READY || jn_storage_print(now) != st->print));
}

/* Rows, and zeros: they stay as they are, and so does their copy. */
static bool is_plain_rows(const janus_tensor *t) {
    return jn_tensor_is_rows(t) && !jn_tensor_rows(t).base;
}

static bool remember(jpy_shadow *s, jpy_twin_storage *st) {
    const jn_storage *of = st->storage;
    size_t most = of->device ? COPY_OF_DEVICE : COPY_AT_ONCE;
    if (is_plain_rows(st->all))
        return jn_tensor_copy_of_rows(st->all, &st->copy) == JANUS_OK;
    if (s->copy_all || s->copied + of->bytes <= most)
        return jpy_shadow_copy_storage(s, st);
    if (of->device)
        return true;
    if (jn_tensor_settle(st->all) != JANUS_OK)
        return false;
    st->print = jn_storage_print(of);
    return true;
}

static void touch_storage(jpy_shadow *s, janus_tensor *t, const jpy_where *where) {
    if (t->storage->state == JN_STORAGE_PROXY || jpy_shadow_storage(s, t->storage))
        return; /* what conversions keep as samples of a kind has no elements */
    jpy_twin_storage *st = jn_arena_zalloc(&s->arena, sizeof *st);
    int64_t n = (int64_t)(t->storage->bytes / jn_dtype_size((janus_dtype)t->dtype)), one = 1;
    if (st && is_plain_rows(t)) {
        janus_tensor_retain(t);
        st->all = t;
    } else if (!st || jn_tensor_view(t, 1, &n, &one, -jn_tensor_offset(t), &st->all) != JANUS_OK) {
        s->failed = true;
        return;
    }
    st->storage = t->storage;
    st->version = t->storage->version;
    st->where = where;
    HASH_ADD_PTR(s->storages, storage, st);
    if (!st->hh.tbl) {
        janus_tensor_release(st->all);
        s->failed = true;
        return;
    }
    jn_storage_retain(st->storage);
    if (!remember(s, st))
        s->failed = true;
}

/* Where gradients get to it; a view whose root was written is left as it is. */
static jpy_edge place_of(jpy_tensor *t) {
    if (t->base && t->epoch != t->base->epoch)
        return (jpy_edge){0};
    jpy_edge at = {.node = t->node, .leaf = t->node ? NULL : t, .index = t->node_out};
    jpy_edge_retain(at);
    return at;
}

/* The gradient of a table that CPython has left, which the step is about to forget, would be in
 * memory beside the next one, as the twin keeps it. */
static bool squeeze(PyObject *grad) {
    jpy_tensor *g = (jpy_tensor *)grad;
    janus_tensor *rows = NULL;
    if (Py_REFCNT(grad) != 1 || !jpy_tensor_check_exact(grad) || g->node || g->base || g->dict ||
        g->weakrefs || g->hooks || g->t->storage->bytes <= COPY_AT_ONCE)
        return true;
    if (jn_tensor_squeeze(g->t, &rows) != JANUS_OK)
        return false;
    if (rows)
        jpy_tensor_put_memory(g, rows);
    return true;
}

static void touch_tensor(jpy_shadow *s, jpy_twin *t, const jpy_where *where) {
    jpy_tensor *p = (jpy_tensor *)t->o;
    if ((!is_plain_rows(p->t) && jn_tensor_fill(p->t) != JANUS_OK) ||
        !(t->tensor = jn_arena_alloc(&s->arena, sizeof *t->tensor))) {
        s->failed = true;
        return;
    }
    bool tracked = jpy_tensor_tracked(p);
    *t->tensor = (jpy_twin_tensor){.t = p->t,
                                   .grad = Py_XNewRef(p->grad),
                                   .edge = tracked ? place_of(p) : (jpy_edge){0},
                                   .tracked = tracked,
                                   .leaf = jpy_tensor_is_leaf(p),
                                   .requires_grad = p->requires_grad};
    janus_tensor_retain(p->t);
    touch_storage(s, p->t, where);
    if (p->grad && !squeeze(p->grad))
        s->failed = true;
    if (p->grad)
        jpy_shadow_touch(s, p->grad, jpy_shadow_where(s, where, "grad", NULL, 0));
}

/* Values that cannot change. */
static bool is_atom(const PyObject *o) {
    const PyTypeObject *t = Py_TYPE(o);
    return o == Py_None || t == &PyLong_Type || t == &PyFloat_Type || t == &PyBool_Type ||
           t == &PyUnicode_Type || t == &PyBytes_Type || t == &PyTuple_Type || t == &PyCode_Type ||
           t == &PyCFunction_Type || t == jpy.op_type || t == jpy.dtype_type;
}

/* The dict may be known already, or be met later, as an object of its own. */
static void touch_attrs(jpy_shadow *s, jpy_twin *t) {
    PyObject *attrs = jpy_attrs_of(t->o);
    if (!attrs)
        return;
    jpy_shadow_touch(s, attrs, t->where);
    jpy_twin *d = jpy_shadow_find(s, attrs);
    if (d) {
        d->owner = t->o;
        t->attrs = Py_XNewRef(d->items);
    }
    Py_DECREF(attrs);
}

/* Whether it is put into a dict without code of the program's. */
static bool is_quiet_key(const PyObject *key) {
    return (is_atom(key) && !PyTuple_Check(key)) || jpy_by_identity(Py_TYPE(key));
}

/* In the order of its own items, which is what is compared: PyDict_Copy goes by __iter__ and keys()
 * of a subclass that has its own, an OrderedDict's or the program's. */
static PyObject *copy_of_dict(PyObject *o) {
    if (Py_TYPE(o)->tp_iter == PyDict_Type.tp_iter)
        return PyDict_Copy(o);
    PyObject *made = PyDict_New(), *key, *value;
    for (Py_ssize_t i = 0; made && PyDict_Next(o, &i, &key, &value);)
        if (!is_quiet_key(key) || PyDict_SetItem(made, key, value) < 0)
            Py_CLEAR(made);
    return made;
}

void jpy_shadow_touch(jpy_shadow *s, PyObject *o, const jpy_where *where) {
    if (!o || is_atom(o) || jpy_shadow_find(s, o))
        return;
    jpy_twin *t = jn_arena_zalloc(&s->arena, sizeof *t);
    if (!t) {
        s->failed = true;
        return;
    }
    t->o = o;
    t->where = where;
    HASH_ADD_PTR(s->twins, o, t);
    if (!t->hh.tbl) {
        s->failed = true;
        return;
    }
    Py_INCREF(o);
    touch_attrs(s, t);
    t->members = jpy_members_of(o);
    if (PyList_Check(o))
        t->items = PyList_GetSlice(o, 0, PyList_GET_SIZE(o));
    else if (PyDict_Check(o))
        s->failed = !(t->items = copy_of_dict(o)) || s->failed;
    else if (PySet_Check(o))
        t->items = PySet_New(o);
    else if (PyCell_Check(o)) {
        t->items = PyList_New(0);
        if (t->items && PyCell_GET(o) && PyList_Append(t->items, PyCell_GET(o)) < 0)
            s->failed = true;
    } else if (jpy_tensor_check(o)) {
        touch_tensor(s, t, where);
    } else if (jpy_twister_of(o)) {
        t->drawn = jn_arena_alloc(&s->arena, sizeof *t->drawn);
        s->failed = !t->drawn || s->failed;
        if (t->drawn)
            *t->drawn = *jpy_twister_of(o);
    }
    if (PyErr_Occurred()) {
        PyErr_Clear();
        s->failed = true;
    }
}

void jpy_shadow_touch_slots(jpy_shadow *s, PyObject *const *slots) {
    const jpy_guards *g = &s->e->guards;
    for (size_t i = 0; i < g->srcs.n; i++) {
        const jpy_src *src = g->srcs.data[i];
        jpy_where *w = jpy_shadow_where(s, NULL, NULL, NULL, 0);
        if (!w)
            return;
        w->slot = (uint32_t)i;
        jpy_shadow_touch(s, slots[i], w);
        if (src->kind == JPY_SRC_GLOBAL)
            jpy_shadow_touch(s, src->obj, jpy_shadow_where(s, NULL, "globals", NULL, 0));
        else if (src->kind == JPY_SRC_CELL && slots[src->parent->slot] &&
                 PyTuple_CheckExact(slots[src->parent->slot]) &&
                 src->index < PyTuple_GET_SIZE(slots[src->parent->slot]))
            jpy_shadow_touch(s, PyTuple_GET_ITEM(slots[src->parent->slot], src->index), w);
    }
}
