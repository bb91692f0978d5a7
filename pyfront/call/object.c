/* SPDX-License-Identifier: Apache-2.0 */
/*
 * janus.Function as an object: what it shows of the callable it stands for.
 *
 * Names, code, defaults, annotations and attributes are the callable's own, read there and written
 * there, so that there is one of each whichever of the two is asked; a Function of a Python
 * function shares even its `__dict__`.  `__class__` is the callable's where that is a function or a
 * method: isinstance(), and with it `inspect`, `typing` and `functools.singledispatch`, take a
 * Function for what it stands for.  What CPython does not let another type be: `type(f)` is
 * janus.Function, and what asks for exactly a function in C (`types.FunctionType.__get__`, the
 * pickler's table) sees that.
 */
#include "pyfront/call/object.h"

#include <string.h>

/* Attributes of the type and of its objects cannot both be descriptors: these two are looked for
 * before the type is. */
static PyObject *module_name, *doc_name;

static PyObject *name_of(const void *closure) { return PyUnicode_InternFromString(closure); }

/* Of the callable that is run. */
static PyObject *get_own(PyObject *self, void *closure) {
    PyObject *name = name_of(closure);
    PyObject *v = name ? PyObject_GetAttr(((jpy_function *)self)->callable, name) : NULL;
    Py_XDECREF(name);
    return v;
}

static int set_own(PyObject *self, PyObject *v, void *closure) {
    PyObject *name = name_of(closure);
    int rc = name ? PyObject_SetAttr(((jpy_function *)self)->callable, name, v) : -1;
    Py_XDECREF(name);
    return rc;
}

/* Of the one whose names it has. */
static PyObject *get_name(PyObject *self, void *closure) {
    PyObject *name = name_of(closure);
    PyObject *v = name ? PyObject_GetAttr(((jpy_function *)self)->like, name) : NULL;
    Py_XDECREF(name);
    return v;
}

static int set_name(PyObject *self, PyObject *v, void *closure) {
    PyObject *name = name_of(closure);
    int rc = name ? PyObject_SetAttr(((jpy_function *)self)->like, name, v) : -1;
    Py_XDECREF(name);
    return rc;
}

/* What functools.wraps left, else the callable. */
static PyObject *get_wrapped(PyObject *self, void *unused) {
    (void)unused;
    const jpy_function *f = (const jpy_function *)self;
    PyObject *v = f->dict ? PyDict_GetItemString(f->dict, "__wrapped__") : NULL;
    return Py_NewRef(v ? v : f->callable);
}

static int set_wrapped(PyObject *self, PyObject *v, void *unused) {
    (void)unused;
    jpy_function *f = (jpy_function *)self;
    if (!v)
        return PyDict_DelItemString(f->dict, "__wrapped__");
    return PyDict_SetItemString(f->dict, "__wrapped__", v);
}

static PyObject *get_class(PyObject *self, void *unused) {
    (void)unused;
    const jpy_function *f = (const jpy_function *)self;
    bool known = PyFunction_Check(f->callable) || PyMethod_Check(f->callable);
    return Py_NewRef((PyObject *)Py_TYPE(known ? f->callable : self));
}

static int set_class(PyObject *self, PyObject *v, void *unused) {
    (void)unused;
    return set_own(self, v, "__class__");
}

static PyObject *get_dict(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef(((jpy_function *)self)->dict);
}

static int set_dict(PyObject *self, PyObject *v, void *unused) {
    (void)unused;
    jpy_function *f = (jpy_function *)self;
    PyObject *of = PyFunction_Check(f->callable) ? f->callable : NULL;
    if (of && PyObject_SetAttrString(of, "__dict__", v) < 0)
        return -1;
    if (!v || !PyDict_Check(v)) {
        PyErr_SetString(PyExc_TypeError, "__dict__ must be set to a dictionary");
        return -1;
    }
    Py_INCREF(v);
    Py_SETREF(f->dict, v);
    return 0;
}

#define OWN(name)                                                                                  \
    { name, get_own, set_own, NULL, name }
#define NAME(name)                                                                                 \
    { name, get_name, set_name, NULL, name }
PyGetSetDef jpy_function_getset[] = {OWN("__code__"),
                                     OWN("__defaults__"),
                                     OWN("__kwdefaults__"),
                                     OWN("__closure__"),
                                     OWN("__globals__"),
                                     OWN("__builtins__"),
                                     OWN("__self__"),
                                     OWN("__func__"),
                                     NAME("__name__"),
                                     NAME("__qualname__"),
                                     NAME("__annotations__"),
                                     NAME("__annotate__"),
                                     NAME("__type_params__"),
                                     {"__wrapped__", get_wrapped, set_wrapped, NULL, NULL},
                                     {"__class__", get_class, set_class, NULL, NULL},
                                     {"__dict__", get_dict, set_dict, NULL, NULL},
                                     {NULL, NULL, NULL, NULL, NULL}};

PyObject *jpy_function_getattr(PyObject *self, PyObject *name) {
    if (name == module_name || name == doc_name)
        return PyObject_GetAttr(((jpy_function *)self)->like, name);
    return PyObject_GenericGetAttr(self, name);
}

int jpy_function_setattr(PyObject *self, PyObject *name, PyObject *v) {
    if (name == module_name || name == doc_name)
        return PyObject_SetAttr(((jpy_function *)self)->like, name, v);
    return PyObject_GenericSetAttr(self, name, v);
}

int jpy_function_dress(jpy_function *f, PyObject *like) {
    Py_INCREF(like);
    Py_XSETREF(f->like, like);
    PyObject *d = PyObject_GetAttrString(like, "__dict__");
    PyErr_Clear();
    if (d && PyDict_Check(d) && !(PyFunction_Check(like) && like == f->callable))
        Py_SETREF(d, PyDict_Copy(d));
    else if (!d || !PyDict_Check(d))
        Py_XSETREF(d, PyDict_New());
    Py_XSETREF(f->dict, d);
    return d ? 0 : -1;
}

/* ---- copying and pickling
 * ---------------------------------------------------------------------------------- */

/* Whether copies of the callable are itself. */
static bool is_atomic(const jpy_function *f) {
    return PyFunction_Check(f->callable) || PyCFunction_Check(f->callable) ||
           PyType_Check(f->callable);
}

static PyObject *remade(const jpy_function *f, PyObject *callable /* stolen */) {
    PyObject *o = callable ? jpy_function_new(callable, f->exact, f->checkpoint, f->measure) : NULL;
    Py_XDECREF(callable);
    if (o) {
        ((jpy_function *)o)->verify = f->verify;
        ((jpy_function *)o)->ladder = f->ladder;
    }
    return o;
}

PyObject *jpy_function_copy(PyObject *self, PyObject *unused) {
    (void)unused;
    jpy_function *f = (jpy_function *)self;
    return is_atomic(f) ? Py_NewRef(self) : remade(f, Py_NewRef(f->callable));
}

PyObject *jpy_function_deepcopy(PyObject *self, PyObject *memo) {
    jpy_function *f = (jpy_function *)self;
    if (is_atomic(f))
        return Py_NewRef(self);
    PyObject *copy = PyImport_ImportModule("copy");
    PyObject *c = copy ? PyObject_CallMethod(copy, "deepcopy", "OO", f->callable, memo) : NULL;
    Py_XDECREF(copy);
    return remade(f, c);
}

PyObject *jpy_function_set_name(PyObject *self, PyObject *args) {
    PyObject *owner, *name, *made = NULL, *had;
    if (!PyArg_ParseTuple(args, "O!U:__set_name__", &PyType_Type, &owner, &name))
        return NULL;
    const char *is = PyUnicode_AsUTF8(name);
    if (!is)
        return NULL;
    bool type = strcmp(is, "__init_subclass__") == 0 || strcmp(is, "__class_getitem__") == 0;
    if ((!type && strcmp(is, "__new__") != 0) ||
        !PyFunction_Check(((jpy_function *)self)->callable))
        Py_RETURN_NONE;
    PyObject *d = PyObject_GetAttrString(owner, "__dict__");
    had = d ? PyObject_GetItem(d, name) : NULL;
    Py_XDECREF(d);
    if (had == self)
        made = type ? PyClassMethod_New(self) : PyStaticMethod_New(self);
    bool bad =
        !had || (had == self && !made) || (made && PyType_Type.tp_setattro(owner, name, made) < 0);
    Py_XDECREF(had);
    Py_XDECREF(made);
    if (bad)
        return NULL;
    Py_RETURN_NONE;
}

/* The object that its names lead to; NULL without an exception: none. */
static PyObject *by_name(PyObject *self) {
    PyObject *module = PyObject_GetAttr(self, module_name), *o = NULL, *parts = NULL;
    PyObject *name = PyObject_GetAttrString(self, "__qualname__");
    if (module && name && PyUnicode_Check(module) && PyUnicode_Check(name)) {
        PyObject *dot = PyUnicode_FromString(".");
        o = PyImport_Import(module) ? PyImport_GetModule(module) : NULL;
        parts = dot ? PyUnicode_Split(name, dot, -1) : NULL;
        Py_XDECREF(dot);
    }
    for (Py_ssize_t i = 0; o && parts && i < PyList_GET_SIZE(parts); i++)
        Py_SETREF(o, PyObject_GetAttr(o, PyList_GET_ITEM(parts, i)));
    PyErr_Clear();
    Py_XDECREF(parts);
    Py_XDECREF(module);
    Py_XDECREF(name);
    return o;
}

/* By its name, as functions are; where the name is the callable's, with how it was decorated. */
PyObject *jpy_function_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    jpy_function *f = (jpy_function *)self;
    PyObject *named = is_atomic(f) ? by_name(self) : NULL;
    bool apart = !is_atomic(f) || named == f->callable;
    Py_XDECREF(named);
    if (!apart) /* or there is no such name: the pickler says so */
        return PyObject_GetAttrString(self, "__qualname__");
    PyObject *make = PyObject_GetAttrString(jpy.module, "_function_again");
    return make ? Py_BuildValue("N(OOOOii)", make, f->callable, f->exact ? Py_True : Py_False,
                                f->checkpoint ? Py_True : Py_False, f->measure ? Py_True : Py_False,
                                (int)f->verify, (int)f->ladder)
                : NULL;
}

/* _function_again(callable, exact, checkpoint, measure, verify, ladder) */
static PyObject *again(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *callable;
    int exact, checkpoint, measure, verify, ladder;
    if (!PyArg_ParseTuple(args, "Opppii:_function_again", &callable, &exact, &checkpoint, &measure,
                          &verify, &ladder))
        return NULL;
    PyObject *f = jpy_function_new(callable, exact, checkpoint, measure);
    if (f) {
        ((jpy_function *)f)->verify = (jpy_verify)verify;
        ((jpy_function *)f)->ladder = (jpy_ladder)ladder;
    }
    return f;
}

/* _function_for(function, callable): as the first one is decorated, another callable. */
static PyObject *for_other(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *f, *callable;
    if (!PyArg_ParseTuple(args, "O!O:_function_for", jpy.function_type, &f, &callable))
        return NULL;
    return remade((jpy_function *)f, Py_NewRef(callable));
}

static PyMethodDef functions[] = {
    {"_function_again", again, METH_VARARGS, "What a pickled Function is made by."},
    {"_function_for", for_other, METH_VARARGS,
     "_function_for(function, callable): another callable, decorated as `function` is."},
    {NULL, NULL, 0, NULL}};

int jpy_init_function_object(PyObject *module) {
    module_name = PyUnicode_InternFromString("__module__");
    doc_name = PyUnicode_InternFromString("__doc__");
    if (!module_name || !doc_name || PyModule_AddFunctions(module, functions) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "Function", (PyObject *)jpy.function_type);
}
