# SPDX-License-Identifier: Apache-2.0
"""Functions of `operator` for what signs do, of tensors, numbers and objects: called, handed on, chosen from tables. And parts of iterators."""
import operator

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

BINARY = "add sub mul matmul truediv floordiv mod pow and_ or_ xor lshift rshift lt le eq ne gt ge contains".split()
UNARY = "neg pos invert not_ truth abs".split()
OPERANDS = {"x": "janus.tensor([1.0, -2.0, 3.0])", "i": "janus.tensor([1, 2, 3])", "b": "janus.tensor([True, False, True])", "n": "2", "s": "0.5", "l": "[1, 2]", "o": "Odd()"}
WAYS = {"called": "operator.{op}({args})", "in a table": "TABLE[k]({args})", "by a node": "TABLE[node.op]({args})", "handed on": "apply(operator.{op}, {args})"}
TEXT = """
import operator
class Odd:
    def __add__(self, other): return other
    def __rmul__(self, other): return other * 3
    def __neg__(self): return 4
    def __contains__(self, x): return True
class Node:
    op = 1
TABLE = [operator.pos, operator.{op}]
node = Node()
def apply(f, *args):
    return f(*args)
def f(x, i, b, n, s, l, o, k):
    return {call}
"""


def shown(v):
    return (str(v.dtype), str(v.tolist())) if isinstance(v, janus.Tensor) else (type(v).__name__, v if isinstance(v, (int, float, list)) else None)


def outcomes(f, names):
    out = []
    for _ in range(4):
        try:
            out.append(shown(f(*(eval(text, {"janus": janus, **names}) for text in OPERANDS.values()), 1)))
        except (TypeError, RuntimeError, ValueError, ZeroDivisionError, IndexError) as e:
            out.append(type(e).__name__)
    return out


@pytest.mark.parametrize("op", BINARY + UNARY)
def test_functions_are_signs(op):
    pairs = [f"{a}, {b}" for a in OPERANDS for b in OPERANDS] if op in BINARY else list(OPERANDS)
    graphs = 0
    for at, args in enumerate(shares.share(pairs)):
        way = list(WAYS.values())[at % len(WAYS)]
        text = TEXT.replace("{call}", way).replace("{args}", args).replace("{op}", op)
        names = names_of(text, janus=janus)
        f = janus.function(names["f"], verify="never", measure=False)
        assert outcomes(f, names) == outcomes(names["f"], names), (args, way)
        graphs += f.stats()["graph"]
    assert graphs


PARTS = ["islice(it, 2)", "islice(it, 1, 3)", "islice(it, 0, None, 2)", "islice(it, 1, 4, 2)", "islice(it, None)", "islice(it, 9)", "islice(it, 0)", "islice(it, -1)", "islice(it, 1, 2, 0)",
         "islice(it, n)", "filterfalse(None, it)", "filterfalse(lambda v: v > n, it)", "filterfalse(bool, it)"]
FROM = {"list": "iter([n, 0, 2, 3, 5])", "generator": "(log.append(v) or v for v in (n, 0, 2, 3, 5))", "tensors": "iter([x, x * 0, x * 2, x * 3])", "the list": "xs"}


@pytest.mark.parametrize("source", FROM)
def test_parts_of_iterators(source):
    for part in PARTS:
        text = f"""
import itertools
def f(x, n, xs, log):
    it = {FROM[source]}
    total = x
    for v in itertools.{part}:
        total = total + v
    return total, sum(list(it), x * 0), log
"""
        f = names_of(text, janus=janus)["f"]
        decorated = janus.function(f, verify="never", measure=False)
        for _ in range(4):
            got = []
            for g in (f, decorated):
                try:
                    a, b, log = g(janus.ones(1), 1, [1, 0, 2, 3], [])
                    got.append((a.tolist(), b.tolist(), log))
                except (ValueError, RuntimeError) as e:
                    got.append(type(e).__name__)
            assert got[0] == got[1], part
