# SPDX-License-Identifier: Apache-2.0
"""A backward() uses up what keeps something for its gradient and nothing else: what goes through ops that keep nothing may be asked again, in the
function and out of it, whatever arm a run took."""
import itertools

import pytest

import janus
from texts import names_of

OPS = {"added": "{v} + 1.0", "negative": "-{v}", "flipped": "{v}.flip(0)", "part": "janus.stack([{v}, {v}])[0]", "copied": "{v}.clone()",
       "summed": "{v}.sum() + {v}", "product": "{v} * x", "exp": "{v}.exp() * 0.1", "twice": "{v} * {v}", "scaled": "{v} * 2.0",
       "chosen": "janus.where(x > 2.0, {v}, w)", "largest": "{v}.max() + w"}
PLACES = {"plain": "b = {op}", "arm": "if float(x[0]) % 2 == 0:\n        b = {op}", "both": "if float(x[0]) % 2 == 0:\n        b = {op}\n    else:\n        b = b - w",
          "rounds": "for i in range(int(x[0]) % 3):\n        b = {op}", "while": "while b.sum() < 6.0:\n        b = {op} + w.abs().sum().detach() + 1.0",
          "callee": "b = g(b, x, w)", "recursion": "b = h(b, x, w, int(x[0]))",
          "no while": "while b.sum() < x.sum() * 1.4:\n        b = {op} + w.abs().sum().detach() + 1.0",
          "while in an arm": "if float(x[0]) % 2 == 0:\n        while b.sum() < x.sum() * 1.4:\n            b = {op} + w.abs().sum().detach() + 1.0",
          "rounds in an arm": "if float(x[0]) > 0:\n        for i in range(int(x[0]) % 3):\n            b = {op}",
          "rounds in rounds": "for i in range(int(x[0])):\n        for j in range(int(x[0]) % 3 - 1):\n            b = {op}",
          "arm in rounds": "for i in range(int(x[0])):\n        if float(x[0]) + i > 3:\n            b = {op}",
          "arm in an arm": "if float(x[0]) > 1:\n        if float(x[0]) % 2 == 0:\n            b = {op}",
          "rounds in a callee": "b = r(b, x, w, int(x[0]) % 3)"}
SHORT = [op for op in OPS if op in ("added", "product", "exp", "chosen")]
ENDS = {"out": "return l.detach(), b", "in": "b.sum().backward()\n    return l.detach(), l.detach()", "stored": "kept.append(b)\n    return l.detach(), kept.pop()"}
TEXT = """
kept = []
def g(b, x, w):
    return {g}
def h(b, x, w, n):
    if n == 0:
        return b
    return h({g}, x, w, n - 1)
def r(b, x, w, n):
    for i in range(n):
        b = {g}
    return b
def f(w, x):
    b = w + 0.5
    {place}
    l = (b * x).sum()
    l.backward()
    {end}
"""


def outcomes(text, options):
    f = names_of(text, janus=janus)["f"]
    f = janus.function(f, **options) if options else f
    seen = []
    for i in range(6):
        w, x = janus.tensor([0.5, 1.0, 1.5], requires_grad=True), janus.ones(3) * (i % 4 + 1)
        said = []
        try:
            _, b = f(w, x)
            for _ in range(2):
                if b.requires_grad:
                    b.sum().backward()
                said.append("ran")
        except RuntimeError as e:
            said.append(str(e)[:40])
        seen.append((said, None if w.grad is None else w.grad.tolist()))
    return seen, f.stats()["graph"] if options else 0


@pytest.mark.parametrize("options", [{"verify": "never"}, {}, {"verify": "never", "numerics": "exact"}], ids=str)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_as_undecorated(place, options):
    graphs = 0
    nested = " " in place
    for op, end in itertools.product(SHORT if nested else OPS, ENDS):
        text = TEXT.format(g=OPS[op].format(v="b"), place=PLACES[place].format(op=OPS[op].format(v="b")), end=ENDS[end])
        want, _ = outcomes(text, None)
        got, ran = outcomes(text, {**options, "measure": False})
        graphs += ran > 0
        for a, b in zip(want, got):
            assert a[0] == b[0], text
            assert a[1] == b[1] if options.get("numerics") else a[1] == pytest.approx(b[1], rel=1e-5, nan_ok=True), text
    assert graphs >= (3 if nested else 9), graphs
