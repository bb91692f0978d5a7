# SPDX-License-Identifier: Apache-2.0
"""Exact numerics: what uses of a tensor give it is added one by one, latest first, also where a branch, a loop or a call may have handed
the tensor on, so that some of them know it by another name."""
import random

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

HANDED_ON = {
    "branch": "t = l if x.sum() > 0 else r",
    "branch of a number": "t = l\n    if n > 0:\n        t = r",
    "branches": "t = l if x.sum() > 0 else (r if y.sum() > 0 else l)",
    "always refused": "t, u = (l, l) if x.sum() > 0 else (r, l)\n    l = u * 1 if n else l",
    "one after the other": "u = l if x.sum() > 0 else r\n    t = u if y.sum() > 0 else l",
    "loop": "t = l\n    for i in range(n):\n        t = r",
    "loop of items": "t = l\n    for v in vs:\n        t = r * v",
    "while": "t = l\n    while n > 0:\n        t = r\n        n = n - 1",
    "while of a tensor": "t = l\n    while t.sum() < 0:\n        t = t + 3",
    "exchanged": "t, u = l, r\n    for i in range(n):\n        t, u = u, t",
    "recursion": "t = pick(l, r, n)",
    "recursion of a tensor": "t = until(l, x.sum())",
    "inside of a branch": "t = l\n    if x.sum() > 0:\n        u = l if y.sum() > 0 else r\n        t = u * y + u",
    "weight": "t = (p if x.sum() > 0 else q) * x",
}
USES = {
    "once each": "return l * x + t * y",
    "of one op": "return w.mv(janus.cat([l, t])) + t",
    "in turn": "a = l * x\n    b = t * y\n    c = l * z\n    d = t * x\n    return a + b + c + d",
    "product": "return (l * t) * t * l",
    "first and last": "a = t * x\n    b = l * y\n    c = t * z\n    return a + b + c + l",
    "returned and used": "l = r * 1 if n else l\n    return t * x + t * y + l * z, l",
    "returned": "return t * x + t * y + l * z, l",
    "in a branch": "a = t * x\n    if z.sum() > 0:\n        a = a + l * t\n    return a + t * z",
    "in a loop": "a = t * x\n    for i in range(3):\n        a = a * t + l\n    return a + l",
}
TEXT = """
def pick(a, b, n):
    return a if n <= 0 else pick(b, b, n - 1)

def until(a, s):
    return a if s > 0 else until(a, s + 1)

def f(x, y, z, n, vs):
    l, r = x * p, y * q
    {handed_on}
    {uses}
"""


def outcomes(handed_on, uses, decorate):
    random.seed(0)
    janus.manual_seed(0)
    p, q, w = janus.randn(5, requires_grad=True), janus.randn(5, requires_grad=True), janus.randn(5, 10)
    f = decorate(names_of(TEXT.format(handed_on=handed_on, uses=uses), janus=janus, p=p, q=q, w=w, __name__="program")["f"])
    out = []
    for k in range(12):
        p.grad = q.grad = None
        x, y, z = [janus.randn(5, requires_grad=True) for _ in range(3)]
        result = f(x, y, z, k % 3, [1.5] * (k % 3))
        results = result if isinstance(result, tuple) else (result,)
        sum((t * janus.randn(5)).sum() for t in results).backward()
        out.append([None if t.grad is None else t.grad.tolist() for t in (p, q, x, y, z)])
    return out, f


@pytest.mark.parametrize("handed_on", shares.share(HANDED_ON))
def test_bits_of_gradients(handed_on):
    graphs = 0
    for uses in USES:
        want, _ = outcomes(HANDED_ON[handed_on], USES[uses], lambda f: f)
        got, f = outcomes(HANDED_ON[handed_on], USES[uses], lambda f: janus.function(f, numerics="exact", measure=False, verify="never"))
        assert want == got, uses
        stats = f.stats()
        graphs += stats["graph"] + stats["region_hits"]
    assert graphs or handed_on == "always refused"


class Node:
    def __init__(self, depth):
        self.v = janus.randn(4)
        self.c = [] if depth == 0 or random.random() < 0.3 else [Node(depth - 1), Node(depth - 1)]


TREES = {
    "product": "rec(n.c[0]) * n.v + rec(n.c[1]) * w",
    "halves": "rec(n.c[0]) * 0.5 + rec(n.c[1])",
    "both first": "(lambda a, b: b * n.v + a * n.c[0].v)(rec(n.c[0]), rec(n.c[1]))",
    "sum": "sum(rec(c) * n.v for c in n.c)",
    "stack": "janus.stack([rec(c) * 0.7 for c in n.c]).mean(0)",
    "weight behind": "(rec(n.c[0]) + rec(n.c[1])) * w",
    "gate": "janus.tanh(rec(n.c[0])) * rec(n.c[1])",
}


@pytest.mark.parametrize("tree", shares.share(TREES))
def test_leaves_that_are_a_weight(tree):
    outcome = []
    for decorated in (False, True):
        random.seed(1)
        janus.manual_seed(1)
        w = janus.randn(4, requires_grad=True)
        text = f"def rec(n):\n    if not n.c:\n        return w\n    return {TREES[tree]}\n\ndef f(n):\n    return rec(n).sum()\n"
        f = names_of(text, janus=janus, w=w, __name__="program")["f"]
        f = janus.function(f, numerics="exact", measure=False, verify="never") if decorated else f
        outcome.append([])
        for _ in range(24):
            w.grad = None
            f(Node(4)).backward()
            outcome[-1].append(w.grad.tolist())
    assert outcome[0] == outcome[1]
