# SPDX-License-Identifier: Apache-2.0
"""`isinstance()` with abstract classes of what only the graph knows: lists, tuples, dicts, strings, numbers, deques and instances that nodes of a tree hold."""
import collections
import collections.abc
import itertools
import numbers

import pytest

import janus
from shares import share

ABSTRACT = {c.__name__: c for c in (collections.abc.Sequence, collections.abc.Mapping, collections.abc.MutableSequence, collections.abc.Sized, collections.abc.Iterable, collections.abc.Hashable, numbers.Number)}


class Own(collections.abc.Sized):
    def __len__(self):
        return 2


class Other:
    pass


HELD = {"list": [1], "tuple": (1, 2), "dict": {"a": 1}, "text": "ab", "int": 3, "float": 0.5, "none": None, "deque": collections.deque([1]), "own": Own(), "other": Other()}


class Node:
    def __init__(self, held, *kids):
        self.held, self.kids = held, kids


def down(n, x, of):
    y = x * 3 if isinstance(n.held, of) else x + 1
    for k in n.kids:
        y = y * 0.5 + down(k, x, of)
    return y


def both(n, x, of):
    if isinstance(n.held, (of, Other)):
        return sum([both(k, x * 2, of) for k in n.kids], x)
    return x * len(n.kids)


@pytest.mark.parametrize("abstract", ABSTRACT)
def test_as_undecorated(abstract):
    of, graphs = ABSTRACT[abstract], 0
    ways = share(itertools.product(HELD, HELD, (down, both)))
    for at, (one, two, walk) in enumerate(ways):
        f = lambda n, x: walk(n, x, of)  # noqa: E731
        g = janus.function(f, measure=False, verify=("never", "always")[at % 2])
        for i in range(6):
            a, b = HELD[one], HELD[two]
            n = Node(a, Node(b, Node(a if i % 2 else b)), Node(b if i % 3 else a))
            assert f(n, janus.ones(2)).tolist() == g(n, janus.ones(2)).tolist(), (one, two, i)
        graphs += g.stats()["graph"] > 1
    assert graphs >= len(ways) * 0.3, f"{graphs} of {len(ways)}"
