# SPDX-License-Identifier: Apache-2.0
"""What the tests of regions of statements share."""

import pathlib
import sys
import time

import janus

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from diff import harness  # noqa: E402


def both(main, hits=1, modes=("always", "rarely", "never"), **options):
    """Runs main(function) decorated and not; what it returns must agree, and regions must have run."""
    want = harness.run(main, lambda f: f)
    for verify in modes:
        recorder = harness.Recorder(regions=True, measure=False, verify=verify, **options)
        got = harness.run(main, recorder)
        harness.compare(main.__name__, want, got, False)
        assert recorder.total("disproved") == 0, "\n".join(janus.explain(f) for f in recorder.made)
        if verify != "rarely":  # of every graph the first hit is compared
            assert recorder.total("region_hits") >= hits, "\n".join(janus.explain(f) for f in recorder.made)
    return recorder


def t(*shape, seed=0, grad=False):
    return harness.t(*shape, seed=seed, grad=grad)


def clock():
    return time.perf_counter()


class Net(janus.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = janus.nn.Linear(4, 8), janus.nn.Linear(8, 2)

    def forward(self, x):
        return self.b(janus.relu(self.a(x)))
