# SPDX-License-Identifier: Apache-2.0
"""Recursions that pass weights down as arguments: their gradients are sums over all calls, bit for bit."""

import math

import janus
import janus.nn.functional as F

from .harness import MUST, case, t


class Tree:
    def __init__(self, value, *children):
        self.value, self.children = value, list(children)


def tree(n, k=0):
    """n leaves; values without pattern, so that sums in another order differ."""
    value = 1.1 + math.sin(3.7 * n + k)
    if n == 1:
        return Tree(value)
    left = 1 + (n * 7 + k) % (n - 1)
    return Tree(value, tree(left, k + 1), tree(n - left, k + 2))


def chain(n):
    return Tree(n % 7 + 0.1, *([chain(n - 1)] if n else []))


SIZES = (5, 9, 3, 14, 8, 1, 20, 11)


@case(graph=MUST)
def down_a_chain(function, log):
    def weigh(x, w):
        if not x.children:
            return w * x.value
        return weigh(x.children[0], w) * 0.5 + w * x.value

    for n in (5, 10, 15, 20):
        w = janus.tensor(2.0, requires_grad=True)

        @function
        def f(x):
            w.grad = None
            loss = weigh(x, w)
            loss.backward()
            return loss

        for _ in range(3):
            log(f(chain(n)), w.grad)


@case(graph=MUST)
def down_a_tree(function, log):
    w, b = t(3, 4, grad=True), t(4, seed=1, grad=True)
    x = t(3, seed=2)

    def encode(node, w, b):
        if not node.children:
            return F.relu((x * node.value) @ w + b)
        y = b * node.value
        for c in node.children:
            y = y + janus.tanh(encode(c, w, b) * node.value)
        return y

    @function
    def f(node):
        return encode(node, w, b).sum() + (w * w).sum()

    for n in SIZES:
        loss = f(tree(n))
        loss.backward()
        log(loss, w.grad, b.grad)


@case(graph=MUST)
def given_in_another_order(function, log):
    """Two functions that call each other, and name the same things differently."""
    w, v = t(4, grad=True), t(4, seed=3, grad=True)

    def even(node, a, b):
        if not node.children:
            return a * node.value + b
        return odd(b, node.children[0], a) * a + odd(b, node.children[1], a)

    def odd(p, node, q):
        if not node.children:
            return p * node.value - q
        return even(node.children[0], q, p) * 0.3 + even(node.children[1], q, p) * p

    @function
    def f(node):
        w.grad = v.grad = None
        loss = even(node, w, v).sum()
        loss.backward()
        return loss

    for n in SIZES:
        log(f(tree(n)), w.grad, v.grad)


@case(graph=MUST)
def computed_before(function, log):
    """What is passed down is no leaf, and is used elsewhere, too."""
    w = t(4, grad=True)

    def weigh(node, a):
        if not node.children:
            return a * node.value
        return weigh(node.children[0], a) * weigh(node.children[1], a) + a

    @function
    def f(node):
        a = janus.tanh(w * 1.3)
        loss = (weigh(node, a) + a * 0.7 + w).sum()
        loss.backward()
        return loss

    for n in SIZES:
        w.grad = None
        log(f(tree(n)), w.grad)


@case(graph=MUST)
def in_a_tuple(function, log):
    a, b = t(3, 3, grad=True), t(3, seed=5, grad=True)

    def run(node, weights):
        m, c = weights
        h = c * node.value
        for child in node.children:
            h = h + run(child, weights) @ m
        return janus.tanh(h)

    @function
    def f(nodes):
        loss = 0.0
        for node in nodes:
            loss = loss + run(node, (a, b)).sum()
        loss.backward()
        return loss

    for n in SIZES:
        a.grad = b.grad = None
        log(f([tree(n), tree(n + 2), tree(2)]), a.grad, b.grad)


@case
def changed_on_one_path(function, log):
    """The same in some calls only: it stays an argument."""
    w = t(4, grad=True)

    def weigh(node, a):
        if not node.children:
            return a * node.value
        if node.value > 1.5:
            return weigh(node.children[0], a * 0.5) + a
        return weigh(node.children[0], a) + weigh(node.children[1], a)

    @function
    def f(node):
        return weigh(node, w).sum()

    for n in SIZES:
        w.grad = None
        loss = f(tree(n))
        loss.backward()
        log(loss, w.grad)


@case
def exchanged(function, log):
    a, b = t(4), t(4, seed=2)

    def weigh(node, p, q):
        if not node.children:
            return p * node.value - q
        return weigh(node.children[0], q, p) + weigh(node.children[1], p, q) * 0.5

    f = function(lambda node: weigh(node, a, b))
    for n in SIZES:
        log(f(tree(n)))


@case
def two_sets_of_weights(function, log):
    a, b = t(4), t(4, seed=2)

    def weigh(node, w):
        if not node.children:
            return w * node.value
        return weigh(node.children[0], w) + weigh(node.children[1], w) * w

    f = function(lambda x, y: weigh(x, a) * weigh(y, b))
    for n in SIZES:
        log(f(tree(n), tree(n + 1)))


@case
def one_for_each_example(function, log):
    """Differs from round to round of a loop."""
    q = t(3, 4)

    def weigh(node, w):
        if not node.children:
            return w * node.value
        return weigh(node.children[0], w) + weigh(node.children[1], w) * w

    @function
    def f(nodes):
        y = []
        for i, node in enumerate(nodes):
            y.append(weigh(node, q[i % 3]).sum())
        return sum(y)

    for n in SIZES:
        log(f([tree(n + k % 3) for k in range(n)]))


@case
def not_recorded(function, log):
    w = t(4, grad=True)

    def weigh(node, w):
        if not node.children:
            return w * node.value
        return weigh(node.children[0], w) + weigh(node.children[1], w) * w

    @function
    def f(node):
        with janus.no_grad():
            scale = weigh(node, w)
        return (weigh(node, w) * scale).sum()

    for n in SIZES[:5]:
        w.grad = None
        loss = f(tree(n))
        loss.backward()
        log(loss, w.grad)


@case
def written_afterwards(function, log):
    w = t(4)

    def weigh(node, a):
        if not node.children:
            return a * node.value
        return weigh(node.children[0], a) + weigh(node.children[1], a) * a

    @function
    def f(node):
        y = weigh(node, w)
        w.mul_(0.9)
        return y + weigh(node, w)

    for n in SIZES:
        log(f(tree(n)), w)


@case(graph=MUST)
def returned_as_it_is(function, log):
    """A weight that an arm and a leaf return: one read from outside, one passed down."""
    w, v = t(4, grad=True), t(4, seed=1, grad=True)

    def weigh(node, a):
        if not node.children:
            return w
        y = weigh(node.children[0], a) * node.value + w
        return y * (a if node.value > 1 else weigh(node.children[1], a))

    @function
    def f(node):
        w.grad = v.grad = None
        loss = weigh(node, v).sum()
        loss.backward()
        return loss

    for n in SIZES:
        log(f(tree(n + 3)), w.grad, v.grad)
