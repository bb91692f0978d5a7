/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small types and helpers every file uses: janus.dtype, janus.device, janus.Size, and the one place
 * where a janus_status becomes a Python exception.
 */
#include "config.h"

#include "pyfront/base/jpy.h"

#include <string.h>

jpy_state jpy;

int jpy_raise(janus_status st) {
    if (PyErr_Occurred())
        return -1;
    const janus_error *e = janus_last_error();
    PyObject *type = PyExc_RuntimeError;
    switch (st) {
    case JANUS_INDEX:
        type = PyExc_IndexError;
        break;
    case JANUS_NO_MEMORY:
        type = jpy.out_of_memory;
        break;
    case JANUS_INVALID_ARGUMENT:
    case JANUS_PARSE:
        type = PyExc_ValueError;
        break;
    case JANUS_UNSUPPORTED:
        type = PyExc_NotImplementedError;
        break;
    default:
        break;
    }
    const char *text = e && e->code == st && e->message[0] ? e->message : janus_status_text(st);
    PyErr_SetString(type, text);
    return -1;
}

int jpy_module_take(PyObject *module, const char *name, PyObject *o) {
    if (!o)
        return -1;
    int rc = PyModule_AddObjectRef(module, name, o);
    Py_DECREF(o);
    return rc;
}

PyTypeObject *jpy_namespace_type(void) {
    static PyTypeObject *known;
    PyObject *o = known ? NULL : PySys_GetObject("implementation");
    if (o && !strcmp(Py_TYPE(o)->tp_name, "types.SimpleNamespace"))
        known = Py_TYPE(o);
    return known;
}

PyObject *jpy_blank(PyTypeObject *t) {
    newfunc made = t == jpy_namespace_type() ? t->tp_new : PyBaseObject_Type.tp_new;
    return made(t, jpy.empty_tuple, NULL);
}

PyTypeObject *jpy_type_new(PyObject *module, PyType_Spec *spec, PyObject *bases) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, bases);
    if (!type)
        return NULL;
    const char *dot = strrchr(spec->name, '.');
    if (PyModule_AddObjectRef(module, dot ? dot + 1 : spec->name, type) < 0) {
        Py_DECREF(type);
        return NULL;
    }
    return (PyTypeObject *)type; /* the reference is kept in `jpy` for ever */
}

/* ---- dtype
 * ---------------------------------------------------------------------------------------
 */

typedef struct dtype_object {
    PyObject_HEAD janus_dtype d;
} dtype_object;

static const char *const dtype_names[JANUS_DTYPE_COUNT] = {
    "float32", "float64", "int32", "int64", "bool", "uint8", "float16", "bfloat16"};
static const char *const numpy_names[JANUS_DTYPE_COUNT] = {
    "float32", "float64", "int32", "int64", "bool", "uint8", "float16", "uint16"};

static PyObject *dtype_repr(PyObject *self) {
    return PyUnicode_FromFormat("janus.%s", dtype_names[((dtype_object *)self)->d]);
}
static PyObject *dtype_itemsize(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(jn_dtype_size(((dtype_object *)self)->d));
}
static PyObject *dtype_is_floating(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(jn_dtype_is_float((int)((dtype_object *)self)->d));
}
static PyObject *dtype_is_signed(PyObject *self, void *unused) {
    (void)unused;
    janus_dtype d = ((dtype_object *)self)->d;
    return PyBool_FromLong(d != JANUS_U8 && d != JANUS_BOOL);
}
static PyObject *dtype_is_complex(PyObject *self, void *unused) {
    (void)self;
    (void)unused;
    Py_RETURN_FALSE;
}
static PyObject *dtype_numpy(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(numpy_names[((dtype_object *)self)->d]);
}
static PyObject *dtype_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyUnicode_FromString(dtype_names[((dtype_object *)self)->d]);
}

static PyGetSetDef dtype_getset[] = {
    {"itemsize", dtype_itemsize, NULL, "bytes of an element", NULL},
    {"is_floating_point", dtype_is_floating, NULL, "whether elements are floats", NULL},
    {"is_signed", dtype_is_signed, NULL, "whether elements can be negative", NULL},
    {"is_complex", dtype_is_complex, NULL, "False", NULL},
    {"_numpy", dtype_numpy, NULL, "NumPy's name of it", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot dtype_slots[] = {
    {Py_tp_repr, dtype_repr},
    {Py_tp_getset, dtype_getset},
    {Py_tp_methods, dtype_methods},
    {Py_tp_doc, "Type of a tensor's elements."},
    {0, NULL},
};
static PyType_Spec dtype_spec = {"janus.dtype", sizeof(dtype_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 dtype_slots};

PyObject *jpy_dtype_object(janus_dtype d) { return jpy.dtypes[d]; }

int jpy_dtype_parse(PyObject *o, janus_dtype *out) {
    if (!o || o == Py_None)
        return 0;
    if (Py_TYPE(o) == jpy.dtype_type)
        *out = ((dtype_object *)o)->d;
    else if (o == (PyObject *)&PyFloat_Type)
        *out = JANUS_F32;
    else if (o == (PyObject *)&PyLong_Type)
        *out = JANUS_I64;
    else if (o == (PyObject *)&PyBool_Type)
        *out = JANUS_BOOL;
    else {
        PyErr_Format(PyExc_TypeError, "dtype must be a janus.dtype, not %s", Py_TYPE(o)->tp_name);
        return -1;
    }
    return 1;
}

/* ---- device
 * --------------------------------------------------------------------------------------
 */

typedef struct device_object {
    PyObject_HEAD PyObject *type;
    long index; /* -1: none */
} device_object;

static PyObject *device_make(const char *type, Py_ssize_t n, long index) {
    device_object *d = PyObject_New(device_object, jpy.device_type);
    if (!d)
        return NULL;
    d->index = index;
    d->type = PyUnicode_FromStringAndSize(type, n);
    if (!d->type) {
        Py_DECREF(d);
        return NULL;
    }
    return (PyObject *)d;
}

static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"type", "index", NULL};
    PyObject *what, *number = Py_None;
    (void)type;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", names, &what, &number))
        return NULL;
    if (Py_TYPE(what) == jpy.device_type)
        return Py_NewRef(what);
    if (PyLong_Check(what))
        return device_make("cuda", 4, PyLong_AsLong(what));
    const char *text = PyUnicode_AsUTF8(what);
    if (!text)
        return NULL;
    const char *colon = strchr(text, ':');
    Py_ssize_t n = colon ? colon - text : (Py_ssize_t)strlen(text);
    long index = colon ? strtol(colon + 1, NULL, 10) : -1;
    if (number != Py_None)
        index = PyLong_AsLong(number);
    static const char *const known[] = {"cpu", "cuda", "mps", "xpu", "meta"};
    bool ok = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ok = ok || (strlen(known[i]) == (size_t)n && strncmp(text, known[i], (size_t)n) == 0);
    if (PyErr_Occurred())
        return NULL;
    if (!ok || (colon && (colon[1] < '0' || colon[1] > '9'))) {
        PyErr_Format(PyExc_RuntimeError, "Invalid device string: '%s'", text);
        return NULL;
    }
    return device_make(text, n, index);
}

static void device_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((device_object *)self)->type);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *device_str(PyObject *self) {
    device_object *d = (device_object *)self;
    return d->index < 0 ? Py_NewRef(d->type) : PyUnicode_FromFormat("%U:%ld", d->type, d->index);
}
static PyObject *device_repr(PyObject *self) {
    device_object *d = (device_object *)self;
    if (d->index < 0)
        return PyUnicode_FromFormat("device(type='%U')", d->type);
    return PyUnicode_FromFormat("device(type='%U', index=%ld)", d->type, d->index);
}
static Py_hash_t device_hash(PyObject *self) {
    return PyObject_Hash(((device_object *)self)->type) + ((device_object *)self)->index;
}
static PyObject *device_compare(PyObject *a, PyObject *b, int op) {
    if (Py_TYPE(b) != jpy.device_type || (op != Py_EQ && op != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    device_object *x = (device_object *)a, *y = (device_object *)b;
    int same = PyUnicode_Compare(x->type, y->type) == 0 && x->index == y->index;
    return PyBool_FromLong(op == Py_EQ ? same : !same);
}
static PyObject *device_get_type(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef(((device_object *)self)->type);
}
static PyObject *device_get_index(PyObject *self, void *unused) {
    (void)unused;
    long i = ((device_object *)self)->index;
    return i < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(i);
}
static PyObject *device_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return Py_BuildValue("O(N)", (PyObject *)jpy.device_type, device_str(self));
}
static PyGetSetDef device_getset[] = {
    {"type", device_get_type, NULL, "\"cpu\", \"cuda\", ...", NULL},
    {"index", device_get_index, NULL, "number, or None", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot device_slots[] = {
    {Py_tp_new, device_new},
    {Py_tp_dealloc, device_dealloc},
    {Py_tp_repr, device_repr},
    {Py_tp_str, device_str},
    {Py_tp_hash, device_hash},
    {Py_tp_richcompare, device_compare},
    {Py_tp_getset, device_getset},
    {Py_tp_methods, device_methods},
    {Py_tp_doc, "device(type, index=None): where a tensor's memory is."},
    {0, NULL},
};
static PyType_Spec device_spec = {"janus.device", sizeof(device_object), 0, Py_TPFLAGS_DEFAULT,
                                  device_slots};

/* ---- Size
 * ----------------------------------------------------------------------------------------
 */

PyObject *jpy_size_new(int rank, const int64_t *dims) {
    PyObject *size = jpy.size_type->tp_alloc(jpy.size_type, rank);
    if (!size)
        return NULL;
    for (int i = 0; i < rank; i++) {
        PyObject *d = PyLong_FromLongLong(dims[i]);
        if (!d) {
            Py_DECREF(size);
            return NULL;
        }
        PyTuple_SET_ITEM(size, i, d);
    }
    return size;
}

static PyObject *size_repr(PyObject *self) {
    PyObject *list = PySequence_List(self);
    PyObject *text = list ? PyUnicode_FromFormat("janus.Size(%R)", list) : NULL;
    Py_XDECREF(list);
    return text;
}
static PyObject *size_numel(PyObject *self, PyObject *unused) {
    (void)unused;
    long long n = 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); i++)
        n *= PyLong_AsLongLong(PyTuple_GET_ITEM(self, i));
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(n);
}
static PyMethodDef size_methods[] = {
    {"numel", size_numel, METH_NOARGS, "Product of the sizes."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot size_slots[] = {
    {Py_tp_repr, size_repr},
    {Py_tp_methods, size_methods},
    {Py_tp_doc, "Shape of a tensor: a tuple of ints."},
    {0, NULL},
};
static PyType_Spec size_spec = {"janus.Size", 0, 0, Py_TPFLAGS_DEFAULT, size_slots};

int jpy_init_types(PyObject *module) {
    PyObject *wrapper = PyObject_GetAttrString(Py_None, "__repr__");
    if (!wrapper)
        return -1;
    jpy.wrapper_type = Py_TYPE(wrapper); /* a static type */
    Py_DECREF(wrapper);
    jpy.empty_tuple = PyTuple_New(0);
    jpy.dtype_type = jpy_type_new(module, &dtype_spec, NULL);
    jpy.device_type = jpy_type_new(module, &device_spec, NULL);
    jpy.size_type = jpy_type_new(module, &size_spec, (PyObject *)&PyTuple_Type);
    if (!jpy.empty_tuple || !jpy.dtype_type || !jpy.device_type || !jpy.size_type)
        return -1;
    for (int d = 0; d < JANUS_DTYPE_COUNT; d++) {
        dtype_object *o = PyObject_New(dtype_object, jpy.dtype_type);
        if (!o)
            return -1;
        o->d = (janus_dtype)d;
        jpy.dtypes[d] = (PyObject *)o;
        if (PyModule_AddObjectRef(module, dtype_names[d], (PyObject *)o) < 0)
            return -1;
    }
    static const struct {
        const char *name;
        janus_dtype d;
    } also[] = {{"float", JANUS_F32},
                {"double", JANUS_F64},
                {"half", JANUS_F16},
                {"int", JANUS_I32},
                {"long", JANUS_I64}};
    for (size_t i = 0; i < sizeof also / sizeof *also; i++)
        if (PyModule_AddObjectRef(module, also[i].name, jpy.dtypes[also[i].d]) < 0)
            return -1;
    jpy.cpu = device_make("cpu", 3, -1);
    return jpy.cpu ? 0 : -1;
}
