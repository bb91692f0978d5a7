# SPDX-License-Identifier: Apache-2.0
"""Lists of ever new lengths: after some they are loops of the graph, with one entry for all."""

import os

import janus
from diff import harness
from diff.harness import MUST, case, t

nn = janus.nn
F = janus.nn.functional
LENGTHS = (1, 2, 3, 5, 4, 7, 6, 9, 8, 2, 11)


def measured(f):
    return harness.may_be_graph(f) and "JANUS_FAIL_ASSERT" not in os.environ


def settled(f, lengths=LENGTHS, entries=7):
    """What the function was converted to is good for lists of any length."""
    if measured(f):
        s = f.stats()
        assert s["entries"] <= entries and s["graph"] * 3 >= len(lengths), janus.explain(f)


@case(graph=MUST)
def hidden_state(function, log):
    lin = nn.Linear(4, 4)

    @function
    def f(xs):
        h = janus.zeros(4)
        for x in xs:
            h = janus.tanh(lin(x) + h)
        return h.sum()

    for n in LENGTHS:
        loss = f([t(4, seed=i) for i in range(n)])
        loss.backward()
        log(loss.item())
    log(lin.weight.grad)
    settled(f)


@case(graph=MUST)
def token_ids(function, log):
    emb, cell = nn.Embedding(10, 4), nn.LSTMCell(4, 4)

    @function
    def f(ids):
        h, c = janus.zeros(1, 4), janus.zeros(1, 4)
        for i in ids:
            h, c = cell(emb(janus.tensor([i])), (h, c))
        return h.sum()

    for n in LENGTHS:
        loss = f([(i * 7 + n) % 10 for i in range(n)])
        loss.backward()
        log(loss.item())
    log(emb.weight.grad)
    settled(f)


@case(graph=MUST)
def total_from_zero(function, log):
    lin = nn.Linear(4, 3)

    @function
    def f(batch):
        loss = 0
        for x, y in batch:
            loss = loss + F.cross_entropy(lin(x).unsqueeze(0), janus.tensor([y]))
        return loss / len(batch)

    for n in LENGTHS:
        loss = f([(t(4, seed=i), i % 3) for i in range(n)])
        loss.backward()
        log(loss.item())
    log(lin.weight.grad)
    settled(f)


@case(graph=MUST)
def total_in_place(function, log):
    lin = nn.Linear(4, 3)

    @function
    def f(batch):
        loss, steps = 0.0, 0
        for x in batch:
            loss += lin(x).pow(2).sum()
            steps += 1
        return loss / steps, steps

    for n in LENGTHS:
        loss, steps = f([t(4, seed=i) for i in range(n)])
        loss.backward()
        log(loss.item(), steps)
    log(lin.weight.grad)


@case(graph=MUST)
def best_so_far(function, log):
    w = t(4, grad=True)

    @function
    def f(xs):
        best, score, at = None, None, -1
        for i, x in enumerate(xs):
            s = (w * x).sum()
            if best is None or s > score:
                best, score, at = x, s, i
        return best * w, at

    for n in LENGTHS:
        best, at = f([t(4, seed=(i * 5 + n) % 7) for i in range(n)])
        best.sum().backward()
        log(best, at)
    log(w.grad)


@case(graph=MUST)
def bound_in_the_loop(function, log):
    lin = nn.Linear(4, 4)

    @function
    def f(xs):
        h = janus.zeros(4)
        for i, x in enumerate(xs):
            out = lin(x)
            h = janus.tanh(h + out)
        return h + out, i

    for n in LENGTHS:
        y, i = f([t(4, seed=k) for k in range(n)])
        log(y, i)
    settled(f)


@case(graph=MUST)
def generator_sum(function, log):
    lin = nn.Linear(4, 3)

    @function
    def f(batch):
        return sum(lin(x).pow(2).sum() for x in batch) / len(batch)

    for n in LENGTHS:
        loss = f([t(4, seed=i) for i in range(n)])
        loss.backward()
        log(loss.item())
    log(lin.weight.grad)
    settled(f)


@case(graph=MUST)
def none_stays_apart(function, log):
    lin = nn.Linear(4, 3)

    @function
    def f(batch):
        total = 0
        for x in batch:
            total = total + lin(x).sum()
        return total

    for n in (1, 2, 3, 4, 5, 0, 6, 0, 0, 7, 0, 8):
        log(f([t(4, seed=i) for i in range(n)]))
    if measured(f):
        assert f.stats()["fallbacks"] == 0


@case(graph=MUST)
def left_early(function, log):
    w = t(4, grad=True)

    @function
    def f(xs, limit):
        total, used = None, 0
        for x in xs:
            y = (w * x).pow(2).sum()
            total = y if total is None else total + y
            used += 1
            if total > limit:
                break
        else:
            used = -used
        return total, used

    for n in LENGTHS:
        total, used = f([t(4, seed=i) for i in range(n)], 2.5)
        total.backward()
        log(total, used)
    log(w.grad)


@case
def items_of_other_dims(function, log):
    """Every call has lists of another length and items of other dims: guards must tell them apart."""

    @function
    def f(xs):
        total = janus.zeros(1)
        for x in xs:
            total = total + x.sum()
        return total

    for n in range(1, 25):
        log(f([t(1 + n % 5, seed=i) for i in range(n)]))
    if measured(f):
        assert f.stats()["fallbacks"] <= 8


@case
def items_that_require_grad(function, log):
    @function
    def f(xs):
        total = janus.zeros(3)
        for x in xs:
            total = total + x * x
        return total.sum()

    for n in range(1, 12):
        xs = [t(3, seed=i, grad=i % 2 == n % 2) for i in range(n)]
        y = f(xs)
        if y.requires_grad:
            y.backward()
        log(y, xs)


@case
def items_written_in_place(function, log):
    w = t(3)

    @function
    def f(xs):
        for x in xs:
            x.mul_(2)
            w.add_(x)
        return w.sum()

    for n in range(1, 12):
        xs = [t(3, seed=i) for i in range(n)]
        if n % 3 == 0:
            xs[1] = w
        log(f(xs), xs, w)


@case
def written_beside(function, log):
    """The tensor that is written is among the items in some calls."""
    w = t(3)

    @function
    def f(xs):
        total = janus.zeros(3)
        for x in xs:
            total = total + x
            w.mul_(0.5)
        return total

    for n in range(1, 14):
        xs = [t(3, seed=i) for i in range(n)]
        if n % 2:
            xs[n // 2] = w
        log(f(xs), w)


@case
def grows_meanwhile(function, log):
    @function
    def f(xs, n):
        total = 0
        for x in xs:
            total += x
            if len(xs) < n:
                xs.append(x + 1)
        return total, xs

    for n in range(1, 12):
        log(f([i for i in range(n)], 8))


@case(graph=MUST)
def lists_in_lists(function, log):
    lin = nn.Linear(3, 3)

    @function
    def f(batch):
        total = 0
        for words in batch:
            h = janus.zeros(3)
            for x in words:
                h = janus.tanh(lin(x) + h)
            total = total + h.sum()
        return total

    for n in LENGTHS:
        loss = f([[t(3, seed=i + k) for k in range(1 + (i + n) % 4)] for i in range(n)])
        loss.backward()
        log(loss.item())
    log(lin.weight.grad)
    settled(f, entries=9)


@case(graph=MUST)
def same_list_twice(function, log):
    w = t(3, grad=True)

    @function
    def f(xs, ys):
        total = w * 0
        for x, y in zip(xs, ys):
            total = total + w * x * y
        return total.sum(), xs is ys

    for n in LENGTHS:
        xs = [t(3, seed=i) for i in range(n)]
        y, same = f(xs, xs if n % 2 else [t(3, seed=i + 1) for i in range(n + 1)])
        y.backward()
        log(y, same)
    log(w.grad)


@case(graph=MUST)
def while_with_index(function, log):
    lin = nn.Linear(3, 3)

    @function
    def f(xs):
        i, last = 0, None
        h = janus.zeros(3)
        while i < len(xs):
            last = lin(xs[i]) + h
            h = janus.tanh(last)
            i += 1
        return last + h

    for n in LENGTHS:
        log(f([t(3, seed=i) for i in range(n)]))


@case
def handed_back(function, log):
    @function
    def f(xs):
        total = janus.zeros(3)
        for x in xs:
            total = total + x
        return total, xs, xs[-1], xs[0]

    for n in range(1, 10):
        xs = [t(3, seed=i) for i in range(n)]
        total, ys, last, first = f(xs)
        log(total, ys is xs, last is xs[-1], first is xs[0])
