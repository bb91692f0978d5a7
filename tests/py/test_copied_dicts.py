# SPDX-License-Identifier: Apache-2.0
"""Interpreters whose scopes are copies of the scope around: dicts that a recursion copies, whichever keys they have."""
import itertools
import random

import pytest

import janus
from shares import LIGHT, share
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

COPIES = {
    "dict()": "inner = dict(env)\n        inner[n.name] = v",
    "copy()": "inner = env.copy()\n        inner[n.name] = v",
    "**": "inner = {**env, n.name: v}",
    "** behind": "inner = {n.name: v, **env}\n        inner[n.name] = v",
    "update": "inner = {}\n        inner.update(env)\n        inner[n.name] = v",
    "update of some": "inner = {n.name: v}\n        inner.update(env)\n        inner[n.name] = v * 2",
    "two": "inner = dict(env)\n        inner.update({n.name: v})\n        inner = {**inner, **env, n.name: v}",
    "written behind": "inner = dict(env)\n        env[n.name] = v * 0.5\n        inner[n.name] = v",
    "taken out": "inner = dict(env)\n        if n.name in inner:\n            del inner[n.name]\n        inner[n.name] = v",
    "a copy of a copy": "inner = dict(dict(env))\n        inner[n.name] = v",
    "itself": "inner = dict(env)\n        inner[n.name] = v\n        inner.update(inner)",
}
PROGRAM = """
class N:
    def __init__(self, op, *of, name=None):
        self.op, self.of, self.name = op, of, name
def ev(n, env, w):
    if n.op == 'var':
        return {var}
    if n.op == 'let':
        v = ev(n.of[0], env, w)
        {copy}
        return ev(n.of[1], inner, w) + len(inner) * 0.125
    a, b = ev(n.of[0], env, w), ev(n.of[1], env, w)
    return a + b if n.op == 'add' else a * b * w
def f(n, env, w):
    {call}
"""
CALLS = {
    "value": "return ev(n, env, w)",
    "gradient": "y = ev(n, env, w).sum()\n    y.backward()\n    return y",
    "all": "y = ev(n, env, w).sum()\n    y.backward()\n    return y, list(env)",
}
VARS = {"computed": "(env[n.name] * w).tanh()", "as it is": "env[n.name]"}  # what requires grad on all paths, and on some
NAMES = {"texts": ["x", "y", "a", "b", "c"], "numbers": [3, 5, 10**6, -2, 0]}


def tree(draw, depth, names, all_names, make):
    if depth == 0 or draw.random() < 0.2:
        return make("var", name=draw.choice(names))
    if draw.random() < 0.4:
        name = draw.choice(all_names)
        return make("let", tree(draw, depth - 1, names, all_names, make),
                    tree(draw, depth - 1, names if name in names else names + [name], all_names, make), name=name)
    return make(draw.choice(["add", "mul"]), *(tree(draw, depth - 1, names, all_names, make) for _ in range(2)))


def outcome(f, make, seed, names, leaves):
    draw = random.Random(seed)
    t = make("mul", tree(draw, 3, names[:2], names, make), make("let", tree(draw, 2, names[:2], names, make), make("var", name=names[2]), name=names[2]))
    env = {name: (janus.ones(3) * (k + 1) / 4).requires_grad_(leaves and k == 0) for k, name in enumerate(names[:2])}
    first = env[names[0]]
    w = janus.linspace(0.1, 0.9, 3).requires_grad_(True)
    try:
        out = f(t, env, w)
    except RuntimeError as e:
        out = str(e)
    grads = [None if x.grad is None else x.grad.tolist() for x in (w, first)]
    return [(x.tolist(), x.requires_grad) if isinstance(x, janus.Tensor) else x for x in (out if isinstance(out, tuple) else (out,))], grads, list(env), [v.tolist() for v in env.values()]


def close(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-5 * max(1, abs(a))
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(close, a, b))
    return a == b


@pytest.mark.parametrize("options", [{}, {"verify": "never"}, {"verify": "always"}, {"numerics": "exact"}], ids=str)
@pytest.mark.parametrize("copy", COPIES)
def test_as_undecorated(copy, options):
    graphs = 0
    for call, var, keys, leaves in share(list(itertools.product(CALLS, VARS, NAMES, (False, True)))):
        names = names_of(PROGRAM.format(copy=COPIES[copy], call=CALLS[call], var=VARS[var]))
        f = janus.function(names["f"], measure=False, **options)
        for seed in range(12):
            want = outcome(names["f"], names["N"], seed, NAMES[keys], leaves)
            got = outcome(f, names["N"], seed, NAMES[keys], leaves)
            assert close(want, got), (call, var, keys, leaves, seed, want, got)
        graphs += f.stats()["graph"]
    assert graphs or options == {"numerics": "exact"} or copy == "written behind" or LIGHT > 2


KEPT = """
class N:
    def __init__(self, name, *of):
        self.name, self.of, self.scope = name, of, None
def bind(n, env, w):
    inner = dict(env)
    {change}
    inner[n.name] = (inner['x'] * w).tanh()
    n.scope = {kept}
    y = inner[n.name]
    for c in n.of:
        y = y + bind(c, inner, w)
    return y * len(inner)
def f(n, env, w):
    return bind(n, env, w)
"""
CHANGES = ["pass", "if 'a' in inner:\n        del inner['a']", "inner['k'] = env['x'] * len(inner)",
           "if 'b' in inner:\n        del inner['b']\n        inner['b'] = env['x']", "env['q'] = inner['x'] + 1", "inner.update(x=env['x'] + 1)"]
KEEPS = ["inner", "dict(inner)", "{**inner, 'u': env['x']}", "{'b': w, **env, **inner}"]


def kept(f, make, seed):
    """What the nodes keep: pairs in their order, which of the values are the caller's tensors, and which are one."""
    draw = random.Random(seed)

    def bush(depth):
        return make(draw.choice(["x", "yy", "ab c", "b", "c"]), *(bush(depth - 1) for _ in range(draw.randrange(3) if depth else 0)))

    def every(n):
        return [n, *(m for c in n.of for m in every(c))]

    env = {"x": janus.ones(2), "z": janus.ones(2) * 2, "a": janus.zeros(2)}
    was = {id(v): k for k, v in env.items()}
    t = bush(3)
    y = f(t, env, janus.ones(2) * 0.5)
    scopes = [n.scope for n in every(t)]
    values = [v for d in [env, *scopes] for v in d.values()]
    return y.tolist(), [list(d) for d in scopes], [v.tolist() for v in values], [was.get(id(v)) for v in values], \
        [[a is b for a in scopes] for b in scopes], [[a["x"] is b["x"] for a in scopes] for b in scopes], list(env)


@pytest.mark.parametrize("options", [{}, {"verify": "never"}, {"verify": "always"}], ids=str)
def test_copies_that_remain(options):
    for change, keeps in share([(c, k) for c in CHANGES for k in KEEPS]):
        names = names_of(KEPT.format(change=change, kept=keeps))
        f = janus.function(names["f"], measure=False, **options)
        for seed in range(12):
            want, got = (kept(g, names["N"], seed) for g in (names["f"], f))
            assert close(list(want), list(got)), (change, keeps, seed, want, got)
        assert f.stats()["graph"] > 8, (change, keeps, f.stats())


def test_keys_that_a_run_cannot_tell():
    """Keys of other kinds than texts, ints and objects, and a subclass of dict: CPython's own calls."""
    names = names_of(KEPT.format(change="pass", kept="inner"))
    f = janus.function(names["f"], measure=False, verify="never")
    for k, key in enumerate(["a", 7, 1.5, (1, 2), True, None, 10**30, frozenset(), names["N"]("q")] * 2):
        for made in (dict, type("D", (dict,), {})):
            results = []
            for g in (names["f"], f):
                t = names["N"]("x", names["N"]("c"))
                y = g(t, made({key: janus.ones(2) * k, "x": janus.ones(2)}), janus.ones(2) * 0.5)
                results.append((y.tolist(), list(t.scope), list(t.of[0].scope), [v.tolist() for v in t.of[0].scope.values()]))
            assert results[0] == results[1], key
