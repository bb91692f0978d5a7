# SPDX-License-Identifier: Apache-2.0
"""Functions are graphs as a whole or not at all: regions=False, JANUS_REGIONS=0, and who has regions without asking."""

import importlib
import os
import pathlib
import subprocess
import sys
import time

import pytest

import janus

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from diff import harness  # noqa: E402

# Of the differential programs those in which conversions are refused, or graphs discarded, most often.
MODULES = ("prog_absent", "prog_control", "prog_effects", "prog_language", "prog_live", "prog_objects", "prog_suspend")
for name in MODULES:
    importlib.import_module("diff." + name)
NAMES = sorted(n for n in harness.CASES if n.split(".")[0] in MODULES)


@pytest.mark.parametrize("share", range(6))
def test_programs(share):
    for name in NAMES[share::6]:
        prog, graph = harness.CASES[name]
        want = harness.run(prog, lambda f: f)
        recorder = harness.Recorder(regions=False, verify=("never", "rarely")[share % 2])
        harness.compare(name, want, harness.run(prog, recorder), False)
        assert not recorder.total("regions") and not recorder.total("disproved"), name
        assert recorder.total("graph") or graph not in (harness.MUST, harness.FAST), name


def made(**options):
    @janus.function(verify="never", measure=False, **options)
    def f(x):
        time.time()
        return (x * 2 + 1).sum()

    for _ in range(5):
        assert f(janus.ones(3)).item() == 9
    assert f.stats()["graph"] == 0
    return f.stats()["region_hits"]


@pytest.mark.skipif("JANUS_REGIONS" in os.environ, reason="JANUS_REGIONS says it for all")
def test_who_has_regions():
    assert made() == 3 and made(regions=None) == 3 and made(regions=True) == 3 and made(regions=False) == 0
    assert made(numerics="exact") == 3 and made(numerics="exact", regions=False) == 0


def test_the_environment():
    text = "import test_regions_off as t; print(t.made(), t.made(numerics='exact'), t.made(regions=True))"
    done = subprocess.run([sys.executable, "-c", text], env=dict(os.environ, JANUS_REGIONS="0"), timeout=120,
                          cwd=pathlib.Path(__file__).parent, capture_output=True, text=True, check=True)
    assert tuple(map(int, done.stdout.split())) == (0, 0, 3)
