# SPDX-License-Identifier: Apache-2.0
"""sum(), max() and the like of lists of which only the graph knows how long they are, in one arm of a branch: what they begin with is the arm's."""
import itertools
import random

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TAKES = {
    "a sum": "sum([rec(x) for x in v], janus.zeros(3))",
    "of a generator": "sum((rec(x) for x in v), janus.zeros(3))",
    "of map": "sum(map(rec, v), janus.zeros(3))",
    "added": "e[1] + sum([rec(x) for x in v], janus.zeros(3))",
    "without a start": "sum([rec(x) for x in v]) + e[2]",
    "two": "sum([rec(x) for x in v], janus.zeros(3)) * sum([rec(x) for x in v], janus.ones(3))",
    "of numbers": "e[1] * sum([x for x in v if isinstance(x, float)], 0.5)",
    "a stack": "janus.stack([e[0] * 1.0, *[rec(x) for x in v]]).sum(0)",
    "the largest": "e[0] * max([len(str(x)) for x in v], default=1)",
    "a fold": "functools.reduce(lambda a, b: a * 0.5 + b, [rec(x) for x in v], janus.ones(3))",
    "a loop": "loop(v)",
}
ARMS = {
    "then": "    if isinstance(v, list):\n        return {take}\n    return e[3] * v",
    "else": "    if not isinstance(v, list):\n        return e[3] * v\n    else:\n        return {take}",
    "bound": "    if isinstance(v, list):\n        r = {take}\n    else:\n        r = e[3] * v\n    return r * 1.0",
    "an expression": "    return {take} if isinstance(v, list) else e[3] * v",
    "an arm of an arm": "    if isinstance(v, list):\n        if len(v) > 1:\n            return {take}\n        return e[0] * 2\n    return e[3] * v",
    "by a tensor": "    if isinstance(v, list):\n        h = e[0] * 1.0\n        if (e[0] * p).sum() > 0.4:\n            h = h + {take}\n        return h\n    return e[3] * v",
}
TEXT = """
import functools

def loop(v):
    h = janus.zeros(3)
    for x in v:
        h = h + rec(x)
    return h

def rec(v):
{body}

def f(v):
    return rec(v) * p
"""


def tree(r, depth, root=True):
    if depth and (root or r.random() < 0.6):
        return [tree(r, depth - 1, False) for _ in range(r.randint(0, 3))]
    return r.random()


def outcomes(text, numerics):
    janus.manual_seed(0)
    p = janus.tensor([0.5, 0.25, 1.0], requires_grad=True)
    names = names_of(text, janus=janus, e=janus.rand(4, 3), p=p, __name__="program")
    f = names["f"] if numerics is None else janus.function(names["f"], numerics=numerics, verify="never", measure=False)
    r, seen = random.Random(6), []
    for _ in range(10):
        p.grad = None
        try:
            y = f(tree(r, 3))
            y.sum().backward()
            seen.append((y.tolist(), p.grad.tolist()))
        except Exception as e:
            seen.append((type(e).__name__, str(e)))
    return seen, f


@pytest.mark.parametrize("take", TAKES)
def test_takers_in_arms(take):
    for arm, numerics in shares.share(itertools.product(ARMS, ("fast", "exact"))):
        text = TEXT.format(body=ARMS[arm].format(take=TAKES[take]))
        (want, _), (got, _) = outcomes(text, None), outcomes(text, numerics)
        for a, b in zip(want, got):
            same = a == b or all(abs(x - y) <= 1e-5 * (1 + abs(x)) for s, t in zip(a, b) for x, y in zip(s, t))
            assert same, (arm, numerics, a, b)


@pytest.mark.parametrize("take", ["a sum", "of a generator", "added"])
@pytest.mark.parametrize("arm", ["then", "else", "bound", "an expression"])
def test_they_are_graphs(take, arm):
    _, f = outcomes(TEXT.format(body=ARMS[arm].format(take=TAKES[take])), "fast")
    stats = f.stats()
    assert stats["graph"] >= 7 and stats["conversions"] <= 3, (stats, f)
