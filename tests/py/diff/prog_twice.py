# SPDX-License-Identifier: Apache-2.0
"""Gradients of gradients: of what a graph computed, with effects, with stages, after the heap has changed."""

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import FAST, MUST, case, t


def twice(log, w, y, extra=()):
    w.grad = None
    (g,) = janus.autograd.grad(y, [w], create_graph=True)
    (g * g).sum().backward()
    log(y, g, w, *extra)


@case(graph=MUST)
def higher_effects(function, log):
    w = t(3, grad=True)

    class S:
        n = 0

    s = S()

    @function
    def f(x):
        s.n += 1
        return (w * w * w * x).sum()

    for i in range(8):
        y = f(t(3, seed=i))
        g, = janus.autograd.grad(y, [w], create_graph=True)
        w.grad = None
        g.sum().backward()
        log(y, g, w, s.n)


@case(graph=MUST)
def higher_stages(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        h = w * w * x
        return (h, (h * h).sum())

    for i in range(8):
        h, y = f(t(3, seed=i))
        g, = janus.autograd.grad(y, [h], create_graph=True)
        w.grad = None
        g.sum().backward()
        log(y, g, w)


@case(graph=MUST)
def higher_backward(function, log):
    w = t(3, grad=True)
    st = []

    @function
    def f(x):
        st.append(1)
        return (w * w * w * x).sum()

    for i in range(8):
        y = f(t(3, seed=i))
        w.grad = None
        y.backward(create_graph=True)
        g = w.grad
        w.grad = None
        g.sum().backward()
        log(y, g.detach(), w, len(st))


@case(graph=MUST)
def higher_random(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        return F.dropout(w * w * w * x, 0.5).sum()

    for i in range(8):
        y = f(t(3, seed=i))
        g, = janus.autograd.grad(y, [w], create_graph=True)
        w.grad = None
        g.sum().backward()
        log(y, g, w)


@case(graph=MUST)
def higher_mutated_global(function, log):
    w = t(3, grad=True)
    conf = {"k": 1.0}

    @function
    def f(x):
        return (w * w * w * x * conf["k"]).sum()

    for i in range(8):
        conf["k"] = 1.0 + i
        y = f(t(3, seed=i))
        conf["k"] = 100.0
        g, = janus.autograd.grad(y, [w], create_graph=True)
        w.grad = None
        g.sum().backward()
        log(y, g, w)


@case(graph=MUST)
def higher_mutated_arg(function, log):
    w = t(3, grad=True)

    @function
    def f(xs):
        return (w * w * w * xs[0]).sum()

    for i in range(8):
        xs = [t(3, seed=i)]
        y = f(xs)
        xs[0] = t(3, seed=50)
        g, = janus.autograd.grad(y, [w], create_graph=True)
        w.grad = None
        g.sum().backward()
        log(y, g, w)


@case(graph=MUST)
def higher_trained_module(function, log):
    m = nn.Linear(3, 3)
    m.train()
    d = nn.Dropout(0.5)

    @function
    def f(x):
        return (d(m(x)) ** 2).sum()

    for i in range(8):
        d.train()
        y = f(t(3, seed=i))
        d.eval()
        g = janus.autograd.grad(y, [m.weight], create_graph=True)
        m.zero_grad()
        g[0].sum().backward()
        log(y, g, m, m.weight.grad)


@case(graph=MUST)
def again_loop(function, log):
    w = t(3, grad=True)

    @function
    def f(xs):
        h = w * 1.0
        for x in xs:
            h = janus.tanh(h * x + w)
        return h.sum()

    for i in range(8):
        twice(log, w, f([t(3, seed=i + k) for k in range(1 + i % 3)]))


@case(graph=MUST)
def again_stack(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        h = w * 1.0
        for k in range(x.shape[0]):
            h = janus.tanh(h * x[k] + w)
        return h.sum()

    for i in range(8):
        twice(log, w, f(t(2 + i % 4, 3, seed=i)))


@case(graph=MUST)
def again_while(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        s = w * x
        while s.sum() < 2.0:
            s = s + w * w + 0.5
        return (s * s).sum()

    for i in range(8):
        twice(log, w, f(t(3, seed=i)))


@case(graph=MUST)
def again_if(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        if x.sum() > 0:
            s = w * w * x
        else:
            s = janus.exp(w) * x
        return (s * s).sum()

    for i in range(8):
        twice(log, w, f(t(3, seed=i)))


@case(graph=MUST)
def again_bn(function, log):

    class M(nn.Module):

        def __init__(s):
            super().__init__()
            s.l = nn.Linear(3, 4)
            s.b = nn.BatchNorm1d(4) if hasattr(nn, "BatchNorm1d") else nn.LayerNorm(4)
            s.n = 0

        def forward(s, x):
            s.n += 1
            return janus.tanh(s.b(s.l(x))).sum()

    m = M()
    f = function(m)
    for i in range(6):
        twice(log, m.l.weight, f(t(5, 3, seed=i)), (m,))


@case
def again_mut(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        return (w * w * w * x.sum()).sum()

    for i in range(6):
        x = t(3, seed=i)
        y = f(x)
        log.raises(lambda: twice(log, w, y))


@case(graph=MUST)
def again_through_input(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        return (x * x * x).sum()

    for i in range(6):
        twice(log, w, f(w * t(3, seed=i)))


@case(graph=MUST)
def again_recursion(function, log):

    class N:

        def __init__(s, v, l=None, r=None):
            s.v, s.l, s.r = (v, l, r)

    w = t(3, grad=True)

    def go(n):
        if n.l is None:
            return n.v * w
        return janus.tanh(go(n.l) * go(n.r) + n.v)

    @function
    def f(n):
        return go(n).sum()

    for i in range(6):
        tr = N(t(3, seed=i), N(t(3)), N(t(3, seed=5), N(t(3, seed=4)), N(t(3, seed=3))))
        twice(log, w, f(tr))


@case(graph=MUST)
def again_penalty(function, log):
    d = nn.Linear(3, 1)
    c = nn.Linear(3, 3)

    @function
    def f(x):
        return janus.tanh(d(janus.tanh(c(x)))).sum()

    opt = janus.optim.SGD([*d.parameters(), *c.parameters()], lr=0.1)
    for i in range(8):
        x = t(4, 3, seed=i).requires_grad_()
        opt.zero_grad()
        y = f(x)
        g, = janus.autograd.grad(y, [x], create_graph=True)
        l = y + ((g * g).sum().sqrt() - 1) ** 2
        l.backward()
        opt.step()
        log(l, d, c)


@case(graph=MUST)
def again_hook_twice(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        h = w * w * x
        return (h, (h * h * w).sum())

    for i in range(6):
        h, y = f(t(3, seed=i))
        g, = janus.autograd.grad(y + h.sum(), [w], create_graph=True)
        g2, = janus.autograd.grad(g.sum(), [w], create_graph=True)
        w.grad = None
        g2.sum().backward()
        log(g, g2, w)


@case(graph=MUST)
def again_dropout_loop(function, log):
    w = t(3, grad=True)

    @function
    def f(xs):
        h = w * 1.0
        for x in xs:
            h = F.dropout(janus.tanh(h * x + w), 0.5)
        r = janus.rand(3)
        return (h * r).sum()

    for i in range(8):
        twice(log, w, f([t(3, seed=i + k) for k in range(1 + i % 3)]))
