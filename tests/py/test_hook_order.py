# SPDX-License-Identifier: Apache-2.0
"""Hooks of leaves are called, and their .grad is there, as soon as the last op that used them has gone backward, as in PyTorch; of
graphs, too, which are one node each."""
import pytest

import janus
import shares
from janus import nn
from texts import names_of


def order_of(make):
    """Names in the order in which hooks of what make(name) was told of are called."""
    calls = []

    def name(**tensors):
        for key, t in tensors.items():
            t.register_hook(lambda g, key=key: calls.append(key))

    make(name).sum().backward()
    return " ".join(calls)


def leaf(*values):
    return janus.tensor(values, requires_grad=True)


def chain(name):
    p, x, w = leaf(0.5, 2.0), leaf(1.0, 3.0), leaf(1.0, 3.0)
    c = x * p
    d = c * w + p
    e = d * x
    name(p=p, x=x, w=w, c=c, d=d, e=e)
    return e.exp()


def sums(name):
    a, b = leaf(1.0), leaf(1.0)
    y = a * 2 + b * 3
    name(y=y, a=a, b=b)
    return y * a


def product(name):
    q = [leaf(1.0) for _ in range(4)]
    name(**{f"q{i}": t for i, t in enumerate(q)})
    return q[0] * q[1] * q[2] * q[3] + q[0]


def layers(name):
    one, two = nn.Linear(2, 2), nn.Linear(2, 2)
    name(w1=one.weight, b1=one.bias, w2=two.weight, b2=two.bias)
    return two(janus.relu(one(janus.ones(1, 2))))


# As PyTorch 2.15 calls them.
WANTED = {chain: "e d w c x p", sums: "y b a", product: "q3 q2 q0 q1", layers: "b2 w2 b1 w1"}


@pytest.mark.parametrize("make", WANTED, ids=lambda f: f.__name__)
def test_as_in_pytorch(make):
    assert order_of(make) == WANTED[make]


def test_gradients_are_there_when_complete():
    p, x = leaf(0.5, 2.0), leaf(1.0, 3.0)
    c = x * 2
    seen = []
    c.register_hook(lambda g: seen.append(p.grad is not None))
    p.register_hook(lambda g: seen.append("p"))
    (c * p).sum().backward()
    assert seen == ["p", True]


def test_a_hook_that_raises_stops_what_comes_later():
    p, x = leaf(0.5, 2.0), leaf(1.0, 3.0)

    def fails(g):
        raise KeyError("stop")

    p.register_hook(fails)
    with pytest.raises(KeyError, match="stop"):
        ((x * 2) * p).sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("ask", ["s.backward()", "s.grad.mul_(5)"])
def test_what_is_retained_is_nobody_elses(ask):
    """The gradient that goes on is a view of it where a sum hands it on."""
    y = leaf(1.0, 2.0)
    s = (y + 3).sum()
    s.retain_grad()
    g, = janus.autograd.grad(s, [y], retain_graph=True)
    exec(ask, {"s": s})
    assert g.tolist() == [1.0, 1.0] and s.grad.item() != 1.0


TEXT = """
def rec(a, n): return a * q if n <= 0 else rec(a * p, n - 1) + r
def f(x, n):
    {body}
"""
BODIES = {
    "ops": "return (x * p + q) * r",
    "used again": "return ((x * p).tanh() * q + r) * p * x",
    "reversed": "return r * (q * (p * x))",
    "linear": "return janus.nn.functional.linear(x, m, q) * r + p",
    "layers": "h = janus.relu(janus.nn.functional.linear(x, m, q))\\n    return janus.nn.functional.linear(h, k, r) * p",
    "branch": "a = x * p if n % 2 else x * r\\n    return a * q + r",
    "branch by value": "a = x * p * q if x.sum() > 2 else x * q * p\\n    return a * r",
    "loop": "for i in range(n):\\n        x = x * p + q\\n    return x * r",
    "callee": "return rec(x * r, n) * p",
    "recursion": "return rec(x, n)",
    "two results": "return (x * p).tanh() + (x * q) * r",
    "stacked": "return janus.stack([x * p, q * r, x]).sum(0)",
}


# Which arm was taken, or how deep a recursion went, is not asked (docs/never-wrong.md, "Listed differences").
BY_PATH = {"branch", "branch by value", "recursion"}


@pytest.mark.skipif(not hasattr(janus, "function"), reason="janus.function is not built")
@pytest.mark.parametrize("body", shares.share(BODIES))
def test_of_graphs(body):
    outcome = []
    for decorated in (False, True):
        leaves = {key: leaf(0.5, 2.0) for key in "pqr"}
        leaves |= {key: janus.tensor([[0.5, 1.0], [2.0, 0.25]], requires_grad=True) for key in "mk"}
        f = names_of(TEXT.format(body=BODIES[body].replace("\\n", "\n")), janus=janus, __name__="program", **leaves)["f"]
        f = janus.function(f, verify="never", measure=False) if decorated else f
        calls = []
        for key, t in leaves.items():
            t.register_hook(lambda g, key=key: calls.append(key))
        for k in range(8):
            x = leaf(1.0, 2.0 + k % 2)
            x.register_hook(lambda g: calls.append("x"))
            f(x * 1 if k > 5 else x, 1 + k % 3).sum().backward()
            calls.append("|")
        outcome.append(" ".join(calls))
    if body in BY_PATH:
        outcome = [[sorted(call.split()) for call in calls.split("|")] for calls in outcome]
    assert outcome[0] == outcome[1]
    assert f.stats()["graph"]
