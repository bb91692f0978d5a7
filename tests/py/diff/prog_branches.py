# SPDX-License-Identifier: Apache-2.0
"""Branches and loops on tensors, computing tensors only: what a device may decide by itself.  Called often enough that
they are captured and replayed there, with either outcome."""

import janus

from .harness import MUST, case, t

CALLS = 7


def calls(log, f, *shape, more=(), scale=1.0):
    for i in range(CALLS):
        log(f(t(*shape, seed=i) * scale, *more))


@case(graph=MUST)
def arms(function, log):
    w = t(3, 4, seed=9)

    @function
    def f(x):
        h = (x @ w).tanh()
        if h.sum() > 0:
            h = h.exp() + 1
        else:
            h = (h * 2).sin() - h
        return h * 3

    calls(log, f, 2, 3)


@case(graph=MUST)
def one_arm(function, log):
    @function
    def f(x):
        h = x + 1
        if h.sum() > 3:
            h = h * 2
        if h.max() > 2.5:
            h = h - h.mean()
        if h.min() < 0:
            h = h.abs()
        return h

    calls(log, f, 3)


@case(graph=MUST)
def several_results(function, log):
    @function
    def f(x):
        a, b = x * 2, x - 1
        if a.sum() > b.sum():
            a, b = b, a + b
        else:
            b = a.exp()
        return a + 1, b + 1

    calls(log, f, 4)


@case(graph=MUST)
def scalars_and_shapes(function, log):
    @function
    def f(x, n, s):
        h = x * 1.5
        if h.sum() > 0:
            h = (h * s).reshape(n, -1).sum(1)
        else:
            h = (h + s).reshape(n, -1).sum(1) * s
        return h + s

    for n, s in ((2, 0.5), (2, 0.5), (2, 0.5), (3, 0.5), (3, 0.25), (3, 0.25), (2, -1.0)):
        for i in range(3):
            log(f(t(6, seed=i), n, s))


@case(graph=MUST)
def nested(function, log):
    @function
    def f(x):
        h = x * 2
        if h.sum() > 0:
            if h.max() > 1.5:
                h = h * 0.5
            else:
                h = h + 0.5
            while h.abs().max() > 0.25:
                h = h * 0.5
        else:
            h = -h
            if h.min() > 0:
                h = h.sqrt()
        return h.sum()

    calls(log, f, 3)


@case(graph=MUST)
def loop(function, log):
    @function
    def f(x):
        h = x.abs() + 0.25
        while h.sum() < 10:
            h = h * 1.5
        return h

    calls(log, f, 3)
    calls(log, f, 3, scale=30.0)  # no round


@case(graph=MUST)
def counters(function, log):
    @function
    def f(x, start):
        n, m, k = start, 7, 0
        while x.sum() < 10:
            x = x * 2 + 0.5
            n += 1
            m -= 3
            k += 0
        return x * 1, n, m, k

    for i in range(CALLS):
        log(f(t(3, seed=i).abs() + 0.1, i // 3))
    log(f(t(3).abs() + 100, 5))


@case(graph=MUST)
def loop_of_several(function, log):
    @function
    def f(x, w):
        a, b, c = x + 0, x.cos(), x * 0.5
        while a.sum() + c.sum() < 20:
            a, b = b + 1, a * 1.25
            if b.sum() > 8:
                c = c + w
            else:
                c = c + a
        return a + b, c

    calls(log, f, 3, more=(t(3, seed=20).abs(),))


@case(graph=MUST)
def loops_in_loops(function, log):
    @function
    def f(x):
        y = x.abs() + 0.1
        while y.sum() < 40:
            z = y * 1
            while z.max() < 4:
                z = z * 2
            y = y + z
        return y

    calls(log, f, 3)


@case(graph=MUST)
def truth(function, log):
    @function
    def f(x, y):
        h = x * 2
        if y.sum():
            h = h + 1
        else:
            h = h - 1
        while (y.sum() < 3).any():
            y = y + 1
        return h, y + 0

    for dtype in (janus.float32, janus.float64, janus.int64, janus.int32):
        for i in range(4):
            log(f(t(3, seed=i), janus.tensor([i - 1, 1 - i, i & 1]).to(dtype)))
    for i in range(4):
        log(f(t(3, seed=i), janus.tensor([0.25, 0.25, -0.5 + 0.25 * i])))


@case
def same_objects(function, log):
    @function
    def passed(x):
        if x.sum() > 0:
            x = x * 2
        return x

    @function
    def rounds(x):
        while x.abs().max() > 0.5:
            x = x * 0.5
        return x

    @function
    def swapped(x):
        y, z = x + 1, x - 1
        if x.sum() > 0:
            y, z = z, y
        return y, z, [y, z]

    @function
    def listed(x):
        kept = [x]
        while x.sum() > 1:
            x = x - 1
        return kept, x

    for i in range(CALLS):
        for f in (passed, rounds, swapped, listed):
            x = t(3, seed=i) * (0.2 if i % 3 == 0 else 2)
            y = f(x)
            log(x, y, y is x)


@case(graph=MUST)
def errors_in_arms(function, log):
    w = t(5, 2)

    @function
    def f(x, i):
        h = x * 2
        if h.sum() > 0:
            h = h + janus.nn.functional.embedding(i, w)
        else:
            h = h - 1
        return h

    good, bad = janus.tensor([1, 4, 0]), janus.tensor([1, 5, 0])
    up, down = t(3, 2).abs(), -t(3, 2).abs()
    for i in range(4):
        log(f(up, good), f(down, good), f(down, bad))
        log.raises(f, up, bad)
    log(f(up, good), f(down, bad))


@case
def written_in_place(function, log):
    @function
    def f(x, y):
        if x.sum() > 0:
            y += x
        while y.sum() < 4:
            y *= 1.5
            y += 1
        return x * 1

    for i in range(CALLS):
        y = t(3, seed=i + 1).abs()
        log(f(t(3, seed=i), y), y)
