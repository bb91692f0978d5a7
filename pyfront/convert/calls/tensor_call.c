/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the tensor layer's functions, which are called for real on proxies.
 */
#include "pyfront/convert/calls/calls.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/values.h"

/* C functions and methods of the tensor layer that may be called on proxies: what they return is
 * decided by types, dims and ops that come to the hook.  Whatever is not listed is a barrier. */
static const char *const allowed_names[] = {"autocast",
                                            "chunk",
                                            "copy_",
                                            "dim",
                                            "element_size",
                                            "fill_",
                                            "is_contiguous",
                                            "is_floating_point",
                                            "ndimension",
                                            "nelement",
                                            "numel",
                                            "size",
                                            "split",
                                            "stride",
                                            "unbind",
                                            "zero_",
                                            "_index_put",
                                            "arange",
                                            "empty",
                                            "empty_like",
                                            "enable_grad",
                                            "eye",
                                            "full",
                                            "full_like",
                                            "get_autocast_dtype",
                                            "is_autocast_enabled",
                                            "is_grad_enabled",
                                            "linspace",
                                            "no_grad",
                                            "ones",
                                            "ones_like",
                                            "rand",
                                            "rand_like",
                                            "randint",
                                            "randn",
                                            "randn_like",
                                            "randperm",
                                            "zeros",
                                            "zeros_like",
                                            "_mask_like",
                                            "_arange",
                                            "_returned",
                                            "_switch_grad",
                                            "set_grad_enabled",
                                            "optimizer_step_",
                                            "__abs__",
                                            "__add__",
                                            "__and__",
                                            "__eq__",
                                            "__floordiv__",
                                            "__ge__",
                                            "__getitem__",
                                            "__gt__",
                                            "__iadd__",
                                            "__iand__",
                                            "__ifloordiv__",
                                            "__ilshift__",
                                            "__imod__",
                                            "__imul__",
                                            "__invert__",
                                            "__ior__",
                                            "__ipow__",
                                            "__irshift__",
                                            "__isub__",
                                            "__itruediv__",
                                            "__ixor__",
                                            "__le__",
                                            "__len__",
                                            "__lshift__",
                                            "__lt__",
                                            "__matmul__",
                                            "__mod__",
                                            "__mul__",
                                            "__ne__",
                                            "__neg__",
                                            "__or__",
                                            "__pos__",
                                            "__pow__",
                                            "__radd__",
                                            "__rand__",
                                            "__rfloordiv__",
                                            "__rlshift__",
                                            "__rmatmul__",
                                            "__rmod__",
                                            "__rmul__",
                                            "__ror__",
                                            "__rpow__",
                                            "__rrshift__",
                                            "__rshift__",
                                            "__rsub__",
                                            "__rtruediv__",
                                            "__rxor__",
                                            "__setitem__",
                                            "__sub__",
                                            "__truediv__",
                                            "__xor__",
                                            NULL};
/* Ops whose dims depend on data, and of which no part is taken. */
static const char *const refused_ops[] = {"masked_select", NULL};

/* Methods that look at strides, which are any where a size is 0 or 1. */
static const char *const layout_names[] = {"is_contiguous", "stride", "contiguous", NULL};

static bool in_list(const char *const *names, const char *name) {
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static jcv_av *item_of(jcv *c, jcv_av *t) {
    jcv_val *v = jcv_tensor_val(c, t->py);
    if (jn_type_numel(v->type) != 1)
        jcv_refuse(c, "item() of a tensor of several elements");
    return jcv_scalar(c, jcv_item(c, v));
}

/* An argument whose kind the C function is to know: a tensor, a number or None. */
static jcv_av *settled(jcv *c, jcv_av *a) {
    a = jcv_there(c, jcv_settled(c, a));
    if (a->kind == AV_HOST && jcv_host_type(c, a) == Py_TYPE(Py_None))
        return jcv_none(c);
    return jcv_settled(c, a);
}

static jcv_av *call_of(jcv *c, void *callable, const jcv_args *args) {
    return jcv_call_tensor(c, callable, args);
}

jcv_av *jcv_call_tensor(jcv *c, PyObject *callable, const jcv_args *args) {
    jcv_av *either = jcv_call_each_way(c, args, false, call_of, callable);
    if (either)
        return either;
    PyObject *name_o = PyObject_GetAttrString(callable, "__name__");
    const char *name = name_o ? PyUnicode_AsUTF8(jcv_own(c, name_o)) : "";
    jcv_av *self = args->n_pos ? args->pos[0] : NULL;
    PyErr_Clear();
    if (self && self->kind == AV_TENSOR) {
        if (!strcmp(name, "item") || !strcmp(name, "__float__") || !strcmp(name, "__int__"))
            return item_of(c, self);
        if (!strcmp(name, "backward") && args->n_pos == 1 && !args->n_kw) {
            jcv_tensor_backward(c, &self, &(jcv_av *){NULL}, 1, false);
            return jcv_none(c);
        }
        if (!strcmp(name, "detach"))
            return jcv_detach(c, self->py);
        if (!strcmp(name, "detach_") && args->n_pos == 1 && !args->n_kw) {
            jcv_detach_in_place(c, self);
            return self;
        }
        if (!strcmp(name, "requires_grad_") && args->n_pos + args->n_kw <= 2) {
            jcv_av *on = args->n_kw ? args->kw[0] : args->n_pos > 1 ? args->pos[1] : NULL;
            if (on && !jcv_is_const(on))
                jcv_refuse(c, "requires_grad_ of %s", jcv_describe(on));
            jcv_set_requires_grad(c, self, !on || PyObject_IsTrue(jcv_const_object(c, on)) > 0);
            return self;
        }
        jcv_av *size = jcv_size_method(c, name, args);
        if (size)
            return size;
    }
    jcv_av *drawn = jcv_call_drawn(c, callable, name, args);
    if (drawn)
        return drawn;
    PyObject *model = jcv_model_by_numbers(c, name, args);
    if (model)
        return jcv_call(c, jcv_constant(c, model), args);
    jcv_av *part = !strcmp(name, "narrow") ? jcv_narrowed(c, args) : NULL;
    if (part)
        return part;
    jcv_av *rows = jcv_rows_of(c, name, args);
    if (rows)
        return rows;
    if (self && self->kind == AV_STACK) {
        jcv_args rest = *args;
        rest.pos++;
        rest.n_pos--;
        return jcv_rows_method(c, self, name, &rest);
    }
    if (!strcmp(name, "_backward") && args->n_pos == 5 && !args->n_kw)
        return jcv_autograd_backward(c, args);
    if (!strcmp(name, "_grad") && PyCFunction_Check(callable))
        return jcv_autograd_grad(c, args);
    if (!strcmp(name, "_function_node") && PyCFunction_Check(callable))
        return jcv_function_node(c, callable, args);
    if (!strcmp(name, "_register_hook") && PyCFunction_Check(callable))
        return jcv_tensor_hook(c, callable, args);
    if (!strcmp(name, "_remove_hook") && PyCFunction_Check(callable))
        return jcv_no_hook(c, callable, args);
    if (!strcmp(name, "_writes") && self && self->kind == AV_TENSOR)
        return jcv_take(
            c, PyLong_FromUnsignedLong(jcv_rec_of(c, ((jpy_tensor *)self->py)->t)->root->n_writes));
    if (!strcmp(name, "_function_like") && args->n_pos == 2)
        return args->pos[0];
    if (!strcmp(name, "_apart") && PyCFunction_Check(callable))
        return jcv_call_apart(c, args, false);
    if (!strcmp(name, "_checkpoint") && PyCFunction_Check(callable))
        return jcv_call_apart(c, args, true);
    if (!strcmp(name, "tensor") && PyCFunction_Check(callable))
        return jcv_tensor_of_data(c, callable, args);
    if (jcv_optional_steps(c, callable, name, args))
        return jcv_none(c);
    return jcv_call_on_proxies(c, callable, name, args, NULL);
}

/* Ops of which a number is an operand like any tensor; of halves, those of the second list round it
 * first (jcv_number_beside). */
static const char *const number_ops[] = {
    "add",   "add_", "addcdiv", "addcdiv_", "addcmul", "addcmul_", "div",  "div_", "lerp",
    "lerp_", "mul",  "mul_",    "pow",      "pow_",    "sub",      "sub_", NULL};
static const char *const rounding_ops[] = {"copy_", "eq", "fill_", "ge",    "gt",
                                           "le",    "lt", "ne",    "where", NULL};

/* A number of the graph in such a call: a tensor of no dims, but for factors and what fills, which
 * ops of floats have as floats. */
static jcv_av *number_there(jcv *c, const char *by, jcv_av *s, jcv_av *beside, bool arithmetic) {
    if (strcmp(by, "alpha") != 0 && strcmp(by, "value") != 0)
        return jcv_number_beside(c, s, beside, arithmetic);
    bool whole = s->val->type->kind == JANUS_KIND_INT;
    return whole && jn_dtype_is_float(((jpy_tensor *)beside->py)->t->dtype)
               ? jcv_scalar(c, &jcv_op(c, JN_OP(s_float), &s->val, 1, NULL)->out[0])
               : s;
}

/* The arguments with numbers of the graph that are operands beside the first tensor that is no
 * condition. */
static const jcv_args *numbers_as_operands(jcv *c, const char *name, const jcv_args *args) {
    bool arithmetic = in_list(number_ops, name), where = !strcmp(name, "where");
    bool fills = !strcmp(name, "masked_fill") || !strcmp(name, "masked_fill_");
    bool three = where || fills || !strncmp(name, "lerp", 4) || !strncmp(name, "addc", 4);
    if (args->n_pos > (three ? 3u : 2u) || /* add(x, alpha, y), an old way to call it */
        (!arithmetic && !fills && !in_list(rounding_ops, name)))
        return args;
    jcv_av *beside = NULL;
    unsigned n = args->n_pos + args->n_kw;
    jcv_av **all = jcv_alloc(c, (n + 1) * sizeof *all);
    for (unsigned i = 0; i < n; i++) {
        all[i] = settled(c, i < args->n_pos ? args->pos[i] : args->kw[i - args->n_pos]);
        if (!beside && all[i]->kind == AV_TENSOR &&
            !(where && ((jpy_tensor *)all[i]->py)->t->dtype == JANUS_BOOL))
            beside = all[i];
    }
    for (unsigned i = 0; beside && i < n; i++) {
        const char *by = i < args->n_pos ? fills ? "value" : "other"
                                         : PyUnicode_AsUTF8(args->names[i - args->n_pos]);
        if (!by)
            jcv_refuse_py(c);
        if (all[i]->kind == AV_SCALAR)
            all[i] = number_there(c, by, all[i], beside, arithmetic);
    }
    jcv_args *r = jcv_alloc(c, sizeof *r);
    *r = *args;
    r->pos = all;
    r->kw = all + args->n_pos;
    return r;
}

/* How many pieces chunk() makes follows from the size in steps: two images may agree by chance. */
static void refuse_number_by_size(jcv *c, const jcv_av *self, const jcv_args *args) {
    const jn_type *t = jcv_tensor_val(c, self->py)->type;
    const jcv_av *dim = args->n_pos > 2 ? args->pos[2] : NULL;
    for (unsigned i = 0; i < args->n_kw; i++)
        if (PyUnicode_CompareWithASCIIString(args->names[i], "dim") == 0)
            dim = args->kw[i];
    long axis = dim && dim->kind == AV_PY && PyLong_Check(dim->py) ? jcv_long(c, dim) : 0;
    axis = axis < 0 ? axis + t->rank : axis;
    if (axis >= 0 && axis < t->rank && jcv_dim_varies(c, t->dims[axis]))
        jcv_refuse(c, "chunk() along a dim that varies");
}

jcv_av *jcv_call_on_proxies(jcv *c, PyObject *callable, const char *name, const jcv_args *args,
                            jcv_val *const *given) {
    jcv_av *self = args->n_pos ? args->pos[0] : NULL;
    bool op = Py_TYPE(callable) == jpy.op_type;
    if (op ? in_list(refused_ops, name) : !in_list(allowed_names, name))
        jcv_refuse(c, "a call of %s", name);
    args = numbers_as_operands(c, name, args);
    PyObject **v = jcv_alloc(c, (args->n_pos + args->n_kw + 1) * sizeof *v);
    PyObject *kwnames = args->n_kw ? jcv_own(c, PyTuple_New(args->n_kw)) : NULL;
    size_t first_tag = c->tags.n;
    c->passed.n = c->came_back = 0;
    c->passing = true;
    for (unsigned i = 0; i < args->n_pos + args->n_kw; i++) {
        jcv_av *a = settled(c, i < args->n_pos ? args->pos[i] : args->kw[i - args->n_pos]);
        jcv_av *all = jcv_all_assumed(c, a);
        v[i] = jcv_object(c, all ? all : a);
        if (!v[i] && a->kind == AV_SCALAR && a->val->type->kind == JANUS_KIND_FLOAT)
            v[i] = jcv_own(c, PyFloat_FromDouble(jcv_tag(c, a->val)));
        if (!v[i] && a->kind == AV_SCALAR)
            jcv_refuse(c, "a number of the graph as an argument of %s", name);
        if (!v[i] && a->kind == AV_STACK)
            jcv_refuse_rows(c, name);
        c->asks_images = c->asks_images || (!v[i] && jcv_is_stacked(a)); /* rows.c takes it there */
        if (!v[i])
            jcv_refuse(c, "%s as an argument of %s", jcv_describe(a), name);
        if (i >= args->n_pos) {
            Py_INCREF(args->names[i - args->n_pos]);
            PyTuple_SET_ITEM(kwnames, i - args->n_pos, args->names[i - args->n_pos]);
        }
    }
    if (self && self->kind == AV_TENSOR && in_list(layout_names, name))
        jcv_layout_matters(c, self->py);
    if (self && self->kind == AV_TENSOR && !strcmp(name, "chunk"))
        refuse_number_by_size(c, self, args);
    uint32_t writes = c->writes;
    size_t len = strlen(name);
    c->hook_refused = false;
    c->passing = false;
    c->draw_at = given;
    PyObject *r = PyObject_Vectorcall(callable, v, args->n_pos, kwnames);
    c->draw_at = NULL;
    bool used = !r || jcv_passed_are_used(c, v, args->n_pos + args->n_kw, r);
    c->passed.n = 0;
    if (r && c->hook_refused) {
        Py_DECREF(r);
        r = NULL;
    }
    for (unsigned i = 0; i < args->n_pos && !r; i++)
        if (args->pos[i]->kind == AV_LIST && args->pos[i]->text == jcv_never)
            jcv_throw_now(c, THROW_DEAD);
    jcv_own(c, r);
    jcv_made_leaf(c, r);
    jcv_no_sizes(c, r);
    if (!used)
        jcv_refuse(c, "a number of the graph decides what %s does", name);
    for (size_t i = first_tag; i < c->tags.n; i++)
        if (!c->tags.data[i].seen) /* it went elsewhere than to an operand of an op */
            jcv_refuse(c, "a number of the graph as an argument of %s", name);
    if (len > 1 && name[len - 1] == '_' && name[len - 2] != '_' && c->writes == writes)
        jcv_refuse(c, "%s is not seen to write", name);
    for (unsigned i = 0; i < args->n_pos; i++) /* in-place methods return their object */
        if (args->pos[i]->kind == AV_TENSOR && r == args->pos[i]->py)
            return args->pos[i];
    if (PyTuple_Check(r) || PyList_CheckExact(r)) {
        unsigned n = (unsigned)Py_SIZE(r);
        bool tensors = n > 0;
        jcv_av **items = jcv_alloc(c, (n + 1) * sizeof *items);
        for (unsigned i = 0; i < n; i++) {
            PyObject *e = PyTuple_Check(r) ? PyTuple_GET_ITEM(r, i) : PyList_GET_ITEM(r, i);
            tensors = tensors && jpy_tensor_check(e);
            items[i] = jcv_wrap(c, e, NULL);
        }
        if (tensors && PyTuple_CheckExact(r))
            return jcv_tuple(c, items, n);
        if (tensors && PyTuple_Check(r)) { /* a named result: fields and items */
            jcv_av *t = jcv_tuple(c, items, n);
            t->named = (PyObject *)jpy.return_type;
            return t;
        }
        if (PyList_CheckExact(r))
            return jcv_list(c, items, n);
    }
    return jcv_wrap(c, r, NULL);
}
