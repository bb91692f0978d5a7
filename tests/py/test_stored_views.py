# SPDX-License-Identifier: Apache-2.0
"""What a graph stores in objects shares memory with what CPython's shares it with: random recursions over trees that
hand tensors and views of them down, return them and store them."""
import random
import textwrap

import pytest

import janus
from shares import EACH, share
from texts import names_of


class Node:
    def __init__(self, kids):
        self.kids, self.h, self.s, self.t = kids, None, None, None


def tree(rng, depth=4):
    return Node([tree(rng, depth - 1) for _ in range(rng.randint(1 if depth == 4 else 0, 3) if depth else 0)])


def nodes(n):
    yield n
    for k in n.kids:
        yield from nodes(k)


def who_shares(*tensors):
    """What all tensors hold after each of them was filled in turn: says which share memory."""
    there = [t for t in tensors if t is not None]
    seen = []
    for i, t in enumerate(there):
        t.fill_(100.0 + i)
        seen.append([u.tolist() for u in there])
    return seen, [next(i for i, u in enumerate(there) if u is t) for t in there]


def expression(rng, names):
    e = rng.choice(names)
    return e + rng.choice(["", "", " * 2", " + 1", " - 3", ".view(4, 3)", "[:]"])


def program(rng):
    """A recursion whose tensors are all of one shape."""
    names, body = ["h", "outer"], []
    for i in range(rng.randint(1, 3)):
        body.append(f"v{i} = {expression(rng, names)}")
        names.append(f"v{i}")
    if rng.random() < 0.3:
        body.append(f"if len(n.kids) > 1:\n    w = {expression(rng, names)}\nelse:\n    w = {expression(rng, names)}")
        names.append("w")
    returns = rng.random() < 0.5
    call = f"down(k, {expression(rng, names)})"
    body.append(f"for k in n.kids:\n    {'r = ' if returns else ''}{call}")
    if returns and rng.random() < 0.5:
        body[-1] += "\n    k.h = " + expression(rng, ["r"])
    if rng.random() < 0.3:
        body[-1] += "\n    n.s = " + expression(rng, ["k.t"])
    for place in rng.sample(["n.s", "n.t"], rng.randint(1, 2)):
        body.insert(len(body) - rng.randint(0, 1), f"{place} = " + expression(rng, names))
    if returns:
        body.append(f"return {expression(rng, names)}")
    text = "def f(n, x):\n    outer = x * 2\n    def down(n, h):\n"
    text += textwrap.indent("\n".join(body), " " * 8)
    return text + f"\n    return down(n, {rng.choice(['outer', 'x', 'outer[:]', 'x * 3', 'outer * 3', 'outer - x'])})\n"


def run(f, seed):
    rng = random.Random(seed)
    root, x = tree(rng), janus.arange(12).reshape(4, 3).float()
    for n in nodes(root):
        n.t = x.clone()
    result = f(root, x)
    return who_shares(x, result, *[t for n in nodes(root) for t in (n.h, n.s, n.t)])


@pytest.mark.parametrize("first", range(0, 160, 40))
def test_who_shares_memory(first):
    graphs = 0
    for seed in share(range(first, first + 40)):
        text = program(random.Random(seed))
        f = names_of(text, janus=janus)["f"]
        g = janus.function(f, verify="never", measure=False)
        for i in range(24):
            assert run(f, i) == run(g, i), text
        graphs += g.stats()["graph"] > 3
    assert graphs >= max(10 // EACH, 1)
