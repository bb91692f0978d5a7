# SPDX-License-Identifier: Apache-2.0
"""Programs with effects and results that require grad, with results computed from each other, and with
gradients inside."""

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import FAST, MUST, case, t


@case(graph=FAST)
def state_and_loss(function, log):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 3)
            self.h, self.steps = janus.zeros(3), 0

        def forward(self, x):
            self.steps += 1
            self.h = janus.tanh(self.lin(x) + self.h.detach())
            return (self.h * self.h).sum()

    m = Net()
    f = function(m)
    for i in range(4):
        loss = m(t(3, seed=i))
        loss.backward()
        log(loss, m, m.h, m.steps, m.h.requires_grad)


@case(graph=FAST)
def tracked_state_kept_outside(function, log):
    w = t(3, grad=True)
    seen, last = [], {}

    @function
    def f(x):
        y = w * x
        seen.append(y)
        last["y"] = y
        return (y * y).sum()

    for i in range(4):
        z = f(t(3, seed=i))
        log(z, last["y"] is seen[-1], seen[-1].requires_grad)
    z.backward()
    log(w)
    seen[0].sum().backward()
    log(w)
    log.raises(lambda: z.backward())


@case(graph=FAST)
def one_from_the_other(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        h = janus.tanh(w * x)
        loss = (h * h).sum()
        return h, loss

    for i in range(4):
        h, loss = f(t(3, seed=i))
        g = janus.autograd.grad(loss, h, retain_graph=True)
        log(h, loss, g)
        log(janus.autograd.grad(loss, [h, w], retain_graph=True))
        (loss + h.sum()).backward()
        log(w)


@case(graph=FAST)
def chain_of_three(function, log):
    w, v = t(2, 2, grad=True), t(2, grad=True)

    @function
    def f(x):
        a = x @ w
        b = janus.exp(a) * v
        c = (a * b).sum()
        return {"a": a, "b": b, "c": c}

    for i in range(4):
        r = f(t(2, seed=i))
        log(r, janus.autograd.grad(r["c"], [r["a"], r["b"], w, v], retain_graph=True))
        log(janus.autograd.grad(r["b"].sum(), [r["a"], v], retain_graph=True))
        r["c"].backward()
        log(w, v)


@case(graph=MUST)
def not_used_by_the_other(function, log):
    w, v = t(2, grad=True), t(2, seed=1, grad=True)

    @function
    def f(x):
        return w * x, v + x

    for i in range(4):
        a, b = f(t(2, seed=i))
        log.raises(lambda: janus.autograd.grad(a.sum(), b))
        log(janus.autograd.grad(a.sum(), [b, w], allow_unused=True, retain_graph=True))
        a.sum().backward()
        log(w, v)


@case(graph=FAST)
def gradients_kept_on_a_result(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        h = w * x
        return h, (h * 3).sum()

    for i in range(4):
        h, y = f(t(3, seed=i))
        h.retain_grad()
        y.backward()
        log(h.grad, w)


@case(graph=FAST)
def hooks_on_a_result(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        h = w * x
        return h, (h * h).sum()

    for i in range(4):
        h, y = f(t(3, seed=i))
        h.register_hook(lambda g: log(g) or g * 2)
        y.backward()
        log(w)


@case(graph=FAST)
def random_before_and_after(function, log):
    w = t(4, grad=True)

    @function
    def f(x):
        h = F.dropout(w * x, 0.5)
        y = F.dropout(h, 0.5).sum()
        return h, y

    for i in range(4):
        h, y = f(t(4, seed=i))
        log(h, y, janus.autograd.grad(y, h, retain_graph=True))
        y.backward()
        log(w)


@case
def weights_written_and_used(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        with janus.no_grad():
            w.sub_(x * 0.1)
        return (w * w * x).sum()

    for i in range(4):
        y = f(t(3, seed=i))
        y.backward()
        log(y, w)


@case(graph=MUST)
def what_is_not_saved_may_change(function, log):
    """A product keeps only what the gradients asked for need."""
    w, v = t(3, grad=True), t(3, seed=1, grad=True)
    f = function(lambda x: (w * x).sum())
    g = function(lambda x: (w * x * v).sum())
    for i in range(3):
        x = t(3, seed=i) + 0
        a, b = f(x), g(x)
        with janus.no_grad():
            w.mul_(0.5)
        a.backward()
        log(w, v)
        log.raises(lambda: b.backward())
        a, b = f(x), g(x)
        x.add_(1)
        log.raises(lambda: a.backward())
        log(w, v)


@case(graph=MUST)
def buffers_written_and_used(function, log):
    w, k = t(3, grad=True), t(3, seed=2)

    @function
    def f(x):
        with janus.no_grad():
            k.mul_(0.5)
            loss = (w * x).sum()
            w.sub_(x * 0.1)
        return (k * x * v).sum() + loss

    v = t(3, seed=4, grad=True)

    for i in range(4):
        y = f(t(3, seed=i))
        y.backward()
        log(y, w, k)
    y = f(t(3))
    k.add_(1)
    log.raises(lambda: y.backward())


@case
def in_place_makes_it_tracked(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        x.mul_(w)

    for i in range(3):
        x = t(3, seed=i) + 0
        f(x)
        log(x, x.requires_grad)
        x.sum().backward()
        log(w)


@case(graph=MUST)
def batch_norm_and_loss(function, log):
    m = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4) if hasattr(nn, "BatchNorm1d") else nn.LayerNorm(4))
    f = function(lambda x: (m(x) ** 2).sum())
    for i in range(4):
        y = f(t(5, 3, seed=i))
        y.backward()
        log(y, m)


@case(graph=MUST)
def second_derivative_outside(function, log):
    w = t(3, grad=True)
    f = function(lambda x: (w * w * w * x).sum())
    for i in range(4):
        y = f(t(3, seed=i))
        (g,) = janus.autograd.grad(y, w, create_graph=True)
        log(g)
        g.sum().backward()
        log(w)


@case(graph=MUST)
def returned_argument(function, log):
    @function
    def f(x, y, c):
        z = x * 2 if c.sum() > 0 else y
        return z if c.sum() > 1 else x

    x, y = t(2) + 0, t(2, seed=1) + 0
    for c in (1.0, 2.0, -1.0, 2.0, 0.5):
        z = f(x, y, janus.tensor([c]))
        log(z, z is x, z is y)


@case(graph=MUST)
def effects_then_replaced(function, log):
    """The entry's effects are seen by a caller that looks at them between calls."""

    class State:
        def __init__(self):
            self.total, self.log = janus.zeros(()), []

    s, w = State(), t(2, grad=True)

    @function
    def f(x):
        y = (w * x).sum()
        s.total = s.total + y.detach()
        s.log.append(y.detach())
        return y

    for i in range(5):
        y = f(t(2, seed=i))
        log(y, s.total, len(s.log), s.total.requires_grad)
        if i == 2:
            s.total, s.log = janus.ones(()), []
    y.backward()
    log(w, s)


@case(graph=MUST)
def grad_of_leaves_inside(function, log):
    w, v = t(3, grad=True), t(3, seed=1, grad=True)

    @function
    def f(x):
        loss = ((w * x + v) ** 2).sum()
        dw, dv = janus.autograd.grad(loss, [w, v])
        return dw * 2, dv, loss.detach()

    for i in range(4):
        log(f(t(3, seed=i)), w.grad, v.grad)


@case(graph=MUST)
def grad_of_a_value_inside(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        h = janus.tanh(w * x)
        y = (h * h).sum()
        (dh,) = janus.autograd.grad(y, h, retain_graph=True)
        return (y + (dh * x).sum()) * 2, dh

    for i in range(4):
        y, dh = f(t(3, seed=i))
        log(y, dh, dh.requires_grad)
        y.backward()
        log(w)


@case
def grad_used_up_inside(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        y = (w * w * x).sum()
        (dw,) = janus.autograd.grad(y, w)
        return y, dw

    for i in range(3):
        y, dw = f(t(3, seed=i))
        log(y, dw, y.requires_grad)
        log.raises(lambda: y.backward())


@case
def grad_not_used_inside(function, log):
    w, v = t(3, grad=True), t(3, grad=True)

    @function
    def f(x):
        return janus.autograd.grad((w * x).sum(), [w, v], allow_unused=True)

    for i in range(3):
        log(f(t(3, seed=i)))


@case(graph=FAST)
def many_results(function, log):
    """More results than a word has bits: each gives gradients to what it was computed from alone."""
    w, v = t(3, grad=True), t(3, grad=True)

    @function
    def f(x):
        return [(w if i % 2 else v) * float(i) * x for i in range(70)]

    for i in range(3):
        for picked in ((69,), (68,), (3, 66), range(70)):
            w.grad = v.grad = None
            out = f(t(3, seed=i))
            sum(out[k].sum() for k in picked).backward()
            log(w, v)


@case(graph=FAST)
def many_buffers(function, log):
    """45 batch norms: 90 results of a float dtype that get no gradient, before the one that does."""
    net = nn.Sequential(*[nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)) for _ in range(45)])
    f = function(net)
    for i in range(3):
        loss = net(t(4, 3, seed=i)).sum()
        loss.backward()
        log(loss, net)
