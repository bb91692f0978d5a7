# SPDX-License-Identifier: Apache-2.0
"""Lists of one length whose items are of other classes in each call: one graph goes through them, and does what each class does."""
import itertools
import random

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

PROGRAM = """
class Num:
    def __init__(self, v):
        self.v = v
    def value(self, x):
        return x * self.v
class Add:
    def __init__(self, a, b):
        self.a, self.b = a, b
    def value(self, x):
        return self.a.value(x) + self.b.value(x)
class Neg:
    def __init__(self, a):
        self.a = a
    def value(self, x):
        return -self.a.value(x)
class Let:
    def __init__(self, a, body):
        self.a, self.body = a, body
        self.used = 0
    def value(self, x):
        self.used += 1
        return self.body.value(self.a.value(x) * 0.5)
def run(e, x):
    if isinstance(e, Num):
        return x * e.v
    if isinstance(e, Add):
        return run(e.a, x) + run(e.b, x)
    if isinstance(e, Neg):
        return -run(e.a, x)
    e.used += 1
    return run(e.body, run(e.a, x) * 0.5)
def tree(depth, rng):
    kind = rng.choice([Num, Add, Neg, Let]) if depth else Num
    n = 0 if kind is Num else 1 if kind is Neg else 2
    return Num(rng.randint(1, 9) * 0.5) if kind is Num else kind(*[tree(depth - 1, rng) for _ in range(n)])
def f(x, items):
    total, seen = x + 1, 0
    {loop}
    return total, seen
"""
LOOPS = {
    "items": ("for e in items:\n        total = total * 0.5 + {value}", "e"), "pairs": ("for e, w in items:\n        total = total * w + {value}", "(e, 0.5)"),
    "by place": ("for i in range(len(items)):\n        e = items[i]\n        total = total * 0.5 + {value}", "e"),
    "sum": ("total = total + sum({value} for e in items)", "e"), "zip": ("for e, w in zip(items, items[::-1]):\n        total = total + {value}", "e"),
    "two": ("e, other = items[0], items[1]\n    total = total + {value}", "e"), "counted": ("for k, (e, w) in enumerate(items):\n        total = total * w + {value}\n        seen += k", "(e, 0.25)"),
    "nested": ("for row in items:\n        for e in row:\n            total = total * 0.5 + {value}", "[e, e]"),
    "in dicts": ("for d in items:\n        e = d['e']\n        total = total * 0.5 + {value}", "{'e': e}"),
}
VALUES = {"function": "run(e, x)", "method": "e.value(x)", "type": "(x if type(e) is Num else x * 2 if isinstance(e, (Add, Let)) else -x)"}


def outcome(f, names, item, seed):
    rng = random.Random(seed)
    trees = [names["tree"](3, rng) for _ in range(3)]
    total, seen = f(janus.ones(2), [eval(item, {"e": e}) for e in trees])

    def uses(e):
        return [vars(e).get("used")] + [uses(v) for v in vars(e).values() if hasattr(v, "__dict__")]

    return total, (seen, [uses(e) for e in trees])


@pytest.mark.parametrize("value", VALUES)
def test_as_undecorated(value):
    graphs = []
    for loop, exact in shares.share(itertools.product(LOOPS, (False, True))):
        text, item = LOOPS[loop]
        names = names_of(PROGRAM.format(loop=text.format(value=VALUES[value])), janus=janus)
        decorated = janus.function(names["f"], verify="never", measure=False, numerics="exact" if exact else "fast")
        for seed in range(24):
            got, want = outcome(decorated, names, item, seed), outcome(names["f"], names, item, seed)
            assert got[1] == want[1] and janus.allclose(got[0], want[0], 1e-4, 1e-4), (loop, seed)
        graphs.append(decorated.stats()["graph"])
    assert value == "type" or sum(g >= 16 for g in graphs) >= 0.7 * len(graphs), graphs
