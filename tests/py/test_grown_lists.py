# SPDX-License-Identifier: Apache-2.0
"""Lists that a function makes longer at every call: a few graphs serve all calls, and which element is which object,
what it holds and requires, is as CPython leaves it.  Ways to grow x what is stored x what is read of the list."""
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
    "append": "log.append({v})",
    "extend": "log.extend([{v}, {v}])",
    "plus": "log += [{v}]",
    "slice": "log[len(log):] = [{v}]",
    "twice": "log.append({v})\n    log.append({v})",
    "insert": "log.insert(0, {v})",
    "replaced": "log[-1:] = [{v}, {v}]",
    "pushed out": "log.append({v})\n    if len(log) > 4:\n        log.pop(0)",
}
VALUES = {
    "number": "y.sum().item()", "result": "y", "gradient": "w.grad", "silent": "z", "argument": "x", "constant": "'a'",
    "tuple": "(k, z)", "kept": "w.grad if w.grad is not None else z",
}
READ = {"nothing": "0", "length": "len(log)", "last": "log[-1]", "known": "log[-1] is box.last, len(log) * k",
        "whole": "list(log)", "some": "log[-3:]"}
LONGER = ("append", "extend", "plus", "twice")  # of which nothing but the end is looked at
HEAD = """
def f(box, w, x, k):
    log = box.log
    y = (w * x).detach() * k
    with janus.no_grad():
        z = w + x
    w.grad = None
    (w * x * k).sum().backward()
    {grown}
    box.last = {value}
    return {read}, z
"""


def program(source):
    code = code_of(source)

    def prog(function, log):
        space = {"janus": janus}
        exec(code, space)
        f = function(space["f"])
        box = type("Box", (), {})()
        box.log, box.last = ["first"], None
        w = harness.t(3, seed=1, grad=True)
        for i in range(10):
            x = harness.t(3, seed=i)
            log(f(box, w, x, 2.0), box.log, box.last, w)
    return prog


@pytest.mark.parametrize("value", sorted(VALUES))
@pytest.mark.parametrize("grown", sorted(GROWN))
def test_grown(grown, value):
    for read, numerics in itertools.product(sorted(READ), ["fast", "exact"]):
        source = HEAD.format(grown=GROWN[grown].format(v=VALUES[value]), value=VALUES[value], read=READ[read])
        recorder = harness.Recorder(numerics=numerics, verify="never", measure=False)
        want, got = harness.run(program(source), lambda f: f), harness.run(program(source), recorder)
        harness.compare(f"{grown}, {value}, {read}", want, got, numerics == "exact")
        served = recorder.total("graph") + recorder.total("region_hits")
        least = 8 if grown in LONGER and read in ("nothing", "length", "last") else 5
        assert served >= least or read == "known", source
