# SPDX-License-Identifier: Apache-2.0
"""Functions of each element made of other ops.

Plain Python over ops, so that `janus.function` follows it like any other code.
"""
import math

from . import _C
from ._attach import method
from ._limits import finfo
from ._math import _precise, trunc


@method
def nan_to_num(input, nan=0.0, posinf=None, neginf=None):
    """NaN and infinities replaced, those by default by the largest and the smallest number of the dtype."""
    if not input.dtype.is_floating_point:
        return input.clone()
    limits = finfo(input.dtype)
    infinite = input.isinf()
    out = input.masked_fill(input.isnan(), 0.0 if nan is None else nan)
    out = out.masked_fill(infinite & (input > 0), limits.max if posinf is None else posinf)
    return out.masked_fill(infinite & (input < 0), limits.min if neginf is None else neginf)


@method
def fix(input):
    """Towards zero."""
    return trunc(input)


@method
def greater(input, other):
    """input > other."""
    return input > other


@method
def greater_equal(input, other):
    """input >= other."""
    return input >= other


@method
def less(input, other):
    """input < other."""
    return input < other


@method
def less_equal(input, other):
    """input <= other."""
    return input <= other


@method
def not_equal(input, other):
    """input != other."""
    return input != other


@method
def rad2deg(input):
    """Degrees of radians."""
    return input * (180.0 / math.pi)


@method
def deg2rad(input):
    """Radians of degrees."""
    return input * (math.pi / 180.0)


@method
def isposinf(input):
    """Whether infinite and positive."""
    return input.isinf() & (input > 0)


@method
def isneginf(input):
    """Whether infinite and negative."""
    return input.isinf() & (input < 0)


@method
def digamma(input):
    """Derivative of lgamma."""
    return input.polygamma(0)


def polygamma(n, input):
    """The n-th derivative of digamma."""
    return input.polygamma(n)


@method
def arcsin(input):
    """Arc sine."""
    return input.asin()


@method
def arccos(input):
    """Arc cosine."""
    return input.acos()


@method
def arctan(input):
    """Arc tangent."""
    return input.atan()


@method
def arcsinh(input):
    """Inverse hyperbolic sine."""
    return input.asinh()


@method
def arccosh(input):
    """Inverse hyperbolic cosine."""
    return input.acosh()


@method
def arctanh(input):
    """Inverse hyperbolic tangent."""
    return input.atanh()


@method
def arctan2(input, other):
    """Angle of the point (other, input)."""
    return input.atan2(other)


@method
def sgn(input):
    """Sign: -1, 0 or 1."""
    return input.sign()


@method
def frac(input):
    """What lies behind the point, with the sign of input."""
    return input - trunc(input).detach()


@method
def signbit(input):
    """Whether the sign is negative, that of -0.0 too."""
    if not input.dtype.is_floating_point:
        return input < 0
    return (input < 0) | ((input == 0) & (1.0 / input < 0))


@method
def positive(input):
    """input itself."""
    return input


@method
def sinc(input):
    """sin(pi x) / (pi x), 1 at 0."""
    def precise(x):
        scaled = x * math.pi
        zero = scaled == 0
        scaled = scaled.masked_fill(zero, 1.0)
        return (scaled.sin() / scaled).masked_fill(zero, 1.0)
    return _precise(precise, input)


@method
def xlogy(input, other):
    """input * log(other), 0 where input is unless other is NaN."""
    if not isinstance(other, _C.Tensor):
        return input * math.log(other)
    none = (input == 0) & ((other <= 0) | other.isinf())
    return input * _C.where(none, 0.0, other.log())


@method
def float_power(input, exponent):
    """input to the power exponent, in float64."""
    return input.double() ** (exponent.double() if isinstance(exponent, _C.Tensor) else float(exponent))


def _fits(input, result):
    """RuntimeError where the numbers of the result are none that the tensor can hold."""
    if result.dtype.is_floating_point and not input.dtype.is_floating_point:
        raise RuntimeError(f"result type {str(result.dtype)[6:].capitalize()} can't be cast to the desired output type "
                           f"{input.dtype}")
    return result


def _written(function):
    """The method `function` as one that overwrites its tensor; the gradient is of what it was."""
    def in_place(self, *args, **options):
        return self.copy_(_fits(self, function(self.clone(), *args, **options)))
    in_place.__name__, in_place.__doc__ = function.__name__ + "_", function.__doc__[:-1] + ", in place."
    return method(in_place)


for _one in ("absolute arccos arccosh arcsin arcsinh arctan arctan2 arctanh cosh deg2rad digamma divide exp2 fix floor_divide "
             "fmod frac log10 log2 logit multiply nan_to_num negative rad2deg remainder sgn sinc sinh subtract tan true_divide "
             "trunc xlogy").split():
    _written(getattr(_C.Tensor, _one))
del _one
