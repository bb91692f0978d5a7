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


@pytest.mark.parametrize("flush_after", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("name", NAMES)
def test_program(name, flush_after):
    """Undecorated, and with what is recorded run after every n-th op (0: when somebody asks)."""
    prog, _ = harness.CASES[name]
    want = harness.run(prog, lambda f: f)
    for _ in range(2):  # the second time, the kinds of calls are known from the start
        with janus.deferred(max_ops=flush_after):
            got = harness.run(prog, lambda f: f)
        harness.compare(name, want, got, False)
