# SPDX-License-Identifier: Apache-2.0
"""Programs with effects: in-place writes, prints, exceptions in the middle, random numbers."""

import janus
import janus.nn.functional as F

from .harness import case, t


@case
def in_place_on_argument(function, log):
    @function
    def f(x, y):
        x.mul_(2)
        x += y
        return x.sum()

    x = t(3) + 0
    for i in range(4):
        log(f(x, t(3, seed=i)), x)


@case
def overlapping_views(function, log):
    @function
    def f(a, b):
        a.add_(1)
        b.mul_(2)
        return a + b

    for i in range(3):
        log(f(t(3, seed=i) + 0, t(3) + 0))
    base = t(5) + 0
    log(f(base[:3], base[2:]), base)
    log(f(base[1:4], base[1:4]), base)


@case
def view_written_then_base_read(function, log):
    @function
    def f(x):
        v = x[1:]
        v.fill_(7.0)
        x[0] = -1.0
        return x * 2, v

    for i in range(3):
        x = t(4, seed=i) + 0
        log(f(x), x)


@case
def item_assignment(function, log):
    @function
    def f(x, i, v):
        x[i] = v
        x[:, 0] += 1
        return x

    for i, v in ((0, 1.0), (1, t(3)), (-1, 2.0)):
        x = t(2, 3) + 0
        log(f(x, i, v), x)


@case
def print_is_kept_in_order(function, log):
    @function
    def f(x, n):
        print("start", n)
        y = x * n
        print("middle", y.shape, end="!\n")
        return y

    for n in (1, 1, 2):
        print("outside", n)
        log(f(t(2), n))


@case
def print_a_tensor(function, log):
    @function
    def f(x):
        y = x * 2
        print(y)
        return y

    for i in range(3):
        log(f(t(3, seed=i)))


@case
def exception_in_the_third_iteration(function, log):
    @function
    def f(xs, out):
        for i, x in enumerate(xs):
            out.append(x + i)
            if i == 2:
                raise KeyError("third")
        return out

    out = []
    log(f([t(2)], out), out)
    log(f([t(2)], out), out)
    log.raises(f, [t(2)] * 4, out)
    log(out)


@case
def shape_error_after_effects(function, log):
    class State:
        n = 0

    s = State()

    @function
    def f(x, y):
        s.n += 1
        return x @ y

    log(f(t(2, 3), t(3, 2)), f(t(2, 3), t(3, 2)))
    log.raises(f, t(2, 3), t(2, 3))
    log(s.n, f(t(2, 3), t(3, 2)), s.n)


@case
def index_error(function, log):
    @function
    def f(x, i):
        return x[i] * 2

    for i in (0, 1, 2):
        log(f(t(3), i))
    log.raises(f, t(3), 3)
    log(f(t(3), -1))


@case
def index_tensor_out_of_range(function, log):
    f = function(lambda w, i: F.embedding(i, w))
    for k in (0, 1):
        log(f(t(4, 2), janus.tensor([k, 3])))
    log.raises(f, t(4, 2), janus.tensor([1, 4]))
    log(f(t(4, 2), janus.tensor([2])))


@case
def zero_division(function, log):
    f = function(lambda x, n: x * (10 // n))
    for n in (2, 2, 5):
        log(f(t(2), n))
    log.raises(f, t(2), 0)
    log(f(t(2), 3))


@case
def try_and_except(function, log):
    @function
    def f(x, d, key):
        try:
            y = x * d[key]
        except KeyError:
            y = x
        finally:
            d["seen"] = d.get("seen", 0) + 1
        return y

    d = {"a": 2.0}
    for key in ("a", "a", "b", "a"):
        log(f(t(2), d, key), d)


@case
def random_numbers(function, log):
    @function
    def f(x):
        a = x + janus.rand(3)
        b = janus.randn(2, 2)
        return a, b, janus.randint(0, 10, (4,))

    for i in range(4):
        log(f(t(3, seed=i)))
    janus.manual_seed(7)
    log(f(t(3)), janus.rand(2))


@case
def dropout(function, log):
    f = function(lambda x, on: F.dropout(x, 0.5, training=on))
    for on in (True, True, False, True):
        log(f(t(10), on), janus.rand(1))


@case
def random_in_one_branch(function, log):
    @function
    def f(x, flag):
        if flag:
            x = x + janus.rand(2)
        return x * janus.rand(2)

    for flag in (True, True, False, True, False):
        log(f(t(2), flag))


@case(graph=False)
def python_random(function, log):
    import random

    random.seed(3)
    f = function(lambda x: x * random.random())
    for _ in range(4):
        log(f(t(2)))


@case(graph=False)
def time_and_files(function, log):
    import os

    f = function(lambda x, p: x + len(os.listdir(p)) * 0)
    for _ in range(3):
        log(f(t(2), "/"))


@case
def method_calls_with_effects_between(function, log):
    class Buffer:
        def __init__(self):
            self.items, self.version = [], 0

        def push(self, x):
            self.items.append(x)
            self.version += 1
            return self

        def mean(self):
            return sum(self.items) / len(self.items)

    @function
    def f(b, x):
        return b.push(x).push(x * 2).mean() + b.version

    b = Buffer()
    for i in range(4):
        log(f(b, t(2, seed=i)), b)


@case
def delete_and_clear(function, log):
    @function
    def f(b, d, x):
        d.pop("old", None)
        d.clear()
        d["new"] = x * 2
        b[:] = [x]
        return len(d)

    for i in range(3):
        b, d = [1, 2], {"old": 1, "k": 2}
        log(f(b, d, t(2, seed=i)), b, d)


@case
def swap_through_attributes(function, log):
    class P:
        def __init__(self, a, b):
            self.a, self.b = a, b

    @function
    def f(p):
        p.a, p.b = p.b, p.a
        p.a.add_(1)

    p = P(t(2) + 0, t(2, seed=1) + 0)
    for _ in range(4):
        log(f(p), p)


@case
def nan_constant(function, log):
    nan = float("nan")

    @function
    def f(x, k):
        return x * nan, k == k, x + k

    for k in (nan, nan, 1.0, -0.0, 0.0):
        log(f(t(2), k))


@case
def negative_zero(function, log):
    f = function(lambda x, k: (1.0 / (x * 0 + k)))
    for k in (0.0, 0.0, -0.0, 0.0):
        log(f(t(1), k))


@case
def set_data_and_version(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        with janus.no_grad():
            w.sub_(x * 0.1)
        return w.sum()

    for i in range(4):
        log(f(t(3, seed=i)), w)
