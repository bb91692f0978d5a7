# SPDX-License-Identifier: Apache-2.0
"""Instances made inside of which only the graph knows which one is where: sorted by what it computes, kept under its
conditions. The class is generated: kinds of instances times how they come into a list times what is done with them
(pyfront/convert/objects/copies.c)."""
import dataclasses
import random

import pytest

import janus


class Slots:
    __slots__ = ("h", "n", "words", "notes")

    def __init__(self, h, n):
        self.h, self.n, self.words, self.notes = h, n, (n,), None


class Plain:
    def __init__(self, h, n):
        self.h, self.n, self.words = h, n, (n, n + 1)


@dataclasses.dataclass
class Data:
    h: object
    n: int
    words: tuple = (1, 2)


class Inner(Plain):
    """One in another."""

    def __init__(self, h, n):
        super().__init__(h, n)
        self.inner = Plain(h * 2, n + 5)


class Listed(Plain):
    def __init__(self, h, n):
        super().__init__(h, n)
        self.list = [n]


KINDS = {k.__name__: k for k in (Slots, Plain, Data, Inner, Listed)}


def key(s):
    return s.h.sum().item()


def in_order(all_, x):
    return sorted(all_, key=key)


def backwards(all_, x):
    return sorted(all_, key=key, reverse=True)


def best_two(all_, x):
    return sorted(all_, key=key, reverse=True)[:2]


def in_place(all_, x):
    all_ = list(all_)
    all_.sort(key=lambda s: -key(s))
    return all_


def some(all_, x):
    return [s for s in all_ if key(s) > 0]


def made_in_some(all_, x):
    return [type(s)(s.h * 2, s.n + 1) for s in all_ if key(s) > -1]


def some_in_order(all_, x):
    return sorted([type(s)(s.h * 2, s.n + 1) for s in all_ if key(s) > -1], key=key)


def first_of_some(all_, x):
    grown = [type(s)(s.h + i, s.n + i) for s in all_ for i in range(2) if i not in s.words or key(s) > 0]
    return sorted(grown, key=key)[:3]


def extreme(all_, x):
    return [max(all_, key=key), min(all_, key=key)]


WAYS = {f.__name__: f for f in (in_order, backwards, best_two, in_place, some, made_in_some, some_in_order,
                                first_of_some, extreme)}


def read(l, all_, x):
    return sum([s.h * s.n for s in l]) + sum([s.words[0] for s in l])


def again(l, all_, x):
    l = sorted([type(s)(s.h * x, s.n) for s in l], key=key)
    return sum([s.h * i for i, s in enumerate(l)])


def set_after(l, all_, x):
    l[0].n = 50
    return sum([s.h * s.n for s in all_])


def set_original(l, all_, x):
    all_[0].n = 50
    return sum([s.h * s.n for s in l])


def set_in_loop(l, all_, x):
    for s in l:
        s.n += 1
    return sum([s.h * s.n for s in all_])


def identity(l, all_, x):
    return x * (3.0 if l[0] is all_[0] else 2.0)


def identity_of_items(l, all_, x):
    return x * (3.0 if l[0] is l[-1] else 2.0)


def contained(l, all_, x):
    return x * sum([1.0 for s in all_ if s in l])


def equal(l, all_, x):
    return x * (3.0 if l[0] == all_[1] else 2.0)


def where(l, all_, x):
    return x * l.index(all_[0]) if all_[0] in l else x


def as_keys(l, all_, x):
    d = {all_[0]: 1.0} if type(all_[0]).__hash__ else {}
    return x * d.get(l[0], 2.0) if type(all_[0]).__hash__ else x


def returned(l, all_, x):
    return l[0].h, l[0], all_[0]


def list_returned(l, all_, x):
    return x, l, all_


def listed(l, all_, x):
    if hasattr(l[0], "list"):
        l[0].list.append(7)
        return x * sum([len(s.list) for s in all_])
    return x


def inner(l, all_, x):
    if hasattr(l[0], "inner"):
        l[0].inner.n = 70
        return x * sum([s.inner.n for s in all_])
    return x


def kept(l, all_, x):
    KEPT.append(l[0])
    return x


KEPT = []
USES = {f.__name__: f for f in (read, again, set_after, set_original, set_in_loop, identity, identity_of_items,
                                contained, equal, where, as_keys, returned, list_returned, listed, inner, kept)}


def shown(o, all_seen):
    """Structure with identities."""
    if isinstance(o, janus.Tensor):
        return [round(v, 4) for v in o.detach().reshape(-1).tolist()]
    if isinstance(o, (list, tuple)):
        return [shown(v, all_seen) for v in o]
    if type(o) in KINDS.values():
        names = [f for f in ("h", "n", "words", "list", "inner", "notes") if hasattr(o, f)]
        all_seen.append(o)
        return [type(o).__name__, next(i for i, p in enumerate(all_seen) if p is o),
                [shown(getattr(o, f), all_seen) for f in names]]
    return o


def run(kind, way, use, options):
    w = janus.tensor([0.3, -0.4, 0.5], requires_grad=True)

    def step(x, ns):
        all_ = [KINDS[kind](x * w * n - 1.0 / (n + 1), n) for n in ns]
        l = WAYS[way](all_, x)
        y = USES[use](l, all_, x)
        if use in ("read", "again") and isinstance(y, janus.Tensor) and y.requires_grad:
            y.sum().backward()
        return y

    f = step if options is None else janus.function(step, **options)
    rng, out = random.Random(4), []
    KEPT.clear()
    for i in range(8):
        w.grad = None
        try:
            x = janus.tensor([rng.random() - 0.5 for _ in range(3)])
            y = f(x, [rng.randrange(5) for _ in range(4)])
        except Exception as e:
            y = [type(e).__name__, str(e)]
        seen = []
        out.append([shown(y, seen), shown(KEPT, seen), w.grad is None or shown(w.grad, [])])
    return out, f


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("way", WAYS)
def test_as_undecorated(way, use):
    for kind in KINDS:
        want, _ = run(kind, way, use, None)
        got, f = run(kind, way, use, {"verify": "never", "measure": False})
        assert want == got, kind


@pytest.mark.parametrize("way", ["in_order", "backwards", "best_two", "in_place", "made_in_some", "some_in_order",
                                 "extreme"])
@pytest.mark.parametrize("kind", ["Slots", "Plain", "Data"])
def test_they_are_read_in_graphs(kind, way):
    _, f = run(kind, way, "read", {"verify": "never", "measure": False})
    assert f.stats()["graph"] > 2
