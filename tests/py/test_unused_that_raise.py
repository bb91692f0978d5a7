# SPDX-License-Identifier: Apache-2.0
"""What raises by what tensors and numbers hold raises where CPython's does, though nobody uses its result: ops and items at computed places, each in every
kind of place of a program, with arguments of which some are out of range."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

# What is computed and not used, and which of the arguments is out of range.
EXPRESSIONS = {
    "x[n]": "n", "x[:, n]": "n", "x[0, n]": "n", "table.select(0, n)": "n", "l[n]": "n", "l[n - 1]": "n", "l[-n]": "n", "l[-1]": "l", "t[n]": "n", "(1.0, 2.0, 3.0)[n]": "n",
    "'abc'[n]": "n", "d[n]": "n", "range(3)[n]": "n", "table[i]": "i", "table[i[0]]": "i", "table[:, i]": "i", "table[i, i]": "i", "F.embedding(i, table)": "i",
    "table.gather(0, i.reshape(1, -1))": "i", "table.index_select(0, i)": "i", "F.cross_entropy(table[:2], i)": "i", "F.nll_loss(table[:2], i)": "i",
    "table.clone().scatter_(0, i.reshape(1, -1), 1.0)": "i", "F.one_hot(i, 4)": "i", "i // j": "j", "i % j": "j", "6 // n": "zero", "n % (n - 3)": "three", "int(x.sum().log())": "x",
    "l[n] + l[0]": "n", "x[n] * 2 + 1": "n", "table[i].sum()": "i", "F.cross_entropy(table[:2], i) * 0.5": "i", "l[int(i[0])]": "i", "x[n][0]": "n",
    # sizes and dims that are numbers of the graph
    "x.topk(n + 1)": "n", "x.topk(n + 1, dim=0)": "n", "x.kthvalue(n + 1)": "n", "x.narrow(0, n, 1)": "n", "x.narrow(0, 0, n + 1)": "n", "x.unfold(0, n + 1, 1)": "n",
    "x.split([n, 3 - n])": "n", "x.chunk(2 - n)": "n", "x.tile(2 - n)": "n", "janus.zeros(2 - n)": "n", "janus.full((2 - n,), 1.0)": "n", "janus.eye(2 - n)": "n",
    "janus.linspace(0, 1, 2 - n)": "n", "x.sum(n)": "n", "x.max(n)": "n", "x.softmax(n)": "n", "x.unsqueeze(n)": "n", "x.flatten(0, n)": "n", "x.transpose(0, n)": "n",
    "x.index_select(n, janus.tensor([0]))": "n", "F.max_pool2d(x.view(1, 1, 3, 3), n + 1)": "n", "janus.cat([x, x], n)": "n",
}
PLACES = {
    "alone": "    {e}\n", "a name": "    q = {e}\n", "a sum": "    q = {e} * 1\n", "an arm": "    if n != 1:\n        {e}\n", "both arms": "    q = {e} if n != 1 else x\n",
    "a loop": "    for k in range(rounds):\n        {e}\n", "rounds": "    for k in ks:\n        q = {e}\n        x = x + k\n", "a callee": "    g(x, n, i, j, l, t, d)\n",
    "a recursion": "    x = x + go(rounds, x, n, i, j, l, t, d)\n", "a handler": "    try:\n        {e}\n    except (IndexError, KeyError, ValueError, ZeroDivisionError, RuntimeError) as e:\n        x = x + 1\n",
}
PROGRAM = """
def g(x, n, i, j, l, t, d):
    {e}
def go(k, x, n, i, j, l, t, d):
    if k == 0:
        {e}
        return x
    return go(k - 1, x * 0.5, n, i, j, l, t, d)
def f(x, n, i, j, l, t, d, rounds, ks):
{body}    return x * 2
"""
BAD = 8, 11, 13


def arguments(k, what):
    bad = k in BAD
    n = {"n": k % 3 + 5 * bad, "zero": 0 if bad else k % 3 + 1, "three": 3 if bad else k % 3}.get(what, k % 3)
    x = janus.ones(3, 3) * (k + 1) * (-1 if bad and what == "x" else 1)
    i = janus.tensor([k % 3, 1]) + (7 if bad and what == "i" else 0)
    j = janus.tensor([k + 1, 2]) * (0 if bad and what == "j" else 1)
    l = [] if bad and what == "l" else [0.0, 1.0, 2.0]
    return x, n, i, j, l, (0.0, 1.0, 2.0), {0: 1.0, 1: 1.0, 2: 1.0}, 1 + k % 2, [0.5] * (1 + k % 2)


def outcome(f, k, what):
    try:
        return f(*arguments(k, what)).tolist()
    except Exception as e:
        return type(e).__name__, str(e)


@pytest.mark.parametrize("options", [{"verify": "never"}, {"verify": "never", "numerics": "exact"}, {}], ids=str)
@pytest.mark.parametrize("place", PLACES)
def test_as_undecorated(place, options):
    wrong, graphs, expressions = [], 0, share(EXPRESSIONS)
    for e in expressions:
        text = PROGRAM.format(e=e, body=PLACES[place].format(e=e))
        f = names_of(text, janus=janus, F=janus.nn.functional, table=janus.arange(16.0).reshape(4, 4))["f"]
        g = janus.function(f, measure=False, **options)
        for k in range(15):
            want, got = outcome(f, k, EXPRESSIONS[e]), outcome(g, k, EXPRESSIONS[e])
            if want != got:
                wrong.append((e, k, want, got))
        graphs += g.stats()["graph"] + g.stats()["region_hits"] > 0
    assert not wrong, f"{len(wrong)}: {wrong[:3]}"
    assert graphs > len(expressions) // 2, graphs


def test_every_expression_raises():
    for e, k in itertools.product(EXPRESSIONS, BAD):
        f = names_of(PROGRAM.format(e=e, body=PLACES["alone"].format(e=e)), janus=janus, F=janus.nn.functional, table=janus.arange(16.0).reshape(4, 4))["f"]
        assert isinstance(outcome(f, k, EXPRESSIONS[e]), tuple), e
