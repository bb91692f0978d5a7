# SPDX-License-Identifier: Apache-2.0
"""Steps over trees some of which are one leaf, whose loss CPython could go backward from again: no graph is given up for that."""
import itertools

import pytest

import janus
from janus import nn
from texts import names_of

LEAVES = {"row": "word.weight[n.v]", "scaled": "word.weight[n.v] * 2", "sum": "word.weight[n.v] + q.bias", "neg": "-word.weight[n.v]"}
NODES = {"linear": "janus.tanh(q(x) + hs)", "product": "x * hs", "sum": "x + hs"}


class Node:
    def __init__(self, v, *kids):
        self.v, self.kids = v, kids


def trained(leaf, node, options):
    janus.manual_seed(1)
    q, word = nn.Linear(4, 4), nn.Embedding(7, 4)
    names = names_of(f"def leaf(n):\n    return {leaf}\n\ndef node(x, hs):\n    return {node}\n", q=q, word=word, janus=janus)
    leaf, node = names["leaf"], names["node"]

    def enc(n):
        if not n.kids:
            return leaf(n)
        return node(word.weight[n.v], sum([enc(c) for c in n.kids], janus.zeros(4)))

    opt = janus.optim.SGD([*q.parameters(), word.weight], lr=0.1)

    def step(t):
        opt.zero_grad()
        loss = enc(t).sum()
        loss.backward()
        opt.step()
        return loss

    f = janus.function(step, **options) if options is not None else step
    one, tree = Node(1), Node(0, Node(1), Node(2, Node(3), Node(4)))
    losses = [f(t).item() for t in (one, tree, tree, one, one, tree, Node(3), tree, Node(2, Node(5)), one)]
    return losses, word.weight.tolist(), f


@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
@pytest.mark.parametrize("options", [{}, {"verify": "always"}, {"verify": "always", "numerics": "exact"}], ids=str)
@pytest.mark.parametrize("leaf, node", list(itertools.product(LEAVES, NODES)))
def test_a_leaf_is_no_reason_to_give_up(leaf, node, options):
    want = trained(LEAVES[leaf], NODES[node], None)
    got = trained(LEAVES[leaf], NODES[node], {"measure": False, **options})
    assert got[0] == pytest.approx(want[0], rel=1e-4, abs=1e-5)
    for a, b in zip(got[1], want[1]):
        assert a == pytest.approx(b, rel=1e-4, abs=1e-5)
    stats = got[2].stats()
    assert not stats["disproved"] and stats["graph"] > 2
