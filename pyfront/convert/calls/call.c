/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls: what is called, binding arguments to a Python function's parameters and inlining its body.
 */
#include "pyfront/convert/calls/calls.h"

#include <string.h>

#include "pyfront/base/codes.h"
#include "pyfront/base/names.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/values.h"
#include "pyfront/function/function.h"

static void let_go(PyObject *capsule) { jpy_source_release(PyCapsule_GetPointer(capsule, NULL)); }

/* What a function's code was lowered to, once for as long as the code lives, which the conversion
 * sees to: its frames have trees of it.  NULL: there is none, *why, where it is known. */
static jpy_source *lowered_of(jcv *c, PyObject *func, const char **why) {
    static PyObject *lowered; /* of codes: a capsule */
    PyObject *code = PyFunction_GET_CODE(func), *had = jpy_of_code(lowered, code);
    jpy_source *s = had ? PyCapsule_GetPointer(had, NULL) : NULL;
    if (!s && (s = jpy_source_of(code, PyFunction_GET_GLOBALS(func), why))) {
        PyObject *capsule = PyCapsule_New(s, NULL, let_go);
        if (!capsule)
            jpy_source_release(s);
        had = capsule ? jpy_of_code_keep(&lowered, code, capsule) : NULL;
        s = had ? PyCapsule_GetPointer(had, NULL) : NULL;
        Py_XDECREF(capsule);
    }
    if (s)
        jcv_own(c, Py_NewRef(code));
    PyErr_Clear();
    return s;
}

static jpy_source *source_of(jcv *c, PyObject *func) {
    const char *why = NULL;
    jpy_source *s = lowered_of(c, func, &why);
    if (!s)
        jcv_refuse(c, "%s: %s", PyUnicode_AsUTF8(((PyFunctionObject *)func)->func_name),
                   why ? why : "no source");
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
    unsigned total = n + (p->a != NULL) + (p->b != NULL), given = args->n_pos;
    bool rest = given && jcv_is_rest(args->pos[given - 1]);
    given -= rest;
    if (rest && (!p->a || given < n_pos_params))
        jcv_refuse(c, "a function that takes a known number gets %s",
                   args->pos[args->n_pos - 1]->text);
    jcv_av **v = jcv_alloc(c, (total + 1) * sizeof *v);
    for (unsigned i = 0; i < given && i < n_pos_params; i++)
        v[i] = args->pos[i];
    if (given > n_pos_params && !p->a)
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
        jpy_src *ds = jpy_src_get(c->guards, JPY_SRC_FUNC, fs, NULL, NULL, JPY_FUNC_DEFAULTS);
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
        jpy_src *s = jpy_src_get(c->guards, JPY_SRC_FUNC, fs, NULL, NULL, JPY_FUNC_KWDEFAULTS);
        v[i] = jcv_wrap(c, d, jpy_src_get(c->guards, JPY_SRC_KEY, s, NULL, p->x.v[i]->obj, 0));
    }
    unsigned at = n;
    if (p->a) {
        unsigned m = given > n_pos_params ? given - n_pos_params : 0;
        jcv_av **more = args->pos + (m || rest ? n_pos_params : 0);
        v[at++] = rest ? jcv_objects_of(c, more, m + 1, p->a, false) : jcv_tuple(c, more, m);
    }
    if (p->b)
        v[at++] = extra;
    *out_n = total;
    return v;
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
    store_params(c, fr, jcv_from_flat(c, fr, flat), fr->shape->n);
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
    fr->shape = jcv_flat_arguments(c, fr, v, n, flat, &n_flat);
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

/* What finds variables in the frame that it is called from. */
static bool sees_frames(PyObject *name) {
    static const char *const those[] = {"locals", "vars", "dir", "eval", "exec", "super"};
    bool yes = false;
    for (size_t i = 0; i < sizeof those / sizeof *those && !yes; i++)
        yes = PyUnicode_CompareWithASCIIString(name, those[i]) == 0;
    return yes;
}

static bool may_read(const jpy_tree *n, const void *name) {
    return n->kind == JPY_UNSUPPORTED ||
           (n->kind == JPY_NAME && (n->obj == name || sees_frames(n->obj)));
}

bool jcv_looks_at(jcv *c, PyObject *func, Py_ssize_t at, const PyObject *name) {
    const char *why;
    const jpy_source *s = lowered_of(c, func, &why);
    if (!s)
        return true;
    const jpy_tree *def = s->root, *p = def->c, *param = NULL;
    for (unsigned i = 0; i < p->x.n; i++)
        if (at >= 0 ? (Py_ssize_t)i == at && p->x.v[i]->op < 2
                    : p->x.v[i]->obj == name && p->x.v[i]->op > 0)
            param = p->x.v[i];
    if (!param) /* it goes to *args or **kwargs, or is one too many */
        return true;
    if (jpy_tree_any(def->a, may_read, param->obj)) /* of a lambda */
        return true;
    for (unsigned i = 0; i < def->x.n; i++)
        if (jpy_tree_any(def->x.v[i], may_read, param->obj))
            return true;
    return false;
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

/* Whether a call gives its arguments to parameters of code that is converted. */
static bool binds(jcv *c, const jcv_av *f) {
    PyObject *o = f->py;
    if (f->kind != AV_PY)
        return f->kind == AV_CLOSURE || (f->kind == AV_METHOD && !f->text);
    if (PyType_Check(o) && ((PyTypeObject *)o)->tp_new == PyBaseObject_Type.tp_new)
        o = jcv_lookup_str(c, (PyTypeObject *)o, "__init__");
    return o && ((PyFunction_Check(o) && !jcv_is_generated(o)) || PyMethod_Check(o) ||
                 Py_TYPE(o) == jpy.function_type);
}

jcv_av *jcv_call_object(jcv *c, jcv_av *f, const jcv_args *args) {
    if (args->n_pos && jcv_is_rest(args->pos[args->n_pos - 1]) && !binds(c, f))
        jcv_refuse(c, "%s gets %s", jcv_describe(f), args->pos[args->n_pos - 1]->text);
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
        return jcv_call_for(c, o, model, args);
    if (PyFunction_Check(o) && jcv_called_as_it_is(o))
        return jcv_call_real(c, o, args, PyUnicode_AsUTF8(((PyFunctionObject *)o)->func_name));
    if (jcv_asks_for_attributes(o))
        return jcv_without_attributes(c, args);
    if (PyFunction_Check(o)) {
        jcv_av *made = jcv_call_new(c, o, args);
        made = made ? made : jcv_call_single(c, f, args);
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
    PyObject *of_type = jcv_call_model(c, o);
    if (of_type)
        return jcv_call(c, jcv_constant(c, of_type), jcv_behind(c, f, args));
    jcv_refuse(c, "a call of %s", jcv_describe(f));
}
