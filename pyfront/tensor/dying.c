/* SPDX-License-Identifier: Apache-2.0 */
/* Whether objects die quietly: see dying.h. */
#include "pyfront/tensor/tensor.h"

_Thread_local jpy_let_go jpy_variables;

typedef struct jpy_counted { /* an object to which some references go */
    PyObject *o;
    Py_ssize_t left; /* references that stay */
    bool dies;
    UT_hash_handle hh;
} counted;

bool jpy_is_quiet(PyObject *o) {
    const PyTypeObject *t = Py_TYPE(o);
    if (t == jpy.tensor_type) {
        const jpy_tensor *x = (jpy_tensor *)o;
        return !x->grad && !x->hooks && !x->dict && !x->weakrefs &&
               (!x->base || jpy_is_quiet((PyObject *)x->base));
    }
    return t == &PyFloat_Type || t == &PyLong_Type || t == &PyUnicode_Type || o == Py_None ||
           t == &PyBool_Type || PyType_Check(o); /* a class is part of a cycle, always */
}

static bool has_callbacks(PyObject *o) {
    Py_ssize_t at = Py_TYPE(o)->tp_weaklistoffset;
    const PyWeakReference *r = at ? *(PyWeakReference **)((char *)o + at) : NULL;
    while (r && !r->wr_callback)
        r = r->wr_next;
    return r != NULL;
}

bool jpy_has_finalizer(PyObject *o) {
    return Py_TYPE(o)->tp_finalize || Py_TYPE(o)->tp_del || has_callbacks(o);
}

typedef struct held_objects {
    JN_VEC(PyObject *) todo;
    size_t left;
    bool loud;
} held_objects;

static int visit_held(PyObject *o, void *arg) {
    held_objects *h = arg;
    /* functions and modules refer to all of a program */
    if (!o || !h->left || jpy_is_quiet(o) || PyFunction_Check(o) || PyModule_Check(o))
        return 0;
    h->left--;
    h->loud = h->loud || jpy_has_finalizer(o) ||
              (PyObject_IS_GC(o) && Py_TYPE(o)->tp_traverse && !jn_vec_push(&h->todo, o));
    return h->loud;
}

bool jpy_holds_quietly(PyObject *o, size_t most) {
    held_objects h = {.left = most};
    visit_held(o, &h);
    for (size_t i = 0; i < h.todo.n && !h.loud; i++)
        Py_TYPE(h.todo.data[i])->tp_traverse(h.todo.data[i], visit_held, &h);
    jn_vec_free(&h.todo);
    return !h.loud;
}

static void dies(jpy_dying *d, PyObject *o) {
    if (jpy_has_finalizer(o) || (PyObject_IS_GC(o) && !jn_vec_push(&d->todo, o)))
        d->loud = true;
}

static counted *count_of(jpy_dying *d, PyObject *o) {
    counted *c;
    HASH_FIND_PTR(d->objects, &o, c);
    if (c)
        return c;
    if ((c = jn_arena_zalloc(&d->arena, sizeof *c))) {
        c->o = o;
        c->left = Py_REFCNT(o);
        HASH_ADD_PTR(d->objects, o, c);
        if (c->hh.tbl)
            return c;
    }
    d->loud = true;
    return NULL;
}

void jpy_own_goes(jpy_dying *d, PyObject *o) {
    counted *c = o && !jpy_is_quiet(o) ? count_of(d, o) : NULL;
    if (c)
        c->left--;
}

void jpy_goes(jpy_dying *d, PyObject *o) {
    d->seen++;
    if (!o || jpy_is_quiet(o))
        return;
    if (Py_REFCNT(o) == 1) {
        dies(d, o);
        return;
    }
    if (d->own && !d->asked) {
        d->asked = true;
        d->own(d, d->ctx);
    }
    counted *c = count_of(d, o);
    if (!c || --c->left > 0 || c->dies)
        return;
    c->dies = true;
    dies(d, o);
}

static int visit(PyObject *o, void *arg) {
    jpy_goes(arg, o);
    return 0;
}

bool jpy_dies_quietly(jpy_dying *d) {
    while (d->todo.n && !d->loud) {
        PyObject *o = jn_vec_pop(&d->todo);
        Py_TYPE(o)->tp_traverse(o, visit, d);
    }
    HASH_CLEAR(hh, d->objects);
    jn_vec_free(&d->todo);
    jn_arena_free(&d->arena);
    return !d->loud;
}

bool jpy_all_die_quietly(PyObject *const *objects, size_t n, Py_ssize_t each,
                         PyObject *const *others, size_t n_others, jpy_looks *looks) {
    const Py_ssize_t most = each * (Py_ssize_t)n + (Py_ssize_t)n_others;
    jpy_dying d = {0};
    size_t may = 0; /* those before it cannot die */
    while (may < n && (jpy_is_quiet(objects[may]) || Py_REFCNT(objects[may]) > most))
        may++;
    looks->seen = 0;
    if (may == n)
        return true;
    for (size_t i = 0; i < n_others; i++)
        jpy_own_goes(&d, others[i]);
    for (size_t i = may; i < n && !d.loud; i++)
        for (Py_ssize_t k = 0; k < each; k++)
            jpy_goes(&d, objects[i]);
    bool quiet = jpy_dies_quietly(&d);
    looks->seen = d.seen;
    looks->all += d.seen;
    return quiet;
}

bool jpy_looks_now(jpy_looks *l, int64_t now) {
    enum { FEW = 256, EACH_NS = 20, PART = 16, EACH_CALL = 1024 };
    bool again = l->seen <= FEW || (now ? now - l->at >= (int64_t)l->seen * EACH_NS * PART
                                        : l->seen <= (size_t)l->passed * EACH_CALL);
    l->passed = again ? 1 : l->passed + 1;
    l->at = again ? now : l->at;
    return again;
}
