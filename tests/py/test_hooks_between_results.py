# SPDX-License-Identifier: Apache-2.0
"""Hooks of several results of one graph, and of what it was given, are called in the order of the program's ops, see what has its
gradient by then, and stop what comes later."""
import itertools

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TEXT = """
def rec(a, n): return a * q if n <= 0 else rec(a * p, n - 1) + a
def f(x, n):
    {body}
"""
BODIES = {
    "apart": "return x * p, x * q",
    "the other way": "b = x * q\n    return x * p, b, q * 2",
    "one of the other": "a = x * p\n    return a * q, a",
    "unused first": "a = x * 2\n    b = x * p\n    return a, b.clone()",
    "three": "a, b = x * p, q * x\n    c = a * b\n    return b * r, c, a.tanh()",
    "alike": "a = x * p\n    return a.sum(), (a * q).sum(), a.sum()",
    "compared": "a = janus.where(x * p > p, q, p)\n    return a * r, x * q",
    "detached": "a = x * p\n    return a * q, a.detach() * r",
    "in place": "a = x * p\n    b = a * 1\n    b.mul_(q)\n    return b, a * r",
    "loop": "a = x * r\n    b = x * p\n    for i in range(n):\n        b = b * q + a\n    return a, b",
    "recursion": "a = x * p\n    return rec(a, n) * r, a * q",
    "layers": "a = janus.nn.functional.linear(x, m, q)\n    return a * p, a.relu() * r",
    "dict": "a = x * p\n    return {'a': a, 'b': a * q, 'c': [r * x]}",
}
# In which order their uses of leaves come is not asked (docs/never-wrong.md, "Listed differences"; two ops that are alike are one in a graph).
BY_PATH = {"recursion", "loop", "alike"}
HOOKED = [("first", "last"), ("last", "first"), ("first", "p"), ("q", "last"), ("p", "q"), ("first", "last", "p", "q"), ("last", "x", "r")]
KINDS = ("name", "look", "stop")
ASKS = {
    "all": "total(rs).backward()",
    "first": "rs[0].sum().backward()",
    "last": "rs[-1].sum().backward()",
    "more": "((rs[0] * p).sum() + rs[-1].sum() + q.sum()).backward()",
    "grad": "janus.autograd.grad(total(rs), [p, q], allow_unused=True)",
    "twice": "rs[0].sum().backward()\n    total(rs).backward()",
    "retained": "total(rs).backward(retain_graph=True)\n    total(reversed(rs)).backward()",
}


def tensors(v):
    if isinstance(v, janus.Tensor):
        return [v]
    return [t for e in (v.values() if isinstance(v, dict) else v) for t in tensors(e)]


def total(ts):
    return sum(t.sum() for t in ts)


def leaf(*values):
    return janus.tensor(values, requires_grad=True)


def outcomes(body, decorated):
    """Of each way to hook and to ask, what the hooks were told, and what is there then."""
    leaves = {key: leaf(0.5, 2.0) for key in "pqr"} | {"m": janus.tensor([[0.5, 1.0], [2.0, 0.25]], requires_grad=True)}
    names = names_of(TEXT.format(body=BODIES[body]), janus=janus, __name__="program", **leaves)
    f = janus.function(names["f"], verify="never", measure=False) if decorated else names["f"]
    out = []
    for hooked, kind, ask in shares.share(itertools.product(HOOKED, KINDS, ASKS)):
        if body in BY_PATH and len({*hooked} & {*"pqr"}) > 1 or body in BY_PATH and kind != "name" and ({*hooked} & {*"pqr"}):
            continue
        calls = []

        def hook_of(name):
            def hook(g):
                calls.append(name)
                if kind == "look":
                    calls.extend(key for key, t in leaves.items() if t.grad is not None)
                if kind == "stop" and name == hooked[-1]:
                    raise KeyError(name)
            return hook

        for k in range(2):
            x = leaf(1.0, 2.0 + k)
            rs = tensors(f(x, 2))
            of = {"first": rs[0], "last": rs[-1], "x": x, **leaves}
            hooks = [of[name].register_hook(hook_of(name)) for name in hooked if of[name].requires_grad]
            try:
                exec(ASKS[ask].replace("\n    ", "\n"), {"rs": rs, "total": total, "janus": janus, **leaves})
            except (KeyError, RuntimeError) as e:
                calls.append(str(e)[:30])
            for h in hooks:
                h.remove()
            for key, t in (*leaves.items(), ("x", x)):
                calls.append((key, None if t.grad is None else [round(v, 2) for v in t.grad.reshape(-1).tolist()]))
                t.grad = None
        out.append((hooked, kind, ask, calls))
    return out, f


@pytest.mark.parametrize("body", BODIES)
def test_in_the_order_of_the_ops(body):
    wanted, _ = outcomes(body, False)
    got, f = outcomes(body, True)
    different = [(w, g[3]) for w, g in zip(wanted, got) if w != g]
    assert not different, (len(different), len(wanted), different[0])
    assert f.stats()["graph"] > len(wanted)
