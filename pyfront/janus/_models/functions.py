# SPDX-License-Identifier: Apache-2.0
"""What makes functions, or calls them: `functools`, getters of `operator`."""
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
    items = iter(items)
    total = next(items) if first is _none else first
    for item in items:
        total = function(total, item)
    return total


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
