# SPDX-License-Identifier: Apache-2.0
"""Mapping patterns: which case is taken, what its names hold and what is asked of the subject are CPython's, in generated programs."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

PATTERNS = {
    'case {"op": "lin"}': "x * 2",
    'case {"op": "lin" | "add" as k, "w": w}': "x * w + len(k)",
    'case {"w": float() as w} if w > 0.3': "x - w",
    'case {"op": str(k), **rest}': "x + len(rest) * 0.5 + len(k)",
    'case {"of": {"op": k}, "w": w}': "x * len(k) * w",
    'case {"of": [first, *rest]}': "x * first + len(rest)",
    'case {Key.OP: k}': "x * len(k) * 3",
    'case {"none": None}': "x * 5",
    'case {1: one, "w": _}': "x * one",
    "case {}": "x * 7",
}
SUBJECTS = {
    "lin": '{"op": "lin", "w": 0.5}',
    "small": '{"w": 0.25, "op": "add"}',
    "nested": '{"of": {"op": "leaf"}, "w": 2.0}',
    "rows": '{"of": [3.0, 4.0], "op": "rows"}',
    "none": '{"none": None}',
    "number": '{1: 4.0, "w": 1}',
    "empty": "{}",
    "ordered": 'OrderedDict(op="lin", w=0.75)',
    "default": 'defaultdict(lambda: missed.append(1) or 0.5, op="other")',
    "own": 'Own(op="lin", w=0.75)',
    "user": 'UserDict(op="lin", w=0.75)',
    "proxy": 'MappingProxyType({"op": "add", "w": 1.5})',
    "list": '["op", "lin"]',
    "text": '"op"',
    "nothing": "None",
    "tensor": "janus.ones(2)",
}
# How a subject comes to the pattern.
WAYS = {
    "argument": "def f(p, x):\n    return take(p, x)",
    "attribute": "class H: pass\nh = H()\ndef f(p, x):\n    h.p = p\n    return take(h.p, x)",
    "list": "def f(p, x):\n    out = []\n    for q in [p, p]:\n        out.append(take(q, x))\n    return out",
    "made": 'def f(p, x):\n    return take({"op": "lin", "w": x.sum()}, x), take(p, x)',
    "recursion": "def down(n, p, x):\n    return take(p, x) if n == 0 else down(n - 1, p, x) + 1\ndef f(p, x):\n    return down(2, p, x)",
}

HEAD = """
from collections import OrderedDict, UserDict, defaultdict
from types import MappingProxyType
class Key:
    OP = "op"
asked, missed = [], []
class Own(dict):
    def get(self, *a):
        asked.append(a[0])
        return super().get(*a)
"""


def text(cases, way):
    lines = "".join(f"        {case}: return {PATTERNS[case]}\n" for case in cases)
    return f"{HEAD}\ndef take(p, x):\n    match p:\n{lines}    return x\n{WAYS[way]}\n"


def flat(v):
    return [w for item in v for w in flat(item)] if isinstance(v, (list, tuple)) else [round(w, 5) for w in v.reshape(-1).tolist()]


def seen(cases, way, subjects, **options):
    names = names_of(text(cases, way), janus=janus)
    f = janus.function(names["f"], measure=False, **options) if options else names["f"]
    out = []
    for subject in subjects * 2:
        p = eval(SUBJECTS[subject], names)
        out.append((flat(f(p, janus.tensor([1.0, 1.5]))), len(names["missed"])))
        out.append(tuple(names["asked"]))
        names["asked"].clear()
    return out, f.stats()["graph"] if options else 0


@pytest.mark.parametrize("way", WAYS)
def test_cases_are_cpythons(way):
    graphs = 0
    pairs = list(itertools.permutations(PATTERNS, 2))
    for at, cases in enumerate(share(pairs[list(WAYS).index(way)::5])):
        names = list(SUBJECTS)
        subjects = [names[(at + k * 3) % len(names)] for k in range(5)]
        want, _ = seen(cases, way, subjects)
        got, n = seen(cases, way, subjects, verify="never")
        graphs += n
        assert got == want, (text(cases, way), subjects)
    assert graphs > 0


def test_keys_twice_raise():
    """Where the first of them is there and matches, as CPython's."""
    f = names_of('class K:\n    A = "a"\ndef f(p, x):\n    match p:\n        case {"a": 1, K.A: _}: return x\n    return x * 2\n')["f"]
    g = janus.function(f, measure=False)
    for p in ({"a": 1}, {"b": 1}, {"a": 2}, {}) * 2:
        outcomes = []
        for call in (f, g):
            try:
                outcomes.append(call(p, janus.ones(2)).tolist())
            except ValueError as e:
                outcomes.append(str(e))
        assert outcomes[0] == outcomes[1]


PROGRAM = """
w = janus.tensor([[0.5, -0.25], [1.0, 0.75]], requires_grad=True)
def run(p, x):
    match p:
        case {"op": "leaf"}: return x @ w
        case {"op": "lin", "of": inner}: return janus.tanh(run(inner, x) @ w)
        case {"op": "scale", "by": by, "of": inner}: return run(inner, x) * by
        case {"op": "add", "of": [l, r]}: return run(l, x) + run(r, x)
        case _: raise ValueError(p)
def step(p, x):
    loss = run(p, x).sum()
    loss.backward()
    return loss.detach()
"""


def test_programs_as_dicts_are_one_graph():
    """A recursion over programs of any shape: all but the first calls are one graph's."""
    leaf = {"op": "leaf"}

    def tree(n):
        if n == 0:
            return leaf
        kinds = ({"op": "lin", "of": tree(n - 1)}, {"op": "scale", "by": 0.5 + n, "of": tree(n - 1)}, {"op": "add", "of": [tree(n - 1), tree(n // 2)]})
        return kinds[(n * 7 + 3) % 3]

    def ran(**options):
        names = names_of(PROGRAM, janus=janus)
        step = janus.function(names["step"], measure=False, **options) if options else names["step"]
        out = [flat([step(tree(k % 9), janus.tensor([1.0, 0.5]))]) for k in range(40)]
        return out, names["w"].grad.tolist(), step.stats()["graph"] if options else 0

    want, gradient, _ = ran()
    for numerics in ("fast", "exact"):
        got, mine, graphs = ran(numerics=numerics)
        assert got == want
        assert sum(mine, []) == pytest.approx(sum(gradient, []), rel=1e-5)
        assert graphs >= 24, graphs


REGISTERED = """
import collections.abc
class C:
    def __len__(self): return 2
    def __getitem__(self, k): return k
    def get(self, k, otherwise=None): return 5.0
class D(C): pass
class Node:
    def __init__(self, v, *kids): self.v, self.kids = v, kids
o, tree = D(), Node(D(), Node([1.0, 2.0]), Node({"k": 3.0}, Node(D())))
def take(v, x):
    match v:
        case {PATTERN}: return x * 7 + 1
        case _: return x * 2
def walk(t, x):
    x = take(t.v, x)
    for k in t.kids: x = walk(k, x)
    return x
def f(x): {BODY}
"""


@pytest.mark.parametrize("body", ["return take(o, x)", "return walk(tree, x)", "return [take(v, x) for v in (o, [1.0], o)]", "return take(D(), x)"])
@pytest.mark.parametrize("pattern", ['{"k": k}', "{}", "[k, *_]", "[0, 1]", "[_, _]"])
def test_classes_registered_later(pattern, body):
    """With Sequence or Mapping: the class is one of the patterns' from then on, though nothing in it is another."""
    text, graphs = REGISTERED.replace("{PATTERN}", pattern).replace("{BODY}", body), 0
    for change in share(["Mapping.register(C)", "Sequence.register(D)", "Mapping.register(C); Sequence.register(D)", "Sized.register(C)"]):
        seen = []
        for how in (None, {"measure": False, "verify": "never"}):
            names = names_of(text, janus=janus)
            f = janus.function(names["f"], **how) if how else names["f"]
            seen.append([])
            for k in range(9):
                if k == 5:
                    exec("\n".join(f"collections.abc.{c}" for c in change.split("; ")), names)
                try:
                    seen[-1].append(flat([f(janus.tensor([1.0, 1.5]) * k)]))
                except Exception as e:
                    seen[-1].append((type(e).__name__, str(e)))
        assert seen[0] == seen[1], (text, change)
        graphs += f.stats()["graph"]
    assert graphs
