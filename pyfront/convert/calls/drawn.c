/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws from a generator of the program's own.
 *
 * Its seed and what was drawn are attributes (pyfront/janus/_generator.py): they are read, the op
 * gets them as operands, and the attribute is written, as the program itself would.  So where the
 * generator lives, and what a branch, a loop or a recursion does with it, is known as it is of any
 * object.
 */
#include "pyfront/convert/calls/calls.h"

#include <string.h>

#include "pyfront/convert/heap/heap.h"
#include "pyfront/methods/methods.h"

static jcv_av *attr(jcv *c, jcv_av *o, const char *name) {
    return jcv_getattr(c, o, jcv_own(c, PyUnicode_InternFromString(name)));
}

/* The arguments but for the generator, which is given by its name, or last: `at` counts the names
 * after the places. */
static jcv_args without(jcv *c, const jcv_args *args, unsigned at) {
    jcv_args rest = *args;
    if (at < args->n_pos) {
        rest.n_pos--;
        return rest;
    }
    rest.names = jcv_alloc(c, args->n_kw * sizeof *rest.names);
    rest.kw = jcv_alloc(c, args->n_kw * sizeof *rest.kw);
    rest.n_kw = 0;
    for (unsigned i = 0; i < args->n_kw; i++)
        if (args->n_pos + i != at) {
            rest.names[rest.n_kw] = args->names[i];
            rest.kw[rest.n_kw++] = args->kw[i];
        }
    return rest;
}

jcv_av *jcv_call_drawn(jcv *c, PyObject *callable, const char *name, const jcv_args *args) {
    unsigned n = args->n_pos + args->n_kw, at = n;
    if (!PyCFunction_Check(callable))
        return NULL;
    for (unsigned i = 0; i < args->n_kw; i++)
        if (PyUnicode_CompareWithASCIIString(args->names[i], "generator") == 0)
            at = args->n_pos + i;
    if (!strcmp(name, "_mask_like") && args->n_pos == 4)
        at = 3;
    if (at == n)
        return NULL;
    jcv_av *g =
        jcv_there(c, jcv_settled(c, at < args->n_pos ? args->pos[at] : args->kw[at - args->n_pos]));
    PyTypeObject *type = jcv_type_of(c, g);
    jcv_args rest = without(c, args, at);
    if (type == Py_TYPE(Py_None) || type == jpy_rng_default_type())
        return jcv_call_tensor(c, callable, &rest);
    if (!type || !PyType_IsSubtype(type, jpy.generator_type))
        jcv_refuse(c, "%s as the generator of %s", jcv_describe(g), name);
    jcv_val *given[2] = {jcv_number(c, attr(c, g, "_seed")), jcv_number(c, attr(c, g, "_offset"))};
    if (!given[0] || !given[1])
        jcv_refuse(c, "a generator whose state is not two numbers");
    jcv_av *drawn = jcv_call_on_proxies(c, callable, name, &rest, given);
    jcv_call1(c, attr(c, g, "_advance"), drawn);
    return drawn;
}
