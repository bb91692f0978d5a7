# SPDX-License-Identifier: Apache-2.0
"""Exact numerics where a path decides what a gradient comes from: the arm of the gradient reads views that are turned,
as the tape does.  What a leaf computes x which of it the path gives, every bit."""
import itertools
import pathlib
import random
import sys

import janus
import pytest

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from diff import harness  # noqa: E402
from texts import names_of  # noqa: E402

LOOKED_UP = ["m.words.weight[n.word].unsqueeze(0)", "m.words(janus.tensor([n.word]))",
             "m.words.weight[n.word:n.word + 1]"]
FIRST = ["x @ m.square.t()", "x * m.row", "x @ m.square[:, [2, 0, 1]].t()", "(x @ m.square.t()) @ m.square",
         "x @ m.wide.chunk(2, 1)[1]", "janus.nn.functional.linear(x, m.square.t())"]
SECOND = ["janus.stack([janus.stack([x, y]).sum(0), y]).sum(0)", "x + y + y", "x + y", "(x + y) @ m.square.t()"]
GIVEN = ["z", "y if n.tag == 'a' else z", "x if n.tag == 'a' else z", "z if n.tag == 'a' else x * z"]
TEXT = """
def visit(m, n):
    if not n.kids:
        x = {}
        y = {}
        z = {}
        return {}
    return (visit(m, n.kids[0]) + visit(m, n.kids[1])) * 0.7
"""


class Node:
    def __init__(self, rng, depth):
        self.word, self.tag = rng.randrange(3), rng.choice("ab")
        self.kids = [Node(rng, depth - 1) for _ in range(2)] if depth else []


class Model(janus.nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.row = janus.nn.Embedding(3, 3), janus.nn.Parameter(janus.randn(3))
        self.square, self.wide = janus.nn.Parameter(janus.randn(3, 3)), janus.nn.Parameter(janus.randn(3, 6))


def run(visit, seed, decorate):
    janus.manual_seed(seed)
    m, rng, out = Model(), random.Random(seed), []
    w = janus.randn(3)
    f = decorate(lambda n: visit(m, n))
    for _ in range(4):
        m.zero_grad()
        y = f(Node(rng, 3))
        (y * w).sum().backward()
        out.append((y.tolist(), [p.grad if p.grad is None else p.grad.tolist() for p in m.parameters()]))
    return out


@pytest.mark.parametrize("looked_up", LOOKED_UP)
@pytest.mark.parametrize("first", FIRST)
def test_every_bit(first, looked_up):
    graphs = 0
    for second, given in itertools.product(SECOND, GIVEN):
        source = TEXT.format(looked_up, first, second, given)
        space = names_of(source, janus=janus)
        for seed in range(4):
            recorder = harness.Recorder(numerics="exact", verify="never", measure=False)
            assert run(space["visit"], seed, lambda f: f) == run(space["visit"], seed, recorder), source
            graphs += recorder.total("graph") > 0
    assert graphs > len(SECOND) * len(GIVEN)
