/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of a function: locals in slots, those of enclosing functions, cells, globals. */
#include "pyfront/convert/heap/heap.h"

#include <string.h>

static int find_slot(const jcv_frame *f, PyObject *name) {
    for (unsigned i = 0; i < f->n; i++)
        if (f->names[i] == name)
            return (int)f->slots[i];
    return -1;
}

static bool is_local(const jcv_frame *f, PyObject *name) {
    const jpy_tree_fn *fn = f->def->fn;
    for (unsigned i = 0; i < fn->n_locals; i++)
        if (fn->locals[i] == name)
            return true;
    return false;
}

static void add_name(jcv *c, jcv_frame *f, PyObject *name, jcv_av *v) {
    if (f->n == f->cap) {
        unsigned cap = f->cap ? 2 * f->cap : 8;
        PyObject **names = jcv_alloc(c, cap * sizeof *names);
        uint32_t *slots = jcv_alloc(c, cap * sizeof *slots);
        if (f->n) {
            memcpy(names, f->names, f->n * sizeof *names);
            memcpy(slots, f->slots, f->n * sizeof *slots);
        }
        f->names = names;
        f->slots = slots;
        f->cap = cap;
    }
    jcv_av *none = jcv_lacking(c, LACK_UNBOUND, "it is not bound");
    f->names[f->n] = name;
    f->slots[f->n] = jcv_slot(c, none);
    jcv_put(c, f->slots[f->n++], v);
}

/* The cell of a function's free variable; false: it has none of this name. */
static bool cell_of(jcv *c, jcv_frame *f, PyObject *name, jcv_outer *out) {
    PyObject *frees = PyObject_GetAttrString(f->code, "co_freevars");
    Py_ssize_t at = -1;
    for (Py_ssize_t i = 0; frees && i < PyTuple_GET_SIZE(frees); i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(frees, i), name) == 0)
            at = i;
    Py_XDECREF(frees);
    PyObject *cells = PyFunction_GET_CLOSURE(f->func);
    if (at < 0 || !cells || at >= PyTuple_GET_SIZE(cells))
        return false;
    jpy_src *fs = f->func_src;
    if (!fs)
        fs = jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, f->func, 0);
    jpy_src *s = jpy_src_get(c->guards, JPY_SRC_FUNC, fs, NULL, NULL, 2);
    if (!s)
        jcv_refuse(c, "out of memory");
    *out = jcv_cell_var(c, cells, s, at);
    return true;
}

static void write_outer(jcv *c, jcv_frame *f, PyObject *name, jcv_av *v) {
    while (f && !f->func)
        f = f->outer;
    if (!f)
        jcv_refuse(c, "a variable of an enclosing call is assigned");
    jcv_outer x;
    if (!cell_of(c, f, name, &x))
        x = jcv_global_var(c, f->globals, name);
    jcv_outer_write(c, &x, v);
}

void jcv_store(jcv *c, PyObject *name, jcv_av *v) {
    jcv_frame *f = c->frame;
    int slot = find_slot(f, name);
    if (slot < 0 && !f->comprehension && !is_local(f, name)) /* nonlocal */
        for (jcv_frame *o = f->outer; o && slot < 0; o = o->outer)
            slot = find_slot(o, name);
    else if (slot < 0) {
        add_name(c, f, name, v);
        return;
    }
    if (slot < 0) {
        write_outer(c, f, name, v);
        return;
    }
    jcv_put(c, slot, v);
}

static jcv_av *read_slot(jcv *c, int slot, PyObject *name) {
    jcv_av *v = c->slots.data[slot];
    if (v->kind == AV_UNDEF && v->tree)
        jcv_peel_loop(c, v->tree);
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
    if (!cell_of(c, f, name, &x))
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
        int slot = find_slot(f, name);
        if (slot >= 0)
            return jcv_settled(c, read_slot(c, slot, name));
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

bool jcv_varies(const jcv *c) { return c->f->entries.n >= 2; }

jcv_av *jcv_local(jcv *c, PyObject *name) {
    int slot = find_slot(c->frame, name);
    jcv_av *v = slot < 0 ? NULL : c->slots.data[slot];
    return v && v->kind != AV_UNDEF ? v : NULL;
}
