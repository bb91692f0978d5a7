# SPDX-License-Identifier: Apache-2.0
"""Functions of two elements made of other ops.

Plain Python over ops, so that `janus.function` follows it like any other code.
"""
import math

from . import _C
from ._C import Tensor
from ._attach import method
from ._compat import get_default_dtype
from ._elements import _written, signbit
from ._tensor import result_type


def _same_dtype(a, b):
    """Both in the dtype that an operation on both has."""
    if a.dtype == b.dtype:
        return a, b
    dtype = result_type(a, b)
    return a.to(dtype), b.to(dtype)


def _only_reached(value, other):
    """`value`, as a function of `other`, too, by which its gradient is 0."""
    return _C.where((value == value) | True, value, other.to(value.dtype)) if other.requires_grad else value


@method
def copysign(input, other):
    """The size of input with the sign of other, that of -0.0 too; as floats."""
    if not isinstance(other, Tensor):
        negative = math.copysign(1.0, other) < 0
        size = (input if input.dtype.is_floating_point else input.to(get_default_dtype())).abs()
        return -size if negative else size
    input, other = _same_dtype(input, other)
    if not input.dtype.is_floating_point:
        input, other = input.to(get_default_dtype()), other.to(get_default_dtype())
    size = input.abs()
    return _only_reached(_C.where(signbit(other.detach()), -size, size), other)


def _number_rather(input, other, extreme):
    input, other = _same_dtype(input, other)
    if not input.dtype.is_floating_point:
        return extreme(input, other)
    return _C.where(other.isnan(), input, extreme(_C.where(input.isnan(), other, input), other))


@method
def fmax(input, other):
    """The larger element, and the other one where one is NaN."""
    return _number_rather(input, other, _C.maximum)


@method
def fmin(input, other):
    """The smaller element, and the other one where one is NaN."""
    return _number_rather(input, other, _C.minimum)


@method
def heaviside(input, values):
    """0 below 0 and 1 above it; `values` where input is 0."""
    if input.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return _C.where(input == 0, values, (input > 0).to(input.dtype))


@method
def ldexp(input, other):
    """input * 2 ** other."""
    scale = 2.0 ** other
    return input * (scale.to(input.dtype) if input.dtype.is_floating_point and not other.dtype.is_floating_point else scale)


@method
def logaddexp2(input, other):
    """Binary logarithm of 2 ** input + 2 ** other."""
    top = _C.maximum(input, other).detach()
    top = top.masked_fill(top.isinf(), 0.0)
    return (2.0 ** (input - top) + 2.0 ** (other - top)).log2() + top


def _float_power_(self, exponent):
    """input to the power exponent, of float64, in place."""
    if self.dtype is not _C.float64:
        raise RuntimeError(f"the base given to float_power_ has dtype {self.dtype} but the operation's result requires dtype Double")
    return self.copy_(self.clone() ** exponent)


method(_float_power_, "float_power_")


def _compared(name):
    """The comparison `name` as one whose result, as numbers, is written to its first tensor."""
    compare = getattr(Tensor, name)

    def in_place(self, other):
        made = compare(self, other).to(self.dtype)
        return self.copy_(_only_reached(made, other) if isinstance(other, Tensor) else made)
    in_place.__name__, in_place.__doc__ = name + "_", compare.__doc__[:-1] + ", as 1 and 0, in place."
    return method(in_place)


for _one in (copysign, heaviside, ldexp):
    _written(_one)
for _one in "greater greater_equal less less_equal not_equal".split():
    _compared(_one)
del _one
