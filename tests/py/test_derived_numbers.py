# SPDX-License-Identifier: Apache-2.0
"""Members of an IntEnum, and other instances of classes derived from int, float and str: to a method that such a class has from CPython's own
type they are their values; to all that gives an argument back, and to methods of the class's own, they are the objects that they are."""
import enum
import math
import operator

import pytest

import janus
import janus.nn.functional as F
from shares import share
from texts import names_of

CLASSES = """
class Level(enum.IntEnum):
    LOW, MID, HIGH = range(3)

class Flags(enum.IntFlag):
    A, B = 1, 2

class Kind(str, enum.Enum):
    A, B = "a", "bb"

class Weight(float, enum.Enum):
    HALF, TWO = 0.5, 2.0

class Plain(int):
    pass

class Real(float):
    pass

class Name(str):
    pass

class Adds(int):
    def __add__(self, other):
        return (int(self), other, "own")
    __radd__ = __add__

class Subtracts(enum.IntEnum):
    ONE, TWO = 1, 2
    def __sub__(self, other):
        return 100
    def __rsub__(self, other):
        return 200

class Compares(int):
    def __eq__(self, other):
        return "equal"
    def __lt__(self, other):
        return True
    def __hash__(self):
        return 1

class Converts(int):
    def __int__(self):
        return 40
    def __float__(self):
        return 41.0
    def __index__(self):
        return 42
    def __round__(self):
        return 43
    def __abs__(self):
        return 44

class Says(int):
    def __bool__(self):
        return False
    def __repr__(self):
        return "says"
    def __format__(self, spec):
        return spec + "!"

class Sized(str):
    def __len__(self):
        return 0
"""
VALUES = {"IntEnum": "Level.LOW, Level.MID, Level.HIGH", "IntFlag": "Flags.A, Flags.B, Flags(1)", "int": "Plain(0), Plain(1), Plain(2)", "bool beside": "Level.MID, True, 1",
          "str Enum": "Kind.A, Kind.B, Kind.A", "float Enum": "Weight.HALF, Weight.TWO, Weight.HALF", "float": "Real(0.5), Real(2.0), Real(-0.0)", "str": "Name('a'), Name(''), Name('a')",
          "adds": "Adds(0), Adds(1), Adds(2)", "subtracts": "Subtracts.ONE, Subtracts.TWO, 1", "compares": "Compares(0), Compares(1), Compares(2)", "converts": "Converts(0), Converts(1), Converts(2)",
          "says": "Says(0), Says(1), Says(2)", "sized": "Sized('a'), Sized('bb'), Sized('')", "mixed": "Plain(2), Level.HIGH, Real(2.0)"}
USES = {"sum": "(m + 2, 2 + m, m + m, sum([m, m]))", "difference": "(m - 1, 1 - m, -m, +m)", "product": "(m * 3, 2.5 * m, m / 2, m // 2, m % 2)", "power": "(m ** 2, 2 ** m, pow(2, m), divmod(7, m + 1))",
        "bits": "(m & 1, m | 4, m ^ 3, 1 << m, m >> 1, ~m)", "order": "(m < 1, m <= n, m > 1.5, n >= m)", "sorted": "sorted([n, m, 1])", "equal": "(m == 1, m != n, 1 == m, m == 'a', 'a' == m, m == None)",
        "is": "(m is n, m is m, m is not n, m is 1 + 0 * x.ndim)", "in": "(m in (0, 1), m in [n, 2], m in {1: 2}, n in (m,))", "truth": "('t' if m else 'f', not m, m and n, m or n, bool(m))",
        "int": "(int(m), type(int(m)), int(m) + x.shape[0])", "float": "(float(m), type(float(m)))", "abs": "(abs(m), round(m), type(abs(m)))", "math": "(math.floor(m), math.ceil(m), math.exp(m), math.gcd(m, 6))",
        "operator": "(operator.add(m, 1), operator.is_(m, n))", "tensor": "(janus.tensor([m, 1]), janus.tensor(m), janus.tensor([[m], [n]]))", "scaled": "(x * m, m * x, x + m, m - x, x / 2 ** m)", "raised": "x ** m",
        "compared": "(x > m, m == x, x.eq(m))", "argument": "(x.add(m), x.clamp(max=m), janus.full((2,), m), x.new_full((2,), m))", "select": "x.select(0, m)", "sizes": "x.repeat(m, 1)", "index": "x[m]", "view": "x[m].mul_(2)",
        "part": "(x[m:], x[:m], x[m, 0], items[m:], items[:n])", "write": "x.__setitem__(m, 1.0)", "item": "(items[m], (1, 2, 3)[m], 'abc'[m], range(5)[m])", "set": "items.__setitem__(m, 7)", "key": "({0: 'a', 1: 'b', 2: 'c'}[m], {m: 1}[m], {m: 2, n: 3})",
        "table": "(table.get(m, 'none'), m in table, table.setdefault(m, 5))", "keys": "[list({m: 1, n: 2}), type(next(iter({m: 1})))]", "stored": "table.update({m: x.sum()})", "least": "(min(m, n), max(m, n), min([m, n, 1]), type(max(m, 0)))",
        "text": "(str(m), repr(m), f'{m}', f'{m!r}')", "templates": "('%s' % m, '{}'.format(m))", "format": "(f'{m:>4}', format(m, '03d'), '%d' % m)", "length": "len(m)", "joined": "(m + 'c', 'c' + m, m * 2, m in 'abc', 'a' in m)",
        "given back": "(m, [m], items + [m], type(m), isinstance(m, int))", "range": "[x.sum() * i for i in range(m)]", "hash": "hash(m) == hash(n)", "loop": "[x * i for i, k in enumerate([m, n]) if k > 0]",
        "name": "(m.name, m.value, m._value_)", "class": "(m.__class__.__name__, type(m).__name__)", "attribute": "(m.real, m.bit_length())", "one hot": "F.one_hot(janus.tensor([0]), m + 1)", "number of the graph": "x.sum().item() + m",
        "compared with the graph's": "(x.sum().item() > m, m == x.sum().item())"}
TEXT = CLASSES + """
def values():
    return [{values}]

def f(m, n, x, items, table):
    v = {use}
    return v, x * 2
"""


def shown(v):
    if isinstance(v, janus.Tensor):
        return (str(v.dtype), tuple(v.shape), str(v.tolist()))
    if type(v) in (tuple, list):
        return [type(v).__name__, *map(shown, v)]
    if type(v) is dict:
        return ["dict", *map(shown, v.items())]
    return (type(v).__name__, repr(v))


def outcome(use, of, verify):
    names = names_of(TEXT.format(use=USES[use], values=VALUES[of]), janus=janus, F=F, math=math, operator=operator, enum=enum, __name__="program")
    f = janus.function(names["f"], verify=verify, measure=False) if verify else names["f"]
    members, log = names["values"](), []
    for i in range(18):
        m, n = members[i // 2 % 3], members[i % 2]
        x, items, table = janus.arange(9.0).reshape(3, 3) - i, [3, 4, 5, 6], {1: "one", members[1]: "member"}
        if i == 14 and of != "bool beside":
            type(members[0]).__truediv__ = lambda self, other: "set later"
        try:
            r = f(m, n, x, items, table)
            same = [v is m for v in r[0]] if type(r[0]) in (tuple, list) else r[0] is m
            log.append((shown(r), same, [any(k is o for o in members) for k in table]))
        except Exception as error:
            log.append(f"{type(error).__name__}: {error}")
        log.append(shown((x, items, table)))
    return log, f.stats() if verify else {}



@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("of", VALUES)
def test_as_undecorated(of, verify):
    for use in share(USES):
        want, got = outcome(use, of, None)[0], outcome(use, of, verify)[0]
        assert want == got, use


@pytest.mark.parametrize("of", ["IntEnum", "int"])
@pytest.mark.parametrize("use", ["sum", "product", "order", "equal", "truth", "int", "float", "abs", "tensor", "scaled", "compared", "argument", "index", "part", "key", "least", "text", "number of the graph"])
def test_in_graphs(use, of):
    stats = outcome(use, of, "never")[1]
    assert stats["graph"] > 0, stats


@pytest.mark.parametrize("use", ["int(b.kind) for b in boxes", "b.kind + 1 for b in boxes", "b.kind for b in boxes if b.kind > 0", "float(k) for k in kinds", "{1: 'a'}.get(k) for k in kinds",
                                 "{Op.ADD: 1, Op.MUL: 2}.get(b.op) for b in boxes"])
def test_patterns_of_data_make_no_graphs(use):
    text = CLASSES + f"""
class Box:
    pass

class Op(enum.Enum):
    ADD, MUL, NEG = range(3)

def f(boxes, kinds, x):
    v = [{use}]
    return v, x * 2
"""
    names = names_of(text, janus=janus, enum=enum, __name__="program")
    f = janus.function(names["f"], verify="never", measure=False)
    for i in range(30):
        kinds, boxes = [names["Level"](i // 3 ** k % 3) for k in range(3)], []
        for k in kinds:
            boxes.append(names["Box"]())
            boxes[-1].kind, boxes[-1].op = k, names["Op"](k)
        assert shown(f(boxes, kinds, janus.ones(2) * i)) == shown(names["f"](boxes, kinds, janus.ones(2) * i))
    assert f.stats()["conversions"] <= 6, f.stats()


DESCRIPTORS = """
class Data:
    def __init__(self, name):
        self.name = name
    def __get__(self, o, of=None):
        return self if o is None else o.__dict__[self.name] * {factor}
    def __set__(self, o, v):
        o.__dict__[self.name] = v

class NonData:
    def __get__(self, o, of):
        return (of.__name__, o.x * 3)

class Raises:
    def __get__(self, o, of):
        raise AttributeError("none here")

class Derived(property):
    pass

class Box:
    scaled, made, lacking = Data("_scaled"), NonData(), Raises()
    twice = Derived(lambda self: self.x * 2)
    def __init__(self, x):
        self.x, self.scaled = x, 2.0

class Asked(Box):
    def __getattr__(self, name):
        return "asked for " + name

def f(o, x):
    v = {use}
    return v, x * 2
"""


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("of", ["Box", "Asked"])
@pytest.mark.parametrize("use", ["o.scaled", "o.made", "x * o.scaled", "o.twice", "o.lacking", "getattr(o, 'lacking', 'no')", "hasattr(o, 'made')", "(o.scaled, o.made, o.twice)"])
@pytest.mark.parametrize("factor", ["2", "o.x.sum()", "self.name.__len__()"])
def test_descriptors(use, of, verify, factor):
    def run(decorated):
        names = names_of(DESCRIPTORS.format(use=use, factor=factor), janus=janus, __name__="program")
        f = janus.function(names["f"], verify=verify, measure=False) if decorated else names["f"]
        log = []
        for i in range(16):
            o, x = names[of](janus.arange(3.0) + i), janus.ones(3) * i
            if i == 6:
                o.__dict__["made"], o.__dict__["scaled"] = "its own", "hidden"
            if i > 9:
                o.scaled = 5.0
            if i == 13:
                names["Data"].__get__ = lambda self, o, of=None: "another"
            try:
                log.append(shown(f(o, x)))
            except Exception as error:
                log.append(f"{type(error).__name__}: {error}")
        return log
    assert run(False) == run(True)
