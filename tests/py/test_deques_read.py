# SPDX-License-Identifier: Apache-2.0
"""Deques of the caller's that graphs read: lengths, items, loops, what is made of them.  Generated: what is read times what is in it; between calls items are appended at either end,
taken out and put anew, up to none.  What is written to them is CPython's."""
import collections
import itertools
import random

import pytest

import janus
from compared import close
from shares import share
from texts import names_of

HOLDS = {"tensors": lambda i: janus.tensor([i + 0.5, 1.0]), "ints": lambda i: i % 5, "texts": lambda i: "abc"[i % 3] * 2, "pairs": lambda i: (i, janus.tensor([float(i), 2.0])), "mixed": lambda i: (i, "a", None)[i % 3]}
READS = {
    "length": "return x * len(q.d)", "truth": "return x * 2 if q.d else x", "first": "return q.d[0], x", "last": "return x, q.d[-1]", "computed": "return x, q.d[i]", "far": "return q.d[7]",
    "not used": "q.d[i]\n    return x", "loop": "out = []\n    for v in q.d:\n        out.append(v)\n    return out, x * len(out)", "in order": "return [(k, v) for k, v in enumerate(q.d)], x",
    "listed": "return list(q.d), x * 3", "tuple": "return tuple(q.d)", "spread": "return [x, *q.d]", "backwards": "return [v for v in reversed(q.d)]", "zipped": "return [v for v in zip(q.d, range(3))]",
    "itself": "return q.d, q.d is q.other, q.d is not None", "type": "return type(q.d).__name__, isinstance(q.d, collections.deque), isinstance(q.d, list)", "sampled": "return random.sample(q.d, 2), x",
    "contained": "return 2 in q.d, x", "appended": "q.d.append(q.other[0])\n    return x * len(q.d)", "popped": "return q.d.popleft(), len(q.d)", "turned": "q.d.rotate(i)\n    return list(q.d)",
    "handed on": "def n(d):\n        return x * len(d)\n    return n(q.d) + n(q.other)", "bound": "return q.d.maxlen, len(q.d)", "sum": "s = x\n    for v in q.d:\n        s = s + v * 2\n    return s",
    "part": "return q.d[1:]", "equal": "return q.d == q.other, q.d == list(q.d)",
}


class Box:
    def __init__(self, make, at_most):
        self.d = collections.deque([make(i) for i in range(3)], maxlen=at_most)
        self.other = collections.deque([make(9), make(10)])


def outcomes(f, holds, at_most):
    make, box, log, rng = HOLDS[holds], Box(HOLDS[holds], at_most), [], random.Random(2)
    for i in range(18):
        if i % 3 == 1:
            box.d.append(make(i))
        if i % 7 == 5:
            box.d.appendleft(make(i + 1))
            box.d.pop()
        if i == 12:
            box.d.clear()
        if i == 14:
            box.d.extend(make(k) for k in range(4))
        if i == 16:
            box.d = collections.deque(box.d)
        random.seed(i)
        known = [*box.d, *box.other, box.d, box.other]
        try:
            r = f(box, janus.tensor([1.0, 2.0]), rng.randint(-2, 4))
        except Exception as e:
            r = type(e).__name__, str(e)
        parts = r if isinstance(r, (list, tuple)) else [r]
        which = [[k for k, o in enumerate(known) if o is p] for p in parts if isinstance(p, (janus.Tensor, collections.deque))]
        shown = [list(p) if isinstance(p, collections.deque) else p for p in parts]
        log.append([shown, which, list(box.d), random.random()])
    return log


@pytest.mark.parametrize("read", READS)
def test_as_undecorated(read):
    graphs, ways = 0, share(itertools.product(HOLDS, (None, 5)))
    for at, (holds, at_most) in enumerate(ways):
        f = names_of(f"def f(q, x, i):\n    {READS[read]}\n", collections=collections, random=random)["f"]
        g = janus.function(f, measure=False, verify=("never", "always")[at % 2])
        want, got = outcomes(f, holds, at_most), outcomes(g, holds, at_most)
        assert close(want, got), (holds, at_most, [z for z in zip(want, got) if not close(*z)][:1])
        graphs += g.stats()["graph"] >= 8
    if read in ("length", "truth", "first", "last", "computed", "loop", "listed", "itself", "handed on", "spread"):
        assert graphs >= len(ways) * 0.5, f"{graphs} of {len(ways)}"
