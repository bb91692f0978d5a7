# SPDX-License-Identifier: Apache-2.0
"""backward() any number of times in a call: what it reaches, what it uses up, and leaves that are written between."""

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import FAST, case, t

OPTIMIZERS = {
    "sgd": lambda p: janus.optim.SGD(p, lr=0.1),
    "momentum": lambda p: janus.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: janus.optim.Adam(p, lr=0.01),
    "rmsprop": lambda p: janus.optim.RMSprop(p, lr=0.01),
}


def adversaries(optimizer):
    def program(function, log):
        make = OPTIMIZERS[optimizer]
        g = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        d = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))
        og, od = make(g.parameters()), make(d.parameters())

        @function
        def step(real, z):
            fake = g(z)
            od.zero_grad()
            loss_d = F.softplus(-d(real)).mean() + F.softplus(d(fake.detach())).mean()
            loss_d.backward()
            od.step()
            og.zero_grad()
            loss_g = F.softplus(-d(fake)).mean()
            loss_g.backward()
            og.step()
            return loss_d, loss_g

        for i in range(4):
            log(*step(t(5, 2, seed=i), t(5, 3, seed=i + 9)), g, d)

    program.__name__ = "adversaries_" + optimizer
    return program


for name in OPTIMIZERS:
    case(graph=FAST)(adversaries(name))


@case(graph=FAST)
def epochs_in_a_call(function, log):
    m = nn.Linear(3, 2)
    o = janus.optim.Adam(m.parameters(), lr=0.1)

    @function
    def fit(x, y):
        losses = []
        for _ in range(3):
            o.zero_grad()
            loss = F.mse_loss(m(x), y)
            loss.backward()
            o.step()
            losses.append(loss.detach())
        return losses

    for i in range(4):
        log(fit(t(4, 3, seed=i), t(4, 2, seed=i + 5)), m)


@case(graph=FAST)
def accumulated(function, log):
    m = nn.Linear(3, 2)
    o = janus.optim.SGD(m.parameters(), lr=0.1)

    @function
    def step(parts):
        o.zero_grad()
        for x in parts:
            (m(x) ** 2).mean().backward()
        o.step()

    for i in range(4):
        step([t(2, 3, seed=i + k) for k in range(3)])
        log(m, m.weight.grad, m.bias.grad)


@case(graph=FAST)
def two_losses_of_one_leaf(function, log):
    w, v = t(3, grad=True), t(3, grad=True)

    @function
    def f(x):
        a = (w * x).sum()
        b = (w * v * x).exp().sum()
        a.backward()
        first = w.grad.clone()
        b.backward()
        return a, b, first

    for i in range(4):
        log(*f(t(3, seed=i)), w, v)


@case(graph=FAST)
def retained_and_seeded(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        y = (w * x).exp()
        y.sum().backward(retain_graph=True)
        y.mul(x).backward(x)
        return y

    for i in range(4):
        y = f(t(3, seed=i))
        log(y, w)
        log.raises(lambda y=y: y.sum().backward())


@case(graph=FAST)
def several_roots(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        a, b = (w * x).sum(), (w * w) * x
        janus.autograd.backward((a, b), (None, x))

    for i in range(4):
        f(t(3, seed=i))
        log(w)


@case(graph=FAST)
def what_backward_leaves_alone(function, log):
    """A result whose history was not used gives gradients later; one whose history was, raises."""
    w, v = t(3, grad=True), t(3, grad=True)

    @function
    def f(x):
        a, b = (w * x).exp(), (v * x).exp()
        a.sum().backward()
        return a, b

    for i in range(4):
        a, b = f(t(3, seed=i))
        b.sum().backward()
        log(w, v)
        log.raises(lambda a=a: a.sum().backward())


@case(graph=FAST)
def history_of_an_argument_not_reached(function, log):
    w, v = t(3, grad=True), t(3, grad=True)

    @function
    def f(h):
        loss = (v * h.detach()).sum()
        loss.backward()
        return loss

    for i in range(4):
        h = w * t(3, seed=i)
        log(f(h), v)
        h.sum().backward()
        log(w)


@case(graph=False)
def used_twice(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        y = (w * x).exp().sum()
        y.backward()
        (y * 2).backward()

    for i in range(3):
        log.raises(lambda i=i: f(t(3, seed=i)))
        log(w)


@case(graph=False)
def written_after_it_was_saved(function, log):
    """What a gradient needs is written before it is asked for: CPython raises, whoever owns the tensor."""
    w, v = t(3, grad=True), t(3, grad=True)

    def argument(x):
        y = (w * x).sum()
        x.add_(1)
        y.backward()

    def leaf(x):
        y = (w * v * x).sum()
        with janus.no_grad():
            v.mul_(2)
        y.backward()

    def made_here(x):
        h = x + 0
        y = (w * h).sum()
        h.add_(1)
        y.backward()

    for f in map(function, (argument, leaf, made_here)):
        for i in range(3):
            log.raises(lambda i=i, f=f: f(t(3, seed=i)))
            log(w, v)


@case(graph=FAST)
def leaf_written_and_used_again(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        a = (w * x).sum()
        a.backward()
        with janus.no_grad():
            w.sub_(0.1 * w.grad)
            w.grad.zero_()
        b = (w * w * x).sum()
        b.backward()
        return a, b

    for i in range(4):
        log(*f(t(3, seed=i)), w)


@case(graph=False)
def result_of_a_written_leaf(function, log):
    """A gradient of a leaf as it became inside the call: the tape knows only the leaf."""
    w = t(3, grad=True)

    @function
    def f(x):
        with janus.no_grad():
            w.mul_(0.5)
        return (w * w * x).sum()

    for i in range(4):
        w.grad = None
        y = f(t(3, seed=i))
        y.backward()
        log(y, w)


@case(graph=FAST)
def penalty_of_weights(function, log):
    """The second loss reaches what the first one made, through .grad without a history."""
    w, v = t(3, grad=True), t(3, grad=True)

    @function
    def f(x):
        (w * w * x).sum().backward()
        loss = (v * w.grad).sum()
        loss.backward()
        return loss

    for i in range(4):
        w.grad = None
        log(f(t(3, seed=i)), w, v)


def scheduled(optimizer):
    """A learning rate that changes at every call is an input of one graph."""

    def program(function, log):
        m = nn.Linear(3, 2)
        o = OPTIMIZERS[optimizer](m.parameters())
        s = janus.optim.lr_scheduler.ExponentialLR(o, 0.9)

        @function
        def step(x):
            o.zero_grad()
            loss = (m(x) ** 2).mean()
            loss.backward()
            o.step()
            return loss

        for i in range(7):
            log(step(t(4, 3, seed=i)), m)
            s.step()
        stats = getattr(step, "stats", dict)()
        assert stats.get("conversions", 0) <= 2, stats

    program.__name__ = "scheduled_" + optimizer
    return program


for name in OPTIMIZERS:
    case(graph=FAST)(scheduled(name))
