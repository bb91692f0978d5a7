# SPDX-License-Identifier: Apache-2.0
"""janus.export and janus.load_graph: the same results without the program, and what cannot be taken along."""
import json
import os
import subprocess
import sys

import pytest

import janus
from janus import nn


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


def same(a, b):
    if isinstance(a, janus.Tensor):
        return type(b) is janus.Tensor and a.shape == b.shape and a.dtype == b.dtype and janus.allclose(a, b)
    if isinstance(a, dict):
        return type(a) is type(b) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


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
            assert same(want_of(x, 2.5), g(x, 2.5))
    assert same(g(janus.ones(2, 3), 2.5), g(x=janus.ones(2, 3), k=2.5))
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
        return x if node is None else walks(node.value, x) + 1

    def tracked(x):
        return {"same": x}

    def view(x):
        y = x + 1
        return y, y[0]

    for f, args, why in ((writes, (janus.ones(2),), "writes to objects"), (reads, (janus.ones(2),), "no graph was made"),
                         (walks, (Node(Node(None)), janus.ones(2)), "plain values, got a Node"),
                         (walks, ([janus.ones(2)], janus.ones(2)), "plain values, got a list"),
                         (view, (janus.ones(2),), "clone"),
                         (tracked, (janus.ones(2),), "not made of new tensors")):
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
