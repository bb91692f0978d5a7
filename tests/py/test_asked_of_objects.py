# SPDX-License-Identifier: Apache-2.0
"""callable(), vars(), int() with a base, unions of dicts, `types.SimpleNamespace`, functools.singledispatch, `statistics` and parts of `math`."""
import pytest

import janus
import shares
from alike import alike

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TEXT = """
import collections, functools, math, statistics, types
class Node:
    def __init__(self, v, *kids): self.v, self.kids = v, kids
    def scale(self, x): return x * self.v
class Leaf(Node): pass
class Called(Node):
    def __call__(self, x): return x * self.v
class Slots:
    __slots__ = ('a',)
class Mixed(dict):
    def __or__(self, other): return 'or'
    def __ror__(self, other): return 'ror'
class Plain(dict): pass
tree = Node(1, Leaf(2), Node(3, Leaf(4), Called(5)))
D, E, NS = {'a': 1, 'b': 2}, {'b': 3.0}, types.SimpleNamespace(lr=0.5, name='a')
class Shape: pass
class Big(Shape, Node): pass
@functools.singledispatch
def visit(t, x, by=1): return x * 0
@visit.register
def _(t: Node, x, by=1): return sum([visit(k, x, by) for k in t.kids], x * t.v * by)
@visit.register
def _(t: Leaf, x, by=1): return x - t.v
@visit.register(int)
def _(t, x, by=1): return x + t
@visit.register(Shape)
def _(t, x, by=1): return x * 100
@visit.register(list)
def _(t, x, by=1): return [visit(k, x, by=by) for k in t]
def by_leaf(n): return lambda t, x, by=1: x * n
def made_with(n):
    @functools.singledispatch
    def same(t, x, by=1): return x + n
    same.register(Node, lambda t, x, by=1: sum([same(k, x) for k in t.kids], x * n))
    same.register(Leaf, by_leaf(n))
    return same
same = made_with(2)
@functools.singledispatch
def sized(t): return 'no'
@sized.register
def _(t: collections.abc.Sized): return len(t)
def arguments(k):
    if k == 5 and CHANGE: exec(CHANGE, globals())
    return janus.ones(2) * k, 2 + k % 3, [janus.ones(2) * (j + k) for j in range(3)]
CHANGE = {change!r}
def f(x, n, xs):
    {body}
"""


def program(body, change=""):
    return TEXT.replace("{body}", body).replace("{change!r}", repr(change))


VALUES = ["x", "n", "tree", "tree.kids[1].kids[1]", "Node", "Called", "len", "lambda: 1", "tree.scale", "'a'", "None", "[]", "janus.relu", "visit", "x.sum", "[].append", "NS", "Called(n)", "Node(n)", "types.SimpleNamespace(__call__=1)", "functools.partial(len)", "tree.kids[0]", "janus", "janus.nn.Linear(1, 1)"]


@pytest.mark.parametrize("value", VALUES)
def test_callable(value):
    graphs = [alike(program(f"v = {value}\n    return callable(v), x + 1")), alike(program(f"v = {value}\n    return x * 2 if callable(v) else x"))]
    graphs.append(alike(program(f"v = {value}\n    return callable(v), x + 1", "Node.__call__ = lambda self: 1")))
    assert graphs[0][0] or "Linear" in value


def test_callable_of_objects_of_the_graph():
    assert alike(program("s = x\n    for t in tree.kids:\n        s = s + 1 if callable(t) else s * 2\n    return s"))[0]


TEXTS = ["int('ff', 16)", "int('0b11', 0)", "int('z', 36)", "sum([int(c, 16) for c in 'a1f'])", "int('10', base=2)", "int(str(n), 8)", "int(' 12 ')", "int(b'11', 2)", "int('9', 8)", "int(n, 16)", "int('1', 1)", "int('1', 'a')", "int(x.sum().item(), 2)", "int(base=3)", "int('1', 2.0)", "int(2.5)", "int('11', True)"]


@pytest.mark.parametrize("call", TEXTS)
def test_int_of_text(call):
    graphs = alike(program(f"return ({call} if n > 1 else 0), x + 1"))
    alike(program(f"return ({call} if n > 3 else 0), x + 1"))
    assert graphs[0] or TEXTS.index(call) > 4


DICTS = ["{'a': x}", "{'b': 2, 'a': n}", "D", "E", "{}", "Mixed(a=1)", "Plain(a=1)", "collections.OrderedDict(a=1)", "collections.defaultdict(list)", "[('a', 1)]", "None", "{1: x, True: 2}", "dict(zip('ab', xs))", "D.copy()", "collections.Counter('a')"]
UNIONS = ["return {a} | {b}, x", "d = {a}\n    e = d\n    d |= {b}\n    return d, d is e, e, x", "d = {a} | {b}\n    d['z'] = x\n    return d, {a}, {b}", "return ({a} | {b} | {'a': 9})['a'], x", "d = {a}\n    return (d | {b}) is d, x"]


@pytest.mark.parametrize("a", DICTS)
def test_unions_of_dicts(a):
    graphs = 0
    for b in shares.share(DICTS):
        for body in UNIONS:
            graphs += alike(program(body.replace("{a}", a).replace("{b}", b)), calls=4, watched=["D", "E"], options=({"verify": "never", "measure": False},))[0]
    assert graphs or shares.LIGHT or "(" in a or a == "None" or a.startswith("[")


SPACES = ["o = types.SimpleNamespace(a=x, b=2)\n    return o.a * o.b", "o = types.SimpleNamespace(**D)\n    return x * o.a", "o = types.SimpleNamespace()\n    o.h = x\n    o.h = o.h * 2\n    return o.h", "o = types.SimpleNamespace(h=x, n=0)\n    for v in xs:\n        o.h = o.h + v\n        o.n += 1\n    return o.h, o.n",
          "return types.SimpleNamespace(loss=x.sum(), n=n)", "o = types.SimpleNamespace(a=x)\n    return o, o, [o]", "return types.SimpleNamespace()", "NS.last = types.SimpleNamespace(x=x)\n    return x + 1", "o = types.SimpleNamespace(z=1, a=x)\n    o.m = n\n    return o", "return x * NS.lr",
          "o = types.SimpleNamespace(a=x) if n > 2 else types.SimpleNamespace(a=x * 2)\n    return o.a", "o = types.SimpleNamespace(a=1)\n    if x.sum() > 3:\n        o.a = 2\n    return x * o.a", "return isinstance(types.SimpleNamespace(), types.SimpleNamespace), type(types.SimpleNamespace(a=x)) is types.SimpleNamespace, x",
          "return hasattr(types.SimpleNamespace(a=1), 'a'), hasattr(types.SimpleNamespace(a=1), 'b'), getattr(types.SimpleNamespace(), 'c', x)", "return x * vars(NS)['lr']", "return [x * v for v in vars(NS).values() if not isinstance(v, str)]", "s = x\n    for k, v in vars(tree).items():\n        s = s + len(k)\n    return s"]
ODD_SPACES = ["o = types.SimpleNamespace(a=1)\n    del o.a\n    return o, x", "return types.SimpleNamespace(1), x", "return types.SimpleNamespace({'a': 1}), x", "o = types.SimpleNamespace(a=x)\n    return o.b, x", "return types.SimpleNamespace(a=1) == types.SimpleNamespace(a=1), x", "return repr(types.SimpleNamespace(a=n)), x",
              "o = types.SimpleNamespace(a=x)\n    return vars(o)['a'], len(vars(o)), x", "o = types.SimpleNamespace(a=x)\n    vars(o)['b'] = 2\n    return o.b, o", "NS.lr = n\n    return vars(NS)['lr'], x", "vars(NS)['lr'] = n\n    return NS.lr, x", "d = vars(NS)\n    NS.lr = n\n    return d['lr'], d is NS.__dict__, x", "NS.more = n\n    return len(vars(NS)), x",
              "return vars(1), x", "return vars(x) is vars(x), x + 1", "return vars(Slots()), x", "return vars(Node)['scale'] is Node.scale, x", "return vars(types)['FunctionType'] is types.FunctionType, x", "o = Node(x)\n    return vars(o)['v'], x", "o = Node(0)\n    vars(o).update(v=x)\n    return o.v", "o = types.SimpleNamespace(a=x)\n    o.o = o\n    return o.o.o.a",
              "o = types.SimpleNamespace(a=1)\n    return {o: 1}, x", "def go(k):\n        o = types.SimpleNamespace(k=k)\n        return o if k == 0 else go(k - 1)\n    return go(n).k, x"]


@pytest.mark.parametrize("body", SPACES + ODD_SPACES)
def test_namespaces(body):
    graphs = alike(program(body), calls=8, watched=["NS", "tree"])
    assert graphs[0] or body in ODD_SPACES


VISITS = ["return visit(tree, x)", "return visit(n, x)", "return visit('a', x)", "return [visit(v, x) for v in (1, tree.kids[0], 2.0, True, None)]", "return visit(tree.kids[0], x, by=n)", "return visit([1, tree, [2]], x)", "return visit(x, x)", "return visit(Big(3), x)", "return sum([visit(t, x) for t in tree.kids], x)", "return visit(xs, x) if n < 3 else visit(xs[0], x)", "return visit(types.SimpleNamespace(), x)", "return same(tree, x)", "return same(n, x), same(Leaf(1), x)"]
ODD_VISITS = ["return [visit(t, x) for t in (tree, Leaf(n), Node(n, Leaf(x)))]", "return visit() if n > 3 else x", "return visit(x=x, t=1) if n > 3 else x", "return sized('abc'), sized(3), sized(xs), x", "return visit.dispatch(int)(1, x)", "return visit(tree) if n > 3 else x", "return list(map(functools.partial(visit, x=x), [1, 2]))"]
REGISTERS = ["", "visit.register(float, lambda t, x, by=1: x * 7)", "visit.register(Leaf, lambda t, x, by=1: x * 9)", "visit.register(collections.abc.Sized, lambda t, x, by=1: x * 11)", "visit.register(object, lambda t, x, by=1: x * 13)", "Leaf.__bases__ = (Shape, Node)", "tree.kids[0].__class__ = Node", "same = made_with(5)", "same.register(Leaf, by_leaf(7))"]


@pytest.mark.parametrize("change", REGISTERS)
def test_singledispatch(change):
    for body in VISITS + ODD_VISITS:
        graphs = alike(program(body, change), calls=8)
        assert graphs[0] or change or body in ODD_VISITS, body


NUMBERS = ["math.isclose(0.1 + 0.2, 0.3)", "math.isclose(s, s)", "math.isclose(s, 2)", "math.isclose(s, s + 1e-12, rel_tol=0.0)", "math.isclose(s, s + 1e-12, abs_tol=1e-6)", "math.isclose(math.inf, s)", "math.isclose(s, 1, rel_tol=-1)", "math.isclose('a', 1)", "math.isclose(x, 1)", "math.isclose(1, 1, 2)", "math.fabs(s)", "math.fabs(-n)", "math.fabs('1')",
           "math.degrees(s)", "math.radians(n)", "math.prod([2, 3, n])", "math.prod(v for v in (n, 2))", "math.prod(v for v in (s, 2))", "math.prod(map(float, (1, n)))", "math.prod(x.shape)", "math.prod([], start=n)", "math.prod(iter([s, 2.0]), start=3)", "math.prod(3)", "math.prod(['a'])", "math.dist((0, 0), (3, n))", "math.dist((s,), (1.0,))", "math.hypot(s, 1)",
           "statistics.mean([1, 2, 3])", "statistics.mean([1.0, 2.5])", "statistics.mean([1.0, n])", "statistics.mean([s, 1.0])", "statistics.mean(v for v in (1, 2))", "statistics.mean([])", "statistics.fmean([1, 2])", "statistics.median([1, 5, 2])", "statistics.median([1, n, s])", "statistics.stdev([1.0, 2.0, 4.0])", "statistics.stdev([1.0])", "statistics.pstdev((1, 2, 3))", "statistics.variance([2, 4], 3)",
           "statistics.mode('aab')", "statistics.mode([1, 1, 2])", "statistics.mean(['a'])", "statistics.mean(x)", "statistics.mean(data=[1, 2])"]


@pytest.mark.parametrize("call", NUMBERS)
def test_numbers(call):
    alike(program(f"s = x.sum().item()\n    return ({call} if n > 2 else 0), x + 1"))
    graphs = alike(program(f"s = x.sum().item()\n    return {call}, x + 1"))
    assert graphs[0] or call in ("math.isclose(s, 1, rel_tol=-1)", "math.isclose(x, 1)", "math.hypot(s, 1)", "math.dist((s,), (1.0,))", "statistics.mean(x)", "statistics.variance([2, 4], 3)", "statistics.mean(data=[1, 2])") or "'" in call or "s," in call or ", s" in call or "([])" in call or "1.0])" in call or "(3)" in call or "2)" in call
