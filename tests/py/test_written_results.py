# SPDX-License-Identifier: Apache-2.0
"""What arms, loops, calls and recursions leave is written in place, inside of the graph or by what runs next: backward() raises where
an op of that run has kept it, and only there, as undecorated."""
import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

MAKES = {
    "arm own": "a = x * p\n    a = a.tanh() if n > k else a + p",
    "arm by value": "a = x * p\n    a = a.tanh() if a.sum() > 0 else a + p",
    "arm nested": "a = x * p\n    if a.sum() > 0:\n        a = a + 1\n        if a[0] > 1:\n            a = a.exp()",
    "operand in arm": "b = x * p\n    a = b\n    y = 0\n    if x.sum() > 3:\n        a = b * p\n        y = (a * a).sum()\n    else:\n        a = b + p",
    "loop": "a = x * p\n    for v in l:\n        a = (a + v).sigmoid()",
    "while": "a = x * p\n    while a.sum() < 3:\n        a = (a + 1).exp()",
    "loop operand": "a = x * p\n    y = 0\n    for v in l:\n        a = a + v * p\n        y = y + (a * a).sum()",
    "recursion": "a = rec(x * p, n)",
    "recursion branch": "a = rec2(x * p, n)",
    "mutual": "a = one(x * p, n)",
    "pair": "a, y = both(x * p, n)",
    "recursion operand": "a, y = keeps(x * p, n)",
    "tree": "a = tree(t, x * p)",
    "call": "a = plain(x * p)",
    "row": "a = [v.tanh() * p if v.sum() > 0 else v * p for v in l + [x]][0]",
    "recursion add": "a = rec3(x * p, n)",
}
WRITES = [
    "a += 1", "a.mul_(2)", "a[0] = 0", "a.relu_()", "a[1:].add_(1)", "with janus.no_grad():\n        a.add_(1)",
    "a.detach().add_(1)", "if n > 1:\n        a += 1", "for v in l:\n        a += v", "b = a.view(-1)\n    b += 1",
]
TEXT = """
def rec(a, n): return a.tanh() if n <= 0 else rec(a * p, n - 1)
def rec2(a, n): return a * 2 if n <= 0 else rec2(a * p, n - 1).exp() if n == 1 else rec2(a + p, n - 1)
def rec3(a, n): return a if n <= 0 else rec3(a * p, n - 1) + a
def one(a, n): return a.exp() if n <= 0 else two(a * p, n - 1)
def two(a, n): return a + 1 if n <= 0 else one(a * p, n - 1)
def both(a, n): return (a.exp(), 0) if n <= 0 else both(a * p, n - 1)
def keeps(a, n):
    if n <= 0:
        b = a * p
        return b, (b * b).sum()
    return keeps(a * p, n - 1)
def tree(t, a):
    return a.tanh() if t is None else tree(t[0], a * p) + tree(t[1], a)
def plain(a): return a.tanh() if a.sum() > 2 else a * 1

def f(x, n, k, l, t):
    y = 0
    {make}
    {write}
    return a + y
"""


def outcomes(f, p):
    out = []
    for q in range(8):
        p.grad = None
        x = janus.tensor([0.5 * (q % 3) + 0.25, 2.0 - q % 2])
        t = [None, (None, None), ((None, None), None)][q % 3]
        try:
            y = f(x, q % 3, q % 2, [janus.ones(2)] * (q % 3), t)
            seen = [y.tolist()]
            y.sum().backward()
            seen.append(p.grad.tolist() if p.grad is not None else None)
        except RuntimeError as e:
            assert "modified by an inplace operation" in str(e)
            seen = "raises"
        out.append(seen)
    return out


def close(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    return a == b or (isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-4 * (1 + abs(a)))


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("make", shares.share(MAKES))
def test_kept_by_the_run_or_not(make, numerics):
    graphs = 0
    for write in WRITES:
        outcome = []
        for decorated in (False, True):
            p = janus.tensor([0.5, 2.0], requires_grad=True)
            f = names_of(TEXT.format(make=MAKES[make], write=write), janus=janus, p=p, __name__="program")["f"]
            f = janus.function(f, verify="never", measure=False, numerics=numerics) if decorated else f
            outcome.append(outcomes(f, p))
        assert close(*outcome), write
        graphs += f.stats()["graph"]
    assert graphs or make in ("recursion", "recursion branch", "pair", "recursion operand", "mutual")
