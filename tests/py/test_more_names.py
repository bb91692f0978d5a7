# SPDX-License-Identifier: Apache-2.0
"""Functions made of other ops: decorated they give what they give undecorated, gradients and strides included, and they
are graphs where tensors alone come in."""
import math

import pytest

import janus
from texts import names_of

CALLS = """
nan_to_num(b)  nan_to_num(b / (b > 0), 1.0, 2.0, 3.0)  fix(b * 3)  greater(b, a)  less_equal(b, 0.5)  not_equal(b, b)  rad2deg(b)  deg2rad(b)  isposinf(b)
arcsin(b * .9)  arccos(b * .9)  atan(b)  asinh(b)  acosh(b + 3)  arctanh(b * .9)  erfc(b)  erfinv(b * .9)  lgamma(b + 2)  digamma(b + 2)  polygamma(2, b + 2)
atan2(b, a)  hypot(b, a)  hypot(b, v[:3])  sgn(b)  frac(b * 3)  signbit(b)  positive(b)  sinc(b)  xlogy(b, a.abs())  xlogy(b, 3.)  float_power(b, 2)
Tensor.sinh_(b * 1)  Tensor.arctan2_(b * 1, a)  Tensor.fmod_(b * 1, .3)  Tensor.xlogy_(b * 1, a.abs())  Tensor.nan_to_num_(b * 1)  Tensor.polygamma_(b + 2, 1)
cumprod(b, 1)  cumprod(v, 0)  logcumsumexp(b, 0)  cummax(b, 1)  cummin(b, 0)  nansum(b, 1)  nanmean(b)  aminmax(b, dim=0)  kthvalue(b, 2)  msort(b)  cov(b)  corrcoef(b)  dist(b, a)
quantile(b, .3)  quantile(b, .3, 1)  quantile(b, v.abs()[:3], 0, True)  nanquantile(b, .4, 1)  searchsorted(v.sort()[0], b)  bucketize(b, v.sort()[0])  isin(b > 0, b < 0)
Tensor.unfold(b, 0, 2, 1)  Tensor.unfold(v, 0, 3, 2)  index_fill(b, 1, janus.tensor([2, 0]), 3.)  index_copy(b, 1, janus.tensor([2, 0]), a[:, :2])  take(b, janus.tensor([5, 1]))
scatter_reduce(b, 1, (a > 0).long(), a, "sum")  scatter_reduce(b, 1, (a > 0).long(), a, "mean")  scatter_reduce(b, 1, (a > 0).long(), a, "prod")
scatter_reduce(b, 1, (a > 0).long(), a, "amax")  scatter_reduce(b, 0, (a > 0).long(), a, "amin", include_self=False)
Tensor.tril_(b * 1)  Tensor.triu_(b * 1, 1)  Tensor.cumsum_(b * 1, 1)  Tensor.cumprod_(b * 1, 0)  Tensor.scatter_reduce_(b * 1, 1, (a > 0).long(), a, "amax")  Tensor.fill_diagonal_(b * 1, 2.)
tensordot(b, w, 1)  tensordot(b, a, ([0, 1], [0, 1]))  tensordot(c, c, ([0], [0]))  cdist(b, a)  cdist(b, b)  cdist(b, a, 1.)  cdist(b, a, 3.)
cdist(b, a, .5)  cdist(b, a, 0.)  cdist(b, a, math.inf)  cdist(big, big + .5)  kron(b, v)  trace(b)  diag_embed(b)  diag_embed(b, -1, 0, 2)
diagflat(b, 1)  diff(b)  diff(b, 2, 0)  diff(v, prepend=v, append=v[:1])  diff(b > 0)
moveaxis(c, 0, 2)  swapdims(c, 0, 2)  ravel(c)  ravel(v[::2])  fliplr(b)  flipud(b)  rot90(b)  rot90(b, 2)  rot90(c, 3, (1, 2))  rot90(b, 4)
tensor_split(v, 2)  tensor_split(v, (1, 3))  tensor_split(b, 3, 1)  hsplit(b, 3)  vsplit(b, 2)  dsplit(c, 2)
atleast_1d(v, s)  atleast_2d(v)  atleast_3d(b)  column_stack((v, v))  row_stack((v, v))  dstack((b, b))  concatenate((v, v))
cartesian_prod(v, v)  block_diag(b, v, s)  triu_indices(3, 4)  tril_indices(3, 4, -1)
"""
NAMES = [text.strip() for line in CALLS.strip().splitlines() for text in line.split("  ") if text.strip()]
PROGRAM = """
def f(a, b, c, v, s, w, big):
    r = janus.{}
    return tuple([t * 1 for t in r]) if isinstance(r, tuple) else r * 1
"""


def inputs(round):
    def one(*shape):
        n = math.prod(shape)
        return janus.tensor([math.sin(1.7 * i + round) for i in range(n)]).reshape(shape).requires_grad_()
    return [one(4, 3), one(4, 3), one(2, 3, 2), one(5), one(), one(3, 2), one(30, 3)]


def seen(function, arguments):
    """Values, strides, and gradients of the arguments."""
    result = function(*arguments)
    results = result if isinstance(result, tuple) else (result,)
    tracked = [r for r in results if r.requires_grad]
    if tracked:
        janus.autograd.backward(tracked, [janus.arange(r.numel()).reshape(r.shape).to(r.dtype) for r in tracked])
    return ([(type(result), r.dtype, r.shape, r.stride(), r.requires_grad) for r in results],
            [r.tolist() for r in results], [None if a.grad is None else a.grad.tolist() for a in arguments])


def near(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(near, a, b))
    return a == b or a != a and b != b or a is not None and b is not None and math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-5)


@pytest.mark.parametrize("call", NAMES)
def test_as_undecorated(call):
    f = names_of(PROGRAM.format(call), janus=janus, math=math)["f"]
    g = janus.function(f, measure=False)
    for round in range(4):
        kinds, values, gradients = seen(f, inputs(round))
        of_graph = seen(g, inputs(round))
        assert of_graph[0] == kinds and near(of_graph[1], values) and near(of_graph[2], gradients)
    assert g.stats()["graph"] > 0, str(janus.explain(g))


@pytest.mark.parametrize("call", ["a.tensor_split(0)", "a.fliplr().diff(n=-1)", "janus.cdist(a, b[:, :2])", "b.trace().fliplr()",
                                  "janus.tensordot(a, b, 1)", "janus.finfo(janus.int64)", "janus.iinfo(janus.float32)",
                                  "a.diag_embed(0, 1, 1)", "a.rot90(1, (0, 0))", "a.hsplit(2)", "janus.column_stack(())",
                                  "janus.cartesian_prod(a, b)", "janus.triu_indices(-1, 2)"])
def test_what_does_not_fit(call):
    f = names_of(f"def f(a, b):\n    return {call}\n", janus=janus)["f"]
    a, b = inputs(0)[:2]
    with pytest.raises((RuntimeError, TypeError)) as plain:
        f(a, b)
    g = janus.function(f)
    for _ in range(2):
        with pytest.raises(plain.type) as decorated:
            g(a, b)
        assert str(decorated.value) == str(plain.value)


@pytest.mark.parametrize("dtype", [janus.float16, janus.bfloat16, janus.float32, janus.float64])
def test_limits_of_floats(dtype):
    """1 + eps is the number behind 1, twice max is infinite, and a mask made of min is that number."""
    limits = janus.finfo(dtype)
    one = janus.tensor(1.0, dtype=dtype)
    assert (one + limits.eps).item() == 1 + limits.eps and (one + limits.eps / 2).item() == 1
    assert janus.tensor(limits.max, dtype=dtype).item() == limits.max == -limits.min
    assert janus.isinf(janus.tensor(limits.max, dtype=dtype) * 2).item()
    assert limits == janus.finfo(dtype) and str(dtype).endswith(limits.dtype) and limits.bits == 8 * one.element_size()

    def masked(x):
        return x.masked_fill(x > 0, janus.finfo(x.dtype).min)
    x = janus.tensor([1.0, -1.0], dtype=dtype)
    decorated = janus.function(masked, measure=False)
    for _ in range(4):
        assert decorated(x).tolist() == masked(x).tolist() == [limits.min, -1.0]
    assert decorated.stats()["graph"] > 0, str(janus.explain(decorated))


@pytest.mark.parametrize("dtype", [janus.uint8, janus.int32, janus.int64])
def test_limits_of_integers(dtype):
    limits = janus.iinfo(dtype)
    for n in (limits.min, limits.max):
        assert janus.tensor(n, dtype=dtype).item() == n
    assert (limits.max - limits.min).bit_length() == limits.bits
