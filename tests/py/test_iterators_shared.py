# SPDX-License-Identifier: Apache-2.0
"""One iterator over what a node holds, a list of any length, of which several take items: each item is taken once, as CPython's."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

MAKERS = {
    "map": "map(lambda k: k * 2, t)", "zip": "zip(t, t)", "enumerate": "enumerate(t)", "generator": "(k * 2 for k in t)", "filter": "filter(None, t)",
    "reversed": "reversed(t)", "iter": "iter(t)", "chain": "itertools.chain(t, t)", "map of two": "map(lambda a, b: a - b, t, t)", "nested": "map(abs, map(abs, t))",
    "calls": "map(lambda k: f(k, x), n.kids)", "calls of two": "map(lambda k, v: f(k, x) * v, n.kids, t)", "calls in a generator": "(f(k, x) for k in n.kids)",
}
USES = {
    "zip with itself": "for p, q in zip(it, it): h = h * 0.5 + at(p) - at(q) * 2",
    "zip with less": "for p, q in zip([1.0, 2.0], it): h = h * 0.5 + p - at(q)\n    left.append(len(list(it)))",
    "zip behind less": "for p, q in zip(it, [1.0, 2.0]): h = h * 0.5 + q - at(p)\n    left.append(len(list(it)))",
    "enumerate": "e = enumerate(it)\n    for i, p in e: h = h + at(p) * i\n    left.append((len(list(e)), len(list(it))))",
    "twice": "for p in it: h = h * 0.5 + at(p)\n    for p in it: h = h * 3 + at(p)",
    "a break": "for p in it:\n        h = h * 0.5 + at(p)\n        if i is None: break\n    for p in it: h = h * 3 + at(p)",
    "a list": "a, b = list(it), list(it)\n    h = h * len(a) + len(b)",
    "mapped": "m = map(at, it)\n    for p, q in zip(it, m): h = h - at(p) + q\n    left.append(len(list(m)))",
    "a star": "first, *rest = it\n    h = h + at(first) + len(rest) + len(list(it))",
    "next": "first = next(it, 0.0)\n    for p in it: h = h * 0.5 + at(p) - at(first)",
    "summed": "h = h * sum(at(p) for p in it) + sum(at(p) for p in it)",
    "in": "h = h + (2.0 in it)\n    left.append(len(list(it)))",
}


def text(maker, use):
    return f"""import itertools
left, i = [], 0
def at(p): return p[0] + p[1] if isinstance(p, tuple) else p
class N:
    def __init__(self, n, *kids): self.t, self.kids = [float(k % 3) for k in range(n)], kids
def f(n, x):
    t = n.t
    h, it = x, {MAKERS[maker]}
    {USES[use]}
    for k in n.kids: h = h + f(k, x) * 0.1
    return h
"""


def seen(program, **options):
    names = names_of(program, janus=janus)
    f = janus.function(names["f"], measure=False, **options) if options else names["f"]
    out = []
    node = names["N"]
    for n in (2, 3, 4, 3, 5, 1, 6, 2, 0, 7):
        try:
            got = [round(v, 3) for v in f(node(n, *(node(k + 1, *(node(2) for _ in range(k))) for k in range(n % 4))), janus.tensor([1.0, 2.0])).tolist()]
        except Exception as e:  # pylint: disable=broad-except
            got = type(e).__name__
        out.append((got, list(names["left"])))
        names["left"].clear()
    return out, f.stats()["graph"] if options else 0


@pytest.mark.parametrize("use", USES)
def test_each_item_is_taken_once(use):
    for maker in share(MAKERS):
        program = text(maker, use)
        want, _ = seen(program)
        got, _ = seen(program, verify="never")
        assert got == want, program


def test_some_are_graphs():
    graphs = sum(seen(text(maker, use), verify="never")[1] > 2 for maker, use in share(itertools.product(MAKERS, USES)))
    assert graphs > len(share(itertools.product(MAKERS, USES))) // 5
