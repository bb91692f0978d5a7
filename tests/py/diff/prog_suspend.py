# SPDX-License-Identifier: Apache-2.0
"""Programs that decide by the values of tensors: their frames are suspended, and what they do to the world
keeps its order."""

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import FAST, MUST, case, t


class Node:
    def __init__(self, value, children=()):
        self.value, self.children = value, list(children)
        self.h = None
        self.kind = 0


def tree(depth, k=0):
    if depth == 0:
        return Node(k % 5)
    return Node((k + depth) % 5, [tree(depth - 1, 2 * k + 1 + i) for i in range(1 + (k + depth) % 3)])


def examples(n, width=4):
    return [t(1, width, seed=0.37 * i) for i in range(n)]


class Grower(nn.Module):
    """A tree grown from its root by what its states are."""

    def __init__(self, width=4):
        super().__init__()
        self.left, self.right, self.stop = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)
        with janus.no_grad():
            for i, p in enumerate(self.parameters()):
                p.copy_(t(*p.shape, seed=0.3 + i) * 1.5)

    def grow(self, h, levels):
        if levels == 0 or bool(self.stop(h) > 0.4):
            return h.sum(), 1
        a, n = self.grow(janus.tanh(self.left(h)), levels - 1)
        b, m = self.grow(janus.tanh(self.right(h)), levels - 1)
        return a + 0.5 * b, n + m + 1


@case(graph=MUST)
def grown_top_down(function, log):
    model = Grower()

    @function
    def f(xs):
        total, nodes = 0.0, 0
        for x in xs:
            y, n = model.grow(x, 4)
            total, nodes = total + y, nodes + n
        return total, nodes

    for n in (3, 3, 3, 1, 3):
        log(f(examples(n)))


@case(graph=MUST)
def grown_and_trained(function, log):
    model = Grower()
    parameters = list(model.parameters())

    @function
    def f(xs):
        for p in parameters:
            p.grad = None
        total, nodes = 0.0, 0
        for x in xs:
            y, n = model.grow(x, 3)
            total, nodes = total + y, nodes + n
        total.backward()
        return total, nodes

    for _ in range(3):
        log(f(examples(4)), [p.grad for p in parameters])


@case(graph=MUST)
def grown_and_printed(function, log):
    def grow(h, levels, name):
        print("at", name)
        if levels == 0 or bool(h.sum() > 0.3):
            print("leaf", name)
            return 1
        n = grow(janus.sin(h * 2.0), levels - 1, 2 * name)
        m = grow(janus.cos(h * 3.0), levels - 1, 2 * name + 1)
        print("end", name, n, m)
        return n + m

    @function
    def f(xs):
        n = 0
        for x in xs:
            n = n + grow(x, 3, 1)
            print("so far", n)
        return n

    for _ in range(3):
        log(f(examples(4)))


@case
def grown_and_drawn(function, log):
    def grow(h, levels):
        h = F.dropout(h, 0.4)
        if levels == 0 or bool(h.sum() > 0.6):
            return h.sum()
        a = grow(janus.sin(h * 2.0), levels - 1)
        return a + grow(janus.cos(h), levels - 1)

    @function
    def f(xs):
        total = 0.0
        for x in xs:
            total = total + grow(x, 3)
        return total

    for _ in range(3):
        log(f(examples(5)))


@case(graph=MUST)
def grown_and_kept(function, log):
    def grow(h, levels, kept):
        kept.append(levels)
        if levels == 0 or bool(h.sum() > 0.3):
            kept.append(h * 2.0)
            return 1
        n = grow(janus.sin(h * 2.0), levels - 1, kept)
        m = grow(janus.cos(h * 3.0), levels - 1, kept)
        kept.append(n + m)
        return n + m

    @function
    def f(xs, kept):
        n = 0
        for x in xs:
            n = n + grow(x, 3, kept)
        return n

    for _ in range(3):
        kept = []
        log(f(examples(4), kept), kept)


@case(graph=MUST)
def read_what_a_suspended_one_writes(function, log):
    def visit(node, h):
        if h.sum() > 0.2:
            node.kind = node.kind + 1
            for c in node.children:
                visit(c, janus.sin(h + node.value))
        else:
            node.kind = node.kind + 10
        return node.kind

    @function
    def f(roots, hs):
        n = 0
        for root in roots:
            for h in hs:
                n = n * 3 + visit(root, h)
        return n

    for d in (2, 2, 1):
        shared = tree(d)
        roots = [shared, tree(d, 3), shared]
        log(f(roots, examples(3)), roots)


@case(graph=MUST)
def states_of_nodes(function, log):
    def encode(node, x):
        h = janus.full((4,), float(node.value)) * x
        for c in node.children:
            e = encode(c, x)
            if e.sum() > 0.5:
                h = h + e
            else:
                h = h - 0.5 * e
        node.h = janus.tanh(h)
        return node.h

    @function
    def f(roots, x):
        total = 0.0
        for r in roots:
            total = total + encode(r, x)
        return total

    for d in (1, 2, 2):
        roots = [tree(d, k) for k in range(4)]
        log(f(roots, t(4, seed=d)), roots)


@case(graph=MUST)
def a_memo_over_a_graph(function, log):
    def visit(node, x, memo, order):
        if node in memo:
            return memo[node]
        s = x * float(node.value + 1)
        for c in node.children:
            s = s + 0.3 * visit(c, x, memo, order)
        if s.sum() > 1.0:
            s = s * 0.5
        memo[node] = s
        order.append(node.value)
        return s

    @function
    def f(roots, x):
        memo, order = {}, []
        total = 0.0
        for r in roots:
            total = total + visit(r, x, memo, order)
        return total, order

    for d in (2, 2, 3):
        shared = tree(d)
        roots = [Node(1, [shared, shared]), shared, Node(2, [tree(1), shared])]
        log(f(roots, t(3, seed=d)))


@case(graph=MUST)
def left_early(function, log):
    layers = [nn.Linear(4, 4) for _ in range(5)]
    with janus.no_grad():
        for i, layer in enumerate(layers):
            layer.weight.copy_(t(4, 4, seed=i) * 1.3)

    def run(x):
        depth = 0
        for layer in layers:
            x = janus.tanh(layer(x))
            depth += 1
            if x.max() > 0.8:
                break
        return x, depth

    @function
    def f(xs):
        total, depths = 0.0, 0
        for x in xs:
            y, d = run(x)
            total, depths = total + y.sum(), depths * 7 + d
        return total, depths

    for n in (4, 4, 4, 2):
        log(f(examples(n)))


@case(graph=FAST)
def decoded(function, log):
    w, e = t(4, 6, seed=2), t(6, 4, seed=3)

    def decode(h):
        out, token = [], 0
        while len(out) < 8:
            h = janus.tanh(h + e[token])
            token = (h @ w).argmax().item()
            out.append(token)
            if token == 5:
                break
        return out

    @function
    def f(xs):
        return [decode(x) for x in xs]

    for _ in range(3):
        log(f([t(4, seed=0.2 * i) for i in range(5)]))


@case(graph=FAST)
def decoded_in_a_loop(function, log):
    w = t(4, 4, seed=2)

    @function
    def f(xs, limit):
        steps = 0
        total = janus.zeros(1, 4)
        for x in xs:
            n = 0
            while bool(x.sum() > -0.5) and n < limit:
                x = janus.sin(x @ w * 2.0)
                n += 1
            steps = steps * 11 + n
            total = total + x
        return total, steps

    for n in (6, 6, 6):
        log(f(examples(n), 9))


@case
def raised_in_order(function, log):
    def visit(node, h):
        if h.sum() > 1.2:
            raise ValueError("too much at %d" % node.value)
        node.kind += 1
        for c in node.children:
            visit(c, janus.sin(h * 1.5) + 0.1 * node.value)
        return 10 // (node.value - 3)

    @function
    def f(roots, x):
        n = 0
        for r in roots:
            n += visit(r, x)
        return n

    for k in range(6):
        roots = [tree(2, k + i) for i in range(3)]
        log.raises(f, roots, t(4, seed=0.5 * k))
        log(roots)


@case(graph=MUST)
def one_waits_for_the_other(function, log):
    """The second call's condition is the first one's result, which is suspended."""

    def search(x, lo, hi):
        mid = (lo + hi) * 0.5
        if hi - lo < 0.01:
            return mid
        if (x * mid).sum() > 1.0:
            return search(x, lo, mid)
        return search(x, mid, hi)

    @function
    def f(xs):
        best = 4.0
        out = 0.0
        for x in xs:
            best = search(x, 0.0, best + 1.0)
            out = out + best
        return out, best

    for n in (3, 3):
        log(f([t(3, seed=0.4 * i) + 1.0 for i in range(n)]))


@case(graph=MUST)
def gradients_within(function, log):
    w = t(4, 4, seed=1, grad=True)

    def walk(x, n):
        y = janus.tanh(x @ w)
        if n == 0 or bool(y.sum() > 0.7):
            return y.sum()
        return walk(y, n - 1) + 0.1 * y.mean()

    @function
    def f(xs):
        total = 0.0
        for x in xs:
            total = total + walk(x, 4)
        (g,) = janus.autograd.grad(total, [w])
        return total, g

    for n in (4, 4, 4):
        log(f(examples(n)))


@case(graph=MUST)
def called_for_what_it_does(function, log):
    """Calls whose results nobody reads."""

    def mark(node, x):
        if (x * node.value).sum() > 0.5:
            node.kind = 7
        for c in node.children:
            mark(c, x)

    @function
    def f(roots, x):
        for r in roots:
            mark(r, x)
        return x * 2

    for d in (1, 2, 2):
        roots = [tree(d, k) for k in range(3)]
        log(f(roots, t(4, seed=d)), roots)


@case(graph=MUST)
def carried_through_a_loop(function, log):
    def half(x):
        if x.sum() > 0.0:
            return x * 0.5, 1
        return x - 0.25, 0

    @function
    def f(x, n):
        ups = 0
        for _ in range(n):
            x, up = half(x)
            ups = ups * 2 + up
        return x, ups

    for n in (5, 9, 30):
        log(f(t(4, seed=1) + 2.0, n))


@case(graph=MUST)
def appended_and_read_back(function, log):
    """What siblings append in turn is read by their parent, the last and the first of it, and taken off again."""

    def grow(h, levels, out):
        if levels == 0 or bool(h.sum() > 0.5):
            out.append(levels)
            return h.sum()
        a = grow(janus.sin(h * 2.0), levels - 1, out)
        b = grow(janus.cos(h * 3.0), levels - 1, out)
        if levels == 2:
            out.append(len(out) * 10 + out[-1])
        if levels == 3:
            out.pop()
            out.append(out[0] + 100)
        return a + b

    @function
    def f(xs):
        out = [0]
        total = 0.0
        for x in xs:
            total = total + grow(x, 4, out)
            out.append(-1)
        return total, out

    for n in (3, 3, 3):
        log(f(examples(n)))


@case(graph=MUST)
def values_stored_before_they_are_known(function, log):
    """A suspended call's results are stored, printed and read back before they are there."""

    def value(x, n):
        if n == 0 or bool(x.sum() > 0.4):
            return x * 2.0, n
        return value(janus.sin(x + 0.3), n - 1)

    @function
    def f(nodes, x):
        for node in nodes:
            node.h, node.kind = value(x * float(node.value - 2), 3)
            print(node.kind, "of", node.value)
        s, k = 0.0, 0
        for node in nodes:
            s = s + node.h
            k = 4 * k + node.kind
        return s, k

    for d in (1, 2, 3):
        nodes = [Node((3 * i + d) % 5) for i in range(4)]
        log(f(nodes, t(4, seed=d)), nodes)


@case(graph=MUST)
def length_after_a_loop_that_waits(function, log):
    @function
    def f(x):
        out = []
        while x.sum() < 5:
            x = x + 1
            out.append(x * 2)
        return x, len(out)

    @function
    def g(x):
        out = []
        while x.sum() < 5:
            x = x + 1
            out.append(x * 2)
        return janus.stack(out) if out else x

    for i in range(6):
        log(f(t(3, seed=i)), g(t(3, seed=i)))
