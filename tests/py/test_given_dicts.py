# SPDX-License-Identifier: Apache-2.0
"""Recursions that are given dicts, other ones in other calls: environments of names, memos, options. The class is generated:
how a call makes the dict of the next one times what it does with its own (pyfront/convert/calls/call.c)."""
import random

import pytest

import janus


class Node:
    def __init__(self, name, *kids):
        self.name, self.kids = name, kids


def same(env, n, x):
    return env


def spread(env, n, x):
    return {**env, n.name: x * 2}


def spread_constant(env, n, x):
    return {**env, "here": x, "n": len(n.kids)}


def copied(env, n, x):
    e = dict(env)
    e[n.name] = x + 1
    return e


def copied_if(env, n, x):
    if n.name == "b":
        env = env.copy()
        env["b"] = x * 3
    return env


def updated(env, n, x):
    e = {"first": x}
    e.update(env)
    return e


def without(env, n, x):
    return {k: v for k, v in env.items() if k != "first"}


def anew(env, n, x):
    return {n.name: x}


def written(env, n, x):
    env[n.name] = x * 2
    return env


HANDED = {f.__name__: f for f in (same, spread, spread_constant, copied, copied_if, updated, without, anew, written)}


def read(env, n, x):
    return env[n.name] if n.name in env else x


def got(env, n, x):
    return env.get(n.name, x) * 0.5


def asked_for(env, n, x):
    return env["a"] + 1


def counted(env, n, x):
    return x * len(env)


def summed(env, n, x):
    return sum([v for v in env.values()])


def in_order(env, n, x):
    y = x
    for i, (k, v) in enumerate(env.items()):
        y = y + v * (i + 1) * (2 if k == "a" else 1)
    return y


def identity(env, n, x):
    return x * (2.0 if env is FIRST[0] else 3.0)


def noted(env, n, x):
    env["here"] = x
    return x


def counting(env, n, x):
    env["n"] = env.get("n", 0) + 1
    return x * env["n"]


def taken(env, n, x):
    return env.pop("first") if "first" in env else x


def kept(env, n, x):
    n.env = env
    return x


def down(n, x, env, do):
    """The dict is made where it is handed on."""
    y = do(env, n, x)
    if not n.kids:
        return y
    return y + 0.5 * down(n.kids[0], x, {**env, n.name: x * 2}, do)


def down_anew(n, x, env, do):
    y = do(env, n, x)
    if not n.kids:
        return y
    return y - down_anew(n.kids[-1], x * 2, {n.name: y, "a": x}, do)


def let(n, x, env, do):
    if n.name == "a":
        return do(env, n, x)
    if n.kids:
        return let(n.kids[0], x, {**env, n.name: let(n.kids[-1], x, env, do)}, do)
    return x * do(env, n, x)


INSIDE = {f.__name__: f for f in (down, down_anew, let)}
FIRST = [None]
DONE = {f.__name__: f for f in (read, got, asked_for, counted, summed, in_order, identity, noted, counting,
                                taken, kept)}


def tree(rng, depth):
    return Node(rng.choice("abcd"), *[tree(rng, depth - 1) for _ in range(rng.randint(0, 2) if depth else 0)])


def shown(o):
    if isinstance(o, janus.Tensor):
        return [round(v, 3) for v in o.tolist()]
    return {k: shown(v) for k, v in o.items()} if isinstance(o, dict) else o


def nodes(n):
    return [n] + [m for k in n.kids for m in nodes(k)]


def run(handed, done, returned, options):
    w = janus.tensor([0.5, -0.25], requires_grad=True)

    def walk(n, x, env):
        y = DONE[done](env, n, x)
        for k in n.kids:
            y = y + 0.5 * walk(k, x, HANDED[handed](env, n, x))
        return y

    def step(t, x):
        env = {"a": x * w, "first": x}
        if done == "identity":
            FIRST[0] = env
        y = INSIDE[handed](t, x, env, DONE[done]) if handed in INSIDE else walk(t, x, env)
        return (y, env) if returned else y

    f = step if options is None else janus.function(step, **options)
    rng, out = random.Random(6), []
    for _ in range(12):
        t = tree(rng, 3)
        try:
            y = f(t, janus.tensor([rng.random(), 1.0]))
            first = y[0] if returned else y
            w.grad = None
            if first.requires_grad:
                first.sum().backward()
            whole = y[1] if returned else {}
            out.append([shown(first), shown(whole), list(whole), w.grad is None or shown(w.grad)])
        except Exception as e:
            out.append([type(e).__name__, str(e)])
        out.append([shown(m.env) if hasattr(m, "env") else None for m in nodes(t)])
        out.append(shown(FIRST[0]))
    return out, f


@pytest.mark.parametrize("done", DONE)
@pytest.mark.parametrize("handed", [*HANDED, *INSIDE])
def test_as_undecorated(handed, done):
    for returned in (False, True):
        want, _ = run(handed, done, returned, None)
        got, f = run(handed, done, returned, {"verify": "never", "measure": False})
        assert want == got, returned


@pytest.mark.parametrize("done", ["asked_for", "summed", "in_order"])
@pytest.mark.parametrize("handed", ["let", "down_anew", "spread_constant"])
def test_other_dicts_are_given_in_graphs(handed, done):
    _, f = run(handed, done, False, {"verify": "never", "measure": False})
    assert f.stats()["graph"] > 2
