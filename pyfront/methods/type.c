/* SPDX-License-Identifier: Apache-2.0 */
/* The type janus.Tensor: properties, operators, and the methods of method.c. */
#include "config.h"

#include "exec/store/store.h"
#include "pyfront/backward/backward.h"
#include "pyfront/tensor/tensor.h"

#include <stddef.h>
#include <string.h>

#include <structmember.h>

#include "ops/op_ids.h"
#include "pyfront/methods/method.h"
#include "pyfront/op/op.h"
#include "pyfront/tape/tape.h"

static PyObject *tensor_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    if (kwargs && PyDict_GET_SIZE(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "Tensor() takes sizes or one sequence of numbers");
        return NULL;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    janus_tensor *t;
    bool sizes = n != 1;
    if (n == 1) {
        PyObject *o = PyTuple_GET_ITEM(args, 0);
        sizes = PyLong_Check(o) || Py_TYPE(o) == jpy.size_type;
        if (Py_TYPE(o) == jpy.size_type)
            args = o, n = PyTuple_GET_SIZE(o);
        else if (!sizes && jpy_tensor_from_object(o, true, JANUS_F32, &t) < 0)
            return NULL;
    }
    if (sizes) {
        int64_t dims[JN_MAX_RANK] = {0};
        int rank = n ? (int)n : 1;
        if (n > JN_MAX_RANK) {
            PyErr_SetString(PyExc_ValueError, "Tensor(): too many sizes");
            return NULL;
        }
        for (Py_ssize_t i = 0; i < n; i++) {
            dims[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(args, i));
            if (dims[i] == -1 && PyErr_Occurred())
                return NULL;
        }
        if (jpy_check(jn_tensor_empty(JANUS_F32, rank, dims, &t)) < 0)
            return NULL;
    }
    return jpy_tensor_make(type, t);
}

/* _make_subclass(cls, data, requires_grad): another object of class cls over data's memory. */
static PyObject *make_subclass(PyObject *unused, PyObject *args) {
    (void)unused;
    PyObject *cls, *data;
    int requires_grad = 0;
    if (!PyArg_ParseTuple(args, "OO!|p:_make_subclass", &cls, (PyObject *)jpy.tensor_type, &data,
                          &requires_grad))
        return NULL;
    if (!PyType_Check(cls) || !PyType_IsSubtype((PyTypeObject *)cls, jpy.tensor_type)) {
        PyErr_SetString(PyExc_TypeError, "_make_subclass: the first argument is no Tensor class");
        return NULL;
    }
    janus_tensor *t = ((jpy_tensor *)data)->t;
    if (requires_grad && !jn_dtype_is_float(t->dtype)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "Only Tensors of floating point dtype can require gradients");
        return NULL;
    }
    janus_tensor_retain(t);
    jpy_tensor *o = (jpy_tensor *)jpy_tensor_make((PyTypeObject *)cls, t);
    if (o)
        o->requires_grad = requires_grad != 0;
    return (PyObject *)o;
}

/* ---- properties
 * --------------------------------------------------------------------------------------
 */

#define SELF ((jpy_tensor *)self)

static PyObject *get_shape(PyObject *self, void *unused) {
    (void)unused;
    return jpy_size_new(SELF->t->rank, SELF->t->dims);
}
static PyObject *get_dtype(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef(jpy.dtypes[SELF->t->dtype]);
}
static PyObject *get_device(PyObject *self, void *unused) {
    (void)unused;
    return jpy_device_of(SELF->t);
}
static PyObject *get_is_cuda(PyObject *self, void *unused) {
    (void)unused;
    const jn_storage *s = SELF->t->storage;
    return PyBool_FromLong((s->state == JN_STORAGE_PROXY ? jpy_graph_on.device : s->device) !=
                           NULL);
}
static PyObject *get_ndim(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(SELF->t->rank);
}
static PyObject *get_false(PyObject *self, void *unused) {
    (void)self;
    (void)unused;
    Py_RETURN_FALSE;
}
static PyObject *get_requires_grad(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(jpy_tensor_tracked(SELF));
}
int jpy_set_requires_grad(PyObject *self, PyObject *v, void *unused) {
    (void)unused;
    int on = v ? PyObject_IsTrue(v) : 0;
    if (on < 0)
        return -1;
    jpy_edge e;
    if (jpy_tensor_edge(SELF, &e) < 0)
        return -1;
    if (e.node) {
        if (on)
            return 0;
        PyErr_SetString(PyExc_RuntimeError,
                        "you can only change requires_grad flags of leaf variables. If you want to "
                        "use a computed variable in a subgraph that doesn't require "
                        "differentiation use var_no_grad = var.detach().");
        return -1;
    }
    if (on && !jn_dtype_is_float(SELF->t->dtype)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "only Tensors of floating point dtype can require gradients");
        return -1;
    }
    SELF->requires_grad = on != 0;
    if (on && SELF->base)
        jpy_tensor_put_base(SELF, NULL); /* a leaf is the root of its own history */
    return 0;
}
static PyObject *get_is_leaf(PyObject *self, void *unused) {
    (void)unused;
    jpy_edge e;
    return jpy_tensor_edge(SELF, &e) < 0 ? NULL : PyBool_FromLong(e.node == NULL);
}
static PyObject *get_grad_fn(PyObject *self, void *unused) {
    (void)unused;
    jpy_edge e;
    if (jpy_tensor_edge(SELF, &e) < 0)
        return NULL;
    return e.node ? jpy_node_object(e.node) : Py_NewRef(Py_None);
}
static PyObject *get_grad(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef(SELF->grad ? SELF->grad : Py_None); /* rows, perhaps */
}
static int set_grad(PyObject *self, PyObject *v, void *unused) {
    (void)unused;
    if (!v || v == Py_None) {
        Py_CLEAR(SELF->grad);
        return 0;
    }
    if (!jpy_tensor_check(v)) {
        PyErr_Format(PyExc_TypeError, "assigned grad expected to be a Tensor or None but got %s",
                     Py_TYPE(v)->tp_name);
        return -1;
    }
    janus_tensor *g = ((jpy_tensor *)v)->t, *t = SELF->t;
    if (g->dtype != t->dtype || g->rank != t->rank ||
        memcmp(g->dims, t->dims, (size_t)t->rank * sizeof(int64_t))) {
        PyErr_SetString(PyExc_RuntimeError,
                        "assigned grad has data of a different type or size than the tensor");
        return -1;
    }
    Py_XSETREF(SELF->grad, Py_NewRef(v));
    return 0;
}
static PyObject *get_data(PyObject *self, void *unused) {
    (void)unused;
    janus_tensor *t;
    if (jpy_check(jn_tensor_view(SELF->t, SELF->t->rank, SELF->t->dims, SELF->t->strides, 0, &t)) <
        0)
        return NULL;
    jpy_tensor *o = (jpy_tensor *)jpy_tensor_take(t);
    if (o)
        o->no_version = true;
    return (PyObject *)o;
}
static int set_data(PyObject *self, PyObject *v, void *unused) {
    (void)unused;
    if (!v || !jpy_tensor_check(v)) {
        PyErr_SetString(PyExc_TypeError, "Variable data has to be a tensor");
        return -1;
    }
    janus_tensor *t = ((jpy_tensor *)v)->t;
    janus_tensor_retain(t);
    jpy_tensor_put_memory(SELF, t);
    return 0;
}
static PyObject *get_version(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLong(SELF->t->storage->version);
}
static PyObject *get_base(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef(SELF->base ? (PyObject *)SELF->base : Py_None);
}
static PyObject *get_itemsize(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(jn_dtype_size((janus_dtype)SELF->t->dtype));
}
static PyObject *get_layout(PyObject *self, void *unused) {
    (void)self;
    (void)unused;
    return PyUnicode_FromString("strided");
}

static PyGetSetDef tensor_getset[] = {
    {"shape", get_shape, NULL, "Sizes of the dims.", NULL},
    {"dtype", get_dtype, NULL, "Type of the elements.", NULL},
    {"device", get_device, NULL, "Where the memory is.", NULL},
    {"ndim", get_ndim, NULL, "Number of dims.", NULL},
    {"is_cuda", get_is_cuda, NULL, "Whether the memory is on a CUDA device.", NULL},
    {"is_sparse", get_false, NULL, "False: tensors are strided.", NULL},
    {"layout", get_layout, NULL, "\"strided\"", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of an element.", NULL},
    {"requires_grad", get_requires_grad, jpy_set_requires_grad, "Whether gradients flow here.",
     NULL},
    {"is_leaf", get_is_leaf, NULL, "Whether it is no result of a recorded op.", NULL},
    {"grad_fn", get_grad_fn, NULL, "The tape node it is a result of, or None.", NULL},
    {"grad", get_grad, set_grad, "Gradient collected by backward(), or None.", NULL},
    {"_grad", get_grad, set_grad, "The same as grad.", NULL},
    {"data", get_data, set_data, "The same memory, without history.", NULL},
    {"_version", get_version, NULL, "Number of in-place writes to the memory.", NULL},
    {"_base", get_base, NULL, "The tensor this is a view of, or None.", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef tensor_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(jpy_tensor, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(jpy_tensor, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* ---- number protocol
 * -----------------------------------------------------------------------------------
 */

#define BINARY(slot, row)                                                                          \
    static PyObject *slot(PyObject *a, PyObject *b) { return jpy_binary(JN_OP(row), a, b); }       \
    static PyObject *slot##_i(PyObject *a, PyObject *b) {                                          \
        return jpy_binary_inplace(JN_OP(row), a, b);                                               \
    }
BINARY(nb_add, add)
BINARY(nb_sub, sub)
BINARY(nb_mul, mul)
BINARY(nb_div, div)
BINARY(nb_floordiv, floordiv)
BINARY(nb_mod, mod)

BINARY(nb_and, bitwise_and)
BINARY(nb_or, bitwise_or)
BINARY(nb_xor, bitwise_xor)
BINARY(nb_lshift, bitwise_left_shift)
BINARY(nb_rshift, bitwise_right_shift)

static PyObject *nb_matmul(PyObject *a, PyObject *b) { return jpy_binary(JN_OP(matmul), a, b); }

static PyObject *nb_pow(PyObject *a, PyObject *b, PyObject *modulo) {
    if (modulo != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    return jpy_binary(JN_OP(pow), a, b);
}
static PyObject *nb_pow_i(PyObject *a, PyObject *b, PyObject *modulo) {
    if (modulo != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    return jpy_binary_inplace(JN_OP(pow), a, b);
}
static PyObject *nb_neg(PyObject *a) { return jpy_unary_fast(&jn_this, JN_OP(neg), a); }
static PyObject *nb_pos(PyObject *a) { return Py_NewRef(a); }
static PyObject *nb_abs(PyObject *a) { return jpy_unary_fast(&jn_this, JN_OP(abs), a); }
static PyObject *nb_invert(PyObject *a) {
    if (!jn_dtype_is_float(((jpy_tensor *)a)->t->dtype))
        return jpy_unary(JN_OP(bitwise_not), a);
    PyErr_SetString(PyExc_TypeError, "~ (operator.invert) is only implemented on integer and "
                                     "Boolean-type tensors");
    return NULL;
}

static PyObject *compare(PyObject *a, PyObject *b, int how) {
    static const uint16_t ids[6] = {
        [Py_LT] = JN_OP_ID_lt, [Py_LE] = JN_OP_ID_le, [Py_EQ] = JN_OP_ID_eq,
        [Py_NE] = JN_OP_ID_ne, [Py_GT] = JN_OP_ID_gt, [Py_GE] = JN_OP_ID_ge};
    return jpy_binary(&jn_ops[ids[how]], a, b);
}

/* The truth of a one-element tensor; -1: raised. */
static int truth(PyObject *self) {
    if (SELF->t->numel != 1) {
        PyErr_SetString(PyExc_RuntimeError,
                        SELF->t->numel == 0
                            ? "Boolean value of Tensor with no values is ambiguous"
                            : "Boolean value of Tensor with more than one value is ambiguous");
        return -1;
    }
    PyObject *item = jpy_tensor_item(SELF->t);
    int rc = item ? PyObject_IsTrue(item) : -1;
    Py_XDECREF(item);
    return rc;
}
static PyObject *nb_int(PyObject *self) {
    PyObject *item = jpy_tensor_item(SELF->t);
    PyObject *n = item ? PyNumber_Long(item) : NULL;
    Py_XDECREF(item);
    return n;
}
static PyObject *nb_float(PyObject *self) {
    PyObject *item = jpy_tensor_item(SELF->t);
    PyObject *n = item ? PyNumber_Float(item) : NULL;
    Py_XDECREF(item);
    return n;
}
static PyObject *nb_index(PyObject *self) {
    if (jn_dtype_is_float(SELF->t->dtype)) {
        PyErr_SetString(PyExc_TypeError,
                        "only integer tensors of a single element can be converted to an index");
        return NULL;
    }
    return nb_int(self);
}
static Py_ssize_t sq_length(PyObject *self) {
    if (SELF->t->rank == 0) {
        PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
        return -1;
    }
    return (Py_ssize_t)SELF->t->dims[0];
}
static Py_hash_t tensor_hash(PyObject *self) { return _Py_HashPointer(self); }

static PyObject *tensor_repr(PyObject *self) {
    PyObject *f = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "_repr");
    PyObject *text = f ? PyObject_CallOneArg(f, self) : NULL;
    Py_XDECREF(f);
    if (!text && !f) {
        PyErr_Clear();
        text = PyUnicode_FromFormat("<janus.Tensor at %p>", self);
    }
    return text;
}

static int mp_set(PyObject *self, PyObject *key, PyObject *value) {
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
        return -1;
    }
    return jpy_index_set(self, key, value);
}

static PyObject *sq_item(PyObject *self, Py_ssize_t i) {
    if (SELF->t->rank && i >= SELF->t->dims[0]) {
        PyErr_SetString(PyExc_IndexError, "index out of range");
        return NULL;
    }
    PyObject *key = PyLong_FromSsize_t(i);
    PyObject *item = key ? jpy_index_get(self, key) : NULL;
    Py_XDECREF(key);
    return item;
}

static PyObject *tensor_iter(PyObject *self) {
    if (SELF->t->rank == 0) {
        PyErr_SetString(PyExc_TypeError, "iteration over a 0-d tensor");
        return NULL;
    }
    if (Py_TYPE(self)->tp_as_sequence->sq_item == sq_item)
        return PySeqIter_New(self);
    /* its rows, as in PyTorch, whatever its class has for x[k] */
    PyObject *rows = PyTuple_New(SELF->t->dims[0]);
    for (Py_ssize_t i = 0; rows && i < PyTuple_GET_SIZE(rows); i++) {
        PyObject *row = sq_item(self, i);
        if (row)
            PyTuple_SET_ITEM(rows, i, row);
        else
            Py_CLEAR(rows);
    }
    PyObject *iterator = rows ? PyObject_GetIter(rows) : NULL;
    Py_XDECREF(rows);
    return iterator;
}

static int sq_contains(PyObject *self, PyObject *item) {
    PyObject *same = jpy_binary(JN_OP(eq), self, item);
    if (!same || same == Py_NotImplemented) {
        if (same)
            PyErr_Format(PyExc_TypeError, "'in <Tensor>' does not take %s", Py_TYPE(item)->tp_name);
        Py_XDECREF(same);
        return -1;
    }
    janus_tensor *t;
    int found = 0, rc = jpy_tensor_here(((jpy_tensor *)same)->t, &t);
    Py_DECREF(same);
    if (rc < 0)
        return -1;
    char *data;
    rc = jpy_tensor_data(t, &data);
    for (int64_t i = 0; rc == 0 && i < t->numel && !found; i++)
        found = data[i] != 0;
    janus_tensor_release(t);
    return rc < 0 ? -1 : found;
}

static PyMethodDef make_subclass_def = {"_make_subclass", make_subclass, METH_VARARGS | METH_STATIC,
                                        "Another object over the same memory."};

static PyType_Slot tensor_slots[] = {
    {Py_tp_new, tensor_new},
    {Py_tp_dealloc, jpy_tensor_dealloc},
    {Py_tp_traverse, jpy_tensor_traverse},
    {Py_tp_clear, jpy_tensor_clear},
    {Py_tp_repr, tensor_repr},
    {Py_tp_hash, tensor_hash},
    {Py_tp_richcompare, compare},
    {Py_tp_iter, tensor_iter},
    {Py_tp_getset, tensor_getset},
    {Py_tp_members, tensor_members},
    {Py_tp_methods, NULL}, /* filled from jpy_tensor_methods */
    {Py_nb_add, nb_add},
    {Py_nb_subtract, nb_sub},
    {Py_nb_multiply, nb_mul},
    {Py_nb_true_divide, nb_div},
    {Py_nb_floor_divide, nb_floordiv},
    {Py_nb_remainder, nb_mod},
    {Py_nb_power, nb_pow},
    {Py_nb_matrix_multiply, nb_matmul},
    {Py_nb_and, nb_and},
    {Py_nb_or, nb_or},
    {Py_nb_xor, nb_xor},
    {Py_nb_lshift, nb_lshift},
    {Py_nb_rshift, nb_rshift},
    {Py_nb_inplace_add, nb_add_i},
    {Py_nb_inplace_subtract, nb_sub_i},
    {Py_nb_inplace_multiply, nb_mul_i},
    {Py_nb_inplace_true_divide, nb_div_i},
    {Py_nb_inplace_floor_divide, nb_floordiv_i},
    {Py_nb_inplace_remainder, nb_mod_i},
    {Py_nb_inplace_power, nb_pow_i},
    {Py_nb_inplace_and, nb_and_i},
    {Py_nb_inplace_or, nb_or_i},
    {Py_nb_inplace_xor, nb_xor_i},
    {Py_nb_inplace_lshift, nb_lshift_i},
    {Py_nb_inplace_rshift, nb_rshift_i},
    {Py_nb_negative, nb_neg},
    {Py_nb_positive, nb_pos},
    {Py_nb_absolute, nb_abs},
    {Py_nb_invert, nb_invert},
    {Py_nb_bool, truth},
    {Py_nb_int, nb_int},
    {Py_nb_float, nb_float},
    {Py_nb_index, nb_index},
    {Py_mp_length, sq_length},
    {Py_sq_length, sq_length},
    {Py_sq_item, sq_item},
    {Py_sq_contains, sq_contains},
    {Py_mp_subscript, jpy_index_get},
    {Py_mp_ass_subscript, mp_set},
    {Py_bf_getbuffer, jpy_getbuffer},
    {Py_bf_releasebuffer, jpy_releasebuffer},
    {Py_tp_doc, "A strided array with gradients."},
    {0, NULL},
};

static PyType_Spec tensor_spec = {"janus.Tensor", sizeof(jpy_tensor), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                  tensor_slots};

int jpy_init_tensor(PyObject *module) {
    for (PyType_Slot *s = tensor_slots; s->slot; s++)
        if (s->slot == Py_tp_methods)
            s->pfunc = jpy_tensor_methods;
    jpy.tensor_type = jpy_type_new(module, &tensor_spec, NULL);
    if (!jpy.tensor_type)
        return -1;
    PyObject *f = PyCFunction_New(&make_subclass_def, NULL);
    PyObject *s = f ? PyStaticMethod_New(f) : NULL;
    Py_XDECREF(f);
    int rc = s ? PyObject_SetAttrString((PyObject *)jpy.tensor_type, "_make_subclass", s) : -1;
    Py_XDECREF(s);
    return rc;
}
