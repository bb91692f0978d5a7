# SPDX-License-Identifier: Apache-2.0
"""Generator expressions over children of which only the graph knows how many there are, taken apart, zipped or spread over arguments: values and what is done in which order are CPython's."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TAKERS = {
    "two names": "a, b = {g}\n    h = a * 0.5 + b",
    "a star": "a, *rest = {g}\n    h = a - sum(rest)",
    "arguments": "h = join(*{g})",
    "zip": "a, b = zip(*((r, r * 2) for r in {g}))\n    h = sum(a) + b[-1]",
    "a list": "h = sum([*{g}]) * 0.5",
    "kept": "g = {g}\n    a, b = g\n    h = a + b * 2 + len(list(g))",
    "next": "g = {g}\n    a = next(g)\n    h = a * 2 + next(g)",
    "three names": "try:\n        a, b, c = {g}\n        h = a\n    except ValueError as e:\n        h = w[1] * len(str(e))",
}
ITEMS = {
    "calls": "({c} for k in t)",
    "written": "(written.append(len(k)) or {c} for k in t)",
    "drawn": "({c} * random.random() for k in t)",
    "numbered": "({c} * i for i, k in enumerate(t))",
    "some": "({c} for k in t if len(k) < 9)",
    "nested": "({c} for k in (m for m in t))",
}
CALLS = ("walk(k)", "janus.tanh(w @ walk(k))")


def text(taker, items, call):
    body = TAKERS[taker].format(g=ITEMS[items].format(c=call))
    return f"""import random
w = janus.tensor([[0.5, -0.25], [0.25, 0.75]], requires_grad=True)
written = []
def join(a, b): return a * 0.25 - b
def walk(t):
    if len(t) == 0: return w[0] * 2
    {body}
    return h
def f(t):
    loss = walk(t).sum()
    loss.backward()
    return loss.detach()
"""


L = ()
TREES = [(L, L), ((L, L), L), ((L, (L, L)), (L, L)), L]


def seen(program, **options):
    names = names_of(program, janus=janus)
    f = janus.function(names["f"], measure=False, **options) if options else names["f"]
    out = []
    for t in TREES * 3:
        names["random"].seed(7)
        out.append((round(f(t).item(), 4), [round(v, 3) for v in names["w"].grad.reshape(-1).tolist()], list(names["written"]), round(names["random"].random(), 6)))
        names["w"].grad = None
        names["written"].clear()
    return out, f.stats()["graph"] if options else 0


@pytest.mark.parametrize("taker", TAKERS)
def test_items_are_cpythons(taker):
    for items, call in share(itertools.product(ITEMS, CALLS)):
        program = text(taker, items, call)
        want, _ = seen(program)
        got, _ = seen(program, verify="never")
        assert got == want, program


@pytest.mark.parametrize("taker", ["two names", "a star", "arguments", "zip", "a list"])
def test_trees_of_pairs_are_one_graph(taker):
    _, graphs = seen(text(taker, "calls", CALLS[1]), verify="never")
    assert graphs >= 8, graphs
