# SPDX-License-Identifier: Apache-2.0
"""Running products and extremes, quantiles, counts and searches, made of other ops.

Plain Python over ops, so that `janus.function` follows it like any other code.
"""
import collections
import math

from . import _C, _math
from ._C import Tensor
from ._attach import method
from ._elements import _written
from ._shape import wrap_dim

_Running = collections.namedtuple("cummax", ("values", "indices"))
_Ends = collections.namedtuple("aminmax", ("min", "max"))
_Kth = collections.namedtuple("kthvalue", ("values", "indices"))


def _running(tensors, dim, join):
    """Tensors of which each place has what `join` makes of all up to it: in steps of 1, 2, 4 places and so on.

    `join` takes tuples of tensors, of earlier places and of later ones, and gives a tuple.
    """
    n, step = tensors[0].shape[dim], 1
    while step < n:
        early = tuple([t.narrow(dim, 0, n - step) for t in tensors])
        late = tuple([t.narrow(dim, step, n - step) for t in tensors])
        joined = join(early, late)
        tensors = tuple([_C.cat([t.narrow(dim, 0, step), j], dim) for t, j in zip(tensors, joined)])
        step *= 2
    return tensors


def cumprod(input, dim, *, dtype=None):
    """Running product along dim."""
    dim = wrap_dim(dim, input.ndim)
    if dtype is not None:
        input = input.to(dtype)
    elif not input.dtype.is_floating_point:
        input = input.long()
    return _running((input,), dim, lambda a, b: (a[0] * b[0],))[0] if input.ndim and input.shape[dim] > 1 else input.clone()


method(cumprod)


def logcumsumexp(input, dim):
    """Logarithm of the running sum of exp along dim."""
    dim = wrap_dim(dim, input.ndim)
    if not input.ndim or input.shape[dim] < 2:
        return input.clone()
    return _running((input,), dim, lambda a, b: (_math.logaddexp(a[0], b[0]),))[0]


method(logcumsumexp)


def _extremes(input, dim, wins):
    """The extreme so far and its place, the last of equal ones; a NaN stays."""
    dim = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return _Running(input.clone(), _C.zeros((), dtype=_C.int64))
    shape = [1] * input.ndim
    shape[dim] = input.shape[dim]
    places = _C.arange(input.shape[dim]).reshape(shape).expand(input.shape)

    def join(a, b):
        take = wins(b[0], a[0]) | b[0].isnan() if input.dtype.is_floating_point else wins(b[0], a[0])
        return _C.where(take, b[0], a[0]), _C.where(take, b[1], a[1])
    places = _running((input.detach(), places), dim, join)[1]
    return _Running(input.gather(dim, places), places)


def cummax(input, dim):
    """The largest element so far along dim, and its place."""
    return _extremes(input, dim, lambda a, b: a >= b)


method(cummax)


def cummin(input, dim):
    """The smallest element so far along dim, and its place."""
    return _extremes(input, dim, lambda a, b: a <= b)


method(cummin)


def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """Sum of what is not NaN."""
    if input.dtype.is_floating_point:
        input = input.masked_fill(input.isnan(), 0.0)
    return (input if dtype is None else input.to(dtype)).sum(dim, keepdim)


method(nansum)


def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """Mean of what is not NaN."""
    return nansum(input, dim, keepdim, dtype=dtype) / input.isnan().logical_not().sum(dim, keepdim)


method(nanmean)


def aminmax(input, *, dim=None, keepdim=False):
    """The smallest and the largest element, of all or along dim."""
    if dim is None:
        return _Ends(input.amin(), input.amax())
    return _Ends(input.amin(dim, keepdim), input.amax(dim, keepdim))


method(aminmax)


def kthvalue(input, k, dim=-1, keepdim=False):
    """The k-th smallest element along dim, counted from 1, and its place."""
    dim = wrap_dim(dim, input.ndim)
    if not 1 <= k <= (input.shape[dim] if input.ndim else 1):
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(dim))
    if not input.ndim:
        return _Kth(input.clone(), _C.zeros((), dtype=_C.int64))
    values, places = input.sort(dim)
    values, places = values.narrow(dim, k - 1, 1), places.narrow(dim, k - 1, 1)
    return _Kth(values, places) if keepdim else _Kth(values.squeeze(dim), places.squeeze(dim))


method(kthvalue)


def msort(input):
    """Sorted along the first dim."""
    return input.sort(0)[0]


method(msort)

_BETWEEN = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(name, input, q, dim, keepdim, interpolation, without_nan):
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if not isinstance(q, Tensor) and not 0 <= q <= 1:
        raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
    if interpolation not in _BETWEEN:
        raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
                           f"{interpolation}")
    if isinstance(q, Tensor):
        if q.ndim > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
        if q.dtype != input.dtype:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
        if not ((q >= 0) & (q <= 1)).all():
            raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    if not input.numel():
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    left = [1] * input.ndim
    if dim is None:
        rows = input.reshape(-1)
    else:
        dim = wrap_dim(dim, input.ndim)
        rows = input.movedim(dim, -1) if input.ndim else input.reshape(1)
        left = [n if i != dim else 1 for i, n in enumerate(input.shape)]
    ranks = q.reshape(-1) if isinstance(q, Tensor) else _C.tensor([q], dtype=input.dtype)
    values, _ = rows.sort(-1)
    missing = values.isnan()
    if without_nan:
        last = (missing.logical_not().sum(-1, keepdim=True) - 1).clamp(min=0).to(input.dtype)
        at = last * ranks
    else:
        at = (ranks * (values.shape[-1] - 1)).expand(tuple(values.shape[:-1]) + tuple(ranks.shape))
    if interpolation == "nearest":
        at = at.round()
    low = at.ceil() if interpolation == "higher" else at.floor()
    found = values.gather(-1, low.long())
    if interpolation in ("linear", "midpoint"):
        share = at - low if interpolation == "linear" else _C.full_like(at, 0.5)
        found = found.lerp(values.gather(-1, at.ceil().long()), share)
    if not without_nan:
        found = found.masked_fill(missing.any(-1, keepdim=True), math.nan)
    found = found.movedim(-1, 0)
    front = tuple(found.shape[:1]) if isinstance(q, Tensor) and q.ndim else ()
    rest = tuple(left) if keepdim else () if dim is None or not input.ndim else tuple(found.shape[1:])
    return found.reshape(front + rest)


def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The q-th quantiles of all elements or along dim; NaN where there is one. Quantiles of a tensor q come first."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


method(quantile)


def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """Quantiles of what is not NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


method(nanquantile)


def bincount(input, weights=None, minlength=0):
    """How often each number occurs, or the sum of its weights."""
    if input.ndim != 1 or input.dtype.is_floating_point or input.dtype is _C.bool:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    input = input.long()
    count = minlength
    if input.numel():
        if int(input.min()) < 0:
            raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
        count = max(int(input.max()) + 1, minlength)
    if weights is None:
        weights = _C.ones_like(input)
    elif weights.dtype is not _C.float32:
        weights = weights.double()
    return _C.zeros(count, dtype=weights.dtype).index_add(0, input, weights)


method(bincount)


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    """Where numbers would be put into rows that are sorted: before equal ones, or behind them where `right` says so
    (or `side` is "right"); `sorter` has the order of rows that are not sorted themselves."""
    if side not in (None, "left", "right") or side == "left" and right:
        raise RuntimeError(f"searchsorted(): side can only be 'left' or 'right', and not contradict right, but got {side}")
    right = right or side == "right"
    rows = sorted_sequence if sorter is None else sorted_sequence.gather(-1, sorter)
    wanted = input if isinstance(input, Tensor) else _C.tensor(input, dtype=rows.dtype)
    if rows.ndim != 1 and tuple(rows.shape[:-1]) != tuple(wanted.shape[:-1]):
        raise RuntimeError("searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
                           "tensor and input value tensor must match")
    n, step = rows.shape[-1], 1
    while 2 * step <= n:
        step *= 2
    place = _C.zeros(tuple(wanted.shape), dtype=_C.int64)
    while step and n:
        further = place + step
        at = further.clamp(max=n) - 1
        there = rows[at] if rows.ndim == 1 else rows.gather(-1, at)
        stays = there > wanted if right else there >= wanted
        place = _C.where(stays | (further > n), place, further)
        step //= 2
    return place.int() if out_int32 else place


def bucketize(input, boundaries, *, out_int32=False, right=False):
    """Which of the ranges between sorted boundaries each number lies in."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Which elements are among the others."""
    if not isinstance(elements, Tensor):
        elements = _C.tensor(elements)
    if not isinstance(test_elements, Tensor):
        test_elements = _C.tensor(test_elements)
    if not test_elements.numel():
        found = _C.zeros(tuple(elements.shape), dtype=_C.bool)
    else:
        rows, _ = test_elements.reshape(-1).sort()
        found = rows[searchsorted(rows, elements).clamp(max=rows.shape[0] - 1)] == elements
    return found.logical_not() if invert else found


def cov(input, *, correction=1):
    """Covariances of variables that are rows, of observations that are columns."""
    if input.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions")
    rows = input.reshape(1, -1) if input.ndim < 2 else input
    gap = rows - rows.mean(1, keepdim=True)
    found = gap @ gap.t() / max(rows.shape[1] - correction, 0)
    return found if input.ndim == 2 else found.reshape(())


method(cov)


def corrcoef(input):
    """Correlations of variables that are rows, between -1 and 1."""
    found = cov(input)
    if not found.ndim:
        return found / found
    spread = found.diagonal().sqrt()
    return (found / spread.unsqueeze(1) / spread).clamp(-1, 1)


method(corrcoef)


def dist(input, other, p=2):
    """p-norm of input - other."""
    return (input - other).norm(p)


method(dist)
for _one in (cumprod, Tensor.cumsum):
    _written(_one)
del _one
