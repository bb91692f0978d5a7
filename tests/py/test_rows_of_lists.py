# SPDX-License-Identifier: Apache-2.0
"""Comprehensions of which each item is a list that a display has just made: rows of a tensor, or lists, as soon as somebody takes one."""
import itertools

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

ITEMS = ["[a, b]", "[a * 2, 1.0]", "[a]", "[a, [b]]", "[a, b, k]", "([a] if a < 1 else [a, b])", "[*p]", "[a > 0.3, b]", "[k, 1]", "[x, x * a]", "[(a, b), a]", "[]", "keep([a, b])"]
USES = ["janus.tensor({made}).sum()", "janus.tensor({made} + [[0.5, 0.5]]).sum()", "janus.tensor([r for r in {made}]).sum()", "sum([r[0] for r in {made}])", "len({made})",
        "touched({made})", "janus.tensor(tuple({made})).sum()", "janus.tensor([q[:] for q in {made}]).sum()", "janus.tensor(sorted({made})).sum()",
        "janus.tensor({made}, dtype=janus.float64).shape[0]", "(box.append({made}), 1)[1]", "same({made})"]
PROGRAM = """
kept = []
def keep(l):
    kept.append(l)
    return l
def touched(rows):
    for r in rows:
        r.append(1.0)
    return sum(len(r) for r in rows)
def same(rows):
    return sum(1 for r in rows if r is rows[0]) + 10 * sum(1 for r in rows if r == rows[0])
def f(x, pairs, box, k):
    x = x + 1
    return x * {use}
def in_an_arm(x, pairs, box, k):
    if len(pairs) > 1:
        x = f(x, pairs, box, k)
    return x
def in_recursion(x, pairs, box, k):
    if len(pairs) < 2:
        return x
    return f(x, pairs, box, k) + in_recursion(x, pairs[:-1], box, k)
"""


def outcome(f, names, n, k):
    pairs, box = [(0.25 * i, 0.5 - 0.125 * i) for i in range(n)], []
    names["kept"].clear()
    try:
        r = f(janus.ones(2), pairs, box, k).tolist()
    except (TypeError, ValueError, RuntimeError, IndexError) as e:
        r = type(e), str(e)

    def shown(v):
        return [shown(w) for w in v] if isinstance(v, (list, tuple)) else v.tolist() if isinstance(v, janus.Tensor) else v

    return r, shown(box), shown(names["kept"]), [any(a is b for b in names["kept"]) for row in box for a in row]


@pytest.mark.parametrize("where", ["f", "in_an_arm", "in_recursion"])
def test_as_undecorated(where):
    graphs = 0
    for item, use in shares.share(itertools.product(ITEMS, USES)):
        made = f"[{item} for p in pairs for a, b in (p,)]" if "*p" in item else f"[{item} for a, b in pairs]"
        names = names_of(PROGRAM.format(use=use.format(made=made)), janus=janus)
        f = names[where]
        decorated = janus.function(f, verify="never", measure=False)
        for n, k in [(3, 1), (2, 1), (4, 2), (5, 1), (3, 2), (0, 1), (1, 1), (6, 3), (3, 1)]:
            assert outcome(decorated, names, n, k) == outcome(f, names, n, k), (item, use, n, k)
        graphs += decorated.stats()["graph"]
    assert graphs > 0
