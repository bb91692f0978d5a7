# SPDX-License-Identifier: Apache-2.0
"""Results of loops that are joined round by round: what was joined stays where it is while it grows. Nobody sees it: each
length is looked at again, two lists go on from one, gradients go back through all of it, in one graph for all lengths."""

import pytest

import janus
from janus import nn

LENGTHS = [3, 6, 4, 9, 5, 40, 7, 90, 12, 300]


def joined(xs, w):
    """cat() in each round, whose earlier results are read again at the end."""
    all = xs[0:1] @ w
    seen = all.sum() * 0
    for i in range(1, xs.size(0)):
        all = janus.cat([all, xs[i:i + 1] @ w])
        seen = seen + all[0].sum() * i
    return all * 2 + seen, all[1:].sum()


def stacked(xs, w):
    h = xs[0] * 0
    states = []
    for x in xs:
        h = janus.tanh(x @ w + h)
        states.append(h)
    return janus.stack(states), states[-1]


def two(xs, w):
    """Two go on from what was joined so far."""
    a = b = xs[0:1] @ w
    for i in range(1, xs.size(0)):
        c = janus.cat([a, xs[i:i + 1] @ w])
        d = janus.cat([a, xs[i:i + 1] * 3])
        a, b = c, d
    return a, b, a.sum() + b.mean()


def written(xs, w):
    """What was joined is written to, and the program's tensor is not what it was joined to."""
    all = (xs[0:1] @ w).detach()
    for i in range(1, xs.size(0)):
        more = janus.cat([all, xs[i:i + 1]])
        all = more.mul(1.5)
    more.add_(1)
    return all, more


def parts(xs, w):
    """Parts of what a graph made, taken off round by round."""
    rest = xs @ w
    total = rest.sum() * 0
    for i in range(xs.size(0) - 1):
        total = total + rest[0].sum() * (i + 1)
        rest = rest[1:]
    return rest * 1, total


def in_front(xs, w):
    all = xs[0:1] @ w
    for i in range(1, xs.size(0)):
        all = janus.cat([xs[i:i + 1], all])
    return all


@pytest.mark.parametrize("f", [joined, stacked, two, written, parts, in_front])
@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("threads", [1, 2])
def test_values_and_gradients(f, numerics, threads):
    g = janus.function(f, measure=False, numerics=numerics)
    was = janus.get_num_threads()
    janus.set_num_threads(threads)
    try:
        for n in LENGTHS:
            janus.manual_seed(n)
            got, want = [], []
            xs, weights = janus.randn(n, 16) * 0.3, janus.randn(16, 16) * 0.2
            for h, out in ((f, want), (g, got)):
                w = weights.clone().requires_grad_()
                results = h(xs, w)
                results = results if isinstance(results, tuple) else (results,)
                tracked = [r for r in results if r.requires_grad]
                if tracked:
                    sum((r * r).sum() for r in tracked).backward()
                out += [*results, w.grad]
            for a, b in zip(got, want):
                assert (a is None) == (b is None)
                assert a is None or janus.allclose(a, b, rtol=1e-3, atol=1e-4), (n, (a - b).abs().max())
    finally:
        janus.set_num_threads(was)


def test_recurrent_network():
    """In time that grows with the length: what is made is a multiple of the states, not of their square."""
    model = nn.LSTM(8, 8, batch_first=True)

    def run(x):
        return model(x)[0].sum()

    f = janus.function(run, measure=False)
    for n in (20, 30, 25, 400, 410):
        x = janus.randn(2, n, 8)
        assert janus.allclose(f(x), run(x), rtol=1e-4, atol=1e-4)
    assert f.stats()["conversions"] <= 3
