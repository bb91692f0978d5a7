# SPDX-License-Identifier: Apache-2.0
"""Classes derived from Tensor and Parameter: what they have instead of Tensor's own attributes, operators and methods is used in a graph, too."""
import itertools
import random

import pytest

import janus
from shares import EACH, share
from texts import code_of, names_of

WAYS = [None, {"verify": "never", "measure": False}, {"measure": False}]
Tensor = janus.Tensor


def shown(v):
    """What a value is, asked of Tensor and not of its class."""
    if isinstance(v, Tensor):
        grad = Tensor.grad.__get__(v)
        return (type(v).__name__, Tensor.requires_grad.__get__(v), [round(float(i), 4) for i in Tensor.reshape(Tensor.detach(v), -1).tolist()],
                None if grad is None else shown(grad), [(k, shown(i)) for k, i in object.__getattribute__(v, "__dict__").items()])
    if isinstance(v, (tuple, list)):
        return type(v).__name__, [shown(i) for i in v]
    return v if isinstance(v, (int, float, str)) else type(v).__name__


def seen(text, changes, options, objects):
    """What the calls of f give, what they log, and what the objects are then; the changes come between them."""
    names = names_of(text, janus=janus, shown=shown)
    f = names["f"] if options is None else janus.function(names["f"], **options)
    got = []
    for i, change in enumerate(changes):
        try:
            result = shown(f(janus.ones(3) * (i % 4 + 0.5)))
        except Exception as e:
            result = f"{type(e).__name__}: {e}"
        got.append((result, str(names["log"]), [shown(names[o]) for o in objects]))
        names["log"].clear()
        exec(change, names)
    return got, options is not None and f.stats()["graph"] + f.stats().get("region_hits", 0) > 0


def test_slots_begin_unset():
    class Two(Tensor):
        __slots__ = ("a", "b")

    class Own(janus.nn.Parameter):
        __slots__ = ("c",)

    for i in range(50):
        two, own = [Two([1.0, 2.0]) for _ in range(20)], [Own(janus.ones(2)) for _ in range(20)]
        for t in two:
            assert not hasattr(t, "a") and not hasattr(t, "b")
            t.a = t.b = [i]
        for p in own:
            assert not hasattr(p, "c")
            p.c = two


HAS = {
    "getattr": "def __getattr__(self, n):\n    log.append(n)\n    if n in ('extra', 'other'): return 3.0\n    raise AttributeError(n)",
    "getattribute": "def __getattribute__(self, n):\n    log.append(n)\n    return janus.Tensor.__getattribute__(self, n)",
    "setattr": "def __setattr__(self, n, v):\n    log.append(n)\n    super().__setattr__(n, v)",
    "delattr": "def __delattr__(self, n): log.append(n)",
    "property": "@property\ndef {n}(self):\n    log.append('got')\n    return 2.5",
    "set property": "@property\ndef {n}(self): return 2.5\n@{n}.setter\ndef {n}(self, v): log.append(v)",
    "number": "{n} = 4.0", "method": "def {n}(self, *a):\n    log.append('called')\n    return 1.5", "nothing": "pass",
}
USES = ("x = x + o.{n}", "o.{n} = x * 2", "o.{n} = None", "o.{n} = True", "x = x + getattr(o, '{n}', 9.0)", "log.append(hasattr(o, '{n}'))", "x = x + o.{n}()", "del o.{n}", "log.append(o.requires_grad_() is o)", "o.requires_grad_(False)",
        "log.append(shown(o.{n}))\n    x = x + o.sum()", "o.other = x\n    x = x + o.other")
NAMES = ("grad", "data", "requires_grad", "is_leaf", "shape", "sum", "mean", "extra", "T")


@pytest.mark.parametrize("base", ["janus.Tensor", "janus.nn.Parameter"])
@pytest.mark.parametrize("has", HAS)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_attributes_of_their_own(base, has):
    """Each of them while the class has it from the beginning, and where it comes and goes between calls."""
    graphs = 0
    every = list(itertools.product(NAMES, USES, (False, True)))
    for name, use, late in share(random.Random(base + has).sample(every, 60)):
        body = "    " + HAS[has].replace("{n}", name).replace("\n", "\n    ")
        made = f"class Late({base}):\n{body}\nclass C({base}):\n" + ("    pass" if late else body)
        text = f"log = []\n{made}\no = C(janus.tensor([1.0, 2.0, 3.0]))\ndef f(x):\n    x = x * 2\n    {use.replace('{n}', name)}\n    return x\n"
        comes = "for n, v in vars(Late).items():\n    if n[:2] != '__' or n.endswith(('attr__', 'attribute__')): setattr(C, n, v)"
        changes = ["pass"] * 2 + [comes if late else "pass"] + ["pass"] * 3
        want, _ = seen(text, changes, None, "o")
        for options in WAYS[1:]:
            got, graph = seen(text, changes, options, "o")
            graphs += graph
            assert got == want, (options, text)
    if has == "nothing":
        assert graphs or EACH > 1  # a share may have none


ITEMS = {
    "other": "return super().__getitem__(k) * 3", "a number": "return 1.0", "fewer": "if k == 1: raise IndexError(k)\n        return super().__getitem__(k)",
    "raises": "raise KeyError(k)", "notes": "log.append(k)\n        return super().__getitem__(k)", "itself": "return self",
}
TAKES = ("[i * 2 for i in o]", "list(o)", "tuple(o)", "sum(o)", "max(o)", "[a * b for a, b in zip(o, x)]", "list(enumerate(o))", "list(map(lambda i: i + 1, o))", "(lambda a, b, c: a - b + c)(*o)",
         "next(iter(o))", "any(i > 2 for i in o)", "{k: i for k, i in enumerate(o)}", "[*o, x]", "sorted(o)", "[float(i) for i in o]", "o[0]", "o[:2]")
LOOPS = ("for i in o: y = y + i", "a, b, c = o\n    y = y + a * b - c", "a, *b = o\n    y = y + a + len(b)", "for k, i in enumerate(o):\n        if k == 1: continue\n        y = y * i",
         "for i in o:\n        for j in o: y = y + i * j", "for i in o:\n        if i > 1.5: break\n        y = y - i")


@pytest.mark.parametrize("base", ["janus.Tensor", "janus.nn.Parameter"])
@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_rows_are_those_of_tensors(base, item):
    """A loop over a tensor goes over its rows, as in PyTorch, whatever its class has for `x[k]`; where that comes and goes between calls, too."""
    graphs = 0
    for use, late in share(list(itertools.product([f"y = {t}" for t in TAKES] + list(LOOPS), (False, True)))):
        body = f"    def __getitem__(self, k):\n        {ITEMS[item]}"
        text = f"log = []\nclass Late({base}):\n{body}\nclass C({base}):\n" + ("    pass" if late else body)
        text += f"\no = C(janus.tensor([1.0, 2.0, 3.0]))\ndef f(x):\n    y = x * 2\n    {use}\n    return y\n"
        changes = ["pass"] * 2 + ["C.__getitem__ = Late.__getitem__"] + ["pass"] * 3
        want, _ = seen(text, changes, None, "o")
        if "o[" not in use:
            plain, _ = seen(text.replace("o = C(", "o = " + base + "("), changes, None, "o")
            assert [w[0] for w in want] == [w[0] for w in plain], text
        for options in WAYS[1:]:
            got, graph = seen(text, changes, options, "o")
            graphs += graph
            assert got == want, (options, text)
    assert graphs or EACH > 1  # a share may have none


OPERATORS = {"==": "eq", "!=": "ne", "<": "lt", ">=": "ge", "+": "add", "-": "sub", "*": "mul", "@": "matmul", "/": "truediv"}
KINDS = {  # classes of two operands: where they stand, and which of them have the method, its reflection, or both
    "plain": "class {c}({b}): pass", "forward": "class {c}({b}):\n    def __{m}__(self, o):\n        log.append('{c}')\n        return {r}",
    "back": "class {c}({b}):\n    def __r{m}__(self, o):\n        log.append('r{c}')\n        return {r}",
    "both": "class {c}({b}):\n    def __{m}__(self, o):\n        log.append('{c}')\n        return {r}\n    def __r{m}__(self, o):\n        log.append('r{c}')\n        return {r}",
}


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_operators_of_two_classes(op):
    graphs = 0
    every = list(itertools.product(KINDS, KINDS, ("janus.Tensor", "A", "janus.nn.Parameter"), ("4.5", "NotImplemented", "super().__{m}__(o)")))
    for a, b, of, result in share(random.Random(op).sample(every, 60)):
        base = of if of.startswith("janus") else "janus.Tensor"
        text = "log = []\n" + KINDS[a].replace("{c}", "A").replace("{b}", base) + "\n" + KINDS[b].replace("{c}", "B").replace("{b}", of)
        text = text.replace("{r}", result).replace("{m}", OPERATORS[op])
        text += f"""
a, b = A(janus.tensor([1.0, 2.0, 3.0])), B(janus.tensor([3.0, 2.0, 1.0]))
def f(x):
    r = a {op} b
    q = b {op} a
    log.append(shown(x {op} b))
    return r, q, a {op} x, x * 2 + (b {op} a)
"""
        want, _ = seen(text, ["pass"] * 4, None, "ab")
        for options in WAYS[1:]:
            got, graph = seen(text, ["pass"] * 4, options, "ab")
            graphs += graph
            assert got == want, (options, text)
    assert graphs or EACH > 1  # a share may have none


HEAD = """
import copy, operator, pickle
from janus import nn
log = []
def note(e): log.append((type(e).__name__, str(e)))
def loss(v): v.sum().backward()
class T(janus.Tensor):
    scale = 2.0
    def double(self): return self * self.scale
    @property
    def half(self): return self / 2
class Adds(T):
    def __add__(self, other):
        log.append('add')
        return T.__mul__(self, 2.0)
    __radd__ = __add__
    def __mul__(self, other): return super().__mul__(other)
    def __iadd__(self, other):
        log.append('iadd')
        return super().__iadd__(other * 2)
class Odd(T):
    def __eq__(self, other): return self is other
    def __hash__(self): return 7
    def __len__(self): return 5
    def __iter__(self): return iter([1.0, 2.0])
    def __bool__(self):
        log.append('bool')
        return S.n % 2 == 0
    def __getitem__(self, k): return super().__getitem__(k) * 3
    def __neg__(self): return 5.0
    def __call__(self, v): return v + 1.5
class Hides(T):
    def sum(self): return 11.0
    def exp(self):
        log.append('exp')
        return super().exp()
    @property
    def data(self): return 6.0
class P(nn.Parameter):
    tag = 3.0
    def double(self): return self * self.tag
class PAdds(P):
    def __add__(self, other): return self * 2.0
    def __radd__(self, other): return self * 4.0
    def t(self): return self * 0.5
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = P(janus.tensor([0.5, 1.5, 2.0]))
        self.register_buffer('b', Adds([0.25, 0.5, 0.75]))
        self.lin = nn.Linear(3, 3)
        self.lin.weight = PAdds(janus.ones(3, 3) * 0.1)
        self.lin.bias = P(janus.zeros(3))
    def forward(self, x): return self.lin(x) + self.w * x + self.b
class State: n = 0
S = State()
m = M()
opt = janus.optim.SGD(m.parameters(), lr=0.1)
t, a, o, h = T([1.0, 2.0, 3.0]), Adds([1.5, 2.5, 3.5]), Odd([4.0, 5.0, 6.0]), Hides([1.0, 0.5, 0.25])
p, q = P(janus.tensor([1.0, 2.0, 4.0])), PAdds(janus.tensor([2.0, 1.0, 0.5]))
box = [t, a, o, h]
"""
VALUES = """{o}|{o} + 1|1 + {o}|x + {o}|{o} + x|{o} * x|{o} - {p}|{o}[0]|{o}[:2].sum()|{o}.exp()|{o}.sum()|{o}.data|{o}.detach()|{o}.clone()|copy.copy({o})|copy.deepcopy({o})|{o}.double()|{o}.half|len({o})|-{o}|{o} @ x|{o} < x
sum(list({o}))|{o}.scale|{o}.tag|getattr({o}, '{n}', 1.5)|hasattr({o}, '{n}')|isinstance({o}, {C})|type({o}) is {C}|type({o} + 1).__name__|type({o}).__name__|{o} == {p}|{o} is {p}|{o} in box|box[{i}] * 2|m.w * x|m(x)|m.lin(x)|m.b + 1
m.lin.weight.t()|[type(p).__name__ for p in m.parameters()]|{C}([1.0, 2.0, 3.0])|P(x.detach()).double()|janus.stack([{o}, x])|janus.exp({o})|operator.add({o}, 1)|sum([{o}, {p}])|1 if {o} else 2|not {o}|{o} and x|{o}(x)
{o}.requires_grad|{o}.is_leaf|{o}.grad|[i for i in {o}]|pickle.loads(pickle.dumps({o}))|janus.where(x > 1, {o}, {p})|T.double({o})|{o} ** 2|x / {o}""".replace("\n", "|").split("|")
DOES = """y = {e}|y = {e}|x = x + ({e})|x = ({e}) * x|{o}.{n} = {e}|{o}.{n} = 1.5|{o}.data.mul_(0.5)|y += 1|y += x|y *= {e}|x += {o}|del {o}.{n}|y.add_(1)|{o}.mul_(x)|loss({e})|box[{i}] = {e}|S.n += 1|y = T(x)|y = Odd(x)|y = P(x.detach())
with janus.no_grad(): {o}.add_(0.5)|{o}.grad = None|m.w = P(x.detach())|m.b = {e}|opt.step()|opt.zero_grad()|log.append(shown({e}))|log.append(shown({e}))|{o}.data = x.detach()|{o}[0] = 2.0|y = {o} * y""".replace("\n", "|").split("|")
ASKS = "{e}|{o}.sum() > 3|S.n % 2|{o}|isinstance({o}, {C})|type(y) is {C}|hasattr(y, '{n}')".split("|")
CHANGES = """pass|pass|S.n += 1|{C}.scale = 3|{o}.{n} = janus.ones(3)|T.double = lambda self: self + 1|Adds.__add__ = lambda s, o: (log.append('new'), s * 3)[1]|del Adds.__add__|T.__radd__ = lambda s, o: 2.5|T.half = property(lambda s: 3.0)|{o}.data = janus.tensor([3.0, 2.0, 1.0])
t = a|o = t|p = q|T.__getattr__ = lambda s, n: 7.0|P.t = lambda s: s|T.__bool__ = lambda s: True|T.__getitem__ = lambda s, k: 1.0|m.w = P(janus.ones(3))|T.__setattr__ = lambda s, n, v: log.append(n)|T.__eq__ = lambda s, o: True
T.__getattribute__ = lambda s, n: (log.append(n), janus.Tensor.__getattribute__(s, n))[1]|T.__call__ = lambda s, v: 2.0|P.data = 3.0|P.grad = None|{o}.__class__ = {C}""".replace("\n", "|").split("|")
OF = {"o": ("t", "a", "o", "h", "p", "q", "y", "m.w", "m.b", "x"), "p": "taopqx", "C": ("T", "Adds", "Odd", "P"), "n": ("tag", "keep", "scale"), "i": "0123"}


def filled(r, texts):
    text = r.choice(texts).replace("{e}", r.choice(VALUES))
    for name, values in OF.items():
        while "{" + name + "}" in text:
            text = text.replace("{" + name + "}", r.choice(values), 1)
    return text


def indented(text):
    return "    " + text.replace("\n", "\n    ")


def block(r, deep, n):
    return "\n".join(compound(r, deep) if deep and r.random() < 0.35 else f"try:\n    {filled(r, DOES)}\nexcept Exception as e: note(e)" for _ in range(n))


def compound(r, deep):
    one, two, asks = indented(block(r, deep - 1, 2)), indented(block(r, deep - 1, 1)), filled(r, ASKS)
    return r.choice((f"if {asks}:\n{one}\nelse:\n{two}", f"for i in range(S.n % 3 + 1):\n{one}\n    if {asks}: break", f"try:\n{one}\nfinally:\n{two}", f"k = 0\nwhile k < 3 and {asks}:\n    k += 1\n{one}"))


@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_programs_at_random():
    graphs, seeds = 0, share(range(120))
    for seed in seeds:
        r = random.Random(seed)
        text = f"{HEAD}def f(x):\n    global t, a, o, h, p, q\n    y = x * 1.0\n{indented(block(r, 2, r.choice((2, 3, 4))))}\n    return x, y\n"
        changes = [code_of(f"try:\n    {filled(r, CHANGES)}\nexcept Exception as e:\n    note(e)\n") for _ in range(8)]
        want, _ = seen(text, changes, None, "taohpq")
        for options in WAYS[1:]:
            got, graph = seen(text, changes, options, "taohpq")
            graphs += graph
            assert got == want, (seed, options, next((i, u, v) for i, (u, v) in enumerate(zip(want, got)) if u != v))
    assert graphs > len(seeds) // 10 or EACH > 1, graphs
