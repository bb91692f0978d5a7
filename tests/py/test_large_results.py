# SPDX-License-Identifier: Apache-2.0
"""Large results of graphs are computed where the caller gets them: each has memory of its own, whatever names, views and
copies of a value the program returns, stores or keeps for a gradient, and calls do not share any."""
import itertools

import janus
import pytest
from texts import names_of

EXPRESSIONS = ["y", "y.reshape(-1)", "y.t()", "y.clone()", "y + 0.0", "y[3:]", "y.exp()", "x", "x.view(-1)", "y.detach()"]


def made(text):
    return names_of(text, janus=janus, kept=[])["f"]


def changed(results):
    """Every result is written, and what that makes of all of them."""
    seen = []
    for k, result in enumerate(results):
        result.add_(k + 1.0)
        seen.append([r.clone() for r in results])
    return seen


@pytest.mark.parametrize("first", EXPRESSIONS)
def test_memory_of_their_own(first):
    for second, third in itertools.product(EXPRESSIONS[:7], EXPRESSIONS[::3]):
        text = f"def f(x):\n    y = x.softmax(-1)\n    return {first}, {second}, {third}\n"
        f = made(text)
        g = janus.function(f, measure=False, verify="never")
        before = []
        for _ in range(3):
            x = janus.randn(130, 160)
            y = x.clone()
            with janus.no_grad():
                a, b = f(x), g(y)
                for r, s in itertools.combinations(range(3), 2):
                    assert (a[r] is a[s]) == (b[r] is b[s]), text
                for p, q in zip(changed(a), changed(b)):
                    for u, v in zip(p, q):
                        assert janus.equal(u, v), text
            before.append((a, b, [u.clone() for u in a]))
        for a, b, then in before:
            for u, v, w in zip(a, b, then):
                assert janus.equal(u, w) and janus.equal(v, w), text


def test_stored_and_tracked():
    class Cell:
        state = None

    def f(cell, x, w):
        y = (x @ w).tanh()
        cell.state = y.detach()
        return y, y * 2
    g = janus.function(f, measure=False, verify="never")
    a, b = Cell(), Cell()
    for track in (False, True, True, False, False):
        x, w = janus.randn(150, 150), janus.randn(150, 150)
        u, v = w.clone().requires_grad_(track), w.clone().requires_grad_(track)
        p, q = f(a, x, u), g(b, x, v)
        for s, t in zip((*p, a.state), (*q, b.state)):
            assert janus.allclose(s, t, rtol=1e-5, atol=1e-5)
        if track:
            for r in (p, q):
                (r[0].sum() + r[1].square().sum()).backward()
            assert janus.allclose(u.grad, v.grad, rtol=1e-4, atol=1e-3)
        else:
            for r in (p, q):
                r[0].mul_(3)
        assert janus.allclose(a.state, b.state, rtol=1e-5, atol=1e-5)
        assert janus.allclose(p[1], q[1], rtol=1e-5, atol=1e-5)
