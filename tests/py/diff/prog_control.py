# SPDX-License-Identifier: Apache-2.0
"""Programs whose control flow depends on arguments, Python numbers and tensors."""

import janus

from .harness import case, t


@case
def if_on_python_bool(function, log):
    @function
    def f(x, flag):
        if flag:
            return x + 1
        return x - 1

    for flag in (True, True, False, True, False, False):
        log(f(t(3), flag))


@case
def if_on_int(function, log):
    @function
    def f(x, n):
        if n > 3:
            y = x * n
        elif n == 2:
            y = x - n
        else:
            y = x
        return y + 1

    for n in (1, 2, 3, 4, 5, 2, 4, 1):
        log(f(t(2), n))


@case
def if_on_tensor(function, log):
    @function
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    for i in range(8):
        log(f(t(3, seed=i)))


@case
def if_on_tensor_seen_one_way_first(function, log):
    @function
    def f(x):
        if (x > 0).all():
            return x.log()
        return x.abs()

    for i in range(4):
        log(f(t(3, seed=i).abs() + 0.1))
    log(f(t(3, seed=1)))
    log(f(t(3, seed=2).abs() + 0.1))


@case
def ternary_and_bool_operators(function, log):
    @function
    def f(x, a, b):
        y = x if a and b else -x
        return y + (a or 2) + (0 if not b else 1)

    for a, b in ((1, 2), (0, 3), (4, 0), (0, 0), (1, 2)):
        log(f(t(2), a, b))


@case
def for_over_range(function, log):
    @function
    def f(x, n):
        for i in range(n):
            x = x * 0.5 + i
        return x

    for n in (3, 3, 4, 0, 10, 3):
        log(f(t(2), n))


@case
def for_over_list_of_tensors(function, log):
    @function
    def f(xs):
        total = 0
        for x in xs:
            total = total + x * 2
        return total

    for n in (3, 3, 1, 5, 3):
        log(f([t(2, seed=i) for i in range(n)]))


@case
def for_with_break_and_continue(function, log):
    @function
    def f(x, limit):
        for i in range(10):
            if i == 2:
                continue
            if i > limit:
                break
            x = x + i
        return x, i

    for limit in (5, 5, 0, 9, 20):
        log(f(t(2), limit))


@case
def for_else(function, log):
    @function
    def f(x, stop):
        for i in range(4):
            if i == stop:
                break
        else:
            x = x * 10
        return x

    for stop in (2, 2, 7, 0):
        log(f(t(2), stop))


@case
def while_on_int(function, log):
    @function
    def f(x, n):
        steps = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            x = x * 0.9
            steps += 1
        return x, steps

    for n in (6, 6, 1, 7, 27, 6):
        log(f(t(2), n))


@case
def while_on_tensor(function, log):
    @function
    def f(x):
        n = 0
        while x.sum() < 10:
            x = x * 2
            n += 1
        return x, n

    for i in range(4):
        log(f(t(3, seed=i).abs() + 0.1))


@case
def nested_loops(function, log):
    @function
    def f(x, n, m):
        for i in range(n):
            for j in range(m):
                x = x + i * j
        return x

    for n, m in ((2, 3), (2, 3), (0, 3), (3, 0), (4, 4)):
        log(f(t(2), n, m))


@case
def early_returns(function, log):
    @function
    def f(x, n):
        if n == 0:
            return None
        for i in range(5):
            if i == n:
                return x * i
        return x, n

    for n in (0, 1, 2, 9, 0, 1):
        log(f(t(2), n))


@case
def enumerate_zip_reversed(function, log):
    @function
    def f(xs, ys):
        out = []
        for i, (x, y) in enumerate(zip(xs, reversed(ys))):
            out.append(x * i + y)
        return out

    for _ in range(3):
        log(f([t(2, seed=i) for i in range(3)], [t(2, seed=i) for i in range(4, 7)]))


@case
def comprehension_and_sum(function, log):
    @function
    def f(xs):
        ys = [x * 2 for x in xs if x.shape[0] > 1]
        return sum(ys), janus.stack(ys), {i: y for i, y in enumerate(ys)}

    for n in (2, 2, 3):
        log(f([t(2, seed=i) for i in range(n)] + [t(1)]))


@case
def python_numbers_only(function, log):
    @function
    def f(a, b):
        return a + b, a * b, a / b, a // b, a % b, a ** 2, -a, a < b, min(a, b), max(a, b), abs(a - b)

    for a, b in ((3, 4), (3, 4), (-7, 2), (7, -2), (2.5, 4), (10**20, 3), (2**63, 1), (2**62, 2)):
        log(f(a, b))


@case
def int_above_63_bits(function, log):
    @function
    def f(x, n):
        return x + 1, n * n

    for n in (3, 2**31, 2**62, 2**63, -(2**63), 2**64 + 1, 3):
        log(f(t(2), n))


@case
def assert_statement(function, log):
    @function
    def f(x, n):
        assert n < 5, f"too large: {n}"
        return x * n

    for n in (1, 2, 3):
        log(f(t(2), n))
    log.raises(f, t(2), 7)
    log(f(t(2), 4))


@case
def long_loop(function, log):
    @function
    def f(x, n):
        i = 0
        while i < n:
            x = x + 0.001
            i += 1
        return x

    for n in (10, 500, 1000, 10):
        log(f(t(1), n))


@case
def chained_comparison(function, log):
    @function
    def f(x, n):
        if 0 < n <= 3:
            return x * n
        return x

    for n in (0, 1, 3, 4, 1):
        log(f(t(2), n))


@case
def walrus_and_augmented(function, log):
    @function
    def f(x, n):
        if (m := n * 2) > 4:
            x = x + m
        m -= 1
        x *= 2
        return x + m

    for n in (1, 2, 3, 4):
        log(f(t(2) + 0, n))


@case
def type_of_argument_changes(function, log):
    @function
    def f(x, k):
        return x * k

    for k in (1, 2.5, 3, True, t(2), 1):
        log(f(t(2), k))


@case
def none_argument(function, log):
    @function
    def f(x, bias=None):
        if bias is None:
            return x
        return x + bias

    for bias in (None, None, t(2, seed=4), None, t(2, seed=5)):
        log(f(t(2), bias))
