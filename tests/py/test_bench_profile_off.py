# SPDX-License-Identifier: Apache-2.0
"""bench/profile_off.py: instructions are those of the lines that they are of, inlined or not, and not of what was called."""
import importlib.util
import os

import janus

PATH = os.path.join(os.path.dirname(__file__), "..", "..", "bench", "profile_off.py")
TEXT = """# callgrind format
version: 1
positions: line
events: Ir

ob=(1) /lib/x.so
fl=(1) /src/exec/run/run.c
fn=(1) jn_run_execute
12 5
fi=(2) /src/build/../exec/store/profile.h
+3 2
fe=(1)
-3 4
cfi=(3) /src/exec/store/store.c
cfn=(2) jn_store
calls=7 30
* 900
* 1
cfi=(2)
cfn=(3) jn_prof_clock
calls=1 9
13 50

fl=(3)
fn=(2)
30 60
fi=(2)
31 6
totals: 78
"""


def bench():
    spec = importlib.util.spec_from_file_location("profile_off", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_instructions_of_lines():
    assert bench().lines_of(TEXT) == {"/src/exec/run/run.c": 10, "/src/build/../exec/store/profile.h": 8,
                                      "/src/exec/store/store.c": 60}


def test_programs_run_and_are_graphs():
    for name, call in bench().programs().items():
        before = janus._C._replays()
        for _ in range(12):
            call()
        assert ("a graph" not in name) or janus._C._replays() > before, name
