# SPDX-License-Identifier: Apache-2.0
"""Every program of the differential suite, decorated against undecorated."""

import importlib
import os
import pathlib
import sys

import pytest

import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from diff import harness  # noqa: E402

for path in sorted(pathlib.Path(__file__).parent.glob("prog_*.py")):
    importlib.import_module("diff." + path.stem)

NAMES = sorted(harness.CASES)
# Programs whose asserts are made to fail one after the other.
MODULES_FAILING = (
    "prog_aliases",
    "prog_ast",
    "prog_control",
    "prog_effects",
    "prog_globals",
    "prog_gradients",
    "prog_inplace",
    "prog_invariant",
    "prog_language",
    "prog_lengths",
    "prog_live",
    "prog_loops",
    "prog_match",
    "prog_objects",
    "prog_prints",
    "prog_programs",
    "prog_recursion",
    "prog_requires",
    "prog_suspend",
    "prog_vmap",
    "prog_wires",
)
FAILING = [n for n in NAMES if n.split(".")[0] in MODULES_FAILING]
# What is mapped outside a function is a graph of its own, in the undecorated run, too.
# A transposed operand that a gradient will read is kept row-major, and its product rounds otherwise.
LAST_BIT = ("prog_vmap.mapped_outside", "prog_attention.dropout")


@pytest.mark.parametrize("verify", ["never", "rarely", "always"])
@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_program(name, numerics, verify, monkeypatch):
    """never: every hit commits; rarely: the first and what they enter first are compared with CPython; always: all."""
    prog, graph = harness.CASES[name]
    monkeypatch.setenv("JANUS_VERIFY", verify)
    want = harness.run(prog, lambda f: f)
    recorder = harness.Recorder(numerics=numerics)
    got = harness.run(prog, recorder)
    harness.compare(name, want, got, numerics == "exact" and name not in LAST_BIT)
    if graph == harness.MUST or (graph == harness.FAST and numerics == "fast"):
        why = "\n".join(janus.explain(f) for f in recorder.made)
        assert recorder.total("graph"), f"{name} did not run as a graph\n{why}"
    assert not recorder.total("disproved")


# First steps of Adagrad make rounding of gradients near zero larger than the tolerance.
MADE_LARGER = ("prog_recursion.a_batch_of_trees_large_enough_for_lanes",)


@pytest.mark.parametrize("name", FAILING)
def test_every_assert_fails_once(name, monkeypatch):
    prog, _ = harness.CASES[name]
    numerics = "exact" if name in MADE_LARGER else "fast"
    want = harness.run(prog, lambda f: f)
    for n in range(1, 12):
        monkeypatch.setenv("JANUS_FAIL_ASSERT", str(n))
        got = harness.run(prog, harness.Recorder(numerics=numerics))
        monkeypatch.delenv("JANUS_FAIL_ASSERT")
        harness.compare(name, want, got, numerics == "exact")


def test_there_are_enough_programs():
    assert len(NAMES) >= 100


def test_most_programs_run_as_graphs():
    """Coverage of the converter must not shrink: GRAPHS counts programs that ran at least one graph."""
    ran = []
    for name in NAMES:
        recorder = harness.Recorder()
        harness.run(harness.CASES[name][0], recorder)
        if recorder.total("graph"):
            ran.append(name)
    missing = [n for n in NAMES if harness.CASES[n][1] and n not in ran]
    floor = int(os.environ.get("JANUS_DIFF_GRAPH_FLOOR", "0"))
    print(f"{len(ran)} of {len(NAMES)} programs ran as graphs; not yet: {', '.join(missing)}")
    assert len(ran) >= floor
