# SPDX-License-Identifier: Apache-2.0
"""janus.profile: what is recorded, the trace it writes, its tables, and that it ends whatever happens."""
import json
import os
import threading

import pytest

import janus
from janus import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.leaf, self.pair = nn.Embedding(100, 16), nn.Linear(32, 16)

    def forward(self, tree):
        if isinstance(tree, int):
            return self.leaf(janus.tensor([tree]))
        left, right = tree
        return janus.tanh(self.pair(janus.cat([self.forward(left), self.forward(right)], 1)))


def tree(n):
    return n % 100 if n < 2 else (tree(n // 2), tree(n - n // 2))


def profiled(path=None, calls=4):
    net = janus.function(Net(), verify="never")
    with janus.profile(path) as p:
        for n in range(calls):
            net(tree(20 + n)).sum().backward()
    return net, p


def test_all_that_runs_is_recorded():
    net, p = profiled()
    assert {"host", "flush", "group", "kernel", "eager", "guards", "commit", "convert", "imperative"} == set(p.kinds)
    assert p.kinds["convert"][1] == 1 and p.kinds["commit"][1] == net.stats()["graph"] == 3
    assert p.kinds["guards"][1] == 3 and p.kinds["imperative"][1] == 1 and p.lost == 0
    kernels = [e for e in p.events if e["kind"] == "kernel"]
    assert {"linear", "tanh", "embedding"} <= {e["name"] for e in kernels} <= {name for name, *_ in p.ops}
    assert max(e["n"] for e in kernels) > 8  # rows that ran together
    line = next(e["line"] for e in kernels if e["name"] == "tanh")
    with open(__file__) as file:
        assert "janus.tanh(" in file.read().split("\n")[line - 1]
    assert all(e["ns"] >= 0 and e["start"] >= 0 for e in p.events)


def test_the_trace_is_one_that_chrome_opens(tmp_path):
    _, p = profiled(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert len(events) == len(p.events) and {e["name"] for e in trace["traceEvents"] if e["ph"] == "M"} == {"process_name", "thread_name"}
    for e in events:
        assert {"ph", "name", "cat", "pid", "tid", "ts", "dur", "args"} == set(e) and e["dur"] >= 0
    for thread in {e["tid"] for e in events}:  # what begins inside another one ends there
        ends = []
        for e in sorted((e for e in events if e["tid"] == thread), key=lambda e: (e["ts"], -e["dur"])):
            while ends and ends[-1] <= e["ts"]:
                ends.pop()
            assert not ends or e["ts"] + e["dur"] <= ends[-1] + 1e-3, e
            ends.append(e["ts"] + e["dur"])


def test_discarded_runs_are_instants():
    @janus.function(verify="never", measure=False)
    def f(x):
        if x.sum() > 2:
            raise ValueError("large")
        return x * 2

    for _ in range(3):
        f(janus.ones(2) * 0.5)
    with janus.profile() as p:
        with pytest.raises(ValueError, match="large"):
            f(janus.ones(2) * 5)
    assert p.kinds["fallback"][1] == 1 and p.kinds["imperative"][1] == 1
    assert [e for e in p.trace()["traceEvents"] if e["ph"] == "i" and e["s"] == "t"]


def test_tables_and_explain(capsys):
    net, p = profiled()
    text = str(p)
    assert text == p.table() and " linear" in text and "test_profile.py:" in text and "host strand" in text
    assert [ns for _, ns, _, _ in p.ops] == sorted((ns for _, ns, _, _ in p.ops), reverse=True)
    e = janus.explain(net)
    timed = [line for s in e.facts["sources"] for line in s["lines"] if line["ns"]]
    assert timed and all(0 < line["share"] <= 1 for line in timed)
    place = {(file, line): ns for (file, line), ns, _, _ in p.lines}
    assert all(place[__file__, line["line"]] == line["ns"] for line in timed)


def test_one_at_a_time_and_ended_by_exceptions():
    with pytest.raises(KeyError):
        with janus.profile() as p:
            janus.ones(3) + 1
            with pytest.raises(ValueError, match="a profile is being recorded already"):
                with janus.profile():
                    pass
            raise KeyError
    assert [e["kind"] for e in p.events if e["name"] == "add"] == ["eager"]
    n = len(p.events)
    janus.ones(3) + 1
    assert len(p.events) == n
    with janus.profile(most=5) as few:
        for _ in range(10):
            janus.ones(3) + 1
    assert len(few.events) == 5 and few.lost and "events were lost" in str(few)


def test_threads_and_forks():
    f = janus.function(lambda x: (x * 2).sum(), verify="never", measure=False)
    for _ in range(3):
        f(janus.ones(4))
    with janus.profile() as p:
        threads = [threading.Thread(target=lambda: [f(janus.ones(4)) for _ in range(50)]) for _ in range(3)]
        for t in threads:
            t.start()
        child = os.fork()
        if not child:  # is not recorded, and comes to its end
            f(janus.ones(4))
            os._exit(0)
        for t in threads:
            t.join()
        assert os.waitpid(child, 0)[1] == 0
    assert p.kinds["host"][1] == 150 and len({e["thread"] for e in p.events}) == 3
