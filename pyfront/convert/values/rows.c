/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack(list) and cat(list) of a list whose length only the graph knows, and what is done with the
 * result: a tensor `[?, ...]` has no proxy (its dims are not known), so the few operations that
 * programs end with are nodes made here.  Where all dims of a result are known it is a tensor.
 */
#include "pyfront/convert/values/values.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/tensors/tensors.h"

static const char cat_text[] = "cat"; /* text of rows that were concatenated, not stacked */

static jcv_av *result(jcv *c, const jn_op *op, jcv_val *const *in, unsigned n, const void *attrs,
                      bool tracked, const char *text) {
    c->any_dims = true;
    jcv_node *node = jcv_op(c, op, in, n, attrs);
    c->any_dims = false;
    jcv_val *v = &node->out[0];
    tracked = tracked && !jpy_no_grad_mode && op->grad;
    for (unsigned i = 0; i < n && jpy_no_grad_mode; i++)
        v->cut = v->cut || in[i]->depends || in[i]->cut;
    v->depends = v->depends && !jpy_no_grad_mode;
    if (jn_type_static(v->type))
        return jcv_proxy(c, v, tracked);
    jcv_av *a = jcv_stack(c, v, tracked);
    a->text = text;
    return a;
}

/* It takes a tensor, which it is in an image. */
static void needs_images(jcv *c, const char *name, const char *what) {
    c->asks_images = true;
    if (!c->image)
        jcv_refuse(c, "%s() of a list of the graph%s", name, what);
}

static bool is_zero(const jcv_av *a) {
    int beyond; /* 64 bits: not zero */
    return !a || (a->kind == AV_PY && PyLong_CheckExact(a->py) &&
                  PyLong_AsLongAndOverflow(a->py, &beyond) == 0);
}

jcv_av *jcv_rows_of(jcv *c, const char *name, const jcv_args *a) {
    bool cat = !strcmp(name, "cat") || !strcmp(name, "concat");
    jcv_av *list = a->n_pos ? a->pos[0] : NULL, *dim = a->n_pos > 1 ? a->pos[1] : NULL;
    if (!cat && strcmp(name, "stack") != 0)
        return NULL;
    for (unsigned i = 0; i < a->n_kw; i++)
        dim = PyUnicode_CompareWithASCIIString(a->names[i], "dim") == 0 ? a->kw[i] : dim;
    /* one that a comprehension has made, whose rows have no gradients of their own (rows.c) */
    bool stacked = list && list->kind == AV_SEQ && list->text == jcv_stacked && !list->key;
    if (stacked && c->ctx->in_loop) /* as long as others only by chance */
        needs_images(c, name, " made by a comprehension");
    stacked = stacked && c->image;
    bool live = stacked;
    PyObject *s = list && list->kind == AV_HOST ? jcv_samples(c, list) : NULL;
    for (Py_ssize_t i = 0; s && i < PyList_GET_SIZE(s); i++)
        live = live || jcv_live_object(c, PyList_GET_ITEM(s, i));
    if (!live || a->n_pos > 2 || a->n_kw > 1)
        return NULL;
    if (!is_zero(dim))
        needs_images(c, name, " along another dim than the first");
    jcv_av *rows = stacked ? list : jcv_collect(c, jcv_feed, list, false);
    if (rows->kind != AV_SEQ)
        jcv_throw_now(c, THROW_DEAD); /* nothing was seen in it */
    const jn_type *t = rows->n == 1 ? rows->types[0] : NULL;
    if (!t || t->kind != JANUS_KIND_TENSOR || (cat && !t->rank))
        jcv_refuse(c, "%s() of a list of the graph that holds other than tensors", name);
    if (!jn_dtype_is_float(t->dtype) || (cat && t->rank != 1))
        needs_images(c, name, " that holds such tensors");
    jcv_val *some = &jcv_op(c, JN_OP(s_bool), &rows->val, 1, NULL)->out[0];
    jcv_assert(c, some, "a list has items");
    jcv_av *x = jcv_stack(c, rows->items[0]->val, rows->items[0]->n);
    if (c->image)
        return jcv_rows_tensor(c, x, rows->val, dim, cat);
    x->text = cat ? cat_text : NULL;
    return x;
}

static const char *const elementwise[] = {"square", "exp",  "log", "tanh", "sigmoid",
                                          "relu",   "sqrt", "abs", "neg",  NULL};

void jcv_refuse_rows(jcv *c, const char *what) {
    c->asks_images = true; /* there it is a tensor */
    jcv_refuse(c, "%s of a stacked list whose length only the graph knows", what);
}

bool jcv_rows_has(const char *method) {
    static const char *const others[] = {"sum", "mean", "softmax", "log_softmax", NULL};
    const char *const *lists[] = {elementwise, others};
    for (int k = 0; k < 2; k++)
        for (int i = 0; lists[k][i]; i++)
            if (!strcmp(lists[k][i], method))
                return true;
    return false;
}

jcv_av *jcv_rows_method(jcv *c, jcv_av *x, const char *name, const jcv_args *a) {
    jcv_av *dim = a->n_pos == 1 && !a->n_kw ? a->pos[0] : NULL;
    if (!a->n_pos && a->n_kw == 1 && PyUnicode_CompareWithASCIIString(a->names[0], "dim") == 0)
        dim = a->kw[0];
    const jn_op *op = jn_op_find(name, strlen(name));
    bool plain = a->n_pos + a->n_kw == (dim != NULL);
    int64_t first = 0;
    if (plain && (!strcmp(name, "sum") || !strcmp(name, "mean")) &&
        (!dim || (is_zero(dim) && x->text != cat_text))) {
        janus_sum_attrs sum = {sizeof sum, {&first, dim != NULL}, 0};
        janus_mean_attrs mean = {sizeof mean, {&first, dim != NULL}, 0};
        return result(c, op, &x->val, 1, *name == 's' ? (void *)&sum : &mean, x->n, NULL);
    }
    if (plain && (!strcmp(name, "softmax") || !strcmp(name, "log_softmax")) && dim &&
        is_zero(dim) && x->text != cat_text) {
        janus_softmax_attrs attrs = {sizeof attrs, 0};
        return result(c, op, &x->val, 1, &attrs, x->n, NULL);
    }
    for (int i = 0; plain && !dim && elementwise[i]; i++)
        if (!strcmp(name, elementwise[i]) && op)
            return result(c, op, &x->val, 1, NULL, x->n, x->text);
    jcv_refuse_rows(c, name);
}

jcv_av *jcv_rows_binary(jcv *c, int op, jcv_av *a, jcv_av *b) {
    const jn_op *ops[] = {JN_OP(add), JN_OP(sub), JN_OP(mul)};
    jcv_av *both[2] = {a, b};
    jcv_val *in[2];
    bool tracked = false, product = op == JPY_MATMUL;
    for (int i = 0; i < 2; i++) {
        if (both[i]->kind == AV_TENSOR)
            in[i] = jcv_tensor_val(c, both[i]->py);
        else if (both[i]->kind == AV_STACK && both[i]->text != cat_text)
            in[i] = both[i]->val;
        else
            jcv_refuse_rows(c, "this operator");
        tracked = tracked || jcv_leaf_tracked(c, both[i]);
    }
    bool same = in[0]->type->dtype == in[1]->type->dtype;
    if (!same || (!product && (op < JPY_ADD || op > JPY_MUL)))
        jcv_refuse_rows(c, "this operator");
    return result(c, product ? JN_OP(matmul) : ops[op - JPY_ADD], in, 2, NULL, tracked, NULL);
}
