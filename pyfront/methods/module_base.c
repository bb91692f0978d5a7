/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C base of nn.Module: plain attributes are stored without running Python code, and whatever
 * changes the structure is counted.
 *
 * Python's Module decides what registering means (_set_registered); this file finds out whether a
 * store concerns it at all: the value is a Tensor or a module, or the name is registered already.
 */
#include "config.h"

#include "pyfront/methods/module_base.h"

#include <structmember.h>

#include "pyfront/base/names.h"
#include "pyfront/tensor/tensor.h"

uint64_t jpy_module_epoch;

static PyObject *str_training, *str_parameters, *str_buffers, *str_modules, *str_set, *str_del;

static void bump(PyObject *self) {
    ((jpy_module *)self)->version++;
    jpy_module_epoch++;
}

/* Whether `name` is in one of the registries; -1: raised. */
static int registered(jpy_module *m, PyObject *name) {
    PyObject *const keys[] = {str_parameters, str_modules, str_buffers};
    for (int i = 0; m->dict && i < 3; i++) {
        PyObject *d = PyDict_GetItemWithError(m->dict, keys[i]);
        if (!d && PyErr_Occurred())
            return -1;
        if (d && PyDict_Check(d)) {
            int has = PyDict_GET_SIZE(d) ? PyDict_Contains(d, name) : 0;
            if (has)
                return has;
        }
    }
    return 0;
}

static int is_structure(PyObject *v) { return v && (jpy_tensor_check(v) || jpy_module_check(v)); }

/* __setattr__ and __delattr__ are methods, not the slot of the type: `object.__setattr__(module,
 * name, value)`, by which programs keep a module from being registered, is refused for every class
 * that has a slot of its own. */
static int set_or_delete(PyObject *self, PyObject *name, PyObject *value) {
    jpy_module *m = (jpy_module *)self;
    int special = is_structure(value);
    if (!special && (special = registered(m, name)) < 0)
        return -1;
    if (special) {
        bump(self);
        PyObject *r = value ? PyObject_CallMethodObjArgs(self, str_set, name, value, NULL)
                            : PyObject_CallMethodObjArgs(self, str_del, name, NULL);
        Py_XDECREF(r);
        return r ? 0 : -1;
    }
    if (name == str_training || PyUnicode_Compare(name, str_training) == 0)
        bump(self);
    return PyObject_GenericSetAttr(self, name, value);
}

static PyObject *setattr_method(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    if (n != 2 || !PyUnicode_Check(args[0]))
        return n != 2 ? PyErr_Format(PyExc_TypeError, "expected 2 arguments, got %zd", n)
                      : PyErr_Format(PyExc_TypeError, "attribute name must be string, not '%.200s'",
                                     Py_TYPE(args[0])->tp_name);
    return set_or_delete(self, args[0], args[1]) < 0 ? NULL : Py_NewRef(Py_None);
}
static PyObject *delattr_method(PyObject *self, PyObject *name) {
    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError, "attribute name must be string, not '%.200s'",
                            Py_TYPE(name)->tp_name);
    return set_or_delete(self, name, NULL) < 0 ? NULL : Py_NewRef(Py_None);
}
bool jpy_module_sets_its_own(PyTypeObject *t) {
    PyObject *const names[] = {jpy_names.setattr, jpy_names.delattr};
    for (int i = 0; i < 2; i++)
        if (_PyType_Lookup(t, names[i]) != _PyType_Lookup(jpy.module_base_type, names[i]))
            return false;
    return true;
}

static PyObject *set_plain(PyObject *self, PyObject *args) {
    PyObject *name, *value;
    if (!PyArg_ParseTuple(args, "UO:_set_plain", &name, &value))
        return NULL;
    bump(self);
    return PyObject_GenericSetAttr(self, name, value) < 0 ? NULL : Py_NewRef(Py_None);
}
static PyObject *del_plain(PyObject *self, PyObject *name) {
    bump(self);
    return PyObject_GenericSetAttr(self, name, NULL) < 0 ? NULL : Py_NewRef(Py_None);
}
static PyObject *own(PyObject *self, PyObject *name) {
    PyObject *dict = ((jpy_module *)self)->dict;
    PyObject *v = dict ? PyDict_GetItemWithError(dict, name) : NULL;
    if (!v && PyErr_Occurred())
        return NULL;
    return Py_NewRef(v ? v : Py_None);
}
static PyObject *changed(PyObject *self, PyObject *unused) {
    (void)unused;
    bump(self);
    Py_RETURN_NONE;
}
static PyObject *get_version(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(((jpy_module *)self)->version);
}

/* ---- calls --------------------------------------------------------------------------------------
 *
 * Module.__call__ is written in Python, and read by the converter.  A class that has it, and not
 * one of its own, is called from here, which does the same without its frame, its tuple and its
 * dict.  Whoever stores another `__call__` in a class changes the type's tp_call: that is looked at
 * in each call.
 */

static PyObject *str_call, *str_hooked, *str_forward;
static PyObject *call_of_module; /* Module.__call__ */

static PyObject *module_call(PyObject *self, PyObject *args, PyObject *kwargs);

/* 1: a hook was registered once, 0: none; -1: raised. */
static int is_hooked(PyObject *self) {
    PyObject *hooked = PyObject_GetAttr(self, str_hooked);
    int yes = !hooked ? -1 : hooked == Py_False ? 0 : PyObject_IsTrue(hooked);
    Py_XDECREF(hooked);
    return yes;
}

/* f(self, *args, **keywords); `args` as they come. */
static PyObject *call_with_self(PyObject *f, PyObject *self, PyObject *const *args, size_t nargsf,
                                PyObject *kwnames) {
    enum { FEW = 8 };
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    Py_ssize_t all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *few[FEW], **with = few;
    if (all >= FEW && !(with = PyMem_Malloc(((size_t)all + 1) * sizeof *with)))
        return PyErr_NoMemory();
    with[0] = self;
    for (Py_ssize_t i = 0; i < all; i++)
        with[i + 1] = args[i];
    PyObject *r = f ? PyObject_Vectorcall(f, with, (size_t)n + 1, kwnames)
                    : PyObject_VectorcallMethod(str_forward, with, (size_t)n + 1, kwnames);
    if (with != few)
        PyMem_Free(with);
    return r;
}

/* Some other __call__, by way of the type. */
static PyObject *call_type(PyObject *self, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames) {
    PyObject *call = (PyObject *)_PyType_Lookup(Py_TYPE(self), str_call);
    PyObject *bound = NULL, *r = NULL;
    if (!call)
        return PyErr_Format(PyExc_TypeError, "'%.200s' object is not callable",
                            Py_TYPE(self)->tp_name);
    if (PyFunction_Check(call))
        return call_with_self(call, self, args, nargsf, kwnames);
    Py_INCREF(call);
    descrgetfunc get = Py_TYPE(call)->tp_descr_get;
    bound = get ? get(call, self, (PyObject *)Py_TYPE(self)) : Py_NewRef(call);
    if (bound)
        r = PyObject_Vectorcall(bound, args, nargsf & ~PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
    Py_XDECREF(bound);
    Py_DECREF(call);
    return r;
}

static PyObject *module_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                   PyObject *kwnames) {
    if (JN_UNLIKELY(Py_TYPE(self)->tp_call != module_call))
        return call_type(self, args, nargsf, kwnames);
    int hooked = is_hooked(self);
    if (hooked)
        return hooked < 0 ? NULL : call_with_self(call_of_module, self, args, nargsf, kwnames);
    if (JN_UNLIKELY(!(nargsf & PY_VECTORCALL_ARGUMENTS_OFFSET)))
        return call_with_self(NULL, self, args, nargsf, kwnames);
    PyObject **with = (PyObject **)(uintptr_t)args - 1, *before = with[0];
    with[0] = self;
    PyObject *r = PyObject_VectorcallMethod(str_forward, with,
                                            (size_t)PyVectorcall_NARGS(nargsf) + 1, kwnames);
    with[0] = before;
    return r;
}

static PyObject *module_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    ((jpy_module *)self)->vectorcall = module_vectorcall; /* from now on */
    if (!kwargs || !PyDict_GET_SIZE(kwargs))
        return module_vectorcall(self, &PyTuple_GET_ITEM(args, 0), (size_t)PyTuple_GET_SIZE(args),
                                 NULL);
    int hooked = is_hooked(self);
    if (hooked < 0)
        return NULL;
    PyObject *f = hooked ? PyMethod_New(call_of_module, self) : PyObject_GetAttr(self, str_forward);
    PyObject *r = f ? PyObject_Call(f, args, kwargs) : NULL;
    Py_XDECREF(f);
    return r;
}

/* _called_in_c(class): of the first one, which is Module, the function that all others have. */
static PyObject *called_in_c(PyObject *module, PyObject *arg) {
    (void)module;
    if (!PyType_Check(arg) || !PyType_IsSubtype((PyTypeObject *)arg, jpy.module_base_type)) {
        PyErr_SetString(PyExc_TypeError, "_called_in_c(): a class of modules");
        return NULL;
    }
    PyTypeObject *type = (PyTypeObject *)arg;
    PyObject *call = _PyType_Lookup(type, str_call);
    if (call && !call_of_module)
        call_of_module = Py_NewRef(call);
    if (call && call == call_of_module) {
        type->tp_call = module_call;
        type->tp_vectorcall_offset = offsetof(jpy_module, vectorcall);
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        PyType_Modified(type);
    }
    Py_RETURN_NONE;
}

static int module_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((jpy_module *)self)->dict);
    return 0;
}
static int module_clear(PyObject *self) {
    Py_CLEAR(((jpy_module *)self)->dict);
    return 0;
}
static void module_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, module_dealloc);
    if (((jpy_module *)self)->weakrefs)
        PyObject_ClearWeakRefs(self);
    jpy_module_epoch++;
    (void)module_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
    Py_TRASHCAN_END;
}

static PyMethodDef module_methods[] = {
    {"__setattr__", (PyCFunction)(void (*)(void))setattr_method, METH_FASTCALL, NULL},
    {"__delattr__", delattr_method, METH_O, NULL},
    {"_set_plain", set_plain, METH_VARARGS, "Stores an attribute and counts it as structure."},
    {"_del_plain", del_plain, METH_O, "Deletes an attribute and counts it as structure."},
    {"_own", own, METH_O, "What the instance dict has under a name, or None."},
    {"_changed", changed, METH_NOARGS, "Counts a change of structure made behind its back."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef module_getset[] = {
    {"_structure_version", get_version, NULL, "Number of changes of structure.", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMemberDef module_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(jpy_module, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(jpy_module, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot module_slots[] = {
    {Py_tp_traverse, module_traverse},
    {Py_tp_clear, module_clear},
    {Py_tp_dealloc, module_dealloc},
    {Py_tp_methods, module_methods},
    {Py_tp_getset, module_getset},
    {Py_tp_members, module_members},
    {Py_tp_doc, "C base of janus.nn.Module."},
    {0, NULL},
};
static PyType_Spec module_spec = {"janus._C.ModuleBase", sizeof(jpy_module), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                  module_slots};

/* ---- what a decorated module offers of its `forward`
 * -------------------------------------------------------------- */

typedef struct of_forward {
    PyObject_HEAD PyObject *name;
} of_forward;

/* Nothing where `forward` is not decorated: a module has no such attribute, then. */
static PyObject *of_forward_get(PyObject *self, PyObject *o, PyObject *type) {
    PyObject *name = ((of_forward *)self)->name;
    if (!o)
        return Py_NewRef(self);
    PyObject *dict = ((jpy_module *)o)->dict;
    PyObject *f = dict ? PyDict_GetItemString(dict, "forward") : NULL;
    if (f && Py_TYPE(f) == jpy.function_type)
        return PyObject_GetAttr(f, name);
    return PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'",
                        ((PyTypeObject *)type)->tp_name, name);
}
static void of_forward_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((of_forward *)self)->name);
    PyObject_Free(self);
    Py_DECREF(type);
}
static PyType_Slot of_forward_slots[] = {
    {Py_tp_descr_get, of_forward_get}, {Py_tp_dealloc, of_forward_dealloc}, {0, NULL}};
static PyType_Spec of_forward_spec = {"janus._C.OfForward", sizeof(of_forward), 0,
                                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                      of_forward_slots};

static int add_of_forward(PyObject *module) {
    static const char *const names[] = {"stats", "graphs"};
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &of_forward_spec, NULL);
    for (size_t i = 0; type && i < sizeof names / sizeof *names; i++) {
        of_forward *d = PyObject_New(of_forward, type);
        if (!d)
            return -1;
        d->name = PyUnicode_InternFromString(names[i]);
        int bad =
            d->name ? PyDict_SetItem(jpy.module_base_type->tp_dict, d->name, (PyObject *)d) : -1;
        Py_DECREF(d);
        if (bad)
            return -1;
    }
    PyType_Modified(jpy.module_base_type);
    return type ? 0 : -1;
}

static PyObject *structure_epoch(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLongLong(jpy_module_epoch);
}
static PyMethodDef functions[] = {
    {"_structure_epoch", structure_epoch, METH_NOARGS, "Changes of structure of all modules."},
    {"_called_in_c", called_in_c, METH_O,
     "Objects of a class of modules are called without the frame of Module.__call__, if that is "
     "its own."},
    {NULL, NULL, 0, NULL},
};

int jpy_init_module_base(PyObject *module) {
    str_training = PyUnicode_InternFromString("training");
    str_parameters = PyUnicode_InternFromString("_parameters");
    str_buffers = PyUnicode_InternFromString("_buffers");
    str_modules = PyUnicode_InternFromString("_modules");
    str_set = PyUnicode_InternFromString("_set_registered");
    str_del = PyUnicode_InternFromString("_del_registered");
    str_call = PyUnicode_InternFromString("__call__");
    str_hooked = PyUnicode_InternFromString("_hooked");
    str_forward = PyUnicode_InternFromString("forward");
    if (!str_call || !str_hooked || !str_forward)
        return -1;
    if (!str_training || !str_parameters || !str_buffers || !str_modules || !str_set || !str_del)
        return -1;
    jpy.module_base_type = jpy_type_new(module, &module_spec, NULL);
    if (!jpy.module_base_type || add_of_forward(module) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
