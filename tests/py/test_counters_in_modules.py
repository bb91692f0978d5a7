# SPDX-License-Identifier: Apache-2.0
"""Trees that modules hold, unrolled in a graph, whose nodes count or note something: one graph, however far the counters are; what else is in the nodes stays part of it."""
import itertools
import random

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

WRITES = {"count": "n.seen += 1", "float": "n.weight = n.weight * 0.5 + 1", "both": "n.seen += n.feature\n        n.weight += 0.5", "by depth": "n.seen = n.seen + d + 1", "tree's": "self.seen += 1",
          "read": "n.seen += 1\n        x = x + n.seen * 0.25", "decides": "n.seen += 1\n        if n.seen % 3 == 0:\n            x = x * 0.5", "text": "n.name = 'b' if n.name == 'a' else 'a'", "flag": "n.on = not n.on"}
CHANGES = {"nothing": "pass", "feature": "trees[i % 2].root.feature = i % 2", "reset": "trees[0].root.seen = 100 * i", "other": "trees = trees[::-1]", "weight": "trees[0].root.weight = 0.5 * i", "float for int": "trees[0].root.seen = float(i)"}
PROGRAM = """
class Node:
    def __init__(self, w, feature, left=None, right=None):
        self.w, self.feature, self.left, self.right = w, feature, left, right
        self.seen, self.weight, self.name, self.on = 0, 1.0, 'a', False
class Tree(janus.nn.Module):
    def __init__(self, depth, rng):
        super().__init__()
        self.weights, self.seen = janus.nn.ParameterList(), 0
        self.root = self.grow(depth, rng)
    def grow(self, depth, rng):
        self.weights.append(janus.nn.Parameter(janus.ones(2) * rng.random()))
        w = self.weights[-1]
        return Node(w, rng.randrange(2), *([self.grow(depth - 1, rng) for _ in range(2)] if depth else []))
    def route(self, n, x, out, d):
        {write}
        if n.left is None:
            out.append(x * n.w)
            return
        p = janus.sigmoid(x[:, n.feature:n.feature + 1] * n.w)
        self.route(n.left, x * p.sum(), out, d + 1)
        self.route(n.right, x * (1 - p).sum(), out, d + 1)
    def forward(self, x):
        out = []
        self.route(self.root, x, out, 0)
        return janus.stack(out, 1)
def f(trees, x):
    loss = sum(t(x).sum() for t in trees)
    loss.backward()
    return loss
"""


def outcomes(f, names, change):
    rng = random.Random(2)
    trees, seen = [names["Tree"](2, rng), names["Tree"](1, rng)], []
    for i in range(12):
        scope = {"trees": trees, "i": i}
        exec(CHANGES[change], scope)
        trees = scope["trees"]
        loss = f(trees, janus.ones(3, 2) * (0.1 * i))

        def notes(n):
            return None if n is None else (n.seen, n.weight, n.name, n.on, notes(n.left), notes(n.right))

        seen.append((round(loss.item(), 3), [(t.seen, notes(t.root)) for t in trees], [round(p.grad.sum().item(), 2) for t in trees for p in t.parameters()]))
    return seen


@pytest.mark.parametrize("write", WRITES)
def test_as_undecorated(write):
    for change, exact in shares.share(itertools.product(CHANGES, (False, True))):
        names = names_of(PROGRAM.format(write=WRITES[write]), janus=janus)
        decorated = janus.function(names["f"], verify="never", measure=False, numerics="exact" if exact else "fast")
        got, want = outcomes(decorated, names, change), outcomes(names["f"], names, change)
        for k, (a, b) in enumerate(zip(got, want)):
            assert a[1] == b[1], (change, k)
            assert janus.allclose(janus.tensor([a[0]] + a[2]), janus.tensor([b[0]] + b[2]), 1e-2, 2e-2), (change, k)
        if write in ("count", "float", "both", "by depth") and change == "nothing":
            assert decorated.stats()["graph"] >= 6, janus.explain(decorated)
