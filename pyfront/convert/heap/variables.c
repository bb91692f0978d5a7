/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of a function: locals in slots, those of enclosing functions, cells, globals.
 *
 * One that is written inside of a recursion that was made in its scope is *boxed*: a list of one
 * item, which the graph makes, reads and writes (live.c).
 */
#include "pyfront/convert/heap/heap.h"

#include <string.h>

/* Which of the frame's variables, or -1. */
static int find(const jcv_frame *f, PyObject *name) {
    for (unsigned i = 0; i < f->n; i++)
        if (f->names[i] == name)
            return (int)i;
    return -1;
}

/* The place of a local variable among those of its function; NULL: it is none. */
static PyObject *const *local_of(const jcv_frame *f, PyObject *name) {
    const jpy_tree_fn *fn = f->def->fn;
    for (unsigned i = 0; i < fn->n_locals && !f->comprehension; i++)
        if (fn->locals[i] == name)
            return &fn->locals[i];
    return NULL;
}

static bool is_local(const jcv_frame *f, PyObject *name) { return local_of(f, name); }

static void add_name(jcv *c, jcv_frame *f, PyObject *name, jcv_av *v) {
    if (f->n == f->cap) {
        unsigned cap = f->cap ? 2 * f->cap : 8;
        PyObject **names = jcv_alloc(c, cap * sizeof *names);
        uint32_t *slots = jcv_alloc(c, cap * sizeof *slots);
        bool *boxed = jcv_alloc(c, cap * sizeof *boxed);
        if (f->n) {
            memcpy(boxed, f->boxed, f->n * sizeof *boxed);
            memcpy(names, f->names, f->n * sizeof *names);
            memcpy(slots, f->slots, f->n * sizeof *slots);
        }
        f->names = names;
        f->slots = slots;
        f->boxed = boxed;
        f->cap = cap;
    }
    jcv_av *none = jcv_lacking(c, LACK_UNBOUND, "it is not bound");
    jcv_av *box = jcv_born(c, local_of(f, name), &v, 1, false);
    f->names[f->n] = name;
    f->slots[f->n] = jcv_slot(c, none);
    f->boxed[f->n] = box;
    if (box)
        box->val->box = true;
    jcv_put(c, f->slots[f->n++], box ? box : v);
}

static void put(jcv *c, const jcv_frame *f, int at, jcv_av *v) {
    uint32_t slot = f->slots[at];
    const jcv_ctx *fn = c->ctx->fn;
    if (f->boxed[at]) {
        jcv_box_set(c, c->slots.data[slot], v);
        return;
    }
    if (fn->kind == JCV_FUNC && !fn->apart && slot < fn->first_slot && local_of(f, f->names[at]))
        jcv_make_live_site(c, local_of(f, f->names[at]), false);
    jcv_put(c, slot, v);
}

void jcv_make_live_local(jcv *c, const jcv_frame *fr, uint32_t slot) {
    for (; fr; fr = fr->caller)
        for (const jcv_frame *o = fr; o; o = o->outer)
            for (unsigned i = 0; i < o->n; i++)
                if (o->slots[i] == slot && !o->boxed[i] && local_of(o, o->names[i]))
                    jcv_make_live_site(c, local_of(o, o->names[i]), false);
}

bool jcv_free_var(jcv *c, PyObject *fn, jpy_src *fs, PyObject *name, jcv_outer *out) {
    PyObject *names = PyObject_GetAttrString(PyFunction_GET_CODE(fn), "co_freevars");
    PyObject *cells = PyFunction_GET_CLOSURE(fn);
    Py_ssize_t at = names && cells ? PyTuple_GET_SIZE(cells) : 0;
    while (at > 0 && PyUnicode_Compare(PyTuple_GET_ITEM(names, at - 1), name))
        at--;
    Py_XDECREF(names);
    if (!at)
        return false;
    if (!fs)
        fs = jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, fn, 0);
    jpy_src *s = fs ? jpy_src_get(c->guards, JPY_SRC_FUNC, fs, NULL, NULL, JPY_FUNC_CLOSURE) : NULL;
    if (!s)
        jcv_refuse(c, "out of memory");
    *out = jcv_cell_var(c, cells, s, at - 1);
    return true;
}

static void write_outer(jcv *c, jcv_frame *f, PyObject *name, jcv_av *v) {
    while (f && !f->func)
        f = f->outer;
    if (!f)
        jcv_refuse(c, "a variable of an enclosing call is assigned");
    jcv_outer x;
    if (!jcv_free_var(c, f->func, f->func_src, name, &x))
        x = jcv_global_var(c, f->globals, name);
    jcv_outer_write(c, &x, v);
}

void jcv_store(jcv *c, PyObject *name, jcv_av *v) {
    jcv_frame *f = c->frame;
    jcv_frame *of = f;
    int at = find(f, name);
    if (at < 0 && !f->comprehension && !is_local(f, name)) { /* nonlocal */
        for (of = f->outer; of && (at = find(of, name)) < 0;)
            of = of->outer;
    } else if (at < 0) {
        add_name(c, f, name, v);
        return;
    }
    if (at < 0)
        write_outer(c, f, name, v);
    else
        put(c, of, at, v);
}

static jcv_av *read_slot(jcv *c, const jcv_frame *f, int at, PyObject *name) {
    jcv_av *v = c->slots.data[f->slots[at]];
    if (f->boxed[at] && v->kind == AV_HOST)
        return jcv_box_item(c, v);
    if (v->kind == AV_UNDEF && v->tree)
        jcv_peel_loop(c, v->tree);
    jcv_needed(c, v);
    if (v->kind == AV_UNDEF)
        jcv_refuse(c, "%s: %s", PyUnicode_AsUTF8(name), v->text ? v->text : "not bound");
    return v;
}

static jcv_av *global(jcv *c, jcv_frame *f, PyObject *name) {
    jcv_outer var = jcv_global_var(c, f->globals, name);
    jcv_av *written = jcv_outer_read(c, &var);
    jpy_src *s = var.value_src;
    if (written)
        return written;
    if (!s)
        jcv_refuse(c, "out of memory");
    PyObject *v = PyDict_GetItemWithError(f->globals, name);
    if (v)
        return jcv_wrap(c, v, s);
    s->checks |= JPY_CHECK_ABSENT;
    PyObject *b = PyEval_GetBuiltins();
    v = PyDict_GetItemWithError(b, name);
    s = jpy_src_get(c->guards, JPY_SRC_GLOBAL, NULL, b, name, 0);
    if (!v || !s)
        jcv_refuse(c, "the name %s is not defined", PyUnicode_AsUTF8(name));
    return jcv_wrap(c, v, s);
}

static jcv_av *free_variable(jcv *c, jcv_frame *f, PyObject *name) {
    jcv_outer x;
    if (!jcv_free_var(c, f->func, f->func_src, name, &x))
        return NULL;
    jcv_av *written = jcv_outer_read(c, &x);
    if (written)
        return written;
    PyObject *v = PyCell_GET(x.holder);
    if (!v)
        jcv_refuse(c, "the closure variable %s is not bound", PyUnicode_AsUTF8(name));
    return jcv_wrap(c, v, x.value_src);
}

jcv_av *jcv_load(jcv *c, PyObject *name) {
    jcv_frame *f = c->frame;
    for (; f; f = f->outer) {
        int at = find(f, name);
        if (at >= 0)
            return jcv_settled(c, read_slot(c, f, at, name));
        if (f->comprehension)
            continue;
        if (is_local(f, name))
            jcv_refuse(c, "%s is not bound", PyUnicode_AsUTF8(name));
        if (f->func) {
            jcv_av *v = free_variable(c, f, name);
            return v ? v : global(c, f, name);
        }
    }
    jcv_refuse(c, "the name %s is not found", PyUnicode_AsUTF8(name));
}

jcv_av *jcv_left_in(jcv *c, const jcv_frame *fr, PyObject *name) {
    int at = find(fr, name);
    return at < 0          ? jcv_lacking(c, LACK_UNBOUND, "it is not bound")
           : fr->boxed[at] ? jcv_lacking(c, LACK_UNKNOWN, "it is the graph's")
                           : c->slots.data[fr->slots[at]];
}

bool jcv_varies(const jcv *c) { return c->f->entries.n >= 2; }

jcv_av *jcv_local(jcv *c, PyObject *name) {
    int at = find(c->frame, name);
    jcv_av *v = at < 0 || c->frame->boxed[at] ? NULL : c->slots.data[c->frame->slots[at]];
    return v && v->kind != AV_UNDEF ? v : NULL;
}
