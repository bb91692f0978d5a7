# SPDX-License-Identifier: Apache-2.0
"""Losses of margins between classes and of several labels, and the bilinear form, as functions over other ops."""
from .. import _C
from ._activations import logsigmoid
from ._losses import _reduced, _wide
from ._norms import pairwise_distance


def _rows(input, name):
    if input.dim() not in (1, 2) or input.dim() == 2 and not input.shape[1] or input.dim() == 1 and not input.shape[0]:
        raise RuntimeError(f"{name}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                           f"{list(input.shape)}")
    return input if input.dim() == 2 else input.unsqueeze(0)


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Mean over the other classes of max(0, margin - input[target] + input[class]) ** p, of scores [N, C] or [C] and class
    numbers; `weight` has a factor for each class."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    rows = _rows(_wide(input), "multi_margin_loss")
    if target.numel() != rows.shape[0] or target.dim() > 1:
        raise RuntimeError(f"inconsistent target size, expected {rows.shape[0]} but got {list(target.shape)}")
    if weight is not None and (weight.dim() != 1 or weight.shape[0] != rows.shape[1]):
        raise ValueError("weight must be one-dimensional" if weight.dim() != 1 else
                         f"inconsistent weight size, expected {rows.shape[1]} but got {list(weight.shape)}")
    place = target.reshape(-1, 1)
    loss = _C.relu(margin - rows.gather(1, place) + rows)
    loss = (loss if p == 1 else loss * loss).scatter(1, place, 0.0)
    if weight is not None:
        loss = loss * _wide(weight)[place]
    loss = loss.sum(1) / rows.shape[1]
    return _reduced(loss.reshape(target.shape), reduction, size_average, reduce)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Sum over labels and other classes of max(0, 1 - input[label] + input[class]), by the number of classes: scores
    [N, C] or [C]; labels are the class numbers of a row before its first -1."""
    rows = _rows(_wide(input), "multilabel_margin_loss")
    if tuple(target.shape) != tuple(input.shape):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    target = target.reshape(rows.shape)
    there = (target < 0).long().cumsum(1) == 0
    place = target.masked_fill(there.logical_not(), 0)
    label = _C.zeros_like(place).scatter_add(1, place, there.long()) > 0
    gap = _C.relu(1 - rows.gather(1, place).unsqueeze(2) + rows.unsqueeze(1))
    counts = there.unsqueeze(2) & label.logical_not().unsqueeze(1)
    loss = gap.masked_fill(counts.logical_not(), 0.0).sum((1, 2)) / rows.shape[1]
    return _reduced(loss if input.dim() == 2 else loss.squeeze(0), reduction, size_average, reduce)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Cross entropy of scores with yes or no for each class, its mean over the classes."""
    input, target = _wide(input), _wide(target)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.sum(-1) / input.shape[-1], reduction, size_average, reduce)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target input)), targets being 1 and -1."""
    return _reduced(_C.softplus(-_wide(target) * _wide(input)), reduction, size_average, reduce)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False,
                                      reduction="mean"):
    """max(0, distance to the positive - distance to the negative + margin), by any distance."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    anchor, positive, negative = _wide(anchor), _wide(positive), _wide(negative)
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of dimensions, but "
                           f"got: anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _C.minimum(far, distance(positive, negative))
    return _reduced((near - far + margin).clamp(min=0.0), reduction)


def bilinear(input1, input2, weight, bias=None):
    """input1^T weight[k] input2 + bias[k] over the last dims, for each k: weights are [out, in1, in2]."""
    if tuple(input1.shape[:-1]) != tuple(input2.shape[:-1]):
        raise RuntimeError(f"bilinear(): input batch dimensions do not match: got {list(input1.shape[:-1])} and "
                           f"{list(input2.shape[:-1])}")
    if weight.dim() != 3 or input1.shape[-1] != weight.shape[1] or input2.shape[-1] != weight.shape[2]:
        raise RuntimeError(f"bilinear(): inputs of {list(input1.shape)} and {list(input2.shape)} do not fit weights of "
                           f"{list(weight.shape)}")
    out, first, second = weight.shape
    rows = input1.reshape(-1, first) @ weight.transpose(0, 1).reshape(first, out * second)
    made = (rows.reshape(-1, out, second) @ input2.reshape(-1, second, 1)).reshape(tuple(input1.shape[:-1]) + (out,))
    return made if bias is None else made + bias
