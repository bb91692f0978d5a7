# SPDX-License-Identifier: Apache-2.0
"""The converter's graphs against the goldens in tests/golden/py.

JANUS_UPDATE_GOLDEN=1 (make update-golden) writes them anew; look at the difference before committing it.
"""

import importlib.util
import os
import pathlib
import re
import subprocess

import pytest

import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

FOLDER = pathlib.Path(__file__).parent.parent / "golden" / "py"
spec = importlib.util.spec_from_file_location("golden_programs", FOLDER / "programs.py")
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)


def graph(name):
    f, calls = programs.PROGRAMS[name]
    janus.manual_seed(0)
    g = janus.function(f, measure=False)
    setattr(programs, name + "_again", g)  # what a recursion calls
    for call in calls:
        call(g)
    assert g.stats()["entries"], janus.explain(g)
    text = g.graphs()[0]
    text = re.sub(r'@"[^"]*/([^"/]+)":', r'@"\1":', text)  # where the sources are
    tokens = {}  # types are told by their addresses, which are low in an executable at a fixed place
    return re.sub(r"\bint (\d{6,})", lambda m: "int type-" + str(tokens.setdefault(m[1], len(tokens))), text)


@pytest.mark.parametrize("name", sorted(programs.PROGRAMS))
def test_golden(name):
    path = FOLDER / (name + ".jir")
    got = graph(name)
    if os.environ.get("JANUS_UPDATE_GOLDEN"):
        path.write_text(got, encoding="utf-8")
    assert path.exists(), f"{path} is missing: make update-golden"
    assert got == path.read_text(encoding="utf-8"), f"{name}: the graph is another one (make update-golden)"


def test_every_golden_has_its_program():
    assert {p.stem for p in FOLDER.glob("*.jir")} == set(programs.PROGRAMS)


TOOL = pathlib.Path(os.environ.get("JANUS_BUILD", ".")) / "tools" / "janus-graph"


@pytest.mark.skipif(not TOOL.exists(), reason="janus-graph is not built")
@pytest.mark.parametrize("name", ["recursion", "weights_passed_down", "training_step"])
def test_read_back(name):
    text = (FOLDER / (name + ".jir")).read_text(encoding="utf-8")
    text = re.sub(r"type-(\d+)", r"\1", text)
    assert subprocess.run([TOOL, "dump", "-"], input=text, capture_output=True, text=True, check=True).stdout == text


@pytest.mark.parametrize("name", ["arithmetic", "recursion", "while_loop"])
def test_twice_the_same(name):
    assert graph(name) == graph(name)
