# SPDX-License-Identifier: Apache-2.0
"""What makes functions, or calls them: `functools`, getters of `operator`."""
import math

from .. import float64, tensor
from .unknown import _none, _unknown


class _Partial:
    """A partial: what is called, with the first of its arguments."""

    def __init__(self, func, /, *args, **keywords):
        if isinstance(func, _Partial):
            args = (*func.args, *args)
            keywords = {**func.keywords, **keywords}
            func = func.func
        self.func = func
        self.args = args
        self.keywords = keywords

    def __call__(self, /, *args, **keywords):
        return self.func(*self.args, *args, **{**self.keywords, **keywords})


def _call_partial(partial, /, *args, **keywords):
    return partial.func(*partial.args, *args, **{**partial.keywords, **keywords})


def _reduce(function, items, first=_none, /):
    if first is _none:
        items = iter(items)
        first = next(items)
    for item in items:
        first = function(first, item)
    return first


def _itemgetter(item, /, *items):
    if items:
        return lambda obj, /: tuple([obj[i] for i in (item, *items)])
    return lambda obj, /: obj[item]


def _at_path(obj, names):
    for name in names:
        obj = getattr(obj, name)
    return obj


def _attrgetter(attr, /, *attrs):
    for name in (attr, *attrs):
        if not isinstance(name, str):
            _unknown("attrgetter() of what is no name")
    paths = [name.split(".") for name in (attr, *attrs)]
    if attrs:
        return lambda obj, /: tuple([_at_path(obj, names) for names in paths])
    return lambda obj, /: _at_path(obj, paths[0])


def _methodcaller(name, /, *args, **keywords):
    if not isinstance(name, str):
        _unknown("methodcaller() of what is no name")
    return lambda obj, /: getattr(obj, name)(*args, **keywords)


def _on_constants(function):
    """A function of numbers that are all known, which is called as it is, and a model that does so."""
    def called(data):
        return function(data)

    def model(data, /):
        return called(tuple(data))
    return called, model


def _real(x):
    if type(x) not in (float, int, bool):
        _unknown("math of other things than numbers")
    return float(x)


def _isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    a, b, rel_tol, abs_tol = _real(a), _real(b), _real(rel_tol), _real(abs_tol)
    if rel_tol < 0.0 or abs_tol < 0.0:
        _unknown("tolerances below 0")
    off = abs(b - a)
    near = off <= abs(rel_tol * b) or off <= abs(rel_tol * a) or off <= abs_tol
    return a == b or (near and not math.isinf(a) and not math.isinf(b))


def _fabs(x, /):
    return abs(_real(x))


def _degrees(x, /):
    return _real(x) * (180.0 / math.pi)


def _radians(x, /):
    return _real(x) * (math.pi / 180.0)


def _negative(y):
    """Whether a number has a sign, -0.0 too: of a zero its reciprocal tells, and of a NaN nothing does that a graph has."""
    if y != y:
        _unknown("the sign of a NaN")
    return (tensor(y, dtype=float64, device="cpu").reciprocal().item() if y == 0.0 else y) < 0.0


def _copysign(x, y, /):
    x, y = abs(_real(x)), _real(y)
    return -x if _negative(y) else x


def _fmod(x, y, /):
    x, y = _real(x), _real(y)
    if math.isinf(x):
        _unknown("fmod() of an infinity")
    return x if x != x else _copysign(abs(x) % abs(y), x)  # of two that have no sign % is that of C


def _modf(x, /):
    x = _real(x)
    whole = _copysign(float(math.floor(abs(x))), x)
    return _copysign(abs(x) - abs(whole), x), whole


def _pow(x, y, /):
    x, y = _real(x), _real(y)
    if x == 0.0 and y == -math.inf:
        _unknown("pow() of 0 and an infinity, which raises in CPython 3.10")
    return x ** y
