# SPDX-License-Identifier: Apache-2.0
"""Strides are part of what paths must agree on: a tensor that is laid out otherwise on another path, or in another
round of a loop, has the strides that CPython's has."""
import itertools

import pytest

import janus

START = {
    "plain": lambda m: m * 1,
    "t": lambda m: m.transpose(0, 1),
    "permuted": lambda m: (m * 2).permute(1, 0),
    "column": lambda m: m.repeat(1, 2)[:, : m.shape[1]],
    "expanded": lambda m: m[:1].expand(m.shape[0], m.shape[1]),
    "row_of_one": lambda m: m.repeat(2, 1)[::2],
}


def arms(start, other):
    def f(m, c):
        h = m * 1
        if h.sum() > c:
            a = start(h)
        else:
            a = other(h)
        return a.stride(), a.is_contiguous(), a + 1, a

    return f


def rounds(start, other):
    def f(m, c):
        a = start(m * 1)
        for _ in range(c):
            a = other(a)
        return a.stride(), a.reshape(-1), a

    return f


def until(start, other):
    def f(m, c):
        a = start(m * 1)
        while a.sum() < 4 * c:
            a = other(a) * 1.5 + 1
        return a.is_contiguous(), a.transpose(0, 1), a

    return f


def recursion(start, other):
    def down(a, n):
        if n <= 0:
            return a * 1, a.sum()
        return down(other(a), n - 1)

    def f(m, c):
        a, s = down(start(m * 1), c)
        return a.stride(), a, s

    return f


def result(start, other):
    def up(m, n):
        if n <= 0:
            return start(m * 1)
        return other(up(m, n - 1))

    def f(m, c):
        a = up(m, c)
        return a.stride(), a.is_contiguous(), a

    return f


def seen(x):
    if isinstance(x, janus.Tensor):
        return tuple(x.shape), x.stride(), x.tolist()
    return [seen(y) for y in x] if isinstance(x, tuple) else x


@pytest.mark.parametrize("shape", [arms, rounds, until, recursion, result])
@pytest.mark.parametrize("start, other", list(itertools.product(START, repeat=2)))
def test_paths_agree_on_strides(shape, start, other):
    f = shape(START[start], START[other])
    g = janus.function(f, verify="never", measure=False)
    janus.manual_seed(0)
    m = janus.rand(3, 3)
    for c in (1, 2, 3, 0, 2, 0, 5, 1, 4, 0):
        assert seen(g(m, c)) == seen(f(m, c)), (c, g.stats())


def test_rounds_of_one_layout_are_a_graph():
    def f(m, c):
        a = m.transpose(0, 1) * 1
        for _ in range(c):
            a = a * 0.5
        return a.sum()

    g = janus.function(f, verify="never", measure=False)
    m = janus.rand(3, 4)
    for c in (3, 4, 5, 6, 7, 8):
        assert g(m, c).item() == f(m, c).item()
    assert g.stats()["graph"] >= 2
