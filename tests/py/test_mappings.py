# SPDX-License-Identifier: Apache-2.0
"""Mappings of the caller: what derives from dict, with C code of its own or the program's, and ChainMap.

A graph reads and writes them as CPython does, whatever changes between calls: what they hold and in which order, what
a missing key is, methods of their classes.  Each program runs undecorated on a copy, call by call.
"""
import itertools
from collections import ChainMap, Counter, OrderedDict, defaultdict

import pytest
from shares import share
from texts import names_of

import janus

CLASSES = """
from collections import ChainMap, Counter, OrderedDict, defaultdict

class Plain(dict):
    pass

class Lengths(dict):
    def __missing__(self, key):
        return len(key)

class Upper(dict):
    def __getitem__(self, key):
        return super().__getitem__(key.upper())
    def __setitem__(self, key, value):
        dict.__setitem__(self, key.upper(), value)
    def __contains__(self, key):
        return super().__contains__(key.upper())

class Named(dict):
    def __init__(self, *args):
        super().__init__(*args)
        self.name, self.seen = "named", 0
    def get(self, key, default=7):
        self.seen += 1
        return super().get(key, default)
    def keys(self):
        return sorted(super().keys())

class Backwards(dict):
    def __iter__(self):
        return iter(list(super().__iter__())[::-1])

class Ordered(OrderedDict):
    pass

class Counted(Counter):
    pass

class Chained(ChainMap):
    pass
"""
KINDS = {  # how one is made that holds `a` and `b`
    "defaultdict": "defaultdict(int, A=1, a=2, b=3)",
    "defaultdict of lists": "defaultdict(list, A=[1], a=[2], b=[3])",
    "defaultdict of nothing": "defaultdict(None, A=1, a=2, b=3)",
    "Counter": "Counter(A=1, a=2, b=3)",
    "OrderedDict": "OrderedDict(b=3, A=1, a=2)",
    "ChainMap": "ChainMap({'a': 2}, {'b': 3, 'A': 1})",
    "Plain": "Plain(A=1, a=2, b=3)",
    "Lengths": "Lengths(A=1, a=2, b=3)",
    "Upper": "Upper(A=1, B=2)",
    "Named": "Named({'b': 3, 'A': 1, 'a': 2})",
    "Backwards": "Backwards(A=1, a=2, b=3)",
    "Ordered": "Ordered(b=3, A=1, a=2)",
    "Counted": "Counted(A=1, a=2, b=3)",
    "Chained": "Chained({'a': 2}, {'b': 3, 'A': 1})",
}
OPERATIONS = {
    "item": "r = d['a']",
    "missing": "r = d['new']",
    "get": "r = d.get('a'), d.get('none'), d.get('none', 5)",
    "in": "r = 'a' in d, 'none' in d, 'q' not in d",
    "len": "r = len(d), bool(d)",
    "keys": "r = list(d), [k for k in d], list(d.keys())",
    "values": "r = list(d.values())",
    "items": "r = [(k, v) for k, v in d.items()], sorted(d)",
    "reversed": "r = [k for k in reversed(d)]",
    "set": "d['a'] = d['b']; d['new'] = 4; r = d['new']",
    "tensor": "d['a'] = x.exp(); r = d['a'] + 1",
    "count": "d['new'] += d['a']; r = d['new']",
    "setdefault": "r = d.setdefault('a', 9), d.setdefault('new', 8)",
    "pop": "r = d.pop('a', None), d.pop('none', 6)",
    "del": "del d['a']; r = len(d)",
    "update": "d.update({'b': 5, 'c': 6}); d.update(z=1); r = len(d)",
    "copied": "r = dict(d), {**d, 'e': 1}, d.copy()",
    "keywords": "r = dict(**d)",
    "clear": "d.clear(); r = len(d)",
    "move": "d.move_to_end('a'); r = list(d)",
    "popitem": "r = d.popitem(), len(d)",
    "equal": "r = d == {'A': 1, 'a': 2, 'b': 3}",
    "kind": "r = isinstance(d, dict), type(d), isinstance(d, defaultdict)",
    "child": "e = d.new_child({'b': 8}); e['n'] = 1; r = e['a'], e['b'], e['n'], len(e)",
}
CHANGES = {
    "nothing": "pass",
    "value": "put(d, 'a', 11)",
    "key": "put(d, 'k%d' % i, i)",
    "lost": "lose(d, 'a')",
    "order": "v = lose(d, 'a'); put(d, 'a', v)",
    "factory": "d.default_factory = [int, float, list][i % 3]",
    "attribute": "d.default = i; d.get = len",
    "missing": "of(d).__missing__ = [lambda s, k: 1, lambda s, k: k][i % 2]",
    "getitem": "of(d).__getitem__ = lambda s, k: k",
    "iter": "of(d).__iter__ = lambda s: iter(['a'])",
}
PROGRAM = """
def of(d):
    return dict if type(d).__module__ == "collections" else type(d)  # whose attributes nobody sets

def put(d, key, value):
    if isinstance(d, ChainMap):
        d.maps[0][key] = value
    elif isinstance(d, OrderedDict):
        OrderedDict.__setitem__(d, key, value)
    else:
        dict.__setitem__(d, key, value)

def lose(d, key):
    try:
        if isinstance(d, ChainMap):
            return d.maps[0].pop(key, None)
        return OrderedDict.pop(d, key, None) if isinstance(d, OrderedDict) else dict.pop(d, key, None)
    except TypeError:
        return None

def change(d, i):
    try:
        {change}
    except (AttributeError, TypeError):
        pass

def make():
    return {make}

def f(d, x):
    y = x * 2
    {operation}
    return y.sum(), r
"""
CALLS = 7


def seen(o):
    """What can be compared: kinds, contents and their order."""
    if isinstance(o, janus.Tensor):
        return "tensor", o.tolist()
    if isinstance(o, ChainMap):
        return "ChainMap", [seen(m) for m in o.maps]
    if isinstance(o, dict):
        keys = list(OrderedDict.__iter__(o) if isinstance(o, OrderedDict) else dict.__iter__(o))
        attributes = {k: seen(v) for k, v in getattr(o, "__dict__", {}).items()}
        return type(o).__name__, [(k, seen(dict.__getitem__(o, k))) for k in keys if dict.__contains__(o, k)], attributes
    if isinstance(o, (list, tuple)):
        return type(o).__name__, [seen(x) for x in o]
    return o if not isinstance(o, type) else o.__name__


def run(names, function):
    d, x, out = names["make"](), janus.ones(3), []
    for i in range(CALLS):
        try:
            made = seen(function(d, x))
        except Exception as e:
            made = type(e).__name__, str(e)
        out.append((made, seen(d)))
        if i >= 2:
            names["change"](d, i)
    return out


def both(kind, operation, change):
    text = CLASSES + PROGRAM.format(make=KINDS[kind], operation=OPERATIONS[operation], change=CHANGES[change])
    plain, graph = names_of(text), names_of(text)
    f = janus.function(graph["f"], measure=False)
    assert run(plain, plain["f"]) == run(graph, f)
    return f.stats()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", CHANGES)
def test_what_undecorated_does(kind, change):
    for operation in share(OPERATIONS):
        both(kind, operation, change)


READ = {k: ["item", "get", "in", "len", "keys", "values", "items"] for k in KINDS if k not in ("Named", "Backwards")}
WRITTEN = [k for k in KINDS if k not in ("ChainMap", "OrderedDict", "Ordered", "Named")]


@pytest.mark.parametrize("kind, operation", [(k, o) for k in READ for o in READ[k]] +
                         list(itertools.product(WRITTEN, ["set", "tensor", "setdefault"])))
def test_is_a_graph(kind, operation):
    assert both(kind, operation, "nothing")["graph"] >= 3


# ---- where the graph decides what is read and written -------------------------------------------------------------

DEEDS = {
    "count": "d[key] += 1",
    "read": "x = x + d['a'] * 0.5",
    "missing": "x = x * d['none']",
    "set": "d[key] = d['a']",
    "tensor": "d['t'] = x.sum().item()",
    "get": "d['n'] = d.get('n', 0) + 1",
    "setdefault": "d.setdefault('s', 4)",
    "in": "x = x + 1 if 'a' in d else x * 3\nif key in d:\n    x = x * 0.5",
    "del": "d['k'] = 1\ndel d['k']",
    "len": "x = x + len(d)",
    "update": "d.update({'u': 1})",
    "append": "d['l'].append(1)",
}
PLACES = {
    "branch": "if x.sum() > 5:\n    {deed}\nelse:\n    x = x * 1.5",
    "rounds": "n = int(x.sum().item()) % 3 + 1\nfor i in range(n):\n    {deed}",
    "while": "i = 0\nwhile i < 4 and x.sum() < 40:\n    i, x = i + 1, x * 2\n    {deed}",
    "recursion": "def g(n, x):\n    if n > 4 or x.sum() > 60:\n        return x\n    key = 'a' if n else 'r'\n    {deed}\n    return g(n + 1, x * 2)\nx = g(0, x)",
    "items": "for key in keys[:int(x[0])]:\n    {deed}",
}
KEYS = {"text": "key = 'k'", "number": "key = int(x.sum().item()) % 2", "one of": "key = keys[int(x.sum().item()) % 2]"}
INNER = """
keys = ["p", "q", "a", "p"]

def make():
    return {make}

def f(d, x):
    {key}
    {place}
    return x
"""


def inner(kind, deed, place, key):
    body = PLACES[place].replace("{deed}", DEEDS[deed].replace("\n", "\n" + " " * 4))
    text = CLASSES + INNER.format(make=KINDS[kind], key=KEYS[key], place=body.replace("\n", "\n    "))
    outcomes = []
    for decorated in (False, True):
        names = names_of(text)
        f, d, out = names["f"], names["make"](), []
        if decorated:
            f = janus.function(f, measure=False)
        for i in range(8):
            try:
                made = seen(f(d, janus.ones(3) * (i % 4 + 1)))
            except Exception as e:
                made = type(e).__name__, str(e)
            out.append((made, seen(d)))
        outcomes.append(out)
    assert outcomes[0] == outcomes[1], (kind, deed, place, key)
    return f.stats()


@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "Backwards"])
@pytest.mark.parametrize("place", PLACES)
def test_where_the_graph_decides(kind, place):
    for deed, key in share(itertools.product(DEEDS, KEYS)):
        inner(kind, deed, place, key)


@pytest.mark.parametrize("kind, deed, place", list(itertools.product(["Counter", "Lengths", "defaultdict", "Plain"], ["count", "set", "get"], ["branch", "recursion"])))
def test_is_a_graph_where_it_decides(kind, deed, place):
    if deed == "count" and kind in ("Plain", "defaultdict"):
        return  # the key is not there, or its factory would have to be called
    assert inner(kind, deed, place, "text")["graph"] >= 3


# ---- made inside ---------------------------------------------------------------------------------------------------

MADE = {"Counter": "Counter()", "Plain": "Plain(a=x, b=2)", "of a dict": "Plain({'a': 1})", "Lengths": "Lengths()", "Upper": "Upper(z=1)", "Named": "Named({'a': 1})", "Backwards": "Backwards(a=1, b=2)",
        "Counted": "Counted()", "defaultdict": "defaultdict(list)", "OrderedDict": "OrderedDict(a=1)", "Ordered": "Ordered(a=1)"}
DONE = {
    "nothing": "pass",
    "counted": "for w in ['p', 'q', 'p']:\n    d[w] = d.get(w, 0) + 1",
    "missing": "x = x * (d['none'] if 'none' in d or hasattr(d, '__missing__') else 2)",
    "tensors": "d['t'] = x * 2\nx = x + d['t']",
    "branch": "if x.sum() > 5:\n    d['p'] = 1\nelse:\n    d['p'] = 2\nx = x + d['p']",
    "one path": "if x.sum() > 5:\n    d['only'] = x\nx = x + len(d)",
    "rounds": "for i in range(int(x.sum().item())):\n    d['n'] = i\nx = x + d.get('n', 0)",
    "number": "d[int(x.sum().item())] = 1\nx = x + len(d)",
    "popped": "d['p'] = 3\nx = x * d.pop('p')",
    "cleared": "d.clear()\nd['q'] = x",
    "walked": "x = x + sum(len(k) for k in d) + len(list(d.items()))",
    "attribute": "d.name = 'other'",
    "in a loop": "for i in range(3):\n    d = Plain(d, n=i)",
}
LEFT = {"dropped": "return x", "result": "return d, x", "inside": "return [d, (d, x)]", "kept": "kept['d'] = d\nreturn x", "as dict": "return dict(d), x", "kind": "return type(d), isinstance(d, dict), len(d), x"}
MAKING = """
kept = dict()

def f(x):
    d = {make}
    {deed}
    {left}
"""


def made(kind, deed, left):
    deed, left = DONE[deed].replace("\n", "\n    "), LEFT[left].replace("\n", "\n    ")
    text = CLASSES + MAKING.format(make=MADE[kind], deed=deed, left=left)
    outcomes = []
    for decorated in (False, True):
        names, out = names_of(text), []
        f = janus.function(names["f"], measure=False) if decorated else names["f"]
        for i in range(6):
            try:
                r = f(janus.ones(3) * (i % 3 + 1))
                out.append((seen(r), isinstance(r, list) and r[0] is r[1][0], seen(names["kept"])))
            except Exception as e:
                out.append((type(e).__name__, str(e)))
        outcomes.append(out)
    assert outcomes[0] == outcomes[1], (kind, deed, left)
    return f.stats()


@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("left", LEFT)
def test_made_inside(kind, left):
    for deed in share(DONE):
        made(kind, deed, left)


@pytest.mark.parametrize("kind", ["Counter", "Plain", "of a dict", "Lengths", "Upper", "Counted"])
@pytest.mark.parametrize("deed", ["nothing", "counted", "tensors", "branch", "walked"])
def test_made_inside_in_a_graph(kind, deed):
    assert made(kind, deed, "result")["graph"] >= 2


# ---- abstract classes ------------------------------------------------------------------------------------------------

ASKS = {
    "update": "d.update(words)\nreturn x * d['p'], d",
    "counted": "d = Counter(words)\nreturn x * d['p'], d",
    "mapping": "return x * (2 if isinstance(d, Mapping) else 3), isinstance(words, Sequence), isinstance(words, Mapping)",
    "own": "return x * (2 if isinstance(words, Own) else 3), isinstance(d, (Own, int))",
}
ABSTRACT = """
from abc import ABC
from collections.abc import Mapping, Sequence

class Own(ABC):
    pass

class Other(ABC):
    pass

def f(d, words, x):
    {ask}
"""


@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("registered", ["Own", "Other", None])
def test_abstract_classes(ask, registered):
    text = CLASSES + ABSTRACT.format(ask=ASKS[ask].replace("\n", "\n    "))
    outcomes = []
    for decorated in (False, True):
        names, out, d = names_of(text), [], Counter("pq")
        f = janus.function(names["f"], measure=False) if decorated else names["f"]
        for i in range(8):
            if i == 5 and registered:
                names[registered].register(list)
            out.append(seen(f(d, ["p", "q", "p"], janus.ones(2))))
        outcomes.append(out)
    assert outcomes[0] == outcomes[1]
    assert f.stats()["graph"] >= 3
