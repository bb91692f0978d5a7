# SPDX-License-Identifier: Apache-2.0
"""janus.function(ladder=...): which way calls run, and that nobody can tell from what they do."""

import copy
import importlib
import pathlib
import pickle
import sys
import time

import pytest

import janus

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from diff import harness  # noqa: E402

for path in sorted((pathlib.Path(__file__).parent / "diff").glob("prog_*.py")):
    importlib.import_module("diff." + path.stem)

NAMES = sorted(harness.CASES)
TOGETHER = ("coexecution",)


@pytest.mark.parametrize("name", NAMES)
def test_program(name, monkeypatch):
    """Co-executed, with what is recorded run after every n-th op (None: when somebody asks), against undecorated."""
    prog, _ = harness.CASES[name]
    want = harness.run(prog, lambda f: f)
    for flush_every in (None, "1", "2", "3", "7"):
        if flush_every:
            monkeypatch.setenv("JANUS_FLUSH_EVERY", flush_every)
        recorder = harness.Recorder(numerics="exact", ladder=TOGETHER)
        got = harness.run(prog, recorder)
        harness.compare(f"{name}, {flush_every}", want, got, True)
        assert recorder.total("graph") == recorder.total("conversions") == recorder.total("imperative") == 0
    monkeypatch.delenv("JANUS_FLUSH_EVERY")
    got = harness.run(prog, harness.Recorder(ladder=TOGETHER))
    assert got[1:] == want[1:] and len(got[0]) == len(want[0])
    for i, (w, g) in enumerate(zip(want[0], got[0])):
        assert harness.close(w, g, False, (2e-4, 1e-5)), f"observation {i}: {w} undecorated, {g} co-executed"


def with_barrier(x, n):
    time.time()
    for _ in range(n):
        x = (x * 1.01).tanh() + x
    return x


def counts(f, *names):
    stats = f.stats()
    return tuple(stats[n] for n in names)


def test_rungs():
    x = janus.arange(4.0)
    want = with_barrier(x, 3).tolist()
    used = {}
    for ladder in (TOGETHER, ("graph", "coexecution", "imperative"), ["graph", "coexecution"], ("imperative",), None):
        f = janus.function(with_barrier, ladder=ladder)
        for _ in range(5):
            assert f(x, 3).tolist() == want
        used[str(ladder)] = counts(f, "calls", "graph", "coexecution", "imperative", "conversions")
    assert used == {
        "('coexecution',)": (5, 0, 5, 0, 0),
        "('graph', 'coexecution', 'imperative')": (5, 0, 4, 1, 2),
        "['graph', 'coexecution']": (5, 0, 4, 1, 2),
        "('imperative',)": (5, 0, 0, 5, 0),
        "None": (5, 0, 0, 5, 2),
    }


def test_graphs_come_first():
    f = janus.function(lambda x: (x * 2.0).tanh(), ladder=("graph", "coexecution"))
    for _ in range(4):
        f(janus.arange(3.0))
    assert counts(f, "graph", "coexecution", "imperative") == (3, 0, 1)


def test_wrong_ladders(monkeypatch):
    def message(error, ladder):
        with pytest.raises(error, match="ladder") as e:
            janus.function(len, ladder=ladder)
        return str(e.value)

    assert "too late" in message(ValueError, ("imperative", "graph"))
    assert "too late" in message(ValueError, ("graph", "graph"))
    assert '"eager"' in message(ValueError, ("graph", "eager"))
    assert "no rung" in message(ValueError, ())
    assert "str" in message(TypeError, "graph")
    assert "int" in message(TypeError, (1,))
    monkeypatch.setenv("JANUS_LADDER", "graph,sometimes")
    with pytest.raises(ValueError, match='JANUS_LADDER.*"sometimes"'):
        janus.function(len)
    janus.function(len, ladder=TOGETHER)


def test_by_environment(monkeypatch):
    monkeypatch.setenv("JANUS_LADDER", "coexecution")
    f = janus.function(with_barrier)
    f(janus.arange(3.0), 2)
    assert counts(f, "coexecution", "imperative") == (1, 0)


def test_stats_and_explain(capsys):
    f = janus.function(with_barrier, ladder=("graph", "coexecution"))
    for _ in range(3):
        f(janus.arange(3.0), 2)
    stats = f.stats()
    assert stats["recorded"] > 0 and stats["flushes"] == stats["coexecution"] == 2
    assert stats["ops_eager"] == 3 * 6
    text = janus.explain(f)
    assert "2 co-executed, 1 imperative" in text and "runs co-executed:" in text and "ops recorded" in text


def test_copies_and_pickles_keep_it():
    class Callable:
        def __call__(self, x):
            return x + x

    f = janus.function(Callable(), ladder=TOGETHER)
    g = copy.deepcopy(f)
    g(janus.ones(2))
    assert counts(g, "coexecution") == (1,)
    h = pickle.loads(pickle.dumps(janus.function(with_barrier, ladder=TOGETHER)))
    h(janus.ones(2), 1)
    assert counts(h, "coexecution") == (1,)


def test_nothing_is_left_when_the_call_is_over():
    @janus.function(ladder=TOGETHER)
    def f(x):
        y = x + x
        assert janus._C._is_deferring()
        if x[0] > 0:
            raise KeyError("big")
        return y

    f(janus.zeros(2))
    with pytest.raises(KeyError):
        f(janus.ones(2))
    assert not janus._C._is_deferring()
    assert f.stats()["flushes"] >= 2
