# SPDX-License-Identifier: Apache-2.0
"""What janus.load_graph says of a folder that is no export, or a damaged one: an OSError or ValueError that names it, at once.

Each value of each signature is taken away and replaced by others.  What loads all the same either gives a result or says at
the call what it needs; nothing ends the process.
"""
import copy
import json
import random
import shutil

import janus
import pytest
from janus import nn

OTHERS = [None, True, -1, 1, 10 ** 6, 2 ** 70, 1.5, "", "x", "attr", [], [3], ["result", 5], ["input", 0], {}, {"int": "x"}, {"text": "t"}]


class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right
        self.count = 0


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.n, self.calls = nn.Linear(2, 2), nn.BatchNorm1d(2), 0

    def forward(self, x, scale=2.0):
        self.calls = self.calls + 1
        return {"y": self.n(self.w(x)) * scale, "more": (x, 3, None), "again": [x * self.calls]}


def walk(node):
    if node.left is None:
        return node.value
    return (walk(node.left) + walk(node.right)).tanh()


def says(x, n):
    print("sum", x.sum(), n, sep=" of ")
    return x * n


def written(node, xs, d):
    node.count = node.count + 1
    return node.value * d["k"] + xs[0] * node.count


def tree():
    return Node(janus.ones(2), Node(janus.ones(2)), Node(janus.ones(2) * 2))


PROGRAMS = {"counting": (Counting, lambda: (janus.tensor([[1.0, 2.0], [3.0, 5.0]]), 2.0)),
            "says": (lambda: says, lambda: (janus.ones(2), 3)),
            "walk": (lambda: walk, lambda: (tree(),)),
            "written": (lambda: written, lambda: (tree(), [janus.ones(2)], {"k": 2.0}))}


@pytest.fixture(scope="module", params=PROGRAMS)
def exported(request, tmp_path_factory):
    make, args = PROGRAMS[request.param]
    folder = tmp_path_factory.mktemp(request.param) / "g"
    janus.export(make(), folder, *args())
    return folder, args


def copied(exported, tmp_path):
    shutil.copytree(exported[0], tmp_path / "g")
    return tmp_path / "g"


def loads(path, args):
    """Whether it loads; what it says if not is told with the folder's name."""
    try:
        g = janus.load_graph(path, types=[Node])
    except (ValueError, OSError) as error:
        assert str(path) in str(error), error
        return False
    try:
        g(*args())
    except (ValueError, TypeError, RuntimeError, AttributeError, IndexError) as error:
        assert str(error)
    return True


def places(value, at=()):
    """The way to each value of a signature."""
    if at:
        yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*at, key))


def test_signatures_of_which_something_was_changed(exported, tmp_path):
    path = copied(exported, tmp_path)
    whole, draw = json.loads((path / "signature.json").read_text()), random.Random(7)
    assert loads(path, exported[1])
    refused, tried = 0, 0
    for way in places(whole):
        for other in [..., *draw.sample(OTHERS, 4)]:
            signature = copy.deepcopy(whole)
            holder = signature
            for key in way[:-1]:
                holder = holder[key]
            if other is ...:
                del holder[way[-1]]
            else:
                holder[way[-1]] = other
            (path / "signature.json").write_text(json.dumps(signature))
            tried += 1
            refused += not loads(path, exported[1])
    assert refused > tried / 3


@pytest.mark.parametrize("name", ["signature.json", "graph.jir", "weights.safetensors"])
def test_files_that_are_missing_or_damaged(exported, tmp_path, name):
    path = copied(exported, tmp_path)
    data = (path / name).read_bytes()
    for k in (0, 1, len(data) // 2, len(data) - 3):
        (path / name).write_bytes(data[:k])
        assert not loads(path, exported[1]), k
    (path / name).write_bytes(b"\xff\xfe" + data)
    assert not loads(path, exported[1])
    (path / name).unlink()
    assert not loads(path, exported[1])
    (path / name).mkdir()
    assert not loads(path, exported[1])


def test_files_of_two_exports(tmp_path):
    for name in PROGRAMS:
        make, args = PROGRAMS[name]
        janus.export(make(), tmp_path / name, *args())
    for one in PROGRAMS:
        for other in PROGRAMS:
            mixed = tmp_path / f"{one}-{other}"
            shutil.copytree(tmp_path / one, mixed)
            shutil.copy(tmp_path / other / "graph.jir", mixed)
            assert loads(mixed, PROGRAMS[one][1]) == (one == other)


def test_what_is_no_export(tmp_path):
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(FileNotFoundError, match="no folder that janus.export wrote.*" + path.name):
            janus.load_graph(path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError, match="no folder that janus.export wrote"):
        janus.load_graph(tmp_path / "file")
    (tmp_path / "signature.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(ValueError, match="no known format: 99, and this version of janus reads 1 to"):
        janus.load_graph(tmp_path)
    for text in ("", "[1, 2", "[1]", "{}", '{"format": true}', '{"format": 2}', '{"format": 2, "inputs": 3}', "[" * 100000):
        (tmp_path / "signature.json").write_text(text)
        with pytest.raises(ValueError, match=tmp_path.name):
            janus.load_graph(tmp_path)
