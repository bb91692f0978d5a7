# SPDX-License-Identifier: Apache-2.0
"""Comparisons and logic in place: 0 and 1 of the tensor's dtype, decorated and undecorated, with and without a history."""
import itertools

import janus
import pytest

OPS = {"eq_": lambda a, b: a == b, "ne_": lambda a, b: a != b, "lt_": lambda a, b: a < b, "le_": lambda a, b: a <= b, "gt_": lambda a, b: a > b,
       "ge_": lambda a, b: a >= b, "logical_and_": lambda a, b: bool(a) and bool(b), "logical_or_": lambda a, b: bool(a) or bool(b),
       "logical_xor_": lambda a, b: bool(a) != bool(b)}
DTYPES = (janus.float32, janus.float64, janus.float16, janus.int64, janus.uint8, janus.bool)
OTHERS = {"tensor": lambda d: janus.tensor([1, 0, 3]).to(d), "number": lambda d: 1, "row": lambda d: janus.tensor([1.0])}


@pytest.mark.parametrize("name", OPS)
def test_bools_in_place(name):
    for dtype, (other, make) in itertools.product(DTYPES, OTHERS.items()):
        if other == "number" and name.startswith("logical"):
            continue
        y = make(dtype)

        def step(x, y):
            z = x.clone()
            r = getattr(z, name)(y)
            return z, r is z

        graph = janus.function(step, verify="never", measure=False)
        for _ in range(3):
            x = janus.tensor([1, 2, 0]).to(dtype)
            want = [float(OPS[name](a, b)) for a, b in zip(x.tolist(), y.expand(3).tolist() if other != "number" else [1] * 3)]
            for f in (step, graph):
                z, same = f(x, y)
                assert same and z.dtype == dtype and [float(v) for v in z.tolist()] == want, (name, dtype, other, f)
        assert graph.stats()["graph"]


def test_history_is_overwritten():
    def step(a):
        x = a * 3
        y = x * x
        z = a * 2
        z.lt_(a)
        return y.sum() + (z * a).sum()

    graph = janus.function(step, verify="never", measure=False)
    got = []
    for f in (step, graph, graph, graph):
        a = janus.tensor([1.0, -2.0, 3.0], requires_grad=True)
        loss = f(a)
        loss.backward()
        got.append((loss.item(), a.grad.tolist()))
    assert got[0] == (124.0, [18.0, -35.0, 54.0]) and got == got[:1] * 4 and graph.stats()["graph"]


def test_too_large_a_result():
    with pytest.raises(RuntimeError):
        janus.zeros(1).eq_(janus.zeros(3))
    with pytest.raises(RuntimeError):
        janus.zeros(3, requires_grad=True).eq_(0)  # a leaf
