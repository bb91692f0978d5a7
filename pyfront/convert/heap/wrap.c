/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real objects as abstract values: what is read from the heap is wrapped, with the guards that its
 * kind needs; and back to Python objects, where everything is known.  Which objects are constants
 * and which values are one.
 */
#include "pyfront/convert/heap/heap.h"

#include <frameobject.h>
#include <string.h>

#include "ops/op_ids.h"

#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/methods/methods.h"
#include "pyfront/run/run.h"

static bool singleton(PyObject *o) {
    return o == Py_None || PyBool_Check(o) || o == Py_Ellipsis || o == Py_NotImplemented;
}

static bool plain_object(PyObject *o) {
    return PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) ||
           PyBytes_CheckExact(o);
}

static PyTypeObject *enum_type(void) {
    static PyObject *base;
    if (!base) {
        PyObject *m = PyImport_ImportModule("enum");
        base = m ? PyObject_GetAttrString(m, "Enum") : NULL;
        Py_XDECREF(m);
        PyErr_Clear();
    }
    return base && PyType_Check(base) ? (PyTypeObject *)base : NULL;
}

bool jcv_is_enum(PyObject *o) { return enum_type() && PyObject_TypeCheck(o, enum_type()); }

bool jcv_hashes_as_enum(jcv *c, PyObject *o) {
    static PyObject *own; /* as it was when it was asked for first: the program may set another */
    PyObject *name = jcv_own(c, PyUnicode_InternFromString("__hash__"));
    if (!own && enum_type())
        own = Py_XNewRef(_PyType_Lookup(enum_type(), name));
    return jcv_is_enum(o) && own && jcv_lookup(c, Py_TYPE(o), name) == own;
}

/* What the converter hands to C code as it is: the very object is what the graph is made for. */
static bool by_identity(PyObject *o) {
    return PyType_Check(o) || PyModule_Check(o) || PyCFunction_Check(o) ||
           Py_TYPE(o) == jpy.dtype_type || Py_TYPE(o) == jpy.device_type ||
           Py_TYPE(o) == jpy.function_type || Py_TYPE(o) == jpy.op_type ||
           Py_TYPE(o) == &PyMethodDescr_Type || Py_TYPE(o) == &PyWrapperDescr_Type;
}

bool jcv_is_const(const jcv_av *a) {
    if (a->kind != AV_PY)
        return false;
    PyObject *o = a->py;
    return singleton(o) || plain_object(o) || by_identity(o) || PyComplex_CheckExact(o) ||
           PySlice_Check(o) || (!a->src && (PyTuple_CheckExact(o) || PyFrozenSet_CheckExact(o)));
}

void jcv_by_identity(jcv *c, PyObject *o, jpy_src *src) { jpy_guards_ident(c->guards, src, o); }

bool jcv_one_object(jcv *c, const jcv_av *a, const jcv_av *b) {
    if (a->py != b->py)
        return false;
    if (a->src == b->src)
        return true;
    if (!a->src || !b->src) {
        jpy_src *s = a->src ? a->src : b->src;
        if (!(s->checks & JPY_CHECK_CONST))
            jcv_by_identity(c, a->py, s);
        return true;
    }
    if (a->src->checks & b->src->checks & JPY_CHECK_IDENT)
        return true;
    jpy_src *late = a->src->slot > b->src->slot ? a->src : b->src;
    int64_t early = (late == a->src ? b->src : a->src)->slot;
    if ((late->checks & JPY_CHECK_SAME) && late->same != early)
        return false;
    late->checks |= JPY_CHECK_SAME;
    late->same = early;
    return true;
}

bool jcv_av_equal(const jcv_av *a, const jcv_av *b) {
    if (a == b)
        return true;
    if (!a || !b || a->kind != b->kind)
        return false;
    switch (a->kind) {
    case AV_UNDEF:
        return a->lack == b->lack && a->lack != LACK_UNKNOWN;
    case AV_PY:
        if (a->py == b->py)
            return !jcv_current || jcv_one_object(jcv_current, a, b);
        if (Py_TYPE(a->py) != Py_TYPE(b->py) || !plain_object(a->py))
            return false;
        if (PyFloat_CheckExact(a->py))
            return jpy_same_double(PyFloat_AS_DOUBLE(a->py), PyFloat_AS_DOUBLE(b->py));
        return PyObject_RichCompareBool(a->py, b->py, Py_EQ) == 1;
    case AV_TENSOR:
        return a->py == b->py;
    case AV_SCALAR:
    case AV_HOST:
        return a->val == b->val;
    case AV_TUPLE:
    case AV_RANGE:
        if (a->n != b->n || a->named != b->named || a->text != b->text)
            return false;
        for (unsigned i = 0; i < a->n; i++)
            if (!jcv_av_equal(a->items[i], b->items[i]))
                return false;
        return true;
    case AV_LIST:
    case AV_DICT:
        return a->slot == b->slot;
    case AV_METHOD:
        return a->py == b->py && a->text == b->text && jcv_av_equal(a->self, b->self);
    case AV_SUPER:
        return a->py == b->py && jcv_av_equal(a->self, b->self);
    case AV_CLOSURE:
        return a->tree == b->tree && a->frame == b->frame;
    case AV_STACK:
        return a->val == b->val;
    case AV_DATA:
        return a->val == b->val && a->n == b->n;
    case AV_ITER:
    case AV_SEQ:
    case AV_SUM:
    case AV_CHOICE:
    case AV_TEXT:
        return false;
    case AV_MAYBE:
        return a->self && b->self && a->val == b->val && jcv_av_equal(a->self, b->self) &&
               jcv_av_equal(jcv_number_or(a), jcv_number_or(b));
    }
    return false;
}

jcv_av *jcv_constant(jcv *c, PyObject *o) {
    jcv_av *a = jcv_py(c, o, NULL);
    if (jcv_is_const(a) && !PyTuple_Check(o))
        return a;
    return jcv_wrap(c, o, jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, o, 4));
}

static jcv_av *container(jcv *c, jcv_kind kind, jcv_av *contents) {
    jcv_av *a = jcv_new(c, kind);
    a->tree = c->at;
    a->slot = jcv_slot(c, contents);
    if (!jn_vec_push(&c->made, a))
        jcv_refuse(c, "out of memory");
    return a;
}

jcv_av *jcv_set(jcv *c, jcv_av *const *items, unsigned n) {
    PyObject *t = jcv_object(c, jcv_tuple(c, items, n));
    for (unsigned i = 0; i < n; i++)
        if (!t || !jcv_is_const(items[i]))
            jcv_refuse(c, "a set of values of the graph");
    jcv_av *a = jcv_take(c, PyFrozenSet_New(t));
    a->text = "set"; /* good for tests only */
    return a;
}

jcv_av *jcv_list(jcv *c, jcv_av *const *items, unsigned n) {
    jcv_av *a = jcv_born(c, c->at, items, n, false);
    return a ? a : container(c, AV_LIST, jcv_tuple(c, items, n));
}

jcv_av *jcv_dict(jcv *c) {
    jcv_av *a = jcv_born(c, c->at, NULL, 0, true);
    return a ? a : container(c, AV_DICT, jcv_tuple(c, NULL, 0));
}

/* Whether all of it that matters is read piece by piece, each with a guard of its own: items of
 * lists, tuples, dicts and what derives from dict, attributes of instances.  Of a subclass of
 * another C type it is not: what that holds is only seen by its own code. */
static bool read_in_pieces(PyObject *o) {
    PyTypeObject *t = Py_TYPE(o);
    if (t == &PyList_Type || jpy_has_pairs(o) || t == &PySet_Type || PyMethod_Check(o) ||
        PyTuple_Check(o))
        return true;
    static PyTypeObject *const python = &PyBaseObject_Type;
    while (t && t != python && t != (PyTypeObject *)jpy.module_base_type) {
        if (!(t->tp_flags & Py_TPFLAGS_HEAPTYPE) || t->tp_itemsize)
            break;
        t = t->tp_base;
    }
    return t == python || (t && t == (PyTypeObject *)jpy.module_base_type);
}

/* An exception, a traceback and a frame have all variables of frames, an iterator what it goes
 * over: an entry that kept one would keep that from dying when the program lets go of it. */
static bool must_not_be_kept(PyObject *o) {
    return (PyExceptionInstance_Check(o) || PyTraceBack_Check(o) || PyFrame_Check(o) ||
            PyIter_Check(o)) &&
           !Py_TYPE(o)->tp_weaklistoffset;
}

static jcv_av *input_scalar(jcv *c, PyObject *o, jpy_src *src) {
    bool is_int = PyLong_CheckExact(o), truth = PyBool_Check(o);
    for (size_t i = 0; i < c->inputs.n; i++)
        if (c->inputs.data[i] == src)
            return jcv_scalar(c, c->main->params.data[i]);
    src->checks |= truth ? JPY_CHECK_BOOL : is_int ? JPY_CHECK_INT : JPY_CHECK_FLOAT;
    jn_type t = jn_scalar_type(truth    ? JANUS_KIND_BOOL
                               : is_int ? JANUS_KIND_INT
                                        : JANUS_KIND_FLOAT);
    jcv_val *v = jcv_param(c, c->main, jcv_type(c, t));
    if (!jn_vec_push(&c->inputs, src))
        jcv_refuse(c, "out of memory");
    return jcv_scalar(c, v);
}

/* The innermost module that a source leads through, or is; *out: what the source is now. */
static const jpy_src *module_of(const jcv *c, const jpy_src *s, PyObject **out) {
    PyObject *up = NULL;
    const jpy_src *of = s->parent ? module_of(c, s->parent, &up) : NULL;
    PyObject *by = s->by ? jpy_src_now(s->by, c->call) : NULL;
    *out = s->parent && !up ? NULL : jpy_src_read(s, up, by, c->call);
    return *out && jpy_module_check(*out) ? s : of;
}

bool jcv_in_module(const jcv *c, const jpy_src *s) {
    PyObject *value;
    return module_of(c, s, &value) != NULL;
}

/* A number or list of an object that a module has, where trees of modules are unrolled. */
static bool of_fixed_tree(const jcv *c, const jpy_src *s) {
    PyObject *value;
    if (!c->f->unrolls || !c->f->recurs_fixed || !s->parent)
        return false;
    const jpy_src *of = module_of(c, s->parent, &value);
    return of && of != s->parent;
}

/* A number that a generator has: each draw makes it another one. */
static bool of_generator(const jcv *c, const jpy_src *s) {
    PyObject *up = NULL;
    if (s->parent)
        module_of(c, s->parent, &up);
    return up && PyObject_TypeCheck(up, jpy.generator_type);
}

jcv_av *jcv_wrap(jcv *c, PyObject *o, jpy_src *src) {
    if (jpy_tensor_check(o)) {
        if (jcv_is_proxy(c, o)) {
            jcv_av *a = jcv_py(c, o, NULL);
            jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)o)->t);
            a->kind = AV_TENSOR;
            r->obj = r->obj ? r->obj : o;
            return a;
        }
        return src ? jcv_bind_tensor(c, o, src) : jcv_real_tensor_const(c, o);
    }
    if (!src) {
        jcv_av *a = jcv_py(c, o, NULL);
        a->sizes = Py_TYPE(o) == jpy.size_type || (PyTuple_CheckExact(o) && PyTuple_GET_SIZE(o));
        return a;
    }
    bool fixed = of_fixed_tree(c, src) && !jpy_hint_written(c->f, src);
    bool some = PyDict_CheckExact(o)
                    ? PyDict_GET_SIZE(o) > 0
                    : (PyList_CheckExact(o) || PyTuple_CheckExact(o)) && Py_SIZE(o);
    bool any_length = !fixed && some && jpy_hint_length(c->f, src, PyList_CheckExact(o));
    bool one_apart = any_length && jpy_hint_one_apart(c->f, src);
    any_length = any_length && !(one_apart && PyObject_Size(o) == 1);
    if (any_length) { /* none stays apart */
        src->checks |= JPY_CHECK_SOME;
        src->number = one_apart ? 2 : 1;
        c->entry->any_length = true;
    }
    if (any_length || ((PyList_CheckExact(o) || jpy_has_pairs(o)) && jcv_live_object(c, o))) {
        jpy_src_check_type(c->guards, src, Py_TYPE(o));
        return jcv_to_host(c, jcv_py(c, o, src));
    }
    if (PyBool_Check(o) && !fixed && jpy_src_in_sequence(src) && jpy_hint_number(c->f, src))
        return input_scalar(c, o, src);
    if (singleton(o) || by_identity(o)) {
        jcv_by_identity(c, o, src);
    } else if (jpy_by_value(o) && !PyTuple_Check(o)) {
        int overflow = 0;
        if (PyLong_CheckExact(o))
            PyLong_AsLongLongAndOverflow(o, &overflow);
        if (!overflow && (PyLong_CheckExact(o) || PyFloat_CheckExact(o)) &&
            ((!fixed && jpy_hint_number(c->f, src)) || of_generator(c, src)))
            return input_scalar(c, o, src);
        if (PyUnicode_CheckExact(o) && !fixed && jpy_hint_number(c->f, src))
            return jcv_varying_text(c, o, src);
        src->checks |= JPY_CHECK_CONST;
        src->want = jpy_guards_own(c->guards, o);
    } else if (PyFunction_Check(o)) {
        src->checks |= JPY_CHECK_CODE;
        src->want = jpy_guards_own(c->guards, PyFunction_GET_GLOBALS(o));
        src->want2 = jpy_guards_own(c->guards, PyFunction_GET_CODE(o));
    } else {
        jpy_src_check_type(c->guards, src, Py_TYPE(o));
        if (jcv_is_enum(o) || !read_in_pieces(o)) {
            if (must_not_be_kept(o))
                jcv_refuse(c, "an object of %s", Py_TYPE(o)->tp_name);
            jcv_by_identity(c, o, src);
        }
    }
    if (jpy_is_deque(o)) { /* what is in it is read while the graph runs */
        jcv_av *a = jcv_to_host(c, jcv_py(c, o, src));
        jcv_known_type(c, a->val, Py_TYPE(o));
        return a;
    }
    return jcv_py(c, o, src);
}

static PyObject *sequence(jcv *c, jcv_av *seq, bool list) {
    PyObject *o = list ? PyList_New(seq->n) : PyTuple_New(seq->n);
    jcv_own(c, o);
    jcv_go_inside(c);
    for (unsigned i = 0; i < seq->n; i++) {
        PyObject *e = jcv_object(c, seq->items[i]);
        if (!e) {
            c->inside--;
            return NULL;
        }
        Py_INCREF(e);
        if (list)
            PyList_SET_ITEM(o, i, e);
        else
            PyTuple_SET_ITEM(o, i, e);
    }
    c->inside--;
    return o;
}

/* Whether C code that is given it runs no code of Python: a class or module may have a class of
 * its own. */
static bool is_inert(PyObject *o) {
    return !(PyType_Check(o) || PyModule_Check(o)) || !(Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE);
}

bool jcv_is_inert(const jcv_av *a) { return jcv_is_const(a) && is_inert(a->py); }

bool jcv_is_key(const jcv_av *a) {
    if (!jcv_is_const(a) || is_inert(a->py))
        return jcv_is_const(a);
    const PyTypeObject *t = Py_TYPE(a->py);
    const PyTypeObject *native = PyType_Check(a->py) ? &PyType_Type : &PyModule_Type;
    return t->tp_hash == native->tp_hash && t->tp_richcompare == native->tp_richcompare;
}

bool jcv_lasts(PyObject *o) {
    if (jpy_by_value(o) || singleton(o) || (by_identity(o) && !PyCFunction_Check(o)))
        return true;
    bool all = PyTuple_CheckExact(o);
    for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(o); i++)
        all = jcv_lasts(PyTuple_GET_ITEM(o, i));
    return all;
}

PyObject *jcv_object(jcv *c, jcv_av *a) {
    switch (a->kind) {
    case AV_PY:
        if (PyTuple_Check(a->py) && !PyTuple_CheckExact(a->py) && jcv_own_items(c, a))
            return NULL;
        if (a->src && (PyList_CheckExact(a->py) || PyTuple_Check(a->py))) {
            jcv_av **items;
            unsigned n;
            if (!jcv_items(c, a, &items, &n))
                return NULL;
            jcv_av *t = jcv_tuple(c, items, n);
            return sequence(c, t, PyList_CheckExact(a->py));
        }
        if (!a->src && PyTuple_Check(a->py)) /* sizes */
            return a->py;
        if (jcv_exact_type(a->py))
            return jcv_is_data(a) ? NULL : jcv_exact_number(c, a->py);
        return jcv_is_const(a) && is_inert(a->py) ? a->py : NULL;
    case AV_TENSOR:
        return a->py;
    case AV_TUPLE:
        return a->named && jcv_own_items(c, a) ? NULL : sequence(c, a, false);
    case AV_LIST:
        return sequence(c, c->slots.data[a->slot], true);
    case AV_SCALAR:
        return jcv_pass(c, a->val);
    case AV_MAYBE:
        return a->self ? jcv_object(c, jcv_there(c, a)) : NULL;
    default:
        return NULL;
    }
}

PyObject *jcv_const_object(jcv *c, jcv_av *a) {
    if (jcv_is_const(a))
        return is_inert(a->py) ? a->py : NULL;
    if (a->kind == AV_PY && !a->src && PyTuple_Check(a->py)) /* sizes */
        return a->py;
    bool seq = a->kind == AV_LIST || (a->kind == AV_TUPLE && !a->named) ||
               (a->kind == AV_PY && (PyList_CheckExact(a->py) || PyTuple_CheckExact(a->py)));
    jcv_av **items;
    unsigned n;
    if (!seq || !jcv_items(c, a, &items, &n))
        return NULL;
    bool all = true;
    jcv_go_inside(c);
    for (unsigned i = 0; i < n && all; i++)
        all = jcv_const_object(c, items[i]) != NULL;
    c->inside--;
    return all ? jcv_object(c, a) : NULL;
}

/* The type of a bound special method of a native type, which has no public name; NULL: unknown. */
static PyTypeObject *method_wrapper(void) {
    static PyTypeObject *type;
    if (!type) {
        PyObject *m = PyObject_GetAttrString(Py_None, "__eq__");
        type = m ? Py_TYPE(m) : NULL;
        Py_XDECREF(m);
        PyErr_Clear();
    }
    return type;
}

/* Of a method of a native type: special ones are wrappers. */
static PyTypeObject *type_of_method(jcv *c, jcv_av *a) {
    PyTypeObject *t = a->text ? jcv_type_of(c, a->self) : NULL;
    PyObject *d = a->py;
    if (t)
        d = _PyType_Lookup(t, jcv_own(c, PyUnicode_InternFromString(a->text)));
    if (d && Py_TYPE(d) == &PyWrapperDescr_Type)
        return method_wrapper();
    return a->text || Py_TYPE(d) == &PyMethodDescr_Type ? &PyCFunction_Type : &PyMethod_Type;
}

/* NULL: unknown. */
static PyTypeObject *type_of_iterator(const jcv_av *a) {
    static const struct {
        const char *text;
        PyTypeObject *type;
    } rows[] = {{"enumerate", &PyEnum_Type},
                {"zip", &PyZip_Type},
                {"map", &PyMap_Type},
                {"reversed", &PyReversed_Type}};
    if (a->named) /* a model has made it */
        return (PyTypeObject *)a->named;
    if (a->kind == AV_SEQ && a->tree)
        return &PyGen_Type;
    for (size_t i = 0; a->text && i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(a->text, rows[i].text))
            return rows[i].type;
    return NULL;
}

void jcv_kind_decides(jcv *c, const jcv_av *a) {
    const jcv_val *v = a->kind == AV_SCALAR   ? a->val
                       : a->kind == AV_TENSOR ? jcv_tensor_val(c, a->py)
                                              : NULL;
    if (v && v->node && v->node->op == JN_OP(wire_read))
        v = v->node->in[0];
    if (v && v->node && v->node->kind == JCV_OP && v->node->op == JN_OP(host_unbox))
        v->node->asked = true;
}

PyTypeObject *jcv_type_of(jcv *c, jcv_av *a) {
    jcv_kind_decides(c, a);
    switch (a->kind) {
    case AV_PY:
        return Py_TYPE(a->py);
    case AV_TENSOR: {
        const jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)a->py)->t);
        bool any_class = r->box && ((jpy_tensor *)a->py)->requires_grad; /* others are plain */
        return any_class ? jcv_host_type(c, r->box) : Py_TYPE(r->proxy ? r->proxy : a->py);
    }
    case AV_SCALAR:
        return a->val->type->kind == JANUS_KIND_INT     ? &PyLong_Type
               : a->val->type->kind == JANUS_KIND_FLOAT ? &PyFloat_Type
                                                        : &PyBool_Type;
    case AV_HOST:
        return jcv_host_type(c, a);
    case AV_TUPLE:
        return a->named ? (PyTypeObject *)a->named : &PyTuple_Type;
    case AV_LIST:
        return &PyList_Type;
    case AV_DICT:
        return a->origin ? Py_TYPE(a->origin->py) : &PyDict_Type;
    case AV_RANGE:
        return &PyRange_Type;
    case AV_CLOSURE:
        return a->named ? (PyTypeObject *)a->named : &PyFunction_Type;
    case AV_METHOD:
        return type_of_method(c, a);
    case AV_TEXT:
        return &PyUnicode_Type;
    case AV_SUPER:
        return &PySuper_Type;
    case AV_SEQ:
        if (jcv_is_slice(a))
            return a->named ? (PyTypeObject *)a->named : jcv_type_of(c, a->items[0]);
        if (jcv_is_stacked(a) && a->named)
            return &PyTuple_Type;
        return jcv_is_stacked(a) || jcv_made_at(a) ? &PyList_Type : type_of_iterator(a);
    case AV_ITER:
        return type_of_iterator(a);
    default:
        return NULL;
    }
}
