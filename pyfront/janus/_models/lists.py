# SPDX-License-Identifier: Apache-2.0
"""What the methods of a list mean of which only the run knows what is in it: by its length and what is read, written, inserted and
deleted at single places."""
from .unknown import _unknown


def _bound(at, n, otherwise):
    if at is None:
        return otherwise
    return max(at + n, 0) if at < 0 else min(at, n)


def _bound_backward(at, n, otherwise):
    if at is None:
        return otherwise
    return max(at + n, -1) if at < 0 else min(at, n - 1)


def _part(items, start, stop, step):
    n, made = len(items), []
    if step is None or step > 0:
        places = range(_bound(start, n, 0), _bound(stop, n, n), 1 if step is None else step)
    else:
        places = range(_bound_backward(start, n, n - 1), _bound_backward(stop, n, -1), step)
    for i in places:
        made.append(items[i])
    return made


def _copy(items):
    return _part(items, None, None, None)


def _set_part(items, start, stop, step, more):
    if step is not None and step != 1:
        _unknown("a part with a step is written")
    more = list(more)
    n = len(items)
    start = _bound(start, n, 0)
    for at in range(_bound(stop, n, n) - 1, start - 1, -1):
        del items[at]
    for item in more:
        items.insert(start, item)
        start += 1


def _del_part(items, start, stop, step):
    _set_part(items, start, stop, step, ())


def _index(items, item):
    for i in range(len(items)):
        if items[i] == item:
            return i
    _unknown("an item that is not there")


def _count(items, item):
    n = 0
    for i in range(len(items)):
        if items[i] == item:
            n += 1
    return n


def _contains(items, item):
    for i in range(len(items)):
        if items[i] == item:
            return True
    return False


def _remove(items, item):
    del items[_index(items, item)]


def _reverse(items):
    n = len(items)
    for i in range(n // 2):
        items[i], items[n - 1 - i] = items[n - 1 - i], items[i]


def _sort(items, *, key=None, reverse=False):
    ordered = [item for item in sorted(items, key=key, reverse=reverse)]
    for i in range(len(ordered)):
        items[i] = ordered[i]


def _clear(items):
    for _ in range(len(items)):
        items.pop()


# By the name of the method, "[]" behind it: with a slice.
LISTS = {
    "__getitem__[]": _part,
    "__setitem__[]": _set_part,
    "__delitem__[]": _del_part,
    "copy": _copy,
    "index": _index,
    "count": _count,
    "__contains__": _contains,
    "remove": _remove,
    "reverse": _reverse,
    "sort": _sort,
    "clear": _clear,
}
