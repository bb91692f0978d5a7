/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short way through the guards of a call whose modules have not changed.
 *
 * What is read from the dict of a module, or from a dict found there, is the same as long as the
 * dict is: CPython gives every state of every dict a version of its own.  After all guards held,
 * the values found are kept with these versions; the next time one comparison a dict stands for all
 * reads of it.  So it is with the dicts of globals; where one has changed, as a program's own does
 * at every statement outside of functions, its names are read again.  Dims and flags of tensors,
 * and the versions of types, are looked at again.
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

static bool add_dict(jpy_fast *f, uint32_t parent, bool module, PyObject *dict) {
    for (size_t i = 0; i < f->dicts.n; i++)
        if (f->dicts.data[i].slot == parent && f->dicts.data[i].module == module)
            return true;
    return jn_vec_push(&f->dicts, ((jpy_fast_dict){parent, module, version_of(dict)}));
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

static bool dict_holds(const jpy_fast_dict *d, PyObject *const *slots) {
    PyObject *o = slots[d->slot], *dict = d->module ? ((jpy_module *)o)->dict : o;
    return dict && version_of(dict) == d->version;
}

void jpy_fast_learn(jpy_guards *g, PyObject *const *slots) {
    jpy_fast *f = &g->fast;
    jpy_fast_free(f);
    size_t n = g->srcs.n;
    f->values = jn_alloc((n + 1) * sizeof *f->values);
    bool *covered = jn_calloc(n + 1, 1), ok = f->values && covered;
    unsigned n_covered = 0;
    for (size_t i = 0; i < n && ok; i++) {
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
                   : add_dict(f, s->parent->slot, s->kind == JPY_SRC_ATTR, dict);
        if (ok && slots[i] && PyDict_CheckExact(slots[i]) &&
            (s->checks & (JPY_CHECK_LEN | JPY_CHECK_KEYS)))
            ok = add_dict(f, (uint32_t)i, false, slots[i]);
        else if (ok && (s->checks & (JPY_CHECK_TENSOR | JPY_CHECK_LEN | JPY_CHECK_SOME |
                                     JPY_CHECK_KEYS | JPY_CHECK_CODE)))
            ok = jn_vec_push(&f->again, (uint32_t)i);
        if (ok && slots[i] && (s->checks & JPY_CHECK_TYPE))
            ok = add_type(f, s->type) &&
                 jn_vec_push(&f->objects, ((jpy_fast_object){(uint32_t)i, s->type->type}));
        if (ok && (s->checks & JPY_CHECK_SAME) && !covered[s->same])
            ok = jn_vec_push(&f->again, (uint32_t)i);
        if (ok && slots[i] && (s->checks & JPY_CHECK_VERSION))
            ok = jn_vec_push(&f->again, (uint32_t)i);
    }
    f->aliases = false; /* whether objects that are found anew must differ from others */
    for (size_t i = 0; i < g->identity.n && ok; i++)
        f->aliases = f->aliases || (!covered[g->identity.data[i]] &&
                                    g->srcs.data[g->identity.data[i]]->kind != JPY_SRC_CONST);
    jn_free(covered);
    f->valid = ok && n_covered >= 4;
    if (!f->valid)
        jpy_fast_free(f);
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
        for (; d < f->dicts.n && s->parent && f->dicts.data[d].slot <= s->parent->slot; d++)
            if (slots[f->dicts.data[d].slot] != f->values[f->dicts.data[d].slot] ||
                !dict_holds(&f->dicts.data[d], slots))
                return false;
        PyObject *v = jpy_src_read(s, s->parent ? slots[s->parent->slot] : NULL, call);
        slots[s->slot] = v;
        if (!jpy_src_holds(s, v, slots))
            return false;
    }
    for (; d < f->dicts.n; d++)
        if (slots[f->dicts.data[d].slot] != f->values[f->dicts.data[d].slot] ||
            !dict_holds(&f->dicts.data[d], slots))
            return false;
    for (size_t i = 0; i < f->types.n; i++)
        if (!jpy_type_holds(f->types.data[i]))
            return false;
    for (size_t i = 0; i < f->objects.n; i++) /* __class__ can be set */
        if (Py_TYPE(slots[f->objects.data[i].slot]) != f->objects.data[i].type)
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
    jn_vec_free(&f->again);
    *f = (jpy_fast){0};
}
