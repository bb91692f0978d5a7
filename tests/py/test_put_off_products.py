# SPDX-License-Identifier: Apache-2.0
"""Gradients of weights are products that are put off: their factors are collected, each once, or it is noted where
they lie (exec/schedule/acc.h).  All ways in which products of one pass can share a factor, against plain calls."""
import pytest

import janus
from janus import nn


class Cell(nn.Module):
    """Weights that meet the same rows, and whose results get the same cotangent, in a few ways."""

    def __init__(self, size, out):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(size, out), nn.Linear(size, out, bias=False), nn.Linear(out, size)

    def same_cotangent(self, x, h):
        return self.c(janus.tanh(self.a(x) + self.b(h)))

    def same_rows(self, x, h):
        return self.c(janus.tanh(self.a(h)) * janus.sigmoid(self.b(h))) + x

    def same_weight(self, x, h):
        return self.c(janus.tanh(self.a(x) + self.a(h) + self.b(x)))

    def view(self, x, h):
        flat = h.reshape(1, -1).reshape(h.shape[0], h.shape[1])
        return self.c(janus.tanh(self.a(flat) + self.b(h.view(h.shape[0], h.shape[1]))))

    def result_itself(self, x, h):
        s = self.a(x) + self.b(h)
        return self.c(s) + 0.1 * self.c(janus.tanh(s))


WAYS = ["same_cotangent", "same_rows", "same_weight", "view", "result_itself"]


class Node:
    def __init__(self, x, left=None, right=None):
        self.x, self.left, self.right = x, left, right


def tree(leaves, rows, size):
    if leaves == 1:
        return Node(janus.randn(rows, size))
    return Node(janus.randn(rows, size), tree(leaves // 2, rows, size), tree(leaves - leaves // 2, rows, size))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("leaves, rows, size, out", [(3, 1, 5, 4), (9, 3, 40, 33), (150, 2, 40, 48), (90, 40, 32, 64)])
@pytest.mark.parametrize("way", WAYS)
def test_gradients_of_trees(way, leaves, rows, size, out, threads):
    janus.manual_seed(leaves + rows)
    cell = Cell(size, out)

    def visit(node):
        if node.left is None:
            return getattr(cell, way)(node.x, node.x)
        return getattr(cell, way)(node.x, visit(node.left) + visit(node.right))

    def step(roots):
        cell.zero_grad()
        loss = sum(visit(root).pow(2).mean() for root in roots)
        loss.backward()
        return loss

    fast = janus.function(step, verify="never")
    roots = [tree(leaves - k, rows, size) for k in range(2)]
    before = janus.get_num_threads()
    janus.set_num_threads(threads)
    try:
        for _ in range(3):
            plain, wanted = step(roots), [p.grad.clone() for p in cell.parameters()]
            assert fast(roots).item() == pytest.approx(plain.item(), rel=1e-5)
            for p, w in zip(cell.parameters(), wanted):
                assert (p.grad - w).abs().max() <= 2e-4 * w.abs().max()
        assert fast.stats()["graph"] >= 1
    finally:
        janus.set_num_threads(before)


@pytest.mark.parametrize("steps, rows, size", [(4, 2, 8), (300, 1, 64), (40, 150, 64)])
@pytest.mark.parametrize("way", WAYS)
def test_gradients_of_loops(way, steps, rows, size):
    janus.manual_seed(steps)
    cell = Cell(size, size)

    def step(xs):
        cell.zero_grad()
        h = xs[0]
        for x in xs:
            h = janus.tanh(getattr(cell, way)(x, h))
        h.pow(2).mean().backward()

    fast = janus.function(step, verify="never")
    xs = [janus.randn(rows, size) for _ in range(steps)]
    for _ in range(3):
        step(xs)
        wanted = [p.grad.clone() for p in cell.parameters()]
        fast(xs)
        for p, w in zip(cell.parameters(), wanted):
            assert (p.grad - w).abs().max() <= 2e-4 * w.abs().max()
    assert fast.stats()["graph"] >= 1
