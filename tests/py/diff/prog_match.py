# SPDX-License-Identifier: Apache-2.0
"""match: over nodes of trees inside recursions, over tuples, numbers and strings."""

from dataclasses import dataclass
from typing import Any

import janus
from diff.harness import FAST, MUST, case, t

nn = janus.nn


@dataclass
class Leaf:
    value: float


@dataclass
class Name:
    id: str


@dataclass
class Neg:
    of: Any


@dataclass
class Bin:
    op: str
    left: Any
    right: Any


def tree(d, s=0):
    if d == 0:
        return Leaf(0.5 + 0.1 * s) if s % 3 else Name("xyz"[s % 2 + s % 5 // 4])
    if (d + s) % 4 == 0:
        return Neg(tree(d - 1, s + 1))
    return Bin("+-*/"[(s + d) % 3], tree(d - 1, 2 * s), tree(max(d - 2, 0), 2 * s + 1))


DEPTHS = (1, 3, 2, 4, 5, 3, 2, 4, 5)


def train(function, log, ev, leaves, make=tree):
    @function
    def f(n):
        return ev(n).sum()

    for d in DEPTHS:
        y = f(make(d))
        if y.requires_grad:
            y.backward()
        log(y)
    log(*[w.grad for w in leaves])


@case(graph=MUST)
def classes(function, log):
    w = t(3, grad=True)
    names = {"x": 1.0, "y": 2.0, "z": 3.0}

    def ev(n):
        match n:
            case Leaf(value=v):
                return w * v
            case Name(i):
                return w * w * names[i]
            case Neg(of=x):
                return -ev(x)
            case Bin("+", a, b):
                return ev(a) + ev(b)
            case Bin("-", a, b):
                return ev(a) - ev(b)
            case Bin("*", left=a, right=b):
                return ev(a) * ev(b)
            case _:
                raise ValueError(n)

    train(function, log, ev, [w])


@case(graph=FAST)
def alternatives_and_guards(function, log):
    w = t(3, grad=True)

    def ev(n, depth):
        match n:
            case Leaf(v) if v > 0.6:
                return w * v
            case Leaf() | Name():
                return w
            case Bin("+" | "-" as op, a, b) if depth < 3:
                x, y = ev(a, depth + 1), ev(b, depth + 1)
                return x + y if op == "+" else x - y
            case Bin(left=a, right=b):
                return ev(a, depth + 1) * 0.5 + ev(b, depth + 1)
            case Neg(x):
                return -ev(x, depth + 1)

    train(function, log, lambda n: ev(n, 0), [w])


@case(graph=MUST)
def no_case_fits(function, log):
    """What follows the statement runs."""
    w = t(3, grad=True)

    def ev(n):
        out = w
        match n:
            case Bin("+", left, right):
                out = ev(left) + ev(right)
            case Bin(_, left, _):
                out = ev(left) * 2
            case Neg(Neg(x)):
                out = ev(x)
            case Neg(x):
                out = -ev(x)
        return janus.tanh(out)

    train(function, log, ev, [w])


@case
def tuples_as_nodes(function, log):
    w = t(3, grad=True)

    def make(d, s=0):
        if d == 0:
            return ("leaf", 0.5 + s * 0.1)
        if s % 3 == 2:
            return ("neg", make(d - 1, s + 2))
        return ("add" if s % 2 else "mul", make(d - 1, 2 * s), make(max(d - 2, 0), s + 1))

    def ev(n):
        match n:
            case ("leaf", v):
                return w * v
            case ("add", a, b):
                return ev(a) + ev(b)
            case ["mul", a, b]:
                return ev(a) * ev(b)
            case (_, x):
                return -ev(x)

    train(function, log, ev, [w], make)


@case(graph=MUST)
def known_values(function, log):
    w = t(3, grad=True)

    @function
    def f(x, mode, size):
        match mode:
            case "sum" | "total":
                y = x.sum()
            case "mean":
                y = x.mean()
            case None:
                return x
            case True:
                y = x.max()
            case int(k) if k > 3:
                y = x.sum() * k
            case (a, b):
                y = x[a] * x[b]
            case [a, *rest, b]:
                y = x[a] * len(rest) + b
            case str() as s:
                raise ValueError(s)
            case _:
                y = x.sum() * 0
        match size:
            case 0 | 1:
                y = y + 1
            case n:
                y = y * n
        return y

    for mode in ("sum", "mean", None, True, 5, 2, (0, 1), [0, 1, 2, 3], "sum", None, (0, 1), 7, [2, 0, 1], 2.5):
        for size in (0, 2):
            log(f(w * 1, mode, size))
    log.raises(f, w * 1, "what", 1)
    log.raises(f, w * 1, "what", 1)


@case(graph=MUST)
def tensor_guard(function, log):
    w = t(3, grad=True)

    def ev(n, h):
        match n:
            case Leaf(v) if h.sum() > 0:
                return h * v
            case Leaf() | Name():
                return h * w
            case Neg(x):
                return ev(x, -h)
            case Bin(_, a, b):
                return ev(a, h) + ev(b, janus.tanh(h))

    train(function, log, lambda n: ev(n, w * 2), [w])


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y=None):
        self.x = x
        if y is not None:
            self.y = y


@case
def attributes_that_are_missing(function, log):
    w = t(3, grad=True)

    @function
    def f(p, q):
        match p:
            case Point(a, b):
                r = w * a + b
            case Point(x=a):
                r = w * a
        match q:
            case {"k": v, **rest}:
                r = r + v
            case object(k=v):
                r = r - v
        return r

    for i in range(6):
        log(f(Point(i, 2 if i % 2 else None), {"k": 2.0, "j": 1}))


@case
def subclasses_later(function, log):
    """A class that was not seen when the graph was made."""
    w = t(3, grad=True)

    class Special(Leaf):
        pass

    def ev(n):
        match n:
            case Special(v):
                return w * v * 10
            case Leaf(v):
                return w * v
            case Bin(_, a, b):
                return ev(a) + ev(b)

    @function
    def f(n):
        return ev(n).sum()

    for i in range(8):
        n = Bin("+", Leaf(0.5), Bin("-", Special(0.25) if i % 4 == 3 else Leaf(0.1), Leaf(0.2 * i)))
        log(f(n))
