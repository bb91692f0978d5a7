# SPDX-License-Identifier: Apache-2.0
"""copy.copy() and deepcopy(), dataclasses.asdict(), astuple() and replace(), and instances that set their attributes by object.__setattr__()."""
import pytest

import janus
import shares
from alike import alike

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TEXT = """
import collections, copy, dataclasses, functools, types
from dataclasses import dataclass, field
@dataclass
class P:
    a: object = 1
    b: object = None
@dataclass
class Q:
    p: P
    items: list = field(default_factory=list)
    shared = 3
@dataclass(frozen=True)
class Frozen:
    a: int = 1
    b: str = 'k'
    def __post_init__(self): object.__setattr__(self, 'c', self.a + 1)
@dataclass
class Counted(P):
    made: int = field(default=0, init=False)
    def __post_init__(self): self.made = self.made + 1
class Node:
    def __init__(self, v, left=None, right=None): self.v, self.left, self.right = v, left, right
class Leaf(Node): pass
class Hooked(Node):
    def __copy__(self): return 'copied'
    def __deepcopy__(self, memo): return 'deeply'
class Reduced(Node):
    def __reduce__(self): return str, ('reduced',)
class State(Node):
    def __getstate__(self): return {'v': 1}
class Sets(Node):
    def __setattr__(self, name, value): object.__setattr__(self, name, ('set', value))
class Slots:
    __slots__ = ('a',)
    def __init__(self): self.a = 1
class Prop(Node):
    @property
    def w(self): return self.v
class Own(list): pass
class Named(Node):
    def __new__(cls, *args): return object.__new__(cls)
N = collections.namedtuple('N', 'a b')
tree = Node(1, Leaf(2), Node([3, 4], Leaf(4), Leaf({'k': 5})))
loop = Node(1)
loop.left = loop
shared, nested = [1], ((1, 2), (), 3)
CFG = {'lr': 0.5, 'betas': (0.9, 0.99), 'groups': [{'n': 1}, {'n': 2}], 'same': [shared, shared]}
tied = janus.ones(2)
noted = janus.ones(2)
noted.note = 'n'
leaf = janus.ones(2, requires_grad=True)
param = janus.nn.Parameter(janus.ones(2))
graded = janus.ones(2, requires_grad=True)
graded.sum().backward()
def arguments(k):
    if k == 5 and CHANGE: exec(CHANGE, globals())
    return janus.ones(2) * k, 2 + k % 3, [janus.ones(2) * (j + k) for j in range(3)]
CHANGE = {change!r}
def f(x, n, xs):
    {body}
"""
WATCHED = ("tree", "loop", "CFG", "tied", "leaf", "graded", "noted")
THINGS = {
    "list": "[1, n, x.shape[0]]", "list of tensors": "xs", "nested": "[[1, 2], {'a': [n]}]", "dict": "{'a': x, 'b': [x, x]}", "config": "CFG", "one twice": "[shared, shared, [shared]]", "tensors twice": "[tied, {'t': tied}]", "tuple": "(1, 'a', (n,))", "tuple with a list": "(1, [2])", "number": "n", "text": "'a'",
    "none": "None", "class": "Node", "function": "arguments", "tensor": "x", "made tensor": "x * 2", "leaf": "leaf", "parameter": "param", "with gradient": "graded", "with a note": "noted", "with history": "leaf * 2", "tree": "tree", "loop": "loop", "instance": "Node(x)", "hooked": "Hooked(1)", "reduced": "Reduced(1)",
    "state": "State(2)", "sets": "Sets(2)", "slots": "Slots()", "property": "Prop(3)", "own list": "Own([1])", "own new": "Named(1)", "dataclass": "P(x, [2])", "frozen": "Frozen(2)", "in each other": "Q(P(1, 2), [P(3, 4), {'k': P(5, 6)}])", "named tuple": "N(1, [x])", "set": "{1, n}", "deque": "collections.deque([1, n], 3)",
    "ordered": "collections.OrderedDict(a=1)", "default": "collections.defaultdict(list, a=[1])", "namespace": "types.SimpleNamespace(a=x)", "module": "janus.nn.Identity()", "partial": "functools.partial(max, 1)", "range": "range(n)", "keys": "{(1, 2): 'a', None: [1]}", "key of an object": "{tree: 1}", "counter": "collections.Counter('aab')",
}
USES = ["return {call}, x + 1", "c = {call}\n    if isinstance(c, list): c.append(n)\n    if isinstance(c, dict): c['new'] = [n]\n    if isinstance(c, janus.Tensor): c = c + 1\n    return c, x + 1", "o = {thing}\n    return {call_o} is o, x + 1", "return x * len([{call}, {call}])"]
GRAPHS = {"copy": {"list", "list of tensors", "nested", "dict", "config", "tuple", "number", "text", "none", "tree"}, "deepcopy": {"list", "list of tensors", "nested", "dict", "config", "one twice", "tensors twice", "tuple", "number", "text", "none", "tensor", "leaf", "tree"}}


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("function", ["copy", "deepcopy"])
def test_copies(function, thing):
    graphs = 0
    for use in shares.share(USES):
        body = use.replace("{call}", f"copy.{function}({THINGS[thing]})").replace("{call_o}", f"copy.{function}(o)").replace("{thing}", THINGS[thing])
        graphs += alike(TEXT.replace("{body}", body).replace("{change!r}", "''"), calls=7, watched=WATCHED)[0]
    assert graphs or shares.LIGHT or thing not in GRAPHS[function]


CHANGES = ["box.v = 5", "box.more = 1", "Node.__copy__ = lambda self: 'other'", "Node.__deepcopy__ = lambda self, memo: 'other'", "Node.__getstate__ = lambda self: {'v': 9}", "del box.right", "box.__class__ = Leaf", "Node.v = property(lambda self: 3, lambda self, v: None)",
                             "tied.note = 1", "tied.requires_grad = True", "import copyreg; copyreg.pickle(Node, lambda o: (str, ('pickled',)))"]


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_between_calls(change):
    for call in ("copy.copy(box)", "copy.deepcopy(box)", "copy.deepcopy([tied, CFG])"):
        text = TEXT.replace("tied = ", "box = Node(1, [2])\ntied = ").replace("{body}", f"c = {call}\n    return c, x * 2").replace("{change!r}", repr(change))
        alike(text, calls=9, watched=(*WATCHED, "box"))


OF_CLASSES = {
    "asdict": ["P(x, 2)", "P([x, {'a': n}], (1, 2))", "Q(P(1, 2), [P(3, 4), {'k': P(5, 6)}])", "Q(P(x, n))", "Frozen(n)", "Counted(x, 1)", "P(shared, shared)", "P(xs, tied)", "P(N(1, 2))", "P((1, P(2)))", "P(nested)", "P({(1, 2): n})", "P([nested, {'k': nested}])", "P(Own([1]))", "P({1: [n], 'k': None})", "P(tree)", "P({1, 2})", "P(collections.OrderedDict(a=P()))", "P", "3", "Node(1)", "P(leaf)", "P(leaf * 2)", "P(Node)"],
    "astuple": ["P(x, 2)", "P([x, {'a': n}], (1, 2))", "Q(P(1, 2), [P(3, 4)])", "Frozen(n)", "Counted(x, 1)", "P(shared, shared)", "P((1, [2]))", "P", "None"],
}
ODD = ("P(N(1, 2))", "P((1, P(2)))", "P(Own([1]))", "P({1, 2})", "P(collections.OrderedDict(a=P()))", "P", "3", "Node(1)", "P(leaf * 2)", "None", "P((1, [2]))")


@pytest.mark.parametrize("function, thing", [(f, t) for f in OF_CLASSES for t in OF_CLASSES[f]])
def test_parts_of_dataclasses(function, thing):
    graphs = 0
    for use in ("return {call}, x + 1", "d = {call}\n    return d, {call}, x + 1", "o = {thing}\n    d = dataclasses.{function}(o)\n    return o, d, x", "return dataclasses.{function}({thing}, dict_factory=list) if n > 3 else x"):
        text = use.replace("{call}", f"dataclasses.{function}({thing})").replace("{thing}", thing).replace("{function}", function)
        graphs += alike(TEXT.replace("{body}", text).replace("{change!r}", "''"), calls=7, watched=WATCHED)[0]
    assert graphs or thing in ODD or (function == "astuple" and thing.startswith("Q"))


MORE = ["p = dataclasses.replace(P(x, 2), b=3)\n    return p.a * p.b, p", "return dataclasses.replace(Frozen(1), a=n), x", "p = Frozen(n)\n    return p.c * x, p", "return dataclasses.replace(Counted(x, 1), b=n), x", "return P(**{**dataclasses.asdict(P(1, 2)), 'b': x}).b", "o = Node(1)\n    object.__setattr__(o, 'v', x)\n    object.__setattr__(o, 'w', n)\n    return o.v * o.w, o",
        "p = P(nested, [nested, {'k': nested}])\n    d = dataclasses.asdict(p)\n    return [[a is nested, a[0] is nested[0], a == nested] for a in (d['a'], d['b'][0], d['b'][1]['k'], dataclasses.astuple(p)[0])], x",
        "b = copy.copy(tree)\n    b.v = 3\n    return x * b.v + tree.v, b", "b = copy.deepcopy(tree)\n    b.left.v = 10\n    return x * b.left.v + tree.left.v", "best = copy.deepcopy({'w': x})\n    x = x + 1\n    return best['w'], x"]
FAILS = ["return [k is q for k, q in zip(dataclasses.asdict(P({nested: 1}))['a'], [nested])], x", "o = Node(1)\n    object.__setattr__(o, 'v')\n    return x", "o = Slots()\n    object.__setattr__(o, 'b', 1)\n    return x", "o = Prop(1)\n    object.__setattr__(o, 'w', 1)\n    return x", "object.__setattr__(tree, 'z', n)\n    return x * tree.z", "Frozen(1).a = 2\n    return x", "object.__setattr__(x, 'note', 1)\n    return x.note",
         "return dataclasses.replace(Frozen(1), z=n), x", "return copy.deepcopy(x, {}), x", "return copy.deepcopy([1], {}), x", "return copy.copy(), x"]


@pytest.mark.parametrize("body", MORE + FAILS)
def test_more(body):
    assert alike(TEXT.replace("{body}", body).replace("{change!r}", "''"), calls=8, watched=WATCHED)[0] or body in FAILS
