# SPDX-License-Identifier: Apache-2.0
"""JANUS_UNROLL and JANUS_SPECIALISE: other graphs, the same results."""
import pytest

import janus


def ranges(x, n):
    for i in range(6):
        x = x * 2 - i
    return x.sum()


def rounds(x, n):
    i = 0
    while i < 7:
        x, i = x + i * n, i + 1
    return x, i


def left_early(x, n):
    for i in range(5):
        x = x + i
        if x.sum() > 20:
            break
    return x, i


def while_left(x, n):
    i, y = 0, x
    while True:
        y = y + n
        i += 1
        if i == 5:
            break
    return y, i


def nested(x, n):
    for i in range(3):
        for j in range(4):
            x = x + i * j
    return x


def items(x, n):
    total = x
    for y in [x, x + 1, x * n]:
        total = total + y.sum()
    return total


def lists(x, n):
    return sum([y.sum() for y in n]) + x.sum()


def shapes(x, n):
    rows, columns = x.shape
    return x.reshape(columns, rows) * rows + n


FUNCTIONS = [ranges, rounds, left_early, while_left, nested, items, shapes]


def plain(found):
    return [x.tolist() if isinstance(x, janus.Tensor) else x for x in (found if isinstance(found, tuple) else (found,))]


def compare(function, calls, verify):
    decorated = janus.function(function, measure=False, verify=verify)
    for x, n in calls:
        assert plain(decorated(x, n)) == plain(function(x, n))
    return decorated


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("unroll", ["0", "1", "3", "4", "5", "2000"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_unroll(function, unroll, verify, monkeypatch):
    monkeypatch.setenv("JANUS_UNROLL", unroll)
    decorated = compare(function, [(janus.ones(2, 3) * k, 2) for k in range(6)], verify)
    if verify == "never":
        assert decorated.stats()["graph"] >= 4, janus.explain(decorated)


@pytest.mark.parametrize("function,loop", [(ranges, "foreach"), (rounds, "while"), (while_left, "while")])
def test_loops_stay(function, loop, monkeypatch):
    for unroll, stays in (("0", True), ("4", True), ("2000", False), ("nonsense", False)):
        monkeypatch.setenv("JANUS_UNROLL", unroll)
        decorated = compare(function, [(janus.ones(2, 3), 2)] * 3, "never")
        assert (f" {loop} " in str(decorated.graphs())) == stays, decorated.graphs()


def test_a_long_while_is_a_loop():
    def f(x, n):
        i = 0
        while i < 5000:
            x, i = x + 1, i + 1
        return x, i
    assert compare(f, [(janus.ones(2), 2)] * 3, "never").stats()["graph"] >= 1


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_without_specialisation(function, verify, monkeypatch):
    monkeypatch.setenv("JANUS_SPECIALISE", "0")
    calls = [(janus.ones(rows, 3) * 0.1, n) for rows, n in ((2, 2), (2, 2), (4, 3), (5, 1), (2, 2), (7, 5))]
    compare(function, calls, verify)


def test_one_graph(monkeypatch):
    """Of ever other sizes, numbers and lengths."""
    for function, second in ((shapes, lambda k: k), (lists, lambda k: [janus.ones(2, 3)] * k)):
        calls = [(janus.ones(k, 3), second(k)) for k in range(2, 9)]
        monkeypatch.setenv("JANUS_SPECIALISE", "0")
        generic = compare(function, calls, "never").stats()
        monkeypatch.setenv("JANUS_SPECIALISE", "1")
        special = compare(function, calls, "never").stats()
        assert generic["conversions"] == 1 < special["conversions"]
