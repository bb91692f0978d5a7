# SPDX-License-Identifier: Apache-2.0
"""Recursions that are given instances that the program makes, other ones in other calls: scopes, contexts, states.  Generated: the class of the instance times how a call makes
that of the next one times what it does with its own.  `ChainMap` is one of the classes, as it is written in the standard library."""
import collections
import dataclasses
import itertools
import random

import pytest

import janus
from shares import share


class Node:
    def __init__(self, name, *kids):
        self.name, self.kids, self.mark = name, kids, None


class Plain:
    def __init__(self, x, names=(), depth=0):
        self.x, self.names, self.depth = x, list(names), depth

    def child(self, name, x):
        return type(self)(x, [name, *self.names], self.depth + 1)

    def find(self, name):
        return self.x * 2 if name in self.names else self.x


class Slots(Plain):
    __slots__ = ("more",)

    def __init__(self, x, names=(), depth=0):
        super().__init__(x, names, depth)
        self.more = x * 0.5

    def find(self, name):
        return self.more + self.depth


@dataclasses.dataclass
class Data:
    x: object
    values: dict = dataclasses.field(default_factory=dict)
    depth: int = 0

    def child(self, name, x):
        return Data(x, {name: x}, self.depth + 1)

    def find(self, name):
        return self.values[name] if name in self.values else self.x


class Linked:
    """One in another."""

    def __init__(self, x, up=None):
        self.x, self.own, self.depth = x, Plain(x * 0.5), 0

    def child(self, name, x):
        made = Linked(x)
        made.own = self.own.child(name, x)
        made.depth = self.depth + 1
        return made

    def find(self, name):
        return self.own.find(name) + self.x


class Scope(collections.ChainMap):
    depth = 0

    @property
    def x(self):
        return self["a"]

    def child(self, name, x):
        return self.new_child({name: x})

    def find(self, name):
        return self[name] if name in self else self["a"]


class Chain:
    def __new__(cls, x):
        return collections.ChainMap({"a": x})


MAKES = {"plain": Plain, "slots": Slots, "data": Data, "linked": Linked, "scope": lambda x: Scope({"a": x}), "chain": lambda x: collections.ChainMap({"a": x})}


def child(s, name, x):
    return s.new_child({name: x}) if type(s) is collections.ChainMap else s.child(name, x)


def find(s, name):
    if type(s) is collections.ChainMap:
        return s[name] if name in s else s["a"]
    return s.find(name)


def down(n, x, s, do):
    y = do(s, n, x)
    if not n.kids:
        return y
    return y + 0.5 * down(n.kids[0], x, child(s, n.name, x * 2), do)


def both(n, x, s, do):
    if not n.kids:
        return do(s, n, x)
    inner = child(s, n.name, x + 1)
    return janus.tanh(both(n.kids[0], x, inner, do)) + both(n.kids[-1], x, s, do)


def let(n, x, s, do):
    if n.name == "a":
        return do(s, n, x)
    if n.kids:
        return let(n.kids[0], x, child(s, n.name, let(n.kids[-1], x, s, do)), do)
    return x * do(s, n, x)


def looped(n, x, s, do):
    y = do(s, n, x)
    for k in n.kids:
        y = y + looped(k, x * 0.5, child(s, k.name, y), do)
    return y


def found(s, n, x):
    return find(s, n.name)


def read(s, n, x):
    return (s["a"] if isinstance(s, collections.ChainMap) else s.x * (1 + s.depth)) * 0.5


def set_on(s, n, x):
    s.depth = 5
    return x * s.depth


def counted(s, n, x):
    return x * (len(s) if isinstance(s, collections.ChainMap) else s.depth)


def identity(s, n, x):
    return x * (2.0 if s is FIRST[0] else 3.0)


def marked(s, n, x):
    n.mark = s
    return x


def in_a_list(s, n, x):
    all_ = [s, s]
    return find(all_[0], n.name)


def written(s, n, x):
    if isinstance(s, collections.ChainMap):
        s[n.name] = x * 3
    elif hasattr(s, "names"):
        s.names.append(n.name)
    return find(s, n.name)


INSIDE = {f.__name__: f for f in (down, both, let, looped)}
DONE = {f.__name__: f for f in (found, read, set_on, counted, identity, marked, in_a_list, written)}
FIRST = [None]


def tree(rng, depth):
    return Node(rng.choice("abcd"), *[tree(rng, depth - 1) for _ in range(rng.randint(0, 2) if depth else 0)])


def shown(n):
    s = n.mark
    return [None if s is None else sorted(s) if isinstance(s, collections.ChainMap) else (type(s).__name__, s.depth), *[shown(k) for k in n.kids]]


def outcomes(make, inside, do, decorated, how):
    w = janus.tensor([0.5, -1.0, 2.0], requires_grad=True)

    def f(n, x):
        s = MAKES[make](x * w)
        y = INSIDE[inside](n, x, s, DONE[do])
        return y.sum(), s if do == "marked" else None
    g = janus.function(f, measure=False, **how) if decorated else f
    rng, log = random.Random(3), []
    for i in range(16):
        n = tree(rng, 3)
        janus.manual_seed(i)
        w.grad = None
        try:
            y, s = g(n, janus.randn(3))
            y.backward()
            log.append([round(y.item(), 3), [round(v, 3) for v in w.grad.tolist()], shown(n), n.mark is s])
        except Exception as e:
            log.append((type(e).__name__, str(e)))
    return log, g


@pytest.mark.parametrize("do", DONE)
def test_as_undecorated(do):
    for at, (make, inside) in enumerate(share(itertools.product(MAKES, INSIDE))):
        want, _ = outcomes(make, inside, do, False, {})
        got, g = outcomes(make, inside, do, True, {"verify": ("never", "always")[at % 2]})
        assert want == got, (make, inside, [x for x in zip(want, got) if x[0] != x[1]][:2])
        if do in ("found", "read") and make in ("plain", "scope", "chain") and inside in ("down", "both"):
            assert g.stats()["graph"] >= 4, (make, inside, str(janus.explain(g)))
