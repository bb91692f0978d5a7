# SPDX-License-Identifier: Apache-2.0
"""Each word by which guards know that a place is what it was (pyfront/guard/fast.c) is asked for.  Programs reach a function
or a module by a path of places: cells, defaults, items of tuples and lists, values of dicts, attributes of objects and of
modules.  Between two calls one place of the path gets another object, or one of these is taken apart and another one
made where it lay, while what it held lives on: words behind it would still hold.  The next call sees it."""
import itertools
import random
import types

import janus
import pytest
from janus import nn


COUNT, KEPT = itertools.count(), []


class Half(nn.Module):
    def forward(self, x):
        return x * 0.5


class Twice(nn.Module):
    def forward(self, x):
        return x * 2


class Box:
    pass


class Slots:
    __slots__ = "one", "__weakref__"


class Holder(nn.Module):
    pass


def half(x):
    return x * 0.5


def twice(x):
    return x * 2


def thrice(x):
    return x * 3


def scaled(k):
    return lambda x: x * k


def shifted(k):
    return lambda x: x - k


def by_name(x):
    return x * factor  # noqa: F821: a global of the dict that a copy is made with


def of_globals(r):
    return types.FunctionType(by_name.__code__, {"factor": r.choice([1.5, -2.0, 4.0])})


def of_own_class(r):
    return type("Own", (nn.Module,), {"forward": r.choice([lambda self, x: x * 1.5, lambda self, x: x - 2])})()


TERMINALS = {"function": lambda r: r.choice([half, twice, thrice]), "closure": lambda r: scaled(r.choice([1.5, -2.0, 4.0])),
             "module": lambda r: r.choice([Half, Twice])(), "globals": of_globals, "own class": of_own_class}


def change_itself(o):
    """The object at the end of the path becomes another one and stays where it is; False: there is no such way."""
    if type(o).__name__ == "Own":
        type(o).forward = lambda self, x: x * 3
    elif isinstance(o, nn.Module):
        o.__class__ = Twice if type(o) is Half else Half
    elif o.__closure__:
        o.__code__ = (shifted if o.__code__ is scaled(0).__code__ else scaled)(0).__code__
    else:
        return False
    return True


def put_attribute(o, v):
    o.one = v


def put_item(o, v):
    o[1] = v


def put_last(o, v):
    o.append(v)


def put_dict(o, v):
    KEPT.append(o.__dict__)
    o.__dict__ = {**o.__dict__, "one": v}


def put_key(o, v):
    o["a"] = v


def put_cell(o, v):
    o.__closure__[0].cell_contents = v


def put_default(o, v):
    o.__defaults__ = (v,)


def put_keyword(o, v):
    o.__kwdefaults__ = {"inner": v}


def with_one(make):
    def made(inner):
        o = make()
        o.one = inner
        return o
    return made


def with_room(inner):
    made = [None] * 3
    made.append(inner)  # has room for more, which do not move it
    return made


def of_source(text):
    """A maker of functions of one code, each with a part of its own: of the text of what they return."""
    def maker(expression):
        path, whole, names = of_source.folder / f"made{next(COUNT)}.py", text.format(expression), {}
        path.write_text(whole)
        exec(compile(whole, str(path), "exec"), names)
        return names["make"]
    return maker


@pytest.fixture(autouse=True)
def folder(tmp_path):
    of_source.folder = tmp_path


class Place:
    """A kind of holder.  make(inner) gives one, put(o, inner) changes what it holds (None: nobody can), `reads` is the
    source of that; `calls`: it is a function that does the rest by itself, of the source of what it returns."""

    def __init__(self, make=None, put=None, reads=None, calls=None):
        self.make, self.put, self.reads, self.calls = make, put, reads, calls


PLACES = {
    "tuple": Place(lambda inner: (None, inner, 3), None, "{}[1]"),
    "one of a tuple": Place(lambda inner: (inner,), None, "{}[0]"),
    "list": Place(lambda inner: [None, inner], put_item, "{}[1]"),
    "last of a list": Place(with_room, put_last, "{}[-1]"),
    "dict": Place(lambda inner: {"b": 1, "a": inner}, put_key, "{}['a']"),
    "object": Place(with_one(Box), put_attribute, "{}.one"),
    "slot": Place(with_one(Slots), put_attribute, "{}.one"),
    "module": Place(with_one(Holder), put_attribute, "{}.one"),
    "dict of a module": Place(with_one(Holder), put_dict, "{}.one"),
    "cell": Place(put=put_cell, calls=of_source("def make(inner):\n def g(x):\n  return {}\n return g")),
    "default": Place(put=put_default, calls=of_source("def make(one):\n def g(x, inner=one):\n  return {}\n return g")),
    "keyword": Place(put=put_keyword, calls=of_source("def make(one):\n def g(x, *, inner=one):\n  return {}\n return g")),
}


def source(kinds, name):
    """What applies the object of that name, the first of such a path, to x; makers by place."""
    if not kinds:
        return f"{name}(x)", []
    place = PLACES[kinds[0]]
    if place.calls:
        inner, makers = source(kinds[1:], "inner")
        return f"{name}(x)", [place.calls(inner), *makers]
    inner, makers = source(kinds[1:], place.reads.format(name))
    return inner, [place.make, *makers]


class Path:
    def __init__(self, r, kinds, terminal):
        self.r, self.kinds, self.terminal, self.kept = r, ["cell", *kinds], terminal, []
        text, self.makers = source(self.kinds, "f")
        self.held = self.made(0)
        self.f = self.held[0]

    def made(self, at):
        """Objects from that place of the path on, the last one first."""
        chain = [TERMINALS[self.terminal](self.r)]
        for make in reversed(self.makers[at:]):
            chain.append(make(chain[-1]))
        return chain[::-1]

    def can_change(self, at):
        return PLACES[self.kinds[at]].put is not None

    def put(self, at, chain):
        """Holder `at` gets the first of a chain in place of what it has."""
        PLACES[self.kinds[at]].put(self.held[at], chain[0])
        self.held[at + 1:] = chain

    def change(self, same_place, keep):
        """Something behind a holder that can be changed is another object, down to the end of the path."""
        if not same_place and self.r.random() < 0.4 and change_itself(self.held[-1]):
            return
        at = self.r.choice([i for i in range(len(self.kinds)) if self.can_change(i)])
        if not same_place or at + 1 == len(self.kinds):
            self.put(at, self.made(at + 1))
            return
        new = self.made(at + 2)  # before there is room for it where the old one lay
        if keep:
            self.kept.append([self.parts(o) for o in self.held[at + 1:]])
        PLACES[self.kinds[at]].put(self.held[at], None)
        del self.held[at + 1:]
        first = self.makers[at + 1](new[0])
        self.put(at, [first, *new])

    def parts(self, o):
        """What a holder consists of, without the holder."""
        if isinstance(o, (tuple, list, dict)):
            return list(o.values() if isinstance(o, dict) else o)
        if isinstance(o, (Box, Slots, Holder)):
            return o.one
        if isinstance(o, nn.Module):
            return None
        return [o.__globals__, o.__closure__ and list(o.__closure__), o.__defaults__ and list(o.__defaults__)]


def told(f):
    return f(janus.ones(2)).tolist()


def run(seed, kinds, terminal, same_place, keep):
    r = random.Random(f"{seed} {kinds} {terminal} {same_place} {keep}")
    path = Path(r, kinds, terminal)
    f = janus.function(path.f, verify="never", measure=False)
    with janus.no_grad():
        for change in range(3):
            for _ in range(5):
                assert told(f) == told(path.f), (seed, change)
            path.change(same_place, keep)
            assert told(f) == told(path.f), (seed, change)
    return f.stats()["graph"]


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
@pytest.mark.parametrize("terminal", TERMINALS)
@pytest.mark.parametrize("kind", PLACES)
def test_each_place_of_a_path(kind, terminal):
    graphs = 0
    for seed in range(6):
        for other in random.Random(f"{kind} {seed}").sample(sorted(PLACES), 3):
            for same_place, keep in ((False, False), (True, False), (True, True)):
                kinds = [kind, other] if seed % 2 else [other, kind]
                graphs += run(seed, kinds if seed % 3 else [kind], terminal, same_place, keep)
    assert graphs > 6 * 9 * 4


def longer(o, r):
    if isinstance(o, dict):
        o[r.random()] = None
    else:
        o.append(None)


def shorter(o, r):
    if o:
        o.pop(next(iter(o))) if isinstance(o, dict) else o.pop()


def emptied(o, r):
    o.clear()


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
@pytest.mark.parametrize("kind", [list, dict])
@pytest.mark.parametrize("asks", ["length", "any", "both"])
def test_lengths_of_what_is_held(kind, asks):
    """Of a list or dict in a cell nothing is asked but how long it is, or whether it has items."""
    net = nn.Sequential(*[Half() for _ in range(4)])  # with a few places, guards have words

    def by_length(x):
        return net(x) * len(held)

    def by_any(x):
        return net(x) * 2 if held else net(x) * 3

    def by_both(x):
        return net(x) * len(held) if held else net(x) - 1

    program, graphs = {"length": by_length, "any": by_any, "both": by_both}[asks], 0
    for seed in range(20):
        r = random.Random(f"{seed} {kind} {asks}")
        held = kind() if kind is dict else with_room(None)
        for _ in range(r.randint(0, 3)):
            longer(held, r)
        f = janus.function(program, verify="never", measure=False)
        for change in range(3):
            for _ in range(5):
                assert told(f) == told(program), (seed, change)
            r.choice([longer, shorter, emptied])(held, r)
            assert told(f) == told(program), (seed, change)
        graphs += f.stats()["graph"]
    assert graphs > 20 * 8
