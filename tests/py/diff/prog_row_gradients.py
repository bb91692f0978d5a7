# SPDX-License-Identifier: Apache-2.0
"""Gradients of embeddings, which are kept as rows, where a view of one or another holder of it leaves the graph."""

import janus
import janus.nn as nn

from .harness import case


@case
def grad_is_view(function, log):
    e = nn.Embedding(320, 64)
    opt = janus.optim.SGD(e.parameters(), lr=0.1)
    keep = []

    @function
    def f(i):
        opt.zero_grad()
        l = (e(i) ** 2).sum()
        l.backward()
        g = e.weight.grad
        e.weight.grad = g.reshape(320 * 64).reshape(320, 64)
        return l.detach()

    for i in range(5):
        l = f(janus.tensor([i, i + 1, 3]))
        log(l, e.weight, e.weight.grad)


@case
def grad_view_and_result(function, log):
    e = nn.Embedding(320, 64)

    @function
    def f(i):
        e.weight.grad = None
        l = (e(i) ** 2).sum()
        l.backward()
        g = e.weight.grad
        return (l.detach(), g.view(320 * 64), g.T)

    for i in range(5):
        l, g, h = f(janus.tensor([i, i + 1, 3]))
        log(l, g, h, e.weight.grad)
        h.mul_(2.0)
        log(g, h, e.weight.grad)


@case
def grad_of_another(function, log):
    e = nn.Embedding(320, 64)
    d = nn.Embedding(320, 64)

    @function
    def f(i):
        e.weight.grad = None
        l = (e(i) ** 2).sum()
        l.backward()
        d.weight.grad = e.weight.grad
        e.weight.grad = e.weight.grad[:]
        return l.detach()

    for i in range(5):
        l = f(janus.tensor([i, i + 1, 3]))
        log(l, e.weight.grad, d.weight.grad, e.weight.grad is d.weight.grad)
        d.weight.grad.mul_(3.0)
        log(e.weight.grad)


@case
def grad_in_list(function, log):
    e = nn.Embedding(320, 64)
    out = []

    @function
    def f(i):
        e.weight.grad = None
        l = (e(i) ** 2).sum()
        l.backward()
        out.append(e.weight.grad)
        return l.detach()

    for i in range(5):
        l = f(janus.tensor([i, i + 1, 3]))
        log(l, e.weight.grad, out[-1] is e.weight.grad, out[-1])
