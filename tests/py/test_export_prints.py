# SPDX-License-Identifier: Apache-2.0
"""Graphs that print, taken along: what janus.load_graph's function prints is what the program prints, in the same order."""
import io
import json
import sys

import janus
import pytest
from texts import names_of

PIECES = {"nothing": "", "tensor": "x", "several": "'a', x, 3, n", "number": "n", "kept": "k", "item": "x.sum().item()", "format": "f'{n}: {k!s} {x[1].item()}', x",
          "spec": "f'{n:4d}|{k:.2f}|{x[0].item():8.3f}'", "percent": "'%d of' % n, k", "tuple": "'%d %s %d' % (n, k, x.shape[0])",
          "call": "'{} and {}'.format(n, k), x.sum()", "text": "'no value'", "names": "'größe', x.shape[0]",
          "list": "[n, k, 'a', (x[0].item(),)], n", "fields": "'%s of %d%%' % ({'n': n}, n), '{} {}'.format([k], n)", "joined": "'-'.join(map(str, [n, k]))"}
ENDS = {"plain": "", "end": ", end=''", "sep": ", sep=' - '", "both": ", sep='', end='!\\n'", "flush": ", flush=True"}
WHERE = {"straight": "    print({})\n    return x * k\n",
         "twice": "    print({})\n    x = x + 1\n    print({})\n    return x\n",
         "branch": "    if x.sum() > 0:\n        print('up', x)\n        print({})\n    else:\n        print({})\n    return x * 2\n",
         "loop": "    while x.sum() < 20:\n        x = x * 2\n        print({})\n    return x\n",
         "function": "    def g(x, depth):\n        print({})\n        return x if x.sum() > 9 or depth > 4 else g(x * 2, depth + 1)\n    return g(x, 0)\n",
         "state": "    box.n = box.n + 1\n    print({}, box.n) if True else None\n    return x + box.n\n"}
CASES = [(w, p, e) for i, w in enumerate(WHERE) for j, p in enumerate(PIECES) for k, e in enumerate(ENDS) if (i + j + k) % 5 == 0]


class Box:
    def __init__(self):
        self.n = 0


def program(where, pieces, ends):
    what = PIECES[pieces]
    body = WHERE[where]
    if where == "state":
        body = body.replace("{}, box.n", "{}".format(what + ", " * bool(what) + "box.n") + ENDS[ends]).replace(" if True else None", "")
    else:
        body = body.replace("{}", (what or "''" * bool(ENDS[ends])) + ENDS[ends])
    return names_of(f"def f(x, n, k):\n{body}", box=Box())["f"]


def printed(f, args):
    """What it prints and gives for each call."""
    was, sys.stdout, out = sys.stdout, io.StringIO(), []
    try:
        for one in args:
            out.append(f(*one).tolist())
        return sys.stdout.getvalue(), out
    finally:
        sys.stdout = was


@pytest.mark.parametrize("where", WHERE)
def test_what_is_printed(where, tmp_path, capsys):
    calls = [(janus.tensor([1.0, 2.5]), 3, 0.5), (janus.tensor([-1.0, 4.0]), 3, 0.5), (janus.tensor([2.0, 2.0]), 3, 0.5)]
    refused = []
    for case in [c for c in CASES if c[0] == where]:
        path = tmp_path / "-".join(case)
        try:
            janus.export(program(*case), path, *calls[0], examples=calls[1:] if where in ("branch", "loop") else [])
        except ValueError as error:
            print(case, error, file=sys.stderr)
            refused.append(case)
            continue
        assert capsys.readouterr().out == ""  # of the calls that were made for it
        signature = json.loads((path / "signature.json").read_text())
        assert signature["format"] == 3 and signature["prints"], case
        assert printed(janus.load_graph(path), calls) == printed(program(*case), calls), case
    assert not refused


class Node:
    def __init__(self, value, *kids):
        self.value, self.kids = value, list(kids)


def walk(node):
    h = node.value * 1.0
    for kid in node.kids:
        h = h + walk(kid)
    print("at", node.value, "sum", h)
    return h


def test_recursions_print_in_their_order(tmp_path):
    t = janus.tensor
    tree = Node(t([1.0]), Node(t([2.0]), Node(t([3.0]))), Node(t([4.0])))
    other = Node(t([5.0]), Node(t([6.0])), Node(t([7.0]), Node(t([8.0]), Node(t([9.0])))))
    janus.export(walk, tmp_path / "walk", tree, examples=[(other,)])
    g = janus.load_graph(tmp_path / "walk", types=[Node])
    for root in (tree, other, tree):
        assert printed(g, [(root,)]) == printed(walk, [(root,)])


class Full:
    def write(self, text):
        raise OSError("no room")


def test_a_call_that_cannot_print_changes_nothing(tmp_path, monkeypatch):
    box = Box()

    def f(x):
        print("n", x)
        box.n = x * 2
        return x + 1

    janus.export(f, tmp_path / "f", janus.ones(2))
    g = janus.load_graph(tmp_path / "f")
    g(janus.ones(2))
    before = {name: value.tolist() for name, value in g.state.items()}
    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises((OSError, RuntimeError)):
        g(janus.zeros(2))
    assert {name: value.tolist() for name, value in g.state.items()} == before
