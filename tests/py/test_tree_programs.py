# SPDX-License-Identifier: Apache-2.0
"""Recursion over trees as people write it: kinds of nodes x ways to come to the code for a kind.

Each program runs on trees of random shapes, nearly all unseen, plain and decorated; values and gradients must be equal
bit for bit where nothing is batched and within rounding else, and most calls must be graphs.
"""
import random

import pytest

import janus

DIM = 4


class Model:
    """What the programs compute with."""

    def __init__(self, grad=True):
        janus.manual_seed(3)
        self.table = janus.randn(5, DIM, requires_grad=grad)
        self.weight = (janus.randn(DIM, DIM) * 0.4).requires_grad_(grad)
        self.named = {name: janus.randn(DIM, requires_grad=grad) for name in "abc"}
        self.listed = [janus.randn(DIM, requires_grad=grad) for _ in range(3)]

    def parameters(self):
        return [self.table, self.weight, *self.named.values(), *self.listed]


class Num:
    arity = 0

    def __init__(self, value):
        self.value = value

    def run(self, m):
        return janus.full((DIM,), self.value) + m.table[2] * 0

    def accept(self, visitor):
        return visitor.number(self)

    @property
    def weight(self):
        return 0.25


class Name:
    arity = 0

    def __init__(self, name):
        self.name = name

    def run(self, m):
        return m.named[self.name]

    def accept(self, visitor):
        return visitor.name(self)

    weight = 0.5


class Place:
    arity = 0

    def __init__(self, index):
        self.index = index
        self.weight = 2.0

    def run(self, m):
        return m.listed[self.index]

    def accept(self, visitor):
        return visitor.place(self)


class Unary:
    arity = 1

    def __init__(self, child):
        self.child = child
        self.weight = 1.5

    def run(self, m):
        return janus.tanh(m.weight @ self.child.run(m) * self.child.weight)

    def accept(self, visitor):
        return visitor.unary(self)


class Pair:
    arity = 2
    weight = 0.75

    def __init__(self, op, left, right):
        self.op, self.left, self.right = op, left, right

    def run(self, m):
        a, b = self.left.run(m), self.right.run(m)
        if self.op == "+":
            return a + b * self.right.weight
        return janus.tanh(a) * b

    def accept(self, visitor):
        return visitor.pair(self)


class Mirrored(Pair):
    """Of a subclass that inherits one method and overrides another."""

    def accept(self, visitor):
        return visitor.mirrored(self)


def tree(rng, depth, leaf_only=False):
    k = rng.random()
    if depth == 0 or k < 0.2 or leaf_only:
        return rng.choice([lambda: Num(float(rng.randint(-2, 2))), lambda: Name(rng.choice("abc")),
                           lambda: Place(rng.randrange(-3, 3))])()
    if k < 0.4:
        return Unary(tree(rng, depth - 1))
    kind = rng.choice([Pair, Pair, Mirrored])
    return kind(rng.choice("+*"), tree(rng, depth - 1), tree(rng, depth - 1))


# ---- ways ------------------------------------------------------------------------------------------------------


def by_method(node, m):
    return node.run(m)


class Visitor:
    def __init__(self, m):
        self.m = m

    def number(self, node):
        return janus.full((DIM,), node.value)

    def name(self, node):
        return self.m.named[node.name]

    def place(self, node):
        return self.m.listed[node.index]

    def unary(self, node):
        return janus.tanh(self.m.weight @ node.child.accept(self))

    def pair(self, node):
        a, b = node.left.accept(self), node.right.accept(self)
        return a + b if node.op == "+" else a * b

    def mirrored(self, node):
        a, b = node.right.accept(self), node.left.accept(self)
        return a - b if node.op == "+" else a * b


def by_visitor(node, m):
    return node.accept(Visitor(m))


def by_isinstance(node, m):
    if isinstance(node, Num):
        return janus.full((DIM,), node.value)
    if isinstance(node, Name):
        return m.named[node.name]
    if isinstance(node, Place):
        return m.listed[node.index]
    if isinstance(node, Unary):
        return janus.tanh(m.weight @ by_isinstance(node.child, m)) * node.weight
    a, b = by_isinstance(node.left, m), by_isinstance(node.right, m)
    return a + b if node.op == "+" else a * b


def by_attribute(node, m):
    """Attributes of one name that types have in the instance, in the class and by a property."""
    if node.arity == 0:
        return m.table[node.arity] * node.weight
    if node.arity == 1:
        return janus.tanh(m.weight @ by_attribute(node.child, m)) * node.weight
    return by_attribute(node.left, m) * node.left.weight + by_attribute(node.right, m) * node.weight


WAYS = {f.__name__: f for f in (by_method, by_visitor, by_isinstance, by_attribute)}


def trees(n):
    rng = random.Random(5)
    return [tree(rng, rng.randint(0, 5)) for _ in range(n)]


def run(f, model, node):
    """What a call gives, with its gradients."""
    for p in model.parameters():
        p.grad = None
    y = f(node, model)
    if y.requires_grad:
        (y * y).sum().backward()
    return y.detach().tolist(), y.requires_grad, [p.grad if p.grad is None else p.grad.tolist() for p in
                                                  model.parameters()]


def same(a, b):
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return isinstance(b, float) and (abs(a - b) <= 1e-4 * max(1.0, abs(a)))
    return a == b


def compare(way, verify, grad, least=0.6, nodes=None):
    model = Model(grad)
    f = janus.function(way, verify=verify, measure=False)
    nodes = nodes or trees(80)
    for i, node in enumerate(nodes):
        plain, graph = run(way, model, node), run(f, model, node)
        assert same(plain, graph), (i, plain, graph)
    stats = f.stats()
    assert not stats["disproved"]
    if verify == "never":
        assert stats["graph"] >= least * len(nodes), (stats, str(janus.explain(f))[-1500:])


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_dispatch(way, grad, verify):
    compare(WAYS[way], verify, grad)


def chain(n, kinds):
    node = Name("a")
    for i in range(n):
        node = Unary(node) if i % 2 or kinds == 1 else Pair("+", node, Place(1))
    return node


def test_a_type_that_was_not_seen():
    """Graphs made for some types are not used for another one."""

    class Other(Pair):
        def run(self, m):
            return self.left.run(m) - self.right.run(m) * 3

        def accept(self, visitor):
            return self.left.accept(visitor) * 5

    rng = random.Random(8)
    nodes = trees(30)
    for at in range(0, 30, 4):
        nodes.insert(at, Other("+", tree(rng, 2), Other("*", tree(rng, 1), tree(rng, 1))))
    for way in (by_method, by_visitor):
        compare(way, "never", True, 0.3, nodes)


def test_a_method_that_changes():
    """Classes are looked at again at every call."""
    model, f = Model(), janus.function(by_method, verify="never", measure=False)
    nodes, was = trees(20), Unary.run
    for node in nodes:
        f(node, model)
    try:
        Unary.run = lambda self, m: self.child.run(m) * 7
        for node in nodes:
            assert same(run(by_method, model, node), run(f, model, node))
    finally:
        Unary.run = was
    for node in nodes:
        assert same(run(by_method, model, node), run(f, model, node))
