# SPDX-License-Identifier: Apache-2.0
"""janus.check: one call compared by hand."""

import pytest

import janus

X = janus.tensor([1.0, 2.0])


class Box:
    def __init__(self):
        self.n, self.items = 0, []


def step(b, x, *, by=1):
    b.n = b.n + by
    b.items.append(x * 2.0)
    return x + 1.0


@pytest.mark.parametrize("f", [step, janus.function(step), janus.function(step, numerics="exact")])
def test_a_call_that_is_the_same_both_ways_is_done_once(f):
    b = Box()
    assert janus.check(f, b, X, by=3).tolist() == [2, 3]
    assert b.n == 3 and len(b.items) == 1 and b.items[0].tolist() == [2, 4]


def test_a_method():
    class Net(janus.nn.Module):
        def forward(self, x):
            return x * 3.0

    net = Net()
    assert janus.check(net.forward, X).tolist() == [3, 6]


def test_what_is_no_graph_is_not_run():
    b = Box()

    def f(b, x):
        b.n += 1
        return eval("x")

    with pytest.raises(ValueError, match=r"no graph for these arguments(.|\n)*test_check.py:\d+\)"):
        janus.check(f, b, X)
    assert b.n == 0


@pytest.mark.parametrize("f", [5, "step", None, [step], X, Box()])
def test_what_is_no_function_is_named(f):
    with pytest.raises(TypeError, match=rf"^janus.check: expected a function, then its arguments, got {type(f).__name__}$"):
        janus.check(f, X)


def test_an_exception_is_cpythons():
    b = Box()
    with pytest.raises((ZeroDivisionError, ValueError)):
        janus.check(lambda b, x: x * (1 // b.n), b, X)


def test_a_difference_is_raised_and_what_cpython_did_stands():
    """What a finalizer does, which runs when the call drops what the garbage collector does not look into, no graph
    can know."""
    numpy = pytest.importorskip("numpy")

    class Last:
        def __del__(self):
            del box.extra

    def f(b, x):
        b.n = b.n + 1
        b.last = None
        return x * 2.0

    box = Box()
    box.extra, box.last = 1, numpy.array([Last()], dtype=object)
    with pytest.raises(janus.SpeculationWarning, match=r"differs from what CPython did: argument 0.*test_check.py:\d+\)"):
        janus.check(f, box, X)
    assert box.n == 1 and box.last is None and not hasattr(box, "extra")
