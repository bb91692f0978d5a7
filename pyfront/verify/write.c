/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commit of a shadow: its writes (write.h), performed on twins.
 *
 * An object without a twin is one that the run has made: it is written itself.
 */
#include "pyfront/verify/verify.h"

#include <string.h>

#include "exec/store/store.h"
#include "pyfront/entry/entry.h"
#include "pyfront/tensor/tensor.h"

/* The container that stands for one of the program's. */
static PyObject *items_of(const jpy_shadow *s, PyObject *o) {
    const jpy_twin *t = jpy_shadow_find(s, o);
    return t ? t->items : o;
}

static int set_or_delete(PyObject *dict, PyObject *key, PyObject *v) {
    return v ? PyDict_SetItem(dict, key, v) : PyDict_DelItem(dict, key);
}

static int set_attr(jpy_shadow *s, PyObject *o, PyObject *key, PyObject *v) {
    jpy_twin *t = jpy_shadow_find(s, o);
    if (!t)
        return PyObject_GenericSetAttr(o, key, v);
    if (PyCell_Check(o)) /* its one attribute is what it holds */
        return PyList_SetSlice(t->items, 0, PyList_GET_SIZE(t->items), NULL) < 0 || !v
                   ? 0
                   : PyList_Append(t->items, v);
    PyObject *d = _PyType_Lookup(Py_TYPE(o), key);
    bool member = jpy_is_member(Py_TYPE(o), d);
    PyObject **into = member ? &t->members : &t->attrs;
    if (!*into && !(*into = PyDict_New()))
        return -1;
    if (!member)
        return set_or_delete(*into, key, v);
    /* the place's own name: a class may have given it another one (`r = Slot.s`) */
    const PyMemberDef *m = ((PyMemberDescrObject *)d)->d_member;
    PyObject *name = PyUnicode_FromString(m->name);
    if (!v && m->type == T_OBJECT) /* a place that reads as None when it is empty */
        v = Py_None;
    int rc = name ? set_or_delete(*into, name, v) : -1;
    Py_XDECREF(name);
    return rc;
}

/* Whether the value is all that its memory has to hold, made by the run in memory of its own. */
static bool is_whole(const jpy_shadow *s, const jpy_twin_storage *st, const janus_tensor *target,
                     const janus_tensor *value) {
    bool same = !st->copy && !st->rows && target->contiguous && value->contiguous &&
                target->dtype == value->dtype && target->dtype == st->all->dtype &&
                target->numel == st->all->numel && target->rank == value->rank &&
                value->storage->state == JN_STORAGE_READY && !value->storage->release &&
                value->storage->device == st->storage->device &&
                !jpy_shadow_storage(s, value->storage);
    for (int d = 0; same && d < target->rank; d++)
        same = target->dims[d] == value->dims[d];
    return same;
}

/* target[...] = value, in the copy of its memory. */
static int store(jpy_shadow *s, const jpy_write *x) {
    janus_tensor *target = x->target, *value = x->value;
    jpy_twin_storage *st = jpy_shadow_storage(s, jpy_shadow_unnudged(s, target->storage));
    if (!st)
        return jn_tensor_copy(target, value) == JANUS_OK ? 0 : -1;
    if (x->only && is_whole(s, st, target, value)) {
        st->borrowed = true;
        return jn_tensor_view(value, 1, st->all->dims, st->all->strides, 0, &st->copy) == JANUS_OK
                   ? 0
                   : -1;
    }
    bool rows = jn_tensor_rows_fit(target, value); /* the others are what they were */
    if (rows && jpy_shadow_take_rows(st, value))
        return 0;
    if ((!rows && jn_tensor_fill(value) != JANUS_OK) || !jpy_shadow_copy_storage(s, st))
        return -1;
    janus_tensor *place;
    if (target->dtype != st->copy->dtype ||
        jn_tensor_view(st->copy, target->rank, target->dims, target->strides,
                       jn_tensor_offset(target), &place) != JANUS_OK)
        return -1;
    janus_status r = rows ? JANUS_OK : jn_tensor_copy(place, value);
    if (rows)
        jn_tensor_store_rows(place, value);
    janus_tensor_release(place);
    return r == JANUS_OK ? 0 : -1;
}

static int perform(jpy_shadow *s, const jpy_write *x) {
    PyObject *items = NULL;
    if (x->kind == JPY_WRITE_ATTR)
        return set_attr(s, x->o, x->key, x->v);
    if (x->kind == JPY_WRITE_STORE)
        return store(s, x);
    if (x->kind == JPY_WRITE_GRAD) {
        jpy_twin *t = jpy_shadow_find(s, x->o);
        if (!t || !t->tensor)
            return -1;
        Py_XSETREF(t->tensor->grad, Py_XNewRef(x->v));
        return 0;
    }
    if (x->kind == JPY_WRITE_DATA) {
        jpy_twin *t = jpy_shadow_find(s, x->o);
        if (!t || !t->tensor)
            return -1;
        janus_tensor_release(t->tensor->t);
        t->tensor->t = ((jpy_tensor *)x->v)->t;
        janus_tensor_retain(t->tensor->t);
        t->tensor->moved = true;
        return 0;
    }
    if (x->kind == JPY_WRITE_FLAG) {
        jpy_twin *t = jpy_shadow_find(s, x->o);
        if (!t || !t->tensor)
            return -1;
        t->tensor->tracked = t->tensor->requires_grad = x->v == Py_True;
        return 0;
    }
    if (!(items = items_of(s, x->o)))
        return -1;
    Py_ssize_t n = PyList_Check(items) ? PyList_GET_SIZE(items) : 0;
    switch (x->kind) {
    case JPY_WRITE_KEY:
        return set_or_delete(items, x->key, x->v);
    case JPY_WRITE_CLEAR:
        return PyDict_Clear(items), 0;
    case JPY_WRITE_ITEM:
        return PyList_SetItem(items, x->index, Py_NewRef(x->v));
    case JPY_WRITE_APPEND:
        return PyList_Append(items, x->v);
    case JPY_WRITE_INSERT:
        return PyList_Insert(items, x->index, x->v);
    case JPY_WRITE_DEL:
        return x->index < n ? PyList_SetSlice(items, x->index, x->index + 1, NULL) : -1;
    case JPY_WRITE_POP:
        return n ? PyList_SetSlice(items, n - 1, n, NULL) : -1;
    case JPY_WRITE_LIST:
        return PyList_SetSlice(items, 0, n, x->v);
    default:
        return -1;
    }
}

bool jpy_shadow_add_born(jpy_shadow *s, PyObject *o) {
    jpy_born *b;
    HASH_FIND_PTR(s->born, &o, b);
    if (b)
        return true;
    b = jn_arena_zalloc(&s->arena, sizeof *b);
    if (!b)
        return false;
    b->o = o;
    HASH_ADD_PTR(s->born, o, b);
    return b->hh.tbl != NULL;
}

/* CPython, which runs next, would let go of it while twins hold it. */
static bool is_quiet(const jpy_shadow *s, jpy_writes *w, const jpy_making *m,
                     const jpy_host *host) {
    jpy_copies copies = {0};
    bool ok = true;
    for (const jpy_twin *t = s->twins; t && ok; t = t->hh.next) {
        PyObject *gradient = t->tensor ? t->tensor->grad : NULL;
        ok = jn_vec_push(&copies, ((jpy_copied){t->o, t->items})) &&
             jn_vec_push(&copies, ((jpy_copied){gradient, t->attrs})) &&
             jn_vec_push(&copies, ((jpy_copied){NULL, t->members}));
    }
    ok = ok && jpy_writes_are_quiet(w, m, host, &copies);
    jn_vec_free(&copies);
    return ok;
}

bool jpy_shadow_write(jpy_shadow *s, const jpy_making *m, const jn_run *run, const jpy_host *host) {
    bool ok = true;
    for (size_t i = 0; ok && i < m->born->n; i++)
        ok = jpy_shadow_add_born(s, m->born->data[i]);
    size_t n;
    const jn_effect *log = jn_run_log(run, &n);
    /* what is written to must be known as it was */
    for (size_t i = 0; ok && i < n; i++) {
        jpy_born *b;
        HASH_FIND_PTR(s->born, &log[i].object, b);
        if (!b && log[i].kind != JN_EFFECT_STORE)
            jpy_shadow_touch(s, log[i].object, NULL);
    }
    jpy_writes w = {0};
    ok = ok && jpy_writes_list(&w, m, run);
    s->loud = ok && !is_quiet(s, &w, m, host);
    ok = ok && !s->loud;
    for (size_t i = 0; ok && i < w.all.n; i++)
        ok = perform(s, &w.all.data[i]) == 0;
    for (size_t i = 0; ok && i < w.drawn.n; i++) {
        jpy_twin *t = jpy_shadow_find(s, w.drawn.data[i].o);
        ok = t && t->drawn;
        if (ok)
            jpy_twister_advance(t->drawn, w.drawn.data[i].n);
    }
    jpy_writes_free(&w);
    if (PyErr_Occurred())
        PyErr_Clear();
    return ok && !s->failed;
}
