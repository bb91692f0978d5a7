# SPDX-License-Identifier: Apache-2.0
"""Functions of two elements and runs of equal elements, beside loops over numbers, decorated and not."""
import collections
import itertools
import math
import random

import pytest

import janus
from shares import share

nan, inf = math.nan, math.inf
NUMBERS = (0.0, -0.0, 1.0, -1.5, 3.0, inf, -inf, nan)


def same(a, b):
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a != a and b != b or a == b and math.copysign(1, a) == math.copysign(1, b)


def other_of_nan(choose):
    def choose_number(a, b):
        return b if a != a else a if b != b else choose(a, b)
    return choose_number


BY_NUMBERS = {"copysign": math.copysign, "fmax": other_of_nan(max), "fmin": other_of_nan(min),
              "heaviside": lambda a, b: b if a == 0 else float(a > 0)}


@pytest.mark.parametrize("name", BY_NUMBERS)
@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_elements(name, dtype):
    pairs = [p for p in itertools.product(NUMBERS, NUMBERS) if name not in ("fmax", "fmin") or p[0] != 0 or p[1] != 0]
    if name == "copysign":
        pairs = [p for p in pairs if p[0] == p[0] and p[1] == p[1]]
    x, y = (janus.tensor([p[i] for p in pairs], dtype=getattr(janus, dtype)) for i in (0, 1))
    call = getattr(janus, name)
    wanted = [BY_NUMBERS[name](a, b) for a, b in pairs]
    assert same(call(x, y).tolist(), wanted)
    graph = janus.function(lambda a, b: call(a, b), measure=False)
    for _ in range(3):
        assert same(graph(x, y).tolist(), wanted)
    assert graph.stats()["graph"] > 0


def test_gradients_go_to_what_was_taken():
    for call, first in ((janus.fmax, [0.0, 1.0, 0.5, 1.0, 0.0]), (janus.fmin, [1.0, 0.0, 0.5, 1.0, 0.0])):
        x = janus.tensor([1.0, 2.0, 3.0, 4.0, nan]).requires_grad_()
        y = janus.tensor([2.0, 1.0, 3.0, nan, 5.0]).requires_grad_()
        call(x, y).sum().backward()
        assert x.grad.tolist() == first and y.grad.tolist() == [1 - g for g in first]
    x, y = janus.tensor([1.0, -2.0]).requires_grad_(), janus.tensor([-3.0, -0.0]).requires_grad_()
    janus.copysign(x, y).sum().backward()
    assert x.grad.tolist() == [-1.0, 1.0] and y.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("n", share(range(12)))
def test_runs(n):
    draw = random.Random(n)
    rows = [[draw.randrange(3) for _ in range(n)] for _ in range(3)]
    x = janus.tensor(rows, dtype=janus.int64).reshape(3, n)
    flat = [v for row in rows for v in row]
    runs = [(k, len(list(g))) for k, g in itertools.groupby(flat)]
    found, inverse, counts = x.unique_consecutive(True, True)
    assert found.tolist() == [k for k, _ in runs] and counts.tolist() == [m for _, m in runs]
    assert inverse.tolist() == x.new_tensor([i for i, (_, m) in enumerate(runs) for _ in range(m)]).reshape(3, n).tolist()
    columns = [k for k, _ in itertools.groupby(zip(*rows))]
    assert list(zip(*x.unique_consecutive(dim=1).tolist())) == columns if n else True
    if n:
        for row, value, place in zip(rows, *map(janus.Tensor.tolist, x.mode(1))):
            count = collections.Counter(row)
            assert value == min(count, key=lambda v: (-count[v], v)) and place == max(i for i, v in enumerate(row) if v == value)


@pytest.mark.parametrize("shape", ((2, 3), (3,), (2, 3, 4)))
def test_dims_exchanged_in_place(shape):
    def exchanged(x):
        y = x * 2
        same = y.transpose_(0, -1)
        return y + 1, same is y
    x = janus.arange(math.prod(shape)).reshape(shape).float()
    graph = janus.function(exchanged, measure=False)
    for _ in range(3):
        y, is_same = graph(x)
        assert is_same and y.tolist() == ((x * 2).transpose(0, -1) + 1).tolist()
    leaf = x.clone().requires_grad_()
    y = leaf * 2
    y.swapaxes_(0, -1).mul_(janus.arange(y.numel()).reshape(y.shape))
    y.sum().backward()
    weights = janus.arange(y.numel()).reshape(y.shape).transpose(0, -1)
    assert leaf.grad.tolist() == (weights * 2.0).tolist()
