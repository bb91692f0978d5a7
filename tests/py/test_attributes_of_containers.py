# SPDX-License-Identifier: Apache-2.0
"""Instances of subclasses of built-in types have attributes of their own beside their items, also where those have the same names."""
import itertools

import pytest

import janus
from shares import share
from texts import code_of, names_of

MADE = {"dict": "D(a=1.0, last=2.0)", "ordered": "O(a=1.0, last=2.0)", "counter": "C(a=1, last=2)", "default": "F(float, a=1.0, last=2.0)", "list": "L([1.0, 2.0])",
        "deque": "Q([1.0, 2.0])", "set": "S([1.0, 2.0])", "int": "I(3)", "float": "R(1.5)", "str": "T('last')", "tuple": "U((1.0, 2.0))", "slots": "W(a=1.0, last=2.0)"}
DOES = {"written": "m.last = x", "read": "x = x * m.last", "both": "m.last = m.last + x\nx = x + m.last", "number": "m.n += 1\nx = x * m.n", "new": "m.new = x * 2\nx = x + m.new",
        "deleted": "del m.last\nm.last = x", "gone": "m.gone = 1\ndel m.gone", "by path": "if float(x[0]) > 2:\n    m.last = x\nelse:\n    m.n = 5",
        "rounds": "for i in range(3):\n    m.n += 1\n    m.last = x * m.n", "while": "while m.n < 4:\n    m.n += 1\n    x = x + m.n", "item": "m.last = 4.0\nx = x + ITEM",
        "items": "m.n += len(m)\nx = x * m.n", "asked": "x = x * (2 if hasattr(m, 'new') else 3)\nm.new = x", "vars": "x = x * len(vars(m))\nm.other = x", "set": "setattr(m, 'last', x)\nx = x + getattr(m, 'last')"}
ITEMS = {"dict": "m['last']", "list": "m[1]"}
PLACES = {"global": "def f(x):\n    m = made\n    {b}\n    return x, m\n", "argument": "def g(m, x):\n    {b}\n    return x, m\ndef f(x):\n    return g(made, x)\n",
          "held": "held.of = made\ndef f(x):\n    m = held.of\n    {b}\n    return x, m\n", "recursion": "def g(m, x, n):\n    {b}\n    return g(m, x * 0.5, n - 1) if n else (x, m)\ndef f(x):\n    return g(made, x, 2)\n",
          "callee": "def g(m, x):\n    {b}\n    return x\ndef f(x):\n    x = g(made, x)\n    return g(made, x * 0.5), made\n"}
HEAD = """
import collections
class D(dict): pass
class O(collections.OrderedDict): pass
class C(collections.Counter): pass
class F(collections.defaultdict): pass
class L(list): pass
class Q(collections.deque): pass
class S(set): pass
class I(int): pass
class R(float): pass
class T(str): pass
class U(tuple): pass
class W(dict): __slots__ = "last", "n", "new", "other", "gone"
class Held: pass
held = Held()
"""


def programs():
    for (kind, made), (does, body), (place, text) in itertools.product(MADE.items(), DOES.items(), PLACES.items()):
        if (does == "item" and kind not in ("dict", "ordered", "counter", "default", "slots", "list", "deque", "tuple")) or (kind == "slots" and does == "vars"):
            continue
        b = body.replace("ITEM", ITEMS["dict" if "last=" in made else "list"])
        yield (kind, does, place), HEAD + f"made = {made}\nmade.last = 1.5\nmade.n = 0\n" + text.format(b=b.replace("\n", "\n    "))


def shown(v):
    if isinstance(v, janus.Tensor):
        return v.tolist()
    if isinstance(v, dict):
        return type(v).__name__, [(k, shown(i)) for k, i in dict.items(v)]
    return [shown(i) for i in v] if isinstance(v, (tuple, list)) else repr(v)


def outcomes(text, options):
    names = names_of(text, janus=janus)
    f = janus.function(names["f"], **options) if options else names["f"]
    seen = []
    for i in range(5):
        try:
            x, m = f(janus.ones(2) * (i + 1))
            seen.append((shown(x), m is names["made"]))
        except Exception as e:
            seen.append(f"{type(e).__name__}: {e}")
        made = names["made"]
        own = vars(made) if hasattr(made, "__dict__") else {k: getattr(made, k) for k in type(made).__slots__ if hasattr(made, k)}
        seen.append((shown(made), [(k, shown(v)) for k, v in own.items()]))
    return seen, f.stats()["graph"] > 0 if options else False


@pytest.mark.parametrize("options", [{"verify": "never"}, {}], ids=str)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_as_undecorated(options):
    wrong, graphs, n = [], 0, 0
    for name, text in share(programs()):
        want, _ = outcomes(text, None)
        got, graph = outcomes(text, {**options, "measure": False})
        n, graphs = n + 1, graphs + graph
        wrong += [(name, a, b) for a, b in zip(want, got) if a != b][:1]
    assert not wrong, f"{len(wrong)} of {n}: {wrong[:3]}"
    assert graphs > n // 3, (graphs, n)


class Globals(dict):
    def __missing__(self, name):
        return 7.0 if name == "nowhere" else getattr(janus, name)


@pytest.mark.parametrize("body", ["return x * nowhere", "global was\n    was = x\n    return was * 2"])
def test_globals_that_find_names_by_code(body):
    seen = []
    for options in (None, {"verify": "never"}, {}):
        names = Globals(__builtins__=__builtins__)
        exec(code_of(f"def f(x):\n    {body}\n"), names)
        f = janus.function(names["f"], measure=False, **options) if options is not None else names["f"]
        seen.append([f(janus.ones(2) * i).tolist() for i in range(4)] + [list(names), str(names.get("was"))])
    assert seen[0] == seen[1] == seen[2]
