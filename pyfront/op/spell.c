/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of spellings: name, parameters ("x=" optional, "*x" collects, "x|y" is y, too), binder,
 * where it is offered (1 function, 2 method, 4 also in place); and what binders share.
 */
#include "config.h"

#include "pyfront/op/spell.h"

int jpy_use(jpy_bound *b, const jn_op *op, PyObject *const *a, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        b->in[i] = (jpy_operand){.o = a[i]};
    b->n_in = n;
    return jpy_bound_op(b, op);
}

int jpy_type_of(jpy_bound *b, PyObject *o, jn_type *out) {
    if (jpy_tensor_check(o)) {
        *out = jn_tensor_as_type(((jpy_tensor *)o)->t);
        return 0;
    }
    if (b->type_of && b->type_of(b->ctx, o, out))
        return 0;
    PyErr_Format(PyExc_TypeError, "expected a Tensor, not %s", Py_TYPE(o)->tp_name);
    return -1;
}

int jpy_take_dtype(jpy_bound *b, PyObject *o) {
    janus_dtype d;
    int rc = jpy_dtype_parse(o, &d);
    if (rc > 0)
        b->cast_first = d;
    return rc < 0 ? -1 : 0;
}

const jpy_spelling jpy_spellings[] = {
    {"sum", "input, dim=, keepdim=, *, dtype=", jpy_bind_sum, 3, "Sum, of all or along dims."},
    {"mean", "input, dim=, keepdim=, *, dtype=", jpy_bind_mean, 3, "Mean, of all or along dims."},
    {"prod", "input, dim=, keepdim=, *, dtype=", jpy_bind_prod, 3,
     "Product, of all or along a dim."},
    {"any", "input, dim=, keepdim=", jpy_bind_any, 3, "Whether some element is true."},
    {"all", "input, dim=, keepdim=", jpy_bind_all, 3, "Whether every element is true."},
    {"amax", "input, dim=, keepdim=", jpy_bind_amax, 3, "Largest value."},
    {"amin", "input, dim=, keepdim=", jpy_bind_amin, 3, "Smallest value."},
    {"logsumexp", "input, dim, keepdim=", jpy_bind_logsumexp, 3, "log(sum(exp(x)))."},
    {"max", "input, dim|other=, keepdim=", jpy_bind_max, 3,
     "Largest: of all, along dim, or pairwise."},
    {"min", "input, dim|other=, keepdim=", jpy_bind_min, 3,
     "Smallest: of all, along dim, or pairwise."},
    {"argmax", "input, dim=, keepdim=", jpy_bind_argmax, 3, "Index of the largest."},
    {"argmin", "input, dim=, keepdim=", jpy_bind_argmin, 3, "Index of the smallest."},
    {"var", "input, dim=, unbiased=, keepdim=, *, correction=", jpy_bind_var, 3, "Variance."},
    {"norm", "input, p=, dim=, keepdim=", jpy_bind_norm, 3, "p-norm."},
    {"softmax", "input, dim, dtype=", jpy_bind_softmax, 3, "exp(x) / sum(exp(x)) along dim."},
    {"log_softmax", "input, dim, dtype=", jpy_bind_log_softmax, 3, "log(softmax(x)) along dim."},
    {"cumsum", "input, dim", jpy_bind_cumsum, 3, "Running sum along dim."},
    {"sort", "input, dim=, descending=, *, stable=", jpy_bind_sort, 3,
     "Sorted values and their indices."},
    {"argsort", "input, dim=, descending=, *, stable=", jpy_bind_argsort, 3,
     "The indices that sort."},
    {"topk", "input, k, dim=, largest=, sorted=", jpy_bind_topk, 3, "The k largest, and indices."},
    {"reshape", "input, *shape", jpy_bind_reshape, 3, "The same elements in another shape."},
    {"view", "input, *shape|size", jpy_bind_view, 2, "The same memory in another shape."},
    {"view_as", "input, other", jpy_bind_view_as, 2, "In the shape of another tensor."},
    {"reshape_as", "input, other", jpy_bind_reshape_as, 2, "In the shape of another tensor."},
    {"expand_as", "input, other", jpy_bind_expand_as, 2, "Broadcast to another tensor's shape."},
    {"permute", "input, *dims", jpy_bind_permute, 3, "Dims in another order."},
    {"expand", "input, *sizes|size", jpy_bind_expand, 2,
     "Dims of size 1 repeated, without a copy."},
    {"repeat", "input, *repeats", jpy_bind_repeat, 2, "The tensor repeated along each dim."},
    {"flip", "input, *dims", jpy_bind_flip, 3, "Order reversed along dims."},
    {"flatten", "input, start_dim=, end_dim=", jpy_bind_flatten, 3, "A range of dims made one."},
    {"squeeze", "input, dim=", jpy_bind_squeeze, 3, "Dims of size 1 removed."},
    {"unsqueeze", "input, dim", jpy_bind_unsqueeze, 3, "A dim of size 1 inserted."},
    {"t", "input", jpy_bind_t, 3, "A matrix transposed."},
    {"transpose", "input, dim0, dim1", jpy_bind_transpose, 3, "Two dims swapped."},
    {"swapaxes", "input, dim0, dim1", jpy_bind_transpose, 3, "Two dims swapped."},
    {"cat", "tensors, dim=", jpy_bind_cat, 1, "Tensors joined along dim."},
    {"concat", "tensors, dim=", jpy_bind_cat, 1, "Tensors joined along dim."},
    {"stack", "tensors, dim=", jpy_bind_stack, 1, "Tensors joined along a new dim."},
    {"select", "input, dim, index", jpy_bind_select, 3, "The slice at index along dim."},
    {"narrow", "input, dim, start, length", jpy_bind_narrow, 3, "A stretch along dim."},
    {"roll", "input, shifts, dims=", jpy_bind_roll, 3, "Elements shifted around."},
    {"gather", "input, dim, index", jpy_bind_gather, 3, "Elements at indices along dim."},
    {"index_select", "input, dim, index", jpy_bind_index_select, 3, "Slices at indices along dim."},
    {"scatter", "input, dim, index, src=, value=", jpy_bind_scatter, 7, "src written at indices."},
    {"scatter_add", "input, dim, index, src", jpy_bind_scatter_add, 7, "src added at indices."},
    {"index_add", "input, dim, index, source", jpy_bind_index_add, 7, "Slices added at indices."},
    {"where", "input, condition, other", jpy_bind_where, 2,
     "input where condition holds, else other."},
    {"clamp", "input, min=, max=", jpy_bind_clamp, 7, "Limited to [min, max]."},
    {"clip", "input, min=, max=", jpy_bind_clamp, 7, "Limited to [min, max]."},
    {"clamp_min", "input, min", jpy_bind_clamp_min, 7, "At least min."},
    {"clamp_max", "input, max", jpy_bind_clamp_max, 7, "At most max."},
    {"add", "input, other, legacy=, *, alpha=", jpy_bind_add, 7, "input + alpha * other."},
    {"sub", "input, other, legacy=, *, alpha=", jpy_bind_sub, 7, "input - alpha * other."},
    {"div", "input, other, *, rounding_mode=", jpy_bind_div, 7, "input / other."},
    {"addcmul", "input, tensor1, tensor2, legacy=, *, value=", jpy_bind_addcmul, 7,
     "input + value * t1 * t2."},
    {"addcdiv", "input, tensor1, tensor2, legacy=, *, value=", jpy_bind_addcdiv, 7,
     "input + value * t1 / t2."},
    {"addcdiv_sqrt", "input, tensor1, square, *, value=, eps=", jpy_bind_addcdiv_sqrt, 7,
     "input + value * t1 / (sqrt(square) + eps), input where t1 is 0."},
    {"gelu", "input, *, approximate=", jpy_bind_gelu, 3,
     "x times the normal distribution function."},
    {"float", "input", jpy_bind_float, 2, "As float32."},
    {"double", "input", jpy_bind_double, 2, "As float64."},
    {"int", "input", jpy_bind_int, 2, "As int32."},
    {"long", "input", jpy_bind_long, 2, "As int64."},
    {"bool", "input", jpy_bind_bool, 2, "As bool."},
    {"byte", "input", jpy_bind_byte, 2, "As uint8."},
    {"half", "input", jpy_bind_half, 2, "As float16."},
    {"bfloat16", "input", jpy_bind_bfloat16, 2, "As bfloat16."},
    {"_autocast", "input, lower", jpy_bind_autocast, 1, "The cast that autocast wants."},
    {"type_as", "input, other", jpy_bind_type_as, 2, "With another tensor's dtype."},
    {"to", "input, dtype=, device=, other=, spare=, non_blocking=, copy=", jpy_bind_to, 2,
     "With another dtype or device."},
    {"cpu", "input", jpy_bind_cpu, 2, "In host memory, where it is."},
    {"contiguous", "input", jpy_bind_contiguous, 2, "Row-major: itself or a copy."},
    {"clone", "input, *, memory_format=", jpy_bind_clone, 3, "A copy, with history."},
    {"mm", "input, mat2", jpy_bind_mm, 3, "Product of matrices."},
    {"bmm", "input, mat2", jpy_bind_bmm, 3, "Products of batches of matrices."},
    {"mv", "input, vec", jpy_bind_mv, 3, "Matrix times vector."},
    {"conv2d", "input, weight, bias=, stride=, padding=, dilation=, groups=", jpy_bind_conv2d, 1,
     "2-D cross-correlation, NCHW."},
    {"_conv2d_input_grad", "input, weight, like, stride=, padding=, dilation=, groups=",
     jpy_bind_conv2d_input_grad, 1, "The gradient of conv2d for its input, which is like that."},
    {"max_pool2d", "input, kernel_size, stride=, padding=, dilation=, ceil_mode=",
     jpy_bind_max_pool2d, 1, "The largest of each window."},
    {"avg_pool2d", "input, kernel_size, stride=, padding=, ceil_mode=, count_include_pad=",
     jpy_bind_avg_pool2d, 1, "The mean of each window."},
    {"cross_entropy", "input, target, *, reduction=, ignore_index=, label_smoothing=",
     jpy_bind_cross_entropy, 1, "log_softmax and negative log likelihood."},
    {"nll_loss", "input, target, *, reduction=, ignore_index=", jpy_bind_nll_loss, 1,
     "Negative log likelihood."},
    {"mse_loss", "input, target, *, reduction=", jpy_bind_mse_loss, 1, "Squared difference."},
    {"bce_with_logits", "input, target, *, reduction=", jpy_bind_bce_with_logits, 1,
     "Binary cross entropy of sigmoid(input)."},
    {"smooth_l1", "input, target, *, reduction=, beta=", jpy_bind_smooth_l1, 1,
     "Squared below beta, absolute above."},
    {"batch_norm", "input, weight=, bias=, eps=", jpy_bind_batch_norm, 1,
     "Normalised per channel by the batch's statistics: y, mean, 1/std."},
    {"layer_norm", "input, normalized_shape, weight=, bias=, eps=", jpy_bind_layer_norm, 1,
     "Normalised over the last dims."},
    {"attention", "query, key, value, mask=, causal=, scale=", jpy_bind_attention, 1,
     "softmax(query key^T scale + mask) value."},
    {NULL, NULL, NULL, 0, NULL},
};
