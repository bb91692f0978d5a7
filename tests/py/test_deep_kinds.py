# SPDX-License-Identifier: Apache-2.0
"""Nodes of a kind that lies deeper than a conversion looks: a run that comes to one is discarded, and the next graph knows it."""
import pytest
from texts import names_of

import janus


class Node:
    def __init__(self, kids, value=None):
        self.kids, self.value = kids, value


class Leaf:
    kids = ()

    def __init__(self, value):
        self.value = value


class Slots:
    __slots__ = "kids", "value"

    def __init__(self, kids, value=None):
        self.kids, self.value = kids, value


W = janus.ones(4) * 0.5


def of_nodes(node):
    h = W
    for kid in node.kids:
        h = (h + of_nodes(kid) * W).tanh()
    return h


def of_values(node):
    h = W if node.value is None else node.value
    for kid in node.kids:
        h = (h + of_values(kid) * W).tanh()
    return h


def of_numbers(node):
    h = W * (2.0 if node.value is None else node.value)
    for kid in node.kids:
        h = (h + of_numbers(kid) * W).tanh()
    return h


def of_dicts(node):
    h = W
    for kid in node["kids"]:
        h = (h + of_dicts(kid) * W).tanh()
    return h


def of_tuples(node):
    if not isinstance(node, tuple):
        return W * node
    return (of_tuples(node[0]) + of_tuples(node[1])).tanh()


# what folds, an inner node of given children, and a leaf
KINDS = {"tuple at leaves": (of_nodes, lambda kids: Node(kids), lambda: Node(())),
         "class of leaves": (of_nodes, lambda kids: Node(kids), lambda: Leaf(None)),
         "slots": (of_nodes, lambda kids: Slots(kids), lambda: Slots(())),
         "tensor at leaves": (of_values, lambda kids: Node(kids), lambda: Node([], janus.full((4,), 0.25))),
         "number at leaves": (of_numbers, lambda kids: Node(kids), lambda: Node((), 0.5)),
         "dicts": (of_dicts, lambda kids: {"kids": kids}, lambda: {"kids": ()}),
         "tuples": (of_tuples, lambda kids: (kids[0], kids[-1]), lambda: 0.25)}


def tree(inner, leaf, depth, n):
    return inner([tree(inner, leaf, depth - 1, n) for _ in range(n)]) if depth else leaf()


@pytest.mark.parametrize("depth, n", [(2, 2), (40, 1), (7, 2), (5, 3), (2, 20)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_leaf_that_lies_deep(kind, depth, n):
    if kind == "tuples" and n == 1:
        pytest.skip("both items are one node: 2 ** 40 calls")
    fold, *nodes = KINDS[kind]
    f = janus.function(fold, measure=False, verify="never", regions=False)
    for _ in range(3):
        t = tree(*nodes, depth, n)
        for _ in range(3):
            assert janus.allclose(f(t), fold(t))
    s = f.stats()
    assert s["fallbacks"] <= 2 and s["graph"] >= 6, janus.explain(f)


FORMS = {"expression": "h = W if node.value is None else node.value", "name": "h = W if v is None else v", "not": "h = v if v is not None else W",
         "statement": "if node.value is None:\n        h = W\n    else:\n        h = node.value",
         "default": "if v is None:\n        v = W\n    h = v", "early": "if v is not None:\n        return v * 1\n    h = W",
         "number": "h = (1.5 if v is None else v) * W", "number by default": "if v is None:\n        v = 2.0\n    h = v * W"}


@pytest.mark.parametrize("depth", [1, 2, 7])
@pytest.mark.parametrize("form", FORMS)
def test_none_at_inner_nodes(form, depth):
    """What only leaves have is not known when an inner node is come to first."""
    names = names_of(f"def fold(node):\n    v = node.value\n    {FORMS[form]}\n    for kid in node.kids:\n"
                     "        h = (h + fold(kid) * W).tanh()\n    return h\n", W=W)
    fold = names["fold"]
    f = janus.function(fold, measure=False, verify="never", regions=False)
    for k in range(3):
        leaf = 0.25 + k if "number" in form else janus.full((4,), 0.25 + k)
        t = tree(Node, lambda leaf=leaf: Node([], leaf), depth, 2)
        for _ in range(3):
            assert janus.allclose(f(t), fold(t))
    s = f.stats()
    assert s["fallbacks"] <= 2 and s["graph"] >= 6, janus.explain(f)
