# SPDX-License-Identifier: Apache-2.0
"""Trees gone through by queues, stacks and levels, of which only the graph knows how long they are."""
import collections
import itertools
import random

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

# How the queue begins, what takes a node from it, and how its children are put there.
QUEUES = {
    "a list from its end": ("[root]", "todo.pop()"),
    "a list from its start": ("[root]", "todo.pop(0)"),
    "a deque from its start": ("collections.deque([root])", "todo.popleft()"),
    "a deque from its end": ("collections.deque([root])", "todo.pop()"),
    "a deque of pairs": ("collections.deque([(root, 0)])", "todo.popleft()"),
}
PUTS = {
    "extend": "todo.extend({kids})",
    "append": "for k in {kids}:\n            todo.append(k)",
    "itself, too": "todo.extend({kids})\n        same = todo is n",
    "backwards": "todo.extend(reversed({kids}))",
}
# What is computed of the level.
LEVELS = {
    "sum": "sum([e[n.v] for n in level], z)",
    "mean of a stack": "janus.stack([e[n.v] for n in level]).mean(0)",
    "sum of a stack": "janus.stack([(e[n.v] * p).tanh() for n in level], dim=0).sum(0)",
    "largest of a stack": "janus.stack([e[n.v] for n in level]).max(0)[0]",
    "rows joined": "janus.cat([e[n.v:n.v + 1] for n in level]).mean(0)",
}
QUEUE = """
def f(root):
    todo, h = {begin}, z
    while todo:
        n{depth} = {take}
        h = (h * p + e[n.v]{by}).tanh()
        {put}
    return h
"""
LEVEL = """
def f(root):
    level, h = [root], z
    while level:
        h = (h * p + {level}).tanh()
        level = [k for n in level for k in n.kids]
    return h
"""


class Node:
    def __init__(self, v, kids):
        self.v, self.kids = v, kids


def tree(r, depth):
    return Node(r.randrange(6), [tree(r, depth - 1) for _ in range(r.randint(0, 3))] if depth else [])


def outcomes(text, numerics):
    janus.manual_seed(0)
    p = janus.tensor([0.5, 0.25, 1.0], requires_grad=True)
    names = names_of(text, janus=janus, collections=collections, e=janus.rand(6, 3), z=janus.zeros(3), p=p, __name__="program")
    f = names["f"] if numerics is None else janus.function(names["f"], numerics=numerics, verify="never", measure=False)
    r, seen = random.Random(4), []
    for _ in range(16):
        p.grad = None
        y = f(tree(r, 3))
        y.sum().backward()
        seen.append((y.tolist(), p.grad.tolist()))
    return seen, f


def compare(text, numerics):
    (want, _), (got, f) = outcomes(text, None), outcomes(text, numerics)
    for a, b in zip(want, got):
        assert all(abs(x - y) <= 1e-5 * (1 + abs(x)) for s, t in zip(a, b) for x, y in zip(s, t)), (text, numerics, a, b)
    return f


def queue(begin, put):
    start, take = QUEUES[begin]
    pairs = begin == "a deque of pairs"
    kids = "[(k, d + 1) for k in n.kids]" if pairs else "n.kids"
    return QUEUE.format(begin=start, take=take, depth=", d" if pairs else "", by=" * (d + 1)" if pairs else "", put=PUTS[put].format(kids=kids))


@pytest.mark.parametrize("begin", QUEUES)
def test_queues(begin):
    for put, numerics in shares.share(itertools.product(PUTS, ("fast", "exact"))):
        compare(queue(begin, put), numerics)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_levels(level, numerics):
    compare(LEVEL.format(level=LEVELS[level]), numerics)


@pytest.mark.parametrize("text", [queue("a deque from its start", "extend"), queue("a list from its end", "extend"), LEVEL.format(level=LEVELS["mean of a stack"])])
def test_they_are_graphs(text):
    f = compare(text, "fast")
    stats = f.stats()
    assert stats["graph"] >= 9 and stats["conversions"] <= 7, stats
