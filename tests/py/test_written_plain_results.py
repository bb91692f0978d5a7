# SPDX-License-Identifier: Apache-2.0
"""Results without a history that an op has kept for its gradient (indices, masks, what was detached or made under no_grad), written by
the caller where ops have taken the place of the graph: those have kept the program's tensor."""
import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

# What c is, and what keeps it.
MADE = {
    "no_grad": "with janus.no_grad():\n        c = x * p\n    y = x * c * q",
    "detached": "c = (x * p).detach()\n    y = x * c * q",
    "of a detached one": "c = x.detach() * 2\n    y = (x * c * p).exp() * q",
    "indices of max": "a, c = (x * p).max(1)\n    y = a * q",
    "indices of topk": "a, c = (x * p).topk(1, dim=1)\n    y = a * q",
    "an index": "c = (x[:, 0] > 0).long()\n    y = (x * p * q)[c]",
    "a mask": "c = x > 1\n    y = janus.where(c, x * p, x * q * p)",
    "a mask of floats": "c = (x > 1).float()\n    y = (x * p * q) * c",
    "an arm": "c = x.detach() * 2\n    if c.sum() > k:\n        y = x * c * p\n    else:\n        y = x * p * q",
    "rounds": "c = x.detach() * 2\n    y = x * q\n    for i in range(k + 1):\n        y = y * c * p",
    "a recursion": "c = x.detach() * 2\n    y = rec(x, c, k) * q",
    "given": "c = x.detach() + 1\n    y = g(x * p, c) * q",
}
# What it returns, and the names that the caller binds.
RETURNS = {"c, y": "c, y", "y, c": "y, c", "[c, y]": "c, y", "c, y, c.sum(), y.exp()": "c, y, _, _"}
WRITES = {
    "zero_": "c.logical_not_() if c.dtype == janus.bool else c.zero_()",
    "data": "c.data.zero_()",
    "an item": "c[0] = c[-1]",
    "a view": "c.view(-1)[:1].copy_(c.view(-1)[-1:])",
    "nothing": "pass",
}
# {write} may stand in several places.
ASKS = {
    "written first": "{write}\n    g, = janus.autograd.grad((y * y).sum(), [p], create_graph=True)\n    seen(g)\n    g.sum().backward()",
    "then": "g, = janus.autograd.grad((y * y).sum(), [p], create_graph=True)\n    seen(g)\n    {write}\n    g.sum().backward()",
    "of x": "g, = janus.autograd.grad((y * y).sum(), [x], create_graph=True)\n    seen(g)\n    {write}\n    g.sum().backward()",
    "once more": "g, = janus.autograd.grad((y * y).sum(), [p], create_graph=True)\n    seen(g)\n    {write}\n    y.sum().backward()",
    "backward": "(y * y).sum().backward(create_graph=True)\n    {write}\n    y.sum().backward()",
    "result written": "y.mul_(2)\n    {write}\n    y.sum().backward()",
    "no graph of it": "{write}\n    y.sum().backward()",
}
# Where a frame has a copy of what is written so, graphs of fast numerics raise, once (docs/roadmap.md).
SAID = "a tensor was written through .data before backward(), and a graph"[:60]
TEXT = """
def rec(x, c, k):
    return x * c if k <= 0 else rec(x * p, c, k - 1)

def g(a, c):
    return a * c

def f(x, k):
    {made}
    return {returned}

def program(f, k, seen):
    for t in (p, q):
        t.grad = None
    x = janus.tensor([[1.0, 2.0], [0.5, 3.0 - k]], requires_grad=True)
    {bound} = f(x, k % 3)
    {ask}
    seen(p.grad, q.grad, x.grad)
"""


def outcomes(names, f):
    """Of six calls."""
    out = []
    for k in range(6):
        seen = []
        try:
            names["program"](f, k, lambda *ts: seen.extend(None if t is None else t.tolist() for t in ts))
        except RuntimeError as e:
            seen.append(str(e)[:60])
        out.append(seen)
    return out


def close(a, b, exact):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(close(x, y, exact) for x, y in zip(a, b))
    return a == b or (not exact and isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-4 * (1 + abs(a)))


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("made", MADE)
def test_what_was_kept_of_them(made, numerics):
    graphs = 0
    for returned, write, ask in shares.share((r, w, a) for r in RETURNS for w in WRITES for a in ASKS):
        outcome = []
        for decorated in (False, True):
            p, q = (janus.tensor(v, requires_grad=True) for v in ([0.5, 2.0], [1.5, -1.0]))
            text = TEXT.format(made=MADE[made], returned=returned, bound=RETURNS[returned], ask=ASKS[ask].format(write=WRITES[write]))
            names = names_of(text, janus=janus, p=p, q=q, __name__="program")
            f = names["f"]
            f = janus.function(f, verify="never", measure=False, numerics=numerics) if decorated else f
            outcome.append(outcomes(names, f))
        said = [k for k, seen in enumerate(outcome[1]) if seen[-1:] == [SAID]]
        outcome = [[seen for k, seen in enumerate(o) if k not in said] for o in outcome]
        assert close(*outcome, numerics == "exact"), (returned, write, ask)
        graphs += f.stats()["graph"]
    assert graphs
