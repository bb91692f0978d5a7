# SPDX-License-Identifier: Apache-2.0
"""Closures that recur till a number of the graph says so and write to what is outside, so that their calls are unrolled: each lies in an arm of the
one before it.  Graphs of them stay small, however the body branches; calls that go deeper are CPython's."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

WRITES = {"part": "buf[:2] = 2.0", "copy": "one.copy_(x[0].detach())", "nonlocal": "buf.add_(1)\n        n += 1"}
BODIES = {"straight": "x = x * 0.5 + 1", "branch": "if x.sum() > 3: x = x * 0.5\n        else: x = x + 1",
          "loop": "for i in range(3):\n            if i == k: continue\n            buf.mul_(0.5)\n            if k % 2: break",
          "caught": "try:\n            if x.sum() > 3: raise ValueError(k)\n        except ValueError as e:\n            x = x * 0.5 + len(str(e))",
          "early": "if x.sum() > 90.0: return x"}
ENDS = {"odd": ("k % 2", "d"), "number": ("k", "d > 0"), "third": ("k // 3", "d"), "both": ("k", "d > 0 and x.sum() < 50")}
TEXT = """
buf, one = janus.zeros(8), janus.tensor(0.5)
def f(x, k):
    n = 0
    def c(d):
        nonlocal x, n
        {body}
        {write}
        if {goes_on}: c(d - 1)
        return x
    x = c({start}) + x
    return x, n
"""
DEEPER = [1, 1, 2, 3, 2, 5, 4, 3, 7, 31, 32, 33, 40, 2, 70, 3, 1]


def outcome(text, **options):
    names = names_of(text, janus=janus)
    f = janus.function(names["f"], measure=False, **options) if options else names["f"]
    seen = []
    for k in DEEPER:
        x, n = f(janus.ones(2) * (k % 3), k)
        seen.append((x.tolist(), n, names["buf"].tolist(), names["one"].item()))
    return seen, f


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_as_undecorated(numerics):
    wrong, graphs, most = [], 0, 0
    for write, body, end in share(itertools.product(WRITES, BODIES, ENDS)):
        text = TEXT.format(write=WRITES[write], body=BODIES[body], start=ENDS[end][0], goes_on=ENDS[end][1])
        want, _ = outcome(text)
        got, f = outcome(text, verify="never", numerics=numerics)
        graphs += f.stats()["graph"]
        most = max([most, *(str(graph).count("\n  sub @") for graph in f.graphs())])
        if want != got:
            wrong.append((write, body, end))
    assert not wrong
    assert graphs
    assert most < 33 * 21  # 32 calls, each with three rounds of three branches


def test_generators_that_recur_end():
    """A generator that goes on with those of its children, of which the graph alone knows how many there are and of which class."""
    class Node:
        def __init__(self, v, *kids):
            self.v, self.kids = v, list(kids)

        def items(self):
            yield self.v
            for k in self.kids:
                yield from k.items()

    class Other(Node):
        pass

    def walk(n, x):
        for k in n.kids:
            x = walk(k, x)
        return x + sum(n.items())

    g = janus.function(walk, measure=False)
    w = janus.tensor([], requires_grad=True)
    for n, x in ((Node(0, Node(1)), janus.tensor([1.0, 2.0])), (Other(janus.tensor(2.0), Other(janus.tensor(2.0))), janus.tensor([])),
                 (Other(1), janus.tensor([]) * w), (Node(2, Node(1, Other(3)), Node(4)), janus.ones(2))) * 2:
        assert g(n, x).tolist() == walk(n, x).tolist()
