# SPDX-License-Identifier: Apache-2.0
"""What an op keeps that leads to one result always, and to another if an arm is taken, is used up by a backward() of either: a second
one raises where CPython's does, and only there."""
import itertools

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TEXT = """
def callee(a, b): return (a * b).tanh()
def f(x, n):
    a = {first}
    {arms}
    return {results}
"""
FIRST = ["x * p", "(x * p).tanh()", "callee(x, p)", "x * p if x.sum() > 0 else p * q", "F(x)", "(x * p).sum() * q"]
ARMS = {
    "one": "b = a * x if a.sum() > 1 else x * q",
    "overwritten": "b = x * q\n    if a.sum() > 1:\n        b = a * x",
    "handed on": "b = a if a.sum() > 1 else x * q",
    "two": "b = a * x if a.sum() > 1 else x * q\n    b = b if b.sum() > 1 else p * a",
    "of each other": "b = a * q if a.sum() > 1 else q * 1\n    b = b * 2 if b.sum() > -1 else q.exp()",
    "apart": "b = a * x if a.sum() > 1 else q.exp()\n    c = a * q if a.sum() < 2 else q * q\n    b = b + c",
}
# Whether it led there is not known of each run: nothing raises without cause.
NOT_KNOWN = {
    "inside": "b = q * 2\n    if a.sum() > 0:\n        if a.sum() > 1:\n            b = a * q",
    "loop": "b = q * 2\n    if a.sum() > 1:\n        for i in range(n):\n            b = b * a",
}
RESULTS = ["a.sum(), b.sum()", "a * 2, b * 2", "a.tanh(), b.exp()", "b.sum(), a.sum()", "a.sum(), b.sum(), (a * b).sum()"]
ASKED = [(1, 0), (0, 1), (0, 0), (1, 1), (-1, 0)]


def outcomes(text, decorated):
    p, q = (janus.tensor([0.5, v], requires_grad=True) for v in (2.0, -1.0))
    names = names_of(text, janus=janus, p=p, q=q, F=lambda x: x * p + q)
    f = janus.function(names["f"], verify="never", measure=False) if decorated else names["f"]
    out = []
    for k, asked in enumerate(ASKED * 3):
        rs = f(janus.tensor([0.5, (0.25, 1.5, 0.75)[k % 3]]), k % 2 + 1)
        for i in asked:
            try:
                (rs[i].sum() if rs[i].requires_grad else p.sum()).backward()
                out.append("went")
            except RuntimeError as e:
                out.append(str(e)[:20])
    return out, f


def compare(arms, is_wrong):
    different, graphs, n = [], 0, 0
    for first, results in shares.share(itertools.product(FIRST, RESULTS)):
        text = TEXT.format(first=first, arms=arms, results=results)
        wanted, (got, f) = outcomes(text, False)[0], outcomes(text, True)
        different += [(text, wanted, got)] if is_wrong(wanted, got) else []
        graphs += f.stats()["graph"] > 0
        n += 1
    assert not different, (len(different), n, different[0])
    assert graphs > n // 2


@pytest.mark.parametrize("arms", ARMS)
def test_raises_where_it_did(arms):
    compare(ARMS[arms], lambda wanted, got: wanted != got)


@pytest.mark.parametrize("arms", NOT_KNOWN)
def test_does_not_raise_where_it_did_not(arms):
    compare(NOT_KNOWN[arms], lambda wanted, got: any(w == "went" != g for w, g in zip(wanted, got)))
