# SPDX-License-Identifier: Apache-2.0
"""The caller's objects that one path of a branch binds and another path does not: which one it is only the graph knows."""
import enum
import itertools

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Node:
    def __init__(self, v, l=None, r=None):
        self.v, self.l, self.r, self.seen = v, l, r, 0

    def scaled(self, x):
        return x * self.v


class Other(Node):
    def scaled(self, x):
        return x - self.v


# What a and b of the tree are.
OBJECTS = {
    "nodes": "o.l, o.r",
    "a node and None": "o.l, None",
    "the same": "o.l, o.l",
    "of two classes": "o.l, o.other",
    "lists": "o.xs, o.ys",
    "dicts": "o.d, o.e",
    "tuples": "o.t, o.u",
    "strings": "o.name, 'c'",
    "members": "o.red, o.blue",
    "tensors": "o.w, o.z",
    "a node and itself": "o, o.l",
}
# How they are bound.
PATHS = {
    "if": "if c:\n        m, k = a, b\n    else:\n        m, k = b, a",
    "swapped": "m, k = (a, b) if c else (b, a)",
    "one alone": "m, k = a, b\n    if c:\n        m = b",
    "in a loop": "m, k = a, b\n    for i in range(n):\n        if x.sum() + i > 0:\n            m, k = k, m",
    "nested": "m = k = a\n    if c:\n        if x[0] > 0.5:\n            m = b\n        else:\n            k = b",
    "while": "m, k, i = a, b, 0\n    while i < n and (x.sum() + i) < 2:\n        m, k, i = k, m, i + 1",
}
# What is done with them.
USES = {
    "identity": "return x * 2, m is a, m is k, k is b",
    "returned": "return x * 2, m, k",
    "attribute": "return x * m.v + k.v",
    "method": "return m.scaled(x)",
    "written": "m.seen = m.seen + 1\n    return x * m.seen",
    "item": "return x * m[0]",
    "item written": "m[0] = m[0] + 1\n    return x * k[0]",
    "key": "return x * m['p']",
    "truth": "return x * 2 if m else x * 3",
    "none": "return x * 2 if m is None else x * 3",
    "compared": "return x * 2 if m == a else x * 3",
    "kept": "o.last = m\n    return x * 2",
    "computed": "return m * x",
    "put in a list": "o.all.append(m)\n    return x * len(o.all)",
}
TEXT = """
def f(o, x, n):
    a, b = {objects}
    c = x.sum() > 0
    {path}
    {use}
"""


def given():
    o = Node(3.0, Node(0.5), Node(-2.0))
    o.other, o.xs, o.ys, o.d, o.e, o.t, o.u = Other(1.5), [1.0, 2], [4.0], {"p": 1.0, 0: 2.0}, {"p": 3.0, 0: 5.0}, (1.0, 2), (0.5,)
    o.name, o.red, o.blue, o.w, o.z, o.all, o.last = "a", Color.RED, Color.BLUE, janus.tensor([1.0, 2.0]), janus.tensor([0.5, 0.25]), [], None
    return o


def seen(o, x):
    """A value, and which of the caller's objects it is."""
    known = {id(v): n for n, v in vars(o).items()}
    if id(x) in known and not isinstance(x, (int, float, str)):
        return known[id(x)]
    if isinstance(x, janus.Tensor):
        return x.tolist()
    if isinstance(x, (tuple, list)):
        return [seen(o, y) for y in x]
    return "the tree" if x is o else x if isinstance(x, (int, float, str, bool, type(None))) else type(x).__name__


def outcomes(text, numerics):
    names = names_of(text, janus=janus, __name__="program")
    f = names["f"] if numerics is None else janus.function(names["f"], numerics=numerics, verify="never", measure=False)
    o, out = given(), []
    for k in range(10):
        x = janus.tensor([0.25 + k * 0.1, (-1.0) ** k])
        try:
            out.append(seen(o, f(o, x, k % 4)))
        except Exception as e:
            out.append((type(e).__name__, str(e)))
        out.append([seen(o, v) for n in ("l", "r", "other") for v in (getattr(o, n).seen,)] + [str(v) for v in (o.xs, o.ys, o.d, o.e)] + [seen(o, o.all), o.last is o])
    return out, f


def close(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-5 * (1 + abs(a))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    return a == b and type(a) is type(b)


@pytest.mark.parametrize("objects", OBJECTS)
@pytest.mark.parametrize("path", PATHS)
def test_objects_by_path(objects, path):
    for use, numerics in shares.share(itertools.product(USES, ("fast", "exact"))):
        text = TEXT.format(objects=OBJECTS[objects], path=PATHS[path], use=USES[use])
        (want, _), (got, _) = outcomes(text, None), outcomes(text, numerics)
        for k, (a, b) in enumerate(zip(want, got)):
            assert close(a, b), (use, numerics, k, a, b)


@pytest.mark.parametrize("objects", ["nodes", "a node and itself"])
@pytest.mark.parametrize("path", ["if", "swapped", "one alone", "nested"])
@pytest.mark.parametrize("use", ["identity", "attribute", "returned"])
def test_they_are_graphs(objects, path, use):
    _, f = outcomes(TEXT.format(objects=OBJECTS[objects], path=PATHS[path], use=USES[use]), "fast")
    stats = f.stats()
    assert stats["graph"] >= 8 and stats["conversions"] <= 2, stats
