# SPDX-License-Identifier: Apache-2.0
"""isinstance() with an abstract class: what it answered, what was registered with it, and what its hook says."""
import collections
import collections.abc
import itertools
import numbers
import random
from abc import ABC

import janus
import pytest

VALUES = [[1, 2], (1, 2), range(3), "ab", b"ab", bytearray(b"ab"), {1: 2}, {1, 2}, frozenset([1]), 3, 2.5, True, None, collections.OrderedDict(a=1)]
CLASSES = [collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Mapping, collections.abc.Set, collections.abc.Sized,
           collections.abc.Iterable, collections.abc.Hashable, collections.abc.Collection, collections.abc.Reversible, numbers.Number, numbers.Real,
           numbers.Integral]


def both(f, *args, calls=8, least=5):
    """What f returns decorated in each call is what it returns undecorated; `least` of the calls are graphs."""
    g = janus.function(f, measure=False, verify="never")
    for _ in range(calls):
        want, got = f(*args), g(*args)
        assert want.tolist() == got.tolist()
    assert g.stats()["graph"] >= least, janus.explain(g)


@pytest.mark.parametrize("abstract", CLASSES, ids=lambda c: c.__name__)
@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_classes_of_the_standard_library(value, abstract):
    def f(x, v):
        return x * 2 if isinstance(v, abstract) else x + 1

    both(f, janus.ones(3), value)


def test_a_sample_of_a_range():
    def f(x, items, rng):
        a, b = rng.sample(range(len(items)), 2)
        return x * items[a] + items[b]

    a, b = random.Random(3), random.Random(3)
    g, x, items = janus.function(f, measure=False, verify="never"), janus.ones(3), [janus.full((3,), float(k)) for k in range(6)]
    for _ in range(40):
        assert f(x, items, a).tolist() == g(x, items, b).tolist()
    assert a.getstate() == b.getstate()


class Registered:
    pass


def abstract_with(kind, asked):
    """An abstract class whose hook does this; what it is asked is put in `asked`."""
    if kind == "none":
        class Abstract(ABC):
            pass
    else:
        class Abstract(ABC):
            @classmethod
            def __subclasshook__(cls, other):
                asked.append(other.__name__)
                return {"declines": NotImplemented, "yes": True, "no": False}[kind]
    return Abstract


@pytest.mark.parametrize("kind, derive, late", itertools.product(["none", "declines", "yes", "no"], [False, True], [False, True]))
def test_hooks_of_the_program(kind, derive, late):
    """A hook is asked as often as undecorated, of a class that was registered before the first call or after some."""
    def run(decorate):
        asked, seen = [], []
        abstract = abstract_with(kind, asked)
        own = type("Own", (Registered,), {})
        if derive:
            abstract = type("Derived", (abstract,), {})
        if not late:
            abstract.register(own)

        def f(x, o):
            return x * 2 if isinstance(o, abstract) else x + 1

        g = janus.function(f, measure=False, verify="never") if decorate else f
        for k in range(12):
            if late and k == 6:
                abstract.register(own)
            seen.append(g(janus.ones(2), own()).tolist())
            seen.append(g(janus.ones(2), Registered()).tolist())
        return seen, asked

    assert run(True) == run(False)


def test_a_hook_that_is_set_later():
    class Abstract(ABC):
        pass

    own = type("Own", (Registered,), {})
    Abstract.register(own)

    def f(x, o):
        return x * 2 if isinstance(o, Abstract) else x + 1

    g = janus.function(f, measure=False, verify="never")
    for _ in range(6):
        assert g(janus.ones(2), own()).tolist() == [2.0, 2.0]
    assert g.stats()["graph"] >= 3, janus.explain(g)
    Abstract.__subclasshook__ = classmethod(lambda cls, other: False)
    assert g(janus.ones(2), own()).tolist() == f(janus.ones(2), own()).tolist()
