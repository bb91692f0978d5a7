# SPDX-License-Identifier: Apache-2.0
"""Warnings of functions that are not as fast as they could be: docs/warnings.md's examples, and when nothing is said."""
import os
import pathlib
import re
import subprocess
import sys
import warnings

import pytest

import janus

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "warnings.md").read_text()
SECTIONS = dict(re.findall(r"^## (J\d{3})\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
EXAMPLES = [(code, i, text) for code, body in SECTIONS.items()
            for i, text in enumerate(re.findall(r"^```python\n(.*?)^```", body, re.M | re.S))]


def said(path, **env):
    """Codes and lines of the warnings that a program gives; it may show what the warning says of its source."""
    env = {**os.environ, "JANUS_MEASURE": "1", "JANUS_VERIFY": "never", **env}
    env.pop("PYTHONWARNINGS", None)
    r = subprocess.run([sys.executable, str(path)], env=env, capture_output=True, text=True, timeout=120)
    assert r.returncode == 0, r.stderr
    return re.findall(r"^(.*):(\d+): PerformanceWarning: (J\d{3}): ", r.stderr, re.M), r.stderr


def test_every_code_has_a_section():
    from janus import _words
    for n in range(1, 6):
        what, change = _words.text_of(janus.function(lambda x: x), n, "some reason")
        assert what and change
    assert sorted(SECTIONS) == [f"J00{n}" for n in range(1, 6)] and len(EXAMPLES) == 10


@pytest.mark.parametrize("code, place, text", EXAMPLES, ids=[f"{c}-{i}" for c, i, _ in EXAMPLES])
def test_examples(code, place, text, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(text)
    got, stderr = said(path)
    if code == "J004" and not place and not got:
        pytest.skip("this machine is too busy to find a tiny graph slow twice")
    assert [c for _, _, c in got] == ([] if place else [code]), stderr
    if place:
        return
    file, line, _ = got[0]
    if code == "J001":
        assert text.split("\n")[int(line) - 1].startswith("    return (x * 2 + len(open"), stderr
    if code != "J005":
        assert file == str(path)
    assert said(path, JANUS_QUIET="1")[0] == []


def storm():
    @janus.function
    def f(x, s):
        return x * s.count("a")

    for i in range(60):
        f(janus.ones(2), "a" * i)


def refused(function, *args, calls=40):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(calls):
            function(*args)
    return [str(w.message) for w in caught if w.category is janus.PerformanceWarning]


def test_once_for_a_function():
    def f(x):
        return x * len(os.listdir("/proc/self/task"))

    f = janus.function(f)
    first = refused(f, janus.ones(2), calls=200)
    assert len(first) == 1 and first[0].startswith("J001: test_once_for_a_function.<locals>.f runs imperatively")
    assert refused(f, janus.ones(2), calls=200) == []


def test_nothing_is_said_of_functions_without_tensors_nor_of_few_calls():
    names = janus.function(lambda path: sorted(os.listdir(path)))
    assert refused(names, "/proc/self", calls=100) == []
    few = janus.function(lambda x: x * len(os.listdir("/proc/self/task")))
    assert refused(few, janus.ones(2), calls=4) == []


def test_a_filter_may_make_it_an_exception():
    f = janus.function(lambda x: x * len(os.listdir("/proc/self/task")))
    raised = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", janus.PerformanceWarning)
        for _ in range(60):
            try:
                assert f(janus.ones(2)).tolist()
            except janus.PerformanceWarning as e:
                raised += 1
                assert str(e).startswith("J001")
    assert raised == 1


def test_reasons_name_what_the_user_wrote():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        storm()
    assert [str(w.message) for w in caught if "since the value of s keeps changing" in str(w.message)]

    class Net(janus.nn.Module):
        def forward(self, x, *rest):
            return x * rest[0].count("a")

    net = janus.function(Net())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(60):
            net(janus.ones(2), "a" * i)
    assert [str(w.message) for w in caught if "since the value of rest[0] keeps changing" in str(w.message)]
