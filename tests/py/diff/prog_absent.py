# SPDX-License-Identifier: Apache-2.0
"""Gradients that there are on some paths of a recursion or loop only: a leaf that no path taken uses has none, not one
of zeros, and nothing is computed of what is not there."""

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import FAST, MUST, case, t


class Node:
    def __init__(self, k, children=()):
        self.x = t(3, seed=k)
        self.flag = k % 2 == 0
        self.token = janus.tensor([k % 4])
        self.children = list(children)
        self.left, self.right = (self.children + [None, None])[:2]
        self.h = None


def tree(depth, k=0):
    """Binary, with leaves at all depths."""
    if depth == 0 or k % 5 == 4:
        return Node(k)
    return Node(k, [tree(depth - 1, 2 * k + 1), tree(depth - 1, 2 * k + 2)])


def chain(n):
    return Node(n, [chain(n - 1)]) if n else Node(0)


TREES = [tree(3), tree(0), tree(0, 1), tree(1), tree(2), tree(0, 3), tree(3, 1)]


def train(log, f, leaves, inputs):
    """The gradients of each call, and what an optimizer with a memory makes of them."""
    opt = janus.optim.SGD(leaves, lr=0.05, momentum=0.9, weight_decay=0.1)
    for x in inputs:
        opt.zero_grad()
        y = f(x)
        y.backward()
        log(y.detach(), *leaves, [p.grad is None for p in leaves])
        opt.step()


@case(graph=MUST)
def value_for_one_arm(function, log):
    w, v = t(3, grad=True), t(3, seed=2, grad=True)

    def visit(node):
        u = w * node.x
        if node.left is None:
            return v * node.x
        return (u + visit(node.left)) * visit(node.right)

    f = function(lambda root: visit(root).sum())
    train(log, f, [w, v], TREES)


@case(graph=MUST)
def argument_not_used_at_the_end(function, log):
    w, v, h0 = t(3, grad=True), t(3, seed=2, grad=True), t(3, seed=3, grad=True)

    def walk(n, h):
        if n == 0:
            return v.sum()
        return walk(n - 1, h * w) + (h * h).sum()

    f = function(lambda n: walk(n, h0 * 2.0))
    train(log, f, [w, v, h0], [3, 0, 1, 2, 0, 4, 1])


@case(graph=MUST)
def argument_used_at_the_end_only(function, log):
    w, v, h0 = t(3, grad=True), t(3, seed=2, grad=True), t(3, seed=3, grad=True)

    def walk(node, h):
        if node.left is None:
            if node.flag:
                return (h * v).sum()
            return (v * v).sum()
        return walk(node.left, h * w) + walk(node.right, h)

    f = function(lambda root: walk(root, h0 * 2.0))
    train(log, f, [w, v, h0], TREES)


@case(graph=MUST)
def infinite_derivative(function, log):
    w, v = (t(3) * 0).detach().requires_grad_(), t(3, seed=2, grad=True)

    def visit(node):
        n = (w * w).sum().sqrt()
        if node.left is None:
            return (v * node.x).sum() + w.sum()
        if node.flag:
            return visit(node.left) + n.detach()
        return visit(node.left) + n * 2.0 if n > 1 else visit(node.right)

    f = function(visit)
    for root in TREES:
        w.grad = v.grad = None
        y = f(root)
        y.backward()
        log(y, w, v)


@case(graph=MUST)
def chain_on_one_path(function, log):
    a, b, c, v = t(3, 3, grad=True), t(3, seed=1, grad=True), t(3, 3, seed=2, grad=True), t(3, seed=3, grad=True)

    def visit(node):
        h = janus.tanh(node.x @ a + b)
        g = janus.sigmoid(h @ c)
        if node.left is None:
            return v * node.x
        return visit(node.left) * g + visit(node.right) * h

    f = function(lambda root: visit(root).sum())
    train(log, f, [a, b, c, v], TREES)


@case(graph=MUST)
def one_of_two_results(function, log):
    a, b = t(3, grad=True), t(3, seed=1, grad=True)

    def visit(node):
        if node.left is None:
            return a * node.x, b * node.x
        h, c = visit(node.left)
        k, d = visit(node.right)
        if node.flag:
            return h * k, d * 2.0
        return h + k, node.x * 1.0

    def root_of(root):
        h, c = visit(root)
        return h.sum() if root.flag else (h * c).sum()

    train(log, function(root_of), [a, b], TREES)


@case(graph=MUST)
def two_results_on_two_paths(function, log):
    a, b, w = t(3, grad=True), t(3, seed=1, grad=True), t(3, seed=2, grad=True)

    def pair(node):
        if node.left is None:
            return a * node.x, b * node.x
        h, c = pair(node.left)
        k, d = pair(node.right)
        return h * k, c + d

    def visit(node):
        h, c = pair(node)
        y = w.sum()
        if node.flag:
            y = y + h.sum()
        if node.left is None:
            y = y + c.sum()
        else:
            y = y + visit(node.right)
        return y

    train(log, function(visit), [a, b, w], TREES)


@case(graph=MUST)
def child_sum(function, log):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(4, 3)
            self.gates_x, self.gates_h = nn.Linear(3, 9), nn.Linear(3, 9, bias=False)
            self.forget_x, self.forget_h = nn.Linear(3, 3), nn.Linear(3, 3, bias=False)

        def visit(self, node):
            x = self.embedding(node.token)
            forget = self.forget_x(x)
            h_sum, c_sum = janus.zeros_like(x), janus.zeros_like(x)
            for child in node.children:
                h, c = self.visit(child)
                h_sum = h_sum + h
                c_sum = c_sum + janus.sigmoid(forget + self.forget_h(h)) * c
            i, o, u = (self.gates_x(x) + self.gates_h(h_sum)).chunk(3, 1)
            c = janus.sigmoid(i) * janus.tanh(u) + c_sum
            return janus.sigmoid(o) * janus.tanh(c), c

        def forward(self, node):
            return self.visit(node)[0].sum()

    net = Net()
    for p in net.parameters():
        p.data.copy_(t(*p.shape, seed=p.numel()))
    train(log, function(net), list(net.parameters()), TREES)


@case(graph=MUST)
def cell_after_its_last_use(function, log):
    w, u, b = t(3, 3, grad=True), t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True)

    @function
    def f(xs):
        h = b * 1.0
        loss = (b * b).sum()
        for x in xs:
            loss = loss + (h * x).sum()
            h = janus.tanh(x @ w + h @ u)
        return loss

    train(log, f, [w, u, b], [[t(3, seed=i + k) for k in range(n)] for i, n in enumerate([3, 1, 2, 0, 1, 4, 5, 2, 6, 7])])


@case(graph=MUST)
def lstm_after_its_last_use(function, log):
    cell, out = nn.Linear(6, 12), nn.Linear(3, 1)
    leaves = [*cell.parameters(), *out.parameters()]
    for p in leaves:
        p.data.copy_(t(*p.shape, seed=p.numel()))

    def run(node, h, c):
        loss = out(h).sum()
        if node.left is None:
            return loss
        i, f, g, o = cell(janus.cat([node.x, h])).chunk(4)
        c = janus.sigmoid(f) * c + janus.sigmoid(i) * janus.tanh(g)
        return loss + run(node.left, janus.sigmoid(o) * janus.tanh(c), c)

    @function
    def f(root):
        return run(root, janus.zeros(3), janus.zeros(3))

    train(log, f, leaves, [chain(n) for n in (3, 0, 1, 2, 0, 4)])


@case(graph=MUST)
def state_replaced_in_a_loop(function, log):
    w, v, h0 = t(3, grad=True), t(3, seed=1, grad=True), t(3, seed=2, grad=True)

    @function
    def f(xs):
        h = h0 * 2.0
        for x in xs:
            if x.sum() > 0.5:
                h = v * x
            else:
                h = h * w
        return (h * 3.0).sum()

    train(log, f, [w, v, h0], [[t(3, seed=i + k) for k in range(i % 4)] for i in range(14)])


@case(graph=MUST)
def value_for_a_loop(function, log):
    w, v = t(3, grad=True), t(3, seed=1, grad=True)

    @function
    def f(xs):
        u = janus.exp(w * 2.0)
        s = v * 1.0
        for x in xs:
            if x.sum() > 0.5:
                s = s + u * x
        return s.sum()

    train(log, f, [w, v], [[t(3, seed=i + k) for k in range(i % 4)] for i in range(14)])


@case(graph=MUST)
def value_for_a_recursion(function, log):
    w, v = t(3, grad=True), t(3, seed=1, grad=True)

    @function
    def f(root):
        u = janus.exp(w * 2.0)

        def visit(node):
            if node.left is None:
                return v * node.x
            return visit(node.left) + visit(node.right) * u

        return visit(root).sum()

    train(log, f, [w, v], TREES)


@case(graph=MUST)
def recursion_for_one_arm(function, log):
    w, v = t(3, grad=True), t(3, seed=1, grad=True)

    def visit(node):
        if node.left is None:
            return v * node.x
        return visit(node.left) + visit(node.right) * w

    @function
    def f(root):
        h = visit(root)
        if root.x.sum() > 0.5:
            return h.sum()
        return (root.x * v).sum()

    train(log, f, [w, v], TREES + [tree(2, k) for k in range(6)])


@case(graph=MUST)
def loop_for_one_arm(function, log):
    w, v = t(3, grad=True), t(3, seed=1, grad=True)

    def visit(node):
        h = v * node.x
        for child in node.children:
            h = h * w + visit(child)
        if node.flag:
            return h
        return v * 2.0

    train(log, function(lambda root: visit(root).sum()), [w, v], TREES)


@case(graph=FAST)
def stored_and_not_read(function, log):
    w, v = t(3, grad=True), t(3, seed=1, grad=True)

    def visit(node, memo):
        memo.append(w * node.x)
        if node.left is None:
            return v * node.x
        y = visit(node.left, memo) * visit(node.right, memo)
        return y + memo[-1] if node.flag else y

    train(log, function(lambda root: visit(root, []).sum()), [w, v], TREES)


@case
def backward_inside(function, log):
    w, v = t(3, grad=True), t(3, seed=2, grad=True)
    opt = janus.optim.Adam([w, v], lr=0.1, weight_decay=0.1)

    def visit(node):
        u = w * node.x
        if node.left is None:
            return v * node.x
        return (u + visit(node.left)) * visit(node.right)

    @function
    def step(root):
        opt.zero_grad()
        loss = visit(root).sum()
        loss.backward()
        opt.step()
        return loss.detach()

    for root in TREES:
        log(step(root), w, v, w.grad is None, opt.state_dict())


@case
def twice_differentiated(function, log):
    w, v = t(3, grad=True), t(3, seed=2, grad=True)

    def visit(node):
        u = w * w * node.x
        if node.left is None:
            return v * v * node.x
        return (u + visit(node.left)) * visit(node.right)

    f = function(lambda root: visit(root).sum())
    for root in TREES:
        grads = janus.autograd.grad(f(root), [w, v], create_graph=True, allow_unused=True)
        log(*grads)
        w.grad = v.grad = None
        sum((g * g).sum() for g in grads if g is not None).backward()
        log(w, v)


@case(graph=MUST)
def checkpointed(function, log):
    a, c, v = t(3, 3, grad=True), t(3, 3, seed=2, grad=True), t(3, seed=3, grad=True)

    def visit(node):
        h = janus.tanh(node.x @ a)
        g = F.softmax(h @ c, dim=0)
        if node.left is None:
            return v * node.x
        return visit(node.left) * g + visit(node.right) * h

    f = function(lambda root: visit(root).sum())
    train(log, f, [a, c, v], TREES)


@case(graph=MUST)
def some_of_many_results(function, log):
    w, v, u = (t(3) * 0).detach().requires_grad_(), t(3, seed=1, grad=True), t(3, seed=2, grad=True)

    def visit(node):
        if node.left is None:
            return v * node.x
        return visit(node.left) * visit(node.right)

    @function
    def f(root):
        n = (w * w).sum().sqrt()
        return (w * root.x).sum(), n, visit(root).sum(), (u * root.x).sum(), (v * u).sum()

    for i, root in enumerate(TREES):
        for some in ((0, 2), (2, 3), (0, 2, 3, 4), (i % 5,), (4, 0)):
            w.grad = v.grad = u.grad = None
            y = f(root)
            sum(y[k] for k in some).backward()
            log(w, v, u)


@case(graph=MUST)
def some_results_of_a_recursion(function, log):
    a, b, c = t(3, grad=True), t(3, seed=1, grad=True), t(3, seed=2, grad=True)

    def visit(node):
        if node.left is None:
            return a * node.x, b * node.x, (c * node.x).sum()
        h, k, loss = visit(node.left)
        i, l, more = visit(node.right)
        return h * i, k + l, loss + more + (h * 2.0).sum()

    f = function(visit)
    for root in TREES:
        for some in ((0, 1), (1, 2), (0, 2), (1,), (0, 1, 2)):
            a.grad = b.grad = c.grad = None
            y = f(root)
            sum(y[k].sum() for k in some).backward()
            log(a, b, c)
