# SPDX-License-Identifier: Apache-2.0
"""autograd.grad(l, x) uses up what gradients run through on their way from l to x, in the function and out of it: what else l was computed from may be
asked again, as what makes x may be."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

OPS = {"product": "{v} * c", "exp": "{v}.exp() * 0.1", "added": "{v} + c", "linear": "m({v})", "twice": "{v} * {v}"}
PLACES = {"plain": "a = {op}", "arm": "if k % 2 == 0:\n        a = {op}", "arm of the graph": "if x.sum() % 2 == 0:\n        a = {op}\n    else:\n        a = a * c",
          "rounds": "for i in range(k):\n        a = {op}", "callee": "a = g(a)", "recursion": "a = h(a, k + 1)", "tree": "a = t(T, a)"}
ASKS = {"behind": "(d,) = janus.autograd.grad(l, [b])", "both": "d, e = janus.autograd.grad(l, [b, w])", "made": "(d,) = janus.autograd.grad(l, [a])",
        "before": "(d,) = janus.autograd.grad(l, [w])", "created": "(d,) = janus.autograd.grad(l, [b], create_graph=True)",
        "kept": "(d,) = janus.autograd.grad(l, [b], retain_graph=True)", "several": "(d,) = janus.autograd.grad([l, a.sum() * 2], [b])",
        "again": "(d,) = janus.autograd.grad(l, [b])\n    (d,) = janus.autograd.grad((a * b).sum() + a.sum(), [b])",
        "in an arm": "if k:\n        (d,) = janus.autograd.grad(l, [b])\n    else:\n        d = x",
        "in a callee": "(d,) = ask(l)"}
ENDS = {"a": "return a + d, l", "of it": "return (a * d).exp(), l", "in": "(a + d).sum().backward()\n    return a, l", "stored": "kept.append(a)\n    return kept.pop() * d, l"}
TEXT = """
kept = []
T = ((None, None), None)
def g(a):
    return {g}
def h(a, k):
    return h({g}, k - 1) if k else a
def t(n, a):
    if n is None:
        return a
    for i in n:
        a = t(i, {g})
    return a
def ask(l):
    return janus.autograd.grad(l, [b])
def f(w, x, k):
    a = w + x
    {place}
    l = (a * b).sum()
    {ask}
    {end}
"""


def outcomes(text, options):
    janus.manual_seed(0)
    names = {"janus": janus, "m": janus.nn.Linear(3, 3), "b": janus.ones(3, requires_grad=True), "c": janus.ones(3, requires_grad=True)}
    names = names_of(text, **names)
    f = janus.function(names["f"], **options) if options else names["f"]
    seen = []
    for i in range(6):
        w, x = janus.tensor([0.5, 1.0, 1.5], requires_grad=True), janus.ones(3) * (i % 4 + 1)
        said = []
        try:
            for v in f(w, x, i % 3):
                for _ in range(2):
                    said.append("asked")
                    if v.requires_grad:
                        v.sum().backward()
        except RuntimeError as e:
            said.append(str(e)[:40])
        seen.append((said, [None if p.grad is None else p.grad.tolist() for p in (w, names["b"], names["c"], names["m"].weight)]))
        for p in (names["b"], names["c"], *names["m"].parameters()):
            p.grad = None
    return seen, f.stats()["graph"] + f.stats()["region_hits"] if options else 0


def close(a, b):
    return a == b or a is not None and b is not None and janus.allclose(janus.tensor(a), janus.tensor(b), rtol=1e-4, equal_nan=True)


@pytest.mark.parametrize("options", [{"verify": "never"}, {}, {"verify": "never", "numerics": "exact"}], ids=str)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_as_undecorated(place, options):
    wrong, graphs, programs = [], 0, share(itertools.product(OPS, ASKS, ENDS))
    for op, ask, end in programs:
        v = OPS[op].format(v="a")
        text = TEXT.format(g=v, place=PLACES[place].format(op=v), ask=ASKS[ask], end=ENDS[end])
        want, _ = outcomes(text, None)
        got, ran = outcomes(text, {**options, "measure": False})
        graphs += ran > 0
        wrong += [(op, ask, end, i, a, b) for i, (a, b) in enumerate(zip(want, got)) if a[0] != b[0] or not all(map(close, a[1], b[1]))][:1]
    assert not wrong, f"{len(wrong)} of {len(programs)}: {wrong[0]}"
    assert graphs > len(programs) // 5, graphs
