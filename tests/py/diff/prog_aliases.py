# SPDX-License-Identifier: Apache-2.0
"""Aliases: what is written in place through one name and read through another, and what sorting and slices
see of lists that change."""

import janus

from .harness import case, t
from .prog_inplace import TREES, rows, train, tree


@case
def walrus(function, log):
    @function
    def f(x):
        h = x * 2
        g = (h, (h := (h * 3)) if x.sum() > 0 else h)
        h += 1
        return (h, g)
    for s in range(8):
        log(f(t(3, seed=s)))


@case
def closure_sees(function, log):
    @function
    def f(x):
        h = x * 2

        def look():
            return h * 1
        if x.sum() > 0:
            h += 1
        return (look(), h)
    for s in range(8):
        log(f(t(3, seed=s)))


@case
def nested_branches(function, log):
    @function
    def f(x):
        h = x * 2
        if x[0] > 0:
            if x[1] > 0:
                h += 1
            else:
                h = h * 2
                h += 3
        else:
            h -= 4
        h *= 2
        return h
    for s in range(12):
        log(f(t(3, seed=s)))


@case
def loop_in_branch(function, log):
    @function
    def f(xs, y):
        h = y * 1
        if y.sum() > 0:
            for x in xs:
                h += x
        for x in xs:
            if x.sum() > 0:
                h *= 0.5
        return h
    for n in range(2, 10):
        log(f(rows(n, n), t(3, seed=n)))


@case
def early_return(function, log):
    @function
    def f(xs):
        h = xs[0] * 0
        for x in xs:
            h += x
            if h.sum() > 1.5:
                return (h, x)
        h += 10
        return (h, xs[0])
    for n in range(2, 12):
        log(f(rows(n, n)))


@case
def breaks(function, log):
    @function
    def f(xs):
        h = xs[0] * 0
        k = 0
        for x in xs:
            if h.sum() > 1.0:
                break
            h += x
            k += 1
        h += k
        return h
    for n in range(2, 12):
        log(f(rows(n, n)))


@case
def tuple_of_states(function, log):
    w = t(3, 3, seed=1, grad=True)

    @function
    def f(xs):
        h, c = (janus.zeros(3), janus.zeros(3))
        for x in xs:
            c += x
            h, c = (janus.tanh(h @ w + c), c * 0.5)
        return h.sum()
    train(f, log, (w,), [rows(n, n) for n in (3, 4, 2, 5, 6, 7)])


@case
def swap_states(function, log):
    @function
    def f(xs):
        h, c = (janus.zeros(3), janus.ones(3))
        for x in xs:
            h += x
            h, c = (c, h)
        return (h, c)
    for n in (3, 4, 2, 5, 6, 7):
        log(f(rows(n, n)))


@case
def list_holds(function, log):
    @function
    def f(xs):
        out, h = ([], janus.zeros(3))
        for x in xs:
            h = h + x
            out.append(h)
            h *= 2
        return (sum(out), h)
    for n in (3, 4, 2, 5, 6, 7):
        log(f(rows(n, n)))


@case
def list_holds_rec(function, log):
    def visit(node, out):
        h = janus.full((2,), node.value)
        for c in node.children:
            h += visit(c, out)
        out.append(h)
        return h

    @function
    def f(node):
        out = []
        r = visit(node, out)
        r += 1
        return (out, r)
    for d in TREES:
        log(f(tree(d)))


@case
def helper_writes(function, log):
    def bump(h, k):
        h += k
        return h

    @function
    def f(x, xs):
        h = x * 1
        for y in xs:
            g = bump(h, y)
        return (h, g)
    for n in (3, 4, 2, 5, 6, 7):
        log(f(t(3, seed=n), rows(n, n)))


@case
def dtype_mix(function, log):
    @function
    def f(x, xs):
        h = janus.zeros(3)
        for y in xs:
            h += y.double()
            h += 1
        i = janus.zeros(3, dtype=janus.int64)
        if x.sum() > 0:
            i += 2
        return (h, i)
    for n in (3, 4, 2, 5, 6, 7):
        log(f(t(3, seed=n), rows(n, n)))


@case
def detach_alias(function, log):
    w = t(3, seed=1, grad=True)

    @function
    def f(x):
        h = x * w
        d = h.detach()
        if x.sum() > 0:
            d += 1
        return (h * w).sum()
    train(f, log, (w,), [t(3, seed=s) for s in range(6)])


@case
def views_in_loop(function, log):
    @function
    def f(xs):
        h = janus.zeros(2, 3)
        a, b = (h[0], h[1])
        for x in xs:
            a += x
            b += a
        h *= 2
        return (h, a, b)
    for n in (3, 4, 2, 5, 6, 7):
        log(f(rows(n, n)))


@case
def param_returned(function, log):
    def go(n, h):
        if n == 0:
            return h
        return go(n - 1, h)

    @function
    def f(n, x):
        h = x * 1
        g = go(n, h)
        g += 1
        return (h, g)
    for n in (3, 4, 2, 5, 0, 1):
        log(f(n, t(3, seed=n)))


@case
def attr_alias(function, log):

    class Box:
        pass

    @function
    def f(b, x):
        b.h = x * 2
        h = b.h
        if x.sum() > 0:
            h += 1
        return b.h * 1
    for s in range(8):
        b = Box()
        log(f(b, t(3, seed=s)), b)


@case
def grad_twice(function, log):
    w = t(3, seed=1, grad=True)

    @function
    def f(xs):
        h = w * 1
        for x in xs:
            h += x * w
            if x.sum() > 0:
                h += w
        return h.sum()
    train(f, log, (w,), [rows(n, n) for n in (3, 4, 2, 5, 6, 7)])


@case
def zero_rounds(function, log):
    @function
    def f(xs, x):
        h = x * 1
        g = h
        for y in xs:
            h = y * 2
        h += 1
        return (h, g)
    for n in (3, 4, 0, 2, 5, 0, 6, 0, 1):
        log(f(rows(n, n), t(3, seed=n)))


@case
def sort_ties(function, log):
    @function
    def f(ps, x):
        ps = sorted(ps, key=lambda p: p[0], reverse=True)
        qs = sorted(ps, key=lambda p: -p[0])
        for p in ps:
            x = x * 0.5 + p[1]
        for p in qs:
            x = x * 0.5 + p[1]
        return (x, max(ps, key=lambda p: p[0])[1], min(ps, key=lambda p: p[1])[0])
    for n in (3, 4, 2, 5, 6, 7):
        log(f([(k * 7 % 3, k) for k in range(n)], t(2, seed=n)))


@case
def slices_many(function, log):
    @function
    def f(xs, a, b, x):
        for y in xs[a:b]:
            x = x * 0.5 + y
        for y in xs[-a:]:
            x = x * 0.5 - y
        for y in xs[:-b]:
            x = x + y
        for y in xs[a:][:2]:
            x = x * 3 + y
        return (x, len(xs[a:b]), len(xs[b:a]))
    for n in (3, 4, 2, 5, 6, 7, 8, 9):
        for a, b in ((1, 2), (0, 5), (3, 1), (2, 9)):
            log(f([k * 1.5 for k in range(n)], a, b, t(2, seed=n)))


@case
def slice_then_append(function, log):
    @function
    def f(xs, n, x):
        ys = xs[:n]
        xs.append(1.0)
        ys2 = xs[n:]
        for y in ys:
            x = x * 0.5 + y
        for y in ys2:
            x = x * 0.5 + y
        return x
    for n in (3, 4, 2, 5, 6, 7):
        log(f([k * 1.0 for k in range(n)], n - 1, t(2, seed=n)))


@case
def setdefault_order(function, log):
    def visit(node, d):
        for c in node.children:
            visit(c, d)
        d.setdefault(len(node.children), node.value)
        return d.get(7, -1.0)

    @function
    def f(node, x):
        d = {}
        return (x * visit(node, d), d)
    for d in TREES:
        log(f(tree(d), t(2)))


@case
def two_stacks(function, log):
    @function
    def f(root, x):
        a, b = ([root], [])
        while a or b:
            if a:
                n = a.pop()
                for c in n.children:
                    b.append(c)
            else:
                n = b.pop()
                for c in n.children:
                    a.append(c)
            x = x * 0.5 + n.value
        return x
    for d in TREES + (2, 3, 1):
        log(f(tree(d), t(2)))


@case(graph=False)
def results_that_are_one_tensor_on_some_paths(function, log):
    """What the caller does to one is seen through the other there."""
    @function
    def by_branch(x):
        g = h = x * 2
        if x.sum() > 0:
            h = h * 3
        return h, g

    @function
    def by_loop(x):
        first = h = x * 2
        while h.sum() < 1:
            h = h + 1
        return {"first": first, "last": h}

    for s in range(8):
        a, b = by_branch(t(3, seed=s))
        a += 1
        log(a, b)
        log(by_loop(t(3, seed=s)))
