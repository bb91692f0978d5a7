/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects: attributes, instances that the program makes, methods, what stands for CPython's
 * classes.
 */
#ifndef JPY_CONVERT_OBJECTS_OBJECTS_H
#define JPY_CONVERT_OBJECTS_OBJECTS_H

#include "pyfront/convert/core/core.h"

/* attr.c: attributes */

/* jcv_getattr. */
jcv_av *jcv_attr_of(jcv *c, jcv_av *o, PyObject *name);
jcv_av *jcv_getattr_opt(jcv *c, jcv_av *o, PyObject *name); /* NULL: AttributeError */
/* Whether attributes of a type's objects are set as nn.Module says: it is one of modules, and no
 * class has a method of its own for it. */
bool jcv_sets_as_module(jcv *c, PyTypeObject *t);
void jcv_setattr(jcv *c, jcv_av *o, PyObject *name, jcv_av *v);
void jcv_delattr(jcv *c, jcv_av *o, PyObject *name);
/* An attribute of a value whose type is not made in Python; NULL: there is none. */
jcv_av *jcv_native_attr(jcv *c, jcv_av *o, PyObject *name);
/* A function bound to an object; a method of a type that is not made in Python, by its name. */
jcv_av *jcv_bound(jcv *c, PyObject *function, jcv_av *self);
jcv_av *jcv_builtin_method(jcv *c, jcv_av *o, PyObject *name);
/* The function in a static or class method. */
jcv_av *jcv_inner_function(jcv *c, PyObject *d);

/* generated.c: functions that dataclass and namedtuple write */
PyObject *jcv_attr_or_null(PyObject *o, const char *name);
bool jcv_is_generated(PyObject *fn);
/* Whether a function is a __new__ that namedtuple wrote, and t a class of tuples. */
bool jcv_is_new_of_named(PyObject *fn, PyTypeObject *t);
/* The names of its parameters, the fields. */
PyObject *jcv_named_params(jcv *c, PyObject *fn);
/* Whether a function is the method of this name that namedtuple writes. */
bool jcv_is_of_named(jcv *c, PyObject *fn, PyObject *name);
/* Assumes that its code and defaults stay as they are. */
void jcv_as_generated(jcv *c, PyObject *fn);
void jcv_init_dataclass(jcv *c, jcv_av *o, PyObject *fn, PyObject *fields, const jcv_args *args);

/* make.c: calls of classes; NULL: not one that is known here */

jcv_av *jcv_make_object(jcv *c, PyTypeObject *t, const jcv_args *args);
/* A call of object.__new__ or tuple.__new__, with the class as the first argument. */
jcv_av *jcv_call_new(jcv *c, PyObject *fn, const jcv_args *args);
/* The arguments of a call, behind another one: the object of a method, the class. */
jcv_args *jcv_behind(jcv *c, jcv_av *first, const jcv_args *args);
/* A class whose instances are made by object's __new__ and hold attributes, nothing else. */
bool jcv_is_plain_class(PyTypeObject *t);

/* objects.c: objects that are made inside */

/* An instance of a named tuple's type, by the arguments of `fn`, the __new__ that namedtuple
 * wrote. */
jcv_av *jcv_make_named(jcv *c, PyTypeObject *t, PyObject *fn, const jcv_args *args);
jcv_av *jcv_named_attr(jcv *c, jcv_av *o, PyObject *name);
jcv_av *jcv_named_method(jcv *c, jcv_av *self, const char *name, const jcv_args *args);
/* The place of what `d`, which a type has, reads of a named tuple; -1: it is no such
 * field. */
int jcv_field_of(jcv *c, PyObject *d);
/* Sets, or deletes, an attribute of an instance made here. */
void jcv_set_fresh(jcv *c, jcv_av *o, PyObject *name, jcv_av *v);
void jcv_del_fresh(jcv *c, jcv_av *o, PyObject *name);
/* Its place, `slot`, gets a value. */
void jcv_put_fresh(jcv *c, PyObject *o, PyObject *name, uint32_t slot, jcv_av *v);
/* Starts again where that is the place of such an attribute, which can be boxed and is not. */
void jcv_box_attr(jcv *c, uint32_t slot);
/* Names of attributes that an object did not have, or may not have had, in the order they were set:
 * AV_TUPLE. */
jcv_av *jcv_attr_order(jcv *c, PyObject *o);
/* The attribute, which has its slot, is the next of them. */
void jcv_is_next(jcv *c, PyObject *o, PyObject *name);
/* Whether it is one of them. */
bool jcv_may_be_new(jcv *c, PyObject *o, PyObject *name);
/* Whether an entry of the attribute table is the order of an object's attributes. */
bool jcv_is_order(const jcv_attr *a);
/* Attributes of it, in the order they were set, as AV_TUPLE of name, value, ... */
jcv_av *jcv_fresh_attrs(jcv *c, PyObject *o);
/* text of an AV_TUPLE of names and values: the attributes of an instance of its `named`. */
extern const char jcv_record[];
/* Instances in what a call returns, which it has made (there were `made` before), as records; of a
 * record an instance. */
jcv_av *jcv_to_record(jcv *c, jcv_av *a, size_t made);
jcv_av *jcv_from_record(jcv *c, jcv_av *t);
/* The attributes of an instance of a class that makes nothing of its own, as a record. */
jcv_av *jcv_attrs_of_plain(jcv *c, PyObject *o);

/* copies.c: instances of which only the graph knows which one it is */

/* jcv_to_copy, jcv_from_copy. */
jcv_av *jcv_copies_of(jcv *c, jcv_av *a, size_t made);
jcv_av *jcv_made_of_copies(jcv *c, jcv_av *a);

/* tensor_attr.c: attributes of tensors */

jcv_av *jcv_tensor_attr(jcv *c, jcv_av *t, PyObject *name);
void jcv_set_tensor_attr(jcv *c, jcv_av *o, PyObject *name, jcv_av *v);
/* Whether a tensor has no attributes that the program has set. */
jcv_av *jcv_without_attributes(jcv *c, const jcv_args *args);

/* dispatch.c: an attribute of an object that may be of several types */

jcv_av *jcv_host_attr(jcv *c, jcv_av *o, PyObject *name);
/* Whether objects of this type say no other class than it for `__class__`. */
bool jcv_own_class(jcv *c, PyTypeObject *t);
/* A call of an object of the graph, by what its type has as __call__. */
jcv_av *jcv_call_host(jcv *c, jcv_av *o, const jcv_args *args);
/* A call of what functools.singledispatch has made; NULL: it is another function. */
jcv_av *jcv_call_single(jcv *c, jcv_av *f, const jcv_args *args);
jcv_av *jcv_attr_by_type(jcv *c, jcv_av *o, PyObject *name);
/* Adds samples of the types that were met with its own under the name of a method. */
void jcv_widen_types(jcv *c, jcv_av *o, PyObject *name);

/* models.c: functions and classes of Python that stand for others */

/* The function or class of Python that means the same, borrowed; NULL: none. */
PyObject *jcv_model_of(jcv *c, PyObject *callable);
/* The same of a call of an object (a partial), which the model gets first. */
PyObject *jcv_call_model(jcv *c, PyObject *o);
/* Calls a model in the place of what it stands for; what the call of a class gives is of it. */
jcv_av *jcv_call_for(jcv *c, PyObject *of, PyObject *model, const jcv_args *args);
/* zip, map or enumerate, of iterators of which each item is asked for when its turn comes. */
PyObject *jcv_model_in_turn(jcv *c, const char *name);
/* What a function of janus is where one of the arguments is a number of the graph; borrowed; NULL:
 * what it is with others. */
PyObject *jcv_model_by_numbers(jcv *c, const char *name, const jcv_args *args);
/* What type() says of an instance of `t`: what the class stands for, or t. */
PyTypeObject *jcv_stands_for(PyTypeObject *t);
/* What a list's method means by reads, writes and append() and pop() of single items; of a slice
 * the bounds and the step are in the place of it.  NULL: none. */
PyObject *jcv_list_model(jcv *c, const char *method, bool slice);
/* Whether a function of the models is called on constants, not converted. */
bool jcv_called_as_it_is(PyObject *function);
/* Whether it is the models' question for jcv_without_attributes. */
bool jcv_asks_for_attributes(PyObject *function);
/* A set that the program makes; in_order: CPython puts the items in one by one. */
jcv_av *jcv_new_set(jcv *c, jcv_av *const *items, unsigned n, bool in_order);

/* modules.c: modules made inside */

/* A method that ModuleBase has in C; NULL: not known. */
jcv_av *jcv_module_method(jcv *c, jcv_av *o, const char *name, const jcv_args *args);
/* Whether the attribute is a parameter, module or buffer: then it is set. */
bool jcv_module_registers(jcv *c, jcv_av *o, PyObject *name, jcv_av *v);

/* methods.c: methods of native types */

/* jcv_call_method. */
jcv_av *jcv_method_of(jcv *c, jcv_av *self, const char *name, const jcv_args *args);
/* The first method of the name on the MRO that is written in C, which super() comes to; NULL: none.
 */
PyObject *jcv_own_method(jcv *c, PyTypeObject *t, const char *name);
/* Calls a C function known to have no effect on constants. */
jcv_av *jcv_call_real(jcv *c, PyObject *f, const jcv_args *a, const char *name);

/* live_methods.c: of what only the graph knows */

/* A method of an object of the graph; NULL: it is not known here. */
jcv_av *jcv_live_method(jcv *c, jcv_av *self, const char *name, const jcv_args *args);
/* Of a list or tuple of unknown length that is no object of the graph; NULL: another method. */
jcv_av *jcv_open_method(jcv *c, jcv_av *self, const char *name, const jcv_args *args);
/* Of the items t, "index" (or "remove"): where the first is that equals the argument, "count": how
 * many do. */
jcv_av *jcv_search(jcv *c, jcv_av *t, const char *name, const jcv_args *args);

/* super.c: super(), its attributes, and object.__init__ as one of them */

jcv_av *jcv_super(jcv *c, const jcv_args *args);
jcv_av *jcv_super_attr(jcv *c, jcv_av *a, PyObject *name);
jcv_av *jcv_super_init(jcv *c, const jcv_args *args);

/* drawing.c: draws of Python's generators */

/* A method of `random.Random` that is C's; NULL: it draws nothing, or of no generator. */
jcv_av *jcv_draw_method(jcv *c, jcv_av *self, const char *name, const jcv_args *args);
/* The same of a function: one that is bound, or what draws a number below another. */
jcv_av *jcv_draw_function(jcv *c, PyObject *function, const jcv_args *args);

/* class_attr.c: an attribute of a class; NULL: it has none. */
jcv_av *jcv_class_attr(jcv *c, jcv_av *o, PyObject *name);
/* class_attr.c: what a type has under a name, as a value: read again at every call, classes can
 * change.
 */
jcv_av *jcv_type_value(jcv *c, PyTypeObject *t, PyObject *name, PyObject *v);

/* special.c: of a descriptor whose class is the program's, its __get__ (NULL: it is no such thing),
 * and what that gives of an object of type t. */
PyObject *jcv_python_get(jcv *c, PyObject *d);
jcv_av *jcv_call_get(jcv *c, jcv_av *o, PyTypeObject *t, PyObject *d, jcv_av *descriptor);

/* The __name__, __doc__, __qualname__ or __module__ of a function or method, of which s is the
 * source; NULL: the name is none of these. */
jcv_av *jcv_function_part(jcv *c, jcv_av *f, PyObject *name, jpy_src *s);
/* What a variable of a function's enclosing one holds; NULL: there is none of the name. */
jcv_av *jcv_enclosed(jcv *c, jcv_av *f, const char *name);

/* special.c: special methods that are called by name; NULL: not one of these calls */

/* self.__name__(...), where the method is CPython's own and does what syntax does. */
jcv_av *jcv_special_by_name(jcv *c, jcv_av *self, const char *name, const jcv_args *args);
/* type.name(self, ...), where the method is CPython's own and `self` of exactly that type. */
jcv_av *jcv_call_unbound(jcv *c, PyObject *method, const jcv_args *args);

#endif
