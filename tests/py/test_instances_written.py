# SPDX-License-Identifier: Apache-2.0
"""Instances that the function makes and whose attributes a recursion writes: visitors, parsers, walkers with counters."""
import itertools
import random

import pytest

import janus
from compared import check_trained
from janus import nn
from texts import names_of

TEXT = """
{decorator}
class Walker:
    {head}
    def go(self, n):
        {before}
        if n is None:
            return {leaf}
        r = janus.tanh(layer(janus.cat([self.go(n.left), self.go(n.right)]))) * n.v
        {after}
        return r
def f(n, x):
    w = {make}
    a = w.go(n)
    {between}
    return {result}
"""
CLASSES = {
    "plain": ("pass", "def __init__(self, x, k):\n        self.x, self.k = x, k", "Walker(x, {})"),
    "slots": ("pass", "__slots__ = ('x', 'k')\n    def __init__(self, x, k):\n        self.x = x\n        self.k = k", "Walker(x, {})"),
    "dataclass": ("@dataclasses.dataclass", "x: object\n    k: object", "Walker(x, {})"),
    "property": ("pass", "def __init__(self, x, k):\n        self.x, self._k = x, k\n    @property\n    def k(self):\n        return self._k\n"
                 "    @k.setter\n    def k(self, v):\n        self._k = v", "Walker(x, k={})"),
    "derived": ("class Base:\n    def __init__(self, k):\n        self.k = k", "def __init__(self, x, k):\n        super().__init__(k)\n        self.x = x",
                "Walker(x, {})"),
}
CLASSES["derived"] = (CLASSES["derived"][0], CLASSES["derived"][1].replace("super()", "super(Walker, self)"), CLASSES["derived"][2])
# What the attribute is: first, before a call, after it, what a leaf gives of it, what is read in the end.
WRITES = {
    "counter": ("0", "self.k += 1", "pass", "self.x", "w.k"),
    "depth": ("0", "self.k += 1", "self.k -= 1", "self.x * self.k", "w.k"),
    "depth at leaves": ("1.0", "self.k = self.k * 0.5", "pass", "self.x * self.k", "w.k"),
    "sum": ("x.sum() * 0", "pass", "self.k = self.k + r.sum()", "self.x", "w.k"),
    "latest": ("None", "pass", "self.k = r", "self.x", "w.k if w.k is not None else x"),
    "list": ("[]", "pass", "self.k.append(r)", "self.x", "len(w.k)"),
    "another list": ("[]", "pass", "self.k = self.k + [r]", "self.x", "len(w.k)"),
    "dict": ("{}", "pass", "self.k['a'] = r", "self.x", "w.k.get('a', x)"),
    "flag": ("False", "pass", "self.k = True", "self.x", "w.k"),
    "text": ("'a'", "pass", "self.k = 'b'", "self.x", "w.k"),
}
BETWEEN = {"once": "pass", "twice": "a = a + w.go(n)", "set between": "w.k = {first}\n    a = a + w.go(n)"}
RESULTS = {"number": "a, {read}", "instance": "a, w", "sum": "a"}


class Node:
    def __init__(self, v, left=None, right=None):
        self.v, self.left, self.right = v, left, right


def texts():
    for (c, (deco, head, make)), (w, write), (b, between), (r, result) in itertools.product(
            CLASSES.items(), WRITES.items(), BETWEEN.items(), RESULTS.items()):
        first, before, after, leaf, read = write
        base, decorator = (deco, "pass") if deco.startswith("class") else ("pass", deco)
        text = TEXT.format(decorator=decorator, head=head, before=before, after=after, leaf=leaf, make=make.format(first),
                           between=between.format(first=first), result=result.format(read=read))
        if c == "derived":
            text = base + "\n" + text.replace("class Walker:", "class Walker(Base):")
        yield f"{c}, {w}, {b}, {r}", text.replace("\npass\nclass", "\nclass")


def tree(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return None
    return Node(rng.uniform(-1, 1), tree(rng, depth - 1), tree(rng, depth - 1))


def plain(v):
    """An instance as what can be compared."""
    if type(v).__name__ == "Walker":
        return [(k, plain(getattr(v, k))) for k in ("x", "k")] + list(getattr(v, "__dict__", {}))
    return [plain(x) for x in v] if isinstance(v, (list, tuple)) else v.detach() if isinstance(v, janus.Tensor) else v


def import_names():
    import dataclasses
    janus.manual_seed(1)
    return {"janus": janus, "dataclasses": dataclasses, "layer": nn.Linear(6, 3)}


ALL = list(texts())


@pytest.mark.parametrize("text", [pytest.param(t, id=i) for i, t in ALL if i.startswith("plain") or "once" in i or len(t) % 3 == 0])
def test_as_undecorated(text):
    names = names_of(text, **import_names())
    rng = random.Random(5)
    check_trained(names["f"], (tree(rng, 4) for _ in range(10)), names["layer"], plain)


@pytest.mark.parametrize("write", [w for w in WRITES if w not in ("latest", "another list", "text")])
def test_are_graphs(write):
    text = dict(ALL)[f"plain, {write}, once, sum"]
    names = names_of(text, **import_names())
    g, rng = janus.function(names["f"], verify="never", measure=False), random.Random(5)
    for _ in range(14):
        g(tree(rng, 5) or Node(0.5), janus.randn(3))
    assert g.stats()["op_share"] > 0.8
