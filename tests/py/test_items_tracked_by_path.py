# SPDX-License-Identifier: Apache-2.0
"""Items of lists that a graph makes require grad where CPython's do, if that depends on the path, how many there may be."""
import random

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

ITEMS = {
    "no grad": "x = w * n.share\n    if n.share < 0.5:\n        return x\n    with janus.no_grad():\n        return x * 2",
    "detached": "x = (w * n.share).tanh()\n    return x.detach() if n.c else x",
    "data": "x = w * n.share\n    if n.c:\n        return visit(n.c[0])\n    return n.v * n.share if n.share < 0.5 else x.exp()",
    "loop": "x = n.v * n.share\n    for c in n.c:\n        x = x + visit(c) * w\n    return x",
    "recursion": "x = w * n.share\n    for c in n.c:\n        x = x + visit(c)\n    if n.share > 0.8:\n        return x\n    with janus.no_grad():\n"
                 "        return janus.stack([x, x]).sum(0)",
    "nothing kept": "x = w + n.share\n    return x.detach() if n.share < 0.5 else x",
}
LISTS = {
    "returned": "return [visit(r) for r in roots]",
    "summed": "hs = [visit(r) for r in roots]\n    return hs, sum(hs)",
    "last": "hs = [visit(r) for r in roots]\n    return hs, hs[-1] * w",
    "appended": "for r in roots:\n        log.append(visit(r))\n    return log, n_of(roots) * w",
    "in a dict": "hs = []\n    for r in roots:\n        hs.append(visit(r) * 2)\n    return {'hs': hs}",
    "of the nodes": "for r in roots:\n        r.h = visit(r)\n    return [r.h for r in roots]",
}
TEXT = """
def n_of(xs): return len(xs)
def visit(n):
    {item}
def f(roots, log):
    {items}
"""


class Node:
    def __init__(self, depth):
        self.share, self.v, self.h = random.random(), janus.randn(3), None
        self.c = [Node(depth - 1) for _ in range(random.randrange(3))] if depth else []


def tensors(result):
    if isinstance(result, janus.Tensor):
        return [result]
    return [t for x in (result.values() if isinstance(result, dict) else result) for t in tensors(x)]


def outcomes(item, items, decorate):
    random.seed(0)
    janus.manual_seed(0)
    w = janus.randn(3, requires_grad=True)
    f = decorate(names_of(TEXT.format(item=ITEMS[item], items=LISTS[items]), janus=janus, w=w, __name__="program")["f"])
    out = []
    for k in range(24):
        w.grad = None
        made = tensors(f([Node(2) for _ in range(random.randrange(2, 6) if k else 3)], []))
        out.append([(t.requires_grad, t.is_leaf, t.tolist()) for t in made])
        loss = sum((t * t).sum() for t in made)
        if loss.requires_grad:
            loss.backward()
        out.append(None if w.grad is None else w.grad.tolist())
    return out, f


def close(a, b):
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(close, a, b))
    return a == b or (isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-4 * (1 + abs(a)))


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("item", shares.share(ITEMS))
def test_items_of_lists(item, numerics):
    graphs = 0
    for items in LISTS:
        want, _ = outcomes(item, items, lambda f: f)
        got, f = outcomes(item, items, lambda f: janus.function(f, numerics=numerics, measure=False, verify="never"))
        assert close(want, got), items
        graphs += f.stats()["graph"]
    assert graphs
