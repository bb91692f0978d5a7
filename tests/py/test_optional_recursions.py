# SPDX-License-Identifier: Apache-2.0
"""Recursions that return None for what is missing, on some paths or beside other results: every way to begin, to ask and
to go on, with gradients (None where nothing leads to a leaf)."""
import itertools

import janus
import pytest
from compared import close

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)


class Node:
    def __init__(self, word, left=None, right=None):
        self.word, self.left, self.right = word, left, right


def tree(code, depth=4):
    if not depth or not code % 3:
        return None
    return Node(code % 5, tree(code // 3, depth - 1), tree(code // 2, depth - 1))


TREES = [t for t in map(tree, (1, 2, 5, 11, 17, 26, 40, 53, 100, 161, 242, 500)) if t]


# ---- what is missing --------------------------------------------------------------------------------------------


def no_child(n, m):
    return n is None


def word_zero(n, m):
    return n is None or n.word == 0


def by_value(n, m):
    return n is None or bool((m.e[n.word].sum() > 1).item())


MISSING = {f.__name__: f for f in (no_child, word_zero, by_value)}


# ---- how it goes on ---------------------------------------------------------------------------------------------


def is_not_none(n, m, a, b):
    h = m.e[n.word]
    if a is not None:
        h = h + a * m.w
    if b is not None:
        h = h - b
    return janus.tanh(h)


def early(n, m, a, b):
    if a is None:
        return b
    if b is None:
        return a * m.w
    return a + b * m.w


def both(n, m, a, b):
    if a is None and b is None:
        return m.e[n.word] * 1
    if a is None or b is None:
        return None
    return a * b


def chosen(n, m, a, b):
    left = a if a is not None else m.e[0]
    right = m.w if b is None else b
    return left * right + m.e[n.word]


def handed_on(n, m, a, b):
    def plus(x, y):
        return y if x is None else x if y is None else x + y
    return plus(plus(a, b), None if n.word == 3 else m.e[n.word])


def itself(n, m, a, b):
    return a if n.word == 1 else b if n.word == 2 else m.w if n.word == 3 else m.e[n.word] * 2


def assumed(n, m, a, b):
    return m.e[n.word] if n.left is None or n.word % 2 else a * m.w  # TypeError where it is None


def listed(n, m, a, b):
    there = [x for x in (a, b) if x is not None]
    return sum(there, m.e[n.word] * m.w)


def counted(n, m, a, b):
    return m.e[n.word] * (1 + (a is None) + 2 * (b is None))


NEXT = {f.__name__: f for f in (is_not_none, early, both, chosen, handed_on, itself, assumed, listed, counted)}


# ---- what a call returns ----------------------------------------------------------------------------------------


def plain(missing, on):
    def visit(n, m):
        if missing(n, m):
            return None
        return on(n, m, visit(n.left, m), visit(n.right, m))
    return visit


def falls_off(missing, on):
    def visit(n, m):
        if not missing(n, m):
            a = visit(n.left, m)
            return on(n, m, a, visit(n.right, m))
    return visit


def in_a_pair(missing, on):
    def visit(n, m):
        if missing(n, m):
            return None, 0
        (a, x), (b, y) = visit(n.left, m), visit(n.right, m)
        return on(n, m, a, b), x + y + 1
    return lambda n, m: visit(n, m)[0]


def one_value(missing, on):
    def visit(n, m):
        r = None
        if not missing(n, m):
            a, b = visit(n.left, m), visit(n.right, m)
            r = on(n, m, a, b)
        return r
    return visit


FORMS = {f.__name__: f for f in (plain, falls_off, in_a_pair, one_value)}


class Model:
    def __init__(self):
        self.e = (janus.arange(10.0).reshape(5, 2) * 0.2 - 0.3).requires_grad_()
        self.w = janus.tensor([0.5, -1.5], requires_grad=True)


def run(function, missing, on, form, loss):
    m, out = Model(), []
    visit = form(missing, on)

    def call(n):
        r = visit(n, m)
        if loss and r is not None:
            r.sum().backward()
        return r

    f = function(call)
    for n in TREES * 2:
        for p in (m.e, m.w):
            p.grad = None
        try:
            r = f(n)
            out.append(None if r is None else (r.tolist(), r.requires_grad, r.is_leaf, r is m.w))
            if not loss and r is not None and r.requires_grad:
                r.sum().backward()
        except TypeError as e:
            out.append(str(e))
        out.append([p.grad if p.grad is None else p.grad.tolist() for p in (m.e, m.w)])
    return out, f


@pytest.mark.parametrize("on, form", list(itertools.product(NEXT, FORMS)))
@pytest.mark.parametrize("missing", MISSING)
def test_optional(missing, on, form):
    for loss in (False, True):
        want, _ = run(lambda f: f, MISSING[missing], NEXT[on], FORMS[form], loss)
        for verify in ("never", "always"):
            got, f = run(janus.function(verify=verify, measure=False), MISSING[missing], NEXT[on], FORMS[form], loss)
            for i, (x, y) in enumerate(zip(want, got)):
                assert close(x, y), (loss, verify, i, x, y)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("missing", MISSING)
def test_graphs(missing, form):
    _, f = run(janus.function(verify="never", measure=False), MISSING[missing], is_not_none, FORMS[form], False)
    assert f.stats()["graph"] > len(TREES), str(janus.explain(f))
