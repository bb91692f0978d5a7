/* SPDX-License-Identifier: Apache-2.0 */
/*
 * janus.Op: calls to ops bound by reflection over the op table.
 *
 * One object per name serves as function (janus.tanh) and as method (Tensor.tanh): the type has a
 * descriptor protocol and the METHOD_DESCRIPTOR flag, so a method call makes no bound method.
 */
#include "config.h"

#include "pyfront/op/bound.h"

#include <string.h>
#include <structmember.h>

#include "exec/defer/defer.h"
#include "graph/base/alloc.h"
#include "ops/op_ids.h"
#include "pyfront/op/autocast.h"
#include "pyfront/op/quick.h"

/* ---- arguments ----------------------------------------------------------------------------------
 */

int jpy_int_arg(PyObject *o, int64_t *out) {
    if (!o || o == Py_None)
        return 0;
    PyObject *n = PyLong_CheckExact(o) ? Py_NewRef(o) : PyNumber_Index(o);
    if (!n)
        return -1;
    *out = PyLong_AsLongLong(n);
    Py_DECREF(n);
    return *out == -1 && PyErr_Occurred() ? -1 : 1;
}

int jpy_int_needed(PyObject *o, int64_t *out) {
    int got = jpy_int_arg(o, out);
    *out = got > 0 ? *out : 0;
    if (got == 0)
        PyErr_SetString(PyExc_TypeError, "'NoneType' object cannot be interpreted as an integer");
    return got > 0 ? 0 : -1;
}

int jpy_ints_arg(jpy_bound *b, PyObject *o, janus_ints *out) {
    if (!o || o == Py_None)
        return 0;
    int64_t *to = b->ints + b->n_ints;
    unsigned room = JPY_BOUND_INTS - b->n_ints;
    if (PyIndex_Check(o)) {
        if (!room || jpy_int_arg(o, to) < 0)
            return -1;
        b->n_ints++;
        *out = (janus_ints){to, 1};
        return 1;
    }
    PyObject *seq = PySequence_Fast(o, "expected an int or a sequence of ints");
    if (!seq)
        return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(seq);
    int rc = 1;
    if (n > (Py_ssize_t)room) {
        PyErr_SetString(PyExc_ValueError, "too many ints");
        rc = -1;
    }
    for (Py_ssize_t i = 0; rc > 0 && i < n; i++) {
        int got = jpy_int_arg(PySequence_Fast_GET_ITEM(seq, i), &to[i]);
        if (got == 0)
            PyErr_SetString(PyExc_TypeError, "expected ints, got None");
        if (got <= 0)
            rc = -1;
    }
    Py_DECREF(seq);
    if (rc > 0) {
        b->n_ints += (unsigned)n;
        *out = (janus_ints){to, (size_t)n};
    }
    return rc;
}

static int set_attr(jpy_bound *b, const jn_attr_spec *spec, PyObject *o) {
    void *at = b->attrs + spec->offset;
    janus_dtype dtype;
    int on;
    if (o == Py_None) { /* an optional one is not given; this one has no default */
        PyErr_Format(PyExc_TypeError, "%s(): '%s' must not be None", b->op->name, spec->name);
        return -1;
    }
    switch (spec->kind) {
    case JN_ATTR_INT:
        return jpy_int_arg(o, at) < 0 ? -1 : 0;
    case JN_ATTR_FLOAT:
        *(double *)at = PyFloat_AsDouble(o);
        return PyErr_Occurred() ? -1 : 0;
    case JN_ATTR_BOOL:
        on = PyObject_IsTrue(o);
        *(int64_t *)at = on > 0;
        return on < 0 ? -1 : 0;
    case JN_ATTR_DTYPE:
        if (jpy_dtype_parse(o, &dtype) < 0)
            return -1;
        *(int64_t *)at = dtype;
        return 0;
    case JN_ATTR_INTS:
        return jpy_ints_arg(b, o, at) < 0 ? -1 : 0;
    case JN_ATTR_STR:
        *(const char **)at = PyUnicode_AsUTF8(o);
        return *(const char **)at ? 0 : -1;
    default:
        PyErr_SetString(PyExc_TypeError, "this attribute cannot be given from Python");
        return -1;
    }
}

int jpy_bound_op(jpy_bound *b, const jn_op *op) {
    b->op = op;
    if (!op->attr_size)
        return 0;
    if (op->attr_size > JPY_ATTR_BYTES) {
        PyErr_Format(PyExc_RuntimeError, "%s: attributes too large", op->name);
        return -1;
    }
    return jpy_check(jn_attrs_default(op, b->attrs));
}

int jpy_bound_list(jpy_bound *b, unsigned first, PyObject *list) {
    PyObject *seq = PySequence_Tuple(list);
    if (!seq)
        return -1;
    Py_XSETREF(b->keep, seq);
    size_t n = first + (size_t)PyTuple_GET_SIZE(seq);
    if (n > JPY_BOUND_FEW) {
        jpy_operand *more = PyMem_Calloc(n, sizeof *more);
        if (!more) {
            PyErr_NoMemory();
            return -1;
        }
        memcpy(more, b->in, first * sizeof *more);
        b->in = more;
    }
    for (size_t i = first; i < n; i++)
        b->in[i] = (jpy_operand){.o = PyTuple_GET_ITEM(seq, (Py_ssize_t)(i - first))};
    b->n_in = (unsigned)n;
    return 0;
}

/* Operands in the row's order, then attributes. */
static int bind_row(const jpy_op *f, jpy_bound *b, PyObject *const *a) {
    const jn_op *op = f->row;
    if (jpy_bound_op(b, op) < 0)
        return -1;
    unsigned i = 0;
    for (; op->operands[i].accept != JN_ACCEPT_END; i++) {
        if (op->operands[i].variadic) {
            if (op->operands[i].accept == JN_ACCEPT_SHAPE)
                break;
            if (jpy_bound_list(b, i, a[i]) < 0)
                return -1;
            i++;
            break;
        }
        b->in[i] = (jpy_operand){.o = a[i]};
        b->n_in = i + 1;
    }
    for (const jn_attr_spec *s = op->attrs; s->name; s++, i++)
        if (a[i] && set_attr(b, s, a[i]) < 0)
            return -1;
    return 0;
}

static int arg_error(const jpy_op *f, const char *text, PyObject *name) {
    PyErr_Format(PyExc_TypeError, "%s() %s '%U'", f->name, text, name);
    return -1;
}

static bool is_called(const jpy_param *p, PyObject *name) {
    if (PyUnicode_Compare(p->name, name) == 0)
        return true;
    for (int i = 0; i < 2; i++)
        if (p->alias[i] && PyUnicode_Compare(p->alias[i], name) == 0)
            return true;
    return false;
}

static int find_param(const jpy_op *f, PyObject *name) {
    for (int i = 0; i < f->n_params; i++) {
        const jpy_param *p = &f->params[i];
        if (p->name == name || p->alias[0] == name || p->alias[1] == name)
            return i;
    }
    for (int i = 0; i < f->n_params; i++)
        if (is_called(&f->params[i], name))
            return i;
    return -1;
}

int jpy_op_bind(jpy_op *f, PyObject *const *args, size_t nargsf, PyObject *kwnames, jpy_bound *b) {
    PyObject *a[JPY_MAX_PARAMS] = {NULL};
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    b->op = NULL;
    b->in = b->few;
    b->n_in = 0;
    b->result = JPY_RESULT_ALL;
    b->is_identity = false;
    b->by_value = false;
    b->cast_first = -1;
    b->keep = NULL;
    b->n_ints = 0;
    Py_ssize_t plain = f->varargs >= 0 && n > f->varargs ? f->varargs : n;
    if (plain > f->n_positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments (%zd given)",
                     f->name, (int)f->n_positional, n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < plain; i++)
        a[i] = args[i];
    if (plain < n) {
        PyObject *first = args[plain];
        if (n == plain + 1 && (PyTuple_Check(first) || PyList_Check(first))) {
            a[plain] = first;
        } else {
            b->keep = PyTuple_New(n - plain);
            if (!b->keep)
                return -1;
            for (Py_ssize_t i = plain; i < n; i++)
                PyTuple_SET_ITEM(b->keep, i - plain, Py_NewRef(args[i]));
            a[plain] = b->keep;
        }
    }
    Py_ssize_t n_kw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t k = 0; k < n_kw; k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        int i = find_param(f, name);
        if (i < 0)
            return arg_error(f, "got an unexpected keyword argument", name);
        if (a[i])
            return arg_error(f, "got multiple values for argument", name);
        a[i] = args[n + k];
    }
    for (int i = 0; i < f->n_params; i++) {
        if (a[i] == Py_None && f->params[i].optional)
            a[i] = NULL;
        if (!a[i] && !f->params[i].optional)
            return arg_error(f, "missing required argument", f->params[i].name);
    }
    return f->bind ? f->bind(b, a) : bind_row(f, b, a);
}

void jpy_bound_clear(jpy_bound *b) {
    Py_CLEAR(b->keep);
    if (b->in != b->few)
        PyMem_Free(b->in);
    b->in = b->few;
}

/* ---- the type
 * -----------------------------------------------------------------------------------------
 */

/* Remembers the call for the next one with such arguments. */
static void learn(jpy_op *f, const jpy_quick_key *key, const jpy_bound *b, PyObject *const *args,
                  size_t nargsf, Py_ssize_t n, PyObject *kwnames) {
    jpy_apart apart;
    jpy_bound other;
    if (!key->n || !key->seen)
        return;
    if (!jpy_quick_apart(&apart, args, n)) {
        jpy_quick_learn(key, b, f->inplace, args, n, kwnames);
        return;
    }
    other.type_of = NULL;
    if (jpy_op_bind(f, apart.args, nargsf, kwnames, &other) == 0)
        jpy_quick_learn(key, &other, f->inplace, apart.args, n, kwnames);
    else
        PyErr_Clear();
    jpy_bound_clear(&other);
    jpy_quick_apart_end(&apart);
}

/* The long way; what succeeds is remembered where `key` is given. */
static PyObject *bind_and_run(jpy_op *f, PyObject *const *args, size_t nargsf, PyObject *kwnames,
                              jpy_quick_key *key) {
    jpy_bound b;
    b.type_of = NULL;
    PyObject *result = NULL;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    if (jpy_op_bind(f, args, nargsf, kwnames, &b) == 0) {
        jpy_tensor *dst = NULL;
        bool told = !key;
        if (f->inplace) {
            if (b.n_in && b.in[0].o && jpy_tensor_check(b.in[0].o))
                dst = (jpy_tensor *)b.in[0].o;
            else
                PyErr_Format(PyExc_TypeError, "%s() writes into a Tensor", f->name);
        }
        if (JN_UNLIKELY(jn_deferring != NULL) && key && !f->inplace) {
            key->seen = told = true;
            learn(f, key, &b, args, nargsf, n, kwnames);
            result = jpy_quick_defer(key, f->inplace, args);
        }
        if (!result && !PyErr_Occurred() && (!f->inplace || dst)) {
            result = jpy_bound_run(&b, dst);
            if (result && !told)
                learn(f, key, &b, args, nargsf, n, kwnames);
        }
    }
    jpy_bound_clear(&b);
    return result;
}

static PyObject *op_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    jpy_op *f = (jpy_op *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    jn_thread *me = jn_thread_mine();
    if (JN_UNLIKELY(me->hook != NULL))
        return bind_and_run(f, args, nargsf, kwnames, NULL);
    if (f->fast_unary && !kwnames && n == 1 && jpy_tensor_check(args[0]) && jpy_usual(me, f->row))
        return jpy_unary_fast(me, f->row, args[0]);
    jpy_quick_key key;
    PyObject *result = jpy_quick_call(me, f, f->inplace, false, args,
                                      n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0), kwnames, &key);
    if (result || PyErr_Occurred())
        return result;
    return bind_and_run(f, args, nargsf, kwnames, &key);
}

static PyObject *op_descr_get(PyObject *self, PyObject *obj, PyObject *type) {
    (void)type;
    if (!obj || obj == Py_None)
        return Py_NewRef(self);
    return PyMethod_New(self, obj);
}

static PyObject *op_repr(PyObject *self) {
    return PyUnicode_FromFormat("<op janus.%s>", ((jpy_op *)self)->name);
}
static PyObject *op_name(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(((jpy_op *)self)->name);
}
static PyObject *op_doc(PyObject *self, void *unused) {
    (void)unused;
    jpy_op *f = (jpy_op *)self;
    return PyUnicode_FromString(f->doc ? f->doc : "");
}
static PyObject *op_text_signature(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(((jpy_op *)self)->signature);
}
static PyObject *op_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyUnicode_FromString(((jpy_op *)self)->name);
}

static PyGetSetDef op_getset[] = {
    {"__name__", op_name, NULL, NULL, NULL},
    {"__qualname__", op_name, NULL, NULL, NULL},
    {"__doc__", op_doc, NULL, NULL, NULL},
    {"__text_signature__", op_text_signature, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef op_methods[] = {
    {"__reduce__", op_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(jpy_op, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot op_slots[] = {
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, op_descr_get},
    {Py_tp_repr, op_repr},
    {Py_tp_getset, op_getset},
    {Py_tp_members, op_members},
    {Py_tp_methods, op_methods},
    {0, NULL},
};
static PyType_Spec op_spec = {
    "janus.Op", sizeof(jpy_op), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
        Py_TPFLAGS_DISALLOW_INSTANTIATION |
        Py_TPFLAGS_IMMUTABLETYPE, /* or CPython will not cache its look-up */
    op_slots};

/* ---- making the objects
 * ------------------------------------------------------------------------------
 */

static const char *alias_of(const char *name) {
    static const char *const pairs[][2] = {
        {"dims", "dim"}, {"axis", "dim"}, {"x", "input"},    {"a", "input"},
        {"b", "other"},  {"dim", "axis"}, {"xs", "tensors"}, {"descending", "reverse"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(name, pairs[i][0]) == 0)
            return pairs[i][1];
    return NULL;
}

/* The first n characters of `name`: "name" or "name|another". */
static int add_param(jpy_op *f, const char *name, size_t n, bool optional, jn_str *text) {
    const char *bar = memchr(name, '|', n);
    size_t all = n;
    n = bar ? (size_t)(bar - name) : n;
    if (f->n_params == JPY_MAX_PARAMS) {
        PyErr_Format(PyExc_RuntimeError, "%s: too many parameters", f->name);
        return -1;
    }
    jpy_param *p = &f->params[f->n_params++];
    p->name = PyUnicode_FromStringAndSize(name, (Py_ssize_t)n);
    if (!p->name)
        return -1;
    PyUnicode_InternInPlace(&p->name);
    const char *alias = alias_of(PyUnicode_AsUTF8(p->name));
    p->alias[0] = alias ? PyUnicode_InternFromString(alias) : NULL;
    if (bar) {
        p->alias[1] = PyUnicode_FromStringAndSize(bar + 1, (Py_ssize_t)(all - n - 1));
        if (!p->alias[1])
            return -1;
        PyUnicode_InternInPlace(&p->alias[1]);
    }
    p->optional = optional;
    jn_str_printf(text, "%s%.*s%s", f->n_params > 1 ? ", " : "", (int)n, name,
                  optional ? "=None" : "");
    return 0;
}

/* "input, dim=, *sizes, *, dtype=" */
static int parse_params(jpy_op *f, const char *spec, jn_str *text) {
    f->varargs = -1;
    bool positional = true;
    for (const char *p = spec; *p;) {
        while (*p == ' ' || *p == ',')
            p++;
        const char *end = p;
        while (*end && *end != ',')
            end++;
        if (end == p)
            break;
        if (end == p + 1 && *p == '*') {
            positional = false;
            jn_str_append(text, ", *");
        } else {
            size_t n = (size_t)(end - p);
            bool optional = p[n - 1] == '=', star = *p == '*';
            if (star) {
                f->varargs = (int8_t)f->n_params;
                optional = true;
            }
            if (add_param(f, p + star, n - star - (p[n - 1] == '='), optional, text) < 0)
                return -1;
            f->n_positional += positional;
        }
        p = end;
    }
    return 0;
}

static int row_params(jpy_op *f, jn_str *text) {
    const jn_op *op = f->row;
    f->varargs = -1;
    for (const jn_operand *o = op->operands; o->accept != JN_ACCEPT_END; o++) {
        if (o->variadic && o->accept == JN_ACCEPT_SHAPE)
            break;
        if (add_param(f, o->name, strlen(o->name), o->optional, text) < 0)
            return -1;
    }
    for (const jn_attr_spec *s = op->attrs; s->name; s++)
        if (add_param(f, s->name, strlen(s->name), s->dflt != NULL, text) < 0)
            return -1;
    f->n_positional = f->n_params;
    return 0;
}

/* `name` is static or lives for ever. */
static PyObject *op_make(const char *name, const char *params, jpy_bind_fn bind, const jn_op *row,
                         bool inplace, const char *doc) {
    jpy_op *f = PyObject_New(jpy_op, jpy.op_type);
    if (!f)
        return NULL;
    memset((char *)f + sizeof(PyObject), 0, sizeof *f - sizeof(PyObject));
    f->vectorcall = op_call;
    f->name = name;
    f->doc = doc;
    f->bind = bind;
    f->row = row;
    f->inplace = inplace;
    f->fast_unary = row && !inplace && row->n_in_max == 1 && jn_eager_is_like(row);
    f->params = PyMem_Calloc(JPY_MAX_PARAMS, sizeof *f->params);
    jn_str text = {0};
    jn_str_append(&text, "(");
    int rc = !f->params ? -1 : params ? parse_params(f, params, &text) : row_params(f, &text);
    jn_str_append(&text, ")");
    f->signature = jn_str_take(&text);
    if (rc < 0 || !f->signature) {
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        return NULL; /* at start-up only: the little that was made is left */
    }
    return (PyObject *)f;
}

static int offer(PyObject *module, PyObject *f, bool function, bool method) {
    if (!f)
        return -1;
    const char *name = ((jpy_op *)f)->name;
    int rc = 0;
    if (function)
        rc = PyModule_AddObjectRef(module, name, f);
    if (rc == 0 && method)
        rc = PyObject_SetAttrString((PyObject *)jpy.tensor_type, name, f);
    Py_DECREF(f);
    return rc;
}

static const char *with_underscore(const char *name) {
    size_t n = strlen(name);
    char *s = PyMem_Malloc(n + 2);
    if (s)
        (void)snprintf(s, n + 2, "%s_", name);
    return s;
}

/* Rows that only gradient rules and optimizers use: they trust their operands. */
static bool is_internal(const char *name) {
    const char *const ends[] = {"_grad", "_step", "pool2d_gather", "overwrite"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(name), k = strlen(ends[i]);
        if (n >= k && strcmp(name + n - k, ends[i]) == 0)
            return true;
    }
    return false;
}

/* What has no use in place: copies, and tests of a number alone. */
static bool only_makes(const char *name) {
    const char *const names[] = {"cast", "clone", "isfinite", "isnan"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

int jpy_init_op(PyObject *module) {
    jpy.op_type = jpy_type_new(module, &op_spec, NULL);
    if (!jpy.op_type)
        return -1;
    for (unsigned i = 0; i < jn_n_ops; i++) {
        const jn_op *op = &jn_ops[i];
        if (op->role != JN_ROLE_COMPUTE || strchr(op->name, '.') || is_internal(op->name))
            continue;
        /* A method that methods/method.c wrote by hand (detach) stays. */
        bool method = op->operands[0].accept == JN_ACCEPT_TENSOR && !op->operands[0].variadic &&
                      !PyDict_GetItemString(jpy.tensor_type->tp_dict, op->name);
        if (offer(module, op_make(op->name, NULL, NULL, op, false, op->doc), true, method) < 0)
            return -1;
        if (method && (op->flags & JN_OP_ELEMENTWISE) && op->n_out == 1 &&
            op->operands[0].dtype_class != JN_DT_BOOL && !only_makes(op->name)) {
            const char *name = with_underscore(op->name);
            if (!name ||
                offer(module, op_make(name, NULL, NULL, op, true, op->doc), true, true) < 0)
                return -1;
        }
    }
    for (const jpy_spelling *s = jpy_spellings; s->name; s++) {
        if (offer(module, op_make(s->name, s->params, s->bind, NULL, false, s->doc), s->where & 1,
                  s->where & 2) < 0)
            return -1;
        if (s->where & 4) {
            const char *name = with_underscore(s->name);
            if (!name || offer(module, op_make(name, s->params, s->bind, NULL, true, s->doc),
                               s->where & 1, true) < 0)
                return -1;
        }
    }
    return 0;
}
