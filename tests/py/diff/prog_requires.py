# SPDX-License-Identifier: Apache-2.0
"""Results that require grad only where a loop had a round, or took a way, that made them so."""

import janus
import janus.nn.functional as F

from .harness import MUST, case, t

PAIRS = ((4, 8), (9, 8), (13, 9), (40, 3), (41, 7), (42, 9), (0, 7), (5, 9), (0, 9), (41, 60), (2, 5), (3, 0), (0, 0),
         (60, 70), (7, 8))


def watch(function, log, f, pairs=PAIRS):
    w = t(2, grad=True)
    g = function(lambda n, k: f(w, n, k))
    for n, k in pairs:
        w.grad = None
        y = g(n, k)
        log(y, y.requires_grad)
        if y.requires_grad:
            (y * y).sum().backward()
            log(w.grad)


@case(graph=MUST)
def while_without_a_round(function, log):
    def f(w, n, k):
        y = janus.zeros(2)
        while n > 0:
            y = y + w * n
            n -= 1
        return y

    watch(function, log, f)


@case(graph=MUST)
def while_asks_a_tensor(function, log):
    w = t(2, grad=True)

    @function
    def f(x):
        y = janus.zeros(2)
        while x.sum() > 1:
            y = y + w
            x = x * 0.5
        return y

    for v in (8.0, 3.0, 5.0, 0.5, 7.0, 0.1, 9.0):
        y = f(janus.tensor([v]))
        log(y, y.requires_grad)


@case(graph=MUST)
def backward_of_a_while(function, log):
    w = t(2, grad=True)

    @function
    def f(n):
        w.grad = None
        y = janus.zeros(2)
        while n > 0:
            y = y + w * n
            n -= 1
        y.sum().backward()
        return y

    for n in (3, 8, 5, 9, 11):
        log(f(n), w.grad)
    log.raises(f, 0)
    log(f(7), w.grad)


@case(graph=MUST)
def left_before_it_is(function, log):
    def f(w, n, k):
        y = janus.zeros(2)
        while n > 0:
            if n < k - 7:
                break
            y = y + w
            n -= 1
        return y

    watch(function, log, f)


@case
def in_one_arm_of_a_round(function, log):
    def f(w, n, k):
        y = janus.zeros(2)
        for i in range(n):
            if i > k:
                y = y + w * i
        return y

    watch(function, log, f)


@case
def in_a_loop_of_a_loop(function, log):
    def f(w, n, k):
        y = janus.zeros(2)
        for i in range(n):
            for _ in range(k - 5):
                y = y + w * i
        return y

    watch(function, log, f)


@case
def in_a_loop_of_an_arm(function, log):
    def f(w, n, k):
        if k > 5:
            y = janus.zeros(2)
            while n > 0:
                y = y + w * n
                n -= 1
        else:
            y = w * 2
        return y

    watch(function, log, f)


@case
def lost_on_the_way(function, log):
    def f(w, n, k):
        y, h = janus.zeros(2), w * 1
        for i in range(n):
            y = h * 2
            if i > k:
                h = janus.ones(2)
        return y + 1

    watch(function, log, f)


@case
def one_after_the_other(function, log):
    def f(w, n, k):
        y = janus.zeros(2)
        while n > 5:
            y = y + w * n
            n -= 3
        z = y * 2
        for i in range(k - 7):
            z = z + y if i % 2 else z * w
        return z

    watch(function, log, f)


class Node:
    def __init__(self, number, left=None, right=None):
        self.number, self.left, self.right = number, left, right


@case(graph=MUST)
def not_recorded_out_of_a_recursion(function, log):
    """Leaves hand on what requires grad, inner nodes what was computed without recording."""
    words, w, out = t(5, 3, grad=True), t(3, 3, grad=True, seed=2), t(3, 1, grad=True, seed=4)

    def visit(node):
        if node.left is None:
            return F.embedding(janus.tensor([node.number]), words)
        left, right = visit(node.left), visit(node.right)
        with janus.no_grad():
            mixed = (left + right) @ w
        return mixed

    @function
    def f(node):
        return (visit(node) @ out).sum()

    pair = Node(0, Node(1), Node(2))
    for node in (Node(1), pair, Node(2), pair, Node(0, pair, Node(3)), Node(4), pair):
        words.grad = w.grad = out.grad = None
        y = f(node)
        y.backward()
        log(y, words.grad, w.grad, out.grad)


@case(graph=MUST)
def not_recorded_into_a_recursion(function, log):
    words, w = t(5, 3, grad=True), t(3, 3, grad=True, seed=2)

    def visit(node, state):
        if node.left is None:
            return F.embedding(janus.tensor([node.number]), words) * state
        with janus.no_grad():
            below = state @ w
        return visit(node.left, below) + visit(node.right, state)

    @function
    def f(node):
        return visit(node, words[4:5] @ w).sum()

    pair = Node(0, Node(1), Node(2))
    for node in (Node(1), pair, Node(2), pair, Node(0, pair, Node(3)), Node(3)):
        words.grad = w.grad = None
        y = f(node)
        y.backward()
        log(y, words.grad, w.grad)


@case(graph=MUST)
def three_that_may(function, log):
    """Each of several operands may require grad or not, as the tree says."""
    w = t(3, grad=True)

    class Node:
        def __init__(s, value, *children):
            s.value, s.children = value, children

    def value(n):
        if len(n.children) == 0:
            return w * n.value if n.value > 0 else janus.full((3,), n.value)
        a, b, c = [value(x) for x in n.children]
        return janus.stack([a, b, c]).mean(0)

    @function
    def step(n):
        w.grad = None
        loss = value(n).sum()
        loss.backward()
        return loss.detach()

    def tree(i, depth):
        if depth == 0:
            return Node([0.5, -1.0, 2.0, -0.25][i % 4])
        return Node(0, *[tree(i * 3 + k, depth - 1) for k in range(3)])

    for i in range(8):
        log(step(tree(i, 2)), w)
