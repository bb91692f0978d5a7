# SPDX-License-Identifier: Apache-2.0
"""Expressions given as nested tuples or lists, `("+", a, b)`, evaluated by a table of functions: their first items say what they are."""
import itertools
import operator
import random

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

LEAVES = {
    "numbers": ("isinstance(t, float)", "w * t"),
    "one number": ("len(t) == 1", "w * t[0]"),
    "names": ('t[0] == "leaf"', "w * t[1]"),
}
# How the function is found and called.
CALLS = {
    "of each in a comprehension": "fn, n = OPS[t[0]]\n    return fn(*[ev(x) for x in t[1:]])",
    "of map": "fn, n = OPS[t[0]]\n    return fn(*map(ev, t[1:]))",
    "of a generator": "fn, n = OPS[t[0]]\n    return fn(*(ev(x) for x in t[1:]))",
    "by its number of operands": "fn, n = OPS[t[0]]\n    if n == 1:\n        return fn(ev(t[1]))\n    return fn(ev(t[1]), ev(t[2]))",
    "by places": "fn, n = OPS[t[0]]\n    return fn(*[ev(t[i + 1]) for i in range(n)])",
    "by tests": "op = t[0]\n    if op == '-':\n        return -ev(t[1])\n    return ev(t[1]) + ev(t[2]) if op == '+' else ev(t[1]) * ev(t[2])",
    "at once": "return OPS[t[0]][0](*[ev(x) for x in t[1:]])",
    "taken apart": "op, *kids = t\n    return OPS[op][0](*[ev(x) for x in kids])",
}
TEXT = """
def ev(t):
    if {leaf}:
        return {value}
    {call}
{more}
def f(t):
    return ev(t) * 1.0
"""
# Of lists: the function writes what it reads, before or after.
WRITTEN = """
def ev(t):
    if len(t) == 1:
        return w * t[0]
    first = t[0]
    t[0] = "+" if t[0] == "*" else first
    h = ev(t[1])
    if t[0] != first:
        h = h * 2
    return h + ev(t[-1]) if t[0] == "+" else h

def f(t):
    return ev(t) * 1.0
"""
OPS = {"+": (operator.add, 2), "*": (operator.mul, 2), "-": (operator.neg, 1)}


def tree(r, depth, leaf, made, wrong, root=True):
    if depth == 0 or (not root and r.random() < 0.2):
        v = r.random()
        return v if leaf == "numbers" else made((v,)) if leaf == "one number" else made(("leaf", v))
    op = r.choice("+*-")
    n = OPS[op][1] + (wrong and r.random() < 0.1)
    return made([op, *[tree(r, depth - 1, leaf, made, wrong, False) for _ in range(n)]])


def outcomes(text, leaf, made, wrong, numerics):
    names = names_of(text, janus=janus, OPS=OPS, w=janus.tensor([0.5, -0.25, 1.0]), __name__="program")
    f = names["f"] if numerics is None else janus.function(names["f"], numerics=numerics, verify="never", measure=False)
    r, seen = random.Random(8), []
    for k in range(14):
        t = tree(r, 3, leaf, made, wrong)
        try:
            seen.append(f(t).tolist())
        except Exception as e:
            seen.append((type(e).__name__, str(e)))
        seen.append(str(t))
    return seen, f


def compare(text, leaf, made, wrong, numerics):
    (want, _), (got, f) = outcomes(text, leaf, made, wrong, None), outcomes(text, leaf, made, wrong, numerics)
    for a, b in zip(want, got):
        same = a == b or (isinstance(a, list) and isinstance(b, list) and all(abs(x - y) <= 1e-5 * (1 + abs(x)) for x, y in zip(a, b)))
        assert same, (text, made, numerics, a, b)
    return f


def program(leaf, call):
    test, value = LEAVES[leaf]
    return TEXT.format(leaf=test, value=value, call=CALLS[call], more="")


@pytest.mark.parametrize("call", CALLS)
def test_programs(call):
    for leaf, made, wrong, numerics in shares.share(itertools.product(LEAVES, (tuple, list), (False, True), ("fast", "exact"))):
        compare(program(leaf, call), leaf, made, wrong, numerics)


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_written_programs(numerics):
    compare(WRITTEN, "one number", list, False, numerics)


@pytest.mark.parametrize("call", [c for c in CALLS if c not in ("taken apart", "of a generator")])
def test_they_are_graphs(call):
    f = compare(program("one number", call), "one number", tuple, False, "fast")
    stats = f.stats()
    assert stats["graph"] >= 11 and stats["conversions"] <= 3, stats
