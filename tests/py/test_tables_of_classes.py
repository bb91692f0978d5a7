# SPDX-License-Identifier: Apache-2.0
"""Functions, and tables of them, that a class has and its objects look up: objects that only the graph knows, which may have their own."""
import itertools
import math
import random

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

# What the class has as OF, and how an object uses it on x.
TABLES = {
    "functions": ('{"sin": janus.sin, "cos": janus.cos, "tanh": twice}', "self.OF[self.op](x)"),
    "records": ('{"sin": (janus.sin, 2.0), "cos": (janus.cos, 3.0), "tanh": (twice, 0.5)}', "apply(*self.OF[self.op], x)"),
    "of numbers, too": ('{"sin": (janus.sin, math.sin), "cos": (janus.cos, math.cos), "tanh": (twice, twice)}',
                        "(self.OF[self.op][0](x) if isinstance(x, janus.Tensor) else self.OF[self.op][1](x))"),
    "an op": ("janus.sin", "self.OF(x)"),  # which is bound to the object: this raises
    "a built-in": ("math.sin", "x * self.OF(0.5)"),
    "a class": ("Twice", "self.OF(x).value"),
    "a record": ("(janus.sin, twice, 3)", "self.OF[0](x) + self.OF[1](x) * self.OF[2]"),
    "by property": ('{"sin": janus.sin, "cos": janus.cos, "tanh": twice}', "self.mine(x)"),
}
# What happens between calls.
EVENTS = {
    "nothing": "pass",
    "an object has its own": "node.OF = Other.OF",
    "the class has another": "Node.OF = Other.OF",
    "an entry changes": "Node.OF['sin'] = Other.OF['sin'] if isinstance(Node.OF, dict) else 0",
    "a subclass has its own": "node.__class__ = Sub",
    "it is gone from the object": "vars(node).pop('OF', None)",
}
TEXT = """
def twice(x):
    return x * 2

class Twice:
    def __init__(self, x):
        self.value = x * 2

def apply(f, k, x):
    return f(x) * k

class Node:
    OF = {table}
    def __init__(self, op, kid):
        self.op, self.kid = op, kid
    @property
    def mine(self):
        return self.OF[self.op]
    def run(self, x):
        if self.kid is not None:
            x = self.kid.run(x)
        return {use}

class Other:
    OF = {other}

class Sub(Node):
    OF = Other.OF

def f(node, x):
    return node.run(x)

def event(node):
    {event}
"""


def nodes(names, r, depth):
    return names["Node"](r.choice(["sin", "cos", "tanh"]), nodes(names, r, depth - 1) if depth and r.random() < 0.8 else None)


def outcomes(table, event, numerics):
    text, use = TABLES[table]
    other = text.replace("janus.sin", "janus.exp").replace("math.sin", "math.exp").replace("Twice", "float" if "Twice" == text else "Twice")
    if table == "a class":
        other = "type('Thrice', (Twice,), {'__init__': lambda self, x: setattr(self, 'value', x * 3)})"
    names = names_of(TEXT.format(table=text, use=use, other=other, event=EVENTS[event]), janus=janus, math=math, __name__="program")
    f = names["f"] if numerics is None else janus.function(names["f"], numerics=numerics, verify="never", measure=False)
    r, seen = random.Random(5), []
    for k in range(14):
        node = nodes(names, r, 3)
        if k % 4 == 3 or k in (8, 9):
            inner = node
            while inner.kid is not None and r.random() < 0.6:
                inner = inner.kid
            try:
                names["event"](inner)
            except TypeError as e:
                seen.append(str(e))
        try:
            seen.append(f(node, janus.tensor([0.25, 0.5 + k * 0.1])).tolist())
        except Exception as e:
            seen.append((type(e).__name__, str(e)))
    return seen, f


@pytest.mark.parametrize("table", TABLES)
def test_what_a_class_has(table):
    for event, numerics in shares.share(itertools.product(EVENTS, ("fast", "exact"))):
        (want, _), (got, _) = outcomes(table, event, None), outcomes(table, event, numerics)
        assert len(want) == len(got)
        for a, b in zip(want, got):
            same = a == b or (isinstance(a, list) and isinstance(b, list) and all(abs(x - y) <= 1e-6 * (1 + abs(x)) for x, y in zip(a, b)))
            assert same, (event, numerics, a, b)


@pytest.mark.parametrize("table", [t for t in TABLES if t != "an op"])
def test_they_are_graphs(table):
    _, f = outcomes(table, "nothing", "fast")
    stats = f.stats()
    assert stats["graph"] >= 11 and stats["conversions"] <= 3, stats
