# SPDX-License-Identifier: Apache-2.0
"""Modules whose classes say how their attributes are read, set and deleted: that code runs when the program comes to it, as often, whatever is set."""
import pytest

import janus
from texts import names_of

METHODS = {
    "none": "pass",
    "left out": "def __setattr__(self, n, v): log.append(n)",
    "handed on": "def __setattr__(self, n, v):\n        log.append(n)\n        super().__setattr__(n, v)",
    "twice": "def __setattr__(self, n, v):\n        super().__setattr__(n, v)\n        self.__dict__['last'] = n",
    "changed": "def __setattr__(self, n, v): nn.Module.__setattr__(self, n, v * 2 if n == 'k' and isinstance(v, (int, float)) else v)",
    "read": "def __getattribute__(self, n):\n        if n[0] != '_':\n            log.append(n)\n        return super().__getattribute__(n)",
    "missing": "def __getattr__(self, n):\n        log.append(n)\n        return super().__getattr__(n)",
    "hidden": "def __setattr__(self, n, v): object.__setattr__(self, n, v) if isinstance(v, nn.Module) and n == 's' else super().__setattr__(n, v)",
    "deleted": "def __delattr__(self, n):\n        log.append(n)\n        super().__delattr__(n)",
}
SETS = ("self.k = 1.5", "self.k = x", "self.k = x.detach()", "self.n += 1", "self.p = nn.Parameter(janus.ones(3))", "self.b = x.detach()", "self.s = nn.Linear(3, 3)",
        "setattr(self, 'k', 2)", "self.p = None", "if self.n > 2: self.k = 3", "for i in range(2): self.k = i", "del self.n; self.n = 1", "other.k = 4",
        "self.n, self.k = self.k, self.n", "self.q = C(); self.q.k = 2", "self.training = False", "self.kept = self.shared", "self.k = self.shared",
        "object.__setattr__(self, 'k', 1.5)", "object.__setattr__(self, 'h', nn.Linear(3, 3))", "object.__setattr__(self, 'p', x)", "object.__setattr__(self, 'p', None)",
        "object.__delattr__(self, 'n'); self.n = 1", "nn.Module.__setattr__(self, 'k', 2)", "super().__setattr__('k', x)", "nn.Module.__delattr__(self, 'n'); self.n = 1")
PROGRAM = """
log = []
class C(nn.Module):
    shared = {shared}
    {method}
    def __init__(self):
        super().__init__()
        self.n, self.k = 1, 0.5
        self.p = nn.Parameter(janus.ones(3) * 2)
        self.register_buffer('b', janus.zeros(3))
    def forward(self, x):
        {sets}
        return x * 2
class D(C): pass
m, other = {made}(), C()
def f(x): return m(x)
"""


def shown(m):
    own = [(k, v if isinstance(v, (int, float)) else v.tolist() if isinstance(v, janus.Tensor) else type(v).__name__) for k, v in vars(m).items()]
    return own + [(k, v.tolist()) for k, v in m.state_dict().items()]


def outcomes(text, decorate):
    names = names_of(text, janus=janus, nn=janus.nn)
    f, seen = decorate(names["f"]), []
    names["log"].clear()
    for i in range(5):
        janus.manual_seed(i)
        try:
            got = f(janus.ones(3) * i).tolist()
        except Exception as e:
            got = type(e).__name__, str(e)
        seen.append((got, shown(names["m"]), shown(names["other"]), str(names["log"])))
    return seen, f


@pytest.mark.parametrize("method", METHODS)
def test_as_undecorated(method):
    graphs = 0
    for i, sets in enumerate(SETS):
        text = PROGRAM.format(method=METHODS[method], sets=sets, made="CD"[i % 2], shared=("1.5", "[1]", "len", "None")[i % 4])
        want, _ = outcomes(text, lambda f: f)
        got, g = outcomes(text, lambda f: janus.function(f, verify="never", measure=False))
        assert want == got, sets
        graphs += g.stats()["graph"] + g.stats()["region_hits"] > 0
    assert method != "none" or graphs > 4, graphs
