# SPDX-License-Identifier: Apache-2.0
"""Normalisation of groups and instances, dropout of channels, and losses, as functions over other ops."""
from .. import _C, _random


def _affine(x, weight, bias):
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
    rows = _C.layer_norm(input.reshape(n * num_groups, size), (size,), None, None, eps)
    return _affine(rows.reshape(input.shape), weight, bias)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True,
                  momentum=0.1, eps=1e-5):
    """Normalises each channel of each example by its own mean and variance, or by the running ones."""
    if not use_input_stats:
        shape = [1, -1] + [1] * (input.dim() - 2)
        return _affine((input - running_mean.reshape(shape)) * (running_var.reshape(shape) + eps).rsqrt(), weight, bias)
    if running_mean is not None:
        with _C.no_grad():
            rows = input.reshape(input.shape[0], input.shape[1], -1)
            running_mean.mul_(1 - momentum).add_(rows.mean(2).mean(0), alpha=momentum)
            running_var.mul_(1 - momentum).add_(rows.var(2).mean(0), alpha=momentum)
    return group_norm(input, input.shape[1], weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Divides by the root of the mean square over the last dims."""
    dims = list(range(-len(normalized_shape), 0))
    eps = (2.0 ** -52 if input.dtype is _C.float64 else 2.0 ** -23) if eps is None else eps
    y = input * ((input * input).mean(dims, keepdim=True) + eps).rsqrt()
    return y if weight is None else y * weight


def _channel_dropout(input, p, training, n):
    """Zeroes whole channels: all but the dims before the last n are dropped together."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    kept = _C.ones(tuple(input.shape[:-n]) + (1,) * n, dtype=input.dtype, device=input.device)
    return input * _random.dropout(kept, p)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Zeroes channels of [N, C, L] with probability p and scales the others."""
    return _channel_dropout(input, p, training, 1)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Zeroes channels of [N, C, H, W] with probability p and scales the others."""
    return _channel_dropout(input, p, training, 2)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """Products of vectors along `dim` over the product of their norms."""
    norms = (x1 * x1).sum(dim).sqrt().clamp(min=eps) * (x2 * x2).sum(dim).sqrt().clamp(min=eps)
    return (x1 * x2).sum(dim) / norms


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """p-norm of the differences along the last dim."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def _wide(tensor):
    """In float32 under autocast."""
    return _C._autocast(tensor, False)


def _reduced(loss, reduction):
    if reduction == "none":
        return loss
    if reduction not in ("mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return loss.mean() if reduction == "mean" else loss.sum()


def huber_loss(input, target, reduction="mean", delta=1.0):
    """Half the squared difference up to `delta`, linear beyond."""
    gap = (_wide(input) - _wide(target)).abs()
    return _reduced(_C.where(gap <= delta, 0.5 * gap * gap, delta * (gap - 0.5 * delta)), reduction)


def poisson_nll_loss(input, target, log_input=True, eps=1e-8, reduction="mean"):
    """Negative log likelihood of counts, without the term of the target alone."""
    input, target = _wide(input), _wide(target)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    return _reduced(loss, reduction)


def gaussian_nll_loss(input, target, var, eps=1e-6, reduction="mean"):
    """Negative log likelihood of normal distributions, without the constant."""
    var = var.clamp(min=eps)
    return _reduced(0.5 * (var.log() + (input - target) ** 2 / var), reduction)


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction="mean"):
    """max(0, -target (input1 - input2) + margin)."""
    input1, input2, target = _wide(input1), _wide(input2), _wide(target)
    return _reduced((-target * (input1 - input2) + margin).clamp(min=0.0), reduction)


def hinge_embedding_loss(input, target, margin=1.0, reduction="mean"):
    """input where target is 1, max(0, margin - input) where it is -1."""
    input = _wide(input)
    return _reduced(_C.where(target > 0, input, (margin - input).clamp(min=0.0)), reduction)


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction="mean"):
    """1 - cosine where target is 1, max(0, cosine - margin) where it is -1."""
    cosine = cosine_similarity(_wide(input1), _wide(input2), -1)
    return _reduced(_C.where(target > 0, 1 - cosine, (cosine - margin).clamp(min=0.0)), reduction)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, reduction="mean"):
    """max(0, distance to the positive - distance to the negative + margin)."""
    anchor, positive, negative = _wide(anchor), _wide(positive), _wide(negative)
    gap = pairwise_distance(anchor, positive, p, eps) - pairwise_distance(anchor, negative, p, eps)
    return _reduced((gap + margin).clamp(min=0.0), reduction)
