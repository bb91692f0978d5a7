# SPDX-License-Identifier: Apache-2.0
"""A class is called by its `__new__` and the `__init__` of what that gives; `super()` of a class goes through the classes behind it."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

# how an instance is made: the body of a class K(BASE), which is called with x and a keyword; {new} is a form of the base's own __new__
NEWS = {"super": "super().__new__(cls{a})", "super of": "super(K, cls).__new__(cls{a})", "base": "BASE.__new__(cls{a})", "object": "object.__new__(cls)"}
PLAIN = {
    "new only": "def __new__(cls, v, k=2):\n    o = {new}\n    o.v = v * k\n    return o",
    "both": "def __new__(cls, v, k=2):\n    o = {new}\n    o.first = v * k\n    return o\ndef __init__(self, v, k=3):\n    self.v = self.first + v * k",
    "counted": "made = 0\ndef __new__(cls, *args, **kw):\n    cls.made += 1\n    o = {new}\n    o.n = cls.made\n    return o\ndef __init__(self, v, k=1):\n    self.v = v * k * self.n",
    "one for all": "one = None\ndef __new__(cls, *args, **kw):\n    if cls.one is None:\n        cls.one = {new}\n    return cls.one\ndef __init__(self, v, k=1):\n    self.v = v * k",
    "kept": "kept = {{}}\ndef __new__(cls, v, k=1):\n    if k not in cls.kept:\n        cls.kept[k] = {new}\n    o = cls.kept[k]\n    o.v = v * k\n    return o",
    "other": "def __new__(cls, v, k=1):\n    return v * k",
    "another": "def __new__(cls, v, k=1):\n    o = Else()\n    o.v = v * k\n    return o\ndef __init__(self, v):\n    self.v = 'never'",
    "below": "def __new__(cls, v, k=1):\n    o = object.__new__(Below)\n    o.v = v * k\n    return o\ndef __init__(self, v, k=1):\n    self.v = self.v + 1",
    "raises": "def __new__(cls, v, k=1):\n    o = {new}\n    o.v = v * k\n    if float(v[0]) > 3:\n        raise ValueError(k)\n    return o",
    "class method": "@classmethod\ndef of(cls, v):\n    return cls(v, k=4)\ndef __new__(cls, v, k=1):\n    o = {new}\n    o.v = v * k\n    return o",
    "slots": "__slots__ = ('v', 'n')\ndef __new__(cls, v, k=2):\n    o = {new}\n    o.v, o.n = v * k, k\n    return o",
}
TUPLES = {
    "items": "def __new__(cls, v, k=2):\n    o = {new_tuple}\n    return o\n@property\ndef v(self):\n    return self[0] + self[1]",
    "attributes": "def __new__(cls, v, k=2):\n    o = {new_tuple}\n    o.v = v\n    return o",
    "init": "def __new__(cls, v, k=2):\n    return {new_tuple}\ndef __init__(self, v, k=2):\n    Else.seen = v\n@property\ndef v(self):\n    return self[0] + Else.seen",
    "named": "def __new__(cls, v, k=2):\n    if k > 3:\n        v = v * 2\n    return {new_named}\n@property\ndef v(self):\n    return self.a * self.b",
    "renamed": "__slots__ = ()\ndef __new__(cls, v, k=2):\n    return {new_named}._replace(b=v + 1)\n@property\ndef v(self):\n    return self.a * self.b",
    "made": "def __new__(cls, v, k=2):\n    return cls._make([v, v * k])\n@property\ndef v(self):\n    return self.a * self.b",
}
SUPERS = {  # methods of classes through super(): of K(Middle), Middle(Root)
    "class method": "@classmethod\ndef of(cls, v):\n    return super().of(v * 2)",
    "class method, static": "@classmethod\ndef of(cls, v):\n    return super().still(v) * cls.factor",
    "static of": "@staticmethod\ndef of(v):\n    return super(K, K).of(v) + 1",
    "plain by class": "@classmethod\ndef of(cls, v):\n    return super().plain(cls(), v)",
    "attribute": "factor = 7.0\n@classmethod\ndef of(cls, v):\n    return v * super().factor + cls.factor",
    "instance": "def plain(self, v):\n    return super().still(v) + super().of(v) + super().plain(v)\n@classmethod\ndef of(cls, v):\n    return cls().plain(v)",
}
USES = {"value": "return K(x, k=n).v", "whole": "return K(x)", "twice": "a = K(x)\nb = K(x * 2, n)\nreturn a.v - b.v, a is b",
        "loop": "s = x\nfor i in range(3):\n    s = s + K(x * i, k=i).v\nreturn s", "path": "if float(x[0]) > 2:\n    o = K(x)\nelse:\n    o = K(x, n)\nreturn o.v",
        "stored": "held.of = K(x)\nreturn held.of.v", "callee": "def g(x, n):\n    return K(x, n)\nreturn g(x, n).v + g(x * 2, 1).v",
        "kind": "o = K(x)\nreturn x * 2 if isinstance(o, K) else x, type(o).__name__"}
HEAD = """
import collections
class Held: pass
class Else: pass
held = Held()
class Root:
    factor = 3.0
    @classmethod
    def of(cls, v):
        return v * cls.factor
    @staticmethod
    def still(v):
        return v + 10
    def plain(self, v):
        return v - 1
class Middle(Root): pass
"""


def indented(body):
    return body.replace("\n", "\n    ")


def programs():
    for (name, body), (form, new), (use, text) in itertools.product(PLAIN.items(), NEWS.items(), USES.items()):
        base = "BASE" if form != "base" else "object"
        new = new.replace("BASE", "object").format(a="")
        body = body.format(new=new) if "{" in body else body
        yield (name, form, use), (HEAD + f"BASE = object\nclass K:\n    {indented(body)}\nclass Below(K): pass\n", base, text)
    for (name, body), (form, new), (use, text) in itertools.product(TUPLES.items(), NEWS.items(), USES.items()):
        if form == "object":
            continue
        base = "tuple" if "new_tuple" in body else "N"
        body = body.format(new_tuple=new.replace("BASE", "tuple").format(a=", (v, v * k)"), new_named=new.replace("BASE", "N").format(a=", v, v * k"))
        yield (name, form, use), (HEAD + f"N = collections.namedtuple('N', 'a b')\nclass K({base}):\n    {indented(body)}\n", base, text)
    for (name, body), use in itertools.product(SUPERS.items(), ("return K.of(x)", "s = x\nfor i in range(3):\n    s = s + K.of(x * i)\nreturn s", "return K.of(x) if n > 1 else K.of(x + n)")):
        yield (name, use), (HEAD + f"class K(Middle):\n    {indented(body)}\n", "Middle", use)


def program(parts):
    head, _, text = parts
    return head + f"def f(x, n):\n    {indented(text)}\n"


def shown(v):
    if isinstance(v, janus.Tensor):
        return v.tolist()
    if isinstance(v, (tuple, list)):
        return type(v).__name__, [shown(i) for i in v], {k: shown(i) for k, i in getattr(v, "__dict__", {}).items()}
    own = getattr(v, "__dict__", None)
    slots = {k: shown(getattr(v, k)) for k in getattr(type(v), "__slots__", ()) if hasattr(v, k)}
    return repr(v) if own is None and not slots else (type(v).__name__, {k: shown(i) for k, i in (own or slots).items()})


def outcomes(text, options):
    names = names_of(text, janus=janus)
    f = janus.function(names["f"], **options) if options else names["f"]
    seen = []
    for i in range(6):
        if i == 4:  # what the class had is another thing
            names["Root"].factor = 5.0
            names["Root"].still = staticmethod(lambda v: v * 100)
        try:
            seen.append(shown(f(janus.ones(2) * (i + 1), i % 2 + 1)))
        except Exception as e:
            seen.append(f"{type(e).__name__}: {e}")
        seen.append((shown(names["held"]), getattr(names["K"], "made", None), sorted(getattr(names["K"], "kept", ()))))
    return seen, f.stats()["graph"] > 0 if options else False


@pytest.mark.parametrize("options", [{"verify": "never"}, {}], ids=str)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_as_undecorated(options):
    wrong, graphs, n = [], 0, 0
    for name, parts in share(programs()):
        text = program(parts)
        want, _ = outcomes(text, None)
        got, graph = outcomes(text, {**options, "measure": False})
        n, graphs = n + 1, graphs + graph
        wrong += [(name, a, b) for a, b in zip(want, got) if a != b][:1]
    assert not wrong, (len(wrong), n, wrong[:4])
    assert graphs > n // 2, (graphs, n)
