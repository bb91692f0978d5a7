# SPDX-License-Identifier: Apache-2.0
"""Differential testing: a program runs with its functions decorated and undecorated, and everything it
observes must agree.

A program is a function `prog(function, log)` registered with `@case`.  It applies `function` (the identity,
`janus.function`, or `janus.function(numerics="exact")`) to what it wants decorated, calls it several
times, and passes what it sees to `log`: values, mutated objects, gradients.  `log.raises(fn, ...)`
records an exception's type, message and line.  Printed output and the state of the random generator at the
end are compared too.  Identity is observed: two places that hold one object must do so in both runs.
"""

import contextlib
import io
import math
import os
import traceback

import janus

CASES = {}
MUST, FAST = "must", "must where numerics are fast"


def case(prog=None, *, graph=True):
    """Registers a program.  graph: whether a run as graph is expected at least once (else it is one that
    must fall back and be right); MUST, FAST: it is an error when there is none."""

    def register(p):
        name = p.__module__.rsplit(".", 1)[-1] + "." + p.__name__
        assert name not in CASES, name
        CASES[name] = (p, graph)
        return p

    return register(prog) if prog is not None else register


def t(*shape, seed=0, dtype=None, grad=False):
    """A small tensor with reproducible values, none of them tied."""
    n = math.prod(shape)
    values = [math.sin((i + 1) * (1.7 + seed)) for i in range(n)]
    x = janus.tensor(values, dtype=dtype or janus.float32).reshape(*shape) if shape else janus.tensor(
        math.sin(1.7 + seed), dtype=dtype or janus.float32)
    return x.requires_grad_() if grad else x


def may_be_graph(f):
    """Whether it is decorated, and conversions are tried."""
    return hasattr(f, "stats") and f.stats()["conversions"] > 0


class Log:
    def __init__(self):
        self.entries = []
        self._seen = {}
        self._keep = []
        self._now = set()

    def __call__(self, *values):
        """What the values are now, and which of the objects met before they are."""
        self._now = set()
        for v in values:
            self.entries.append(self._freeze(v))

    def raises(self, fn, *args, **kwargs):
        try:
            self(fn(*args, **kwargs))
        except Exception as e:  # the program's own error is what is compared
            frames = traceback.extract_tb(e.__traceback__)
            own = [f for f in frames if "/diff/" in f.filename and "harness" not in f.filename]
            where = (own[-1].name, own[-1].lineno) if own else None
            self.entries.append(("raised", type(e).__name__, str(e), where))

    def _freeze(self, v):
        if v is None or isinstance(v, (bool, int, str, bytes)):
            return (type(v).__name__, v)
        if isinstance(v, float):
            return ("float", v)
        if id(v) in self._seen:
            if id(v) in self._now:
                return ("same", self._seen[id(v)])
            self._now.add(id(v))
            return ("again", self._seen[id(v)], self._content(v))
        self._now.add(id(v))
        self._seen[id(v)] = len(self._seen)
        self._keep.append(v)
        return self._content(v)

    def _content(self, v):
        if isinstance(v, janus.Tensor):
            return ("tensor", str(v.dtype), tuple(v.shape), v.detach().reshape(-1).tolist(),
                    bool(v.requires_grad), bool(v.is_leaf),
                    self._freeze(v.grad) if v.is_leaf and v.grad is not None else None)
        if isinstance(v, tuple):
            return (type(v).__name__, tuple(self._freeze(x) for x in v))
        if isinstance(v, list):
            return ("list", tuple(self._freeze(x) for x in v))
        if isinstance(v, dict):
            return ("dict", tuple((self._freeze(k), self._freeze(x)) for k, x in v.items()))
        if isinstance(v, (set, frozenset)):
            return ("set", tuple(sorted(map(repr, v))))
        if isinstance(v, janus.nn.Module):
            return ("module", tuple((n, self._freeze(p)) for n, p in v.state_dict(keep_vars=True).items()),
                    v.training)
        if hasattr(v, "__dict__"):
            return ("object", type(v).__name__, tuple((k, self._freeze(x)) for k, x in vars(v).items()))
        return ("repr", type(v).__name__, repr(v))


def run(prog, function):
    """(what was observed, what was printed, where the generator stands)"""
    janus.manual_seed(1234)
    log, out = Log(), io.StringIO()
    with contextlib.redirect_stdout(out):
        prog(function, log)
    return log.entries, out.getvalue(), janus.rand(3).tolist()


TOLERANCE = {"janus.float16": 4e-3, "janus.bfloat16": 3e-2}


# A GPU's libraries sum products of one row and of many in other orders; a processor's kernels here do not.
CLOSE = (1e-4, 1e-5) if os.environ.get("JANUS_DEVICE") == "cuda" else (2e-5, 2e-6)


def close(a, b, exact, tol=CLOSE):
    """Structural equality; floats within the dtype's tolerance unless exact."""
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b if exact or math.isinf(a) else math.isclose(a, b, rel_tol=tol[0], abs_tol=tol[1])
    if isinstance(a, (tuple, list)) and type(a) is type(b):
        if len(a) > 1 and a[0] == "tensor" and a[1] in TOLERANCE:
            tol = (TOLERANCE[a[1]], TOLERANCE[a[1]])
        return len(a) == len(b) and all(close(x, y, exact, tol) for x, y in zip(a, b))
    return type(a) is type(b) and a == b


def compare(name, want, got, exact):
    for i, (w, g) in enumerate(zip(want[0], got[0])):
        assert close(w, g, exact), f"{name}: observation {i}\n  undecorated {w}\n  decorated   {g}"
    assert len(want[0]) == len(got[0]), f"{name}: {len(want[0])} observations, decorated {len(got[0])}"
    assert want[1] == got[1], f"{name}: printed\n  undecorated {want[1]!r}\n  decorated   {got[1]!r}"
    assert want[2] == got[2], f"{name}: the random generator was left elsewhere"


class Recorder:
    """A decorator that remembers what it decorated, for stats."""

    def __init__(self, **options):
        self.options, self.made = options, []

    def __call__(self, f):
        g = janus.function(f, **self.options)
        self.made.append(g)
        return g

    def total(self, key):
        made = [getattr(g, "forward", g) for g in self.made]  # a module is decorated by its forward
        return sum(g.stats()[key] for g in made if hasattr(g, "stats"))
