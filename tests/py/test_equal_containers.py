# SPDX-License-Identifier: Apache-2.0
"""What the caller has (views of dicts, sets, deques, counters, fractions, instances of derived classes) compared and joined with
what a function makes: a type of CPython's own may take what it likes, and says so to nobody (`takes_its_own`,
pyfront/convert/values/operators.c)."""
import pytest
import janus
from shares import LIGHT
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

GIVEN = """
import collections, datetime, decimal, fractions, types
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, UserString, defaultdict, deque

class L(list): pass
class D(dict):
    def __missing__(self, k): return 4
class S(set): pass
class T(tuple): pass
class I(int): pass
class Same:
    def __init__(self, v): self.v = v
    def __eq__(self, other): return other == self.v
    def __hash__(self): return 1

d = {"a": 1.0, "b": 2.0}
given = dict(
    proxy=types.MappingProxyType(d), ordered=OrderedDict(d), queue=deque([1, 2]), counter=Counter("aab"), default=defaultdict(int, d),
    chain=ChainMap(d), range=range(3), slice=slice(1, 2), array=bytearray(b"a"), set={1, 2}, frozen=frozenset({1, 2}), user_dict=UserDict(d),
    user_list=UserList([1, 2]), list=[1, 2], tuple=(1, 2), user_text=UserString("ab"), names=types.SimpleNamespace(a=1), keys=d.keys(),
    items=d.items(), values=d.values(), dict=d, decimal=decimal.Decimal("0.5"), fraction=fractions.Fraction(1, 2), memory=memoryview(b"a"),
    date=datetime.date(2000, 1, 1), l=L([1, 2]), dd=D(d), s=S({1, 2}), t=T((1, 2)), i=I(3), same=Same(0.5), text="ab", number=0.5)
"""
MADE = ["{'a': 1.0, 'b': 2.0}", "dict(a=1.0, b=2.0)", "OrderedDict(b=2.0, a=1.0)", "deque([1, 2])", "Counter(a=2, b=1)", "[1, 2]", "(1, 2)",
        "{1, 2}", "frozenset((1, 2))", "{'a', 'b'}", "{('a', 1.0), ('b', 2.0)}", "range(3)", "slice(1, 2)", "bytes([97])", "'ab'",
        "{'a': 1.0, 'b': 2.0}.keys()", "set(d)", "0.5", "3", "ChainMap(d)", "defaultdict(list, a=1.0, b=2.0)", "[i, 2]", "(i, 2)", "{i, 2}",
        "{'a': i, 'b': 2.0}", "L([1, 2])", "S((1, 2))", "Same(0.5)", "Same({'a', 'b'})", "types.SimpleNamespace(a=1)", "given['decimal']",
        "given['fraction']"]
WAYS = ["{x} == {y}", "{y} == {x}", "{x} != {y}", "{x} in [5, {y}]", "({x}, 1) == ({y}, 1)", "{x} <= {y}", "{y} > {x}", "{x} | {y}", "{x} & {y}"]


def told(f, x):
    try:
        found = f(janus.ones(2), x, 1)[1]
    except Exception as problem:
        return type(problem).__name__, str(problem)
    return type(found).__name__, repr(found)


@pytest.mark.parametrize("way", WAYS)
def test_as_undecorated(way):
    names = names_of(GIVEN)
    pairs = [(x, y) for x in names["given"] for y in MADE]
    graphs = 0
    for k in range(0, len(pairs), 29 if LIGHT else 1):
        x, y = pairs[(k * 7) % len(pairs)]
        text = f"def f(t, x, i):\n    return t * 2, {way.format(x='x', y=y)}\n"
        f = names_of(text, **names)["f"]
        expected = told(f, names["given"][x])
        g = janus.function(f, measure=False, verify="never")
        for _ in range(3):
            assert told(g, names["given"][x]) == expected, f"{x}: {text}"
        # what was equal is so no more
        other = {**names["given"], "keys": {"a": 1, "c": 2}.keys(), "items": {"a": 1}.items(), "set": {1}}[x]
        assert told(g, other) == told(f, other), f"{x}, another: {text}"
        graphs += g.stats()["graph"] > 0
    assert graphs > 3 or LIGHT or "==" not in way
