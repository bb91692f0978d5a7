# SPDX-License-Identifier: Apache-2.0
"""Tensors of the caller that are views, whose elements share places, or that get other memory: what is done with them depends on
that, and each call may bring another one."""
import itertools

import pytest
import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

# what a call brings, of 2 x 4; each with what it is a view of
BROUGHT = {
    "plain": lambda: (janus.arange(8.0).reshape(2, 4).clone(),) * 2,
    "view": lambda: (lambda b: (b.t(), b))(janus.arange(8.0).reshape(4, 2).clone()),
    "part": lambda: (lambda b: (b[1:], b))(janus.arange(12.0).reshape(3, 4).clone()),
    "spread": lambda: (lambda b: (b.expand(2, 4), b))(janus.arange(4.0)),
    "spread the other way": lambda: (lambda b: (b.expand(2, 4), b))(janus.arange(2.0).reshape(2, 1).clone()),
    "one": lambda: (lambda b: (b.expand(2, 4), b))(janus.ones(1, 1)),
    "windows": lambda: (lambda b: (b.as_strided((2, 4), (2, 1)), b))(janus.arange(6.0)),
    "leaf": lambda: (lambda b: (b, b))(janus.arange(8.0).reshape(2, 4).clone().requires_grad_()),
}
PLACES = {"argument": "x", "attribute": "o.x", "item": "xs[0]"}
WAYS = {
    "two parts": "{x}[0].mul_(0.5)\n    {x}[1].mul_(0.5)",
    "one is read": "{x}[0].add_(1)\n    r = {x}[1] * 1",
    "assigned": "{x}[0] = 5.0\n    r = {x}.sum()",
    "split": "p, q = {x}.split(1)\n    p.mul_(0.5)\n    q.mul_(0.5)",
    "columns": "{x}[:, 1:] += {x}[:, :-1]",
    "whole": "r = {x}.add_(1)\n    r = r * 1",
    "detached": "{x}.detach_()\n    r = {x} * 2",
    "detached and written": "{x}.detach_()\n    {x}.mul_(2)",
    "read": "r = {x} * 2 + {x}[0]",
}


def told(f, o):
    """What a call gives or raises, and what its tensor and the memory under it are afterwards."""
    try:
        found = f(o.x, o, [o.x])
        found = found.tolist() if isinstance(found, janus.Tensor) else found
    except Exception as problem:
        found = type(problem).__name__, str(problem)
    return found, o.x.tolist(), o.base.tolist(), o.x.requires_grad


class Holder:
    def __init__(self, name):
        self.x, self.base = BROUGHT[name]()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", PLACES)
def test_as_undecorated(place, way):
    text = f"def f(x, o, xs):\n    r = None\n    {WAYS[way].format(x=PLACES[place])}\n    return r\n"
    f = names_of(text)["f"]
    graphs = 0
    for first, then in itertools.permutations(BROUGHT, 2):
        g = janus.function(f, measure=False, verify="never")
        for name in (first, first, first, then, then, then, first):
            assert told(g, Holder(name)) == told(f, Holder(name)), f"{first}, then {then}: {name}"
        graphs += g.stats()["graph"] > 0
    assert graphs > 10


READS = ["o.w.data", "o.w.detach()", "p.data", "ps[0].data[1:]", "o.w.data.view(3, 1)", "o.w", "o.w.data * 1"]
LEAVES = ["st['w'] = {read}", "return {read}", "st['w'] = [{read}]", "o.seen = {read}"]
SETS = ["p.data = p.data - 0.1", "if x.sum() > 2:\n        p.data = p.data - 0.1", "for p in ps:\n        p.data = p.data - 0.1",
        "while n < o.n:\n        p.data = p.data - 0.1\n        n += 1"]


@pytest.mark.parametrize("sets", SETS)
def test_data_that_is_set(sets):
    """What is read of a parameter behind an assignment to its .data is of its new memory, and stays the caller's."""
    for read, leaves in itertools.product(READS, LEAVES):
        text = f"def f(x, o, st, ps):\n    n, p = 0, o.w\n    {sets}\n    {leaves.format(read=read)}\n"
        f = names_of(text)["f"]
        logs = []
        for way in (f, janus.function(f, measure=False, verify="never")):
            o, st, log = Holder("plain"), {}, []
            o.w, o.n = janus.nn.Parameter(janus.ones(3)), 1
            ps = [o.w, janus.nn.Parameter(janus.ones(2))]
            for k in range(6):
                o.n = 1 + k % 2
                found = way(janus.ones(2) * (k % 3), o, st, ps)
                kept = [found, st.get("w"), getattr(o, "seen", None)]
                kept = [k[0] if isinstance(k, list) else k for k in kept if k is not None]
                log.append([k.tolist() for k in (*kept, o.w)])
                with janus.no_grad():
                    o.w.add_(1)
                log.append([k.tolist() for k in kept])
            logs.append(log)
        assert logs[0] == logs[1], text


@pytest.mark.parametrize("call", ["janus.autograd.grad(y, [])", "janus.autograd.grad(y, ())", "y.backward(inputs=[])"])
def test_gradients_of_nothing(call):
    w = janus.ones(2, requires_grad=True)
    f = names_of(f"def f(x, w):\n    y = (x * w).sum()\n    {call}\n    return y\n", janus=janus)["f"]
    for way in (f, janus.function(f, measure=False, verify="never")):
        for _ in range(3):
            with pytest.raises(RuntimeError, match="cannot be empty"):
                way(janus.ones(2), w)
    assert w.grad is None
