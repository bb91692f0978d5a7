# SPDX-License-Identifier: Apache-2.0
"""Indices of gather and its like count from the start, in graphs as outside; those of x[i] from the end, too."""

import pytest

import janus
from janus.nn import functional as F

X = janus.arange(12).reshape(3, 4).float()

STRICT = {
    "gather": lambda x, i: janus.gather(x, 1, i.reshape(1, 2)),
    "take_along_dim": lambda x, i: janus.take_along_dim(x, i.reshape(1, 2), 1),
    "index_select": lambda x, i: janus.index_select(x, 0, i),
    "index_select, last": lambda x, i: x.index_select(-1, i),
    "embedding": lambda x, i: F.embedding(i, x),
    "scatter": lambda x, i: x.scatter(1, i.reshape(1, 2), janus.ones(1, 2)),
    "scatter_add": lambda x, i: x.scatter_add(1, i.reshape(1, 2), janus.ones(1, 2)),
    "index_add": lambda x, i: x.index_add(0, i, janus.ones(2, 4)),
}
FROM_END = {
    "item": lambda x, i: x[i],
    "two": lambda x, i: x[i, i],
    "row": lambda x, i: x[i[0]],
    "element": lambda x, i: x[i[0], i[1]],
}


def argument(f):
    def program(x, i):
        return f(x, i)

    return program


def computed(f):
    def program(x, i):
        return f(x, i * 2 - i)

    return program


def outcome(f, x, i):
    try:
        r = f(x, i)
    except IndexError:
        return "IndexError"
    return [t.tolist() for t in r] if isinstance(r, tuple) else r.tolist()


@pytest.mark.parametrize("way", [argument, computed])
@pytest.mark.parametrize("name", [*STRICT, *FROM_END])
@pytest.mark.parametrize("index", [[-1, 0], [1, -2], [-3, -1], [2, 5], [-9, 0], [0, -4]])
def test_an_index_outside(name, way, index):
    f = way({**STRICT, **FROM_END}[name])
    g = janus.function(f, verify="never", measure=False)
    inside = janus.tensor([1, 0])
    for _ in range(4):
        assert outcome(g, X, inside) == outcome(f, X, inside)
    assert g.stats()["graph"] > 0 or name in ("row", "element")  # a tensor as a number
    expected = outcome(f, X, janus.tensor(index))
    assert outcome(g, X, janus.tensor(index)) == expected
    if name in STRICT:
        assert expected == "IndexError"


class Node:
    def __init__(self, at, kids=()):
        self.at, self.kids = at, kids


@pytest.mark.parametrize("pick, negative", [("x[t.at]", True), ("F.embedding(janus.tensor([t.at]), x)[0]", False)])
def test_indices_of_rows_that_run_together(pick, negative):
    """Nodes of a tree are batched: one table, an index for each."""
    scope = {"janus": janus, "F": F, "x": X}
    exec(f"def total(t):\n  s = {pick}\n  for k in t.kids:\n    s = s + total(k)\n  return s\n", scope)
    text = scope["total"]
    g = janus.function(lambda t: text(t), verify="never", measure=False)

    def tree(last):
        return Node(0, [Node(1, [Node(last), Node(2)]), Node(2, [Node(1), Node(0)])])

    for t in (tree(2), tree(1), tree(2), tree(0)):
        assert g(t).tolist() == text(t).tolist()
    if negative:
        assert g(tree(-1)).tolist() == text(tree(-1)).tolist() == text(tree(2)).tolist()
    else:
        with pytest.raises(IndexError):
            g(tree(-1))


@pytest.mark.parametrize("name", FROM_END)
def test_gradients_of_gradients(name):
    """x[i] is the same rows whichever way they are counted, for each order of derivative."""

    def second(index):
        x = X[:, :3].clone().requires_grad_()
        g, = janus.autograd.grad((FROM_END[name](x, index) ** 3).sum(), x, create_graph=True)
        (g ** 2).sum().backward()
        return g.tolist(), x.grad.tolist()

    assert second(janus.tensor([-1, -3])) == second(janus.tensor([2, 0]))
