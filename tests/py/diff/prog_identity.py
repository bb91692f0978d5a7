# SPDX-License-Identifier: Apache-2.0
"""Which of several tensors it is: what paths, rounds, calls and places lead to has other names, too."""

import itertools

from .harness import case, t


def arms(x, y):
    if x.sum() > 0:
        q = x
    else:
        q = y
    return q


def expression(x, y):
    return x if x.sum() > 0 else y


def early(x, y):
    if x.sum() > 0:
        return x
    return y


def none_or(x, y):
    q = None
    if x.sum() > 0:
        q = y
    return q


def both_none_or(x, y):
    q = x if x.sum() > 0 else None
    return q if y.sum() > 0 else None


def rounds(x, y):
    q = x
    for i in range(3):
        if x[i] > 0.3:
            q = y
    return q


def unknown_rounds(x, y):
    n, q = x.sum(), y
    while n < 3:
        n = n + 1
        if n > 2.5:
            q = x
    return q


def left_early(x, y):
    q = y
    for i in range(3):
        if x[i] > 0.5:
            q = x
            break
    return q


def _deep(x, n):
    return x if n == 0 else _deep(x, n - 1)


def passed_on(x, y):
    return _deep(x, 3)


def _crossed(x, y, n):
    if n == 0:
        return x
    if x.sum() > 0:
        return _crossed(x, y, n - 1)
    return _crossed(y, x, n - 1)


def crossed(x, y):
    return _crossed(x, y, 3)


def _pair(x, y, n):
    return (x, x + y) if n == 0 else _pair(y, x, n - 1)


def of_a_pair(x, y):
    return _pair(x, y, 2)[0]


def in_a_list(x, y):
    items = [x, y]
    if x.sum() > 0:
        items[0] = y
    return items[0]


def in_a_dict(x, y):
    d = {"a": x}
    if x.sum() > 0:
        d["a"] = y
    return d["a"]


class Box:
    def __init__(self, item):
        self.item = item


def in_an_object(x, y):
    box = Box(x)
    if x.sum() > 0:
        box.item = y
    return box.item


def of_a_loop(x, y):
    for q in (x, y):
        if q.sum() > 0:
            break
    return q


def neither(x, y):
    return x * 1 if x.sum() > 0 else y


WAYS = (arms, expression, early, none_or, both_none_or, rounds, unknown_rounds, left_early, passed_on, crossed, of_a_pair,
        in_a_list, in_a_dict, in_an_object, of_a_loop, neither)


def compared(x, y, q, p):
    return q is x, y is q, q is not x, q is p, q is None


def counted(x, y, q, p):
    return sum(o is q for o in (x, y, p)), y + 1 if p is q else y - 1


def returned(x, y, q, p):
    return x, q, y, p


def held(x, y, q, p):
    return {"q": q, "all": [x, (p, y)]}


def passed(x, y, q, p):

    def inner(a, b):
        return a is b, a is x

    return inner(q, p), inner(x, q), inner(q, y)


def add(way, seen, new):

    def program(function, log):

        @function
        def f(x, y):
            if new:
                x, y = x * 1, y + 1
            q = way(x, y)
            return seen(x, y, q, way(x, y))

        for i in range(7):
            x, y = t(3, seed=i), t(3, seed=i + 2)
            r = f(x, y)
            log(x, y, r)

    program.__name__ = program.__qualname__ = f"{way.__name__}_{seen.__name__}" + ("_new" if new else "")
    case(graph=False)(program)


for made in itertools.product(WAYS, (compared, counted, returned, held, passed), (False, True)):
    add(*made)
