/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What guards know of types, and attributes of objects read without running code of the user.
 *
 * A type is guarded by what was found on its MRO: the special methods, which operators and builtins
 * go by, and every other name that was looked up, found or not.  The version tag that CPython gives
 * to each state of a type makes this one comparison; it changes with any assignment to the class or
 * one of its bases, and then the look-ups are made again.
 */
#include "pyfront/guard/guard.h"

#include <structmember.h>

#include "pyfront/base/twister.h"
#include "pyfront/methods/methods.h"

/* What the converter goes by without looking it up by name: through slots, or by CPython's own
 * functions. */
static const char *const special_names[] = {
    "__abs__",       "__add__",          "__and__",       "__bool__",
    "__call__",      "__class__",        "__contains__",  "__delattr__",
    "__delete__",    "__delitem__",      "__dict__",      "__divmod__",
    "__enter__",     "__eq__",           "__exit__",      "__float__",
    "__floordiv__",  "__format__",       "__ge__",        "__get__",
    "__getattr__",   "__getattribute__", "__getitem__",   "__gt__",
    "__hash__",      "__iadd__",         "__iand__",      "__ifloordiv__",
    "__ilshift__",   "__imatmul__",      "__imod__",      "__imul__",
    "__index__",     "__init__",         "__int__",       "__invert__",
    "__ior__",       "__ipow__",         "__irshift__",   "__isub__",
    "__iter__",      "__itruediv__",     "__ixor__",      "__le__",
    "__len__",       "__length_hint__",  "__lshift__",    "__lt__",
    "__matmul__",    "__missing__",      "__mod__",       "__mul__",
    "__ne__",        "__neg__",          "__new__",       "__next__",
    "__or__",        "__pos__",          "__pow__",       "__radd__",
    "__rand__",      "__rdivmod__",      "__repr__",      "__reversed__",
    "__rfloordiv__", "__rlshift__",      "__rmatmul__",   "__rmod__",
    "__rmul__",      "__ror__",          "__round__",     "__rpow__",
    "__rrshift__",   "__rshift__",       "__rsub__",      "__rtruediv__",
    "__rxor__",      "__set__",          "__setattr__",   "__setitem__",
    "__slots__",     "__str__",          "__sub__",       "__truediv__",
    "__xor__",       "__match_args__",   "__post_init__", "__dataclass_fields__"};
enum { N_SPECIAL = sizeof special_names / sizeof *special_names };

/* The names as interned strings; NULL: out of memory. */
static PyObject *const *specials(void) {
    static PyObject *names[N_SPECIAL];
    for (int i = 0; i < N_SPECIAL; i++)
        if (!names[i] && !(names[i] = PyUnicode_InternFromString(special_names[i])))
            return NULL;
    return names;
}

PyObject *jpy_special_names(void) {
    PyObject *const *names = specials(), *t = names ? PyTuple_New(N_SPECIAL) : NULL;
    for (int i = 0; i < N_SPECIAL && t; i++)
        PyTuple_SET_ITEM(t, i, Py_NewRef(names[i]));
    return t;
}

bool jpy_type_fixed(const PyTypeObject *t) {
#ifdef Py_TPFLAGS_IMMUTABLETYPE
    return t->tp_flags & Py_TPFLAGS_IMMUTABLETYPE;
#else
    return !(t->tp_flags & Py_TPFLAGS_HEAPTYPE);
#endif
}

static PyObject *name_of(PyTypeObject *t) {
    return t->tp_flags & Py_TPFLAGS_HEAPTYPE ? ((PyHeapTypeObject *)t)->ht_name : NULL;
}

static void learn_version(jpy_type_want *w) {
    unsigned v = w->type->tp_version_tag; /* 0: it has none, and may never get one */
    w->version = v && (w->special || jpy_type_fixed(w->type)) ? v : JPY_NO_VERSION;
}

static bool plain_value(PyObject *d) {
    return d && !Py_TYPE(d)->tp_descr_get && !Py_TYPE(d)->tp_descr_set;
}

/* A descriptor made in C keeps what it calls in its memory, and its __init__, called once more,
 * puts others there: the type has the same object under the name then, and the same version. */
static bool add_parts(jpy_guards *g, jpy_type_want *w, PyObject *d) {
    if (!d || plain_value(d) || Py_TYPE(d)->tp_init == PyBaseObject_Type.tp_init)
        return true;
    for (PyTypeObject *t = Py_TYPE(d); t; t = t->tp_base)
        for (const PyMemberDef *m = t->tp_members; m && m->name; m++) {
            if (t->tp_flags & Py_TPFLAGS_HEAPTYPE) /* slots: read like other attributes */
                break;
            PyObject *const *at = (PyObject *const *)(const void *)((const char *)d + m->offset);
            if (m->type != T_OBJECT && m->type != T_OBJECT_EX)
                continue;
            if (!jn_vec_push(&w->parts, ((jpy_type_part){at, jpy_guards_own(g, *at)})))
                return false;
        }
    return true;
}

jpy_type_want *jpy_guards_type(jpy_guards *g, PyTypeObject *t) {
    for (size_t i = 0; i < g->types.n; i++)
        if (g->types.data[i]->type == t)
            return g->types.data[i];
    jpy_type_want *w = jn_arena_zalloc(&g->arena, sizeof *w);
    if (!w || !jn_vec_push(&g->types, w))
        return NULL;
    w->type = t;
    w->mro = jpy_guards_own(g, t->tp_mro);
    w->name = jpy_guards_own(g, name_of(t));
    jpy_guards_own(g, (PyObject *)t);
    PyObject *const *names = specials();
    w->special = names && !jpy_type_fixed(t)
                     ? jn_arena_zalloc(&g->arena, N_SPECIAL * sizeof *w->special)
                     : NULL;
    for (int i = 0; i < N_SPECIAL && w->special; i++)
        w->special[i] = jpy_guards_own(g, _PyType_Lookup(t, names[i]));
    for (int i = 0; i < N_SPECIAL && w->special; i++)
        if (!add_parts(g, w, w->special[i]))
            w->special = NULL; /* never the same again */
    learn_version(w);
    return w;
}

PyObject *jpy_guards_lookup(jpy_guards *g, PyTypeObject *t, PyObject *name, bool any_value) {
    PyObject *found = _PyType_Lookup(t, name);
    bool plain = any_value && plain_value(found);
    jpy_type_want *w = jpy_type_fixed(t) ? NULL : jpy_guards_type(g, t);
    for (size_t i = 0; w && i < w->looks.n; i++)
        if (w->looks.data[i].name == name && w->looks.data[i].plain == plain)
            return found;
    if (w) {
        jpy_type_look look = {jpy_guards_own(g, name), jpy_guards_own(g, plain ? NULL : found),
                              plain, NULL};
        if (plain)
            look.kind = (PyTypeObject *)jpy_guards_own(g, (PyObject *)Py_TYPE(found));
        if (!jn_vec_push(&w->looks, look) || !add_parts(g, w, found))
            w->special = NULL; /* never the same again */
        learn_version(w);
    }
    return found;
}

static bool look_holds(PyTypeObject *t, const jpy_type_look *l) {
    PyObject *d = _PyType_Lookup(t, l->name);
    if (!l->plain)
        return d == l->found;
    return plain_value(d) && (Py_TYPE(d) == l->kind || jpy_type_fixed(Py_TYPE(d)));
}

bool jpy_type_again(jpy_type_want *w) {
    PyTypeObject *t = w->type;
    if (!jpy_type_fixed(t) && !w->special)
        return false;
    if (t->tp_mro != w->mro || name_of(t) != w->name)
        return false;
    for (int i = 0; i < N_SPECIAL && w->special; i++)
        if (_PyType_Lookup(t, specials()[i]) != w->special[i])
            return false;
    for (size_t i = 0; i < w->looks.n; i++)
        if (!look_holds(t, &w->looks.data[i]))
            return false;
    learn_version(w);
    return true;
}

void jpy_type_wants_free(jpy_guards *g) {
    for (size_t i = 0; i < g->types.n; i++) {
        jn_vec_free(&g->types.data[i]->looks);
        jn_vec_free(&g->types.data[i]->parts);
    }
    jn_vec_free(&g->types);
}

/* ---- attributes ---------------------------------------------------------------------------------
 */

/* A class method of a function: it binds the class, and nothing else. */
static bool plain_class_method(PyObject *d) {
    if (Py_TYPE(d) != &PyClassMethod_Type)
        return false;
    PyObject *f = PyObject_GetAttrString(d, "__func__");
    bool yes = f && PyFunction_Check(f);
    Py_XDECREF(f);
    PyErr_Clear();
    return yes;
}

bool jpy_is_member(PyTypeObject *type, PyObject *d) {
    return d && Py_IS_TYPE(d, &PyMemberDescr_Type) && PyType_IsSubtype(type, PyDescr_TYPE(d));
}

bool jpy_attr_way(PyTypeObject *type, PyObject *d, jpy_attr_how *how, Py_ssize_t *offset) {
    *how = JPY_ATTR_PLAIN;
    *offset = 0;
    if (!d)
        return true;
    PyTypeObject *t = Py_TYPE(d);
    if (t == &PyFunction_Type || t == &PyMethodDescr_Type || t == &PyClassMethodDescr_Type ||
        t == &PyWrapperDescr_Type || t == jpy.function_type || plain_class_method(d))
        return true;
    if (t == &PyMemberDescr_Type) {
        if (!jpy_is_member(type, d))
            return false;
        const PyMemberDef *m = ((PyMemberDescrObject *)d)->d_member;
        if (m->type == T_OBJECT_EX && !(m->flags & ~READONLY)) {
            *how = JPY_ATTR_MEMBER;
            *offset = m->offset;
        }
        return m->type == T_OBJECT || m->type == T_OBJECT_EX; /* others are made by the read */
    }
    if (t->tp_descr_set) /* what a cell holds is read by C code */
        return t == &PyGetSetDescr_Type && PyDescr_TYPE(d) == &PyCell_Type;
    *how = !t->tp_descr_get || t == &PyStaticMethod_Type ? JPY_ATTR_SHADOW : JPY_ATTR_DICT;
    return true;
}

static PyObject *borrowed(PyObject *v) { /* a reference that its holder keeps alive */
    if (v && Py_REFCNT(v) == 1) {        /* made by the read */
        Py_DECREF(v);
        return NULL;
    }
    Py_XDECREF(v);
    return v;
}

static PyObject *generic(PyObject *o, PyObject *name) {
    PyObject *v = _PyObject_GenericGetAttrWithDict(o, name, NULL, 1);
    if (!v && PyErr_Occurred())
        PyErr_Clear();
    return v;
}

/* What the type has, as it is read through an object. */
static PyObject *of_type(PyObject *o, PyObject *name) {
    PyObject *d = _PyType_Lookup(Py_TYPE(o), name);
    if (!d || Py_TYPE(d) != &PyStaticMethod_Type)
        return d;
    return borrowed(Py_TYPE(d)->tp_descr_get(d, o, (PyObject *)Py_TYPE(o)));
}

bool jpy_src_asks(const jpy_src *s, PyObject *parent, PyObject *by) {
    PyObject *d = s->kind == JPY_SRC_GLOBAL ? s->obj : s->kind == JPY_SRC_KEY ? parent : NULL;
    if (s->kind == JPY_SRC_ATTR && s->how == JPY_ATTR_MODULE && parent && jpy_module_check(parent))
        d = ((jpy_module *)parent)->dict;
    PyObject *key = d && PyDict_Check(d) ? s->by ? by : jpy_src_key(s) : NULL;
    return key && jpy_key_asks(d, key);
}

PyObject *jpy_own_attr(PyObject *o, PyObject *name, jpy_attr_how how, Py_ssize_t offset) {
    PyObject **dict, *v;
    switch (how) {
    case JPY_ATTR_PLAIN:
        return jpy_generic_attr(o, name);
    case JPY_ATTR_SHADOW:
        v = jpy_generic_attr(o, name);
        return v && v == of_type(o, name) ? NULL : v;
    case JPY_ATTR_MEMBER:
        return *(PyObject **)(void *)((char *)o + offset);
    case JPY_ATTR_DICT:
        dict = _PyObject_GetDictPtr(o);
        return dict && *dict ? PyDict_GetItem(*dict, name) : NULL;
    case JPY_ATTR_MODULE:
        break;
    }
    return NULL;
}

PyObject *jpy_plain_attr(PyObject *o, PyObject *name) {
    if (jpy_is_drawn(name)) /* by a run that begins: none */
        return jpy_twister_of(o) ? PyLong_FromLong(0) : NULL;
    /* how the last of some attributes were read: most reads are of few of them */
    enum { N_KNOWN = 64, MADE = -1 };
    static struct known {
        PyTypeObject *type;
        PyObject *name;
        unsigned version;
        int how;
    } all[N_KNOWN];
    PyTypeObject *t = Py_TYPE(o);
    struct known *k = &all[(((uintptr_t)t >> 5) ^ ((uintptr_t)name >> 4)) % N_KNOWN];
    if (k->type != t || k->name != name || k->version != t->tp_version_tag || !k->version) {
        jpy_attr_how how;
        Py_ssize_t offset;
        bool some = jpy_attr_way(t, _PyType_Lookup(t, name), &how, &offset);
        *k = (struct known){t, name, t->tp_version_tag, some ? (int)how : MADE};
    }
    if (k->how == MADE)
        return NULL;
    return k->how == JPY_ATTR_DICT ? Py_XNewRef(jpy_own_attr(o, name, JPY_ATTR_DICT, 0))
                                   : generic(o, name);
}
