# SPDX-License-Identifier: Apache-2.0
"""Properties, static methods and class methods whose __init__ is called once more: what they are x how they are reached x when."""
import pytest

import janus
from shares import share
from texts import names_of

TEXT = """
import collections, enum, operator

def one(*args): return 1.0
def two(*args): return 2.0
def yes(*args): return True
def no(*args): return False
def few(*args): return iter([1.0])
def more(*args): return iter([1.0, 2.0])
def put(o, v): o.__dict__['z'] = v
def put_more(o, v): o.__dict__['z'] = v * 10

class Sub(property): pass

class C:
    v = 1.0
    x = {made}

class D(C):
    v = 2.0

class Tree(C):
    def __init__(self, *kids): self.kids = kids

class Point(collections.namedtuple('Point', 'a')):
    x = C.__dict__['x']

class Letters(enum.Enum):
    A = 1
    x = C.__dict__['x']

class Net(janus.nn.Module):
    x = C.__dict__['x']

class Special:
    {name} = C.__dict__['x']

o, d, net, s = C(), D(), Net(), Special()
o.z = 0.0
tree = Tree(Tree(Tree()), Tree())

def write(o):
    o.x = 3.0
    return 0.0

def total(t):
    return {of_tree} + sum([total(kid) for kid in t.kids])

def matched(o):
    match o:
        case C(x=1.0): return 1.0
        case C(x=other): return other * 3

def f(y, k):
    return y * k, {use}, o.z
"""

GET = ["o.x", "d.x", "D().x", "super(D, d).x", "getattr(o, 'x')", "getattr(o, 'x', 5.0)", "operator.attrgetter('x')(o)",
       "hasattr(o, 'x') and o.x", "matched(o)", "matched(D())", "[q.x for q in (o, d)]", "sum([kid.x for kid in tree.kids])", "total(tree)",
       "Point(1).x", "Letters.A.x", "net.x"]
CALL = ["o.x()", "C.x()", "D.x()", "d.x()", "super(D, d).x()", "getattr(C, 'x')()", "sum([kid.x() for kid in tree.kids])", "total(tree)", "Point.x()",
        "Letters.A.x()", "net.x()", "Net.x()"]
# What is made, what is called again, how it is reached, under which name a class has it otherwise.
CASES = [("property(one)", "two", use, "y") for use in GET]
CASES += [("Sub(one)", "two", use, "y") for use in GET[:3]]
CASES += [("property(one, put)", "one, put_more", "write(o)", "y"), ("property(one, put)", "one", "write(o)", "y")]
CASES += [(f"{kind}(one)", "two", use, "y") for kind in ("staticmethod", "classmethod") for use in CALL]
CASES += [(f"{kind}({was})", now, use, name) for kind in ("staticmethod", "classmethod") for name, was, now, use in
          (("__neg__", "one", "two", "-s"), ("__add__", "one", "two", "s + 1"), ("__getitem__", "one", "two", "s[0]"), ("__bool__", "yes", "no", "1 if s else 2"),
           ("__contains__", "yes", "no", "3 in s"), ("__iter__", "few", "more", "sum(s)"), ("__getattr__", "one", "two", "s.none"),
           ("__class_getitem__", "one", "two", "Special[1]"), ("__call__", "one", "two", "s()"), ("__eq__", "yes", "no", "s == 1"))]
WHEN = (3, 5)


def observed(case, when, decorate):
    made, again, use, name = case
    names = names_of(TEXT.format(made=made, name=name, use=use, of_tree="t.x" if "operty" in made or "Sub" in made else "t.x()"), janus=janus)
    f, seen = decorate(names["f"]), []
    for k in range(8):
        if k == when:
            names["C"].__dict__["x"].__init__(*(names[n] for n in again.split(", ")))
        try:
            seen.append(repr(f(janus.tensor([1.0, 2.0]), k + 2)))
        except (AttributeError, TypeError) as error:
            seen.append(repr(error))
    return seen, f


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
@pytest.mark.parametrize("case", share(CASES), ids=" ".join)
def test_as_cpython_does(case):
    for when in WHEN:
        expected, _ = observed(case, when, lambda f: f)
        seen, _ = observed(case, when, lambda f: janus.function(f, measure=False, verify="never"))
        assert seen == expected


def test_graphs_run_before_and_after():
    for case in (CASES[0], CASES[21], CASES[33]):
        _, f = observed(case, 3, lambda f: janus.function(f, measure=False))
        assert f.stats()["graph"] >= 4 and f.stats()["disproved"] == 0


def test_a_graph_goes_on_while_nothing_changes():
    names = names_of(TEXT.format(made="property(one)", name="y", use="o.x", of_tree="t.x"), janus=janus)
    f = janus.function(names["f"], measure=False)
    for _ in range(8):
        f(janus.tensor([1.0]), 2)
        names["C"].other = 1  # another version of the type
        names["C"].__dict__["x"].__init__(names["one"])  # what it had
    assert f.stats()["conversions"] == 1
