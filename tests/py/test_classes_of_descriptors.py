# SPDX-License-Identifier: Apache-2.0
"""Values in classes whose own class becomes one of descriptors, or is none any more: what it has before x what it gets or loses x how the
attribute is used x what the instance has itself."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

TEXT = """
class Des:
    def __init__(self, k): self.k = k
    def __call__(self, *args): return self.k * 2.0
    def __radd__(self, other): return other + self.k

class Other(Des): pass

def get(self, o, t=None): return 7.0
def set_(self, o, v): log.append(v)
def delete(self, o): log.append('deleted')

class Meta(type):
    of_meta = Des(3.0)

class Base(metaclass=Meta):
    x = Des(2.0)

class C(Base):
    def __init__(self): self.n = 1
    def own(self): return super().x

class Tree(Base):
    def __init__(self, *kids): self.kids = kids

class Net(janus.nn.Module):
    x = Base.x

class Special:
    __neg__ = Base.x

log = []
o, net, s = C(), Net(), Special()
tree = Tree(Tree(Tree()), Tree())

def walk(t, y):
    for kid in t.kids:
        y = walk(kid, y)
    t.x = y
    return y + 1

def set_it(o, v): o.x = v

def f(y, k):
    {use}
    return y

def own(): return [vars(o), {{n: v for n, v in vars(net).items() if n == 'x'}}, [vars(t).get('x') for t in (tree, *tree.kids)]]
"""
USES = {
    "read": "y = y * k + o.x",
    "read of a class": "y = y * k + C.x",
    "of a metaclass": "y = y * k + C.of_meta",
    "by super()": "y = y * k + o.own()",
    "by getattr()": "y = y * k + getattr(o, 'x', 5.0)",
    "called": "y = y * k + o.x()",
    "of a fresh one": "y = y * k + C().x",
    "a special method": "y = y * k + (-s)",
    "written": "o.x = k * 2.0",
    "written by a callee": "set_it(o, y.sum().item())",
    "written in a loop": "for i in range(2):\n        o.x = y.sum().item()",
    "in a loop of the graph": "for i in range(k):\n        o.x = i + 0.5",
    "in an arm": "y = y * k\n    if y.sum() > 9:\n        o.x = 2.5",
    "in both arms": "if y.sum() * k > 9:\n        o.x = 2.5\n    else:\n        o.x = 3.5",
    "in a recursion": "y = walk(tree, y) * k",
    "of a fresh one written": "q = C()\n    q.x = k * 1.0\n    y = y + q.x",
    "of a module": "net.x = k * 1.0\n    y = y + net.x",
    "written and read": "o.x = k * 1.0\n    y = y + o.x",
    "augmented": "o.x += k",
    "deleted": "o.x = y\n    del o.x",
}
METHODS = {"__get__": "get", "__set__": "set_", "__delete__": "delete"}
HAD = [(), ("__get__",), ("__get__", "__set__"), ("__set__",)]
# What it gets or loses; "another": the class has an instance of another class first, of which it is said then.
CHANGES = ["__get__", "__set__", "__delete__", "another"]
OWN = ["nothing", "o.x = 4.0"]
WHEN = 4


def observed(case, decorate):
    use, had, change, own = case
    names = names_of(TEXT.format(use=USES[use]), janus=janus)
    for method in had:
        setattr(names["Des"], method, names[METHODS[method]])
    if own != "nothing":
        vars(names["o"])["x"] = 4.0
    f, seen = decorate(names["f"]), []
    for k in range(9):
        if k == WHEN and change == "another":
            names["Base"].x = names["Other"](5.0)
        elif k == WHEN or k == WHEN + 2 and change == "another":
            cls = names["Other"] if change == "another" else names["Des"]
            method = "__set__" if change == "another" else change
            if method in vars(cls):
                delattr(cls, method)
            else:
                setattr(cls, method, names[METHODS[method]])
        try:
            seen.append(f(janus.tensor([1.0, 2.0]), k % 3 + 2).tolist())
        except (AttributeError, TypeError) as error:
            seen.append(repr(error))
        seen.append(repr([{n: v for n, v in d.items() if not isinstance(v, names["Des"])} if isinstance(d, dict) else d for d in names["own"]()]))
    return [*seen, repr(names["log"])], f


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
@pytest.mark.parametrize("use", USES)
def test_as_cpython_does(use):
    for case in share(itertools.product([use], HAD, CHANGES, OWN)):
        expected, _ = observed(case, lambda f: f)
        seen, _ = observed(case, lambda f: janus.function(f, measure=False, verify="never"))
        assert seen == expected, case


@pytest.mark.parametrize("use", ["read", "written", "in a recursion"])
def test_graphs_run_before_and_after(use):
    _, f = observed((use, (), "__get__", "nothing"), lambda f: janus.function(f, measure=False))
    assert f.stats()["graph"] >= 3 and f.stats()["disproved"] == 0
