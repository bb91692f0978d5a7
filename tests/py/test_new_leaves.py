# SPDX-License-Identifier: Apache-2.0
"""Leaves that a function makes, or whose requires_grad or .data it sets: each way of making one with each use of it."""
import itertools

import pytest

import janus
import janus.nn as nn
from diff.harness import t
from compared import close


def set_flag(x):
    x.requires_grad = True
    return x


def made_then_detached(x):
    y = (x * 2).tanh()
    z = y.detach()
    z.requires_grad_()
    return z


def parameter_off_and_on(x):
    y = x * 1
    y.requires_grad_()
    y.requires_grad_(False)
    y.requires_grad = True
    return y


def quietly(x):
    with janus.no_grad():
        return (x + 1).requires_grad_()


MAKE = {
    "zeros": lambda x: janus.zeros(3, requires_grad=True),
    "ones_like": lambda x: janus.ones_like(x, requires_grad=True),
    "full": lambda x: janus.full((3,), 0.5, requires_grad=True),
    "method": lambda x: (x * 2).requires_grad_(),
    "method_true": lambda x: (x * 2).requires_grad_(True),
    "method_keyword": lambda x: (x * 2).requires_grad_(requires_grad=True),
    "attribute": lambda x: set_flag(x * 2),
    "detached": lambda x: (x * 2).tanh().detach().requires_grad_(),
    "detached_view": lambda x: x.detach().requires_grad_(),
    "cloned": lambda x: x.clone().detach().requires_grad_(True),
    "named": made_then_detached,
    "off_and_on": parameter_off_and_on,
    "no_grad": quietly,
    "argument": lambda x: x.requires_grad_(),
}


def backward(z, w, x):
    loss = (z * w * x).sum() + (z ** 2).sum()
    loss.backward()
    return z.grad, z.requires_grad, z.is_leaf


def twice(z, w, x):
    for _ in range(2):
        (z * w).tanh().sum().backward()
    return z.grad, loss_of(z.grad)


def loss_of(g):
    return g.abs().sum().item()


def left(z, w, x):
    return z


def left_with_gradient(z, w, x):
    (z * w).sum().backward()
    return z


def left_twice(z, w, x):
    (z * x).sum().backward()
    return [z, {"z": z}], z.grad


def left_with_history(z, w, x):
    return z, (z * w).sum()


def history_left(z, w, x):
    return (z * w).sum()


def gradient(z, w, x):
    return janus.autograd.grad((z * w).sin().sum(), [z, w])


def stepped(z, w, x):
    for _ in range(3):
        z.grad = None
        (z * w - x).pow(2).sum().backward()
        with janus.no_grad():
            z -= 0.1 * z.grad
    return z.detach(), w.grad


def data_set(z, w, x):
    for k in range(3):
        (z * w).tanh().sum().backward()
        z.data = (z + 0.1 * janus.sign(z.grad)).clamp(-1, 1)
        z.grad.zero_()
    return z.detach() + 1, z.grad


def data_set_and_left(z, w, x):
    z.data = z * 2 + w
    return z, z.requires_grad


def off_again(z, w, x):
    (z * w).sum().backward()
    g = z.grad
    z.requires_grad_(False)
    y = (z * w).sum()
    y.backward()
    return y, z.grad is g, z.requires_grad


def in_an_arm(z, w, x):
    if x.sum() > 0:
        y = z * w
    else:
        y = z - w
    y.sum().backward()
    return z.grad


def in_rounds(z, w, x):
    y = z
    for _ in range(int(x.abs().sum() * 3)):
        y = (y * w).tanh()
    y.sum().backward()
    return z.grad


def made_in_an_arm(z, w, x):
    if x.sum() > 0:
        u = (x * 3).requires_grad_()
    else:
        u = z
    (u * w).sum().backward()
    return u.grad, z.grad


def view_written(z, w, x):
    v = z.detach()
    v += 1
    (z * w).sum().backward()
    return z.grad, v


def read_in_a_recursion(z, w, x):
    def down(k, h):
        return h.sum() if k == 0 else down(k - 1, (h * z).tanh())

    down(2, w * x).backward()
    return z.grad


USES = [backward, twice, left, left_with_gradient, left_twice, left_with_history, history_left, gradient, stepped,
        data_set, data_set_and_left, off_again, in_an_arm, in_rounds, made_in_an_arm, view_written, read_in_a_recursion]
MUST = {backward, twice, left, left_with_gradient, gradient, stepped, in_an_arm, in_rounds, off_again}


def freeze(v):
    if isinstance(v, janus.Tensor):
        return [v.detach().tolist(), v.requires_grad, v.is_leaf, freeze(v.grad) if v.is_leaf else None]
    if isinstance(v, dict):
        return [[k, freeze(x)] for k, x in v.items()]
    return [freeze(x) for x in v] if isinstance(v, (list, tuple)) else v


def observe(make, use, function):
    w, log = t(3, seed=2, grad=True), []
    f = function(lambda w, x: use(make(x), w, x))
    for i in range(5):
        x = t(3, seed=i)
        w.grad = None
        for _ in range(2):  # the second time, it may require grad already
            try:
                y = f(w, x)
            except RuntimeError as e:
                log.append(str(e).split(":")[0])
                continue
            log.append(freeze([y, x, w]))
            last = y[-1] if isinstance(y, tuple) else y
            if isinstance(last, janus.Tensor) and not last.is_leaf:
                last.sum().backward()
            log.append(freeze([y, x, w]))
    return log, f


@pytest.mark.parametrize("name, use", [pytest.param(n, u, id=f"{n}-{u.__name__}")
                                       for n, u in itertools.product(MAKE, USES)])
def test_as_undecorated(name, use):
    want, _ = observe(MAKE[name], use, lambda f: f)
    got, f = observe(MAKE[name], use, lambda f: janus.function(f, verify="never", measure=False))
    for a, b in zip(want, got):
        assert close(a, b), (a, b)
    _, verified = observe(MAKE[name], use, lambda f: janus.function(f, verify="always", measure=False))
    assert not verified.stats()["disproved"]
    if use in MUST and name not in ("argument", "detached_view") and (name, use) != ("named", stepped):
        assert f.stats()["graph"] >= 4, janus.explain(f)


def each_by_method(m, on):
    for p in m.parameters():
        p.requires_grad_(on)


def each_by_attribute(m, on):
    for p in m.parameters():
        p.requires_grad = on


FREEZE = {
    "parameters": each_by_method,
    "module": lambda m, on: m.requires_grad_(on),
    "attributes": each_by_attribute,
    "comprehension": lambda m, on: [p.requires_grad_(on) for p in m.parameters()],
    "one": lambda m, on: m.weight.requires_grad_(on),
}


def frozen_for_one_loss(way, m, w, x):
    way(m, False)
    (m(x) * w).sum().backward()
    way(m, True)
    return [p.grad for p in m.parameters()]


def frozen_then_trained(way, m, w, x):
    way(m, False)
    (m(x) * w).sum().backward()
    way(m, True)
    m(x).tanh().sum().backward()
    return m(x).detach()


def trained_then_frozen(way, m, w, x):
    m(x * w).tanh().sum().backward()
    way(m, False)
    return m(x), [p.requires_grad for p in m.parameters()]


def left_frozen_with_history(way, m, w, x):
    y = m(x * w)
    way(m, False)
    return y


def switched(way, m, w, x):
    on = m.weight.requires_grad
    way(m, not on)
    y = m(x * w)
    return y


@pytest.mark.parametrize("way, step", [pytest.param(w, s, id=f"{w}-{s.__name__}") for w, s in itertools.product(
    FREEZE, [frozen_for_one_loss, frozen_then_trained, trained_then_frozen, left_frozen_with_history, switched])])
def test_parameters_whose_flag_is_set(way, step):
    def run(function):
        janus.manual_seed(1)
        m, w, log = nn.Linear(3, 3), t(3, seed=2, grad=True), []
        f = function(lambda m, w, x: step(FREEZE[way], m, w, x))
        for i in range(6):
            y = f(m, w, t(3, seed=i))
            if isinstance(y, janus.Tensor) and y.requires_grad:
                y.sum().backward()
            log.append(freeze([y, w, list(m.parameters())]))
            if step is not switched:
                m.requires_grad_(True)
        return log, f

    (want, _), (got, f) = run(lambda f: f), run(lambda f: janus.function(f, verify="never", measure=False))
    for a, b in zip(want, got):
        assert close(a, b), (a, b)
    if step not in (left_frozen_with_history, switched) and way != "comprehension":
        assert f.stats()["graph"] >= 2, janus.explain(f)


class Knot:
    def __init__(self, k, *children):
        self.vector, self.children = janus.ones(2) * k, list(children)


@pytest.mark.parametrize("statement", ["node.vector.requires_grad_()", "node.vector.requires_grad = True", "node.vector.requires_grad_(False)",
                                       "v = node.vector\n    v.requires_grad_()", "seen = node.vector.requires_grad_() * 2",
                                       "node.vector.detach_()", "total = total + node.vector.requires_grad_(False).sum()"])
@pytest.mark.parametrize("before", [None, True, False])
def test_of_nodes_that_only_the_run_knows(statement, before, tmp_path):
    """The first call has set it when a graph is made; other nodes have not got it."""
    file = tmp_path / "program.py"
    file.write_text(f"def f(node, total):\n    for c in node.children:\n        total = f(c, total)\n    {statement}\n    return total\n\n"
                    "def step(roots):\n    return sum(float(f(r, 0.0)) for r in roots)\n")
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    plain, fast = names["step"], janus.function(names["step"], verify="never", measure=False)

    def flags(node):
        return [node.vector.requires_grad] + [flag for c in node.children for flag in flags(c)]

    def seen(step, i):
        roots = [Knot(1, Knot(2), Knot(3, Knot(4), *(Knot(5) for _ in range(k % 3)))) for k in (i, i + 1)]
        for k, node in enumerate([r for r in roots] + [c for r in roots for c in r.children]):
            if before is not None and k % 2 == before:
                node.vector.requires_grad_()
        try:
            return step(roots), flags(roots[0]) + flags(roots[1])
        except RuntimeError as e:
            return str(e), flags(roots[0]) + flags(roots[1])

    for i in range(8):
        assert seen(fast, i) == seen(plain, i), i
