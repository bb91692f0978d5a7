# SPDX-License-Identifier: Apache-2.0
"""Every program of the differential suite under janus.deferred(), against itself run outside."""

import importlib
import pathlib
import sys

import pytest

import janus

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from diff import harness  # noqa: E402

for path in sorted((pathlib.Path(__file__).parent / "diff").glob("prog_*.py")):
    importlib.import_module("diff." + path.stem)

NAMES = sorted(harness.CASES)


# Several steps of an optimizer make more of a rounding than one op does.
FAST = (2e-4, 1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_program(name):
    """Undecorated, and with what is recorded run after every n-th op (0: when somebody asks)."""
    prog, _ = harness.CASES[name]
    want = harness.run(prog, lambda f: f)
    for flush_after in (0, 0, 1, 2, 3, 7):  # the second time, the kinds of calls are known from the start
        with janus.deferred(numerics="exact", max_ops=flush_after):
            got = harness.run(prog, lambda f: f)
        harness.compare(f"{name}, {flush_after}", want, got, True)
    with janus.deferred():
        got = harness.run(prog, lambda f: f)
    assert got[1:] == want[1:]
    assert len(got[0]) == len(want[0])
    for i, (w, g) in enumerate(zip(want[0], got[0])):
        assert harness.close(w, g, False, FAST), f"observation {i}: {w} outside, {g} inside"
