# SPDX-License-Identifier: Apache-2.0
"""Recursion far deeper than CPython's own, and second derivatives through recursion."""

import math
import sys
import time

import pytest

import janus


class Cell:
    __slots__ = ("value", "next")

    def __init__(self, value, rest):
        self.value, self.next = value, rest


def chain(n):
    cell = None
    for i in range(n):
        cell = Cell(0.001 * (i % 7), cell)
    return cell


def values(cell):
    while cell is not None:
        yield cell.value
        cell = cell.next


def test_a_million_calls_deep():
    def length(cell):
        return 0 if cell is None else length(cell.next) + 1

    f = janus.function(length, measure=False)
    for n in (3, 5, 4, 6):
        assert f(chain(n)) == n
    assert f.stats()["graph"], janus.explain(f)
    n = 1_000_000
    assert sys.getrecursionlimit() < n
    long = chain(n)
    start = time.perf_counter()
    assert f(long) == n
    print(f"{(time.perf_counter() - start) / n * 1e9:.0f} ns a call")
    assert f.stats()["fallbacks"] == 0


@pytest.mark.parametrize("checkpoint", [False, True])
def test_forward_and_backward_a_hundred_thousand_deep(checkpoint):
    w = janus.tensor(0.9, dtype=janus.float64, requires_grad=True)

    def run(cell, h):
        return h if cell is None else janus.tanh(run(cell.next, h) * w + cell.value)

    f = janus.function(run, measure=False, checkpoint=checkpoint)
    zero = janus.tensor(0.5, dtype=janus.float64)
    for n in (3, 5, 4):
        f(chain(n), zero).backward()
    assert f.stats()["graph"], janus.explain(f)
    w.grad = None
    n = 100_000
    long = chain(n)
    start = time.perf_counter()
    y = f(long, zero)
    y.backward()
    print(f"{(time.perf_counter() - start) / n * 1e6:.2f} us a call, peak {f.stats()['peak_bytes'] / n:.0f} bytes a call")
    h, dh = 0.5, 0.0
    for v in reversed(list(values(long))):
        h, dh = math.tanh(h * 0.9 + v), (1 - math.tanh(h * 0.9 + v) ** 2) * (h + 0.9 * dh)
    assert y.item() == pytest.approx(h, rel=1e-12)
    assert w.grad.item() == pytest.approx(dh, rel=1e-9)
    assert f.stats()["fallbacks"] == 0


@pytest.mark.parametrize("checkpoint", [False, True])
def test_second_derivatives_agree_with_differences(checkpoint):
    """Of a recursion over a tree, by every weight."""
    class Node:
        def __init__(self, value, *children):
            self.value, self.children = value, children

    root = Node(0.3, Node(-0.2, Node(0.7), Node(0.1)), Node(0.5, Node(-0.4, Node(0.2))))
    w = janus.tensor([[0.4, -0.3], [0.2, 0.6]], dtype=janus.float64, requires_grad=True)

    def state(node):
        h = janus.full((2,), node.value, dtype=janus.float64)
        for child in node.children:
            h = h + janus.tanh(w @ state(child))
        return h

    f = janus.function(lambda root: (state(root) ** 2).sum(), measure=False, checkpoint=checkpoint)

    def gradient(create=False):
        g, = janus.autograd.grad(f(root), [w], create_graph=create)
        return g

    for _ in range(3):
        first = gradient()
    assert f.stats()["graph"], janus.explain(f)
    direction = janus.tensor([[0.5, 1.0], [-0.7, 0.3]], dtype=janus.float64)
    second, = janus.autograd.grad((gradient(True) * direction).sum(), [w])
    step = 1e-5
    with janus.no_grad():
        w.add_(direction * step)
    up = gradient()
    with janus.no_grad():
        w.sub_(direction * (2 * step))
    down = gradient()
    difference = ((up - down) / (2 * step)).reshape(-1).tolist()
    assert second.reshape(-1).tolist() == pytest.approx(difference, rel=1e-6)
    assert any(abs(x) > 1e-3 for x in difference) and first.shape == w.shape
