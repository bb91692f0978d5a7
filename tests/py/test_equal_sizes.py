# SPDX-License-Identifier: Apache-2.0
"""Sizes that only the run knows beside others: of what a mask chooses, of lists that a recursion fills. Equal ones are one graph, 0 and 1
and unequal ones end as CPython has them: broadcast, or with its error."""
import random

import pytest

import janus
import janus.nn.functional as F
from compared import close
from texts import names_of

# a: as many as x has above zero; r: a row of two for each node of a tree; v: y without its first. Other sizes are those of y, z, w.
OPERATIONS = {
    "sum": "a + y", "difference": "y - a", "product": "a * y * 2", "of three": "a + y + y.exp()", "dot": "a @ y", "where": "janus.where(y > 0, a, y)",
    "compared": "(a > y).sum(), (a == y)", "greatest": "janus.maximum(a, y)", "stacked": "janus.stack([a, y])", "beside": "janus.cat([a[:, None], y[:, None]], 1)",
    "mean of squares": "F.mse_loss(a.unsqueeze(1), y.unsqueeze(1))", "without the first": "a + y[1:]", "first of it": "a[1:] + y[1:]",
    "two of the run": "a * b, a + b", "outer": "a[:, None] * b[None] + w", "one outer": "a[:, None] + w", "columns": "w + b", "both ways": "(a + y).sum() * (a - y)",
    "one way only": "(a + y).sum() if len(y) > 3 else a.sum() + y.sum()", "of size one": "a + y[:1]", "twice as many": "janus.cat([a, a]) + janus.cat([y, y])",
    "flat": "(a[:, None] * janus.ones(3)).reshape(-1) + (y[:, None] * janus.ones(3)).reshape(-1)", "made": "a + janus.arange(len(y))", "times": "w.t() @ a, a @ w",
    "written": "into(y.clone(), a)", "viewed": "a.view(len(y), 1)", "expanded": "a.expand(2, len(y))", "picked": "w[janus.arange(len(y)), 0] + a", "five": "a + janus.ones(5)", "with the first": "janus.cat([a, y[:1]])[1:] + y",
    "rows and labels": "F.cross_entropy(r, y.long().clamp(0, 1))", "rows and column": "r + y[:, None]", "rows and numbers": "(r.sum(1) - y).pow(2).mean()",
    "rows joined": "janus.cat(rows) - janus.cat([y, y])", "rows side by side": "janus.stack(rows, 1) * y", "rows of rows": "r.t() @ (r * y[:, None])",
    "rows, then a mask": "r[y > 0]", "rows and what a mask chooses": "r.sum(1) * a", "likely": "F.nll_loss(F.log_softmax(r, 1), y.long().clamp(0, 1))",
}
RAISE = {"without the first", "five"}  # in most calls
PROGRAM = """def into(y, a):
    y[:] = a
    return y
def f(x, y, z, w, t, of):
    a, b, rows = x[x > 0], z[z > 0], []
    def walk(n):
        rows.append(janus.stack([of[n.v], of[n.v] * 2]))
        for k in n.kids:
            walk(k)
    walk(t)
    r = janus.stack(rows)
    return {}
"""


class Node:
    def __init__(self, n, rng):
        """A tree of n nodes."""
        self.v, self.kids, n = rng.randrange(4), [], n - 1
        while n:
            k = rng.randint(1, n)
            self.kids.append(Node(k, rng))
            n -= k


def program(what):
    return names_of(PROGRAM.format(OPERATIONS[what]), janus=janus, F=F)["f"]


def arguments(rng, equal):
    """As many everywhere, two or more; or of any size, and sometimes one of them of another."""
    n = rng.choice([2, 3, 4, 5, 6, 7] if equal else [0, 1, 2, 3, 5])
    sizes = [n, n, n, n, max(n, 1)]
    if not equal and rng.random() < 0.5:
        sizes[rng.randrange(5)] = rng.choice([1, 1, 2, 3, 5])
    k, y, z, w, t = sizes

    def some(n, out_of):
        return (janus.rand(out_of) + 0.1) * janus.tensor([1.0 if i < n else -1.0 for i in range(out_of)])
    return some(k, 9), janus.randn(y), some(z, 8), janus.randn(w, n), Node(t, rng), janus.randn(4)


def outcome(f, args):
    try:
        return f(*args)
    except Exception as e:
        return type(e), str(e).split("\n")[0]


@pytest.mark.parametrize("what", OPERATIONS)
def test_as_undecorated(what):
    f = program(what)
    g = janus.function(f, verify="never", measure=False)
    rng = random.Random(what)
    for i in range(60):
        janus.manual_seed(i)
        args = arguments(rng, i < 20)
        assert close(outcome(f, args), outcome(g, args)), (what, [tuple(a.shape) for a in args[:4]])
        if i == 19:
            assert g.stats()["graph"] >= (0 if what in RAISE else 8), g.stats()
