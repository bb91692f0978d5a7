# SPDX-License-Identifier: Apache-2.0
"""janus.function(ladder=...): which way calls run, and that nobody can tell from what they do."""

import copy
import importlib
import logging
import os
import pathlib
import pickle
import random
import subprocess
import sys
import textwrap
import threading
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
    for at_once in ("", "1", "1", "1"):  # a history that comes the second time becomes a trace graph, the third is followed
        monkeypatch.setenv("JANUS_AT_ONCE", at_once)
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


@pytest.mark.parametrize("ladder", [TOGETHER, ("imperative",), ("coexecution", "imperative")])
def test_nothing_is_made_for_graphs_without_them(ladder):
    """No skeleton for regions of statements: making one takes longer than many an epoch."""
    program = f"""
        import sys
        import janus
        def scaled(x):
            return x * 2.0
        def epoch(x):
            print(end="")
            for _ in range(3):
                x = scaled(x).tanh()
            return x
        f = janus.function(epoch, ladder={ladder})
        for _ in range(40):
            f(janus.ones(3))
        print("janus._skeleton" in sys.modules, f.stats()["conversions"], f.stats()["graph"])
    """
    out = subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert out.stdout == "False 0 0\n", out.stdout + out.stderr


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


def trees(n, groups):
    """Ops of which at each depth n are of one kind, as an epoch over trees has them; or a chain of single ones."""

    def epoch(rows, w):
        time.time()
        if groups:
            for _ in range(6):
                rows = [(r @ w).tanh() for r in rows]
            return sum(r.sum() for r in rows).item()
        x = rows[0]
        for _ in range(6 * len(rows)):
            x = (x @ w).tanh()
        return x.sum().item()

    rows = [janus.full((1, n), 0.01 * i) for i in range(40)]
    return epoch, rows, janus.arange(float(n * n)).reshape(n, n) * 1e-4


def tried(f, call):
    """Calls until one was a trial, and some more; whether all did right."""
    right, most = True, 20000
    while right and most and not f.stats()["coexecution"]:
        right, most = call(), most - 1
    return right and most and all(call() for _ in range(30))


@pytest.mark.parametrize("ladder", [("coexecution", "imperative"), ("graph", "coexecution", "imperative")])
def test_few_groups_are_seen_at_once(ladder, capsys):
    epoch, rows, w = trees(4, False)
    f = janus.function(epoch, ladder=ladder, measure=True, regions=False)  # else a region has the loop
    want = epoch(rows, w)
    assert tried(f, lambda: f(rows, w) == want)
    stats = f.stats()
    assert stats["recorded"] <= 2 * 6 * len(rows) + 2
    assert "few of them can run in groups" in janus.explain(f)


def test_calls_with_few_ops_are_not_tried(capsys):
    f = janus.function(with_barrier, ladder=("coexecution", "imperative"), measure=True)
    for _ in range(20):
        f(janus.arange(3.0), 2)
    assert counts(f, "coexecution", "imperative") == (0, 20)
    assert "not co-executed" not in janus.explain(f)  # a run as short as this one is not looked at
    x, most = janus.arange(3.0), 100
    while "a call has few ops" not in janus.explain(f) and most:  # a tenth of a second, on any machine
        for _ in range(20000):
            f(x, 2)
        most -= 1
    assert most and counts(f, "coexecution") == (0,)


def test_groups_are_timed():
    """Whichever is found faster: every call gives what the function gives, and enough of both were timed."""
    epoch, rows, w = trees(128, True)
    f = janus.function(epoch, ladder=("coexecution", "imperative"), measure=True)
    want = epoch(rows, w)
    assert tried(f, lambda: abs(f(rows, w) - want) <= 1e-4 * abs(want) + 1e-5)
    assert f.stats()["coexecution"] >= 2 and f.stats()["imperative"] >= 4
    assert f.stats()["grouped"] > 0


def test_without_the_lowest_rung_nothing_is_measured():
    epoch, rows, w = trees(4, False)
    f = janus.function(epoch, ladder=TOGETHER, measure=True)
    for _ in range(10):
        f(rows, w)
    assert counts(f, "coexecution", "imperative") == (10, 0)


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


# ---- what is recorded meets what else happens


def test_nested_functions_record_together():
    @janus.function(ladder=TOGETHER)
    def cell(x, w):
        return (x @ w).tanh()

    graph = janus.function(lambda x: (x * 2.0).sum())

    @janus.function(ladder=TOGETHER)
    def whole(rows, w):
        time.time()
        outs = [cell(r, w) for r in rows]
        return outs, [graph(o) for o in outs[:2]]

    rows, w = [janus.full((1, 4), float(i)) for i in range(10)], janus.eye(4)
    for _ in range(3):
        outs, sums = whole(rows, w)
        assert [o.tolist() for o in outs] == [(r @ w).tanh().tolist() for r in rows]
        assert [s.item() for s in sums] == [(o * 2.0).sum().item() for o in outs[:2]]
    assert counts(cell, "coexecution", "recorded") == (30, 0)
    assert whole.stats()["grouped"] >= 10 and graph.stats()["graph"] > 0


@pytest.mark.parametrize("inner", ["fast", "exact"])
def test_nested_numerics_differ(inner):
    outer = "exact" if inner == "fast" else "fast"

    @janus.function(ladder=TOGETHER, numerics=inner)
    def f(x):
        return x + x

    @janus.function(ladder=TOGETHER, numerics=outer)
    def g(x):
        y = x * 3.0
        return f(y) + f(y) * y

    x = janus.arange(4.0)
    for _ in range(3):
        assert g(x).tolist() == (x * 6.0 + x * 6.0 * x * 3.0).tolist()
    assert f.stats()["recorded"] > 0 and g.stats()["recorded"] > 0


def numpy_in_a_node(h):
    numpy = pytest.importorskip("numpy")
    said.append(float(numpy.abs(h.detach().numpy()).sum()))


def log_in_a_node(h):
    logging.getLogger("ladder").warning("a node of %s", tuple(h.shape))


said = []
BARRIERS = {"clock": lambda h: time.time(), "logger": log_in_a_node, "numpy": numpy_in_a_node,
            "print": lambda h: print(tuple(h.shape)), "generator": lambda h: said.append(random.random())}


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("barrier", BARRIERS)
def test_recursion_with_a_barrier_in_each_node(barrier, numerics, capsys, caplog):
    """A clock, a logger, NumPy: values, gradients, what was seen, said and logged, with what is recorded run as late as can
    be and after every n-th op."""
    meet = BARRIERS[barrier]

    def plain(tree, w):
        if isinstance(tree, float):
            h = w * tree
        else:
            h = (plain(tree[0], w) + plain(tree[1], w)).tanh()
        meet(h)
        return h

    def observed(g, w):
        said.clear()
        caplog.clear()
        random.seed(3)
        y = g(((0.5, (0.25, 1.0)), ((0.75, 0.125), 0.5)), w)
        y.sum().backward()
        grad, w.grad = w.grad.tolist(), None
        return y.tolist(), grad, list(said), capsys.readouterr().out, [r.getMessage() for r in caplog.records]

    w = janus.tensor([1.0, -0.5, 0.25], requires_grad=True)
    want = observed(plain, w)
    for every in ("", "1", "2", "3", "7"):
        with pytest.MonkeyPatch.context() as m:
            m.setenv("JANUS_FLUSH_EVERY", every)
            f = janus.function(plain, ladder=TOGETHER, numerics=numerics)
            for _ in range(3):
                got = observed(f, w)
                assert got[3:] == want[3:] and all(harness.close(a, b, numerics == "exact") for a, b in zip(want[:3], got))
        assert counts(f, "calls", "coexecution") == (3, 3) and f.stats()["recorded"] > 0


def test_generators_and_coroutines():
    @janus.function(ladder=TOGETHER)
    def numbers(x):
        for i in range(3):
            x = x + x
            yield x * float(i)

    @janus.function(ladder=TOGETHER)
    async def later(x):
        return x + x

    @janus.function(ladder=TOGETHER)
    def driver(x):
        out = []
        for y in numbers(x):
            out.append(y + y)
        try:
            later(x).send(None)
        except StopIteration as stop:
            out.append(stop.value)
        return out

    x = janus.ones(2)
    assert [y.tolist() for y in numbers(x)] == [[0.0, 0.0], [4.0, 4.0], [16.0, 16.0]]
    for _ in range(2):
        assert [y.tolist() for y in driver(x)] == [[0.0, 0.0], [8.0, 8.0], [32.0, 32.0], [2.0, 2.0]]
    half = numbers(x)
    next(half)
    del half
    assert not janus._C._is_deferring()


def test_a_block_that_outlives_the_call():
    blocks = []

    @janus.function(ladder=TOGETHER)
    def f(x, enter):
        y = x + x
        if enter:
            blocks.append(janus.deferred())
            blocks[-1].__enter__()
        else:
            blocks.pop().__exit__(None, None, None)
        return y + x

    x = janus.ones(2)
    assert f(x, True).tolist() == [3.0, 3.0] and janus._C._is_deferring()
    assert f(x, False).tolist() == [3.0, 3.0] and not janus._C._is_deferring()


def test_errors_come_where_they_come_undecorated():
    def program(x, what):
        y = x + 1.0
        z = y @ janus.ones(7) if what == "shape" else y * 2.0
        if what == "index":
            z = janus.embedding(z, janus.tensor([9]))
        if what == "zero":
            z = janus.tensor([1]) // janus.tensor([0])
        if what == "own":
            raise KeyError(z.tolist())
        return z

    f = janus.function(program, ladder=TOGETHER)
    for what in ("shape", "index", "zero", "own", "none"):
        seen = []
        for g in (program, f):
            try:
                seen.append(g(janus.ones(3, 4), what).tolist())
            except Exception as e:
                tb = e.__traceback__
                while tb.tb_next:
                    tb = tb.tb_next
                seen.append((type(e), str(e), tb.tb_lineno, tb.tb_frame.f_code.co_name))
        assert seen[0] == seen[1]


def test_threads_share_a_function_and_tensors():
    w = janus.arange(16.0).reshape(4, 4) * 0.1

    @janus.function(ladder=TOGETHER)
    def f(rows, shared):
        time.sleep(0)
        outs = [(r @ w).tanh() for r in rows]
        shared.append(sum(outs))
        time.sleep(0)
        return [o + shared[-1] * 0.0 for o in outs]

    rows, wrong, shared = [janus.full((1, 4), 0.1 * i) for i in range(8)], [], []
    want = [(r @ w).tanh() for r in rows]

    def work():
        for _ in range(40):
            got = f(rows, shared)
            wrong.extend(1 for a, b in zip(got, want) if not janus.allclose(a, b))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and f.stats()["coexecution"] == 160


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_and_interrupt():
    program = """
        import os, signal, janus
        signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored in the background
        @janus.function(ladder=("coexecution",))
        def f(x, what):
            y = x + x
            if what == "fork":
                child = os.fork()
                z = (y + x).tolist()
                if child == 0:
                    os._exit(0 if z == [3.0, 3.0] else 1)
                assert os.waitpid(child, 0)[1] == 0
            if what == "interrupt":
                signal.raise_signal(signal.SIGINT)
            return y + x
        x = janus.ones(2)
        for what in ("", "fork", "interrupt", "fork", ""):
            try:
                print(f(x, what).tolist())
            except KeyboardInterrupt:
                print("interrupted", janus._C._is_deferring())
    """
    out = subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert out.stdout.splitlines() == ["[3.0, 3.0]"] * 2 + ["interrupted False"] + ["[3.0, 3.0]"] * 2, out.stderr


def test_a_tracer_sees_every_line():
    def program(x):
        y = x + x
        return y + x

    f, lines = janus.function(program, ladder=TOGETHER), []

    def trace(frame, event, arg):
        if frame.f_code is program.__code__:
            lines.append((event, frame.f_lineno - program.__code__.co_firstlineno))
        return trace

    f(janus.ones(2))
    sys.settrace(trace)
    try:
        f(janus.ones(2))
    finally:
        sys.settrace(None)
    assert [line for event, line in lines if event == "line"] == [1, 2]
