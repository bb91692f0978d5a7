# SPDX-License-Identifier: Apache-2.0
"""What a call uses is there for as long as it is used: arguments, what guards found, what the graph read."""
import functools
import gc
import sys
import types
import weakref

import pytest

import janus
from texts import names_of


class Thing:
    pass


def by_exit(f):
    """The traceback is the exception's alone, and the function takes it away."""
    class Manager:
        def __enter__(self):
            return self
        __exit__ = f

    def deep(n):
        if n:
            deep(n - 1)
        raise ValueError

    with Manager():
        deep(5)


def by_next(f):
    list(map(f, iter([Thing()]), iter([Thing()]), iter([Thing()]), iter([Thing()])))


def by_star(f):
    f(*[Thing() for _ in range(4)])


def by_partial(f):
    functools.partial(f, Thing(), Thing())(Thing(), Thing())


def by_method(f):
    types.MethodType(f, Thing())(Thing(), Thing(), Thing())


def by_many(f):
    f(*[Thing() for _ in range(40)])


def by_keywords(f):
    f(Thing(), Thing(), c=Thing(), d=Thing())


def by_weakref(f):
    thing = Thing()
    ref = weakref.ref(thing, lambda r: f(r, Thing(), Thing(), Thing()))
    del thing
    assert ref() is None


@pytest.mark.parametrize("caller", [by_exit, by_next, by_star, by_partial, by_method, by_many, by_keywords, by_weakref])
@pytest.mark.parametrize("converts", [True, False])
def test_arguments_outlive_the_call(caller, converts):
    """The function drops what it can of its arguments, and is converted from them after it ran."""
    x = janus.ones(2)

    def body(a, b, c, d, *rest):
        if isinstance(c, BaseException):
            c.__traceback__ = None
        if not converts:
            sys.getsizeof(a)
        y = x * 2
        a = b = c = d = None
        return (y, a, b, c, d, rest) is not None

    f = janus.function(body)
    for _ in range(30):
        caller(f)
        gc.collect(0)
    assert f.stats()["calls"] == 30


def test_a_function_that_is_dropped_and_cleared_by_its_own_call():
    """A commit drops the last reference to what clears, and deletes, the function that runs."""
    class Last:
        def __init__(self, do):
            self.do = do

        def __del__(self):
            self.do()

    holder = types.SimpleNamespace(n=0, last=None)

    def body(h, x):
        h.n = h.n + 1
        h.last = None
        return x * 2

    holder.f = janus.function(body)
    x = janus.ones(3)
    for i in range(20):
        f = holder.f
        holder.last = Last((f.clear, lambda: delattr(holder, "f"), gc.collect)[i % 3])
        assert holder.f(holder, x).tolist() == [2, 2, 2] and holder.n == i + 1 and holder.last is None
        holder.f = f


@pytest.mark.parametrize("n", [1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 129, 200])
@pytest.mark.parametrize("kind", ["objects", "attributes", "lists", "dicts", "cells", "globals", "names", "branches", "gradients"])
def test_tables_grow_while_they_are_written(kind, n):
    """As many of one kind as make the converter's tables move at that very place."""
    lines = {
        "objects": ["ps = [P(1, 2, k) for k in range(N)]", "return x, sum([p.c for p in ps])"],
        "attributes": [f"o.a{i} = {i}" for i in range(n)] + ["return x, o"],
        "lists": [f"l{i} = [{i}]; l{i}.append(x)" for i in range(n)] + ["return x, l0"],
        "dicts": [f"d{i} = {{}}; d{i}['k'] = {i}" for i in range(n)] + ["return x, d0"],
        "cells": [f"c{i} = {i}" for i in range(n)] + ["g = lambda: (" + ", ".join(f"c{i}" for i in range(n)) + ",)",
                                                      "return x, g()"],
        "globals": ["global " + ", ".join(f"g{i}" for i in range(n))] + [f"g{i} = {i}" for i in range(n)] + ["return x, g0"],
        "names": [f"v{i} = x + {i}" for i in range(n)] + [f"return x, v{n - 1}"],
        "branches": ["if x.sum() > 0:"] + [f"    b{i} = {i}" for i in range(n)] + ["else:"] +
                    [f"    b{i} = {i} + 1" for i in range(n)] + ["return x, b0"],
        "gradients": [f"w{i} = x.detach().requires_grad_(); (w{i} * {i}).sum().backward()" for i in range(n)] +
                     ["return x, [w0.grad]"],
    }[kind]
    source = "def f(x, o):\n" + "".join(f"    {line}\n" for line in lines)

    class P:
        def __init__(self, a, b, c):
            self.a = a
            self.b = b
            self.c = c

    def run(decorate):
        space = names_of(source, P=P, N=n, janus=janus)
        f, o = decorate(space["f"]), Thing()
        out = None
        for _ in range(3):
            out = f(janus.ones(2), o)
        return str(out[0]), str(out[1]) if not isinstance(out[1], Thing) else None, sorted(vars(o).items()), sorted(
            (k, v) for k, v in space.items() if k[0] == "g" and k[1:].isdigit())

    assert run(janus.function) == run(lambda f: f)


class Tree:
    def __init__(self, depth):
        self.value = float(depth)
        self.kids = [Tree(depth - 1) for _ in range(2)] if depth else []


def test_what_a_graph_reads_may_be_replaced_meanwhile():
    """The collector runs the user's code inside of a call: it replaces the whole tree that is read."""
    tree = Tree(5)

    def total(t, x):
        s = x * t.value
        for k in t.kids:
            s = s + total(k, x)
        print(end="")
        return s

    total = janus.function(total, verify="never")  # it would find that the tree is another one
    want = total(tree, janus.ones(2)).tolist()

    def shake(phase, info):
        tree.kids, tree.value = Tree(5).kids, 5.0

    old = gc.get_threshold()
    gc.callbacks.append(shake)
    try:
        gc.set_threshold(1, 1, 1)
        for _ in range(40):
            assert total(tree, janus.ones(2)).tolist() == want
    finally:
        gc.set_threshold(*old)
        gc.callbacks.remove(shake)
