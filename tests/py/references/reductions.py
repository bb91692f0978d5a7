# SPDX-License-Identifier: Apache-2.0
"""Reductions."""
import math

import numpy as np

from .common import REFERENCES, ref


def axes(dims, x):
    return tuple(dims) if dims else tuple(range(np.ndim(x)))


for _name, _f in {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min,
                  "any": np.any, "all": np.all}.items():
    REFERENCES[_name] = (lambda f: lambda x, dims, keepdim: f(
        x, axis=axes(dims, x), keepdims=bool(keepdim)))(_f)


@ref
def logsumexp(x, dims, keepdim):
    return np.log(np.sum(np.exp(x), axis=axes(dims, x), keepdims=bool(keepdim)))


@ref
def var(x, dims, keepdim, correction):
    return np.var(x, axis=axes(dims, x), keepdims=bool(keepdim), ddof=correction)


@ref
def norm(x, dims, keepdim, p):
    a, k = axes(dims, x), bool(keepdim)
    if p == math.inf:
        return np.max(np.abs(x), axis=a, keepdims=k)
    return np.sum(np.abs(x)**p, axis=a, keepdims=k)**(1 / p)


def best(x, axis, keepdim, arg):
    i = np.expand_dims(arg(x, axis=axis), axis)
    v = np.take_along_axis(x, i, axis)
    return (v, i) if keepdim else (np.squeeze(v, axis), np.squeeze(i, axis))


@ref
def max_dim(x, axis, keepdim):
    return best(x, axis, keepdim, np.argmax)


@ref
def min_dim(x, axis, keepdim):
    return best(x, axis, keepdim, np.argmin)


@ref
def argmax(x, axis, all, keepdim):
    return np.argmax(x) if all else best(x, axis, keepdim, np.argmax)[1]


@ref
def argmin(x, axis, all, keepdim):
    return np.argmin(x) if all else best(x, axis, keepdim, np.argmin)[1]


@ref
def cumsum(x, axis, reverse):
    if reverse:
        return np.flip(np.cumsum(np.flip(x, axis), axis), axis)
    return np.cumsum(x, axis)
