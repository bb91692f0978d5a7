# SPDX-License-Identifier: Apache-2.0
"""Ops that create and draw."""
import math

import numpy as np

from .common import DTYPES, NP, ref
from .shapes import filled


@ref
def full(value, *sizes, shape, dtype):
    return np.full(filled(shape, sizes), value, NP[DTYPES[dtype]])


@ref
def full_like(value, like, dtype):
    return np.full_like(like, value)


@ref
def scalar_tensor(value, dtype):
    return np.array(value, NP[DTYPES[dtype]])


@ref
def arange(start, step, n, dtype):
    return (start + np.arange(n) * step).astype(NP[DTYPES[dtype]])


@ref
def eye(n, m, dtype):
    return np.eye(n, m)


def philox(seed, counter, high):
    """Philox4x32-10 from its published definition."""
    mask = 0xffffffff
    c = [counter & mask, counter >> 32 & mask, high & mask, high >> 32 & mask]
    k = [seed & mask, seed >> 32 & mask]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & mask, (a >> 32) ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def words(seed, offset, i):
    return philox(seed, offset + i // 4, 0)[i % 4], philox(seed, offset + i // 4, 1)[i % 4]


def unit(seed, offset, i, wide):
    high, low = words(seed, offset, i)
    return ((high << 32 | low) >> 11) * 2.0**-53 if wide else (high >> 8) * 2.0**-24


def below(seed, offset, i, n):
    high, low = words(seed, offset, i)
    return (high << 32 | low) * n >> 64


def drawn(shape, draw):
    n = int(np.prod(shape))
    return np.array([draw(i) for i in range(n)]).reshape(shape)


@ref
def uniform(like, seed, offset, shape, dtype, low, high):
    values = drawn(shape, lambda i: low + (high - low) * unit(seed, offset, i, dtype == 1))
    if DTYPES[dtype] not in ("f16", "bf16"):
        return values
    bits = np.asarray(values, np.float32).view(np.uint32)
    if DTYPES[dtype] == "f16":
        rounded, before = np.asarray(values, np.float16), np.nextafter(np.float16(high), np.float16(low))
    else:
        rounded = (bits + 0x7fff + (bits >> 16 & 1) & 0xffff0000).view(np.float32)
        before = (np.array([high], np.float32).view(np.uint32) - 0x10000).view(np.float32)[0]
    return np.where(rounded == high, before, rounded)


@ref
def normal(like, seed, offset, shape, dtype, mean, std):
    def draw(i):
        u, v = 1 - unit(seed, offset, i & ~1, dtype == 1), unit(seed, offset, i | 1, dtype == 1)
        part = math.sin if i & 1 else math.cos
        return mean + std * math.sqrt(-2 * math.log(u)) * part(2 * math.pi * v)
    return drawn(shape, draw)


@ref
def randint(low, high, like, seed, offset, shape, dtype):
    return drawn(shape, lambda i: low + below(seed, offset, i, high - low))


@ref
def bernoulli_mask(x, seed, offset, p, scale):
    return drawn(x.shape, lambda i: scale if unit(seed, offset, i, False) < p else 0)


@ref
def randperm(n, seed, offset, dtype):
    y = list(range(n))
    for i in range(n - 1, 0, -1):
        j = below(seed, offset, i, i + 1)
        y[i], y[j] = y[j], y[i]
    return np.array(y)
