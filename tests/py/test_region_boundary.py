# SPDX-License-Identifier: Apache-2.0
"""The boundary of a region: a value of each kind goes in, out, is written, has a second name."""

import collections
import pathlib
import sys

import pytest
import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from region_programs import both, clock, t  # noqa: E402


Pair = collections.namedtuple("Pair", "a b")


class Box:
    def __init__(self, a, n):
        self.a, self.n = a, n


# kind -> (how a call's value is made, an expression that reads `x`, a statement that writes it or None)
KINDS = {
    "tensor": ("t(3, seed=s)", "x * 2", "x += 1"),
    "leaf": ("t(3, seed=s, grad=True)", "x.exp() * x", None),
    "leaf_unrecorded": ("t(3, seed=s, grad=True)", "x.exp()", "with janus.no_grad():\n        x.sub_(0.5)"),
    "history": ("t(3, seed=s, grad=True).exp()", "x.tanh() * 2", "x *= 2"),
    "view": ("t(4, seed=s)[1:]", "x * 2", "x += 1"),
    "view_with_history": ("t(4, seed=s, grad=True).exp()[1:]", "x.tanh()", "x *= 2"),
    "integers": ("janus.tensor([s, 2, 3])", "x + 1", "x += 2"),
    "zero_dim": ("t(seed=s)", "x * 2", "x += 1"),
    "int": ("s", "a * x", "x += 1"),
    "large_int": ("s + 2 ** 70", "x + 1", "x += 1"),
    "float": ("s / 4", "a + x", "x *= 2"),
    "bool": ("s % 2 == 0", "a * 2 if x else a + 1", "x = not x"),
    "str": ("'ab'[s % 2]", "x + 'c'", "x += 'd'"),
    "none_or_tensor": ("None if s % 2 else t(3, seed=s)", "a if x is None else a + x", "x = a"),
    "list": ("[t(3, seed=s), t(3)]", "x[0] + x[-1]", "x.append(a)"),
    "list_item": ("[t(3, seed=s), 4]", "len(x)", "x[0] = a"),
    "dict": ("{'k': t(3, seed=s)}", "x['k'] * 2", "x['n'] = a"),
    "tuple": ("(t(3, seed=s), s)", "x[0] + x[1]", "x = (x[1], a)"),
    "named_tuple": ("Pair(t(3, seed=s), s)", "x.a + x.b", "x = Pair(a, x.b)"),
    "range": ("range(s % 3 + 1)", "[a * i for i in x]", "x = range(2)"),
    "set": ("{1, s}", "len(x)", "x.add(7)"),
    "object": ("Box(t(3, seed=s), s)", "x.a + x.n", "x.a = a"),
    "object_added_to": ("Box(t(3, seed=s), s)", "x.a * 2", "x.n += 1"),
    "function": ("(lambda v: v * s)", "x(a)", "x = janus.tanh"),
    "iterator": ("iter([t(3, seed=s), t(3), t(3)])", "next(x)", "next(x)"),
    "module": ("janus.nn.Linear(3, 3)", "x(a).sum()", "x.weight = None"),
    "deque": ("collections.deque([t(3, seed=s)])", "x[0] + a", "x.append(a)"),
}
FORM = """
@function
def f(x, u):
    z = x
    clock()
    a = u * 2 + 1
    b = {read}
    c = a.exp() + a
    clock()
    {first}
    d = c * 2 + a
    e = d.tanh()
    {second}
    clock()
    g = {read}
    h = e + d.exp()
    clock()
    return x, z, {out}b, g, h, z is x


def calls():
    for s in range(7):
        x = {make}
        got = f(x, t(3, seed=s))
        yield shown(x), shown(got)
        for v in got:
            if isinstance(v, janus.Tensor) and v.requires_grad and not v.is_leaf:
                v.sum().backward(retain_graph=True)
        yield shown(x), shown(got)
"""


def shown(v):
    """Iterators have nothing to compare but how much is left."""
    if type(v) is tuple:
        return tuple(map(shown, v))
    return ("iterator", v.__length_hint__()) if hasattr(v, "__length_hint__") else v


HITS = {}


@pytest.mark.parametrize("kind", KINDS)
def test_boundary(kind, tmp_path):
    make, read, write = KINDS[kind]
    forms = {"read": ("pass", "pass", ""), "second_name": ("y = x", "pass", "y, "),
             "rebound": ("y = x", "x = y", "y, ")}
    if write:
        forms.update(written=(write, "pass", ""), written_behind=("y = x", write, "y, "),
                     written_twice=(write, write, ""))
    for form, (first, second, out) in forms.items():
        file = tmp_path / f"{kind}_{form}.py"
        file.write_text(FORM.format(make=make, read=read, first=first, second=second, out=out))
        code = compile(file.read_text(), str(file), "exec")

        def main(function, log, code=code):
            janus.manual_seed(0)
            names = dict(globals(), function=function, clock=clock, t=t)
            exec(code, names)
            log.raises(lambda: [log(*pair) for pair in names["calls"]()] and None)

        HITS[kind, form] = both(main, hits=0, modes=("rarely", "never")).total("region_hits")


def test_most_of_the_boundary_is_crossed():
    """What cannot cross stays CPython's; this counts the rest, after the tests above."""
    if len(HITS) < 100:
        pytest.skip("not all of test_boundary was run")
    assert sum(n > 0 for n in HITS.values()) >= 120, sorted(k for k, n in HITS.items() if not n)
