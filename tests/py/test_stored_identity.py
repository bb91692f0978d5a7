# SPDX-License-Identifier: Apache-2.0
"""A gradient, or a value computed without recording, that a graph stores in objects that only the run finds and that
leaves by other ways, too: one object stays one.  Ways to make it x pairs of places that it goes to, compared by
identity."""
import itertools
import pathlib
import sys

import janus
import pytest

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from diff import harness  # noqa: E402
from texts import code_of  # noqa: E402

MADE = {
    "gradient": "(w * x).sum().backward()\n{}v = w.grad",
    "added gradient": "(w * x).sum().backward()\n{}(w * w).sum().backward()\n{}v = w.grad",
    "gradient of a call": "(w * chain(x, node)).sum().backward()\n{}v = w.grad",
    "autograd.grad": "v, = janus.autograd.grad((w * x).sum(), [w])",
    "no_grad": "with janus.no_grad():\n{}    v = w * x",
    "no_grad of a gradient": "(w * x).sum().backward()\n{}with janus.no_grad():\n{}    v = w.grad * w",
    "no_grad of a call": "with janus.no_grad():\n{}    v = chain(w, node)",
    "no_grad, written": "with janus.no_grad():\n{}    v = w * x\n{}    v.add_(x)",
    "no_grad, an arm": "with janus.no_grad():\n{}    v = w * x if w[0] > 0 else w + x",
    "no_grad, rounds": "with janus.no_grad():\n{}    v = w * x\n{}    while v.sum() < 3:\n{}        v = v + 1",
    "argument": "v = x",
    "argument that requires grad": "v = u",
    "argument, recorded beside": "v = x\n{}box.found = w * x",
    "view of an argument": "v = x.detach()",
    "detached": "v = (w * x).detach()",
    "recorded": "v = w * x",
}
PLACES = {
    "node": "visit(node, v)",
    "kid": "for k in node.kids:\n{}    k.state = v",
    "list": "for k in node.kids:\n{}    k.found.append(v)",
    "dict": "for k in node.kids:\n{}    k.table['v'] = v",
    "tuple": "for k in node.kids:\n{}    k.found.append((k.word, v))",
    "arm": "if x.sum() > 0:\n{}    node.kids[-1].state = v",
    "rounds": "y = x\n{}while y.sum() < 3:\n{}    y = y + 1\n{}    node.kids[0].found.append(v)",
    "twice": "for k in node.kids:\n{}    k.state = v\n{}    k.found.append(v)",
    "given": "box.state = v",
    "grad": "u.grad = v",
    "result": "r = v",
    "deep result": "r = {{'v': [v, (x, v)]}}",
    "through": "r = through(node, v)",
    "chosen": "r = v if x.sum() > 0 else x",
    "used": "r = (u * v).sum(), v",
}
HEAD = """
def chain(y, node):
    return chain(y * 2, node.kids[0]) if node.kids else y + 1

def visit(node, v):
    node.state = v
    for k in node.kids:
        visit(k, v)

def through(node, v):
    node.found.append(v)
    return through(node.kids[0], v) if node.kids else v

"""


class Node:
    def __init__(self, word, kids=()):
        self.word, self.kids = word, list(kids)
        self.state, self.found, self.table = None, [], {}


def tree(depth, k=1):
    return Node(k, [tree(depth - 1, 2 * k + i) for i in range(1 + k % 2)] if depth else ())


def text(made, places):
    lines = [MADE[made], "r = None"] + [PLACES[p] for p in places] + ["return r"]
    return HEAD + "def f(node, box, w, u, x):\n" + "".join(f"    {i}\n" for i in lines).replace("{}", "    ").replace(
        "{{", "{").replace("}}", "}")


def program(source):
    code = code_of(source)

    def prog(function, log):
        space = {"janus": janus}
        exec(code, space)
        f = function(space["f"])
        for i in range(7):
            node, box = tree(i % 3 + 1), Node(0)
            w, u, x = harness.t(3, seed=i, grad=True), harness.t(3, seed=3, grad=True), harness.t(3, seed=i + 1)
            log(f(node, box, w, u, x), node, box, w, u, x)
    return prog


PAIRS = list(itertools.permutations(PLACES, 2))


@pytest.mark.parametrize("numerics,pairs", [("fast", PAIRS), ("exact", PAIRS[::5])])
@pytest.mark.parametrize("made", sorted(MADE))
def test_one_object_stays_one(made, numerics, pairs):
    wrong, graphs = [], 0
    for places in pairs:
        prog = program(text(made, places))
        recorder = harness.Recorder(numerics=numerics, verify="never", measure=False)
        want, got = harness.run(prog, lambda f: f), harness.run(prog, recorder)
        graphs += recorder.total("graph") > 0
        try:
            harness.compare(f"{made}, {places}", want, got, numerics == "exact")
        except AssertionError as e:
            wrong.append(str(e))
    assert not wrong, "\n".join([f"{len(wrong)} of {len(pairs)}"] + wrong[:3])
    assert graphs > len(pairs) / 3


STRIDED = {
    "turned": "v = janus.outer(w.detach(), x).t()",
    "expanded": "v = (x * 2).expand(4, 3)",
    "steps": "v = (x * 2)[::2]",
    "a column": "v = janus.outer(x, x)[:, 1]",
    "an expanded gradient": "v, = janus.autograd.grad(w.sum(), [w])",
    "silent": "with janus.no_grad():\n{}    v = janus.outer(w, x).t()",
}


def strides(o, out):
    if isinstance(o, janus.Tensor):
        out.append(o.stride())
    for x in o if isinstance(o, (list, tuple)) else o.values() if isinstance(o, dict) else vars(o).values() if isinstance(
            o, Node) else ():
        strides(x, out)
    return out


@pytest.mark.parametrize("place", sorted(set(PLACES) - {"grad", "chosen", "used"}))
@pytest.mark.parametrize("made", sorted(STRIDED))
def test_strides_of_what_is_stored(made, place, monkeypatch):
    monkeypatch.setitem(MADE, made, STRIDED[made])
    source = text(made, [place])

    def run(function):
        seen = []
        program(source)(function, lambda *found: seen.append([strides(o, []) for o in found]))
        return seen

    assert run(lambda f: f) == run(lambda f: janus.function(f, verify="never", measure=False)), source
