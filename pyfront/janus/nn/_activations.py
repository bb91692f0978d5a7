# SPDX-License-Identifier: Apache-2.0
"""Activations made of other ops, as functions; nn.functional has their names."""
from .. import _C


def relu6(input, inplace=False):
    """min(max(x, 0), 6)."""
    return input.clamp(0.0, 6.0)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x limited to [min_val, max_val]."""
    return input.clamp(min_val, max_val)


def hardsigmoid(input, inplace=False):
    """x / 6 + 1/2, limited to [0, 1]."""
    return (input + 3.0).clamp(0.0, 6.0) * (1.0 / 6.0)


def hardswish(input, inplace=False):
    """x hardsigmoid(x)."""
    return input * hardsigmoid(input)


def mish(input, inplace=False):
    """x tanh(softplus(x))."""
    return input * _C.tanh(_C.softplus(input))


def selu(input, inplace=False):
    """elu with the scale and alpha that keep mean 0 and variance 1."""
    return _C.elu(input, 1.6732632423543772) * 1.0507009873554805


def celu(input, alpha=1.0, inplace=False):
    """x where positive, alpha (exp(x / alpha) - 1) elsewhere."""
    return _C.where(input > 0, input, alpha * (input.clamp(max=0.0) / alpha).expm1())


def prelu(input, weight):
    """x where positive, weight x elsewhere; one weight, or one per channel (dimension 1)."""
    if weight.numel() != 1:
        weight = weight.reshape([1, -1] + [1] * (input.dim() - 2))
    return _C.where(input > 0, input, weight * input)


def logsigmoid(input):
    """log(sigmoid(x))."""
    return -_C.softplus(-input)


def softsign(input):
    """x / (1 + |x|)."""
    return input / (1 + input.abs())


def tanhshrink(input):
    """x - tanh(x)."""
    return input - _C.tanh(input)


def hardshrink(input, lambd=0.5):
    """0 where |x| <= lambd."""
    return input.masked_fill(input.abs() <= lambd, 0.0)


def softshrink(input, lambd=0.5):
    """x moved by lambd towards 0, at most to 0."""
    return input - input.clamp(-lambd, lambd)


def threshold(input, threshold, value, inplace=False):
    """x where above the threshold, value elsewhere."""
    return input.masked_fill(input <= threshold, value)


def softmin(input, dim, dtype=None):
    """softmax(-x)."""
    return _C.softmax(-(input if dtype is None else input.to(dtype)), dim)


def glu(input, dim=-1):
    """The first half along `dim` times the sigmoid of the second."""
    if input.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}")
    first, second = input.chunk(2, dim)
    return first * _C.sigmoid(second)


def gumbel_softmax(logits, tau=1, hard=False, dim=-1):
    """softmax of logits with Gumbel noise; `hard`: one-hot forward, the soft one's gradient."""
    noise = -(-(_C.rand(logits.shape, dtype=logits.dtype).clamp(min=1e-20)).log()).log()
    soft = _C.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    with _C.no_grad():
        one_hot = _C.zeros_like(soft).scatter(dim, soft.argmax(dim, keepdim=True), 1.0)
    return one_hot - soft.detach() + soft
