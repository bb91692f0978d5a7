# SPDX-License-Identifier: Apache-2.0
"""Gradients of losses of differences, of fmax and fmin, and of clamp by a tensor or by NaN, at NaN, infinities and ties are PyTorch's, eagerly and in graphs."""
import itertools
import math

import pytest

import janus
import janus.nn.functional as F

NAN, INF = math.nan, math.inf
VALUES = (NAN, INF, -INF, -3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0)
PAIRS = list(itertools.product(VALUES, VALUES))


def slope(d, bound, steep):
    """Of a loss that is quadratic up to a bound: what is no number is below it."""
    return math.copysign(steep, d) if abs(d) >= bound else d * steep / bound


def extreme(sign):
    def of(a, b):
        if b != b:
            return 1.0, 0.0
        if a != a:
            return 0.0, 1.0
        return (0.5, 0.5) if a == b else (1.0, 0.0) if a * sign > b * sign else (0.0, 1.0)
    return of


def limited(sign):
    """Of clamp by a tensor, which both have where one of them is no number."""
    return lambda a, b: (1.0, 1.0) if a != a or b != b else extreme(sign)(a, b)


def of_no_bound(a, b):
    return 0.0, 1.0


def pair(bound, steep):
    def of(a, b):
        d = slope(a - b, bound, steep)
        return d, -d
    return of


OPS = {"fmax": (janus.fmax, extreme(1)), "fmin": (janus.fmin, extreme(-1)),
       "smooth_l1": (lambda a, b: F.smooth_l1_loss(a, b, reduction="none"), pair(1.0, 1.0)), "smooth_l1 of 0.5": (lambda a, b: F.smooth_l1_loss(a, b, reduction="none", beta=0.5), pair(0.5, 1.0)),
       "clamp from below": (lambda a, b: a.clamp(min=b), limited(1)), "clamp from above": (lambda a, b: a.clamp(max=b), limited(-1)), "clamp_min": (janus.clamp_min, limited(1)),
       "clamp in place": (lambda a, b: (a * 1.0).clamp_(min=b), limited(1)), "clamp by NaN": (lambda a, b: a.clamp(min=NAN) + b, of_no_bound), "clamp up to NaN": (lambda a, b: a.clamp(-1.0, NAN) + b, of_no_bound),
       "clamp by NaN in place": (lambda a, b: (a * 1.0).clamp_(NAN, 1.0) + b, of_no_bound),
       "huber": (lambda a, b: F.huber_loss(a, b, reduction="none"), pair(1.0, 1.0)), "huber of 0.5": (lambda a, b: F.huber_loss(a, b, reduction="none", delta=0.5), pair(0.5, 0.5))}


def same(a, b):
    return a == b or (a != a and b != b)


@pytest.mark.parametrize("dtype", [janus.float32, janus.float64], ids=str)
@pytest.mark.parametrize("numerics", [None, "fast", "exact"])
@pytest.mark.parametrize("name", OPS)
def test_gradients_where_there_is_no_number(name, numerics, dtype):
    op, rule = OPS[name]
    f = janus.function(op, numerics=numerics, measure=False, verify="never") if numerics else op
    for _ in range(3):
        a, b = (janus.tensor([p[k] for p in PAIRS], dtype=dtype, requires_grad=True) for k in (0, 1))
        f(a, b).backward(janus.ones(len(PAIRS), dtype=dtype) * 2)
        for p, x, y in zip(PAIRS, a.grad.tolist(), b.grad.tolist()):
            want = rule(*p)
            assert same(x, 2 * want[0]) and same(y, 2 * want[1]), (p, want, x, y)
    assert not numerics or f.stats()["graph"] > 0
