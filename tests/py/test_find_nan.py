# SPDX-License-Identifier: Apache-2.0
"""janus.debug.find_nan: the op and the line of the first NaN, wherever it is made."""
import sys

import pytest

import janus
from janus import nn
from janus.debug import find_nan

HERE = __file__


def line_of(text):
    with open(HERE, encoding="utf-8") as file:
        return next(i for i, line in enumerate(file, 1) if text in line and "line_of" not in line)


def inner(x):
    y = x + 1
    return y.log() * 2  # made in inner


def outer(x):
    a = x * 3
    b = inner(a)
    return b.sum() + a.sum()


@janus.function
def decorated(x):
    return outer(x)


def test_where_it_is_made():
    x = janus.tensor([1.0, -5.0, 2.0, -9.0])
    for f in (outer, decorated, lambda x: [outer(x)]):
        for _ in range(3):  # also when there is a graph
            got = find_nan(f, x)
            assert (got.op, got.made, got.count, got.of) == ("log", True, 2, 4)
            assert (got.file, got.line, got.function) == (HERE, line_of("# made in inner"), "inner")
            assert (got.operands, got.results) == ("f32[4]", "f32[4]")
            assert "NaN is made by log (f32[4] -> f32[4]): 2 of 4" in str(got) and "y.log() * 2" in str(got)
    assert find_nan(outer, janus.ones(3)) is None and sys.gettrace() is None
    assert find_nan(decorated, janus.ones(3)) is None


@pytest.mark.parametrize("dtype", [janus.float32, janus.float64, janus.float16, janus.bfloat16])
def test_types_and_views(dtype):
    x = janus.tensor([[1.0, 0.0], [4.0, -1.0]], dtype=dtype)

    def f(x):
        y = x.t()[1:]  # a view is no kernel
        return (y * 2).sqrt()

    got = find_nan(f, x)
    assert (got.op, got.count, got.of, got.made) == ("sqrt", 1, 2, True)


def test_infinity_counts_when_asked():
    def f(x):
        y = x / 0.0
        return y - y

    assert find_nan(f, janus.ones(3)).op == "sub"
    got = find_nan(f, janus.ones(3), inf=True)
    assert got.op == "div" and got.count == 3
    assert find_nan(lambda x: x.masked_fill(x > 0, float("-inf")).softmax(0), janus.tensor([1.0, -1.0])) is None


def test_what_was_there_before():
    x = janus.tensor([1.0, float("nan")])
    got = find_nan(lambda: x * 2)
    assert got.made is False and got.op == "mul" and "was there before" in str(got)
    assert find_nan(lambda: janus.where(janus.tensor([True, False]), x, janus.zeros(2))) is None  # read by none of the results

    def f():
        x[1:].mul_(0)
        return x

    got = find_nan(f)
    assert got.made is None and got.op == "mul"


def test_gradients_and_optimizers():
    net = nn.Linear(2, 1, bias=False)
    opt = janus.optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        opt.zero_grad()
        loss = net(x).sqrt().sum()
        loss.backward()  # 0 * inf
        opt.step()
        return loss

    with janus.no_grad():
        net.weight.fill_(0.0)
    got = find_nan(step, janus.zeros(1, 2))
    assert got is not None and (got.line, got.function) == (line_of("# 0 * inf"), "step")
    with janus.no_grad():
        net.weight.fill_(1.0)
    assert find_nan(step, janus.ones(1, 2)) is None
    assert find_nan(janus.function(net), janus.ones(1, 2)) is None


def test_exceptions():
    def f(x, bad):
        y = (x - 2).sqrt()
        if bad:
            raise KeyError("after")
        return y

    assert find_nan(f, janus.ones(2), True).op == "sqrt"  # the answer is there already
    with pytest.raises(KeyError, match="after"):
        find_nan(f, janus.ones(2) * 3, True)
    assert find_nan(f, janus.ones(2), bad=False).op == "sqrt"
    with janus.profile(None):
        with pytest.raises(ValueError):
            find_nan(f, janus.ones(2), False)
    assert sys.gettrace() is None
    assert find_nan(f, janus.ones(2), False).op == "sqrt"  # all is as it was


def test_not_under_a_debugger():
    before = sys.gettrace()
    sys.settrace(lambda *a: None)
    try:
        with pytest.raises(RuntimeError, match="something else"):
            find_nan(outer, janus.ones(2))
    finally:
        sys.settrace(before)
