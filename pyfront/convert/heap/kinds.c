/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of two kinds: None, a bool, an int, a float, a tensor (AV_MAYBE, maybe.c), and what is
 * done with either.
 *
 * Where paths join, the later one in that order is the value where its bool holds.  Whoever takes
 * a number of two kinds does what he does in an arm for each, since what he gives may be of
 * another type.
 */
#include "pyfront/convert/heap/heap.h"

#include <string.h>

#include "ops/op_ids.h"

enum { OTHER, NONE, BOOL, INT, FLOAT, TENSOR, N_KINDS };

static int kind_of(const jcv_av *a) {
    janus_kind k = jcv_number_kind(a);
    return a->kind == AV_TENSOR    ? TENSOR
           : jcv_is_none(a)        ? NONE
           : k == JANUS_KIND_BOOL  ? BOOL
           : k == JANUS_KIND_INT   ? INT
           : k == JANUS_KIND_FLOAT ? FLOAT
                                   : OTHER;
}

bool jcv_two_numbers(const jcv_av *a) { return jcv_number_or(a) && jcv_number_kind(a->self); }

bool jcv_two_kinds(jcv_av *a, jcv_av *b, jcv_two *out) {
    jcv_av *of[N_KINDS] = {NULL}, *both[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        bool maybe = both[i]->kind == AV_MAYBE && both[i]->self;
        jcv_av *one = maybe ? both[i]->self : both[i];
        of[kind_of(one)] = one;
        if (maybe && jcv_number_or(both[i]))
            of[kind_of(jcv_number_or(both[i]))] = jcv_number_or(both[i]);
        else if (maybe)
            of[NONE] = both[i];
    }
    *out = (jcv_two){NULL, NULL};
    int n = 0;
    for (int k = NONE; k < N_KINDS; k++) {
        n += of[k] != NULL;
        if (of[k] && out->there && jcv_number_kind(out->there))
            out->number = out->there;
        out->there = of[k] && k != NONE ? of[k] : out->there;
    }
    return n == 2 && !of[OTHER];
}

jcv_av *jcv_kind_in(jcv_av *a, const jcv_av *like) {
    jcv_av *of[2] = {a, NULL};
    if (a->kind == AV_MAYBE && a->self) {
        of[0] = a->self;
        of[1] = jcv_number_or(a);
    }
    for (int i = 0; i < 2; i++)
        if (of[i] && kind_of(of[i]) == kind_of(like))
            return of[i];
    return NULL;
}

jcv_av *jcv_as_two(jcv *c, jcv_av *a, const jcv_two *as) {
    jcv_av *there = jcv_kind_in(a, as->there);
    jcv_av *number = as->number ? jcv_kind_in(a, as->number) : NULL;
    jcv_val *present = a->kind == AV_MAYBE ? a->val
                                           : jcv_scalar_const(c, JANUS_KIND_BOOL,
                                                              (janus_scalar){.i = there != NULL});
    return jcv_maybe_or(c, present, there ? there : jcv_dummy(c, as->there),
                        number || !as->number ? number : jcv_dummy(c, as->number));
}

jcv_av *jcv_which_number(jcv *c, jcv_av *a) {
    a = jcv_found(c, a);
    if (a->kind == AV_MAYBE && a->self && jcv_number_kind(a->self))
        jcv_ask_kind(c, a);
    return a;
}

/* ---- objects that are numbers -------------------------------------------------------------------
 */

/* The kind of a type's instances. */
static int kind_of_type(const PyTypeObject *t) {
    return t == Py_TYPE(Py_None) ? NONE
           : t == &PyBool_Type   ? BOOL
           : t == &PyLong_Type   ? INT
           : t == &PyFloat_Type  ? FLOAT
                                 : OTHER;
}

typedef struct unboxing {
    jcv_av *o;
    PyTypeObject *types[2];
    uint32_t slot;
} unboxing;

/* An object that is of a type. */
static jcv_av *as_type(jcv *c, jcv_av *o, PyTypeObject *t) {
    PyObject *all = jcv_samples(c, o), *of = jcv_own(c, PyList_New(0));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all); i++)
        if (Py_TYPE(PyList_GET_ITEM(all, i)) == t && PyList_Append(of, PyList_GET_ITEM(all, i)) < 0)
            jcv_refuse_py(c);
    return jcv_host_read(c, o->val, of);
}

static jcv_out take_number(jcv *c, void *user, int arm) {
    const unboxing *x = user;
    bool none = x->types[arm] == Py_TYPE(Py_None);
    jcv_put(c, x->slot, none ? jcv_none(c) : as_type(c, x->o, x->types[arm]));
    return OUT_NORMAL;
}

jcv_av *jcv_operand(jcv *c, jcv_av *a) {
    a = jcv_number_of(c, jcv_found(c, a));
    PyObject *types =
        a->kind == AV_HOST && PyList_GET_SIZE(jcv_samples(c, a)) ? jcv_types_of(c, a) : NULL;
    if (!types || PyList_GET_SIZE(types) != 2)
        return a;
    bool none = false, tensor = false;
    for (Py_ssize_t i = 0; i < 2; i++) {
        PyTypeObject *t = (PyTypeObject *)PyList_GET_ITEM(types, i);
        none = none || t == Py_TYPE(Py_None);
        tensor = tensor || t == jpy.tensor_type;
    }
    if (!none || !tensor)
        return a;
    jcv_assert(c, jcv_type_is(c, a, jpy.tensor_type), "it is not None");
    return jcv_read_as_number(c, a, as_type(c, a, jpy.tensor_type));
}

jcv_av *jcv_number_of(jcv *c, jcv_av *o) {
    jcv_av *had = o->kind == AV_HOST ? jcv_read_as_number(c, o, NULL) : o;
    if (had)
        return had;
    PyObject *types = PyList_GET_SIZE(jcv_samples(c, o)) ? jcv_types_of(c, o) : NULL;
    Py_ssize_t n = types ? PyList_GET_SIZE(types) : 0;
    unboxing x = {.o = o};
    for (Py_ssize_t i = 0; i < n && i < 2; i++) {
        x.types[i] = (PyTypeObject *)PyList_GET_ITEM(types, i);
        if (!kind_of_type(x.types[i]))
            return o;
    }
    if (n != 2)
        return o;
    if (kind_of_type(x.types[0]) < kind_of_type(x.types[1])) {
        PyTypeObject *t = x.types[0];
        x.types[0] = x.types[1];
        x.types[1] = t;
    }
    jcv_host_one_of_seen(c, o);
    jcv_val *is = jcv_type_is(c, o, x.types[0]);
    x.slot = jcv_slot(c, jcv_none(c));
    jcv_branch(c, is, take_number, &x);
    jcv_av *v = c->slots.data[x.slot];
    if (v->kind == AV_MAYBE)
        v = jcv_maybe_or(c, is, v->self, jcv_number_or(v));
    return jcv_read_as_number(c, o, v);
}

/* ---- what is done with either -------------------------------------------------------------------
 */

typedef struct each_way {
    jcv_av *which;
    jcv_each_fn fn;
    void *user;
    uint32_t slot;
    jcv_av *got[2];
} each_way;

static jcv_out one_way(jcv *c, void *user, int arm) {
    each_way *x = user;
    jcv_av *number = jcv_number_or(x->which);
    x->got[arm] = x->fn(c, x->user, !arm ? x->which->self : number ? number : jcv_none(c));
    jcv_put(c, x->slot, x->got[arm]);
    return OUT_NORMAL;
}

static bool is_truth(const jcv_av *a, bool v) {
    return a && a->kind == AV_PY && a->py == (v ? Py_True : Py_False);
}

jcv_av *jcv_each_way(jcv *c, jcv_av *which, jcv_each_fn fn, void *user) {
    each_way x = {which, fn, user, jcv_slot(c, jcv_none(c)), {NULL, NULL}};
    jcv_branch(c, which->val, one_way, &x);
    jcv_av *r = c->slots.data[x.slot];
    for (int k = 0; k < 2 && r->kind == AV_SCALAR; k++) /* whoever tests it knows which it is */
        if (is_truth(x.got[k], true) && is_truth(x.got[1 - k], false))
            return jcv_scalar(c, k ? &jcv_op(c, JN_OP(s_not), &which->val, 1, NULL)->out[0]
                                   : which->val);
    jcv_needed(c, r);
    if (r->kind == AV_UNDEF)
        jcv_refuse(c, "what is done with a value that is of different kinds: %s", r->text);
    return r;
}

typedef struct calling {
    const jcv_args *args;
    unsigned at;
    jcv_call_fn fn;
    void *user;
} calling;

static jcv_av *call_one_way(jcv *c, void *user, jcv_av *is) {
    const calling *x = user;
    unsigned n = x->args->n_pos;
    jcv_args a = *x->args;
    jcv_av ***of = x->at < n ? &a.pos : &a.kw;
    unsigned of_n = x->at < n ? n : a.n_kw;
    jcv_av **v = jcv_alloc(c, (of_n + 1) * sizeof *v);
    memcpy(v, *of, of_n * sizeof *v);
    v[x->at < n ? x->at : x->at - n] = is;
    *of = v;
    return x->fn(c, x->user, &a);
}

jcv_av *jcv_call_each_way(jcv *c, const jcv_args *args, bool none_too, jcv_call_fn fn, void *user) {
    for (unsigned i = 0; i < args->n_pos + args->n_kw; i++) {
        jcv_av *a = i < args->n_pos ? args->pos[i] : args->kw[i - args->n_pos];
        a = jcv_found(c, a);
        if (a->kind != AV_MAYBE || !a->self || !jcv_number_kind(a->self) ||
            (!none_too && !jcv_number_or(a)))
            continue;
        calling x = {args, i, fn, user};
        return jcv_each_way(c, a, call_one_way, &x);
    }
    return NULL;
}
