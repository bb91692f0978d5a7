# SPDX-License-Identifier: Apache-2.0
"""A class whose own class says how it is hashed, compared, printed and counted: that code runs when the program comes to it, as
often, whether the class is a value, a key, or what nodes of a tree are instances of."""
import io

import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

PROGRAM = """
log = []
class M(type):
    def __len__(c):
        log.append('len')
        return 2
    def __iter__(c):
        log.append('iter')
        return iter([1, 2])
    def __contains__(c, x):
        log.append('contains')
        return True
    def __instancecheck__(c, x):
        log.append('instance')
        return type.__instancecheck__(c, x)
    def __subclasscheck__(c, x):
        log.append('subclass')
        return type.__subclasscheck__(c, x)
    def __call__(c, *a):
        log.append('call')
        return type.__call__(c, *a)
    def __bool__(c):
        log.append('bool')
        return True
    def __eq__(c, o):
        log.append('eq')
        return c is o
    def __ne__(c, o):
        log.append('ne')
        return c is not o
    def __hash__(c):
        log.append('hash')
        return 1
    def __repr__(c):
        log.append('repr')
        return 'C'
    def __str__(c):
        log.append('str')
        return 'C'
    def __format__(c, s):
        log.append('format')
        return 'F'
    def __length_hint__(c):
        log.append('hint')
        return 2
    def __index__(c):
        log.append('index')
        return 1
    def __lt__(c, o):
        log.append('lt')
        return False
class C(metaclass=M):
    def __init__(self, v=None, l=None, r=None):
        self.v, self.l, self.r = v, l, r
    def total(self):
        return self.v
class D(C):
    def total(self):
        return self.l.total() + self.r.total()
class L(list, metaclass=M):
    pass
class E(Exception, metaclass=M):
    pass
class T(tuple, metaclass=M):
    pass
def total(n):
    if n.l is None:
        return n.v
    return total(n.l).tanh() + total(n.r)
def kinds(n):
    return n.v if type(n) is C else kinds(n.l) + kinds(n.r)
def both(n):
    return both(n.l) + both(n.r) if isinstance(n, D) else n.v
table = {C: 1, D: 2}
seen = {C}
def make(x):
    return D(None, C(x), D(None, C(x * 2), C(x * 3)))
held = C(3, None, None)
"""
USES = [
    "r = total(tree).sum()",
    "r = kinds(tree).sum()",
    "r = both(tree).sum()",
    "r = tree.total().sum()",
    "r = total(make(x)).sum()",
    "r = make(x).total().sum()",
    "held.v = x.sum(); r = held.v",
    "r = C(x * 2)",
    "d = D(1, C(2), C(x)); r = d.l.v",
    "r = sum(n.v for n in [C(1), C(2)])",
    "r = sum(n.v for n in leaves)",
    "r = sum((n.v for n in leaves), x).sum()",
    "try:\n    raise E(3)\nexcept E as e:\n    r = e.args",
    "r = L([x, 2])",
    "q = L(); q.append(3); r = len(q)",
    "r = sum(many)",
    "r = T((1, 2)); r = r[0] + len(r)",
    "r = point[0] + 1",
    "r = table[C]",
    "r = table.get(D)",
    "r = table[type(tree)]",
    "r = D in table",
    "r = [table[type(n)] for n in leaves]",
    "r = list(table.values())",
    "r = [v for k, v in table.items()]",
    "table[C] = 5; r = table[C]",
    "table.setdefault(E, 4); r = table.pop(E)",
    "r = C in seen",
    "seen.add(D); r = len(seen)",
    "r = {C, D} == seen",
    "r = (C, 1) == (D, 1)",
    "r = isinstance(tree, (int, D))",
    "r = {(C, 1): 2}[C, 1]",
    "r = list(C)",
    "r = tuple(C)",
    "r = sorted(C)",
    "r = sum(C)",
    "r = set(C)",
    "r = dict.fromkeys(C)",
    "r = [*C]",
    "q = []; q.extend(C); r = q",
    "q = []; q += C; r = q",
    "a, b = C; r = a",
    "r = list(map(abs, C))",
    "r = list(zip(C, C))",
    "r = list(enumerate(C))",
    "r = 'x'.join(str(v) for v in C)",
    "r = bytes(C)",
    "r = frozenset(C)",
    "from collections import deque; r = len(deque(C))",
    "r = '%s' % C",
    "r = '%s %s' % (C, 1)",
    "r = '%r' % (C,)",
    "r = '{}'.format(C)",
    "r = f'{C!r} {C}'",
    "r = 'abc'[C]",
    "r = (1, 2)[C]",
    "r = [1, 2][C]",
    "r = 'a' * C",
    "r = [0] * C",
    "r = list(range(C))",
    "r = round(2.345, C)",
    "r = hex(C)",
    "r = chr(C)",
    "r = [1, 2, 3][:C]",
    "r = 'abc'[C:]",
    "r = ','.join([C.__name__])",
    "r = max(C, D) is C",
    "r = min([C, D]) is C",
    "r = [k is C for k in sorted([C, D])]",
    "r = [C, D].count(D)",
    "r = [C, D].index(D)",
    "r = D in [C, D]",
    "r = D in (C, 1)",
    "q = [C, D]; q.remove(D); r = len(q)",
    "print(C, file=sink); r = len(sink.getvalue())",
    "r = x[C].item()",
    "r = x.sum(C) if 0 else 1",
    "r = x.view(C, 3).shape",
    "r = janus.ones(C).shape",
    "r = (x + C).sum() if 0 else 2",
    "r = x.repeat(C).shape",
    "r = any([C, 0])",
    "r = all([C, 1])",
    "r = not C",
    "r = 0\nwhile C:\n    r += 1\n    if r > 2:\n        break",
    "r = C and 2",
    "r = 1 if C else 2",
    "assert C; r = 1",
    "r = (lambda k=C: k is C)()",
    "r = dict(a=C)['a'] is C",
    "global G; G = C; r = 1",
    "r = C == D",
    "r = C != D",
    "match tree:\n    case D(l=a): r = a.v.sum()\n    case _: r = 0",
    "match C:\n    case int: r = 1",
    "r = {C: x}[C].sum()",
    "d = {}; d[C] = x; r = d[C].sum()",
    "d = {1: x}; r = d.get(C)",
    "d = {type(n): n.v for n in leaves}; r = len(d)",
    "s = set(); s.add(C); r = C in s",
    "r = issubclass(D, C)",
    "r = str(C)",
    "r = type(C) is M",
    "r = hash(C)",
    "r = isinstance(C, M)",
]


def results(use, verify):
    lines = "".join(f"        {line}\n" for line in use.split("\n"))
    text = f"""{PROGRAM}
def f(x, tree, leaves, many, point, sink):
    try:
{lines}
    except Exception as e:
        r = repr(type(e)) + str(e)
    log.append('after')
    return (x * 2).sum(), r
"""
    names = names_of(text, janus=janus, __name__="program")
    f = names["f"] if verify is None else janus.function(names["f"], verify=verify, measure=False)
    seen = []
    for i in range(6):
        x = janus.ones(3)
        C, D = names["C"], names["D"]
        tree = names["make"](x) if i % 2 else D(None, C(x), C(x))
        args = [C(1), C(2)], names["L"]([1, 2]), names["T"]((1, 2)), io.StringIO()
        names["log"].clear()
        r = f(x, tree, *args)[1]
        came = list(names["log"])
        if isinstance(r, janus.Tensor):
            r = float(r)
        plain = isinstance(r, (int, str, bool, float))
        seen.append((r if plain else len(r) if isinstance(r, (list, tuple, dict, set)) else type(r).__name__, came))
    return seen


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("use", USES)
def test_classes_of_classes(use, verify):
    assert results(use, verify) == results(use, None)
