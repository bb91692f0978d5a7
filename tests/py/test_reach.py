# SPDX-License-Identifier: Apache-2.0
"""Which weights a gradient comes to, where loops of a number of rounds given as data replace what they carry."""

import itertools

import pytest

import janus


class Node:
    def __init__(self, rounds, depth=0):
        self.rounds = rounds
        self.next = Node(rounds, depth - 1) if depth else None


def replaced(node, x, w, v):
    y = x @ w
    for _ in range(node.rounds):
        y = x
    return y


def replaced_by_another(node, x, w, v):
    y = x @ w
    for _ in range(node.rounds):
        y = x @ v
    return y


def swapped(node, x, w, v):
    a, b = x @ w, x * 2.0
    for _ in range(node.rounds):
        a, b = b, a
    return a


def shifted(node, x, w, v):
    a, b, d = x @ w, x @ v, x
    for _ in range(node.rounds):
        a, b, d = b, d, d * 1.5
    return a


def by_while(node, x, w, v):
    y, i = x @ w, 0
    while i < node.rounds:
        y, i = x, i + 1
    return y


def detached(node, x, w, v):
    y = x @ w
    for _ in range(node.rounds):
        y = y.detach() * x
    return y


def nested(node, x, w, v):
    y = x @ w
    for _ in range(node.rounds):
        z = x @ v
        for _ in range(node.rounds - 1):
            z = y
        y = z
    return y


def recursive(node, x, w, v):
    if node.next is None:
        return replaced(node, x, w, v)
    return recursive(node.next, x, v, w) * replaced(node, x, x.t() @ x, w)


def by_branch(node, x, w, v):
    y = x @ w
    if node.rounds > 1:
        y = x
    return y + (x @ v if node.rounds == 1 else x)


FORMS = [replaced, replaced_by_another, swapped, shifted, by_while, detached, nested, recursive, by_branch]


def gradients(step, rounds):
    janus.manual_seed(rounds)
    x, w, v = (janus.randn(*shape, requires_grad=True) for shape in ((1, 3), (3, 3), (3, 3)))
    step(Node(rounds, rounds), x, w, v)
    return [t.grad if t.grad is None else [round(g, 5) for g in t.grad.reshape(-1).tolist()] for t in (x, w, v)]


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_weights_that_gradients_come_to(form):
    def step(node, x, w, v):
        form(node, x, w, v).sum().backward()

    graphs = 0
    for order in itertools.product([0, 1, 2], repeat=4):
        f = janus.function(step, verify="never", measure=False)
        for rounds in order:
            assert gradients(f, rounds) == gradients(step, rounds), order
        graphs += f.stats()["graph"]
    assert graphs > 0
