# SPDX-License-Identifier: Apache-2.0
"""What some of janus's own functions mean where an argument is a number of a graph, in Python, for the converter.

Most functions take sizes that vary as they are: the op has an operand for each. These compute with them first, or have them in
an attribute of their op, which a graph could only have as constants. There a graph is made of the function of the same name here
(`pyfront/convert/objects/models.c`), whose values and gradients are the same; run imperatively, nobody uses this module. What would raise is
never taken by a graph: CPython runs the program and says what is wrong.
"""
import math

from . import _C
from ._shape import _right_of_diagonal, wrap_dim


def arange(*bounds, start=None, end=None, step=None, **options):
    if len(bounds) == 1 and start is None and end is None and step is None:
        bounds, end = (), bounds[0]
    assert not bounds or start is None
    start, end, step = (*bounds, *(start, end, step)[len(bounds):])
    assert end is not None and (step is None or start is not None)
    if start is None and not isinstance(end, float):
        return _C._arange(0, 1, end, **options)
    start, step = 0 if start is None else start, 1 if step is None else step
    assert start <= end if step > 0 else start >= end  # also where less than a step lies between
    if isinstance(start + end + step, float):
        n = math.ceil((end - start) / step)
        start, step = float(start), float(step)  # so is what it gives
    elif step > 0:
        n = (end - start + step - 1) // step
    else:
        n = (start - end - step - 1) // -step
    assert n >= 0
    return _C._arange(start, step, n, **options)


def clamp(input, min=None, max=None):
    assert min is not None or max is not None
    y, inside = input.detach(), None  # at a bound it is no function of the input
    if min is not None:
        assert y.is_floating_point() or isinstance(min, int)
        inside, y = y > min, y.masked_fill(y < min, min)
    if max is not None:
        assert y.is_floating_point() or isinstance(max, int)
        below = input.detach() < max
        inside, y = below if inside is None else inside & below, y.masked_fill(y > max, max)
    return _C.where(inside, input, y)


def clamp_min(input, min):
    return clamp(input, min)


def clamp_max(input, max):
    return clamp(input, None, max)


def clamp_(input, min=None, max=None):
    return input.copy_(clamp(input, min, max))


def linspace(start, end, steps, **options):
    step = (float(end) - float(start)) / float(steps - 1) if steps > 1 else 0.0
    return _C._arange(float(start), step, steps, **options)


def roll(input, shifts, dims=None):
    assert dims is not None
    if isinstance(dims, int):
        shifts, dims = (shifts,), (dims,)
    assert len(shifts) == len(dims)
    for shift, dim in zip(shifts, dims):
        dim = wrap_dim(dim, input.ndim)
        size = input.shape[dim]
        input = input.index_select(dim, (_C.arange(size) - shift) % size)
    return input


def topk(input, k, dim=-1, largest=True, sorted=True):
    dim = wrap_dim(dim, input.ndim)
    values, indices = input.sort(dim, largest)
    first = _C.arange(k)
    return _C._returned(values.index_select(dim, first), indices.index_select(dim, first))


def tril(input, diagonal=0):
    return input.masked_fill(_right_of_diagonal(input.shape[-2], input.shape[-1]) > diagonal, 0)


def triu(input, diagonal=0):
    return input.masked_fill(_right_of_diagonal(input.shape[-2], input.shape[-1]) < diagonal, 0)


MODELS = {"arange": arange, "clamp": clamp, "clamp_": clamp_, "clamp_max": clamp_max,
          "clamp_min": clamp_min, "clip": clamp, "clip_": clamp_, "linspace": linspace, "roll": roll, "topk": topk, "tril": tril, "triu": triu}
