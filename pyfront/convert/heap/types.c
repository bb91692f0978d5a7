/* SPDX-License-Identifier: Apache-2.0 */
/* What a type has under a name, with a guard that it goes on to have it. */
#include "pyfront/convert/heap/heap.h"

#include "pyfront/base/names.h"

void jcv_guard_type(jcv *c, PyTypeObject *t) {
    if (t->tp_flags & Py_TPFLAGS_IMMUTABLETYPE)
        return;
    jpy_type_want *w = jpy_guards_type(c->guards, t);
    jpy_src *s = w && w->guarded /* by an object of the type */
                     ? NULL
                     : jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, (PyObject *)t, 3);
    if (!w || (!s && !w->guarded))
        jcv_refuse(c, "out of memory");
    w->guarded = true;
    if (s) {
        s->type = w;
        s->checks |= JPY_CHECK_VERSION;
    }
}

/* Whether what was found is a descriptor is said by its own class, later, too: the type
 * that has it under a name stays as it is then. */
static PyObject *look_up(jcv *c, PyTypeObject *t, PyObject *name, bool any_value) {
    jcv_guard_type(c, t);
    PyObject *found = jpy_guards_lookup(c->guards, t, name, any_value);
    if (found)
        jcv_guard_type(c, Py_TYPE(found));
    return found;
}

PyObject *jcv_lookup(jcv *c, PyTypeObject *t, PyObject *name) { return look_up(c, t, name, false); }

PyObject *jcv_lookup_kind(jcv *c, PyTypeObject *t, PyObject *name) {
    return look_up(c, t, name, true);
}

PyObject *jcv_lookup_str(jcv *c, PyTypeObject *t, const char *name) {
    return jcv_lookup(c, t, jcv_own(c, PyUnicode_InternFromString(name)));
}

bool jcv_own_items(jcv *c, jcv_av *a) {
    static const char *const names[] = {"__iter__", "__getitem__", "__len__", "__index__"};
    PyTypeObject *t = jcv_type_of(c, a);
    bool own = false;
    for (size_t i = 0; t && PyType_IsSubtype(t, &PyTuple_Type) && i < 4 && !own; i++) {
        PyObject *method = jcv_lookup_str(c, t, names[i]);
        own = method && Py_TYPE(method) != &PyWrapperDescr_Type &&
              Py_TYPE(method) != &PyMethodDescr_Type;
    }
    return own;
}

PyObject *jcv_abc_meta(void) {
    static PyObject *abc;
    if (!abc) {
        PyObject *m = PyImport_ImportModule("abc");
        abc = m ? PyObject_GetAttrString(m, "ABCMeta") : NULL;
        Py_XDECREF(m);
        PyErr_Clear();
    }
    return abc;
}

static bool has_class(PyObject *refs, PyTypeObject *t) {
    PyObject *it = PyObject_GetIter(refs), *ref;
    bool has = false;
    while (it && (ref = PyIter_Next(it))) {
        has = has || (PyWeakref_Check(ref) && ((PyWeakReference *)ref)->wr_object == (PyObject *)t);
        Py_DECREF(ref);
    }
    PyErr_Clear();
    Py_XDECREF(it);
    return has;
}

/* Whether its hook leaves the question to whoever was registered: it is asked each time, so what it
 * does is part of the graph. */
static bool hook_declines(jcv *c, PyTypeObject *abstract, PyTypeObject *of) {
    PyObject *hook = jcv_lookup(c, abstract, jpy_names.subclasshook);
    if (hook == _PyType_Lookup(&PyBaseObject_Type, jpy_names.subclasshook))
        return true;
    if (!hook || Py_TYPE(hook) != &PyClassMethod_Type)
        return false;
    jcv_av *function = jcv_constant(c, jcv_own(c, PyObject_GetAttrString(hook, "__func__")));
    jcv_av *in[2] = {jcv_py(c, (PyObject *)abstract, NULL), jcv_py(c, (PyObject *)of, NULL)};
    jcv_av *r = jcv_call(c, function, &(jcv_args){.pos = in, .n_pos = 2});
    return r->kind == AV_PY && r->py == Py_NotImplemented;
}

/* Assumes that no class is registered with an abstract one. */
static void registers_nothing(jcv *c) {
    PyObject *token = jpy_abc_token();
    if (!token)
        jcv_refuse_py(c);
    c->guards->abc_token = jpy_guards_own(c->guards, token);
    Py_DECREF(token);
}

bool jcv_has_flag(jcv *c, PyTypeObject *t, const void *flag) {
    if (!(t->tp_flags & Py_TPFLAGS_IMMUTABLETYPE)) {
        registers_nothing(c); /* which sets flags of it, but makes no other version of it */
        c->entry->of_process = true;
    }
    return t->tp_flags & *(const unsigned long *)flag;
}

int jcv_abstract_says(jcv *c, PyTypeObject *abstract, PyTypeObject *of) {
    if ((PyObject *)Py_TYPE(abstract) != jcv_abc_meta())
        return -1;
    PyObject *m = jcv_own(c, PyImport_ImportModule("_abc"));
    PyObject *has = PyObject_CallMethod(m, "_get_dump", "O", abstract);
    PyObject *token = jpy_abc_token();
    int is = -1;
    bool registered = false;
    if (has && token && PyTuple_GET_SIZE(has) == 4) {
        int valid = PyObject_RichCompareBool(PyTuple_GET_ITEM(has, 3), token, Py_EQ);
        registered = has_class(PyTuple_GET_ITEM(has, 0), of);
        if (has_class(PyTuple_GET_ITEM(has, 1), of))
            is = 1;
        else if (valid == 1 && has_class(PyTuple_GET_ITEM(has, 2), of))
            is = 0;
    }
    PyErr_Clear();
    Py_XDECREF(has);
    Py_XDECREF(token);
    if (is == 0)
        registers_nothing(c);
    if (is < 0 && registered && hook_declines(c, abstract, of))
        is = 1; /* such an answer is not kept: the hook may say otherwise */
    c->entry->of_process = c->entry->of_process || is >= 0;
    return is;
}
