# SPDX-License-Identifier: Apache-2.0
"""Functions of `operator`: each is what its sign does."""
import operator

from .unknown import _unknown


def _setitem(a, b, c, /):
    a[b] = c


def _delitem(a, b, /):
    del a[b]


def _iadd(a, b, /):
    a += b
    return a


def _iand(a, b, /):
    a &= b
    return a


def _ifloordiv(a, b, /):
    a //= b
    return a


def _ilshift(a, b, /):
    a <<= b
    return a


def _imatmul(a, b, /):
    a @= b
    return a


def _imod(a, b, /):
    a %= b
    return a


def _imul(a, b, /):
    a *= b
    return a


def _ior(a, b, /):
    a |= b
    return a


def _ipow(a, b, /):
    a **= b
    return a


def _irshift(a, b, /):
    a >>= b
    return a


def _isub(a, b, /):
    a -= b
    return a


def _itruediv(a, b, /):
    a /= b
    return a


def _ixor(a, b, /):
    a ^= b
    return a


def _iconcat(a, b, /):
    if type(a) is not list or type(b) not in (list, tuple):
        _unknown("iconcat() of other sequences")
    a += b
    return a


OPERATORS = {
    operator.add: lambda a, b, /: a + b,
    operator.sub: lambda a, b, /: a - b,
    operator.mul: lambda a, b, /: a * b,
    operator.matmul: lambda a, b, /: a @ b,
    operator.truediv: lambda a, b, /: a / b,
    operator.floordiv: lambda a, b, /: a // b,
    operator.mod: lambda a, b, /: a % b,
    operator.pow: lambda a, b, /: a ** b,
    operator.and_: lambda a, b, /: a & b,
    operator.or_: lambda a, b, /: a | b,
    operator.xor: lambda a, b, /: a ^ b,
    operator.lshift: lambda a, b, /: a << b,
    operator.rshift: lambda a, b, /: a >> b,
    operator.neg: lambda a, /: -a,
    operator.pos: lambda a, /: +a,
    operator.invert: lambda a, /: ~a,
    operator.not_: lambda a, /: not a,
    operator.truth: lambda a, /: bool(a),
    operator.abs: lambda a, /: abs(a),
    operator.lt: lambda a, b, /: a < b,
    operator.le: lambda a, b, /: a <= b,
    operator.eq: lambda a, b, /: a == b,
    operator.ne: lambda a, b, /: a != b,
    operator.gt: lambda a, b, /: a > b,
    operator.ge: lambda a, b, /: a >= b,
    operator.contains: lambda a, b, /: b in a,
    operator.is_: lambda a, b, /: a is b,
    operator.is_not: lambda a, b, /: a is not b,
    operator.getitem: lambda a, b, /: a[b],
    operator.setitem: _setitem,
    operator.delitem: _delitem,
    operator.iadd: _iadd,
    operator.iconcat: _iconcat,
    operator.iand: _iand,
    operator.ifloordiv: _ifloordiv,
    operator.ilshift: _ilshift,
    operator.imatmul: _imatmul,
    operator.imod: _imod,
    operator.imul: _imul,
    operator.ior: _ior,
    operator.ipow: _ipow,
    operator.irshift: _irshift,
    operator.isub: _isub,
    operator.itruediv: _itruediv,
    operator.ixor: _ixor,
}
