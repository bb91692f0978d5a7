# SPDX-License-Identifier: Apache-2.0
"""Layers as functions: PyTorch's names, argument order and defaults over the ops of janus._C.

Each function is a few ops and no state, so the eager run and a graph of it are the same text.
"""
import math

from .. import _C, _random
from ._activations import (celu, elu, elu_, glu, gumbel_softmax, hardshrink, hardsigmoid, hardswish, hardtanh,
                           hardtanh_, in_place, leaky_relu, leaky_relu_, log_softmax, logsigmoid, mish, prelu, relu,
                           relu6, relu_, selu, silu, softmax, softmin, softplus, softshrink, softsign, tanhshrink,
                           threshold, threshold_)
from ._losses import (binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding_loss, cross_entropy,
                      gaussian_nll_loss, hinge_embedding_loss, huber_loss, kl_div, l1_loss, margin_ranking_loss,
                      mse_loss, nll_loss, poisson_nll_loss, smooth_l1_loss, triplet_margin_loss)
from ._margins import (bilinear, multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss, soft_margin_loss,
                       triplet_margin_with_distance_loss)
from ._norms import (affine, cosine_similarity, dropout1d, dropout2d, dropout3d, group_norm, instance_norm, normalize,
                     pairwise_distance, rms_norm)
from ._sampling import (affine_grid, alpha_dropout, ctc_loss, embedding_bag, fold, grid_sample, local_response_norm)
from ._spatial import (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_max_pool1d, adaptive_max_pool2d, avg_pool1d,
                       conv1d, conv_transpose1d, conv_transpose2d, interpolate, max_pool1d, pad, pixel_shuffle,
                       pixel_unshuffle, unfold, upsample)
from ._volumes import (adaptive_avg_pool3d, adaptive_max_pool3d, avg_pool3d, conv3d, conv_transpose3d, max_pool3d)

# Ops that are functions already.
conv2d = _C.conv2d
sigmoid = _C.sigmoid
tanh = _C.tanh


def linear(input, weight, bias=None):
    """`input weight^T + bias`, over the last dimension of `input`."""
    return _C.linear(input, weight, bias)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Rows of `weight`, one for each index; the row `padding_idx` gets no gradient."""
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError("embedding(): max_norm and scale_grad_by_freq are not supported")
    if padding_idx is None:
        return _C.embedding(weight, input)
    rows = weight.shape[0]
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return _C.embedding(weight, input, padding_idx % rows)


def one_hot(tensor, num_classes=-1):
    """Indices as rows of zeros with a one; `num_classes=-1` takes the largest index plus one."""
    if num_classes < 0:
        num_classes = int(tensor.max()) + 1
    return _C.one_hot(tensor, num_classes)


# Activations.

def gelu(input, approximate="none"):
    """x times the normal distribution function of x, exact or by tanh."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _C.gelu(input, approximate=approximate)


# Pooling.

def _pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The largest value of each window."""
    kernel = _pair(kernel_size)
    if not input.dtype.is_floating_point:  # by way of a float that keeps integers
        return max_pool2d(input.double(), kernel_size, stride, padding, dilation, ceil_mode).to(input.dtype)
    return _C.max_pool2d(input, kernel, kernel if stride is None else _pair(stride), _pair(padding), _pair(dilation),
                         ceil_mode)


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window; padding counts as zeros unless `count_include_pad` is false."""
    kernel = _pair(kernel_size)
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"avg_pool2d() is not implemented for {input.dtype}")
    return _C.avg_pool2d(input, kernel, kernel if stride is None else _pair(stride), _pair(padding),
                         ceil_mode, count_include_pad)


# Normalisation and dropout.

def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Normalises each channel (dimension 1) over all others.

    In training with the batch's own mean and variance, which also move the running ones in place;
    otherwise with the running ones.
    """
    if input.dim() < 2:
        raise RuntimeError(f"batch_norm expects a batch dim and a channel dim, but got input size {tuple(input.shape)}")
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("running_mean must be defined in evaluation mode")
    for name, t in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if t is not None and t.numel() != input.shape[1]:
            raise RuntimeError(f"{name} should contain {input.shape[1]} elements not {t.numel()}")
    if not training:
        shape = [1, -1] + [1] * (input.dim() - 2)
        scale = (running_var + eps).rsqrt()
        if weight is not None:
            scale = scale * weight
        shift = -running_mean * scale
        if bias is not None:
            shift = shift + bias
        return input * scale.reshape(shape) + shift.reshape(shape)
    if input.shape[0] == 0:
        return affine(input, weight, bias)
    count = input.numel() // max(input.shape[1], 1)
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {tuple(input.shape)}")
    out, mean, invstd = _C.batch_norm(input, weight, bias, eps)
    if running_mean is not None and count:
        with _C.no_grad():
            var = 1.0 / (invstd * invstd) - eps
            running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
            running_var.mul_(1 - momentum).add_(var, alpha=momentum * count / (count - 1))
    return out


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalises over the last dimensions, whose sizes `normalized_shape` gives."""
    return _C.layer_norm(input, tuple(normalized_shape), weight, bias, eps)


def dropout(input, p=0.5, training=True, inplace=False):
    """In training zeroes each element with probability p and scales the others by 1/(1-p)."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    return in_place(_random.dropout, input, p) if inplace else _random.dropout(input, p)


# Others.

def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    """softmax(query key^T scale + mask) value; a bool mask is true where attention is allowed."""
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if dropout_p == 0 and scale != 0:
        return _C.attention(query, key, value, attn_mask, is_causal, 0.0 if scale is None else scale)
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        allowed = _C.ones(scores.shape[-2], scores.shape[-1], dtype=_C.bool).tril()
        scores = scores.masked_fill(allowed.logical_not(), -math.inf)
    if attn_mask is not None:
        if attn_mask.dtype == _C.bool:
            scores = scores.masked_fill(attn_mask.logical_not(), -math.inf)
        else:
            scores = scores + attn_mask
    return dropout(softmax(scores, -1), dropout_p) @ value
