# SPDX-License-Identifier: Apache-2.0
"""Objects whose class defines all special methods, and members of enums, texts and numbers of such classes: as nodes of trees, keys,
items and operands their methods run when the program comes to it, as often, and no conversion, guard or comparison runs them."""
import io

import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

PROGRAM = """
import enum, collections
log = []
class S:
    def __init__(self, v=None, l=None, r=None):
        self.v, self.l, self.r = v, l, r
    def __len__(self):
        log.append('len')
        return 2
    def __iter__(self):
        log.append('iter')
        return iter([1, 2])
    def __contains__(self, x):
        log.append('contains')
        return True
    def __bool__(self):
        log.append('bool')
        return True
    def __eq__(self, o):
        log.append('eq')
        return self is o
    def __ne__(self, o):
        log.append('ne')
        return self is not o
    def __hash__(self):
        log.append('hash')
        return 1
    def __repr__(self):
        log.append('repr')
        return 'S'
    def __format__(self, s):
        log.append('format')
        return 'F'
    def __index__(self):
        log.append('index')
        return 1
    def __lt__(self, o):
        log.append('lt')
        return False
    def __getitem__(self, i):
        log.append('getitem')
        return i
    def __getattr__(self, name):
        log.append('getattr')
        raise AttributeError(name)
    def __call__(self, *a):
        log.append('call')
        return len(a)
    def __float__(self):
        log.append('float')
        return 2.0
    def __enter__(self):
        log.append('enter')
    def __exit__(self, *a):
        log.append('exit')
    def __add__(self, o):
        log.append('add')
        return 3
    def __radd__(self, o):
        log.append('radd')
        return 4
    @property
    def p(self):
        log.append('p')
        return self.v
    def total(self):
        return self.v
class D(S):
    def total(self):
        return self.l.total() + self.r.total()
class Kind(enum.Enum):
    A = 1
    B = 2
    def __hash__(self):
        log.append('hash')
        return 1
    def __eq__(self, o):
        log.append('eq')
        return self is o
    def __repr__(self):
        log.append('repr')
        return 'K'
class Str(str):
    def __hash__(self):
        log.append('hash')
        return 1
    def __eq__(self, o):
        log.append('eq')
        return str.__eq__(self, o)
class Int(int):
    def __hash__(self):
        log.append('hash')
        return 1
    def __eq__(self, o):
        log.append('eq')
        return int.__eq__(self, o)
    def __index__(self):
        log.append('index')
        return 1
    def __add__(self, o):
        log.append('add')
        return int(self).__add__(o)
    def __bool__(self):
        log.append('bool')
        return True
class Flo(float):
    def __float__(self):
        log.append('float')
        return 3.5
    def __mul__(self, o):
        log.append('mul')
        return float.__mul__(self, o)
    __rmul__ = __mul__
def total(n):
    if n.l is None:
        return n.v
    return total(n.l).tanh() + total(n.r)
def kinds(n):
    return n.v if type(n) is S else kinds(n.l) + kinds(n.r)
def both(n):
    return both(n.l) + both(n.r) if isinstance(n, D) else n.v
def truth(n):
    return truth(n.l) + truth(n.r) if n.l else n.v
def same(n, m):
    return n.v if n == m else n.v * 2
def tagged(n):
    return n.v if n.tag is Kind.A else tagged(n.l) + tagged(n.r)
def tagged2(n):
    return n.v if n.tag == Kind.A else tagged2(n.l) + tagged2(n.r)
def tagged3(n):
    return n.v * scale[n.tag] if n.l is None else tagged3(n.l) + tagged3(n.r)
s = S(1)
k = Kind.A
st, it, fl = Str('a'), Int(3), Flo(2.5)
scale = {Kind.A: 2, Kind.B: 3}
table = {s: 1}
weird = {1: 5}
weird2 = {s: 7, 2: 8}
words = {Str('a'): 4, 'b': 5}
seen = {s}
def make(x):
    n = D(None, S(x), D(None, S(x * 2), S(x * 3)))
    tag(n)
    return n
def tag(n):
    n.tag = Kind.A if n.l is None else Kind.B
    if n.l is not None:
        tag(n.l)
        tag(n.r)
"""
USES = [
    "r = total(tree).sum()",
    "r = kinds(tree).sum()",
    "r = both(tree).sum()",
    "r = truth(tree).sum()",
    "r = same(tree.l, tree.l).sum()",
    "r = same(tree.l, tree.r.l).sum()",
    "r = tagged(tree).sum()",
    "r = tagged2(tree).sum()",
    "r = tagged3(tree).sum()",
    "r = tree.total().sum()",
    "r = total(make(x)).sum()",
    "r = tree.l.p.sum()",
    "tree.v = x; r = tree.p.sum()",
    "s.v = x.sum(); r = s.v",
    "r = S(x * 2)",
    "d = D(1, S(2), S(x)); r = d.l.v",
    "r = sum(n.v for n in leaves)",
    "r = sum((n.v for n in leaves), x).sum()",
    "r = getattr(s, 'zz', 3)",
    "r = hasattr(s, 'zz')",
    "r = hasattr(s, 'v')",
    "r = getattr(s, 'v', 3)",
    "s.q = 3; del s.q; r = hasattr(s, 'q')",
    "r = table[s]",
    "r = table.get(s)",
    "r = s in table",
    "r = list(table.values())",
    "r = len(table)",
    "r = [v for k, v in table.items()]",
    "table[s] = 5; r = table[s]",
    "q = S(2); table[q] = 4; r = table.pop(q)",
    "r = [a is s for a in table]",
    "r = weird[1]",
    "r = weird.get(s)",
    "r = weird2[2]",
    "r = weird2.get(1)",
    "r = 1 in weird2",
    "weird2[1] = 3; r = weird2.pop(1)",
    "r = len(weird2)",
    "r = dict(weird2) is weird2",
    "r = weird2.copy()[2]",
    "r = {**weird2}[2]",
    "r = words['a']",
    "r = words[st]",
    "r = words['b']",
    "r = {st: 1}",
    "r = words.get(st)",
    "r = st in words",
    "r = st == 'a'",
    "r = 'a' == st",
    "r = st + 'b'",
    "r = st.upper()",
    "r = ('a', 'b').index(st)",
    "r = st in 'abc'",
    "r = [1, 2, 3][it - 2]",
    "r = it + 1",
    "r = 1 + it",
    "r = [1, 2, 3, 4][it]",
    "r = x[it - 2].item()",
    "r = (x * it).sum()",
    "r = 2 if it else 3",
    "r = it == 3",
    "r = list(range(it))",
    "r = x.sum(it - 3)",
    "r = x[:it].sum()",
    "r = janus.ones(it).sum()",
    "r = {it: 2}[3]",
    "r = 'ab' * it",
    "r = f'{it}'",
    "r = max(it, 1)",
    "r = abs(it)",
    "r = -it",
    "r = int(it)",
    "r = it in (1, 3)",
    "r = (x + it).sum()",
    "r = not it",
    "r = x[it - 1:].sum()",
    "r = x.view(it).sum()",
    "r = x.reshape(1, it).sum()",
    "r = round(2.34567, it)",
    "r = fl * 2",
    "r = 2 * fl",
    "r = (x * fl).sum()",
    "r = float(fl)",
    "r = int(fl)",
    "r = x.clamp(max=fl).sum()",
    "r = janus.full((2,), fl).sum()",
    "r = fl > 2",
    "r = (fl * x).sum()",
    "import math\nr = math.sqrt(fl)",
    "r = x.fill_(fl).sum()",
    "x[0] = fl; r = x.sum()",
    "r = janus.tensor(fl)",
    "r = janus.tensor([fl, 1.0]).sum()",
    "r = x.add(x, alpha=fl).sum()",
    "r = janus.where(x > 0, fl, 1.0).sum()",
    "r = janus.nn.functional.dropout(x, fl - 2.5).sum()",
    "r = x.pow(fl).sum()",
    "r = janus.nn.functional.leaky_relu(x, fl).sum()",
    "r = k is Kind.A",
    "r = k == Kind.A",
    "r = scale[k]",
    "r = {k: 1}[k]",
    "r = k in scale",
    "r = [Kind.B, Kind.A].index(k)",
    "r = k in (Kind.A, Kind.B)",
    "r = k.value",
    "r = Kind(1) is k",
    "r = Kind['A'] is k",
    "r = [v.value for v in Kind]",
    "r = repr(k)",
    "r = f'{k!r}'",
    "match k:\n    case Kind.A: r = 1\n    case _: r = 2",
    "r = {k, Kind.B} == 3",
    "r = max([Kind.A, Kind.B], key=lambda v: v.value) is k",
    "r = scale.get(k, 3)",
    "d = {}; d[k] = x; r = d[k].sum()",
    "r = collections.Counter([k])[k]",
    "r = k != Kind.B",
    "r = [scale[n.tag] for n in (tree, tree.l)]",
    "r = s in seen",
    "q = S(3); seen.add(q); seen.discard(q); r = len(seen)",
    "r = {s} == seen",
    "r = (s, 1) == (s, 1)",
    "r = {(s, 1): 2}[s, 1]",
    "d = {}\nfor n in leaves:\n    if n not in d: d[n] = n.v\nr = sum(d.values())",
    "d = {}\nfor n in leaves:\n    d[id(n)] = n.v\nr = sum(d.values())",
    "r = list(s)",
    "a, b = s; r = a",
    "r = '%s' % s",
    "r = '%s %s' % (s, 1)",
    "r = '{}'.format(s)",
    "r = f'{s!r} {s}'",
    "r = 'abc'[s]",
    "r = (1, 2)[s]",
    "r = 'a' * s",
    "r = list(range(s))",
    "r = [1, 2, 3][:s]",
    "r = max(s, tree) is s",
    "r = [q is s for q in sorted([s, tree])]",
    "r = [s, tree].count(tree)",
    "r = [s, tree].index(tree)",
    "r = tree in [s, tree]",
    "r = tree in (s, 1)",
    "q = [s, tree]; q.remove(tree); r = len(q)",
    "print(s, file=sink); r = len(sink.getvalue())",
    "r = x[s].item()",
    "r = x.view(s, 3).shape if 0 else 1",
    "r = janus.ones(s).shape",
    "r = x + s",
    "r = s + x",
    "r = x.add(x, alpha=s)",
    "r = any([s, 0])",
    "r = not s",
    "r = s and 2",
    "r = 1 if s else 2",
    "r = s == tree",
    "match tree:\n    case D(l=a): r = a.v.sum()\n    case _: r = 0",
    "match s:\n    case [a, b]: r = a\n    case _: r = 2",
    "match s:\n    case 3: r = 1\n    case _: r = 2",
    "with s:\n    r = x.sum()",
    "r = s(1, 2)",
    "r = s[3]",
    "r = len(s)",
    "try:\n    raise KeyError(s)\nexcept KeyError as e:\n    r = e.args[0] is s",
    "r = s",
    "r = [s, x.sum()]",
    "global G; G = s; r = 1",
    "r = dict(a=s)['a'] is s",
    "r = (lambda: s)() is s",
    "r = s is not None",
    "q = s or 3; r = q is s",
    "r = (lambda q=s: q is s)()",
    "r = float(s)",
    "r = (x * float(s)).sum()",
    "r = sum([s, 1])",
    "r = isinstance(s, (int, S))",
    "r = type(s) is S",
    "r = id(s) == id(s)",
    "r = hash(s)",
    "r = sorted(leaves, key=lambda n: n.v)[0].v",
    "r = min(leaves, key=lambda n: -n.v).v",
    "r = [a.v for a, b in zip(leaves, leaves)]",
    "r = [i for i, n in enumerate(leaves) if n]",
    "r = len([n for n in leaves if n.v > 1])",
    "q = []; q.append(s); r = q[0] is s",
    "setattr(s, 'w', 3); r = s.w",
    "r = s in leaves",
    "r = s != tree",
    "d = collections.defaultdict(list); d[s].append(1); r = d[s]",
    "d = collections.deque([s]); r = d.popleft() is s",
]


def results(use, verify):
    lines = "".join(f"        {line}\n" for line in use.split("\n"))
    text = f"""{PROGRAM}
def f(x, tree, leaves, sink):
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
        S, D = names["S"], names["D"]
        tree = names["make"](x) if i % 2 else D(None, S(x), D(None, S(x), S(x)))
        names["tag"](tree)
        leaves = [S(1), S(2)]
        names["log"].clear()
        r = f(x, tree, leaves, io.StringIO())[1]
        came = list(names["log"])
        if isinstance(r, janus.Tensor):
            r = r.tolist()
        plain = type(r) in (int, str, bool, float)
        seen.append((r if plain else len(r) if isinstance(r, (list, tuple, dict, set)) else type(r).__name__, came))
    return seen


@pytest.mark.parametrize("use", USES)
def test_special_methods_run_as_often(use):
    assert results(use, "never") == results(use, None)
