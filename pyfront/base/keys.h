/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of dicts and items of sets: whether finding one runs code of the program's. */
#ifndef JPY_KEYS_H
#define JPY_KEYS_H

#include "pyfront/base/jpy.h"

/* Whether a dict or set, looked through for a key, may ask another one that has its hash, and whose
 * class says itself what is equal to it.  Nothing is asked here.  Also true where the hash of the
 * key is not known. */
bool jpy_key_asks(PyObject *container, PyObject *key);
/* The value in a dict, borrowed, NULL: it has none; false: it would ask.  No exception. */
bool jpy_key_look(PyObject *dict, PyObject *key, PyObject **value);
static inline PyObject *jpy_key_value(PyObject *dict, PyObject *key) {
    PyObject *v;
    return jpy_key_look(dict, key, &v) ? v : NULL;
}

/* Whether instances are found as keys by what they are: each equals itself alone. */
static inline bool jpy_by_identity(const PyTypeObject *t) {
    return t->tp_hash == PyBaseObject_Type.tp_hash &&
           t->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

/* Whether it is a dict, or of a class derived from dict whose C code keeps nothing beside the pairs
 * and finds and writes them as dict does; or an OrderedDict, which keeps their order apart. */
bool jpy_type_has_pairs(PyTypeObject *t);
static inline bool jpy_has_pairs(PyObject *o) { return jpy_type_has_pairs(Py_TYPE(o)); }
/* The same, and the order of the pairs is the dict's: no OrderedDict. */
static inline bool jpy_type_has_pairs_alone(PyTypeObject *t) {
    return jpy_type_has_pairs(t) && !PyType_IsSubtype(t, &PyODict_Type);
}
/* Its keys, in the order in which its own iterator goes over them: a new list. */
PyObject *jpy_keys_of(PyObject *dict);
/* Whether what takes the pairs of a mapping takes those it has, without asking keys(). */
static inline bool jpy_gives_pairs(PyObject *o) {
    return PyDict_Check(o) && (Py_TYPE(o)->tp_iter == PyDict_Type.tp_iter || PyODict_CheckExact(o));
}

/* Whether it is a collections.deque, exactly: its length and items are read without code of the
 * program. */
bool jpy_is_deque(const PyObject *o);
bool jpy_is_deque_type(const PyTypeObject *t);

#endif
