# SPDX-License-Identifier: Apache-2.0
"""A place that is met in two ways: a dict that is the `__dict__` of an object, objects with one `__dict__`, for some calls and not for others."""
import pytest

import janus
from alike import alike
from shares import share

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TEXT = """
import types
class A:
    def __init__(self, a=1.0): self.a, self.b = a, 2.0
class Same(A):
    shared = {{'a': 1.0, 'b': 2.0}}
    def __init__(self): self.__dict__ = self.shared
class Keys(dict):
    def __init__(self, **k):
        super().__init__(**k)
        self.__dict__ = self
class Net(janus.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = 1.0, 2.0
class Slots(A): __slots__ = ('s',)
def function(x): return x
def get(o, d):
    try: o.__dict__ = d
    except (AttributeError, TypeError): pass
def module():
    m = types.ModuleType('m')
    m.a, m.b = 1.0, 2.0
    return m
function.a, function.b = 1.0, 2.0
a, b, c = 1.0, 2.0, 0.0
o, p, d = {o}, {p}, {{'a': 1.0, 'b': 2.0}}
def arguments(k):
    global o, p, d
    if k == 4: exec({change!r}, globals())
    if k == 8: o, p, d = A(), A(), {{'a': 5.0, 'b': 6.0}}
    return janus.ones(2) * (k % 3), 1 + k % 2
def down(n, x):
    if n == 0: return x
    {write}
    return down(n - 1, x + {read}) * {read}
def f(x, n):
    {body}
"""
OBJECTS = ["A()", "Same()", "Keys(a=1.0, b=2.0)", "types.SimpleNamespace(a=1.0, b=2.0)", "Net()", "Slots()", "module()", "function"]
CHANGES = ["d = o.__dict__", "d = vars(p)", "o = p", "get(o, p.__dict__)", "get(p, d)", "o = Same(); p = Same()", "d = o = Keys(a=3.0, b=4.0)", "d = dict(d)", "held = vars(o)", "d = Same.shared; o = Same()"]
WRITES = ["o.a = o.a + 1", "o.a += x.sum().item()", "setattr(o, 'a', 7.0)", "d['a'] = d['a'] + 1", "d.update(a=3.0)", "d['b'] = 4.0; o.a = 1.5", "globals()['a'] = 3.0", "p.b = 5.0; d['a'] = 2.0"]
READS = ["p.a", "d['a']", "o.a", "(p.a + o.b)", "d.get('a', 0.5)", "a"]
BODIES = ["{write}\n    return x * {read}", "y = x * {read}\n    {write}\n    return y + {read}, {read}", "if x.sum() > 1:\n        {write}\n    return x * {read}", "for i in range(n):\n        {write}\n        x = x + {read}\n    return x",
          "while x.sum() < 6:\n        {write}\n        x = x + 1 + {read}\n    return x", "return down(n, x)", "{write}\n    if x.sum() > 1:\n        return x * {read}\n    {write}\n    return x - {read}", "try:\n        {write}\n        return x * {read}\n    except KeyError:\n        return x"]


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("body", BODIES)
def test_two_ways(body, kind):
    graphs = at = 0
    for change in CHANGES:
        for write in share(WRITES):
            at += 1
            read, other = READS[at % len(READS)], OBJECTS[at * 3 % len(OBJECTS)]
            of = {"write": write, "read": read}
            text = TEXT.format(o=kind, p=other, change=change, body=body.format(**of), **of)
            graphs += alike(text, calls=12, watched=("o", "p", "d"), options=({"verify": "never", "measure": False},))[0]
    assert graphs
