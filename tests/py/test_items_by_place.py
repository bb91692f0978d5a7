# SPDX-License-Identifier: Apache-2.0
"""Items of lists, tuples, ranges and strings at places that only the graph knows, read, written, put in, taken out and looked for.  Generated: where the items come from
times what they are times what is done.  Results, which of the objects are one, what is left in the caller's list and what is raised are CPython's."""
import itertools
import random

import pytest

import janus
from compared import close
from shares import LIGHT, share
from texts import names_of


class Node:
    def __init__(self, v):
        self.v = v

    def __repr__(self):
        return f"Node {self.v}"


KINDS = {
    "ints": lambda k: k % 4,
    "large": lambda k: 1000 + k,
    "words": lambda k: "abcd"[k % 4] * 2,
    "floats": lambda k: k * 0.5,
    "bools": lambda k: k % 3 == 0,
    "mixed": lambda k: (k, "a", None)[k % 3],
    "pairs": lambda k: (k, "w"),
    "nodes": Node,
    "tensors": lambda k: janus.tensor([k + 0.5, 1.0]),
    "leaves": lambda k: janus.tensor([k + 0.5, 1.0], requires_grad=True),
}
FROM = {
    "the caller's": "items = xs",
    "copied": "items = list(xs)",
    "shown": "items = [xs[0], xs[1], xs[2], other]",
    "comprehension": "items = [v for v in xs]",
    "appended": "items = []\n    for v in xs:\n        items.append(v)",
    "written": "xs[1] = xs[2]\n    items = xs",
    "tuple": "items = tuple(xs)",
    "pair": "items = (other, xs[0])",
}
USES = {
    "read": "return items[n]",
    "read twice": "return items[n], items[-1 - n % 2], items[n]",
    "read in a loop": "out = []\n    for k in range(n):\n        out.append(items[k])\n    return out",
    "read under a condition": "return items[n] if n < 2 else items[n - 2]",
    "not used": "items[n]\n    return n",
    "put": "items[n] = other\n    return items, items[n - 1]",
    "put in a loop": "for k in range(n):\n        items[k] = other\n    return items",
    "put under a condition": "if n > 1:\n        items[n] = other\n    return items, items[0]",
    "exchanged": "items[n], items[0] = items[0], items[n]\n    return items",
    "turned": "for k in range(n):\n        items[k], items[-1] = items[-1], items[k]\n    return items, len(items)",
    "parts": "return items[n:], items[:n], items[n:n + 2]",
    "part of written": "items[n] = other\n    return items[n:], items[:-1], items[1:n]",
    "part put": "items[n:n + 2] = [other, other, other]\n    return items",
    "part put in itself": "items[n:] = items\n    return items",
    "part put as it is": "items[1:2] = xs[n:]\n    return items",
    "part gone": "items[n:n + 2] = ()\n    return items, len(items)",
    "part deleted": "del items[n:n + 1]\n    return items",
    "deleted": "del items[n]\n    return items",
    "inserted": "items.insert(n, other)\n    return items, items[0]",
    "popped": "v = items.pop(n)\n    return v, items",
    "queue": "out = []\n    items.append(other)\n    while len(items) > 2:\n        v = items.pop(0)\n        out.append(v)\n        if len(out) < n:\n            items.append(v)\n    return out, items",
    "put before": "for k in range(n):\n        items.insert(0, xs[k % 3])\n    items.append(other)\n    return items, items.pop(1), items[n:]",
    "put between": "items.insert(-1, other)\n    items.insert(n, items[0])\n    items.insert(99, items[1])\n    items[n - 1] = other\n    return items, items.pop(-2), items.pop()",
    "gone by turns": "for k in range(n):\n        items.append(items.pop(k % 3))\n        del items[-1 - k % 2]\n        items.insert(k, other)\n    return items",
    "found": "v = items.index(other)\n    return v, items.count(other), other in items",
    "found after": "items[n] = other\n    return items.index(other), items.count(other), other in items",
    "removed": "items[n] = other\n    items.remove(other)\n    return items",
    "back to front": "items[n] = other\n    items.reverse()\n    return items",
    "cleared": "items[n] = other\n    m = len(items)\n    items.clear()\n    return items, m",
    "copied": "items[n] = other\n    other = items.copy()\n    items[0] = other[1]\n    return items, other",
    "shuffled": "rng.shuffle(items)\n    return items",
    "chosen": "return rng.choice(items), rng.choices(items, k=n % 3 + 1), rng.sample(items, 2)",
    "callee": "def at(k):\n        return items[k]\n    return at(n), at(0)",
    "recursion that puts before": "def down(k):\n        if k <= 0:\n            return 0\n        items.insert(k % 3, items[k % 2])\n        d = down(k - 1) + 1\n        items.append(items.pop(0))\n        return d\n    return down(n), items",
    "recursion": "def down(k):\n        if k <= 0:\n            return 0\n        items[k % 3] = items[k % 2]\n        return down(k - 1) + 1\n    return down(n), items",
}


# The share that is a graph, where it is less than half: `index()` and `in` of nodes, tuples and tensors are not, nor is what is put into a tuple.
LEAST = {"chosen": 0.3, "found": 0.4, "found after": 0.35, "removed": 0.35}


def seen(o, known):
    """What it is; nodes and tensors by which of the known ones they are."""
    if type(o) in (list, tuple):
        return [type(o).__name__, [seen(v, known) for v in o]]
    which = [i for i, k in enumerate(known) if k is o] if isinstance(o, (Node, janus.Tensor)) else []
    return which, type(o).__name__, None if isinstance(o, Node) else o


def outcome(f, kind, i):
    make, rng = KINDS[kind], random.Random(i)
    n = [1, 2, 0, 3, 1, -1, 2, -2, 5, -5, 1][i % 11]
    xs = [make(k) for k in range(4 + i // 6 % 2)]
    other = xs[2] if i % 4 == 1 else make(7)
    known = [*xs, other]
    try:
        r = f(xs, other, n, rng)
    except Exception as e:
        r = type(e).__name__, str(e)
    log = [seen(r, known), seen(xs, known), rng.random()]
    if kind == "leaves" and isinstance(r, janus.Tensor) and r.requires_grad:
        (r * 3).sum().backward()
        log.append([None if k.grad is None else k.grad.tolist() for k in known])
    return log


def program(source, use):
    return names_of(f"def f(xs, other, n, rng):\n    {FROM[source]}\n    {USES[use]}\n")["f"]


@pytest.mark.parametrize("use", USES)
def test_as_undecorated(use):
    graphs = 0
    ways = share(itertools.product(FROM, KINDS))
    for at, (source, kind) in enumerate(ways):
        f = program(source, use)
        g = janus.function(f, measure=False, verify=("never", "always")[at % 5 == 4], numerics=("fast", "exact")[at % 2])
        for i in range(12):
            want, got = outcome(f, kind, i), outcome(g, kind, i)
            assert close(want, got), (source, kind, i, want, got)
        graphs += g.stats()["graph"] >= 2
    assert graphs >= len(ways) * LEAST.get(use, 0.5), f"{graphs} of {len(ways)}"


STEPS = [
    "items.append(other)",
    "items.insert(n, other)",
    "items.insert(0, items[n % len(items)])",
    "items.insert(len(items) - n, xs[0])",
    "out.append(items.pop(0))",
    "out.append(items.pop(n % len(items)))",
    "out.append(items.pop())",
    "del items[-1]",
    "items[n % len(items)] = other",
    "items[0] = items[-1]",
    "items[1:n] = [other]",
    "del items[n:]",
    "items.reverse()",
    "out.append(items[n - n // 2 - 1])",
    "items.extend(xs)",
    "out.append(len(items))",
]


@pytest.mark.parametrize("where", ["items = xs", "items = []\n    for v in xs:\n        items.append(v)"])
def test_steps_in_any_order(where):
    """Steps drawn at random, in a loop: items put in front, behind and between, and taken out there, many times over."""
    draw, graphs, programs = random.Random(len(where)), 0, share(range(60))
    for seed in programs:
        draw.seed(seed)
        body = "".join(f"        {s}\n" for s in draw.choices(STEPS, k=draw.randint(2, 6)))
        text = f"def f(xs, other, n, rng):\n    {where}\n    out = []\n    for k in range(n):\n{body}        n = n - k % 2\n    return items, out\n"
        f = names_of(text)["f"]
        g = janus.function(f, measure=False, verify=("never", "always")[seed % 2])
        for i in range(12):
            kind = list(KINDS)[seed % len(KINDS)]
            want, got = outcome(f, kind, i), outcome(g, kind, i)
            assert close(want, got), (text, kind, i, want, got)
        graphs += g.stats()["graph"] >= 2
    assert graphs >= 0.45 * len(programs), f"{graphs} of {len(programs)}"


def test_a_long_queue():
    """A step at either end of a list costs the same however long it is: were it a step for each item, this would not come to its end."""

    def turns(n):
        queue, total = [], 0
        for i in range(n):
            queue.append(i)
        for i in range(n):
            total += queue.pop(0)
            queue.insert(0, i)
            queue.pop(0)
            if i % 3:
                queue.append(i)
        while queue:
            total -= queue.pop(0)
        return total

    f = janus.function(turns, measure=False)
    for n in (10, 20, 30, 40):
        assert f(n) == turns(n)
    for n in (1000, 50000):
        assert f(n) == turns(n)
    assert f.stats()["graph"] >= 3
