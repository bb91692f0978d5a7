# SPDX-License-Identifier: Apache-2.0
"""What numbers of a dtype can be: finfo and iinfo."""
from . import _C
from ._compat import get_default_dtype

# Bits, bits of the fraction, the smallest exponent of a normal number, the largest one, decimal digits.
_FLOATS = {"float16": (16, 10, -14, 15, 3), "bfloat16": (16, 7, -126, 127, 2), "float32": (32, 23, -126, 127, 6),
           "float64": (64, 52, -1022, 1023, 15)}
_INTS = {"uint8": (8, 0), "int32": (32, 1), "int64": (64, 1)}


def _name(dtype):
    return str(dtype).rpartition(".")[2]


class finfo:
    """Limits of a floating-point dtype, by default of the default one: bits, eps, max, min, tiny, resolution."""

    def __init__(self, type=None):
        if type is None:
            type = get_default_dtype()
        if not isinstance(type, _C.dtype):
            raise TypeError(f"finfo() takes a dtype, not {type!r}")
        self.dtype = _name(type)
        if self.dtype not in _FLOATS:
            raise TypeError("finfo() requires a floating point input type. Use iinfo for integers.")
        self.bits, fraction, low, high, digits = _FLOATS[self.dtype]
        self.eps = 2.0 ** -fraction
        self.max = (2.0 - self.eps) * 2.0 ** high
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** low
        self.resolution = 10.0 ** -digits

    def __eq__(self, other):
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)

    def __repr__(self):
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo:
    """Limits of an integer dtype: bits, max, min."""

    def __init__(self, type):
        if not isinstance(type, _C.dtype):
            raise TypeError(f"iinfo() takes a dtype, not {type!r}")
        self.dtype = _name(type)
        if self.dtype not in _INTS:
            raise TypeError("iinfo() requires an integer input type. Use finfo for floating point.")
        self.bits, signed = _INTS[self.dtype]
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -2 ** (self.bits - 1) if signed else 0

    def __eq__(self, other):
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
