# SPDX-License-Identifier: Apache-2.0
"""Ranges and slices that go backward or in steps, over lists whose length only the run knows: values and what is written."""
import itertools

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

BOUNDS = ["", "1", "-2", "9", "-9", "k"]
STEPS = ["-1", "2", "-2", "3"]

# What is done with a part: of the caller's list, of one that the function fills, of a part.
USES = {
    "numbers": "    return janus.tensor([v * 2 for v in xs[{part}]] + [0.0]), len(xs[{part}])\n",
    "in turn": "    s = 0.5\n    for v in xs[{part}]:\n        s = s * 0.5 + v\n    return janus.tensor(s)\n",
    "filled": "    made = []\n    for v in xs:\n        made.append(v + 1)\n    return janus.tensor(made[{part}] + [0.0]), len(made)\n",
    "of a part": "    return janus.tensor([0.0] + [v + 1 for v in xs[1:][{part}]] + [v + 2 for v in xs[::-1][{part}]] + [v for v in xs[{part}][::2]])\n",
    "objects": "    s = x\n    for b in boxes[{part}]:\n        s = s * 0.5 + b.v\n        b.seen += 1\n    return s\n",
    "stacked": "    return x + sum([w * 2 for w in xs][{part}])\n",
}
RANGES = ["range(n - 1, -1, -1)", "range(n, 0, -2)", "range(k, n, 2)", "range(0, n, k + 2)", "range(n, -k, -k - 2)", "range(n - 1, k, k)", "reversed(range(n))",
          "range(-n, n, 3)", "range(n, n + 5, -1)"]

BODIES = ["s = s * 0.5 + i", "s = s + xs[i % len(xs)] if xs else s", "l.append(i)", "if i == 2:\n            break\n        s = s + i"]


class Box:
    def __init__(self, v):
        self.v, self.seen = v, 0


def outcome(f, n, k):
    xs, boxes = [0.25 * i for i in range(n)], [Box(0.5 * i) for i in range(n)]
    try:
        r = f(janus.ones(2), xs, boxes, k)
        r = [v.tolist() if isinstance(v, janus.Tensor) else v for v in (r if isinstance(r, tuple) else (r,))]
    except (ValueError, IndexError, RuntimeError) as e:
        r = type(e), str(e)
    return r, xs, [(b.v, b.seen) for b in boxes]


def compare(source):
    """How many of the calls were graphs."""
    f = names_of(source, janus=janus)["f"]
    decorated = janus.function(f, verify="never", measure=False)
    for n, k in [(4, 1), (5, 1), (3, 2), (6, 0), (2, -1), (0, 1), (1, 1), (7, -3), (4, 2), (9, 1), (1, -2), (8, 3)]:
        assert outcome(decorated, n, k) == outcome(f, n, k), (source, n, k)
    return decorated.stats()["graph"]


@pytest.mark.parametrize("use", USES)
def test_parts(use):
    all_ways = shares.share(itertools.product(BOUNDS, BOUNDS, STEPS))
    graphs = [compare("def f(x, xs, boxes, k):\n    x = x + 1\n" + USES[use].format(part=f"{start}:{stop}:{step}")) for start, stop, step in all_ways]
    assert sum(graphs) >= 2 * len(graphs), graphs


@pytest.mark.parametrize("body", BODIES)
def test_ranges(body):
    graphs = [compare(f"def f(x, xs, boxes, k):\n    n, s, l = len(xs), x + 1, []\n    for i in {r}:\n        {body}\n    return s, len(l), sum({r})\n") for r in RANGES]
    assert sum(graphs) >= 2 * len(graphs), graphs


def test_one_graph_of_all_lengths():
    def returns(x, xs, boxes, k):
        total, out = 0.0, []
        for t in range(len(xs) - 1, -1, -1):
            total = xs[t] + 0.9 * total
            out.append(total)
        return x + janus.tensor(out[::-1]).sum()

    f = janus.function(returns, verify="never", measure=False)
    for n in range(2, 30):
        got, want = outcome(f, n, 0), outcome(returns, n, 0)
        assert got[1:] == want[1:] and janus.allclose(janus.tensor(got[0]), janus.tensor(want[0]))
    assert f.stats()["conversions"] <= 5, janus.explain(f)
