# SPDX-License-Identifier: Apache-2.0
"""Comprehensions, lambdas and `:=` in regions of statements: whose variable a name is."""

import importlib.util
import itertools
import pathlib
import sys

import pytest
import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from diff import harness  # noqa: E402
from region_programs import t  # noqa: E402

# What else `v` is in the function: statements before, and behind.
ELSEWHERE = {
    "nothing": ("pass", "pass"),
    "bound_before": ("v = x * 3", "r.append(v)"),
    "bound_behind": ("pass", "v = x - 1; r.append(v)"),
    "bound_on_a_path": ("if n % 2:\n            v = x.exp() + 1", "r.append(v)"),
    "a_parameter": ("p = v", "r.append(v + p)"),
    "of_the_module": ("a = v_of() * 2 + x", "r.append(a * this.v)"),
    "of_a_lambda": ("g = (lambda v: v * 2 + 1)(x)", "r.append((lambda v: v + g)(x))"),
    "deleted": ("v = x * 2; del v", "r.append(x + 1 if n else v)"),
    "of_a_loop": ("for v in (x, x + 1): v = v * 2 + 1", "r.append(v)"),
    "annotated": ("v: object", "r.append(x + 1 if n else v)"),
}
COMPREHENSIONS = {
    "list": "[v * 2 + 1 for v in (x, x + 1)]",
    "set": "len({v for v in (1, 2, n)}) * x + 1",
    "dict": "{v: x * v + 1 for v in range(3)}",
    "generator": "sum(v.exp() for v in (x, x + 1))",
    "generator_kept": "list(v.exp() + 1 for v in (x, x + 1) if n > 1)",
    "nested": "[[v * w + 1 for v in (x, w)] for w in (x, x + 2)]",
    "nested_alike": "[[v * 2 for v in (v, v + 1)] for v in (x, x + 2)]",
    "two_loops": "[v + w for w in (x, x * 2) for v in (w, w + 1)]",
    "taken_apart": "[v * i + 1 for i, (v, w) in enumerate([(x, 1), (x + 1, 2)])]",
    "iterates_itself": "[v * 2 + 1 for v in (lambda v: (v, v + 1))(x)]",
    "with_a_lambda": "[(lambda: v * 2 + 1)() for v in (x, x + 1)]",
    "with_its_parameter": "[(lambda v, w=v: v + w)(v * 2) for v in (x, x + 1)]",
    "named": "[(q := v * 2) + 1 for v in (x, x + 1)] + [q]",
    "named_inside": "[(lambda: (q := v * 2) + q)() for v in (x, x + 1)]",
    "chosen": "[v * 2 for v in (x, -x) if v.sum() > 0]",
    "of_the_clock": "[v * 2 + x for v in (x, x + 1) if clock() > 0]",
    "a_lambda": "(lambda v: v * 2 + 1)(x)",
    "mapped": "list(map(lambda v: v * 2 + 1, (x, x + 1)))",
}
PLACES = {
    "at_the_end": "        y = x + 1\n        clock()\n        r.append({text})\n        r.append(y * 2)\n",
    "of_loops": "        for i in range(2):\n            clock()\n            y = {text}\n            r.append((y, x * i + 1))\n"
                "            clock()\n",
}
OF_THE_MODULE = """
this = sys.modules[__name__]
v = 7
def v_of():
    return this.v
"""
PROGRAM = """
from time import perf_counter as clock
import sys
{of_the_module}
def make(function):
    @function
    def f(x, n{parameter}):
        r = []
        {before}
{statements}        {behind}
        return r
    return f
"""


def load(name, text, folder, monkeypatch):
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_whose_variable_it_is(elsewhere, tmp_path, monkeypatch):
    hits = 0
    before, behind = ELSEWHERE[elsewhere]
    places = itertools.cycle(PLACES) if len(elsewhere) % 2 else itertools.cycle(reversed(PLACES))
    for number, (what, place) in enumerate(zip(COMPREHENSIONS, places)):
        text = PROGRAM.format(parameter=", v=5" if elsewhere == "a_parameter" else "",
                              of_the_module=OF_THE_MODULE if elsewhere == "of_the_module" else "", before=before,
                              behind=behind, statements=PLACES[place].format(text=COMPREHENSIONS[what]))
        module = load(f"comprehensions_{elsewhere}_{number}", text, tmp_path, monkeypatch)

        def main(function, log):
            f = module.make(function)
            for i in range(8):
                log.raises(f, t(3, seed=i), i % 3)

        want = harness.run(main, lambda f: f)
        recorder = harness.Recorder(regions=True, measure=False, verify="never")
        harness.compare(text, want, harness.run(main, recorder), False)
        hits += recorder.total("region_hits")
    assert hits > 10, janus.explain(recorder.made[0])
