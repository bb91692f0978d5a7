# SPDX-License-Identifier: Apache-2.0
"""Attributes: every one of values of every kind, read in several ways, decorated against undecorated."""

import importlib.util
import pathlib
import re
import sys

import janus
import pytest

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from diff import generate_attributes, harness  # noqa: E402
from shares import EACH, share  # noqa: E402

PROGRAMS = list(generate_attributes.programs())
# Addresses, the names of the files, and the names of tape nodes.
LEFT_OUT = re.compile(r"(at )?0x[0-9a-f]+|attributes_\w+\.|grad_fn=<\w+>")


def shown(v):
    if type(v) is tuple:
        return tuple(shown(i) for i in v)
    return type(v).__name__, LEFT_OUT.sub("", repr(v))


def observe(call):
    try:
        return shown(call())
    except Exception as e:
        return "raised", type(e).__name__, LEFT_OUT.sub("", str(e))


@pytest.mark.parametrize("where", ["given", "made"])
def test_attributes(where, tmp_path):
    bad, graphs = [], 0
    for i, (name, text) in enumerate(p for p in PROGRAMS if p[0].startswith(where)):
        path = tmp_path / f"attributes_{i}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        recorder = harness.Recorder(verify="never")
        for plain, decorated in share(zip(module.make(lambda f: f), module.make(recorder))):
            want, got = observe(plain[2]), [observe(decorated[2]) for _ in range(3)]
            bad += [f"{name}: {plain[:2]}\n  undecorated {want}\n  decorated   {got}"] * any(g != want for g in got)
        graphs += recorder.total("graph") > 0
    assert not bad, f"{len(bad)} differ\n" + "\n".join(bad[:20])
    assert graphs > 10 // EACH, "hardly anything ran as a graph"


def tagged(value):
    p = janus.nn.Parameter(janus.tensor([1.0]))
    if value:
        p.no_decay = value
    return p


def decay(p):
    return p * 2 if getattr(p, "no_decay", False) else p * 3


def set_then_dict(o):
    o.v = 5
    return o.__dict__["v"]


def dict_then_set(o):
    d = o.__dict__
    o.v = 9
    return d["v"]


def through_dict(o):
    o.__dict__["v"] = 7
    return o.v


class Thing:
    def __init__(self):
        self.v = 1


def test_what_a_tensor_has_of_its_own():
    f = janus.function(decay)
    for _ in range(3):
        assert f(tagged(True)).item() == 2
        assert f(tagged(False)).item() == 3
    p = tagged(False)
    assert [f(p).item() for _ in range(3)] == [3] * 3
    p.no_decay = True
    assert [f(p).item() for _ in range(3)] == [2] * 3
    assert f.stats()["graph"] > 0


@pytest.mark.parametrize("prog", [set_then_dict, dict_then_set, through_dict])
def test_instance_dict(prog):
    f = janus.function(prog)
    for _ in range(4):
        assert f(Thing()) == prog(Thing())
