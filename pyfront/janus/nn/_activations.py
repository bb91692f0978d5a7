# SPDX-License-Identifier: Apache-2.0
"""Activations made of other ops, as functions; nn.functional has their names."""
from .. import _C


def in_place(function, input, *args):
    """`input` overwritten with function(input, *args), whose gradient is of what it was."""
    return input.copy_(function(input.clone(), *args))


def relu(input, inplace=False):
    """max(x, 0)."""
    return _C.relu_(input) if inplace else _C.relu(input)


relu_ = _C.relu_


def relu6(input, inplace=False):
    """min(max(x, 0), 6)."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if not input.dtype.is_floating_point:
        min_val, max_val = int(min_val), int(max_val)
    return input.clamp_(min_val, max_val) if inplace else input.clamp(min_val, max_val)


def hardtanh_(input, min_val=-1.0, max_val=1.0):
    """x limited to [min_val, max_val], in place."""
    return hardtanh(input, min_val, max_val, True)


def _hardsigmoid(input):
    return (input + 3.0).clamp(0.0, 6.0) * (1.0 / 6.0)


def hardsigmoid(input, inplace=False):
    """x / 6 + 1/2, limited to [0, 1]."""
    return in_place(_hardsigmoid, input) if inplace else _hardsigmoid(input)


def _hardswish(input):
    return input * _hardsigmoid(input)


def hardswish(input, inplace=False):
    """x hardsigmoid(x)."""
    return in_place(_hardswish, input) if inplace else _hardswish(input)


def _mish(input):
    return input * _C.tanh(_C.softplus(input))


def mish(input, inplace=False):
    """x tanh(softplus(x))."""
    return in_place(_mish, input) if inplace else _mish(input)


def silu(input, inplace=False):
    """x sigmoid(x)."""
    return _C.silu_(input) if inplace else _C.silu(input)


def softplus(input, beta=1, threshold=20):
    """log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold."""
    if beta == 1 and threshold == 20:
        return _C.softplus(input)
    scaled = input * beta
    return _C.where(scaled > threshold, input, _C.softplus(scaled.clamp(max=threshold)) / beta)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x where positive, negative_slope x elsewhere."""
    return _C.leaky_relu_(input, negative_slope) if inplace else _C.leaky_relu(input, negative_slope)


def leaky_relu_(input, negative_slope=0.01):
    """x where positive, negative_slope x elsewhere, in place."""
    return leaky_relu(input, negative_slope, True)


def elu(input, alpha=1.0, inplace=False):
    """x where positive, alpha (exp(x) - 1) elsewhere."""
    return _C.elu_(input, alpha) if inplace else _C.elu(input, alpha)


def elu_(input, alpha=1.0):
    """x where positive, alpha (exp(x) - 1) elsewhere, in place."""
    return elu(input, alpha, True)


def _selu(input):
    return _C.elu(input, 1.6732632423543772) * 1.0507009873554805


def selu(input, inplace=False):
    """elu with the scale and alpha that keep mean 0 and variance 1."""
    return in_place(_selu, input) if inplace else _selu(input)


def _celu(input, alpha):
    return _C.elu(input / alpha, 1.0) * alpha if alpha > 0 else \
        _C.where(input > 0, input, alpha * (input.masked_fill(input > 0, 0.0) / alpha).expm1())


def celu(input, alpha=1.0, inplace=False):
    """x where positive, alpha (exp(x / alpha) - 1) elsewhere."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return in_place(_celu, input, alpha) if inplace else _celu(input, alpha)


def implicit_dim(rank):
    """The dim that softmax takes without being told: 0 for 0, 1 or 3 dims, else 1; PyTorch warns that it guesses."""
    return 0 if rank in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) divided by its sum over `dim`."""
    dim = implicit_dim(input.dim()) if dim is None else dim
    return _C.softmax(input if dtype is None else input.to(dtype), dim)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """log(softmax(x)) over `dim`."""
    dim = implicit_dim(input.dim()) if dim is None else dim
    return _C.log_softmax(input if dtype is None else input.to(dtype), dim)


def prelu(input, weight):
    """x where positive, weight x elsewhere; one weight, or one per channel (dimension 1)."""
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be tensor of no or one dimension, but got dim = {weight.dim()}")
    if weight.dtype is not input.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}")
    if weight.numel() != 1:
        if input.dim() == 0 or (input.shape[1] if input.dim() > 1 else 1) != weight.numel():
            raise RuntimeError("Mismatch of parameter numbers and input channel size.")
        weight = weight.reshape([1, -1] + [1] * (input.dim() - 2))
    elif weight.dim():
        weight = weight.reshape(())
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
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    moved = _C.where(input > 0, input - lambd, input + lambd)
    return moved.masked_fill(input.abs() <= lambd, 0.0)


def _threshold(input, threshold, value):
    return input.masked_fill(input <= threshold, value)


def threshold(input, threshold, value, inplace=False):
    """x where above the threshold, value elsewhere."""
    return in_place(_threshold, input, threshold, value) if inplace else _threshold(input, threshold, value)


def threshold_(input, threshold, value):
    """x where above the threshold, value elsewhere, in place."""
    return in_place(_threshold, input, threshold, value)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-x)."""
    dim = implicit_dim(input.dim()) if dim is None else dim
    return _C.softmax(-(input if dtype is None else input.to(dtype)), dim)


def glu(input, dim=-1):
    """The first half along `dim` times the sigmoid of the second."""
    if input.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}")
    first, second = input.chunk(2, dim)
    return first * _C.sigmoid(second)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """softmax of logits with Gumbel noise; `hard`: one-hot forward, the soft one's gradient."""
    noise = -(-(_C.rand(logits.shape, dtype=logits.dtype).clamp(min=1e-20)).log()).log()
    soft = _C.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    with _C.no_grad():
        one_hot = _C.zeros_like(soft).scatter(dim, soft.argmax(dim, keepdim=True), 1.0)
    return one_hot - soft.detach() + soft
