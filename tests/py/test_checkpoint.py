# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: gradients compute activations again; nothing but the memory changes."""

import pytest

import janus
import janus.nn.functional as F

SIZE = 64


class Node:
    def __init__(self, number, left=None, right=None):
        self.number, self.left, self.right = number, left, right


def tree(leaves, number=0):
    if leaves == 1:
        return Node(number % 50)
    first = 1 + (leaves * 7 + number) % (leaves - 1)
    return Node(number, tree(first, 2 * number + 1), tree(leaves - first, 3 * number + 2))


def weights():
    janus.manual_seed(0)
    return [(janus.randn(*shape) * 0.1).requires_grad_()
            for shape in ((50, SIZE), (2 * SIZE, 5 * SIZE), (SIZE, 3 * SIZE))]


def make_loss(words, inner, leaf, dropout):
    def cell(node):
        if node.left is None:
            i, o, u = (words[node.number] @ leaf).chunk(3)
            c = janus.sigmoid(i) * janus.tanh(u)
            return janus.sigmoid(o) * janus.tanh(c), c
        left_h, left_c = cell(node.left)
        right_h, right_c = cell(node.right)
        i, o, fl, fr, u = (janus.cat([left_h, right_h]) @ inner).chunk(5)
        c = janus.sigmoid(i) * janus.tanh(u) + janus.sigmoid(fl) * left_c + janus.sigmoid(fr) * right_c
        return F.dropout(janus.sigmoid(o) * janus.tanh(c), dropout), c

    def loss(trees):
        total = janus.zeros(())
        for root in trees:
            h, _ = cell(root)
            total = total + (h * h).sum()
        return total
    return loss


def trained(checkpoint, numerics="fast", dropout=0.0, inside=False, calls=4):
    params = weights()
    loss = make_loss(*params, dropout)

    def step(trees):
        value = loss(trees)
        value.backward()
        return value.detach()

    f = janus.function(step if inside else loss, checkpoint=checkpoint, numerics=numerics, measure=False)
    trees = [tree(30, k) for k in range(25)]
    seen = []
    for _ in range(calls):
        for p in params:
            p.grad = None
        value = f(trees)
        if not inside:
            value.backward()
        seen.append((value.item(), [p.grad.tolist() for p in params]))
    assert f.stats()["graph"] >= 2, janus.explain(f)
    return seen, f.stats()["peak_bytes"], f, janus.rand(3).tolist()


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_equal_bit_for_bit_in_less_memory(numerics, dropout, inside):
    kept, much, _, drawn = trained(False, numerics, dropout, inside)
    again, less, f, redrawn = trained(True, numerics, dropout, inside)
    assert kept == again
    assert drawn == redrawn
    print(f"peak {much} bytes, with checkpoints {less}")
    assert less < (0.85 if inside else 0.5) * much
    assert " checkpoint {" in f.graphs()[0]


def test_gradients_twice():
    def grads(checkpoint):
        x = janus.tensor([0.3, -0.7, 0.2], requires_grad=True)

        def deep(h, n):
            return h if n == 0 else janus.tanh(deep(h, n - 1) * 1.3 + 0.1)

        f = janus.function(lambda x: (deep(x, 6) ** 2).sum(), checkpoint=checkpoint, measure=False)
        out = []
        for _ in range(3):
            g, = janus.autograd.grad(f(x), [x], create_graph=True)
            h, = janus.autograd.grad((g * g).sum(), [x])
            out.append((g.tolist(), h.tolist()))
        return out
    assert grads(True) == grads(False)


def test_loops_and_branches():
    def run(checkpoint):
        w = (janus.arange(16).reshape(4, 4).float() * 0.02).requires_grad_()

        def body(x, n):
            for _ in range(n):
                x = janus.tanh(x @ w) + x
                if x.sum() > 0:
                    x = x * 0.5
            return (x * x).sum()

        f = janus.function(body, checkpoint=checkpoint, measure=False)
        out = []
        for n in (3, 3, 5, 5, 2):
            w.grad = None
            y = f(janus.ones(2, 4) * 0.1 * n, n)
            y.backward()
            out.append((y.item(), w.grad.tolist()))
        return out
    kept, again = run(False), run(True)
    for (y, g), (z, h) in zip(kept, again):
        assert y == pytest.approx(z, rel=1e-6)
        for a, b in zip(g, h):
            assert a == pytest.approx(b, rel=1e-5, abs=1e-7)


def test_a_checkpoint_of_a_part():
    w = (janus.arange(64).reshape(8, 8).float() * 0.01).requires_grad_()

    def part(x):
        for _ in range(4):
            x = janus.tanh(x @ w)
        return x, {"sum": x.sum()}

    def whole(call, x):
        y, more = call(part, x * 2)
        return (y * y).sum() + more["sum"]

    def run(call, decorate):
        f = decorate(lambda x: whole(call, x))
        out = []
        for k in range(4):
            w.grad = None
            y = f(janus.ones(3, 8) * (k + 1) * 0.1)
            y.backward()
            out.append((y.item(), w.grad.tolist()))
        return out, f

    plain, _ = run(lambda f, x: f(x), lambda f: f)
    outside, _ = run(janus.checkpoint, lambda f: f)
    inside, f = run(janus.checkpoint, lambda f: janus.function(f, measure=False))
    assert f.stats()["graph"] >= 2, janus.explain(f)
    assert " checkpoint {" in f.graphs()[0]
    for other in (outside, inside):
        for (y, g), (z, h) in zip(plain, other):
            assert y == pytest.approx(z, rel=1e-6)
            for a, b in zip(g, h):
                assert a == pytest.approx(b, rel=1e-5, abs=1e-7)


def test_views_that_a_part_returns_stay_views():
    def prog(call):
        x = janus.zeros(2, 3)
        y = call(lambda t: t[0], x)
        y.add_(1)
        return x.tolist()

    f = janus.function(lambda: prog(janus.checkpoint), measure=False)
    for _ in range(3):
        assert f() == prog(lambda g, x: g(x))


def test_activations_are_little_more_than_what_is_saved():
    """What a forward pass over a batch uses, beside the tables that the gradient reads."""
    params = weights()
    loss = make_loss(*params, 0.0)
    f = janus.function(loss, measure=False)
    trees = [tree(40, k) for k in range(25)]
    for _ in range(3):
        f(trees).backward()
    assert f.stats()["graph"] == 2, janus.explain(f)
    leaf = 1 + 3 + 1 + 2      # the word's row, three gates, tanh(c), c and h
    inner = 2 + 5 + 1 + 2     # the children's states, five gates, tanh(c), c and h
    saved = 25 * (40 * leaf + 39 * inner) * SIZE * 4
    print(f"activations {f.stats()['peak_bytes'] / saved:.2f} x the saved tables")
    assert f.stats()["peak_bytes"] < 1.3 * saved
