/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of dicts and items of sets that would be asked.
 *
 * CPython compares a key with those of the same hash that lie on its way through the table.  So the
 * way is gone here first, by the hashes that the table keeps; a loop over all keys would take as
 * long as a dict is large.  A dict whose keys are all strings says so.  How tables are laid out is
 * CPython's own affair, the same from 3.11 to 3.13; of a version that is not known here no layout
 * is assumed, and one key that can be asked is enough.
 */
#include "pyfront/base/keys.h"

enum { MAX_DEPTH = 8 }; /* of tuples in tuples */

static bool quiet(PyObject *o, int depth);

static bool quiet_items(PyObject *set, int depth) {
    PyObject *item;
    Py_ssize_t pos = 0;
    const PySetObject *s = (const PySetObject *)set;
    for (; pos <= s->mask; pos++)
        if ((item = s->table[pos].key) && s->table[pos].hash != -1 && !quiet(item, depth))
            return false;
    return true;
}

/* Whether comparing it with another object runs nothing of the program's. */
static bool quiet(PyObject *o, int depth) {
    PyTypeObject *const native[] = {&PyUnicode_Type,  &PyLong_Type,      &PyBaseObject_Type,
                                    Py_TYPE(Py_None), /* its own from CPython 3.13 on */
                                    &PyFloat_Type,    &PyBytes_Type,     &PyComplex_Type,
                                    &PyType_Type,     &PyCFunction_Type, &PyMethod_Type,
                                    jpy.tensor_type,  jpy.dtype_type,    jpy.device_type};
    const PyTypeObject *t = Py_TYPE(o);
    for (size_t i = 0; i < sizeof native / sizeof *native; i++)
        if (t->tp_richcompare == native[i]->tp_richcompare)
            return true;
    if (depth == MAX_DEPTH)
        return false;
    if (t->tp_richcompare == PyTuple_Type.tp_richcompare) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++)
            if (!quiet(PyTuple_GET_ITEM(o, i), depth + 1))
                return false;
        return true;
    }
    return t->tp_richcompare == PyFrozenSet_Type.tp_richcompare && quiet_items(o, depth + 1);
}

/* Of two keys with one hash: whether that in the table is asked for the other. */
static bool asked(PyObject *has, PyObject *key) { return has != key && !quiet(has, 0); }

static bool set_asks(PyObject *set, PyObject *key, Py_hash_t hash) {
    enum { IN_A_ROW = 9 };
    const PySetObject *s = (const PySetObject *)set;
    size_t mask = (size_t)s->mask, at = (size_t)hash & mask, perturb = (size_t)hash;
    for (;;) {
        size_t end = at + IN_A_ROW <= mask ? at + IN_A_ROW : at;
        for (size_t i = at; i <= end; i++) {
            const setentry *e = &s->table[i];
            if (!e->key)
                return false;
            if (e->hash == hash && asked(e->key, key))
                return true;
        }
        perturb >>= 5;
        at = (at * 5 + 1 + perturb) & mask;
    }
}

#if PY_VERSION_HEX < 0x030e0000 && !defined(Py_GIL_DISABLED)

typedef struct table { /* what PyDictObject.ma_keys points to */
    Py_ssize_t references;
#if PY_VERSION_HEX < 0x030b0000
    Py_ssize_t size;
    void *look_up;
#else
    uint8_t log2_size, log2_bytes, kind; /* 0: keys of any type */
    uint32_t version;
#endif
    Py_ssize_t usable, n_entries;
    char places[];
} table;
typedef struct entry {
    Py_hash_t hash;
    PyObject *key, *value;
} entry;

/* The number of the entry at a place of the table: below 0, there is none; -1: nor was there one.
 */
static int64_t number_at(const table *t, size_t size, size_t place) {
    if (size <= 0xff)
        return ((const int8_t *)t->places)[place];
    if (size <= 0xffff)
        return ((const int16_t *)(const void *)t->places)[place];
    if (size <= 0xffffffff)
        return ((const int32_t *)(const void *)t->places)[place];
    return ((const int64_t *)(const void *)t->places)[place];
}

/* Goes the way; *found: the value where it ends at that very key. */
static bool dict_asks(PyObject *dict, PyObject *key, Py_hash_t hash, PyObject **found) {
    const table *t = (const table *)(const void *)((PyDictObject *)dict)->ma_keys;
#if PY_VERSION_HEX < 0x030b0000
    size_t size = (size_t)t->size;
    size_t width = size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;
    const char *entries = t->places + size * width;
#else
    size_t size = (size_t)1 << t->log2_size;
    const char *entries = t->places + ((size_t)1 << t->log2_bytes);
#endif
    size_t mask = size - 1, perturb = (size_t)hash, at = perturb & mask;
    for (;;) {
        int64_t n = number_at(t, size, at);
        if (n == -1)
            return false;
        const entry *e = (const entry *)(const void *)entries + n;
        if (n >= 0 && e->key == key) {
            *found = e->value;
            return false;
        }
        if (n >= 0 && e->hash == hash && e->key && asked(e->key, key))
            return true;
        perturb >>= 5;
        at = (at * 5 + perturb + 1) & mask;
    }
}

static bool only_strings(PyObject *dict) {
#if PY_VERSION_HEX < 0x030b0000
    return ((PyDictObject *)dict)->ma_values != NULL;
#else
    return ((const table *)(const void *)((PyDictObject *)dict)->ma_keys)->kind != 0;
#endif
}

#else

static bool only_strings(PyObject *dict) {
    (void)dict;
    return false;
}

static bool dict_asks(PyObject *dict, PyObject *key, Py_hash_t hash, PyObject **found) {
    Py_ssize_t pos = 0;
    PyObject *k;
    (void)hash, (void)found;
    while (PyDict_Next(dict, &pos, &k, NULL))
        if (asked(k, key))
            return true;
    return false;
}

#endif

/* false: it has none. */
static bool hash_of(PyObject *key, Py_hash_t *hash) {
    *hash = PyObject_Hash(key);
    if (*hash == -1)
        PyErr_Clear();
    return *hash != -1;
}

bool jpy_key_asks(PyObject *o, PyObject *key) {
    Py_hash_t hash;
    PyObject *v;
    bool dict = PyDict_Check(o);
    if (dict && only_strings(o))
        return false;
    return !hash_of(key, &hash) || (dict ? dict_asks(o, key, hash, &v) : set_asks(o, key, hash));
}

bool jpy_key_look(PyObject *dict, PyObject *key, PyObject **value) {
    Py_hash_t hash;
    *value = NULL;
    if (!only_strings(dict) && (!hash_of(key, &hash) || dict_asks(dict, key, hash, value)))
        return false;
    if (!*value && !(*value = PyDict_GetItemWithError(dict, key)))
        PyErr_Clear(); /* nothing was asked: it has no hash */
    return true;
}

/* Whether a class has a method for writing items that is written in C. */
static bool writes_natively(PyObject *type) {
    PyObject *attrs = PyObject_GetAttrString(type, "__dict__");
    PyObject *d = attrs ? PyMapping_GetItemString(attrs, "__setitem__") : NULL;
    bool native = d && Py_TYPE(d) == &PyWrapperDescr_Type;
    PyErr_Clear();
    Py_XDECREF(attrs);
    Py_XDECREF(d);
    return native;
}

bool jpy_type_has_pairs(PyTypeObject *of) {
    PyObject *mro = of->tp_mro;
    if (of == &PyDict_Type || !PyType_IsSubtype(of, &PyDict_Type))
        return of == &PyDict_Type;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); i++) {
        PyObject *t = PyTuple_GET_ITEM(mro, i);
        bool known = t == (PyObject *)&PyDict_Type || t == (PyObject *)&PyODict_Type;
        if (!known && writes_natively(t))
            return false;
    }
    return true;
}

PyObject *jpy_keys_of(PyObject *dict) {
    if (!PyODict_Check(dict))
        return PyDict_Keys(dict);
    PyObject *it = PyODict_Type.tp_iter(dict), *keys = it ? PySequence_List(it) : NULL;
    Py_XDECREF(it);
    return keys;
}

bool jpy_is_deque_type(const PyTypeObject *t) {
    static PyTypeObject *type;
    if (!type) {
        PyObject *m = PyImport_ImportModule("collections");
        PyObject *d = m ? PyObject_GetAttrString(m, "deque") : NULL;
        type = d && PyType_Check(d) ? (PyTypeObject *)d : NULL;
        Py_XDECREF(m);
        PyErr_Clear();
    }
    return type && t == type;
}

bool jpy_is_deque(const PyObject *o) { return jpy_is_deque_type(Py_TYPE(o)); }
