# SPDX-License-Identifier: Apache-2.0
"""Gradients that there are on some paths only: a leaf that the path taken does not use has none (not one of
zeros), and what is computed in its place reaches nothing, whatever it is multiplied with."""

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import MUST, case, t


@case(graph=MUST)
def arm_weight(function, log):
    w, v = t(3, grad=True), t(3, seed=2, grad=True)

    @function
    def f(x):
        if x.sum() > 0:
            y = w * x
        else:
            y = v * x
        return y.sum()

    for i in range(6):
        w.grad = v.grad = None
        y = f(t(3, seed=i))
        y.backward()
        log(y, w, v)


@case
def arm_weight_inside(function, log):
    w, v = t(3, grad=True), t(3, seed=2, grad=True)

    @function
    def f(x):
        if x.sum() > 0:
            y = w * x
        else:
            y = v * x
        y.sum().backward()

    for i in range(6):
        w.grad = v.grad = None
        f(t(3, seed=i))
        log(w, v)


@case(graph=MUST)
def nested_arms(function, log):
    w, v, u = t(3, grad=True), t(3, seed=2, grad=True), t(3, seed=3, grad=True)

    @function
    def f(x):
        if x.sum() > 0:
            if x[0] > 0.2:
                y = w * x
            else:
                y = u * x + v
        else:
            y = v * x
        return y.sum()

    for i in range(12):
        w.grad = v.grad = u.grad = None
        y = f(t(3, seed=i))
        y.backward()
        log(y, w, v, u)


@case(graph=MUST)
def chain_of_arms(function, log):
    w, v, u = t(3, grad=True), t(3, seed=2, grad=True), t(3, seed=3, grad=True)

    @function
    def f(x):
        if x.sum() > 0:
            h = w * x
        else:
            h = v * x
        if x[0] > 0.5:
            y = h * u
        else:
            y = x * u
        return y.sum()

    for i in range(12):
        w.grad = v.grad = u.grad = None
        y = f(t(3, seed=i))
        y.backward()
        log(y, w, v, u)


@case(graph=MUST)
def zero_inf_norm(function, log):
    w = (t(3) * 0).detach().requires_grad_()

    @function
    def f(x):
        n = (w * w).sum().sqrt()
        if n > 1:
            s = w / n
        else:
            s = w
        return (s * x).sum()

    for i in range(6):
        w.grad = None
        y = f(t(3, seed=i))
        y.backward()
        log(y, w)


@case(graph=MUST)
def zero_inf_two_results(function, log):
    w = (t(3) * 0).detach().requires_grad_()

    @function
    def f(x):
        n = (w * w).sum().sqrt()
        return ((w * x).sum(), n)

    for i in range(6):
        w.grad = None
        y, n = f(t(3, seed=i))
        y.backward()
        log(y, w)


@case(graph=MUST)
def loop_if_used(function, log):
    w, v = t(3, grad=True), t(3, seed=2, grad=True)

    @function
    def f(xs):
        s = v * 1.0
        for x in xs:
            if x.sum() > 1.2:
                s = s + w * x
        return s.sum()

    for i in range(8):
        w.grad = v.grad = None
        y = f([t(3, seed=i + k) for k in range(3)])
        y.backward()
        log(y, w, v)


@case(graph=MUST)
def while_zero(function, log):
    w, v = t(3, grad=True), t(3, seed=2, grad=True)

    @function
    def f(x):
        s = v * x
        while s.sum() < 2.0:
            s = s + w * w + 0.5
        return s.sum()

    for i in range(12):
        w.grad = v.grad = None
        y = f(t(3, seed=i) * 4)
        y.backward()
        log(y, w, v)


@case
def inside_chain(function, log):
    w, v, u = t(3, grad=True), t(3, seed=2, grad=True), t(3, seed=3, grad=True)
    opt = janus.optim.SGD([w, v, u], lr=0.1)

    @function
    def f(x):
        opt.zero_grad()
        if x.sum() > 0:
            h = w * x
        else:
            h = v * x
        if x[0] > 0.5:
            y = h * u
        else:
            y = x * u
        l = y.sum()
        l.backward()
        opt.step()
        return l.detach()

    for i in range(12):
        l = f(t(3, seed=i))
        log(l, w, v, u)


@case(graph=MUST)
def experts(function, log):

    class M(nn.Module):

        def __init__(s):
            super().__init__()
            s.a = nn.Linear(3, 3)
            s.b = nn.Linear(3, 3)
            s.c = nn.Linear(3, 1)

        def forward(s, x):
            if x.mean() > 0:
                h = s.a(x)
            else:
                h = s.b(x)
            return s.c(F.relu(h)).sum()

    m = M()
    opt = janus.optim.Adam(m.parameters(), lr=0.1)
    f = function(m)
    for i in range(10):
        opt.zero_grad()
        l = f(t(3, seed=i))
        l.backward()
        opt.step()
        log(l, m)


@case(graph=MUST)
def early_return(function, log):
    w, v = t(3, grad=True), t(3, seed=2, grad=True)

    @function
    def f(x):
        if x.sum() > 0:
            return (w * x).sum()
        return (v * x).sum()

    for i in range(8):
        w.grad = v.grad = None
        y = f(t(3, seed=i))
        y.backward()
        log(y, w, v)


@case(graph=MUST)
def not_diff_in_arm(function, log):
    w, v = t(3, grad=True), t(3, seed=2, grad=True)

    @function
    def f(x):
        y = v * x
        if x.sum() > 0:
            y = y + w.detach()
        else:
            y = y * w
        return y.sum()

    for i in range(8):
        w.grad = v.grad = None
        y = f(t(3, seed=i))
        y.backward()
        log(y, w, v)


@case
def requires_grad_on_one_path(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        if x.sum() > 0:
            return (w * x).sum()
        return x.sum()

    for i in range(8):
        log(f(t(3, seed=i)).requires_grad)
