# SPDX-License-Identifier: Apache-2.0
"""Recursion over trees as people write it: kinds of nodes x ways to come to the code for a kind.

Each program runs on trees of random shapes, nearly all unseen, plain and decorated; values and gradients must be equal
bit for bit where nothing is batched and within rounding else, and most calls must be graphs.
"""
import dataclasses
import random

import pytest

import janus
from compared import close

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


def compare(way, verify, grad, least=0.6, nodes=None):
    model = Model(grad)
    f = janus.function(way, verify=verify, measure=False)
    nodes = nodes or trees(80)
    for i, node in enumerate(nodes):
        plain, graph = run(way, model, node), run(f, model, node)
        assert close(plain, graph), (i, plain, graph)
    stats = f.stats()
    assert not stats["disproved"]
    if verify == "never":
        assert stats["graph"] >= least * len(nodes), (stats, str(janus.explain(f))[-1500:])


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_dispatch(way, grad, verify):
    compare(WAYS[way], verify, grad)


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
            assert close(run(by_method, model, node), run(f, model, node))
    finally:
        Unary.run = was
    for node in nodes:
        assert close(run(by_method, model, node), run(f, model, node))


# ---- lists of results whose length differs between nodes, and what the type of a node says ----------------------


class Many:
    def __init__(self, word, kids):
        self.word, self.kids = word, kids


def forest(rng, depth, make):
    n = rng.choice([0, 1, 2, 2, 3]) if depth else 0
    return Many(rng.randrange(5), make([forest(rng, depth - 1, make) for _ in range(n)]))


def row(m, node):
    return janus.sigmoid(m.table[node.word])


def by_stack(node, m):
    if not node.kids:
        return row(m, node)
    return janus.tanh(m.weight @ janus.stack([by_stack(k, m) for k in node.kids]).sum(0))


def by_cat(node, m):
    x = row(m, node).unsqueeze(0)
    kids = [by_cat(k, m) for k in node.kids]
    h = janus.cat([x] + kids, dim=0).mean(0, keepdim=True) if kids else x
    return janus.tanh(h @ m.weight)


def by_pairs(node, m):
    """States of two parts, taken apart by zip(*...)."""
    x = row(m, node).unsqueeze(0)
    states = [by_pairs(k, m) for k in node.kids]
    if len(states) == 0:
        c, h = janus.zeros(1, DIM), janus.zeros(1, DIM)
    else:
        c, h = zip(*states)
        c, h = janus.cat(c, dim=0), janus.cat(h, dim=0)
    f = janus.sigmoid(h @ m.weight + x.repeat(len(h), 1))
    c = x + (f * c).sum(0, keepdim=True)
    return c, janus.tanh(c) * h.sum(0, keepdim=True) + x


def total(*states):
    out = states[0]
    for s in states[1:]:
        out = janus.tanh(out) * s
    return out


def by_star(node, m):
    return total(row(m, node), *[by_star(k, m) for k in node.kids])


def by_parts(node, m):
    """`first, *others = kids`."""
    if len(node.kids) == 0:
        return row(m, node)
    first, *others = node.kids
    h = by_parts(first, m)
    for k in others:
        h = janus.tanh(m.weight @ h) + by_parts(k, m)
    return h


def by_sum(node, m):
    return row(m, node) + 0.5 * sum(by_sum(k, m) for k in node.kids)


def in_a_loop(node, m):
    h = row(m, node)
    for i in range(2):
        parts = [in_a_loop(k, m) for k in node.kids]
        if parts:
            h = h + janus.stack(parts).mean(0) * i
    return h


LISTS = {f.__name__: f for f in (by_stack, by_cat, by_pairs, by_star, by_parts, by_sum, in_a_loop)}


def first_of(f):
    return (lambda node, m: f(node, m)[1]) if f is by_pairs else f


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("make", [list, tuple])
@pytest.mark.parametrize("way", LISTS)
def test_lists_of_results(way, make, verify):
    rng = random.Random(4)
    nodes = [forest(rng, rng.randint(0, 3), make) for _ in range(60)]
    compare(first_of(LISTS[way]), verify, True, 0.6, nodes)


def test_more_children_than_were_seen():
    rng = random.Random(4)
    nodes = [forest(rng, 2, list) for _ in range(30)]
    for i in (12, 20, 28):
        nodes.insert(i, Many(1, [forest(rng, 1, list) for _ in range(i)]))
    for way in (by_stack, by_cat, by_sum):
        compare(way, "never", True, 0.5, nodes)


class ByName:
    def __init__(self, m):
        self.m = m

    def visit(self, node):
        method = getattr(self, "visit_" + type(node).__name__.lower())
        return method(node)

    def visit_num(self, node):
        return janus.full((DIM,), node.value)

    def visit_name(self, node):
        return self.m.named[node.name]

    def visit_place(self, node):
        return self.m.listed[node.index]

    def visit_unary(self, node):
        return janus.tanh(self.m.weight @ self.visit(node.child))

    def visit_pair(self, node):
        a, b = self.visit(node.left), self.visit(node.right)
        return a + b if node.op == "+" else a * b

    def visit_mirrored(self, node):
        return self.visit(node.left) - self.visit(node.right)


def by_type_name(node, m):
    return ByName(m).visit(node)


def leaf_number(node, m):
    return janus.full((DIM,), node.value)


def leaf_name(node, m):
    return m.named[node.name]


def leaf_place(node, m):
    return m.listed[node.index]


def inner_unary(node, m):
    return janus.tanh(m.weight @ by_table(node.child, m))


def inner_pair(node, m):
    return by_table(node.left, m) * 0.5 + by_table(node.right, m)


TABLE = {Num: leaf_number, Name: leaf_name, Place: leaf_place, Unary: inner_unary, Pair: inner_pair,
         Mirrored: inner_pair}


def by_table(node, m):
    """A dict keyed by type."""
    return TABLE[type(node)](node, m)


def by_class_name(node, m):
    kind = node.__class__.__name__
    if kind in ("Num", "Name"):
        return m.table[len(kind)] * 1
    if kind == "Place":
        return m.listed[node.index]
    if kind == "Unary":
        return janus.tanh(m.weight @ by_class_name(node.child, m))
    a, b = by_class_name(node.left, m), by_class_name(node.right, m)
    return a * b if type(node) is Mirrored else a + b


TYPES = {f.__name__: f for f in (by_type_name, by_table, by_class_name)}


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("way", TYPES)
def test_forks_on_types(way, verify):
    compare(TYPES[way], verify, True, 0.5)


# ---- strings of nodes, what is not given, and what is returned early --------------------------------------------


class Op:
    count = 0

    def __init__(self, name, *kids):
        self.name, self.kids = name, kids
        self.id = Op.count
        Op.count += 1


def dag(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return Op("row%d" % rng.randrange(3))
    name = rng.choice(["neg_1", "add_2", "mul_2"])
    return Op(name, *[dag(rng, depth - 1) for _ in range(int(name[-1]))])


def by_string(op, m):
    """Parts of a string, and numbers made of them."""
    if op.name.startswith("row"):
        return janus.tanh(m.table[int(op.name[-1])])
    kind, arity = op.name.split("_")
    parts = [by_string(k, m) for k in op.kids[: int(arity)]]
    if kind == "neg":
        return -parts[0]
    return parts[0] + parts[1] if kind == "add" else parts[0] * parts[1]


def by_default(op, m, scale=None):
    """An argument that inner calls give."""
    h = janus.tanh(m.table[len(op.kids)])
    for k in op.kids:
        h = h + by_default(k, m, 0.5 if scale is None else scale * 0.5)
    return h if scale is None else h * scale


def by_early_return(op, m):
    """A loop that is left from inside."""
    h = janus.zeros(DIM)
    for k in op.kids:
        x = janus.tanh(m.table[len(k.kids)] + h)
        if k.name.startswith("row"):
            return x
        h = h + x
    return h + m.weight[0]


STRINGS = {f.__name__: f for f in (by_string, by_default, by_early_return)}


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("way", STRINGS)
def test_strings_and_defaults(way, verify):
    rng = random.Random(6)
    compare(STRINGS[way], verify, True, 0.4, [dag(rng, rng.randint(0, 4)) for _ in range(60)])


# ---- results that are objects -----------------------------------------------------------------------------------


@dataclasses.dataclass
class Encoded:
    vector: object
    loss: object
    depth: int
    label: object = None


class State:
    def __init__(self, h, size):
        self.h = h
        self.size = size

    def bigger(self, other):
        return self.size > other.size


def encode(node, m):
    loss, depth = janus.zeros(()), 0
    h = row(m, node)
    for child in node.kids:
        e = encode(child, m)
        h = janus.tanh(m.weight @ e.vector) + h
        loss = loss + e.loss * 0.5
        depth = max(depth, e.depth)
    loss = loss + h.sum()
    return Encoded(h, loss, depth + 1)


def by_dataclass(node, m):
    e = encode(node, m)
    return e.vector * e.loss + e.depth


def returned(node, m):
    """The object itself, with another attribute."""
    e = encode(node, m)
    e.label = node.word
    return e


def state_of(node, m):
    if len(node.kids) == 0:
        return State(row(m, node), 1)
    first = state_of(node.kids[0], m)
    size, h = 1 + first.size, first.h
    for k in node.kids:
        s = state_of(k, m)
        h = janus.tanh(m.weight @ s.h) + h
        size = size + s.size
        if s.bigger(first):
            h = h * 0.5
    return State(h, size)


def by_class(node, m):
    s = state_of(node, m)
    return s.h * s.size


def two_of(node, m):
    """Tuples of objects."""
    if not node.kids:
        s = State(row(m, node), 0)
        return s, 1
    s, n = two_of(node.kids[0], m)
    t, k = two_of(node.kids[-1], m)
    return State(janus.tanh(s.h) + t.h, s.size + t.size + 1), n + k


def by_tuple_of_objects(node, m):
    s, n = two_of(node, m)
    return s.h * n + s.size


def shared(node, m):
    """One object under two names must stay one."""
    s = State(row(m, node), len(node.kids))
    for k in node.kids:
        t, u = shared(k, m)
        u.size = 7
        s.h = s.h + t.h * t.size
    return s, s


def by_shared(node, m):
    s, t = shared(node, m)
    assert s is t
    return s.h


OBJECTS = {f.__name__: f for f in (by_dataclass, by_class, by_tuple_of_objects)}


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("way", OBJECTS)
def test_results_that_are_objects(way, verify):
    rng = random.Random(4)
    compare(OBJECTS[way], verify, True, 0.5, [forest(rng, rng.randint(0, 3), list) for _ in range(50)])


def test_objects_with_two_names():
    rng = random.Random(4)
    compare(by_shared, "never", True, 0, [forest(rng, rng.randint(0, 3), list) for _ in range(40)])


def test_an_object_leaves():
    rng, model = random.Random(4), Model()
    f = janus.function(returned, verify="never", measure=False)
    for _ in range(40):
        node = forest(rng, rng.randint(0, 3), list)
        a, b = returned(node, model), f(node, model)
        assert type(a) is type(b) and list(vars(a)) == list(vars(b))
        assert (a.depth, a.label) == (b.depth, b.label)
        assert close(a.vector.tolist(), b.vector.tolist()) and close(a.loss.item(), b.loss.item())
        assert b is not f(node, model)
