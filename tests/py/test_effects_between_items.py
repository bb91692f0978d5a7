# SPDX-License-Identifier: Apache-2.0
"""sum(), any() and all() of a generator whose items have effects: each is made after the one before was used, and none behind the one that decides."""
import io
import itertools
import random
from contextlib import redirect_stdout

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

EFFECTS = {
    "attribute": "n.seen += 1", "list": "out.append(n.w)", "print": "print('at', n.w)", "draw": "n.w = n.w * 0.5 + random.random()", "tensor": "total.add_(n.w)",
    "variable": "count[0] += 1", "item": "out[:] = [n.w] + out", "dict": "by[n.name] = by.get(n.name, 0) + 1", "own": "n.t.mul_(0.5)", "drawn": "n.t = n.t + janus.rand(2)",
}
USES = {
    "sum": "sum(weigh(n) for n in nodes)", "start": "sum((weigh(n) for n in nodes), x)", "numbers": "x + sum(scalar(n) for n in nodes)",
    "any": "x + any(scalar(n) > 0.6 for n in nodes)", "all": "x + all(scalar(n) < 0.6 for n in nodes)", "written": "sum(weigh(n) for n in nodes if scalar(n) > 0.1)",
    "of what is written": "sum(total * scalar(n) for n in nodes)", "known": "sum(weigh(n) for n in (nodes[0], nodes[1], nodes[0]))",
}
PROGRAM = """
class Node:
    def __init__(self, w, name):
        self.w, self.name, self.seen, self.t = w, name, 0, janus.ones(2) * w
def f(x, nodes, out, by, total, count):
    x = x + 1
    def weigh(n):
        {effect}
        return n.t * 2
    def scalar(n):
        {effect}
        return n.w
    s = {use}
    return s + x * 0.5
"""


def outcome(f, names, n):
    nodes = [names["Node"](0.25 * i, "ab"[i % 2]) for i in range(n)]
    out, by, total, count = [], {}, janus.zeros(2), [0]
    random.seed(n)
    janus.manual_seed(n)
    text = io.StringIO()
    with redirect_stdout(text):
        r = f(janus.ones(2), nodes, out, by, total, count)
    return r.tolist(), out, by, total.tolist(), count, text.getvalue(), [(m.w, m.seen, m.t.tolist()) for m in nodes], random.random(), janus.rand(1).tolist()


@pytest.mark.parametrize("exact", [False, True])
def test_as_undecorated(exact):
    graphs = []
    for effect, use in shares.share(itertools.product(EFFECTS, USES)):
        names = names_of(PROGRAM.format(effect=EFFECTS[effect], use=USES[use]), janus=janus, random=random)
        decorated = janus.function(names["f"], verify="never", measure=False, numerics="exact" if exact else "fast")
        for n in (3, 3, 3, 4, 2, 5, 3, 4):
            assert outcome(decorated, names, n) == outcome(names["f"], names, n), (effect, use, n)
        graphs.append(decorated.stats()["graph"])
    assert sum(g >= 3 for g in graphs) >= 0.7 * len(graphs), graphs
