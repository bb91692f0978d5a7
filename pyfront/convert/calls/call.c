/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls: what is called, binding arguments to a Python function's parameters and inlining its body.
 */
#include "pyfront/convert/calls/calls.h"

#include <string.h>

#include "pyfront/base/names.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/values.h"
#include "pyfront/function/function.h"

static jpy_source *source_of(jcv *c, PyObject *func) {
    static PyObject *cache; /* code -> capsule */
    PyObject *code = PyFunction_GET_CODE(func);
    if (!cache)
        cache = PyDict_New();
    PyObject *key = PyLong_FromVoidPtr(code);
    PyObject *had = key && cache ? PyDict_GetItem(cache, key) : NULL;
    jpy_source *s = NULL;
    const char *why = NULL;
    if (had) {
        s = PyCapsule_GetPointer(PyTuple_GET_ITEM(had, 0), NULL);
    } else {
        s = jpy_source_of(code, PyFunction_GET_GLOBALS(func), &why);
        if (s) { /* kept for ever, with its code: addresses must not be used again */
            PyObject *cap = PyCapsule_New(s, NULL, NULL);
            PyObject *pair = cap ? PyTuple_Pack(2, cap, code) : NULL;
            if (pair && key && cache)
                PyDict_SetItem(cache, key, pair);
            Py_XDECREF(cap);
            Py_XDECREF(pair);
        }
    }
    Py_XDECREF(key);
    if (!s) {
        PyErr_Clear();
        jcv_refuse(c, "%s: %s", PyUnicode_AsUTF8(((PyFunctionObject *)func)->func_name),
                   why ? why : "no source");
    }
    return s;
}

static jcv_av *default_of(jcv *c, jcv_frame *fr, jpy_src *fs, unsigned i) {
    PyObject *d = PyFunction_GET_DEFAULTS(fr->func);
    jpy_src *s = fs ? jpy_src_get(c->guards, JPY_SRC_FUNC, fs, NULL, NULL, 0) : NULL;
    if (s)
        s = jpy_src_get(c->guards, JPY_SRC_ITEM, s, NULL, NULL, i);
    return jcv_wrap(c, PyTuple_GET_ITEM(d, i), s);
}

/* Abstract values of all parameters in order (then *args, **kwargs). */
static jcv_av **bind(jcv *c, jcv_frame *fr, const jcv_args *args, jcv_av *closure,
                     unsigned *out_n) {
    jpy_tree *p = fr->def->c;
    unsigned n_pos_params = 0, n = p->x.n;
    while (n_pos_params < n && p->x.v[n_pos_params]->op < 2)
        n_pos_params++;
    unsigned total = n + (p->a != NULL) + (p->b != NULL);
    jcv_av **v = jcv_alloc(c, (total + 1) * sizeof *v);
    for (unsigned i = 0; i < args->n_pos && i < n_pos_params; i++)
        v[i] = args->pos[i];
    if (args->n_pos > n_pos_params && !p->a)
        jcv_refuse(c, "too many arguments");
    jcv_av *extra = p->b ? jcv_dict(c) : NULL;
    for (unsigned k = 0; k < args->n_kw; k++) {
        unsigned i = 0;
        while (i < n && !(p->x.v[i]->obj == args->names[k] && p->x.v[i]->op > 0))
            i++;
        if (i < n && v[i])
            jcv_refuse(c, "an argument is given twice");
        if (i < n)
            v[i] = args->kw[k];
        else if (extra)
            jcv_setitem(c, extra, jcv_py(c, args->names[k], NULL), args->kw[k]);
        else
            jcv_refuse(c, "an unexpected keyword argument");
    }
    jpy_src *fs = fr->func_src;
    if (fr->func && !fs)
        fs = jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, fr->func, 0);
    unsigned n_defaults = p->y.n;
    if (fr->func) {
        PyObject *d = PyFunction_GET_DEFAULTS(fr->func);
        n_defaults = d ? (unsigned)PyTuple_GET_SIZE(d) : 0;
        jpy_src *ds = jpy_src_get(c->guards, JPY_SRC_FUNC, fs, NULL, NULL, 0);
        if (ds && d) {
            ds->checks |= JPY_CHECK_LEN;
            ds->number = n_defaults;
        } else if (ds) {
            ds->checks |= JPY_CHECK_ABSENT;
        }
    }
    for (unsigned i = 0; i < n_pos_params; i++) {
        if (v[i])
            continue;
        if (i + n_defaults < n_pos_params)
            jcv_refuse(c, "an argument is missing");
        unsigned k = i + n_defaults - n_pos_params;
        v[i] = fr->func ? default_of(c, fr, fs, k) : closure->items[k];
        if (v[i]->kind == AV_PY && v[i]->py == Py_None)
            v[i] = jcv_none(c);
    }
    PyObject *kwd = fr->func ? PyFunction_GET_KW_DEFAULTS(fr->func) : NULL;
    for (unsigned i = n_pos_params; i < n; i++) {
        if (v[i])
            continue;
        PyObject *d = kwd ? PyDict_GetItem(kwd, p->x.v[i]->obj) : NULL;
        if (!fr->func && closure->n > n_defaults + i - n_pos_params)
            v[i] = closure->items[n_defaults + i - n_pos_params];
        if (v[i])
            continue;
        if (!d)
            jcv_refuse(c, "a keyword argument is missing");
        jpy_src *s = jpy_src_get(c->guards, JPY_SRC_FUNC, fs, NULL, NULL, 1);
        v[i] = jcv_wrap(c, d, jpy_src_get(c->guards, JPY_SRC_KEY, s, NULL, p->x.v[i]->obj, 0));
    }
    unsigned at = n;
    if (p->a) {
        unsigned m = args->n_pos > n_pos_params ? args->n_pos - n_pos_params : 0;
        v[at++] = jcv_tuple(c, args->pos + (m ? n_pos_params : 0), m);
    }
    if (p->b)
        v[at++] = extra;
    *out_n = total;
    return v;
}

/* A tuple that is a node of a tree, not several values: something in it is no value of the graph.
 */
static bool is_node(PyObject *t) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(t); i++) {
        PyObject *o = PyTuple_GET_ITEM(t, i);
        if (!jpy_tensor_check(o) && !PyLong_Check(o) && !PyFloat_Check(o) && o != Py_None)
            return true;
    }
    return false;
}

/* An optional value by its parts: whether it is there, what it then is, and else. */
static bool is_optional(const jcv_av *a) { return a->kind == AV_MAYBE && !a->val && a->n; }

/* Arguments without tuples: each number, tensor or object in them is a parameter of its own, so
 * that a recursion can pass them.  Returns the shape, whose leaves are numbered. */
static jcv_av *flatten(jcv *c, jcv_av *a, bool real, jcv_av **flat, unsigned *n) {
    enum { MAX_FLAT = 256 };
    jcv_av **items;
    unsigned m;
    if (real && a->kind == AV_PY && a->src && PyTuple_CheckExact(a->py) && !is_node(a->py) &&
        jcv_items(c, a, &items, &m))
        a = jcv_tuple(c, items, m);
    if (a->kind == AV_MAYBE && a->self) {
        jcv_av *parts[3] = {jcv_scalar(c, a->val), a->self, jcv_number_or(a)};
        a = jcv_tuple(c, parts, parts[2] ? 3 : 2);
        a->kind = AV_MAYBE;
    }
    if (a->kind == AV_TUPLE || jcv_is_slice(a) || is_optional(a)) {
        jcv_av *t = jcv_tuple_like(c, a);
        t->kind = a->kind;
        t->text = a->text;
        for (unsigned i = 0; i < t->n; i++)
            t->items[i] = flatten(c, a->items[i], real, flat, n);
        return t;
    }
    if (real && a->kind == AV_PY && a->py == Py_None && !a->src)
        return a; /* what is not given: the calls that give it are of another kind */
    if (*n == MAX_FLAT)
        jcv_refuse(c, "a call with very many arguments");
    jcv_av *leaf = jcv_new(c, AV_ITER);
    leaf->text = "leaf";
    leaf->named = a->kind == AV_TENSOR ? (PyObject *)jpy.tensor_type : NULL; /* no number */
    leaf->n = *n;
    flat[(*n)++] = a;
    return leaf;
}

static const char pairs_text[] = "the pairs of a dict";

static bool gets_pairs(const jcv *c, const jcv_frame *fr) {
    const jcv_peel *p = c->by_pairs;
    while (p && p->loop != fr->def)
        p = p->next;
    return p;
}

/* Pairs of a dict that the function makes, whose keys are strings and ints; NULL: another one. */
static jcv_av *plain_pairs(jcv *c, const jcv_av *d) {
    jcv_av *t = d->kind == AV_DICT && !d->origin && d->tree ? c->slots.data[d->slot] : NULL;
    if (!t || t->kind != AV_TUPLE || t->text)
        return NULL;
    for (unsigned i = 0; i + 1 < t->n; i += 2) {
        const jcv_av *k = t->items[i];
        bool plain = k->kind == AV_PY && (PyUnicode_CheckExact(k->py) || PyLong_CheckExact(k->py));
        if (!plain || t->items[i + 1]->kind == AV_UNDEF)
            return NULL;
    }
    return t;
}

void jcv_other_dicts(jcv *c, const jcv_frame *fr, const jcv_av *a, const jcv_av *b) {
    if (a->kind != AV_DICT || gets_pairs(c, fr) || !plain_pairs(c, a) || b->kind != AV_DICT ||
        !plain_pairs(c, b))
        return;
    jcv_peel *p = jn_arena_alloc(&c->keep, sizeof *p);
    if (!p)
        jcv_refuse(c, "out of memory");
    *p = (jcv_peel){fr->def, c->by_pairs};
    c->by_pairs = p;
    snprintf(c->reason, sizeof c->reason, "a recursion gets other dicts");
    jcv_throw_now(c, THROW_RESTART);
}

/* A dict in a recursion that other calls give another one: what it holds is given, and whoever
 * writes to it has it live. */
static jcv_av *given_dict(jcv *c, jcv_av *pairs) {
    jpy_tree *at = c->at;
    c->at = NULL; /* it is made elsewhere */
    jcv_av *d = jcv_dict(c), *t = jcv_tuple(c, pairs->items, pairs->n);
    c->at = at;
    d->tree = pairs->tree;
    jcv_put(c, d->slot, t);
    if (!jn_vec_push(&c->given, d->slot))
        jcv_refuse(c, "out of memory");
    return d;
}

static jcv_av *flatten_all(jcv *c, const jcv_frame *fr, jcv_av **v, unsigned n, jcv_av **flat,
                           unsigned *n_flat) {
    jcv_av *shape = jcv_tuple(c, v, n);
    bool real = jcv_recursive(c, fr);
    for (unsigned i = 0; i < n; i++) {
        if (i + 1 < n || !fr->def->c->b) {
            jcv_av *held = real && gets_pairs(c, fr) ? plain_pairs(c, v[i]) : NULL;
            jcv_av *t = held ? jcv_tuple(c, held->items, held->n) : NULL;
            for (unsigned k = 1; t && k < t->n; k += 2)
                t->items[k] = flatten(c, t->items[k], real, flat, n_flat);
            if (t) {
                t->text = pairs_text;
                t->tree = v[i]->tree;
            }
            shape->items[i] = t ? t : flatten(c, v[i], real, flat, n_flat);
            continue;
        }
        jcv_av *pairs = c->slots.data[v[i]->slot], *kw = jcv_tuple(c, pairs->items, pairs->n);
        for (unsigned k = 1; k < kw->n; k += 2)
            kw->items[k] = flatten(c, kw->items[k], real, flat, n_flat);
        shape->items[i] = kw;
    }
    return shape;
}

static void store_params(jcv *c, jcv_frame *fr, jcv_av **v, unsigned n) {
    jpy_tree *p = fr->def->c;
    jcv_frame *was = c->frame;
    c->frame = fr;
    for (unsigned i = 0; i < n; i++)
        jcv_store(c,
                  i < p->x.n            ? p->x.v[i]->obj
                  : i == p->x.n && p->a ? p->a->obj
                                        : p->b->obj,
                  v[i]);
    c->frame = was;
}

void jcv_store_params(jcv *c, jcv_frame *fr, jcv_av **flat) {
    unsigned n = fr->shape->n;
    jcv_av **v = jcv_alloc(c, (n + 1) * sizeof *v);
    for (unsigned i = 0; i < n; i++) {
        v[i] = jcv_fill(c, fr->shape->items[i], flat);
        if (fr->shape->items[i]->text == pairs_text) {
            v[i]->tree = fr->shape->items[i]->tree;
            v[i] = given_dict(c, v[i]);
        }
    }
    if (fr->def->c->b) {
        jcv_av *d = jcv_dict(c);
        jcv_put(c, d->slot, v[n - 1]);
        v[n - 1] = d;
    }
    store_params(c, fr, v, n);
}

/* A call of a generator function: its body runs when items are taken. */
static jcv_av *generator(jcv *c, jcv_frame *fr) {
    jcv_av *g = jcv_seq(c, "a generator", NULL, 0);
    g->tree = fr->def;
    g->frame = fr;
    return g;
}

/* Methods of different modules are different functions: of the graph's, those of different classes.
 * NULL: nothing tells them apart. */
static jcv_av *self_key(jcv *c, jcv_av *self) {
    if (!jpy.module_base_type)
        return NULL;
    if (self->kind == AV_PY)
        return PyObject_TypeCheck(self->py, jpy.module_base_type) ? self : NULL;
    if (self->kind != AV_HOST || !PyList_GET_SIZE(jcv_samples(c, self)))
        return NULL;
    PyObject *types = jcv_types_of(c, self), *t = PyList_GET_ITEM(types, 0);
    bool one = PyList_GET_SIZE(types) == 1;
    return one && PyType_IsSubtype((PyTypeObject *)t, jpy.module_base_type) ? jcv_py(c, t, NULL)
                                                                            : NULL;
}

/* JCV_NOT_KNOWN is more than any number. */
static unsigned more_of(unsigned a, unsigned b) { return a > b ? a : b; }

/* The same of containers of the caller. */
static unsigned levels_there(PyObject *o, unsigned most) {
    bool list = PyList_CheckExact(o) || PyTuple_CheckExact(o);
    unsigned deepest = 0;
    PyObject *v;
    Py_ssize_t pos = 0, n = list ? PySequence_Fast_GET_SIZE(o) : 0;
    if (!list && !PyDict_CheckExact(o))
        return 0;
    if (!most)
        return JCV_NOT_KNOWN;
    for (Py_ssize_t i = 0; i < n; i++)
        deepest = more_of(deepest, levels_there(PySequence_Fast_GET_ITEM(o, i), most - 1));
    while (!list && PyDict_Next(o, &pos, NULL, &v))
        deepest = more_of(deepest, levels_there(v, most - 1));
    return deepest == JCV_NOT_KNOWN ? deepest : deepest + 1;
}

/* How deep containers are that lie in each other; JCV_NOT_KNOWN where only the graph knows. */
static unsigned levels(const jcv *c, const jcv_av *a, unsigned most) {
    const jcv_av *in = a->kind == AV_LIST || a->kind == AV_DICT ? c->slots.data[a->slot] : a;
    if (a->kind == AV_PY)
        return levels_there(a->py, most);
    if (a->kind == AV_TENSOR || a->kind == AV_SCALAR)
        return 0;
    if (in->kind != AV_TUPLE || !most)
        return JCV_NOT_KNOWN;
    unsigned deepest = 0;
    for (unsigned i = 0; i < in->n; i++)
        deepest = more_of(deepest, levels(c, in->items[i], most - 1));
    return deepest == JCV_NOT_KNOWN ? deepest : deepest + 1;
}

static unsigned levels_of_all(const jcv *c, jcv_av *const *v, unsigned n) {
    enum { MOST = 16 };
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned x = levels(c, v[i], MOST);
        if (x == JCV_NOT_KNOWN)
            return x;
        sum += x;
    }
    return sum;
}

static jcv_av *enter(jcv *c, jcv_frame *fr, const jcv_args *args, jcv_av *closure) {
    unsigned n;
    jcv_av **v = bind(c, fr, args, closure, &n);
    fr->caller = c->frame;
    fr->depth = c->frame ? c->frame->depth + 1 : 0;
    if (n)
        fr->self_key = self_key(c, v[0]);
    if (fr->def->fn->generator) {
        if (fr->def->kind == JPY_LAMBDA) /* it has no statements, which yields are followed from */
            jcv_refuse(c, "a call of a lambda that yields");
        store_params(c, fr, v, n);
        return generator(c, fr);
    }
    unsigned n_flat = 0;
    jcv_av **flat = jcv_alloc(c, 256 * sizeof *flat);
    fr->nested = levels_of_all(c, v, n);
    fr->shape = flatten_all(c, fr, v, n, flat, &n_flat);
    jcv_av *r = jcv_call_recursive(c, fr, flat, n_flat);
    if (r)
        return r;
    store_params(c, fr, v, n);
    return jcv_run_body(c, fr);
}

jcv_av *jcv_call_function(jcv *c, PyObject *func, jpy_src *src, const jcv_args *args) {
    if (!src) /* its code can be set */
        src = jcv_constant(c, func)->src;
    jcv_frame *fr = jcv_alloc(c, sizeof *fr);
    fr->source = source_of(c, func);
    fr->def = fr->source->root;
    fr->func = func;
    fr->func_src = src;
    fr->code = PyFunction_GET_CODE(func);
    fr->globals = PyFunction_GET_GLOBALS(func);
    if (!PyDict_CheckExact(fr->globals)) /* its __getitem__ finds names */
        jcv_refuse(c, "a function whose globals are no plain dict");
    return enter(c, fr, args, NULL);
}

static jcv_av *call_closure(jcv *c, jcv_av *f, const jcv_args *args) {
    jcv_frame *fr = jcv_alloc(c, sizeof *fr);
    fr->source = f->frame->source;
    fr->def = f->tree;
    fr->outer = f->frame;
    return enter(c, fr, args, f);
}

static bool from_janus(PyObject *callable) {
    PyObject *m = PyObject_GetAttrString(callable, "__module__");
    const char *s = m && PyUnicode_Check(m) ? PyUnicode_AsUTF8(m) : NULL;
    bool yes = s && (!strcmp(s, "janus._C") || !strcmp(s, "janus"));
    Py_XDECREF(m);
    PyErr_Clear();
    if (!yes && PyCFunction_Check(callable))
        yes = PyCFunction_GET_SELF(callable) == jpy.module;
    return yes;
}

static jcv_av *construct(jcv *c, jcv_av *f, const jcv_args *args) {
    PyTypeObject *t = (PyTypeObject *)f->py;
    if ((jpy.ctx_type && t == jpy.ctx_type) || t == jpy.autocast_type)
        return jcv_call_tensor(c, f->py, args);
    PyObject *name = jcv_own(c, PyObject_GetAttrString(f->py, "__name__"));
    const char *s = PyUnicode_AsUTF8(name);
    PyObject *module = PyObject_GetAttrString(f->py, "__module__");
    const char *m = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : "";
    bool ours = m && !strncmp(m, "janus", 5);
    Py_XDECREF(module);
    PyErr_Clear();
    if (ours && (!strcmp(s, "no_grad") || !strcmp(s, "enable_grad")))
        return jcv_call_tensor(c, f->py, args);
    if (t == jpy.size_type && args->n_pos == 1 && !args->n_kw && jcv_const_object(c, args->pos[0]))
        return jcv_take(c, PyObject_CallOneArg(f->py, jcv_const_object(c, args->pos[0])));
    jcv_av *made = jcv_make_object(c, t, args);
    return made ? made : jcv_call_builtin(c, f, args);
}

jcv_av *jcv_call_object(jcv *c, jcv_av *f, const jcv_args *args) {
    switch (f->kind) {
    case AV_CLOSURE:
        return call_closure(c, f, args);
    case AV_CHOICE:
        return jcv_call_choice(c, f, args);
    case AV_HOST:
        return jcv_call_host(c, f, args);
    case AV_METHOD:
        if (f->text)
            return jcv_call_method(c, f->self, f->text, args);
        return jcv_call(c, jcv_wrap(c, f->py, f->src), jcv_behind(c, f->self, args));
    case AV_PY:
        break;
    default:
        jcv_refuse(c, "a call of %s", jcv_describe(f));
    }
    jcv_av *drawn = jcv_draw_function(c, f->py, args);
    if (drawn)
        return drawn;
    PyObject *o = f->py, *model = jcv_model_of(c, o);
    if (model)
        return jcv_call(c, jcv_constant(c, model), args);
    if (PyFunction_Check(o) && jcv_called_as_it_is(o))
        return jcv_call_real(c, o, args, PyUnicode_AsUTF8(((PyFunctionObject *)o)->func_name));
    if (PyFunction_Check(o)) {
        jcv_av *made = jcv_call_new(c, o, args);
        return made ? made : jcv_call_function(c, o, f->src, args);
    }
    if (Py_TYPE(o) == jpy.function_type) {
        PyObject *inner = ((jpy_function *)o)->callable;
        return jcv_call(c, jcv_constant(c, inner), args);
    }
    if (PyMethod_Check(o)) {
        jpy_src *fs = NULL, *ss = NULL;
        if (f->src) {
            fs = jpy_src_get(c->guards, JPY_SRC_ATTR, f->src, NULL, jpy_names.func, 0);
            ss = jpy_src_get(c->guards, JPY_SRC_ATTR, f->src, NULL, jpy_names.self, 0);
        } else {
            ss = jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, PyMethod_GET_SELF(o), 0);
        }
        jcv_av *self = jcv_wrap(c, PyMethod_GET_SELF(o), ss);
        return jcv_call(c, jcv_wrap(c, PyMethod_GET_FUNCTION(o), fs), jcv_behind(c, self, args));
    }
    if (Py_TYPE(o) == &PyMethodDescr_Type && PyDescr_TYPE(o) == jpy.tensor_type)
        return jcv_call_tensor(c, o, args);
    if (PyType_Check(o))
        return construct(c, f, args);
    jcv_av *called = jcv_call_unbound(c, o, args);
    if (called)
        return called;
    if (PyCFunction_Check(o) || Py_TYPE(o) == &PyMethodDescr_Type ||
        Py_TYPE(o) == &PyWrapperDescr_Type || Py_TYPE(o) == jpy.op_type) {
        if (from_janus(o) || Py_TYPE(o) == jpy.op_type)
            return jcv_call_tensor(c, o, args);
        return jcv_call_builtin(c, f, args);
    }
    PyObject *fn = jcv_lookup(c, Py_TYPE(o), jpy_names.call);
    if (fn && PyFunction_Check(fn))
        return jcv_call_function(c, fn, NULL, jcv_behind(c, f, args));
    jcv_refuse(c, "a call of %s", jcv_describe(f));
}
