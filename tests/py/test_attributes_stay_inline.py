# SPDX-License-Identifier: Apache-2.0
"""Objects that guards, conversions and comparisons have looked at are as fast for CPython as they were: 3.11 and 3.12 keep attributes
without a dict, and read them slowly for ever once somebody has asked for one."""
import gc
import sys

import pytest

import janus

if sys.version_info[:2] not in ((3, 11), (3, 12)):
    pytest.skip("instance dicts are made at once, or cost nothing", allow_module_level=True)


class Node:
    def __init__(self, depth):
        self.scale, self.kids = 0.5 + depth, tuple(Node(depth - 1) for _ in range(2)) if depth else ()
        self.w = janus.full((3,), 0.25 * (depth + 1))
        self.seen = 0

    def below(self):
        yield self
        for kid in self.kids:
            yield from kid.below()

    def method(self, x):
        return (x * self.w + self.scale).tanh()


class Late(Node):
    """Gets an attribute that others of its class do not have."""

    def __init__(self, depth):
        super().__init__(depth)
        if depth == 1:
            self.late = 3.0


def reads(node, x):
    return x * node.w * node.scale


def lists(node, x):
    for o in [node, *node.kids]:
        x = x * o.w + o.scale
    return x


def recursion(node, x):
    h = x * node.w
    for kid in node.kids:
        h = h + recursion(kid, x).tanh()
    return h


def methods(node, x):
    return node.method(x) + sum([kid.method(x) for kid in node.kids])


def writes(node, x):
    node.seen += 1
    node.w = node.w * 0.5 + x
    return node.w.sum()


def raises(node, x):
    try:
        return x * node.no_such_attribute
    except AttributeError:
        return x * node.w


def with_barrier(node, x):
    y = x * node.w
    print(end="", file=sys.stderr)
    return y.tanh() + node.scale


def has_dict(node):
    return [any(type(r) is dict for r in gc.get_referents(o)) for o in node.below()]


@pytest.mark.parametrize("verify", ["never", "rarely", "always"])
@pytest.mark.parametrize("kind", [Node, Late], ids=lambda k: k.__name__)
@pytest.mark.parametrize("f", [reads, lists, recursion, methods, writes, raises, with_barrier], ids=lambda f: f.__name__)
def test_no_dict_is_made(f, kind, verify):
    a, b = kind(3), kind(3)
    g = janus.function(f, measure=False, verify=verify)
    for k in range(6):
        x = janus.full((3,), 0.1 * k)
        assert f(a, x).tolist() == pytest.approx(g(b, x).tolist(), rel=1e-5)
    assert has_dict(b) == has_dict(a), janus.explain(g)
    for o, p in zip(a.below(), b.below()):
        assert list(vars(o)) == list(vars(p)) and o.seen == p.seen and o.kids is not p.kids or not o.kids
        assert o.w.tolist() == pytest.approx(p.w.tolist(), rel=1e-5)


@pytest.mark.parametrize("kept", [False, True])
def test_a_dict_that_somebody_has_stays(kept):
    """It goes on being the object's own."""
    node = Node(2)
    dicts = [vars(o) for o in node.below()]
    if not kept:
        dicts = []
    g = janus.function(recursion, measure=False, verify="always")
    for k in range(4):
        g(node, janus.full((3,), 0.1 * k))
    for o, d in zip(node.below(), dicts or [None] * 7):
        assert d is None or vars(o) is d
        o.scale = 7.0
        assert vars(o)["scale"] == 7.0 and list(vars(o)) == ["scale", "kids", "w", "seen"]
        del o.scale
        o.other = o
        assert "scale" not in vars(o) and vars(o)["other"] is o
        del o.other
