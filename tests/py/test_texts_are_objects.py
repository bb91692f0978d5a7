# SPDX-License-Identifier: Apache-2.0
"""Texts with numbers of the graph are one object each, wherever they go: ways to make them x what is done with them."""
import pytest

import janus
from shares import share
from texts import names_of

TEXT = """
class Tree:
    def __init__(self, v, *kids):
        self.v, self.kids, self.name = v, list(kids), 'name%s' % v

empty = ''

def walk(t, s, l):
    l.append(s)
    for kid in t.kids:
        walk(kid, s, l)

def f(y, n, q, t):
    s = {make}
    l, d, w = [], {{}}, None
    {body}
    return l, d, s, w, t.name, y * 2
"""
MAKE = ["f'{n + 1}a'", "f'a{q * 2}'", "str(n + 1)", "f'{n:d}'", "str(q * 3)", "'%d' % (n + 1)", "'{}'.format(n + 1)", "f'{y.sum().item()}'", "str(n + 1) + 'b'", "f'{t.name}'", "f'{y[0]:.0f}'",
        "str([n + 1])", "'-'.join([str(n + 1), 'x'])"]
PATHS = ["if y.sum() > 2:\n        l.append(s)\n    l.append(s)", "l.append(s)\n    if y.sum() > 2:\n        l.append(s)", "if y.sum() > 2:\n        l.append(s)\n    else:\n        l.append(s)",
         "for i in range(n):\n        l.append(s)", "for kid in t.kids:\n        l.append(s)", "while y.sum() < 6:\n        y = y * 2\n        l.append(s)", "walk(t, s, l)",
         "while y.sum() < 6:\n        y = y * 2\n        w = f'{y.sum().item()}'\n        if y.sum() > 3:\n            l.append(w)\n        l.append(w)",
         "if y.sum() > 2:\n        d['a'] = s\n    d['b'] = s", "w = [s for i in range(n)]"]
MADE = ["w = s + ''", "w = '' + s", "w = s + empty", "w = empty + s", "w = ''.join([s])", "w = 'x'.join((s,))", "w = ''.join([s, ''])", "w = f'{s}'", "w = f'{s!s}'", "w = f'{s}{empty}'",
        "w = f'{empty}{s}'", "w = str(s)", "w = format(s)", "w = s is s", "w = s is f'{n:d}'", "w = s is str(n)", "w = ''.join([t.name])", "w = f'{t.name}{empty}'", "w = f'{empty}' + f'{t.name}'", "w = t.name + ''",
        "w = s[:], s.strip()", "w = [''.join([kid.name]) for kid in t.kids]\n    l = [kid.name for kid in t.kids]", "t.name = ''\n    l.append(f'{t.name}' + s)", "t.name = ''\n    l.append(f'{t.name}{s}')",
        "t.name = s\n    w = t.name is s", "l.append(s)\n    w = l[0] is s", "w = f'{n:d}' is f'{n:d}'"]
CASES = [(make, body) for body in PATHS + MADE for make in MAKE]


def shape(v, ids):
    """What it holds, and which texts are one."""
    if type(v) is str:
        return v, ids.setdefault(id(v), len(ids))
    if isinstance(v, janus.Tensor):
        return v.tolist()
    if isinstance(v, dict):
        return [(k, shape(x, ids)) for k, x in v.items()]
    return [shape(x, ids) for x in v] if isinstance(v, (list, tuple)) else v


def observed(make, body, decorate):
    names = names_of(TEXT.format(make=make, body=body), janus=janus)
    f, tree, seen, kept = decorate(names["f"]), names["Tree"], [], []
    for n, q, y in ((1, 0.5, 0.5), (2, 2.0, 1.0), (3, 0.5, 2.0), (2, 1.0, 0.5), (5, 0.5, 1.0), (12, 2.0, 2.0), (3, 3.0, 0.5)):
        t = tree(1.0, tree(2.0), tree(3.0)) if n % 2 else tree(0.5)
        kept.append(f(janus.tensor([y, 0.5]), n, q, t))
        seen.append(shape(kept[-1], {}))
    return seen, f


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning", "ignore::SyntaxWarning")
@pytest.mark.parametrize("body", PATHS + MADE)
def test_as_undecorated(body):
    for make in share(MAKE):
        expected, _ = observed(make, body, lambda f: f)
        seen, _ = observed(make, body, lambda f: janus.function(f, measure=False, verify="never"))
        assert seen == expected, make


def test_graphs_run():
    graphs = 0
    for make, body in CASES[:5 * len(MAKE):len(MAKE)]:
        _, f = observed(make, body, lambda f: janus.function(f, measure=False))
        graphs += f.stats()["graph"] >= 2 and f.stats()["disproved"] == 0
    assert graphs >= 4
