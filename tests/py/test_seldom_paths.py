# SPDX-License-Identifier: Apache-2.0
"""Paths that a graph does not have and that are seldom taken: the graph stays."""

import pathlib
import sys

import pytest
import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from diff import harness  # noqa: E402
from region_programs import clock, t  # noqa: E402


def test_a_path_that_is_seldom_taken_keeps_its_graph():
    """What runs every tenth time and is CPython's costs no conversion; what runs every third time is a statement of CPython's."""
    def main(function, log):
        @function
        def step(x, i, every):
            x = (x * 1.01 + i).tanh() + x
            if i % every == 0:
                clock()
            return x * 2

        for every in (10, 3):
            x = t(3)
            for i in range(80):
                x = step(x, i, every).tanh()
                log(x)
            log(x)

    want = harness.run(main, lambda f: f)
    recorder = harness.Recorder(regions=True, measure=False, verify="never")
    harness.compare("seldom", want, harness.run(main, recorder), False)
    assert recorder.total("conversions") < 12, janus.explain(recorder.made[0])
    assert recorder.total("ops_graph") > 4 * recorder.total("ops_eager"), janus.explain(recorder.made[0])
