/* SPDX-License-Identifier: Apache-2.0 */
/* What most sources are and most values look like, in line; the rest as guard.h has it. */
#ifndef JPY_GUARD_LOOK_H
#define JPY_GUARD_LOOK_H

#include "pyfront/guard/guard.h"
#include "pyfront/tensor/tensor.h"

static inline PyObject *jpy_src_read_quick(const jpy_src *s, PyObject *const *slots,
                                           const jpy_call *call) {
    if (s->kind == JPY_SRC_ARG)
        return call->args[s->index];
    PyObject *parent = jpy_src_in(s->parent, slots);
    if (s->kind == JPY_SRC_ITEM && parent && PyList_CheckExact(parent) &&
        (uint64_t)s->index < (uint64_t)PyList_GET_SIZE(parent))
        return PyList_GET_ITEM(parent, s->index);
    return jpy_src_read(s, parent, jpy_src_in(s->by, slots), call);
}

/* True: it is a leaf of the wanted form, and no view; false: that has to be looked at. */
static inline bool jpy_is_of_form(const jpy_src *s, PyObject *v) {
    const jpy_tensor *p = (const jpy_tensor *)v;
    return (PyObject *)Py_TYPE(v) == s->want && !p->node && !p->base && !p->hooks &&
           p->requires_grad == s->tensor.requires_grad && jn_tensor_form(p->t) == s->tensor.form;
}

static inline bool jpy_src_holds_quick(const jpy_src *s, PyObject *v, PyObject *const *slots) {
    return (v && jpy_src_has_form(s) && jpy_is_of_form(s, v)) || jpy_src_holds(s, v, slots);
}

#endif
