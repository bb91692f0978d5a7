# SPDX-License-Identifier: Apache-2.0
"""numerics="exact": products round by the strides of their operands, and graphs keep them, to the bit.

Every view of every kind of value, read by every kind of product in every place of a program, forward and backward."""
import itertools

import janus
import pytest
from shares import LIGHT
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)


# v is a view of 33 x 33 of the square `{b}` of 66 x 66, or of more dims; x has 5 x 33.
VIEWS = {"transposed": "{b}[:33, :33].t()", "columns": "{b}.chunk(2, -1)[1][:33]", "rows": "{b}.chunk(2)[0].chunk(2, 1)[0]",
         "steps": "{b}[::2, ::2]", "permuted": "{b}.view(2, 33, 2, 33).permute(0, 2, 3, 1)[1, 0]", "whole": "{b}.t().chunk(2)[1][:, 33:]",
         "expanded": "{b}[0, :33].expand(33, 33)", "again": "{b}.t()[:33].t()[:33]", "squeezed": "{b}[None, :33, :33].transpose(1, 2).squeeze(0)"}
MADE = {"parameter": "w", "computed": "(w * 1.5)", "product": "(w @ w)"}
READ = {"product": "janus.tanh(x @ v)", "linear": "janus.tanh(F.linear(x, v))", "left": "janus.tanh((v @ x.t()).t())", "both": "janus.tanh(x @ v) @ v.t()",
        "vector": "(v @ x[0]) * x", "batch": "janus.tanh(janus.stack([x, x * 2]) @ v).sum(0)", "self": "x + (x @ x.t()) @ x * 0.01 + v[:5]",
        "dense": "v.softmax(-1)[:5] + janus.tanh(x @ v)"}
PLACES = {"at once": "    y = {read}\n", "after": "    y = x * 2\n    if y.sum() > -1e9:\n        y = y.exp()\n    y = {read} + y\n",
          "kept": "    keep(v)\n    y = {read}\n"}
# Where a view comes into another part of the graph, or a gradient from outside: equal, as a graph or not.
ACROSS = {"arm": "    y = {read}\n    if y.sum() > -1e9:\n        y = y + {read}\n    y = y + {read}\n",
          "rounds": "    y, k = x, 0\n    while y.sum() * 0 + k < 3:\n        y, k = y + {read}, k + 1\n",
          "recursion": "    y = deep(x, v, 3)\n", "result": "    v = either(v)\n    y = {read}\n"}
HELPERS = """
def deep(x, v, n):
    if x.sum() * 0 + n < 1:
        return {read}
    return deep(x, v, n - 1) + x


def either(v):
    if v.sum() > 1e9:
        return v.t().contiguous().t()
    return v.contiguous()


"""
LEAVES = {"mean": "(y * y).mean()", "sum": "y.sum()", "first": "y[0, 0]", "turned": "(y.t() * y.t().tanh()).sum()"}
ARGUMENTS = {"as it is": "x", "turned": "x.t().contiguous().t()", "columns": "janus.cat([x, x], 1)[:, 33:]", "steps": "janus.cat([x, x])[::2]",
             "repeated": "x[:1].expand(5, 33)"}


def program(view, made, read, place):
    text = (HELPERS.format(read=READ[read]) + "def f(x, w):\n    v = " + VIEWS[view].format(b=MADE[made]) + "\n" + place.format(read=READ[read]) +
            "    return y\n")
    return names_of(text, janus=janus, F=janus.nn.functional, keep=lambda v: None)["f"]


def seen(f, seed, argument="as it is", leaves="mean"):
    janus.manual_seed(seed)
    x, w = janus.randn(5, 33).requires_grad_(), (janus.randn(66, 66) * 0.1).requires_grad_()
    out = []
    for _ in range(2):
        y = f(eval(ARGUMENTS[argument]), w)
        loss = eval(LEAVES[leaves])
        loss.backward()
        out += [loss.tolist(), x.grad.tolist(), w.grad.tolist()]
    return out


@pytest.mark.parametrize("place", PLACES)
def test_views_of_products(place):
    graphs = n = 0
    for i, (view, made, read) in enumerate(itertools.product(VIEWS, MADE, READ)):
        if i % (9 if LIGHT else 2):
            continue
        f = program(view, made, read, PLACES[place])
        g = janus.function(f, numerics="exact", verify="never", measure=False)
        for seed in range(2):
            assert seen(g, seed) == seen(f, seed), (view, made, read, place)
        graphs += g.stats()["graph"] > 0
        n += 1
    assert graphs == n, f"{graphs} of {n}"


@pytest.mark.parametrize("place", ACROSS)
def test_views_from_outside(place):
    graphs = n = 0
    for i, (view, made, read) in enumerate(itertools.product(VIEWS, MADE, READ)):
        if i % (27 if LIGHT else 3):
            continue
        f = program(view, made, read, ACROSS[place])
        g = janus.function(f, numerics="exact", verify="never", measure=False)
        assert seen(g, 0) == seen(f, 0) and seen(g, 1) == seen(f, 1), (view, made, read, place)
        graphs += g.stats()["graph"] > 0
        n += 1
    assert graphs > n // 5 or place in ("result", "rounds"), f"{graphs} of {n}"  # refused by other rules


@pytest.mark.parametrize("leaves", LEAVES)
def test_arguments_and_cotangents(leaves):
    graphs = n = 0
    for i, (read, argument, place) in enumerate(itertools.product(READ, ARGUMENTS, {**PLACES, **ACROSS}.values())):
        if i % (9 if LIGHT else 2):
            continue
        f = program("transposed", "parameter", read, place)
        g = janus.function(f, numerics="exact", verify="never", measure=False)
        assert seen(g, 0, argument, leaves) == seen(f, 0, argument, leaves), (read, argument, place)
        graphs += g.stats()["graph"] > 0
        n += 1
    assert graphs > n // 4, f"{graphs} of {n}"
