# SPDX-License-Identifier: Apache-2.0
"""Recursions over objects that lead back into themselves: RecursionError, as undecorated, and not after the memory is used up.
Recursions that do end go on as deep as they are, whatever decides it."""
import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

WALKS = {
    "next": "return x * n.v + (walk(n.next, x * 0.5, d + 1) if n.next is not None else 0)",
    "children": "x = x * n.v\n    for c in n.kids:\n        x = x + walk(c, x * 0.5, d + 1)\n    return x",
    "counts visits": "n.visits += 1\n    return x if n.next is None else walk(n.next, x * n.v, d + 1)",
    "a number as well": "if n.next is None:\n        return x, d\n    y, e = walk(n.next, x * n.v, d + 1)\n    return y + 1, e",
    "by another": "return leaf(n, x) if n.next is None else other(n, x, d)",
    "branches": "if n.next is None:\n        return x\n    if n.v > 1:\n        x = x * 2\n    return walk(n.next, x, d) + n.v",
    "summed": "return x if not n.kids else sum([walk(c, x * 0.5, d + 1) for c in n.kids]) * n.v",
    "a log": "n.log.append(d)\n    return walk(n.kids[0], x * n.v, d + 1) if n.kids else x",
    "stored": "n.h = x * n.v if n.next is None else walk(n.next, x, d + 1) * n.v\n    return n.h",
}
TEXT = """
def leaf(n, x):
    return x * n.v

def other(n, x, d):
    return walk(n.next, leaf(n, x), d + 1)

def walk(n, x, d):
    {body}

def f(n, x):
    return walk(n, x, 0)
"""
CYCLES = {"itself": (2, 2), "the first": (2, 0), "the one before": (2, 1)}


class Node:
    def __init__(self, v, after):
        self.v, self.next, self.kids, self.visits, self.h, self.most, self.log = v, after, [after] * (after is not None), 0, None, 0, []


def made(last, cycle=None):
    nodes = [None]
    for k in range(last + 1):
        nodes.append(Node(0.5 + k % 3, nodes[-1]))
    nodes = nodes[:0:-1]  # the first one leads to all
    if cycle:
        of, to = cycle
        nodes[of].next = nodes[to]
        nodes[of].kids.append(nodes[to])
    return nodes[0]


def outcome(f, *args):
    try:
        y = f(*args)
        y = y if isinstance(y, tuple) else (y,)
        return [v.tolist() if isinstance(v, janus.Tensor) else v for v in y]
    except RecursionError:
        return "RecursionError"


@pytest.mark.parametrize("tracked", (False, True))
@pytest.mark.parametrize("walk", WALKS)
def test_what_leads_back_into_itself(walk, tracked):
    for cycle in shares.share(CYCLES.values()):
        plain = names_of(TEXT.format(body=WALKS[walk]), janus=janus)["f"]
        for options in ({"verify": "never"}, {}):
            f = janus.function(names_of(TEXT.format(body=WALKS[walk]), janus=janus)["f"], measure=False, **options)
            for last, how in ((3, None), (5, None), (4, None), (2, cycle), (4, None), (2, cycle)):
                x = janus.ones(3).requires_grad_(tracked)
                want = outcome(plain, made(last, how), x)
                assert outcome(f, made(last, how), x) == want and (want == "RecursionError") == (how is not None), (cycle, options)


def test_sizes_that_stay_as_they_are():
    text = """
def f(x):
    n = x.shape[0]
    if n <= 2 or n == 5:
        return x.sum()
    return f(x[:n // 2 + 2 - (n > 3)]) * 0.5
"""
    plain, f = (names_of(text, janus=janus)["f"] for _ in range(2))
    f = janus.function(f, verify="never", measure=False)
    for n in (8, 9, 5, 16, 9, 10, 9, 7):
        assert outcome(f, janus.ones(n)) == outcome(plain, janus.ones(n)), n


DEEP = 40_000
ENDS = {
    "a list": "return x if n.next is None else walk(n.next, x, d) + 1.0",
    "a number": "return x if d >= n.most else walk(n, x, d + 1) + 1.0",
    "what a tensor holds": "return x if x.sum() > n.most else walk(n, x + 1.0, d)",
    "what is counted on the object": "n.visits += 1\n    return x if n.visits > n.most else walk(n, x, d) + 1.0",
    "a list that gets longer": "n.kids.append(d)\n    return x if len(n.kids) > n.most else walk(n, x, d) + 1.0",
}


@pytest.mark.parametrize("end", ENDS)
def test_what_ends(end):
    f = janus.function(names_of(TEXT.format(body=ENDS[end]), janus=janus)["f"], verify="never", measure=False)
    for most in (3, 5, 4, 7, 6, DEEP):
        n, x = made(most if end == "a list" else 3), janus.ones(1)
        n.most, before = most, f.stats()["graph"]
        assert f(n, x).shape == (1,)
        while n is not None:  # CPython takes a long list apart by recursion
            n.kids, n.next, n = [], None, n.next
    assert f.stats()["graph"] > before, janus.explain(f)
