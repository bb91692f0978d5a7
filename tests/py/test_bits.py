# SPDX-License-Identifier: Apache-2.0
"""& | ^ ~ << >> of integer and bool tensors against NumPy; what has no bits."""
import operator

import pytest

import janus

np = pytest.importorskip("numpy")

DTYPES = {"i32": (janus.int32, np.int32), "i64": (janus.int64, np.int64), "u8": (janus.uint8, np.uint8)}
BINARY = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
IN_PLACE = {"and": operator.iand, "or": operator.ior, "xor": operator.ixor, "left_shift": operator.ilshift,
            "right_shift": operator.irshift}


def both(dtype, *shape, seed=0, low=-100, high=100):
    ours, theirs = DTYPES[dtype]
    a = np.random.default_rng(seed).integers(0 if dtype == "u8" else low, high, shape).astype(theirs)
    return janus.tensor(a.tolist(), dtype=ours), a


def same(got, want):
    np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name, dtype):
    f = BINARY[name]
    (x, a), (y, b), (z, c) = both(dtype, 5, 37), both(dtype, 37, seed=1), both(dtype, 37, 5, seed=2)
    for _ in range(3):
        same(f(x, y), f(a, b))
        same(f(x, z.t()), f(a, c.T))
        same(f(x, 9), f(a, 9))
        same(f(9, x), f(9, a))
        same(getattr(janus, "bitwise_" + name)(x, y), f(a, b))
        assert f(x, y).dtype == x.dtype
    same(f(x > 3, x < 50), f(a > 3, a < 50))
    same(f(x > 3, True), f(a > 3, True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_not(dtype):
    x, a = both(dtype, 6, 7)
    same(~x, ~a)
    same(~x.t(), ~a.T)
    same(~(x > 3), ~(a > 3))
    same(x.bitwise_not(), ~a)
    assert x.bitwise_not_() is x
    same(x, ~a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_shifts(dtype):
    bits = 8 * np.dtype(DTYPES[dtype][1]).itemsize
    x, a = both(dtype, 41)
    y, b = both(dtype, 41, seed=4, low=-3, high=80)
    wide = a.astype(object)
    in_range = (b >= 0) & (b < bits)
    left = np.where(in_range, wide * 2 ** np.where(in_range, b, 0).astype(object), 0)
    left = np.array([int(v) % 2 ** bits for v in left], np.uint64).astype(f"u{bits // 8}").view(DTYPES[dtype][1])
    right = np.where(in_range, wide // 2 ** np.where(in_range, b, 0).astype(object), np.where(a < 0, -1, 0))
    same(x << y, left)
    same(x >> y, right.astype(a.dtype))
    same(x << 3, a << 3)
    same(x >> 3, a >> 3)
    same(3 << x.clamp(0, 4), 3 << a.clip(0, 4))
    same(1000 >> x.int().clamp(0, 4), 1000 >> a.astype(np.int32).clip(0, 4))


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name):
    f = IN_PLACE[name]
    for step in (janus.tensor([[1], [2]]), 3, janus.tensor(2)):
        x, a = both("i64", 2, 9)
        row, version = x[1], x._version
        assert f(x, step) is x and x._version > version
        a = f(a, step.numpy() if isinstance(step, janus.Tensor) else step)
        same(x, a)
        same(row, a[1])
        same(getattr(x, f"bitwise_{name}_")(1), f(a, 1))


def test_promotion():
    i32, i64, u8, yes = (janus.ones(2, dtype=d) for d in (janus.int32, janus.int64, janus.uint8, janus.bool))
    assert (i32 & i64).dtype == (yes | i64).dtype == (u8 ^ i64).dtype == janus.int64
    assert (yes & 3).dtype == (yes << 1).dtype == janus.int64
    assert (i32 & 3).dtype == (i32 & yes).dtype == (i32 | True).dtype == (u8 ^ i32).dtype == janus.int32
    assert (yes & yes).dtype == (True ^ yes).dtype == (~yes).dtype == janus.bool
    assert (u8 << 1).dtype == (u8 & janus.tensor(1)).dtype == janus.uint8


def test_what_has_no_bits():
    x, n, yes = janus.ones(2), janus.ones(2, dtype=janus.int64), janus.ones(2, dtype=janus.bool)
    for f in (lambda: x & x, lambda: n & 1.5, lambda: 1.5 | n, lambda: x << 2, lambda: 2 >> x, lambda: yes << yes,
              lambda: operator.iand(yes, n), lambda: operator.ilshift(n, 2.5)):
        with pytest.raises(RuntimeError):
            f()
    for f in (lambda: ~x, lambda: n & None, lambda: "a" ^ n, lambda: [1] | n):
        with pytest.raises(TypeError):
            f()
    leaf = janus.ones(2, requires_grad=True)
    assert not ((leaf > 0) & (leaf < 2)).requires_grad
