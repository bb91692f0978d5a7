# SPDX-License-Identifier: Apache-2.0
"""Trees whose leaves are views of the caller's tensors: what a tree gives is computed, but for a tree that is one leaf, which gives the view."""
import itertools
import random

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

# What a leaf gives, where n.v is its number.
LEAVES = {
    "a row": "u[n.v]",
    "a row of a copy": "u.clone()[n.v]",
    "part of a row": "u[n.v, 1:4]",
    "rows": "u[n.v:n.v + 1]",
    "a row as it is kept": "n.row",
    "part of a row that is kept": "n.row.view(-1)",
    "a row of another": "(u if n.v > 1 else w)[n.v]",
    "detached": "u[n.v].detach()",
    "computed": "u[n.v] * 2",
}
# The tree's function; {leaf} stands where a leaf gives it.
BODIES = {
    "a function": "def rec(n):\n    if n.l is None:\n        return {leaf}\n    return (rec(n.l) + rec(n.r) * 0.5).tanh()",
    "an expression": "def rec(n):\n    return {leaf} if n.l is None else rec(n.l).sin() * rec(n.r)",
    "kept on nodes": "def rec(n):\n    n.h = {leaf} if n.l is None else rec(n.l) + rec(n.r)\n    return n.h",
    "handed through": "def rec(n):\n    return rec(n.l) if n.r is None and n.l else {leaf} if n.l is None else rec(n.l) + rec(n.r)",
    "with more": "def rec(n):\n    if n.l is None:\n        return {leaf}, n.v\n    (a, i), (b, j) = rec(n.l), rec(n.r)\n    return a + b * 0.5, i + j",
    "of children": "def rec(n):\n    if n.l is None:\n        return {leaf}\n    kids = [rec(k) for k in (n.l, n.r)]\n    return sum(kids)",
}
RETURNS = {"alone": "rec(n)", "in a tuple": "rec(n), n.v", "twice": "[rec(n), rec(n)]"}
TEXT = """
{body}

def f(n):
    return {returned}
"""


class Node:
    def __init__(self, v, row, l=None, r=None):
        self.v, self.row, self.l, self.r, self.h = v, row, l, r, None


def tree(r, u, depth, handed, root=True):
    """A leaf only where no depth is left, or below the root."""
    v = r.randrange(4)
    if depth == 0 or (not root and r.random() < 0.2):
        return Node(v, u[v])
    if handed and r.random() < 0.3:
        return Node(v, u[v], tree(r, u, depth - 1, handed, False))
    return Node(v, u[v], tree(r, u, depth - 1, handed, False), tree(r, u, depth - 1, handed, False))


def tensors(x):
    if isinstance(x, janus.Tensor):
        return [x]
    return [t for y in x for t in tensors(y)] if isinstance(x, (tuple, list)) else []


def outcome(names, f, n):
    """What a call gives, what of it is the caller's memory, and what writing to it and a gradient do."""
    u, w = names["u"], names["w"]
    out, seen = f(n), []
    for t in tensors(out):
        seen += [t.tolist(), t.requires_grad, t.is_leaf, t.stride(), t._shares_storage(u), t._shares_storage(w)]
    seen.append(str(out)[:4])
    try:
        if any(t.requires_grad for t in tensors(out)):
            sum(t.sum() for t in tensors(out)).backward()
        for t in tensors(out):
            with janus.no_grad():
                t.mul_(0.5)
    except RuntimeError as e:
        seen.append(str(e)[:60])
    seen += [None if t.grad is None else t.grad.tolist() for t in (u, w)]
    return seen + [u.tolist(), w.tolist()]


def run(body, leaf, returned, grad, numerics):
    text = TEXT.format(body=BODIES[body].format(leaf=LEAVES[leaf]), returned=RETURNS[returned])
    names = names_of(text, janus=janus, __name__="program")
    janus.manual_seed(0)
    first = [janus.rand(4, 5), janus.rand(4, 5)]
    seen = []
    for g in (None, numerics):
        names["u"], names["w"] = [t.clone().requires_grad_(grad) for t in first]
        f = names["f"] if g is None else janus.function(names["f"], numerics=g, verify="never", measure=False)
        r = random.Random(3)
        calls = []
        for k in range(12):
            n = tree(r, names["u"], 0 if k in (4, 9) else 3, body == "handed through")
            calls.append(outcome(names, f, n))
        seen.append(calls)
    return seen, f.stats()


def close(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-5 * (1 + abs(a))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    return a == b


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("leaf", LEAVES)
def test_what_a_tree_gives(body, leaf):
    for returned, grad, numerics in shares.share(itertools.product(RETURNS, (False, True), ("fast", "exact"))):
        (want, got), _ = run(body, leaf, returned, grad, numerics)
        for k, (a, b) in enumerate(zip(want, got)):
            assert close(a, b), (returned, grad, numerics, k)


@pytest.mark.parametrize("body", [b for b in BODIES if b != "kept on nodes"])
@pytest.mark.parametrize("grad", [False, True])
def test_trees_are_graphs(body, grad):
    """But for two calls with a leaf, which leave the graph as it is."""
    _, stats = run(body, "a row", "alone", grad, "fast")
    assert stats["graph"] == 9 and stats["conversions"] == 1, stats
