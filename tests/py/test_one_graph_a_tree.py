# SPDX-License-Identifier: Apache-2.0
"""Recursions over the program's objects of which no one graph for all trees is made, since what they return has as many kinds as a tree has
places: numbers, tensors of several dims, lists of several lengths.  A tree that comes again has a graph of its own; whatever is changed in it
is seen, and trees that never come again have none."""
import itertools
import random

import pytest

import janus
from shares import share
from texts import names_of

STYLES = {
    "methods": """
class Node:
    def __init__(self, *args): self.args = args
class Leaf(Node):
    def run(self, env): return env[self.args[0]] if isinstance(self.args[0], str) else self.args[0]
class Add(Node):
    def run(self, env): return self.args[0].run(env) + self.args[1].run(env)
class Mul(Node):
    def run(self, env): return self.args[0].run(env) * self.args[1].run(env)
class Act(Node):
    def run(self, env):
        x = self.args[0].run(env)
        return janus.tanh(x) if isinstance(x, janus.Tensor) else x * 0.5
class Join(Node):
    def run(self, env): return janus.stack([janus.ones(3) * a.run(env) for a in self.args]).sum(0)
def f(tree, env): return tree.run(env)
""",
    "function": """
class Node:
    def __init__(self, *args): self.args = args
class Leaf(Node): pass
class Add(Node): pass
class Mul(Node): pass
class Act(Node): pass
class Join(Node): pass
def run(n, env):
    if isinstance(n, Leaf):
        return env[n.args[0]] if isinstance(n.args[0], str) else n.args[0]
    got = [run(a, env) for a in n.args]
    if isinstance(n, Add): return got[0] + got[1]
    if isinstance(n, Mul): return got[0] * got[1]
    if isinstance(n, Join): return janus.stack([janus.ones(3) * g for g in got]).sum(0)
    return janus.tanh(got[0]) if isinstance(got[0], janus.Tensor) else got[0] * 0.5
def f(tree, env): return run(tree, env)
""",
    "lists": """
class Node:
    def __init__(self, *args): self.args = args
class Leaf(Node): pass
class Add(Node): pass
class Mul(Node): pass
class Act(Node): pass
class Join(Node): pass
def leaves(n, env):
    if isinstance(n, Leaf):
        return [env[n.args[0]] if isinstance(n.args[0], str) else n.args[0]]
    out = []
    for a in n.args:
        out = out + leaves(a, env)
    return [out[0] * out[-1]] + out if isinstance(n, Mul) else out
def f(tree, env):
    total = 0.0
    for x in leaves(tree, env):
        total = total + x * 0.5
    return total
""",
}


def tree(names, rng, depth):
    kind = rng.choice(["Add", "Mul", "Act", "Join"]) if depth else "Leaf"
    if kind == "Leaf":
        return names["Leaf"](rng.choice(["a", "x", "m", 2.0, 0.5, 3]))
    n = {"Act": 1, "Join": rng.randint(2, 3)}.get(kind, 2)
    return names[kind](*[tree(names, rng, rng.randint(0, depth - 1)) for _ in range(n)])


def nodes(t):
    yield t
    for a in t.args:
        if hasattr(a, "args"):
            yield from nodes(a)


def change(names, t, rng):
    """Something in the tree is another one from here on."""
    n = rng.choice(list(nodes(t)))
    if isinstance(n, names["Leaf"]):
        n.args = (rng.choice(["a", "x", 4.0, 1]),)
    else:
        at = rng.randrange(len(n.args))
        n.args = tuple(tree(names, rng, 1) if i == at else a for i, a in enumerate(n.args))


def shown(v):
    if isinstance(v, janus.Tensor):
        g, = janus.autograd.grad(v.sum(), [P], allow_unused=True) if v.requires_grad else (None,)
        return v.tolist(), list(v.shape), v.requires_grad, None if g is None else g.tolist()
    return type(v).__name__, v


P = janus.full((3,), 0.3).requires_grad_()


def outcome(style, seed, options, rounds=16, again=True):
    names = names_of(STYLES[style], janus=janus)
    rng = random.Random(seed)
    f = janus.function(names["f"], measure=False, **options) if options else names["f"]
    trees = [tree(names, rng, 3) for _ in range(3)]
    env, seen = {"a": janus.tensor(0.7), "x": P, "m": janus.full((2, 3), 0.1)}, []
    for i in range(rounds):
        if not again:
            trees = [tree(names, rng, 3) for _ in range(3)]
        for t in trees:
            try:
                seen.append(shown(f(t, env)))
            except RuntimeError as e:
                seen.append(str(e))
        if i > 9 and i % 2:
            change(names, rng.choice(trees), rng)
        if i == 13:
            env["a"] = janus.tensor([0.2, 0.4, 0.6])
    return seen, f


CASES = list(itertools.product(STYLES, range(40)))


def close(a, b, tolerance):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= tolerance * max(1, abs(a)) or (a != a and b != b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(close(x, y, tolerance) for x, y in zip(a, b))
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_as_undecorated(numerics):
    wrong, graphs, calls = [], 0, 0
    for style, seed in share(CASES):
        want, _ = outcome(style, seed, {})
        got, f = outcome(style, seed, {"verify": "never", "numerics": numerics, "regions": False})
        graphs, calls = graphs + f.stats()["graph"], calls + len(want)
        if not close(want, got, 1e-5 if numerics == "fast" else 0):
            wrong.append((style, seed))
    assert not wrong
    assert graphs > 0.2 * calls, (graphs, calls)


def test_trees_that_do_not_come_again():
    """Nothing is converted for the sake of one tree."""
    for style in STYLES:
        _, f = outcome(style, 7, {"verify": "never", "regions": False}, rounds=40, again=False)
        assert "one graph a tree" not in str(janus.explain(f))
