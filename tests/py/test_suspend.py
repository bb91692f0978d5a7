# SPDX-License-Identifier: Apache-2.0
"""Frames that wait for a tensor's value wait together."""

import pytest

import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)


def grow(h, levels):
    if levels == 0:
        return h.sum(), 1
    if h.sum() > 0.9:
        return h.sum(), 1
    a, n = grow(janus.sin(h * 2.0), levels - 1)
    b, m = grow(janus.cos(h * 3.0), levels - 1)
    return a + b, n + m + 1


def total(xs):
    s, nodes = 0.0, 0
    for x in xs:
        y, n = grow(x, 5)
        s, nodes = s + y, nodes + n
    return s, nodes


def inputs(n):
    return [janus.tensor([0.1 * i - 0.7, 0.3, -0.05 * i]) for i in range(n)]


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_trees_that_grow_batch_across_examples(numerics):
    f = janus.function(total, numerics=numerics, measure=False)
    xs = inputs(24)
    for _ in range(3):
        assert f(xs)[1] == total(xs)[1]
        assert float(f(xs)[0]) == pytest.approx(float(total(xs)[0]), rel=1e-5)
    stats = f.stats()
    assert stats["graph"] and not stats["fallbacks"]
    if numerics == "fast":
        groups = 6 * 5 + len(xs)  # a few for each level; the sum is a chain
        assert stats["batches"] <= groups * stats["graph"]
        assert stats["tasks"] > 5 * stats["batches"]


def test_gradients_of_trees_that_grow_batch_across_examples():
    """A state that is read in two products: its gradient, a sum of two, must not be waited for."""
    janus.manual_seed(3)
    below, output = janus.nn.Linear(4, 8), janus.nn.Linear(4, 2)
    parameters = [*below.parameters(), *output.parameters()]

    def tree(h, levels):
        loss = output(h).square().sum()
        if levels == 0 or h.sum() > 0.9:
            return loss
        left, right = below(h).tanh().chunk(2, 1)
        return loss + tree(left, levels - 1) + tree(right, levels - 1)

    def step(xs):
        for p in parameters:
            p.grad = None
        loss = 0.0
        for x in xs:
            loss = loss + tree(x, 4)
        loss.backward()
        return loss.detach()

    xs = [janus.tensor([[0.1 * i - 0.7, 0.3, -0.05 * i, 0.2]]) for i in range(24)]
    step(xs)
    expected = [p.grad for p in parameters]
    f = janus.function(step, measure=False)
    for _ in range(3):
        f(xs)
        for p, grad in zip(parameters, expected, strict=True):
            assert janus.allclose(p.grad, grad, rtol=1e-4, atol=1e-6)
    stats = f.stats()
    assert stats["graph"] and not stats["fallbacks"]
    groups = 12 * 5 + len(xs)
    assert stats["batches"] <= groups * stats["graph"]
    assert stats["tasks"] > 5 * stats["batches"]


def test_two_runs_are_bit_equal():
    f = janus.function(total, measure=False)
    xs = inputs(17)
    f(xs), f(xs)
    assert len({float(f(xs)[0]) for _ in range(5)}) == 1


def test_many_suspended_at_a_time():
    """More than the strand lets wait at once: callers wait with their calls then."""

    @janus.function(measure=False)
    def f(x, n):
        ups = 0
        total = janus.zeros(3)
        for i in range(n):
            y = x + 0.001 * i
            if y.sum() > 0.9:
                y = y * 2.0
                ups = ups + 1
            total = total + y
        return total, ups

    x = janus.tensor([0.1, 0.2, -0.3])
    for n in (5, 5000, 5000):
        y, ups = f(x, n)
        assert ups == sum(float((x + 0.001 * i).sum()) > 0.9 for i in range(n))
    assert f.stats()["graph"] >= 1


def test_deep_and_suspended_at_every_step():
    @janus.function(measure=False)
    def f(x, n):
        return down(x, n)

    def down(x, n):
        if n == 0:
            return x
        if x.sum() > 100.0:
            return x
        return down(x + 1e-3, n - 1) * 1.0

    x = janus.tensor([0.1, 0.2])
    f(x, 50), f(x, 40), f(x, 30)  # the last is also CPython's, which does not go as deep as a graph
    assert float(f(x, 20000).sum()) == pytest.approx(0.3 + 40.0, rel=1e-3)
    assert f.stats()["graph"] >= 1


@pytest.mark.parametrize("n", [5, 20])
def test_early_exits_and_decoders_batch(n):
    """Copies of a body, be they inlined or unrolled, are the same segments."""
    w = janus.tensor([[0.3, -1.1, 0.7], [0.9, 0.4, -0.6], [-0.8, 0.5, 1.2]])

    def settle(x):
        steps = 0
        while steps < 9:
            x = janus.tanh(x @ w)
            steps += 1
            if x.max() > 0.75:
                break
        return x, steps

    def plain(xs):
        total, steps = janus.zeros(3), 0
        for x in xs:
            y, k = settle(x)
            total, steps = total + y, steps + k
        return total, steps

    f = janus.function(plain, measure=False)
    xs = [janus.tensor([0.01 * i - 0.1, 0.02, 0.03]) for i in range(n)]
    for _ in range(3):
        (y, k), (want, steps) = f(xs), plain(xs)
        assert k == steps
        assert y.tolist() == pytest.approx(want.tolist(), rel=1e-4)
    stats = f.stats()
    assert stats["graph"]
    assert stats["batches"] < stats["graph"] * (9 * 2 + n + 4)
