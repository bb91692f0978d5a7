# SPDX-License-Identifier: Apache-2.0
"""Statements that ask what an expression in them gives: which text, of which length, a list or a tuple, of which kind of number."""
import itertools
import random

import pytest

import janus
from test_number_kinds import same
from test_unseen_trees import OPTIONS
from texts import names_of

ASKED = {  # expressions, and what is done with what they give
    "a list": ("T.get(n.k, [])", ["len({e})", "sum({e})", "janus.stack([x * u for u in {e}] + [x]).sum(0)", "[x, *{e}][-1] * x", "(lambda *a: len(a))(*{e})"]),
    "of a list": ("T.get(n.k, [])", ["janus.stack([x * u for u in {e}]).sum(0) if n.k in T and T[n.k] else x", "janus.cat([x * u for u in {e}] + [x]).sum()"]),
    "a list or tuple": ("T.get(n.k, ())", ["len({e})", "[x * u for u in {e}][-1]", "isinstance({e}, tuple)", "({e} or [7])[0]"]),
    "a text": ("('a' if n.v > 0 else 'b')", ["D[{e}]", "{{'a': x, 'b': x * 2}}[{e}]", "getattr(O, {e})", 'f"{{{e}}}" in D', "len({e} + 'x') * x", "{e}.upper() in D"]),
    "a text of a node": ("n.name", ["D[{e}]", "getattr(O, {e})", "len({e} + 'x') * x"]),
    "a number": ("(2 if n.v > 0 else 2.5)", ["x * len(str({e}))", 'x * len(f"{{{e}}}")', "x.clamp(max={e})", "int({e}) * x"]),
    "None": ("(None if n.v > 0 else n.k)", ["x * len(str({e}))", "(x if {e} is None else x * 2)", "isinstance({e}, int)"]),
}
BEFORE = ["", "(q.append(1) or len(q)) * 0 + ", "(c := c + 1) * 0 + ", "count(n) * 0 + ", "q.pop() + ", "n.v * 0 + ", "c * "]
SHAPES = {
    "assigned": "    r = {before}({use})\n",
    "twice": "    r = {before}({use})\n    r = r + ({use})\n",
    "both": "    r = {before}({use}) + ({use})\n",
    "a loop": "    r = x\n    for i in range(2):\n        r = r + {before}({use})\n",
    "an arm": "    r = x\n    if n.v > -0.5:\n        r = r * 0.5 + {before}({use})\n",
    "a condition": "    r = x * 2 if n.v > 0.6 else {before}({use})\n",
    "changed": "    r = {before}({use})\n    n.k = n.k + 1\n    r = r + ({use})\n",
}
TEXT = """
def count(n):
    n.seen = n.seen + 1
    return n.seen
def walk(n, x, q, c):
    if n is None:
        return x
{body}
    return r * 0.5 + walk(n.left, x, q, c + 1) + walk(n.right, x, q, c)
def f(n, x):
    q = [3]
    return walk(n, x, q, 0), len(q)
"""


class Node:
    def __init__(self, rng, left, right):
        self.v, self.k, self.name = rng.uniform(-1, 1), rng.randrange(5), rng.choice("ab")
        self.left, self.right, self.seen = left, right, 0


class O:  # noqa: E742
    a, b = 2, 3


def tree(rng, depth):
    return None if depth == 0 or rng.random() < 0.25 else Node(rng, tree(rng, depth - 1), tree(rng, depth - 1))


def state(n):
    return n and (n.seen, n.k, state(n.left), state(n.right))


def called(f, seed):
    rng = random.Random(seed)
    janus.manual_seed(seed)
    n, x = Node(rng, tree(rng, 3), tree(rng, 3)), janus.randn(3)
    try:
        return f(n, x), state(n)
    except Exception as e:
        return type(e).__name__, state(n)


def compare(text, options, least=0):
    names = dict(janus=janus, T={0: [1, 2], 1: [3], 2: (4, 5), 3: []}, D={"a": 2, "b": 3}, O=O)
    f = names_of(text, **names)["f"]
    g = janus.function(f, **options)
    for i in range(10):
        want, got = called(f, i), called(g, i)
        assert same(want, got), (i, want, got, text)
    assert not g.stats()["disproved"] and g.stats()["graph"] >= least, (text, g.stats())


def programs():
    for (asked, (e, uses)), before, shape in itertools.product(ASKED.items(), BEFORE, SHAPES.values()):
        for use in uses:
            yield asked, TEXT.format(body=shape.format(before=before, use=use.format(e=e)))


@pytest.mark.parametrize("asked", ASKED)
def test_as_undecorated(asked):
    rng = random.Random(asked)
    all_of = [text for of, text in programs() if of == asked]
    for text in rng.sample(all_of, 7):
        compare(text, OPTIONS["never verified"] if rng.random() < 0.8 else {"verify": "always"})


@pytest.mark.parametrize("asked, use", [("a text", 0), ("a text", 2), ("a text", 4), ("a number", 0), ("a list", 2), ("None", 1)])
def test_they_are_graphs(asked, use):
    e, uses = ASKED[asked]
    compare(TEXT.format(body=SHAPES["assigned"].format(before="", use=uses[use].format(e=e))), OPTIONS["never verified"], 6)
