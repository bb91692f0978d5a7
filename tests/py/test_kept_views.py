# SPDX-License-Identifier: Apache-2.0
"""Rows of the caller's tables, which are views, at the leaves of trees: kept in memos, lists and attributes, and returned."""
import copy
import itertools
import random
import types

import pytest

import janus
from compared import close
from janus import nn
from texts import names_of

TEXT = """
def go(n, {more}x):
    {before}
    if not n.kids:
        h = {leaf}
    else:
        h = janus.tanh(layer(janus.cat([go(n.kids[0], {more}x), go(n.kids[-1], {more}x)])))
    {after}
    return h
def f(n, x):
    {make}
    h = go(n, {more}x)
    return {result}
"""
LEAVES = {"row": "table.weight[n.v]", "slice": "table.weight[n.v:n.v + 1].reshape(3)", "of an argument": "x[n.v]",
          "of data": "data[n.v]", "some": "table.weight[n.v] if n.v % 2 else table.weight[n.v] * 2"}
# Where it is kept: (what is made, handed on, done before and after).
KEPT = {
    "nowhere": ("pass", "", "pass", "pass"),
    "memo": ("m = {}", "m, ", "if n in m:\n        return m[n]", "m[n] = h"),
    "memo by id": ("m = {}", "m, ", "if id(n) in m:\n        return m[id(n)]", "m[id(n)] = h"),
    "list": ("m = []", "m, ", "pass", "m.append(h)"),
    "pairs": ("m = []", "m, ", "pass", "m.append((h, n.v))"),
    "node": ("pass", "", "pass", "n.state = h"),
    "given": ("m = kept", "m, ", "pass", "m.append(h)"),
}
RESULTS = {"itself": "h", "sum": "h.sum()", "kept": "(h * 2, m)"}


class Node:
    def __init__(self, v, *kids):
        self.v, self.kids = v, kids


def texts():
    for (leaf, value), (where, kept), (what, result) in itertools.product(LEAVES.items(), KEPT.items(), RESULTS.items()):
        if what == "kept" and where in ("nowhere", "node"):
            continue
        make, more, before, after = kept
        yield f"{leaf}, {where}, {what}", TEXT.format(leaf=value, make=make, more=more, before=before, after=after, result=result)


def tree(rng, known):
    nodes = [Node(rng.randrange(4)) for _ in range(3)]
    for _ in range(rng.randint(0, 4)):
        nodes.append(Node(rng.randrange(4), rng.choice(nodes), rng.choice(nodes)))
    return nodes[-1]


def seen(r, names, x):
    """What a call has given, with gradients, before and after what rows may be views of is written."""
    tensors = [t for t in (r[1] if isinstance(r, tuple) else [r])]
    if isinstance(r, tuple):
        tensors = list(r[1].values()) if isinstance(r[1], dict) else [t[0] if isinstance(t, tuple) else t for t in r[1]]
        tensors.append(r[0])
    found = [t.tolist() for t in tensors]
    if all(t.requires_grad for t in tensors):
        sum(t.sum() for t in tensors).backward()
    found += [None if p.grad is None else p.grad.tolist() for p in [names["table"].weight, *names["layer"].parameters(), x]]
    with janus.no_grad():
        for t in (names["table"].weight, names["data"], x):
            t.mul_(2)
    found += [t.tolist() for t in tensors]
    with janus.no_grad():
        for t in (names["table"].weight, names["data"], x):
            t.mul_(0.5)
    return found


@pytest.mark.parametrize("text", [pytest.param(t, id=i) for i, t in texts()])
def test_rows(text):
    janus.manual_seed(2)
    names = names_of(text, janus=janus, table=nn.Embedding(4, 3), layer=nn.Linear(6, 3), data=janus.randn(4, 3), kept=[])
    f = names["f"]
    g = janus.function(f, verify="never", measure=False)
    rng = random.Random(4)
    for i in range(12):
        n = tree(rng, {})
        both = []
        for h in (f, g):
            for p in [*names["table"].parameters(), *names["layer"].parameters()]:
                p.grad = None
            del names["kept"][:]
            janus.manual_seed(i)
            both.append(seen(h(n, x := janus.randn(4, 3, requires_grad=True)), names, x))
        assert close(both[0], both[1]), (i, both)


@pytest.mark.parametrize("leaf, where", itertools.product(["row", "some"], ["nowhere", "memo", "memo by id", "list", "pairs"]))
def test_are_graphs(leaf, where):
    make, more, before, after = KEPT[where]
    text = TEXT.format(leaf=LEAVES[leaf], make=make, more=more, before=before, after=after, result="h.sum()")
    g = janus.function(names_of(text, janus=janus, table=nn.Embedding(4, 3), layer=nn.Linear(6, 3))["f"], verify="never", measure=False)
    rng = random.Random(4)
    for _ in range(12):
        g(tree(rng, {}), None)
    assert g.stats()["op_share"] > 0.7


RETURNED = """
def rec(n, table):
    if not n.kids:
        return {leaf}
    parts = [rec(c, table) for c in n.kids]
    return {inner}

def f(n, table):
    return rec(n, table)
"""


@pytest.mark.parametrize("leaf", ["table[n.v]", "table[n.v:n.v + 1][0]", "table[n.v] if n.v > 1 else n.x * 2", "n.x.view(3)", "table[n.v] * 1"])
@pytest.mark.parametrize("inner", ["parts[0]", "parts[-1] if n.v > 1 else parts[0] * 2", "sum(parts)", "max(parts, key=lambda p: p.sum().item())"])
def test_a_result_that_may_be_a_row(leaf, inner):
    """Who writes to a result writes to the table, where it is a row."""
    plain = names_of(RETURNED.format(leaf=leaf, inner=inner), janus=janus)["f"]
    g = janus.function(plain, verify="never", measure=False)
    rng = random.Random(4)

    def made(depth):
        kids = [made(depth - 1) for _ in range(rng.randint(1, 2))] if depth and rng.random() < 0.8 else []
        return types.SimpleNamespace(v=rng.randrange(4), kids=kids, x=janus.randn(3))

    def leaves(n):
        return [n.x.tolist()] + [x for c in n.kids for x in leaves(c)]

    for i in range(8):
        n, table, both = made(3), janus.randn(4, 3), []
        for h in (plain, g):
            t, tree_now = table.clone(), copy.deepcopy(n)
            r = h(tree_now, t)
            r.add_(1)
            both.append((r.tolist(), t.tolist(), leaves(tree_now)))
        assert close(both[0], both[1]), (i, both)
