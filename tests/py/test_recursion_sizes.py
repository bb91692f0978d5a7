# SPDX-License-Identifier: Apache-2.0
"""Random recursions on sizes of tensors: halves, heads and tails, thirds, quarters; of rows, columns or both; that return a number, a row,
or as many rows as they got. Values, gradients and errors are as undecorated, of parts of other tensors, too, and most run as graphs."""
import random
import re

import pytest

import janus
from compared import close
from texts import names_of

SIZES = ["n = x.shape[0]", "n = len(x)", "n = x.size(0)", "n, d = x.shape", "n = x.size()[0]"]
ENDS = {"row": ["x[0]", "x.sum(0)", "x.mean(0)", "x[-1]", "x[0] * w", "janus.tanh(x[0] * n)"], "one": ["x.sum()", "(x * w).sum() * n", "x.mean()", "x[0].sum()"],
        "rows": ["x", "x * 2", "janus.tanh(x * w)", "x + n"]}
JOINS = {"row": ["a + b", "janus.tanh(a * b + w)", "janus.maximum(a, b)", "janus.stack([a, b]).sum(0)", "a * (n // 2) - b", "x.sum(0) * 0.1 + a - b"],
         "one": ["a + n * b", "janus.sin(a) - b", "a * b / n", "x.sum() + a - 2 * b"],
         "rows": ["janus.cat([a, b])", "janus.cat([b, a])", "janus.cat([a, b]) + x", "janus.cat([a + b.mean(0), b])", "janus.tanh(janus.cat([a * w, b])) * x",
                  "janus.cat([a, b]) / n"]}
PARTS = [("x[:n // 2]", "x[n // 2:]"), ("x[:n - n // 2]", "x[n - n // 2:]"), ("x[:1]", "x[1:]"), ("x[:n - 1]", "x[n - 1:]"), ("x[:-1]", "x[-1:]"),
         ("x[:(n + 1) // 3 + 0 * n or 1]", "x[(n + 1) // 3 or 1:]")]
ENDING = ["n == 1", "n <= 1", "n < 2", "not n > 1"]


def program(rng):
    kind = rng.choice(["row", "one", "rows"])
    left, right = rng.choice(PARTS[:5])
    size = rng.choice(SIZES)
    columns = kind == "one" and rng.random() < 0.4
    if columns:  # of both
        body = f"""        n, d = x.shape
        if n == 1 or d == 1:
            return {rng.choice(["x.sum()", "x.mean() * n", "x[0, 0] * d", "(x * x).sum()"])}
        a, b = f(x[:n // 2, :d // 2]), f(x[n // 2:, :d // 2])
        return a - b * 0.5 + f(x[:, d // 2:]) * n"""
    else:
        end, join = rng.choice(ENDS[kind]), rng.choice(JOINS[kind])
        body = f"""        {size}
        if {rng.choice(ENDING)}:
            return {end}
        a = f({left})
        b = f({right})
        return {join}"""
    after = {"row": ["r", "r * 2"], "one": ["r", "r + 1"], "rows": ["r * 1", "r.sum(0)", "r + x", "r.mean(0) * len(r)"]}[kind]
    call = rng.choice(["x", "x", "x * 1", "janus.cat([x, x])"])
    text = f"def made():\n    def f(x, w):\n{body}\n    return f\nf = made()\ndef outer(x, w):\n    r = f({call}, w)\n    return {rng.choice(after)}\n"
    return re.sub(r"f\((x\[[^()]*\])\)", r"f(\1, w)", text)


def arguments(rng):
    n, d = rng.choice([1, 2, 3, 4, 5, 6, 7, 9, 12]), 3
    x = janus.randn(n + 2, d + 2)[1:-1, 1:-1] if rng.random() < 0.3 else janus.randn(n, d)
    return x, janus.randn(d)


def outcome(f, x, w, gradients):
    if gradients:
        x, w = x.clone().requires_grad_(), w.clone().requires_grad_()
    try:
        y = f(x, w)
        if gradients:
            (y * y).sum().backward()
    except Exception as e:
        return type(e), str(e).split("\n")[0]
    return y, x.grad, w.grad


@pytest.mark.parametrize("first", range(0, 120, 30))
@pytest.mark.parametrize("gradients", [False, True])
def test_as_undecorated(first, gradients):
    graphs = 0
    for seed in range(first, first + 30):
        text = program(random.Random(seed))
        f = names_of(text, janus=janus)["outer"]
        g = janus.function(f, verify="never", measure=False)
        rng = random.Random(seed)
        for i in range(14):
            janus.manual_seed(i)
            x, w = arguments(rng)
            want, got = outcome(f, x, w, gradients), outcome(g, x, w, gradients)
            assert close(want, got), (seed, text, x.shape, want, got)
        graphs += g.stats()["graph"] >= 5
    assert graphs >= 20
