# SPDX-License-Identifier: Apache-2.0
"""`isinstance()` with abstract classes of what only the graph knows: lists, tuples, dicts, strings, numbers, deques and instances that nodes of a tree hold."""
import abc
import array
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


@pytest.mark.parametrize("how", ["registered", "hook", "derived", "standard"])
def test_types_that_were_not_asked_of(how):
    """Objects of a list that no call has come to yet: what the class would say of them is not taken for no."""
    class Abstract(abc.ABC):
        if how == "hook":
            @classmethod
            def __subclasshook__(cls, of):
                return of is Late or NotImplemented

    class Early:
        pass

    class Late(Abstract if how == "derived" else object):
        def __len__(self):
            return 1

    if how == "registered":
        Abstract.register(Late)
    abstract = collections.abc.Sized if how == "standard" else Abstract

    def f(items, x):
        y = x
        for item in items:
            y = y * 2 if isinstance(item, abstract) else y + 1
            if y.sum() > 0:
                break
        return y

    g = janus.function(f, measure=False, verify="never")
    for n, more in ((5.0, 2), (5.0, 3), (5.0, 4), (5.0, 6), (-1.5, 3), (-9.0, 5), (5.0, 2), (-1.5, 4)):
        items, x = [Early(), *(Late() for _ in range(more))], janus.full((2,), n)
        assert g(items, x).tolist() == f(items, x).tolist(), how


@pytest.mark.parametrize("kind", ["deque", "range", "list", "tuple", "array", "text"])
def test_sequence_patterns_of_what_only_the_graph_has(kind):
    makers = {"deque": collections.deque, "range": lambda v: range(len(v)), "list": list, "tuple": tuple, "array": lambda v: array.array("d", [1.0] * len(v)), "text": lambda v: "ab"}

    def take(t, x):
        match t:
            case [[*_] as first, *rest]: return take(first, x) * 2 + len(rest)
            case [a, b]: return x * 3 + (a if isinstance(a, int) else 0)
            case _: return x

    def f(t, x):
        return take(t, x)

    g = janus.function(f, measure=False, verify="never")
    for t in ([[1, 2], 3], [makers[kind]([0, 1])], [[makers[kind]([0, 1]), 2], 1], [1, 2], [makers[kind]([0, 1])]) * 2:
        x = janus.ones(2)
        assert g(t, x).tolist() == f(t, x).tolist()
