# SPDX-License-Identifier: Apache-2.0
"""Trees of named tuples, and of classes derived from tuple, read by place, by name and taken apart: as those of tuples."""
import itertools
import random

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

CLASSES = {
    "namedtuple": 'T = collections.namedtuple("T", "label left right")',
    "with defaults": 'T = collections.namedtuple("T", "label left right", defaults=[None, None])',
    "NamedTuple": "class T(typing.NamedTuple):\n    label: int\n    left: object = None\n    right: object = None\n"
                  "    def is_leaf(self):\n        return self.left is None",
    "derived": 'class T(collections.namedtuple("B", "label left right")):\n    __slots__ = ()\n    @property\n    def double(self):\n        return self.label * 2',
    "with attributes": 'class T(collections.namedtuple("B", "label left right")):\n    pass',
    "other items": 'class T(collections.namedtuple("B", "label left right")):\n    def __getitem__(self, i):\n        return tuple.__getitem__(self, (0, 2, 1)[i])',
    "other items in turn": 'class T(collections.namedtuple("B", "label left right")):\n    def __iter__(self):\n        return iter((self.label, self.right, self.left))',
    "another length": 'class T(collections.namedtuple("B", "label left right")):\n    def __len__(self):\n        return 3 + (self.left is None)',
}
# How a node is read; at the end of the recursion it is a leaf.
READS = {
    "by name": "    if t.left is None:\n        return u[t.label] * 2\n    return (rec(t.left) * w + rec(t.right)).tanh() + u[t.label]",
    "by place": "    if t[1] is None:\n        return u[t[0]] * 2\n    return (rec(t[1]) * w + rec(t[2])).tanh() + u[t[0]]",
    "from the end": "    if t[-2] is None:\n        return u[t[-3]] * 2\n    return (rec(t[-2]) * w + rec(t[-1])).tanh() + u[t[-3]]",
    "taken apart": "    label, left, right = t\n    if left is None:\n        return u[label] * 2\n    return (rec(left) * w + rec(right)).tanh() + u[label]",
    "in a loop": "    kids = [k for k in t[1:] if k is not None]\n    h = u[t.label]\n    for k in kids:\n        h = h * w + rec(k)\n    return h",
    "by length": "    if t.left is None:\n        return u[t.label] * len(t)\n    return rec(t.left) * w + rec(t.right) * len(t)",
    "by a mixture": "    if t.left is None:\n        return u[t[0]] * 2\n    return rec(t[1]) * w + rec(t.right)",
}
TEXT = """
import collections, typing
{made}

def rec(t):
{body}

def f(t):
    return rec(t) * 1.0
"""


def tree(made, r, depth, root=True):
    v = r.randrange(4)
    if depth == 0 or (not root and r.random() < 0.3):
        return made(v, None, None)
    return made(v, tree(made, r, depth - 1, False), tree(made, r, depth - 1, False))


def outcomes(made, read, numerics):
    janus.manual_seed(0)
    names = names_of(TEXT.format(made=CLASSES[made], body=READS[read]), janus=janus, u=janus.rand(4, 5), w=janus.rand(5), __name__="program")
    f = names["f"] if numerics is None else janus.function(names["f"], numerics=numerics, verify="never", measure=False)
    r, seen = random.Random(2), []
    for k in range(12):
        t = tree(names["T"], r, 0 if k == 6 else 3)
        try:
            seen.append(f(t).tolist())
        except Exception as e:
            seen.append((type(e).__name__, str(e)))
    return seen, f


@pytest.mark.parametrize("made", CLASSES)
def test_trees_of_named_tuples(made):
    for read, numerics in shares.share(itertools.product(READS, ("fast", "exact"))):
        (want, _), (got, _) = outcomes(made, read, None), outcomes(made, read, numerics)
        for a, b in zip(want, got):
            same = a == b or (isinstance(a, list) and isinstance(b, list) and all(abs(x - y) <= 1e-5 * (1 + abs(x)) for x, y in zip(a, b)))
            assert same, (read, numerics, a, b)


@pytest.mark.parametrize("made", list(CLASSES)[:4])
@pytest.mark.parametrize("read", ["by name", "by place", "taken apart", "by a mixture"])
def test_they_are_graphs(made, read):
    _, f = outcomes(made, read, "fast")
    stats = f.stats()
    assert stats["graph"] >= 10 and stats["conversions"] <= 2, stats
