# SPDX-License-Identifier: Apache-2.0
"""Classes derived from tuple and dict that say in Python what their items are: what asks them, and what looks at the tuple or dict that they are."""
import pytest

import janus
from alike import alike
from shares import share

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

# What a class is derived from, and what its instances are made of.
BASES = {
    "typing.NamedTuple": ("class C(typing.NamedTuple):\n    a: object = 3\n    b: object = 5\n", "C(3, 5)"),
    "namedtuple": ("class C(collections.namedtuple('C', 'a b')):\n    pass\n", "C(3, 5)"),
    "tuple": ("class C(tuple):\n    pass\n", "C((3, 5))"),
    "dict": ("class C(dict):\n    pass\n", "C({3: 5, 'k': 7})"),
    "OrderedDict": ("class C(collections.OrderedDict):\n    pass\n", "C({3: 5, 'k': 7})"),
    "defaultdict": ("class C(collections.defaultdict):\n    pass\n", "C(None, {3: 5, 'k': 7})"),
    "Counter": ("class C(collections.Counter):\n    pass\n", "C({3: 5, 'k': 7})"),
}
OWN = {
    "__iter__": "    def __iter__(self): yield 8; yield 9; yield 10\n",
    "__getitem__": "    def __getitem__(self, k): return 'own', k\n",
    "__len__": "    def __len__(self): return 1\n",
    "__index__": "    def __index__(self): return 1\n",
    "__contains__": "    def __contains__(self, k): return k == 9\n",
    "__reversed__": "    def __reversed__(self): return iter([1])\n",
    "keys": "    def keys(self): return [3]\n",
    "none": "",
}
ALL = ["p[0]", "p[n]", "p[-1]", "p[3]", "len(p)", "list(p)", "tuple(p)", "sum(p)", "[v for v in p]", "n in p", "9 in p", "p == q", "p < q", "[*p]", "given(*p)",
       "max(p)", "list(reversed(p))", "list(zip(p, q))", "any(p)", "matched(p)", "two(p)", "several(p)", "copy.copy(p) == p", "functools.reduce(lambda a, b: (a, b), p)",
       "operator.itemgetter(0)(p)", "janus.zeros(p).shape", "x.expand(4, 15)[p]", "p.__len__()", "p.__getitem__(0)", "1 if p else 2", "extended([1], p)", "'%s' % (list(p),)"]
OF_TUPLES = ["p[:1]", "p[::-1]", "p + (1,)", "(1,) + p", "p + q", "p * 2", "p.index(3)", "p.count(3)", "p.a", "p.b", "p._asdict()", "p._replace(a=n)", "{p: 1}[q]",
             "hash(p) == hash((3, 5))", "'%s %s' % p", "tuple.__len__(p)", "tuple.__getitem__(p, 0)", "x.reshape(p).shape", "[p, (1, 2)].index(q)", "sorted([q, (1, 2)])[0]"]
OF_DICTS = ["p.get(3)", "list(p.keys())", "list(p.items())", "list(p.values())", "dict(p)", "{**p}", "updated({}, p)", "p.pop(3)", "without(p, 3)", "p.clear() or len(p)",
            "dict.__len__(p)", "p.copy()", "p.setdefault(4, n)", "p | {9: n}", "{9: n} | p"]
TEXT = """
import collections, copy, functools, operator, typing

def given(*args): return args

def matched(v):
    match v:
        case [a, b]: return 'two', a, b
        case [a, *rest]: return 'rest', a, rest
        case {{3: a, **rest}}: return 'map', a, rest

def two(v):
    a, b = v
    return b, a

def several(v):
    a, *b = v
    return b, a

def updated(d, v):
    d.update(v)
    return d

def extended(d, v):
    d += v
    return d

def without(d, k):
    del d[k]
    return len(d)

{base}{own}
def f(x, n, p, q):
    {inside}
    r = {use}
    return r, x * n

def arguments(k):
    return janus.ones(15), k % 2, {made}, {made}
"""


def text_of(base, own, use, inside):
    defined, made = BASES[base]
    return TEXT.format(base=defined, own=OWN[own], use=use, inside=f"p, q = {made}, {made}" if inside else "pass", made=made)


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("base", BASES)
def test_as_cpython_does(base, own):
    graphs = 0
    for use in share(ALL + (OF_TUPLES if "uple" in base else OF_DICTS)):
        for inside in (False, True):
            graphs += sum(alike(text_of(base, own, use, inside), calls=5, options=({"verify": "never", "measure": False},)))
    assert graphs
