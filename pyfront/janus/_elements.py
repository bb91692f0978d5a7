# SPDX-License-Identifier: Apache-2.0
"""Functions of each element made of other ops.

Plain Python over ops, so that `janus.function` follows it like any other code.
"""
import math

from ._attach import method
from ._limits import finfo
from ._math import trunc


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
