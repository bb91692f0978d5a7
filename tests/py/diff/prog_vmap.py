# SPDX-License-Identifier: Apache-2.0
"""Programs that map functions over batches."""

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import MUST, case, t


@case(graph=MUST)
def a_perceptron(function, log):
    w, v = t(4, 6, grad=True), t(6, 3, seed=1, grad=True)
    f = function(lambda x: janus.vmap(lambda r: janus.tanh(r @ w) @ v)(x))
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
    outer = lambda a, b: janus.vmap(lambda x: janus.vmap(lambda y: (x * y) @ w)(b))(a)  # noqa: E731
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
    f = function(lambda x: janus.vmap(lambda r: F.dropout(r, 0.5) + janus.rand(3))(x))
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
    f = function(lambda w, x: janus.vmap(lambda m, r: r @ m, in_axes=(0, None))(w, x))
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
    f = function(lambda x, y, axes, out: janus.vmap(lambda a, b: a + b, in_axes=axes, out_axes=out)(x, y))
    for axes, out in ((0, 0), ((0, None), 0), ((None, None), 0), ((3, 0), 0), ((0, (0, 1)), 0), ("x", 0), (0, None),
                      (0, (0, 0)), (0, 2), ((0, 1.5), 0), ((0, 0, 0), 0)):
        log.raises(f, t(3, 2), t(3, 2, seed=1), axes, out)
    log.raises(f, t(3, 2), t(4, 2), 0, 0)
    log.raises(f, t(3, 2), 2.0, 0, 0)
    log.raises(f, t(0, 2), t(0, 2), 0, 0)
    g = function(lambda x: janus.vmap(lambda r: r.sum().item())(x))
    log.raises(g, t(3, 2))
