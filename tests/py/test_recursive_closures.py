# SPDX-License-Identifier: Apache-2.0
"""Recursion of functions that are made inside the decorated one, and what a recursion sees beside its arguments."""
import itertools
import random

import pytest

import janus
from compared import close
from janus import nn
from test_unseen_trees import OPTIONS
from texts import names_of


class Node:
    def __init__(self, v, left=None, right=None):
        self.v, self.left, self.right = v, left, right


def tree(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return None
    return Node(rng.uniform(-1, 1), tree(rng, depth - 1), tree(rng, depth - 1))


def check(f, options, least, train=()):
    """Equal to what is undecorated on trees that no call has seen before; at least that share of operations in graphs."""
    g, rng = janus.function(f, **options), random.Random(5)
    for i in range(14):
        t, x = tree(rng, 5) or Node(0.5), janus.randn(3)
        want, want_grads = called(f, t, x, train)
        got, grads = called(g, t, x, train)
        assert close(want, got) and close(want_grads, grads), (i, want, got)
    stats = g.stats()
    assert not stats["disproved"]
    if options.get("measure") is False:
        assert stats["op_share"] >= least


def called(f, t, x, train):
    janus.manual_seed(0)
    r = f(t, x)
    for p in train:
        p.grad = None
    if train:
        r.backward()
    return r, [p.grad for p in train]


layer = nn.Linear(6, 3)


def self_call(t, x):
    def go(n):
        if n is None:
            return x
        return janus.tanh(go(n.left) + go(n.right) * n.v)
    return go(t)


def mutual(t, x):
    def even(n):
        if n is None:
            return x
        return janus.tanh(odd(n.left) - odd(n.right))

    def odd(n):
        if n is None:
            return x * 2
        return even(n.left) + even(n.right) * n.v
    return even(t)


def of_a_lambda(t, x):
    go = lambda n: x if n is None else janus.tanh(go(n.left) + go(n.right) * n.v)  # noqa: E731
    return go(t)


def collecting(t, x):
    found = []

    def go(n):
        if n is None:
            return x
        h = janus.tanh(go(n.left) + go(n.right) * n.v)
        found.append(h)
        return h
    r = go(t)
    return r, janus.stack(found).sum(0)


def before_its_children(t, x):
    found = []

    def go(n, h):
        if n is None:
            return
        found.append(h * n.v)
        go(n.left, h + 1)
        go(n.right, h - 1)
    go(t, x)
    return janus.stack(found).sum(0)


def memo(t, x):
    known = {}

    def go(n):
        if n is None:
            return x
        if n in known:
            return known[n]
        known[n] = janus.tanh(go(n.left) + go(n.right) * n.v)
        return known[n]
    return go(t)


def counter(t, x):
    k = 0

    def go(n):
        nonlocal k
        if n is None:
            return x
        k += 1
        return go(n.left) + go(n.right) * n.v
    r = go(t)
    return r, k


def depth(t, x):
    deep = 0

    def go(n):
        nonlocal deep
        if n is None:
            return x * deep
        deep += 1
        r = go(n.left) + go(n.right) * n.v
        deep -= 1
        return r
    return go(t)


def total(t, x):
    s = janus.zeros(3)

    def go(n):
        nonlocal s
        if n is None:
            return x
        h = janus.tanh(go(n.left) + go(n.right) * n.v)
        s = s + h
        return h
    go(t)
    return s


def function_as_argument(t, x):
    def go(n, f):
        if n is None:
            return f(x)
        return go(n.left, f) + go(n.right, f) * n.v
    return go(t, lambda y: y * 2) + go(t, janus.tanh)


def defaults(t, x):
    def go(n, h=None):
        if n is None:
            return x if h is None else h
        return go(n.left, x * n.v) + go(n.right)
    return go(t)


def of_a_factory(t, x):
    def make(k):
        def go(n):
            if n is None:
                return x * k
            return janus.tanh(go(n.left) + go(n.right) * n.v)
        return go
    return make(1.0)(t) + make(2.0)(t)


def in_a_loop(t, x):
    r = x
    for k in range(3):
        def go(n):
            if n is None:
                return r * k
            return janus.tanh(go(n.left) + go(n.right) * n.v)
        r = r + go(t)
    return r


def two_deep(t, x):
    def outer(n):
        if n is None:
            return x
        h = x * n.v

        def inner(m):
            if m is None:
                return h
            return janus.tanh(inner(m.left) + outer(m.right) * 0.5)
        return inner(n.left) + h
    return outer(t)


def of_module(n, x):
    if n is None:
        return x
    h = layer(janus.cat([x, x * n.v]))

    def inner(m):
        if m is None:
            return h
        return janus.tanh(inner(m.left) + of_module(m.right, x) * 0.5)
    return inner(n.left) + h


def trained(t, x):
    def go(n):
        if n is None:
            return x
        return janus.tanh(layer(janus.cat([go(n.left), go(n.right)])))
    return go(t).sum()


def trained_two_deep(t, x):
    return of_module(t, x).sum()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = layer

    def forward(self, t, x):
        def go(n):
            if n is None:
                return x
            return janus.tanh(self.f(janus.cat([go(n.left), go(n.right)])))
        return go(t).sum()


model = Model()


def in_a_method(t, x):
    return model(t, x)


PROGRAMS = [self_call, mutual, of_a_lambda, collecting, before_its_children, memo, counter, depth, total, function_as_argument,
            defaults, of_a_factory, in_a_loop, two_deep]


@pytest.mark.parametrize("options", list(OPTIONS.values()), ids=list(OPTIONS))
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_recursion(program, options):
    check(program, options, 0.85)


@pytest.mark.parametrize("options", list(OPTIONS.values()), ids=list(OPTIONS))
@pytest.mark.parametrize("program", [trained, trained_two_deep, in_a_method], ids=lambda p: p.__name__)
def test_gradients(program, options):
    check(program, options, 0.8, list(layer.parameters()))


def test_passing_on_other_functions():
    def f(t, x):
        def go(n, k):
            if n is None:
                return k(x)
            return go(n.left, lambda a: go(n.right, lambda b: k(janus.tanh(a + b * n.v))))
        return go(t, lambda y: y)
    check(f, OPTIONS["never verified"], 0.0)


# Where a number k is kept that the leaves of a recursion see, how it is made, read and set.
KEPT = {
    "item": ("k = [2.0]", "k[0]", "k[0] = {}"),
    "value": ("k = {{'a': 2.0}}", "k['a']", "k['a'] = {}"),
    "length": ("k = [0, 0]", "len(k)", "k[:] = [0] * int({})"),
    "inside": ("k = ([2.0], 1)", "k[0][0]", "k[0][0] = {}"),
    "attribute": ("k = Thing(); k.a = 2.0", "k.a", "k.a = {}"),
    "in a method": ("k = Thing(); k.a = 2.0", "k.get()", "k.a = {}"),
}
VARIABLE = ("k = 2.0", "k", "k = {}")
# The recursion, as a function of the module and as one made inside.
GIVEN = """
def go(n, k, x):
    if n is None:
        return x * {read}
    {before}
    r = go(n.left, k, x) + go(n.right, k, x) * n.v
    {after}
    return r
def f(t, x):
    {make}
    a = go(t, k, x)
    {between}
    return a, go(t, k, x), {read}
"""
INSIDE = """
def f(t, x):
    {make}
    def go(n):
        {scope}
        if n is None:
            return x * {read}
        {before}
        r = go(n.left) + go(n.right) * n.v
        {after}
        return r
    a = go(t)
    {between}
    return a, go(t), {read}
"""
# Seen by a function that is an argument.
BY_FUNCTION = """
def go(n, g, h, x):
    if n is None:
        return x * g()
    h(1.0)
    r = go(n.left, g, h, x) + go(n.right, g, h, x) * n.v
    h(-1.0)
    return r
def f(t, x):
    {make}
    def g():
        return {read}
    def h(d):
        {scope}
        {aug}
    a = go(t, g, h, x)
    {between}
    return a, go(t, g, h, x), {read}
"""
STYLES = {"given": GIVEN, "inside": INSIDE, "by a function": BY_FUNCTION}
WRITES = {"between": ("pass", "pass", True), "around": (1.0, -1.0, False), "before": (1.0, None, False), "all": (1.0, -1.0, True)}


class Thing:
    def get(self):
        return self.a


def texts():
    for (style, text), where, when in itertools.product(STYLES.items(), [*KEPT, "variable"], WRITES):
        if style == "given" and where == "variable":
            continue
        make, read, put = KEPT.get(where, VARIABLE)
        before, after, between = WRITES[when]
        by = [put.format(f"{read} + {d}") if isinstance(d, float) else "pass" for d in (before, after)]
        scope = "nonlocal k" if where == "variable" else "pass"
        yield f"{style}, {where}, {when}", text.format(
            make=make.format(), read=read, scope=scope, before=by[0], after=by[1], aug=put.format(f"{read} + d"),
            between=put.format("3.0") if between else "pass")


@pytest.mark.parametrize("text", [pytest.param(t, id=i) for i, t in texts()])
def test_what_a_recursion_sees(text):
    names = names_of(text, Thing=Thing, janus=janus)
    for options in (OPTIONS["never verified"], OPTIONS["without regions"]):
        check(names["f"], {**options, "measure": False}, 0.0)
