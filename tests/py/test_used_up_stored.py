# SPDX-License-Identifier: Apache-2.0
"""A second backward() from what a recursion has stored, read again and returned: which of them raise is CPython's, in generated trees."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

LEAVES = ("x * c", "(x * c).exp()", "x + c", "c * 2", "-c")
JOINS = ("self.h + {r}", "self.h * {r}", "self.h - {r} * 2", "{r}", "(self.h + {r}).tanh()")
STORES = ("self.h = {l}", "self.h = {l} * 0.5", "self.h = {l}; self.g = self.h + 1", "self.h = {l}; self.h = self.h + c")
ENDS = ("return self.h", "return self.h * c", "h = self.h; return h + 1", "self.g = self.h; return self.g")
ASKED = ("y", "h", "y h", "h y")
CASES = list(itertools.product(LEAVES, JOINS, STORES, ENDS, ASKED))

HEAD = """
c = janus.ones(2, requires_grad=True)
class T:
    def __init__(self, d):
        self.l = T(d - 1) if d > 0 else None
        self.r = T(d - 2) if d > 1 else None
        self.h = self.g = None
"""


def text(leaf, join, store, end):
    store = store.format(l="self.l.walk(x)")
    join = join.format(r="self.r.walk(x * 0.5)")
    return HEAD + f"""    def walk(self, x):
        if self.l is None: return {leaf}
        {store}
        if self.r is not None: self.h = {join}
        {end}
trees = [T(3), T(2), T(4)]
def f(t, x): return t.walk(x)
"""


ROUNDS = ("h + k.walk(x)", "h * k.walk(x)", "k.walk(x)", "h + k.walk(x * 0.5) * c", "k.walk(h)", "h if k.l is None else k.walk(x)")


def looped(leaf, join, end):
    """The same of any number of children, which a loop goes over."""
    return HEAD + f"""        self.kids = [k for k in (self.l, self.r) if k]
    def walk(self, x):
        h = {leaf}
        for k in self.kids: h = {join}
        self.h = h
        {end}
trees = [T(3), T(2), T(4)]
def f(t, x): return t.walk(x)
"""


def nodes(t):
    return [] if t is None else [t, *nodes(t.l), *nodes(t.r)]


def seen(case, **options):
    """Of each call which of the backward() of its result and of what it has stored raise, and the gradient then."""
    names = names_of(case[0], janus=janus)
    f = janus.function(names["f"], measure=False, **options) if options else names["f"]
    out = []
    for i in range(5):
        t = names["trees"][(0, 0, 1, 0, 2)[i]]
        y = f(t, janus.tensor([1.0, 1.25]))
        stored = [h for n in nodes(t) for h in (n.h, n.g) if h is not None]
        for kind in case[1].split() * 2:
            for h in [y] if kind == "y" else stored[:6]:
                try:
                    h.sum().backward()
                    out.append("ran")
                except RuntimeError as e:
                    out.append(str(e)[:25])
        out.append([round(v, 3) for v in names["c"].grad.tolist()])
        names["c"].grad = None
    return out, f.stats()["graph"] if options else 0


def wrong(want, got):
    """Where CPython's raises and this runs: gradients are added that are not there."""
    return [i for i, (a, b) in enumerate(zip(want, got)) if a != b and (b == "ran" or a != "ran" and not isinstance(a, list))]


def compare_with_cpython(program, asked):
    want, _ = seen((program, asked))
    got, graphs = seen((program, asked), verify="never")
    assert not wrong(want, got), (program, asked, want, got)
    assert graphs > 0, program


@pytest.mark.parametrize("leaf", LEAVES)
def test_used_up_is_used_up(leaf):
    for case in share([case for case in CASES if case[0] == leaf][LEAVES.index(leaf)::11]):
        compare_with_cpython(text(*case[:4]), case[4])


@pytest.mark.parametrize("leaf", LEAVES)
def test_used_up_in_rounds(leaf):
    cases = list(itertools.product(ROUNDS, ENDS, ASKED))
    for join, end, asked in share(cases[LEAVES.index(leaf)::5]):
        compare_with_cpython(looped(leaf, join, end), asked)
