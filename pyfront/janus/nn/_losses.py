# SPDX-License-Identifier: Apache-2.0
"""Losses as functions over other ops, with PyTorch's arguments in PyTorch's order; float32 under autocast."""
import math

from .. import _C
from ._norms import pairwise_distance


def _wide(tensor):
    return _C._autocast(tensor, False)


def legacy_reduction(size_average, reduce, reduction):
    """The name of a reduction where it is given as PyTorch did before there were names."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        return "none"
    return "mean" if size_average is None or size_average else "sum"


def _reduced(loss, reduction, size_average=None, reduce=None):
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def _weighted(loss, weight, reduction):
    """Reduced with a weight for each element; the mean is over the weights."""
    if weight is None:
        return _reduced(loss, reduction)
    if tuple(weight.shape) != tuple(loss.shape):
        raise ValueError("Inputs and weights must have the same size.")
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else _reduced(loss, reduction)


def _class_axis(input):
    return 0 if input.dim() == 1 else 1


def _check_classes(input, target, weight):
    """ValueError and RuntimeError where scores, class numbers and weights do not go together."""
    axis = _class_axis(input)
    expected = tuple(input.shape[:axis]) + tuple(input.shape[axis + 1:])
    if axis and target.dim() and input.shape[0] != target.shape[0]:
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
                         f"({target.shape[0]}).")
    if tuple(target.shape) != expected:
        raise RuntimeError(f"Expected target size {list(expected)}, got {list(target.shape)}")
    if weight is not None:
        if weight.dim() != 1 or weight.shape[0] != input.shape[axis]:
            raise RuntimeError(f"weight tensor should be defined either for all {input.shape[axis]} classes or no "
                               f"classes but got weight tensor of shape: {list(weight.shape)}")
        if weight.dtype != input.dtype:
            raise RuntimeError(f"expected scalar type {input.dtype} but found {weight.dtype}")


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                  label_smoothing=0.0):
    """Cross entropy of scores [N, C, ...] with class numbers [N, ...], or with probabilities of the scores' shape."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target.dtype.is_floating_point and ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    if weight is None:
        return _C.cross_entropy(input, target, reduction=reduction, ignore_index=ignore_index,
                                label_smoothing=label_smoothing)
    if target.dtype.is_floating_point:
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    input, weight = _wide(input), _wide(weight)
    scores = _C.log_softmax(input, _class_axis(input))
    loss = nll_loss(scores, target, weight, None, ignore_index, None, reduction)
    if label_smoothing == 0:
        return loss
    axis = _class_axis(input)
    classes = input.shape[axis]
    smooth = -(scores * weight.reshape([-1] + [1] * (input.dim() - axis - 1))).sum(axis)
    ignored = target == ignore_index
    smooth = smooth.masked_fill(ignored, 0.0)
    if reduction == "mean":
        smooth = smooth.sum() / weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0).sum()
    else:
        smooth = _reduced(smooth, reduction)
    return (1 - label_smoothing) * loss + label_smoothing / classes * smooth


def _soft_cross_entropy(input, target, weight, reduction, label_smoothing):
    if tuple(input.shape) != tuple(target.shape):
        raise RuntimeError("Expected floating point type for target with class probabilities, with the shape of the "
                           f"input: got {list(target.shape)} and {list(input.shape)}")
    input, target = _wide(input), _wide(target)
    axis = _class_axis(input)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / input.shape[axis]
    loss = _C.log_softmax(input, axis) * target
    loss = loss * weight.reshape([-1] + [1] * (input.dim() - axis - 1))
    if reduction == "mean":
        return -loss.sum() / (input.numel() // max(input.shape[axis], 1))
    return -loss.sum(axis) if reduction == "none" else -_reduced(loss, reduction)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """Minus the log-probability of the target class, `input` being log-probabilities [N, C, ...]."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if weight is None:
        return _C.nll_loss(input, target, reduction=reduction, ignore_index=ignore_index)
    if target.dtype not in (_C.int64, _C.uint8):
        raise RuntimeError(f"expected target dtype to be int64 or uint8, but got {target.dtype}")
    input, weight = _wide(input), _wide(weight)
    _check_classes(input, target, weight)
    axis = _class_axis(input)
    ignored = target == ignore_index
    index = target.masked_fill(ignored, 0)
    scale = weight[index].masked_fill(ignored, 0.0)
    loss = (-input.gather(axis, index.unsqueeze(axis).long()).squeeze(axis) * scale).masked_fill(ignored, 0.0)
    return loss.sum() / scale.sum() if reduction == "mean" else _reduced(loss, reduction)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Squared difference."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if weight is None:
        return _C.mse_loss(input, target, reduction=reduction)
    return _weighted(_C.mse_loss(input, target, reduction="none"), weight, reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Absolute difference."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    return _weighted((_wide(input) - _wide(target)).abs(), weight, reduction)


def _piecewise(gap, bound, below, above):
    """`below` of the differences up to a bound, and of NaN, `above` of larger ones: `below` is not asked about those,
    where it may be infinite."""
    far = gap >= bound
    return _C.where(far, above(gap), below(_C.where(far, bound, gap)))


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared difference below `beta`, absolute above."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    gap = (_wide(input) - _wide(target)).abs()
    return _reduced(_piecewise(gap, beta, lambda d: 0.5 * d * d / beta, lambda d: d - 0.5 * beta), reduction)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Half the squared difference up to `delta`, linear beyond."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    gap = (_wide(input) - _wide(target)).abs()
    return _weighted(_piecewise(gap, delta, lambda d: 0.5 * d * d, lambda d: delta * (d - 0.5 * delta)), weight,
                     reduction)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Cross entropy of probabilities with targets in [0, 1]; logarithms end at -100."""
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
                         "deprecated. Please ensure they have the same size.")
    if not ((input >= 0) & (input <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    input, target = _wide(input), _wide(target)
    if target.dtype != input.dtype:
        raise RuntimeError(f"Found dtype {target.dtype} but expected {input.dtype}")
    # Next to 0 and 1 the slope (x - y) / (x (1 - x)) is that of a divisor of 1e-12, as PyTorch's is.
    spread = input.detach()
    ends = spread * (1 - spread) < 1e-12
    inside = input.masked_fill(ends, 0.5)
    loss = (target - 1) * (-inside).log1p().clamp(min=-100.0) - target * inside.log().clamp(min=-100.0)
    value = (target - 1) * (-spread).log1p().clamp(min=-100.0) - target * spread.log().clamp(min=-100.0)
    slope = ((spread - target.detach()) * 1e12).masked_fill(ends.logical_not(), 0.0)
    loss = _C.where(ends, value + slope * (input - spread), loss)
    return _reduced(loss if weight is None else loss * weight, reduction, size_average, reduce)


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean",
                                     pos_weight=None):
    """The same of scores instead of probabilities, safe for large ones."""
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    input, target = _wide(input), _wide(target)
    if pos_weight is None:
        loss = (1 - target) * input + _C.softplus(-input)
    else:
        loss = (1 - target) * input + (1 + (pos_weight - 1) * target) * _C.softplus(-input)
    return _reduced(loss if weight is None else loss * weight, reduction, size_average, reduce)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target (log target - input), `input` being log-probabilities."""
    if not (input.dtype.is_floating_point and target.dtype.is_floating_point):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    input, target = _wide(input), _wide(target)
    if log_target:
        loss = target.exp() * (target - input)
    else:
        zero = target == 0
        loss = (target * target.masked_fill(zero, 1.0).log()).masked_fill(zero, 0.0) - target * input
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.dim() else loss.sum()
    return _reduced(loss, reduction)


def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None,
                     reduction="mean"):
    """Negative log likelihood of counts; `full` adds Stirling's term of the target."""
    input, target = _wide(input), _wide(target)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        few = target <= 1
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(few, 0.0)
    return _reduced(loss, reduction, size_average, reduce)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Negative log likelihood of normal distributions; `full` adds the constant."""
    if isinstance(var, (int, float)):
        var = input.new_full(tuple(input.shape), float(var))
    shape = tuple(input.shape)
    if tuple(var.shape) != shape:
        if tuple(var.shape) == shape[:-1]:
            var = var.unsqueeze(-1)
        elif tuple(var.shape[:-1]) != shape[:-1] or var.dim() == 0 or var.shape[-1] != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    if (var < 0).any():
        raise ValueError("var has negative entry/entries")
    # The limit has no gradient of its own: the divisor's reaches var below eps, too.
    var = var + (var.detach().clamp(min=eps) - var.detach())
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target (input1 - input2) + margin)."""
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                           f"{input1.shape}, input2: {input2.shape}, target: {target.shape} ")
    input1, input2, target = _wide(input1), _wide(input2), _wide(target)
    return _reduced((-target * (input1 - input2) + margin).clamp(min=0.0), reduction, size_average, reduce)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where target is 1, max(0, margin - input) where it is -1, both of other targets."""
    input = _wide(input)
    apart = (margin - input).clamp(min=0.0).masked_fill(target == 1, 0.0)
    return _reduced(apart + input.masked_fill(target == -1, 0.0), reduction, size_average, reduce)


def cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """1 - cosine where target is 1, max(0, cosine - margin) where it is -1, 0 elsewhere."""
    if target.dim() not in (0, 1) or input1.dim() != target.dim() + 1 or input2.dim() != target.dim() + 1:
        raise RuntimeError(f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs "
                           f"with sizes {list(input1.shape)} and {list(input2.shape)}.")
    x, y = _wide(input1), _wide(input2)
    tiny = 1e-12
    cosine = (x * y).sum(-1) / (((x * x).sum(-1) + tiny) * ((y * y).sum(-1) + tiny)).sqrt()
    loss = (1 - cosine).masked_fill(target != 1, 0.0) + (cosine - margin).clamp(min=0.0).masked_fill(target != -1, 0.0)
    return _reduced(loss, reduction, size_average, reduce)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None,
                        reduce=None, reduction="mean"):
    """max(0, distance to the positive - distance to the negative + margin)."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of "
                           f"dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and negative "
                           f"{negative.dim()}D inputs")
    anchor, positive, negative = _wide(anchor), _wide(positive), _wide(negative)
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = _C.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _reduced((near - far + margin).clamp(min=0.0), reduction, size_average, reduce)
