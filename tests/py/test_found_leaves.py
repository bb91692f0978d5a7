# SPDX-License-Identifier: Apache-2.0
"""Trees whose nodes hold leaves of their own, others in each tree: constants that are fitted, parameters of rules.  A graph that has met such leaves takes
whichever it comes to as inputs of its node (docs/adr/0015-wires.md).  Generated trees x how they are visited x what goes backward x what is done to the leaves in between."""
import gc
import random
import weakref

import pytest

import janus
import janus.nn as nn
from compared import close
from shares import share
from texts import names_of

PROGRAM = """
class Var:
    def __init__(self, name): self.name = name
class Const:
    def __init__(self, value): self.value = value
class Unary:
    def __init__(self, op, arg): self.op, self.arg = op, arg
class Binary:
    def __init__(self, op, left, right): self.op, self.left, self.right = op, left, right
OPS = {'+': lambda a, b: a + b, '-': lambda a, b: a - b, '*': lambda a, b: a * b}
ONE = {'sin': janus.sin, 'tanh': janus.tanh, 'same': lambda v: v}
def evaluate(n, env):
    if isinstance(n, Var):
        return env[n.name]
    if isinstance(n, Const):
        return n.value
    if isinstance(n, Unary):
        return ONE[n.op](evaluate(n.arg, env))
    return OPS[n.op](evaluate(n.left, env), evaluate(n.right, env))
class Lists:
    def __init__(self, value, kids): self.value, self.kids = value, kids
def total(n, env):
    h = n.value * env['x']
    for k in n.kids:
        h = h + total(k, env).tanh()
    return h
def stored(n, env):
    n.h = n.value + env['x']
    for k in n.kids:
        stored(k, env)
        n.h = n.h * k.h
    return n.h
def two(n, env):
    h, s = n.value * env['x'], n.value
    for k in n.kids:
        a, b = two(k, env)
        h, s = h + a, s * b
    return h, s
"""
N = 4


def leaf(r, made):
    if made and r.random() < 0.15:
        return r.choice(made)
    t = janus.tensor([r.uniform(-1, 1) for _ in range(N)], requires_grad=True)
    made.append(t if r.kind is janus.Tensor else r.kind(t.detach()))
    return made[-1]


def tree(names, r, made, deep, way):
    if way != "evaluate":
        return names["Lists"](leaf(r, made), [tree(names, r, made, deep - 1, way) for _ in range(r.randrange(3) if deep else 0)])
    x = r.random()
    if not deep or x < 0.15:
        return names["Const"](leaf(r, made)) if x < 0.6 else names["Var"](r.choice("xy"))
    if x < 0.4:
        return names["Unary"](r.choice(["sin", "tanh", "same"]), tree(names, r, made, deep - 1, way))
    return names["Binary"](r.choice("+-*"), tree(names, r, made, deep - 1, way), tree(names, r, made, deep - 1, way))


def backward(out, **options):
    if out.requires_grad:
        out.sum().backward(**options)


def twice(out, leaves):
    backward(out, retain_graph=True)
    backward(out)


def written(out, leaves):
    with janus.no_grad():
        for t in leaves[::2]:
            t.mul_(0.5)
    backward(out)


def grads(out, leaves):
    if not out.requires_grad:
        return None
    return janus.autograd.grad(out.sum(), leaves + [janus.ones(1, requires_grad=True)], allow_unused=True)


def some(out, leaves):
    """Of every third leaf: what the others get is nobody's."""
    if not out.requires_grad:
        return None
    return [janus.autograd.grad(out.sum(), leaves[k::3], allow_unused=True, retain_graph=True) if leaves[k::3] else None for k in range(3)]


def created(out, leaves):
    got = grads(out, leaves)
    return got, janus.autograd.grad(out.sum(), leaves, allow_unused=True, create_graph=True)


def hooked(out, leaves):
    for t in leaves[::3]:
        t.register_hook(lambda g: g * 2)
    backward(out)


def unused(out, leaves):
    return out.detach() + 1


def trained(out, leaves):
    backward(out)
    with janus.no_grad():
        for t in leaves:
            if t.grad is not None:
                t -= 0.1 * t.grad


def data_set(out, leaves):
    for t in leaves[1::2]:
        t.data = t.data * 2.0
    backward(out)


THEN = {"backward": lambda out, leaves: backward(out), "twice": twice, "written": written, "grads": grads, "some": some, "created": created, "hooked": hooked, "unused": unused,
        "trained": trained, "data": data_set}


def shown(v):
    if isinstance(v, janus.Tensor):
        return v.detach().contiguous(), v.requires_grad
    if isinstance(v, (tuple, list)):
        return [shown(x) for x in v]
    return v


# What a graph raises where CPython does not: it counts as kept what one operand of a product does not ask of the other, and as used what any tree may use.
CAREFUL = ("one of the variables needed", "Trying to backward through the graph a second", "create_graph=True: this result")


def same(got, want):
    """Whether all is as undecorated, up to where a graph raises of care."""
    for a, b in zip(got, want):
        if not close(a, b):
            return isinstance(a, str) and a.partition(": ")[2].startswith(CAREFUL)
    return len(got) == len(want)


def outcome(names, f, seed, way, then):
    """What calls on several trees give, with what their leaves hold then."""
    r, seen, sharers = random.Random(seed), [], []
    r.kind = nn.Parameter if seed % 5 == 1 else janus.Tensor
    env = {"x": janus.linspace(-1, 1, N), "y": janus.linspace(0.5, 2, N)}
    if seed % 3 == 0:
        env["x"].requires_grad_()
    for turn in range(10):
        made = sharers[-2:] if seed % 2 else []  # leaves of earlier trees, whose gradients add up
        t = tree(names, r, made, r.randrange(1, 4), way)
        if turn == 7 and seed % 4 == 1:  # what requires no gradient, or has a history
            other = made[0] * 2 if made and seed % 8 == 1 else janus.ones(N)
            t = names["Lists"](other, [t]) if way != "evaluate" else names["Binary"]("*", names["Const"](other), t)
        leaves = list(made)
        sharers += made
        try:
            out = f(t, env)
            first = out[0] + out[1] if isinstance(out, tuple) else out
            seen.append((shown(out), shown(THEN[then](first, leaves))))
        except Exception as e:
            seen.append(f"{type(e).__name__}: {str(e)[:60]}")
        seen.append([(shown(x), None if x.grad is None else shown(x.grad)) for x in leaves + list(env.values())])
    return seen


@pytest.mark.parametrize("then", THEN)
@pytest.mark.parametrize("way", ["evaluate", "total", "stored", "two"])
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_as_undecorated(way, then):
    graphs = calls = 0
    for seed in share(range(12)):
        plain = names_of(PROGRAM, janus=janus)
        want = outcome(plain, plain[way], seed, way, then)
        for options in ({}, {"verify": "never"}, {"numerics": "exact"}):
            names = names_of(PROGRAM, janus=janus)
            f = names[way] = janus.function(names[way], **options)
            got = outcome(names, f, seed, way, then)
            if options.get("numerics") != "exact":
                graphs, calls = graphs + f.stats()["graph"], calls + f.stats()["calls"]
            assert same(got, want), (seed, options, next((i, a, b) for i, (a, b) in enumerate(zip(got, want)) if not close(a, b)))
    if way in ("evaluate", "total") and then in ("backward", "grads", "trained", "unused"):
        assert graphs > calls * {"evaluate": 0.25, "total": 0.6}[way], (graphs, calls)


def test_leaves_are_let_go_of():
    names = names_of(PROGRAM, janus=janus)
    f = names["evaluate"] = janus.function(names["evaluate"])
    r, refs, env = random.Random(1), [], {"x": janus.ones(N), "y": janus.ones(N)}
    for turn in range(30):
        made, r.kind = [], janus.Tensor
        t = tree(names, r, made, 3, "evaluate")
        out = f(t, env)
        backward(out, retain_graph=turn % 2 == 0)
        refs.append([weakref.ref(x) for x in made])
    del t, out, made
    gc.collect()
    assert f.stats()["graph"] > 10
    assert not any(ref() for ref in refs[-1]), "an entry or a node keeps leaves of a run"
