# SPDX-License-Identifier: Apache-2.0
"""The first calls of a function come from several threads at once, while skeletons of its regions are made and taken away."""
import io
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
