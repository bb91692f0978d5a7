# SPDX-License-Identifier: Apache-2.0
"""Programs that map functions over batches."""

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import MUST, case, t


@case(graph=MUST)
def a_perceptron(function, log):
    w, v = t(4, 6, grad=True), t(6, 3, seed=1, grad=True)
    f = function(lambda x: janus.vmap(
        lambda r: janus.tanh(r @ w) @ v)(x))
    for k in range(4):
        y = f(t(5, 4, seed=k))
        y.sin().sum().backward()
        log(y, w.grad, v.grad)


@case(graph=MUST)
def axes_of_all_kinds(function, log):
    def one(a, b, c):
        return {"sum": a + b["x"] * c[0], "pair": (a - c[1], [b["y"]])}

    f = function(lambda a, b, c: janus.vmap(one, in_axes=(1, {"x": 0, "y": None}, [None, -1]),
                                            out_axes={"sum": 1, "pair": (0, -1)})(a, b, c))
    for k in range(4):
        log(f(t(3, 4, seed=k), {"x": t(4, 3, seed=1), "y": t(2)}, [t(3, seed=2), t(3, 4, seed=3)]))


@case(graph=MUST)
def branches_by_example(function, log):
    w = t(3, 3, grad=True)

    def one(x):
        if x.sum() > 0:
            return x * 2
        return (x @ w).relu()

    f = function(lambda x: janus.vmap(one)(x))
    for k in range(4):
        x = t(6, 3, seed=k, grad=True)
        y = f(x)
        y.sum().backward()
        log(y, x.grad, w.grad)


@case(graph=MUST)
def loops_by_example(function, log):
    def one(x):
        n = 0
        while x.abs().sum() > 1:
            x = x * 0.5
            n += 1
        return x + n

    f = function(lambda x: janus.vmap(one)(x))
    for k in range(4):
        log(f(t(5, 3, seed=k) * 10))


@case(graph=MUST)
def recursion_by_example(function, log):
    w = t(3, 3, grad=True)

    def deep(x, n):
        return x if n == 0 else janus.tanh(deep(x, n - 1) @ w)

    f = function(lambda x, n: janus.vmap(deep, in_axes=(0, None))(x, n))
    for n in (2, 2, 5, 0):
        y = f(t(4, 3, seed=n, grad=True), n)
        y.sum().backward()
        log(y, w.grad)


@case(graph=MUST)
def vmap_of_vmap(function, log):
    w = t(3, 2, grad=True)
    outer = lambda a, b: janus.vmap(
        lambda x: janus.vmap(
        lambda y: (x * y) @ w)(b))(a)  # noqa: E731
    f = function(outer)
    for k in range(4):
        a, b = t(4, 3, seed=k, grad=True), t(5, 3, seed=k + 1, grad=True)
        y = f(a, b)
        y.cos().sum().backward()
        log(y, a.grad, b.grad, w.grad)


@case(graph=MUST)
def gradients_per_example(function, log):
    w, b = t(3, 4, grad=True), t(4, seed=1, grad=True)

    def one(x, y):
        loss = F.mse_loss(janus.tanh(x @ w + b), y)
        return janus.autograd.grad(loss, [w, b])

    f = function(lambda x, y: janus.vmap(one)(x, y))
    for k in range(4):
        log(f(t(5, 3, seed=k), t(5, 4, seed=k + 2)))


@case(graph=MUST)
def draws_by_example(function, log):
    f = function(lambda x: janus.vmap(
        lambda r: F.dropout(r, 0.5) + janus.rand(3))(x))
    for k in range(4):
        log(f(t(5, 3, seed=k)))


@case(graph=MUST)
def effects_by_example(function, log):
    seen = []

    def one(x):
        seen.append(x.sum())
        print("example", len(seen))
        return x + 1

    f = function(lambda x: janus.vmap(one)(x))
    for k in range(4):
        log(f(t(3, 2, seed=k)), list(seen))


@case
def rows_written(function, log):
    def one(x):
        x.add_(1)
        return x * 2

    f = function(lambda x: janus.vmap(one)(x))
    for k in range(4):
        x = t(3, 2, seed=k)
        log(f(x), x)


@case(graph=MUST)
def a_module_mapped(function, log):
    janus.manual_seed(0)
    m = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    f = function(lambda x: janus.vmap(m)(x))
    for k in range(4):
        y = f(t(6, 3, seed=k))
        y.sum().backward()
        log(y, m)


@case(graph=MUST)
def parameters_mapped(function, log):
    """An ensemble: one function, the weights of several models."""
    f = function(lambda w, x: janus.vmap(
        lambda m, r: r @ m, in_axes=(0, None))(w, x))
    for k in range(4):
        w = t(4, 3, 2, seed=k, grad=True)
        y = f(w, t(5, 3))
        y.sum().backward()
        log(y, w.grad)


@case(graph=MUST)
def mapped_outside(function, log):
    """The function mapped is the decorated one."""
    w = t(3, 2, grad=True)
    one = function(lambda x: janus.tanh(x @ w))
    f = janus.vmap(one)
    g = function(lambda x: f(x).sum())
    for k in range(4):
        y = g(t(4, 3, seed=k))
        y.backward()
        log(y, w.grad)


@case
def what_is_wrong(function, log):
    f = function(lambda x, y, axes, out: janus.vmap(
        lambda a, b: a + b, in_axes=axes, out_axes=out)(x, y))
    for axes, out in ((0, 0), ((0, None), 0), ((None, None), 0), ((3, 0), 0), ((0, (0, 1)), 0), ("x", 0), (0, None),
                      (0, (0, 0)), (0, 2), ((0, 1.5), 0), ((0, 0, 0), 0)):
        log.raises(f, t(3, 2), t(3, 2, seed=1), axes, out)
    log.raises(f, t(3, 2), t(4, 2), 0, 0)
    log.raises(f, t(3, 2), 2.0, 0, 0)
    log.raises(f, t(0, 2), t(0, 2), 0, 0)
    g = function(lambda x: janus.vmap(
        lambda r: r.sum().item())(x))
    log.raises(g, t(3, 2))


@case
def inside_a_recursion(function, log):
    class Node:
        def __init__(self, value, *children):
            self.value, self.children = value, children

    root = Node(0.3, Node(-0.2, Node(0.7), Node(0.1)), Node(0.5))
    w = t(3, 3, grad=True)

    def state(node, x):
        h = janus.vmap(lambda r: janus.tanh(r @ w) * node.value)(x)
        for child in node.children:
            h = h + state(child, h)
        return h

    f = function(lambda x: state(root, x).sum())
    for k in range(4):
        y = f(t(9, 3, seed=k))
        y.backward()
        log(y, w.grad)


@case(graph=MUST)
def keywords_and_numbers(function, log):
    def one(x, k, *, scale=1.0, shift=None):
        y = x * scale * k
        return y if shift is None else y + shift

    f = function(lambda x, k: janus.vmap(one, in_axes=(0, None))(x, k, scale=2.0, shift=t(2)))
    g = function(lambda x, k: janus.vmap(one)(x, k))
    for k in (3, 3, 4):
        log(f(t(9, 2, seed=k), k), g(t(9, seed=k), janus.arange(9)))


@case(graph=MUST)
def one_result_is_an_argument(function, log):
    """Results are copies, whatever the function returns."""
    c = t(2, seed=5)

    def prog(x):
        y, z, u = janus.vmap(lambda r: (r, c, r[:1]))(x)
        y.add_(1)
        z.add_(1)
        return y, z, u, x.sum()

    f = function(prog)
    for k in range(4):
        x = t(8, 2, seed=k)
        log(f(x), x, c)


@case(graph=MUST)
def checkpoints_of_examples(function, log):
    w = t(3, 3, grad=True)

    def part(x):
        return janus.tanh(janus.tanh(x @ w) @ w)

    f = function(lambda x: janus.vmap(
        lambda r: janus.checkpoint(part, r).sum())(x).sum())
    for k in range(4):
        x = t(9, 3, seed=k, grad=True)
        y = f(x)
        y.backward()
        log(y, x.grad, w.grad)


@case(graph=MUST)
def checkpoints_that_draw(function, log):
    w = t(3, 3, grad=True)
    f = function(lambda x: (janus.checkpoint(
        lambda r, p: F.dropout(janus.tanh(r @ w), p) @ w, x, 0.5) ** 2).sum())
    for k in range(4):
        y = f(t(4, 3, seed=k))
        y.backward()
        log(y, w.grad)


@case
def a_checkpoint_that_writes(function, log):
    seen = []

    def part(x):
        seen.append(x.sum().item())
        x.mul_(2)
        return x[0]

    def prog(x):
        y = janus.checkpoint(part, x)
        y.add_(1)
        return x.sum()

    f = function(prog)
    for k in range(4):
        x = t(4, 3, seed=k)
        log(f(x), x, list(seen))


@case(graph=MUST)
def the_same_row_twice(function, log):
    f = function(lambda x: janus.vmap(
        lambda a, b: (a - b, a * b), in_axes=(0, 1))(x, x))
    for k in range(4):
        x = t(8, 8, seed=k, grad=True)
        y, z = f(x)
        (y.sin() + z).sum().backward()
        log(y, z, x.grad)
