# SPDX-License-Identifier: Apache-2.0
"""Writes to leaves that require grad, by way of .data, of a detached view or of a view under no_grad: each way of
writing at each place of a training step, and what an earlier or a later gradient makes of it."""
import itertools

import pytest

import janus

from diff.harness import t
from compared import close

def plus_its_half(p, g):
    d = p.data
    d += g * 0.5


def set_a_row(p, g):
    p.data[1] = g[0]


WRITES = {
    "data_add": lambda p, g: p.data.add_(g, alpha=-0.1),
    "data_iadd": plus_its_half,
    "data_row": lambda p, g: p.data[0].mul_(0.5),
    "data_slice": lambda p, g: p.data[1:].sub_(g[1:]),
    "data_setitem": set_a_row,
    "data_t": lambda p, g: p.data.t().add_(g),
    "data_view": lambda p, g: p.data.view(-1).clamp_(-0.4, 0.4),
    "data_copy": lambda p, g: p.data.copy_(g),
    "data_data": lambda p, g: p.data.data.mul_(0.9),
    "detach": lambda p, g: p.detach().add_(g),
    "detach_row": lambda p, g: p.detach()[2].zero_(),
    "data_detach": lambda p, g: p.data.detach().add_(g),
}


def quietly(write):
    def f(p, g):
        with janus.no_grad():
            write(p, g)

    return f


WRITES |= {f"quiet_{k}": quietly(w) for k, w in list(WRITES.items())}
WRITES["quiet_row"] = quietly(lambda p, g: p[0].add_(1))
WRITES["quiet_itself"] = quietly(lambda p, g: p.add_(g))


def loss_of(w, b, x):
    return ((x @ w).tanh() * b).sum()


def after_backward(write, w, b, x, log):
    loss = loss_of(w, b, x)
    loss.backward()
    for p in (w, b):
        write(p, p.grad)
    return loss.item()


def before_forward(write, w, b, x, log):
    write(w, x)
    y = loss_of(w, b, x)
    return y


def after_forward(write, w, b, x, log):
    y = loss_of(w, b, x)
    write(w, x)
    return y


def and_forward_again(write, w, b, x, log):
    loss_of(w, b, x).backward()
    write(w, w.grad)
    loss = loss_of(w, b, x)
    loss.backward()
    return loss.detach()


def in_an_arm(write, w, b, x, log):
    if x.sum() > 0.5:
        write(w, x)
    else:
        w.data.mul_(0.5)
    return w.sum().item()


def in_rounds(write, w, b, x, log):
    for k in range(3):
        write(w, x * k)
    return w.detach().clone()


def and_counted(write, w, b, x, log):
    write(w, x)
    with janus.no_grad():
        w.add_(0.25)
    write(w, x)
    return w.detach() * 1


PLACES = [after_backward, before_forward, after_forward, and_forward_again, in_an_arm, in_rounds, and_counted]
MUST = {after_backward, and_forward_again, in_rounds, and_counted}


def observe(place, write, function):
    log = []
    w, b = t(3, 3, seed=1, grad=True), t(3, 3, seed=2, grad=True)
    earlier = []
    f = function(lambda w, b, x: place(write, w, b, x, log))
    for i in range(5):
        x = t(3, 3, seed=i)
        w.grad = b.grad = None
        kept = (w * w * b).sum()  # a history from outside that needs what the call writes
        versions = [p._version for p in (w, b)]
        y = f(w, b, x)
        log.append([p._version != v for p, v in zip((w, b), versions)])
        for z in [y] * (isinstance(y, janus.Tensor) and y.requires_grad) + [kept]:
            try:
                z.backward()
            except RuntimeError as e:
                log.append(str(e).split(":")[0])
        log += [p.detach().tolist() for p in (w, b)]
        log += [None if p.grad is None else p.grad.tolist() for p in (w, b)]
        log.append(y.detach().tolist() if isinstance(y, janus.Tensor) else y)
    return log, f


@pytest.mark.parametrize("place, name", [pytest.param(p, n, id=f"{p.__name__}-{n}")
                                         for p, n in itertools.product(PLACES, WRITES)])
def test_as_undecorated(place, name):
    want, _ = observe(place, WRITES[name], lambda f: f)
    got, f = observe(place, WRITES[name], lambda f: janus.function(f, verify="never", measure=False))
    assert close(want, got), (want, got)
    if place in MUST:
        assert f.stats()["graph"] >= 2, janus.explain(f)


@pytest.mark.parametrize("states", [0, 2, 4])
def test_a_history_cut_in_a_recursion_is_not_used(states):
    """States of the call before, which required grad, come back detached by a recursive function."""
    def cut(h):
        if isinstance(h, janus.Tensor):
            return h.detach()
        return tuple(cut(v) for v in h)

    def run(function):
        w, seen = t(3, seed=1, grad=True), []
        h = tuple(t(3, seed=i) for i in range(states)) if states else t(3)

        def step(h, x):
            w.grad = None
            h = cut(h)
            h = tuple((v * w + x).tanh() for v in h) if isinstance(h, tuple) else (h * w + x).tanh()
            loss = sum(v.sum() for v in h) if isinstance(h, tuple) else h.sum()
            loss.backward()
            w.data.sub_(w.grad, alpha=0.1)
            return h

        f = function(step)
        for i in range(6):
            h = f(h, t(3, seed=i))
            seen.append([w.tolist(), w.grad.tolist(), [v.tolist() for v in h]])
        return seen, f

    want, _ = run(lambda f: f)
    got, f = run(lambda f: janus.function(f, verify="never", measure=False))
    assert close(want, got), (want, got)
    assert f.stats()["graph"] >= 3, janus.explain(f)


@pytest.mark.parametrize("take", [lambda p: p.data, lambda p: p.data[0], lambda p: p.detach(), lambda p: p.data.detach()])
def test_whether_a_view_that_leaves_is_counted(take):
    def run(function):
        p, seen = t(3, 3, grad=True), []
        f = function(take)
        for _ in range(4):
            d, version = f(p), p._version
            d.add_(1)
            seen.append([p._version - version, p.tolist()])
        return seen, f

    (want, _), (got, f) = run(lambda f: f), run(lambda f: janus.function(f, verify="never", measure=False))
    assert want == got
    assert f.stats()["graph"]
