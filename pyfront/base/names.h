/* SPDX-License-Identifier: Apache-2.0 */
/* Names of attributes as interned strings, made when the module is loaded: none can be missing
 * later. */
#ifndef JPY_NAMES_H
#define JPY_NAMES_H

#include "pyfront/base/jpy.h"

/* X(field, text) */
#define JPY_NAMES(X)                                                                               \
    X(call, "__call__")                                                                            \
    X(cell_contents, "cell_contents")                                                              \
    X(class_, "__class__")                                                                         \
    X(class_getitem, "__class_getitem__")                                                          \
    X(copy_, "copy_")                                                                              \
    X(dict, "__dict__")                                                                            \
    X(drawn, "<drawn>")                                                                            \
    X(func, "__func__")                                                                            \
    X(getattribute, "__getattribute__")                                                            \
    X(grad, "grad")                                                                                \
    X(instancecheck, "__instancecheck__")                                                          \
    X(subclasshook, "__subclasshook__")                                                            \
    X(item, "item")                                                                                \
    X(length_of, "length of ")                                                                     \
    X(name, "__name__")                                                                            \
    X(self, "__self__")                                                                            \
    X(setattr, "__setattr__")                                                                      \
    X(delattr, "__delattr__")                                                                      \
    X(stdout_, "stdout")                                                                           \
    X(wrapped, "__wrapped__")                                                                      \
    X(write, "write")

/* Borrowed, for as long as the process lives. */
extern struct jpy_names {
#define X(field, text) PyObject *field;
    JPY_NAMES(X)
#undef X
} jpy_names;

int jpy_init_names(PyObject *module);

#endif
