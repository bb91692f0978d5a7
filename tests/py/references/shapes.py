# SPDX-License-Identifier: Apache-2.0
"""Ops of shapes."""
import numpy as np

from .common import REFERENCES, ref
from .reductions import axes


def filled(shape, sizes):
    sizes = list(sizes)
    return [sizes.pop(0) if s == -2 else s for s in shape]


@ref
def reshape(x, *sizes, shape):
    return x.reshape(filled(shape, sizes))


@ref
def transpose(x, dim0, dim1):
    return np.swapaxes(x, dim0, dim1)


@ref
def permute(x, dims):
    return np.transpose(x, dims)


@ref
def expand(x, *sizes, shape):
    lead = len(shape) - x.ndim
    return np.broadcast_to(x, [x.shape[i - lead] if s == -1 else s for i, s in enumerate(shape)])


@ref
def unsqueeze(x, axis):
    return np.expand_dims(x, axis)


@ref
def squeeze(x, axis):
    return np.squeeze(x, tuple(axis)) if axis else np.squeeze(x)


def at_axis(x, axis, what):
    return (slice(None),) * (axis % x.ndim) + (what,)


@ref
def slice_(x, start=None, stop=None, *, axis, step):
    return x[at_axis(x, axis, slice(start, stop, step))]


@ref
def select(x, index, axis):
    return np.take(x, index, axis)


@ref
def expand_like(x, like):
    return np.broadcast_to(x, like.shape)


@ref
def overwrite(x, was):
    return np.broadcast_to(x, was.shape)


@ref
def reshape_like(x, like):
    return x.reshape(like.shape)


@ref
def sum_like(x, like):
    lead = x.ndim - like.ndim
    over = tuple(range(lead)) + tuple(
        i + lead for i in range(like.ndim) if like.shape[i] != x.shape[i + lead])
    return x.sum(over, keepdims=True).reshape(like.shape)


@ref
def concat(*xs, axis):
    return np.concatenate(xs, axis)


@ref
def stack(*xs, axis):
    return np.stack(xs, axis)


@ref
def pad(x, before, after, value):
    y = np.pad(x, [(max(b, 0), max(a, 0)) for b, a in zip(before, after)], constant_values=value)
    return y[tuple(slice(max(-b, 0), y.shape[i] - max(-a, 0))
                   for i, (b, a) in enumerate(zip(before, after)))]


@ref
def flip(x, dims):
    return np.flip(x, axes(dims, x))


@ref
def roll(x, shifts, dims):
    return np.roll(x, tuple(shifts), tuple(dims)) if dims else np.roll(x, shifts[0])


REFERENCES["tril"] = lambda x, diagonal: np.tril(x, diagonal)
REFERENCES["triu"] = lambda x, diagonal: np.triu(x, diagonal)
REFERENCES["diag"] = lambda x, diagonal: np.diag(x, diagonal)
REFERENCES["repeat"] = lambda x, repeats: np.tile(x, repeats)


@ref
def slice_scatter(x, src, start=None, stop=None, *, axis, step):
    y = x.copy()
    y[at_axis(x, axis, slice(start, stop, step))] = src
    return y


@ref
def select_scatter(x, src, index, axis):
    y = x.copy()
    y[at_axis(x, axis, index)] = src
    return y


@ref
def slice_grad(dy, start, stop, x=None, *, axis, step):
    y = np.zeros(x.shape, dy.dtype)
    y[at_axis(x, axis, slice(start, stop, step))] = dy
    return y


@ref
def select_grad(dy, index, x, axis):
    y = np.zeros(x.shape, dy.dtype)
    y[at_axis(x, axis, index)] = dy
    return y
