# SPDX-License-Identifier: Apache-2.0
"""janus.export and janus.load_graph: the same results without the program, and what cannot be taken along."""
import json
import os
import re
import subprocess
import sys

import pytest

import janus
from janus import nn
from compared import close


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 4)
        self.twin = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.scale = 2.0
        with janus.no_grad():
            self.twin.weight.copy_(self.second.weight)

    def forward(self, x, k=1):
        y = self.norm(janus.relu(self.first(x)))
        for _ in range(3):
            y = janus.tanh(self.second(y)) + self.twin(y) * k
        if y.sum() > 0:
            y = y * self.scale
        return {"y": y, "parts": (y[0].clone(), [y.sum(), 3, "text", None])}


@pytest.mark.parametrize("decorate", [lambda f: f, janus.function], ids=["plain", "decorated"])
def test_a_module(tmp_path, decorate):
    net = Net().eval()
    want_of = net.forward
    janus.export(decorate(net), tmp_path / "net", janus.ones(2, 3), 2.5)
    g = janus.load_graph(tmp_path / "net")
    assert {"x", "self.first.weight", "self.norm.running_mean"} <= set(g.names)
    for seed in range(5):
        x = janus.randn(2, 3, generator=janus.Generator().manual_seed(seed))
        with janus.no_grad():
            assert close(want_of(x, 2.5), g(x, 2.5))
    assert close(g(janus.ones(2, 3), 2.5), g(x=janus.ones(2, 3), k=2.5))
    assert 'self.first.weight' in (tmp_path / "net" / "graph.jir").read_text()
    assert ("self.second.weight" in g.weights) != ("self.twin.weight" in g.weights)  # equal ones are stored once
    assert not g(janus.ones(2, 3), 2.5)["y"].requires_grad


def test_in_a_process_of_its_own(tmp_path):
    net = Net().eval()
    x = janus.randn(2, 3)
    janus.export(net, tmp_path / "net", x)
    with janus.no_grad():
        want = net(x)["y"]
    janus.save({"x": x, "want": want}, tmp_path / "x.safetensors")
    code = ("import janus, sys\nd = janus.load(sys.argv[1] + '/x.safetensors')\ng = janus.load_graph(sys.argv[1] + '/net')\n"
            "assert janus.allclose(g(d['x'])['y'], d['want'])\nprint('same')")
    r = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, env=os.environ, timeout=60)
    assert r.stdout == "same\n", r.stderr


def test_functions_and_closures(tmp_path):
    w = janus.tensor([1.0, 2.0])

    def f(a, b):
        return a * w + b

    janus.export(f, tmp_path / "f", janus.ones(2), janus.zeros(2))
    g = janus.load_graph(tmp_path / "f")
    assert set(g.weights) == {"w"} and g(janus.ones(2), janus.ones(2)).tolist() == [2.0, 3.0]
    g.weights["w"][0] = 5.0
    assert g(janus.ones(2), janus.ones(2)).tolist() == [6.0, 3.0] and w.tolist() == [1.0, 2.0]


def test_what_is_wrong_is_said(tmp_path):
    def f(a, b):
        return a + b

    janus.export(f, tmp_path / "f", janus.ones(2), janus.ones(2))
    g = janus.load_graph(tmp_path / "f")
    with pytest.raises(TypeError, match="needs the argument b"):
        g(janus.ones(2))
    with pytest.raises(TypeError, match="has no argument c"):
        g(janus.ones(2), janus.ones(2), c=1)
    with pytest.raises(TypeError, match="a str cannot be given here"):
        g("x", janus.ones(2))
    for wrong in (janus.ones(3), janus.ones(2, dtype=janus.int64)):
        with pytest.raises((ValueError, RuntimeError, TypeError)):
            g(wrong, janus.ones(2))
    with pytest.raises(OSError):
        janus.load_graph(tmp_path / "nothing")
    (tmp_path / "f" / "graph.jir").write_text("module {")
    with pytest.raises((ValueError, RuntimeError)):
        janus.load_graph(tmp_path / "f")
    (tmp_path / "f" / "signature.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(ValueError, match="no known format"):
        janus.load_graph(tmp_path / "f")


class Node:
    def __init__(self, value):
        self.value = value


def test_what_cannot_be_taken_along(tmp_path):
    seen = []

    def writes(x):
        seen.append(x)
        return x * 2

    def reads(x):
        return x * len(open("/dev/null").read())

    def walks(node, x):
        return x if node is None else walks(node.value, x) + 1  # which is a graph

    other = [janus.ones(2)]

    def elsewhere(x, n):
        for o in other:
            x = x + o
        return x * n

    def hidden(x):
        return {len: x}

    def view(x):
        y = x + 1
        return y, y[0]

    for f, args, why in ((writes, (janus.ones(2),), "reads seen, an object that is no argument"), (reads, (janus.ones(2),), "no graph was made"),
                         (view, (janus.ones(2),), "clone"),
                         (hidden, (janus.ones(2),), "not made of tensors")):
        with pytest.raises(ValueError, match=why):
            janus.export(f, tmp_path / "none", *args)
    assert not (tmp_path / "none").exists()


def test_what_the_graph_takes_for_granted_is_checked(tmp_path):
    w = janus.ones(2)

    def f(a, b, k, mode, unused):
        if mode == "double":
            a = a * 2
        return a * k + b + w, unused.shape[0]

    x = janus.ones(2)
    janus.export(f, tmp_path / "f", x, x, 3, "double", janus.ones(7))  # one tensor twice: two arguments all the same
    g = janus.load_graph(tmp_path / "f")
    a, b = janus.tensor([1.0, 2.0]), janus.tensor([10.0, 20.0])
    y, n = g(a, b, 3, mode="double", unused=janus.zeros(7))
    assert y.tolist() == [17.0, 33.0] and n == 7
    for wrong in ((a, b, 4, "double", janus.ones(7)), (a, b, True, "double", janus.ones(7)), (a, b, 3.0, "double", janus.ones(7)),
                  (a, b, 3, "single", janus.ones(7)), (a, b, 3, "double", janus.ones(8)), (a, b, 3, "double", None)):
        if wrong[2] == 4 and "k" in g.names:
            continue
        with pytest.raises((ValueError, TypeError, RuntimeError), match="exported for|cannot be given|expected f32"):
            g(*wrong)
    with pytest.raises(TypeError, match="takes 5 arguments, got 6"):
        g(a, b, 3, "double", a, a)
    janus.export(f, tmp_path / "w", w, w, 3, "double", w)  # an argument that is a weight
    assert janus.load_graph(tmp_path / "w")(a, b, 3, "double", a)[0].tolist() == [17.0, 33.0]


class Tree:
    def __init__(self, *children, word=0, scale=1.0, mark=None):
        self.children, self.word, self.scale, self.mark = list(children), word, scale, mark


class Slotted:
    __slots__ = ("left", "right", "token")

    def __init__(self, left=None, right=None, token=None):
        self.left, self.right, self.token = left, right, token


class Sums(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.up = nn.Embedding(9, 4), nn.Linear(4, 4)

    def forward(self, node):
        h = self.words(janus.tensor([node.word])) * node.scale
        for child in node.children:
            h = h + self.up(self.forward(child))
        if node.mark:
            h = -h
        return janus.tanh(h)


class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.up = nn.Embedding(9, 4), nn.Linear(8, 4)

    def forward(self, node):
        if node.left is None:
            return self.words(node.token)
        return janus.tanh(self.up(janus.cat([self.forward(node.left), self.forward(node.right)], 1)))


def a_tree(seed, deep=0):
    n = (seed * 7 + deep) % 4 if deep < 4 else 0
    return Tree(*[a_tree(seed * 3 + i, deep + 1) for i in range(n)], word=seed % 9, scale=0.5 * (seed % 5), mark=seed % 3 == 0)


def a_pair(seed, deep=0):
    if deep and seed % 3 == 0 or deep > 4:
        return Slotted(token=janus.tensor([seed % 9]))
    return Slotted(a_pair(seed * 2 + 1, deep + 1), a_pair(seed + 4, deep + 1))


@pytest.mark.parametrize("model, make, cls", [(Sums, a_tree, Tree), (Pairs, a_pair, Slotted)])
def test_trees_as_arguments(tmp_path, model, make, cls):
    m = model().eval()
    janus.export(m, tmp_path / "m", make(5))
    signature = json.loads((tmp_path / "m" / "signature.json").read_text())
    assert [t["name"] for t in signature["types"]] == [cls.__qualname__]
    fields = signature["types"][0]["fields"]
    assert fields == ({"word": ["int"], "scale": ["float"], "children": ["list"], "mark": ["bool"]} if cls is Tree else
                      {"left": ["Slotted", "NoneType"], "right": ["Slotted", "NoneType"], "token": ["NoneType", "Tensor"]})
    g = janus.load_graph(tmp_path / "m", types=[Node, cls])
    for seed in range(20):
        t = make(seed)
        with janus.no_grad():
            assert close(m(t), g(t))
    with pytest.raises(ValueError, match=f"exported for a {cls.__name__}"):
        g(Node(3))
    with pytest.raises(ValueError, match=f"needs one class {cls.__name__}"):
        janus.load_graph(tmp_path / "m", types=[Node])
    if cls is Tree:
        t = make(5)
        t.children.append(Node(3))  # inside: found while the graph runs
        with pytest.raises(RuntimeError, match="assumption"):
            g(t)


class Tally:
    step = 2

    def __init__(self, word, left=None, right=None):
        self.word, self.left, self.right = word, left, right

    @property
    def leaf(self):
        return self.left is None

    def value(self, w):
        if self.leaf:
            return w * self.word
        return self.left.value(w) * self.step - self.right.value(w)


def a_tally(seed, deep=0):
    return Tally(seed % 5) if deep and (seed % 3 == 0 or deep > 4) else Tally(0, a_tally(seed * 2 + 1, deep + 1), a_tally(seed + 4, deep + 1))


def test_methods_of_nodes(tmp_path):
    def f(tree, w):
        return tree.value(w)

    janus.export(f, tmp_path / "m", a_tally(1), janus.ones(2))
    g = janus.load_graph(tmp_path / "m", types=[Tally])
    for seed in range(12):
        t, w = a_tally(seed), janus.tensor([1.0, float(seed)])
        assert close(f(t, w), g(t, w))
    t = a_tally(1)
    t.value = lambda w: w
    with pytest.raises(ValueError, match="whose value is that of their class"):
        g(t, janus.ones(2))


class Doubled(Tally):
    """Its methods are found in three ways."""
    step = (2,)

    @staticmethod
    def times(w, n):
        return w * n

    def value(self, w):
        if self.leaf:
            return self.times(w, self.word)
        return self.left.value(w) * self.step[0] - self.right.value(w)


@pytest.mark.parametrize("name, other", [("value", lambda w: w), ("times", lambda w, n: w), ("step", (3,))])
def test_a_node_that_hides_what_its_class_has(tmp_path, name, other):
    """Anywhere in the tree: the graph reads what is the node's own, or is not for such an object."""
    def again(t, cls):
        return t and cls(t.word, again(t.left, cls), again(t.right, cls))

    def f(tree, w):
        return tree.value(w)

    janus.export(f, tmp_path / "m", again(a_tally(1), Doubled), janus.ones(2))
    g = janus.load_graph(tmp_path / "m", types=[Doubled])
    t, w = again(a_tally(1), Doubled), janus.tensor([1.0, 3.0])
    assert close(f(t, w), g(t, w))
    nodes = [t]
    for node in nodes:
        nodes += [n for n in (node.left, node.right) if n]
    for node in nodes:
        setattr(node, name, other)
        try:
            assert close(g(t, w), f(t, w))
        except (RuntimeError, ValueError) as error:
            assert re.search("assumption|that of their class", str(error))
        delattr(node, name)
    assert close(f(t, w), g(t, w))


def by_lists(d, x):
    t = x * d["value"]
    for k in d["kids"]:
        t = t + by_lists(k, x)
    return t


def by_names(d, x):
    if d["left"] is None:
        return x * d["value"]
    return by_names(d["left"], x) - by_names(d["right"], x) * d["value"]


def a_dict(seed, deep=0, names=False):
    if names:
        end = deep and (seed % 3 == 0 or deep > 4)
        return {"value": 0.5 * (seed % 7), "left": None if end else a_dict(seed * 2 + 1, deep + 1, True),
                "right": None if end else a_dict(seed + 4, deep + 1, True)}
    return {"value": 0.5 * (seed % 7), "kids": [a_dict(seed * 3 + i, deep + 1) for i in range((seed * 7 + deep) % 4 if deep < 4 else 0)]}


@pytest.mark.parametrize("f, names", [(by_lists, False), (by_names, True)])
def test_trees_of_dicts(tmp_path, f, names):
    janus.export(f, tmp_path / "m", a_dict(5, names=names), janus.ones(2))
    signature = json.loads((tmp_path / "m" / "signature.json").read_text())
    assert {one["text"] for one in signature["inputs"] if "text" in one} == ({"value", "left", "right"} if names else {"value", "kids"})
    g = janus.load_graph(tmp_path / "m")
    for seed in range(20):
        d, x = a_dict(seed, names=names), janus.tensor([1.0, float(seed)])
        assert close(f(d, x), g(d, x))
    with pytest.raises(ValueError, match="exported for a dict"):
        g([], janus.ones(2))
    d = a_dict(5, names=names)
    d["left" if names else "kids"] = 3
    with pytest.raises(RuntimeError, match="assumption"):
        g(d, janus.ones(2))


def test_arguments_in_another_order_are_named(tmp_path):
    def f(x):
        return x * 2

    with pytest.raises(TypeError, match="expected a function or a Module, then the folder, got str"):
        janus.export(str(tmp_path), f, janus.ones(2))
    with pytest.raises(TypeError, match="expected the folder's path after the function, got Tensor"):
        janus.export(f, janus.ones(2), str(tmp_path))
