# SPDX-License-Identifier: Apache-2.0
"""Of `operator` what goes by which object it is given, and what writes to it.  All else there gives a value, and may be asked for it."""
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
