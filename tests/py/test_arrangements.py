# SPDX-License-Identifier: Apache-2.0
"""Iterators of `itertools` that arrange what they are given: permutations, combinations with and without replacement, neighbours.  Generated: which of them times of what times how many
at a time times what is done with the rows; rows, their order, which tensors they hold and what is raised are CPython's."""
import itertools

import pytest

import janus
from compared import close
from shares import share
from texts import names_of

MADE = {"permutations": "permutations(S, R)", "all permutations": "permutations(S)", "by name": "permutations(iterable=S, r=R)", "combinations": "combinations(S, R)",
        "again": "combinations_with_replacement(S, R)", "pairs": "pairwise(S)"}
SOURCES = {"tensors": "[x, x * 2, y]", "numbers": "range(n)", "text": "'abc'", "generator": "(x * i for i in range(n))", "caller's": "xs", "with effects": "(log.append(i) or i for i in range(n))",
           "nothing": "()", "one": "(x,)", "dict": "{'a': x, 'b': y}"}
USES = {"listed": "return list({}), log", "loop": "out = []\n    for row in {}:\n        out.append(row)\n        log.append(len(row))\n    return out, log",
        "first": "return next({}, None), log", "unpacked": "return [(a, b) for a, b in {}], log", "left early": "out = None\n    for row in {}:\n        out = row\n        if len(log) > 1:\n            break\n    return out, log",
        "multiplied": "return sum([janus.stack([x * v for v in row]).prod(0) for row in {}]), log", "sorted": "return sorted({}, reverse=True), log", "twice": "it = {}\n    return list(it), list(it), log"}


def outcome(f, n):
    x, y, log = janus.tensor([1.0, 2.0]), janus.tensor([3.0, 0.5]), []
    xs = [x, y, x]
    try:
        r = f(x, y, xs, n, log)
    except Exception as e:
        return type(e).__name__, str(e), log
    rows = r[0] if isinstance(r[0], list) else []
    return r, [[i for i, t in enumerate((x, y)) for v in row if v is t] for row in rows if isinstance(row, tuple)], log


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("made", MADE)
def test_as_undecorated(made, use):
    graphs, ways = 0, share(itertools.product(SOURCES, ("2", "0", "1", "n", "5", "-1")))
    for at, (source, r) in enumerate(ways):
        text = "def f(x, y, xs, n, log):\n    " + USES[use].format(MADE[made].replace("S", SOURCES[source]).replace("R", r)) + "\n"
        names = dict(vars(itertools), janus=janus)
        f = names_of(text, **names)["f"]
        g = janus.function(f, measure=False, verify=("never", "always")[at % 2])
        for n in (3, 3, 2, 3, 2, 3):
            assert close(outcome(f, n), outcome(g, n)), (source, r, n)
        graphs += g.stats()["graph"] >= 2
    assert graphs >= len(ways) * 0.7 or use in ("unpacked", "multiplied", "sorted"), f"{graphs} of {len(ways)}"
