# SPDX-License-Identifier: Apache-2.0
"""Ops that take a number, each node of a tree with one of its own: rows that run together keep theirs."""
import random

import janus
import pytest
from compared import close
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

PROGRAM = """
def make(w):
    def step(n):
        def rec(n):
            x = w * n.v
            for k in n.kids:
                x = x + rec(k) * 0.5
            return {op}
        return rec(n)
    return step
"""
OPS = {
    "masked_fill": "x.masked_fill(x > 1, n.v)",
    "masked_fill of an int": "x.masked_fill(x > 1, n.i)",
    "masked_fill of ints": "x + (x > 1).long().masked_fill(x > 2, n.i)",
    "masked_fill of bools": "x + (x > 1).masked_fill(x > 2, n.i)",
    "masked_fill_": "(x * 1).masked_fill_(x > 1, n.v)",
    "addcmul": "janus.addcmul(x, w, x, value=n.v)",
    "addcdiv": "janus.addcdiv(x, w, x * x + 1, value=n.v)",
    "add alpha": "janus.add(x, w, alpha=n.v)",
    "sub alpha": "janus.sub(x, w, alpha=n.i)",
    "lerp": "x.lerp(w, n.v)",
    "where": "janus.where(x > 1, x, n.v)",
    "where of two": "janus.where(x > 1, n.i, n.v) + x",
    "clamp": "x.clamp(min=n.v, max=n.i + 1)",
    "maximum": "janus.maximum(x, janus.tensor(n.v))",
    "full": "x + janus.full((3,), n.v)",
    "full_like": "x + janus.full_like(x, n.v)",
    "tensor": "x + janus.tensor([n.v, n.i, 1.0])",
    "pow": "(x * x + 1) ** n.i",
    "rpow": "(n.i + 1.5) ** (x * 0.1)",
    "div": "n.v / (x * x + 1)",
    "floordiv": "(x * 4) // (n.i + 1)",
    "mod": "x % (n.v + 1)",
    "compare": "x + (x > n.v) + (x == n.i)",
    "select": "x + x[n.i]",
    "select of a table": "x + janus.stack([x, w])[n.i % 2]",
    "part": "x + x[:n.i + 1].sum()",
    "write": "put(x * 1, n.i, n.v)",
    "write of a part": "put_part(x * 1, n.i, n.v)",
    "fill_": "x + (x * 1).fill_(n.v)",
    "softplus": "janus.nn.functional.leaky_relu(x - n.v, 0.1)",
    "layer": "x + janus.arange(3) * n.i",
}
HELPERS = """
def put(x, i, v):
    x[i] = v
    return x
def put_part(x, i, v):
    x[i:] = v
    return x
"""


class Node:
    pass


def tree(depth, rng):
    n = Node()
    n.v, n.i = rng.randrange(1, 9) / 4, rng.randrange(3)
    n.kids = [tree(depth - 1, rng) for _ in range(rng.randrange(1, 4))] if depth else []
    return n


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("grad", [False, True])
def test_numbers(op, grad):
    both = []
    for decorated in (False, True):
        w = janus.tensor([0.5, 1.0, 1.5], requires_grad=grad)
        step = names_of(HELPERS + PROGRAM.format(op=OPS[op]), janus=janus)["make"](w)
        if decorated:
            step = janus.function(step, verify="never", measure=False)
        rng, seen = random.Random(2), []
        for i in range(8):
            w.grad = None
            r = step(tree(1 + i % 3, rng))
            if r.requires_grad:
                r.sum().backward()
            seen.append((r.detach(), None if w.grad is None else w.grad.clone()))
        both.append(seen)
    assert close(both[0], both[1])
