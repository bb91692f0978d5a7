# SPDX-License-Identifier: Apache-2.0
"""Reads whose result nobody uses: they raise where CPython does, and handlers run (`try: n.extra` asks whether it is there)."""
import itertools
import random

import pytest

import janus
from test_number_kinds import same
from test_unseen_trees import OPTIONS
from texts import names_of

READS = {"n.extra": "AttributeError", "D[n.name]": "KeyError", "n.items[1]": "IndexError", "n.sub.extra": "AttributeError", "D[n.name][1]": "(KeyError, TypeError)"}
USES = {"alone": "{read}", "a dead variable": "y = {read}", "a dead sum": "y = {read} * 2", "a call": "use({read})", "a pair": "y, z = {read}, 1"}
PLACES = {
    "raises": "    {use}\n",
    "a handler": "    try:\n        {use}\n        h = 1\n    except {error}:\n        h = 0\n",
    "else": "    try:\n        {use}\n    except {error}:\n        h = 0\n    else:\n        h = 3\n",
    "an arm": "    if n.v > 0:\n        {use}\n        h = 1\n",
    "a loop": "    for n2 in n.kids:\n        {loop}\n",
    "a loop that is used": "    for n2 in n.kids:\n        {loop}\n        h = h + n2.v\n",
}
TEXT = """
def use(y):
    return 1
def go(n, x):
    if n is None:
        return x
    h = 2
{body}
    for k in n.kids:
        x = x + go(k, x) * 0.5
    return x * h
def f(n, x):
    return go(n, x)
"""


class Node:
    def __init__(self, rng, depth, whole):
        self.v, self.name = rng.uniform(-1, 1), rng.choice("ab" if whole else "abz")
        self.items, self.sub = [1] * (2 if whole or rng.random() < 0.8 else 1), self
        if whole or rng.random() < 0.8:
            self.extra = rng.uniform(-1, 1)
        self.kids = [Node(rng, depth - 1, whole) for _ in range(rng.randint(0, 2) if depth else 0)]


def called(f, i):
    rng = random.Random(i)
    janus.manual_seed(i)
    try:
        return f(Node(rng, 3, i < 5 or i % 3 == 0), janus.randn(3))
    except Exception as e:
        return f"{type(e).__name__}: {e}"


def compare(text, options, least=0):
    f = names_of(text, janus=janus, D={"a": [1, 2], "b": [3, 4]})["f"]
    g = janus.function(f, **options)
    for i in range(14):
        want, got = called(f, i), called(g, i)
        assert same(want, got), (i, want, got, text)
    assert not g.stats()["disproved"] and g.stats()["graph"] >= least, text


def programs():
    for (read, error), use, place in itertools.product(READS.items(), USES.values(), PLACES.values()):
        loop = use.format(read=read.replace("n.", "n2."))
        yield TEXT.format(body=place.format(use=use.format(read=read), error=error, loop=loop))


@pytest.mark.parametrize("part", range(4))
def test_as_undecorated(part):
    for text in list(programs())[part::4]:
        compare(text, OPTIONS["never verified"])


@pytest.mark.parametrize("read", ["n.extra", "D[n.name]"])
def test_they_are_graphs(read):
    compare(TEXT.format(body=PLACES["raises"].format(use=read)), OPTIONS["never verified"], 3)
