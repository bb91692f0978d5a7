# SPDX-License-Identifier: Apache-2.0
"""autograd.grad inside a function with all its arguments: each kind of history with each way of asking and each use
of what it gives."""
import itertools

import pytest

import janus
import janus.nn as nn
from diff.harness import t
from compared import close
from test_new_leaves import freeze

grad = janus.autograd.grad


def linear(w, x, z):
    return (w * x * z).sum()


def smooth(w, x, z):
    return ((w * x).tanh() * z.sin()).sum()


def product(w, x, z):
    return ((w @ x).exp() * z).mean()


def kinked(w, x, z):
    return nn.functional.leaky_relu(w @ z, 0.2).sum() + (x * z).sum()


def normal(w, x, z):
    return (nn.functional.layer_norm(w + z, (3,)) * x).sum()


def looped(w, x, z):
    h = z
    for k in range(4):
        h = (h @ w + x[k % 3]).tanh()
    return h.sum()


def unknown_rounds(w, x, z):
    h = z
    for _ in range(int(x.abs().sum())):
        h = (h * w).tanh()
    return h.sum()


def squared(w, x, z):
    return (z ** 3).sum() + (w ** 2).sum()


def viewed(w, x, z):
    return (w[0] * z.t()[1] * x[2]).pow(2).sum() + w.view(-1)[3:6].exp().sum()


HISTORIES = [linear, smooth, product, kinked, normal, looped, unknown_rounds, squared, viewed]


def first(of, w, x, z):
    return grad(of(w, x, z), z)[0]


def with_history(of, w, x, z):
    g, = grad(of(w, x, z), z, create_graph=True)
    return g.detach(), g.requires_grad


def penalty(of, w, x, z):
    y = of(w, x, z)
    g, = grad(y, [z], create_graph=True, retain_graph=True, only_inputs=True)
    loss = y + ((g.norm(2, dim=1) - 1) ** 2).mean()
    loss.backward()
    return loss.item(), g.detach()


def third(of, w, x, z):
    g, = grad(of(w, x, z), z, create_graph=True)
    h, = grad((g * g).sum(), z, create_graph=True, allow_unused=True)
    if h is None:
        return "none"
    h.pow(2).sum().backward()
    return h.detach()


def inner_step(of, w, x, z):
    loss = of(w, x, z)
    gs = grad(loss, (w, z), create_graph=True)
    fast = [p - 0.1 * g for p, g in zip((w, z), gs)]
    of(fast[0], x, fast[1]).backward()
    return loss.item()


def unused(of, w, x, z):
    u = t(3, grad=True) * 2
    return grad(of(w, x, z), [z, u, w], allow_unused=True)


def several(of, w, x, z):
    a, b = of(w, x, z), (w * z).cos()
    return grad([a, b], [w, z], grad_outputs=[None, x])


def seeded(of, w, x, z):
    y = of(w, x, z) * x
    return grad(outputs=y, inputs=z, grad_outputs=janus.ones_like(y) * 0.5, retain_graph=True)[0], y.sum().item()


def within(of, w, x, z):
    h = z * 2
    g, = grad(of(w, x, h), h, create_graph=True)
    (g * w).sum().backward()
    return g.detach()


def left(of, w, x, z):
    g, = grad(of(w, x, z), w, create_graph=True)
    return (g * z).sum()


def in_an_arm(of, w, x, z):
    y = of(w, x, z)
    if y > 0.3:
        return grad(y, z)[0]
    return grad(y, w)[0]


def not_used(of, w, x, z):
    u = (x * 1).requires_grad_()
    return grad(of(w, x, z), u)


def twice(of, w, x, z):
    y = of(w, x, z)
    a, = grad(y, z)
    return grad(y, w)


USES = [first, with_history, penalty, third, inner_step, unused, several, seeded, within, left, in_an_arm, not_used,
        twice]
MUST = {first, penalty, inner_step, several, seeded}
INNER = {"given": lambda z: z, "made": lambda z: (z * 1.5).detach().requires_grad_()}


def observe(of, use, inner, function):
    w, log = t(3, 3, seed=2, grad=True), []
    z = t(3, 3, seed=5, grad=True)
    f = function(lambda w, x, z: use(of, w, x, INNER[inner](z)))
    for i in range(5):
        x = t(3, 3, seed=i)
        w.grad = z.grad = None
        try:
            y = f(w, x, z)
        except RuntimeError as e:
            log.append(str(e).split(":")[0])
            continue
        log.append(freeze([y, x, w, z]))
        if isinstance(y, janus.Tensor) and not y.is_leaf:
            y.sum().backward()
        log.append(freeze([y, w, z]))
    return log, f


@pytest.mark.parametrize("of, use, inner", [pytest.param(*p, id=f"{p[0].__name__}-{p[1].__name__}-{p[2]}")
                                            for p in itertools.product(HISTORIES, USES, INNER)])
def test_as_undecorated(of, use, inner):
    want, _ = observe(of, use, inner, lambda f: f)
    got, f = observe(of, use, inner, lambda f: janus.function(f, verify="never", measure=False))
    for a, b in zip(want, got):
        assert close(a, b), (a, b)
    _, verified = observe(of, use, inner, lambda f: janus.function(f, verify="always", measure=False))
    assert not verified.stats()["disproved"]  # strides, and who shares memory
    if use in MUST and of not in (unknown_rounds, viewed) and (use, of) != (penalty, linear):
        assert f.stats()["graph"] >= 3, janus.explain(f)
