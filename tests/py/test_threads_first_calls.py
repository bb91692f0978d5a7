# SPDX-License-Identifier: Apache-2.0
"""The first calls of a function come from several threads at once, while skeletons of its regions are made and taken away."""
import io
import linecache
import random
import sys
import threading

import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

PROGRAMS = {
    "regions": """
import io
import time
def g(x, n):
    out = []
    with io.StringIO() as s:
        for i in range(n):
            x = x * 2 + i
            s.write('%.2f' % time.time())
            out.append(i)
        try:
            x = x.sum()
            if n > 2:
                raise KeyError(n)
        except KeyError as e:
            out.append(e.args[0])
    return out, x
def f(k):
    time.time()
    r = [g(janus.ones(2), i) for i in range(k + 2)]
    s = 0
    for o, x in r:
        s = s + len(o)
    time.time()
    return s, (janus.ones(3).sum() * s).item()
""",
    "recursion": """
class N:
    def __init__(self, v, l=None, r=None):
        self.v, self.l, self.r = v, l, r
def make(d, x):
    return N(x) if d == 0 else N(x * d, make(d - 1, x), make(d - 2 if d > 1 else 0, x + 1))
def g(n, w):
    return (n.v * w).tanh() if n.l is None else g(n.l, w) + g(n.r, w)
def f(k):
    w = janus.ones(2, requires_grad=True)
    y = g(make(k, janus.ones(2)), w).sum()
    y.backward()
    return round(y.item(), 3), round(w.grad.sum().item(), 3)
""",
    "generators": """
import collections
def g(n):
    for i in range(n):
        yield janus.ones(2) * i
def f(k):
    d = collections.defaultdict(list)
    for i, x in enumerate(g(k + 2)):
        d[i % 2].append(x)
    t = [sum(v).sum().item() for v in d.values()]
    print(t, file=sink)
    return t
""",
    "training": """
class M(janus.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = janus.nn.Linear(2, 2)
        with janus.no_grad():
            self.a.weight.fill_(0.5)
            self.a.bias.fill_(0.1)
    def forward(self, x):
        return self.a(x).relu()
def g(m, o):
    o.zero_grad()
    loss = (m(janus.ones(1, 2)) ** 2).mean()
    loss.backward()
    o.step()
    return round(loss.item(), 4)
def f(k):
    m = M()
    o = janus.optim.SGD(m.parameters(), lr=0.1)
    return [g(m, o) for _ in range(k + 1)]
""",
}


@pytest.mark.parametrize("verify", ["never", "rarely", "always"])
@pytest.mark.parametrize("kind", PROGRAMS)
def test_first_calls_of_threads(kind, verify):
    wrong, interval = [], sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for turn in range(12):
            names = names_of(PROGRAMS[kind], janus=janus, __name__="program", sink=io.StringIO())
            want = [names["f"](k) for k in range(3)]
            f = janus.function(names["f"], verify=verify, measure=turn % 4 < 2)
            if turn % 2:
                names["g"] = janus.function(names["g"], verify=verify)
            begin = threading.Event()

            def work(seed):
                draw = random.Random(seed)
                begin.wait()
                for _ in range(12 if turn % 3 else 3):
                    k = draw.randrange(3)
                    try:
                        got = f(k)
                    except Exception as e:
                        got = e
                    if got != want[k]:
                        wrong.append((turn, k, got, want[k]))

            threads = [threading.Thread(target=work, args=(seed,)) for seed in range(5)]
            for t in threads:
                t.start()
            begin.set()
            for t in threads:
                t.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


FILES = ["""
def leaf(x):
    return x + 1
""", """
def shared(x):
    y = leaf(x)
    for i in range(3):
        y = y * 2 if i % 2 else y + x
    return y.sum()
""", """
def f(x):
    return shared(x)
def g(x):
    return shared(x) * 2
"""]


@pytest.mark.parametrize("held_at", ["leaf", "shared"])
def test_two_threads_read_one_source(held_at, monkeypatch):
    """While one thread reads the source of a function for its conversion, the other converts the same function."""
    names = {}
    for text in FILES:
        names.update(names_of(text, **names))
    at, of_leaf = (names[n].__code__.co_filename for n in (held_at, "leaf"))
    x = janus.ones(2)
    want = names["f"](x).item()
    held, go_on, done, wrong = threading.Event(), threading.Event(), threading.Event(), []
    read = linecache.getlines

    def getlines(name, module_globals=None):
        lines = read(name, module_globals)
        if threading.current_thread().name == "first" and name == at and not held.is_set():
            held.set()
            go_on.wait(10)
        elif threading.current_thread().name == "second" and name == of_leaf:
            go_on.set()  # the second has the tree of what is shared
            done.wait(0.5)
        return lines

    def work(f, factor):
        for _ in range(4):
            if f(x).item() != want * factor:
                wrong.append(f)
        done.set()

    monkeypatch.setattr(linecache, "getlines", getlines)
    f, g = (janus.function(names[n], verify="never", measure=False) for n in "fg")
    first, second = (threading.Thread(target=work, args=args, name=name)
                     for args, name in [((f, 1), "first"), ((g, 2), "second")])
    first.start()
    held.wait(10)
    second.start()
    first.join()
    second.join()
    assert go_on.is_set() and not wrong
    assert [h.stats()["conversions"] for h in (f, g)] == [1, 1]
