# SPDX-License-Identifier: Apache-2.0
"""Programs at random over attributes of a small tree of classes, while what these attributes are changes between the calls: numbers, tensors,
properties, descriptors of both kinds, special methods for attributes on any class, the metaclass included, classes of instances, bases."""
import itertools
import random

import pytest

import janus
from shares import share
from texts import code_of, names_of

HEAD = """
import operator
log = []
def note(e): log.append((type(e).__name__, str(e)))
class Meta(type): ma = 7.0
class Base(metaclass=Meta):
    a = 1.0
    def m(self): return self.b * 2
    def k(self): return 3.0
class Mid(Base):
    b = 2.0
    def k(self): return super().k() + self.a
class Leaf(Mid): c = 3.0
class Slot(Base): __slots__ = ("s",)
class New(Base): b = 9.0
class Non:
    def __init__(self, v): self.v = v
    def __get__(self, o, t):
        log.append("get")
        return self.v
class Data(Non):
    def __set__(self, o, v):
        log.append("set")
        self.v = v
    def __delete__(self, o): log.append("delete")
class State: n = 0
S = State()
o = Leaf()
p = Leaf()
q = Mid()
s = Slot()
s.s = 5.0
"""
DOES = """x = x + {o}.{n}|x = x * {o}.{n}|x = x + getattr({o}, '{n}', 9.0)|x = x + (1 if hasattr({o}, '{n}') else 2)|{o}.{n} = {v}|{o}.{n} += {v}|x = x + {C}.{n}
x = x + {o}.m()|x = x + {o}.k()|x = x + type({o}).{n}|{C}.{n} = {v}|del {o}.{n}|setattr({o}, '{n}', {v})|{o}.__dict__['{n}'] = {v}|S.n += 1
x = x + {o}.__dict__.get('{n}', 0.25)|x = x + len(vars({o}))|log.append(sorted(vars({o})))|delattr({o}, '{n}')|{o}.m = lambda: 4.0|{o}.k = p.m
x = x + Base.k({o})|x = x + operator.attrgetter('{n}')({o})|{o}.{n}, {o}.{n} = {o}.{n}, {v}|x = x * 0.5""".replace("\n", "|").split("|")
ASKS = "hasattr({o}, '{n}')|{o}.{n} > 2|S.n % 2|float(x[0]) > 3|isinstance({o}, {C})|x.sum() > 10".split("|")
CHANGES = """{C}.{n} = {w}|o.{n} = {w}|{o}.{n} = {w}|S.n += 1|pass|if '{n}' in {C}.__dict__: del {C}.{n}|{o}.__dict__.pop('{n}', 0)|{C}.{n} = Non({w})|{C}.{n} = Data({w})
{C}.{n} = property(lambda self: (log.append('got'), {w})[1])|{C}.__getattr__ = lambda self, n: (log.append(n), 6.0)[1]|if '__getattr__' in {C}.__dict__: del {C}.__getattr__
{C}.__setattr__ = lambda self, n, v: (log.append(n), object.__setattr__(self, n, v))[1]|if '__setattr__' in {C}.__dict__: del {C}.__setattr__|o.__class__ = Mid
{C}.__getattribute__ = lambda self, n: (log.append(n), object.__getattribute__(self, n))[1]|if '__getattribute__' in {C}.__dict__: del {C}.__getattribute__
o.__class__ = Leaf|q.__class__ = Leaf|Leaf.m = lambda self: 8.0|Mid.k = Base.k|p.__dict__['m'] = lambda: 2.5|Meta.{n} = {w}|Meta.{n} = property(lambda c: 1.25)
Meta.__getattr__ = lambda c, n: 2.25|Leaf.__delattr__ = lambda self, n: log.append(n)|o.__dict__ = dict(o.__dict__)|o.__dict__ = p.__dict__|Leaf.__bases__ = (New,)
Leaf.__bases__ = (Mid,)|Leaf.{n} = Slot.s|{C}.{n} = classmethod(lambda c: 3.5)|{C}.{n} = staticmethod(lambda: 3.5)""".replace("\n", "|").split("|")
OF = {"o": "opqos", "n": "abc", "C": ("Base", "Mid", "Leaf", "Meta", "Leaf"), "v": ("1.5", "x[0]", "float(x[0])", "S.n", "3", "x.mean()"),
      "w": ("1.5", "3", "S.n", "True", "janus.ones(3)", "janus.tensor(2.0)")}


def filled(r, texts):
    text = r.choice(texts)
    for name, values in OF.items():
        while "{" + name + "}" in text:
            text = text.replace("{" + name + "}", r.choice(values), 1)
    return text


def indented(text):
    return "    " + text.replace("\n", "\n    ")


def block(r, deep, n):
    return "\n".join(compound(r, deep) if deep and r.random() < 0.4 else filled(r, DOES) for _ in range(n))


def compound(r, deep):
    one, two, asks = indented(block(r, deep - 1, 2)), indented(block(r, deep - 1, 1)), filled(r, ASKS)
    return r.choice((f"if {asks}:\n{one}\nelse:\n{two}", f"for i in range(S.n % 3 + 1):\n{one}\n    if {asks}: break", f"try:\n{one}\nexcept Exception as e:\n    note(e)\n{two}",
                     f"try:\n{one}\nfinally:\n{two}", f"k{deep} = 0\nwhile k{deep} < 3 and {asks}:\n    k{deep} += 1\n{one}"))


def program(r):
    body = indented(block(r, 2, r.choice((2, 3, 4))))
    if r.random() < 0.3:
        return f"{HEAD}def g(x, n):\n{body}\n    return g(x * 0.5, n - 1) if n else x\ndef f(x):\n    return g(x, 1 + S.n % 2)\n"
    return f"{HEAD}def f(x):\n{body}\n    return x\n"


def shown(v):
    if isinstance(v, janus.Tensor):
        return v.requires_grad, v.tolist()
    if isinstance(v, dict):
        return [(k, shown(i)) for k, i in v.items()]
    return v if isinstance(v, (int, float, str)) else type(v).__name__


def outcomes(text, changes, options):
    names = names_of(text, janus=janus)
    f = janus.function(names["f"], **options) if options else names["f"]
    seen = []
    for i, change in enumerate(changes):
        try:
            got = shown(f(janus.ones(3) * (i % 4 + 0.5)))
        except Exception as e:
            got = f"{type(e).__name__}: {e}"
        attrs = [shown(object.__getattribute__(names[n], "__dict__")) for n in "opqs"]
        seen.append((got, attrs, str(names["log"]), shown(names["S"].n)))
        names["log"].clear()
        exec(change, names)
    return seen, bool(options and f.stats()["graph"] + f.stats().get("region_hits", 0))


@pytest.mark.parametrize("options", [{"verify": "never"}, {}], ids=str)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_as_undecorated(options):
    wrong, graphs, seeds = [], 0, share(range(66))
    for seed in seeds:
        r = random.Random(seed)
        text = program(r)
        changes = [code_of(f"try:\n    {filled(r, CHANGES)}\nexcept Exception as e:\n    note(e)\n") for _ in range(8)]
        want, _ = outcomes(text, changes, None)
        got, graph = outcomes(text, changes, {**options, "measure": False})
        graphs += graph
        wrong += [(seed, i, a, b) for i, (a, b) in enumerate(zip(want, got)) if a != b][:1]
    assert not wrong, f"{len(wrong)}: {wrong[0]}"
    assert graphs > len(seeds) // 6, graphs


MEMBERS = """
class Slot: __slots__ = ("s", "t")
class Own(Slot): __slots__ = ("u",)
class Leaf: pass
class Tree(Leaf): __slots__ = ("v",)
class Alias(Slot): r = Slot.s
Leaf.b = Slot.s
Tree.d = Own.u
log = []
def f(x, o):
    for name in ("b", "d", "r", "s", "u", "v"):
        try:
            x = x + getattr(o, name)
        except (AttributeError, TypeError) as e:
            log.append(str(e))
        try:
            setattr(o, name, 3)
        except (AttributeError, TypeError) as e:
            log.append(str(e))
    return x
def {name}(x, o):
    try:
        {does}
    except (AttributeError, TypeError) as e:
        log.append(str(e))
    return x
"""


@pytest.mark.parametrize("of", ["Leaf", "Tree", "Own", "Alias"])
def test_members_of_other_classes(of):
    """A member of a class (what `__slots__` makes) is a place in its own objects: under a name of another class it raises."""
    for name, does in itertools.product("bdrsuv", ("x = x + o.{n}", "o.{n} = x * 2", "o.{n} = 3\n        x = x + o.{n}", "del o.{n}")):
        text = MEMBERS.replace("{name}", "g").replace("{does}", does.replace("{n}", name))
        seen = []
        for options in (None, {"verify": "never", "measure": False}, {"measure": False}):
            names = names_of(text, janus=janus)
            f, g = (janus.function(names[n], **options) if options else names[n] for n in "fg")
            got = []
            for i in range(6):
                o = names[of]()
                got.append([shown(h(janus.ones(2) * i, o)) for h in (g, f, g)] + [shown(getattr(o, "__dict__", {}))])
            seen.append((got, names["log"]))
            assert not options or not (f.stats()["disproved"] or g.stats()["disproved"]), text
        assert seen[0] == seen[1] == seen[2], text
