# SPDX-License-Identifier: Apache-2.0
"""Layers as functions: PyTorch's names, argument order and defaults over the ops of janus._C.

Each function is a few ops and no state, so the eager run and a graph of it are the same text.
"""
import math

from .. import _C, _random
from ._activations import (celu, glu, gumbel_softmax, hardshrink, hardsigmoid, hardswish, hardtanh, logsigmoid, mish,
                           prelu, relu6, selu, softmin, softshrink, softsign, tanhshrink, threshold)
from ._norms import (cosine_embedding_loss, cosine_similarity, dropout1d, dropout2d, gaussian_nll_loss, group_norm,
                     hinge_embedding_loss, huber_loss, instance_norm, margin_ranking_loss, pairwise_distance,
                     poisson_nll_loss, rms_norm, triplet_margin_loss)
from ._spatial import (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_max_pool1d, adaptive_max_pool2d, avg_pool1d,
                       conv1d, conv_transpose1d, conv_transpose2d, interpolate, max_pool1d, pad, pixel_shuffle,
                       pixel_unshuffle, unfold, upsample)

# Ops that are functions already.
conv2d = _C.conv2d
relu = _C.relu
sigmoid = _C.sigmoid
tanh = _C.tanh


def linear(input, weight, bias=None):
    """`input weight^T + bias`, over the last dimension of `input`."""
    return _C.linear(input, weight, bias)


def embedding(input, weight, padding_idx=None, sparse=False):
    """Rows of `weight`, one for each index; the row `padding_idx` gets no gradient."""
    if padding_idx is None:
        return _C.embedding(weight, input)
    return _C.embedding(weight, input, padding_idx % weight.shape[0])


def one_hot(tensor, num_classes=-1):
    """Indices as rows of zeros with a one; `num_classes=-1` takes the largest index plus one."""
    if num_classes < 0:
        num_classes = int(tensor.max()) + 1
    return _C.one_hot(tensor, num_classes)


# Activations.

def gelu(input, approximate="none"):
    """x times the normal distribution function of x, exact or by tanh."""
    return _C.gelu(input, approximate=approximate)


def silu(input, inplace=False):
    """x sigmoid(x)."""
    return _C.silu(input)


def softplus(input):
    """log(1 + exp(x))."""
    return _C.softplus(input)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x where positive, negative_slope x elsewhere."""
    return _C.leaky_relu(input, negative_slope)


def elu(input, alpha=1.0, inplace=False):
    """x where positive, alpha (exp(x) - 1) elsewhere."""
    return _C.elu(input, alpha)


def softmax(input, dim, dtype=None):
    """exp(x) divided by its sum over `dim`."""
    return _C.softmax(input if dtype is None else input.to(dtype), dim)


def log_softmax(input, dim, dtype=None):
    """log(softmax(x)) over `dim`."""
    return _C.log_softmax(input if dtype is None else input.to(dtype), dim)


# Pooling.

def _pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The largest value of each window."""
    kernel = _pair(kernel_size)
    return _C.max_pool2d(input, kernel, kernel if stride is None else _pair(stride), _pair(padding), _pair(dilation),
                         ceil_mode)


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window; padding counts as zeros unless `count_include_pad` is false."""
    kernel = _pair(kernel_size)
    return _C.avg_pool2d(input, kernel, kernel if stride is None else _pair(stride), _pair(padding),
                         ceil_mode, count_include_pad)


# Normalisation and dropout.

def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Normalises each channel (dimension 1) over all others.

    In training with the batch's own mean and variance, which also move the running ones in place;
    otherwise with the running ones.
    """
    if not training and running_mean is not None:
        shape = [1, -1] + [1] * (input.dim() - 2)
        scale = (running_var + eps).rsqrt()
        if weight is not None:
            scale = scale * weight
        shift = -running_mean * scale
        if bias is not None:
            shift = shift + bias
        return input * scale.reshape(shape) + shift.reshape(shape)
    count = input.numel() // input.shape[1]
    if count == 1 and training:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {tuple(input.shape)}")
    out, mean, invstd = _C.batch_norm(input, weight, bias, eps)
    if training and running_mean is not None:
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
    return _random.dropout(input, p)


# Losses: in float32 under autocast.

def _wide(tensor):
    return _C._autocast(tensor, False)


def _reduce(loss, reduction):
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """Cross entropy of scores [N, C, ...] with class numbers [N, ...]."""
    if weight is not None:
        return nll_loss(log_softmax(input, 1), target, weight, ignore_index, reduction)
    return _C.cross_entropy(input, target, reduction=reduction, ignore_index=ignore_index,
                            label_smoothing=label_smoothing)


def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    """Minus the log-probability of the target class, `input` being log-probabilities [N, C, ...]."""
    if weight is None:
        return _C.nll_loss(input, target, reduction=reduction, ignore_index=ignore_index)
    input, weight = _wide(input), _wide(weight)
    kept = target != ignore_index
    index = target.masked_fill(target == ignore_index, 0)
    scale = weight[index] * kept.to(input.dtype)
    loss = -input.gather(1, index.unsqueeze(1)).squeeze(1) * scale
    return loss.sum() / scale.sum() if reduction == "mean" else _reduce(loss, reduction)


def mse_loss(input, target, reduction="mean"):
    """Squared difference."""
    return _C.mse_loss(input, target, reduction=reduction)


def l1_loss(input, target, reduction="mean"):
    """Absolute difference."""
    return _reduce((_wide(input) - _wide(target)).abs(), reduction)


def smooth_l1_loss(input, target, reduction="mean", beta=1.0):
    """Squared difference below `beta`, absolute above."""
    gap = (_wide(input) - _wide(target)).abs()
    return _reduce(_C.where(gap < beta, 0.5 * gap * gap / beta, gap - 0.5 * beta), reduction)


def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    """Cross entropy of probabilities with targets in [0, 1]; logarithms end at -100."""
    input, target = _wide(input), _wide(target)
    loss = -(target * input.log().clamp(min=-100.0) + (1 - target) * (1 - input).log().clamp(min=-100.0))
    return _reduce(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, reduction="mean", pos_weight=None):
    """The same of scores instead of probabilities, safe for large ones."""
    input, target = _wide(input), _wide(target)
    if pos_weight is None:
        loss = softplus(input) - input * target
    else:
        loss = (1 - target) * input + (1 + (pos_weight - 1) * target) * softplus(-input)
    return _reduce(loss if weight is None else loss * weight, reduction)


def kl_div(input, target, reduction="mean", log_target=False):
    """target (log target - input), `input` being log-probabilities."""
    input, target = _wide(input), _wide(target)
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = _C.where(target > 0, target * (target.clamp(min=1e-45).log() - input), _C.zeros_like(target))
    if reduction == "batchmean":
        return loss.sum() / input.shape[0]
    return _reduce(loss, reduction)


# Others.

def normalize(input, p=2.0, dim=1, eps=1e-12):
    """Divides by the p-norm over `dim`, or by eps where that is smaller."""
    norm = input.abs().pow(p).sum(dim, keepdim=True).pow(1.0 / p)
    return input / norm.clamp(min=eps)


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
