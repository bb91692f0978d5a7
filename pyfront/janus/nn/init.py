# SPDX-License-Identifier: Apache-2.0
"""Fills tensors with start values, with PyTorch's names, defaults and distributions.

Every function works in place, records nothing for a gradient and returns its tensor.
"""
import math

from .. import _C


def calculate_gain(nonlinearity, param=None):
    """The recommended gain of an activation."""
    if nonlinearity in ("linear", "sigmoid") or nonlinearity.startswith("conv"):
        return 1.0
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope ** 2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor, a=0.0, b=1.0):
    """Uniform on [a, b)."""
    with _C.no_grad():
        return tensor.uniform_(a, b)


def normal_(tensor, mean=0.0, std=1.0):
    """Normal with a mean and a standard deviation."""
    with _C.no_grad():
        return tensor.normal_(mean, std)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0):
    """Normal, elements outside [a, b] drawn again."""
    with _C.no_grad():
        tensor.normal_(mean, std)
        outside = (tensor < a).logical_or(tensor > b)
        while bool(outside.any()):
            drawn = _C.empty_like(tensor).normal_(mean, std)
            tensor.copy_(_C.where(outside, drawn, tensor))
            outside = (tensor < a).logical_or(tensor > b)
        return tensor


def constant_(tensor, val):
    """One value everywhere."""
    with _C.no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor):
    """The identity matrix."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with _C.no_grad():
        return tensor.copy_(_C.eye(tensor.shape[0], tensor.shape[1]))


def _fans(tensor):
    """Numbers of inputs and outputs of the layer that a weight belongs to."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = 1
    for size in tensor.shape[2:]:
        field *= size
    return tensor.shape[1] * field, tensor.shape[0] * field


def _fan(tensor, mode):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _fans(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor, gain=1.0):
    """Glorot's uniform distribution."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor, gain=1.0):
    """Glorot's normal distribution."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))))


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    """He's uniform distribution."""
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    """He's normal distribution."""
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)))


def orthogonal_(tensor, gain=1.0):
    """Orthonormal rows or columns, whichever are fewer, by Gram-Schmidt of a normal matrix."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    vectors = []
    with _C.no_grad():
        drawn = _C.randn(min(rows, columns), max(rows, columns), dtype=_C.float64)
        for i in range(drawn.shape[0]):
            vector = drawn[i]
            for _ in range(2):  # twice is enough to be orthogonal to rounding
                for other in vectors:
                    vector = vector - (vector * other).sum() * other
            vectors.append(vector / (vector * vector).sum().sqrt())
        made = _C.stack(vectors)
        if rows > columns:
            made = made.transpose(0, 1)
        return tensor.copy_(made.reshape(tensor.shape) * gain)
