# SPDX-License-Identifier: Apache-2.0
"""Programs of integers' bits, and of assignments to places that tensors name."""

import janus

from .harness import FAST, MUST, case, t


def ints(*values, dtype=janus.int64):
    return janus.tensor(values, dtype=dtype)


@case(graph=MUST)
def operators_of_bits(function, log):
    @function
    def f(a, b, n):
        return a & b, a | 12, 5 ^ b, ~a, a << n, 1000 >> n, (a > b) & (b > 0) | ~(a > 3), True ^ (a > b)

    for i in range(4):
        log(f(ints(1 + i, 2, -3), ints(3, -6, 7), ints(1, 2, 3)))
    log(f(ints(7, 6, dtype=janus.int32), ints(3, 5, dtype=janus.int32), ints(0, 70, dtype=janus.int32)))


@case(graph=MUST)
def bits_in_place(function, log):
    @function
    def f(a, mask):
        a &= 29
        a <<= 2
        a |= 3
        mask ^= True
        a.bitwise_xor_(mask)
        return a >> 1

    for i in range(4):
        a, mask = ints(5 + i, 9, 1023), janus.tensor([True, False, i % 2 == 0])
        log(f(a, mask), a, mask)


@case
def bits_of_floats_raise(function, log):
    @function
    def f(a, b):
        return (a & b) + 1

    for i in range(3):
        log(f(ints(1, 2), ints(3, i)))
    log.raises(f, t(3), ints(1, 2, 3))
    log.raises(f, ints(1), 2.5)


@case(graph=MUST)
def hash_of_numbers(function, log):
    """Loops of shifts and xors, the integers being numbers at first and tensors then."""

    @function
    def f(x, rounds):
        for k in range(rounds):
            x = x ^ (x << 13)
            x = x ^ (x >> 7)
            x = x ^ (x << 17)
        return x

    for i in range(4):
        log(f(ints(1 + i, 88172645463325252), 3))


@case(graph=FAST)
def numbers_at_masks(function, log):
    @function
    def f(x, rows):
        y = x * 2
        y[y > 0.5] = 0.25
        y[rows] = -1
        return y.sum(), y

    for i in range(4):
        x = t(3, 2, seed=i, grad=True)
        total, y = f(x, janus.tensor([True, i % 2 == 0, False]))
        total.backward()
        log(total, y, x.grad)


@case
def tensors_at_indices(function, log):
    @function
    def f(x, i, v):
        y = x * 2
        y[i] = v
        y[:, 1] = v[0, 0]
        y.index_put_((i, i), v[:, 0], accumulate=True)
        return (y * y).sum(), y

    for k in range(4):
        x, v = t(4, 3, seed=k, grad=True), t(2, 3, seed=9, grad=True)
        total, y = f(x, janus.tensor([k % 2, 2]), v)
        total.backward()
        log(total, y, x.grad, v.grad)


@case
def tensors_at_masks(function, log):
    @function
    def f(x, v):
        y = x * 3
        y[x > 0] = v[: int((x > 0).sum())]
        return y.sum(), y

    for k in range(4):
        x, v = t(5, seed=k, grad=True), t(5, seed=9, grad=True)
        total, y = f(x, v)
        total.backward()
        log(total, y, x.grad, v.grad)
