# SPDX-License-Identifier: Apache-2.0
"""What leaves a graph requires grad in some runs only, as arms, loops and recursions decide: it has a history in these, and none
in the others, as undecorated, wherever it goes, and both are one graph."""
import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

# What makes y of x, which requires no grad, and of w, which does.
MADE = {
    "an arm": "y = x + 1\n    if x.sum() > 2:\n        y = y * w",
    "an arm of two": "if x.sum() > 2:\n        y = x * w\n    else:\n        y = x * 3",
    "one arm in another": "y = x\n    if x.sum() > 1:\n        y = y + 1\n        if x[0] > 1:\n            y = y * w",
    "no_grad in an arm": "if x.sum() > 2:\n        with janus.no_grad():\n            y = x * w\n    else:\n        y = x + w",
    "cut in an arm": "y = x * w\n    if x.sum() > 2:\n        y = y.detach()",
    "rounds": "y = x\n    for v in t.rows:\n        y = y * w + v",
    "rounds with a test": "y = x\n    for v in t.rows:\n        if v.sum() > 1:\n            y = y * w\n        else:\n            y = y + v",
    "while": "y = x\n    while y.sum() < 3:\n        y = y + 1 + w",
    "a tree": "y = walk(t, x, w)",
    "a tree of pairs": "y, n = pairs(t, x, w)",
    "a row": "rows = [v * w if v.sum() > 1 else v for v in t.rows] + [x]\n    y = rows[0]",
    "a parameter handed on": "y = x if x.sum() < 2 else w",
}
# How it leaves, and where it is then.
LEAVES = {
    "result": ("return y", "r"),
    "pair": ("return y, y * 2", "r[0] + r[1]"),
    "both": ("return [y, w * 2]", "r[0] + r[1]"),
    "dict": ("return {'a': y.sum(), 'n': 1}", "r['a']"),
    "attribute": ("t.out = y\n    return len(t.rows)", "t.out"),
    "attribute by path": ("if x[1] > 0:\n        t.out = y * 2\n    return 0", "t.out"),
    "append": ("t.kept.append(y * 2)\n    return 0", "t.kept[-1]"),
    "key": ("t.by['y'] = y + 1\n    return 0", "t.by['y']"),
    "perhaps": ("return y if x[1] > 0 else None", "r"),
    "object": ("return Box(y)", "r.y"),
}

PROGRAM = """
class Node:
    def __init__(self, rows, children):
        self.rows, self.children, self.out, self.kept, self.by = rows, children, None, [], {{}}

class Box:
    def __init__(self, y):
        self.y = y

def walk(t, x, w):
    y = x * w if len(t.rows) > 1 else x
    for c in t.children:
        y = y + walk(c, x, w)
    return y

def pairs(t, x, w):
    y, n = (x * w, 1) if len(t.rows) > 1 else (x, 0)
    for c in t.children:
        z, m = pairs(c, x, w)
        y, n = y + z, n + m
    return y, n

def f(t, x, w):
    {made}
    {leaves}
"""


def trees(Node, k):
    rows = [janus.ones(2) * (i % 3) for i in range(k % 3)]
    return Node(rows, [] if k % 4 < 2 else [Node(rows[:1], []), Node(rows + rows, [Node([], [])])])


def seen(y):
    return (y.requires_grad, y.is_leaf, y.grad_fn is None, y.tolist()) if isinstance(y, janus.Tensor) else y


def outcomes(f, names, where):
    """Of twelve calls; one history is used twice, one result in what is computed later."""
    out, before = [], None
    for k in range(12):
        t, w = trees(names["Node"], k), janus.tensor([0.5, 0.75], requires_grad=True)
        x = janus.tensor([0.5 + k % 3, k % 2 - 0.5])
        r = f(t, x, w)
        y = eval(where, {"r": r, "t": t})
        out.append(seen(y))
        if y is not None and y.requires_grad:
            y.sum().backward(retain_graph=k % 4 == 3)
            try:
                y.sum().backward()
            except RuntimeError as e:
                out.append(type(e).__name__)
        if y is not None:
            z = (y * 2 if before is None else y.sum() + before.detach()).sum()
            out.append(seen(z))
            before = y
        out.append(w.grad.tolist() if w.grad is not None else None)
    return out


@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("made", shares.share(list(MADE)))
def test_a_history_or_none(made, leaves):
    statement, where = LEAVES[leaves]
    text = PROGRAM.format(made=MADE[made], leaves=statement)
    for numerics in ("fast", "exact"):
        names, plain = names_of(text, janus=janus, __name__="program"), names_of(text, janus=janus, __name__="program")
        f = janus.function(names["f"], verify="never", measure=False, numerics=numerics)
        assert outcomes(f, names, where) == outcomes(plain["f"], plain, where), numerics
        assert leaves == "append" or numerics == "exact" or f.stats()["graph"] >= 5
