# SPDX-License-Identifier: Apache-2.0
"""Allocations that fail, one position after the other: no crash, and no commit done by half (tests/py/walk)."""

import os
import subprocess
import sys

import pytest

WALK = os.path.join(os.path.dirname(__file__), "walk", "allocations.py")
PROGRAMS = "branch attributes tables again emptied lists recursion backward tracked train printing aliased".split()
SLOW = os.environ.get("JANUS_SLOW_TESTS") == "1"


def walk(program, allocator, moment, step):
    env = dict(os.environ, JANUS_VERIFY="never")
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", WALK, program, allocator, moment, str(step)],
        capture_output=True,
        text=True,
        env=env,
        timeout=3000,
    )
    if "no _testcapi" in done.stdout:
        pytest.skip("this CPython has no _testcapi")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"


@pytest.mark.parametrize("moment", ["first", "run"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_of_a_run_and_its_commit(program, moment):
    walk(program, "janus", moment, 1)
    walk(program, "python", moment, 1)
    walk(program, "none", moment, 1)


@pytest.mark.parametrize("program", PROGRAMS)
def test_of_a_conversion(program):
    walk(program, "janus", "convert", 1 if SLOW else 29)
    walk(program, "python", "convert", 1 if SLOW else 29)
