/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builtin functions and types, and the methods of lists, dicts, tuples and constants.
 *
 * On constants the real thing is called if it is known to have no effect; on abstract values each
 * has its own few lines.
 */
#include "pyfront/convert/calls/calls.h"

#include <string.h>

#include "ops/op_ids.h"
#include "pyfront/base/names.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/values/values.h"

static jcv_av *int_av(jcv *c, long v) { return jcv_take(c, PyLong_FromLong(v)); }

static jcv_av *b_len(jcv *c, const jcv_args *a) { return jcv_length(c, a->pos[0]); }

static jcv_av *b_range(jcv *c, const jcv_args *a) {
    jcv_av *r = jcv_new(c, AV_RANGE);
    r->items = jcv_alloc(c, 3 * sizeof *r->items);
    r->n = 3;
    r->items[0] = a->n_pos > 1 ? a->pos[0] : int_av(c, 0);
    r->items[1] = a->n_pos > 1 ? a->pos[1] : a->pos[0];
    r->items[2] = a->n_pos > 2 ? a->pos[2] : int_av(c, 1);
    for (int i = 0; i < 3; i++) {
        jcv_av *x = r->items[i];
        bool ok = (x->kind == AV_PY && PyLong_Check(x->py)) ||
                  (x->kind == AV_SCALAR && x->val->type->kind == JANUS_KIND_INT);
        if (!ok)
            jcv_refuse(c, "range() of %s", jcv_describe(x));
    }
    return r;
}

static jcv_av *b_getattr(jcv *c, const jcv_args *a) {
    jcv_av *attr = jcv_text_known(c, a->pos[1]);
    if (!jcv_is_const(attr) || !PyUnicode_Check(attr->py))
        jcv_refuse(c, "getattr() of a computed name");
    PyObject *name = attr->py;
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    jcv_av *v = jcv_getattr_opt(c, a->pos[0], jcv_own(c, name));
    if (!v && a->n_pos < 3)
        jcv_refuse(c, "getattr() of a missing attribute");
    return v ? v : a->pos[2];
}
static jcv_av *b_hasattr(jcv *c, const jcv_args *a) {
    PyObject *name = a->pos[1]->py;
    if (!name || !PyUnicode_Check(name))
        jcv_refuse(c, "hasattr() of a computed name");
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    jcv_av *o = a->pos[0], *v = jcv_getattr_opt(c, o, jcv_own(c, name));
    bool live = o->kind == AV_PY && jcv_live_attr(c, Py_TYPE(o->py), name);
    const PyTypeObject *t = o->kind == AV_HOST && !v ? jcv_host_type(c, o) : NULL;
    bool never = t == &PyList_Type || t == &PyDict_Type;
    if ((o->kind == AV_HOST || live) && !never && !(v && v->kind == AV_METHOD))
        jcv_refuse(c, "hasattr() of what the graph reads"); /* nobody asks whether it is there */
    return jcv_bool(c, v != NULL);
}
static jcv_av *b_setattr(jcv *c, const jcv_args *a) {
    PyObject *name = a->pos[1]->py;
    if (!name || !PyUnicode_Check(name))
        jcv_refuse(c, "setattr() of a computed name");
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    jcv_setattr(c, a->pos[0], jcv_own(c, name), a->pos[2]);
    return jcv_none(c);
}

static jcv_av *convert(jcv *c, const jcv_args *a, const jn_op *op) {
    jcv_av *x = a->pos[0];
    if (x->kind == AV_TENSOR)
        x = jcv_call(c, jcv_getattr(c, x, jpy_names.item), &(jcv_args){0});
    if (op == JN_OP(s_bool)) {
        jcv_val *v = NULL;
        int t = jcv_truth(c, x, &v);
        return t < 0 ? jcv_scalar(c, v) : jcv_bool(c, t);
    }
    bool to_int = op == JN_OP(s_int);
    if (x->kind != AV_SCALAR) {
        PyObject *of = (PyObject *)(to_int ? &PyLong_Type : &PyFloat_Type);
        x = to_int ? jcv_to_int(c, x) : jcv_to_float(c, x);
        if (!x || x->kind == AV_PY)
            return x ? jcv_call_real(c, of, &(jcv_args){.pos = &x, .n_pos = 1}, "int() or float()")
                     : NULL;
    }
    if (x->val->type->kind == (to_int ? JANUS_KIND_INT : JANUS_KIND_FLOAT))
        return x;
    return jcv_scalar(c, &jcv_op(c, op, &x->val, 1, NULL)->out[0]);
}

static jcv_av *b_abs(jcv *c, const jcv_args *a) {
    jcv_av *x = a->pos[0];
    if (x->kind == AV_SCALAR)
        return jcv_scalar(c, &jcv_op(c, JN_OP(s_abs), &x->val, 1, NULL)->out[0]);
    if (x->kind == AV_TENSOR)
        return jcv_wrap(c, jcv_own(c, PyNumber_Absolute(x->py)), NULL);
    return jcv_special(c, x, JCV_S_ABS, NULL, 0);
}

/* vars(o): the dict that getattr(o, "__dict__") gives. */
static jcv_av *b_vars(jcv *c, const jcv_args *a) {
    jcv_av *d = jcv_getattr_opt(c, a->pos[0], jpy_names.dict);
    if (!d)
        jcv_refuse(c, "vars() of %s", jcv_describe(a->pos[0]));
    return d;
}

static jcv_av *b_hash(jcv *c, const jcv_args *a) { return jcv_hash(c, a->pos[0]); }

static jcv_av *known_text(jcv *c, PyObject *text) { return text ? jcv_py(c, text, NULL) : NULL; }

/* NULL: of neither kind. */
static jcv_av *text_or_items(jcv *c, jcv_av *a, int slot) {
    jcv_av *known = known_text(c, jcv_text(c, a, slot));
    return known || jcv_const_object(c, a) ? known : jcv_text_of_items(c, a);
}

static jcv_av *b_repr(jcv *c, const jcv_args *a) { return text_or_items(c, a->pos[0], JCV_S_REPR); }

static jcv_av *b_format(jcv *c, const jcv_args *a) {
    PyObject *spec = a->n_pos == 2 && a->pos[1]->kind == AV_PY ? a->pos[1]->py : NULL;
    return a->n_pos == 1 || (spec && PyUnicode_CheckExact(spec)) ? jcv_format(c, a->pos[0], spec)
                                                                 : NULL;
}

static jcv_av *make_dict(jcv *c, const jcv_args *a) {
    jcv_av *d = jcv_dict(c);
    if (a->n_pos)
        jcv_call_method(c, d, "update", &(jcv_args){.pos = a->pos, .n_pos = 1});
    for (unsigned i = 0; i < a->n_kw; i++)
        jcv_dict_set(c, d, jcv_py(c, a->names[i], NULL), a->kw[i]);
    return d;
}

/* zip(), map() or enumerate() that goes over an iterator of Python: its meaning in Python. */
static PyObject *in_turn(jcv *c, PyObject *t, const jcv_args *a) {
    bool any = false;
    if (t != (PyObject *)&PyZip_Type && t != (PyObject *)&PyMap_Type &&
        t != (PyObject *)&PyEnum_Type)
        return NULL;
    for (unsigned i = 0; i < a->n_pos && !any; i++)
        any = jcv_gives_next(c, a->pos[i]);
    return any ? jcv_model_in_turn(c, ((PyTypeObject *)t)->tp_name) : NULL;
}

static jcv_av *type_call(jcv *c, jcv_av *f, const jcv_args *a) {
    PyObject *t = f->py, *model = in_turn(c, t, a);
    if (model)
        return jcv_call_for(c, t, model, a);
    if (t == (PyObject *)&PyList_Type || t == (PyObject *)&PyTuple_Type)
        return jcv_make_list(c, a, t == (PyObject *)&PyList_Type);
    if (t == (PyObject *)&PyDict_Type)
        return make_dict(c, a);
    if (t == (PyObject *)&PyRange_Type)
        return b_range(c, a);
    if (t == (PyObject *)&PyEnum_Type)
        return jcv_b_enumerate(c, a);
    if (t == (PyObject *)&PyZip_Type)
        return jcv_b_zip(c, a);
    if (t == (PyObject *)&PyMap_Type)
        return jcv_b_map(c, a);
    if (t == (PyObject *)&PyReversed_Type && a->n_pos == 1)
        return jcv_b_reversed(c, a);
    if (t == (PyObject *)&PyType_Type && a->n_pos == 1) {
        PyTypeObject *of = jcv_type_of(c, a->pos[0]);
        if (of)
            return jcv_py(c, (PyObject *)jcv_stands_for(of), NULL);
    }
    jcv_av *r = NULL;
    if (t == (PyObject *)&PyLong_Type && a->n_pos == 1 && !a->n_kw) /* with a base it is of text */
        r = convert(c, a, JN_OP(s_int));
    else if (t == (PyObject *)&PyFloat_Type && a->n_pos)
        r = convert(c, a, JN_OP(s_float));
    else if (t == (PyObject *)&PyUnicode_Type && a->n_pos == 1 && !a->n_kw)
        r = a->pos[0]->kind == AV_TEXT     ? a->pos[0]
            : a->pos[0]->kind == AV_SCALAR ? jcv_text_of(c, a->pos[0], NULL)
                                           : text_or_items(c, a->pos[0], JCV_S_STR);
    else if (t == (PyObject *)&PyBool_Type && a->n_pos)
        r = convert(c, a, JN_OP(s_bool));
    return r;
}

static const struct {
    const char *name;
    jcv_av *(*fn)(jcv *c, const jcv_args *a);
} functions[] = {{"len", b_len},
                 {"sum", jcv_b_sum},
                 {"min", jcv_b_min},
                 {"max", jcv_b_max},
                 {"any", jcv_b_any},
                 {"all", jcv_b_all},
                 {"isinstance", jcv_b_isinstance},
                 {"issubclass", jcv_b_issubclass},
                 {"getattr", b_getattr},
                 {"hasattr", b_hasattr},
                 {"setattr", b_setattr},
                 {"abs", b_abs},
                 {"callable", jcv_b_callable},
                 {"vars", b_vars},
                 {"hash", b_hash},
                 {"repr", b_repr},
                 {"format", b_format},
                 {"print", jcv_print},
                 {"iter", jcv_b_iter},
                 {"next", jcv_b_next},
                 {"sorted", jcv_b_sorted},
                 {NULL, NULL}};

/* math.prod() of a list or tuple that has numbers of the graph; NULL: of something else. */
static jcv_av *prod_call(jcv *c, PyObject *o, const jcv_args *a) {
    jcv_av *start = jcv_kw_of(a, "start"), **items;
    unsigned n;
    if (a->n_pos == 1 && (a->pos[0]->kind == AV_SEQ || a->pos[0]->kind == AV_ITER)) {
        jcv_av *all = jcv_make_list(c, &(jcv_args){.pos = a->pos, .n_pos = 1}, true);
        jcv_args of = *a;
        of.pos = &all;
        jcv_av *r = prod_call(c, o, &of);
        return r ? r : jcv_call_real(c, o, &of, "prod");
    }
    if (a->n_pos != 1 || a->n_kw != (start != NULL) ||
        (a->pos[0]->kind != AV_LIST && a->pos[0]->kind != AV_TUPLE) ||
        !jcv_items(c, a->pos[0], &items, &n))
        return NULL;
    bool computed = false;
    for (unsigned i = 0; i < n; i++) {
        computed = computed || items[i]->kind == AV_SCALAR;
        if (!jcv_is_numeric(items[i]))
            return NULL;
    }
    if (!computed)
        return NULL;
    jcv_av *product = start ? start : jcv_take(c, PyLong_FromLong(1));
    for (unsigned i = 0; i < n; i++)
        product = jcv_binary(c, JPY_MUL, product, items[i], false);
    return product;
}

/* math.NAME() of numbers of the graph (and round()); NULL: not known here. */
static jcv_av *math_call(jcv *c, PyObject *o, const char *name, const jcv_args *a) {
    static const struct {
        const char *name;
        const jn_op *op;
    } ops[] = {
#define OF(id) {#id, JN_OP(s_##id)}
        OF(exp),   OF(expm1), OF(log),
        OF(log1p), OF(log2),  OF(log10),
        OF(sqrt),  OF(sin),   OF(cos),
        OF(tan),   OF(atan),  OF(sinh),
        OF(cosh),  OF(tanh),  OF(floor),
        OF(ceil),  OF(round), OF(isfinite),
        OF(isinf), OF(isnan), {"trunc", JN_OP(s_int)},
#undef OF
    };
    if (!strcmp(name, "prod"))
        return prod_call(c, o, a);
    bool two = a->n_pos == 2 && (a->pos[0]->kind == AV_SCALAR || a->pos[1]->kind == AV_SCALAR);
    if (a->n_kw || !(two || (a->n_pos == 1 && a->pos[0]->kind == AV_SCALAR)))
        return NULL;
    jcv_val *in[2];
    for (unsigned i = 0; i < a->n_pos; i++) {
        if (!jcv_is_numeric(a->pos[i]))
            return NULL;
        in[i] = jcv_number(c, a->pos[i]);
    }
    if (two && !strcmp(name, "log")) { /* as CPython has it */
        for (int i = 0; i < 2; i++)
            in[i] = &jcv_op(c, JN_OP(s_log), &in[i], 1, NULL)->out[0];
        return jcv_scalar(c, &jcv_op(c, JN_OP(s_truediv), in, 2, NULL)->out[0]);
    }
    for (size_t i = 0; !two && i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(name, ops[i].name))
            return jcv_scalar(c, &jcv_op(c, ops[i].op, in, 1, NULL)->out[0]);
    return NULL;
}

/* round() of a number of the graph; NULL: of something else. */
static jcv_av *round_call(jcv *c, const jcv_args *a) {
    static const char *const names[] = {"number", "ndigits"};
    jcv_av *in[2] = {NULL, NULL};
    if (a->n_pos + a->n_kw > 2)
        return NULL;
    for (unsigned i = 0; i < a->n_pos; i++)
        in[i] = a->pos[i];
    for (unsigned i = 0; i < a->n_kw; i++)
        for (int k = 0; k < 2; k++)
            if (PyUnicode_CompareWithASCIIString(a->names[i], names[k]) == 0 && !in[k])
                in[k] = a->kw[i];
    if (!in[0] || (a->n_pos + a->n_kw == 2 && !in[1]) || !jcv_is_numeric(in[0]))
        return NULL;
    if (!in[1] || (in[1]->kind == AV_PY && in[1]->py == Py_None))
        return in[0]->kind == AV_SCALAR
                   ? math_call(c, NULL, "round", &(jcv_args){.pos = in, .n_pos = 1})
                   : NULL;
    if ((in[0]->kind != AV_SCALAR && in[1]->kind != AV_SCALAR) || !jcv_is_numeric(in[1]))
        return NULL;
    jcv_val *of[2] = {jcv_number(c, in[0]), jcv_number(c, in[1])};
    if (of[1]->type->kind == JANUS_KIND_FLOAT)
        jcv_refuse(c, "round() to a number of decimals that is a float");
    return jcv_scalar(c, &jcv_op(c, JN_OP(s_round_digits), of, 2, NULL)->out[0]);
}

/* operator.index() of an int of the graph; NULL: of something else, or another function. */
static jcv_av *index_call(const char *name, const jcv_args *a) {
    const jcv_val *v =
        a->n_pos == 1 && !a->n_kw && a->pos[0]->kind == AV_SCALAR ? a->pos[0]->val : NULL;
    bool index = v && v->type->kind == JANUS_KIND_INT &&
                 (!strcmp(name, "index") || !strcmp(name, "__index__"));
    return index ? a->pos[0] : NULL;
}

/* C functions without effects, called for real when every argument is a constant. */
static bool pure_module(const char *m) {
    static const char *const names[] = {"math", "_operator", "operator", "cmath", NULL};
    for (int i = 0; m && names[i]; i++)
        if (!strcmp(m, names[i]))
            return true;
    return false;
}

static bool pure_builtin(const char *n) {
    static const char *const names[] = {"abs", "round", "divmod", "pow",  "min",    "max",  "len",
                                        "sum", "ord",   "chr",    "repr", "format", "hash", NULL};
    for (int i = 0; names[i]; i++)
        if (!strcmp(n, names[i]))
            return true;
    return false;
}

/* Of text there is no choice: the statement forks on what it is made of. */
static bool makes_text(PyObject *o, const char *name) {
    return o == (PyObject *)&PyUnicode_Type || !strcmp(name, "repr") || !strcmp(name, "format");
}

/* Arguments as a test before has left them: what an optional value is; a number in the place of an
 * object of the graph. */
static const jcv_args *as_known(jcv *c, PyObject *of, const char *name, const jcv_args *given) {
    bool number = of == (PyObject *)&PyLong_Type || of == (PyObject *)&PyFloat_Type ||
                  of == (PyObject *)&PyBool_Type;
    jcv_args *a = jcv_alloc(c, sizeof *a);
    *a = *given;
    a->pos = jcv_alloc(c, (a->n_pos + 1) * sizeof *a->pos);
    for (unsigned i = 0; i < a->n_pos; i++)
        a->pos[i] = number ? jcv_settled(c, given->pos[i]) : jcv_found(c, given->pos[i]);
    for (unsigned i = 0; i < a->n_pos; i++)
        a->pos[i] = jcv_as_argument(c, of, name, a->pos[i]);
    if (a->n_pos && makes_text(of, name))
        a->pos[0] = jcv_which_number(c, a->pos[0]);
    return a;
}

static jcv_av *builtin_of(jcv *c, void *f, const jcv_args *a) { return jcv_call_builtin(c, f, a); }

jcv_av *jcv_call_builtin(jcv *c, jcv_av *f, const jcv_args *a) {
    PyObject *o = f->py;
    PyObject *name_o = jcv_own(c, PyObject_GetAttrString(o, "__name__"));
    const char *name = PyUnicode_AsUTF8(name_o);
    jcv_check_arguments(c, o, name, a);
    a = as_known(c, o, name, a);
    jcv_av *either = jcv_call_each_way(c, a, true, builtin_of, f);
    if (either)
        return either;
    if (PyType_Check(o)) {
        static PyTypeObject *const pure[] = {&PyLong_Type,      &PyFloat_Type,   &PyBool_Type,
                                             &PyUnicode_Type,   &PyBytes_Type,   &PySlice_Type,
                                             &PyFrozenSet_Type, &PyComplex_Type, NULL};
        jcv_av *r = o == (PyObject *)&PySuper_Type ? jcv_super(c, a) : type_call(c, f, a);
        for (int i = 0; !r && pure[i]; i++)
            if (o == (PyObject *)pure[i])
                r = jcv_call_real(c, o, a, name);
        if (!r)
            jcv_refuse(c, "an object of type %s is made", name);
        return r;
    }
    jcv_av *made = jcv_call_new(c, o, a);
    if (made)
        return made;
    PyObject *m = PyObject_GetAttrString(o, "__module__");
    if (m)
        jcv_own(c, m);
    PyErr_Clear();
    const char *module = m && PyUnicode_Check(m) ? PyUnicode_AsUTF8(m) : NULL;
    if (module && !strcmp(module, "builtins")) {
        for (int i = 0; functions[i].name; i++)
            if (!strcmp(functions[i].name, name)) {
                jcv_av *r = functions[i].fn(c, a);
                if (r)
                    return r;
            }
        if (!strcmp(name, "id") && a->n_pos == 1 &&
            (a->pos[0]->kind == AV_HOST ||
             (a->pos[0]->kind == AV_PY && a->pos[0]->src && !jcv_is_const(a->pos[0])))) {
            jcv_val *of = jcv_to_host(c, a->pos[0])->val;
            return jcv_scalar(c, &jcv_op(c, JN_OP(host_id), &of, 1, NULL)->out[0]);
        }
        jcv_av *rounded = !strcmp(name, "round") ? round_call(c, a) : NULL;
        if (rounded)
            return rounded;
        if (pure_builtin(name))
            return jcv_call_real(c, o, a, name);
    }
    if (pure_module(module)) {
        jcv_av *r = !strcmp(module, "math") ? math_call(c, o, name, a) : index_call(name, a);
        if (r)
            return r;
        return jcv_call_real(c, o, a, name);
    }
    jcv_refuse(c, "a call of %s", name);
}
