# SPDX-License-Identifier: Apache-2.0
"""Normalisation of groups and instances, dropout of channels, and losses, as functions over other ops."""
from .. import _C, _random
from .._shape import broadcast_tensors


def affine(x, weight, bias):
    """x times a weight and plus a bias for each channel, where there are any."""
    shape = [1, -1] + [1] * (x.dim() - 2)
    if weight is not None:
        x = x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Normalises each example's channels in groups, then scales and shifts each channel."""
    n, channels = input.shape[0], input.shape[1]
    if channels % num_groups:
        raise ValueError("Expected number of channels in input to be divisible by num_groups, but got input of shape "
                         f"{list(input.shape)} and num_groups={num_groups}")
    size = input.numel() // (n * num_groups) if n else 1
    if input.numel() // num_groups == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(input.shape)}")
    return _by_rows(input, num_groups, size, weight, bias, eps)


def _by_rows(input, num_groups, size, weight, bias, eps):
    """group_norm() where sizes are known to be fine."""
    n = input.shape[0]
    rows = _C.layer_norm(input.reshape(n * num_groups, size), (size,), None, None, eps)
    return affine(rows.reshape(input.shape), weight, bias)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True,
                  momentum=0.1, eps=1e-5):
    """Normalises each channel of each example by its own mean and variance, or by the running ones."""
    places = 1
    for size in input.shape[2:]:
        places *= size
    if use_input_stats and places == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    if not use_input_stats:
        input.size(1)  # the channels
        shape = [1, -1] + [1] * (input.dim() - 2)
        return affine((input - running_mean.reshape(shape)) * (running_var.reshape(shape) + eps).rsqrt(), weight, bias)
    if running_mean is not None:
        with _C.no_grad():
            rows = input.reshape(input.shape[0], input.shape[1], -1)
            running_mean.mul_(1 - momentum).add_(rows.mean(2).mean(0), alpha=momentum)
            running_var.mul_(1 - momentum).add_(rows.var(2).mean(0), alpha=momentum)
    return _by_rows(input, input.shape[1], places, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Divides by the root of the mean square over the last dims."""
    if not len(normalized_shape):
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                           "element, but got normalized_shape = []")
    dims = list(range(-len(normalized_shape), 0))
    eps = (2.0 ** -52 if input.dtype is _C.float64 else 2.0 ** -23) if eps is None else eps
    y = input * ((input * input).mean(dims, keepdim=True) + eps).rsqrt()
    return y if weight is None else y * weight


def _channel_dropout(input, p, training, inplace, n):
    """Zeroes whole channels: all but the dims before the last n are dropped together."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    kept = _C.ones(tuple(input.shape[:-n]) + (1,) * n, dtype=input.dtype, device=input.device)
    kept = _random.dropout(kept, p)
    return input.mul_(kept) if inplace else input * kept


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Zeroes channels of [N, C, L] with probability p and scales the others."""
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input.")
    return _channel_dropout(input, p, training, inplace, 1)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Zeroes channels of [N, C, H, W] with probability p and scales the others."""
    return _channel_dropout(input, p, training, inplace, 2)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Zeroes channels of [N, C, D, H, W] with probability p and scales the others."""
    return _channel_dropout(input, p, training, inplace, 3)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Divides by the p-norm over `dim`, or by eps where that is smaller."""
    if out is not None:
        raise NotImplementedError("normalize(): out is not supported")
    return input / input.norm(p, dim, True).clamp(min=eps)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """Products of vectors along `dim`, each divided by its norm, or by eps where that is smaller."""
    # The limit has no gradient of its own: that of the norm goes on below eps, as in PyTorch.
    x1, x2 = broadcast_tensors(x1, x2)
    first, second = x1.norm(2.0, dim, True), x2.norm(2.0, dim, True)
    with _C.no_grad():
        low_first, low_second = first.clamp(min=eps) - first, second.clamp(min=eps) - second
    return (x1 / (first + low_first) * (x2 / (second + low_second))).sum(dim)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """p-norm of the differences along the last dim."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)
