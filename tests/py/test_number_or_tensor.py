# SPDX-License-Identifier: Apache-2.0
"""Values that are a number on some paths and a tensor on others: `h if c else 0.0`, `return 0` at a leaf, a loss that begins as 0."""
import itertools

import pytest

import janus
from janus import nn
from test_recursive_closures import check
from test_unseen_trees import OPTIONS
from texts import names_of

NEVER = OPTIONS["never verified"]
NUMBERS = ["0", "0.0", "2", "-1.5", "-0.0", "n.v", "float(len(l))"]
WHERE = {
    "an expression": """
def go(n, x, l):
    if n is None:
        return x
    s = {tensor} if n.v > 0 else {number}
    r = {use}
    return go(n.left, x, l) * r + go(n.right, x, l)
""",
    "an arm": """
def go(n, x, l):
    if n is None:
        return x
    s = {number}
    if n.v > 0:
        s = {tensor}
    r = {use}
    return go(n.left, x, l) * r + go(n.right, x, l)
""",
    "both arms": """
def go(n, x, l):
    if n is None:
        return x
    if n.v > 0:
        s, r = {tensor}, x
    else:
        s, r = {number}, x + 1
    r = r + {use}
    return go(n.left, x, l) * r + go(n.right, x, l)
""",
    "a pair of both arms": """
def walk(n, x, l):
    if n.left is None or n.right is None:
        h, s = x * n.v, {number}
    else:
        hl, a = walk(n.left, x, l)
        hr, b = walk(n.right, x, l)
        h, s = hl * hr, a + b
    return h, s + {tensor}
def go(n, x, l):
    h, s = walk(n, x, l)
    return {use}
""",
    "a result": """
def part(n, x, l):
    if n.v < 0:
        return {number}
    return {tensor}
def go(n, x, l):
    if n is None:
        return x
    s = part(n, x, l)
    r = {use}
    return go(n.left, x, l) * r + go(n.right, x, l)
""",
    "a recursion": """
def down(n, x, l):
    if n is None or n.v < -0.5:
        return 0.0 if n is None else {number}
    return down(n.left, x, l) + {tensor}
def go(n, x, l):
    s = down(n, x, l)
    r = {use}
    return r
""",
    "rounds": """
def go(n, x, l):
    s = {number}
    while n is not None:
        if n.v > 0:
            s = {tensor}
        n = n.left if n.v < 0.2 else n.right
    return {use}
""".replace("{number}", "0.0"),
    "a variable outside": """
def go(n, x, l):
    s = {number}
    def walk(n):
        nonlocal s
        if n is None:
            return
        s = s + {tensor}
        walk(n.left)
        walk(n.right)
    if n.v > -0.5:
        walk(n)
    return {use}
""",
}
USES = ["s + x", "x - s", "s * 2.0 + x", "s / 2 + x", "2 - s", "x * s", "s", "s + s", "(s, x)[0]", "x if s is None else x + s",
        "s + (x if n is not None and n.v > 0.3 else 0.0)"]


def programs():
    for (where, text), number, use in itertools.product(WHERE.items(), NUMBERS, USES):
        if where in ("a recursion", "rounds", "a pair of both arms") and "n." in use:
            continue
        body = text.format(tensor="x * n.v", number=number, use=use)
        yield f"{where}, {number}, {use}", body + "def f(t, x):\n    return go(t, x, [1, 2])\n"


@pytest.mark.parametrize("where", WHERE)
def test_as_undecorated(where):
    for name, text in programs():
        if name.startswith(where + ","):
            check(names_of(text, janus=janus)["f"], NEVER, 0.0)


@pytest.mark.parametrize("where, use", [("an expression", "s + x"), ("an arm", "x - s"), ("both arms", "x - s"),
                                        ("a pair of both arms", "s + x"), ("a pair of both arms", "s"), ("a recursion", "s * 2.0 + x"), ("a recursion", "s"),
                                        ("a variable outside", "2 - s"), ("a result", "s / 2 + x")])
def test_they_are_graphs(where, use):
    text = WHERE[where].format(tensor="x * n.v", number="0.0", use=use) + "def f(t, x):\n    return go(t, x, [])\n"
    check(names_of(text, janus=janus)["f"], NEVER, 0.8)


NONE = """
def go(n, x):
    if n is None:
        return x
    if n.v > 0:
        s, r = {a}, x * 2
    else:
        s, r = {b}, x
    r = r * 0.5 if s is None else r + s
    return go(n.left, x) * r + go(n.right, x)
"""


@pytest.mark.parametrize("a, b", [("None", "x * n.v"), ("x * n.v", "None"), ("None", "2.0"), ("(x, None)[1]", "(x, 1)[0]"), ("None", "None")])
def test_none_or_a_tensor_of_both_arms(a, b):
    f = names_of(NONE.format(a=a, b=b), janus=janus)["go"]
    check(lambda t, x: f(t, x), NEVER, 0.0)


layer = nn.Linear(3, 3)
TRAINED = [
    "def loss(n, x):\n    return 0 if n is None else layer(x * n.v).sum() + loss(n.left, x) + loss(n.right, x)\n",
    "def loss(n, x):\n    if n is None:\n        return 0.0\n    s = layer(x).sum() if n.v > 0 else 0\n    return s * n.v + layer(x).mean() + loss(n.left, x)\n",
    "def walk(n, x):\n    if n.left is None or n.right is None:\n        h, s = x * n.v, 0.0\n    else:\n        h, s = walk(n.left, x)\n"
    "        g, r = walk(n.right, x)\n        h, s = janus.tanh(layer(h + g)), s + r\n    return h, s + layer(h).pow(2).sum()\n"
    "def loss(t, x):\n    return walk(t, x)[1]\n",
    "def loss(t, x):\n    total = 0.0\n    def go(n):\n        nonlocal total\n        if n is None:\n            return x\n"
    "        h = janus.tanh(layer(go(n.left) + go(n.right)))\n        total = total + h.sum() * n.v\n        return h\n    go(t)\n    return total\n",
]


@pytest.mark.parametrize("options", list(OPTIONS.values()), ids=list(OPTIONS))
@pytest.mark.parametrize("text", TRAINED, ids=["added up", "conditional", "of both arms", "of a variable"])
def test_gradients(text, options):
    f = names_of(text, janus=janus, layer=layer)["loss"]
    check(lambda t, x: f(t, x), options, 0.8, list(layer.parameters()))
