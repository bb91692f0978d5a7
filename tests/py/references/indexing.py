# SPDX-License-Identifier: Apache-2.0
"""Ops with indices."""
import numpy as np

from .common import ref
from .shapes import at_axis


@ref
def gather(x, index, axis):
    y = np.empty(index.shape, x.dtype)
    for at in np.ndindex(*index.shape):
        y[at] = x[at[:axis] + (index[at],) + at[axis + 1:]]
    return y


def scattered(x, index, src, axis, add):
    y = x.copy()
    for at in np.ndindex(*index.shape):
        to = at[:axis] + (index[at],) + at[axis + 1:]
        y[to] = y[to] + src[at] if add else src[at]
    return y


@ref
def scatter(x, index, src, axis):
    return scattered(x, index, src, axis, False)


@ref
def scatter_add(x, index, src, axis):
    return scattered(x, index, src, axis, True)


@ref
def index_select(x, index, axis):
    return np.take(x, index, axis)


@ref
def index_add(x, index, src, axis):
    y = x.copy()
    np.add.at(y, at_axis(x, axis, index), src)
    return y


@ref
def embedding(weight, index, padding_idx):
    return weight[index]


@ref
def embedding_grad(dy, index, weight, padding_idx):
    if np.any((index < -len(weight)) | (index >= len(weight))):  # those of padding_idx, too, which add nothing
        raise IndexError("index out of range")
    index = index % len(weight) if len(weight) else index
    y = np.zeros(weight.shape, dy.dtype)
    keep = index != padding_idx
    np.add.at(y, index[keep], dy[keep])
    return y


def positions(x, indices, where):
    key = [slice(None)] * x.ndim
    for a, i in zip(where, indices):
        key[a] = i
    return tuple(key)


@ref
def index(x, *indices, axes):
    return x[positions(x, indices, axes)]


@ref
def index_put(x, src, *indices, axes, accumulate):
    y = x.copy()
    if accumulate:
        np.add.at(y, positions(x, indices, axes), src)
    else:
        y[positions(x, indices, axes)] = src
    return y


@ref
def nonzero(x):
    found = np.argwhere(x)
    y = np.zeros((x.size, x.ndim), np.int64)
    y[:len(found)] = found
    return y, np.int64(len(found))


@ref
def masked_select(x, mask):
    y = np.zeros(x.size, x.dtype)
    y[:mask.sum()] = x[mask]
    return y, np.int64(mask.sum())


@ref
def one_hot(x, num_classes):
    return np.eye(num_classes, dtype=np.int64)[x]


def order(x, axis, descending):
    if descending:  # stable: the last of equals, reversed, comes first
        n = x.shape[axis]
        return n - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    return np.argsort(x, axis, kind="stable")


@ref
def sort(x, axis, descending):
    i = order(x, axis, descending)
    return np.take_along_axis(x, i, axis), i


@ref
def argsort(x, axis, descending):
    return order(x, axis, descending)


@ref
def topk(x, k, axis, largest):
    i = np.take(order(x, axis, largest), range(k), axis)
    return np.take_along_axis(x, i, axis), i
