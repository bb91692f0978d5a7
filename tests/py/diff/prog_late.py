# SPDX-License-Identifier: Apache-2.0
"""Tensors large enough that a run computes what it writes to them in place, when it commits: who else may see
what they held, or what they will hold."""

import os

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import FAST, MUST, case, may_be_graph, t

N = 64  # N x N floats are 16 KB


def big(seed):
    return t(N, N, seed=seed)


def late(f):
    """How many tasks were; None: not known, or a device's, which copies."""
    known = may_be_graph(f) and "JANUS_FAIL_ASSERT" not in os.environ and t(1).device.type == "cpu"
    known = known and os.environ.get("JANUS_VERIFY") != "always"  # then nothing is written by graphs
    return f.stats()["late"] if known else None


def times(f, log, *args, n=4, see=()):
    for i in range(n):
        log(f(*args), *args, *see)


def in_place(f, n=1):
    assert late(f) is None or late(f) >= n, "nothing was computed in place"


def copied(f):
    assert not late(f), "computed in place"


@case(graph=MUST)
def one_update(function, log):
    @function
    def f(p, g):
        p.add_(g * 0.5)
        p.mul_(1.25)

    times(f, log, big(1), big(2))
    in_place(f)


@case(graph=MUST)
def state_and_parameter(function, log):
    @function
    def f(p, s, g):
        s.mul_(0.9).add_(g)
        p.sub_(s * 0.1)

    times(f, log, big(1), big(2), big(3))
    in_place(f)


@case(graph=MUST)
def old_value_returned(function, log):
    @function
    def f(p):
        old = p * 1.0
        p.add_(1.0)
        return old

    times(f, log, big(1))


@case(graph=MUST)
def new_value_returned(function, log):
    @function
    def f(p):
        p.add_(1.0)
        return p * 2.0, p

    times(f, log, big(1))


@case(graph=MUST)
def new_value_kept_in_a_list(function, log):
    kept = []

    @function
    def f(p, g):
        kept.append(p.clone())
        p.add_(g)
        kept.append(p.clone())

    times(f, log, big(1), big(2), see=(kept,))


@case(graph=MUST)
def stored_value_is_also_a_result(function, log):
    @function
    def f(p, q):
        x = p + 1.0
        p.copy_(x)
        q.copy_(x)
        return x

    times(f, log, big(1), big(2))
    copied(f)


@case(graph=MUST)
def one_value_in_two_tensors(function, log):
    @function
    def f(p, q):
        x = p * 0.5 + q
        p.copy_(x)
        q.copy_(x)

    times(f, log, big(1), big(2))
    copied(f)


@case(graph=MUST)
def a_value_and_its_view_in_two_tensors(function, log):
    @function
    def f(p, q, r):
        x = p * 0.5 + 1.0
        p.copy_(x)
        q.copy_(x.view(-1))
        r.copy_(x.view(N * 2, N // 2))

    times(f, log, big(1), t(N * N, seed=2), t(N * 2, N // 2, seed=3))


@case(graph=MUST)
def two_writes_to_one(function, log):
    @function
    def f(p, q):
        p.add_(q)
        q.sub_(p)
        p.mul_(q)

    times(f, log, big(1), big(2))


@case(graph=MUST)
def swapped(function, log):
    @function
    def f(p, q):
        x = p.clone()
        p.copy_(q)
        q.copy_(x)

    times(f, log, big(1), big(2))


@case(graph=MUST)
def crossed(function, log):
    @function
    def f(p, q):
        a, b = p + q * 0.5, q - p * 0.5
        p.copy_(a)
        q.copy_(b)

    times(f, log, big(1), big(2))


@case(graph=MUST)
def shifted_along(function, log):
    @function
    def f(a, b, c, x):
        c.copy_(b)
        b.copy_(a)
        a.copy_(x * 1.0)
        x.add_(1.0)

    times(f, log, big(1), big(2), big(3), big(4))


@case(graph=MUST)
def transposed_of_itself(function, log):
    @function
    def f(p):
        p.add_(p.t() * 0.25)

    times(f, log, big(1))
    in_place(f)


@case(graph=MUST)
def transposed_while_it_is_written(function, log):
    @function
    def f(p):
        p.add_(p.t())

    times(f, log, big(1))
    copied(f)


@case(graph=MUST)
def row_of_itself(function, log):
    @function
    def f(p):
        p.sub_(p[0])

    times(f, log, big(1))
    copied(f)


@case(graph=MUST)
def second_operand(function, log):
    @function
    def f(p, q):
        p.copy_(q - p)

    times(f, log, big(1), big(2))


@case(graph=MUST)
def both_operands(function, log):
    @function
    def f(p):
        p.copy_(p * p)

    times(f, log, big(1))


@case
def a_view_is_used_and_written(function, log):
    @function
    def f(p, row):
        row.add_(1.0)
        p.mul_(2.0)
        return row.sum()

    p = big(1)
    times(f, log, p, p[3])


@case(graph=MUST)
def written_through_a_view(function, log):
    @function
    def f(p):
        p[2:5].add_(1.0)
        p[0] = 3.0

    times(f, log, big(1))


@case(graph=MUST)
def a_view_from_outside_sees_it(function, log):
    @function
    def f(p, g):
        p.add_(g)

    p = big(1)
    row, flat, same = p[7], p.view(-1), p.detach()
    times(f, log, p, big(2), see=(row, flat, same))
    in_place(f)


@case(graph=MUST)
def not_contiguous(function, log):
    @function
    def f(p, g):
        p.add_(g)

    base = big(1)
    times(f, log, base.t(), big(2), see=(base,))
    copied(f)


@case(graph=MUST)
def under_a_condition(function, log):
    @function
    def f(p, g):
        if g.sum() > 0:
            p.add_(g)
        return p.sum()

    p, g = big(1), big(2)
    for i in range(6):
        log(f(p, g if i % 2 else -g), p)


@case(graph=MUST)
def assertion_after_the_update(function, log):
    @function
    def f(p, g, k):
        p.add_(g)
        if g.sum() * k > 0:
            return p.mean()
        return p.sum()

    p, g = big(1), big(2)
    for k in (1, 1, 1, 1, -1, 1, -1):
        log(f(p, g, float(k)), p)


@case
def raises_after_the_update(function, log):
    @function
    def f(p, g, a, b):
        p.add_(g)
        return a // b

    p, g = big(1), big(2)
    for b in (1, 2, 3, 0, 2):
        log.raises(f, p, g, 7, b)
        log(p)


@case(graph=MUST)
def printed_before_and_after(function, log):
    @function
    def f(p):
        print(p[0, :2])
        p.add_(1.0)
        print(p[0, :2])

    times(f, log, big(1))


@case(graph=MUST)
def a_history_needs_the_old_value(function, log):
    @function
    def f(p, w):
        y = (p * w).sum()
        return y

    @function
    def g(p):
        p.add_(1.0)

    p, w = big(1), big(2).requires_grad_()
    for _ in range(4):
        w.grad = None
        y = f(p, w)
        y.backward()
        g(p)
        log(y, w.grad, p)


@case(graph=MUST)
def backward_outside_of_what_is_written(function, log):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", big(1))
            self.w = nn.Parameter(big(2))

        def forward(self, x):
            y = (x * self.w).sum()
            with janus.no_grad():
                self.seen.mul_(0.5).add_(x * 0.5)
            return y

    m = Model()
    f = function(m)
    for i in range(4):
        m.w.grad = None
        y = f(big(i))
        y.backward()
        log(y, m.w.grad, m.seen)


def steps(function, log, make, n=12):
    janus.manual_seed(0)
    m = nn.Sequential(nn.Linear(N, N), nn.BatchNorm1d(N), nn.ReLU(), nn.Linear(N, N), nn.ReLU(), nn.Linear(N, 4))
    opt = make(m.parameters())

    @function
    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(m(x), y)
        loss.backward()
        opt.step()
        return loss.detach()

    x, y = t(8, N, seed=9), janus.tensor([0, 1, 2, 3] * 2)
    for i in range(n):
        log(step(x * (1 + 0.1 * i), y))
        if i % 5 == 0:
            log(m, [p.grad for p in m.parameters()])
    log(opt.state_dict())


@case(graph=MUST)
def sgd_momentum(function, log):
    steps(function, log, lambda p: janus.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01))


@case(graph=MUST)
def sgd_nesterov(function, log):
    steps(function, log, lambda p: janus.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True))


@case(graph=MUST)
def adam(function, log):
    steps(function, log, lambda p: janus.optim.Adam(p, lr=0.01))


@case(graph=MUST)
def adamw(function, log):
    steps(function, log, lambda p: janus.optim.AdamW(p, lr=0.01, weight_decay=0.1))


@case(graph=MUST)
def adagrad(function, log):
    steps(function, log, lambda p: janus.optim.Adagrad(p, lr=0.05))


@case(graph=MUST)
def rmsprop(function, log):
    steps(function, log, lambda p: janus.optim.RMSprop(p, lr=0.01, momentum=0.5))


class Node:
    def __init__(self, children):
        self.children = children


def tree(depth):
    return Node([tree(depth - 1) for _ in range(2)] if depth else [])


@case(graph=FAST)
def update_after_a_recursion(function, log):
    """Sums over a recursion are read before the steps, which are a task of their own."""
    janus.manual_seed(0)
    cell, leaf = nn.Linear(N, N), nn.Parameter(t(N, seed=4))
    opt = janus.optim.Adagrad([*cell.parameters(), leaf], lr=0.05, eps=0.1)

    def encode(node):
        if not node.children:
            return leaf.tanh()
        h = encode(node.children[0])
        for c in node.children[1:]:
            h = h + encode(c)
        return janus.tanh(cell(h))

    @function
    def step(root):
        opt.zero_grad()
        loss = (encode(root) ** 2).mean()
        loss.backward()
        opt.step()
        return loss.detach()

    for depth in (2, 3, 2, 3, 1):
        log(step(tree(depth)), cell, leaf)
    log(opt.state_dict())
    in_place(step)


@case
def shared_with_numpy(function, log):
    try:
        import numpy
    except ImportError:
        return
    if t(1).device.type != "cpu":
        return  # arrays are in host memory
    a = numpy.array(big(1).tolist(), dtype=numpy.float32)
    p = janus.from_numpy(a)
    q = big(3)
    seen = q.numpy()

    @function
    def f(p, q, g):
        p.add_(g)
        q.sub_(p)

    for _ in range(4):
        f(p, q, big(2))
        log(a.tolist(), p, seen.tolist(), q)


@case(graph=MUST)
def halves(function, log):
    @function
    def f(p, g):
        p.add_(g * 0.5)

    janus.manual_seed(0)
    times(f, log, janus.cat([big(1), big(2)]).to(janus.bfloat16), janus.cat([big(3), big(4)]).to(janus.bfloat16))
    copied(f)


@case(graph=MUST)
def integers_that_may_raise(function, log):
    @function
    def f(p, q):
        p.add_(q)
        p.copy_(p // (q + 3))

    p = (big(1) * 100).to(janus.int64)
    times(f, log, p, janus.ones(N, N, dtype=janus.int64))
