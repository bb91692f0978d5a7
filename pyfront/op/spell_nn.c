/* SPDX-License-Identifier: Apache-2.0 */
/* Spellings of convolution, pooling, losses and normalisation. */
#include "config.h"

#include "pyfront/op/spell.h"

#include "ops/attrs.h"
#include "ops/op_ids.h"

/* An int or a pair as two ints. */
static int pair(jpy_bound *b, PyObject *o, janus_ints *out) {
    if (!o)
        return 0;
    if (jpy_ints_arg(b, o, out) < 0)
        return -1;
    if (out->n == 1 && b->n_ints < JPY_BOUND_INTS) {
        b->ints[b->n_ints] = out->data[0];
        b->n_ints++;
        out->n = 2;
    }
    return 0;
}
/* input, weight, bias, stride, padding, dilation, groups */
int jpy_bind_conv2d(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(conv2d), a, 3) < 0)
        return -1;
    janus_conv2d_attrs *s = ATTRS(janus_conv2d_attrs);
    return pair(b, a[3], &s->stride) < 0 || pair(b, a[4], &s->padding) < 0 ||
                   pair(b, a[5], &s->dilation) < 0 || jpy_int_arg(a[6], &s->groups) < 0
               ? -1
               : 0;
}
/* grad, weight, like, stride, padding, dilation, groups */
int jpy_bind_conv2d_input_grad(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(conv2d_input_grad), a, 3) < 0)
        return -1;
    janus_conv2d_input_grad_attrs *s = ATTRS(janus_conv2d_input_grad_attrs);
    return pair(b, a[3], &s->stride) < 0 || pair(b, a[4], &s->padding) < 0 ||
                   pair(b, a[5], &s->dilation) < 0 || jpy_int_arg(a[6], &s->groups) < 0
               ? -1
               : 0;
}
/* input, kernel_size, stride, padding, dilation, ceil_mode */
int jpy_bind_max_pool2d(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(max_pool2d), a, 1) < 0)
        return -1;
    janus_max_pool2d_attrs *s = ATTRS(janus_max_pool2d_attrs);
    b->result = JPY_RESULT_FIRST;
    s->ceil_mode = a[5] && PyObject_IsTrue(a[5]) > 0;
    return pair(b, a[1], &s->kernel) < 0 || pair(b, a[2], &s->stride) < 0 ||
                   pair(b, a[3], &s->padding) < 0 || pair(b, a[4], &s->dilation) < 0
               ? -1
               : 0;
}
/* input, kernel_size, stride, padding, ceil_mode, count_include_pad */
int jpy_bind_avg_pool2d(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(avg_pool2d), a, 1) < 0)
        return -1;
    janus_avg_pool2d_attrs *s = ATTRS(janus_avg_pool2d_attrs);
    s->ceil_mode = a[4] && PyObject_IsTrue(a[4]) > 0;
    if (a[5])
        s->count_include_pad = PyObject_IsTrue(a[5]) > 0;
    return pair(b, a[1], &s->kernel) < 0 || pair(b, a[2], &s->stride) < 0 ||
                   pair(b, a[3], &s->padding) < 0
               ? -1
               : 0;
}

/* ---- losses and norms
 * ------------------------------------------------------------------------------------- */

static int reduction(PyObject *o, int64_t *out) {
    static const char *const names[] = {"none", "mean", "sum"};
    if (!o)
        return 0;
    if (!PyUnicode_Check(o))
        return jpy_int_arg(o, out) < 0 ? -1 : 0;
    for (int i = 0; i < 3; i++)
        if (PyUnicode_CompareWithASCIIString(o, names[i]) == 0) {
            *out = i;
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "%U is not a valid value for reduction", o);
    return -1;
}
/* input, target, reduction, ignore_index, label_smoothing */
int jpy_bind_cross_entropy(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(cross_entropy), a, 2) < 0)
        return -1;
    janus_cross_entropy_attrs *s = ATTRS(janus_cross_entropy_attrs);
    if (a[4]) {
        s->label_smoothing = PyFloat_AsDouble(a[4]);
        if (PyErr_Occurred())
            return -1;
    }
    return reduction(a[2], &s->reduction) < 0 || jpy_int_arg(a[3], &s->ignore_index) < 0 ? -1 : 0;
}
int jpy_bind_nll_loss(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(nll_loss), a, 2) < 0)
        return -1;
    janus_nll_loss_attrs *s = ATTRS(janus_nll_loss_attrs);
    return reduction(a[2], &s->reduction) < 0 || jpy_int_arg(a[3], &s->ignore_index) < 0 ? -1 : 0;
}
int jpy_bind_mse_loss(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(mse_loss), a, 2) < 0)
        return -1;
    return reduction(a[2], &ATTRS(janus_mse_loss_attrs)->reduction);
}
int jpy_bind_bce_with_logits(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(bce_with_logits), a, 2) < 0)
        return -1;
    return reduction(a[2], &ATTRS(janus_bce_with_logits_attrs)->reduction);
}
int jpy_bind_smooth_l1(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(smooth_l1), a, 2) < 0)
        return -1;
    janus_smooth_l1_attrs *s = ATTRS(janus_smooth_l1_attrs);
    if (a[3]) {
        s->beta = PyFloat_AsDouble(a[3]);
        if (PyErr_Occurred())
            return -1;
    }
    return reduction(a[2], &s->reduction);
}
/* input, weight, bias, eps: with the batch's statistics */
int jpy_bind_batch_norm(jpy_bound *b, PyObject *const *a) {
    PyObject *in[5] = {a[0], a[1], a[2], NULL, NULL};
    if (jpy_use(b, JN_OP(batch_norm), in, 5) < 0)
        return -1;
    if (a[3]) {
        ATTRS(janus_batch_norm_attrs)->eps = PyFloat_AsDouble(a[3]);
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}
/* input, normalized_shape, weight, bias, eps */
int jpy_bind_layer_norm(jpy_bound *b, PyObject *const *a) {
    PyObject *in[3] = {a[0], a[2], a[3]};
    janus_ints shape = {NULL, 0};
    jn_type t;
    if (jpy_type_of(b, a[0], &t) < 0 || jpy_ints_arg(b, a[1], &shape) < 0 ||
        jpy_use(b, JN_OP(layer_norm), in, 3) < 0)
        return -1;
    bool fits = (int64_t)shape.n <= t.rank && shape.n > 0;
    for (size_t i = 0; fits && i < shape.n; i++)
        fits = t.dims[(size_t)t.rank - shape.n + i] < 0 ||
               t.dims[(size_t)t.rank - shape.n + i] == shape.data[i];
    if (!fits) {
        PyErr_Format(PyExc_RuntimeError,
                     "layer_norm: the last dims of the input do not match normalized_shape %R",
                     a[1]);
        return -1;
    }
    janus_layer_norm_attrs *s = ATTRS(janus_layer_norm_attrs);
    s->axis = -(int64_t)shape.n;
    b->result = JPY_RESULT_FIRST;
    if (a[4]) {
        s->eps = PyFloat_AsDouble(a[4]);
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}
/* query, key, value, mask, causal, scale */
int jpy_bind_attention(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(attention), a, 4) < 0)
        return -1;
    janus_attention_attrs *s = ATTRS(janus_attention_attrs);
    b->result = JPY_RESULT_FIRST;
    if (a[4])
        s->causal = PyObject_IsTrue(a[4]) > 0;
    if (a[5]) {
        s->scale = PyFloat_AsDouble(a[5]);
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}
