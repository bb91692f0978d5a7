# SPDX-License-Identifier: Apache-2.0
"""One object may hide what its class has under a name: methods and static methods of nodes that a graph reads."""

import pytest

import janus
from janus import tensor


class Leaf:
    def __init__(self, v):
        self.v = v

    def value(self, w):
        return w * self.v

    @staticmethod
    def scale(w):
        return w + 1.0


class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right

    def value(self, w):
        return self.left.value(w) + self.right.value(w) * 0.5

    @staticmethod
    def scale(w):
        return w - 1.0


class Sum(Pair):
    def value(self, w):
        return self.left.value(w) + self.right.value(w)


def trees():
    return [Pair(Leaf(float(i)), Sum(Leaf(2.0), Pair(Leaf(3.0), Leaf(float(-i))))) for i in range(6)]


def method(t, w):
    return t.value(w)


def walk_static(t, w):
    if isinstance(t, Leaf):
        return t.scale(w) * t.v
    return walk_static(t.left, w) + t.scale(w) * walk_static(t.right, w)


def walk_leaves(t, w):
    if isinstance(t, Leaf):
        return t.value(w)
    return walk_leaves(t.left, w) - walk_leaves(t.right, w)


PLACES = {"root": lambda t: t, "left": lambda t: t.left, "right": lambda t: t.right, "deep": lambda t: t.right.right.left}
HIDES = {
    "lambda": lambda node: lambda w: w * 100.0,
    "function of the class": lambda node: (lambda self_or_w, w=None: self_or_w * 7.0),
    "method of another": lambda node: Leaf(55.0).value,
    "method of its own": lambda node: node.value,
}


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("name", ["value", "scale"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("hide", HIDES)
@pytest.mark.parametrize("f", [method, walk_static, walk_leaves], ids=lambda f: f.__name__)
def test_what_an_object_hides(f, hide, place, name, verify):
    g = janus.function(f, verify=verify)
    w = tensor([1.0, 2.0])
    for t in trees():
        assert g(t, w).tolist() == f(t, w).tolist()
    t = trees()[3]
    node = PLACES[place](t)
    setattr(node, name, HIDES[hide](node))
    for _ in range(3):
        assert g(t, w).tolist() == f(t, w).tolist()
    delattr(node, name)
    for t in trees():
        assert g(t, w).tolist() == f(t, w).tolist()
