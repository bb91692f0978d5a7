# SPDX-License-Identifier: Apache-2.0
"""A recursion that an arm is the first to call: sums, loops and searches over children, properties of nodes of two classes."""
import itertools
import random

import pytest

import janus
from test_number_kinds import same
from test_unseen_trees import OPTIONS
from texts import names_of

FOLDS = {
    "sum": "return sum({size}(k) for k in n.kids)",
    "sum of a list": "return sum([{size}(k) for k in n.kids]) + 1",
    "loop": "s = 0\n    for k in n.kids:\n        s = s + {size}(k)\n    return s",
    "floats": "s = 0.5\n    for k in n.kids:\n        s += {size}(k) * 0.5\n    return s",
    "most": "s = 0\n    for k in n.kids:\n        if {size}(k) > s:\n            s = {size}(k)\n    return s",
    "any": "return 2 if any({size}(k) > 4 for k in n.kids) else 1",
    "tensors": "s = janus.zeros(3)\n    for k in n.kids:\n        s = s + {size}(k)\n    return s * 0.5",
    "longest": "s = None\n    for k in n.kids:\n        r = {size}(k)\n        s = r if s is None or r > s else s\n    return 3 if s is None else s",
}
CALLS = {
    "an arm": "r = x\n    if n.v > 0:\n        r = x * {size}(n)\n",
    "both arms": "if n.v > 0:\n        r = x * {size}(n)\n    else:\n        r = x + {size}(n)\n",
    "the second": "if n.v > 0:\n        r = x\n    else:\n        r = x + {size}(n)\n    r = r - {size}(n)\n",
    "an expression": "r = x * {size}(n) if n.v > 0 else x\n",
    "and": "r = x * 2 if n.v > 0 and n.kids and n.v < 0.9 and {some}({size}(n)) else x\n",
    "a nested arm": "r = x\n    if n.v > -0.5:\n        if n.v > 0:\n            r = x * {size}(n)\n        else:\n            r = x * n.v\n",
    "rounds": "r = x\n    for k in n.kids:\n        if k.v > 0:\n            r = r + x * {size}(k)\n",
}
TEXT = """
def size(n):
    if not n.kids:
        return {leaf}
    {fold}
def some(s):
    return s.sum() > 1 if isinstance(s, janus.Tensor) else s > 1
def f(n, x):
    {call}
    for k in n.kids:
        r = r + f(k, x) * 0.5
    return r
"""
PROPERTY = """
class Leaf:
    kids = ()
    def __init__(self, s, v):
        self.s, self.v = s, v
    @property
    def size(self):
        return self.s
class Inner:
    def __init__(self, v, kids):
        self.v, self.kids = v, kids
    @property
    def size(n):
        {fold}
{rest}
"""


class Node:
    def __init__(self, s, v, kids=()):
        self.s, self.v, self.kids = s, v, kids


def tree(rng, depth, inner, leaf):
    if depth == 0 or rng.random() < 0.25:
        return leaf(rng.randint(1, 5), rng.uniform(-1, 1))
    return inner(rng.uniform(-1, 1), [tree(rng, depth - 1, inner, leaf) for _ in range(rng.randint(1, 3))])


def programs():
    for fold, call, classes in itertools.product(FOLDS, CALLS, [False, True]):
        leaf = "x3 * n.s" if fold == "tensors" else "n.s"
        if classes and (fold == "tensors" or call == "and"):
            continue
        text = TEXT.format(leaf=leaf, fold=FOLDS[fold].format(size="size"), call=CALLS[call].format(size="size", some="some"))
        if classes:
            of = "(lambda k: k.size)"
            rest = text[text.index("def f("):].replace("size(n)", "n.size").replace("size(k)", "k.size")
            text = PROPERTY.format(fold=FOLDS[fold].format(size=of).replace(of + "(k)", "k.size").replace("\n", "\n    "), rest=rest)
        yield f"{fold}, {call}, {classes}", text


def compare(text, options, least=0):
    names = names_of(text, janus=janus, x3=janus.ones(3))
    inner, leaf = names.get("Inner", lambda v, kids: Node(0, v, kids)), names.get("Leaf", Node)
    f = names["f"]
    g = janus.function(f, **options)
    for i in range(10):
        rng = random.Random(i)
        janus.manual_seed(i)
        t, x = tree(rng, 3, inner, leaf), janus.randn(3)
        want, got = f(t, x), g(t, x)
        assert same(want, got), (i, want, got, text)
    assert not g.stats()["disproved"] and g.stats()["graph"] >= least, (text, g.stats())


@pytest.mark.parametrize("part", range(4))
def test_as_undecorated(part):
    rng = random.Random(part)
    for name, text in rng.sample(list(programs()), 9):
        compare(text, OPTIONS["never verified"] if rng.random() < 0.8 else {"verify": "always"})


@pytest.mark.parametrize("fold", ["sum", "loop"])
@pytest.mark.parametrize("call", ["an arm", "an expression", "a nested arm"])
def test_they_are_graphs(fold, call):
    all_of = dict(programs())
    for classes in False, True:
        compare(all_of[f"{fold}, {call}, {classes}"], OPTIONS["never verified"], 6)
