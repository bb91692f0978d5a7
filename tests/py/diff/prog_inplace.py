# SPDX-License-Identifier: Apache-2.0
"""Writes in place inside graph loops, branches and recursions: what is a new tensor of the function's own,
what is seen through another name, and what gradients say."""

import janus
import janus.nn as nn

from .harness import FAST, MUST, case, t


class Node:
    def __init__(self, value, children=()):
        self.value, self.children = value, list(children)


def tree(depth, k=0):
    if depth == 0:
        return Node(0.3 + k % 5)
    return Node(0.1 * ((k + depth) % 5), [tree(depth - 1, 2 * k + 1 + i) for i in range(1 + (k + depth) % 3)])


def rows(n, seed=0):
    return [t(3, seed=seed + i) for i in range(n)]


TREES = (2, 1, 2, 3, 0)


def train(f, log, weights, args):
    for a in args:
        for w in weights:
            w.grad = None
        y = f(a)
        if y.requires_grad:
            y.backward()
        log(y, [w.grad for w in weights])


@case(graph=MUST)
def sum_of_children(function, log):
    w, b = t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True)

    def encode(node):
        h = b * node.value
        for c in node.children:
            h += encode(c) @ w
        return janus.tanh(h)

    train(function(lambda node: encode(node).sum()), log, (w, b), [tree(d) for d in TREES])


@case(graph=MUST)
def add_method_on_zeros(function, log):
    w = t(3, 3, seed=1, grad=True)

    def encode(node):
        h = janus.zeros(3)
        for c in node.children:
            h.add_(encode(c))
        h = h @ w
        h += node.value
        return janus.sigmoid(h)

    train(function(lambda node: encode(node).sum()), log, (w,), [tree(d) for d in TREES])


@case(graph=MUST)
def loss_in_a_loop(function, log):
    w = t(3, 3, seed=1, grad=True)

    @function
    def f(xs):
        loss = janus.zeros(())
        for x in xs:
            loss += (x @ w).square().sum()
        return loss / len(xs)

    train(f, log, (w,), [rows(n, n) for n in (3, 4, 2, 5, 6, 7)])


@case(graph=MUST)
def decay_in_a_loop(function, log):
    w = t(3, seed=1, grad=True)

    @function
    def f(xs):
        h = w * 1.0
        for x in xs:
            h *= 0.5
            h += x
        return h.sum()

    train(f, log, (w,), [rows(n, n) for n in (3, 4, 2, 5, 6, 7)])


@case(graph=MUST)
def multiplied_by_what_requires_grad(function, log):
    w, v = t(3, seed=1, grad=True), t(3, seed=2, grad=True)

    @function
    def f(x):
        h = x * w
        h *= v
        h /= v + 2
        return h.sum()

    train(f, log, (w, v), [t(3, seed=s) for s in range(4)])


@case(graph=MUST)
def under_a_condition(function, log):
    w = t(3, seed=1, grad=True)

    @function
    def f(x):
        h = x * w
        if x.sum() > 0:
            h += 1
            h *= 2
        else:
            h -= w
        return h.sum()

    train(f, log, (w,), [t(3, seed=s) for s in range(8)])


@case
def condition_makes_it_require_grad(function, log):
    w = t(3, seed=1, grad=True)

    @function
    def f(x):
        h = x * 2
        if x.sum() > 0:
            h += w
        y = h * 3
        return y.sum(), y.requires_grad

    for s in range(8):
        w.grad = None
        y, needs = f(t(3, seed=s))
        log(y, needs)
        if needs:
            y.backward()
        log(w.grad)


@case(graph=MUST)
def another_name(function, log):
    @function
    def f(x):
        h = x * 2
        g = h
        if x.sum() > 0:
            h += 1
        return h, g, h is g

    for s in range(6):
        log(f(t(3, seed=s)))


@case
def another_name_on_one_path(function, log):
    """`h` is `g` on one path only: the write is seen through `g` there."""

    @function
    def f(x):
        h = x * 2
        g = h
        if x.sum() > 0:
            h = h * 3
        h += 1
        return h, g

    for s in range(8):
        log(f(t(3, seed=s)))


@case
def two_names_of_what_a_branch_leaves(function, log):
    @function
    def f(x):
        if x.sum() > 0:
            h = g = x * 2
        else:
            h = g = x * 3
        h += 1
        return h, g

    for s in range(8):
        log(f(t(3, seed=s)))


@case
def two_names_on_one_path(function, log):
    @function
    def f(x):
        if x.sum() > 0:
            h = g = x * 2
        else:
            h = x * 3
            g = x * 4
        h += 1
        return h, g

    for s in range(8):
        log(f(t(3, seed=s)))


@case
def names_that_part_one_after_the_other(function, log):
    @function
    def f(x):
        h = x * 2
        g = h
        if x[0] > 0:
            h = h * 3
        if x[1] > 0:
            g = g * 5
        h += 1
        return h, g

    for s in range(12):
        log(f(t(3, seed=s)))


@case
def first_round_has_another_name(function, log):
    @function
    def f(xs):
        h0 = xs[0] * 0
        h = h0
        for x in xs:
            h += x
            h = janus.tanh(h)
        return h, h0

    for n in (3, 4, 2, 5, 6, 7):
        log(f(rows(n, n)))


@case(graph=FAST)
def written_and_made_anew_each_round(function, log):
    w = t(3, seed=1, grad=True)

    @function
    def f(xs):
        h = janus.zeros(3)
        for x in xs:
            h += x
            h = janus.tanh(h) * w
        h += 1
        return h.sum()

    train(f, log, (w,), [rows(n, n) for n in (3, 4, 2, 5, 6, 7)])


@case
def kept_for_a_gradient_then_written(function, log):
    w = t(3, seed=1, grad=True)

    @function
    def f(x):
        h = janus.tanh(x * w)
        y = h * 2
        if x.sum() > 0:
            h += 1
        return y.sum()

    def one(x):
        w.grad = None
        y = f(x)
        y.backward()
        return y, w.grad

    for s in range(6):
        log.raises(one, t(3, seed=s))


@case
def kept_each_round_then_written(function, log):
    w = t(3, seed=1, grad=True)

    @function
    def f(xs):
        h = janus.zeros(3)
        y = janus.zeros(3)
        for x in xs:
            h += x * w
            y = y + h * h
        return y.sum()

    def one(xs):
        w.grad = None
        y = f(xs)
        y.backward()
        return y, w.grad

    for n in (1, 2, 3, 4, 5, 6):
        log.raises(one, rows(n, n))


@case
def parameter_of_a_recursion(function, log):
    def walk(node, total):
        total += node.value
        for c in node.children:
            walk(c, total)

    @function
    def f(node):
        total = janus.zeros(2)
        walk(node, total)
        return total

    for d in TREES:
        log(f(tree(d)))


@case
def result_of_a_recursion_that_is_its_argument(function, log):
    def last(node, x):
        if not node.children:
            return x
        return last(node.children[-1], x) if node.value < 0.35 else x * 3

    @function
    def f(node, x):
        h = last(node, x)
        h += 1
        return h, x * 1

    for d in (2, 1, 2, 3, 0, 4):
        log(f(tree(d), t(2, seed=d)))


@case(graph=FAST)
def result_of_a_recursion(function, log):
    w, b = t(3, 3, seed=1, grad=True), t(3, seed=2, grad=True)

    def encode(node):
        h = b * node.value
        for c in node.children:
            s = encode(c)
            s *= 0.5
            h = h + s @ w
        return janus.tanh(h) * 1.5

    @function
    def f(node):
        h = encode(node)
        h += 1
        return h.sum()

    train(f, log, (w, b), [tree(d) for d in TREES])


@case
def stored_in_a_list_then_written(function, log):
    def visit(node, out):
        h = janus.full((2,), node.value)
        out.append(h)
        for c in node.children:
            visit(c, out)
        h += 1

    @function
    def f(node):
        out = []
        visit(node, out)
        return out

    for d in TREES:
        log(f(tree(d)))


@case
def element_of_a_list(function, log):
    @function
    def f(xs, k):
        hs = [x * 2 for x in xs]
        h = hs[k]
        h += 1
        return hs[k], hs[0], sum(hs)

    for n in (3, 4, 2, 5, 6, 7):
        log(f(rows(n, n), n - 2))


@case(graph=MUST)
def items_of_a_tensor(function, log):
    w = t(3, seed=1, grad=True)

    @function
    def f(xs):
        h = janus.zeros(8, 3)
        for i, x in enumerate(xs):
            h[i] = x * w
        for i in range(len(xs)):
            h[i + 1] += h[i] * 0.5
        return (h * h).sum()

    train(f, log, (w,), [rows(n, n) for n in (3, 4, 2, 5, 6, 7)])


@case(graph=MUST)
def items_out_of_range(function, log):
    @function
    def f(xs):
        h = janus.zeros(4, 3)
        for i, x in enumerate(xs):
            h[i] = x
        return h

    for n in (3, 4, 2, 5, 3, 6):
        log.raises(f, rows(n, n))


@case(graph=MUST)
def view_and_root(function, log):
    w = t(3, seed=1, grad=True)

    @function
    def f(x, s):
        h = janus.zeros(2, 3)
        row = h[1]
        if s.sum() > 0:
            row += x * w
        else:
            h += w * 2
        row *= 2
        return (h * s).sum(), row

    for s in range(8):
        w.grad = None
        y, row = f(t(3, seed=s), t(3, seed=s + 1))
        log(y, row, y.requires_grad, row.requires_grad)
        if y.requires_grad:
            y.backward()
        log(w.grad)


@case(graph=MUST)
def tensor_of_the_caller_in_a_loop(function, log):
    class Stats:
        def __init__(self):
            self.total, self.n = janus.zeros(3), janus.zeros(())

    s = Stats()

    @function
    def f(xs):
        for x in xs:
            s.total += x
            s.n += 1
        return s.total / s.n

    for n in (3, 4, 2, 5, 6, 7):
        log(f(rows(n, n)), s)


@case(graph=MUST)
def tensor_of_the_caller_on_one_path(function, log):
    total = janus.zeros(3)
    w = t(3, seed=1, grad=True)

    @function
    def f(x):
        if x.sum() > 0:
            total.add_(x)
        return (x * w).sum()

    for s in range(8):
        before = total._version
        y = f(t(3, seed=s))
        y.backward()
        log(y, total, total._version > before, w.grad)


@case
def leaf_that_requires_grad(function, log):
    w = t(3, seed=1, grad=True)

    @function
    def f(x):
        if x.sum() > 0:
            w.add_(x)
        return w.sum()

    @function
    def g(x):
        if x.sum() > 0:
            w[0] = 1
        return w.sum()

    for s in range(4):
        log.raises(f, t(3, seed=s))
        log.raises(g, t(3, seed=s))


@case
def item_of_a_leaf(function, log):
    w = t(3, seed=1, grad=True)

    @function
    def f(x):
        w[0] = x
        return w.sum()

    for s in range(3):
        log.raises(f, t(seed=s))


@case
def without_recording(function, log):
    w = t(3, seed=1, grad=True)

    @function
    def f(x):
        h = x * w
        with janus.no_grad():
            h += 1
        return (h * h.detach()).sum()

    train(f, log, (w,), [t(3, seed=s) for s in range(4)])


@case(graph=MUST)
def weights_in_a_loop_without_recording(function, log):
    w = t(3, seed=1, grad=True)

    @function
    def f(xs):
        with janus.no_grad():
            for x in xs:
                w.mul_(0.9)
                w.sub_(x * 0.1)

    for n in (3, 4, 2, 5, 6, 7):
        log(f(rows(n, n)), w)


@case(graph=MUST)
def momentum_of_a_module(function, log):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 3)
            self.register_buffer("mean", janus.zeros(3))

        def encode(self, node):
            h = janus.full((3,), node.value)
            for c in node.children:
                h += self.encode(c)
            return janus.tanh(self.lin(h))

        def forward(self, node):
            h = self.encode(node)
            with janus.no_grad():
                self.mean.mul_(0.9).add_(h.detach() * 0.1)
            return (h - self.mean).square().sum()

    m = Net()
    f = function(lambda node: m(node))
    for d in TREES:
        m.zero_grad()
        y = f(tree(d))
        y.backward()
        log(y, m, [p.grad for p in m.parameters()])


@case
def list_of_states(function, log):
    """Layers of state in a list, written by index."""
    w = t(3, 3, seed=1)

    @function
    def f(xs):
        hs = [janus.zeros(3) for _ in range(2)]
        for x in xs:
            hs[0] += x
            hs[1] += hs[0] @ w
        return hs[0], hs[1]

    for n in (3, 4, 2, 5, 6, 7):
        log(f(rows(n, n)))


@case
def attribute_of_every_node(function, log):
    def visit(node):
        for c in node.children:
            visit(c)
            node.h += c.h * 0.5

    @function
    def f(node):
        visit(node)
        return node.h * 1

    def with_state(node):
        node.h = janus.full((2,), node.value)
        for c in node.children:
            with_state(c)
        return node

    for d in TREES:
        root = with_state(tree(d))
        log(f(root), root)


@case
def state_between_calls_of_a_recursion(function, log):
    class Scaled:
        k = 1.0

        def visit(self, node, x):
            y = x * self.k
            for c in node.children:
                y = y + self.visit(c, x)
            return y

        def run(self, node, x):
            a = self.visit(node, x)
            if x.sum() > 0:
                self.k = self.k * 2
            return a, self.visit(node, x)

    s = Scaled()
    f = function(s.run)
    for d in (2, 1, 2, 3, 0, 1):
        log(f(tree(d), t(2, seed=d)), s.k)


@case(graph=MUST)
def written_between_calls_of_a_recursion(function, log):
    scale = janus.ones(2)

    def visit(node, x):
        y = x * scale
        for c in node.children:
            y = y + visit(c, x)
        return y

    @function
    def f(node, x):
        a = visit(node, x)
        if x.sum() > 0:
            scale.mul_(2)
        return a, visit(node, x)

    for d in (2, 1, 2, 3, 0, 1):
        log(f(tree(d), t(2, seed=d)), scale)
