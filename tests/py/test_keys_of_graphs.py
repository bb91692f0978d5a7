# SPDX-License-Identifier: Apache-2.0
"""Keys of dicts that a recursion writes: names that nodes hold, equal and not one object, and tuples."""
import itertools
import random

import pytest

import janus
from compared import check_trained
from janus import nn
from texts import names_of

TEXT = """
def go(n, d, i, x):
    if {key} in d:
        return d[{key}]
    if n is None:
        r = x * (i % 3)
    else:
        r = janus.tanh(layer(janus.cat([go(n.left, d, i + 1, x), go(n.right, d, i + 2, x)])))
    {put}
    return r
def f(n, x):
    d = {make}
    a = go(n, d, 0, x)
    {change}
    return {result}
"""
KEYS = {"name": "(n.name if n else 'none')", "number": "i", "pair": "(i % 2, i)", "name and number": "(n.name if n else 'none', i)",
        "nested": "((i, 1), 'a')", "node and number": "(n, i)", "node": "n"}
PUTS = {"set": "d[{key}] = r", "setdefault": "d.setdefault({key}, r)", "get": "d[{key}] = d.get({key}, r)"}
MAKES = {"new": "{}", "filled": "{'b': x + 1, (0, 7): x, 5: x * 3}", "given": "given"}
CHANGES = {"nothing": "pass", "again": "a = a + go(n, d, 0, x)", "taken out": "if 'b' in d:\n        del d['b']\n        a = a + go(n, d, 0, x)"}
RESULTS = {"sum": "a", "dict": "a, d", "length": "a, len(d)"}


class Node:
    def __init__(self, name, left=None, right=None):
        self.name, self.left, self.right = "".join(name), left, right


def texts():
    for (k, key), (p, put), (m, make), (c, change), (r, result) in itertools.product(
            KEYS.items(), PUTS.items(), MAKES.items(), CHANGES.items(), RESULTS.items()):
        yield f"{k}, {p}, {m}, {c}, {r}", TEXT.format(key=key, put=put.format(key=key), make=make, change=change, result=result)


def tree(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return None
    return Node(rng.choice(["a", "b", "ab", "none"]) + rng.choice(["", "b"]), tree(rng, depth - 1), tree(rng, depth - 1))


def plain(r):
    if not isinstance(r, tuple):
        return r.detach()
    d = r[1]
    keys = [[id(y) if isinstance(y, Node) else y for y in k] if isinstance(k, tuple) else id(k) if isinstance(k, Node) else k for k in d] \
        if isinstance(d, dict) else d
    return [r[0].detach(), keys, [v.detach() for v in d.values()] if isinstance(d, dict) else d]


def names(text):
    janus.manual_seed(1)
    return names_of(text, janus=janus, layer=nn.Linear(6, 3), given={})


ALL = dict(texts())
SOME = [i for n, i in enumerate(ALL) if n % 4 == 0 or "new, nothing" in i]


@pytest.mark.parametrize("which", SOME)
def test_as_undecorated(which):
    of = names(ALL[which])
    rng = random.Random(6)
    check_trained(of["f"], (tree(rng, 4) for _ in range(10)), of["layer"], plain, of["given"].clear)


@pytest.mark.parametrize("key", KEYS)
def test_are_graphs(key):
    of = names(ALL[f"{key}, set, new, nothing, sum"])
    g, rng = janus.function(of["f"], verify="never", measure=False), random.Random(6)
    for _ in range(14):
        g(tree(rng, 5) or Node("a"), janus.randn(3, requires_grad=True))
    assert g.stats()["op_share"] > 0.8
