# SPDX-License-Identifier: Apache-2.0
"""Equal elements side by side, and how many there are of each, made of other ops.

Plain Python over ops, so that `janus.function` follows it like any other code.
"""
import collections

from . import _C
from ._attach import method
from ._shape import wrap_dim
from ._statistics import cummax

_Most = collections.namedtuple("mode", ("values", "indices"))
_Middle = collections.namedtuple("nanmedian", ("values", "indices"))


def mode(input, dim=-1, keepdim=False):
    """The element that is there most often along dim, the smallest of these, and its last place."""
    dim = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return _Most(input.clone(), _C.zeros((), dtype=_C.int64))
    n = input.shape[dim]
    if not n:
        raise IndexError(f"mode(): Expected reduction dim {dim} to have non-zero size.")
    values, places = input.detach().sort(dim)
    before, behind = values.narrow(dim, 0, n - 1), values.narrow(dim, 1, n - 1)
    new = (before != behind) & ((before == before) | (behind == behind))  # NaNs are one run
    first = _C.cat([_C.ones_like(values.narrow(dim, 0, 1)).bool(), new], dim)
    shape = [1] * input.ndim
    shape[dim] = n
    at = _C.arange(n).reshape(shape).expand(input.shape)
    begun = cummax(at.masked_fill(first.logical_not(), 0), dim).values
    place = places.gather(dim, (at - begun).argmax(dim, True))
    value = input.gather(dim, place)
    return _Most(value, place) if keepdim else _Most(value.squeeze(dim), place.squeeze(dim))


method(mode)


def _middle_place(input, dim):
    """Places of the lower medians of what is not NaN."""
    _, places = input.detach().sort(dim)
    count = input.isnan().logical_not().sum(dim, keepdim=True)
    return places.gather(dim, (count - 1).clamp(min=0) // 2)


def nanmedian(input, dim=None, keepdim=False):
    """The lower median of what is not NaN, of all elements or along dim with its place; NaN where nothing else is."""
    if input.dtype is _C.bool:
        raise NotImplementedError("nanmedian() is not implemented for janus.bool")
    if not input.ndim or not input.dtype.is_floating_point or not input.numel():
        return input.median() if dim is None else _Middle(*input.median(dim, keepdim))
    if dim is None:
        flat = input.reshape(-1)
        return flat.gather(0, _middle_place(flat, 0)).squeeze(0)
    dim = wrap_dim(dim, input.ndim)
    place = _middle_place(input, dim)
    value = input.gather(dim, place)
    return _Middle(value, place) if keepdim else _Middle(value.squeeze(dim), place.squeeze(dim))


method(nanmedian)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """Without elements, or slices along dim, that are equal to the one before; with `return_inverse` also where each went,
    with `return_counts` also how many became one."""
    if dim is not None and not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    rows = input.detach().reshape(-1) if dim is None else input.detach()
    dim = 0 if dim is None else wrap_dim(dim, input.ndim)
    n = rows.shape[dim]
    if rows.numel() == 0 and n:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    if n > 1:
        new = rows.narrow(dim, 1, n - 1) != rows.narrow(dim, 0, n - 1)
        if rows.ndim > 1:
            new = new.movedim(dim, 0).reshape(n - 1, -1).any(1)
        new = _C.cat([_C.ones(1, dtype=_C.bool), new], 0)
    else:
        new = _C.ones(n, dtype=_C.bool)
    starts = new.nonzero().reshape(-1)
    found = [rows.index_select(dim, starts)]
    if return_inverse:
        inverse = new.long().cumsum(0) - 1
        found.append(inverse.reshape(input.shape) if found[0].ndim == 1 and input.ndim != 1 else inverse)
    if return_counts:
        found.append(_C.cat([starts[1:], _C.full((1,), n, dtype=_C.int64)], 0) - starts if n else starts)
    return found[0] if len(found) == 1 else tuple(found)


method(unique_consecutive)


def histc(input, bins=100, min=0, max=0):
    """How many elements lie in each of so many ranges of equal size from min to max, or of all where these are equal;
    what lies outside counts nowhere."""
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"histc() is not implemented for {input.dtype}")
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    x = input.detach().reshape(-1)
    if min == max and x.shape[0]:
        min, max = float(x.min()), float(x.max())
    if min == max:
        min, max = min - 1, max + 1
    if not min < max or max - min == float("inf"):
        raise RuntimeError(f"range of [{min}, {max}] is not finite or max must be larger than min")
    inside = (x >= min) & (x <= max)
    bin = ((x.masked_fill(inside.logical_not(), min) - min) * (bins / (max - min))).long().clamp(max=bins - 1)
    return x.new_zeros((bins,)).index_add(0, bin, inside.to(x.dtype))


method(histc)
