# SPDX-License-Identifier: Apache-2.0
"""Loops, comprehensions and iterators over lists whose length only the graph knows, left early or not."""

import janus
from janus import nn

from .harness import case, t


class Node:
    def __init__(self, value, children=()):
        self.value, self.children = value, list(children)


def tree(width, depth):
    return Node(0.5 * depth + 0.25, [tree(width, depth - 1) for _ in range(width)] if depth else [])


def mixed():
    return Node(1.0, [Node(0.5), Node(-0.25, [Node(0.75), Node(2.0), Node(0.1, [Node(-1.5)])]), Node(0.3)])


def trees():
    return [mixed(), tree(2, 2), tree(3, 1), mixed(), tree(1, 3), Node(0.7), tree(4, 2)]


@case
def list_of_children(function, log):
    @function
    def f(node, x):
        below = [f(c, x) for c in node.children]
        y = x * node.value
        for h in below:
            y = y + h.tanh()
        return y

    for node in trees():
        log(f(node, t(3)))


@case
def list_of_children_used_twice(function, log):
    @function
    def f(node, x):
        states = [f(c, x) for c in node.children]
        h = sum([s[0] for s in states], x * 0)
        c = x + sum(s[1] * (s[0] + 1).sigmoid() for s in states)
        return (h + x * node.value).tanh(), c

    for node in trees():
        log(f(node, t(3)))


@case
def child_sum_tree_lstm_with_lists(function, log):
    class Cell(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.iou, self.u = nn.Linear(n, 3 * n), nn.Linear(n, 3 * n, bias=False)
            self.f, self.uf = nn.Linear(n, n), nn.Linear(n, n, bias=False)
            self.n = n

        def forward(self, node):
            states = [self(c) for c in node.children]
            x = node.x
            h = sum([h for h, _ in states], janus.zeros(self.n))
            i, o, u = (self.iou(x) + self.u(h)).chunk(3)
            c = i.sigmoid() * u.tanh()
            for hk, ck in states:
                c = c + (self.f(x) + self.uf(hk)).sigmoid() * ck
            return o.sigmoid() * c.tanh(), c

    def grow(node, k):
        node.x = t(4, seed=k)
        for c in node.children:
            k = grow(c, k + 1)
        return k

    cell = Cell(4)

    @function
    def loss(node):
        h, c = cell(node)
        return (h * c).sum()

    for node in (mixed(), tree(2, 2), tree(3, 1), mixed(), tree(1, 3)):
        grow(node, 1)
        cell.zero_grad()
        value = loss(node)
        value.backward()
        # the order of sums over a weight's uses is not the tape's
        log(value, [[round(v, 4) for v in p.grad.reshape(-1).tolist()] for p in cell.parameters()])


@case
def tuples_and_stars_in_recursions(function, log):
    @function
    def top_down(node, state, *args, scale=2.0, **more):
        h, c = state
        h = (h * node.value + args[0]).tanh()
        c = c + h * scale * more["k"]
        for child in node.children:
            h, c = top_down(child, (h, c), *args, **more)
        return h, c

    for node in trees():
        log(top_down(node, (t(2), t(2, seed=1)), 0.5, k=3))


@case
def sum_of_generator(function, log):
    @function
    def f(node, x):
        return x * node.value + sum(f(c, x) for c in node.children)

    for node in trees():
        log(f(node, t(2)))


@case
def sum_of_numbers(function, log):
    @function
    def count(node):
        return 1 + sum(count(c) for c in node.children)

    @function
    def weight(node, x):
        return x * (node.value + sum(c.value for c in node.children))

    for node in trees():
        log(count(node), weight(node, t(2)))


@case
def max_min_any_all(function, log):
    @function
    def depth(node):
        return 1 + max((depth(c) for c in node.children), default=0)

    @function
    def has(node, v):
        return node.value == v or any(has(c, v) for c in node.children)

    @function
    def small(node, v):
        return node.value < v and all(small(c, v) for c in node.children)

    @function
    def least(node):
        if not node.children:
            return node.value
        return min(least(c) for c in node.children)

    for node in trees():
        log(depth(node), has(node, 0.1), has(node, 9.0), small(node, 0.9), small(node, 5.0), least(node))


@case
def zip_enumerate_reversed(function, log):
    @function
    def f(node, x):
        y = x * node.value
        for i, c in enumerate(node.children):
            y = y + f(c, x) * (i + 1)
        for a, b in zip(node.children, reversed(node.children)):
            y = y + a.value * b.value * x
        for i, (a, k) in enumerate(zip(node.children, range(2)), start=3):
            y = y - a.value * i * k
        return y

    for node in trees():
        log(f(node, t(3)))


@case
def return_from_a_loop(function, log):
    @function
    def find(node, x, v):
        if node.value == v:
            return x * 2, True
        for c in node.children:
            y, found = find(c, x, v)
            if found:
                return y + 1, True
        return x, False

    for node in trees():
        for v in (0.1, 0.75, -9.0):
            log(find(node, t(2), v))


@case
def break_continue_else(function, log):
    @function
    def f(node, x):
        y = x
        for c in node.children:
            if c.value < 0:
                continue
            if c.value > 1.5:
                break
            y = y + c.value
        else:
            y = y * 2
        for c in node.children:
            y = y + f(c, x)
        return y

    for node in trees():
        log(f(node, t(2)))


@case
def break_by_a_tensor(function, log):
    @function
    def f(x, limit):
        n = 0
        while True:
            x = x * 1.5
            n += 1
            if x.abs().sum() > limit:
                break
        return x, n

    for i in range(6):
        log(f(t(3, seed=i), 10.0 * (i + 1)))


@case
def return_by_a_tensor(function, log):
    @function
    def f(x):
        for i in range(30):
            x = x * 1.3
            if x.abs().sum() > 20:
                return x, i
        return x, -1

    for i in range(6):
        log(f(t(3, seed=i)), f(t(3, seed=i) * 1e-9))


@case
def return_from_few_rounds(function, log):
    @function
    def f(xs):
        for i, x in enumerate(xs):
            if x.sum() > 1.0:
                return x, i
        return xs[0] * 0, -1

    for i in range(8):
        log(f([t(3, seed=i), t(3, seed=i + 1), t(3, seed=i + 2) + 0.4]))


@case
def while_else(function, log):
    @function
    def f(x, limit):
        n = 0
        while x.abs().sum() < limit:
            x = x * 1.5
            n += 1
            if n > 5:
                break
        else:
            return x + 1, n
        return x, n

    for i in range(8):
        log(f(t(3, seed=i), 5.0 * 2 ** i))


@case
def while_with_walrus(function, log):
    @function
    def f(x):
        s = x.sum()
        while (s := s + 1) < 3:
            x = x + s
        return x, s

    for i in range(6):
        log(f(t(3, seed=i)))


@case
def nested_loops_left(function, log):
    @function
    def f(node, x):
        for c in node.children:
            for d in c.children:
                if d.value > 1.0:
                    return x * d.value
                x = x + d.value
            x = x - c.value
        return x

    for node in trees():
        log(f(node, t(2)))


@case
def nested_comprehensions(function, log):
    @function
    def f(node, x):
        grand = [x * d.value for c in node.children for d in c.children if d.value > 0]
        return sum(grand, x), len(grand)

    for node in trees():
        log(f(node, t(2)))


@case
def items_of_a_list_of_unknown_length(function, log):
    @function
    def f(node, x):
        below = [x * c.value for c in node.children]
        if not below:
            return x, 0
        return below[0] + below[-1], len(below)

    for node in trees():
        log(f(node, t(2)))


@case
def iterators_are_used_once(function, log):
    @function
    def f(xs):
        z, g, it = zip(xs, xs), (v + 1 for v in xs), iter(xs)
        first = next(it)
        for b in it:
            first = first * b
        return [p + q for p, q in z], [p + q for p, q in z], list(g), list(g), first, next(it, None)

    for i in range(4):
        log(f([t(2, seed=i), t(2, seed=1), t(2, seed=2)]))


@case
def random_numbers_in_turn(function, log):
    @function
    def f(xs):
        y = xs[0]
        for v in (x + janus.rand(2) for x in xs):
            y = y * v + janus.rand(2)
        return y, [janus.rand(2) for x in xs]

    for i in range(4):
        log(f([t(2, seed=i), t(2, seed=1)]))


@case
def any_stops_drawing(function, log):
    @function
    def f(x):
        return any((x + janus.rand(3)).sum() > 1.5 for _ in range(6)), janus.rand(2)

    for i in range(6):
        log(f(t(3, seed=i)))


@case(graph=False)
def list_changed_by_its_loop(function, log):
    @function
    def f(x, n):
        xs = [x]
        for y in xs:
            if len(xs) < n:
                xs.append(y + 1)
        return xs

    for i in range(4):
        log(f(t(2), 4))


@case
def gradients_through_loops(function, log):
    """Small integers: sums are the same in every order."""

    @function
    def f(node, w):
        ys = [f(c, w) for c in node.children]
        y = w * (node.value * 4)
        for a in ys:
            y = y + a.clamp(-3, 3) * w
            if a.sum() > 30:
                break
        return y

    for node in (tree(1, 3), tree(2, 2), tree(3, 1), tree(2, 2), Node(0.5), tree(2, 3)):
        w = janus.tensor([1.0, 2.0, -1.0], requires_grad=True)
        f(node, w).sum().backward()
        log(w.grad)


@case
def loops_without_a_round_give_nothing_that_requires_grad(function, log):
    w = (t(3) * 0.5).requires_grad_()

    def total(n, x):
        s = janus.zeros(3)
        for i in range(n):
            s = s + x * w * (i + 1)
        return s

    def train(items):
        w.grad = None
        loss = janus.zeros(())
        for item in items:
            loss = loss + (w * item).sum()
        loss.backward()
        return loss.detach()

    def train_on_range(n, x):
        w.grad = None
        loss = janus.zeros(())
        for i in range(n):
            loss = loss + (x * w).sum() * i
        loss.backward()
        return loss.detach()

    f, g, h = function(total), function(train), function(train_on_range)
    for n in (3, 40, 50, 41, 0, 2, 0, 60):
        try:
            log(h(n, t(3)), w.grad)
        except RuntimeError as e:
            log(str(e), w.grad)
        s = f(n, t(3))
        log(s, s.requires_grad)
        try:
            log(g([t(3) for _ in range(n)]), w.grad)
        except RuntimeError as e:
            log(str(e), w.grad)
