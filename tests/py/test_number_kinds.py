# SPDX-License-Identifier: Apache-2.0
"""Values that are None or a number, a number of one kind or another, or one of several texts, as paths leave them:
`2 if n.v is None else n.v`."""
import itertools
import random

import pytest

import janus
from test_unseen_trees import OPTIONS
from texts import names_of

VALUES = ["None", "2", "-3", "2.5", "-0.0", "True", "len(l)", "x[1].item()", "int(x[2].item() * 3)", "x[1].item() > 0"]
WHERE = {
    "an expression": """
def f(t, l, x):
    s = {a} if x[0].item() > 0 else {b}
    return {use}
""",
    "an arm": """
def f(t, l, x):
    s = {a}
    if x[0].item() > 0:
        s = {b}
        if x[1].item() > 0.5:
            s = {a}
    return {use}
""",
    "both arms": """
def f(t, l, x):
    if x[0].item() > 0:
        s, r = {a}, x
    else:
        s, r = {b}, x + 1
    return {use}, r
""",
    "three ways": """
def f(t, l, x):
    s = {a} if x[0].item() > 0 else {b} if x[1].item() > 0 else {a}
    u = s if x[2].item() > 0 else {b}
    return {use}, u
""",
    "and": """
def f(t, l, x):
    s = (x[0].item() > 0 and {a}) or {b}
    return {use}
""",
    "a result": """
def part(l, x):
    if x[0].item() > 0:
        return {a}
    return {b}
def f(t, l, x):
    s = part(l, x)
    return {use}
""",
    "a loop": """
def f(t, l, x):
    s = {a}
    for v in l:
        if v > 0.2:
            s = {b}
        elif v < -0.6:
            s = {a}
    return {use}
""",
    "a while loop": """
def f(t, l, x):
    s, n = {a}, t
    while n is not None:
        if n.v > 0:
            s = {b}
        n = n.left if n.v < 0.2 else n.right
    return {use}
""",
    "a sum": """
def f(t, l, x):
    s = 0
    for v in l:
        if v > 0.2:
            s = s + ({a} or 0)
        elif v < -0.4:
            s += ({b} or 0)
    return {use}
""",
    "a recursion": """
def down(n, l, x):
    if n is None or n.v < -0.7:
        return {a}
    if n.v > 0.7:
        return {b}
    return down(n.left if n.v < 0.2 else n.right, l, x)
def f(t, l, x):
    s = down(t, l, x)
    return {use}
""",
    "a pair of a recursion": """
def down(n, l, x):
    if n is None or n.v < -0.7:
        return {a}, x
    s, y = down(n.left, l, x)
    if n.v > 0.4:
        s = {b}
    return s, y * n.v
def f(t, l, x):
    s, y = down(t, l, x)
    return {use}, y
""",
    "an argument": """
def down(n, s, l, x):
    if n is None:
        return x if s is None else x * 2 + s
    y = down(n.left, {b} if n.v > 0 else s, l, x)
    return y + down(n.right, {a} if n.v > 0.5 else s, l, x)
def f(t, l, x):
    s = {a}
    return down(t, s, l, x)
""",
    "a value of a node": """
def down(n, l, x):
    if n is None:
        return x
    s = {a} if n.k is None else n.k
    y = down(n.left, l, x) * 0.5 + down(n.right, l, x)
    return y if s is None else y + s * 2
def f(t, l, x):
    return down(t, l, x)
""",
    "a variable outside": """
def f(t, l, x):
    s = {a}
    def walk(n):
        nonlocal s
        if n is None:
            return
        if n.v > 0.3:
            s = {b}
        walk(n.left)
        walk(n.right)
    walk(t)
    return {use}
""",
    "an attribute": """
class Box:
    pass
def f(t, l, x):
    box = Box()
    box.s = {a}
    if x[0].item() > 0:
        box.s = {b}
    s = box.s
    return {use}, box.s
""",
    "nodes": """
def mark(n, l, x):
    if n is None:
        return
    n.s = {a} if n.v > 0.1 else {b}
    mark(n.left, l, x)
    mark(n.right, l, x)
def f(t, l, x):
    mark(t, l, x)
    s = t.s
    return {use}, t
""",
    "a list": """
def f(t, l, x):
    q = [x, {a}]
    if x[0].item() > 0:
        q[1] = {b}
    s = q[1]
    return {use}, q
""",
    "a dict": """
def f(t, l, x):
    q = {{"a": 2, "b": -1}}
    s = q.get("a" if x[0].item() > 0 else "c", {b})
    return {use}
""",
    "a comprehension": """
def f(t, l, x):
    q = [({a} if v > 0 else {b}) for v in l]
    r = [{use} for s in q]
    return r[0], r[-1], len(r)
""",
    "map": """
def f(t, l, x):
    q = list(map(D.get, [{{True: "a", False: "c"}}[v > 0] for v in l]))
    s = q[0]
    n = 0
    for k in q:
        n += 1 if k is None else 10 * k
    return {use}, n
""",
}
USES = ["s", "s * 2", "2.0 * s", "s + s", "-s", "s - x", "s * x", "s == 2", "2.5 != s", "s < 2.25", "1 if s else 0", "not s",
        "s is None", "(0 if s is None else s) * 3", "float(s)", "int(s)", "abs(s)", "isinstance(s, int)", "isinstance(s, (float, type(None)))",
        "[s, (s, x)]", "{'k': s}", "max(s, 1)", "min(2.25, s)", "s in (2, None)", "s // 2", "s ** 2", "s or 7", "s and 7", "bool(s)",
        "x.clamp(min=s)", "janus.full((2,), s)", "x * 2 if s is None else x * s", "str(s)", "f'{s}'", "round(s)", "sum([s, 1, s])",
        "[3, 4, 5, 6][s]", "x[s]", "s % 2", "[x] * s", "sorted([s, 1, 2.25])", "(lambda r: r if r is None else r / 2)(s)",
        "x.sum().item() if s is None else s"]
TEXTS = ['"a"', '"b"', 'None', '"no"', '()']
USES_OF_TEXTS = ["s", "s == 'a'", "s is None", "s != 'b'", "len(s)", "D.get(s, 7)", "s in D", "s + 'x'", "f'{s}'", "[s, x]", "s or 'z'",
                 "1 if s else 0", "{s: 1}", "isinstance(s, str)", "s in ('a', None)", "x * D.get(s, 2)", "x if s is None else x * len(s)", "s < 'b'"]


class Node:
    def __init__(self, rng, v, left=None, right=None):
        self.v, self.left, self.right = v, left, right
        self.k = rng.choice([None, None, 1, 2.5])
        self.s = 0


def tree(rng, depth):
    if depth == 0 or rng.random() < 0.3:
        return None
    return Node(rng, rng.uniform(-1, 1), tree(rng, depth - 1), tree(rng, depth - 1))


def same(a, b):
    """Alike, with the types that CPython gives; floats up to rounding."""
    if type(a) is not type(b):
        return False
    if isinstance(a, janus.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and same(a.tolist(), b.tolist())
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, Node):
        return all(same(getattr(a, k), getattr(b, k)) for k in ("s", "left", "right"))
    if isinstance(a, float) and a == a and abs(a) < 1e300:
        return abs(a - b) <= 1e-5 * (1 + abs(a)) and (a != 0 or str(a) == str(b))
    return repr(a) == repr(b)


def called(f, seed):
    rng = random.Random(seed)
    janus.manual_seed(seed)
    t = tree(rng, 4) or Node(rng, 0.3)
    try:
        return f(t, [rng.uniform(-1, 1) for _ in range(rng.randint(1, 5))], janus.randn(3))
    except Exception as e:
        return f"{type(e).__name__}: {e}"


def compare(text, options, calls=12, least=0):
    """Equal in each call, of which at least so many are graphs."""
    f = names_of(text, janus=janus, D={"a": 2, "b": 5})["f"]
    g = janus.function(f, **options)
    for i in range(calls):
        want, got = called(f, i), called(g, i)
        assert same(want, got), (i, want, got, text)
    assert not g.stats()["disproved"] and g.stats()["graph"] >= least, text


def programs(values, uses):
    """Each place, with all pairs of values and all uses."""
    for where, text in WHERE.items():
        for a, b, use in itertools.product(values, values, uses):
            if a != b:
                yield where, text.format(a=a, b=b, use=use)


@pytest.mark.parametrize("where", WHERE)
def test_as_undecorated(where):
    rng = random.Random(where)
    for values, uses, n in (VALUES, USES, 7), (TEXTS, USES_OF_TEXTS, 3):
        all_of = [text for name, text in programs(values, uses) if name == where]
        for text in rng.sample(all_of, n):
            compare(text, OPTIONS["never verified"] if rng.random() < 0.8 else {"verify": "always"})


@pytest.mark.parametrize("where, a, b, use", [
    ("an expression", "2", "2.5", "s * 2"), ("an arm", "None", "2", "s"), ("both arms", "len(l)", "x[1].item()", "s * x"),
    ("a result", "None", "x[1].item()", "0 if s is None else s"), ("a loop", "None", "2.5", "s"), ("a while loop", "2", "2.5", "-s"),
    ("a recursion", "2", "-0.0", "s + s"), ("an argument", "None", "2.5", "s"), ("a value of a node", "2", "None", "s"),
    ("a variable outside", "None", "2", "s is None"), ("an attribute", "2", "2.5", "s < 2.25"), ("a list", "True", "2", "s * 2"),
    ("a comprehension", "2", "2.5", "s * 2"), ("a sum", "2", "2.5", "s"), ("nodes", "None", "2", "s"), ("an expression", "'a'", "'b'", "D.get(s)")])
def test_they_are_graphs(where, a, b, use):
    compare(WHERE[where].format(a=a, b=b, use=use), OPTIONS["never verified"], least=8)
