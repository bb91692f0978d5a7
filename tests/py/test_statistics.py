# SPDX-License-Identifier: Apache-2.0
"""Running products and extremes, quantiles, counts, searches and reductions by index, beside loops over numbers."""
import bisect
import math

import pytest

import janus
from shares import EACH, share

nan = math.nan
ROWS = [[0.5, -2.0, 0.5, 3.0, -1.0], [1.0, 1.0, nan, -4.0, 2.0], [-0.0, 0.0, -3.0, -3.0, 7.0], [nan, nan, 1.0, 0.25, nan]]


def near(a, b):
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(near, a, b))
    return a == b or a != a and b != b or math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)


@pytest.mark.parametrize("n", range(1, 5))
def test_running(n):
    """Each place has what a loop up to it has; gradients too, where a factor is 0."""
    for row in ROWS:
        row = row[:n + 1]
        product, top, low, exps = [], [], [], []
        for i in range(len(row)):
            part = row[:i + 1]
            product.append(math.prod(part))
            wanted = [j for j, v in enumerate(part) if v != v] or [j for j, v in enumerate(part) if v == max(part)]
            top.append(wanted[-1])
            wanted = [j for j, v in enumerate(part) if v != v] or [j for j, v in enumerate(part) if v == min(part)]
            low.append(wanted[-1])
            exps.append(math.log(sum(map(math.exp, part))))
        x = janus.tensor(row)
        assert near(x.cumprod(0).tolist(), product) and near(x.logcumsumexp(0).tolist(), exps)
        assert x.cummax(0).indices.tolist() == top and near(x.cummax(0).values.tolist(), [row[i] for i in top])
        assert x.cummin(0).indices.tolist() == low and near(x.cummin(0).values.tolist(), [row[i] for i in low])
    x = janus.tensor([2.0, 0.0, 3.0, 0.5]).requires_grad_()
    x.cumprod(0).sum().backward()
    assert x.grad.tolist() == [1.0, 2 + 6 + 3, 0.0, 0.0]


def by_rank(row, q, how):
    """The quantile of sorted numbers."""
    at = q * (len(row) - 1)
    low, high = row[math.floor(at)], row[math.ceil(at)]
    return {"lower": low, "higher": high, "midpoint": (low + high) / 2, "nearest": row[round(at)],
            "linear": low + (high - low) * (at - math.floor(at))}[how]


@pytest.mark.parametrize("how", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles(how):
    x, qs = janus.tensor(ROWS, dtype=janus.float64), [0.0, 0.25, 0.4, 1.0]
    for row, q in [(r, q) for r in range(4) for q in qs]:
        numbers = sorted(v for v in ROWS[row] if v == v)
        want = by_rank(numbers, q, how)
        assert near(x.nanquantile(q, 1, interpolation=how)[row].item(), want)
        assert near(x.quantile(q, 1, interpolation=how)[row].item(), want if len(numbers) == 5 else nan)
    several = janus.nanquantile(x, janus.tensor(qs, dtype=janus.float64), 1, True, interpolation=how)
    assert several.shape == (4, 4, 1) and near(several[2, :, 0].tolist(), x.nanquantile(qs[2], 1, interpolation=how).tolist())
    assert x.quantile(0.5, keepdim=True).shape == (1, 1)
    for bad in (-0.1, 1.1, janus.tensor([0.5, 2.0], dtype=janus.float64), janus.tensor([0.5])):
        with pytest.raises(RuntimeError):
            x.quantile(bad)


def test_without_nan():
    x = janus.tensor(ROWS)
    for row in range(4):
        numbers = [v for v in ROWS[row] if v == v]
        assert near(x.nansum(1)[row].item(), sum(numbers)) and near(x.nanmean(1)[row].item(), sum(numbers) / len(numbers))


@pytest.mark.parametrize("right", [False, True])
def test_searches(right):
    """As Python's bisection has it, in rows of any length."""
    find = bisect.bisect_right if right else bisect.bisect_left
    wanted = [-2.0, 0.0, 0.5, 1.0, 3.5, 9.0]
    for n in range(0, 9):
        row = sorted([-1.0, 0.0, 0.0, 0.5, 1.0, 3.0, 4.0, 4.0][:n])
        got = janus.searchsorted(janus.tensor(row), janus.tensor(wanted), right=right)
        assert got.tolist() == [find(row, v) for v in wanted] and got.dtype is janus.int64
        assert janus.bucketize(janus.tensor(wanted), janus.tensor(row), right=right).tolist() == got.tolist()
        assert janus.isin(janus.tensor(wanted), janus.tensor(row)).tolist() == [v in row for v in wanted]


def test_counts():
    numbers = [3, 1, 1, 6, 3, 3]
    assert janus.tensor(numbers).bincount().tolist() == [numbers.count(i) for i in range(7)]
    weights = janus.tensor([0.5] * 6)
    assert janus.tensor(numbers).bincount(weights, 9).tolist() == [numbers.count(i) * 0.5 for i in range(9)]
    for bad in (janus.tensor([-1]), janus.tensor([0.5]), janus.tensor([[1]])):
        with pytest.raises(RuntimeError):
            bad.bincount()


REDUCERS = {"sum": sum, "prod": math.prod, "mean": lambda v: sum(v) / len(v), "amax": max, "amin": min}
CASES = [(name, dim, own, seed) for name in REDUCERS for dim in (0, 1) for own in (True, False) for seed in range(6)]


@pytest.mark.parametrize("part", range(4))
def test_reduced_by_index(part):
    """Places get what all that goes there makes, with what was there or without; others keep what they had."""
    done = 0
    for name, dim, own, seed in share(CASES[part::4]):
        state = janus.Generator().manual_seed(seed)
        x, src = janus.randn(4, 3, generator=state), janus.randn(4, 3, generator=state)
        index = janus.randint(0, (4, 3)[dim], (4, 3), generator=state)
        got = x.scatter_reduce(dim, index, src, name, include_self=own)
        for i in range(4):
            for j in range(3):
                sent = [src[a, b].item() for a in range(4) for b in range(3)
                        if (index[a, b].item(), b) == (i, j) and dim == 0 or (a, index[a, b].item()) == (i, j) and dim == 1]
                want = REDUCERS[name](([x[i, j].item()] if own else []) + sent) if sent else x[i, j].item()
                assert near(got[i, j].item(), want), (name, dim, own, seed)
        same = x.clone()
        assert same.scatter_reduce_(dim, index, src, name, include_self=own) is same and same.tolist() == got.tolist()
        done += 1
    assert done > 20 // EACH


def test_equal_extremes_share_a_gradient():
    x, src = janus.tensor([1.0, 5.0]).requires_grad_(), janus.tensor([1.0, 1.0, 0.0, 2.0]).requires_grad_()
    x.scatter_reduce(0, janus.tensor([0, 0, 0, 1]), src, "amax").sum().backward()
    assert near(x.grad.tolist(), [1 / 3, 1.0]) and near(src.grad.tolist(), [1 / 3, 1 / 3, 0.0, 0.0])


def test_windows():
    x = janus.arange(24).reshape(4, 6)
    for dim, size, step in ((1, 3, 2), (0, 2, 1), (1, 6, 1), (-1, 1, 4)):
        got = x.unfold(dim, size, step)
        parts = [x.narrow(dim, at, size) for at in range(0, x.shape[dim] - size + 1, step)]
        want = janus.stack([p.movedim(dim, -1) for p in parts], dim % 2)
        assert got.tolist() == want.tolist()
    with pytest.raises(RuntimeError):
        x.unfold(0, 5, 1)


def test_written_by_index():
    x, index = janus.zeros(3, 4), janus.tensor([2, 0])
    assert x.index_fill(0, index, 1.0).sum(1).tolist() == [4.0, 0.0, 4.0] and x.sum().item() == 0
    assert x.index_copy(1, index, janus.ones(3, 2)).sum(0).tolist() == [3.0, 0.0, 3.0, 0.0]
    assert x.masked_scatter(x == 0, janus.arange(12.0)).reshape(-1).tolist() == list(range(12))
    assert janus.take(janus.arange(12.0).reshape(3, 4), janus.tensor([[5], [-1]])).tolist() == [[5.0], [11.0]]
    tall = janus.zeros(7, 2).fill_diagonal_(1.0, wrap=True)
    assert [row.tolist().index(1.0) if row.any() else None for row in tall] == [0, 1, None, 0, 1, None, 0]
    assert janus.ones(3, 3).tril_().sum().item() == 6 and janus.ones(3, 3).triu_(1).sum().item() == 3
