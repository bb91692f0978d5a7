# SPDX-License-Identifier: Apache-2.0
"""Programs that ask whether a tensor requires grad, which only the path taken says. The class is generated: what
decides times where it is asked times what is asked (pyfront/convert/tensors/tracked.c)."""
import pytest

import janus

W = janus.tensor([0.5, -2.0], requires_grad=True)
U = janus.tensor([3.0, 1.0])


class Node:
    def __init__(self, v, *kids):
        self.v, self.kids = v, kids


def requires(y):
    return 2.0 if y.requires_grad else 3.0


def leaf(y):
    return 2.0 if y.is_leaf else 3.0



def made_leaf_plainly(y):
    y.requires_grad_()
    return 2.0 if y.is_leaf else 3.0


def used(y):
    if y.requires_grad:
        y.sum().backward()
        return 2.0
    return 3.0


ASKED = {f.__name__: f for f in (requires, leaf, made_leaf_plainly, used)}


def by_recursion(ask, n, x, where):
    if not n.kids:
        return x
    y = by_recursion(ask, n.kids[0], x, where)
    y = y * W if n.v > 0 else y * U
    return y * ask(y) if where == "inside" else y


def by_list(ask, n, x, where):
    y = x
    for k in n.kids:
        y = y * W if k.v > 0 else y * 2
        if where == "inside":
            y = y * ask(y)
    return y


def by_rounds(ask, n, x, where):
    y = x * 1
    for _ in n.kids:
        y = y * W
        if where == "inside":
            y = y * ask(y)
    return y


def by_number(ask, n, x, where):
    if n.v > 0:
        y = x * W
    else:
        y = x * U
    return y * ask(y) if where == "inside" else y


def by_value(ask, n, x, where):
    y = x * W if x.sum() > 1 else x * U
    return y * ask(y) if where == "inside" else y


def by_mode(ask, n, x, where):
    with janus.set_grad_enabled(n.v > 0):
        y = x * W
        if where == "inside":
            y = y * ask(y)
    return y


def by_optional(ask, n, x, where):
    y = None
    for k in n.kids:
        if k.v > 0:
            y = x * W
    y = x * 1 if y is None else y
    return y * ask(y) if where == "inside" else y


DECIDED = {f.__name__: f for f in (by_recursion, by_list, by_rounds, by_number, by_value, by_mode, by_optional)}
TREES = [Node(1, Node(2)), Node(0, Node(0, Node(3))), Node(1, Node(0), Node(1)), Node(0, Node(1)), Node(0), Node(2)]


def run(decided, asked, where, options):
    def step(n, x):
        y = DECIDED[decided](ASKED[asked], n, x, where)
        return ASKED[asked](y) if where == "after" else y.detach()

    f = step if options is None else janus.function(step, **options)
    out = []
    for i in range(14):
        W.grad = None
        try:
            y = f(TREES[i % len(TREES)], janus.tensor([i % 3 * 0.7, 0.2]))
            y = y.tolist() if isinstance(y, janus.Tensor) else y
        except Exception as e:
            y = [type(e).__name__, str(e)]
        out.append([y, W.grad is None or W.grad.tolist()])
    return out, f


@pytest.mark.parametrize("where", ["after", "inside"])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("decided", DECIDED)
def test_as_undecorated(decided, asked, where):
    want, _ = run(decided, asked, where, None)
    got, _ = run(decided, asked, where, {"verify": "never", "measure": False})
    assert want == got
