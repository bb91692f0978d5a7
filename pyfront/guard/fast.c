/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short way through the guards of a call whose modules have not changed.
 *
 * What is read from the dict of a module, or from a dict found there, is the same as long as the
 * dict is: CPython gives every state of every dict a version of its own.  After all guards held,
 * the values found are kept with these versions; the next time one comparison a dict stands for all
 * reads of it.  So it is with the dicts of globals; where one has changed, as a program's own does
 * at every statement outside of functions, its names are read again.  Versions of types are looked
 * at again.  Leaves among the tensors found are of the same shape as long as jpy_tensor_epoch
 * stands: then their class and flags are all that is looked at, and `known` says so to who binds
 * them.
 *
 * Values are borrowed: a dict that is as it was still holds them.  The structure epoch of modules
 * (methods/module_base.c) would be one comparison for all, but does not see `module.__dict__[...] =
 * x`. From CPython 3.13 on versions of dicts are not to be relied on: there this file does nothing.
 */
#include "pyfront/guard/guard.h"

#include "pyfront/methods/methods.h"
#include "pyfront/tensor/tensor.h"

#if PY_VERSION_HEX < 0x030d0000

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static uint64_t version_of(PyObject *dict) { return ((PyDictObject *)dict)->ma_version_tag; }

/* The dict that reads of `parent` go to; NULL: another kind of object. */
static PyObject *dict_read(const jpy_src *s, PyObject *parent) {
    if (s->kind == JPY_SRC_ATTR && s->how == JPY_ATTR_MODULE)
        return jpy_module_check(parent) ? ((jpy_module *)parent)->dict : NULL;
    return s->kind == JPY_SRC_KEY && PyDict_CheckExact(parent) ? parent : NULL;
}

static bool add_dict(jpy_fast *f, uint32_t parent, bool module, bool again, PyObject *dict) {
    for (size_t i = 0; i < f->dicts.n; i++)
        if (f->dicts.data[i].slot == parent && f->dicts.data[i].module == module)
            return true;
    return jn_vec_push(&f->dicts, ((jpy_fast_dict){parent, module, again, NULL, version_of(dict)}));
}

/* Modules are looked at with their dicts, which are in the same line of memory. */
static bool add_object(jpy_fast *f, uint32_t slot, PyTypeObject *type) {
    for (size_t i = 0; i < f->dicts.n; i++)
        if (f->dicts.data[i].slot == slot && f->dicts.data[i].module) {
            f->dicts.data[i].type = type;
            return true;
        }
    return jn_vec_push(&f->objects, ((jpy_fast_object){slot, type}));
}

/* Whether a tensor has no history and is no view, and all that is asked of it is how it looks. */
static bool is_leaf(const jpy_src *s, PyObject *o) {
    if (s->checks != JPY_CHECK_TENSOR || s->tensor.n_any)
        return false;
    const jpy_tensor *t = (const jpy_tensor *)o;
    return !t->node && !t->base && !t->hooks;
}

/* Functions, modules, models: a name of which is rarely given another one.  Numbers and tensors are
 * read each time. */
static bool stays(const jpy_src *s) {
    enum { OFTEN = JPY_CHECK_CONST | JPY_CHECK_TENSOR | JPY_CHECK_INT | JPY_CHECK_FLOAT };
    return PyDict_CheckExact(s->obj) && !(s->checks & OFTEN);
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
        if (s->obj == names->dict && jpy_src_read(s, NULL, NULL) != f->values[s->slot])
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

static bool dict_holds(const jpy_fast *f, const jpy_fast_dict *d, PyObject *const *slots) {
    PyObject *o = slots[d->slot], *dict = o;
    if (d->again && o != f->values[d->slot])
        return false;
    if (d->module) {
        dict = ((jpy_module *)o)->dict;
        if (!dict || (d->type && Py_TYPE(o) != d->type))
            return false;
    }
    return version_of(dict) == d->version;
}

static void now_known(jpy_fast *f) {
    static uint64_t last;
    f->epoch = jpy_tensor_epoch;
    f->known = ++last;
}

static bool learn(jpy_guards *g, PyObject *const *slots, bool *covered) {
    jpy_fast *f = &g->fast;
    unsigned n_covered = 0;
    bool ok = true;
    for (size_t i = 0; i < g->srcs.n && ok; i++) {
        const jpy_src *s = g->srcs.data[i];
        PyObject *parent = s->parent ? slots[s->parent->slot] : NULL;
        PyObject *dict = parent ? dict_read(s, parent) : NULL;
        bool named = s->kind == JPY_SRC_GLOBAL && stays(s);
        covered[i] = dict || named;
        f->values[i] = slots[i];
        if (!covered[i]) {
            ok = jn_vec_push(&f->rest, (uint32_t)i);
            continue;
        }
        n_covered += !named;
        ok = named ? add_names(f, (uint32_t)i, s->obj)
                   : add_dict(f, s->parent->slot, s->kind == JPY_SRC_ATTR,
                              !covered[s->parent->slot], dict);
        if (ok && slots[i] && PyDict_CheckExact(slots[i]) &&
            (s->checks & (JPY_CHECK_LEN | JPY_CHECK_KEYS)))
            ok = add_dict(f, (uint32_t)i, false, false, slots[i]);
        else if (ok && slots[i] && is_leaf(s, slots[i]))
            ok = jn_vec_push(&f->tensors, ((jpy_fast_tensor){(uint32_t)i, s->tensor.requires_grad,
                                                             Py_TYPE(slots[i])}));
        else if (ok && (s->checks & (JPY_CHECK_TENSOR | JPY_CHECK_LEN | JPY_CHECK_SOME |
                                     JPY_CHECK_KEYS | JPY_CHECK_CODE)))
            ok = jn_vec_push(&f->again, (uint32_t)i);
        if (ok && (s->checks & JPY_CHECK_SAME) && !covered[s->same])
            ok = jn_vec_push(&f->again, (uint32_t)i);
        if (ok && slots[i] && (s->checks & JPY_CHECK_VERSION))
            ok = jn_vec_push(&f->again, (uint32_t)i);
    }
    for (size_t i = 0; i < g->srcs.n && ok; i++) {
        const jpy_src *s = g->srcs.data[i];
        if (covered[i] && slots[i] && (s->checks & JPY_CHECK_TYPE))
            ok = add_type(f, s->type) && add_object(f, (uint32_t)i, s->type->type);
    }
    return ok && n_covered >= 4;
}

void jpy_fast_learn(jpy_guards *g, PyObject *const *slots) {
    jpy_fast *f = &g->fast;
    jpy_fast_free(f);
    f->values = jn_alloc((g->srcs.n + 1) * sizeof *f->values);
    bool *covered = jn_calloc(g->srcs.n + 1, 1);
    f->valid = f->values && covered && learn(g, slots, covered);
    for (size_t i = 0; i < g->identity.n && f->valid; i++)
        f->aliases = f->aliases || (!covered[g->identity.data[i]] &&
                                    g->srcs.data[g->identity.data[i]]->kind != JPY_SRC_CONST);
    jn_free(covered);
    if (f->valid)
        now_known(f);
    else
        jpy_fast_free(f);
}

/* The dicts up to those of what lies in `slot`; false: one has changed. */
static inline bool dicts_hold(const jpy_fast *f, PyObject *const *slots, size_t *done,
                              uint32_t slot) {
    for (; *done < f->dicts.n && f->dicts.data[*done].slot <= slot; ++*done)
        if (!dict_holds(f, &f->dicts.data[*done], slots))
            return false;
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
    for (size_t i = 0; i < f->names.n; i++)
        if (version_of(f->names.data[i].dict) != f->names.data[i].version &&
            !names_hold(g, &f->names.data[i]))
            return false;
    memcpy(slots, f->values, g->srcs.n * sizeof *slots);
    size_t d = 0;
    /* in path order: what is compared or read next is alive once what leads to it holds */
    for (size_t i = 0; i < f->rest.n; i++) {
        const jpy_src *s = g->srcs.data[f->rest.data[i]];
        if (s->parent && !dicts_hold(f, slots, &d, s->parent->slot))
            return false;
        PyObject *v = jpy_src_read(s, s->parent ? slots[s->parent->slot] : NULL, call);
        slots[s->slot] = v;
        if (!jpy_src_holds(s, v, slots))
            return false;
    }
    if (!dicts_hold(f, slots, &d, UINT32_MAX))
        return false;
    for (size_t i = 0; i < f->types.n; i++)
        if (!jpy_type_holds(f->types.data[i]))
            return false;
    for (size_t i = 0; i < f->objects.n; i++) /* __class__ can be set */
        if (Py_TYPE(slots[f->objects.data[i].slot]) != f->objects.data[i].type)
            return false;
    if (!leaves_hold(g, f, slots))
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
    jn_vec_free(&f->dicts);
    jn_vec_free(&f->types);
    jn_vec_free(&f->rest);
    jn_vec_free(&f->objects);
    jn_vec_free(&f->tensors);
    jn_vec_free(&f->again);
    *f = (jpy_fast){0};
}
