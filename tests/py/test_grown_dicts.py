# SPDX-License-Identifier: Apache-2.0
"""Dicts that a function makes longer at every call under the number that is their length: a few graphs serve all calls.
Ways to grow x what is stored x what is read of the dict x what it holds before and between the calls."""
import itertools
import pathlib
import sys

import janus
import pytest

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from diff import harness  # noqa: E402
from texts import code_of  # noqa: E402

GROWN = {
    "length": "memo[len(memo)] = {v}",
    "named": "n = len(memo)\n    memo[n] = {v}",
    "offset": "memo[len(memo) + 1] = {v}",
    "negative": "memo[-len(memo)] = {v}",
    "half": "memo[len(memo) // 2] = {v}",
    "twice": "memo[len(memo)] = {v}\n    memo[len(memo)] = {v}",
    "float": "memo[len(memo) * 1.0] = {v}",
    "text": "memo[str(len(memo))] = {v}",
    "taken out": "memo[len(memo)] = {v}\n    if len(memo) > 5: memo.clear()",
    "default": "memo.setdefault(len(memo), {v})",
    "update": "memo.update({{len(memo): {v}}})",
}
VALUES = {"result": "y", "number": "k * 2", "constant": "1.5", "argument": "x", "tuple": "(k, y)", "list": "[y]", "text": "'a'"}
READ = {"nothing": "0", "before": "n0", "length": "len(memo)", "first": "memo[0]", "whole": "list(memo)", "has": "1 in memo, 99 in memo",
        "values": "[v for v in memo.values()]"}
BEGINS = {"empty": {}, "one": {0: 0.5}, "some": {0: 0.5, 1: 2, "x": 3}, "equal": {True: 1, 2.0: "b"}, "behind": {0: 1.5, 3: 1, 7: 2}}
SERVED = ("length", "named", "offset")
HEAD = """
def f(box, x, k):
    memo = box.memo
    n0 = len(memo)
    y = x * k
    {grown}
    return y + 1, {read}
"""


def program(source, begins):
    code = code_of(source)

    def prog(function, log):
        space = {"janus": janus}
        exec(code, space)
        f = function(space["f"])
        box = type("Box", (), {})()
        box.memo = dict(BEGINS[begins])
        for i in range(12):
            log.raises(f, box, harness.t(3, seed=i), 2.0)
            log(box.memo, [type(key).__name__ for key in box.memo])
            if i == 6:
                box.memo[len(box.memo)] = "between"
            if i == 8:
                box.memo = {**box.memo, 2.5: 1}
    return prog


@pytest.mark.parametrize("value", sorted(VALUES))
@pytest.mark.parametrize("grown", sorted(GROWN))
def test_grown(grown, value):
    for read, begins in itertools.product(sorted(READ), sorted(BEGINS)):
        source = HEAD.format(grown=GROWN[grown].format(v=VALUES[value]), read=READ[read])
        recorder = harness.Recorder(verify="never", measure=False)
        want, got = (harness.run(program(source, begins), f) for f in (lambda f: f, recorder))
        harness.compare(f"{grown}, {value}, {read}, {begins}", want, got, False)
        if grown in SERVED and read in ("nothing", "before") and begins == "one":
            assert recorder.total("graph") >= 8 and recorder.total("conversions") <= 4, source
