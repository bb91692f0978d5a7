# SPDX-License-Identifier: Apache-2.0
"""Instances of classes with __slots__ that a function makes: kinds of classes, each with what is done with one, by a
graph and undecorated."""
import copy
import dataclasses
import itertools

import pytest

import janus


class Plain:
    __slots__ = ("a", "b")

    def __init__(self, a, b=2):
        self.a, self.b = a, b


class Derived(Plain):
    __slots__ = ("c",)

    def __init__(self, a, b=2):
        super().__init__(a, b)
        self.c = a * 3


class WithDict(Plain):
    def __init__(self, a, b=2):
        super().__init__(a, b)
        self.more = a + 1


class Private:
    __slots__ = ("a", "b", "__own")

    def __init__(self, a, b=2):
        self.a, self.b, self.__own = a, b, a - 1

    def own(self):
        return self.__own


class Property:
    __slots__ = ("_a", "b", "__weakref__")

    def __init__(self, a, b=2):
        self.a, self.b = a, b

    @property
    def a(self):
        return self._a * 2

    @a.setter
    def a(self, value):
        self._a = value + 1


class Late:
    """An attribute that is set after it was made; another that never is."""
    __slots__ = ("a", "b", "never")

    def __init__(self, a, b=2):
        self.b = b
        self.a = a


@dataclasses.dataclass
class Data:
    __slots__ = ("a", "b")
    a: object
    b: int


class Wrong:
    __slots__ = ("a",)

    def __init__(self, a, b=2):
        self.a = a
        self.b = b


KINDS = [Plain, Derived, WithDict, Private, Property, Late, Data, Wrong]
USES = {
    "read": lambda o, x, box: (o.a * o.b).sum(),
    "returned": lambda o, x, box: o,
    "returned twice": lambda o, x, box: (o, [o, o.a]),
    "stored": lambda o, x, box: setattr(box, "held", o),
    "written": lambda o, x, box: (setattr(o, "a", o.a + x), o)[1],
    "branch": lambda o, x, box: (setattr(o, "b", 5) if x.sum() > 0 else None, o.a * o.b)[1],
    "list": lambda o, x, box: [type(o)(o.a * k, k) for k in range(3)],
    "best": lambda o, x, box: sorted([type(o)(x * k, k) for k in (3, 1, 2)], key=lambda p: p.a.sum().item())[0],
    "missing": lambda o, x, box: (getattr(o, "never", 7), hasattr(o, "c"), hasattr(o, "never"), o.a),
    "not there": lambda o, x, box: setattr(o, "unknown", x),
    "own": lambda o, x, box: o.own() if hasattr(o, "own") else o.a,
    "type": lambda o, x, box: x * (2 if type(o) is Plain else 3 if isinstance(o, Plain) else 4),
    "dict": lambda o, x, box: len(vars(o)) if hasattr(o, "__dict__") else o.a,
}


class Box:
    held = None


def shown(v, seen):
    if isinstance(v, janus.Tensor):
        return [round(float(i), 4) for i in v.flatten().tolist()]
    if isinstance(v, (list, tuple)):
        return [type(v).__name__] + [shown(i, seen) for i in v]
    if type(v) in KINDS:
        if id(v) in seen:
            return "the same"
        seen[id(v)] = v
        names = [n for t in type(v).__mro__ for n in getattr(t, "__slots__", ()) if n != "__weakref__"]
        names = [f"_{type(v).__name__}{n}" if n.startswith("__") else n for n in names]
        held = {n: shown(getattr(v, n), seen) for n in names if hasattr(v, n)}
        return type(v).__name__, held, {n: shown(i, seen) for n, i in getattr(v, "__dict__", {}).items()}
    return v


def observed(f, x):
    box = Box()
    try:
        got = f(x, box)
    except Exception as e:
        return type(e).__name__, str(e)
    seen = {}
    return shown(got, seen), shown(box.held, seen)


@pytest.mark.parametrize("kind, use", list(itertools.product(KINDS, USES)))
def test_as_undecorated(kind, use):
    def f(x, box):
        return USES[use](kind(x * 2, 2), x, box)

    for verify in ("never", "always"):
        g = janus.function(f, verify=verify)
        for k in range(5):
            x = janus.tensor([1.0, -2.0, 3.0]) * (-1 if k == 3 else 1) + k
            assert observed(f, x) == observed(g, x)
        assert not g.stats()["disproved"]


@pytest.mark.parametrize("kind", KINDS[:-1])
@pytest.mark.parametrize("use", ["read", "returned", "returned twice", "stored", "list"])
def test_is_a_graph(kind, use):
    g = janus.function(lambda x, box: USES[use](kind(x * 2, 2), x, box), verify="never", regions=False)
    for k in range(4):
        g(janus.tensor([1.0, -2.0, 3.0]) + k, Box())
    assert g.stats()["graph"] >= 2


def test_what_leaves_is_an_ordinary_object():
    g = janus.function(lambda x: Derived(x), verify="never")
    for _ in range(3):
        o = g(janus.ones(2))
    o.a = 1
    assert copy.copy(o).a == 1 and not hasattr(o, "__dict__")
    with pytest.raises(AttributeError):
        o.other = 2


@pytest.mark.parametrize("numbers", [(1.0, -1.0), (3, 4, 5), (True, False, True), (2.5,), (1, 2.0), tuple(range(20))])
def test_numbers_beside_a_list_of_unknown_length(numbers):
    def f(kids, x):
        total = x * 0
        for k, sign in zip(kids, numbers):
            total = total + k * sign * x
        return total, [sign for _, sign in zip(kids, numbers)]

    class Node:
        def __init__(self, *kids):
            self.kids = kids

    def walk(n, x):
        y = x
        for k, sign in zip(n.kids, numbers):
            y = y + walk(k, x * 0.5) * sign
        return y

    g, w = janus.function(f, verify="never"), janus.function(walk, verify="never")
    for n in (1, 2, 3, 0, 5, 2, 4):
        kids = [0.5 * i for i in range(n)]
        a, b = f(kids, janus.ones(2)), g(kids, janus.ones(2))
        assert janus.allclose(a[0], b[0]) and a[1] == b[1] and [type(i) for i in a[1]] == [type(i) for i in b[1]]
        tree = Node(*[Node(*[Node() for _ in range(i)]) for i in range(n)])
        assert janus.allclose(walk(tree, janus.ones(2)), w(tree, janus.ones(2)))
