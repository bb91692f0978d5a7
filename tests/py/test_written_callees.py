# SPDX-License-Identifier: Apache-2.0
"""Results of graphs that their caller writes in place: where the ops of the run are asked what they have kept, gradients end at what
the function was given, whatever leads from one argument to another, and hooks are called once."""
import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TEXT = """
def rec(a, n): return a if n <= 0 else rec(a * p, n - 1) + a
def rec_mul(a, n): return a * p if n <= 0 else rec_mul(a * p, n - 1) * 2
def rec_tanh(a, n): return a.tanh() if n <= 0 else rec_tanh(a * p, n - 1)
def rec_two(a, n): return (a, a * p) if n <= 0 else rec_two(a * p, n - 1)
def arm(a, n): return a.tanh() * p if a.sum() > 2 else (a * p + a if n > 1 else a * 2)
def loop(a, n):
    for i in range(n):
        a = (a * p + a) if a.sum() > 1 else a.sigmoid() * p
    return a * 1
def tree(a, n):
    return a * 1 if n <= 0 else tree(a * p, n - 1) + tree(a, n - 2)

def program(fn, k, seen):
    x = janus.tensor([0.5 + 0.25 * (k % 3), 2.0 - k % 2], requires_grad=True)
    c = {given}
    a = fn(c, k % 3)
    if isinstance(a, tuple):
        a, b = a
    {write}
    {ask}
"""
GIVEN = ["x", "x * p", "(x * p).exp()", "p * 1", "p", "x * 1", "(x + p)[:]"]
WRITES = ["a += 1", "a.mul_(2)", "a += c", "a += a", "a[0] = 0", "a = a.relu_()", "a.mul_(p)", "pass"]
ASKS = {
    "backward": "a.sum().backward()\n    seen(p.grad, x.grad)",
    "hooks": "calls = {}\n    for t in (c, p, x, a):\n        t.register_hook(lambda g, t=t: calls.setdefault(id(t), []).append(g))\n"
             "    a.sum().backward()\n    seen(p.grad, x.grad, *[g for t in (a, c, p, x) for g in calls.get(id(t), [])])",
    "of p": "seen(*janus.autograd.grad(a.sum(), [p], allow_unused=True))",
    "of c": "seen(*janus.autograd.grad(a.sum(), [c], allow_unused=True))",
    "of all": "seen(*janus.autograd.grad((a * p).sum(), [x, c, p], allow_unused=True))",
    "twice": "(a * p).sum().backward()\n    seen(p.grad)\n    a.sum().backward()\n    seen(p.grad, x.grad)",
    "retained": "a.sum().backward(retain_graph=True)\n    seen(p.grad)\n    a.sum().backward()\n    seen(p.grad, x.grad)",
    "retain_grad": "c.retain_grad() if c is not x and c is not p else None\n    a.sum().backward()\n    seen(c.grad, p.grad)",
    "again": "g, = janus.autograd.grad(a.sum(), [p], create_graph=True)\n    seen(g)\n    (g * g).sum().backward()\n    seen(p.grad, x.grad)",
}
FUNCTIONS = ("rec", "rec_mul", "rec_tanh", "rec_two", "arm", "loop", "tree")


def outcomes(names, fn, p):
    out = []
    for k in range(8):
        p.grad = None
        seen = []

        def note(*ts):
            seen.extend(None if t is None else t.tolist() for t in ts)

        try:
            names["program"](fn, k, note)
        except RuntimeError as e:
            seen.append(str(e)[:60])
        out.append(seen)
    return out


def close(a, b, exact):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(close(x, y, exact) for x, y in zip(a, b))
    return a == b or (not exact and isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-4 * (1 + abs(a)))


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_of_what_was_given(function, numerics):
    graphs = 0
    third = [(g, w, a) for g in GIVEN for w in WRITES for a in ASKS][FUNCTIONS.index(function) % 3::3]
    for given, write, ask in shares.share(third):
        outcome = []
        for decorated in (False, True):
            p = janus.tensor([0.5, 2.0], requires_grad=True)
            names = names_of(TEXT.format(given=given, write=write, ask=ASKS[ask]), janus=janus, p=p, __name__="program")
            fn = names[function]
            fn = janus.function(fn, verify="never", measure=False, numerics=numerics) if decorated else fn
            outcome.append(outcomes(names, fn, p))
        assert close(*outcome, numerics == "exact"), (given, write, ask)
        graphs += fn.stats()["graph"]
    assert graphs
