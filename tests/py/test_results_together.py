# SPDX-License-Identifier: Apache-2.0
"""Several results of one call that require grad, where gradients between them flow inside of a recursion or by way of what
it stores: whoever looks at one (autograd.grad, hooks, retain_grad) sees what CPython's tape has, and backward() uses up the same."""
import random

import pytest

import janus
from compared import close
from janus import nn
from test_unseen_trees import OPTIONS


class Node:
    def __init__(self, left=None, right=None):
        self.left, self.right = left, right


def tree(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return Node()
    return Node(tree(rng, depth - 1), tree(rng, depth - 1))


layer, out = nn.Linear(6, 3), nn.Linear(3, 1)


def pair(n, x):
    if n.left is None:
        return x, out(x)
    h = janus.tanh(layer(janus.cat([pair(n.left, x)[0], pair(n.right, x)[0]])))
    return h, out(h)


def by_another(n, x):
    """The second result is computed from what is handed on beside the first."""
    h, s = pair(n, x)
    return h, s * 2


def in_a_list(n, x):
    scores = []

    def go(n):
        if n.left is None:
            return x * 1
        h = janus.tanh(layer(janus.cat([go(n.left), go(n.right)])))
        scores.append(out(h))
        return h
    root = go(n)
    return root, janus.stack(scores).sum() if scores else root.sum()


def in_a_memo(n, x):
    known = {}

    def go(n):
        if n in known:
            return known[n]
        known[n] = x * 1 if n.left is None else janus.tanh(layer(janus.cat([go(n.left), go(n.right)])))
        return known[n]
    h = go(n)
    return h, out(go(n)), (go(n.left) if n.left else h * 1).sum()


def of_a_loop(n, x):
    h, s = x * 1, x.sum()
    while n is not None:
        h = janus.tanh(layer(janus.cat([h, x])))
        s = s + h.sum()
        n = n.left
    return h, s


def on_nodes(n, x):
    """What is stored remains, beside several results."""
    if n.left is None:
        n.state = x * 1
        return n.state, out(n.state)
    on_nodes(n.left, x)
    on_nodes(n.right, x)
    n.state = janus.tanh(layer(janus.cat([n.left.state, n.right.state])))
    return n.state, out(n.state) + out(n.left.state)


PROGRAMS = [pair, by_another, in_a_list, in_a_memo, of_a_loop, on_nodes]
LOOKS = ["none", "first", "second", "last", "grad", "hooks", "retained"]
# Gradients of what remains on objects cannot be looked at: it raises once (docs/adr/0015-wires.md).
CASES = [pytest.param(p, k, id=f"{p.__name__}, {k}") for p in PROGRAMS for k in LOOKS if p is not on_nodes or k in LOOKS[:4]]


def looked_at(results, x, look):
    """What a program sees that asks for gradients in this way."""
    seen = []
    a, b = results[0], results[1]
    try:
        if look == "grad":
            seen.append(janus.autograd.grad(b.sum(), a, retain_graph=True)[0].contiguous())
        elif look == "hooks":
            for r in results:
                r.register_hook(lambda g: seen.append(g.clone()))
        elif look == "retained":
            for r in results:
                r.retain_grad()
        elif look == "first":
            a.sum().backward()
        elif look == "second":
            b.sum().backward(retain_graph=True)
        elif look == "last":
            results[-1].sum().backward()
        (a.sum() * 2 + b.sum()).backward()
        if look == "retained":
            seen += [r.grad for r in results[:2]]
    except RuntimeError as e:
        seen.append(str(e))
    seen += [None if p.grad is None else p.grad.clone() for p in [x, *layer.parameters(), *out.parameters()]]
    return seen


@pytest.mark.parametrize("program, look", CASES)
def test_who_looks_at_a_gradient(program, look):
    g, rng = janus.function(program, **OPTIONS["never verified"]), random.Random(3)
    for i in range(12):
        t = tree(rng, 4)
        both = []
        for f in (program, g):
            for p in [*layer.parameters(), *out.parameters()]:
                p.grad = None
            janus.manual_seed(i)
            x = janus.randn(3, requires_grad=True)
            both.append(looked_at(f(t, x), x, look))
        assert close(both[0], both[1]), (i, both)
    assert g.stats()["graph"] > 0
