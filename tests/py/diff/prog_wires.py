# SPDX-License-Identifier: Apache-2.0
"""Gradients through what a recursion stores and reads back: a list of losses, a memo, attributes of nodes."""

import janus

from .harness import FAST, case, t


class Node:
    h = None

    def __init__(self, value, children=()):
        self.value, self.children = value, list(children)


def tree(depth, k=0):
    if depth == 0:
        return Node(0.3 + k % 5)
    return Node(0.1 * ((k + depth) % 5), [tree(depth - 1, 2 * k + 1 + i) for i in range(1 + (k + depth) % 3)])


def dag(n):
    nodes = [Node(0.5), Node(1.5)]
    for i in range(n):
        nodes.append(Node(0.1 * i, [nodes[-1], nodes[-2]]))
    return nodes[-1]


def train(f, log, weights, args):
    """f gives a loss; its gradients are added up over the calls."""
    for a in args:
        loss = f(a)
        loss.backward()
        log(loss, [w.grad for w in weights])


@case(graph=FAST)
def losses_of_all_nodes(function, log):
    w, b = t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True)

    def encode(node, losses):
        h = b * node.value
        for c in node.children:
            h = h + encode(c, losses) @ w
        h = janus.tanh(h)
        losses.append((h * h).sum())
        return h

    @function
    def f(node):
        losses = []
        encode(node, losses)
        return sum(losses)

    train(f, log, (w, b), [tree(d) for d in (2, 1, 2, 3, 0)])


@case(graph=FAST)
def losses_of_all_nodes_backward_inside(function, log):
    w, b = t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True)

    def encode(node, losses):
        h = b * node.value
        for c in node.children:
            h = h + encode(c, losses) @ w
        losses.append(janus.tanh(h).sum())
        return h

    @function
    def f(node):
        losses = []
        encode(node, losses)
        total = sum(losses) / len(losses)
        total.backward()
        return total

    for d in (2, 1, 2, 3, 0):
        log(f(tree(d)), w.grad, b.grad)


@case(graph=FAST)
def nothing_is_returned(function, log):
    """The recursion has no result: only what it appends leads to the loss."""
    w = t(3, 3, seed=1, grad=True)

    def visit(node, x, losses):
        y = janus.tanh(x @ w)
        losses.append(y.sum() * node.value)
        for c in node.children:
            visit(c, y, losses)

    @function
    def f(node):
        losses = []
        visit(node, janus.ones(3), losses)
        total = janus.zeros(())
        for x in losses:
            total = total + x
        return total

    train(f, log, (w,), [tree(d) for d in (2, 1, 2, 3, 0)])


@case(graph=FAST)
def a_memo_over_a_graph(function, log):
    w, b = t(3, 3, seed=3, grad=True), t(3, seed=2, grad=True)

    def encode(node, memo):
        if id(node) in memo:
            return memo[id(node)]
        h = b * node.value
        for c in node.children:
            h = h + encode(c, memo) @ w * 0.7
        h = janus.tanh(h)
        memo[id(node)] = h
        return h

    @function
    def f(node):
        return encode(node, {}).sum()

    train(f, log, (w, b), [dag(n) for n in (3, 2, 5, 7, 1)])


@case(graph=FAST)
def pairs_in_a_memo(function, log):
    w, b = t(3, 3, seed=3, grad=True), t(3, seed=2, grad=True)

    def encode(node, memo):
        if id(node) in memo:
            return memo[id(node)]
        h, k = b * node.value, b
        for c in node.children:
            x, y = encode(c, memo)
            h = h + x @ w
            k = k * y
        pair = (janus.tanh(h), janus.sigmoid(k))
        memo[id(node)] = pair
        return pair

    @function
    def f(node):
        h, k = encode(node, {})
        return (h * k).sum()

    train(f, log, (w, b), [dag(n) for n in (3, 2, 5, 7, 1)])


@case(graph=FAST)
def read_and_stored_in_turn(function, log):
    """What is read is stored again, and what was stored last is read."""
    w = t(3, 3, seed=5, grad=True)

    def visit(node, xs, sums):
        xs.append(janus.tanh(xs[-1] @ w + node.value))
        for c in node.children:
            visit(c, xs, sums)
        xs.append(xs[-2])
        sums.append(xs[-1].sum())

    @function
    def f(node):
        xs, sums = [w.sum(0), w.sum(1)], []
        visit(node, xs, sums)
        return sum(sums)

    train(f, log, (w,), [tree(d) for d in (2, 1, 2, 3, 0)])


@case(graph=FAST)
def in_loops_of_any_length(function, log):
    w = t(3, 3, seed=6, grad=True)

    @function
    def f(n):
        kept, h = [], janus.ones(3)
        for i in range(n):
            h = janus.tanh(h @ w + i * 0.1)
            if i % 3 != 1:
                kept.append(h)
        total = h.sum()
        for k in kept:
            total = total + (k * k).sum()
        return total

    train(f, log, (w,), [3, 4, 9, 12, 5, 7, 2])


@case(graph=FAST)
def some_are_never_read(function, log):
    w, b = t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True)

    def encode(node, memo):
        h = b * node.value
        for c in node.children:
            h = h + encode(c, memo) @ w
        h = janus.tanh(h)
        memo[id(node)] = (h * h).sum()
        return h

    @function
    def f(node, of):
        memo = {}
        h = encode(node, memo)
        return h.sum() + memo[id(of)]

    for d in (2, 1, 2, 3, 0):
        root = tree(d)
        loss = f(root, root.children[0] if root.children else root)
        loss.backward()
        log(loss, w.grad, b.grad)


@case(graph=FAST)
def a_weight_that_is_not_used(function, log):
    w, unused = t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True)

    def visit(node, x, losses, u):
        y = janus.tanh(x @ w)
        losses.append(y.sum())
        for c in node.children:
            visit(c, y, losses, u)
        return u * 2.0

    @function
    def f(node):
        losses = []
        visit(node, janus.ones(3), losses, unused)
        return sum(losses)

    train(f, log, (w, unused), [tree(d) for d in (2, 1, 2, 3, 0)])


@case(graph=False)
def some_require_grad_and_some_do_not(function, log):
    w = t(3, 3, seed=1, grad=True)

    def visit(node, x, out):
        y = janus.tanh(x @ w)
        out.append(y.sum())
        out.append(y.detach().sum())
        for c in node.children:
            visit(c, y, out)

    @function
    def f(node):
        out = []
        visit(node, w[0], out)
        return sum(out)

    train(f, log, (w,), [tree(d) for d in (2, 1, 2, 3, 0)])


@case(graph=False)
def a_list_of_losses_that_leaves(function, log):
    w = t(3, 3, seed=1, grad=True)

    def visit(node, x, out):
        y = janus.tanh(x @ w)
        out.append(y.sum())
        for c in node.children:
            visit(c, y, out)

    @function
    def f(node):
        out = []
        visit(node, w[0], out)
        return sum(out), out

    for d in (2, 1, 2, 3, 0):
        total, out = f(tree(d))
        log(total, len(out))
        (total + out[-1]).backward()
        log(w.grad)


@case(graph=False)
def differentiated_twice(function, log):
    w = t(3, 3, seed=1, grad=True)

    def visit(node, x, losses):
        y = janus.tanh(x @ w)
        losses.append((y * y).sum())
        for c in node.children:
            visit(c, y, losses)

    @function
    def f(node):
        losses = []
        visit(node, w[0], losses)
        return sum(losses)

    for d in (2, 1, 2, 3, 0):
        (g,) = janus.autograd.grad(f(tree(d)), (w,), create_graph=True)
        (g * g).sum().backward()
        log(g, w.grad)


@case(graph=FAST)
def decided_by_values(function, log):
    """Frames wait for values while they store."""
    w = t(3, 3, seed=8, grad=True)

    def grow(x, depth, out):
        y = janus.tanh(x @ w)
        out.append((y * y).sum())
        if depth > 0:
            if y.sum() > 0:
                grow(y * 1.5, depth - 1, out)
            grow(y - 0.3, depth - 1, out)

    @function
    def f(start):
        out = []
        for i in range(3):
            grow(start * (i + 0.5), 3, out)
        return sum(out)

    train(f, log, (w,), [t(3, seed=i) for i in range(5)])


@case(graph=FAST)
def attributes_of_nodes_backward_inside(function, log):
    """Bottom-up, then top-down: what the first pass stores the second one reads."""
    w, b = t(3, 3, seed=9, grad=True), t(3, seed=2, grad=True)

    def up(node):
        h = b * node.value
        for c in node.children:
            h = h + up(c) @ w
        node.h = janus.tanh(h)
        return node.h

    def down(node, g):
        x = janus.tanh(g * node.h)
        s = x.sum()
        for c in node.children:
            s = s + down(c, x @ w)
        return s

    @function
    def f(node):
        up(node)
        loss = down(node, b)
        loss.backward()
        return loss

    root = tree(2)
    for d in (2, 2, 3, 1):
        log(f(root), w.grad, b.grad)
        log(f(tree(d)), w.grad, b.grad)
