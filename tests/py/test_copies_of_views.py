# SPDX-License-Identifier: Apache-2.0
"""Copies of generated views (transposed, narrowed, spread) have the view's elements in row-major order, whatever the
dtype and however long the rows: short ones, and squares that are turned (ops/cpu/box.c)."""
import math
import random

import janus
import pytest
from shares import LIGHT

DTYPES = ["float32", "float64", "int64", "int32", "uint8", "bool", "float16"]
SIZES = [1, 2, 3, 4, 7, 8, 15, 16, 17, 33, 40]


def flat(found):
    return [x for part in found for x in flat(part)] if isinstance(found, list) else [found]


def view(rng, dtype):
    shape = [rng.choice(SIZES) for _ in range(rng.randint(1, 5))]
    while math.prod(shape) > 20_000:
        shape[rng.randrange(len(shape))] = 1
    x = (janus.arange(math.prod(shape)) % 251).reshape(shape)
    x = x % 2 == 0 if dtype is janus.bool else x.to(dtype)
    x = x.permute(*rng.sample(range(len(shape)), len(shape)))
    for d in range(x.dim()):
        if x.shape[d] > 2 and rng.random() < 0.3:
            x = x.narrow(d, 1, x.shape[d] - 2)
        elif x.shape[d] == 1 and rng.random() < 0.5:
            x = x.expand(*x.shape[:d], rng.choice([2, 5, 20]), *x.shape[d + 1:])
    return x


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("threads", [1, 2])
def test_copies(name, threads):
    before = janus.get_num_threads()
    janus.set_num_threads(threads)
    try:
        for seed in range(0, 60, 6 if LIGHT else 1):
            x = view(random.Random(f"{name} {seed}"), getattr(janus, name))
            expected, what = flat(x.tolist()), f"seed {seed}: {tuple(x.shape)}, {x.stride()}"
            copy = x.contiguous()
            assert copy.is_contiguous() and copy.shape == x.shape and flat(copy.tolist()) == expected, what
            assert x.reshape(-1).tolist() == expected and flat(x.clone().tolist()) == expected, what
    finally:
        janus.set_num_threads(before)


def test_large():
    """More than a thread's share, each of whose parts begins in the middle of a square."""
    before = janus.get_num_threads()
    for threads in (1, 2, 3):
        janus.set_num_threads(threads)
        try:
            for shape, order in [((700, 301), (1, 0)), ((3, 257, 129), (0, 2, 1)), ((5, 65, 3, 130), (0, 3, 1, 2)), ((300_001, 1), (1, 0))]:
                x = janus.arange(math.prod(shape)).reshape(shape)
                turned = x.permute(*order).contiguous()
                back = [order.index(d) for d in range(len(order))]
                assert turned.is_contiguous() and janus.equal(turned.permute(*back), x), shape
        finally:
            janus.set_num_threads(before)
