# SPDX-License-Identifier: Apache-2.0
"""Helpers on all gradients of a model."""
import math

from ... import _C
from . import rnn
from ._spectral_norm import remove_spectral_norm, spectral_norm
from ._weight_norm import remove_weight_norm, weight_norm


def clip_grad_norm_(parameters, max_norm, norm_type=2.0):
    """Scales gradients so that their common norm is at most `max_norm`; returns the norm before."""
    parameters = [parameters] if isinstance(parameters, _C.Tensor) else list(parameters)
    if all(param.grad is None for param in parameters):
        return _C.tensor(0.0)
    with _C.no_grad():
        # a gradient that is not there counts as zero: the list is as long whichever there are
        parts = [_norm_part(param, param.grad, norm_type) for param in parameters]
        if norm_type == math.inf:
            total = _C.stack(parts).max()
        elif norm_type == 2.0:
            total = _C.stack(parts).sum().sqrt()
        else:
            total = _C.stack(parts).sum().pow(1.0 / norm_type)
        scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
        for param in parameters:
            if param.grad is not None:
                param.grad.mul_(scale)
    return total


def _norm_part(param, grad, norm_type):
    if grad is None:
        return _C.zeros((), dtype=param.dtype, device=param.device)
    if norm_type == math.inf:
        return grad.abs().max()
    return (grad * grad).sum() if norm_type == 2.0 else grad.abs().pow(norm_type).sum()


clip_grad_norm = clip_grad_norm_  # its name before 0.4


def clip_grad_value_(parameters, clip_value):
    """Cuts every element of every gradient to [-clip_value, clip_value]."""
    if isinstance(parameters, _C.Tensor):
        parameters = [parameters]
    with _C.no_grad():
        for param in parameters:
            if param.grad is not None:
                param.grad.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters):
    """All parameters in one flat tensor."""
    return _C.cat([param.reshape(-1) for param in parameters])


def vector_to_parameters(vec, parameters):
    """The reverse: copies slices of a flat tensor into parameters."""
    start = 0
    with _C.no_grad():
        for param in parameters:
            stop = start + param.numel()
            param.copy_(vec[start:stop].reshape(param.shape))
            start = stop
